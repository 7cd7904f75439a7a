/*
 * Holds: which objects are in use by whom.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A hash table in the segment, one entry per object and process, found by
 * linear probing from the hash of the file id. Entries of one object are
 * changed under that object's lock; different objects meet only in taking a
 * free entry, by compare-exchange. An entry whose process is gone counts for
 * nothing and is reused when met.
 */

#include "inode.h"
#include "reclaim.h"
#include "volume.h"

#define HOLD_UNUSED UINT64_C(0)
#define HOLD_REMOVED UINT64_C(1)	/* no file id: inode number 1 */
#define HOLD_PROBES 4096

static uint64_t our_name(struct nv_volume *volume)
{
	uint32_t index = volume->process_slot;

	return NV_OWNER(index, atomic_load(
		&volume->segment->slot[index].generation));
}

static bool owner_alive(struct nv_volume *volume, uint64_t owner)
{
	uint32_t index = NV_OWNER_SLOT(owner);

	if (index >= NV_SLOTS) {
		return false;
	}
	if (atomic_load(&volume->segment->slot[index].generation) !=
	    NV_OWNER_GENERATION(owner)) {
		return false;
	}
	return nv_slot_alive(volume, index);
}

static uint64_t hash_of(nv_file_id id)
{
	static_assert(NV_HOLDS == 65536, "the hash gives 16 bits");

	return (id * UINT64_C(0x9e3779b97f4a7c15)) >> 48;
}

/* Our entry for the object, NULL if none. The object is locked. */
static struct nv_hold_entry *find_ours(struct nv_volume *volume,
				       nv_file_id id)
{
	uint64_t owner = our_name(volume);
	uint64_t hash = hash_of(id);
	uint32_t i;

	for (i = 0; i < HOLD_PROBES; i++) {
		struct nv_hold_entry *entry = &volume->segment->hold
			[(hash + i) % NV_HOLDS];
		uint64_t found = atomic_load(&entry->file_id);

		if (found == HOLD_UNUSED) {
			return NULL;
		}
		if (found == id && atomic_load(&entry->owner) == owner) {
			return entry;
		}
	}
	return NULL;
}

static bool try_take(struct nv_volume *volume, struct nv_hold_entry *entry,
		     nv_file_id id)
{
	uint64_t found = atomic_load(&entry->file_id);

	if (found != HOLD_UNUSED && found != HOLD_REMOVED) {
		if (owner_alive(volume, atomic_load(&entry->owner))) {
			return false;
		}
		/* Of the dead. Count 0: half-taken by somebody; leave it. */
		if (atomic_load(&entry->count) == 0) {
			return false;
		}
	}
	return atomic_compare_exchange_strong(&entry->file_id, &found, id);
}

static enum nv_status add_hold(struct nv_volume *volume, nv_file_id id)
{
	struct nv_hold_entry *entry = find_ours(volume, id);
	uint64_t hash = hash_of(id);
	uint32_t i;

	if (entry != NULL) {
		atomic_fetch_add(&entry->count, 1);
		return NV_OK;
	}
	for (i = 0; i < HOLD_PROBES; i++) {
		entry = &volume->segment->hold[(hash + i) % NV_HOLDS];
		if (try_take(volume, entry, id)) {
			atomic_store(&entry->owner, our_name(volume));
			atomic_store(&entry->count, 1);
			return NV_OK;
		}
	}
	return NV_ERR_NO_SLOT;
}

bool nv_hold_test(struct nv_volume *volume, nv_file_id id)
{
	uint64_t hash = hash_of(id);
	uint32_t i;

	for (i = 0; i < HOLD_PROBES; i++) {
		struct nv_hold_entry *entry = &volume->segment->hold
			[(hash + i) % NV_HOLDS];
		uint64_t found = atomic_load(&entry->file_id);

		if (found == HOLD_UNUSED) {
			return false;
		}
		if (found == id && atomic_load(&entry->count) > 0 &&
		    owner_alive(volume, atomic_load(&entry->owner))) {
			return true;
		}
	}
	return false;
}

/* Lock an object and look at it, without an operation. The first slot of
 * this process names it in holds. */
static enum nv_status lock_object(struct nv_volume *volume, nv_file_id id,
				  struct nv_slot **slot)
{
	enum nv_status status;

	status = nv_slot_get(volume, slot);
	if (status != NV_OK) {
		return status;
	}
	nv_object_lock_quiet(volume, nv_lock_index(NV_FILE_INO(id)));
	/* Its page may move because of other inodes in it (I8). */
	nv_transfer_begin(volume, *slot);
	return NV_OK;
}

static void unlock_object(struct nv_volume *volume, nv_file_id id,
			  struct nv_slot *slot)
{
	nv_transfer_end(slot);
	nv_object_unlock_quiet(volume, nv_lock_index(NV_FILE_INO(id)));
}

enum nv_status nv_hold(struct nv_volume *volume, nv_file_id id)
{
	const struct nv_disk_inode *inode = NULL;
	struct nv_slot *slot = NULL;
	enum nv_status status;

	status = lock_object(volume, id, &slot);
	if (status != NV_OK) {
		return status;
	}
	status = nv_inode_read(volume, id, &inode);
	if (status == NV_OK && inode->nlink == 0 &&
	    !nv_hold_test(volume, id)) {
		/* It is being reclaimed. */
		status = NV_ERR_NOT_FOUND;
	}
	if (status == NV_OK) {
		status = add_hold(volume, id);
	}
	unlock_object(volume, id, slot);
	return status;
}

enum nv_status nv_hold_locked(struct nv_volume *volume, nv_file_id id)
{
	return add_hold(volume, id);
}

enum nv_status nv_release(struct nv_volume *volume, nv_file_id id)
{
	const struct nv_disk_inode *inode = NULL;
	struct nv_slot *slot = NULL;
	struct nv_hold_entry *entry = NULL;
	enum nv_status status;
	bool reclaim = false;

	status = lock_object(volume, id, &slot);
	if (status != NV_OK) {
		return status;
	}
	entry = find_ours(volume, id);
	if (entry == NULL) {
		unlock_object(volume, id, slot);
		return NV_ERR_NOT_FOUND;
	}
	if (atomic_load(&entry->count) > 1) {
		atomic_fetch_sub(&entry->count, 1);
	} else {
		atomic_store(&entry->count, 0);
		atomic_store(&entry->owner, 0);
		atomic_store(&entry->file_id, HOLD_REMOVED);
		if (nv_inode_read(volume, id, &inode) == NV_OK &&
		    inode->nlink == 0) {
			reclaim = !nv_hold_test(volume, id);
		}
	}
	unlock_object(volume, id, slot);
	if (reclaim) {
		return nv_object_reclaim(volume, id);
	}
	return NV_OK;
}

void nv_holds_clear(struct nv_volume *volume)
{
	uint32_t i;

	for (i = 0; i < NV_HOLDS; i++) {
		struct nv_hold_entry *entry = &volume->segment->hold[i];

		if (atomic_load(&entry->file_id) == HOLD_UNUSED) {
			continue;
		}
		atomic_store(&entry->file_id, HOLD_UNUSED);
		atomic_store(&entry->owner, 0);
		atomic_store(&entry->count, 0);
	}
}

void nv_holds_drop(struct nv_volume *volume)
{
	uint64_t owner;
	uint32_t i;

	if (volume->process_slot == UINT32_MAX) {
		return;
	}
	owner = our_name(volume);
	for (i = 0; i < NV_HOLDS; i++) {
		struct nv_hold_entry *entry = &volume->segment->hold[i];
		uint64_t id = atomic_load(&entry->file_id);

		if (id == HOLD_UNUSED ||
		    atomic_load(&entry->owner) != owner) {
			continue;
		}
		atomic_store(&entry->count, 1);
		nv_release(volume, id);
	}
}
