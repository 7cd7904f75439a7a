/*
 * Reservation windows: blocks for file data.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A window is a run of claimed blocks that one slot uses for one file, so that
 * files which grow at the same time do not interleave. Window 0 of a slot is
 * for the first blocks of all its small files: these lie together in the order
 * in which they were made. A larger file gets a window of its own, first at a
 * place with room around it (spread_goal), then, doubling, right behind the
 * one that is used up.
 *
 * A window's run changes by compare-exchange only: whoever is short of space
 * takes it away whole.
 */

#include "volume.h"
#include "window.h"

#define FIRST_WINDOW 16		/* blocks */
#define LARGEST_WINDOW 8192
#define SMALL_FILE 16		/* blocks in the first write of a small file */
#define SMALL_WINDOW 256
#define SMALL_WINDOW_OWNER 1	/* no file id */

static bool take_front(struct nv_slot *slot, struct nv_window *window,
		       uint32_t want, uint64_t *start, uint32_t *count)
{
	uint64_t run = atomic_load(&window->run);

	for (;;) {
		uint32_t length = NV_RUN_LENGTH(run);
		uint32_t taken = length < want ? length : want;
		uint64_t first = NV_RUN_START(run);
		uint64_t rest;

		if (taken == 0) {
			return false;
		}
		/* Noted before it leaves the window: heal looks at both, but
		 * not while we are inside the gate. */
		atomic_store(&slot->inflight[0].run, NV_RUN(first, taken));
		rest = NV_RUN(first + taken, length - taken);
		if (length == taken) {
			rest = 0;
		}
		if (atomic_compare_exchange_strong(&window->run, &run, rest)) {
			*start = first;
			*count = taken;
			window->used += taken;
			window->next_goal = first + taken;
			return true;
		}
		atomic_store(&slot->inflight[0].run, 0);
	}
}

static void empty_window(struct nv_volume *volume, struct nv_window *window)
{
	uint64_t run = atomic_exchange(&window->run, 0);

	if (NV_RUN_LENGTH(run) > 0) {
		nv_unclaim_blocks(volume, NV_RUN_START(run),
				  NV_RUN_LENGTH(run));
	}
}

static struct nv_window *find_window(struct nv_slot *slot, nv_file_id id)
{
	uint32_t i;

	for (i = 1; i < NV_SLOT_WINDOWS; i++) {
		if (atomic_load(&slot->window[i].file_id) == id) {
			return &slot->window[i];
		}
	}
	return NULL;
}

/* The file's window, or the one used longest ago, made the file's. */
static struct nv_window *own_window(struct nv_volume *volume,
				    struct nv_slot *slot, nv_file_id id)
{
	struct nv_window *window = find_window(slot, id);
	uint32_t oldest = 1;
	uint32_t i;

	if (window == NULL) {
		for (i = 2; i < NV_SLOT_WINDOWS; i++) {
			if (slot->window[i].last_use <
			    slot->window[oldest].last_use) {
				oldest = i;
			}
		}
		window = &slot->window[oldest];
		empty_window(volume, window);
		window->size = FIRST_WINDOW;
		window->used = 0;
		window->next_goal = 0;
		window->asked = 0;
		atomic_store(&window->file_id, id);
	}
	slot->use_counter++;
	window->last_use = slot->use_counter;
	return window;
}

/* Windows shrink when space does: nobody hoards what others need. */
static uint32_t sensible_size(struct nv_volume *volume, uint32_t size,
			      uint32_t want)
{
	uint64_t available = nv_claim_available(volume, 0);

	if (size > available / 64) {
		size = (uint32_t)(available / 64);
	}
	return size > want ? size : want;
}

/*
 * A place far from the last ones: multiples of the golden ratio divide a line
 * as evenly as can be, however many there are.
 */
static uint64_t spread_goal(struct nv_volume *volume)
{
	struct nv_segment *segment = volume->segment;
	uint64_t total = atomic_load(&segment->total_blocks);
	uint64_t number = atomic_fetch_add(&segment->spread_count, 1) + 1;
	uint64_t fraction = (number * UINT64_C(0x9e3779b97f4a7c15)) >> 40;

	return (total >> 24) * fraction +
		(((total & 0xffffff) * fraction) >> 24);
}

static bool refill_small(struct nv_volume *volume, struct nv_window *window,
			 uint32_t want)
{
	struct nv_segment *segment = volume->segment;
	uint32_t size = sensible_size(volume, SMALL_WINDOW, want);
	uint64_t start = 0;
	uint64_t got;

	got = nv_claim_blocks(volume, atomic_load(&segment->small_hint), size,
			      0, &start);
	if (got == 0) {
		return false;
	}
	atomic_store(&segment->small_hint, start + got);
	atomic_store(&window->file_id, SMALL_WINDOW_OWNER);
	atomic_store(&window->run, NV_RUN(start, got));
	return true;
}

static bool refill_own(struct nv_volume *volume, struct nv_window *window,
		       uint64_t goal, uint32_t want)
{
	uint32_t size = window->size;
	uint64_t start = 0;
	uint64_t got;

	if (window->used > size / 2 && size < LARGEST_WINDOW) {
		size *= 2;
	}
	if (window->asked > 0) {
		size = window->asked;
	}
	window->size = size;
	if (window->next_goal != 0) {
		goal = window->next_goal;
	}
	if (goal == 0 || goal >= atomic_load(&volume->segment->total_blocks) ||
	    nv_bits_test(volume, NV_CLAIMED_BLOCKS, goal)) {
		goal = spread_goal(volume);
	}
	got = nv_claim_blocks(volume, goal, sensible_size(volume, size, want),
			      0, &start);
	if (got == 0) {
		return false;
	}
	window->used = 0;
	atomic_store(&window->run, NV_RUN(start, got));
	return true;
}

/* Inside the gate. */
static bool take(struct nv_volume *volume, struct nv_slot *slot,
		 nv_file_id id, uint64_t goal, uint32_t want, uint64_t *start,
		 uint32_t *count)
{
	struct nv_window *window = NULL;
	uint32_t run;
	bool small;

	small = goal == 0 && want <= SMALL_FILE &&
		find_window(slot, id) == NULL;
	if (small) {
		window = &slot->window[0];
		run = NV_RUN_LENGTH(atomic_load(&window->run));
		if (run < want) {
			empty_window(volume, window);
			if (!refill_small(volume, window, want)) {
				return false;
			}
		}
		return take_front(slot, window, want, start, count);
	}
	window = own_window(volume, slot, id);
	if (take_front(slot, window, want, start, count)) {
		return true;
	}
	if (!refill_own(volume, window, goal, want)) {
		return false;
	}
	return take_front(slot, window, want, start, count);
}

enum nv_status nv_window_take(struct nv_volume *volume, struct nv_slot *slot,
			      nv_file_id id, uint64_t goal, uint32_t want,
			      uint64_t *start, uint32_t *count)
{
	uint32_t attempt = 0;
	enum nv_status status;
	bool ok;

	for (;;) {
		nv_gate_enter(volume, slot);
		ok = take(volume, slot, id, goal, want, start, count);
		nv_gate_leave(slot);
		if (ok) {
			return NV_OK;
		}
		status = nv_make_space(volume, attempt);
		if (status != NV_OK) {
			return status;
		}
		attempt++;
	}
}

void nv_window_linked(struct nv_slot *slot)
{
	atomic_store(&slot->inflight[0].run, 0);
}

void nv_window_return(struct nv_volume *volume, struct nv_slot *slot)
{
	uint64_t run;

	nv_gate_enter(volume, slot);
	run = atomic_exchange(&slot->inflight[0].run, 0);
	if (NV_RUN_LENGTH(run) > 0) {
		nv_unclaim_blocks(volume, NV_RUN_START(run),
				  NV_RUN_LENGTH(run));
	}
	nv_gate_leave(slot);
}

enum nv_status nv_set_window(struct nv_volume *volume, nv_file_id id,
			     uint64_t bytes)
{
	struct nv_window *window = NULL;
	struct nv_slot *slot = NULL;
	enum nv_status status;

	if (bytes >> NV_BLOCK_SHIFT > NV_RUN_MAX) {
		return NV_ERR_INVALID;
	}
	status = nv_slot_get(volume, &slot);
	if (status != NV_OK) {
		return status;
	}
	nv_gate_enter(volume, slot);
	window = own_window(volume, slot, id);
	window->asked = (uint32_t)(bytes >> NV_BLOCK_SHIFT);
	nv_gate_leave(slot);
	return NV_OK;
}

void nv_done_writing(struct nv_volume *volume, nv_file_id id)
{
	struct nv_window *window = NULL;
	struct nv_slot *slot = NULL;

	if (nv_slot_get(volume, &slot) != NV_OK) {
		return;
	}
	window = find_window(slot, id);
	/* One that has grown is of a file that grows: kept until the slot
	 * needs the place or somebody the space. */
	if (window == NULL || window->size > 2 * FIRST_WINDOW) {
		return;
	}
	nv_gate_enter(volume, slot);
	empty_window(volume, window);
	atomic_store(&window->file_id, 0);
	nv_gate_leave(slot);
}
