/*
 * Damaging images on purpose.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <string.h>
#include <xxhash.h>
#include "image.h"

static void *block_at(const struct image *image, uint64_t block)
{
	if (block >= image->size >> NV_BLOCK_SHIFT) {
		return NULL;
	}
	return image->bytes + (block << NV_BLOCK_SHIFT);
}

struct nv_disk_root *image_root(const struct image *image)
{
	struct nv_disk_root *best = NULL;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		struct nv_disk_root *root = block_at(image,
						     NV_ROOT_BLOCK_0 + i);

		if (root == NULL || root->magic != NV_ROOT_MAGIC ||
		    root->checksum != XXH3_64bits(root, offsetof(
			    struct nv_disk_root, checksum))) {
			continue;
		}
		if (best == NULL || root->sequence > best->sequence) {
			best = root;
		}
	}
	return best;
}

void *image_page(const struct image *image, uint64_t page)
{
	const struct nv_disk_root *root = image_root(image);
	const struct nv_disk_map_node *node = NULL;
	uint32_t region = NV_PAGE_REGION(page);
	uint64_t index = NV_PAGE_INDEX(page);
	uint64_t block;
	uint32_t level;

	if (root == NULL || region >= NV_REGION_COUNT) {
		return NULL;
	}
	level = root->map[region].height;
	block = root->map[region].block;
	if (level == 0 || index >> (NV_MAP_SHIFT * level) != 0) {
		return NULL;
	}
	for (; level > 0 && block != 0; level--) {
		node = block_at(image, block);
		if (node == NULL) {
			return NULL;
		}
		block = node->entry[(index >> (NV_MAP_SHIFT * (level - 1))) &
				    (NV_MAP_FANOUT - 1)].block;
	}
	return block == 0 ? NULL : block_at(image, block);
}

struct nv_disk_inode *image_inode(const struct image *image, uint64_t ino)
{
	const struct nv_disk_super *super = block_at(image, NV_SUPER_BLOCK);
	uint64_t per_page = NV_BLOCK_SIZE / super->inode_size;
	uint8_t *page = image_page(image, NV_PAGE(NV_REGION_INODES,
						  ino / per_page));

	if (page == NULL) {
		return NULL;
	}
	return (void *)(page + (ino % per_page) * super->inode_size);
}

/* budget: a damaged map can be a graph with very many ways through it. */
static uint64_t reseal_below(const struct image *image, uint64_t block,
			     uint32_t level, uint32_t *budget)
{
	struct nv_disk_map_node *node = block_at(image, block);
	uint32_t i;

	if (node == NULL || *budget == 0) {
		return 0;
	}
	(*budget)--;
	for (i = 0; level > 0 && i < NV_MAP_FANOUT; i++) {
		if (node->entry[i].block != 0) {
			node->entry[i].checksum = reseal_below(
				image, node->entry[i].block, level - 1,
				budget);
		}
	}
	return XXH3_64bits(node, sizeof(*node));
}

void image_reseal(const struct image *image, struct nv_disk_root *root)
{
	struct nv_disk_super *super = block_at(image, NV_SUPER_BLOCK);
	uint32_t budget = 100000;
	uint32_t r;

	for (r = 0; r < NV_REGION_COUNT; r++) {
		struct nv_disk_map_top *top = &root->map[r];

		if (top->height == 0 || top->height > NV_MAP_MAX_HEIGHT) {
			continue;
		}
		top->checksum = reseal_below(image, top->block, top->height,
					     &budget);
	}
	root->checksum = XXH3_64bits(root, offsetof(struct nv_disk_root,
						    checksum));
	super->checksum = XXH3_64bits(super, offsetof(struct nv_disk_super,
						      checksum));
}
