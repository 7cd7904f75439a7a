/*
 * What this process last read of objects' metadata.
 *
 * An entry is found by an object's identity and believed as long as the
 * object's change stamp is the one it had when the entry was made: the stamp
 * is taken before the xattrs are read, so an entry can be newer than its
 * stamp but never older. Every change of an xattr moves the stamp.
 *
 * A file system whose clock is coarse can give two changes the same stamp.
 * There, an object whose stamp is younger than the clock's step is read again
 * each time (invariant M1: no entry is kept that a later change could leave
 * with the same stamp).
 *
 * Where xattrs are kept in a tdb, their changes leave the object's stamp alone:
 * nothing outlives the call that read it, then.
 *
 * The cache belongs to one process and one thread.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_METADATA_CACHE_H
#define NTVFS_METADATA_CACHE_H

#include "ntvfs_backend.h"
#include "xattr_idl/ntvfs_xattr_blob.h"

#define NTVFS_METADATA_HAS_ATTRIBUTES 0x01u
#define NTVFS_METADATA_HAS_SD	      0x02u
#define NTVFS_METADATA_HAS_NAMES      0x04u

/* No stamp of the overflow store: what has it is read again. */
#define NTVFS_OVERFLOW_STAMP_NONE UINT64_MAX

struct ntvfs_metadata {
	uint64_t volume;
	uint64_t file_id;
	struct timespec stamp;
	uint64_t used;		/* the cache's count when last used */
	bool for_one_call;	/* M1: not to be found again */
	uint32_t known;		/* NTVFS_METADATA_HAS_* */

	struct ntvfs_dosattrib attributes;	/* valid == 0: none stored */
	struct security_descriptor *sd;	/* NULL: see sd_error */
	int sd_error;			/* ENODATA or EINVAL */
	char *names;			/* packed xattr names, talloc */
	size_t names_length;
	uint64_t overflow_stamp;	/* of the names */
};

struct ntvfs_metadata_cache;

/* What an object's change stamp tells of its xattrs. */
enum ntvfs_stamps {
	NTVFS_STAMPS_EXACT,	/* another one after each change */
	NTVFS_STAMPS_COARSE,	/* M1 */
	NTVFS_STAMPS_NONE	/* nothing */
};

/*
 * objects: how many to remember, at least 16. stamps is said of one volume
 * (0: of all there are); exact stamps are taken for coarse elsewhere. NULL:
 * no memory.
 */
struct ntvfs_metadata_cache *ntvfs_metadata_cache_create(TALLOC_CTX *mem_ctx,
							 size_t objects,
							 enum ntvfs_stamps stamps,
							 uint64_t stamps_volume);

/*
 * The entry of an object, empty (known == 0) if nothing is known under its
 * stamp. It is good until the next call of a function of the cache.
 */
struct ntvfs_metadata *
ntvfs_metadata_get(struct ntvfs_metadata_cache *cache,
		   const struct ntvfs_object *object);

/* Forget an object: this process is changing it. */
void ntvfs_metadata_forget(struct ntvfs_metadata_cache *cache,
			   const struct ntvfs_object *object);

#endif /* NTVFS_METADATA_CACHE_H */
