/*
 * The checker: the map, which leads to every page.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "check.h"

static const char *const region_names[NV_REGION_COUNT] = {
	"system", "block bitmap", "inode bitmap", "orphan bitmap", "inodes",
	"nodes",
};

bool check_zero(const void *data, size_t length)
{
	const uint8_t *bytes = data;
	size_t i;

	for (i = 0; i < length; i++) {
		if (bytes[i] != 0) {
			return false;
		}
	}
	return true;
}

enum nv_status check_block(struct check *check, uint64_t block, void *buffer)
{
	int ret = check->io->ops->pread(check->io, buffer, NV_BLOCK_SIZE,
					block << NV_BLOCK_SHIFT);

	return ret == 0 ? NV_OK : NV_ERR_IO;
}

bool check_own(struct check *check, uint64_t block, bool data,
	       const char *who)
{
	if (block < NV_FIRST_BLOCK || block >= check->total_blocks) {
		check_say(check, data ? NV_FINDING_EXTENT_PLACE :
			  NV_FINDING_MAP_PLACE,
			  "%s: block %llu is not one of %u to %llu", who,
			  (unsigned long long)block, NV_FIRST_BLOCK,
			  (unsigned long long)check->total_blocks - 1);
		return false;
	}
	if (check_bit(check->block_owned, block)) {
		check_say(check, NV_FINDING_BLOCK_TWICE,
			  "%s: block %llu belongs to something else already",
			  who, (unsigned long long)block);
		return false;
	}
	check_set_bit(check->block_owned, block);
	if (data) {
		check_set_bit(check->block_data, block);
	}
	return true;
}

/* How many pages a region of this volume can have at most. */
static uint64_t pages_possible(const struct check *check, uint32_t region)
{
	/* As the segment of an attached volume: room to grow is no secret. */
	uint64_t blocks = check->total_blocks * 4;
	uint64_t inodes;

	if (blocks < UINT64_C(1) << 22) {
		blocks = UINT64_C(1) << 22;
	}
	inodes = blocks / 2 * check->inodes_per_page;
	switch (region) {
	case NV_REGION_SYSTEM:
		return NV_SYSTEM_PAGES;
	case NV_REGION_BLOCK_BITMAP:
		return (check->total_blocks + NV_BITS_PER_PAGE - 1) /
			NV_BITS_PER_PAGE;
	case NV_REGION_INODE_BITMAP:
	case NV_REGION_ORPHAN_BITMAP:
		return (inodes + NV_BITS_PER_PAGE - 1) / NV_BITS_PER_PAGE;
	default:
		return blocks / 2;
	}
}

struct walk {
	struct check *check;
	uint32_t region;
	uint64_t seen;		/* pages, for progress */
};

static enum nv_status walk_leaf(struct walk *walk, uint64_t index,
				const struct nv_disk_map_node *node)
{
	struct check *check = walk->check;
	struct check_region *region = &check->region[walk->region];
	uint8_t content[NV_BLOCK_SIZE];
	enum nv_status status;
	uint32_t i;

	for (i = 0; i < NV_MAP_FANOUT; i++) {
		const struct nv_disk_map_entry *entry = &node->entry[i];
		uint64_t page = (index << NV_MAP_SHIFT) + i;

		if (entry->block == 0) {
			continue;
		}
		if (page >= region->possible) {
			check_say(check, NV_FINDING_MAP_PLACE,
				  "map of %s: page %llu is beyond the last "
				  "possible one", region_names[walk->region],
				  (unsigned long long)page);
			continue;
		}
		if (!check_own(check, entry->block, false,
			       region_names[walk->region])) {
			continue;
		}
		status = check_block(check, entry->block, content);
		if (status != NV_OK) {
			return status;
		}
		if (XXH3_64bits(content, sizeof(content)) !=
		    entry->checksum) {
			check_say(check, NV_FINDING_PAGE_CHECKSUM,
				  "%s: page %llu in block %llu has a wrong "
				  "checksum", region_names[walk->region],
				  (unsigned long long)page,
				  (unsigned long long)entry->block);
		}
		region->page[page] = *entry;
		if (page >= region->limit) {
			region->limit = page + 1;
		}
		walk->seen++;
	}
	return NV_OK;
}

static enum nv_status walk_node(struct walk *walk, uint32_t level,
				uint64_t index,
				const struct nv_disk_map_entry *place)
{
	struct check *check = walk->check;
	struct nv_disk_map_node node;
	enum nv_status status;
	uint32_t i;

	if (index << (NV_MAP_SHIFT * level) >=
	    check->region[walk->region].possible) {
		check_say(check, NV_FINDING_MAP_PLACE,
			  "map of %s: node %llu of level %u is beyond the "
			  "last possible one", region_names[walk->region],
			  (unsigned long long)index, level);
		return NV_OK;
	}
	if (!check_own(check, place->block, false, "a map node")) {
		return NV_OK;
	}
	status = check_block(check, place->block, &node);
	if (status != NV_OK) {
		return status;
	}
	if (XXH3_64bits(&node, sizeof(node)) != place->checksum) {
		check_say(check, NV_FINDING_MAP_CHECKSUM,
			  "map of %s: node %llu of level %u in block %llu has "
			  "a wrong checksum; what is below it is lost",
			  region_names[walk->region],
			  (unsigned long long)index, level,
			  (unsigned long long)place->block);
		return NV_OK;
	}
	if (check_zero(&node, sizeof(node))) {
		check_say(check, NV_FINDING_MAP_PLACE,
			  "map of %s: node %llu of level %u is empty",
			  region_names[walk->region],
			  (unsigned long long)index, level);
	}
	if (level == 1) {
		return walk_leaf(walk, index, &node);
	}
	for (i = 0; i < NV_MAP_FANOUT; i++) {
		if (node.entry[i].block == 0) {
			continue;
		}
		status = walk_node(walk, level - 1,
				   (index << NV_MAP_SHIFT) + i,
				   &node.entry[i]);
		if (status != NV_OK) {
			return status;
		}
		check_progress(check, "map", walk->seen, 0);
	}
	return NV_OK;
}

enum nv_status check_maps(struct check *check)
{
	enum nv_status status;
	uint32_t r;

	for (r = 0; r < NV_REGION_COUNT; r++) {
		const struct nv_disk_map_top *top = &check->root.map[r];
		struct check_region *region = &check->region[r];
		struct nv_disk_map_entry place = {
			.block = top->block,
			.checksum = top->checksum,
		};
		struct walk walk = {.check = check, .region = r};

		region->possible = pages_possible(check, r);
		region->page = calloc(region->possible,
				      sizeof(*region->page));
		if (region->page == NULL) {
			return NV_ERR_NO_MEMORY;
		}
		if (top->reserved != 0 || top->height > NV_MAP_MAX_HEIGHT ||
		    (top->height == 0) != (top->block == 0)) {
			check_say(check, NV_FINDING_ROOT_FIELD,
				  "the root's map of %s has height %u and "
				  "block %llu", region_names[r], top->height,
				  (unsigned long long)top->block);
			continue;
		}
		if (top->height == 0) {
			continue;
		}
		status = walk_node(&walk, top->height, 0, &place);
		if (status != NV_OK) {
			return status;
		}
	}
	check->node_found = calloc(
		(check->region[NV_REGION_NODES].limit + 8) / 8, 1);
	if (check->node_found == NULL) {
		return NV_ERR_NO_MEMORY;
	}
	return NV_OK;
}

enum nv_status check_page(struct check *check, uint64_t page, void *buffer)
{
	const struct check_region *region = NULL;
	uint64_t index = NV_PAGE_INDEX(page);
	enum nv_status status;

	if (NV_PAGE_REGION(page) >= NV_REGION_COUNT) {
		return NV_ERR_NOT_FOUND;
	}
	region = &check->region[NV_PAGE_REGION(page)];
	if (index >= region->limit || region->page[index].block == 0) {
		return NV_ERR_NOT_FOUND;
	}
	status = check_block(check, region->page[index].block, buffer);
	if (status != NV_OK) {
		return status;
	}
	if (XXH3_64bits(buffer, NV_BLOCK_SIZE) !=
	    region->page[index].checksum) {
		return NV_ERR_CORRUPT;
	}
	return NV_OK;
}

enum nv_status check_node(struct check *check, uint64_t page, uint32_t kind,
			  uint64_t owner, const char *who, void *buffer)
{
	const struct nv_disk_page_header *header = buffer;
	unsigned long long index = NV_PAGE_INDEX(page);
	enum nv_status status;

	if (NV_PAGE_REGION(page) != NV_REGION_NODES) {
		check_say(check, NV_FINDING_PAGE_MISSING,
			  "%s leads to page %llx, which is no node", who,
			  (unsigned long long)page);
		return NV_ERR_CORRUPT;
	}
	status = check_page(check, page, buffer);
	if (status == NV_ERR_NOT_FOUND) {
		check_say(check, NV_FINDING_PAGE_MISSING,
			  "%s leads to node %llu, which does not exist", who,
			  index);
		return NV_ERR_CORRUPT;
	}
	if (status == NV_ERR_CORRUPT) {
		/* Told when the map was walked. It is found nevertheless. */
		check_set_bit(check->node_found, NV_PAGE_INDEX(page));
	}
	if (status != NV_OK) {
		return status;
	}
	if (check_bit(check->node_found, NV_PAGE_INDEX(page))) {
		check_say(check, NV_FINDING_PAGE_TWICE,
			  "%s leads to node %llu, as something else does", who,
			  index);
		return NV_ERR_CORRUPT;
	}
	check_set_bit(check->node_found, NV_PAGE_INDEX(page));
	if (header->magic != NV_PAGE_MAGIC || header->page != page) {
		check_say(check, NV_FINDING_PAGE_HEADER,
			  "node %llu says it is node %llu, magic %08x", index,
			  (unsigned long long)NV_PAGE_INDEX(header->page),
			  header->magic);
		return NV_ERR_CORRUPT;
	}
	if (header->kind != kind || header->owner != owner) {
		check_say(check, NV_FINDING_PAGE_OWNER,
			  "%s leads to node %llu, which is of kind %u and "
			  "owner %llx, not %u and %llx", who, index,
			  header->kind, (unsigned long long)header->owner,
			  kind, (unsigned long long)owner);
		return NV_ERR_CORRUPT;
	}
	return NV_OK;
}
