/*
 * Inodes and the items inside them.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_NATIVE_INODE_H
#define NTVFS_NATIVE_INODE_H

#include "transaction.h"

/*
 * Look at an object's inode: found by number, checked to be in use and of
 * this generation. As nv_page_read in everything else. NV_ERR_NOT_FOUND.
 */
enum nv_status nv_inode_read(struct nv_volume *volume, nv_file_id id,
			     const struct nv_disk_inode **inode);

/*
 * Make the whole inode, items included, writable in an operation that has
 * its number locked. Saved once per operation, however often it is called.
 */
enum nv_status nv_inode_modify(struct nv_operation *operation, nv_file_id id,
			       struct nv_disk_inode **inode);

/*
 * Reserve an inode number for a new object and tell its coming id, before
 * nv_operation_begin, so that the number can be given to it. In the same
 * thread either nv_inode_new follows or nv_inode_unreserve.
 */
enum nv_status nv_inode_reserve(struct nv_volume *volume, nv_file_id *id);
void nv_inode_unreserve(struct nv_volume *volume, nv_file_id id);

/*
 * Make it: type set, everything else zero, nlink 0, no items. Counts one
 * page. The reservation is used up when the operation ends; when it is
 * cancelled it stays and nv_inode_unreserve is still due.
 */
enum nv_status nv_inode_new(struct nv_operation *operation, nv_file_id id,
			    uint32_t type, struct nv_disk_inode **inode);

/*
 * Free an inode that has no data blocks, pages or orphan mark left. Its
 * number becomes available, with the next generation, when the operation
 * ends.
 */
enum nv_status nv_inode_free(struct nv_operation *operation, nv_file_id id);

/*
 * Items: plain functions on the memory of one inode of inode_size bytes.
 * find: NULL if absent or if the list is malformed; *length gets the payload
 * size. set: replace, make or (length 0) remove; a NULL payload leaves new
 * bytes zero and keeps old ones up to the smaller length. False: no room,
 * and nothing has changed. Payload of the same length stays in place.
 */
const void *nv_item_find(const struct nv_disk_inode *inode,
			 uint32_t inode_size, uint32_t kind,
			 uint32_t *length);
bool nv_item_set(struct nv_disk_inode *inode, uint32_t inode_size,
		 uint32_t kind, const void *payload, uint32_t length);
/* The largest payload that nv_item_set would accept for this kind. */
uint32_t nv_item_room(const struct nv_disk_inode *inode, uint32_t inode_size,
		      uint32_t kind);
/* The whole list is well-formed. */
bool nv_items_valid(const struct nv_disk_inode *inode, uint32_t inode_size);

uint32_t nv_inode_size(const struct nv_volume *volume);

/* Fill info from an inode (pure). */
void nv_inode_info(const struct nv_disk_inode *inode, struct nv_info *info);

/*
 * Everything that the last name or hold of an object leaves to do: give back
 * data, streams, EAs, pages, then the inode. In bounded operations; between
 * them the object is an orphan, and attach goes on with it after a crash.
 * The caller has made it an orphan (nlink 0, NV_INODE_ORPHAN, its bit in
 * NV_BITMAP_ORPHANS set). reclaim.c; calls nv_directory_reclaim,
 * nv_streams_reclaim, nv_ea_reclaim of those parts.
 */
enum nv_status nv_object_reclaim(struct nv_volume *volume, nv_file_id id);

/* True if any live process holds the object. The caller has it locked. */
bool nv_hold_test(struct nv_volume *volume, nv_file_id id);

#endif
