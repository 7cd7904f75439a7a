/*
 * A table of the posix backend's calls for tests: the xattrs of a few objects
 * in shared memory, each change with another stamp, each call counted, and
 * any of them made to fail or to be the last of the process.
 *
 * Programs linked with the --wrap options of the wscript have the calls of
 * stream_files.c counted, failed and cut short in the same way.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_POSIX_TEST_FAKE_IO_H
#define NTVFS_POSIX_TEST_FAKE_IO_H

#include "ntvfs_posix/test_common.h"
#include "ntvfs_posix/ntvfs_posix.h"

#define FAKE_XATTRS 48
#define FAKE_VALUE_MAX 65536

struct fake_xattr {
	char name[256];		/* "": a free place */
	size_t length;
	uint8_t value[FAKE_VALUE_MAX];
};

struct fake_object {
	uint64_t file_id;
	uint64_t birth;
	struct timespec stamp;
	struct timespec write_stamp;
	bool is_directory;
	bool forbids_user;	/* only root reads and writes its xattrs */
	size_t capacity;	/* of names and values; ENOSPC beyond */
	bool disk_is_full;	/* that is why */
	struct fake_xattr xattrs[FAKE_XATTRS];
};

/* What each call asks first. It is of one process and counts up. */
struct fake_gate {
	unsigned calls;		/* since fake_calls_reset() */
	unsigned fail_at;	/* this call fails; 0: none */
	int fail_errno;
	unsigned kill_at;	/* SIGKILL instead of this call; 0: none */
	bool failed;		/* fail_at has been reached */
	int root_depth;
};

extern struct fake_gate fake_gate;
extern const struct ntvfs_posix_io fake_io;

/* As fail_at and kill_at say; false: fail with errno. */
bool fake_gate_pass(void);

struct fake_object *fake_object_create(uint64_t file_id);
void fake_object_destroy(struct fake_object *object);
void fake_object_empty(struct fake_object *object);

/* A copy as cp -a makes one: the xattrs, with another file id. */
void fake_object_copy(const struct fake_object *from, struct fake_object *to);

/* As the caller of the backend has it: with its stamps of now. */
struct ntvfs_object fake_object_now(struct fake_object *object);

/* Another program's look at it and change of it: uncounted, never failing. */
const struct fake_xattr *fake_xattr_find(const struct fake_object *object,
					 const char *name);
void fake_xattr_put(struct fake_object *object,
		    const char *name,
		    const void *value,
		    size_t length);
void fake_xattr_drop(struct fake_object *object, const char *name);

/* The state of all xattrs as one number, in whatever order they are. */
uint64_t fake_object_sum(const struct fake_object *object);

void fake_calls_reset(void);

/* How many complaints there were, of all backends made below. */
extern unsigned fake_complaints;
void fake_complain(const struct ntvfs_complaint *complaint,
		   void *private_data);

/*
 * A backend on the fake calls. folder: where stream files and the lock are;
 * stream_max: the largest small stream.
 */
struct ntvfs_backend *fake_backend_create(TALLOC_CTX *mem_ctx,
					  const char *folder,
					  size_t stream_max);

/*
 * Talloc contexts that a test's fixture begins with and ends with; teardown
 * fails when anything but the fixture is left.
 */
struct fake_fixture {
	char *folder;
	struct fake_object *file;
	struct fake_object *other;
	struct ntvfs_backend *backend;
};
int fake_setup(void **state);
int fake_teardown(void **state);

#endif /* NTVFS_POSIX_TEST_FAKE_IO_H */
