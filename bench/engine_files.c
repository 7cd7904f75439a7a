/*
 * The engine's benchmark on a file system, with the same metadata in
 * extended attributes, through system calls.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "bench/engine_store.h"

#define ATTRIBUTES_XATTR "user.DosAttrib"
#define DESCRIPTOR_XATTR "security.NTACL"

struct files_state {
	char path[PATH_MAX / 2];
	/* directories by the number that directory() gave them */
	int fds[256];
	char *names[256];
	unsigned directories;
};

static int files_attach(struct store *store, const char *where)
{
	struct files_state *state = calloc(1, sizeof(*state));

	if (state == NULL) {
		return ENOMEM;
	}
	snprintf(state->path, sizeof(state->path), "%s", where);
	store->state = state;
	return 0;
}

static int files_detach(struct store *store)
{
	struct files_state *state = store->state;
	unsigned i;

	for (i = 0; i < state->directories; i++) {
		close(state->fds[i]);
		free(state->names[i]);
	}
	free(state);
	store->state = NULL;
	return 0;
}

static int files_directory(struct store *store, const char *name,
			   uint64_t *dir)
{
	struct files_state *state = store->state;
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", state->path, name);
	if (mkdir(path, 0777) != 0 && errno != EEXIST) {
		return errno;
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1) {
		return errno;
	}
	state->fds[state->directories] = fd;
	state->names[state->directories] = strdup(path);
	*dir = state->directories++;
	return 0;
}

static void attributes_of(uint8_t record[ATTRIBUTES_SIZE], uint64_t nttime)
{
	memset(record, 0, ATTRIBUTES_SIZE);
	record[0] = 1;
	memcpy(record + 28, &nttime, sizeof(nttime));
	memcpy(record + 36, &nttime, sizeof(nttime));
}

static int files_create(struct store *store, uint64_t dir, const char *name)
{
	struct files_state *state = store->state;
	uint8_t record[ATTRIBUTES_SIZE];
	const struct timespec times[2] = {
		{.tv_sec = 1600000000, .tv_nsec = 100},
		{.tv_sec = 1600000000, .tv_nsec = 200},
	};
	int error = 0;
	int fd;

	fd = openat(state->fds[dir],
		    name,
		    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
		    0666);
	if (fd == -1) {
		return errno;
	}
	attributes_of(record, 133000000000000000);
	if (fsetxattr(fd, ATTRIBUTES_XATTR, record, sizeof(record), 0) != 0 ||
	    fsetxattr(fd,
		      DESCRIPTOR_XATTR,
		      bench_descriptor(),
		      DESCRIPTOR_SIZE,
		      0) != 0 ||
	    futimens(fd, times) != 0)
	{
		error = errno;
	}
	close(fd);
	return error;
}

static int files_remove(struct store *store, uint64_t dir, const char *name)
{
	struct files_state *state = store->state;

	return unlinkat(state->fds[dir], name, 0) == 0 ? 0 : errno;
}

static int files_rename(struct store *store, uint64_t dir, const char *from,
			const char *to)
{
	struct files_state *state = store->state;
	int fd = state->fds[dir];

	return renameat(fd, from, fd, to) == 0 ? 0 : errno;
}

static int files_stat_meta(struct store *store, uint64_t dir,
			   const char *name)
{
	struct files_state *state = store->state;
	uint8_t record[ATTRIBUTES_SIZE];
	uint8_t sd[DESCRIPTOR_SIZE];
	char path[PATH_MAX];
	struct stat st;

	if (fstatat(state->fds[dir], name, &st, 0) != 0) {
		return errno;
	}
	snprintf(path, sizeof(path), "%s/%s", state->names[dir], name);
	if (getxattr(path, ATTRIBUTES_XATTR, record, sizeof(record)) == -1 ||
	    getxattr(path, DESCRIPTOR_XATTR, sd, sizeof(sd)) == -1)
	{
		return errno;
	}
	return 0;
}

static int files_lookup(struct store *store, uint64_t dir, const char *name)
{
	struct files_state *state = store->state;
	struct stat st;

	return fstatat(state->fds[dir], name, &st, 0) == 0 ? 0 : errno;
}

static int files_list(struct store *store, uint64_t dir, size_t *count)
{
	struct files_state *state = store->state;
	struct dirent *entry = NULL;
	DIR *dirp = NULL;
	int fd;

	*count = 0;
	fd = openat(state->fds[dir], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1) {
		return errno;
	}
	dirp = fdopendir(fd);
	if (dirp == NULL) {
		close(fd);
		return ENOMEM;
	}
	while ((entry = readdir(dirp)) != NULL) {
		*count += entry->d_name[0] != '.';
	}
	closedir(dirp);
	return 0;
}

static int files_open(struct store *store, uint64_t dir, const char *name,
		      struct handle *handle)
{
	struct files_state *state = store->state;
	int fd = openat(state->fds[dir], name, O_RDWR | O_CLOEXEC);

	if (fd == -1) {
		return errno;
	}
	handle->id = (uint64_t)fd;
	return 0;
}

static int files_close(struct store *store, struct handle *handle)
{
	return close((int)handle->id) == 0 ? 0 : errno;
}

static int files_set_times(struct store *store, struct handle *handle,
			   uint64_t nttime)
{
	uint8_t record[ATTRIBUTES_SIZE];
	struct timespec times[2] = {{.tv_sec = 0}};
	int fd = (int)handle->id;

	/* create and change time in the record, the others in the inode */
	attributes_of(record, nttime);
	times[0].tv_sec = 1600000000 + (time_t)(nttime % 1000000);
	times[1].tv_sec = times[0].tv_sec + 1;
	if (fsetxattr(fd, ATTRIBUTES_XATTR, record, sizeof(record), 0) != 0 ||
	    futimens(fd, times) != 0)
	{
		return errno;
	}
	return 0;
}

static int files_read(struct store *store, struct handle *handle, void *data,
		      size_t length, uint64_t offset)
{
	ssize_t got = pread((int)handle->id, data, length, (off_t)offset);

	if (got == -1) {
		return errno;
	}
	return (size_t)got == length ? 0 : EIO;
}

static int files_write(struct store *store, struct handle *handle,
		       const void *data, size_t length, uint64_t offset)
{
	ssize_t done = pwrite((int)handle->id, data, length, (off_t)offset);

	if (done == -1) {
		return errno;
	}
	return (size_t)done == length ? 0 : ENOSPC;
}

struct store store_files = {
	.name = "files",
	.attach = files_attach,
	.detach = files_detach,
	.directory = files_directory,
	.create = files_create,
	.remove = files_remove,
	.rename = files_rename,
	.stat_meta = files_stat_meta,
	.lookup = files_lookup,
	.list = files_list,
	.open = files_open,
	.close = files_close,
	.set_times = files_set_times,
	.read = files_read,
	.write = files_write,
};
