/*
 * Files that hold the data of large streams.
 *
 * They lie in the private folder at the top of the share and are root's to
 * reach and the stream's owner's to account for. The object that has the
 * stream keeps a random 128-bit id of the file in an xattr. The file's name
 * holds that id and the claim: the inode number of the object and a hash of
 * the stream's name.
 *
 * A copy of an object made outside SMB, or one that came back from a backup,
 * has the id but not the claim: it gets a file of its own when the stream is
 * first opened. So does what a rename that was cut short left behind
 * (invariant S1: no two streams ever write to one file).
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

/* Who claims a file. */
struct ntvfs_stream_claim {
	uint64_t inode;
	const char *name;	/* of the stream, without type */
};

/* What the name of a file says, without the folder that it lies in. */
struct ntvfs_stream_file_name {
	uint8_t id[NTVFS_STREAM_ID_SIZE];
	uint64_t inode;
	uint64_t name_hash;
};

struct ntvfs_stream_files;

/* EINVAL: the value of an xattr is no pointer. */
int ntvfs_stream_pointer_parse(const void *value,
			       size_t length,
			       struct ntvfs_stream_pointer *pointer);

/* false: it is no name that a file gets here. */
bool ntvfs_stream_file_name_parse(const char *name,
				  struct ntvfs_stream_file_name *parsed);

/* What the claim has of a stream's name. */
uint64_t ntvfs_stream_name_hash(const char *name);

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
 * Make a file with the given data, claimed by claim, owned by uid and gid.
 * It is durable when this returns, so that an xattr may name it. fd is the
 * caller's to close.
 */
int ntvfs_stream_file_make(struct ntvfs_stream_files *files,
			   const struct ntvfs_stream_claim *claim,
			   uid_t uid,
			   gid_t gid,
			   const void *data,
			   size_t length,
			   struct ntvfs_stream_pointer *pointer,
			   int *fd);

/*
 * Open the file that a pointer names. *claimed tells whether the claim is
 * the one given. EINVAL: that is no pointer; ENOENT: no such file.
 */
int ntvfs_stream_file_open(struct ntvfs_stream_files *files,
			   const struct ntvfs_stream_claim *claim,
			   const void *pointer,
			   size_t pointer_length,
			   bool *claimed,
			   int *fd);

/* A copy of an open file with another claim, as ntvfs_stream_file_make(). */
int ntvfs_stream_file_copy(struct ntvfs_stream_files *files,
			   const struct ntvfs_stream_claim *claim,
			   uid_t uid,
			   gid_t gid,
			   int from_fd,
			   struct ntvfs_stream_pointer *pointer,
			   int *fd);

/*
 * Give the file another claim at once, if it has the first one; else nothing
 * is done. Nothing is made durable: an old claim costs a copy of the file, no
 * more.
 */
int ntvfs_stream_file_pass(struct ntvfs_stream_files *files,
			   const struct ntvfs_stream_claim *from,
			   const struct ntvfs_stream_claim *to,
			   const void *pointer,
			   size_t pointer_length);

/* Remove the file, if it has that claim; else nothing is done. */
int ntvfs_stream_file_remove(struct ntvfs_stream_files *files,
			     const struct ntvfs_stream_claim *claim,
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
