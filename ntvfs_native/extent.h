/*
 * Extents: which blocks hold which part of a file.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * All of this is about the blocks only; the bytes are data.c's work.
 */

#ifndef NTVFS_NATIVE_EXTENT_H
#define NTVFS_NATIVE_EXTENT_H

#include "inode.h"

/* Pages that one nv_extent_* change may touch, inode included. */
#define NV_EXTENT_PAGES 40
/* Extents that one nv_extent_change looks at. */
#define NV_EXTENT_BATCH 4

/*
 * The extent that covers logical or, if none does, the next one behind it.
 * NV_ERR_NOT_FOUND: there is none. For readers and operations.
 */
enum nv_status nv_extent_seek(struct nv_volume *volume,
			      const struct nv_disk_inode *inode,
			      uint32_t logical,
			      struct nv_disk_extent *extent);

/*
 * Link blocks that the caller's slot has claimed into a hole. The bits of the
 * block bitmap are set, the allocation is counted.
 */
enum nv_status nv_extent_link(struct nv_operation *operation, nv_file_id id,
			      const struct nv_disk_extent *extent);

enum nv_extent_change {
	NV_EXTENT_REMOVE,	/* a hole; the blocks are freed */
	NV_EXTENT_TO_WRITTEN,	/* what is unwritten becomes written */
	NV_EXTENT_TO_UNWRITTEN	/* what is written becomes unwritten */
};

/*
 * Change what is mapped in [first, end) (block numbers in the file; end up to
 * 2^32), from first upwards, as far as one operation can: *next is where to go
 * on, end when all is done. Holes stay.
 */
enum nv_status nv_extent_change(struct nv_operation *operation, nv_file_id id,
				uint64_t first, uint64_t end,
				enum nv_extent_change change, uint64_t *next);

/* ---- extent_store.c: single records, sorted ---- */

enum nv_status nv_extent_store_insert(struct nv_operation *operation,
				      struct nv_disk_inode *inode,
				      const struct nv_disk_extent *extent);
/* The record that starts at logical. */
enum nv_status nv_extent_store_replace(struct nv_operation *operation,
				       struct nv_disk_inode *inode,
				       uint32_t logical,
				       const struct nv_disk_extent *extent);
enum nv_status nv_extent_store_remove(struct nv_operation *operation,
				      struct nv_disk_inode *inode,
				      uint32_t logical);
/* The last record that starts at or before logical. */
enum nv_status nv_extent_store_before(struct nv_volume *volume,
				      const struct nv_disk_inode *inode,
				      uint32_t logical,
				      struct nv_disk_extent *extent);
/* The first record that starts behind logical. */
enum nv_status nv_extent_store_after(struct nv_volume *volume,
				     const struct nv_disk_inode *inode,
				     uint32_t logical,
				     struct nv_disk_extent *extent);

static inline uint32_t nv_extent_length(const struct nv_disk_extent *extent)
{
	return extent->length & NV_EXTENT_LENGTH;
}

static inline uint64_t nv_extent_end(const struct nv_disk_extent *extent)
{
	return (uint64_t)extent->logical + nv_extent_length(extent);
}

#endif
