/*
 * Streams of known content, for tests that make, change and look at them.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_POSIX_TEST_STREAM_CONTENT_H
#define NTVFS_POSIX_TEST_STREAM_CONTENT_H

#include <dirent.h>
#include "ntvfs_posix/test_fake_io.h"
#include "ntvfs_posix/xattr_tdb.h"

/* The largest small stream, in these tests. */
#define SMALL_MAX 4000

/* Large enough for a file, and for copies in more than one piece. */
#define LARGE 150000

/* A stream's content: bytes that depend on a letter. size -1: no stream. */
struct content {
	char letter;
	int size;
};

static const struct content absent = {.size = -1};

static inline uint8_t content_byte(char letter, int i)
{
	return (uint8_t)(letter + i * 7 + i / 256);
}

static inline uint8_t *content_bytes(TALLOC_CTX *mem_ctx, struct content content)
{
	uint8_t *bytes = talloc_array(mem_ctx, uint8_t, LARGE + 1);
	int i;

	for (i = 0; i < content.size; i++) {
		bytes[i] = content_byte(content.letter, i);
	}
	return bytes;
}

/* All of a stream as a caller reads it; *bytes has room for LARGE + 1. */
static inline int stream_load(struct ntvfs_backend *backend,
			      struct fake_object *file,
			      const char *name,
			      uint8_t *bytes,
			      size_t *length,
			      ino_t *inode)
{
	struct ntvfs_object object = fake_object_now(file);
	struct ntvfs_stream_data data;
	int error;

	*inode = 0;
	error = backend->ops->open_stream(backend, &object, name, 0, &data);
	if (error != 0) {
		assert_int_equal(data.fd, -1);
		return error;
	}
	if (data.fd != -1) {
		struct stat st;
		ssize_t got = pread(data.fd, bytes, LARGE + 1, 0);

		assert_int_equal(fstat(data.fd, &st), 0);
		assert_int_equal(got, data.size);
		*length = (size_t)got;
		*inode = st.st_ino;
		close(data.fd);
		return 0;
	}
	object = fake_object_now(file);
	error = backend->ops->read_stream(backend,
					  &object,
					  name,
					  bytes,
					  LARGE + 1,
					  0,
					  length);
	assert_error(error, 0);
	assert_int_equal(*length, data.size);
	return 0;
}

static inline bool stream_is(struct ntvfs_backend *backend,
			     struct fake_object *file,
			     const char *name,
			     struct content content)
{
	uint8_t *bytes = talloc_array(backend, uint8_t, LARGE + 1);
	size_t length = 0;
	ino_t inode = 0;
	bool is = false;
	int error;
	int i;

	error = stream_load(backend, file, name, bytes, &length, &inode);
	if (content.size == -1) {
		is = error == ENOENT;
		goto done;
	}
	if (error != 0 || length != (size_t)content.size) {
		goto done;
	}
	for (i = 0; i < content.size; i++) {
		if (bytes[i] != content_byte(content.letter, i)) {
			goto done;
		}
	}
	is = true;
done:
	TALLOC_FREE(bytes);
	return is;
}

static inline void assert_stream(struct ntvfs_backend *backend,
				 struct fake_object *file,
				 const char *name,
				 struct content content)
{
	if (!stream_is(backend, file, name, content)) {
		fail_msg("%s is not %c of %d bytes",
			 name,
			 content.letter,
			 content.size);
	}
}

static inline int stream_open(struct ntvfs_backend *backend,
			      struct fake_object *file,
			      const char *name,
			      uint32_t flags,
			      struct ntvfs_stream_data *data)
{
	struct ntvfs_object object = fake_object_now(file);

	return backend->ops->open_stream(backend, &object, name, flags, data);
}

/* Write as a caller does: small, and if that is no longer so, to the file. */
static inline int stream_write(struct ntvfs_backend *backend,
			       struct fake_object *file,
			       const char *name,
			       const uint8_t *bytes,
			       size_t length,
			       uint64_t offset)
{
	struct ntvfs_object object = fake_object_now(file);
	struct ntvfs_stream_data data;
	int error;

	error = backend->ops->write_stream(backend,
					   &object,
					   name,
					   bytes,
					   length,
					   offset);
	if (error != ESTALE) {
		return error;
	}
	error = stream_open(backend, file, name, 0, &data);
	if (error != 0) {
		return error;
	}
	assert_int_not_equal(data.fd, -1);
	while (length > 0) {
		ssize_t n = pwrite(data.fd, bytes, length, (off_t)offset);

		assert_true(n > 0);
		bytes += n;
		length -= (size_t)n;
		offset += (size_t)n;
	}
	close(data.fd);
	return 0;
}

static inline void stream_put(struct ntvfs_backend *backend,
			      struct fake_object *file,
			      const char *name,
			      struct content content)
{
	uint8_t *bytes = content_bytes(backend, content);
	struct ntvfs_stream_data data;

	if (content.size != -1) {
		assert_error(stream_open(backend,
					 file,
					 name,
					 NTVFS_STREAM_CREATE,
					 &data),
			     0);
		if (data.fd != -1) {
			close(data.fd);
		}
		assert_error(stream_write(backend,
					  file,
					  name,
					  bytes,
					  (size_t)content.size,
					  0),
			     0);
	}
	TALLOC_FREE(bytes);
}

static inline int stream_remove(struct ntvfs_backend *backend,
				struct fake_object *file,
				const char *name)
{
	struct ntvfs_object object = fake_object_now(file);

	return backend->ops->remove_stream(backend, &object, name);
}

static inline int stream_rename(struct ntvfs_backend *backend,
				struct fake_object *file,
				const char *from,
				const char *to,
				bool replace)
{
	struct ntvfs_object object = fake_object_now(file);

	return backend->ops->rename_stream(backend,
					   &object,
					   from,
					   to,
					   replace);
}

static inline unsigned count_in(const char *path)
{
	struct dirent *entry = NULL;
	unsigned count = 0;
	DIR *dir = opendir(path);

	if (dir == NULL) {
		return 0;
	}
	while ((entry = readdir(dir)) != NULL) {
		char *sub = NULL;

		if (entry->d_name[0] == '.') {
			continue;
		}
		if (entry->d_type != DT_DIR) {
			count++;
			continue;
		}
		sub = talloc_asprintf(NULL, "%s/%s", path, entry->d_name);
		count += count_in(sub);
		TALLOC_FREE(sub);
	}
	closedir(dir);
	return count;
}

/* How many stream files there are. */
static inline unsigned count_files(struct fake_fixture *f)
{
	char *path = talloc_asprintf(f, "%s/.ntvfs/streams", f->folder);
	unsigned count = count_in(path);

	TALLOC_FREE(path);
	return count;
}

/* What the overflow store has of an object: names, packed; *length 0: none. */
static inline char *overflow_names(struct fake_fixture *f,
				   const struct fake_object *file,
				   size_t *length)
{
	const struct ntvfs_xattr_tdb_key key = {
		.file_id = file->file_id,
		.birth = file->birth,
	};
	struct ntvfs_xattr_tdb *store = NULL;
	char *path = talloc_asprintf(f, "%s/.ntvfs/overflow.tdb", f->folder);
	char *names = NULL;
	int error;

	*length = 0;
	error = ntvfs_xattr_tdb_open_existing(f, path, &store);
	TALLOC_FREE(path);
	if (error == ENOENT) {
		return NULL;
	}
	assert_error(error, 0);
	assert_error(ntvfs_xattr_tdb_list(store, &key, f, &names, length), 0);
	TALLOC_FREE(store);
	return names;
}

/* How many pointers to stream files there are of an object, anywhere. */
static inline unsigned count_pointers(struct fake_fixture *f,
				      const struct fake_object *file)
{
	unsigned count = 0;
	size_t length = 0;
	char *names = NULL;
	size_t i;

	for (i = 0; i < FAKE_XATTRS; i++) {
		if (strncmp(file->xattrs[i].name, "user.ntvfs.str.", 15) == 0)
		{
			count++;
		}
	}
	names = overflow_names(f, file, &length);
	for (i = 0; i < length; i++) {
		if (names[i] == '\0') {
			count++;
		}
	}
	TALLOC_FREE(names);
	return count;
}

#endif /* NTVFS_POSIX_TEST_STREAM_CONTENT_H */
