/*
 * Inodes: finding, making, changing, freeing.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <string.h>
#include "inode.h"
#include "volume.h"

/* Marks an inode, not a page, in the list of what is saved whole. */
#define SAVED_INODE (UINT64_C(1) << 63)

static uint64_t page_of(const struct nv_volume *volume, uint64_t ino,
			uint32_t *offset)
{
	*offset = (uint32_t)(ino % volume->inodes_per_page) *
		volume->inode_size;
	return NV_PAGE(NV_REGION_INODES, ino / volume->inodes_per_page);
}

static bool ino_possible(const struct nv_volume *volume, uint64_t ino)
{
	return ino >= NV_FIRST_INO && ino / volume->inodes_per_page <
		volume->layout.pages[NV_REGION_INODES];
}

uint32_t nv_inode_size(const struct nv_volume *volume)
{
	return volume->inode_size;
}

/* Whatever is there for this number; NV_ERR_NOT_FOUND: never used. */
static enum nv_status raw_read(struct nv_volume *volume, uint64_t ino,
			       const struct nv_disk_inode **inode)
{
	const void *content = NULL;
	enum nv_status status;
	uint32_t offset = 0;
	uint64_t page;

	if (!ino_possible(volume, ino)) {
		return NV_ERR_NOT_FOUND;
	}
	page = page_of(volume, ino, &offset);
	status = nv_page_read(volume, page, &content);
	if (status != NV_OK) {
		return status;
	}
	*inode = (const void *)((const uint8_t *)content + offset);
	if ((*inode)->magic == 0) {
		return NV_ERR_NOT_FOUND;
	}
	if ((*inode)->magic != NV_INODE_MAGIC) {
		return NV_ERR_CORRUPT;
	}
	return NV_OK;
}

enum nv_status nv_inode_read(struct nv_volume *volume, nv_file_id id,
			     const struct nv_disk_inode **inode)
{
	const struct nv_disk_inode *found = NULL;
	enum nv_status status;

	status = raw_read(volume, NV_FILE_INO(id), &found);
	if (status != NV_OK) {
		return status;
	}
	if (found->file_id != id || found->type == 0) {
		return NV_ERR_NOT_FOUND;
	}
	*inode = found;
	return NV_OK;
}

enum nv_status nv_inode_modify(struct nv_operation *operation, nv_file_id id,
			       struct nv_disk_inode **inode)
{
	struct nv_volume *volume = operation->volume;
	const struct nv_disk_inode *present = NULL;
	uint64_t ino = NV_FILE_INO(id);
	uint32_t length = volume->inode_size;
	void *content = NULL;
	enum nv_status status;
	uint32_t offset = 0;
	uint64_t page;
	uint32_t i;

	status = nv_inode_read(volume, id, &present);
	if (status != NV_OK) {
		return status;
	}
	for (i = 0; i < operation->saved_count; i++) {
		if (operation->saved[i] == (SAVED_INODE | ino)) {
			length = 0;
		}
	}
	page = page_of(volume, ino, &offset);
	status = nv_page_modify(operation, page, offset, length, &content);
	if (status != NV_OK) {
		return status;
	}
	if (length > 0 && operation->saved_count < NV_OPERATION_PAGES) {
		operation->saved[operation->saved_count] = SAVED_INODE | ino;
		operation->saved_count++;
	}
	*inode = (void *)((uint8_t *)content + offset);
	return NV_OK;
}

/* The next generation of a number; 0 if there is none. */
static enum nv_status next_generation(struct nv_volume *volume, uint64_t ino,
				      uint32_t *generation)
{
	const struct nv_disk_inode *old = NULL;
	enum nv_status status;

	status = raw_read(volume, ino, &old);
	if (status == NV_ERR_NOT_FOUND) {
		*generation = 1;
		return NV_OK;
	}
	if (status != NV_OK) {
		return status;
	}
	if (old->type != 0) {
		return nv_withdraw(volume, NV_ERR_CORRUPT,
				   "inode %llu is in use, its bit is not "
				   "(I13); run fsck.ntvfs",
				   (unsigned long long)ino);
	}
	*generation = NV_FILE_GENERATION(old->file_id) + 1;
	if (*generation > NV_MAX_GENERATION) {
		*generation = 0;
	}
	return NV_OK;
}

/* Inside the gate: move a number from the cache into the reservation. */
static enum nv_status take_number(struct nv_volume *volume,
				  struct nv_slot *slot, uint64_t *ino)
{
	enum nv_status status;
	uint32_t count;

	if (atomic_load(&slot->inode_count) == 0) {
		status = nv_claim_inodes(volume, slot);
		if (status != NV_OK) {
			return status;
		}
	}
	count = atomic_load(&slot->inode_count);
	*ino = slot->inode[count - 1];
	atomic_store(&slot->reserved_inode, *ino);
	atomic_store(&slot->inode_count, count - 1);
	return NV_OK;
}

enum nv_status nv_inode_reserve(struct nv_volume *volume, nv_file_id *id)
{
	struct nv_slot *slot = NULL;
	enum nv_status status;
	uint32_t generation = 0;
	uint64_t ino = 0;

	if ((volume->flags & NV_ATTACH_READ_ONLY) != 0) {
		return NV_ERR_READ_ONLY;
	}
	if (nv_is_withdrawn(volume)) {
		return NV_ERR_WITHDRAWN;
	}
	status = nv_slot_get(volume, &slot);
	if (status != NV_OK) {
		return status;
	}
	if (atomic_load(&slot->reserved_inode) != 0) {
		return NV_ERR_INVALID;
	}
	while (generation == 0) {
		nv_gate_enter(volume, slot);
		status = take_number(volume, slot, &ino);
		nv_gate_leave(slot);
		if (status == NV_ERR_RETRY) {
			status = nv_entries_back_more(volume);
			if (status != NV_OK) {
				return status;
			}
			continue;
		}
		/*
		 * A number without generations left stays claimed: retired,
		 * until heal, and then again.
		 */
		nv_transfer_begin(volume, slot);
		status = next_generation(volume, ino, &generation);
		nv_transfer_end(slot);
		if (status != NV_OK) {
			return status;
		}
	}
	*id = NV_FILE_ID(ino, generation);
	return NV_OK;
}

void nv_inode_unreserve(struct nv_volume *volume, nv_file_id id)
{
	struct nv_slot *slot = NULL;
	uint32_t count;

	if (nv_slot_get(volume, &slot) != NV_OK ||
	    atomic_load(&slot->reserved_inode) != NV_FILE_INO(id)) {
		return;
	}
	nv_gate_enter(volume, slot);
	count = atomic_load(&slot->inode_count);
	atomic_store(&slot->reserved_inode, 0);
	if (count < NV_CACHED_INODES) {
		slot->inode[count] = NV_FILE_INO(id);
		atomic_store(&slot->inode_count, count + 1);
	} else {
		nv_bits_fill(volume, NV_CLAIMED_INODES, NV_FILE_INO(id), 1,
			     false);
	}
	nv_gate_leave(slot);
}

enum nv_status nv_inode_new(struct nv_operation *operation, nv_file_id id,
			    uint32_t type, struct nv_disk_inode **inode)
{
	struct nv_volume *volume = operation->volume;
	struct nv_disk_inode *made = NULL;
	void *content = NULL;
	enum nv_status status;
	uint32_t offset = 0;
	uint64_t page;

	page = page_of(volume, NV_FILE_INO(id), &offset);
	status = nv_page_make(operation, page, offset, volume->inode_size,
			      &content);
	if (status != NV_OK) {
		return status;
	}
	status = nv_bits_change(operation, NV_BITMAP_INODES, NV_FILE_INO(id),
				1, true);
	if (status != NV_OK) {
		return status;
	}
	made = (void *)((uint8_t *)content + offset);
	memset(made, 0, volume->inode_size);
	made->magic = NV_INODE_MAGIC;
	made->fixed_size = sizeof(*made);
	made->type = (uint8_t)type;
	made->file_id = id;
	operation->used_reservation = true;
	if (operation->saved_count < NV_OPERATION_PAGES) {
		operation->saved[operation->saved_count] =
			SAVED_INODE | NV_FILE_INO(id);
		operation->saved_count++;
	}
	*inode = made;
	return NV_OK;
}

enum nv_status nv_inode_free(struct nv_operation *operation, nv_file_id id)
{
	struct nv_volume *volume = operation->volume;
	struct nv_disk_inode *inode = NULL;
	enum nv_status status;

	status = nv_inode_modify(operation, id, &inode);
	if (status != NV_OK) {
		return status;
	}
	if (inode->extent_count != 0 || inode->data_root != NV_PAGE_NONE ||
	    (inode->flags & NV_INODE_ORPHAN) != 0) {
		return nv_withdraw(volume, NV_ERR_CORRUPT,
				   "inode %llu is freed with something left",
				   (unsigned long long)NV_FILE_INO(id));
	}
	status = nv_bits_change(operation, NV_BITMAP_INODES, NV_FILE_INO(id),
				1, false);
	if (status != NV_OK) {
		return status;
	}
	memset(inode, 0, volume->inode_size);
	inode->magic = NV_INODE_MAGIC;
	inode->fixed_size = sizeof(*inode);
	inode->file_id = id;
	if (!nv_operation_drop_claim(operation, NV_CLAIMED_INODES,
				     NV_FILE_INO(id), false)) {
		return NV_ERR_TOO_LARGE;
	}
	return NV_OK;
}

void nv_inode_info(const struct nv_disk_inode *inode, struct nv_info *info)
{
	*info = (struct nv_info) {
		.id = inode->file_id,
		.parent = inode->parent_id,
		.type = inode->type,
		.attributes = inode->attributes,
		.creation_time = inode->creation_time,
		.last_access_time = inode->last_access_time,
		.last_write_time = inode->last_write_time,
		.change_time = inode->change_time,
		.size = inode->size,
		.allocation = inode->allocation,
		.nlink = inode->nlink,
		.sd_id = inode->sd_id,
		.reparse_tag = inode->reparse_tag,
		.ea_size = inode->ea_size,
		.ea_count = inode->ea_count,
		.stream_count = inode->stream_count,
		.uid = inode->uid,
		.gid = inode->gid,
		.mode = inode->mode,
		.device = inode->device,
		.entry_count = inode->entry_count,
		.case_sensitive =
			(inode->flags & NV_INODE_CASE_SENSITIVE) != 0,
	};
}
