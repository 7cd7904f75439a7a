/*
 * What a share keeps outside of its files, compared with the files.
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
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include "ntvfs_posix/overflow.h"
#include "ntvfs_posix/private_folder.h"
#include "ntvfs_posix/share_check.h"
#include "ntvfs_posix/share_walk.h"
#include "ntvfs_posix/stream_files.h"
#include "ntvfs_posix/xattr_tdb.h"

#define STREAM_TYPE ":$DATA"

/* An object whose xattrs change is read so often. */
#define READS 40

/* The tdbs of a share. */
enum { XATTR_TDB, OVERFLOW_TDB, TDBS };

static const char *const tdb_names[TDBS] = {
	[XATTR_TDB] = "xattr.tdb",
	[OVERFLOW_TDB] = NTVFS_OVERFLOW_NAME,
};

struct stream_file {
	struct ntvfs_stream_file_name name;
	char *path;
	uint64_t size;
	struct timespec ctim;
	bool is_used;
};

struct record {
	uint64_t file_id;
	uint64_t birth;
	bool is_used;
};

struct state {
	const struct ntvfs_share_check *check;
	struct ntvfs_share_check_result *result;
	const char *top;
	char *private_path;	/* .ntvfs */
	uint64_t volume;	/* that of the top */
	time_t started;
	struct stream_file *files;	/* in the order of their ids */
	size_t file_count;
	struct ntvfs_xattr_tdb *tdbs[TDBS];	/* NULL: there is none */
	char *tdb_paths[TDBS];
	struct record *records[TDBS];	/* in the order of file_id */
	size_t record_counts[TDBS];
	char **suspects;	/* objects that seem to have lost a stream */
	size_t suspect_count;
	char **lost;		/* "PATH:STREAM" of what has been reported */
	size_t lost_count;
	bool reporting;		/* suspects are looked at once more */
	bool no_memory;
	bool all_stable;	/* U1: no object changed all the time */
};

static void found(struct state *state, struct ntvfs_share_finding finding)
{
	state->result->findings++;
	if (finding.removed) {
		state->result->removed++;
	}
	state->check->found(&finding, state->check->private_data);
}

static int compare_files(const void *a, const void *b)
{
	const struct stream_file *one = a;
	const struct stream_file *other = b;

	return memcmp(one->name.id, other->name.id, sizeof(one->name.id));
}

static int compare_records(const void *a, const void *b)
{
	const struct record *one = a;
	const struct record *other = b;

	if (one->file_id != other->file_id) {
		return one->file_id < other->file_id ? -1 : 1;
	}
	return 0;
}

static struct stream_file *file_find(struct state *state, const uint8_t *id)
{
	struct stream_file wanted = {.path = NULL};

	if (state->file_count == 0) {
		return NULL;
	}
	memcpy(wanted.name.id, id, sizeof(wanted.name.id));
	return bsearch(&wanted,
		       state->files,
		       state->file_count,
		       sizeof(wanted),
		       compare_files);
}

static struct record *record_find(struct state *state, int tdb, uint64_t id)
{
	struct record wanted = {.file_id = id};

	if (state->record_counts[tdb] == 0) {
		return NULL;
	}
	return bsearch(&wanted,
		       state->records[tdb],
		       state->record_counts[tdb],
		       sizeof(wanted),
		       compare_records);
}

/* What is there before the walk: stream files. */

static int file_add(struct state *state,
		    const char *folder,
		    const char *folder_name,
		    const char *name)
{
	struct stream_file file = {.path = NULL};
	struct stream_file *grown = NULL;
	char first[3] = {name[0], name[0] != '\0' ? name[1] : '\0', '\0'};
	struct stat st;

	file.path = talloc_asprintf(state, "%s/%s", folder, name);
	if (file.path == NULL) {
		return ENOMEM;
	}
	if (lstat(file.path, &st) != 0) {
		/* gone already */
		TALLOC_FREE(file.path);
		return 0;
	}
	if (!ntvfs_stream_file_name_parse(name, &file.name) ||
	    strcmp(first, folder_name) != 0 || !S_ISREG(st.st_mode))
	{
		found(state,
		      (struct ntvfs_share_finding){
			      .kind = NTVFS_STRANGE_FILE,
			      .path = file.path,
		      });
		TALLOC_FREE(file.path);
		return 0;
	}
	file.size = (uint64_t)st.st_size;
	file.ctim = st.st_ctim;
	if (talloc_array_length(state->files) == state->file_count) {
		grown = talloc_realloc(state,
				       state->files,
				       struct stream_file,
				       2 * state->file_count + 64);
		if (grown == NULL) {
			return ENOMEM;
		}
		state->files = grown;
	}
	state->files[state->file_count] = file;
	state->file_count++;
	return 0;
}

static int folder_load(struct state *state,
		       const char *path,
		       const char *folder_name)
{
	struct dirent *entry = NULL;
	DIR *dir = opendir(path);
	int error = 0;

	if (dir == NULL) {
		return errno == ENOENT ? 0 : errno;
	}
	for (entry = readdir(dir); error == 0 && entry != NULL;
	     entry = readdir(dir))
	{
		char *sub = NULL;

		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
		{
			continue;
		}
		if (folder_name != NULL) {
			error = file_add(state,
					 path,
					 folder_name,
					 entry->d_name);
			continue;
		}
		sub = talloc_asprintf(state, "%s/%s", path, entry->d_name);
		if (sub == NULL) {
			error = ENOMEM;
			break;
		}
		error = folder_load(state, sub, entry->d_name);
		if (error == ENOTDIR) {
			found(state,
			      (struct ntvfs_share_finding){
				      .kind = NTVFS_STRANGE_FILE,
				      .path = sub,
			      });
			error = 0;
		}
		TALLOC_FREE(sub);
	}
	closedir(dir);
	return error;
}

static int files_load(struct state *state)
{
	char *path = NULL;
	int error;

	path = talloc_asprintf(state, "%s/streams", state->private_path);
	if (path == NULL) {
		return ENOMEM;
	}
	error = folder_load(state, path, NULL);
	TALLOC_FREE(path);
	if (state->file_count > 0) {
		qsort(state->files,
		      state->file_count,
		      sizeof(state->files[0]),
		      compare_files);
	}
	state->result->files = state->file_count;
	return error;
}

/* And records. */

struct record_load {
	struct state *state;
	int tdb;
};

static bool record_add(const struct ntvfs_xattr_tdb_key *key,
		       const uint8_t *record,
		       size_t length,
		       const char *broken,
		       void *private_data)
{
	struct record_load *load = private_data;
	struct state *state = load->state;
	struct record **records = &state->records[load->tdb];
	size_t *count = &state->record_counts[load->tdb];
	struct record *grown = NULL;

	state->result->records++;
	if (broken != NULL) {
		found(state,
		      (struct ntvfs_share_finding){
			      .kind = NTVFS_BAD_RECORD,
			      .path = state->tdb_paths[load->tdb],
			      .inode = key->file_id,
		      });
		return true;
	}
	if (key->volume != 0) {
		/* of a file system that is mounted in the share, or was */
		return true;
	}
	if (talloc_array_length(*records) == *count) {
		grown = talloc_realloc(state,
				       *records,
				       struct record,
				       2 * *count + 64);
		if (grown == NULL) {
			state->no_memory = true;
			return false;
		}
		*records = grown;
	}
	(*records)[*count] = (struct record){
		.file_id = key->file_id,
		.birth = key->birth,
	};
	*count += 1;
	return true;
}

static int records_load(struct state *state, int tdb)
{
	struct record_load load = {.state = state, .tdb = tdb};
	int error;

	state->tdb_paths[tdb] = talloc_asprintf(state,
						"%s/%s",
						state->private_path,
						tdb_names[tdb]);
	if (state->tdb_paths[tdb] == NULL) {
		return ENOMEM;
	}
	error = ntvfs_xattr_tdb_open_existing(state,
					      state->tdb_paths[tdb],
					      &state->tdbs[tdb]);
	if (error != 0) {
		return error == ENOENT ? 0 : error;
	}
	error = ntvfs_xattr_tdb_each(state->tdbs[tdb], record_add, &load);
	if (state->no_memory) {
		error = ENOMEM;
	}
	if (state->record_counts[tdb] > 0) {
		qsort(state->records[tdb],
		      state->record_counts[tdb],
		      sizeof(struct record),
		      compare_records);
	}
	return error;
}

/* The walk: what each object has. */

static bool skip(const char *path, void *private_data)
{
	struct state *state = private_data;

	return strcmp(path, state->private_path) == 0;
}

static void not_read(const char *path, int error, void *private_data)
{
	found(private_data,
	      (struct ntvfs_share_finding){
		      .kind = NTVFS_NOT_READ,
		      .path = path,
		      .error = error,
	      });
}

/* "user.ntvfs.str.NAME:$DATA" to NAME; NULL: it is no pointer. */
static char *stream_of(TALLOC_CTX *mem_ctx, const char *xattr_name)
{
	const size_t prefix = strlen(NTVFS_XATTR_STREAM_FILE_PREFIX);
	const size_t type = strlen(STREAM_TYPE);
	size_t length = strlen(xattr_name);

	if (length <= prefix ||
	    strncmp(xattr_name, NTVFS_XATTR_STREAM_FILE_PREFIX, prefix) != 0)
	{
		return NULL;
	}
	length -= prefix;
	xattr_name += prefix;
	if (length > type &&
	    strcasecmp(xattr_name + length - type, STREAM_TYPE) == 0)
	{
		length -= type;
	}
	return talloc_strndup(mem_ctx, xattr_name, length);
}

/* Is there a file of that id in the private folder of a folder? */
static int file_exists(TALLOC_CTX *mem_ctx,
		       const char *folder,
		       const uint8_t *id,
		       bool *exists)
{
	struct ntvfs_stream_file_name name;
	struct dirent *entry = NULL;
	char *path = NULL;
	DIR *dir = NULL;

	*exists = false;
	path = talloc_asprintf(mem_ctx,
			       "%s/" NTVFS_POSIX_PRIVATE_FOLDER
			       "/streams/%02x",
			       folder,
			       id[0]);
	if (path == NULL) {
		return ENOMEM;
	}
	dir = opendir(path);
	TALLOC_FREE(path);
	if (dir == NULL) {
		return 0;
	}
	for (entry = readdir(dir); entry != NULL && !*exists;
	     entry = readdir(dir))
	{
		*exists = ntvfs_stream_file_name_parse(entry->d_name, &name) &&
			  memcmp(name.id, id, sizeof(name.id)) == 0;
	}
	closedir(dir);
	return 0;
}

/*
 * A pointer to a file that was not there before the walk: the file may have
 * been made since, or may be that of a share within the share.
 */
static int file_exists_now(struct state *state,
			   const char *path,
			   const uint8_t *id,
			   bool *exists)
{
	char *folder = talloc_strdup(state, path);
	char *slash = NULL;
	int error = 0;

	*exists = false;
	if (folder == NULL) {
		return ENOMEM;
	}
	while (error == 0 && !*exists &&
	       strlen(folder) >= strlen(state->top))
	{
		error = file_exists(state, folder, id, exists);
		slash = strrchr(folder, '/');
		if (slash == NULL) {
			break;
		}
		*slash = '\0';
	}
	TALLOC_FREE(folder);
	return error;
}

static int text_add(struct state *state,
		    char ***texts,
		    size_t *count,
		    const char *text)
{
	char **grown = NULL;

	grown = talloc_realloc(state, *texts, char *, *count + 1);
	if (grown == NULL) {
		return ENOMEM;
	}
	*texts = grown;
	grown[*count] = talloc_strdup(grown, text);
	if (grown[*count] == NULL) {
		return ENOMEM;
	}
	*count += 1;
	return 0;
}

/*
 * Report a stream, once. Its object may have changed while it was looked at,
 * so this is done at a second look.
 */
static int lost_report(struct state *state,
		       enum ntvfs_share_finding_kind kind,
		       const char *path,
		       const char *xattr_name)
{
	char *stream = NULL;
	char *full = NULL;
	size_t i;
	int error;

	if (!state->reporting) {
		if (state->suspect_count > 0 &&
		    strcmp(state->suspects[state->suspect_count - 1], path) ==
			    0)
		{
			return 0;
		}
		return text_add(state,
				&state->suspects,
				&state->suspect_count,
				path);
	}
	stream = stream_of(state, xattr_name);
	if (stream == NULL) {
		return ENOMEM;
	}
	full = talloc_asprintf(state, "%s:%s", path, stream);
	if (full == NULL) {
		return ENOMEM;
	}
	for (i = 0; i < state->lost_count; i++) {
		if (strcmp(state->lost[i], full) == 0) {
			return 0;
		}
	}
	error = text_add(state, &state->lost, &state->lost_count, full);
	if (error != 0) {
		return error;
	}
	found(state,
	      (struct ntvfs_share_finding){
		      .kind = kind,
		      .path = path,
		      .stream = stream,
	      });
	return 0;
}

static int pointer_look(struct state *state,
			const char *path,
			const char *xattr_name,
			const void *value,
			size_t length)
{
	struct ntvfs_stream_pointer pointer;
	struct stream_file *file = NULL;
	bool exists = false;
	int error;

	if (ntvfs_stream_pointer_parse(value, length, &pointer) != 0) {
		return lost_report(state,
				   NTVFS_BAD_POINTER,
				   path,
				   xattr_name);
	}
	file = file_find(state, pointer.id);
	if (file != NULL) {
		file->is_used = true;
		return 0;
	}
	error = file_exists_now(state, path, pointer.id, &exists);
	if (error != 0 || exists) {
		return error;
	}
	return lost_report(state, NTVFS_LOST_STREAM, path, xattr_name);
}

/* EAGAIN: the xattrs change while they are read. */
static int xattrs_look(struct state *state, const char *path, bool *pointers)
{
	char names[XATTR_LIST_MAX];
	uint8_t value[sizeof(struct ntvfs_stream_pointer) + 1];
	const char *name = NULL;
	ssize_t length;
	int error = 0;

	*pointers = false;
	length = llistxattr(path, names, sizeof(names));
	if (length == -1) {
		return errno == ENOTSUP ? 0 : errno;
	}
	for (name = names; error == 0 && name < names + length;
	     name += strlen(name) + 1)
	{
		ssize_t got;

		if (strncmp(name,
			    NTVFS_XATTR_STREAM_FILE_PREFIX,
			    strlen(NTVFS_XATTR_STREAM_FILE_PREFIX)) != 0)
		{
			continue;
		}
		*pointers = true;
		got = lgetxattr(path, name, value, sizeof(value));
		if (got == -1 && errno == ERANGE) {
			got = sizeof(value);
		}
		if (got == -1) {
			return errno == ENODATA ? EAGAIN : errno;
		}
		error = pointer_look(state, path, name, value, (size_t)got);
	}
	return error;
}

static uint64_t birth_of(const char *path)
{
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	uint64_t birth = 0;

	if (fd != -1) {
		birth = ntvfs_posix_io_libc.get_birth(NULL, &fd);
		close(fd);
	}
	return birth;
}

/* EAGAIN as above. */
static int record_look(struct state *state,
		       const char *path,
		       const struct stat *st,
		       int tdb)
{
	struct ntvfs_xattr_tdb_key key = {.file_id = st->st_ino};
	struct record *record = NULL;
	uint8_t value[sizeof(struct ntvfs_stream_pointer) + 1];
	const char *name = NULL;
	char *names = NULL;
	uint32_t before;
	size_t length = 0;
	size_t got = 0;
	int error;

	if (state->tdbs[tdb] == NULL || st->st_dev != state->volume ||
	    !ntvfs_xattr_tdb_has(state->tdbs[tdb], 0, st->st_ino))
	{
		return 0;
	}
	key.birth = birth_of(path);
	record = record_find(state, tdb, st->st_ino);
	if (record != NULL && record->birth == key.birth) {
		record->is_used = true;
	}
	before = ntvfs_xattr_tdb_sequence(state->tdbs[tdb]);
	error = ntvfs_xattr_tdb_list(state->tdbs[tdb],
				     &key,
				     state,
				     &names,
				     &length);
	for (name = names; error == 0 && name < names + length;
	     name += strlen(name) + 1)
	{
		if (strncmp(name,
			    NTVFS_XATTR_STREAM_FILE_PREFIX,
			    strlen(NTVFS_XATTR_STREAM_FILE_PREFIX)) != 0)
		{
			continue;
		}
		error = ntvfs_xattr_tdb_get(state->tdbs[tdb],
					    &key,
					    name,
					    value,
					    sizeof(value),
					    &got);
		if (error == ERANGE) {
			got = sizeof(value);
			error = 0;
		}
		if (error == ENODATA) {
			error = EAGAIN;
		}
		if (error == 0) {
			error = pointer_look(state, path, name, value, got);
		}
	}
	TALLOC_FREE(names);
	if (error == EIO) {
		/* the record was reported */
		state->all_stable = false;
		return 0;
	}
	if (error == 0 &&
	    ntvfs_xattr_tdb_sequence(state->tdbs[tdb]) != before)
	{
		error = EAGAIN;
	}
	return error;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/*
 * All pointers of an object as they were at one time. EAGAIN: there was no
 * such time while they were read.
 */
static int object_look(struct state *state, const char *path)
{
	bool pointers = false;
	struct stat st;
	struct stat after;
	int error;
	int tdb;

	if (lstat(path, &st) != 0) {
		return errno;
	}
	/* a pointer moves from the object to the tdb, never back */
	error = xattrs_look(state, path, &pointers);
	for (tdb = 0; error == 0 && tdb < TDBS; tdb++) {
		error = record_look(state, path, &st, tdb);
	}
	if (error != 0 || !pointers) {
		/* none at all were listed at one time: there was none then */
		return error;
	}
	if (lstat(path, &after) != 0) {
		return errno;
	}
	if (st.st_ino != after.st_ino || st.st_dev != after.st_dev ||
	    !same_time(&st.st_ctim, &after.st_ctim) ||
	    ntvfs_share_stamp_is_young(&st.st_ctim))
	{
		return EAGAIN;
	}
	return 0;
}

static int object(const char *path, const struct stat *st, void *private_data)
{
	struct state *state = private_data;
	unsigned reads = 0;
	int error;

	if (!state->reporting) {
		state->result->objects++;
	}
	error = object_look(state, path);
	while (error == EAGAIN && reads < READS) {
		ntvfs_share_stamps_age();
		error = object_look(state, path);
		reads++;
	}
	if (error == ENOMEM) {
		return ENOMEM;
	}
	if (error != 0 && error != ENOENT && error != ENOTDIR) {
		state->all_stable = false;
		not_read(path, error == EAGAIN ? EBUSY : error, state);
	}
	return 0;
}

/* What was there, and has not been met. */

static bool file_is_old(struct state *state, const struct stream_file *file)
{
	return file->ctim.tv_sec + (time_t)state->check->seconds <=
	       state->started;
}

static void files_judge(struct state *state, bool may_remove)
{
	size_t i;

	for (i = 0; i < state->file_count; i++) {
		const struct stream_file *file = &state->files[i];
		struct stat st;
		bool removed = false;

		if (file->is_used || !file_is_old(state, file) ||
		    lstat(file->path, &st) != 0 ||
		    !same_time(&st.st_ctim, &file->ctim))
		{
			continue;
		}
		if (may_remove) {
			/* U1 */
			removed = unlink(file->path) == 0;
		}
		found(state,
		      (struct ntvfs_share_finding){
			      .kind = NTVFS_UNUSED_FILE,
			      .path = file->path,
			      .inode = file->name.inode,
			      .size = file->size,
			      .removed = removed,
		      });
	}
}

static void records_judge(struct state *state, int tdb, bool may_remove)
{
	size_t i;

	for (i = 0; i < state->record_counts[tdb]; i++) {
		const struct record *record = &state->records[tdb][i];
		const struct ntvfs_xattr_tdb_key key = {
			.file_id = record->file_id,
			.birth = record->birth,
		};
		bool removed = false;

		if (record->is_used) {
			continue;
		}
		if (may_remove && record->birth != 0) {
			/* U2 */
			removed = ntvfs_xattr_tdb_forget(state->tdbs[tdb],
							 &key) == 0;
		}
		found(state,
		      (struct ntvfs_share_finding){
			      .kind = NTVFS_GONE_RECORD,
			      .path = state->tdb_paths[tdb],
			      .inode = record->file_id,
			      .removed = removed,
		      });
	}
}

/*
 * An object in a share within a share may have its streams with either of
 * them, or have been moved since out of what is looked at here.
 */
static int outer_share_find(struct state *state, bool *found_one)
{
	char *folder = talloc_strdup(state, state->top);
	char *slash = NULL;
	int error = 0;

	*found_one = false;
	if (folder == NULL) {
		return ENOMEM;
	}
	for (slash = strrchr(folder, '/'); slash != NULL && !*found_one;
	     slash = strrchr(folder, '/'))
	{
		char *path = NULL;

		*slash = '\0';
		path = talloc_asprintf(state,
				       "%s/" NTVFS_POSIX_PRIVATE_FOLDER,
				       folder);
		if (path == NULL) {
			error = ENOMEM;
			break;
		}
		*found_one = access(path, F_OK) == 0;
		TALLOC_FREE(path);
	}
	TALLOC_FREE(folder);
	return error;
}

static int prepare(struct state *state)
{
	bool has_outer = false;
	struct stat st;
	int folder_fd = -1;
	int error;
	int tdb;

	if (lstat(state->top, &st) != 0) {
		return errno;
	}
	state->volume = st.st_dev;
	state->private_path = talloc_asprintf(
		state,
		"%s/" NTVFS_POSIX_PRIVATE_FOLDER,
		strcmp(state->top, "/") == 0 ? "" : state->top);
	if (state->private_path == NULL) {
		return ENOMEM;
	}
	error = ntvfs_private_folder_open(state->top, NULL, false, &folder_fd);
	if (error != 0 && error != ENOENT) {
		return error;
	}
	if (error == 0) {
		close(folder_fd);
	}
	error = outer_share_find(state, &has_outer);
	if (error == 0 && has_outer) {
		state->result->not_removed =
			"a folder above has a " NTVFS_POSIX_PRIVATE_FOLDER
			", too";
	}
	/* files first: a pointer to each of them has been there since */
	if (error == 0) {
		error = files_load(state);
	}
	for (tdb = 0; error == 0 && tdb < TDBS; tdb++) {
		error = records_load(state, tdb);
	}
	return error;
}

int ntvfs_share_check_run(TALLOC_CTX *mem_ctx,
			  const char *path,
			  const struct ntvfs_share_check *check,
			  struct ntvfs_share_check_result *result)
{
	struct state *state = NULL;
	struct ntvfs_share_walk walk = {
		.object = object,
		.problem = not_read,
		.skip = skip,
	};
	char *real = NULL;
	bool may_remove = false;
	size_t i;
	int error;
	int tdb;

	*result = (struct ntvfs_share_check_result){.objects = 0};
	state = talloc_zero(mem_ctx, struct state);
	real = realpath(path, NULL);
	if (state == NULL || real == NULL) {
		error = state == NULL ? ENOMEM : errno;
		goto done;
	}
	walk.private_data = state;
	state->check = check;
	state->result = result;
	state->top = real;
	state->started = time(NULL);
	state->all_stable = true;
	error = prepare(state);
	if (error != 0) {
		goto done;
	}
	error = ntvfs_share_walk_run(state, real, &walk, &result->complete);
	if (error != 0) {
		goto done;
	}
	result->complete = result->complete && state->all_stable;
	state->reporting = true;
	for (i = 0; error == 0 && i < state->suspect_count; i++) {
		error = object(state->suspects[i], NULL, state);
	}
	if (error != 0) {
		goto done;
	}
	may_remove = check->remove_unused && result->complete &&
		     result->not_removed == NULL;
	files_judge(state, may_remove);
	for (tdb = 0; tdb < TDBS; tdb++) {
		records_judge(state, tdb, may_remove);
	}
done:
	TALLOC_FREE(state);
	free(real);
	return error;
}
