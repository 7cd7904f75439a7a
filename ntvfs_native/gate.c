/*
 * The gate between transaction groups, and marks of data transfers.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "volume.h"

static void wait_for_gate(struct nv_volume *volume)
{
	struct nv_segment *segment = volume->segment;
	uint32_t round = 0;

	while (atomic_load(&segment->gate) != 0) {
		if (round < 1000) {
			nv_relax();
		} else {
			nv_futex_wait(&segment->gate, 1, 10);
		}
		if (round >= 1001) {
			/* The committer may be dead. */
			nv_commit_rescue(volume);
		}
		round++;
	}
}

uint64_t nv_gate_enter(struct nv_volume *volume, struct nv_slot *slot)
{
	struct nv_segment *segment = volume->segment;
	uint64_t group;

	for (;;) {
		group = atomic_load(&segment->open_group);
		/*
		 * Either the committer sees active, or we see its gate: both
		 * sides store first and look then, sequentially consistent
		 * (I11).
		 */
		atomic_store(&slot->active, group);
		if (atomic_load(&segment->gate) == 0 &&
		    atomic_load(&segment->open_group) == group) {
			return group;
		}
		atomic_store(&slot->active, 0);
		wait_for_gate(volume);
	}
}

void nv_gate_leave(struct nv_slot *slot)
{
	atomic_store_explicit(&slot->active, 0, memory_order_release);
}

void nv_transfer_begin(struct nv_volume *volume, struct nv_slot *slot)
{
	uint64_t group;

	/*
	 * The group may move on between load and store; the mark is then of
	 * an earlier group, which makes a committer wait longer than needed,
	 * unless it looked before the store: so look again.
	 */
	do {
		group = atomic_load(&volume->segment->open_group);
		atomic_store(&slot->io_group, group);
	} while (atomic_load(&volume->segment->open_group) != group);
}

void nv_transfer_end(struct nv_slot *slot)
{
	atomic_store_explicit(&slot->io_group, 0, memory_order_release);
}
