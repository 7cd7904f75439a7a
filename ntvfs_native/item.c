/*
 * Items behind the fixed part of an inode.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plain functions on memory. The lists they read may be damaged, or change
 * while they are looked at by a lock-free reader, so every length is checked
 * against the end of the inode.
 */

#include <string.h>
#include "inode.h"

static uint32_t padded(uint32_t length)
{
	return (length + 7U) & ~7U;
}

static uint32_t first_offset(const struct nv_disk_inode *inode,
			     uint32_t inode_size)
{
	uint32_t offset = inode->fixed_size;

	if (offset < 64 || offset > inode_size || (offset & 7) != 0) {
		return inode_size;
	}
	return offset;
}

/*
 * The item at offset; false at the end of the list. *malformed tells an end
 * that should not be.
 */
static bool item_at(const struct nv_disk_inode *inode, uint32_t inode_size,
		    uint32_t offset, struct nv_disk_item *item,
		    bool *malformed)
{
	if (offset + sizeof(*item) > inode_size) {
		return false;
	}
	memcpy(item, (const uint8_t *)inode + offset, sizeof(*item));
	if (item->kind == NV_ITEM_END) {
		return false;
	}
	if (item->length > inode_size - offset - sizeof(*item) ||
	    item->kind > NV_ITEM_MAX) {
		*malformed = true;
		return false;
	}
	return true;
}

static uint32_t next_offset(uint32_t offset, const struct nv_disk_item *item)
{
	return offset + (uint32_t)sizeof(*item) + padded(item->length);
}

bool nv_items_valid(const struct nv_disk_inode *inode, uint32_t inode_size)
{
	uint32_t offset = first_offset(inode, inode_size);
	struct nv_disk_item item;
	bool malformed = false;
	uint32_t last = 0;

	if (offset == inode_size && inode->fixed_size != inode_size) {
		return false;
	}
	while (item_at(inode, inode_size, offset, &item, &malformed)) {
		if (item.kind <= last) {
			return false;
		}
		last = item.kind;
		offset = next_offset(offset, &item);
		if (offset > inode_size) {
			return false;
		}
	}
	return !malformed;
}

const void *nv_item_find(const struct nv_disk_inode *inode,
			 uint32_t inode_size, uint32_t kind,
			 uint32_t *length)
{
	uint32_t offset = first_offset(inode, inode_size);
	struct nv_disk_item item;
	bool malformed = false;

	while (item_at(inode, inode_size, offset, &item, &malformed)) {
		if (item.kind == kind) {
			*length = item.length;
			return (const uint8_t *)inode + offset + sizeof(item);
		}
		if (item.kind > kind) {
			break;
		}
		offset = next_offset(offset, &item);
	}
	return NULL;
}

/* Where the item is or belongs, its present size with header, and the end
 * of the list. */
static bool survey(const struct nv_disk_inode *inode, uint32_t inode_size,
		   uint32_t kind, uint32_t *place, uint32_t *present,
		   uint32_t *end)
{
	uint32_t offset = first_offset(inode, inode_size);
	struct nv_disk_item item;
	bool malformed = false;
	bool placed = false;

	*present = 0;
	while (item_at(inode, inode_size, offset, &item, &malformed)) {
		if (!placed && item.kind >= kind) {
			*place = offset;
			placed = true;
			if (item.kind == kind) {
				*present = next_offset(offset, &item) - offset;
			}
		}
		offset = next_offset(offset, &item);
		if (offset > inode_size) {
			return false;
		}
	}
	if (malformed) {
		return false;
	}
	if (!placed) {
		*place = offset;
	}
	*end = offset;
	return true;
}

bool nv_item_set(struct nv_disk_inode *inode, uint32_t inode_size,
		 uint32_t kind, const void *payload, uint32_t length)
{
	uint8_t *bytes = (uint8_t *)inode;
	uint32_t place = 0;
	uint32_t present = 0;
	uint32_t end = 0;
	uint32_t wanted = 0;
	uint32_t new_end;
	struct nv_disk_item item = {
		.kind = (uint16_t)kind,
		.length = (uint16_t)length,
	};
	uint32_t old_length = 0;

	if (!survey(inode, inode_size, kind, &place, &present, &end)) {
		return false;
	}
	if (length > 0) {
		wanted = (uint32_t)sizeof(item) + padded(length);
	}
	if (wanted > present && wanted - present > inode_size - end) {
		return false;
	}
	if (present > 0) {
		struct nv_disk_item old;

		memcpy(&old, bytes + place, sizeof(old));
		old_length = old.length;
	}
	new_end = end - present + wanted;
	if (wanted != present) {
		memmove(bytes + place + wanted, bytes + place + present,
			end - place - present);
	}
	if (new_end < end) {
		memset(bytes + new_end, 0, end - new_end);
	}
	if (wanted == 0) {
		return true;
	}
	memcpy(bytes + place, &item, sizeof(item));
	bytes += place + sizeof(item);
	if (payload != NULL) {
		memcpy(bytes, payload, length);
		old_length = length;
	}
	if (old_length > length) {
		old_length = length;
	}
	memset(bytes + old_length, 0, padded(length) - old_length);
	return true;
}

uint32_t nv_item_room(const struct nv_disk_inode *inode, uint32_t inode_size,
		      uint32_t kind)
{
	uint32_t place = 0;
	uint32_t present = 0;
	uint32_t end = 0;
	uint32_t room;

	if (!survey(inode, inode_size, kind, &place, &present, &end)) {
		return 0;
	}
	room = inode_size - end + present;
	if (room < sizeof(struct nv_disk_item) + 8) {
		return 0;
	}
	return (room - (uint32_t)sizeof(struct nv_disk_item)) & ~7U;
}
