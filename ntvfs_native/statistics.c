/*
 * Numbers of a volume, and its upcase table.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <string.h>
#include "volume.h"

enum nv_status nv_volume_statistics(struct nv_volume *volume,
				    struct nv_volume_statistics *statistics)
{
	struct nv_segment *segment = volume->segment;
	uint32_t limit = atomic_load(&segment->slot_limit);
	struct nv_volume_statistics result = {
		.inode_size = volume->inode_size,
		.root_directory = atomic_load(&segment->root_directory),
		.total_blocks = atomic_load(&segment->total_blocks),
		.free_blocks = nv_claim_available(volume, 0),
		.open_group = atomic_load(&segment->open_group),
		.durable_group = atomic_load(&segment->durable_group),
		.commits = atomic_load(&segment->commits),
		.flushes = atomic_load(&segment->flushes),
		.recovered_slots = atomic_load(&segment->recovered_slots),
		.undo_entries_most = atomic_load(&segment->undo_records_most),
		.undo_bytes_most = atomic_load(&segment->undo_bytes_most),
		.withdrawn = atomic_load(&segment->withdrawn) != 0,
	};
	uint32_t i;

	memcpy(result.uuid, volume->super.uuid, 16);
	memcpy(result.label, volume->super.label, sizeof(result.label));
	result.data_blocks = nv_bits_count(volume, NV_BITMAP_BLOCKS,
					   result.total_blocks);
	result.inodes = nv_bits_count(
		volume, NV_BITMAP_INODES,
		nv_bitmap_pages(volume, NV_BITMAP_INODES) * NV_BITS_PER_PAGE);
	/*
	 * Each slot counts its own operations without a lock; a number that
	 * is a little old is harmless here.
	 */
	for (i = 0; i < limit; i++) {
		result.operations += segment->slot[i].operations;
	}
	*statistics = result;
	return NV_OK;
}

const uint16_t *nv_volume_upcase(struct nv_volume *volume)
{
	return volume->upcase;
}

enum nv_status nv_upcase_load(struct nv_volume *volume)
{
	uint32_t page;

	for (page = 0; page < NV_UPCASE_PAGES; page++) {
		const void *content = NULL;
		enum nv_status status;

		status = nv_page_read(volume, NV_PAGE(NV_REGION_SYSTEM,
						      NV_SYSTEM_UPCASE + page),
				      &content);
		if (status == NV_ERR_NOT_FOUND) {
			/* Being formatted. */
			return NV_OK;
		}
		if (status != NV_OK) {
			return status;
		}
		memcpy((uint8_t *)volume->upcase + page * NV_BLOCK_SIZE,
		       content, NV_BLOCK_SIZE);
	}
	return NV_OK;
}
