/*
 * Extended attributes (MS-FSCC 2.4.16).
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * EAs live in an item of the inode as long as they fit there, one by one;
 * others are records of a tree that the inode names, with the value in the
 * record or, when it is long, in a chain of pages. An EA is in one of the two
 * places. A value of the same size is replaced where it is.
 */

#include <string.h>
#include "ea.h"
#include "killpoint.h"

/* What FILE_EA_INFORMATION counts for one EA, and once for the list. */
#define EA_SIZE_EACH 5
#define EA_SIZE_LIST 4

#define INLINE_MAX NV_NAME_PAYLOAD_MAX
#define TREE_CHANGE_PAGES (NV_NAME_INSERT_PAGES + NV_NAME_REMOVE_PAGES)

uint64_t nv_ea_cookie(uint32_t length, uint8_t flags)
{
	return ((uint64_t)flags << 32) | length;
}

void nv_ea_open_tree(struct nv_names *names, struct nv_volume *volume,
		     const struct nv_disk_inode *inode)
{
	nv_names_open(names, volume, inode, NV_KIND_EA);
}

void nv_ea_key(struct nv_key *key, const struct nv_names *names,
	       const char *name)
{
	uint16_t units[NV_NAME_KEY_MAX];
	uint32_t length;

	for (length = 0; name[length] != '\0' && length < NV_NAME_KEY_MAX;
	     length++) {
		units[length] = (uint8_t)name[length];
	}
	nv_key_set(key, &names->tree.order, units, length);
}

/* ---- the item ---- */

static uint32_t ea_size(uint32_t name_length, uint32_t value_length)
{
	return ((uint32_t)sizeof(struct nv_disk_ea) + name_length +
		value_length + 7) & ~7U;
}

bool nv_ea_item_at(const uint8_t *bytes, uint32_t length, uint32_t offset,
		   struct nv_disk_ea *ea, uint32_t *next)
{
	if (offset >= length || length - offset < sizeof(*ea)) {
		return false;
	}
	memcpy(ea, bytes + offset, sizeof(*ea));
	if (ea_size(ea->name_length, ea->value_length) > length - offset) {
		return false;
	}
	*next = offset + ea_size(ea->name_length, ea->value_length);
	return true;
}

static uint8_t fold(uint8_t c)
{
	return c >= 'a' && c <= 'z' ? (uint8_t)(c - 'a' + 'A') : c;
}

static int compare_names(const char *name, uint32_t length,
			 const uint8_t *other, uint32_t other_length)
{
	uint32_t common = length < other_length ? length : other_length;
	uint32_t i;

	for (i = 0; i < common; i++) {
		int difference = fold((uint8_t)name[i]) - fold(other[i]);

		if (difference != 0) {
			return difference;
		}
	}
	return (int)length - (int)other_length;
}

bool nv_ea_item_find(const uint8_t *bytes, uint32_t length, const char *name,
		     struct nv_disk_ea *ea, uint32_t *offset)
{
	uint32_t name_length = (uint32_t)strlen(name);
	uint32_t next = 0;

	*offset = 0;
	while (nv_ea_item_at(bytes, length, *offset, ea, &next)) {
		int order = compare_names(name, name_length,
					  bytes + *offset + sizeof(*ea),
					  ea->name_length);

		if (order <= 0) {
			return order == 0;
		}
		*offset = next;
	}
	return false;
}

/* ---- setting ---- */

/* All that one change needs to know. */
struct change {
	struct nv_operation *operation;
	struct nv_disk_inode *inode;
	uint32_t inode_size;
	struct nv_names names;
};

static uint8_t *item_of(const struct change *change, uint32_t *length)
{
	*length = 0;
	return (uint8_t *)nv_item_find(change->inode, change->inode_size,
				       NV_ITEM_EA, length);
}

static void count_out(struct nv_disk_inode *inode, uint32_t name_length,
		      uint32_t value_length)
{
	inode->ea_count--;
	inode->ea_size -= EA_SIZE_EACH + name_length + value_length;
	if (inode->ea_count == 0) {
		inode->ea_size = 0;
	}
}

static void count_in(struct nv_disk_inode *inode, uint32_t name_length,
		     uint32_t value_length)
{
	if (inode->ea_count == 0) {
		inode->ea_size = EA_SIZE_LIST;
	}
	inode->ea_count++;
	inode->ea_size += EA_SIZE_EACH + name_length + value_length;
}

/* *done: it was there with this size. Otherwise it is gone from the item. */
static enum nv_status item_replace(struct change *change,
				   const struct nv_ea *ea, bool *done)
{
	struct nv_disk_ea present;
	uint32_t length = 0;
	uint32_t offset = 0;
	uint8_t *bytes = item_of(change, &length);
	uint32_t size;

	*done = false;
	if (bytes == NULL || !nv_ea_item_find(bytes, length, ea->name,
					      &present, &offset)) {
		return NV_OK;
	}
	if (present.value_length == ea->length) {
		present.flags = ea->flags;
		memcpy(bytes + offset, &present, sizeof(present));
		NV_KILL_POINT("ea: value in the inode being replaced");
		memcpy(bytes + offset + sizeof(present) + present.name_length,
		       ea->value, ea->length);
		*done = true;
		return NV_OK;
	}
	if (change->inode->ea_count == 0) {
		return NV_ERR_CORRUPT;
	}
	count_out(change->inode, present.name_length, present.value_length);
	size = ea_size(present.name_length, present.value_length);
	memmove(bytes + offset, bytes + offset + size,
		length - offset - size);
	nv_item_set(change->inode, change->inode_size, NV_ITEM_EA, NULL,
		    length - size);
	return NV_OK;
}

static enum nv_status tree_replace(struct change *change,
				   const struct nv_ea *ea, bool *done)
{
	struct nv_operation *operation = change->operation;
	struct nv_name_record record;
	enum nv_status status;
	struct nv_key key;
	uint32_t length;
	uint64_t page;

	*done = false;
	if (change->names.tree.root == NV_PAGE_NONE) {
		return NV_OK;
	}
	nv_ea_key(&key, &change->names, ea->name);
	status = nv_names_find(&change->names, &key, &record);
	if (status == NV_ERR_NOT_FOUND) {
		return NV_OK;
	}
	if (status != NV_OK) {
		return status;
	}
	length = (uint32_t)record.name.cookie;
	page = record.name.value;
	if (length == ea->length && length > 0) {
		if (page != NV_PAGE_NONE) {
			status = nv_value_replace(operation, NV_KIND_EA,
						  change->inode->file_id,
						  page, ea->value, length);
			if (status != NV_OK) {
				return status;
			}
		} else if (record.name.payload_length != length) {
			return NV_ERR_CORRUPT;
		} else {
			memcpy(record.bytes + 2 * record.name.key_length,
			       ea->value, length);
		}
		record.name.cookie = nv_ea_cookie(length, ea->flags);
		*done = true;
		return nv_name_tree_replace(operation, &change->names.tree,
					    &record);
	}
	if (page != NV_PAGE_NONE) {
		status = nv_value_free(operation, NV_KIND_EA,
				       change->inode->file_id, page);
		if (status != NV_OK) {
			return status;
		}
	}
	if (change->inode->ea_count == 0) {
		return NV_ERR_CORRUPT;
	}
	count_out(change->inode, record.name.key_length, length);
	NV_KILL_POINT("ea: old value freed, record left");
	return nv_names_remove(operation, &change->names, change->inode,
			       &key);
}

/* False: no room in the inode. */
static bool item_insert(struct change *change, const struct nv_ea *ea)
{
	uint32_t name_length = (uint32_t)strlen(ea->name);
	uint32_t size = ea_size(name_length, ea->length);
	struct nv_disk_ea header = {
		.value_length = (uint16_t)ea->length,
		.name_length = (uint8_t)name_length,
		.flags = ea->flags,
	};
	struct nv_disk_ea present;
	uint32_t length = 0;
	uint32_t offset = 0;
	uint8_t *bytes = item_of(change, &length);

	if (size > change->inode_size) {
		return false;
	}
	if (bytes != NULL) {
		nv_ea_item_find(bytes, length, ea->name, &present, &offset);
	}
	if (!nv_item_set(change->inode, change->inode_size, NV_ITEM_EA, NULL,
			 length + size)) {
		return false;
	}
	bytes = item_of(change, &length);
	memmove(bytes + offset + size, bytes + offset,
		length - size - offset);
	bytes += offset;
	memset(bytes, 0, size);
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), ea->name, name_length);
	memcpy(bytes + sizeof(header) + name_length, ea->value, ea->length);
	NV_KILL_POINT("ea: put into the inode, not counted");
	return true;
}

static enum nv_status tree_insert(struct change *change,
				  const struct nv_ea *ea)
{
	uint64_t cookie = nv_ea_cookie(ea->length, ea->flags);
	struct nv_name_record record;
	enum nv_status status;
	struct nv_key key;
	uint64_t page = NV_PAGE_NONE;
	uint32_t inside = ea->length;

	if (ea->length > INLINE_MAX) {
		status = nv_value_new(change->operation, NV_KIND_EA,
				      change->inode->file_id, ea->value,
				      ea->length, &page);
		if (status != NV_OK) {
			return status;
		}
		inside = 0;
	}
	nv_ea_key(&key, &change->names, ea->name);
	nv_name_record_set(&record, page, cookie, 0, key.units, key.length,
			   ea->value, inside);
	status = nv_names_insert_deep(change->operation, &change->names,
				      change->inode, &record);
	return status == NV_ERR_EXISTS ? NV_ERR_CORRUPT : status;
}

static enum nv_status set_one(struct change *change, const struct nv_ea *ea)
{
	enum nv_status status;
	bool done = false;

	status = item_replace(change, ea, &done);
	if (status != NV_OK || done) {
		return status;
	}
	status = tree_replace(change, ea, &done);
	if (status != NV_OK || done || ea->length == 0) {
		return status;
	}
	if (!item_insert(change, ea)) {
		status = tree_insert(change, ea);
		if (status != NV_OK) {
			return status;
		}
	}
	count_in(change->inode, (uint32_t)strlen(ea->name), ea->length);
	return NV_OK;
}

enum nv_status nv_ea_apply(struct nv_operation *operation,
			   struct nv_disk_inode *inode,
			   const struct nv_ea *ea, uint32_t count)
{
	struct change change = {
		.operation = operation,
		.inode = inode,
		.inode_size = nv_inode_size(operation->volume),
	};
	enum nv_status status;
	uint32_t i;

	nv_ea_open_tree(&change.names, operation->volume, inode);
	for (i = 0; i < count; i++) {
		status = set_one(&change, &ea[i]);
		if (status != NV_OK) {
			return status;
		}
	}
	return NV_OK;
}

enum nv_status nv_ea_prepare(const struct nv_ea *ea, uint32_t count,
			     uint32_t *pages)
{
	uint32_t needed = 0;
	uint32_t i;

	if (count == 0) {
		*pages = 0;
		return NV_OK;
	}
	for (i = 0; i < count; i++) {
		size_t name_length = strlen(ea[i].name);

		if (name_length == 0 || name_length > NV_NAME_KEY_MAX) {
			return NV_ERR_NAME;
		}
		if (ea[i].length > UINT16_MAX) {
			return NV_ERR_TOO_LARGE;
		}
		if (needed < NV_EA_PAGES) {
			needed += TREE_CHANGE_PAGES;
			if (ea[i].length > INLINE_MAX) {
				needed += nv_value_pages(ea[i].length);
			}
		}
	}
	/* Deep trees; and several EAs share pages of the tree. */
	needed += NV_NAME_INSERT_PAGES;
	*pages = needed < NV_EA_PAGES ? needed : NV_EA_PAGES;
	return NV_OK;
}

enum nv_status nv_ea_set(struct nv_volume *volume, nv_file_id id,
			 const struct nv_ea *ea, uint32_t count)
{
	struct nv_disk_inode *inode = NULL;
	struct nv_operation operation;
	uint64_t ino = NV_FILE_INO(id);
	enum nv_status status;
	uint32_t pages = 0;
	uint32_t flags = NV_OP_FREES;
	uint32_t i;

	status = nv_ea_prepare(ea, count, &pages);
	if (status != NV_OK) {
		return status;
	}
	for (i = 0; i < count; i++) {
		if (ea[i].length > 0) {
			flags = 0;
		}
	}
	status = nv_operation_begin(volume, &operation, &ino, 1, 1 + pages,
				    flags);
	if (status != NV_OK) {
		return status;
	}
	status = nv_inode_modify(&operation, id, &inode);
	if (status == NV_OK) {
		status = nv_ea_apply(&operation, inode, ea, count);
	}
	return nv_operation_finish(&operation, status);
}

/* ---- reclaiming ---- */

static bool keep_first(void *private_data,
		       const struct nv_name_record *record)
{
	struct nv_name_record *first = private_data;

	*first = *record;
	return false;
}

/* Free the first EA of the tree; *more: there may be another. */
static enum nv_status reclaim_one(struct nv_volume *volume, nv_file_id id,
				  bool *more)
{
	struct nv_disk_inode *inode = NULL;
	struct nv_operation operation;
	uint64_t ino = NV_FILE_INO(id);
	struct nv_name_record first;
	struct nv_names names;
	enum nv_status status;
	struct nv_key key;

	*more = false;
	status = nv_operation_begin(volume, &operation, &ino, 1,
				    1 + NV_NAME_REMOVE_PAGES, NV_OP_FREES);
	if (status != NV_OK) {
		return status;
	}
	status = nv_inode_modify(&operation, id, &inode);
	if (status != NV_OK) {
		goto done;
	}
	nv_ea_open_tree(&names, volume, inode);
	nv_ea_key(&key, &names, "");
	status = nv_names_visit(&names, &key, keep_first, &first);
	if (status != NV_OK) {
		goto done;
	}
	if (first.name.value != NV_PAGE_NONE) {
		status = nv_value_free(&operation, NV_KIND_EA, id,
				       first.name.value);
		if (status != NV_OK) {
			goto done;
		}
	}
	nv_key_set(&key, &names.tree.order, nv_name_key(&first.name),
		   first.name.key_length);
	status = nv_names_remove(&operation, &names, inode, &key);
	if (status == NV_OK && inode->ea_count > 0) {
		count_out(inode, first.name.key_length,
			  (uint32_t)first.name.cookie);
	}
	*more = status == NV_OK;
done:
	return nv_operation_finish(&operation, status);
}

enum nv_status nv_ea_reclaim(struct nv_volume *volume, nv_file_id id)
{
	enum nv_status status;
	bool more = true;

	while (more) {
		status = reclaim_one(volume, id, &more);
		if (status == NV_ERR_NOT_FOUND) {
			/* No EA left in the tree, or no object. */
			break;
		}
		if (status != NV_OK) {
			return status;
		}
	}
	return nv_names_reclaim(volume, id, NV_KIND_EA);
}
