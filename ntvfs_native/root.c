/*
 * Super block and roots.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <string.h>
#include "volume.h"

static bool power_of_two(uint32_t value)
{
	return value != 0 && (value & (value - 1)) == 0;
}

bool nv_super_valid(const struct nv_disk_super *super)
{
	if (super->magic != NV_SUPER_MAGIC) {
		return false;
	}
	if (super->checksum != nv_checksum(super, offsetof(
				struct nv_disk_super, checksum))) {
		return false;
	}
	return super->block_size == NV_BLOCK_SIZE &&
		super->inode_size >= NV_MIN_INODE_SIZE &&
		super->inode_size <= NV_MAX_INODE_SIZE &&
		power_of_two(super->inode_size);
}

void nv_super_seal(struct nv_disk_super *super)
{
	super->checksum = nv_checksum(super, offsetof(struct nv_disk_super,
						      checksum));
}

bool nv_root_valid(const struct nv_disk_root *root, const uint8_t uuid[16])
{
	uint32_t region;

	if (root->magic != NV_ROOT_MAGIC ||
	    memcmp(root->uuid, uuid, 16) != 0) {
		return false;
	}
	if (root->checksum != nv_checksum(root, offsetof(struct nv_disk_root,
							 checksum))) {
		return false;
	}
	if (root->state != NV_STATE_CLEAN &&
	    root->state != NV_STATE_ATTACHED) {
		return false;
	}
	if (root->sequence == 0 || root->sequence > NV_GROUP_MASK ||
	    root->total_blocks < NV_MIN_BLOCKS ||
	    root->total_blocks > NV_MAX_BLOCKS) {
		return false;
	}
	for (region = 0; region < NV_REGION_COUNT; region++) {
		if (root->map[region].height > NV_MAP_MAX_HEIGHT) {
			return false;
		}
	}
	return true;
}

enum nv_status nv_root_find(struct nv_io *io,
			    const struct nv_disk_super *super,
			    struct nv_disk_root *root)
{
	struct nv_disk_root found[2];
	bool valid[2] = {false, false};
	uint32_t i;
	int ret;

	for (i = 0; i < 2; i++) {
		ret = io->ops->pread(io, &found[i], sizeof(found[i]),
				     (uint64_t)(NV_ROOT_BLOCK_0 + i) <<
				     NV_BLOCK_SHIFT);
		if (ret != 0) {
			return NV_ERR_IO;
		}
		valid[i] = nv_root_valid(&found[i], super->uuid) &&
			(found[i].sequence & 1) == i;
	}
	if (!valid[0] && !valid[1]) {
		return NV_ERR_CORRUPT;
	}
	i = valid[0] ? 0 : 1;
	if (valid[0] && valid[1] && found[1].sequence > found[0].sequence) {
		i = 1;
	}
	*root = found[i];
	return NV_OK;
}

void nv_root_seal(struct nv_disk_root *root)
{
	root->checksum = nv_checksum(root, offsetof(struct nv_disk_root,
						    checksum));
}

enum nv_status nv_root_write(struct nv_io *io, struct nv_disk_root *root)
{
	uint64_t block = NV_ROOT_BLOCK_0 + (root->sequence & 1);
	uint8_t buffer[NV_BLOCK_SIZE] = {0};
	int ret;

	nv_root_seal(root);
	memcpy(buffer, root, sizeof(*root));
	ret = io->ops->pwrite(io, buffer, sizeof(buffer),
			      block << NV_BLOCK_SHIFT);
	return ret == 0 ? NV_OK : NV_ERR_IO;
}
