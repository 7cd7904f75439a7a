/*
 * The checker: what must agree with what was found.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <string.h>
#include "check.h"

/* A page of a bitmap region; zeros if it does not exist or is damaged, which
 * has been told. */
static enum nv_status bitmap_page(struct check *check, uint32_t region,
				  uint64_t index, uint8_t *bits)
{
	enum nv_status status;

	status = check_page(check, NV_PAGE(region, index), bits);
	if (status == NV_ERR_NOT_FOUND) {
		memset(bits, 0, NV_BLOCK_SIZE);
		return NV_OK;
	}
	return status;
}

/* I6: exactly the blocks of file data. */
static enum nv_status check_block_bitmap(struct check *check)
{
	uint64_t pages = check->region[NV_REGION_BLOCK_BITMAP].possible;
	uint8_t bits[NV_BLOCK_SIZE];
	uint64_t set = 0;
	uint64_t page;
	uint32_t i;

	for (page = 0; page < pages; page++) {
		enum nv_status status;

		status = bitmap_page(check, NV_REGION_BLOCK_BITMAP, page,
				     bits);
		if (status == NV_ERR_CORRUPT) {
			continue;
		}
		if (status != NV_OK) {
			return status;
		}
		for (i = 0; i < NV_BITS_PER_PAGE; i++) {
			uint64_t block = page * NV_BITS_PER_PAGE + i;
			bool stored = check_bit(bits, i);
			bool found = block < check->total_blocks &&
				check_bit(check->block_data, block);

			set += stored ? 1 : 0;
			if (stored == found) {
				continue;
			}
			check_say(check, stored ? NV_FINDING_BLOCK_BIT_EXTRA :
				  NV_FINDING_BLOCK_BIT_MISSING,
				  "block %llu is %s the block bitmap, and %s "
				  "file has it", (unsigned long long)block,
				  stored ? "in" : "not in",
				  found ? "a" : "no");
		}
		check_progress(check, "block bitmap", page + 1, pages);
	}
	if (set != check->root.data_blocks) {
		check_say(check, NV_FINDING_ROOT_COUNT,
			  "the root counts %llu data blocks, the bitmap has "
			  "%llu", (unsigned long long)check->root.data_blocks,
			  (unsigned long long)set);
	}
	return NV_OK;
}

/* I13: exactly the inodes in use; exactly those that are orphans. */
static enum nv_status check_inode_bitmap(struct check *check, bool orphans)
{
	uint32_t region = orphans ? NV_REGION_ORPHAN_BITMAP :
		NV_REGION_INODE_BITMAP;
	uint64_t pages = (check->inode_count + NV_BITS_PER_PAGE - 1) /
		NV_BITS_PER_PAGE;
	uint8_t bits[NV_BLOCK_SIZE];
	uint64_t set = 0;
	uint64_t page;
	uint32_t i;

	if (pages < check->region[region].limit) {
		check_say(check, NV_FINDING_MAP_PLACE, "the %s bitmap has "
			  "%llu pages, %llu are enough for all inodes",
			  orphans ? "orphan" : "inode",
			  (unsigned long long)check->region[region].limit,
			  (unsigned long long)pages);
		pages = check->region[region].limit;
	}
	for (page = 0; page < pages; page++) {
		enum nv_status status;

		status = bitmap_page(check, region, page, bits);
		if (status == NV_ERR_CORRUPT) {
			continue;
		}
		if (status != NV_OK) {
			return status;
		}
		for (i = 0; i < NV_BITS_PER_PAGE; i++) {
			uint64_t ino = page * NV_BITS_PER_PAGE + i;
			const struct check_inode *inode = NULL;
			bool stored = check_bit(bits, i);
			bool found = false;

			if (ino < check->inode_count) {
				inode = &check->inode[ino];
				if (inode->damaged && inode->type == 0) {
					/* In use or not: nobody knows. */
					set += stored ? 1 : 0;
					continue;
				}
				found = inode->type != 0 &&
					(!orphans || inode->has_orphan_flag);
			}
			set += stored ? 1 : 0;
			if (stored == found) {
				continue;
			}
			check_say(check, orphans ? NV_FINDING_ORPHAN_BIT :
				  NV_FINDING_INODE_BIT,
				  "inode %llu is %s the %s bitmap, and is %s",
				  (unsigned long long)ino,
				  stored ? "in" : "not in",
				  orphans ? "orphan" : "inode",
				  orphans ? (found ? "an orphan" :
					     "no orphan") :
				  (found ? "in use" : "free"));
		}
	}
	if (!orphans && set != check->root.inodes) {
		check_say(check, NV_FINDING_ROOT_COUNT,
			  "the root counts %llu inodes, the bitmap has %llu",
			  (unsigned long long)check->root.inodes,
			  (unsigned long long)set);
	}
	return NV_OK;
}

enum nv_status check_bitmaps(struct check *check)
{
	enum nv_status status;

	status = check_block_bitmap(check);
	if (status == NV_OK) {
		status = check_inode_bitmap(check, false);
	}
	if (status == NV_OK) {
		status = check_inode_bitmap(check, true);
	}
	return status;
}

/* I17: exactly one reference leads to every node. */
void check_lost_pages(struct check *check)
{
	const struct check_region *nodes = &check->region[NV_REGION_NODES];
	uint64_t i;

	for (i = 0; i < nodes->limit; i++) {
		if (nodes->page[i].block == 0 ||
		    check_bit(check->node_found, i)) {
			continue;
		}
		check_say(check, NV_FINDING_PAGE_LOST,
			  "nothing leads to node %llu in block %llu",
			  (unsigned long long)i,
			  (unsigned long long)nodes->page[i].block);
		check_drop(check, NV_PAGE(NV_REGION_NODES, i));
	}
}
