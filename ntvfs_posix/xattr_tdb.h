/*
 * Extended attributes in a tdb, for file systems that have none.
 *
 * The record of an object is found by its volume and file id, and holds the
 * time of the object's birth or, where the file system does not tell that,
 * zero: an inode number that was given to another file meanwhile does not
 * bring the old file's attributes back.
 *
 * Each change is a tdb transaction: after a crash of any kind a record is
 * the old or the new one.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_XATTR_TDB_H
#define NTVFS_XATTR_TDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <talloc.h>

struct ntvfs_xattr_tdb;

/* Which object: birth is any number that is the same as long as it lives. */
struct ntvfs_xattr_tdb_key {
	uint64_t volume;
	uint64_t file_id;
	uint64_t birth;
};

/*
 * Open or make the tdb at path (mode 0600; to be called as root). Errors are
 * those of open(2); EIO: it is there but no tdb of ours. On a file system that
 * is mounted read-only it can be read, and changes say EROFS.
 */
int ntvfs_xattr_tdb_open(TALLOC_CTX *mem_ctx,
			 const char *path,
			 struct ntvfs_xattr_tdb **store);

/* The same, but ENOENT if it is not there. */
int ntvfs_xattr_tdb_open_existing(TALLOC_CTX *mem_ctx,
				  const char *path,
				  struct ntvfs_xattr_tdb **store);

/*
 * A number that each change of the store makes another one. Reading it takes
 * neither a system call nor a lock: it may be that of a change that is being
 * made, whose end reading a record waits for.
 */
uint32_t ntvfs_xattr_tdb_sequence(struct ntvfs_xattr_tdb *store);

/* Is there a record of that volume and file id, whatever its birth? */
bool ntvfs_xattr_tdb_has(struct ntvfs_xattr_tdb *store,
			 uint64_t volume,
			 uint64_t file_id);

/*
 * Call a function for each record, with the store locked against changes: it
 * must be quick, and not use the store. broken is NULL, or says what is wrong
 * with the record, whose birth is then unknown. It returns false to end it.
 */
typedef bool (*ntvfs_xattr_tdb_record_fn)(
	const struct ntvfs_xattr_tdb_key *key,
	const uint8_t *record,
	size_t length,
	const char *broken,
	void *private_data);
int ntvfs_xattr_tdb_each(struct ntvfs_xattr_tdb *store,
			 ntvfs_xattr_tdb_record_fn fn,
			 void *private_data);

/* As getxattr(2) and the others; each returns 0 or an errno value. */
int ntvfs_xattr_tdb_get(struct ntvfs_xattr_tdb *store,
			const struct ntvfs_xattr_tdb_key *key,
			const char *name,
			void *value,
			size_t size,
			size_t *length);
int ntvfs_xattr_tdb_set(struct ntvfs_xattr_tdb *store,
			const struct ntvfs_xattr_tdb_key *key,
			const char *name,
			const void *value,
			size_t length);
int ntvfs_xattr_tdb_remove(struct ntvfs_xattr_tdb *store,
			   const struct ntvfs_xattr_tdb_key *key,
			   const char *name);

/* Packed names, each with its NUL, on mem_ctx. */
int ntvfs_xattr_tdb_list(struct ntvfs_xattr_tdb *store,
			 const struct ntvfs_xattr_tdb_key *key,
			 TALLOC_CTX *mem_ctx,
			 char **names,
			 size_t *length);

/* The object is gone: forget its record. */
int ntvfs_xattr_tdb_forget(struct ntvfs_xattr_tdb *store,
			   const struct ntvfs_xattr_tdb_key *key);

#endif /* NTVFS_XATTR_TDB_H */
