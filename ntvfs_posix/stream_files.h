/*
 * Files that hold the data of large streams.
 *
 * They lie in the private folder at the top of the share, named by a random
 * 128-bit id, and are root's to reach and the stream's owner's to account
 * for. The object that has the stream keeps the id in an xattr; the file
 * keeps the inode number of that object (the claim). A copy of an object
 * made outside SMB, or one that came back from a backup, has the id but not
 * the claim: it gets a file of its own when the stream is first opened
 * (invariant S1: no two objects ever write to one stream file).
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_STREAM_FILES_H
#define NTVFS_STREAM_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <talloc.h>

#define NTVFS_STREAM_ID_SIZE 16

/* The value of the xattr that names the file; see stream_files.c. */
struct ntvfs_stream_pointer {
	uint8_t magic[4];	/* "NTSF" */
	uint8_t version;	/* 1 */
	uint8_t reserved[3];	/* 0 */
	uint8_t id[NTVFS_STREAM_ID_SIZE];
};
_Static_assert(sizeof(struct ntvfs_stream_pointer) == 24,
	       "the layout of a stored record");

struct ntvfs_stream_files;

/*
 * path is the top of the share. Nothing is made until the first file is.
 * lock_path: see struct ntvfs_posix_config. NULL: no memory.
 */
struct ntvfs_stream_files *ntvfs_stream_files_create(TALLOC_CTX *mem_ctx,
						     const char *path,
						     const char *lock_path);

/*
 * All of the following are to be called as root, and return 0 or an errno
 * value.
 */

/*
 * Make a file with the given data, claimed by inode, owned by uid and gid.
 * It is durable when this returns, so that an xattr may name it. fd is the
 * caller's to close.
 */
int ntvfs_stream_file_make(struct ntvfs_stream_files *files,
			   uint64_t inode,
			   uid_t uid,
			   gid_t gid,
			   const void *data,
			   size_t length,
			   struct ntvfs_stream_pointer *pointer,
			   int *fd);

/*
 * Open the file that a pointer names. *claimed tells whether inode has the
 * claim. EINVAL: that is no pointer; ENOENT: no such file.
 */
int ntvfs_stream_file_open(struct ntvfs_stream_files *files,
			   uint64_t inode,
			   const void *pointer,
			   size_t pointer_length,
			   bool *claimed,
			   int *fd);

/* A copy of an open file for another inode, as ntvfs_stream_file_make(). */
int ntvfs_stream_file_copy(struct ntvfs_stream_files *files,
			   uint64_t inode,
			   uid_t uid,
			   gid_t gid,
			   int from_fd,
			   struct ntvfs_stream_pointer *pointer,
			   int *fd);

/* Remove the file, if inode has the claim. */
int ntvfs_stream_file_remove(struct ntvfs_stream_files *files,
			     uint64_t inode,
			     const void *pointer,
			     size_t pointer_length);

/*
 * Keep other processes from changing streams of the object until unlocked.
 * Objects may share a lock: lock one at a time. The lock goes with the
 * process that holds it.
 */
int ntvfs_stream_files_lock(struct ntvfs_stream_files *files,
			    uint64_t volume,
			    uint64_t inode);
void ntvfs_stream_files_unlock(struct ntvfs_stream_files *files,
			       uint64_t volume,
			       uint64_t inode);

#endif /* NTVFS_STREAM_FILES_H */
