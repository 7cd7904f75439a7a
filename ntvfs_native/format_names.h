/*
 * The native format: names, streams, EAs, security descriptors.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Belongs to format.h. docs/native-format.md describes the same bytes.
 */

#ifndef NTVFS_NATIVE_FORMAT_NAMES_H
#define NTVFS_NATIVE_FORMAT_NAMES_H

#include "format.h"

/*
 * One record of an index of names. The key follows, then the payload, then
 * zeros up to a multiple of 8 bytes. What value, cookie and payload are
 * depends on the kind of the index:
 *
 *   DIRECTORY  file id; the entry's number; the other name of the pair
 *   STREAMS    file id of the stream; the entry's number; nothing
 *   EA         page of the value or 0; length of the value in the lower 32
 *              bits, the EA's flags above; the value when the page is 0
 *   SD_INDEX   page and place of the descriptor; see struct nv_disk_sd_head
 *
 * In nodes above the leaves: value is the child's page, the key is a lower
 * bound of the child's keys (empty in the first record), cookie, flags and
 * payload are zero.
 */
struct nv_disk_name {
	uint64_t value;
	uint64_t cookie;
	uint8_t key_length;		/* UTF-16 units */
	uint8_t flags;			/* NV_NAME_* */
	uint16_t payload_length;	/* bytes */
	uint32_t reserved;		/* zero */
};

static_assert(sizeof(struct nv_disk_name) == 24, "name");
static_assert(offsetof(struct nv_disk_name, key_length) == 16, "name.key");

/* Directory: the key is a short name, the payload the long one. */
#define NV_NAME_ALIAS 0x01

#define NV_NAME_KEY_MAX 255		/* units */
#define NV_NAME_PAYLOAD_MAX 512		/* bytes */
#define NV_NAME_RECORD_MAX \
	((sizeof(struct nv_disk_name) + 2 * NV_NAME_KEY_MAX + \
	  NV_NAME_PAYLOAD_MAX + 7) & ~(size_t)7)
/* The longest record of an upper node. */
#define NV_NAME_CHILD_MAX \
	((sizeof(struct nv_disk_name) + 2 * NV_NAME_KEY_MAX + 7) & ~(size_t)7)

/*
 * A node of an index of names. slot[i] is the offset in the page of record i;
 * slots rise in key order. Records lie packed at the end of the page, from
 * heap on, in any order.
 */
struct nv_disk_name_node {
	struct nv_disk_page_header header;
	uint16_t heap;			/* offset in the page */
	uint16_t reserved[3];		/* zero */
	uint16_t slot[(NV_BLOCK_SIZE - 40) / 2];
};

static_assert(sizeof(struct nv_disk_name_node) == NV_BLOCK_SIZE, "name node");
static_assert(offsetof(struct nv_disk_name_node, slot) == 40, "name node");

#define NV_NAME_NODE_ROOM (NV_BLOCK_SIZE - 40)
/* The root's level is lower than this. */
#define NV_NAME_DEPTH_MAX 12

/* What an item NAMES or STREAMS may hold; more goes to a tree. */
#define NV_NAME_ITEM_MAX 1024

/*
 * An EA inside the inode: the item holds these, sorted by name as compared
 * without case. The name follows, then the value, then zeros up to a multiple
 * of 8.
 */
struct nv_disk_ea {
	uint16_t value_length;
	uint8_t name_length;	/* bytes */
	uint8_t flags;		/* MS-FSCC 2.4.16 */
	uint32_t reserved;	/* zero */
};

static_assert(sizeof(struct nv_disk_ea) == 8, "ea");

/* A page of a long value: EA, descriptor or reparse data. header.count is the
 * number of its bytes, header.next the next page or 0. */
#define NV_VALUE_ROOM (NV_BLOCK_SIZE - sizeof(struct nv_disk_page_header))

struct nv_disk_value_page {
	struct nv_disk_page_header header;
	uint8_t bytes[NV_VALUE_ROOM];
};

static_assert(sizeof(struct nv_disk_value_page) == NV_BLOCK_SIZE, "value");

#define NV_VALUE_MAX 65536
#define NV_VALUE_PAGES_MAX ((NV_VALUE_MAX + NV_VALUE_ROOM - 1) / NV_VALUE_ROOM)

/*
 * Page NV_SYSTEM_SD_HEAD; all zero is an empty store. Two indexes of kind
 * SD_INDEX, owner 0, ordered by units without any folding:
 *
 *   by_hash  key: 4 units XXH3 of the descriptor, highest first, and 2 units
 *            the id, highest first
 *   by_id    key: 2 units the id, highest first
 *
 * value in both: the page of kind SD_DATA, owner 0. cookie in both: length in
 * the lower 32 bits, offset in the page's bytes above. A descriptor of more
 * than NV_SD_SHARED_MAX bytes has a chain of pages to itself; others share
 * pages, each starting on a multiple of 8.
 *
 * An id is never used for another descriptor.
 */
struct nv_disk_sd_head {
	uint32_t magic;		/* NV_SD_MAGIC */
	uint32_t next_id;	/* 1.. */
	uint64_t by_hash;	/* page */
	uint64_t by_id;		/* page */
	uint64_t filling;	/* page of kind SD_DATA with room, or 0 */
	uint64_t count;		/* descriptors */
	uint8_t reserved[472];	/* zero */
};

static_assert(sizeof(struct nv_disk_sd_head) == 512, "sd head");
static_assert(offsetof(struct nv_disk_sd_head, by_hash) == 8, "sd head");

#define NV_SD_MAGIC UINT32_C(0x4453564e)
#define NV_SD_SHARED_MAX 2016

#endif
