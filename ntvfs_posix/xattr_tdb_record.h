/*
 * The record in which all extended attributes of an object are kept in a tdb.
 *
 *   header, 48 bytes
 *   count entries, each: an entry header of 8 bytes, the name, the value
 *
 * All numbers are little-endian; nothing is aligned. The checksum is the
 * XXH64 of two such numbers: the XXH64 of the bytes before the checksum and
 * that of the bytes behind it, each with seed 0. A record carries the identity
 * of its object, so that one found in the wrong place is known for what it is.
 *
 * Invariants of a valid record:
 * X1: length is the number of bytes of the record, and header and entries
 *     fill it exactly.
 * X2: a name has 1 to 1023 bytes, none of them NUL; the names are in strictly
 *     ascending order as bytes, so each is there once.
 * X3: a value has at most 65536 bytes.
 * X4: reserved fields are zero.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_XATTR_TDB_RECORD_H
#define NTVFS_XATTR_TDB_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <talloc.h>
#include "ntvfs_posix/xattr_tdb.h"

/* 255 UTF-16 units of a stream's name in UTF-8, and what is around them. */
#define NTVFS_XATTR_TDB_NAME_MAX 1023

/* As on Linux: XATTR_SIZE_MAX. */
#define NTVFS_XATTR_TDB_VALUE_MAX 65536

/* The largest record: each change writes all of it. */
#define NTVFS_XATTR_TDB_RECORD_MAX (4 * 1024 * 1024)

#define NTVFS_XATTR_TDB_RECORD_VERSION 1

struct ntvfs_xattr_tdb_header {
	uint8_t magic[4]; /* "NTXA" */
	uint8_t version[2];
	uint8_t reserved[2];
	uint8_t volume[8];
	uint8_t file_id[8];
	uint8_t birth[8];
	uint8_t count[4];
	uint8_t length[4];
	uint8_t checksum[8];
};
_Static_assert(sizeof(struct ntvfs_xattr_tdb_header) == 48 &&
		       offsetof(struct ntvfs_xattr_tdb_header, birth) == 24 &&
		       offsetof(struct ntvfs_xattr_tdb_header, checksum) == 40,
	       "the layout of a stored record");

struct ntvfs_xattr_tdb_entry_header {
	uint8_t name_length[2];
	uint8_t reserved[2];
	uint8_t value_length[4];
};
_Static_assert(sizeof(struct ntvfs_xattr_tdb_entry_header) == 8,
	       "the layout of a stored record");

/* An attribute of a record; the pointers lead into it. */
struct ntvfs_xattr_tdb_entry {
	const char *name; /* no NUL behind it */
	size_t name_length;
	const uint8_t *value;
	size_t value_length;
};

/*
 * Whether the bytes are a valid record of the object: NULL, or which rule is
 * broken, in words. The birth of key is not looked at; *birth and *count are
 * those of the record. Any bytes may be given.
 */
const char *
ntvfs_xattr_tdb_record_validate(const uint8_t *record,
				size_t length,
				const struct ntvfs_xattr_tdb_key *key,
				uint64_t *birth,
				uint32_t *count);

/*
 * Go through the entries of a valid record: *offset is 0 before the first
 * call. false: there are no more.
 */
bool ntvfs_xattr_tdb_record_next(const uint8_t *record,
				 size_t length,
				 size_t *offset,
				 struct ntvfs_xattr_tdb_entry *entry);

/*
 * Make the record that has the entries of a valid old one (NULL: none),
 * without the attribute called name and, if value is not NULL, with that
 * value for it. *record is on mem_ctx, and NULL if no entry is left.
 *
 * ENODATA: value is NULL and there is no such attribute; EFBIG: more than
 * a record can hold; ENOMEM. name and value have been checked by the caller.
 */
int ntvfs_xattr_tdb_record_change(TALLOC_CTX *mem_ctx,
				  const struct ntvfs_xattr_tdb_key *key,
				  const uint8_t *old,
				  size_t old_length,
				  const char *name,
				  const void *value,
				  size_t value_length,
				  uint8_t **record,
				  size_t *length);

/* Set the checksum of a record with a header to what its bytes give. */
void ntvfs_xattr_tdb_record_seal(uint8_t *record, size_t length);

/*
 * A record in lines: the object, then name and size of each attribute; or
 * what is wrong with it. On mem_ctx; NULL: no memory.
 */
char *ntvfs_xattr_tdb_record_to_text(TALLOC_CTX *mem_ctx,
				     const uint8_t *record,
				     size_t length,
				     const struct ntvfs_xattr_tdb_key *key);

#endif /* NTVFS_XATTR_TDB_RECORD_H */
