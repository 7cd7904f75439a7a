/*
 * All that is kept about one file, read from its extended attributes.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "ntvfs_posix/private.h"
#include "ntvfs_posix/stream_files.h"
#include "ntvfs_posix/xattr_tdb.h"
#include "tools/xattr_file.h"

#define STREAM_TYPE ":$DATA"
#define USER_PREFIX "user."

/* Seconds from 1601-01-01 to 1970-01-01. */
#define EPOCH_DIFFERENCE INT64_C(11644473600)

/* A list of names may grow between two looks at it; so often we look. */
#define LIST_TRIES 10

static bool has_prefix(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* The kind of an xattr by its name; false for what is no business of ours. */
static bool kind_of(const char *name, enum xattr_kind *kind)
{
	static const struct {
		const char *name;
		enum xattr_kind kind;
	} names[] = {
		{NTVFS_XATTR_DOSATTRIB, XATTR_DOSATTRIB},
		{NTVFS_XATTR_DOSATTRIB_SAMBA4, XATTR_DOSATTRIB_SAMBA4},
		{NTVFS_XATTR_NTACL, XATTR_NTACL},
		{NTVFS_XATTR_DOSSTREAMS, XATTR_STREAM_LIST},
		{NTVFS_XATTR_DOSEAS, XATTR_EA_LIST},
		/* smbd's: which ACEs of a POSIX ACL were inherited. */
		{"user.SAMBA_PAI", XATTR_INTERNAL},
		{"user.SAMBA_STREAMS", XATTR_INTERNAL},
		{NULL, XATTR_EA},
	};
	size_t i;

	for (i = 0; names[i].name != NULL; i++) {
		if (strcmp(name, names[i].name) == 0) {
			*kind = names[i].kind;
			return true;
		}
	}
	if (has_prefix(name, NTVFS_XATTR_DOSSTREAM_PREFIX)) {
		*kind = XATTR_STREAM;
		return true;
	}
	if (has_prefix(name, NTVFS_XATTR_STREAM_FILE_PREFIX)) {
		*kind = XATTR_STREAM_FILE;
		return true;
	}
	if (has_prefix(name, NTVFS_XATTR_PRIVATE_PREFIX)) {
		*kind = XATTR_INTERNAL;
		return true;
	}
	*kind = XATTR_EA;
	return has_prefix(name, USER_PREFIX);
}

static NTTIME nttime_of(const struct timespec *ts)
{
	int64_t seconds = (int64_t)ts->tv_sec + EPOCH_DIFFERENCE;

	if (seconds < 0 || seconds >= INT64_MAX / 10000000) {
		return 0;
	}
	return (NTTIME)seconds * 10000000 + (NTTIME)ts->tv_nsec / 100;
}

static int read_names(TALLOC_CTX *mem_ctx,
		      const char *path,
		      char **names,
		      size_t *length)
{
	ssize_t size;
	int i;

	for (i = 0; i < LIST_TRIES; i++) {
		size = listxattr(path, NULL, 0);
		if (size == -1 && errno == ENOTSUP) {
			size = 0;
		}
		if (size == -1) {
			return errno;
		}
		*length = 0;
		*names = talloc_array(mem_ctx, char, size + 1);
		if (*names == NULL) {
			return ENOMEM;
		}
		if (size == 0) {
			return 0;
		}
		size = listxattr(path, *names, size);
		if (size >= 0) {
			*length = size;
			return 0;
		}
		if (errno != ERANGE) {
			return errno;
		}
		TALLOC_FREE(*names);
	}
	return EAGAIN;
}

static int read_value(TALLOC_CTX *mem_ctx,
		      const char *path,
		      const char *name,
		      DATA_BLOB *blob)
{
	ssize_t size;
	int i;

	for (i = 0; i < LIST_TRIES; i++) {
		size = getxattr(path, name, NULL, 0);
		if (size == -1) {
			return errno;
		}
		blob->length = 0;
		blob->data = talloc_array(mem_ctx, uint8_t, size + 1);
		if (blob->data == NULL) {
			return ENOMEM;
		}
		if (size == 0) {
			return 0;
		}
		size = getxattr(path, name, blob->data, size);
		if (size >= 0) {
			blob->length = size;
			return 0;
		}
		if (errno != ERANGE) {
			return errno;
		}
		TALLOC_FREE(blob->data);
	}
	return EAGAIN;
}

static void decode(TALLOC_CTX *mem_ctx, struct xattr_value *value)
{
	NTSTATUS status = NT_STATUS_OK;

	switch (value->kind) {
	case XATTR_DOSATTRIB:
		status = ntvfs_dosattrib_decode(mem_ctx,
						&value->blob,
						&value->dosattrib,
						&value->bad);
		break;
	case XATTR_DOSATTRIB_SAMBA4:
		status = ntvfs_dosattrib_samba4_decode(mem_ctx,
						       &value->blob,
						       &value->dosattrib,
						       &value->bad);
		break;
	case XATTR_NTACL:
		status = ntvfs_ntacl_decode(mem_ctx,
					    &value->blob,
					    &value->ntacl,
					    &value->bad);
		if (NT_STATUS_IS_OK(status)) {
			/* Without SDDL the lines below it say it all. */
			ntvfs_sd_to_sddl(mem_ctx,
					 value->ntacl->sd,
					 &value->sddl);
		}
		break;
	case XATTR_STREAM_LIST:
		status = ntvfs_dosstreams_decode(mem_ctx,
						 &value->blob,
						 &value->streams,
						 &value->bad);
		break;
	case XATTR_EA_LIST:
		status = ntvfs_doseas_decode(mem_ctx,
					     &value->blob,
					     &value->eas,
					     &value->bad);
		break;
	case XATTR_EA:
		value->name = value->xattr_name + strlen(USER_PREFIX);
		value->size = value->blob.length;
		break;
	case XATTR_STREAM:
	case XATTR_STREAM_FILE:
	case XATTR_INTERNAL:
		break;
	}
	value->status = status;
}

/* Names of streams are compared as clients do, but for non-ASCII letters. */
static bool same_stream(const char *a, const char *b)
{
	size_t a_length = strlen(a);
	size_t b_length = strlen(b);
	size_t type = strlen(STREAM_TYPE);

	if (a_length > type &&
	    strcasecmp(a + a_length - type, STREAM_TYPE) == 0)
	{
		a_length -= type;
	}
	if (b_length > type &&
	    strcasecmp(b + b_length - type, STREAM_TYPE) == 0)
	{
		b_length -= type;
	}
	return a_length == b_length && strncasecmp(a, b, a_length) == 0;
}

static bool is_listed(const struct xattr_file *file, const char *name)
{
	size_t i;
	uint32_t j;

	for (i = 0; i < file->count; i++) {
		const struct ntvfs_dosstreams *streams = NULL;

		streams = file->values[i].streams;
		for (j = 0; streams != NULL && j < streams->count; j++) {
			if (same_stream(streams->streams[j].name, name)) {
				return true;
			}
		}
	}
	return false;
}

static bool has_type(const char *name)
{
	size_t length = strlen(name);
	size_t type = strlen(STREAM_TYPE);

	return length > type &&
	       strcasecmp(name + length - type, STREAM_TYPE) == 0;
}

/*
 * The data of a stream in an xattr: as streams_xattr keeps it, with a NUL byte
 * behind, unless Samba 4's own file server wrote it: its list of streams has
 * it, or it has neither NUL nor type.
 */
static void look_at_stream(const struct xattr_file *file,
			   struct xattr_value *value)
{
	const DATA_BLOB *blob = &value->blob;

	value->name = value->xattr_name + strlen(NTVFS_XATTR_DOSSTREAM_PREFIX);
	value->size = blob->length;
	if (is_listed(file, value->name)) {
		return;
	}
	if (!has_type(value->name) && blob->length > 0 &&
	    blob->data[blob->length - 1] != '\0')
	{
		return;
	}
	if (blob->length == 0 || blob->data[blob->length - 1] != '\0') {
		value->bad = "does not end with the NUL byte that smbd puts "
			     "behind the data of a stream, and cuts off: its "
			     "last byte is not seen by clients";
		value->status = NT_STATUS_INVALID_PARAMETER;
	}
	if (blob->length > 0) {
		value->size = blob->length - 1;
	}
}

/* Find name in the private folder of the share that path lies in. */
static char *find_private(TALLOC_CTX *mem_ctx,
			  const char *path,
			  const char *name)
{
	char *folder = NULL;
	char *found = NULL;
	char *slash = NULL;
	char *real = realpath(path, NULL);

	if (real == NULL) {
		return NULL;
	}
	folder = talloc_strdup(mem_ctx, real);
	free(real);
	while (folder != NULL) {
		found = talloc_asprintf(mem_ctx,
					"%s/" NTVFS_POSIX_PRIVATE_FOLDER "/%s",
					folder,
					name);
		if (found != NULL && access(found, F_OK) == 0) {
			break;
		}
		TALLOC_FREE(found);
		slash = strrchr(folder, '/');
		if (slash == NULL) {
			break;
		}
		*slash = '\0';
	}
	TALLOC_FREE(folder);
	return found;
}

/* The file of that id in a folder; who has the claim follows in its name. */
static char *file_of_id(TALLOC_CTX *mem_ctx,
			const char *folder,
			const char *id)
{
	struct dirent *entry = NULL;
	char *found = NULL;
	DIR *dir = opendir(folder);

	if (dir == NULL) {
		return NULL;
	}
	for (entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
		if (strncmp(entry->d_name, id, strlen(id)) == 0) {
			found = talloc_asprintf(mem_ctx,
						"%s/%s",
						folder,
						entry->d_name);
			break;
		}
	}
	closedir(dir);
	return found;
}

/* A stream in a file of its own; what the pointer holds: stream_files.h. */
static void look_at_stream_file(TALLOC_CTX *mem_ctx,
				const struct xattr_file *file,
				struct xattr_value *value)
{
	static const uint8_t head[] = {'N', 'T', 'S', 'F', 1, 0, 0, 0};
	const struct ntvfs_stream_pointer *pointer = NULL;
	char folder_name[sizeof("streams/xx")] = "";
	char id[2 * NTVFS_STREAM_ID_SIZE + 1] = "";
	char *folder = NULL;
	struct stat st;
	size_t i;
	char *end = id;

	value->status = NT_STATUS_INVALID_PARAMETER;
	value->name =
		value->xattr_name + strlen(NTVFS_XATTR_STREAM_FILE_PREFIX);
	if (value->blob.length != sizeof(*pointer) ||
	    memcmp(value->blob.data, head, sizeof(head)) != 0)
	{
		value->bad = "does not name a stream file";
		return;
	}
	pointer = (const struct ntvfs_stream_pointer *)value->blob.data;
	sprintf(folder_name, "streams/%02x", pointer->id[0]);
	for (i = 0; i < NTVFS_STREAM_ID_SIZE; i++) {
		end += sprintf(end, "%02x", pointer->id[i]);
	}
	folder = find_private(mem_ctx, file->path, folder_name);
	if (folder != NULL) {
		value->stream_file = file_of_id(mem_ctx, folder, id);
		TALLOC_FREE(folder);
	}
	if (value->stream_file == NULL) {
		value->bad = talloc_asprintf(
			mem_ctx,
			"no folder above has " NTVFS_POSIX_PRIVATE_FOLDER
			"/%s/%s*, which holds its data%s",
			folder_name,
			id,
			geteuid() == 0 ? "" : " (only root can look)");
		value->status = NT_STATUS_OBJECT_NAME_NOT_FOUND;
		return;
	}
	if (stat(value->stream_file, &st) != 0) {
		value->bad = talloc_asprintf(mem_ctx,
					     "%s: %s",
					     value->stream_file,
					     strerror(errno));
		return;
	}
	value->size = (uint64_t)st.st_size;
	value->status = NT_STATUS_OK;
}

static int compare_values(const void *a, const void *b)
{
	const struct xattr_value *one = a;
	const struct xattr_value *other = b;

	if (one->store != other->store) {
		if (one->store == NULL || other->store == NULL) {
			return one->store == NULL ? -1 : 1;
		}
		return strcmp(one->store, other->store);
	}
	if (one->kind != other->kind) {
		return one->kind < other->kind ? -1 : 1;
	}
	return strcmp(one->xattr_name, other->xattr_name);
}

/* Where values are read from: the file, or its record in a tdb. */
struct source {
	const char *path;	/* of the file */
	const char *store;	/* the tdb's path; NULL: the file itself */
	struct ntvfs_xattr_tdb *tdb;
	struct ntvfs_xattr_tdb_key key;
};

static int read_stored(TALLOC_CTX *mem_ctx,
		       const struct source *source,
		       const char *name,
		       DATA_BLOB *blob)
{
	size_t length = NTVFS_XATTR_VALUE_MAX;
	int ret;

	if (source->tdb == NULL) {
		return read_value(mem_ctx, source->path, name, blob);
	}
	blob->data = talloc_array(mem_ctx, uint8_t, length);
	if (blob->data == NULL) {
		return ENOMEM;
	}
	ret = ntvfs_xattr_tdb_get(source->tdb,
				  &source->key,
				  name,
				  blob->data,
				  length,
				  &blob->length);
	if (ret != 0) {
		TALLOC_FREE(blob->data);
	}
	return ret;
}

/* Add the values of these names to the file's. */
static int values_add(struct xattr_file *file,
		      const struct source *source,
		      const char *names,
		      size_t length,
		      const char **what)
{
	struct xattr_value *grown = NULL;
	const char *name = NULL;
	size_t more = 0;
	int ret;

	for (name = names; name < names + length; name += strlen(name) + 1) {
		more++;
	}
	grown = talloc_realloc(file,
			       file->values,
			       struct xattr_value,
			       file->count + more + 1);
	if (grown == NULL) {
		return ENOMEM;
	}
	file->values = grown;
	for (name = names; name < names + length; name += strlen(name) + 1) {
		struct xattr_value *value = &file->values[file->count];

		*value = (struct xattr_value){
			.xattr_name = name,
			.store = source->store,
		};
		if (!kind_of(name, &value->kind)) {
			continue;
		}
		ret = read_stored(file, source, name, &value->blob);
		if (ret == ENODATA) {
			/* Removed since it was listed. */
			continue;
		}
		if (ret != 0) {
			*what = talloc_asprintf(file, "cannot read %s", name);
			return ret;
		}
		decode(file, value);
		if (NT_STATUS_EQUAL(value->status, NT_STATUS_NO_MEMORY)) {
			return ENOMEM;
		}
		file->count++;
	}
	return 0;
}

/* Does the tdb, .ntvfs/NAME at the top of a share, lie where the file does? */
static bool is_home(TALLOC_CTX *mem_ctx,
		    const struct xattr_file *file,
		    const char *tdb_path)
{
	char *top = talloc_asprintf(mem_ctx, "%s", tdb_path);
	char *slash = NULL;
	struct stat st;
	int i;

	for (i = 0; i < 2 && top != NULL; i++) {
		slash = strrchr(top, '/');
		if (slash != NULL) {
			*slash = '\0';
		}
	}
	return top != NULL && stat(top[0] != '\0' ? top : "/", &st) == 0 &&
	       st.st_dev == file->st.st_dev;
}

/* What a tdb of the share has of the file, if there is such a tdb. */
static int tdb_add(struct xattr_file *file,
		   const char *name,
		   const char **what)
{
	struct source source = {.path = file->path};
	char *names = NULL;
	size_t length = 0;
	int fd = -1;
	int ret;

	source.store = find_private(file, file->path, name);
	if (source.store == NULL) {
		return 0;
	}
	*what = talloc_asprintf(file, "cannot use %s", source.store);
	ret = ntvfs_xattr_tdb_open_existing(file, source.store, &source.tdb);
	if (ret != 0) {
		return ret;
	}
	fd = open(file->path, O_PATH | O_CLOEXEC);
	if (fd == -1) {
		return errno;
	}
	source.key = (struct ntvfs_xattr_tdb_key){
		.volume = is_home(file, file, source.store) ? 0
							    : file->st.st_dev,
		.file_id = file->st.st_ino,
		.birth = ntvfs_posix_io_libc.get_birth(NULL, &fd),
	};
	close(fd);
	ret = ntvfs_xattr_tdb_list(source.tdb,
				   &source.key,
				   file,
				   &names,
				   &length);
	if (ret == 0) {
		ret = values_add(file, &source, names, length, what);
	}
	return ret;
}

int xattr_file_read(TALLOC_CTX *mem_ctx,
		    const char *path,
		    struct xattr_file **out,
		    const char **what)
{
	const struct source in_file = {.path = path};
	struct xattr_file *file = NULL;
	char *names = NULL;
	size_t length = 0;
	size_t i;
	int ret;

	*out = NULL;
	*what = "out of memory";
	file = talloc_zero(mem_ctx, struct xattr_file);
	if (file == NULL) {
		return ENOMEM;
	}
	file->path = path;
	ret = stat(path, &file->st);
	if (ret != 0) {
		*what = "cannot look at it";
		return errno;
	}
	file->write_time = nttime_of(&file->st.st_mtim);
	file->access_time = nttime_of(&file->st.st_atim);
	ret = read_names(file, path, &names, &length);
	if (ret != 0) {
		*what = "cannot list its extended attributes";
		return ret;
	}
	ret = values_add(file, &in_file, names, length, what);
	if (ret == 0) {
		ret = tdb_add(file, "xattr.tdb", what);
	}
	if (ret == 0) {
		ret = tdb_add(file, "overflow.tdb", what);
	}
	if (ret != 0) {
		return ret;
	}
	for (i = 0; i < file->count; i++) {
		struct xattr_value *value = &file->values[i];

		if (value->kind == XATTR_STREAM) {
			look_at_stream(file, value);
		} else if (value->kind == XATTR_STREAM_FILE) {
			look_at_stream_file(file, file, value);
		}
		if (value->bad != NULL) {
			file->bad_count++;
		}
	}
	qsort(file->values,
	      file->count,
	      sizeof(file->values[0]),
	      compare_values);
	*what = NULL;
	*out = file;
	return 0;
}

const char *xattr_file_type(const struct xattr_file *file)
{
	if (S_ISREG(file->st.st_mode)) {
		return "file";
	}
	if (S_ISDIR(file->st.st_mode)) {
		return "directory";
	}
	return "special file";
}
