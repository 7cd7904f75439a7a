/*
 * ntvfs-dump: reading an image.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <string.h>
#include <xxhash.h>
#include "dump.h"
#include "inode.h"
#include "volume.h"

static enum nv_status read_block(struct dump *dump, uint64_t block,
				 void *buffer)
{
	struct nv_io *io = dump->io;

	if (block >= io->size >> NV_BLOCK_SHIFT) {
		return NV_ERR_CORRUPT;
	}
	if (io->ops->pread(io, buffer, NV_BLOCK_SIZE,
			   block << NV_BLOCK_SHIFT) != 0) {
		return NV_ERR_IO;
	}
	return NV_OK;
}

enum nv_status dump_open(struct dump *dump)
{
	uint8_t block[NV_BLOCK_SIZE];
	enum nv_status status;

	status = read_block(dump, NV_SUPER_BLOCK, block);
	if (status != NV_OK) {
		return status == NV_ERR_CORRUPT ? NV_ERR_NOT_A_VOLUME : status;
	}
	memcpy(&dump->super, block, sizeof(dump->super));
	if (dump->super.magic != NV_SUPER_MAGIC) {
		return NV_ERR_NOT_A_VOLUME;
	}
	if (dump->super.format_version != NV_FORMAT_VERSION) {
		return NV_ERR_VERSION;
	}
	if (!nv_super_valid(&dump->super)) {
		return NV_ERR_CORRUPT;
	}
	return nv_root_find(dump->io, &dump->super, &dump->root);
}

static enum nv_status read_checked(struct dump *dump,
				   const struct nv_disk_map_entry *place,
				   void *buffer)
{
	enum nv_status status;

	if (place->block == 0) {
		return NV_ERR_NOT_FOUND;
	}
	status = read_block(dump, place->block, buffer);
	if (status == NV_OK &&
	    XXH3_64bits(buffer, NV_BLOCK_SIZE) != place->checksum) {
		return NV_ERR_CORRUPT;
	}
	return status;
}

enum nv_status dump_page(struct dump *dump, uint64_t page, void *buffer,
			 struct nv_disk_map_entry *place)
{
	const struct nv_disk_map_top *top = NULL;
	struct nv_disk_map_entry at = {0};
	struct nv_disk_map_node node;
	uint64_t index = NV_PAGE_INDEX(page);
	enum nv_status status;
	uint32_t level;

	if (NV_PAGE_REGION(page) >= NV_REGION_COUNT) {
		return NV_ERR_INVALID;
	}
	top = &dump->root.map[NV_PAGE_REGION(page)];
	if (index >> (NV_MAP_SHIFT * top->height) != 0) {
		return NV_ERR_NOT_FOUND;
	}
	at.block = top->block;
	at.checksum = top->checksum;
	for (level = top->height; level > 0; level--) {
		status = read_checked(dump, &at, &node);
		if (status != NV_OK) {
			return status;
		}
		at = node.entry[(index >> (NV_MAP_SHIFT * (level - 1))) &
				(NV_MAP_FANOUT - 1)];
	}
	if (place != NULL) {
		*place = at;
	}
	return read_checked(dump, &at, buffer);
}

enum nv_status dump_inode(struct dump *dump, uint64_t ino,
			  struct nv_disk_inode *inode)
{
	uint32_t size = dump->super.inode_size;
	uint32_t per_page = NV_BLOCK_SIZE / size;
	uint8_t block[NV_BLOCK_SIZE];
	enum nv_status status;

	if (ino / per_page > UINT32_MAX) {
		return NV_ERR_NOT_FOUND;
	}
	status = dump_page(dump, NV_PAGE(NV_REGION_INODES, ino / per_page),
			   block, NULL);
	if (status != NV_OK) {
		return status;
	}
	memcpy(inode, block + ino % per_page * size, size);
	if (inode->magic == 0) {
		return NV_ERR_NOT_FOUND;
	}
	return NV_OK;
}
