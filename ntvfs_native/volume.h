/*
 * An attachment, and what the files of the core offer each other.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_NATIVE_VOLUME_H
#define NTVFS_NATIVE_VOLUME_H

#include <pthread.h>
#include "io.h"
#include "killpoint.h"
#include "segment.h"
#include "transaction.h"

struct nv_volume {
	struct nv_io *io;
	uint8_t *base;			/* the image */
	struct nv_segment *segment;
	uint8_t *segment_base;		/* the same, in bytes */
	struct nv_layout layout;
	int segment_fd;			/* own description: slot locks */
	char segment_path[256];
	struct nv_disk_super super;
	uint8_t boot_id[16];
	uint8_t machine_id[16];
	uint32_t inode_size;
	uint32_t inodes_per_page;
	uint32_t flags;
	uint32_t commit_interval;
	uint32_t forks;			/* nv_forks() when attached */
	bool keep_io;			/* detach leaves the io open */
	uint16_t upcase[65536];		/* the volume's table */
	void (*withdrawn)(void *private_data, const char *reason);
	void *private_data;
	_Atomic uint32_t told_withdrawn;

	/* This process's slots. */
	pthread_mutex_t slots_mutex;	/* process-local */
	pthread_key_t slot_key;
	bool owned[NV_SLOTS];		/* we hold its OFD lock */
	bool busy[NV_SLOTS];		/* a thread uses it */
	uint32_t process_slot;		/* first one; names us in holds */
};

/* ---- where things are in the segment ---- */

static inline struct nv_entry *nv_entry_at(const struct nv_volume *volume,
					   uint64_t page)
{
	uint32_t region = NV_PAGE_REGION(page);
	uint8_t *start = volume->segment_base + volume->layout.entry[region];

	return (struct nv_entry *)start + NV_PAGE_INDEX(page);
}

static inline struct nv_disk_map_entry *
nv_node_table(const struct nv_volume *volume, uint32_t region, uint32_t level)
{
	uint8_t *start = volume->segment_base +
		volume->layout.nodes[region][level];

	return (struct nv_disk_map_entry *)start;
}

static inline _Atomic uint8_t *nv_node_dirty(const struct nv_volume *volume,
					     uint32_t region, uint32_t level,
					     uint64_t group)
{
	uint8_t *start = volume->segment_base +
		volume->layout.dirty[region][level][group & 1];

	return (_Atomic uint8_t *)start;
}

static inline _Atomic uint64_t *nv_bits(const struct nv_volume *volume,
					uint32_t bitmap)
{
	uint8_t *start = volume->segment_base + volume->layout.bits[bitmap];

	return (_Atomic uint64_t *)start;
}

static inline _Atomic uint8_t *nv_bits_dirty(const struct nv_volume *volume,
					     uint32_t bitmap, uint64_t group)
{
	uint8_t *start = volume->segment_base +
		volume->layout.bits_dirty[bitmap][group & 1];

	return (_Atomic uint8_t *)start;
}

static inline uint8_t *nv_block_at(const struct nv_volume *volume,
				   uint64_t block)
{
	return volume->base + (block << NV_BLOCK_SHIFT);
}

static inline uint32_t nv_slot_index(const struct nv_volume *volume,
				     const struct nv_slot *slot)
{
	return (uint32_t)(slot - volume->segment->slot);
}

/* ---- util.c ---- */

void nv_relax(void);		/* in a spin loop */
uint64_t nv_milliseconds(void);	/* CLOCK_MONOTONIC */
uint64_t nv_now(void);		/* NTTIME */
void nv_futex_wait(_Atomic uint32_t *word, uint32_t value,
		   uint32_t milliseconds);
void nv_futex_wake(_Atomic uint32_t *word);
uint64_t nv_checksum(const void *data, size_t length);
/* True if the volume accepts no more changes; tells the attachment once. */
bool nv_is_withdrawn(struct nv_volume *volume);

/* ---- slot.c ---- */

/*
 * How often this process was made by fork since the first attach in an
 * ancestor. A child has its parent's attachments in memory, but not their
 * slots: it must not use them.
 */
uint32_t nv_forks(void);
/* This thread's slot; claims one the first time. */
enum nv_status nv_slot_get(struct nv_volume *volume, struct nv_slot **slot);
/* The process that holds the slot exists. */
bool nv_slot_alive(struct nv_volume *volume, uint32_t index);
/* Recover every slot whose process is gone. */
void nv_slots_bury(struct nv_volume *volume);
/* Destructor of slot_key. */
void nv_slot_thread_ends(void *private_data);
/* Give back all slots of this attachment. No thread may use it any more. */
void nv_slots_release(struct nv_volume *volume);

/* ---- recover.c ---- */

/* Roll a dead slot back; nothing happens if it has another generation. */
void nv_slot_recover(struct nv_volume *volume, uint32_t index,
		     uint64_t generation);
/* Make a dead or fresh slot ready for a new owner, who holds its OFD lock. */
void nv_slot_renew(struct nv_volume *volume, uint32_t index);

/* ---- lock.c ---- */

#define NV_LOCK_RENAME 0
#define NV_LOCK_SD (NV_OBJECT_LOCKS + 1)

uint32_t nv_lock_index(uint64_t ino);
void nv_object_lock(struct nv_volume *volume, struct nv_slot *slot,
		    uint32_t index);
void nv_object_unlock(struct nv_volume *volume, uint32_t index);
/* Without marking changes: for readers and for tables beside the volume. */
void nv_object_lock_quiet(struct nv_volume *volume, uint32_t index);
void nv_object_unlock_quiet(struct nv_volume *volume, uint32_t index);
void nv_data_lock(struct nv_volume *volume, uint64_t ino);
void nv_data_unlock(struct nv_volume *volume, uint64_t ino);
void nv_locks_init(struct nv_segment *segment);
void nv_robust_mutex_init(pthread_mutex_t *mutex);

/* ---- gate.c ---- */

/* Register, waiting while the gate is closed. Returns the group. */
uint64_t nv_gate_enter(struct nv_volume *volume, struct nv_slot *slot);
void nv_gate_leave(struct nv_slot *slot);
/* Mark a data transfer (I8). */
void nv_transfer_begin(struct nv_volume *volume, struct nv_slot *slot);
void nv_transfer_end(struct nv_slot *slot);

/* ---- undo.c ---- */

/* False: no room; nothing was saved. */
bool nv_undo_push(struct nv_slot *slot, enum nv_undo_kind kind,
		  uint64_t target, uint64_t first, uint64_t count,
		  uint64_t value, const void *payload, uint32_t length);
/* Put everything back. False: the log is damaged. */
bool nv_undo_apply(struct nv_volume *volume, struct nv_slot *slot,
		   uint64_t group);

/* ---- entry.c ---- */

/* The group of an entry, waiting while it is BUSY. */
uint64_t nv_entry_group(struct nv_volume *volume, struct nv_entry *entry);
/* Carry a slot's intent to its end (live owner or recovery). */
void nv_intent_finish(struct nv_volume *volume, struct nv_slot *slot);
/* As nv_page_modify; a page that does not exist is made of zeros. */
enum nv_status nv_page_make(struct nv_operation *operation, uint64_t page,
			    uint32_t offset, uint32_t length,
			    void **content);
void nv_entry_mark_dirty(struct nv_volume *volume, uint64_t page,
			 uint64_t group);

/* ---- operation.c ---- */

/* Clear this bit of a claimed bitmap when the operation has ended, or has
 * been cancelled. False: too many. */
bool nv_operation_drop_claim(struct nv_operation *operation, uint32_t bitmap,
			     uint64_t bit, bool when_cancelled);

/* ---- bits.c ---- */

void nv_bits_fill(struct nv_volume *volume, uint32_t bitmap, uint64_t first,
		  uint64_t count, bool value);
bool nv_bits_test(struct nv_volume *volume, uint32_t bitmap, uint64_t bit);
/* All count bits have this value. */
bool nv_bits_all(struct nv_volume *volume, uint32_t bitmap, uint64_t first,
		 uint64_t count, bool value);
/* The group shows the content of these blocks (I9). */
void nv_bits_written(struct nv_volume *volume, uint64_t first, uint64_t count,
		     uint64_t group);
void nv_bits_mark(struct nv_volume *volume, uint32_t bitmap, uint64_t first,
		  uint64_t count, uint64_t group);
/*
 * Find a clear bit at or after goal (then from first on) below limit, and set
 * it and up to want - 1 clear ones behind it. Returns how many, 0: none.
 */
uint64_t nv_bits_claim(struct nv_volume *volume, uint32_t bitmap,
		       uint64_t first, uint64_t limit, uint64_t goal,
		       uint64_t want, uint64_t *start);
uint64_t nv_bits_count(struct nv_volume *volume, uint32_t bitmap,
		       uint64_t limit);

/* ---- claim.c ---- */

#define NV_CLAIM_RESERVE 0x1	/* may use the last reserve */

/* Metadata lies below this block as long as there is room. */
uint64_t nv_metadata_zone(const struct nv_volume *volume);
/* Blocks a claim with these flags could still get. */
uint64_t nv_claim_available(struct nv_volume *volume, uint32_t flags);
/* A run of blocks for data or metadata. 0: no space. Inside the gate. */
uint64_t nv_claim_blocks(struct nv_volume *volume, uint64_t goal,
			 uint64_t want, uint32_t flags, uint64_t *start);
/* A block for a map node or bitmap page, of what is kept for commits. 0: none.
 * Outside the gate: a commit is running, so no heal is. */
uint64_t nv_claim_for_commit(struct nv_volume *volume);
void nv_unclaim_blocks(struct nv_volume *volume, uint64_t start,
		       uint64_t count);
/*
 * Fill the slot's caches so that each has at least so many. Inside the gate.
 * NV_ERR_NO_SPACE; NV_ERR_RETRY: nv_entries_back is due for NODES or INODES.
 */
enum nv_status nv_claim_fill(struct nv_volume *volume, struct nv_slot *slot,
			     uint32_t blocks, uint32_t nodes, uint32_t flags);
enum nv_status nv_claim_inodes(struct nv_volume *volume,
			       struct nv_slot *slot);
/* Return all that the slot has claimed. Inside the gate. */
void nv_claim_drop(struct nv_volume *volume, struct nv_slot *slot);

/* ---- heal.c ---- */

/*
 * Rebuild the claimed bitmaps. Nobody else may be inside the gate. False: two
 * owners for one block (I3), the volume is withdrawn.
 */
bool nv_heal(struct nv_volume *volume);
/*
 * Try to make free space appear: steal windows, commit what was freed, heal.
 * NV_OK: try again. NV_ERR_NO_SPACE: nothing more can be done.
 */
enum nv_status nv_make_space(struct nv_volume *volume, uint32_t attempt);

/* ---- back.c ---- */

/* Give memory to what belongs to the first so many pages of a region, and to
 * some more. Outside the gate. */
enum nv_status nv_entries_back(struct nv_volume *volume, uint32_t region,
			       uint64_t pages);
/* The next portion of NODES and INODES. */
enum nv_status nv_entries_back_more(struct nv_volume *volume);
/* The same for the bitmaps of so many blocks. */
enum nv_status nv_blocks_back(struct nv_volume *volume, uint64_t blocks);

/* ---- commit.c ---- */

/*
 * Make group durable, and what is before it: metadata, and the data that it
 * is the first to show (I9).
 */
enum nv_status nv_commit_group(struct nv_volume *volume, uint64_t group,
			       uint32_t state);
/* Everything before, all file data included. */
enum nv_status nv_commit_all(struct nv_volume *volume, uint32_t state);
/* Keep commits away (rank 2). */
void nv_commit_lock(struct nv_volume *volume);
void nv_commit_unlock(struct nv_volume *volume);
/* Called by who waits at the gate too long. */
void nv_commit_rescue(struct nv_volume *volume);
/* Bring a dead commit to a state from which others can go on. */
void nv_commit_repair(struct nv_volume *volume);

/* ---- commit_sync.c ---- */

/* Everything stored or written before is durable. Withdraws. */
enum nv_status nv_sync_all(struct nv_volume *volume);
/* What sync_range was called for before is durable. Withdraws. */
enum nv_status nv_sync_barrier(struct nv_volume *volume);
/* Hand metadata and newly shown data of a closed group to the disk. */
enum nv_status nv_sync_group(struct nv_volume *volume, uint64_t group);
/* Write a root and make it durable. */
enum nv_status nv_sync_root(struct nv_volume *volume,
			    struct nv_disk_root *root);

/* ---- commit_map.c ---- */

enum nv_status nv_commit_write(struct nv_volume *volume, uint64_t group,
			       struct nv_disk_root *root);
uint32_t nv_map_height(uint64_t pages);
/* Forget what was dirty in a group that is durable now. */
void nv_commit_clean(struct nv_volume *volume, uint64_t group);
/* Pages of a bitmap that can have bits set. */
uint64_t nv_bitmap_pages(const struct nv_volume *volume, uint32_t bitmap);

/* ---- root.c ---- */

bool nv_super_valid(const struct nv_disk_super *super);
bool nv_root_valid(const struct nv_disk_root *root, const uint8_t uuid[16]);
/* The newest valid root of an image. */
enum nv_status nv_root_find(struct nv_io *io,
			    const struct nv_disk_super *super,
			    struct nv_disk_root *root);
void nv_root_seal(struct nv_disk_root *root);
enum nv_status nv_root_write(struct nv_io *io, struct nv_disk_root *root);
void nv_super_seal(struct nv_disk_super *super);

/* ---- load.c ---- */

/* Fill a fresh segment from a root. */
enum nv_status nv_load(struct nv_volume *volume,
		       const struct nv_disk_root *root, char *message);

/* ---- sigbus.c ---- */

/* From map to unmap of the image. */
void nv_sigbus_watch(struct nv_volume *volume);
void nv_sigbus_forget(struct nv_volume *volume);

/* ---- statistics.c ---- */

/* Copy the upcase table into the attachment. */
enum nv_status nv_upcase_load(struct nv_volume *volume);

/* ---- segment.c ---- */

int nv_segment_open(struct nv_volume *volume, const char *directory);
/* Map what nv_segment_open opened; fresh: empty it first. */
enum nv_status nv_segment_map(struct nv_volume *volume, bool fresh);
/* Read the header of an existing file: is it complete, and of this boot? */
bool nv_segment_usable(struct nv_volume *volume,
		       const struct nv_disk_root *root);
enum nv_status nv_segment_back(struct nv_volume *volume, uint64_t offset,
			       uint64_t length);
void nv_segment_unmap(struct nv_volume *volume, bool remove);

#endif
