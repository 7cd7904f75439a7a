/*
 * What a share keeps outside of its files, compared with the files: stream
 * files that no pointer leads to, pointers that lead nowhere, records of
 * objects that are gone.
 *
 * The share may be in use. What is called unused here is so for ever:
 *
 * U1: a stream file is unused if it was there before the walk began, nobody
 *     had changed its inode for a minute then, and no object that was in the
 *     tree all the time (W1) has a pointer to it. A pointer to a file that was
 *     there before comes only from another pointer of the same object, by a
 *     rename of the stream: all pointers of an object are read while its
 *     stamp stays the same, so one of the two is seen. A file that has just
 *     been made, and that a pointer will lead to at once, is younger.
 * U2: a record is unused if it was there before the walk began, and no object
 *     with its inode number and time of birth was in the tree all the time.
 *     It is removed only with that time of birth: a new object's stays.
 *
 * What is brought back from a backup meanwhile is not foreseen here.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_SHARE_CHECK_H
#define NTVFS_SHARE_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <talloc.h>

enum ntvfs_share_finding_kind {
	NTVFS_UNUSED_FILE,	/* path: of the stream file */
	NTVFS_GONE_RECORD,	/* path: of the tdb; inode: of the object */
	NTVFS_LOST_STREAM,	/* path: of the object; stream: its name */
	NTVFS_BAD_POINTER,	/* the same: what it has is no pointer */
	NTVFS_BAD_RECORD,	/* as GONE_RECORD: it cannot be read */
	NTVFS_STRANGE_FILE,	/* path: something that is not ours */
	NTVFS_NOT_READ		/* path; error: why */
};

struct ntvfs_share_finding {
	enum ntvfs_share_finding_kind kind;
	const char *path;
	const char *stream;
	uint64_t inode;
	uint64_t size;
	int error;
	bool removed;
};

struct ntvfs_share_check {
	/* Remove unused files and records, if the walk is complete. */
	bool remove_unused;
	/* How long an unused file must have been left alone; a minute. */
	unsigned seconds;
	void (*found)(const struct ntvfs_share_finding *finding,
		      void *private_data);
	void *private_data;
};

struct ntvfs_share_check_result {
	uint64_t objects;	/* looked at; one that changes, again */
	uint64_t files;		/* of streams */
	uint64_t records;	/* in both tdbs */
	uint64_t findings;
	uint64_t removed;
	bool complete;		/* W1; if not, nothing was removed */
	const char *not_removed;	/* why nothing may be removed, or NULL */
};

/*
 * Check the share whose top is path. To be called as root. Returns 0, ENOMEM,
 * or why .ntvfs or a tdb in it cannot be used (EPERM, EIO...).
 */
int ntvfs_share_check_run(TALLOC_CTX *mem_ctx,
			  const char *path,
			  const struct ntvfs_share_check *check,
			  struct ntvfs_share_check_result *result);

#endif /* NTVFS_SHARE_CHECK_H */
