/*
 * Reading extended attributes, without a lock.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <string.h>
#include "ea.h"

/* For one round of a reader. */
static enum nv_status get(struct nv_volume *volume, nv_file_id id,
			  const char *name, void *value, uint32_t room,
			  uint32_t *length, uint8_t *flags)
{
	const struct nv_disk_inode *inode = NULL;
	const uint8_t *bytes = NULL;
	struct nv_name_record record;
	struct nv_names names;
	struct nv_disk_ea ea;
	enum nv_status status;
	struct nv_key key;
	uint32_t item_length = 0;
	uint32_t offset = 0;

	status = nv_inode_read(volume, id, &inode);
	if (status != NV_OK) {
		return status;
	}
	bytes = nv_item_find(inode, nv_inode_size(volume), NV_ITEM_EA,
			     &item_length);
	if (bytes != NULL && nv_ea_item_find(bytes, item_length, name, &ea,
					     &offset)) {
		*length = ea.value_length;
		*flags = ea.flags;
		if (*length <= room) {
			memcpy(value, bytes + offset + sizeof(ea) +
			       ea.name_length, *length);
		}
		return NV_OK;
	}
	nv_ea_open_tree(&names, volume, inode);
	nv_ea_key(&key, &names, name);
	status = nv_names_find(&names, &key, &record);
	if (status != NV_OK) {
		return status;
	}
	*length = (uint32_t)record.name.cookie;
	*flags = (uint8_t)(record.name.cookie >> 32);
	if (*length > room) {
		return NV_OK;
	}
	if (record.name.value != NV_PAGE_NONE) {
		return nv_value_read(volume, NV_KIND_EA, id,
				     record.name.value, value, *length);
	}
	if (*length != record.name.payload_length) {
		return NV_ERR_CORRUPT;
	}
	memcpy(value, nv_name_payload(&record.name), *length);
	return NV_OK;
}

enum nv_status nv_ea_get(struct nv_volume *volume, nv_file_id id,
			 const char *name, void *value, uint32_t *length,
			 uint8_t *flags)
{
	struct nv_reader reader;
	uint32_t room = *length;
	enum nv_status status;
	uint32_t found = 0;
	uint8_t found_flags = 0;
	size_t name_length = strlen(name);

	if (name_length == 0 || name_length > NV_NAME_KEY_MAX) {
		return NV_ERR_NAME;
	}
	status = nv_read_begin(volume, NV_FILE_INO(id), &reader);
	if (status != NV_OK) {
		return status;
	}
	do {
		status = get(volume, id, name, value, room, &found,
			     &found_flags);
	} while (nv_read_again(&reader));
	if (status != NV_OK) {
		return status;
	}
	*length = found;
	if (found > room) {
		return NV_ERR_TOO_LARGE;
	}
	if (flags != NULL) {
		*flags = found_flags;
	}
	return NV_OK;
}

/* MS-FSCC 2.4.16, without the name that follows. */
struct full_ea {
	uint32_t next;
	uint8_t flags;
	uint8_t name_length;
	uint16_t value_length;
} __attribute__((packed));

static_assert(sizeof(struct full_ea) == 8, "FILE_FULL_EA_INFORMATION");

/* A list being packed into a buffer that may be too small. */
struct packing {
	struct nv_volume *volume;
	nv_file_id id;
	uint8_t *buffer;
	uint32_t room;
	uint32_t used;			/* so far, or needed */
	uint32_t last;			/* offset of the last one */
	enum nv_status status;
};

/*
 * Add one; returns where its value goes, NULL if the buffer is too small. The
 * room is counted in any case.
 */
static uint8_t *add(struct packing *packing, uint8_t flags,
		    const uint16_t *wide, const uint8_t *narrow,
		    uint32_t name_length, uint32_t value_length)
{
	uint32_t start = (packing->used + 3U) & ~3U;
	uint32_t size = (uint32_t)sizeof(struct full_ea) + name_length + 1 +
		value_length;
	struct full_ea header = {
		.flags = flags,
		.name_length = (uint8_t)name_length,
		.value_length = (uint16_t)value_length,
	};
	uint32_t distance = start - packing->last;
	uint8_t *at = NULL;
	uint32_t i;

	/* A list that changes while it is read cannot grow without end. */
	if (size > UINT32_MAX / 2 - start) {
		packing->status = NV_ERR_TOO_LARGE;
		return NULL;
	}
	if (start + size > packing->room) {
		packing->used = start + size;
		return NULL;
	}
	if (packing->used > 0) {
		memcpy(packing->buffer + packing->last, &distance,
		       sizeof(distance));
		memset(packing->buffer + packing->used, 0,
		       start - packing->used);
	}
	packing->last = start;
	packing->used = start + size;
	at = packing->buffer + start;
	memcpy(at, &header, sizeof(header));
	at += sizeof(header);
	for (i = 0; i < name_length; i++) {
		at[i] = wide != NULL ? (uint8_t)wide[i] : narrow[i];
	}
	at[name_length] = 0;
	return at + name_length + 1;
}

static bool add_record(void *private_data,
		       const struct nv_name_record *record)
{
	struct packing *packing = private_data;
	const struct nv_disk_name *name = &record->name;
	uint32_t length = (uint32_t)name->cookie;
	uint8_t *value = NULL;

	if (length > UINT16_MAX || (name->value == NV_PAGE_NONE &&
				    length != name->payload_length)) {
		packing->status = NV_ERR_CORRUPT;
		return false;
	}
	value = add(packing, (uint8_t)(name->cookie >> 32), nv_name_key(name),
		    NULL, name->key_length, length);
	if (value == NULL) {
		return packing->status == NV_OK;
	}
	if (name->value == NV_PAGE_NONE) {
		memcpy(value, nv_name_payload(name), length);
		return true;
	}
	packing->status = nv_value_read(packing->volume, NV_KIND_EA,
					packing->id, name->value, value,
					length);
	return packing->status == NV_OK;
}

/* Remembers the last record, to go on behind it in the next leaf. */
struct walk {
	struct packing *packing;
	struct nv_key key;
	const struct nv_name_order *order;
};

static bool walk_record(void *private_data,
			const struct nv_name_record *record)
{
	struct walk *walk = private_data;

	nv_key_set(&walk->key, walk->order, nv_name_key(&record->name),
		   record->name.key_length);
	return add_record(walk->packing, record);
}

/* For one round of a reader. */
static enum nv_status list(struct packing *packing)
{
	const struct nv_disk_inode *inode = NULL;
	const uint8_t *bytes = NULL;
	struct nv_names names;
	struct nv_disk_ea ea;
	enum nv_status status;
	struct walk walk;
	uint32_t length = 0;
	uint32_t offset = 0;
	uint32_t next = 0;

	status = nv_inode_read(packing->volume, packing->id, &inode);
	if (status != NV_OK) {
		return status;
	}
	bytes = nv_item_find(inode, nv_inode_size(packing->volume),
			     NV_ITEM_EA, &length);
	if (bytes == NULL) {
		length = 0;
	}
	while (nv_ea_item_at(bytes, length, offset, &ea, &next)) {
		const uint8_t *name = bytes + offset + sizeof(ea);
		uint8_t *value = add(packing, ea.flags, NULL, name,
				     ea.name_length, ea.value_length);

		if (value != NULL) {
			memcpy(value, name + ea.name_length, ea.value_length);
		}
		offset = next;
	}
	nv_ea_open_tree(&names, packing->volume, inode);
	walk.packing = packing;
	walk.order = &names.tree.order;
	nv_ea_key(&walk.key, &names, "");
	do {
		status = nv_names_visit(&names, &walk.key, walk_record,
					&walk);
	} while (status == NV_OK && packing->status == NV_OK);
	if (status == NV_ERR_NOT_FOUND) {
		return NV_OK;
	}
	return status != NV_OK ? status : packing->status;
}

enum nv_status nv_ea_list(struct nv_volume *volume, nv_file_id id,
			  void *buffer, uint32_t *length)
{
	struct packing packing;
	struct nv_reader reader;
	enum nv_status status;

	status = nv_read_begin(volume, NV_FILE_INO(id), &reader);
	if (status != NV_OK) {
		return status;
	}
	do {
		packing = (struct packing) {
			.volume = volume,
			.id = id,
			.buffer = buffer,
			.room = *length,
		};
		status = list(&packing);
	} while (nv_read_again(&reader));
	if (status != NV_OK) {
		return status;
	}
	*length = packing.used;
	return packing.used > packing.room ? NV_ERR_TOO_LARGE : NV_OK;
}
