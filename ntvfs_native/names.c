/*
 * Indexes of names that belong to an object: few in the inode, many in a tree.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <string.h>
#include "killpoint.h"
#include "names.h"

/* Where the inode names the tree's root. */
static uint64_t *root_of(struct nv_disk_inode *inode, uint32_t kind)
{
	switch (kind) {
	case NV_KIND_DIRECTORY:
		return &inode->directory_root;
	case NV_KIND_STREAMS:
		return &inode->stream_root;
	default:
		return &inode->ea_root;
	}
}

static uint32_t item_of(uint32_t kind)
{
	switch (kind) {
	case NV_KIND_DIRECTORY:
		return NV_ITEM_NAMES;
	case NV_KIND_STREAMS:
		return NV_ITEM_STREAMS;
	default:
		return 0;
	}
}

void nv_names_open(struct nv_names *names, struct nv_volume *volume,
		   const struct nv_disk_inode *inode, uint32_t kind)
{
	*names = (struct nv_names) {
		.tree = {
			.volume = volume,
			.kind = kind,
			.owner = inode->file_id,
			.order = {.upcase = nv_volume_upcase(volume)},
		},
		.item = item_of(kind),
		.inode_size = nv_inode_size(volume),
		.inode = inode,
	};
	if (kind == NV_KIND_DIRECTORY) {
		names->tree.root = inode->directory_root;
		names->tree.order.exact =
			(inode->flags & NV_INODE_CASE_SENSITIVE) != 0;
	} else if (kind == NV_KIND_STREAMS) {
		names->tree.root = inode->stream_root;
	} else {
		names->tree.root = inode->ea_root;
		names->tree.order = (struct nv_name_order) {.ascii = true};
	}
}

/* ---- the list in the inode ---- */

struct list {
	const uint8_t *bytes;
	uint32_t length;
};

static struct list list_of(const struct nv_names *names)
{
	struct list list = {0};

	if (names->item != 0) {
		list.bytes = nv_item_find(names->inode, names->inode_size,
					  names->item, &list.length);
	}
	if (list.bytes == NULL) {
		list.length = 0;
	}
	return list;
}

/*
 * The record at offset; false at the end. Checked against the list, which a
 * reader may see half-changed.
 */
static bool list_at(const struct list *list, uint32_t offset,
		    struct nv_name_record *record, uint32_t *next)
{
	uint32_t used = 0;

	if (offset >= list->length ||
	    !nv_name_record_get(record, list->bytes + offset,
				list->length - offset, &used)) {
		return false;
	}
	*next = offset + used;
	return true;
}

/* The first record at or above key; *exact: at. false: malformed. */
static bool list_search(const struct nv_names *names, const struct list *list,
			const struct nv_key *key,
			struct nv_name_record *record, uint32_t *offset,
			bool *exact)
{
	uint32_t next = 0;

	*offset = 0;
	*exact = false;
	while (list_at(list, *offset, record, &next)) {
		int result = nv_key_compare(key, &names->tree.order,
					    nv_name_key(&record->name),
					    record->name.key_length);

		if (result <= 0) {
			*exact = result == 0;
			return true;
		}
		*offset = next;
	}
	return *offset == list->length;
}

static enum nv_status list_visit(const struct nv_names *names,
				 const struct nv_key *key,
				 nv_name_visit visit, void *private_data)
{
	struct list list = list_of(names);
	struct nv_name_record record;
	uint32_t offset = 0;
	uint32_t next = 0;
	bool exact = false;
	bool any = false;

	if (!list_search(names, &list, key, &record, &offset, &exact)) {
		return NV_ERR_CORRUPT;
	}
	if (exact) {
		list_at(&list, offset, &record, &next);
		offset = next;
	}
	while (list_at(&list, offset, &record, &next)) {
		any = true;
		if (!nv_name_above(&names->tree.order, key, &record)) {
			return NV_ERR_CORRUPT;
		}
		if (!visit(private_data, &record)) {
			return NV_OK;
		}
		offset = next;
	}
	return any ? NV_OK : NV_ERR_NOT_FOUND;
}

/* Make a gap of size bytes at offset. False: no room in the inode. */
static bool list_open(const struct nv_names *names,
		      struct nv_disk_inode *inode, uint32_t offset,
		      uint32_t size)
{
	struct list list = list_of(names);
	uint32_t length = list.length;
	uint8_t *bytes = NULL;

	if (length + size > NV_NAME_ITEM_MAX ||
	    !nv_item_set(inode, names->inode_size, names->item, NULL,
			 length + size)) {
		return false;
	}
	bytes = (uint8_t *)nv_item_find(inode, names->inode_size, names->item,
					&length);
	memmove(bytes + offset + size, bytes + offset,
		length - size - offset);
	return true;
}

/* All records of the list into a leaf of their own. */
static enum nv_status list_to_tree(struct nv_operation *operation,
				   struct nv_names *names,
				   struct nv_disk_inode *inode)
{
	struct list list = list_of(names);
	struct nv_name_record record;
	struct nv_disk_name_node *leaf = NULL;
	void *content = NULL;
	enum nv_status status;
	uint64_t page = 0;
	uint32_t offset = 0;
	uint32_t next = 0;

	if (list.length == 0) {
		return NV_OK;
	}
	status = nv_node_new(operation, names->tree.kind, 0,
			     names->tree.owner, &page, &content);
	if (status != NV_OK) {
		return status;
	}
	leaf = content;
	nv_name_node_init(leaf);
	while (list_at(&list, offset, &record, &next)) {
		nv_name_node_insert(leaf, leaf->header.count, &record.name);
		offset = next;
	}
	if (offset != list.length) {
		return NV_ERR_CORRUPT;
	}
	NV_KILL_POINT("names: list copied to a leaf");
	nv_item_set(inode, names->inode_size, names->item, NULL, 0);
	names->tree.root = page;
	*root_of(inode, names->tree.kind) = page;
	return NV_OK;
}

/* ---- the index ---- */

enum nv_status nv_names_find(const struct nv_names *names,
			     const struct nv_key *key,
			     struct nv_name_record *record)
{
	struct list list;
	uint32_t offset = 0;
	bool exact = false;

	if (names->tree.root != NV_PAGE_NONE) {
		return nv_name_tree_find(&names->tree, key, record);
	}
	list = list_of(names);
	if (!list_search(names, &list, key, record, &offset, &exact)) {
		return NV_ERR_CORRUPT;
	}
	return exact ? NV_OK : NV_ERR_NOT_FOUND;
}

enum nv_status nv_names_visit(const struct nv_names *names,
			      const struct nv_key *key, nv_name_visit visit,
			      void *private_data)
{
	if (names->tree.root != NV_PAGE_NONE) {
		return nv_name_tree_visit(&names->tree, key, visit,
					  private_data);
	}
	return list_visit(names, key, visit, private_data);
}

static enum nv_status insert(struct nv_operation *operation,
			     struct nv_names *names,
			     struct nv_disk_inode *inode,
			     const struct nv_name_record *record, bool deep)
{
	uint32_t size = nv_name_record_size(&record->name);
	struct nv_name_record present;
	enum nv_status status;
	uint32_t offset = 0;
	struct nv_key key;
	struct list list;
	bool exact = false;

	names->inode = inode;
	list = list_of(names);
	if (names->tree.root == NV_PAGE_NONE && names->item != 0) {
		nv_key_set(&key, &names->tree.order,
			   nv_name_key(&record->name),
			   record->name.key_length);
		if (!list_search(names, &list, &key, &present, &offset,
				 &exact)) {
			return NV_ERR_CORRUPT;
		}
		if (exact) {
			return NV_ERR_EXISTS;
		}
		if (list_open(names, inode, offset, size)) {
			list = list_of(names);
			memcpy((uint8_t *)list.bytes + offset, record, size);
			NV_KILL_POINT("names: record in the list");
			return NV_OK;
		}
		status = list_to_tree(operation, names, inode);
		if (status != NV_OK) {
			return status;
		}
	}
	if (deep) {
		status = nv_name_tree_insert_deep(operation, &names->tree,
						  record);
	} else {
		status = nv_name_tree_insert(operation, &names->tree, record);
	}
	*root_of(inode, names->tree.kind) = names->tree.root;
	return status;
}

enum nv_status nv_names_insert(struct nv_operation *operation,
			       struct nv_names *names,
			       struct nv_disk_inode *inode,
			       const struct nv_name_record *record)
{
	return insert(operation, names, inode, record, false);
}

enum nv_status nv_names_insert_deep(struct nv_operation *operation,
				    struct nv_names *names,
				    struct nv_disk_inode *inode,
				    const struct nv_name_record *record)
{
	return insert(operation, names, inode, record, true);
}

enum nv_status nv_names_remove(struct nv_operation *operation,
			       struct nv_names *names,
			       struct nv_disk_inode *inode,
			       const struct nv_key *key)
{
	struct nv_name_record record;
	struct list list;
	enum nv_status status;
	uint8_t *bytes = NULL;
	uint32_t offset = 0;
	bool exact = false;
	uint32_t size;

	names->inode = inode;
	if (names->tree.root != NV_PAGE_NONE) {
		status = nv_name_tree_remove(operation, &names->tree, key);
		*root_of(inode, names->tree.kind) = names->tree.root;
		return status;
	}
	list = list_of(names);
	if (!list_search(names, &list, key, &record, &offset, &exact)) {
		return NV_ERR_CORRUPT;
	}
	if (!exact) {
		return NV_ERR_NOT_FOUND;
	}
	size = nv_name_record_size(&record.name);
	bytes = (uint8_t *)list.bytes;
	memmove(bytes + offset, bytes + offset + size,
		list.length - size - offset);
	NV_KILL_POINT("names: record out of the list");
	nv_item_set(inode, names->inode_size, names->item, NULL,
		    list.length - size);
	return NV_OK;
}

/* ---- operations of their own ---- */

enum step {
	STEP_MAKE_ROOM,
	STEP_TIDY,
	STEP_PRUNE
};

static enum nv_status one_step(struct nv_volume *volume, nv_file_id id,
			       uint32_t kind, const struct nv_key *key,
			       enum step step, bool *more)
{
	uint32_t pages = NV_NAME_MAKE_ROOM_PAGES + 1;
	struct nv_disk_inode *inode = NULL;
	struct nv_operation operation;
	uint64_t ino = NV_FILE_INO(id);
	struct nv_names names;
	enum nv_status status;
	uint32_t flags = step == STEP_MAKE_ROOM ? 0 : NV_OP_FREES;

	if (step == STEP_TIDY) {
		pages = NV_NAME_TIDY_PAGES + 1;
	} else if (step == STEP_PRUNE) {
		pages = 2;
	}
	*more = false;
	status = nv_operation_begin(volume, &operation, &ino, 1, pages,
				    flags);
	if (status != NV_OK) {
		return status;
	}
	status = nv_inode_modify(&operation, id, &inode);
	if (status != NV_OK) {
		nv_operation_cancel(&operation);
		return status == NV_ERR_NOT_FOUND ? NV_OK : status;
	}
	nv_names_open(&names, volume, inode, kind);
	if (names.tree.root != NV_PAGE_NONE) {
		if (step == STEP_MAKE_ROOM) {
			status = nv_name_tree_make_room(&operation,
							&names.tree, key);
		} else if (step == STEP_TIDY) {
			status = nv_name_tree_tidy(&operation, &names.tree,
						   key);
		} else {
			status = nv_name_tree_prune(&operation, &names.tree);
		}
	}
	*root_of(inode, kind) = names.tree.root;
	*more = names.tree.root != NV_PAGE_NONE;
	return nv_operation_finish(&operation, status);
}

enum nv_status nv_names_make_room(struct nv_volume *volume, nv_file_id id,
				  uint32_t kind, const struct nv_key *key)
{
	bool more = false;

	return one_step(volume, id, kind, key, STEP_MAKE_ROOM, &more);
}

enum nv_status nv_names_tidy(struct nv_volume *volume, nv_file_id id,
			     uint32_t kind, const struct nv_key *key)
{
	bool more = false;

	return one_step(volume, id, kind, key, STEP_TIDY, &more);
}

enum nv_status nv_names_reclaim(struct nv_volume *volume, nv_file_id id,
				uint32_t kind)
{
	enum nv_status status;
	bool more = true;

	while (more) {
		status = one_step(volume, id, kind, NULL, STEP_PRUNE, &more);
		if (status != NV_OK) {
			return status;
		}
	}
	return NV_OK;
}

enum nv_status nv_directory_reclaim(struct nv_volume *volume, nv_file_id id)
{
	return nv_names_reclaim(volume, id, NV_KIND_DIRECTORY);
}
