/*
 * Slots: claiming one for a thread, telling the living from the dead.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include "volume.h"

struct slot_holder {
	struct nv_volume *volume;
	uint32_t index;
};

static _Atomic uint32_t forks;
static pthread_once_t watch_once = PTHREAD_ONCE_INIT;

static void in_child(void)
{
	atomic_fetch_add(&forks, 1);
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

uint32_t nv_forks(void)
{
	pthread_once(&watch_once, watch_forks);
	return atomic_load(&forks);
}

static struct flock lock_of(uint32_t index, short type)
{
	struct flock lock = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = NV_SLOT_LOCK_OFFSET + (off_t)index,
		.l_len = 1,
	};

	return lock;
}

bool nv_slot_alive(struct nv_volume *volume, uint32_t index)
{
	struct flock lock = lock_of(index, F_WRLCK);

	/* Our own locks do not show up. owned changes under slots_mutex, but
	 * a slot that becomes ours was not a live one before. */
	if (volume->owned[index]) {
		return true;
	}
	if (fcntl(volume->segment_fd, F_OFD_GETLK, &lock) != 0) {
		return true;
	}
	return lock.l_type != F_UNLCK;
}

void nv_slots_bury(struct nv_volume *volume)
{
	struct nv_segment *segment = volume->segment;
	uint32_t limit = atomic_load(&segment->slot_limit);
	uint32_t i;

	for (i = 0; i < limit; i++) {
		struct nv_slot *slot = &segment->slot[i];
		uint64_t generation = atomic_load(&slot->generation);

		if (atomic_load(&slot->in_use) == 0 ||
		    nv_slot_alive(volume, i)) {
			continue;
		}
		nv_slot_recover(volume, i, generation);
	}
}

/* slots_mutex held. */
static bool claim(struct nv_volume *volume, uint32_t index)
{
	struct flock lock = lock_of(index, F_WRLCK);
	uint64_t offset = offsetof(struct nv_segment, slot) +
		(uint64_t)index * sizeof(struct nv_slot);

	if (volume->owned[index]) {
		return false;
	}
	if (fcntl(volume->segment_fd, F_OFD_SETLK, &lock) != 0) {
		return false;
	}
	if (nv_segment_back(volume, offset, sizeof(struct nv_slot)) != NV_OK) {
		lock.l_type = F_UNLCK;
		fcntl(volume->segment_fd, F_OFD_SETLK, &lock);
		return false;
	}
	nv_slot_renew(volume, index);
	volume->owned[index] = true;
	return true;
}

static enum nv_status find_slot(struct nv_volume *volume, uint32_t *index)
{
	enum nv_status status = NV_ERR_NO_SLOT;
	uint32_t i;

	pthread_mutex_lock(&volume->slots_mutex);
	for (i = 0; i < NV_SLOTS; i++) {
		if (volume->owned[i] && !volume->busy[i]) {
			break;
		}
	}
	if (i == NV_SLOTS) {
		for (i = 0; i < NV_SLOTS; i++) {
			if (claim(volume, i)) {
				break;
			}
		}
	}
	if (i < NV_SLOTS) {
		volume->busy[i] = true;
		if (volume->process_slot == UINT32_MAX) {
			volume->process_slot = i;
		}
		volume->segment->slot[i].process = volume->process_slot;
		*index = i;
		status = NV_OK;
	}
	pthread_mutex_unlock(&volume->slots_mutex);
	return status;
}

enum nv_status nv_slot_get(struct nv_volume *volume, struct nv_slot **slot)
{
	struct slot_holder *holder = NULL;
	enum nv_status status;

	if (atomic_load_explicit(&forks, memory_order_relaxed) !=
	    volume->forks) {
		return NV_ERR_NO_SLOT;
	}
	holder = pthread_getspecific(volume->slot_key);
	if (holder == NULL) {
		holder = malloc(sizeof(*holder));
		if (holder == NULL) {
			return NV_ERR_NO_MEMORY;
		}
		holder->volume = volume;
		status = find_slot(volume, &holder->index);
		if (status != NV_OK) {
			free(holder);
			return status;
		}
		if (pthread_setspecific(volume->slot_key, holder) != 0) {
			pthread_mutex_lock(&volume->slots_mutex);
			volume->busy[holder->index] = false;
			pthread_mutex_unlock(&volume->slots_mutex);
			free(holder);
			return NV_ERR_NO_MEMORY;
		}
	}
	*slot = &volume->segment->slot[holder->index];
	return NV_OK;
}

/* A thread ends: its slot, with all it has claimed, waits for the next. */
void nv_slot_thread_ends(void *private_data)
{
	struct slot_holder *holder = private_data;
	struct nv_volume *volume = holder->volume;

	pthread_mutex_lock(&volume->slots_mutex);
	volume->busy[holder->index] = false;
	pthread_mutex_unlock(&volume->slots_mutex);
	free(holder);
}

void nv_slots_release(struct nv_volume *volume)
{
	uint32_t i;

	free(pthread_getspecific(volume->slot_key));
	pthread_setspecific(volume->slot_key, NULL);
	for (i = 0; i < NV_SLOTS; i++) {
		struct flock lock = lock_of(i, F_UNLCK);
		struct nv_slot *slot = &volume->segment->slot[i];

		if (!volume->owned[i]) {
			continue;
		}
		nv_gate_enter(volume, slot);
		nv_claim_drop(volume, slot);
		nv_gate_leave(slot);
		atomic_store(&slot->in_use, 0);
		volume->owned[i] = false;
		volume->busy[i] = false;
		fcntl(volume->segment_fd, F_OFD_SETLK, &lock);
	}
}
