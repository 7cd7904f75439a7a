/*
 * The store of a share for pointers to stream files that do not fit into
 * their object: .ntvfs/overflow.tdb.
 *
 * On ext4 all xattrs of an inode share one block, so that an object with many
 * streams, or with a large security descriptor, may have no room even for a
 * pointer; and the pointer of a stream with a long name would have a longer
 * name than an xattr can have. Such pointers lie here, as the xattrs they
 * would have been, in the records of xattr_tdb_record.h.
 *
 * O1: a pointer lies in the object or here. Should one be in both places,
 *     because a process was killed while moving it, the object's counts.
 * O2: a record is believed only for an object of the share's own file system
 *     with a known time of birth: inode numbers are given to other files, and
 *     the numbers of other volumes change.
 *
 * Most shares never have this store, and nobody pays for it there: whether it
 * is there is looked up when the backend is made, and again when a number in
 * shared memory, a page of the file that is locked for changes of streams,
 * tells that some process has made one since. Whoever makes the store counts
 * that number up before storing the first record, so no record is missed.
 * Where there is a store, tdb's own sequence number, in shared memory too,
 * tells whether what is remembered of an object is up to date.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_OVERFLOW_H
#define NTVFS_OVERFLOW_H

#include "ntvfs_posix/private.h"

#define NTVFS_OVERFLOW_NAME "overflow.tdb"

/*
 * All functions that return int return 0 or an errno value. They become root
 * for what needs it.
 */

/*
 * Get ready, and open the store if there is one; posix->overflow is set. EIO,
 * EPERM...: it is there but cannot be used.
 */
int ntvfs_overflow_start(struct ntvfs_posix *posix);

/*
 * A number that is another one after each change of the store; 0: there is no
 * store. This takes no system call, unless a store has been made somewhere
 * since the last call.
 */
int ntvfs_overflow_stamp(struct ntvfs_posix *posix, uint64_t *stamp);

/* All names of the object's record, packed; *length 0: there is none. */
int ntvfs_overflow_names(struct ntvfs_posix *posix,
			 const struct ntvfs_object *object,
			 TALLOC_CTX *mem_ctx,
			 char **names,
			 size_t *length);

/* ENODATA: it is not there. As ntvfs_xattr_tdb_get(). */
int ntvfs_overflow_get(struct ntvfs_posix *posix,
		       const struct ntvfs_object *object,
		       const char *name,
		       void *value,
		       size_t size,
		       size_t *length);

/*
 * Store a value, making the store if need be. EFBIG: the record would be too
 * large, or the object is none that may have one (O2).
 */
int ntvfs_overflow_set(struct ntvfs_posix *posix,
		       const struct ntvfs_object *object,
		       const char *name,
		       const void *value,
		       size_t length);

/* ENODATA: it is not there. */
int ntvfs_overflow_remove(struct ntvfs_posix *posix,
			  const struct ntvfs_object *object,
			  const char *name);

/* The object is gone. */
void ntvfs_overflow_forget(struct ntvfs_posix *posix,
			   const struct ntvfs_object *object);

#endif /* NTVFS_OVERFLOW_H */
