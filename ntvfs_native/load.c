/*
 * Filling a fresh segment from the newest root.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reads the map nodes and the bitmap pages, nothing else: the time depends on
 * the number of pages, not on what is in them.
 */

#include <stdio.h>
#include <string.h>
#include "volume.h"

static bool block_possible(const struct nv_volume *volume, uint64_t block)
{
	return block >= NV_FIRST_BLOCK &&
		block < atomic_load(&volume->segment->total_blocks);
}

static enum nv_status load_leaf(struct nv_volume *volume, uint32_t region,
				uint64_t index,
				const struct nv_disk_map_node *node)
{
	struct nv_segment *segment = volume->segment;
	uint64_t first = index << NV_MAP_SHIFT;
	uint64_t limit = 0;
	enum nv_status status;
	uint32_t i;

	for (i = 0; i < NV_MAP_FANOUT; i++) {
		if (node->entry[i].block != 0) {
			limit = first + i + 1;
		}
	}
	if (limit == 0) {
		return NV_OK;
	}
	if (limit > volume->layout.pages[region]) {
		return NV_ERR_CORRUPT;
	}
	status = nv_entries_back(volume, region, limit);
	if (status != NV_OK) {
		return status;
	}
	for (i = 0; i < NV_MAP_FANOUT && first + i < limit; i++) {
		struct nv_entry *entry =
			nv_entry_at(volume, NV_PAGE(region, first + i));

		atomic_store_explicit(&entry->current, node->entry[i].block,
				      memory_order_relaxed);
		atomic_store_explicit(&entry->checksum,
				      node->entry[i].checksum,
				      memory_order_relaxed);
	}
	if (limit > atomic_load(&segment->region_limit[region])) {
		atomic_store(&segment->region_limit[region], limit);
	}
	return NV_OK;
}

static enum nv_status load_node(struct nv_volume *volume, uint32_t region,
				uint32_t level, uint64_t index,
				const struct nv_disk_map_entry *place)
{
	const struct nv_disk_map_node *node = NULL;
	enum nv_status status;
	uint64_t first_page;
	uint32_t i;

	if (!block_possible(volume, place->block)) {
		return NV_ERR_CORRUPT;
	}
	first_page = index << (NV_MAP_SHIFT * level);
	if (first_page >= volume->layout.pages[region]) {
		return NV_ERR_CORRUPT;
	}
	node = (const void *)nv_block_at(volume, place->block);
	if (nv_checksum(node, sizeof(*node)) != place->checksum) {
		return NV_ERR_CORRUPT;
	}
	status = nv_entries_back(volume, region, first_page + 1);
	if (status != NV_OK) {
		return status;
	}
	if (level == 1) {
		status = load_leaf(volume, region, index, node);
	} else {
		for (i = 0; i < NV_MAP_FANOUT; i++) {
			if (node->entry[i].block == 0) {
				continue;
			}
			status = load_node(volume, region, level - 1,
					   (index << NV_MAP_SHIFT) + i,
					   &node->entry[i]);
			if (status != NV_OK) {
				return status;
			}
		}
	}
	nv_node_table(volume, region, level)[index] = *place;
	return status;
}

static enum nv_status load_map(struct nv_volume *volume, uint32_t region,
			       const struct nv_disk_map_top *top)
{
	struct nv_disk_map_entry place = {
		.block = top->block,
		.checksum = top->checksum,
	};

	if (top->height == 0) {
		return NV_OK;
	}
	return load_node(volume, region, top->height, 0, &place);
}

static enum nv_status load_bitmap(struct nv_volume *volume, uint32_t bitmap,
				  uint32_t region)
{
	struct nv_segment *segment = volume->segment;
	uint64_t limit = atomic_load(&segment->region_limit[region]);
	uint32_t *count = (uint32_t *)(volume->segment_base +
				       volume->layout.snapshot_count[bitmap]);
	uint64_t i;

	if (limit > nv_bitmap_pages(volume, bitmap)) {
		return NV_ERR_CORRUPT;
	}
	for (i = 0; i < limit; i++) {
		uint8_t *current = (uint8_t *)nv_bits(volume, bitmap);
		uint8_t *snapshot = volume->segment_base +
			volume->layout.snapshot[bitmap];
		const uint64_t *words = NULL;
		const void *content = NULL;
		enum nv_status status;
		uint32_t set = 0;
		uint32_t w;

		status = nv_page_read(volume, NV_PAGE(region, i), &content);
		if (status == NV_ERR_NOT_FOUND) {
			continue;
		}
		if (status != NV_OK) {
			return status;
		}
		words = content;
		for (w = 0; w < NV_BLOCK_SIZE / 8; w++) {
			set += (uint32_t)__builtin_popcountll(words[w]);
		}
		memcpy(current + i * NV_BLOCK_SIZE, content, NV_BLOCK_SIZE);
		memcpy(snapshot + i * NV_BLOCK_SIZE, content, NV_BLOCK_SIZE);
		count[i] = set;
	}
	return NV_OK;
}

static void say(char *message, const char *text)
{
	if (message != NULL) {
		snprintf(message, NV_MESSAGE_SIZE, "%s", text);
	}
}

enum nv_status nv_load(struct nv_volume *volume,
		       const struct nv_disk_root *root, char *message)
{
	struct nv_segment *segment = volume->segment;
	enum nv_status status;
	uint32_t region;

	segment->magic = NV_SEGMENT_MAGIC;
	segment->version = NV_SEGMENT_VERSION;
	segment->identity[0] = volume->io->identity[0];
	segment->identity[1] = volume->io->identity[1];
	memcpy(segment->uuid, volume->super.uuid, 16);
	memcpy(segment->boot_id, volume->boot_id, 16);
	segment->size = volume->layout.size;
	segment->max_blocks = volume->layout.max_blocks;
	segment->inode_size = volume->inode_size;
	segment->root = *root;
	atomic_store(&segment->total_blocks, root->total_blocks);
	atomic_store(&segment->durable_group, root->sequence);
	atomic_store(&segment->open_group, root->sequence + 1);
	atomic_store(&segment->root_directory, root->root_directory);
	atomic_store(&segment->last_commit, nv_milliseconds());
	nv_locks_init(segment);

	status = nv_blocks_back(volume, root->total_blocks);
	if (status == NV_OK) {
		status = nv_entries_back(volume, NV_REGION_SYSTEM,
					 NV_SYSTEM_PAGES);
	}
	if (status == NV_OK) {
		status = nv_entries_back_more(volume);
	}
	if (status != NV_OK) {
		say(message, "no memory for the shared segment; make room on "
		    "the tmpfs of the segment directory");
		return status;
	}
	for (region = 0; region < NV_REGION_COUNT; region++) {
		status = load_map(volume, region, &root->map[region]);
		if (status == NV_ERR_CORRUPT) {
			say(message, "a map node is damaged (bad checksum or "
			    "place); run fsck.ntvfs on the image");
		}
		if (status != NV_OK) {
			return status;
		}
	}
	status = load_bitmap(volume, NV_BITMAP_BLOCKS,
			     NV_REGION_BLOCK_BITMAP);
	if (status == NV_OK) {
		status = load_bitmap(volume, NV_BITMAP_INODES,
				     NV_REGION_INODE_BITMAP);
	}
	if (status == NV_OK) {
		status = load_bitmap(volume, NV_BITMAP_ORPHANS,
				     NV_REGION_ORPHAN_BITMAP);
	}
	if (status == NV_OK && !nv_heal(volume)) {
		status = NV_ERR_CORRUPT;
	}
	if (status == NV_ERR_CORRUPT) {
		say(message, "a bitmap page is damaged or a block has two "
		    "owners; run fsck.ntvfs on the image");
	}
	if (status != NV_OK) {
		return status;
	}
	atomic_store(&segment->ready, NV_SEGMENT_MAGIC);
	return NV_OK;
}
