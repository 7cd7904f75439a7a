/*
 * Formatting a volume.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Writes the super block and an empty root, attaches like anyone else, and
 * makes the upcase table and the root directory by ordinary operations.
 */

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <wctype.h>
#include "attach.h"
#include "inode.h"
#include "volume.h"

#define UPCASE_UNITS 65536
#define UPCASE_PAGES_AT_ONCE 8

#define FILE_ATTRIBUTE_DIRECTORY 0x00000010	/* MS-FSCC 2.6 */

/* Simple upcase mapping of every UTF-16 unit that is a character. */
static bool default_upcase(uint16_t *table)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	uint32_t i;

	if (locale == (locale_t)0) {
		return false;
	}
	for (i = 0; i < UPCASE_UNITS; i++) {
		wint_t upper = i;

		if (i < 0xd800 || i > 0xdfff) {
			upper = towupper_l((wint_t)i, locale);
		}
		table[i] = upper < UPCASE_UNITS ? (uint16_t)upper :
			(uint16_t)i;
	}
	freelocale(locale);
	return true;
}

static enum nv_status store_upcase(struct nv_volume *volume,
				   const uint16_t *table)
{
	const uint8_t *bytes = (const uint8_t *)table;
	struct nv_operation operation;
	enum nv_status status;
	uint32_t page = 0;

	while (page < NV_UPCASE_PAGES) {
		uint32_t i;

		status = nv_operation_begin(volume, &operation, NULL, 0,
					    UPCASE_PAGES_AT_ONCE, 0);
		if (status != NV_OK) {
			return status;
		}
		for (i = 0; i < UPCASE_PAGES_AT_ONCE && status == NV_OK;
		     i++) {
			void *content = NULL;

			status = nv_page_make(&operation,
					      NV_PAGE(NV_REGION_SYSTEM,
						      NV_SYSTEM_UPCASE + page),
					      0, NV_BLOCK_SIZE, &content);
			if (status == NV_OK) {
				memcpy(content,
				       bytes + page * NV_BLOCK_SIZE,
				       NV_BLOCK_SIZE);
				page++;
			}
		}
		status = nv_operation_finish(&operation, status);
		if (status != NV_OK) {
			return status;
		}
	}
	return NV_OK;
}

/* An empty SD store is a page of zeros. */
static enum nv_status store_sd_head(struct nv_volume *volume)
{
	struct nv_operation operation;
	void *content = NULL;
	enum nv_status status;

	status = nv_operation_begin(volume, &operation, NULL, 0, 1, NV_OP_SD);
	if (status != NV_OK) {
		return status;
	}
	status = nv_page_make(&operation, NV_PAGE(NV_REGION_SYSTEM,
						  NV_SYSTEM_SD_HEAD),
			      0, NV_BLOCK_SIZE, &content);
	return nv_operation_finish(&operation, status);
}

static enum nv_status make_root_directory(struct nv_volume *volume)
{
	struct nv_disk_inode *inode = NULL;
	struct nv_operation operation;
	uint64_t now = nv_now();
	enum nv_status status;
	nv_file_id id = 0;
	uint64_t ino;

	status = nv_inode_reserve(volume, &id);
	if (status != NV_OK) {
		return status;
	}
	ino = NV_FILE_INO(id);
	status = nv_operation_begin(volume, &operation, &ino, 1, 1, 0);
	if (status != NV_OK) {
		return status;
	}
	status = nv_inode_new(&operation, id, NV_TYPE_DIRECTORY, &inode);
	if (status == NV_OK) {
		inode->attributes = FILE_ATTRIBUTE_DIRECTORY;
		inode->nlink = 1;
		inode->mode = 040755;
		inode->parent_id = id;
		inode->creation_time = now;
		inode->last_access_time = now;
		inode->last_write_time = now;
		inode->change_time = now;
	}
	status = nv_operation_finish(&operation, status);
	if (status != NV_OK) {
		nv_inode_unreserve(volume, id);
		return status;
	}
	atomic_store(&volume->segment->root_directory, id);
	return NV_OK;
}

static enum nv_status put(struct nv_io *io, const void *buffer,
			  uint64_t offset)
{
	if (io->ops->pwrite(io, buffer, NV_BLOCK_SIZE, offset) != 0) {
		return NV_ERR_IO;
	}
	return NV_OK;
}

/* Old super block and roots go first: no half-made volume looks whole. */
static enum nv_status wipe(struct nv_io *io)
{
	uint8_t block[NV_BLOCK_SIZE] = {0};
	enum nv_status status;
	uint32_t i;

	for (i = 0; i < NV_FIRST_BLOCK; i++) {
		status = put(io, block, (uint64_t)i << NV_BLOCK_SHIFT);
		if (status != NV_OK) {
			return status;
		}
	}
	return io->ops->flush(io) == 0 ? NV_OK : NV_ERR_IO;
}

static enum nv_status write_skeleton(struct nv_io *io,
				     const struct nv_disk_super *super)
{
	uint8_t block[NV_BLOCK_SIZE] = {0};
	struct nv_disk_root root = {
		.magic = NV_ROOT_MAGIC,
		.sequence = NV_GROUP_FIRST - 1,
		.total_blocks = io->size >> NV_BLOCK_SHIFT,
		.state = NV_STATE_CLEAN,
	};
	enum nv_status status;

	memcpy(root.uuid, super->uuid, 16);
	root.time = super->creation_time;
	status = nv_root_write(io, &root);
	if (status != NV_OK) {
		return status;
	}
	memcpy(block, super, sizeof(*super));
	status = put(io, block, NV_SUPER_BLOCK);
	if (status != NV_OK) {
		return status;
	}
	return io->ops->flush(io) == 0 ? NV_OK : NV_ERR_IO;
}

static enum nv_status fill_super(const struct nv_format_params *params,
				 struct nv_disk_super *super)
{
	memset(super, 0, sizeof(*super));
	super->magic = NV_SUPER_MAGIC;
	super->format_version = NV_FORMAT_VERSION;
	super->block_size = NV_BLOCK_SIZE;
	super->inode_size = params->inode_size;
	if (super->inode_size == 0) {
		super->inode_size = NV_DEFAULT_INODE_SIZE;
	}
	super->creation_time = nv_now();
	if (params->uuid != NULL) {
		memcpy(super->uuid, params->uuid, 16);
	} else if (getrandom(super->uuid, 16, 0) != 16) {
		return NV_ERR_IO;
	}
	if (params->label != NULL) {
		if (strlen(params->label) >= sizeof(super->label)) {
			return NV_ERR_INVALID;
		}
		strncpy(super->label, params->label,
			sizeof(super->label) - 1);
	}
	nv_super_seal(super);
	return nv_super_valid(super) ? NV_OK : NV_ERR_INVALID;
}

static enum nv_status populate(struct nv_io *io,
			       const struct nv_format_params *params,
			       const uint16_t *upcase)
{
	struct nv_attach_params attach = {
		.segment_directory = params->segment_directory,
	};
	struct nv_volume *volume = NULL;
	enum nv_status status;
	enum nv_status detached;

	status = nv_volume_attach(io, &attach, &volume, NULL);
	if (status != NV_OK) {
		return status;
	}
	volume->keep_io = true;
	status = store_upcase(volume, upcase);
	if (status == NV_OK) {
		status = store_sd_head(volume);
	}
	if (status == NV_OK) {
		status = make_root_directory(volume);
	}
	detached = nv_volume_detach(volume);
	return status != NV_OK ? status : detached;
}

enum nv_status nv_volume_format(struct nv_io *io,
				const struct nv_format_params *params)
{
	static const struct nv_format_params defaults;
	struct nv_disk_super super;
	uint16_t *upcase = NULL;
	enum nv_status status;

	if (params == NULL) {
		params = &defaults;
	}
	if (io->read_only ||
	    io->size < (uint64_t)NV_MIN_BLOCKS << NV_BLOCK_SHIFT ||
	    io->size >> NV_BLOCK_SHIFT > NV_MAX_BLOCKS) {
		return NV_ERR_INVALID;
	}
	status = fill_super(params, &super);
	if (status != NV_OK) {
		return status;
	}
	upcase = malloc(UPCASE_UNITS * sizeof(*upcase));
	if (upcase == NULL) {
		return NV_ERR_NO_MEMORY;
	}
	if (params->upcase != NULL) {
		memcpy(upcase, params->upcase, UPCASE_UNITS * sizeof(*upcase));
	} else if (!default_upcase(upcase)) {
		free(upcase);
		return NV_ERR_NO_MEMORY;
	}

	status = nv_image_lock_alone(io);
	if (status == NV_OK) {
		status = wipe(io);
		if (status == NV_OK) {
			status = write_skeleton(io, &super);
		}
		nv_image_unlock(io);
	}
	if (status == NV_OK) {
		status = populate(io, params, upcase);
	}
	free(upcase);
	return status;
}
