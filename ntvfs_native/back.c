/*
 * Giving parts of the segment memory before anyone stores there.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The segment is a sparse file. A store to a part for which the host has no
 * memory would be SIGBUS; so the parts are allocated first, where failing is
 * an error to return.
 */

#include "volume.h"

/* Pages of a region whose entries are backed at a time. */
#define BACK_PAGES 4096

static enum nv_status back_nodes(struct nv_volume *volume, uint32_t region,
				 uint64_t pages)
{
	struct nv_layout *layout = &volume->layout;
	enum nv_status status;
	uint64_t count = pages;
	uint32_t level;
	uint32_t parity;

	for (level = 1; level <= NV_MAP_MAX_HEIGHT; level++) {
		count = (count + NV_MAP_FANOUT - 1) / NV_MAP_FANOUT;
		status = nv_segment_back(
			volume, layout->nodes[region][level],
			count * sizeof(struct nv_disk_map_entry));
		if (status != NV_OK) {
			return status;
		}
		for (parity = 0; parity < 2; parity++) {
			status = nv_segment_back(
				volume, layout->dirty[region][level][parity],
				count);
			if (status != NV_OK) {
				return status;
			}
		}
	}
	return NV_OK;
}

static enum nv_status back_bitmap(struct nv_volume *volume, uint32_t bitmap,
				  uint64_t bits)
{
	struct nv_layout *layout = &volume->layout;
	uint64_t pages = (bits + NV_BITS_PER_PAGE - 1) / NV_BITS_PER_PAGE;
	enum nv_status status;
	uint32_t parity;

	status = nv_segment_back(volume, layout->bits[bitmap],
				 pages * NV_BLOCK_SIZE);
	if (status != NV_OK) {
		return status;
	}
	for (parity = 0; parity < 2; parity++) {
		status = nv_segment_back(volume,
					 layout->bits_dirty[bitmap][parity],
					 pages);
		if (status != NV_OK) {
			return status;
		}
	}
	if (bitmap >= NV_BITMAP_COUNT) {
		return NV_OK;
	}
	status = nv_segment_back(volume, layout->snapshot[bitmap],
				 pages * NV_BLOCK_SIZE);
	if (status != NV_OK) {
		return status;
	}
	return nv_segment_back(volume, layout->snapshot_count[bitmap],
			       pages * sizeof(uint32_t));
}

/* The bitmaps that have bits for what lies in these pages. */
static enum nv_status back_dependents(struct nv_volume *volume,
				      uint32_t region, uint64_t pages)
{
	static const uint32_t inode_bitmaps[] = {
		NV_BITMAP_INODES, NV_BITMAP_ORPHANS, NV_CLAIMED_INODES,
	};
	uint64_t inodes = pages * volume->inodes_per_page;
	uint64_t bitmap_pages;
	enum nv_status status;
	uint32_t i;

	if (region == NV_REGION_NODES) {
		return back_bitmap(volume, NV_CLAIMED_NODES, pages);
	}
	if (region != NV_REGION_INODES) {
		return NV_OK;
	}
	for (i = 0; i < 3; i++) {
		status = back_bitmap(volume, inode_bitmaps[i], inodes);
		if (status != NV_OK) {
			return status;
		}
	}
	bitmap_pages = (inodes + NV_BITS_PER_PAGE - 1) / NV_BITS_PER_PAGE;
	status = nv_entries_back(volume, NV_REGION_INODE_BITMAP,
				 bitmap_pages);
	if (status != NV_OK) {
		return status;
	}
	return nv_entries_back(volume, NV_REGION_ORPHAN_BITMAP, bitmap_pages);
}

enum nv_status nv_entries_back(struct nv_volume *volume, uint32_t region,
			       uint64_t pages)
{
	struct nv_layout *layout = &volume->layout;
	_Atomic uint64_t *backed = &volume->segment->region_backed[region];
	uint64_t present = atomic_load(backed);
	enum nv_status status;

	if (pages <= present) {
		return NV_OK;
	}
	pages = (pages + BACK_PAGES - 1) / BACK_PAGES * BACK_PAGES;
	if (pages > layout->pages[region]) {
		pages = layout->pages[region];
	}
	if (pages <= present) {
		return NV_ERR_NO_SPACE;
	}
	status = nv_segment_back(volume, layout->entry[region],
				 pages * sizeof(struct nv_entry));
	if (status != NV_OK) {
		return status;
	}
	status = back_nodes(volume, region, pages);
	if (status != NV_OK) {
		return status;
	}
	status = back_dependents(volume, region, pages);
	if (status != NV_OK) {
		return status;
	}
	while (present < pages) {
		if (atomic_compare_exchange_weak(backed, &present, pages)) {
			break;
		}
	}
	return NV_OK;
}

enum nv_status nv_entries_back_more(struct nv_volume *volume)
{
	struct nv_segment *segment = volume->segment;
	static const uint32_t regions[] = {NV_REGION_INODES, NV_REGION_NODES};
	enum nv_status status;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		uint64_t present =
			atomic_load(&segment->region_backed[regions[i]]);

		status = nv_entries_back(volume, regions[i], present + 1);
		if (status != NV_OK) {
			return status;
		}
	}
	return NV_OK;
}

enum nv_status nv_blocks_back(struct nv_volume *volume, uint64_t blocks)
{
	static const uint32_t bitmaps[] = {
		NV_BITMAP_BLOCKS, NV_CLAIMED_BLOCKS, NV_FREED_EVEN,
		NV_FREED_ODD, NV_WRITTEN_EVEN, NV_WRITTEN_ODD,
	};
	enum nv_status status;
	uint32_t i;

	for (i = 0; i < sizeof(bitmaps) / sizeof(bitmaps[0]); i++) {
		status = back_bitmap(volume, bitmaps[i], blocks);
		if (status != NV_OK) {
			return status;
		}
	}
	return nv_entries_back(volume, NV_REGION_BLOCK_BITMAP,
			       (blocks + NV_BITS_PER_PAGE - 1) /
			       NV_BITS_PER_PAGE);
}
