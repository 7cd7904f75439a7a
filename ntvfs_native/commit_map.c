/*
 * Commit: writing bitmap pages and map nodes of a closed group.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The group is closed: its pages and snapshots stand still. Operations of the
 * next group run meanwhile and give pages new blocks; the entry then tells
 * the closed group's block as previous. Only the holder of the commit mutex
 * gets here.
 */

#include <string.h>
#include "volume.h"

uint64_t nv_bitmap_pages(const struct nv_volume *volume, uint32_t bitmap)
{
	const struct nv_segment *segment = volume->segment;
	uint64_t bits = 0;

	switch (bitmap) {
	case NV_BITMAP_INODES:
	case NV_BITMAP_ORPHANS:
	case NV_CLAIMED_INODES:
		bits = volume->inodes_per_page * atomic_load(
			&segment->region_backed[NV_REGION_INODES]);
		break;
	case NV_CLAIMED_NODES:
		bits = atomic_load(&segment->region_backed[NV_REGION_NODES]);
		break;
	default:
		bits = atomic_load(&segment->total_blocks);
		break;
	}
	return (bits + NV_BITS_PER_PAGE - 1) / NV_BITS_PER_PAGE;
}

uint32_t nv_map_height(uint64_t pages)
{
	uint32_t height = 0;
	uint64_t covered = 1;

	if (pages == 0) {
		return 0;
	}
	do {
		height++;
		covered *= NV_MAP_FANOUT;
	} while (covered < pages);
	return height;
}

static void mark_freed(struct nv_volume *volume, uint64_t group,
		       uint64_t block)
{
	uint32_t freed = NV_FREED_EVEN + (uint32_t)(group & 1);

	if (block != 0) {
		nv_bits_fill(volume, freed, block, 1, true);
		nv_bits_mark(volume, freed, block, 1, group);
	}
}

static enum nv_status new_block(struct nv_volume *volume, uint64_t *block)
{
	*block = nv_claim_for_commit(volume);
	if (*block == 0) {
		return nv_withdraw(volume, NV_ERR_NO_SPACE,
				   "no block left to commit with; detach "
				   "everywhere and attach again");
	}
	return NV_OK;
}

/* Only commit gives bitmap pages their blocks. */
static enum nv_status write_bitmap_page(struct nv_volume *volume,
					uint64_t group, uint32_t bitmap,
					uint64_t index)
{
	static const uint32_t regions[NV_BITMAP_COUNT] = {
		[NV_BITMAP_BLOCKS] = NV_REGION_BLOCK_BITMAP,
		[NV_BITMAP_INODES] = NV_REGION_INODE_BITMAP,
		[NV_BITMAP_ORPHANS] = NV_REGION_ORPHAN_BITMAP,
	};
	uint64_t page = NV_PAGE(regions[bitmap], index);
	struct nv_entry *entry = nv_entry_at(volume, page);
	const uint8_t *from = volume->segment_base +
		volume->layout.snapshot[bitmap] + index * NV_BLOCK_SIZE;
	uint32_t *count = (uint32_t *)(volume->segment_base +
				       volume->layout.snapshot_count[bitmap]);
	uint64_t words[NV_BLOCK_SIZE / 8];
	enum nv_status status;
	uint64_t block = 0;
	uint32_t set = 0;
	uint32_t i;

	status = new_block(volume, &block);
	if (status != NV_OK) {
		return status;
	}
	memcpy(words, from, NV_BLOCK_SIZE);
	for (i = 0; i < NV_BLOCK_SIZE / 8; i++) {
		set += (uint32_t)__builtin_popcountll(words[i]);
	}
	memcpy(nv_block_at(volume, block), words, NV_BLOCK_SIZE);
	count[index] = set;
	/*
	 * Freed before it is replaced: if we die in between, who resumes
	 * replaces it for certain.
	 */
	mark_freed(volume, group, atomic_load(&entry->current));
	NV_KILL_POINT("map: bitmap page written, entry old");
	nv_entry_mark_dirty(volume, page, group);
	atomic_store(&entry->current, block);
	atomic_store(&entry->group, group);
	return NV_OK;
}

static enum nv_status write_bitmaps(struct nv_volume *volume, uint64_t group,
				    struct nv_disk_root *root)
{
	enum nv_status status;
	uint32_t bitmap;

	for (bitmap = 0; bitmap < NV_BITMAP_COUNT; bitmap++) {
		_Atomic uint8_t *dirty = nv_bits_dirty(volume, bitmap, group);
		const uint32_t *count =
			(uint32_t *)(volume->segment_base +
				     volume->layout.snapshot_count[bitmap]);
		uint64_t pages = nv_bitmap_pages(volume, bitmap);
		uint64_t total = 0;
		uint64_t i;

		for (i = 0; i < pages; i++) {
			if (atomic_load(&dirty[i]) != 0) {
				status = write_bitmap_page(volume, group,
							   bitmap, i);
				if (status != NV_OK) {
					return status;
				}
			}
			total += count[i];
		}
		if (bitmap == NV_BITMAP_BLOCKS) {
			root->data_blocks = total;
		} else if (bitmap == NV_BITMAP_INODES) {
			root->inodes = total;
		}
	}
	return NV_OK;
}

/* Where a page was at the end of the group, and its checksum then. */
static struct nv_disk_map_entry page_as_of(struct nv_volume *volume,
					   uint64_t page, uint64_t group)
{
	struct nv_entry *entry = nv_entry_at(volume, page);
	struct nv_disk_map_entry result = {0};
	uint64_t seen;

	do {
		seen = nv_entry_group(volume, entry);
		if (seen > group) {
			result.block = atomic_load(&entry->previous);
		} else {
			result.block = atomic_load(&entry->current);
		}
		/* Changed meanwhile: the block may be of the other group. */
	} while (nv_entry_group(volume, entry) != seen);

	if (result.block == 0) {
		return result;
	}
	if (seen < group) {
		result.checksum = atomic_load(&entry->checksum);
		return result;
	}
	result.checksum = nv_checksum(nv_block_at(volume, result.block),
				      NV_BLOCK_SIZE);
	/*
	 * Of the content as this group leaves it; only used for pages that
	 * have not changed since.
	 */
	atomic_store(&entry->checksum, result.checksum);
	return result;
}

static bool node_empty(const struct nv_disk_map_node *node)
{
	uint32_t i;

	for (i = 0; i < NV_MAP_FANOUT; i++) {
		if (node->entry[i].block != 0) {
			return false;
		}
	}
	return true;
}

static void collect_leaf(struct nv_volume *volume, uint64_t group,
			 uint32_t region, uint64_t index, uint64_t limit,
			 struct nv_disk_map_node *node)
{
	uint64_t first = index << NV_MAP_SHIFT;
	uint64_t i;

	memset(node, 0, sizeof(*node));
	for (i = 0; i < NV_MAP_FANOUT && first + i < limit; i++) {
		node->entry[i] = page_as_of(volume, NV_PAGE(region, first + i),
					    group);
	}
}

static void collect_upper(struct nv_volume *volume, uint32_t region,
			  uint32_t level, uint64_t index, uint64_t lower,
			  struct nv_disk_map_node *node)
{
	const struct nv_disk_map_entry *table =
		nv_node_table(volume, region, level - 1);
	uint64_t first = index << NV_MAP_SHIFT;
	uint64_t i;

	memset(node, 0, sizeof(*node));
	for (i = 0; i < NV_MAP_FANOUT && first + i < lower; i++) {
		node->entry[i] = table[first + i];
	}
}

static enum nv_status write_node(struct nv_volume *volume, uint64_t group,
				 uint32_t region, uint32_t level,
				 uint64_t index,
				 const struct nv_disk_map_node *node)
{
	struct nv_disk_map_entry *table =
		nv_node_table(volume, region, level);
	struct nv_disk_map_entry made = {0};
	enum nv_status status;

	if (!node_empty(node)) {
		status = new_block(volume, &made.block);
		if (status != NV_OK) {
			return status;
		}
		memcpy(nv_block_at(volume, made.block), node, sizeof(*node));
		made.checksum = nv_checksum(node, sizeof(*node));
	}
	mark_freed(volume, group, table[index].block);
	NV_KILL_POINT("map: node written, table old");
	table[index] = made;
	if (level < NV_MAP_MAX_HEIGHT) {
		atomic_store(&nv_node_dirty(volume, region, level + 1, group)
			     [index >> NV_MAP_SHIFT], 1);
	}
	return NV_OK;
}

static enum nv_status write_level(struct nv_volume *volume, uint64_t group,
				  uint32_t region, uint32_t level,
				  uint64_t limit, uint64_t lower,
				  uint64_t count)
{
	_Atomic uint8_t *dirty = nv_node_dirty(volume, region, level, group);
	const struct nv_disk_map_entry *table =
		nv_node_table(volume, region, level);
	struct nv_disk_map_node node;
	enum nv_status status;
	uint64_t i;

	for (i = 0; i < count; i++) {
		/*
		 * A map that has become higher needs its first upper nodes,
		 * dirty or not.
		 */
		bool missing = i == 0 && level > 1 && table[0].block == 0;

		if (atomic_load(&dirty[i]) == 0 && !missing) {
			continue;
		}
		if (level == 1) {
			collect_leaf(volume, group, region, i, limit, &node);
		} else {
			collect_upper(volume, region, level, i, lower, &node);
		}
		status = write_node(volume, group, region, level, i, &node);
		if (status != NV_OK) {
			return status;
		}
	}
	return NV_OK;
}

enum nv_status nv_commit_write(struct nv_volume *volume, uint64_t group,
			       struct nv_disk_root *root)
{
	struct nv_segment *segment = volume->segment;
	enum nv_status status;
	uint32_t region;

	status = write_bitmaps(volume, group, root);
	if (status != NV_OK) {
		return status;
	}
	for (region = 0; region < NV_REGION_COUNT; region++) {
		uint64_t limit = atomic_load(&segment->region_limit[region]);
		uint32_t height = nv_map_height(limit);
		struct nv_disk_map_top *top = &root->map[region];
		uint64_t lower = limit;
		uint32_t level;

		for (level = 1; level <= height; level++) {
			uint64_t count = (lower + NV_MAP_FANOUT - 1) /
				NV_MAP_FANOUT;

			status = write_level(volume, group, region, level,
					     limit, lower, count);
			if (status != NV_OK) {
				return status;
			}
			lower = count;
		}
		*top = (struct nv_disk_map_top) {0};
		if (height > 0) {
			struct nv_disk_map_entry *table =
				nv_node_table(volume, region, height);

			top->block = table[0].block;
			top->checksum = table[0].checksum;
			top->height = table[0].block != 0 ? height : 0;
		}
	}
	return NV_OK;
}

void nv_commit_clean(struct nv_volume *volume, uint64_t group)
{
	struct nv_segment *segment = volume->segment;
	uint32_t written = NV_WRITTEN_EVEN + (uint32_t)(group & 1);
	_Atomic uint8_t *dirty = nv_bits_dirty(volume, written, group);
	uint64_t pages = nv_bitmap_pages(volume, written);
	uint32_t bitmap;
	uint32_t region;
	uint64_t page;

	for (page = 0; page < pages; page++) {
		if (atomic_load(&dirty[page]) != 0) {
			memset((uint8_t *)nv_bits(volume, written) +
			       page * NV_BLOCK_SIZE, 0, NV_BLOCK_SIZE);
			atomic_store(&dirty[page], 0);
		}
	}
	for (bitmap = 0; bitmap < NV_BITMAP_COUNT; bitmap++) {
		memset((uint8_t *)nv_bits_dirty(volume, bitmap, group), 0,
		       nv_bitmap_pages(volume, bitmap));
	}
	for (region = 0; region < NV_REGION_COUNT; region++) {
		uint64_t count = atomic_load(&segment->region_limit[region]);
		uint32_t level;

		for (level = 1; level <= NV_MAP_MAX_HEIGHT; level++) {
			count = (count + NV_MAP_FANOUT - 1) / NV_MAP_FANOUT;
			memset((uint8_t *)nv_node_dirty(volume, region, level,
							group), 0, count);
		}
	}
}
