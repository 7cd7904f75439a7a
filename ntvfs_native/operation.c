/*
 * Beginning and ending operations.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <string.h>
#include "volume.h"

/* Sorted, each once: the order in which they are taken (rank 4). */
static enum nv_status collect_locks(struct nv_operation *operation,
				    const uint64_t *inos, uint32_t ino_count)
{
	uint32_t count = 0;
	uint32_t i;

	if (ino_count > NV_OPERATION_LOCKS) {
		return NV_ERR_INVALID;
	}
	if ((operation->flags & NV_OP_RENAME) != 0) {
		operation->lock[count++] = NV_LOCK_RENAME;
	}
	for (i = 0; i < ino_count; i++) {
		uint32_t index = nv_lock_index(inos[i]);
		uint32_t at = count;
		bool known = false;

		while (at > 0 && operation->lock[at - 1] >= index) {
			if (operation->lock[at - 1] == index) {
				known = true;
				break;
			}
			at--;
		}
		if (known) {
			continue;
		}
		memmove(&operation->lock[at + 1], &operation->lock[at],
			(count - at) * sizeof(operation->lock[0]));
		operation->lock[at] = index;
		count++;
	}
	if ((operation->flags & NV_OP_SD) != 0) {
		operation->lock[count++] = NV_LOCK_SD;
	}
	operation->lock_count = count;
	return NV_OK;
}

/* Register, with enough blocks and numbers in the slot's caches. */
static enum nv_status enter(struct nv_operation *operation, uint32_t pages)
{
	struct nv_volume *volume = operation->volume;
	uint32_t claim_flags = 0;
	uint32_t attempt = 0;
	enum nv_status status;

	if ((operation->flags & NV_OP_FREES) != 0) {
		claim_flags |= NV_CLAIM_RESERVE;
	}
	for (;;) {
		operation->group = nv_gate_enter(volume, operation->slot);
		status = nv_claim_fill(volume, operation->slot, pages, pages,
				       claim_flags);
		if (status == NV_OK) {
			return NV_OK;
		}
		nv_gate_leave(operation->slot);
		if (status == NV_ERR_RETRY) {
			status = nv_entries_back_more(volume);
		} else if (status == NV_ERR_NO_SPACE) {
			status = nv_make_space(volume, attempt);
			attempt++;
		}
		if (status != NV_OK) {
			return status;
		}
	}
}

enum nv_status nv_operation_begin(struct nv_volume *volume,
				  struct nv_operation *operation,
				  const uint64_t *inos, uint32_t ino_count,
				  uint32_t pages, uint32_t flags)
{
	enum nv_status status;
	uint32_t i;

	operation->volume = volume;
	operation->slot = NULL;
	operation->group = 0;
	operation->flags = flags;
	operation->lock_count = 0;
	operation->saved_count = 0;
	operation->freed_count = 0;
	operation->used_reservation = false;
	if (pages > NV_OPERATION_PAGES) {
		return NV_ERR_INVALID;
	}
	if ((volume->flags & NV_ATTACH_READ_ONLY) != 0) {
		return NV_ERR_READ_ONLY;
	}
	if (nv_is_withdrawn(volume)) {
		return NV_ERR_WITHDRAWN;
	}
	status = nv_slot_get(volume, &operation->slot);
	if (status != NV_OK) {
		return status;
	}
	status = collect_locks(operation, inos, ino_count);
	if (status != NV_OK) {
		return status;
	}
	status = enter(operation, pages);
	if (status != NV_OK) {
		return status;
	}
	NV_KILL_POINT("operation: registered, no lock");
	for (i = 0; i < operation->lock_count; i++) {
		nv_object_lock(volume, operation->slot, operation->lock[i]);
	}
	NV_KILL_POINT("operation: locked, nothing changed");
	return NV_OK;
}

static void unlock_all(struct nv_operation *operation)
{
	uint32_t i;

	for (i = operation->lock_count; i > 0; i--) {
		nv_object_unlock(operation->volume, operation->lock[i - 1]);
		NV_KILL_POINT("operation: one lock released");
	}
}

bool nv_operation_drop_claim(struct nv_operation *operation, uint32_t bitmap,
			     uint64_t bit, bool when_cancelled)
{
	uint32_t i = operation->freed_count;

	if (i == NV_OPERATION_FREES) {
		return false;
	}
	operation->freed[i].bitmap = bitmap;
	operation->freed[i].bit = bit;
	operation->freed[i].when_cancelled = when_cancelled;
	operation->freed_count++;
	return true;
}

static void drop_claims(struct nv_operation *operation, bool cancelled)
{
	uint32_t i;

	for (i = 0; i < operation->freed_count; i++) {
		if (operation->freed[i].when_cancelled != cancelled) {
			continue;
		}
		nv_bits_fill(operation->volume, operation->freed[i].bitmap,
			     operation->freed[i].bit, 1, false);
	}
}

static void raise_to(_Atomic uint64_t *most, uint64_t value)
{
	uint64_t present = atomic_load_explicit(most, memory_order_relaxed);

	while (present < value) {
		if (atomic_compare_exchange_weak(most, &present, value)) {
			break;
		}
	}
}

void nv_operation_end(struct nv_operation *operation)
{
	struct nv_segment *segment = operation->volume->segment;
	struct nv_slot *slot = operation->slot;

	raise_to(&segment->undo_bytes_most, atomic_load_explicit(
		      &slot->undo_top, memory_order_relaxed));
	raise_to(&segment->undo_records_most, slot->undo_records);
	NV_KILL_POINT("operation: complete, not ended");
	/* This store is the moment at which it has happened. */
	atomic_store_explicit(&slot->undo_top, 0, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	NV_KILL_POINT("operation: ended, still locked");
	slot->undo_records = 0;
	slot->operations++;
	if (operation->used_reservation) {
		atomic_store(&slot->reserved_inode, 0);
	}
	unlock_all(operation);
	drop_claims(operation, false);
	NV_KILL_POINT("operation: unlocked, still registered");
	nv_gate_leave(slot);
}

void nv_operation_cancel(struct nv_operation *operation)
{
	struct nv_volume *volume = operation->volume;
	struct nv_slot *slot = operation->slot;

	if (!nv_undo_apply(volume, slot, operation->group)) {
		nv_withdraw(volume, NV_ERR_CORRUPT,
			    "undo log of slot %u is damaged; detach "
			    "everywhere and run fsck.ntvfs",
			    nv_slot_index(volume, slot));
	}
	NV_KILL_POINT("operation: undone, not ended");
	atomic_store_explicit(&slot->undo_top, 0, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	slot->undo_records = 0;
	unlock_all(operation);
	drop_claims(operation, true);
	nv_gate_leave(slot);
}

enum nv_status nv_operation_finish(struct nv_operation *operation,
				   enum nv_status status)
{
	if (status == NV_OK) {
		nv_operation_end(operation);
	} else {
		nv_operation_cancel(operation);
	}
	return status;
}
