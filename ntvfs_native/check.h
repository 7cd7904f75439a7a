/*
 * The checker: what its files share.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The checker reads an image through the I/O table and believes nothing in
 * it: every number is checked before it is used, every loop is bounded by the
 * size of the image, every page has its checksum taken each time it is read.
 * It shares no code with the engine that could share a fault with it; the
 * structures are the same, what is asked of them is written down again here.
 *
 * It goes through the volume once in this order: super block and roots; the
 * map, which finds all pages (check_map.c); the inodes (check_inode.c), each
 * with its items, extents, names, streams and EAs, which mark blocks, pages
 * and other inodes as found; then what must agree with what was found: link
 * counts (check_names.c), bitmaps and pages (check_agree.c).
 */

#ifndef NTVFS_NATIVE_CHECK_H
#define NTVFS_NATIVE_CHECK_H

#include "format.h"
#include "io.h"
#include "ntvfs_native.h"

/*
 * Everything the checker can say. A name, the invariant of
 * docs/native-design.md that is broken (0: none of the numbered ones), and
 * what it means are in check_report.c.
 */
enum nv_finding {
	NV_FINDING_SUPER_DAMAGED,
	NV_FINDING_SUPER_FIELD,
	NV_FINDING_ROOT_NONE,
	NV_FINDING_ROOT_FIELD,
	NV_FINDING_ROOT_COUNT,
	NV_FINDING_IMAGE_SHORT,
	NV_FINDING_MAP_PLACE,
	NV_FINDING_MAP_CHECKSUM,
	NV_FINDING_PAGE_CHECKSUM,
	NV_FINDING_BLOCK_TWICE,
	NV_FINDING_PAGE_HEADER,
	NV_FINDING_PAGE_OWNER,
	NV_FINDING_PAGE_TWICE,
	NV_FINDING_PAGE_LOST,
	NV_FINDING_PAGE_MISSING,
	NV_FINDING_SYSTEM_PAGE,
	NV_FINDING_BLOCK_BIT_MISSING,
	NV_FINDING_BLOCK_BIT_EXTRA,
	NV_FINDING_INODE_BIT,
	NV_FINDING_ORPHAN_BIT,
	NV_FINDING_INODE_FIELD,
	NV_FINDING_INODE_ID,
	NV_FINDING_ITEMS,
	NV_FINDING_EXTENT_ORDER,
	NV_FINDING_EXTENT_PLACE,
	NV_FINDING_EXTENT_COUNT,
	NV_FINDING_EXTENT_TREE,
	NV_FINDING_ALLOCATION,
	NV_FINDING_DIRECTORY_ORDER,
	NV_FINDING_DIRECTORY_TREE,
	NV_FINDING_DIRECTORY_ENTRY,
	NV_FINDING_DIRECTORY_COUNT,
	NV_FINDING_DIRECTORY_COOKIE,
	NV_FINDING_SHORT_NAME,
	NV_FINDING_NAME_DANGLING,
	NV_FINDING_LINK_COUNT,
	NV_FINDING_LOST,
	NV_FINDING_PARENT,
	NV_FINDING_DIRECTORY_LOOP,
	NV_FINDING_ORPHAN,
	NV_FINDING_STREAM,
	NV_FINDING_STREAM_COUNT,
	NV_FINDING_EA,
	NV_FINDING_SD_STORE,
	NV_FINDING_SD_COUNT,
	NV_FINDING_SD_DANGLING,
	NV_FINDING_REPARSE,
	NV_FINDINGS
};

/* Its name, as nv_check_params.finding gets it. */
const char *nv_finding_name(enum nv_finding finding);
/* The number of the invariant it breaks, 0: of the format only. */
uint32_t nv_finding_invariant(enum nv_finding finding);
/* One sentence: what is wrong then. */
const char *nv_finding_meaning(enum nv_finding finding);

/* What is known of an inode number. */
struct check_inode {
	uint64_t file_id;	/* 0: no inode in use */
	uint64_t parent_id;
	uint8_t type;
	bool has_orphan_flag;
	bool damaged;		/* counts of it mean nothing */
	bool parent_names_it;
	bool reached;		/* directories: from the root directory */
	uint32_t nlink;
	uint32_t names;		/* that lead to it */
};

struct check_region {
	struct nv_disk_map_entry *page;	/* block 0: no page */
	uint64_t possible;		/* entries of page */
	uint64_t limit;			/* highest page that exists, plus 1 */
};

struct check {
	struct nv_io *io;
	const struct nv_check_params *params;
	uint64_t findings;
	uint64_t told[NV_FINDINGS];

	struct nv_disk_super super;
	struct nv_disk_root root;
	uint32_t inodes_per_page;
	uint64_t total_blocks;

	uint8_t *block_owned;		/* bit per block */
	uint8_t *block_data;		/* bit per block: of a file */
	struct check_region region[NV_REGION_COUNT];
	uint8_t *node_found;		/* bit per page of NODES */
	struct check_inode *inode;
	uint64_t inode_count;		/* numbers that have a page */
	uint16_t *upcase;		/* 65,536 */
	bool upcase_known;
	struct check_sd *sd;		/* sorted by id; check_attached.c */
	uint32_t sd_limit;
	struct check_repair *repair;	/* check_repair.c */
};

/* ---- check_report.c ---- */

/* Tell a finding. Of one kind the first 1,000 are told, all are counted. */
void check_say(struct check *check, enum nv_finding finding,
	       const char *format, ...) __attribute__((format(printf, 3, 4)));
void check_progress(struct check *check, const char *what, uint64_t done,
		    uint64_t total);

/* ---- check_map.c ---- */

/* Find all pages. NV_OK, NV_ERR_IO, NV_ERR_NO_MEMORY. */
enum nv_status check_maps(struct check *check);

/*
 * Read a page. NV_ERR_NOT_FOUND: there is none. NV_ERR_CORRUPT: its checksum
 * is wrong, which has been told. NV_ERR_IO.
 */
enum nv_status check_page(struct check *check, uint64_t page, void *buffer);

/*
 * Follow a reference to a page of the region NODES: as check_page, and its
 * header must be of this kind and owner, and nothing else may have led to
 * it (I17). What is wrong is told; then NV_ERR_CORRUPT. who says whose
 * reference it is.
 */
enum nv_status check_node(struct check *check, uint64_t page, uint32_t kind,
			  uint64_t owner, const char *who, void *buffer);

/* Read one block, unchecked. */
enum nv_status check_block(struct check *check, uint64_t block, void *buffer);

/* Take a block for an owner. False: it is impossible or taken (told). */
bool check_own(struct check *check, uint64_t block, bool data,
	       const char *who);

/* ---- check_inode.c ---- */

enum nv_status check_inodes(struct check *check);
/* The inode in use with this id, or NULL. */
struct check_inode *check_inode_of(struct check *check, uint64_t file_id);
/* An item's payload in an inode whose items are sound. NULL: not there. */
const void *check_item(const struct check *check,
		       const struct nv_disk_inode *inode, uint32_t kind,
		       uint32_t *length);

/* ---- check_extent.c ---- */

enum nv_status check_data(struct check *check,
			  const struct nv_disk_inode *inode);

/* ---- check_names.c ---- */

enum nv_status check_directory(struct check *check,
			       const struct nv_disk_inode *inode);
enum nv_status check_streams(struct check *check,
			     const struct nv_disk_inode *inode);
/* When every inode has been looked into. */
void check_all_links(struct check *check);

/* ---- check_attached.c ---- */

enum nv_status check_eas(struct check *check,
			 const struct nv_disk_inode *inode);
enum nv_status check_reparse(struct check *check,
			     const struct nv_disk_inode *inode);
/* Before the inodes are looked into. */
enum nv_status check_sd_store(struct check *check);
bool check_sd_exists(struct check *check, uint32_t id);

/* ---- check_repair.c ---- */

/*
 * The content of a page as it shall be; zeros if there is none yet. NULL:
 * nothing is to be repaired.
 */
void *check_change(struct check *check, uint64_t page);
struct nv_disk_inode *check_change_inode(struct check *check,
					 uint64_t file_id);
/* The page goes away. */
void check_drop(struct check *check, uint64_t page);
/*
 * A damaged super block made new from what it still says and what the newest
 * root says; the inode size is that at which the root directory is found.
 * False: it cannot be told.
 */
bool check_rebuild_super(struct check *check, struct nv_disk_super *super);
/* Write all changes, if all damage is of a kind that can be repaired. */
enum nv_status check_repair_write(struct check *check);
void check_repair_free(struct check *check);

/* ---- check_agree.c ---- */

enum nv_status check_bitmaps(struct check *check);
void check_lost_pages(struct check *check);

static inline bool check_bit(const uint8_t *bits, uint64_t bit)
{
	return (bits[bit >> 3] & (1U << (bit & 7))) != 0;
}

static inline void check_set_bit(uint8_t *bits, uint64_t bit)
{
	bits[bit >> 3] |= (uint8_t)(1U << (bit & 7));
}

/* All zero. */
bool check_zero(const void *data, size_t length);

#endif
