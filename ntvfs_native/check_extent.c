/*
 * The checker: the data of files, where it lies (I3, I6, I14).
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <stdio.h>
#include "check.h"

/* Levels of an extent tree: 254^5 is more than 2^32. */
#define LEVELS_MOST 5

struct walk {
	struct check *check;
	const struct nv_disk_inode *inode;
	uint64_t next;		/* first file block that may come now */
	uint64_t extents;
	uint64_t blocks;
	char who[48];
};

/* One extent, after all before it. */
static void take_extent(struct walk *walk,
			const struct nv_disk_extent *extent)
{
	struct check *check = walk->check;
	uint64_t length = extent->length & NV_EXTENT_LENGTH;
	uint64_t i;

	walk->extents++;
	if (extent->logical < walk->next) {
		check_say(check, NV_FINDING_EXTENT_ORDER,
			  "%s: the extent at %u begins before %llu, where the "
			  "one before it ends", walk->who, extent->logical,
			  (unsigned long long)walk->next);
	}
	if (length == 0 || extent->logical + length > NV_MAX_FILE_BLOCKS ||
	    (extent->length & NV_EXTENT_SHARED) != 0) {
		check_say(check, NV_FINDING_EXTENT_PLACE,
			  "%s: the extent at %u has length and flags %08x",
			  walk->who, extent->logical, extent->length);
		return;
	}
	walk->next = extent->logical + length;
	if (extent->block < NV_FIRST_BLOCK ||
	    extent->block >= check->total_blocks ||
	    length > check->total_blocks - extent->block) {
		check_say(check, NV_FINDING_EXTENT_PLACE,
			  "%s: the extent at %u has blocks %llu to %llu, the "
			  "volume ends at %llu", walk->who, extent->logical,
			  (unsigned long long)extent->block,
			  (unsigned long long)extent->block +
			  (unsigned long long)length - 1,
			  (unsigned long long)check->total_blocks - 1);
		return;
	}
	walk->blocks += length;
	for (i = 0; i < length; i++) {
		if (!check_own(check, extent->block + i, true, walk->who)) {
			/* One complaint for an extent is enough. */
			return;
		}
	}
}

static enum nv_status walk_tree(struct walk *walk, uint64_t page,
				int32_t level, uint64_t lower, uint64_t upper)
{
	struct nv_disk_extent_node node;
	enum nv_status status;
	uint32_t i;

	status = check_node(walk->check, page, NV_KIND_EXTENTS,
			    walk->inode->file_id, walk->who, &node);
	if (status == NV_ERR_CORRUPT) {
		return NV_OK;
	}
	if (status != NV_OK) {
		return status;
	}
	if (level < 0) {
		level = node.header.level;
	}
	if (node.header.level != level || level >= LEVELS_MOST ||
	    node.header.count == 0 || node.header.count > NV_EXTENT_FANOUT) {
		check_say(walk->check, NV_FINDING_EXTENT_TREE,
			  "%s: node %u has level %u and %u entries",
			  walk->who, NV_PAGE_INDEX(page), node.header.level,
			  node.header.count);
		return NV_OK;
	}
	for (i = 0; i < node.header.count; i++) {
		uint64_t first = node.extent[i].logical;
		uint64_t end = upper;

		if (first < lower || first >= upper) {
			check_say(walk->check, NV_FINDING_EXTENT_TREE,
				  "%s: entry %u of node %u is for %llu, its "
				  "parent allows %llu to %llu", walk->who, i,
				  NV_PAGE_INDEX(page),
				  (unsigned long long)first,
				  (unsigned long long)lower,
				  (unsigned long long)upper - 1);
			return NV_OK;
		}
		if (level == 0) {
			take_extent(walk, &node.extent[i]);
			continue;
		}
		if (node.child[i].reserved != 0) {
			check_say(walk->check, NV_FINDING_EXTENT_TREE,
				  "%s: entry %u of node %u is malformed",
				  walk->who, i, NV_PAGE_INDEX(page));
		}
		if (i + 1 < node.header.count) {
			end = node.child[i + 1].logical;
		}
		if (end <= first) {
			check_say(walk->check, NV_FINDING_EXTENT_ORDER,
				  "%s: the children of node %u are not sorted",
				  walk->who, NV_PAGE_INDEX(page));
			return NV_OK;
		}
		status = walk_tree(walk, node.child[i].page, level - 1, first,
				   end);
		if (status != NV_OK) {
			return status;
		}
	}
	return NV_OK;
}

static void check_inline(struct walk *walk)
{
	uint32_t length = 0;
	const void *bytes = check_item(walk->check, walk->inode, NV_ITEM_DATA,
				       &length);

	if (bytes == NULL || length != walk->inode->size) {
		check_say(walk->check, NV_FINDING_INODE_FIELD,
			  "%s: %u bytes are kept in the inode, its size is "
			  "%llu", walk->who, length,
			  (unsigned long long)walk->inode->size);
	}
}

static void check_listed(struct walk *walk)
{
	const struct nv_disk_extent *list = NULL;
	uint32_t length = 0;
	uint32_t i;

	list = check_item(walk->check, walk->inode, NV_ITEM_EXTENTS, &length);
	if (list == NULL || length % sizeof(*list) != 0) {
		check_say(walk->check, NV_FINDING_EXTENT_COUNT,
			  "%s: its list of extents has %u bytes", walk->who,
			  length);
		return;
	}
	for (i = 0; i < length / sizeof(*list); i++) {
		take_extent(walk, &list[i]);
	}
}

/* Of two forms only one is there. */
static void check_form(struct walk *walk)
{
	const struct nv_disk_inode *inode = walk->inode;
	uint32_t length = 0;
	bool has_data = check_item(walk->check, inode, NV_ITEM_DATA,
				   &length) != NULL;
	bool has_list = check_item(walk->check, inode, NV_ITEM_EXTENTS,
				   &length) != NULL;

	if (has_data != (inode->data_form == NV_DATA_INLINE) ||
	    has_list != (inode->data_form == NV_DATA_EXTENTS) ||
	    (inode->data_root != NV_PAGE_NONE) !=
	    (inode->data_form == NV_DATA_TREE)) {
		check_say(walk->check, NV_FINDING_INODE_FIELD,
			  "%s: its data form is %u, but it has%s%s%s",
			  walk->who, inode->data_form,
			  has_data ? " data inside" : "",
			  has_list ? " a list of extents" : "",
			  inode->data_root != NV_PAGE_NONE ? " a tree" : "");
	}
}

enum nv_status check_data(struct check *check,
			  const struct nv_disk_inode *inode)
{
	struct walk walk = {.check = check, .inode = inode};
	struct nv_disk_inode *fixed = NULL;
	enum nv_status status = NV_OK;

	snprintf(walk.who, sizeof(walk.who), "inode %llu",
		 (unsigned long long)NV_FILE_INO(inode->file_id));
	check_form(&walk);
	switch (inode->data_form) {
	case NV_DATA_NONE:
		break;
	case NV_DATA_INLINE:
		check_inline(&walk);
		break;
	case NV_DATA_EXTENTS:
		check_listed(&walk);
		break;
	case NV_DATA_TREE:
		status = walk_tree(&walk, inode->data_root, -1, 0,
				   NV_MAX_FILE_BLOCKS);
		break;
	default:
		check_say(check, NV_FINDING_INODE_FIELD,
			  "%s: its data form is %u", walk.who,
			  inode->data_form);
		return NV_OK;
	}
	if (walk.extents != inode->extent_count) {
		check_say(check, NV_FINDING_EXTENT_COUNT,
			  "%s: it has %llu extents and counts %u", walk.who,
			  (unsigned long long)walk.extents,
			  inode->extent_count);
		fixed = check_change_inode(check, inode->file_id);
		if (fixed != NULL) {
			fixed->extent_count = (uint32_t)walk.extents;
		}
	}
	if (walk.blocks << NV_BLOCK_SHIFT != inode->allocation) {
		check_say(check, NV_FINDING_ALLOCATION,
			  "%s: its extents have %llu bytes, its allocation is "
			  "%llu", walk.who,
			  (unsigned long long)walk.blocks << NV_BLOCK_SHIFT,
			  (unsigned long long)inode->allocation);
		fixed = check_change_inode(check, inode->file_id);
		if (fixed != NULL) {
			fixed->allocation = walk.blocks << NV_BLOCK_SHIFT;
		}
	}
	return status;
}
