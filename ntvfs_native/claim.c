/*
 * Claiming space: blocks, node numbers, inode numbers.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The claimed bitmaps say what may not be handed out. A bit is set by
 * compare-exchange and then belongs to a slot. A slot that dies loses its
 * claims; heal.c brings them back. To give something back is to forget it
 * first and to clear the bit then: a death in between loses a claim, the other
 * order could free what somebody else got meanwhile (I5).
 *
 * Everything here runs inside the gate, so that heal sees no claim that is on
 * its way from a bitmap into a slot.
 */

#include "volume.h"

/*
 * The front of the volume is for metadata, the rest for data, as long as
 * there is room: pages that are written by stores into the mapping should not
 * lie among those that the page cache holds in large folios.
 */
static uint64_t zone_limit(uint64_t total)
{
	return total / 16 + NV_FIRST_BLOCK;
}

uint64_t nv_metadata_zone(const struct nv_volume *volume)
{
	return zone_limit(atomic_load(&volume->segment->total_blocks));
}

static uint64_t last_reserve(uint64_t total)
{
	uint64_t reserve = total / 64;

	/* On a small volume: for one operation as large as they come. */
	if (reserve < NV_OPERATION_PAGES + 32) {
		return NV_OPERATION_PAGES + 32;
	}
	if (reserve > 4096) {
		return 4096;
	}
	return reserve;
}

/*
 * What the commits of the open and the closing group may need for map nodes
 * and bitmap pages.
 */
static uint64_t commit_need(struct nv_segment *segment)
{
	uint64_t nodes = atomic_load(&segment->dirty_nodes[0]) +
		atomic_load(&segment->dirty_nodes[1]);

	return 32 + nodes + nodes / 32;
}

uint64_t nv_claim_available(struct nv_volume *volume, uint32_t flags)
{
	struct nv_segment *segment = volume->segment;
	uint64_t total = atomic_load(&segment->total_blocks);
	uint64_t taken = atomic_load(&segment->used_blocks);

	taken += commit_need(segment);
	if ((flags & NV_CLAIM_RESERVE) == 0) {
		taken += last_reserve(total);
	}
	return taken < total ? total - taken : 0;
}

static uint64_t claim_from(struct nv_volume *volume, uint64_t first,
			   uint64_t limit, uint64_t goal, uint64_t want,
			   uint64_t *start)
{
	return nv_bits_claim(volume, NV_CLAIMED_BLOCKS, first, limit, goal,
			     want, start);
}

static uint64_t claim_run(struct nv_volume *volume, uint64_t goal,
			  uint64_t want, bool data, uint64_t *start)
{
	uint64_t total = atomic_load(&volume->segment->total_blocks);
	uint64_t zone = zone_limit(total);
	uint64_t count = 0;

	if (data) {
		count = claim_from(volume, zone, total, goal, want, start);
	} else {
		count = claim_from(volume, NV_FIRST_BLOCK, zone, goal, want,
				   start);
	}
	if (count == 0) {
		count = claim_from(volume, NV_FIRST_BLOCK, total, goal, want,
				   start);
		if (count > 0 && !data) {
			atomic_store(&volume->segment->metadata_outside, 1);
		}
	}
	atomic_fetch_add(&volume->segment->used_blocks, count);
	return count;
}

uint64_t nv_claim_blocks(struct nv_volume *volume, uint64_t goal,
			 uint64_t want, uint32_t flags, uint64_t *start)
{
	uint64_t available = nv_claim_available(volume, flags);

	/*
	 * Two processes may both see the last blocks available: the reserve
	 * is generous, and what is handed out is still handed out once.
	 */
	if (want > available) {
		want = available;
	}
	if (want == 0) {
		return 0;
	}
	return claim_run(volume, goal, want, true, start);
}

uint64_t nv_claim_for_commit(struct nv_volume *volume)
{
	struct nv_segment *segment = volume->segment;
	uint64_t start = 0;

	if (claim_run(volume, atomic_load(&segment->block_hint), 1, false,
		      &start) == 0) {
		return 0;
	}
	atomic_store(&segment->block_hint, start + 1);
	return start;
}

void nv_unclaim_blocks(struct nv_volume *volume, uint64_t start,
		       uint64_t count)
{
	nv_bits_fill(volume, NV_CLAIMED_BLOCKS, start, count, false);
	atomic_fetch_sub(&volume->segment->used_blocks, count);
}

/*
 * What the slot has in its cache counts as free here: a cache that was filled
 * out of the last reserve, by an operation that frees, must not feed one that
 * does not.
 */
static bool room_for(struct nv_volume *volume, uint32_t cached,
		     uint32_t least, uint32_t flags)
{
	struct nv_segment *segment = volume->segment;
	uint64_t total = atomic_load(&segment->total_blocks);
	uint64_t wanted = commit_need(segment) + least +
		atomic_load(&segment->used_blocks);

	if ((flags & NV_CLAIM_RESERVE) == 0) {
		wanted += last_reserve(total);
	}
	return total + cached >= wanted;
}

static enum nv_status fill_blocks(struct nv_volume *volume,
				  struct nv_slot *slot, uint32_t least,
				  uint32_t flags)
{
	struct nv_segment *segment = volume->segment;
	uint32_t count = atomic_load(&slot->block_count);

	if (!room_for(volume, count, least, flags)) {
		return NV_ERR_NO_SPACE;
	}
	while (count < least) {
		uint64_t available = nv_claim_available(volume, flags);
		uint64_t want = NV_CACHED_BLOCKS - count;
		uint64_t start = 0;
		uint64_t got = 0;
		uint64_t i;

		/* Do not hoard what is scarce. */
		if (available < 4096 || want > available) {
			want = least - count;
		}
		got = claim_run(volume, atomic_load(&segment->block_hint),
				want, false, &start);
		if (got == 0) {
			return NV_ERR_NO_SPACE;
		}
		NV_KILL_POINT("claim: bits set, not in the cache");
		atomic_store(&segment->block_hint, start + got);
		/* Popped from the end: lowest block first. */
		for (i = 0; i < got; i++) {
			slot->block[count + i] = start + got - 1 - i;
		}
		count += (uint32_t)got;
		atomic_store(&slot->block_count, count);
	}
	return NV_OK;
}

static enum nv_status fill_nodes(struct nv_volume *volume,
				 struct nv_slot *slot, uint32_t least)
{
	struct nv_segment *segment = volume->segment;
	uint32_t count = atomic_load(&slot->node_count);

	while (count < least) {
		uint64_t limit = atomic_load(
			&segment->region_backed[NV_REGION_NODES]);
		uint64_t start = 0;
		uint64_t got = 0;
		uint64_t i;

		got = nv_bits_claim(volume, NV_CLAIMED_NODES, 1, limit,
				    atomic_load(&segment->node_hint),
				    NV_CACHED_NODES - count, &start);
		if (got == 0) {
			return NV_ERR_RETRY;
		}
		atomic_store(&segment->node_hint, start + got);
		for (i = 0; i < got; i++) {
			slot->node[count + i] = start + got - 1 - i;
		}
		count += (uint32_t)got;
		atomic_store(&slot->node_count, count);
	}
	return NV_OK;
}

enum nv_status nv_claim_fill(struct nv_volume *volume, struct nv_slot *slot,
			     uint32_t blocks, uint32_t nodes, uint32_t flags)
{
	enum nv_status status;

	status = fill_blocks(volume, slot, blocks, flags);
	if (status != NV_OK) {
		return status;
	}
	return fill_nodes(volume, slot, nodes);
}

/*
 * Processes take stretches of numbers whose bits fill a cache line and whose
 * inodes fill pages, so that what they create does not meet.
 */
#define INODE_STRETCH 512
static_assert(INODE_STRETCH % 64 == 0, "whole words");

/* Another slot takes its numbers from there. */
static bool stretch_taken(struct nv_volume *volume, const struct nv_slot *slot,
			  uint64_t start)
{
	struct nv_segment *segment = volume->segment;
	uint32_t limit = atomic_load(&segment->slot_limit);
	uint32_t i;

	/*
	 * Two slots may choose the same stretch at once: harmless, a number
	 * is still handed out once.
	 */
	for (i = 0; i < limit; i++) {
		const struct nv_slot *other = &segment->slot[i];

		if (other != slot && atomic_load(&other->in_use) != 0 &&
		    other->inode_end > start &&
		    other->inode_goal < start + INODE_STRETCH) {
			return true;
		}
	}
	return false;
}

/*
 * A stretch whose pages exist and of which at least half is free: pages of
 * inodes are never given back, so numbers are used again before the region
 * grows. UINT64_MAX: there is none.
 */
static uint64_t stretch_to_reuse(struct nv_volume *volume,
				 const struct nv_slot *slot)
{
	_Atomic uint64_t *words = nv_bits(volume, NV_CLAIMED_INODES);
	uint64_t end = volume->inodes_per_page * atomic_load(
		&volume->segment->region_limit[NV_REGION_INODES]);
	uint64_t start;
	uint64_t i;

	for (start = 0; start + INODE_STRETCH <= end; start += INODE_STRETCH) {
		uint64_t taken = 0;

		for (i = start / 64; i < (start + INODE_STRETCH) / 64; i++) {
			taken += (uint64_t)__builtin_popcountll(
				atomic_load_explicit(&words[i],
						     memory_order_relaxed));
		}
		if (taken <= INODE_STRETCH / 2 &&
		    !stretch_taken(volume, slot, start)) {
			return start;
		}
	}
	return UINT64_MAX;
}

static uint64_t inode_goal(struct nv_volume *volume, struct nv_slot *slot,
			   uint64_t limit)
{
	struct nv_segment *segment = volume->segment;
	uint64_t start;

	if (slot->inode_goal >= slot->inode_end) {
		start = stretch_to_reuse(volume, slot);
		if (start == UINT64_MAX) {
			start = atomic_fetch_add(&segment->inode_hint,
						 INODE_STRETCH) % limit;
		}
		slot->inode_goal = start;
		slot->inode_end = start + INODE_STRETCH;
	}
	return slot->inode_goal;
}

enum nv_status nv_claim_inodes(struct nv_volume *volume, struct nv_slot *slot)
{
	uint64_t limit = atomic_load(
		&volume->segment->region_backed[NV_REGION_INODES]);
	uint64_t start = 0;
	uint64_t got = 0;
	uint64_t i;

	limit *= volume->inodes_per_page;
	got = nv_bits_claim(volume, NV_CLAIMED_INODES, NV_FIRST_INO, limit,
			    inode_goal(volume, slot, limit),
			    NV_CACHED_INODES, &start);
	if (got == 0) {
		return NV_ERR_RETRY;
	}
	slot->inode_goal = start + got;
	for (i = 0; i < got; i++) {
		slot->inode[i] = start + got - 1 - i;
	}
	atomic_store(&slot->inode_count, (uint32_t)got);
	return NV_OK;
}

static void drop_run(struct nv_volume *volume, _Atomic uint64_t *run)
{
	uint64_t old = atomic_exchange(run, 0);

	if (NV_RUN_LENGTH(old) > 0) {
		nv_unclaim_blocks(volume, NV_RUN_START(old),
				  NV_RUN_LENGTH(old));
	}
}

void nv_claim_drop(struct nv_volume *volume, struct nv_slot *slot)
{
	uint32_t count;
	uint64_t ino;
	uint32_t i;

	count = atomic_exchange(&slot->block_count, 0);
	for (i = 0; i < count; i++) {
		nv_unclaim_blocks(volume, slot->block[i], 1);
	}
	count = atomic_exchange(&slot->node_count, 0);
	for (i = 0; i < count; i++) {
		nv_bits_fill(volume, NV_CLAIMED_NODES, slot->node[i], 1,
			     false);
	}
	count = atomic_exchange(&slot->inode_count, 0);
	for (i = 0; i < count; i++) {
		nv_bits_fill(volume, NV_CLAIMED_INODES, slot->inode[i], 1,
			     false);
	}
	ino = atomic_exchange(&slot->reserved_inode, 0);
	if (ino != 0) {
		nv_bits_fill(volume, NV_CLAIMED_INODES, ino, 1, false);
	}
	for (i = 0; i < NV_SLOT_WINDOWS; i++) {
		drop_run(volume, &slot->window[i].run);
		atomic_store(&slot->window[i].file_id, 0);
	}
	for (i = 0; i < NV_INFLIGHT; i++) {
		drop_run(volume, &slot->inflight[i].run);
	}
}
