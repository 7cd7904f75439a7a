/*
 * Operations on metadata: locks, pages, undo.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Everything above this header (inodes, extents, directories, EAs, security
 * descriptors) is written against it and against nothing below it.
 *
 * An operation is begun with every object it will change, which locks them
 * all in one order; it changes pages in place after saving the old bytes; it
 * ends by dropping the saved bytes, which is one store. Whoever finds that
 * its process died in between puts the old bytes back. So:
 *
 *  - Between begin and end or cancel: no malloc, no system call, no logging,
 *    no wait for anything but what this header does. That is the critical
 *    section; docs/native-design.md lists them all.
 *  - An operation is bounded: it says at begin how many pages it may touch
 *    (NV_OPERATION_PAGES at most) and its undo log has NV_UNDO_SIZE bytes.
 *    What is longer is cut into operations that each leave a sound volume.
 *  - After a failed call within it an operation is cancelled: the objects
 *    are as they were. There is no other error path.
 */

#ifndef NTVFS_NATIVE_TRANSACTION_H
#define NTVFS_NATIVE_TRANSACTION_H

#include "ntvfs_native.h"
#include "format.h"

struct nv_volume;
struct nv_slot;

#define NV_OPERATION_LOCKS 8
#define NV_OPERATION_PAGES 48
#define NV_OPERATION_FREES 64

/* Flags of nv_operation_begin. */
#define NV_OP_FREES 0x0001	/* frees space: may use the last reserve */
#define NV_OP_RENAME 0x0002	/* also lock moves of directories */
#define NV_OP_SD 0x0004		/* also lock the SD store */

/*
 * Lives on the caller's stack; its members belong to transaction.c.
 */
struct nv_operation {
	struct nv_volume *volume;
	struct nv_slot *slot;
	uint64_t group;
	uint32_t flags;
	uint32_t lock_count;
	uint32_t lock[NV_OPERATION_LOCKS + 2];
	uint32_t saved_count;		/* pages saved whole */
	uint64_t saved[NV_OPERATION_PAGES];
	bool used_reservation;		/* nv_inode_new was called */
	uint32_t freed_count;		/* claims to drop afterwards */
	struct {
		uint32_t bitmap;
		bool when_cancelled;	/* else: when ended */
		uint64_t bit;
	} freed[NV_OPERATION_FREES];
};

/*
 * Begin an operation that changes the objects with these inode numbers
 * (NV_FILE_INO of their ids; at most NV_OPERATION_LOCKS, in any order, the
 * same one twice is fine) and touches at most pages pages, new ones included.
 *
 * May wait, commit and recover dead processes. Until it returns NV_OK it
 * holds nothing. Look again at everything that was read before it.
 *
 * NV_ERR_NO_SPACE, NV_ERR_READ_ONLY, NV_ERR_WITHDRAWN, NV_ERR_NO_SLOT: none
 * of the later calls returns these, so an operation fails for want of space
 * only here.
 */
enum nv_status nv_operation_begin(struct nv_volume *volume,
				  struct nv_operation *operation,
				  const uint64_t *inos, uint32_t ino_count,
				  uint32_t pages, uint32_t flags);

/* It has happened. Cannot fail. */
void nv_operation_end(struct nv_operation *operation);

/* It has not happened. Cannot fail. */
void nv_operation_cancel(struct nv_operation *operation);

/*
 * end on NV_OK, cancel otherwise; returns the status. For the one exit of a
 * function.
 */
enum nv_status nv_operation_finish(struct nv_operation *operation,
				   enum nv_status status);

/*
 * Lock-free reading.
 *
 *	status = nv_read_begin(volume, ino, &reader);
 *	if (status != NV_OK) {
 *		return status;
 *	}
 *	do {
 *		status = look at pages, copy out what is needed;
 *	} while (nv_read_again(&reader));
 *
 * What is looked at may change meanwhile, so every number read from a page
 * is checked before it is used and loops are bounded; a status counts, and a
 * pointer into a page may be used, only until nv_read_again says false.
 * After NV_READ_TRIES rounds it takes the lock and the last round is alone.
 * Not to be used within an operation that holds the object.
 *
 * The reader carries a transfer mark of the slot (I8): a page it looks at may
 * get another block meanwhile, because of somebody else's inode in the same
 * page, but the block it looks at is not used for anything else before it is
 * through. So no commit and no operation is begun between begin and the end,
 * and a loop that is begun is gone through to the end.
 */
#define NV_READ_TRIES 100

struct nv_reader {
	struct nv_volume *volume;
	uint32_t lock;
	uint32_t sequence;
	uint32_t tries;
	bool locked;
	bool marked;
	struct nv_slot *slot;
};

/* NV_ERR_NO_SLOT, NV_ERR_NO_MEMORY: nothing is begun. */
enum nv_status nv_read_begin(struct nv_volume *volume, uint64_t ino,
			     struct nv_reader *reader)
	__attribute__((warn_unused_result));
/* The same for the SD store. */
enum nv_status nv_read_begin_sd(struct nv_volume *volume,
				struct nv_reader *reader)
	__attribute__((warn_unused_result));
bool nv_read_again(struct nv_reader *reader);

/*
 * Look at a page (any region). Its checksum is verified the first time
 * anyone does since attach. Inside a reader the content can change under the
 * eyes of the caller; inside an operation that holds the owning object not.
 * NV_ERR_NOT_FOUND: no such page. NV_ERR_CORRUPT.
 */
enum nv_status nv_page_read(struct nv_volume *volume, uint64_t page,
			    const void **content);

/* nv_page_read and a check of the header (region NODES). */
enum nv_status nv_node_read(struct nv_volume *volume, uint64_t page,
			    uint32_t kind, uint64_t owner,
			    const void **content);

/*
 * Make [offset, offset + length) of an existing page writable: the page gets
 * its own block in this group, and the old bytes are saved. The pointer is to
 * the start of the page; pointers from nv_page_read of the same page are
 * stale afterwards. Saving the same bytes twice is harmless but takes room;
 * a page saved whole (0, NV_BLOCK_SIZE) is saved once.
 */
enum nv_status nv_page_modify(struct nv_operation *operation, uint64_t page,
			      uint32_t offset, uint32_t length,
			      void **content);

/*
 * A new page of the region NODES, zero but for its header. Nothing of it
 * needs saving before it is changed: cancel makes the whole page go away.
 */
enum nv_status nv_node_new(struct nv_operation *operation, uint32_t kind,
			   uint32_t level, uint64_t owner, uint64_t *page,
			   void **content);

/* Give it back. Its content stays readable until the operation ends. */
enum nv_status nv_node_free(struct nv_operation *operation, uint64_t page);

/*
 * Set or clear count bits of one of the stored bitmaps (enum nv_bitmap).
 * The blocks or inodes must belong to the caller: claimed by its slot, or
 * part of an object it has locked.
 */
enum nv_status nv_bits_change(struct nv_operation *operation, uint32_t bitmap,
			      uint64_t first, uint64_t count, bool value);

/*
 * Withdraw the volume: every change is refused from now on, in all
 * processes. The first reason stays. Never returns NV_OK, so that it can be
 * returned: NV_ERR_CORRUPT or NV_ERR_IO as given.
 */
enum nv_status nv_withdraw(struct nv_volume *volume, enum nv_status status,
			   const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
