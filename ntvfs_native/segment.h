/*
 * The shared segment: everything processes share about a volume that is not
 * stored in it.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The segment is a sparse file on a tmpfs. It begins with struct nv_segment;
 * the arrays behind it are found through nv_layout, which every attacher
 * computes from the same two numbers (max_blocks, inode_size). It is made by
 * the first attacher of a boot, survives the death of every process, and is
 * removed by the last one that detaches.
 *
 * _Atomic members are read and written by several processes at once; the
 * comment of each says who may store. All others are protected by the lock
 * that is named.
 */

#ifndef NTVFS_NATIVE_SEGMENT_H
#define NTVFS_NATIVE_SEGMENT_H

#include <pthread.h>
#include <stdatomic.h>
#include "format.h"

#define NV_SEGMENT_MAGIC UINT64_C(0x544745535346564e)
#define NV_SEGMENT_VERSION 3

#define NV_SLOTS 512
#define NV_OBJECT_LOCKS 4096	/* hashed inodes; see nv_lock_index */
#define NV_DATA_LOCKS 1024
#define NV_UNDO_SIZE (192 * 1024)
#define NV_CACHED_BLOCKS 128
#define NV_CACHED_INODES 64
#define NV_CACHED_NODES 64
#define NV_SLOT_WINDOWS 32
#define NV_INFLIGHT 8

/*
 * Protects objects. Writers hold the mutex; sequence is odd while they may be
 * changing something. owner is written by the holder only: 0, or
 * NV_OWNER(slot, generation) from before its first change until after its
 * last. Dense on purpose: a table hit at random is faster with fewer lines.
 */
struct nv_object_lock {
	pthread_mutex_t mutex;
	_Atomic uint64_t owner;
	_Atomic uint32_t sequence;
	uint32_t reserved;
};

#define NV_OWNER(slot, generation) \
	(((uint64_t)(generation) << 16) | ((uint64_t)(slot) + 1))
#define NV_OWNER_SLOT(owner) ((uint32_t)((owner) & 0xffff) - 1)
#define NV_OWNER_GENERATION(owner) ((owner) >> 16)

/*
 * Where a page is. group is the transaction group that gave it its present
 * block: 0 since attach and not verified yet, NV_GROUP_VERIFIED checked.
 * NV_GROUP_BUSY set: the slot named there is replacing the block; it, or who
 * recovers it, ends this. previous is the block that the group before saw,
 * meaningful only while group is the open group.
 */
struct nv_entry {
	_Atomic uint64_t current;	/* block, 0: the page does not exist */
	_Atomic uint64_t previous;
	_Atomic uint64_t group;
	_Atomic uint64_t checksum;	/* of the durable content */
};

#define NV_GROUP_UNVERIFIED UINT64_C(0)
#define NV_GROUP_VERIFIED UINT64_C(1)
#define NV_GROUP_FIRST UINT64_C(2)
#define NV_GROUP_BUSY (UINT64_C(1) << 63)
#define NV_GROUP_SLOT_SHIFT 48
#define NV_GROUP_MASK ((UINT64_C(1) << NV_GROUP_SLOT_SHIFT) - 1)

/* A run of reserved blocks in one word: start in the upper 40 bits, length
 * in the lower 24. Taken from the front, or stolen whole, by compare-exchange. */
#define NV_RUN(start, length) (((uint64_t)(start) << 24) | (uint64_t)(length))
#define NV_RUN_START(run) ((run) >> 24)
#define NV_RUN_LENGTH(run) ((uint32_t)((run) & 0xffffff))
#define NV_RUN_MAX 0xffffffU

struct nv_window {
	_Atomic uint64_t run;		/* owner takes, anyone steals */
	_Atomic uint64_t file_id;	/* 0: unused; owner stores */
	uint32_t size;			/* blocks of the next window */
	uint32_t used;			/* of the present one */
	uint64_t last_use;		/* slot's use counter, for eviction */
	uint64_t next_goal;		/* where the file's last block ended */
	uint32_t asked;			/* blocks asked by nv_set_window */
	uint32_t reserved;
};

/* Kinds of undo record; see undo.c. */
enum nv_undo_kind {
	NV_UNDO_PAGE = 1,	/* bytes of a page */
	NV_UNDO_ENTRY = 2,	/* a page's entry; struct nv_undo_entry */
	NV_UNDO_BITS = 3	/* a range of bits of a bitmap */
};

/* Follows its payload, so that the log is read backwards from its top. */
struct nv_undo_record {
	uint32_t kind;
	uint32_t length;	/* bytes of payload, multiple of 8 */
	uint64_t target;	/* page; bitmap number */
	uint64_t first;		/* offset; first bit */
	uint64_t count;		/* bytes; bits */
	uint64_t value;		/* bits: the old value */
};

/* Payload of NV_UNDO_ENTRY. The record's value is what becomes of block in the
 * freed bitmap of the group. */
struct nv_undo_entry {
	uint64_t current;
	uint64_t previous;
	uint64_t group;
	uint64_t block;
};

/*
 * What a thread of a process needs to work on the volume. It belongs to the
 * process that holds the OFD lock on byte NV_SLOT_LOCK_OFFSET + index of the
 * segment file. Only the owner stores, or, when it is dead, who recovers it
 * (recovery mutex).
 */
struct nv_slot {
	/* its own cache line: polled by committers */
	_Atomic uint64_t active;	/* group it works in, 0: none */
	_Atomic uint64_t io_group;	/* data transfer since then, 0: none */
	uint64_t line_padding[6];

	_Atomic uint32_t in_use;	/* claimed at least once, not cleaned */
	uint32_t process;		/* index of the process's first slot */
	_Atomic uint64_t generation;	/* changes with each claim */
	uint64_t operations;

	/* the page whose block is being replaced */
	struct {
		_Atomic uint64_t active;	/* group, 0: none */
		uint64_t page;
		uint64_t old_block;
		uint64_t new_block;
		uint64_t old_group;
	} intent;

	/* blocks that back a write in progress, not yet part of a file */
	struct {
		_Atomic uint64_t run;
	} inflight[NV_INFLIGHT];

	/* claimed, not used yet: a stack each */
	_Atomic uint32_t block_count;
	_Atomic uint32_t inode_count;
	_Atomic uint32_t node_count;
	uint32_t undo_records;		/* of the running operation */
	uint64_t use_counter;
	uint64_t inode_goal;		/* its stretch of inode numbers: */
	uint64_t inode_end;		/* next one to try, end */
	uint64_t behind_start;		/* bytes of the volume written, */
	uint64_t behind_length;		/* whose writing out is not begun */
	_Atomic uint64_t reserved_inode;	/* nv_inode_reserve; 0: none */
	uint64_t block[NV_CACHED_BLOCKS];
	uint64_t inode[NV_CACHED_INODES];
	uint64_t node[NV_CACHED_NODES];
	struct nv_window window[NV_SLOT_WINDOWS];

	_Atomic uint64_t undo_top;	/* bytes used; 0: committed */
	uint8_t undo[NV_UNDO_SIZE] __attribute__((aligned(8)));
};

#define NV_SLOT_LOCK_OFFSET 4096

/* Where a commit is; one word so that it changes at once. */
enum nv_commit_phase {
	NV_PHASE_IDLE = 0,
	NV_PHASE_CLOSING = 1,	/* gate closed, waiting for operations */
	NV_PHASE_WRITING = 2,	/* next group is open */
	NV_PHASE_DURABLE = 3	/* root written; freeing */
};
#define NV_PHASE(group, phase) (((group) << 8) | (phase))
#define NV_PHASE_OF(word) ((enum nv_commit_phase)((word) & 0xff))
#define NV_PHASE_GROUP(word) ((word) >> 8)

/* Bitmaps that operations change and commits store. */
enum nv_bitmap {
	NV_BITMAP_BLOCKS = 0,
	NV_BITMAP_INODES = 1,
	NV_BITMAP_ORPHANS = 2,
	NV_BITMAP_COUNT = 3,
	/* not stored: what may not be handed out (a superset of what is in
	 * use), and blocks to be freed when a group is durable */
	NV_CLAIMED_BLOCKS = 3,
	NV_CLAIMED_INODES = 4,
	NV_CLAIMED_NODES = 5,
	NV_FREED_EVEN = 6,
	NV_FREED_ODD = 7,
	/* data blocks whose content a root must not come before (I9) */
	NV_WRITTEN_EVEN = 8,
	NV_WRITTEN_ODD = 9,
	NV_ALL_BITMAPS = 10
};

/* Who holds an object open; see hold.c. */
#define NV_HOLDS 65536
struct nv_hold_entry {
	_Atomic uint64_t file_id;	/* 0 unused, 1 removed */
	_Atomic uint64_t owner;		/* NV_OWNER of the process's slot */
	_Atomic uint64_t count;
};

struct nv_segment {
	uint64_t magic;
	uint64_t version;
	_Atomic uint64_t ready;		/* NV_SEGMENT_MAGIC when complete */
	uint64_t identity[2];
	uint8_t uuid[16];
	uint8_t boot_id[16];
	uint64_t size;
	uint64_t max_blocks;
	uint64_t inode_size;

	/*
	 * Read by every operation, stored to once in a commit or less. What
	 * changes more often is in lines of its own below, so that these stay
	 * in every processor's cache.
	 */
	_Atomic uint64_t total_blocks __attribute__((aligned(64)));
	_Atomic uint64_t open_group;
	_Atomic uint64_t durable_group;
	_Atomic uint64_t commit_phase;	/* holder of commit_mutex */
	_Atomic uint32_t gate;		/* futex; 1: closed */
	_Atomic uint32_t heal_wanted;	/* claims were lost; anyone stores */
	_Atomic uint32_t heal_running;	/* claimed bitmaps are incomplete;
					   stored behind the closed gate */
	_Atomic uint32_t withdrawn;
	_Atomic uint32_t slot_limit;	/* slots ever used */
	_Atomic uint32_t orphans;	/* of the dead, perhaps: look for them */
	_Atomic uint64_t region_backed[NV_REGION_COUNT]; /* pages whose entries
					   have memory of their own */
	_Atomic uint64_t root_directory;
	_Atomic uint32_t metadata_outside; /* some block of a page or map node
					   is not in the metadata zone */
	_Atomic uint64_t last_commit;	/* CLOCK_MONOTONIC milliseconds */
	_Atomic uint64_t undo_records_most;
	_Atomic uint64_t undo_bytes_most;
	_Atomic uint64_t commits;
	_Atomic uint64_t flushes;
	_Atomic uint64_t recovered_slots;
	char reason[160];		/* written once, before withdrawn */

	/* Change when a cache of a slot is filled, or a page is made. */
	_Atomic uint64_t region_limit[NV_REGION_COUNT]
		__attribute__((aligned(64)));	/* pages, highest + 1 */
	_Atomic uint64_t used_blocks	/* bits set in CLAIMED_BLOCKS; a hint
					   that heal makes exact */
		__attribute__((aligned(64)));
	_Atomic uint64_t dirty_nodes[2]; /* by parity of the group */
	_Atomic uint64_t node_hint, inode_hint, block_hint;
	_Atomic uint64_t small_hint;	/* data of small files */
	_Atomic uint64_t spread_count;	/* places given to large files */

	pthread_mutex_t commit_mutex	/* robust */
		__attribute__((aligned(64)));
	pthread_mutex_t recovery_mutex;	/* robust */
	struct nv_disk_root root;	/* last durable; commit_mutex */
	struct nv_disk_root pending;	/* being written; commit_mutex */

	struct nv_object_lock object_lock[NV_OBJECT_LOCKS + 2];
	struct nv_object_lock data_lock[NV_DATA_LOCKS];
	struct nv_hold_entry hold[NV_HOLDS];
	struct nv_slot slot[NV_SLOTS];
};

/* Bytes from the start of the segment to its arrays. */
struct nv_layout {
	uint64_t max_blocks;
	uint64_t pages[NV_REGION_COUNT];	/* entries per region */
	uint64_t entry[NV_REGION_COUNT];
	/* [level 1..4]: struct nv_disk_map_entry of each node */
	uint64_t nodes[NV_REGION_COUNT][NV_MAP_MAX_HEIGHT + 1];
	uint64_t node_count[NV_REGION_COUNT][NV_MAP_MAX_HEIGHT + 1];
	/* one byte per node and parity: it must be written again */
	uint64_t dirty[NV_REGION_COUNT][NV_MAP_MAX_HEIGHT + 1][2];
	uint64_t bits[NV_ALL_BITMAPS];
	uint64_t bit_count[NV_ALL_BITMAPS];
	uint64_t snapshot[NV_BITMAP_COUNT];
	uint64_t snapshot_count[NV_BITMAP_COUNT]; /* uint32_t per page */
	/* one byte per bitmap page and parity */
	uint64_t bits_dirty[NV_ALL_BITMAPS][2];
	uint64_t size;
};

void nv_layout_compute(struct nv_layout *layout, uint64_t max_blocks,
		       uint32_t inode_size);

#endif
