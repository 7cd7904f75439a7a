/*
 * The checker: indexes of names, whatever they are for.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_NATIVE_CHECK_INDEX_H
#define NTVFS_NATIVE_CHECK_INDEX_H

#include "check.h"
#include "format_names.h"

struct check_key {
	uint32_t length;
	uint16_t units[NV_NAME_KEY_MAX];
};

/* A record taken apart; payload points into the page or list. */
struct check_record {
	uint64_t value;
	uint64_t cookie;
	uint32_t flags;
	uint32_t size;
	struct check_key key;
	const uint8_t *payload;
	uint32_t payload_length;
};

struct check_index {
	/* in */
	struct check *check;
	uint32_t kind;
	uint64_t owner;
	uint64_t root;			/* page, or none */
	const uint8_t *list;		/* in the inode, or NULL */
	uint32_t list_length;
	const uint16_t *upcase;		/* NULL: as they are */
	bool ascii;			/* a to z only */
	bool exact;
	bool ordered;			/* false: the order is not known */
	enum nv_finding entry;		/* what a bad record is called */
	const char *who;		/* "inode 17" */
	const char *what;		/* "names" */
	void (*take)(struct check_index *index,
		     const struct check_record *record);
	void *private_data;
	/* out */
	uint64_t records;
	/* own */
	bool any;
	struct check_key last;
};

/* Walk it; each record is told to take, in order. NV_OK, NV_ERR_IO. */
enum nv_status check_index(struct check_index *index);
int check_compare(const struct check_index *index,
		  const struct check_key *left,
		  const struct check_key *right);

/*
 * Follow a chain of value pages; bytes may be NULL. NV_ERR_CORRUPT: told.
 */
enum nv_status check_chain(struct check *check, uint64_t page, uint32_t kind,
			   uint64_t owner, const char *who, uint8_t *bytes,
			   uint32_t most, uint32_t *length);

#endif
