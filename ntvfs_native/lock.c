/*
 * Object locks with sequences, lock-free readers, data locks.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <stdlib.h>
#include "volume.h"

void nv_robust_mutex_init(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(mutex, &attributes);
	pthread_mutexattr_destroy(&attributes);
}

static void init_table(struct nv_object_lock *table, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		nv_robust_mutex_init(&table[i].mutex);
		atomic_store(&table[i].owner, 0);
		/* Even; keeps its value, so that no reader is fooled. */
		if ((atomic_load(&table[i].sequence) & 1) != 0) {
			atomic_fetch_add(&table[i].sequence, 1);
		}
	}
}

void nv_locks_init(struct nv_segment *segment)
{
	nv_robust_mutex_init(&segment->commit_mutex);
	nv_robust_mutex_init(&segment->recovery_mutex);
	init_table(segment->object_lock, NV_OBJECT_LOCKS + 2);
	init_table(segment->data_lock, NV_DATA_LOCKS);
}

uint32_t nv_lock_index(uint64_t ino)
{
	static_assert(NV_OBJECT_LOCKS == 4096, "the hash gives 12 bits");

	return 1 + (uint32_t)((ino * UINT64_C(0x9e3779b97f4a7c15)) >> 52);
}

/*
 * The mutex's owner died. Its slot is rolled back before the lock is handed
 * on (I7, I10). owner is 0 if it died before its first change or after its
 * last.
 */
static void inherit(struct nv_volume *volume, struct nv_object_lock *lock)
{
	uint64_t owner = atomic_load(&lock->owner);

	if (owner != 0) {
		nv_slot_recover(volume, NV_OWNER_SLOT(owner),
				NV_OWNER_GENERATION(owner));
	}
	if ((atomic_load(&lock->sequence) & 1) != 0) {
		atomic_fetch_add(&lock->sequence, 1);
	}
	atomic_store(&lock->owner, 0);
	pthread_mutex_consistent(&lock->mutex);
}

static void take(struct nv_volume *volume, struct nv_object_lock *lock)
{
	int ret = pthread_mutex_lock(&lock->mutex);

	if (ret == EOWNERDEAD) {
		inherit(volume, lock);
	}
}

void nv_object_lock(struct nv_volume *volume, struct nv_slot *slot,
		    uint32_t index)
{
	struct nv_object_lock *lock = &volume->segment->object_lock[index];
	uint64_t owner = NV_OWNER(nv_slot_index(volume, slot),
				  atomic_load_explicit(&slot->generation,
						       memory_order_relaxed));
	uint32_t sequence;

	take(volume, lock);
	NV_KILL_POINT("lock: taken, owner not stored");
	atomic_store_explicit(&lock->owner, owner, memory_order_release);
	sequence = atomic_load_explicit(&lock->sequence, memory_order_relaxed);
	atomic_store_explicit(&lock->sequence, sequence + 1,
			      memory_order_relaxed);
	/* No store of the operation may be seen before the odd sequence. */
	atomic_thread_fence(memory_order_release);
}

void nv_object_unlock(struct nv_volume *volume, uint32_t index)
{
	struct nv_object_lock *lock = &volume->segment->object_lock[index];
	uint32_t sequence;

	sequence = atomic_load_explicit(&lock->sequence, memory_order_relaxed);
	atomic_store_explicit(&lock->sequence, sequence + 1,
			      memory_order_release);
	NV_KILL_POINT("unlock: sequence even, owner still stored");
	atomic_store_explicit(&lock->owner, 0, memory_order_release);
	pthread_mutex_unlock(&lock->mutex);
}

void nv_object_lock_quiet(struct nv_volume *volume, uint32_t index)
{
	take(volume, &volume->segment->object_lock[index]);
}

void nv_object_unlock_quiet(struct nv_volume *volume, uint32_t index)
{
	pthread_mutex_unlock(&volume->segment->object_lock[index].mutex);
}

static struct nv_object_lock *data_lock_of(struct nv_volume *volume,
					   uint64_t ino)
{
	uint64_t hash = ino * UINT64_C(0x9e3779b97f4a7c15);

	static_assert(NV_DATA_LOCKS == 1024, "the hash gives 10 bits");

	return &volume->segment->data_lock[hash >> 54];
}

void nv_data_lock(struct nv_volume *volume, uint64_t ino)
{
	/*
	 * Under a data lock nothing is half-done that the next holder could
	 * trip over: blocks get data before they are linked (I9).
	 */
	take(volume, data_lock_of(volume, ino));
}

void nv_data_unlock(struct nv_volume *volume, uint64_t ino)
{
	pthread_mutex_unlock(&data_lock_of(volume, ino)->mutex);
}

/* ---- readers ---- */

static void reader_start(struct nv_reader *reader)
{
	struct nv_object_lock *lock =
		&reader->volume->segment->object_lock[reader->lock];

	while (reader->tries < NV_READ_TRIES) {
		reader->sequence = atomic_load_explicit(&lock->sequence,
							memory_order_acquire);
		if ((reader->sequence & 1) == 0) {
			return;
		}
		reader->tries++;
		nv_relax();
	}
	nv_object_lock_quiet(reader->volume, reader->lock);
	reader->locked = true;
}

static enum nv_status begin(struct nv_volume *volume, uint32_t lock,
			    struct nv_reader *reader)
{
	enum nv_status status;

	*reader = (struct nv_reader) {
		.volume = volume,
		.lock = lock,
	};
	status = nv_slot_get(volume, &reader->slot);
	if (status != NV_OK) {
		return status;
	}
	/* Not twice: a data transfer has its mark already. */
	if (atomic_load_explicit(&reader->slot->io_group,
				 memory_order_relaxed) == 0) {
		nv_transfer_begin(volume, reader->slot);
		reader->marked = true;
	}
	reader_start(reader);
	return NV_OK;
}

enum nv_status nv_read_begin(struct nv_volume *volume, uint64_t ino,
			     struct nv_reader *reader)
{
	return begin(volume, nv_lock_index(ino), reader);
}

enum nv_status nv_read_begin_sd(struct nv_volume *volume,
				struct nv_reader *reader)
{
	return begin(volume, NV_LOCK_SD, reader);
}

static void end(struct nv_reader *reader)
{
	if (reader->marked) {
		nv_transfer_end(reader->slot);
		reader->marked = false;
	}
}

bool nv_read_again(struct nv_reader *reader)
{
	struct nv_object_lock *lock =
		&reader->volume->segment->object_lock[reader->lock];
	uint32_t sequence;

	if (reader->locked) {
		nv_object_unlock_quiet(reader->volume, reader->lock);
		reader->locked = false;
		end(reader);
		return false;
	}
	/* What was read was read before the sequence is looked at again. */
	atomic_thread_fence(memory_order_acquire);
	sequence = atomic_load_explicit(&lock->sequence, memory_order_relaxed);
	if (sequence == reader->sequence) {
		end(reader);
		return false;
	}
	reader->tries++;
	reader_start(reader);
	return true;
}
