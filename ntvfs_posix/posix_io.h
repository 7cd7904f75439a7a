/*
 * The calls by which the posix backend reaches the operating system.
 *
 * One table calls libc with file descriptors, for tools and tests; another,
 * in smbd/, calls SMB_VFS_NEXT_* with smbd's file handles, so that other VFS
 * modules still stack under ntvfs. Tests replace the table to see and to
 * fail every call.
 *
 * Each call returns what the system call of that name returns, -1 with errno
 * set when it fails. A handle may be one that only names the object (O_PATH).
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_POSIX_IO_H
#define NTVFS_POSIX_IO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct ntvfs_posix_io {
	void *context;

	ssize_t (*fgetxattr)(void *context, void *handle, const char *name,
			     void *value, size_t size);
	/*
	 * An xattr of the security name space is set whoever the user is, if
	 * the table can give the right to do so for the time of the call;
	 * EPERM otherwise.
	 */
	int (*fsetxattr)(void *context, void *handle, const char *name,
			 const void *value, size_t size, int flags);
	int (*fremovexattr)(void *context, void *handle, const char *name);
	ssize_t (*flistxattr)(void *context, void *handle, char *list,
			      size_t size);

	/* Owner and group of the object, for the files that belong to it. */
	int (*get_owner)(void *context, void *handle, uid_t *uid, gid_t *gid);

	/*
	 * A number that differs between two objects that have had the same
	 * inode number: the time of birth, in ns; 0 where that is not known.
	 */
	uint64_t (*get_birth)(void *context, void *handle);

	/*
	 * Whether the file system that the object lies on has room left, for
	 * whoever asks; true if that is not known. A setxattr(2) that ended
	 * in ENOSPC has met the end of the disk only if it has none.
	 */
	bool (*has_free_space)(void *context, void *handle);

	/*
	 * A number of the file system that the object is on, the same when
	 * it is mounted again, and another one for each snapshot that can be
	 * written to; 0 where that is not known.
	 */
	uint64_t (*get_volume_id)(void *context, void *handle);

	/* What the user may not do himself is done between these two. */
	void (*become_root)(void *context);
	void (*unbecome_root)(void *context);
};

/* The table that calls libc; a handle is a pointer to a file descriptor. */
extern const struct ntvfs_posix_io ntvfs_posix_io_libc;

#endif /* NTVFS_POSIX_IO_H */
