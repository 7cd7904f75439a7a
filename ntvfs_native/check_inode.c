/*
 * The checker: inodes and the items inside them.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <stdlib.h>
#include <string.h>
#include "check.h"

#define FLAGS_KNOWN (NV_INODE_CASE_SENSITIVE | NV_INODE_ORPHAN)

struct check_inode *check_inode_of(struct check *check, uint64_t file_id)
{
	uint64_t ino = NV_FILE_INO(file_id);

	if (ino >= check->inode_count || check->inode[ino].type == 0 ||
	    check->inode[ino].file_id != file_id) {
		return NULL;
	}
	return &check->inode[ino];
}

const void *check_item(const struct check *check,
		       const struct nv_disk_inode *inode, uint32_t kind,
		       uint32_t *length)
{
	uint32_t size = check->super.inode_size;
	uint32_t offset = inode->fixed_size;
	struct nv_disk_item item;

	while (offset + sizeof(item) <= size) {
		memcpy(&item, (const uint8_t *)inode + offset, sizeof(item));
		if (item.kind == NV_ITEM_END) {
			break;
		}
		if (item.kind == kind) {
			*length = item.length;
			return (const uint8_t *)inode + offset + sizeof(item);
		}
		offset += (uint32_t)sizeof(item) +
			((item.length + 7U) & ~7U);
	}
	return NULL;
}

/* The list is well-formed; told if not. */
static bool check_items(struct check *check,
			const struct nv_disk_inode *inode)
{
	uint32_t size = check->super.inode_size;
	uint32_t offset = inode->fixed_size;
	struct nv_disk_item item;
	uint32_t last = 0;

	while (offset + sizeof(item) <= size) {
		uint32_t room = size - offset - (uint32_t)sizeof(item);

		memcpy(&item, (const uint8_t *)inode + offset, sizeof(item));
		if (item.kind == NV_ITEM_END) {
			break;
		}
		if (item.kind <= last || item.kind > NV_ITEM_MAX ||
		    item.length == 0 || ((item.length + 7U) & ~7U) > room ||
		    item.reserved != 0) {
			check_say(check, NV_FINDING_ITEMS,
				  "inode %llu: the item at byte %u has kind "
				  "%u and length %u, room is %u",
				  (unsigned long long)
				  NV_FILE_INO(inode->file_id), offset,
				  item.kind, item.length, room);
			return false;
		}
		last = item.kind;
		offset += (uint32_t)sizeof(item) +
			((item.length + 7U) & ~7U);
	}
	/* An item that grows makes the end of the list of what is there. */
	if (!check_zero((const uint8_t *)inode + offset, size - offset)) {
		check_say(check, NV_FINDING_ITEMS,
			  "inode %llu: the bytes behind its items, from %u on, "
			  "are not zero",
			  (unsigned long long)NV_FILE_INO(inode->file_id),
			  offset);
		return false;
	}
	return true;
}

/* False: what else the inode says means nothing. */
static bool check_fields(struct check *check, uint64_t ino,
			 const struct nv_disk_inode *inode)
{
	unsigned long long number = ino;

	if (inode->fixed_size < sizeof(*inode) ||
	    inode->fixed_size > check->super.inode_size ||
	    (inode->fixed_size & 7) != 0) {
		check_say(check, NV_FINDING_INODE_FIELD,
			  "inode %llu: its fixed part has %u bytes", number,
			  inode->fixed_size);
		return false;
	}
	if (inode->type > NV_TYPE_SPECIAL) {
		check_say(check, NV_FINDING_INODE_FIELD,
			  "inode %llu: type %u", number, inode->type);
		return false;
	}
	if ((inode->flags & ~(uint32_t)FLAGS_KNOWN) != 0 ||
	    inode->reserved != 0) {
		check_say(check, NV_FINDING_INODE_FIELD,
			  "inode %llu: unknown flags %08x or reserved bytes",
			  number, inode->flags);
	}
	if (inode->size > NV_MAX_FILE_SIZE ||
	    inode->allocation % NV_BLOCK_SIZE != 0) {
		check_say(check, NV_FINDING_INODE_FIELD,
			  "inode %llu: size %llu, allocation %llu", number,
			  (unsigned long long)inode->size,
			  (unsigned long long)inode->allocation);
	}
	if (inode->type == NV_TYPE_DIRECTORY) {
		if (inode->data_form != NV_DATA_NONE || inode->size != 0) {
			check_say(check, NV_FINDING_INODE_FIELD,
				  "inode %llu: a directory with data",
				  number);
		}
	} else if (inode->directory_root != NV_PAGE_NONE ||
		   inode->entry_count != 0 ||
		   (inode->flags & NV_INODE_CASE_SENSITIVE) != 0) {
		check_say(check, NV_FINDING_INODE_FIELD,
			  "inode %llu: no directory, but has names in it",
			  number);
	}
	return true;
}

/* What is needed of every inode before any is looked into. */
static void note_inode(struct check *check, uint64_t ino,
		       const struct nv_disk_inode *inode)
{
	struct check_inode *noted = &check->inode[ino];
	unsigned long long number = ino;

	if (inode->magic == 0) {
		if (!check_zero(inode, check->super.inode_size)) {
			check_say(check, NV_FINDING_INODE_FIELD,
				  "inode %llu: never used, but not zero",
				  number);
			noted->damaged = true;
		}
		return;
	}
	if (inode->magic != NV_INODE_MAGIC) {
		check_say(check, NV_FINDING_INODE_FIELD,
			  "inode %llu: magic %08x", number, inode->magic);
		noted->damaged = true;
		return;
	}
	if (NV_FILE_INO(inode->file_id) != ino ||
	    NV_FILE_GENERATION(inode->file_id) == 0 || ino < NV_FIRST_INO) {
		check_say(check, NV_FINDING_INODE_ID,
			  "inode %llu: its file id is %llx", number,
			  (unsigned long long)inode->file_id);
		noted->damaged = true;
		return;
	}
	noted->file_id = inode->file_id;
	if (inode->type == 0) {
		return;
	}
	if (!check_fields(check, ino, inode) || !check_items(check, inode)) {
		noted->type = inode->type <= NV_TYPE_SPECIAL ? inode->type :
			NV_TYPE_FILE;
		noted->damaged = true;
		return;
	}
	noted->type = inode->type;
	noted->parent_id = inode->parent_id;
	noted->has_orphan_flag = (inode->flags & NV_INODE_ORPHAN) != 0;
	noted->nlink = inode->nlink;
}

static enum nv_status look_into(struct check *check, uint64_t ino,
				const struct nv_disk_inode *inode)
{
	enum nv_status status;

	if (check->inode[ino].type == 0 || check->inode[ino].damaged) {
		return NV_OK;
	}
	if (inode->sd_id != 0 && !check_sd_exists(check, inode->sd_id)) {
		check_say(check, NV_FINDING_SD_DANGLING,
			  "inode %llu: there is no security descriptor %u",
			  (unsigned long long)ino, inode->sd_id);
	}
	status = check_data(check, inode);
	if (status == NV_OK && inode->type == NV_TYPE_DIRECTORY) {
		status = check_directory(check, inode);
	}
	if (status == NV_OK) {
		status = check_streams(check, inode);
	}
	if (status == NV_OK) {
		status = check_eas(check, inode);
	}
	if (status == NV_OK) {
		status = check_reparse(check, inode);
	}
	return status;
}

static enum nv_status each_inode(struct check *check, bool first_pass)
{
	uint64_t pages = check->region[NV_REGION_INODES].limit;
	union {
		uint8_t bytes[NV_BLOCK_SIZE];
		uint64_t aligned;
	} page;
	enum nv_status status;
	enum nv_status looked;
	uint64_t i;
	uint32_t k;

	for (i = 0; i < pages; i++) {
		status = check_page(check, NV_PAGE(NV_REGION_INODES, i),
				    page.bytes);
		if (status == NV_ERR_IO) {
			return status;
		}
		for (k = 0; k < check->inodes_per_page; k++) {
			uint64_t ino = i * check->inodes_per_page + k;
			const struct nv_disk_inode *inode = (const void *)
				(page.bytes + k * check->super.inode_size);

			if (status == NV_ERR_CORRUPT) {
				check->inode[ino].damaged = true;
				continue;
			}
			if (status != NV_OK) {
				continue;
			}
			if (first_pass) {
				note_inode(check, ino, inode);
				continue;
			}
			looked = look_into(check, ino, inode);
			if (looked != NV_OK) {
				return looked;
			}
		}
		check_progress(check, first_pass ? "inodes" : "objects",
			       i + 1, pages);
	}
	return NV_OK;
}

enum nv_status check_inodes(struct check *check)
{
	enum nv_status status;

	check->inode_count = check->region[NV_REGION_INODES].limit *
		check->inodes_per_page;
	check->inode = calloc(check->inode_count + 1, sizeof(*check->inode));
	if (check->inode == NULL) {
		return NV_ERR_NO_MEMORY;
	}
	status = each_inode(check, true);
	if (status == NV_OK) {
		status = check_sd_store(check);
	}
	if (status == NV_OK) {
		status = each_inode(check, false);
	}
	if (status == NV_OK) {
		check_all_links(check);
	}
	return status;
}
