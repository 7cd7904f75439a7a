/*
 * End of file, allocation, holes.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <string.h>
#include "data.h"
#include "volume.h"
#include "window.h"

#define ALLOCATION_PIECE 8192	/* blocks */

static uint64_t blocks_for(uint64_t bytes)
{
	return (bytes + NV_BLOCK_SIZE - 1) >> NV_BLOCK_SHIFT;
}

static void note_time(struct nv_disk_inode *inode, uint64_t time)
{
	if (time != 0) {
		inode->last_write_time = time;
		inode->change_time = time;
	}
}

enum nv_status nv_data_change_range(struct nv_volume *volume, nv_file_id id,
				    uint64_t first, uint64_t end,
				    enum nv_extent_change change)
{
	struct nv_operation operation;
	uint64_t ino = NV_FILE_INO(id);
	enum nv_status status = NV_OK;
	uint32_t flags = change == NV_EXTENT_REMOVE ? NV_OP_FREES : 0;

	while (status == NV_OK && first < end) {
		status = nv_operation_begin(volume, &operation, &ino, 1,
					    NV_EXTENT_PAGES, flags);
		if (status != NV_OK) {
			return status;
		}
		status = nv_extent_change(&operation, id, first, end, change,
					  &first);
		status = nv_operation_finish(&operation, status);
	}
	return status;
}

/* ---- end of file ---- */

/* A longer file, or a shorter one whose data is inside the inode. */
static enum nv_status store_size(struct nv_volume *volume, nv_file_id id,
				 uint64_t size, uint64_t time)
{
	uint32_t inode_size = nv_inode_size(volume);
	struct nv_disk_inode *inode = NULL;
	struct nv_operation operation;
	uint64_t ino = NV_FILE_INO(id);
	enum nv_status status;

	status = nv_operation_begin(volume, &operation, &ino, 1, 1,
				    NV_OP_FREES);
	if (status != NV_OK) {
		return status;
	}
	status = nv_inode_modify(&operation, id, &inode);
	if (status != NV_OK) {
		goto done;
	}
	if (inode->data_form == NV_DATA_INLINE) {
		if (size > UINT16_MAX ||
		    !nv_item_set(inode, inode_size, NV_ITEM_DATA, NULL,
				 (uint32_t)size)) {
			status = NV_ERR_RETRY;
			goto done;
		}
		if (size == 0) {
			inode->data_form = NV_DATA_NONE;
		}
	}
	inode->size = size;
	note_time(inode, time);
done:
	return nv_operation_finish(&operation, status);
}

static enum nv_status extend(struct nv_volume *volume, nv_file_id id,
			     const struct nv_data_state *state, uint64_t size,
			     uint64_t time)
{
	enum nv_status status;

	status = nv_data_zero_tail(volume, id, state->size, size);
	if (status != NV_OK) {
		return status;
	}
	status = store_size(volume, id, size, time);
	if (status == NV_ERR_RETRY) {
		status = nv_data_spill(volume, id);
		if (status == NV_OK) {
			status = nv_data_zero_tail(volume, id, state->size,
						   size);
		}
		if (status == NV_OK) {
			status = store_size(volume, id, size, time);
		}
	}
	return status;
}

/* Set or clear the mark that attach looks for. */
static enum nv_status mark_unfinished(struct nv_operation *operation,
				      struct nv_disk_inode *inode, bool value)
{
	bool present = (inode->flags & NV_INODE_ORPHAN) != 0;

	if (present == value) {
		return NV_OK;
	}
	inode->flags ^= NV_INODE_ORPHAN;
	return nv_bits_change(operation, NV_BITMAP_ORPHANS,
			      NV_FILE_INO(inode->file_id), 1, value);
}

/* The first operation of a truncation: the new size, and some blocks. */
static enum nv_status begin_cut(struct nv_volume *volume, nv_file_id id,
				uint64_t size, uint64_t time, uint64_t *next)
{
	struct nv_disk_inode *inode = NULL;
	struct nv_operation operation;
	uint64_t ino = NV_FILE_INO(id);
	enum nv_status status;

	status = nv_operation_begin(volume, &operation, &ino, 1,
				    NV_EXTENT_PAGES, NV_OP_FREES);
	if (status != NV_OK) {
		return status;
	}
	status = nv_extent_change(&operation, id, blocks_for(size),
				  NV_MAX_FILE_BLOCKS, NV_EXTENT_REMOVE, next);
	if (status == NV_OK) {
		status = nv_inode_modify(&operation, id, &inode);
	}
	if (status == NV_OK) {
		inode->size = size;
		note_time(inode, time);
		if (*next < NV_MAX_FILE_BLOCKS) {
			status = mark_unfinished(&operation, inode, true);
		}
	}
	return nv_operation_finish(&operation, status);
}

enum nv_status nv_data_finish_cut(struct nv_volume *volume, nv_file_id id,
				  uint64_t first)
{
	struct nv_disk_inode *inode = NULL;
	struct nv_operation operation;
	uint64_t ino = NV_FILE_INO(id);
	enum nv_status status;

	status = nv_data_change_range(volume, id, first, NV_MAX_FILE_BLOCKS,
				      NV_EXTENT_REMOVE);
	if (status != NV_OK) {
		return status;
	}
	status = nv_operation_begin(volume, &operation, &ino, 1, 1,
				    NV_OP_FREES);
	if (status != NV_OK) {
		return status;
	}
	status = nv_inode_modify(&operation, id, &inode);
	if (status == NV_OK && inode->nlink > 0) {
		status = mark_unfinished(&operation, inode, false);
	}
	return nv_operation_finish(&operation, status);
}

static enum nv_status cut_off(struct nv_volume *volume, nv_file_id id,
			      uint64_t size, uint64_t time)
{
	enum nv_status status;
	uint64_t next = 0;

	status = begin_cut(volume, id, size, time, &next);
	if (status != NV_OK || next >= NV_MAX_FILE_BLOCKS) {
		return status;
	}
	NV_KILL_POINT("data: cut off, blocks left");
	return nv_data_finish_cut(volume, id, next);
}

enum nv_status nv_set_size(struct nv_volume *volume, nv_file_id id,
			   uint64_t size, uint64_t time)
{
	struct nv_data_state state = {0};
	enum nv_status status;

	if (size > NV_MAX_FILE_SIZE) {
		return NV_ERR_TOO_LARGE;
	}
	nv_data_lock(volume, NV_FILE_INO(id));
	status = nv_data_look(volume, id, &state);
	if (status != NV_OK) {
		goto done;
	}
	if (size > state.size) {
		status = extend(volume, id, &state, size, time);
	} else if (state.form == NV_DATA_INLINE || size == state.size) {
		status = store_size(volume, id, size, time);
	} else {
		status = cut_off(volume, id, size, time);
	}
done:
	nv_data_unlock(volume, NV_FILE_INO(id));
	return status;
}

/* ---- allocation ---- */

static enum nv_status link_unwritten(struct nv_volume *volume,
				     struct nv_slot *slot, nv_file_id id,
				     const struct nv_disk_extent *extent)
{
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
		nv_window_linked(slot);
	}
	return nv_operation_finish(&operation, status);
}

/* Fill the hole [first, end), or the front of it. */
static enum nv_status fill_hole(struct nv_volume *volume,
				struct nv_slot *slot, nv_file_id id,
				uint64_t first, uint64_t end, uint64_t goal,
				uint64_t *next)
{
	struct nv_disk_extent extent = {.logical = (uint32_t)first};
	enum nv_status status;
	uint64_t want = end - first;
	uint32_t count = 0;

	if (want > ALLOCATION_PIECE) {
		want = ALLOCATION_PIECE;
	}
	status = nv_window_take(volume, slot, id, goal, (uint32_t)want,
				&extent.block, &count);
	if (status != NV_OK) {
		return status;
	}
	extent.length = count | NV_EXTENT_UNWRITTEN;
	status = link_unwritten(volume, slot, id, &extent);
	if (status != NV_OK) {
		nv_window_return(volume, slot);
		return status;
	}
	*next = first + count;
	return NV_OK;
}

static enum nv_status allocate_range(struct nv_volume *volume, nv_file_id id,
				     uint64_t first, uint64_t end)
{
	struct nv_disk_extent extent;
	struct nv_slot *slot = NULL;
	enum nv_status status;
	uint64_t goal = 0;

	status = nv_slot_get(volume, &slot);
	while (status == NV_OK && first < end) {
		uint64_t stop = end;

		status = nv_data_seek(volume, id, (uint32_t)first, &extent);
		if (status != NV_OK) {
			return status;
		}
		if (extent.length != 0 && extent.logical <= first) {
			first = nv_extent_end(&extent);
			goal = extent.block + nv_extent_length(&extent);
			continue;
		}
		if (extent.length != 0 && extent.logical < stop) {
			stop = extent.logical;
		}
		status = fill_hole(volume, slot, id, first, stop, goal,
				   &first);
	}
	return status;
}

enum nv_status nv_set_allocation(struct nv_volume *volume, nv_file_id id,
				 uint64_t allocation)
{
	struct nv_data_state state = {0};
	enum nv_status status;
	uint64_t end;

	if (allocation > NV_MAX_FILE_SIZE) {
		return NV_ERR_TOO_LARGE;
	}
	end = blocks_for(allocation);
	nv_data_lock(volume, NV_FILE_INO(id));
	status = nv_data_look(volume, id, &state);
	if (status != NV_OK) {
		goto done;
	}
	if (allocation < state.size) {
		status = NV_ERR_INVALID;
		goto done;
	}
	if (state.form == NV_DATA_INLINE) {
		if (allocation <= state.inline_room) {
			goto done;
		}
		status = nv_data_spill(volume, id);
		if (status != NV_OK) {
			goto done;
		}
	}
	if (state.allocation > end << NV_BLOCK_SHIFT) {
		status = nv_data_change_range(volume, id, end,
					      NV_MAX_FILE_BLOCKS,
					      NV_EXTENT_REMOVE);
	} else {
		status = allocate_range(volume, id, blocks_for(state.size),
					end);
	}
done:
	nv_data_unlock(volume, NV_FILE_INO(id));
	return status;
}

/* ---- holes and zeros ---- */

/* The last operation of a range change; zeros inline data, too. */
static enum nv_status zero_inline(struct nv_volume *volume, nv_file_id id,
				  uint64_t offset, uint64_t end,
				  uint64_t time)
{
	struct nv_disk_inode *inode = NULL;
	struct nv_operation operation;
	uint64_t ino = NV_FILE_INO(id);
	enum nv_status status;
	uint32_t present = 0;
	uint8_t *bytes = NULL;

	status = nv_operation_begin(volume, &operation, &ino, 1, 1,
				    NV_OP_FREES);
	if (status != NV_OK) {
		return status;
	}
	status = nv_inode_modify(&operation, id, &inode);
	if (status != NV_OK) {
		goto done;
	}
	note_time(inode, time);
	bytes = (uint8_t *)nv_item_find(inode, nv_inode_size(volume),
					NV_ITEM_DATA, &present);
	if (bytes != NULL && offset < present) {
		end = end < present ? end : present;
		memset(bytes + offset, 0, end - offset);
	}
done:
	return nv_operation_finish(&operation, status);
}

static enum nv_status zero_blocks(struct nv_volume *volume, nv_file_id id,
				  uint64_t offset, uint64_t end,
				  enum nv_extent_change change)
{
	const uint64_t mask = NV_BLOCK_SIZE - 1;
	uint64_t first = (offset + mask) & ~mask;
	uint64_t last = end & ~mask;
	enum nv_status status;

	if (first > last) {
		/* All inside one block. */
		return nv_data_zero_part(volume, id, offset, end - offset);
	}
	status = nv_data_zero_part(volume, id, offset, first - offset);
	if (status == NV_OK) {
		status = nv_data_zero_part(volume, id, last, end - last);
	}
	if (status != NV_OK) {
		return status;
	}
	return nv_data_change_range(volume, id, first >> NV_BLOCK_SHIFT,
				    last >> NV_BLOCK_SHIFT, change);
}

static enum nv_status zero_bytes(struct nv_volume *volume, nv_file_id id,
				 uint64_t offset, uint64_t length,
				 uint64_t time, enum nv_extent_change change)
{
	struct nv_data_state state = {0};
	enum nv_status status;
	uint64_t end;

	if (offset >= NV_MAX_FILE_SIZE) {
		return NV_OK;
	}
	end = length < NV_MAX_FILE_SIZE - offset ? offset + length :
		NV_MAX_FILE_SIZE;
	nv_data_lock(volume, NV_FILE_INO(id));
	status = nv_data_look(volume, id, &state);
	if (status == NV_OK && state.form != NV_DATA_INLINE) {
		status = zero_blocks(volume, id, offset, end, change);
	}
	if (status == NV_OK) {
		status = zero_inline(volume, id, offset, end, time);
	}
	nv_data_unlock(volume, NV_FILE_INO(id));
	return status;
}

enum nv_status nv_punch(struct nv_volume *volume, nv_file_id id,
			uint64_t offset, uint64_t length, uint64_t time)
{
	return zero_bytes(volume, id, offset, length, time, NV_EXTENT_REMOVE);
}

enum nv_status nv_zero_range(struct nv_volume *volume, nv_file_id id,
			     uint64_t offset, uint64_t length, uint64_t time)
{
	return zero_bytes(volume, id, offset, length, time,
			  NV_EXTENT_TO_UNWRITTEN);
}

/*
 * Hand the file's data to the disk. A block that is no longer the file's when
 * its turn comes is written out needlessly, and harmlessly.
 */
static enum nv_status sync_data(struct nv_volume *volume, nv_file_id id)
{
	struct nv_io *io = volume->io;
	struct nv_disk_extent extent;
	enum nv_status status;
	uint64_t logical = 0;
	int ret;

	while (logical < NV_MAX_FILE_BLOCKS) {
		status = nv_data_seek(volume, id, (uint32_t)logical, &extent);
		if (status != NV_OK || extent.length == 0) {
			return status;
		}
		logical = nv_extent_end(&extent);
		if ((extent.length & NV_EXTENT_UNWRITTEN) != 0) {
			continue;
		}
		ret = io->ops->sync_range(io, extent.block << NV_BLOCK_SHIFT,
					  (uint64_t)nv_extent_length(&extent)
					  << NV_BLOCK_SHIFT);
		if (ret != 0) {
			return nv_withdraw(volume, NV_ERR_IO,
					   "writing out failed: %s; detach "
					   "everywhere, look after the disk, "
					   "attach again", strerror(ret));
		}
	}
	return NV_OK;
}

enum nv_status nv_file_flush(struct nv_volume *volume, nv_file_id id)
{
	struct nv_data_state state = {0};
	enum nv_status status;

	if ((volume->flags & NV_ATTACH_READ_ONLY) != 0) {
		return NV_OK;
	}
	status = nv_data_look(volume, id, &state);
	if (status == NV_OK) {
		status = sync_data(volume, id);
	} else if (status == NV_ERR_IS_DIRECTORY) {
		status = NV_OK;
	}
	if (status != NV_OK) {
		return status;
	}
	/* The group is asked for after the data was handed over: the barrier
	 * of its commit, or of a later one, comes after that. */
	return nv_commit_group(volume,
			       atomic_load(&volume->segment->open_group),
			       NV_STATE_ATTACHED);
}
