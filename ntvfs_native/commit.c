/*
 * Commit: closing a group, making it durable, freeing what it freed.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See "Commit" in docs/native-design.md. Every phase can be done again by
 * another process; the phase word says which one.
 */

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include "reclaim.h"
#include "volume.h"

static void short_sleep(void)
{
	struct timespec pause = {.tv_nsec = 200000};

	nanosleep(&pause, NULL);
}

static void open_gate(struct nv_segment *segment)
{
	atomic_store(&segment->gate, 0);
	nv_futex_wake(&segment->gate);
}

static void set_phase(struct nv_segment *segment, uint64_t group,
		      enum nv_commit_phase phase)
{
	atomic_store(&segment->commit_phase, NV_PHASE(group, phase));
}

/* Wait until no operation runs; recover those whose process is gone. */
static void drain(struct nv_volume *volume)
{
	struct nv_segment *segment = volume->segment;
	uint32_t limit = atomic_load(&segment->slot_limit);
	uint32_t i;

	for (i = 0; i < limit; i++) {
		struct nv_slot *slot = &segment->slot[i];
		uint32_t round = 0;

		while (atomic_load(&slot->active) != 0) {
			uint64_t generation = atomic_load(&slot->generation);

			round++;
			if (round < 4000) {
				nv_relax();
				continue;
			}
			if (!nv_slot_alive(volume, i)) {
				nv_slot_recover(volume, i, generation);
				continue;
			}
			if (round < 4100) {
				sched_yield();
			} else {
				short_sleep();
			}
		}
	}
}

/* Wait for data transfers that began in group or before (I4, I8). */
static void drain_transfers(struct nv_volume *volume, uint64_t group)
{
	struct nv_segment *segment = volume->segment;
	uint32_t limit = atomic_load(&segment->slot_limit);
	uint32_t i;

	for (i = 0; i < limit; i++) {
		struct nv_slot *slot = &segment->slot[i];

		for (;;) {
			uint64_t mark = atomic_load(&slot->io_group);
			uint64_t generation = atomic_load(&slot->generation);

			if (mark == 0 || mark > group) {
				break;
			}
			if (!nv_slot_alive(volume, i)) {
				nv_slot_recover(volume, i, generation);
			} else {
				short_sleep();
			}
		}
	}
}

/* Gate closed: keep the bitmap pages as they are at the end of the group. */
static void take_snapshots(struct nv_volume *volume, uint64_t group)
{
	uint32_t bitmap;

	for (bitmap = 0; bitmap < NV_BITMAP_COUNT; bitmap++) {
		_Atomic uint8_t *dirty = nv_bits_dirty(volume, bitmap, group);
		uint8_t *from = (uint8_t *)nv_bits(volume, bitmap);
		uint8_t *to = volume->segment_base +
			volume->layout.snapshot[bitmap];
		uint64_t pages = nv_bitmap_pages(volume, bitmap);
		uint64_t page;

		for (page = 0; page < pages; page++) {
			if (atomic_load(&dirty[page]) == 0) {
				continue;
			}
			memcpy(to + page * NV_BLOCK_SIZE,
			       from + page * NV_BLOCK_SIZE, NV_BLOCK_SIZE);
		}
	}
}

static void prepare_root(struct nv_volume *volume, uint64_t group,
			 uint32_t state)
{
	struct nv_segment *segment = volume->segment;
	struct nv_disk_root *root = &segment->pending;

	*root = segment->root;
	root->sequence = group;
	root->state = state;
	root->total_blocks = atomic_load(&segment->total_blocks);
	root->root_directory = atomic_load(&segment->root_directory);
	root->time = nv_now();
	memcpy(root->boot_id, volume->boot_id, 16);
	memcpy(root->machine_id, volume->machine_id, 16);
}

/*
 * Hand over to the next group. False: the volume was withdrawn.
 */
static bool close_group(struct nv_volume *volume, uint64_t group,
			uint32_t state)
{
	struct nv_segment *segment = volume->segment;
	bool ok = true;

	set_phase(segment, group, NV_PHASE_CLOSING);
	NV_KILL_POINT("commit: closing, gate open");
	atomic_store(&segment->gate, 1);
	NV_KILL_POINT("commit: gate closed");
	drain(volume);
	NV_KILL_POINT("commit: drained");
	if (atomic_load(&segment->heal_wanted) != 0) {
		ok = nv_heal(volume);
	}
	if (!ok) {
		set_phase(segment, group, NV_PHASE_IDLE);
		open_gate(segment);
		return false;
	}
	take_snapshots(volume, group);
	prepare_root(volume, group, state);
	NV_KILL_POINT("commit: snapshots taken");
	set_phase(segment, group, NV_PHASE_WRITING);
	NV_KILL_POINT("commit: writing, next group not open");
	atomic_store(&segment->open_group, group + 1);
	NV_KILL_POINT("commit: next group open, gate closed");
	open_gate(segment);
	return true;
}

/* WRITING to DURABLE (I2). */
static enum nv_status write_group(struct nv_volume *volume, uint64_t group)
{
	struct nv_segment *segment = volume->segment;
	struct nv_disk_root *root = &segment->pending;
	enum nv_status status;

	status = nv_commit_write(volume, group, root);
	if (status != NV_OK) {
		return status;
	}
	NV_KILL_POINT("commit: map written, not flushed");
	if (atomic_load(&segment->metadata_outside) != 0) {
		status = nv_sync_all(volume);
	} else {
		status = nv_sync_group(volume, group);
	}
	if (status != NV_OK) {
		return status;
	}
	NV_KILL_POINT("commit: map flushed, root not written");
	status = nv_sync_root(volume, root);
	if (status != NV_OK) {
		return status;
	}
	segment->root = *root;
	atomic_store(&segment->durable_group, group);
	NV_KILL_POINT("commit: durable, phase still writing");
	set_phase(segment, group, NV_PHASE_DURABLE);
	return NV_OK;
}

/* DURABLE to IDLE (I4). */
static void free_group(struct nv_volume *volume, uint64_t group)
{
	struct nv_segment *segment = volume->segment;
	uint32_t freed = NV_FREED_EVEN + (uint32_t)(group & 1);
	_Atomic uint8_t *dirty = nv_bits_dirty(volume, freed, group);
	_Atomic uint64_t *from = nv_bits(volume, freed);
	_Atomic uint64_t *claimed = nv_bits(volume, NV_CLAIMED_BLOCKS);
	uint64_t pages = nv_bitmap_pages(volume, freed);
	const uint64_t words = NV_BLOCK_SIZE / 8;
	uint64_t count = 0;
	uint64_t page;
	uint64_t i;

	drain_transfers(volume, group);
	for (page = 0; page < pages; page++) {
		if (atomic_load(&dirty[page]) == 0) {
			continue;
		}
		for (i = page * words; i < (page + 1) * words; i++) {
			uint64_t word = 0;

			if (atomic_load_explicit(
				    &from[i], memory_order_relaxed) == 0) {
				continue;
			}
			/* Forgotten first: see claim.c. */
			word = atomic_exchange(&from[i], 0);
			NV_KILL_POINT("commit: freed word forgotten");
			atomic_fetch_and(&claimed[i], ~word);
			count += (uint64_t)__builtin_popcountll(word);
		}
		atomic_store(&dirty[page], 0);
	}
	atomic_fetch_sub(&segment->used_blocks, count);
	nv_commit_clean(volume, group);
	atomic_store(&segment->dirty_nodes[group & 1], 0);
	/* Metadata moves back to the front of the volume. */
	atomic_store(&segment->block_hint, 0);
	atomic_store(&segment->last_commit, nv_milliseconds());
	atomic_fetch_add(&segment->commits, 1);
	NV_KILL_POINT("commit: freed, phase still durable");
	set_phase(segment, group, NV_PHASE_IDLE);
}

/* Bring what a dead committer began to its end. */
static enum nv_status resume(struct nv_volume *volume)
{
	struct nv_segment *segment = volume->segment;
	uint64_t word = atomic_load(&segment->commit_phase);
	uint64_t group = NV_PHASE_GROUP(word);
	enum nv_status status = NV_OK;

	if (NV_PHASE_OF(word) == NV_PHASE_WRITING &&
	    atomic_load(&segment->durable_group) == group) {
		set_phase(segment, group, NV_PHASE_DURABLE);
		word = atomic_load(&segment->commit_phase);
	}
	if (NV_PHASE_OF(word) == NV_PHASE_WRITING) {
		status = write_group(volume, group);
		word = atomic_load(&segment->commit_phase);
	}
	if (NV_PHASE_OF(word) == NV_PHASE_DURABLE) {
		free_group(volume, group);
	}
	return status;
}

void nv_commit_repair(struct nv_volume *volume)
{
	struct nv_segment *segment = volume->segment;
	uint64_t word = atomic_load(&segment->commit_phase);
	uint64_t group = NV_PHASE_GROUP(word);

	switch (NV_PHASE_OF(word)) {
	case NV_PHASE_IDLE:
		break;
	case NV_PHASE_CLOSING:
		/*
		 * Heal runs behind a closed gate only, after the drain: it is
		 * still closed.
		 */
		if (atomic_load(&segment->heal_running) != 0) {
			nv_heal(volume);
		}
		set_phase(segment, group, NV_PHASE_IDLE);
		break;
	case NV_PHASE_WRITING:
		if (atomic_load(&segment->open_group) == group) {
			atomic_store(&segment->open_group, group + 1);
		}
		break;
	case NV_PHASE_DURABLE:
		break;
	}
	/* The dead may have claimed blocks for map nodes. */
	atomic_store(&segment->heal_wanted, 1);
	open_gate(segment);
}

void nv_commit_lock(struct nv_volume *volume)
{
	pthread_mutex_t *mutex = &volume->segment->commit_mutex;

	if (pthread_mutex_lock(mutex) == EOWNERDEAD) {
		nv_commit_repair(volume);
		pthread_mutex_consistent(mutex);
	}
}

void nv_commit_unlock(struct nv_volume *volume)
{
	pthread_mutex_unlock(&volume->segment->commit_mutex);
}

void nv_commit_rescue(struct nv_volume *volume)
{
	pthread_mutex_t *mutex = &volume->segment->commit_mutex;
	int ret = pthread_mutex_trylock(mutex);

	if (ret == EOWNERDEAD) {
		nv_commit_repair(volume);
		pthread_mutex_consistent(mutex);
	}
	if (ret == EOWNERDEAD || ret == 0) {
		pthread_mutex_unlock(mutex);
	}
}

static enum nv_status commit_locked(struct nv_volume *volume, uint64_t group,
				    uint32_t state)
{
	struct nv_segment *segment = volume->segment;
	enum nv_status status;
	uint64_t open;

	if (nv_is_withdrawn(volume)) {
		return NV_ERR_WITHDRAWN;
	}
	status = resume(volume);
	if (status != NV_OK) {
		return status;
	}
	if (atomic_load(&segment->durable_group) >= group) {
		/* Somebody's commit since we asked covers us. */
		return NV_OK;
	}
	nv_slots_bury(volume);
	open = atomic_load(&segment->open_group);
	if (atomic_load(&segment->dirty_nodes[open & 1]) == 0 &&
	    atomic_load(&segment->heal_wanted) == 0 &&
	    segment->root.state == state) {
		/* No operation has changed anything; data may have been handed
		 * over. */
		return nv_sync_barrier(volume);
	}
	if (!close_group(volume, open, state)) {
		return NV_ERR_CORRUPT;
	}
	status = write_group(volume, open);
	if (status != NV_OK) {
		return status;
	}
	free_group(volume, open);
	return NV_OK;
}

enum nv_status nv_commit_group(struct nv_volume *volume, uint64_t group,
			       uint32_t state)
{
	enum nv_status status;

	nv_commit_lock(volume);
	status = commit_locked(volume, group, state);
	nv_commit_unlock(volume);
	return status;
}

enum nv_status nv_commit_all(struct nv_volume *volume, uint32_t state)
{
	enum nv_status status;

	/*
	 * All data first, and outside of the commit mutex: it can take long,
	 * and flushes of single files need not wait for it.
	 */
	status = nv_sync_all(volume);
	if (status != NV_OK) {
		return status;
	}
	return nv_commit_group(volume,
			       atomic_load(&volume->segment->open_group),
			       state);
}

enum nv_status nv_volume_commit(struct nv_volume *volume)
{
	if ((volume->flags & NV_ATTACH_READ_ONLY) != 0) {
		return NV_OK;
	}
	return nv_commit_all(volume, NV_STATE_ATTACHED);
}

enum nv_status nv_volume_tick(struct nv_volume *volume)
{
	struct nv_segment *segment = volume->segment;
	uint64_t last = atomic_load(&segment->last_commit);
	uint64_t now = nv_milliseconds();
	enum nv_status status;

	if ((volume->flags & NV_ATTACH_READ_ONLY) != 0) {
		return NV_OK;
	}
	/* Another process may have committed after now was taken. */
	if (now < last || now - last < volume->commit_interval) {
		return NV_OK;
	}
	status = nv_volume_commit(volume);
	if (status == NV_OK && atomic_load(&segment->orphans) != 0) {
		atomic_store(&segment->orphans, 0);
		status = nv_orphans_reclaim(volume);
	}
	return status;
}
