/*
 * Commit: getting things to the disk, in order.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A flush of the image writes everything that is dirty in it, every client's
 * data included. A commit for the sake of one file hands over only what its
 * root shows: the metadata zone, and data blocks that this group has made part
 * of a file. Everything else may stay in memory, because the root shows nothing
 * of it that was not there before.
 */

#include <string.h>
#include "volume.h"

static enum nv_status failed(struct nv_volume *volume, const char *what,
			     int error)
{
	return nv_withdraw(volume, NV_ERR_IO,
			   "%s failed: %s; detach everywhere, look after the "
			   "disk, attach again", what, strerror(error));
}

enum nv_status nv_sync_all(struct nv_volume *volume)
{
	struct nv_io *io = volume->io;
	int ret;

	if (nv_is_withdrawn(volume)) {
		return NV_ERR_WITHDRAWN;
	}
	ret = io->ops->flush(io);
	if (ret != 0) {
		return failed(volume, "flush", ret);
	}
	atomic_fetch_add(&volume->segment->flushes, 1);
	return NV_OK;
}

enum nv_status nv_sync_barrier(struct nv_volume *volume)
{
	struct nv_io *io = volume->io;
	int ret;

	if (nv_is_withdrawn(volume)) {
		return NV_ERR_WITHDRAWN;
	}
	ret = io->ops->barrier(io);
	if (ret != 0) {
		return failed(volume, "flush", ret);
	}
	atomic_fetch_add(&volume->segment->flushes, 1);
	return NV_OK;
}

static enum nv_status sync_blocks(struct nv_volume *volume, uint64_t first,
				  uint64_t count)
{
	struct nv_io *io = volume->io;
	int ret;

	ret = io->ops->sync_range(io, first << NV_BLOCK_SHIFT,
				  count << NV_BLOCK_SHIFT);
	if (ret != 0) {
		return failed(volume, "writing out", ret);
	}
	return NV_OK;
}

/* Every run of set bits in one page of the bitmap of written blocks. */
static enum nv_status sync_written_page(struct nv_volume *volume,
					_Atomic uint64_t *bits, uint64_t page)
{
	uint64_t block = page * NV_BITS_PER_PAGE;
	uint64_t end = block + NV_BITS_PER_PAGE;
	enum nv_status status;
	uint64_t start = 0;
	uint64_t count = 0;

	for (; block < end; block++) {
		uint64_t word = atomic_load_explicit(&bits[block >> 6],
						     memory_order_relaxed);

		if ((block & 63) == 0 && word == 0 && count == 0) {
			block += 63;
			continue;
		}
		if (((word >> (block & 63)) & 1) != 0) {
			start = count == 0 ? block : start;
			count++;
			continue;
		}
		if (count > 0) {
			status = sync_blocks(volume, start, count);
			if (status != NV_OK) {
				return status;
			}
			count = 0;
		}
	}
	if (count == 0) {
		return NV_OK;
	}
	return sync_blocks(volume, start, count);
}

enum nv_status nv_sync_group(struct nv_volume *volume, uint64_t group)
{
	uint32_t written = NV_WRITTEN_EVEN + (uint32_t)(group & 1);
	_Atomic uint8_t *dirty = nv_bits_dirty(volume, written, group);
	uint64_t pages = nv_bitmap_pages(volume, written);
	enum nv_status status;
	uint64_t page;

	/* What a rolled-back operation has marked is written out needlessly,
	 * and harmlessly. */
	for (page = 0; page < pages; page++) {
		if (atomic_load(&dirty[page]) == 0) {
			continue;
		}
		status = sync_written_page(volume, nv_bits(volume, written),
					   page);
		if (status != NV_OK) {
			return status;
		}
	}
	status = sync_blocks(volume, NV_FIRST_BLOCK,
			     nv_metadata_zone(volume) - NV_FIRST_BLOCK);
	if (status != NV_OK) {
		return status;
	}
	return nv_sync_barrier(volume);
}

enum nv_status nv_sync_root(struct nv_volume *volume,
			    struct nv_disk_root *root)
{
	uint64_t block = NV_ROOT_BLOCK_0 + (root->sequence & 1);
	enum nv_status status;

	if (nv_is_withdrawn(volume)) {
		return NV_ERR_WITHDRAWN;
	}
	/*
	 * By a store, as all metadata: pwrite would wait for whoever is
	 * writing data into the image. Torn, it is no root (checksum), and the
	 * other one counts.
	 */
	nv_root_seal(root);
	memcpy(nv_block_at(volume, block), root, sizeof(*root));
	NV_KILL_POINT("commit: root written, not flushed");
	status = sync_blocks(volume, block, 1);
	if (status != NV_OK) {
		return status;
	}
	return nv_sync_barrier(volume);
}
