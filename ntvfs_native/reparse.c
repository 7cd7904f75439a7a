/*
 * Reparse data: in the inode if it fits, otherwise in a chain of pages.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <string.h>
#include "killpoint.h"
#include "names.h"

#define REPARSE_MAX 16384
#define REPARSE_PAGES ((REPARSE_MAX + NV_VALUE_ROOM - 1) / NV_VALUE_ROOM)

static enum nv_status set_in(struct nv_operation *operation, nv_file_id id,
			     uint32_t tag, const void *data, uint32_t length)
{
	uint32_t size = nv_inode_size(operation->volume);
	struct nv_disk_inode *inode = NULL;
	enum nv_status status;

	status = nv_inode_modify(operation, id, &inode);
	if (status != NV_OK) {
		return status;
	}
	if (inode->reparse_root != NV_PAGE_NONE) {
		status = nv_value_free(operation, NV_KIND_REPARSE, id,
				       inode->reparse_root);
		if (status != NV_OK) {
			return status;
		}
		inode->reparse_root = NV_PAGE_NONE;
	}
	inode->reparse_tag = tag;
	NV_KILL_POINT("reparse: tag set, data not");
	if (length <= nv_item_room(inode, size, NV_ITEM_REPARSE)) {
		if (!nv_item_set(inode, size, NV_ITEM_REPARSE, data,
				 length)) {
			return NV_ERR_CORRUPT;
		}
		return NV_OK;
	}
	if (!nv_item_set(inode, size, NV_ITEM_REPARSE, NULL, 0)) {
		return NV_ERR_CORRUPT;
	}
	return nv_value_new(operation, NV_KIND_REPARSE, id, data, length,
			    &inode->reparse_root);
}

enum nv_status nv_reparse_set(struct nv_volume *volume, nv_file_id id,
			      uint32_t tag, const void *data,
			      uint32_t length)
{
	struct nv_operation operation;
	uint64_t ino = NV_FILE_INO(id);
	enum nv_status status;

	if (length > REPARSE_MAX) {
		return NV_ERR_TOO_LARGE;
	}
	if (tag == 0) {
		length = 0;
	}
	status = nv_operation_begin(volume, &operation, &ino, 1,
				    1 + (length > 0 ? REPARSE_PAGES : 0),
				    tag == 0 ? NV_OP_FREES : 0);
	if (status != NV_OK) {
		return status;
	}
	status = set_in(&operation, id, tag, data, length);
	return nv_operation_finish(&operation, status);
}

/* For one round of a reader. */
static enum nv_status get(struct nv_volume *volume, nv_file_id id,
			  uint32_t *tag, void *data, uint32_t room,
			  uint32_t *length)
{
	const struct nv_disk_inode *inode = NULL;
	const void *payload = NULL;
	enum nv_status status;
	uint64_t page;

	status = nv_inode_read(volume, id, &inode);
	if (status != NV_OK) {
		return status;
	}
	*tag = inode->reparse_tag;
	if (*tag == 0) {
		return NV_ERR_NOT_FOUND;
	}
	page = inode->reparse_root;
	if (page != NV_PAGE_NONE) {
		status = nv_value_length(volume, NV_KIND_REPARSE, id, page,
					 length);
		if (status != NV_OK || *length > room) {
			return status;
		}
		return nv_value_read(volume, NV_KIND_REPARSE, id, page, data,
				     *length);
	}
	*length = 0;
	payload = nv_item_find(inode, nv_inode_size(volume), NV_ITEM_REPARSE,
			       length);
	if (payload == NULL) {
		*length = 0;
	} else if (*length <= room) {
		memcpy(data, payload, *length);
	}
	return NV_OK;
}

enum nv_status nv_reparse_get(struct nv_volume *volume, nv_file_id id,
			      uint32_t *tag, void *data, uint32_t *length)
{
	struct nv_reader reader;
	enum nv_status status;
	uint32_t found_tag = 0;
	uint32_t room = *length;
	uint32_t found = 0;

	status = nv_read_begin(volume, NV_FILE_INO(id), &reader);
	if (status != NV_OK) {
		return status;
	}
	do {
		status = get(volume, id, &found_tag, data, room, &found);
	} while (nv_read_again(&reader));
	if (status != NV_OK) {
		return status;
	}
	*tag = found_tag;
	*length = found;
	return found > room ? NV_ERR_TOO_LARGE : NV_OK;
}

enum nv_status nv_reparse_reclaim(struct nv_volume *volume, nv_file_id id)
{
	enum nv_status status;

	status = nv_reparse_set(volume, id, 0, NULL, 0);
	return status == NV_ERR_NOT_FOUND ? NV_OK : status;
}
