/*
 * Rebuilding the claimed bitmaps, and making space appear.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The claimed bitmaps can be derived: from the stored bitmaps, the entry and
 * map node tables, the blocks freed in groups that are not durable, and the
 * caches of live slots (I5). That is done at attach, and in the closed gate
 * of a commit after a process died with claims in its hands.
 */

#include <string.h>
#include "volume.h"

static bool add_block(struct nv_volume *volume, uint64_t block)
{
	uint64_t total = atomic_load(&volume->segment->total_blocks);

	if (block < NV_FIRST_BLOCK || block >= total ||
	    nv_bits_test(volume, NV_CLAIMED_BLOCKS, block)) {
		nv_withdraw(volume, NV_ERR_CORRUPT,
			    "block %llu has two owners or is outside the "
			    "volume (I3); run fsck.ntvfs",
			    (unsigned long long)block);
		return false;
	}
	nv_bits_fill(volume, NV_CLAIMED_BLOCKS, block, 1, true);
	return true;
}

/* A block of a page or map node. */
static bool add_metadata(struct nv_volume *volume, uint64_t block)
{
	if (block >= nv_metadata_zone(volume)) {
		atomic_store(&volume->segment->metadata_outside, 1);
	}
	return add_block(volume, block);
}

static bool add_run(struct nv_volume *volume, uint64_t run)
{
	uint64_t start = NV_RUN_START(run);
	uint64_t i;

	for (i = 0; i < NV_RUN_LENGTH(run); i++) {
		if (!add_block(volume, start + i)) {
			return false;
		}
	}
	return true;
}

static void copy_bitmap(struct nv_volume *volume, uint32_t to, uint32_t from,
			uint64_t bits)
{
	_Atomic uint64_t *target = nv_bits(volume, to);
	_Atomic uint64_t *source = nv_bits(volume, from);
	uint64_t words = (bits + 63) / 64;
	uint64_t i;

	for (i = 0; i < words; i++) {
		atomic_store_explicit(&target[i], atomic_load_explicit(
			&source[i], memory_order_relaxed),
			memory_order_relaxed);
	}
}

static void add_freed(struct nv_volume *volume, uint32_t freed)
{
	_Atomic uint64_t *target = nv_bits(volume, NV_CLAIMED_BLOCKS);
	_Atomic uint64_t *source = nv_bits(volume, freed);
	uint64_t total = atomic_load(&volume->segment->total_blocks);
	uint64_t words = (total + 63) / 64;
	uint64_t i;

	for (i = 0; i < words; i++) {
		uint64_t word = atomic_load_explicit(&source[i],
						     memory_order_relaxed);

		if (word != 0) {
			atomic_fetch_or(&target[i], word);
		}
	}
}

static bool add_pages(struct nv_volume *volume)
{
	struct nv_segment *segment = volume->segment;
	uint32_t region;

	for (region = 0; region < NV_REGION_COUNT; region++) {
		uint64_t limit = atomic_load(&segment->region_limit[region]);
		uint64_t i;

		for (i = 0; i < limit; i++) {
			struct nv_entry *entry =
				nv_entry_at(volume, NV_PAGE(region, i));
			uint64_t block = atomic_load(&entry->current);

			if (block == 0) {
				continue;
			}
			if (!add_metadata(volume, block)) {
				return false;
			}
			if (region == NV_REGION_NODES) {
				nv_bits_fill(volume, NV_CLAIMED_NODES, i, 1,
					     true);
			}
		}
	}
	return true;
}

static bool add_map_nodes(struct nv_volume *volume)
{
	struct nv_segment *segment = volume->segment;
	uint32_t region;

	for (region = 0; region < NV_REGION_COUNT; region++) {
		uint64_t count = atomic_load(&segment->region_limit[region]);
		uint32_t level;

		for (level = 1; level <= NV_MAP_MAX_HEIGHT; level++) {
			struct nv_disk_map_entry *table =
				nv_node_table(volume, region, level);
			uint64_t i;

			count = (count + NV_MAP_FANOUT - 1) / NV_MAP_FANOUT;
			for (i = 0; i < count; i++) {
				if (table[i].block != 0 &&
				    !add_metadata(volume, table[i].block)) {
					return false;
				}
			}
		}
	}
	return true;
}

static bool add_slot(struct nv_volume *volume, struct nv_slot *slot)
{
	uint32_t count;
	uint64_t ino;
	uint32_t i;

	count = atomic_load(&slot->block_count);
	for (i = 0; i < count; i++) {
		if (!add_block(volume, slot->block[i])) {
			return false;
		}
	}
	count = atomic_load(&slot->node_count);
	for (i = 0; i < count; i++) {
		nv_bits_fill(volume, NV_CLAIMED_NODES, slot->node[i], 1,
			     true);
	}
	count = atomic_load(&slot->inode_count);
	for (i = 0; i < count; i++) {
		nv_bits_fill(volume, NV_CLAIMED_INODES, slot->inode[i], 1,
			     true);
	}
	ino = atomic_load(&slot->reserved_inode);
	if (ino != 0) {
		nv_bits_fill(volume, NV_CLAIMED_INODES, ino, 1, true);
	}
	for (i = 0; i < NV_SLOT_WINDOWS; i++) {
		if (!add_run(volume, atomic_load(&slot->window[i].run))) {
			return false;
		}
	}
	for (i = 0; i < NV_INFLIGHT; i++) {
		if (!add_run(volume, atomic_load(&slot->inflight[i].run))) {
			return false;
		}
	}
	return true;
}

static void add_ends(struct nv_volume *volume)
{
	uint64_t total = atomic_load(&volume->segment->total_blocks);
	uint64_t end = (total + 63) & ~UINT64_C(63);

	nv_bits_fill(volume, NV_CLAIMED_BLOCKS, 0, NV_FIRST_BLOCK, true);
	if (end > total) {
		nv_bits_fill(volume, NV_CLAIMED_BLOCKS, total, end - total,
			     true);
	}
	nv_bits_fill(volume, NV_CLAIMED_INODES, 0, NV_FIRST_INO, true);
	nv_bits_fill(volume, NV_CLAIMED_NODES, 0, 1, true);
}

bool nv_heal(struct nv_volume *volume)
{
	struct nv_segment *segment = volume->segment;
	uint64_t total = atomic_load(&segment->total_blocks);
	uint64_t nodes = atomic_load(
		&segment->region_backed[NV_REGION_NODES]);
	uint64_t inodes = volume->inodes_per_page * atomic_load(
		&segment->region_backed[NV_REGION_INODES]);
	uint32_t limit = atomic_load(&segment->slot_limit);
	uint32_t i;

	/*
	 * Who takes over from us when we die in here sees that it was running
	 * and does it again before anyone may claim. Who recovers a slot
	 * meanwhile and forgets its claims wants it once more.
	 */
	atomic_store(&segment->heal_running, 1);
	atomic_store(&segment->heal_wanted, 0);
	copy_bitmap(volume, NV_CLAIMED_BLOCKS, NV_BITMAP_BLOCKS, total);
	copy_bitmap(volume, NV_CLAIMED_INODES, NV_BITMAP_INODES, inodes);
	nv_bits_fill(volume, NV_CLAIMED_NODES, 0, nodes, false);
	add_ends(volume);
	NV_KILL_POINT("heal: half rebuilt");
	if (!add_pages(volume) || !add_map_nodes(volume)) {
		return false;
	}
	for (i = 0; i < limit; i++) {
		if (atomic_load(&segment->slot[i].in_use) == 0) {
			continue;
		}
		if (!add_slot(volume, &segment->slot[i])) {
			return false;
		}
	}
	/*
	 * Last, and without asking for a second owner: a block that was in use
	 * before and one that is freed now are the same block.
	 */
	add_freed(volume, NV_FREED_EVEN);
	add_freed(volume, NV_FREED_ODD);
	atomic_store(&segment->used_blocks,
		     nv_bits_count(volume, NV_CLAIMED_BLOCKS, total));
	NV_KILL_POINT("heal: rebuilt");
	atomic_store(&segment->heal_running, 0);
	return true;
}

/* Take the windows of everybody. Inside the gate. */
static uint64_t steal_windows(struct nv_volume *volume)
{
	struct nv_segment *segment = volume->segment;
	uint32_t limit = atomic_load(&segment->slot_limit);
	uint64_t stolen = 0;
	uint32_t i;
	uint32_t w;

	for (i = 0; i < limit; i++) {
		for (w = 0; w < NV_SLOT_WINDOWS; w++) {
			struct nv_window *window = &segment->slot[i].window[w];
			uint64_t run = 0;

			if (atomic_load(&window->run) == 0) {
				continue;
			}
			/* Whole: the owner takes the same way. */
			run = atomic_exchange(&window->run, 0);
			if (NV_RUN_LENGTH(run) == 0) {
				continue;
			}
			nv_unclaim_blocks(volume, NV_RUN_START(run),
					  NV_RUN_LENGTH(run));
			stolen += NV_RUN_LENGTH(run);
		}
	}
	return stolen;
}

enum nv_status nv_make_space(struct nv_volume *volume, uint32_t attempt)
{
	struct nv_segment *segment = volume->segment;
	struct nv_slot *slot = NULL;
	enum nv_status status;
	uint64_t stolen = 0;

	status = nv_slot_get(volume, &slot);
	if (status != NV_OK) {
		return status;
	}
	nv_gate_enter(volume, slot);
	stolen = steal_windows(volume);
	nv_gate_leave(slot);
	if (stolen > 0 && attempt == 0) {
		return NV_OK;
	}
	if (attempt < 3 &&
	    (atomic_load(&segment->dirty_nodes[0]) +
	     atomic_load(&segment->dirty_nodes[1]) > 0 ||
	     atomic_load(&segment->heal_wanted) != 0)) {
		return nv_commit_group(volume,
				       atomic_load(&segment->open_group),
				       NV_STATE_ATTACHED);
	}
	return NV_ERR_NO_SPACE;
}
