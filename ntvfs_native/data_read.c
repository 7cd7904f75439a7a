/*
 * Reading file data, and telling where there is some.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <string.h>
#include "data.h"
#include "volume.h"

enum nv_status nv_data_look(struct nv_volume *volume, nv_file_id id,
			    struct nv_data_state *state)
{
	const struct nv_disk_inode *inode = NULL;
	struct nv_reader reader;
	enum nv_status status;

	status = nv_read_begin(volume, NV_FILE_INO(id), &reader);
	if (status != NV_OK) {
		return status;
	}
	do {
		status = nv_inode_read(volume, id, &inode);
		if (status != NV_OK) {
			continue;
		}
		state->size = inode->size;
		state->allocation = inode->allocation;
		state->form = inode->data_form;
		state->type = inode->type;
		state->inline_room = nv_item_room(
			inode, nv_inode_size(volume), NV_ITEM_DATA);
	} while (nv_read_again(&reader));
	if (status == NV_OK && state->type == NV_TYPE_DIRECTORY) {
		return NV_ERR_IS_DIRECTORY;
	}
	return status;
}

enum nv_status nv_data_seek(struct nv_volume *volume, nv_file_id id,
			    uint32_t logical, struct nv_disk_extent *extent)
{
	const struct nv_disk_inode *inode = NULL;
	struct nv_reader reader;
	enum nv_status status;

	status = nv_read_begin(volume, NV_FILE_INO(id), &reader);
	if (status != NV_OK) {
		return status;
	}
	do {
		status = nv_inode_read(volume, id, &inode);
		if (status == NV_OK) {
			status = nv_extent_seek(volume, inode, logical,
						extent);
			if (status == NV_ERR_NOT_FOUND) {
				/* Nothing there or behind. */
				extent->length = 0;
				status = NV_OK;
			}
		}
	} while (nv_read_again(&reader));
	return status;
}

/*
 * Pieces of [offset, end), end not behind the end of file. Within a reader.
 */
static enum nv_status map_pieces(struct nv_volume *volume,
				 const struct nv_disk_inode *inode,
				 uint64_t offset, uint64_t end,
				 struct nv_piece *piece, uint32_t *count)
{
	struct nv_disk_extent extent;
	enum nv_status status;

	*count = 0;
	while (offset < end && *count < NV_PIECES) {
		struct nv_piece *next = &piece[*count];
		uint64_t extent_start = UINT64_MAX;
		uint64_t extent_end = 0;

		status = nv_extent_seek(volume, inode,
					(uint32_t)(offset >> NV_BLOCK_SHIFT),
					&extent);
		if (status == NV_OK) {
			extent_start = (uint64_t)extent.logical <<
				NV_BLOCK_SHIFT;
			extent_end = nv_extent_end(&extent) << NV_BLOCK_SHIFT;
		} else if (status != NV_ERR_NOT_FOUND) {
			return status;
		}
		next->offset = offset;
		next->place = 0;
		if (extent_start > offset) {
			next->length = (extent_start < end ? extent_start :
					end) - offset;
		} else {
			next->length = (extent_end < end ? extent_end : end) -
				offset;
			if ((extent.length & NV_EXTENT_UNWRITTEN) == 0) {
				next->place =
					(extent.block << NV_BLOCK_SHIFT) +
					(offset - extent_start);
			}
		}
		offset += next->length;
		(*count)++;
	}
	return NV_OK;
}

/* One look at the file: inline data is copied, the rest mapped. */
static enum nv_status look_at_range(struct nv_volume *volume, nv_file_id id,
				    uint64_t offset, void *buffer,
				    size_t length, struct nv_piece *piece,
				    uint32_t *count, size_t *copied,
				    bool *at_end)
{
	const struct nv_disk_inode *inode = NULL;
	const uint8_t *bytes = NULL;
	enum nv_status status;
	uint32_t present = 0;
	uint64_t end;

	*count = 0;
	*copied = 0;
	status = nv_inode_read(volume, id, &inode);
	if (status != NV_OK) {
		return status;
	}
	if (inode->type == NV_TYPE_DIRECTORY) {
		return NV_ERR_IS_DIRECTORY;
	}
	end = inode->size;
	*at_end = offset >= end;
	if (*at_end) {
		return NV_OK;
	}
	if (length < end - offset) {
		end = offset + length;
	}
	if (inode->data_form != NV_DATA_INLINE) {
		return map_pieces(volume, inode, offset, end, piece, count);
	}
	bytes = nv_item_find(inode, nv_inode_size(volume), NV_ITEM_DATA,
			     &present);
	if (bytes == NULL || present < end) {
		return NV_ERR_CORRUPT;
	}
	memcpy(buffer, bytes + offset, end - offset);
	*copied = end - offset;
	return NV_OK;
}

static enum nv_status transfer_in(struct nv_volume *volume,
				  const struct nv_piece *piece,
				  uint32_t count, uint8_t *buffer,
				  size_t *done)
{
	struct nv_io *io = volume->io;
	uint32_t i;
	int ret;

	for (i = 0; i < count; i++) {
		uint8_t *to = buffer + *done;

		if (piece[i].place == 0) {
			memset(to, 0, piece[i].length);
		} else {
			ret = io->ops->pread(io, to, piece[i].length,
					     piece[i].place);
			if (ret != 0) {
				return NV_ERR_IO;
			}
		}
		*done += piece[i].length;
	}
	return NV_OK;
}

enum nv_status nv_read(struct nv_volume *volume, nv_file_id id,
		       uint64_t offset, void *buffer, size_t length,
		       size_t *done)
{
	struct nv_piece piece[NV_PIECES];
	struct nv_slot *slot = NULL;
	struct nv_reader reader;
	enum nv_status status;
	uint32_t count = 0;
	size_t copied = 0;
	size_t sum = 0;
	bool at_end = false;

	if (length > NV_MAX_FILE_SIZE || offset > NV_MAX_FILE_SIZE) {
		length = 0;
	}
	status = nv_slot_get(volume, &slot);
	if (status != NV_OK) {
		return status;
	}
	while (sum < length && !at_end) {
		uint8_t *to = (uint8_t *)buffer + sum;

		/* Blocks found from here on stay the file's (I8). */
		nv_transfer_begin(volume, slot);
		status = nv_read_begin(volume, NV_FILE_INO(id), &reader);
		if (status != NV_OK) {
			nv_transfer_end(slot);
			return status;
		}
		do {
			status = look_at_range(volume, id, offset + sum, to,
					       length - sum, piece, &count,
					       &copied, &at_end);
		} while (nv_read_again(&reader));
		if (status == NV_OK) {
			sum += copied;
			status = transfer_in(volume, piece, count,
					     (uint8_t *)buffer, &sum);
		}
		nv_transfer_end(slot);
		if (status != NV_OK) {
			return status;
		}
	}
	*done = sum;
	return NV_OK;
}

static enum nv_status next_range(struct nv_volume *volume,
				 const struct nv_disk_inode *inode,
				 uint64_t offset, uint64_t end,
				 struct nv_range *range)
{
	struct nv_disk_extent extent;
	enum nv_status status;

	range->length = 0;
	for (;;) {
		uint64_t start;

		if (offset >= end) {
			return NV_OK;
		}
		status = nv_extent_seek(volume, inode,
					(uint32_t)(offset >> NV_BLOCK_SHIFT),
					&extent);
		if (status == NV_ERR_NOT_FOUND) {
			return NV_OK;
		}
		if (status != NV_OK) {
			return status;
		}
		start = (uint64_t)extent.logical << NV_BLOCK_SHIFT;
		if (start < offset) {
			start = offset;
		}
		offset = nv_extent_end(&extent) << NV_BLOCK_SHIFT;
		if ((extent.length & NV_EXTENT_UNWRITTEN) != 0) {
			continue;
		}
		if (start >= end) {
			return NV_OK;
		}
		range->offset = start;
		range->length = (offset < end ? offset : end) - start;
		return NV_OK;
	}
}

enum nv_status nv_allocated_ranges(struct nv_volume *volume, nv_file_id id,
				   uint64_t offset, uint64_t length,
				   struct nv_range *range, uint32_t count,
				   uint32_t *returned)
{
	const struct nv_disk_inode *inode = NULL;
	struct nv_reader reader;
	struct nv_range next;
	enum nv_status status;
	uint32_t found = 0;
	uint64_t end;

	end = length < UINT64_MAX - offset ? offset + length : UINT64_MAX;
	while (found < count) {
		status = nv_read_begin(volume, NV_FILE_INO(id), &reader);
		if (status != NV_OK) {
			return status;
		}
		do {
			next.length = 0;
			status = nv_inode_read(volume, id, &inode);
			if (status != NV_OK) {
				continue;
			}
			if (end > inode->size) {
				end = inode->size;
			}
			if (inode->data_form == NV_DATA_INLINE) {
				if (offset < end) {
					next.offset = offset;
					next.length = end - offset;
				}
				continue;
			}
			status = next_range(volume, inode, offset, end,
					    &next);
		} while (nv_read_again(&reader));
		if (status != NV_OK) {
			return status;
		}
		if (next.length == 0) {
			break;
		}
		/* Extents of one stretch are one range. */
		if (found > 0 && range[found - 1].offset +
		    range[found - 1].length == next.offset) {
			range[found - 1].length += next.length;
		} else {
			range[found] = next;
			found++;
		}
		offset = next.offset + next.length;
	}
	*returned = found;
	return NV_OK;
}
