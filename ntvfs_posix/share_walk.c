/*
 * All files and folders of a share that is in use, none of them missed.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>
#include "ntvfs_posix/share_walk.h"

/* A share that is so busy is not quiet within a few more. */
#define ROUNDS 40

/* Longer than the step of any kernel's coarse clock. */
#define YOUNG_NS 50000000

/* Where stamps are whole seconds. */
#define YOUNG_SECONDS_NS 2100000000

struct folder {
	char *path;
	dev_t dev;
	ino_t ino;
	struct timespec mtim; /* before it was read */
	struct timespec ctim;
	bool is_dirty; /* it has to be read */
	bool is_gone;
};

struct state {
	const struct ntvfs_share_walk *walk;
	struct folder *folders;
	size_t count;
	/* by the hash of the path: index + 1 in folders; 0: free */
	uint32_t *index;
	size_t index_size;
	bool complete;
};

bool ntvfs_share_stamp_is_young(const struct timespec *stamp)
{
	struct timespec now = {.tv_sec = 0};
	int64_t seconds;
	int64_t age;

	clock_gettime(CLOCK_REALTIME, &now);
	seconds = (int64_t)now.tv_sec - (int64_t)stamp->tv_sec;
	if (seconds > 3) {
		return false;
	}
	if (seconds < -3) {
		/* a clock that was set back: it will be long in the future */
		return false;
	}
	age = seconds * 1000000000 + (now.tv_nsec - stamp->tv_nsec);
	return age < (stamp->tv_nsec == 0 ? YOUNG_SECONDS_NS : YOUNG_NS);
}

void ntvfs_share_stamps_age(void)
{
	const struct timespec wait = {.tv_nsec = YOUNG_NS};

	nanosleep(&wait, NULL);
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* The place of a path in the index: of its folder, or a free one. */
static uint32_t *index_place(struct state *state, const char *path)
{
	size_t at = XXH64(path, strlen(path), 0) % state->index_size;

	while (state->index[at] != 0) {
		struct folder *folder =
			&state->folders[state->index[at] - 1];

		if (strcmp(folder->path, path) == 0) {
			break;
		}
		at = (at + 1) % state->index_size;
	}
	return &state->index[at];
}

static int index_grow(struct state *state)
{
	size_t i;

	if (2 * state->count < state->index_size) {
		return 0;
	}
	TALLOC_FREE(state->index);
	state->index_size = state->index_size * 2 + 1021;
	state->index = talloc_zero_array(state, uint32_t, state->index_size);
	if (state->index == NULL) {
		return ENOMEM;
	}
	for (i = 0; i < state->count; i++) {
		*index_place(state, state->folders[i].path) = (uint32_t)i + 1;
	}
	return 0;
}

/* A folder that has been met: to be read, unless it is known already. */
static int folder_add(struct state *state, const char *path)
{
	struct folder *grown = NULL;
	uint32_t *place = NULL;
	int error;

	error = index_grow(state);
	if (error != 0) {
		return error;
	}
	place = index_place(state, path);
	if (*place != 0) {
		struct folder *folder = &state->folders[*place - 1];

		if (folder->is_gone) {
			folder->is_gone = false;
			folder->is_dirty = true;
		}
		return 0;
	}
	if (talloc_array_length(state->folders) == state->count) {
		grown = talloc_realloc(state,
				       state->folders,
				       struct folder,
				       2 * state->count + 64);
		if (grown == NULL) {
			return ENOMEM;
		}
		state->folders = grown;
	}
	state->folders[state->count] = (struct folder){
		.path = talloc_strdup(state, path),
		.is_dirty = true,
	};
	if (state->folders[state->count].path == NULL) {
		return ENOMEM;
	}
	state->count++;
	*place = (uint32_t)state->count;
	return 0;
}

static void problem(struct state *state, const char *path, int error)
{
	state->complete = false;
	state->walk->problem(path, error, state->walk->private_data);
}

static int entry_visit(struct state *state, const char *path)
{
	const struct ntvfs_share_walk *walk = state->walk;
	struct stat st;
	int error = 0;

	if (lstat(path, &st) != 0) {
		if (errno != ENOENT) {
			problem(state, path, errno);
		}
		/* where it went is read again, if it is still in the tree */
		return 0;
	}
	if (S_ISDIR(st.st_mode)) {
		if (walk->skip(path, walk->private_data)) {
			return 0;
		}
		error = folder_add(state, path);
	}
	if (error == 0 && (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode))) {
		error = walk->object(path, &st, walk->private_data);
	}
	return error;
}

static int folder_read_entries(struct state *state, DIR *dir, const char *top)
{
	struct dirent *entry = NULL;
	int error = 0;

	while (error == 0) {
		char *path = NULL;

		errno = 0;
		entry = readdir(dir);
		if (entry == NULL) {
			if (errno != 0) {
				problem(state, top, errno);
			}
			break;
		}
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
		{
			continue;
		}
		path = talloc_asprintf(state,
				       "%s%s%s",
				       top,
				       strcmp(top, "/") == 0 ? "" : "/",
				       entry->d_name);
		if (path == NULL) {
			return ENOMEM;
		}
		error = entry_visit(state, path);
		TALLOC_FREE(path);
	}
	return error;
}

static int folder_read(struct state *state, size_t i)
{
	struct folder *folder = &state->folders[i];
	const char *path = folder->path;
	struct stat st;
	DIR *dir = NULL;
	int error;
	int fd;

	folder->is_dirty = false;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1) {
		if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) {
			folder->is_gone = true;
			return 0;
		}
		problem(state, path, errno);
		return 0;
	}
	/* before it is read: what changes meanwhile has it read again */
	if (fstat(fd, &st) != 0) {
		problem(state, path, errno);
		close(fd);
		return 0;
	}
	folder->dev = st.st_dev;
	folder->ino = st.st_ino;
	folder->mtim = st.st_mtim;
	folder->ctim = st.st_ctim;
	if (ntvfs_share_stamp_is_young(&st.st_mtim)) {
		/* no change of it can be told: never the same as later */
		folder->ino = 0;
	}
	dir = fdopendir(fd);
	if (dir == NULL) {
		problem(state, path, errno);
		close(fd);
		return 0;
	}
	error = folder_read_entries(state, dir, path);
	closedir(dir);
	return error;
}

/* Which folders have to be read again; *any: some do. */
static void folders_compare(struct state *state, bool *any)
{
	size_t i;

	*any = false;
	for (i = 0; i < state->count; i++) {
		struct folder *folder = &state->folders[i];
		struct stat st;

		if (folder->is_gone) {
			continue;
		}
		if (lstat(folder->path, &st) != 0) {
			if (errno != ENOENT && errno != ENOTDIR) {
				problem(state, folder->path, errno);
			}
			st.st_mode = 0;
		}
		if (!S_ISDIR(st.st_mode)) {
			/*
			 * Where it is now is told by a folder that has changed,
			 * maybe since it was looked at here.
			 */
			folder->is_gone = true;
			*any = true;
			continue;
		}
		if (folder->ino != st.st_ino || folder->dev != st.st_dev ||
		    !same_time(&folder->mtim, &st.st_mtim) ||
		    !same_time(&folder->ctim, &st.st_ctim))
		{
			folder->is_dirty = true;
			*any = true;
		}
	}
}

int ntvfs_share_walk_run(TALLOC_CTX *mem_ctx,
			 const char *path,
			 const struct ntvfs_share_walk *walk,
			 bool *complete)
{
	struct state *state = NULL;
	unsigned rounds = 0;
	bool any = true;
	size_t i;
	int error;

	*complete = false;
	state = talloc_zero(mem_ctx, struct state);
	if (state == NULL) {
		return ENOMEM;
	}
	state->walk = walk;
	state->complete = true;
	error = entry_visit(state, path);
	while (error == 0 && any && rounds < ROUNDS) {
		if (rounds > 0) {
			ntvfs_share_stamps_age();
		}
		rounds++;
		/* the list grows meanwhile */
		for (i = 0; error == 0 && i < state->count; i++) {
			if (state->folders[i].is_dirty) {
				error = folder_read(state, i);
			}
		}
		folders_compare(state, &any);
	}
	*complete = error == 0 && state->complete && !any;
	TALLOC_FREE(state);
	return error;
}
