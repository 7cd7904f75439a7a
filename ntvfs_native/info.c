/*
 * Getting and setting the metadata of an object.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "inode.h"
#include "info.h"

enum nv_status nv_get_info(struct nv_volume *volume, nv_file_id id,
			   struct nv_info *info)
{
	const struct nv_disk_inode *inode = NULL;
	struct nv_reader reader;
	struct nv_info found;
	enum nv_status status;

	status = nv_read_begin(volume, NV_FILE_INO(id), &reader);
	if (status != NV_OK) {
		return status;
	}
	do {
		status = nv_inode_read(volume, id, &inode);
		if (status == NV_OK) {
			nv_inode_info(inode, &found);
		}
	} while (nv_read_again(&reader));
	if (status == NV_OK) {
		*info = found;
	}
	return status;
}

void nv_info_apply(struct nv_disk_inode *inode, uint32_t mask,
		   const struct nv_info *info)
{
	if ((mask & NV_INFO_ATTRIBUTES) != 0) {
		inode->attributes = info->attributes;
	}
	if ((mask & NV_INFO_CREATION_TIME) != 0) {
		inode->creation_time = info->creation_time;
	}
	if ((mask & NV_INFO_LAST_ACCESS_TIME) != 0) {
		inode->last_access_time = info->last_access_time;
	}
	if ((mask & NV_INFO_LAST_WRITE_TIME) != 0) {
		inode->last_write_time = info->last_write_time;
	}
	if ((mask & NV_INFO_CHANGE_TIME) != 0) {
		inode->change_time = info->change_time;
	}
	if ((mask & NV_INFO_UID) != 0) {
		inode->uid = info->uid;
	}
	if ((mask & NV_INFO_GID) != 0) {
		inode->gid = info->gid;
	}
	if ((mask & NV_INFO_MODE) != 0) {
		inode->mode = info->mode;
	}
	if ((mask & NV_INFO_DEVICE) != 0) {
		inode->device = info->device;
	}
	if ((mask & NV_INFO_CASE_SENSITIVE) != 0) {
		inode->flags &= ~(uint32_t)NV_INODE_CASE_SENSITIVE;
		if (info->case_sensitive) {
			inode->flags |= NV_INODE_CASE_SENSITIVE;
		}
	}
}

enum nv_status nv_set_info(struct nv_volume *volume, nv_file_id id,
			   uint32_t mask, const struct nv_info *info)
{
	struct nv_disk_inode *inode = NULL;
	struct nv_operation operation;
	uint64_t ino = NV_FILE_INO(id);
	enum nv_status status;

	status = nv_operation_begin(volume, &operation, &ino, 1, 1, 0);
	if (status != NV_OK) {
		return status;
	}
	status = nv_inode_modify(&operation, id, &inode);
	if (status != NV_OK) {
		goto done;
	}
	if ((mask & NV_INFO_CASE_SENSITIVE) != 0) {
		if (inode->type != NV_TYPE_DIRECTORY) {
			status = NV_ERR_NOT_DIRECTORY;
			goto done;
		}
		if (inode->entry_count != 0) {
			status = NV_ERR_NOT_EMPTY;
			goto done;
		}
	}
	nv_info_apply(inode, mask, info);
done:
	return nv_operation_finish(&operation, status);
}
