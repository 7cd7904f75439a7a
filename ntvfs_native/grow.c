/*
 * Growing a volume while it is in use.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every process has mapped the image with room behind it, so nothing has to
 * be mapped again. The new size is part of the next root.
 */

#include "volume.h"

enum nv_status nv_volume_grow(struct nv_volume *volume)
{
	struct nv_segment *segment = volume->segment;
	struct nv_io *io = volume->io;
	enum nv_status status;
	uint64_t blocks;

	if ((volume->flags & NV_ATTACH_READ_ONLY) != 0) {
		return NV_ERR_READ_ONLY;
	}
	if (io->ops->refresh(io) != 0) {
		return NV_ERR_IO;
	}
	blocks = io->size >> NV_BLOCK_SHIFT;
	if (blocks > volume->layout.max_blocks) {
		blocks = volume->layout.max_blocks;
	}
	nv_commit_lock(volume);
	if (blocks <= atomic_load(&segment->total_blocks)) {
		nv_commit_unlock(volume);
		return NV_OK;
	}
	status = nv_blocks_back(volume, blocks);
	if (status == NV_OK) {
		/*
		 * Blocks behind the old end can be claimed from here on. The
		 * few that the last word of the bitmap kept back come when
		 * the claimed bitmap is rebuilt.
		 */
		atomic_store(&segment->total_blocks, blocks);
		atomic_store(&segment->heal_wanted, 1);
	}
	nv_commit_unlock(volume);
	if (status != NV_OK) {
		return status;
	}
	return nv_volume_commit(volume);
}
