/*
 * Rolling back what a dead process left.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Takes the recovery mutex and no other lock. Who recovers may be killed at
 * any point: the next one does all of it again.
 */

#include <errno.h>
#include "volume.h"

static void recovery_lock(struct nv_volume *volume)
{
	pthread_mutex_t *mutex = &volume->segment->recovery_mutex;

	if (pthread_mutex_lock(mutex) == EOWNERDEAD) {
		/* All stores of a recovery are absolute (I12). */
		pthread_mutex_consistent(mutex);
	}
}

/*
 * What the slot had claimed is forgotten, not given back: whether a claim
 * was already passed on cannot be told. Heal finds it.
 */
static void forget_claims(struct nv_segment *segment, struct nv_slot *slot)
{
	uint32_t i;

	atomic_store(&segment->heal_wanted, 1);
	atomic_store(&slot->block_count, 0);
	atomic_store(&slot->inode_count, 0);
	atomic_store(&slot->node_count, 0);
	atomic_store(&slot->reserved_inode, 0);
	for (i = 0; i < NV_INFLIGHT; i++) {
		atomic_store(&slot->inflight[i].run, 0);
	}
	for (i = 0; i < NV_SLOT_WINDOWS; i++) {
		atomic_store(&slot->window[i].run, 0);
		atomic_store(&slot->window[i].file_id, 0);
	}
}

static void roll_back(struct nv_volume *volume, struct nv_slot *slot)
{
	struct nv_segment *segment = volume->segment;
	uint64_t group = atomic_load(&slot->active);

	nv_intent_finish(volume, slot);
	NV_KILL_POINT("recover: intent finished");
	if (!nv_undo_apply(volume, slot, group)) {
		nv_withdraw(volume, NV_ERR_CORRUPT,
			    "undo log of slot %u is damaged; detach "
			    "everywhere and run fsck.ntvfs",
			    nv_slot_index(volume, slot));
	}
	NV_KILL_POINT("recover: undone, log not cleared");
	atomic_store(&slot->undo_top, 0);
	slot->undo_records = 0;
	forget_claims(segment, slot);
	NV_KILL_POINT("recover: claims forgotten, still active");
	atomic_store(&slot->io_group, 0);
	atomic_store(&slot->active, 0);
	atomic_store(&segment->orphans, 1);
	atomic_fetch_add(&segment->recovered_slots, 1);
}

/* There is something to roll back, or claims to forget. */
static bool has_remains(struct nv_slot *slot)
{
	uint32_t i;

	if (atomic_load(&slot->active) != 0 ||
	    atomic_load(&slot->io_group) != 0 ||
	    atomic_load(&slot->intent.active) != 0 ||
	    atomic_load(&slot->undo_top) != 0 ||
	    atomic_load(&slot->block_count) != 0 ||
	    atomic_load(&slot->inode_count) != 0 ||
	    atomic_load(&slot->node_count) != 0 ||
	    atomic_load(&slot->reserved_inode) != 0) {
		return true;
	}
	for (i = 0; i < NV_SLOT_WINDOWS; i++) {
		if (atomic_load(&slot->window[i].run) != 0) {
			return true;
		}
	}
	for (i = 0; i < NV_INFLIGHT; i++) {
		if (atomic_load(&slot->inflight[i].run) != 0) {
			return true;
		}
	}
	return false;
}

void nv_slot_recover(struct nv_volume *volume, uint32_t index,
		     uint64_t generation)
{
	struct nv_slot *slot = NULL;

	if (index >= NV_SLOTS) {
		nv_withdraw(volume, NV_ERR_CORRUPT,
			    "a lock names slot %u, which does not exist",
			    index);
		return;
	}
	slot = &volume->segment->slot[index];
	recovery_lock(volume);
	if (atomic_load(&slot->generation) == generation &&
	    has_remains(slot)) {
		roll_back(volume, slot);
	}
	pthread_mutex_unlock(&volume->segment->recovery_mutex);
}

void nv_slot_renew(struct nv_volume *volume, uint32_t index)
{
	struct nv_segment *segment = volume->segment;
	struct nv_slot *slot = &segment->slot[index];
	uint32_t limit;

	recovery_lock(volume);
	if (has_remains(slot)) {
		roll_back(volume, slot);
	}
	/*
	 * From here on a lock that still names the old generation leads to
	 * no recovery: there is nothing left to recover.
	 */
	atomic_fetch_add(&slot->generation, 1);
	slot->operations = 0;
	slot->use_counter = 0;
	slot->inode_goal = 0;
	slot->inode_end = 0;
	slot->behind_length = 0;
	atomic_store(&slot->in_use, 1);
	limit = atomic_load(&segment->slot_limit);
	while (limit < index + 1) {
		if (atomic_compare_exchange_weak(&segment->slot_limit, &limit,
						 index + 1)) {
			break;
		}
	}
	pthread_mutex_unlock(&segment->recovery_mutex);
}
