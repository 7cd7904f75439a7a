/*
 * The checker: super block, roots, and the order of everything else.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "check.h"

static enum nv_status read_super(struct check *check)
{
	struct nv_disk_super *super = &check->super;
	union {
		uint8_t bytes[NV_BLOCK_SIZE];
		struct nv_disk_super super;
	} block;
	uint32_t size;

	if (check->io->size < (uint64_t)NV_MIN_BLOCKS << NV_BLOCK_SHIFT) {
		return NV_ERR_NOT_A_VOLUME;
	}
	if (check_block(check, NV_SUPER_BLOCK, &block) != NV_OK) {
		return NV_ERR_IO;
	}
	*super = block.super;
	if (super->magic != NV_SUPER_MAGIC) {
		return NV_ERR_NOT_A_VOLUME;
	}
	if (super->checksum != XXH3_64bits(super, offsetof(
				struct nv_disk_super, checksum))) {
		check_say(check, NV_FINDING_SUPER_DAMAGED,
			  "the super block's checksum is wrong");
		if (!check->params->repair ||
		    !check_rebuild_super(check, super)) {
			return NV_ERR_CORRUPT;
		}
		block.super = *super;
	}
	if (super->format_version != NV_FORMAT_VERSION ||
	    super->features != 0) {
		return NV_ERR_VERSION;
	}
	size = super->inode_size;
	if (super->block_size != NV_BLOCK_SIZE || size < NV_MIN_INODE_SIZE ||
	    size > NV_MAX_INODE_SIZE || (size & (size - 1)) != 0) {
		check_say(check, NV_FINDING_SUPER_FIELD,
			  "the super block says blocks of %u bytes, inodes of "
			  "%u", super->block_size, size);
		return NV_ERR_CORRUPT;
	}
	if (!check_zero(super->reserved, sizeof(super->reserved)) ||
	    !check_zero(block.bytes + sizeof(*super),
			sizeof(block) - sizeof(*super)) ||
	    super->label[sizeof(super->label) - 1] != 0) {
		check_say(check, NV_FINDING_SUPER_FIELD,
			  "the super block has reserved bytes that are not "
			  "zero, or an endless label");
	}
	check->inodes_per_page = NV_BLOCK_SIZE / size;
	return NV_OK;
}

static bool root_sound(const struct check *check, uint32_t slot,
		       const struct nv_disk_root *root)
{
	return root->magic == NV_ROOT_MAGIC &&
		memcmp(root->uuid, check->super.uuid, 16) == 0 &&
		root->checksum == XXH3_64bits(root, offsetof(
			struct nv_disk_root, checksum)) &&
		(root->sequence & 1) == slot;
}

static void check_root(struct check *check)
{
	const struct nv_disk_root *root = &check->root;

	if (root->state != NV_STATE_CLEAN &&
	    root->state != NV_STATE_ATTACHED) {
		check_say(check, NV_FINDING_ROOT_FIELD,
			  "root %llu has state %08x",
			  (unsigned long long)root->sequence, root->state);
	}
	if (root->reserved0 != 0 ||
	    !check_zero(root->reserved, sizeof(root->reserved)) ||
	    root->sequence == 0) {
		check_say(check, NV_FINDING_ROOT_FIELD,
			  "root %llu has reserved bytes that are not zero",
			  (unsigned long long)root->sequence);
	}
}

static enum nv_status read_roots(struct check *check)
{
	struct nv_disk_root root[2];
	bool sound[2] = {false, false};
	uint8_t block[NV_BLOCK_SIZE];
	uint32_t i;

	for (i = 0; i < 2; i++) {
		if (check_block(check, NV_ROOT_BLOCK_0 + i, block) != NV_OK) {
			return NV_ERR_IO;
		}
		memcpy(&root[i], block, sizeof(root[i]));
		/* One that is not may be torn: that is no complaint. */
		sound[i] = root_sound(check, i, &root[i]);
	}
	if (!sound[0] && !sound[1]) {
		check_say(check, NV_FINDING_ROOT_NONE,
			  "neither root slot holds a valid root");
		return NV_ERR_CORRUPT;
	}
	i = sound[0] ? 0 : 1;
	if (sound[0] && sound[1] && root[1].sequence > root[0].sequence) {
		i = 1;
	}
	check->root = root[i];
	check_root(check);
	check->total_blocks = root[i].total_blocks;
	if (check->total_blocks < NV_MIN_BLOCKS ||
	    check->total_blocks > NV_MAX_BLOCKS) {
		check_say(check, NV_FINDING_ROOT_FIELD,
			  "root %llu says that the volume has %llu blocks",
			  (unsigned long long)root[i].sequence,
			  (unsigned long long)check->total_blocks);
		return NV_ERR_CORRUPT;
	}
	if (check->total_blocks > check->io->size >> NV_BLOCK_SHIFT) {
		check_say(check, NV_FINDING_IMAGE_SHORT,
			  "the volume has %llu blocks, the image %llu",
			  (unsigned long long)check->total_blocks,
			  (unsigned long long)check->io->size >>
			  NV_BLOCK_SHIFT);
		return NV_ERR_CORRUPT;
	}
	return NV_OK;
}

/* The upcase table, which the order of names needs. */
static enum nv_status read_upcase(struct check *check)
{
	uint32_t i;

	check->upcase = calloc(65536, sizeof(*check->upcase));
	if (check->upcase == NULL) {
		return NV_ERR_NO_MEMORY;
	}
	check->upcase_known = true;
	for (i = 0; i < NV_UPCASE_PAGES; i++) {
		enum nv_status status;

		status = check_page(check, NV_PAGE(NV_REGION_SYSTEM,
						   NV_SYSTEM_UPCASE + i),
				    (uint8_t *)check->upcase +
				    i * NV_BLOCK_SIZE);
		if (status == NV_ERR_IO) {
			return status;
		}
		if (status != NV_OK) {
			check_say(check, NV_FINDING_SYSTEM_PAGE,
				  "page %u of the upcase table is missing or "
				  "damaged", i);
			check->upcase_known = false;
		}
	}
	for (i = 0; check->upcase_known && i < 65536; i++) {
		if (check->upcase[check->upcase[i]] != check->upcase[i]) {
			check_say(check, NV_FINDING_SYSTEM_PAGE,
				  "the upper case of U+%04X, U+%04X, has "
				  "another upper case", i, check->upcase[i]);
			check->upcase_known = false;
		}
	}
	return NV_OK;
}

static enum nv_status check_all(struct check *check)
{
	enum nv_status status;

	status = read_super(check);
	if (status == NV_OK) {
		status = read_roots(check);
	}
	if (status != NV_OK) {
		return status;
	}
	check->block_owned = calloc((check->total_blocks + 8) / 8, 1);
	check->block_data = calloc((check->total_blocks + 8) / 8, 1);
	if (check->block_owned == NULL || check->block_data == NULL) {
		return NV_ERR_NO_MEMORY;
	}
	status = check_maps(check);
	if (status == NV_OK) {
		status = read_upcase(check);
	}
	if (status == NV_OK) {
		status = check_inodes(check);
	}
	if (status == NV_OK) {
		status = check_bitmaps(check);
	}
	if (status == NV_OK) {
		check_lost_pages(check);
		status = check_repair_write(check);
	}
	return status;
}

enum nv_status nv_check(struct nv_io *io, const struct nv_check_params *params,
			uint64_t *findings)
{
	static const struct nv_check_params defaults;
	struct check *check = NULL;
	enum nv_status status;
	uint32_t r;

	check = calloc(1, sizeof(*check));
	if (check == NULL) {
		return NV_ERR_NO_MEMORY;
	}
	check->io = io;
	check->params = params == NULL ? &defaults : params;
	status = check_all(check);
	if (status == NV_ERR_CORRUPT && check->findings > 0) {
		/* It went as far as it could, and has told why. */
		status = NV_OK;
	}
	*findings = check->findings;
	for (r = 0; r < NV_REGION_COUNT; r++) {
		free(check->region[r].page);
	}
	free(check->block_owned);
	free(check->block_data);
	free(check->node_found);
	free(check->inode);
	free(check->upcase);
	free(check->sd);
	check_repair_free(check);
	free(check);
	return status;
}
