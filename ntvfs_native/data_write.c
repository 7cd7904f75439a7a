/*
 * Writing file data.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Over data that is there, inside the end of file: found without a lock, one
 * pwrite. Everything else goes through the file's data lock, in pieces: blocks
 * are claimed, written whole (zeros around the caller's bytes), and only then
 * linked to the file by one operation (I9).
 */

#include <string.h>
#include "data.h"
#include "volume.h"
#include "window.h"

/* Blocks in one piece: what one operation links. 8 MiB. */
#define PIECE_BLOCKS 2048

/* Bytes in a row after which their writing out is begun. */
#define WRITE_BEHIND (UINT64_C(1) << 20)

static const uint8_t zeros[NV_BLOCK_SIZE];

static enum nv_status put(struct nv_volume *volume, const void *buffer,
			  size_t length, uint64_t place)
{
	struct nv_io *io = volume->io;

	if (length == 0) {
		return NV_OK;
	}
	if (io->ops->pwrite(io, buffer, length, place) != 0) {
		return NV_ERR_IO;
	}
	return NV_OK;
}

enum nv_status nv_data_zero_part(struct nv_volume *volume, nv_file_id id,
				 uint64_t offset, uint64_t length)
{
	uint32_t logical = (uint32_t)(offset >> NV_BLOCK_SHIFT);
	struct nv_disk_extent extent;
	enum nv_status status;
	uint64_t place;

	if (length == 0) {
		return NV_OK;
	}
	status = nv_data_seek(volume, id, logical, &extent);
	if (status != NV_OK) {
		return status;
	}
	if (extent.length == 0 || extent.logical > logical ||
	    (extent.length & NV_EXTENT_UNWRITTEN) != 0) {
		return NV_OK;
	}
	place = ((extent.block + (logical - extent.logical)) <<
		 NV_BLOCK_SHIFT) + (offset & (NV_BLOCK_SIZE - 1));
	return put(volume, zeros, length, place);
}

/*
 * The block's bytes behind the old end of file are about to be shown by a
 * longer file: no root may come before them. The operation that makes the file
 * longer is of this group or a later one.
 */
static enum nv_status mark_tail(struct nv_volume *volume, nv_file_id id,
				uint64_t offset)
{
	uint32_t logical = (uint32_t)(offset >> NV_BLOCK_SHIFT);
	struct nv_operation operation;
	struct nv_disk_extent extent;
	enum nv_status status;

	status = nv_data_seek(volume, id, logical, &extent);
	if (status != NV_OK) {
		return status;
	}
	if (extent.length == 0 || extent.logical > logical) {
		return NV_OK;
	}
	status = nv_operation_begin(volume, &operation, NULL, 0, 0,
				    NV_OP_FREES);
	if (status != NV_OK) {
		return status;
	}
	nv_bits_written(volume, extent.block + (logical - extent.logical), 1,
			operation.group);
	nv_operation_end(&operation);
	return NV_OK;
}

enum nv_status nv_data_zero_tail(struct nv_volume *volume, nv_file_id id,
				 uint64_t size, uint64_t offset)
{
	enum nv_status status;
	uint64_t end = (size + NV_BLOCK_SIZE - 1) &
		~(uint64_t)(NV_BLOCK_SIZE - 1);

	if (end > offset) {
		end = offset;
	}
	if (end <= size) {
		return NV_OK;
	}
	status = nv_data_zero_part(volume, id, size, end - size);
	if (status != NV_OK) {
		return status;
	}
	return mark_tail(volume, id, size);
}

/*
 * Streams of new data are written out as they go: the next commit, for
 * whichever file, has to wait for what it is the first to show.
 */
static void note_behind(struct nv_volume *volume, struct nv_slot *slot,
			uint64_t place, uint64_t length)
{
	struct nv_io *io = volume->io;

	if (slot->behind_length > 0 &&
	    slot->behind_start + slot->behind_length == place) {
		slot->behind_length += length;
	} else {
		slot->behind_start = place;
		slot->behind_length = length;
	}
	if (slot->behind_length >= WRITE_BEHIND) {
		io->ops->write_behind(io, slot->behind_start,
				      slot->behind_length);
		slot->behind_length = 0;
	}
}

/* ---- finishing a piece ---- */

/* What an operation at the end of a piece stores into the inode. */
static void note_written(struct nv_disk_inode *inode, uint64_t end,
			 uint64_t time)
{
	if (end > inode->size) {
		inode->size = end;
	}
	if (time != 0) {
		inode->last_write_time = time;
		inode->change_time = time;
	}
}

/* blocks of data were written from block on; 0: none that the end of file did
 * not cover. */
static enum nv_status finish_in_place(struct nv_volume *volume, nv_file_id id,
				      uint64_t block, uint64_t blocks,
				      uint64_t end, uint64_t time)
{
	struct nv_disk_inode *inode = NULL;
	struct nv_operation operation;
	uint64_t ino = NV_FILE_INO(id);
	enum nv_status status;

	status = nv_operation_begin(volume, &operation, &ino, 1, 1, 0);
	if (status != NV_OK) {
		return status;
	}
	status = nv_inode_modify(&operation, id, &inode);
	if (status == NV_OK) {
		if (end > inode->size && blocks > 0) {
			/* Shown from this group on (I9). */
			nv_bits_written(volume, block, blocks,
					operation.group);
		}
		note_written(inode, end, time);
	}
	return nv_operation_finish(&operation, status);
}

static enum nv_status finish_converted(struct nv_volume *volume,
				       nv_file_id id, uint64_t first,
				       uint64_t blocks, uint64_t end,
				       uint64_t time)
{
	struct nv_disk_inode *inode = NULL;
	struct nv_operation operation;
	uint64_t ino = NV_FILE_INO(id);
	enum nv_status status;
	uint64_t next = 0;

	status = nv_operation_begin(volume, &operation, &ino, 1,
				    NV_EXTENT_PAGES, 0);
	if (status != NV_OK) {
		return status;
	}
	status = nv_extent_change(&operation, id, first, first + blocks,
				  NV_EXTENT_TO_WRITTEN, &next);
	if (status == NV_OK && next != first + blocks) {
		status = NV_ERR_CORRUPT;
	}
	if (status == NV_OK) {
		status = nv_inode_modify(&operation, id, &inode);
	}
	if (status == NV_OK) {
		note_written(inode, end, time);
	}
	return nv_operation_finish(&operation, status);
}

static enum nv_status finish_linked(struct nv_volume *volume,
				    struct nv_slot *slot, nv_file_id id,
				    const struct nv_disk_extent *extent,
				    uint64_t end, uint64_t time)
{
	struct nv_disk_inode *inode = NULL;
	struct nv_operation operation;
	uint64_t ino = NV_FILE_INO(id);
	enum nv_status status;

	status = nv_operation_begin(volume, &operation, &ino, 1,
				    NV_EXTENT_PAGES, 0);
	if (status != NV_OK) {
		return status;
	}
	status = nv_extent_link(&operation, id, extent);
	if (status == NV_OK) {
		status = nv_inode_modify(&operation, id, &inode);
	}
	if (status == NV_OK) {
		note_written(inode, end, time);
		nv_window_linked(slot);
	}
	return nv_operation_finish(&operation, status);
}

/*
 * Write whole blocks from place on, so that [skip, skip + length) of them is
 * the caller's and the rest is zeros.
 */
static enum nv_status put_whole(struct nv_volume *volume, uint64_t place,
				uint32_t skip, const uint8_t *buffer,
				size_t length)
{
	uint8_t block[NV_BLOCK_SIZE];
	enum nv_status status;
	size_t part;

	if (skip > 0 || length < NV_BLOCK_SIZE) {
		part = NV_BLOCK_SIZE - skip;
		part = part < length ? part : length;
		memset(block, 0, sizeof(block));
		memcpy(block + skip, buffer, part);
		status = put(volume, block, NV_BLOCK_SIZE, place);
		if (status != NV_OK) {
			return status;
		}
		buffer += part;
		length -= part;
		place += NV_BLOCK_SIZE;
	}
	part = length & ~(size_t)(NV_BLOCK_SIZE - 1);
	status = put(volume, buffer, part, place);
	if (status != NV_OK) {
		return status;
	}
	buffer += part;
	length -= part;
	place += part;
	if (length == 0) {
		return NV_OK;
	}
	memset(block, 0, sizeof(block));
	memcpy(block, buffer, length);
	return put(volume, block, NV_BLOCK_SIZE, place);
}

/* ---- inline data ---- */

static enum nv_status write_inline(struct nv_volume *volume, nv_file_id id,
				   uint64_t offset, const void *buffer,
				   size_t length, uint64_t time)
{
	uint32_t inode_size = nv_inode_size(volume);
	struct nv_disk_inode *inode = NULL;
	struct nv_operation operation;
	uint64_t ino = NV_FILE_INO(id);
	uint64_t end = offset + length;
	enum nv_status status;
	uint32_t present = 0;
	uint8_t *bytes = NULL;

	status = nv_operation_begin(volume, &operation, &ino, 1, 1, 0);
	if (status != NV_OK) {
		return status;
	}
	status = nv_inode_modify(&operation, id, &inode);
	if (status != NV_OK) {
		goto done;
	}
	if (end < inode->size) {
		end = inode->size;
	}
	if (!nv_item_set(inode, inode_size, NV_ITEM_DATA, NULL,
			 (uint32_t)end)) {
		/* An EA took the room meanwhile. */
		status = NV_ERR_RETRY;
		goto done;
	}
	bytes = (uint8_t *)nv_item_find(inode, inode_size, NV_ITEM_DATA,
					&present);
	memcpy(bytes + offset, buffer, length);
	inode->data_form = NV_DATA_INLINE;
	note_written(inode, end, time);
done:
	return nv_operation_finish(&operation, status);
}

enum nv_status nv_data_spill(struct nv_volume *volume, nv_file_id id)
{
	uint32_t inode_size = nv_inode_size(volume);
	uint8_t buffer[NV_BLOCK_SIZE] = {0};
	struct nv_disk_extent extent = {.length = 1};
	struct nv_disk_inode *inode = NULL;
	struct nv_operation operation;
	struct nv_slot *slot = NULL;
	uint64_t ino = NV_FILE_INO(id);
	enum nv_status status;
	uint32_t count = 0;
	size_t done = 0;

	/* The data lock keeps the content as it is. */
	status = nv_read(volume, id, 0, buffer, sizeof(buffer), &done);
	if (status != NV_OK) {
		return status;
	}
	status = nv_slot_get(volume, &slot);
	if (status != NV_OK) {
		return status;
	}
	status = nv_window_take(volume, slot, id, 0, 1, &extent.block, &count);
	if (status != NV_OK) {
		return status;
	}
	status = put(volume, buffer, sizeof(buffer),
		     extent.block << NV_BLOCK_SHIFT);
	if (status != NV_OK) {
		goto give_back;
	}
	status = nv_operation_begin(volume, &operation, &ino, 1,
				    NV_EXTENT_PAGES, 0);
	if (status != NV_OK) {
		goto give_back;
	}
	status = nv_inode_modify(&operation, id, &inode);
	if (status == NV_OK && inode->data_form != NV_DATA_INLINE) {
		status = NV_ERR_RETRY;
	}
	if (status == NV_OK) {
		nv_item_set(inode, inode_size, NV_ITEM_DATA, NULL, 0);
		inode->data_form = NV_DATA_NONE;
		status = nv_extent_link(&operation, id, &extent);
	}
	if (status == NV_OK) {
		nv_window_linked(slot);
	}
	status = nv_operation_finish(&operation, status);
	if (status == NV_OK) {
		return NV_OK;
	}
give_back:
	nv_window_return(volume, slot);
	return status;
}

/* ---- pieces under the data lock ---- */

/* The block behind the one that holds what is before logical; 0: none. */
static uint64_t goal_for(struct nv_volume *volume, nv_file_id id,
			 uint32_t logical)
{
	struct nv_disk_extent extent;

	if (logical == 0 ||
	    nv_data_seek(volume, id, logical - 1, &extent) != NV_OK ||
	    extent.length == 0 || extent.logical > logical - 1) {
		return 0;
	}
	return extent.block + (logical - extent.logical);
}

static enum nv_status write_hole(struct nv_volume *volume,
				 struct nv_slot *slot, nv_file_id id,
				 uint64_t offset, const uint8_t *buffer,
				 size_t *length, uint64_t limit,
				 uint64_t time)
{
	uint64_t first = offset >> NV_BLOCK_SHIFT;
	uint32_t skip = (uint32_t)(offset & (NV_BLOCK_SIZE - 1));
	uint64_t blocks = (skip + *length + NV_BLOCK_SIZE - 1) >>
		NV_BLOCK_SHIFT;
	struct nv_disk_extent extent = {.logical = (uint32_t)first};
	enum nv_status status;
	uint32_t count = 0;
	uint64_t room;

	if (blocks > limit) {
		blocks = limit;
	}
	if (blocks > PIECE_BLOCKS) {
		blocks = PIECE_BLOCKS;
	}
	status = nv_window_take(volume, slot, id,
				goal_for(volume, id, extent.logical),
				(uint32_t)blocks, &extent.block, &count);
	if (status != NV_OK) {
		return status;
	}
	extent.length = count;
	room = ((uint64_t)count << NV_BLOCK_SHIFT) - skip;
	if (*length > room) {
		*length = room;
	}
	status = put_whole(volume, extent.block << NV_BLOCK_SHIFT, skip,
			   buffer, *length);
	if (status == NV_OK) {
		note_behind(volume, slot, (extent.block << NV_BLOCK_SHIFT) +
			    skip, *length);
		NV_KILL_POINT("data: written, not linked");
		status = finish_linked(volume, slot, id, &extent,
				       offset + *length, time);
	}
	if (status != NV_OK) {
		nv_window_return(volume, slot);
	}
	return status;
}

static enum nv_status write_extent(struct nv_volume *volume,
				   struct nv_slot *slot, nv_file_id id,
				   uint64_t offset, const uint8_t *buffer,
				   size_t *length,
				   const struct nv_disk_extent *extent,
				   uint64_t time)
{
	bool unwritten = (extent->length & NV_EXTENT_UNWRITTEN) != 0;
	uint64_t first = offset >> NV_BLOCK_SHIFT;
	uint32_t skip = (uint32_t)(offset & (NV_BLOCK_SIZE - 1));
	uint64_t blocks = nv_extent_end(extent) - first;
	uint64_t place = (extent->block + (first - extent->logical)) <<
		NV_BLOCK_SHIFT;
	enum nv_status status;
	uint64_t room;

	if (blocks > PIECE_BLOCKS) {
		blocks = PIECE_BLOCKS;
	}
	room = (blocks << NV_BLOCK_SHIFT) - skip;
	if (*length > room) {
		*length = room;
	}
	if (!unwritten) {
		status = put(volume, buffer, *length, place + skip);
		if (status != NV_OK) {
			return status;
		}
		note_behind(volume, slot, place + skip, *length);
		blocks = (skip + *length + NV_BLOCK_SIZE - 1) >>
			NV_BLOCK_SHIFT;
		return finish_in_place(volume, id, place >> NV_BLOCK_SHIFT,
				       blocks, offset + *length, time);
	}
	status = put_whole(volume, place, skip, buffer, *length);
	if (status != NV_OK) {
		return status;
	}
	note_behind(volume, slot, place + skip, *length);
	blocks = (skip + *length + NV_BLOCK_SIZE - 1) >> NV_BLOCK_SHIFT;
	return finish_converted(volume, id, first, blocks, offset + *length,
				time);
}

/* One piece, or a step on the way to it (*length 0). */
static enum nv_status write_piece(struct nv_volume *volume,
				  struct nv_slot *slot, nv_file_id id,
				  uint64_t offset, const uint8_t *buffer,
				  size_t *length, uint64_t time)
{
	uint32_t logical = (uint32_t)(offset >> NV_BLOCK_SHIFT);
	struct nv_data_state state = {0};
	struct nv_disk_extent extent;
	enum nv_status status;
	uint64_t limit;

	status = nv_data_look(volume, id, &state);
	if (status != NV_OK) {
		return status;
	}
	if (state.form == NV_DATA_INLINE ||
	    (state.form == NV_DATA_NONE && state.size <= state.inline_room)) {
		if (offset + *length <= state.inline_room) {
			status = write_inline(volume, id, offset, buffer,
					      *length, time);
			if (status != NV_ERR_RETRY) {
				return status;
			}
		}
	}
	if (state.form == NV_DATA_INLINE) {
		*length = 0;
		return nv_data_spill(volume, id);
	}
	if (offset > state.size) {
		status = nv_data_zero_tail(volume, id, state.size, offset);
		if (status != NV_OK) {
			return status;
		}
	}
	status = nv_data_seek(volume, id, logical, &extent);
	if (status != NV_OK) {
		return status;
	}
	if (extent.length != 0 && extent.logical <= logical) {
		return write_extent(volume, slot, id, offset, buffer, length,
				    &extent, time);
	}
	limit = UINT32_MAX;
	if (extent.length != 0) {
		limit = extent.logical - logical;
	}
	return write_hole(volume, slot, id, offset, buffer, length, limit,
			  time);
}

static enum nv_status write_locked(struct nv_volume *volume,
				   struct nv_slot *slot, nv_file_id id,
				   uint64_t offset, const uint8_t *buffer,
				   size_t length, uint64_t time)
{
	enum nv_status status = NV_OK;
	size_t done = 0;

	nv_data_lock(volume, NV_FILE_INO(id));
	while (done < length && (status == NV_OK || status == NV_ERR_RETRY)) {
		size_t part = length - done;

		status = write_piece(volume, slot, id, offset + done,
				     buffer + done, &part, time);
		if (status == NV_OK) {
			done += part;
		}
	}
	nv_data_unlock(volume, NV_FILE_INO(id));
	return status;
}

/* ---- over what is there ---- */

/* Pieces of the range, if all of it is written and inside the file. */
static enum nv_status map_overwrite(struct nv_volume *volume, nv_file_id id,
				    uint64_t offset, size_t length,
				    struct nv_piece *piece, uint32_t *count)
{
	const struct nv_disk_inode *inode = NULL;
	uint64_t end = offset + length;
	struct nv_disk_extent extent;
	enum nv_status status;
	uint32_t found = 0;

	status = nv_inode_read(volume, id, &inode);
	if (status != NV_OK) {
		return status;
	}
	if (inode->type == NV_TYPE_DIRECTORY) {
		return NV_ERR_IS_DIRECTORY;
	}
	if (end > inode->size || inode->data_form == NV_DATA_INLINE) {
		return NV_ERR_RETRY;
	}
	while (offset < end) {
		uint32_t logical = (uint32_t)(offset >> NV_BLOCK_SHIFT);
		uint64_t start;
		uint64_t stop;

		status = nv_extent_seek(volume, inode, logical, &extent);
		if (status == NV_ERR_NOT_FOUND || found == NV_PIECES) {
			return NV_ERR_RETRY;
		}
		if (status != NV_OK) {
			return status;
		}
		if (extent.logical > logical ||
		    (extent.length & NV_EXTENT_UNWRITTEN) != 0) {
			return NV_ERR_RETRY;
		}
		start = (uint64_t)extent.logical << NV_BLOCK_SHIFT;
		stop = nv_extent_end(&extent) << NV_BLOCK_SHIFT;
		stop = stop < end ? stop : end;
		piece[found].offset = offset;
		piece[found].length = stop - offset;
		piece[found].place = (extent.block << NV_BLOCK_SHIFT) +
			(offset - start);
		found++;
		offset = stop;
	}
	*count = found;
	return NV_OK;
}

/* NV_ERR_RETRY: not all of it is there. */
static enum nv_status overwrite(struct nv_volume *volume,
				struct nv_slot *slot, nv_file_id id,
				uint64_t offset, const uint8_t *buffer,
				size_t length)
{
	struct nv_piece piece[NV_PIECES];
	struct nv_reader reader;
	enum nv_status status;
	uint32_t count = 0;
	uint32_t i;

	/* Blocks found from here on stay the file's (I8). */
	nv_transfer_begin(volume, slot);
	status = nv_read_begin(volume, NV_FILE_INO(id), &reader);
	if (status != NV_OK) {
		nv_transfer_end(slot);
		return status;
	}
	do {
		status = map_overwrite(volume, id, offset, length, piece,
				       &count);
	} while (nv_read_again(&reader));
	for (i = 0; status == NV_OK && i < count; i++) {
		status = put(volume, buffer, piece[i].length, piece[i].place);
		buffer += piece[i].length;
	}
	nv_transfer_end(slot);
	return status;
}

enum nv_status nv_write(struct nv_volume *volume, nv_file_id id,
			uint64_t offset, const void *buffer, size_t length,
			uint64_t time)
{
	struct nv_slot *slot = NULL;
	enum nv_status status;

	if (offset > NV_MAX_FILE_SIZE || length > NV_MAX_FILE_SIZE - offset) {
		return NV_ERR_TOO_LARGE;
	}
	if ((volume->flags & NV_ATTACH_READ_ONLY) != 0) {
		return NV_ERR_READ_ONLY;
	}
	if (nv_is_withdrawn(volume)) {
		return NV_ERR_WITHDRAWN;
	}
	status = nv_slot_get(volume, &slot);
	if (status != NV_OK) {
		return status;
	}
	status = overwrite(volume, slot, id, offset, buffer, length);
	if (status == NV_ERR_RETRY) {
		return write_locked(volume, slot, id, offset, buffer, length,
				    time);
	}
	if (status != NV_OK || time == 0) {
		return status;
	}
	return finish_in_place(volume, id, 0, 0, 0, time);
}
