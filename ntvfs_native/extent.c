/*
 * Extents of a file: seeking, linking blocks, changing ranges.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "extent.h"
#include "volume.h"

/* Blocks freed or marked at most in one operation: 4 GiB of data. */
#define BLOCKS_AT_ONCE (UINT64_C(1) << 20)

static bool extent_sound(const struct nv_volume *volume,
			 const struct nv_disk_extent *extent)
{
	uint64_t total = atomic_load(&volume->segment->total_blocks);
	uint64_t length = nv_extent_length(extent);

	return length > 0 && extent->block >= NV_FIRST_BLOCK &&
		extent->block < total && length <= total - extent->block &&
		nv_extent_end(extent) <= NV_MAX_FILE_BLOCKS;
}

enum nv_status nv_extent_seek(struct nv_volume *volume,
			      const struct nv_disk_inode *inode,
			      uint32_t logical, struct nv_disk_extent *extent)
{
	enum nv_status status;

	status = nv_extent_store_before(volume, inode, logical, extent);
	if (status != NV_OK && status != NV_ERR_NOT_FOUND) {
		return status;
	}
	if (status == NV_ERR_NOT_FOUND || nv_extent_end(extent) <= logical) {
		status = nv_extent_store_after(volume, inode, logical,
					       extent);
		if (status != NV_OK) {
			return status;
		}
	}
	if (!extent_sound(volume, extent)) {
		return NV_ERR_CORRUPT;
	}
	return NV_OK;
}

/* Two extents that can be one. */
static bool adjoin(const struct nv_disk_extent *left,
		   const struct nv_disk_extent *right)
{
	const uint32_t flags = NV_EXTENT_UNWRITTEN | NV_EXTENT_SHARED;
	uint64_t length = (uint64_t)nv_extent_length(left) +
		nv_extent_length(right);

	return nv_extent_end(left) == right->logical &&
		left->block + nv_extent_length(left) == right->block &&
		(left->length & flags) == (right->length & flags) &&
		(left->length & NV_EXTENT_SHARED) == 0 &&
		length <= NV_EXTENT_LENGTH;
}

/* Insert a record, joined with its neighbours where possible. */
static enum nv_status insert_joined(struct nv_operation *operation,
				    struct nv_disk_inode *inode,
				    const struct nv_disk_extent *extent)
{
	struct nv_volume *volume = operation->volume;
	struct nv_disk_extent joined = *extent;
	struct nv_disk_extent left = {0};
	struct nv_disk_extent right = {0};
	enum nv_status status;
	bool has_left = false;

	status = nv_extent_store_after(volume, inode, extent->logical,
				       &right);
	if (status == NV_OK && adjoin(&joined, &right)) {
		joined.length += nv_extent_length(&right);
		status = nv_extent_store_remove(operation, inode,
						right.logical);
		if (status != NV_OK) {
			return status;
		}
	} else if (status != NV_OK && status != NV_ERR_NOT_FOUND) {
		return status;
	}
	status = nv_extent_store_before(volume, inode, extent->logical,
					&left);
	if (status != NV_OK && status != NV_ERR_NOT_FOUND) {
		return status;
	}
	has_left = status == NV_OK && adjoin(&left, &joined);
	if (has_left) {
		left.length += nv_extent_length(&joined);
		return nv_extent_store_replace(operation, inode, left.logical,
					       &left);
	}
	return nv_extent_store_insert(operation, inode, &joined);
}

enum nv_status nv_extent_link(struct nv_operation *operation, nv_file_id id,
			      const struct nv_disk_extent *extent)
{
	struct nv_volume *volume = operation->volume;
	struct nv_disk_inode *inode = NULL;
	struct nv_disk_extent present;
	enum nv_status status;

	if (!extent_sound(volume, extent)) {
		return NV_ERR_INVALID;
	}
	status = nv_inode_modify(operation, id, &inode);
	if (status != NV_OK) {
		return status;
	}
	status = nv_extent_seek(volume, inode, extent->logical, &present);
	if (status == NV_OK && present.logical < nv_extent_end(extent)) {
		return NV_ERR_EXISTS;
	}
	if (status != NV_OK && status != NV_ERR_NOT_FOUND) {
		return status;
	}
	status = nv_bits_change(operation, NV_BITMAP_BLOCKS, extent->block,
				nv_extent_length(extent), true);
	if (status != NV_OK) {
		return status;
	}
	if ((extent->length & NV_EXTENT_UNWRITTEN) == 0) {
		nv_bits_written(volume, extent->block,
				nv_extent_length(extent), operation->group);
	}
	inode->allocation += (uint64_t)nv_extent_length(extent) <<
		NV_BLOCK_SHIFT;
	return insert_joined(operation, inode, extent);
}

/* The part [first, end) of an extent, with other flags. */
static struct nv_disk_extent part_of(const struct nv_disk_extent *extent,
				     uint64_t first, uint64_t end,
				     uint32_t flags)
{
	struct nv_disk_extent part = {
		.logical = (uint32_t)first,
		.length = (uint32_t)(end - first) | flags,
		.block = extent->block + (first - extent->logical),
	};

	return part;
}

/*
 * Cut [first, end) out of one record: what is left in front and behind stays,
 * the middle is inserted with new flags or, if removed is true, not at all.
 */
static enum nv_status cut(struct nv_operation *operation,
			  struct nv_disk_inode *inode,
			  const struct nv_disk_extent *extent, uint64_t first,
			  uint64_t end, bool removed, uint32_t flags)
{
	uint32_t old_flags = extent->length & ~NV_EXTENT_LENGTH;
	uint64_t extent_end = nv_extent_end(extent);
	struct nv_disk_extent part;
	enum nv_status status;

	if (first > extent->logical) {
		part = part_of(extent, extent->logical, first, old_flags);
		status = nv_extent_store_replace(operation, inode,
						 extent->logical, &part);
	} else {
		status = nv_extent_store_remove(operation, inode,
						extent->logical);
	}
	if (status != NV_OK) {
		return status;
	}
	if (end < extent_end) {
		part = part_of(extent, end, extent_end, old_flags);
		status = nv_extent_store_insert(operation, inode, &part);
		if (status != NV_OK) {
			return status;
		}
	}
	if (removed) {
		return NV_OK;
	}
	part = part_of(extent, first, end, flags);
	return insert_joined(operation, inode, &part);
}

static enum nv_status change_one(struct nv_operation *operation,
				 struct nv_disk_inode *inode,
				 const struct nv_disk_extent *extent,
				 uint64_t first, uint64_t end,
				 enum nv_extent_change change)
{
	bool unwritten = (extent->length & NV_EXTENT_UNWRITTEN) != 0;
	uint64_t blocks = end - first;
	enum nv_status status;

	switch (change) {
	case NV_EXTENT_REMOVE:
		break;
	case NV_EXTENT_TO_WRITTEN:
		if (!unwritten) {
			return NV_OK;
		}
		nv_bits_written(operation->volume,
				extent->block + (first - extent->logical),
				blocks, operation->group);
		return cut(operation, inode, extent, first, end, false, 0);
	case NV_EXTENT_TO_UNWRITTEN:
		if (unwritten) {
			return NV_OK;
		}
		return cut(operation, inode, extent, first, end, false,
			   NV_EXTENT_UNWRITTEN);
	}
	status = nv_bits_change(operation, NV_BITMAP_BLOCKS,
				extent->block + (first - extent->logical),
				blocks, false);
	if (status != NV_OK) {
		return status;
	}
	inode->allocation -= blocks << NV_BLOCK_SHIFT;
	return cut(operation, inode, extent, first, end, true, 0);
}

enum nv_status nv_extent_change(struct nv_operation *operation, nv_file_id id,
				uint64_t first, uint64_t end,
				enum nv_extent_change change, uint64_t *next)
{
	struct nv_disk_inode *inode = NULL;
	struct nv_disk_extent extent;
	enum nv_status status;
	uint64_t blocks = 0;
	uint32_t count;

	status = nv_inode_modify(operation, id, &inode);
	if (status != NV_OK) {
		return status;
	}
	for (count = 0; count < NV_EXTENT_BATCH && first < end; count++) {
		uint64_t from;
		uint64_t to;

		status = nv_extent_seek(operation->volume, inode,
					(uint32_t)first, &extent);
		if (status == NV_ERR_NOT_FOUND || (status == NV_OK &&
						   extent.logical >= end)) {
			first = end;
			break;
		}
		if (status != NV_OK) {
			return status;
		}
		from = extent.logical > first ? extent.logical : first;
		to = nv_extent_end(&extent) < end ? nv_extent_end(&extent) :
			end;
		if (to - from > BLOCKS_AT_ONCE) {
			to = from + BLOCKS_AT_ONCE;
		}
		blocks += to - from;
		if (blocks > BLOCKS_AT_ONCE) {
			break;
		}
		status = change_one(operation, inode, &extent, from, to,
				    change);
		if (status != NV_OK) {
			return status;
		}
		first = to;
	}
	*next = first;
	return NV_OK;
}
