/*
 * The checker: repairing what can be repaired for certain.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is derived from something else that is sound is made new: bitmaps,
 * counts, orphan marks, pages that nothing leads to. While the checker goes
 * through the volume, changed pages are collected in memory. If it meets
 * damage that makes the derived things uncertain, none of them is written.
 * Otherwise they are written as a commit writes: to free blocks, with new map
 * nodes, a flush, a new root in the older slot, a flush. So a repair can be
 * interrupted at any point; until its last write the volume is what it was.
 */

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "check.h"

struct check_change {
	uint64_t page;
	uint64_t drop;		/* not 0: the page goes away */
	uint8_t content[NV_BLOCK_SIZE];	/* aligned like a page's parts */
};

struct check_repair {
	struct check_change **change;
	uint64_t count;
	uint64_t room;
	uint64_t next_block;
	bool failed;		/* no memory, or no free block */
};

/* Damage that leaves nothing else uncertain. */
static bool is_derived(enum nv_finding finding)
{
	switch (finding) {
	case NV_FINDING_SUPER_DAMAGED:
	case NV_FINDING_ROOT_COUNT:
	case NV_FINDING_PAGE_LOST:
	case NV_FINDING_BLOCK_BIT_MISSING:
	case NV_FINDING_BLOCK_BIT_EXTRA:
	case NV_FINDING_INODE_BIT:
	case NV_FINDING_ORPHAN_BIT:
	case NV_FINDING_EXTENT_COUNT:
	case NV_FINDING_ALLOCATION:
	case NV_FINDING_DIRECTORY_COUNT:
	case NV_FINDING_LINK_COUNT:
	case NV_FINDING_ORPHAN:
	case NV_FINDING_STREAM_COUNT:
	case NV_FINDING_SD_COUNT:
		return true;
	default:
		return false;
	}
}

static struct check_change *find_change(const struct check_repair *repair,
					uint64_t page)
{
	uint64_t i;

	/* Changes come page by page: it is mostly the last one. */
	for (i = repair->count; i > 0; i--) {
		if (repair->change[i - 1]->page == page) {
			return repair->change[i - 1];
		}
	}
	return NULL;
}

static struct check_change *make_change(struct check_repair *repair,
					uint64_t page)
{
	struct check_change *change = NULL;

	if (repair->count == repair->room) {
		uint64_t room = repair->room * 2 + 16;
		struct check_change **grown = realloc(
			repair->change, room * sizeof(*grown));

		if (grown == NULL) {
			repair->failed = true;
			return NULL;
		}
		repair->change = grown;
		repair->room = room;
	}
	change = calloc(1, sizeof(*change));
	if (change == NULL) {
		repair->failed = true;
		return NULL;
	}
	change->page = page;
	repair->change[repair->count] = change;
	repair->count++;
	return change;
}

void *check_change(struct check *check, uint64_t page)
{
	struct check_change *change = NULL;
	enum nv_status status;

	if (!check->params->repair) {
		return NULL;
	}
	if (check->repair == NULL) {
		check->repair = calloc(1, sizeof(*check->repair));
		if (check->repair == NULL) {
			return NULL;
		}
	}
	change = find_change(check->repair, page);
	if (change != NULL) {
		return change->content;
	}
	change = make_change(check->repair, page);
	if (change == NULL) {
		return NULL;
	}
	status = check_page(check, page, change->content);
	if (status == NV_ERR_NOT_FOUND) {
		memset(change->content, 0, sizeof(change->content));
	} else if (status != NV_OK) {
		check->repair->failed = true;
	}
	return change->content;
}

struct nv_disk_inode *check_change_inode(struct check *check,
					 uint64_t file_id)
{
	uint64_t ino = NV_FILE_INO(file_id);
	uint8_t *page = check_change(check, NV_PAGE(
		NV_REGION_INODES, ino / check->inodes_per_page));

	if (page == NULL) {
		return NULL;
	}
	return (void *)(page + (ino % check->inodes_per_page) *
			check->super.inode_size);
}

void check_drop(struct check *check, uint64_t page)
{
	if (check_change(check, page) != NULL) {
		find_change(check->repair, page)->drop = 1;
	}
}

void check_repair_free(struct check *check)
{
	uint64_t i;

	if (check->repair == NULL) {
		return;
	}
	for (i = 0; i < check->repair->count; i++) {
		free(check->repair->change[i]);
	}
	free(check->repair->change);
	free(check->repair);
	check->repair = NULL;
}

/* ---- the super block ---- */

static bool newest_root(struct check *check, struct nv_disk_root *root)
{
	struct nv_disk_root found;
	uint8_t block[NV_BLOCK_SIZE];
	bool any = false;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		if (check_block(check, NV_ROOT_BLOCK_0 + i, block) != NV_OK) {
			return false;
		}
		memcpy(&found, block, sizeof(found));
		if (found.magic != NV_ROOT_MAGIC || (found.sequence & 1) != i ||
		    found.checksum != XXH3_64bits(&found, offsetof(
				    struct nv_disk_root, checksum)) ||
		    (any && found.sequence < root->sequence)) {
			continue;
		}
		*root = found;
		any = true;
	}
	return any;
}

/* The first bytes of a page of inodes are those of the root directory. */
static bool root_directory_at(struct check *check,
			      const struct nv_disk_root *root, uint64_t page)
{
	const struct nv_disk_map_top *top = &root->map[NV_REGION_INODES];
	uint64_t block = top->block;
	struct nv_disk_map_node node;
	struct nv_disk_inode inode;
	uint32_t level;

	if (top->height == 0 || top->height > NV_MAP_MAX_HEIGHT) {
		return false;
	}
	for (level = top->height; level > 0; level--) {
		if (block == 0 || block >= check->io->size >> NV_BLOCK_SHIFT ||
		    check_block(check, block, &node) != NV_OK) {
			return false;
		}
		block = node.entry[(page >> (NV_MAP_SHIFT * (level - 1))) &
				   (NV_MAP_FANOUT - 1)].block;
	}
	if (block == 0 || block >= check->io->size >> NV_BLOCK_SHIFT ||
	    check_block(check, block, &node) != NV_OK) {
		return false;
	}
	memcpy(&inode, &node, sizeof(inode));
	return inode.magic == NV_INODE_MAGIC &&
		inode.file_id == root->root_directory &&
		inode.type == NV_TYPE_DIRECTORY;
}

bool check_rebuild_super(struct check *check, struct nv_disk_super *super)
{
	struct nv_disk_super made = {
		.magic = NV_SUPER_MAGIC,
		.format_version = NV_FORMAT_VERSION,
		.block_size = NV_BLOCK_SIZE,
		.creation_time = super->creation_time,
	};
	uint8_t block[NV_BLOCK_SIZE] = {0};
	struct nv_io *io = check->io;
	struct nv_disk_root root = {0};
	uint32_t size;

	if (!newest_root(check, &root)) {
		return false;
	}
	for (size = NV_MIN_INODE_SIZE; size <= NV_MAX_INODE_SIZE; size *= 2) {
		/* Inode 16 begins a page at each of these sizes. */
		if (root_directory_at(check, &root, NV_ROOT_INO /
				      (NV_BLOCK_SIZE / size))) {
			made.inode_size = size;
		}
	}
	if (made.inode_size == 0) {
		return false;
	}
	memcpy(made.uuid, root.uuid, sizeof(made.uuid));
	memcpy(made.label, super->label, sizeof(made.label) - 1);
	made.checksum = XXH3_64bits(&made, offsetof(struct nv_disk_super,
						    checksum));
	memcpy(block, &made, sizeof(made));
	if (io->ops->pwrite(io, block, sizeof(block), 0) != 0 ||
	    io->ops->flush(io) != 0) {
		return false;
	}
	*super = made;
	return true;
}

/* ---- bitmaps made new ---- */

static bool bit_wanted(const struct check *check, uint32_t region,
		       uint64_t bit)
{
	if (region == NV_REGION_BLOCK_BITMAP) {
		return bit < check->total_blocks &&
			check_bit(check->block_data, bit);
	}
	if (bit >= check->inode_count) {
		return false;
	}
	if (region == NV_REGION_INODE_BITMAP) {
		return check->inode[bit].type != 0;
	}
	return check->inode[bit].type != 0 &&
		check->inode[bit].has_orphan_flag;
}

/* Returns the number of bits that are set. */
static uint64_t remake_bitmap(struct check *check, uint32_t region)
{
	uint64_t bits = region == NV_REGION_BLOCK_BITMAP ?
		check->total_blocks : check->inode_count;
	uint64_t pages = (bits + NV_BITS_PER_PAGE - 1) / NV_BITS_PER_PAGE;
	uint8_t wanted[NV_BLOCK_SIZE];
	uint8_t present[NV_BLOCK_SIZE];
	uint64_t set = 0;
	uint64_t page;
	uint32_t i;

	for (page = 0; page < pages; page++) {
		memset(wanted, 0, sizeof(wanted));
		for (i = 0; i < NV_BITS_PER_PAGE; i++) {
			if (bit_wanted(check, region,
				       page * NV_BITS_PER_PAGE + i)) {
				check_set_bit(wanted, i);
				set++;
			}
		}
		if (check_page(check, NV_PAGE(region, page), present) !=
		    NV_OK) {
			memset(present, 0, sizeof(present));
		}
		if (memcmp(wanted, present, sizeof(wanted)) != 0) {
			void *changed = check_change(check,
						     NV_PAGE(region, page));

			if (changed != NULL) {
				memcpy(changed, wanted, sizeof(wanted));
			}
		}
	}
	return set;
}

/* ---- writing ---- */

static uint64_t free_block(struct check *check)
{
	struct check_repair *repair = check->repair;

	if (repair->next_block < NV_FIRST_BLOCK) {
		repair->next_block = NV_FIRST_BLOCK;
	}
	while (repair->next_block < check->total_blocks) {
		uint64_t block = repair->next_block;

		repair->next_block++;
		if (!check_bit(check->block_owned, block)) {
			return block;
		}
	}
	repair->failed = true;
	return 0;
}

static enum nv_status put_block(struct check *check, const void *content,
				struct nv_disk_map_entry *place)
{
	place->block = free_block(check);
	if (place->block == 0) {
		return NV_ERR_NO_SPACE;
	}
	place->checksum = XXH3_64bits(content, NV_BLOCK_SIZE);
	if (check->io->ops->pwrite(check->io, content, NV_BLOCK_SIZE,
				   place->block << NV_BLOCK_SHIFT) != 0) {
		return NV_ERR_IO;
	}
	return NV_OK;
}

/* Whether any page below this node changes. */
static bool changes_below(const struct check *check, uint32_t region,
			  uint32_t level, uint64_t index)
{
	uint64_t first = index << (NV_MAP_SHIFT * level);
	uint64_t count = UINT64_C(1) << (NV_MAP_SHIFT * level);
	uint64_t i;

	for (i = 0; i < check->repair->count; i++) {
		uint64_t page = check->repair->change[i]->page;

		if (NV_PAGE_REGION(page) == region &&
		    NV_PAGE_INDEX(page) >= first &&
		    NV_PAGE_INDEX(page) - first < count) {
			return true;
		}
	}
	return false;
}

static enum nv_status rewrite(struct check *check, uint32_t region,
			      uint32_t level, uint64_t index,
			      struct nv_disk_map_entry *place)
{
	struct nv_disk_map_node node = {0};
	enum nv_status status;
	uint32_t i;

	if (level == 0) {
		struct check_change *change = find_change(
			check->repair, NV_PAGE(region, index));

		if (change->drop != 0) {
			*place = (struct nv_disk_map_entry) {0};
			return NV_OK;
		}
		return put_block(check, change->content, place);
	}
	if (place->block != 0) {
		status = check_block(check, place->block, &node);
		if (status != NV_OK) {
			return status;
		}
	}
	for (i = 0; i < NV_MAP_FANOUT; i++) {
		uint64_t child = (index << NV_MAP_SHIFT) + i;

		if (!changes_below(check, region, level - 1, child)) {
			continue;
		}
		status = rewrite(check, region, level - 1, child,
				 &node.entry[i]);
		if (status != NV_OK) {
			return status;
		}
	}
	if (check_zero(&node, sizeof(node))) {
		*place = (struct nv_disk_map_entry) {0};
		return NV_OK;
	}
	return put_block(check, &node, place);
}

static enum nv_status rewrite_region(struct check *check, uint32_t region,
				     struct nv_disk_map_top *top)
{
	struct nv_disk_map_entry place = {
		.block = top->block,
		.checksum = top->checksum,
	};
	uint64_t highest = 0;
	enum nv_status status;
	bool any = false;
	uint64_t i;

	for (i = 0; i < check->repair->count; i++) {
		uint64_t page = check->repair->change[i]->page;

		if (NV_PAGE_REGION(page) == region) {
			any = true;
			if (NV_PAGE_INDEX(page) > highest) {
				highest = NV_PAGE_INDEX(page);
			}
		}
	}
	if (!any) {
		return NV_OK;
	}
	if (top->height == 0) {
		top->height = 1;
	}
	if (highest >> (NV_MAP_SHIFT * top->height) != 0) {
		/* A bitmap that needs a higher map was never lost whole. */
		return NV_ERR_CORRUPT;
	}
	status = rewrite(check, region, top->height, 0, &place);
	top->block = place.block;
	top->checksum = place.checksum;
	if (place.block == 0) {
		top->height = 0;
	}
	return status;
}

static enum nv_status write_root(struct check *check,
				 struct nv_disk_root *root)
{
	uint8_t block[NV_BLOCK_SIZE] = {0};
	struct nv_io *io = check->io;
	uint64_t slot;

	root->sequence++;
	root->checksum = XXH3_64bits(root, offsetof(struct nv_disk_root,
						    checksum));
	memcpy(block, root, sizeof(*root));
	slot = NV_ROOT_BLOCK_0 + (root->sequence & 1);
	if (io->ops->flush(io) != 0 ||
	    io->ops->pwrite(io, block, sizeof(block),
			    slot << NV_BLOCK_SHIFT) != 0 ||
	    io->ops->flush(io) != 0) {
		return NV_ERR_IO;
	}
	return NV_OK;
}

enum nv_status check_repair_write(struct check *check)
{
	struct nv_disk_root root = check->root;
	enum nv_status status;
	uint32_t i;

	if (!check->params->repair || check->findings ==
	    check->told[NV_FINDING_SUPER_DAMAGED]) {
		return NV_OK;
	}
	for (i = 0; i < NV_FINDINGS; i++) {
		if (check->told[i] > 0 && !is_derived((enum nv_finding)i)) {
			return NV_OK;
		}
	}
	root.data_blocks = remake_bitmap(check, NV_REGION_BLOCK_BITMAP);
	root.inodes = remake_bitmap(check, NV_REGION_INODE_BITMAP);
	remake_bitmap(check, NV_REGION_ORPHAN_BITMAP);
	if (check->repair == NULL) {
		check->repair = calloc(1, sizeof(*check->repair));
		if (check->repair == NULL) {
			return NV_ERR_NO_MEMORY;
		}
	}
	if (check->repair->failed) {
		return NV_ERR_NO_MEMORY;
	}
	for (i = 0; i < NV_REGION_COUNT; i++) {
		status = rewrite_region(check, i, &root.map[i]);
		if (status != NV_OK) {
			return status;
		}
	}
	return write_root(check, &root);
}
