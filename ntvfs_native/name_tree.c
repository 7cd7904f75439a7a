/*
 * B+trees of names: finding, and what makes them larger.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A node that has no room is laid out anew over itself and a new right
 * neighbour, in the middle by bytes; but when the new record comes last, it
 * goes to the right alone, so that names that arrive in order fill their
 * nodes. Keys above the leaves are cut to what tells left from right.
 */

#include <string.h>
#include "killpoint.h"
#include "name_tree.h"
#include "name_tree_private.h"

enum nv_status nv_tree_node(const struct nv_name_tree *tree, uint64_t page,
			    const struct nv_disk_name_node **node)
{
	const void *content = NULL;
	enum nv_status status;

	status = nv_node_read(tree->volume, page, tree->kind, tree->owner,
			      &content);
	if (status == NV_OK) {
		*node = content;
	}
	return status;
}

enum nv_status nv_tree_modify(struct nv_operation *operation,
			      const struct nv_name_tree *tree, uint64_t page,
			      struct nv_disk_name_node **node)
{
	const struct nv_disk_name_node *present = NULL;
	void *content = NULL;
	enum nv_status status;

	status = nv_tree_node(tree, page, &present);
	if (status != NV_OK) {
		return status;
	}
	if (!nv_name_node_sound(present)) {
		return NV_ERR_CORRUPT;
	}
	status = nv_page_modify(operation, page, 0, NV_BLOCK_SIZE, &content);
	if (status == NV_OK) {
		*node = content;
	}
	return status;
}

enum nv_status nv_tree_descend(const struct nv_name_tree *tree,
			       const struct nv_key *key,
			       struct nv_tree_path *path)
{
	const struct nv_disk_name_node *node = NULL;
	const struct nv_disk_name *child = NULL;
	uint64_t page = tree->root;
	uint32_t level = NV_NAME_DEPTH_MAX;
	enum nv_status status;
	uint32_t at = 0;

	path->depth = 0;
	path->exact = false;
	for (;;) {
		status = nv_tree_node(tree, page, &node);
		if (status != NV_OK) {
			return status;
		}
		/* The levels fall by one, so this ends. */
		if (path->depth == 0 ? node->header.level >= level :
		    node->header.level != level - 1) {
			return NV_ERR_CORRUPT;
		}
		level = node->header.level;
		if (path->depth == NV_NAME_DEPTH_MAX ||
		    !nv_name_node_search(node, &tree->order, key, &at,
					 &path->exact)) {
			return NV_ERR_CORRUPT;
		}
		path->page[path->depth] = page;
		path->at[path->depth] = at;
		path->depth++;
		if (level == 0) {
			path->leaf = node;
			return NV_OK;
		}
		/* The last child whose key is at or below. */
		if (!path->exact) {
			if (at == 0) {
				return NV_ERR_CORRUPT;
			}
			at--;
		}
		path->at[path->depth - 1] = at;
		child = nv_name_node_at(node, at);
		if (child == NULL) {
			return NV_ERR_CORRUPT;
		}
		page = child->value;
	}
}

static bool copy_record(const struct nv_disk_name_node *node, uint32_t at,
			struct nv_name_record *record)
{
	uint32_t offset;

	if (at >= NV_NAME_NODE_ROOM / 2) {
		return false;
	}
	offset = node->slot[at];
	if (offset < offsetof(struct nv_disk_name_node, slot) ||
	    offset > NV_BLOCK_SIZE) {
		return false;
	}
	return nv_name_record_get(record, (const uint8_t *)node + offset,
				  NV_BLOCK_SIZE - offset, NULL);
}

enum nv_status nv_name_tree_find(const struct nv_name_tree *tree,
				 const struct nv_key *key,
				 struct nv_name_record *record)
{
	struct nv_tree_path path;
	enum nv_status status;

	if (tree->root == NV_PAGE_NONE) {
		return NV_ERR_NOT_FOUND;
	}
	status = nv_tree_descend(tree, key, &path);
	if (status != NV_OK) {
		return status;
	}
	if (!path.exact) {
		return NV_ERR_NOT_FOUND;
	}
	if (!copy_record(path.leaf, path.at[path.depth - 1], record)) {
		return NV_ERR_CORRUPT;
	}
	return NV_OK;
}

/* To the next leaf, at its first record. NV_ERR_NOT_FOUND: none. */
static enum nv_status step_right(const struct nv_name_tree *tree,
				 struct nv_tree_path *path)
{
	const struct nv_disk_name_node *node = NULL;
	const struct nv_disk_name *child = NULL;
	uint32_t up = path->depth - 1;
	enum nv_status status;

	do {
		if (up == 0) {
			return NV_ERR_NOT_FOUND;
		}
		up--;
		status = nv_tree_node(tree, path->page[up], &node);
		if (status != NV_OK) {
			return status;
		}
	} while (path->at[up] + 1 >= node->header.count);
	path->at[up]++;
	while (up + 1 < path->depth) {
		child = nv_name_node_at(node, path->at[up]);
		if (child == NULL) {
			return NV_ERR_CORRUPT;
		}
		up++;
		path->page[up] = child->value;
		path->at[up] = 0;
		status = nv_tree_node(tree, path->page[up], &node);
		if (status != NV_OK) {
			return status;
		}
		if (node->header.level != path->depth - 1 - up) {
			return NV_ERR_CORRUPT;
		}
	}
	path->leaf = node;
	return NV_OK;
}

enum nv_status nv_name_tree_visit(const struct nv_name_tree *tree,
				  const struct nv_key *key,
				  nv_name_visit visit, void *private_data)
{
	struct nv_name_record record;
	struct nv_tree_path path;
	enum nv_status status;
	uint32_t at;

	if (tree->root == NV_PAGE_NONE) {
		return NV_ERR_NOT_FOUND;
	}
	status = nv_tree_descend(tree, key, &path);
	if (status != NV_OK) {
		return status;
	}
	at = path.at[path.depth - 1] + (path.exact ? 1 : 0);
	/* Empty leaves are stepped over. */
	while (at >= path.leaf->header.count) {
		status = step_right(tree, &path);
		if (status != NV_OK) {
			return status;
		}
		at = 0;
	}
	for (; at < path.leaf->header.count; at++) {
		if (!copy_record(path.leaf, at, &record) ||
		    !nv_name_above(&tree->order, key, &record)) {
			return NV_ERR_CORRUPT;
		}
		if (!visit(private_data, &record)) {
			break;
		}
	}
	return NV_OK;
}

/* ---- growing ---- */

void nv_tree_child_record(const struct nv_name_tree *tree, uint64_t page,
			  const uint16_t *key, uint32_t length,
			  struct nv_name_record *record)
{
	nv_name_record_set(record, page, 0, 0, key, length, NULL, 0);
}

/*
 * The shortest key above left and not above right: right, cut behind the
 * first unit that differs when folded; whole if none does.
 */
static uint32_t separator_length(const struct nv_name_tree *tree,
				 const struct nv_disk_name *left,
				 const struct nv_disk_name *right)
{
	const uint16_t *a = nv_name_key(left);
	const uint16_t *b = nv_name_key(right);
	uint32_t i;

	for (i = 0; i < left->key_length && i < right->key_length; i++) {
		if (nv_fold(&tree->order, a[i]) !=
		    nv_fold(&tree->order, b[i])) {
			return i + 1;
		}
	}
	if (i < right->key_length) {
		return i + 1;
	}
	return right->key_length;
}

/*
 * Where to cut count records of these sizes: how many stay left. Both sides
 * fit into a node: the cut is within half a record of the middle, and
 * a record is less than a quarter of two nodes.
 */
static uint32_t choose_cut(const uint16_t *size, uint32_t count)
{
	uint32_t total = 0;
	uint32_t left = 0;
	uint32_t i;

	for (i = 0; i < count; i++) {
		total += size[i];
	}
	for (i = 0; i + 1 < count; i++) {
		if (i > 0 && left + size[i] / 2U >= total / 2) {
			break;
		}
		left += size[i];
	}
	return i;
}

static_assert(NV_NAME_RECORD_MAX + 2 <= NV_NAME_NODE_ROOM * 2 / 7,
	      "any cut near the middle leaves two nodes that fit");

/* A new root over the old one, whose path it becomes part of. */
static enum nv_status raise_root(struct nv_operation *operation,
				 struct nv_name_tree *tree, uint32_t level,
				 struct nv_tree_path *path)
{
	struct nv_name_record record;
	void *content = NULL;
	enum nv_status status;
	uint64_t page = 0;
	uint32_t i;

	if (path->depth == NV_NAME_DEPTH_MAX) {
		return NV_ERR_TOO_LARGE;
	}
	status = nv_node_new(operation, tree->kind, level + 1, tree->owner,
			     &page, &content);
	if (status != NV_OK) {
		return status;
	}
	nv_name_node_init(content);
	nv_tree_child_record(tree, tree->root, NULL, 0, &record);
	nv_name_node_insert(content, 0, &record.name);
	NV_KILL_POINT("names: new root made");
	tree->root = page;
	for (i = path->depth; i > 0; i--) {
		path->page[i] = path->page[i - 1];
		path->at[i] = path->at[i - 1];
	}
	path->page[0] = page;
	path->at[0] = 0;
	path->depth++;
	return NV_OK;
}

/* Lay out the records of old, with extra as number at, on two nodes. */
static void lay_out(const struct nv_disk_name_node *old,
		    const struct nv_disk_name *extra, uint32_t at,
		    struct nv_disk_name_node *left,
		    struct nv_disk_name_node *right)
{
	const struct nv_disk_name *name[NV_NAME_NODE_ROOM / 26 + 1];
	uint16_t size[NV_NAME_NODE_ROOM / 26 + 1];
	uint32_t count = 0;
	uint32_t cut;
	uint32_t i;

	for (i = 0; i <= old->header.count; i++) {
		if (extra != NULL && i == at) {
			name[count] = extra;
			count++;
		}
		if (i < old->header.count) {
			name[count] = nv_name_node_at(old, i);
			count++;
		}
	}
	for (i = 0; i < count; i++) {
		size[i] = (uint16_t)(nv_name_record_size(name[i]) + 2);
	}
	cut = choose_cut(size, count);
	if (extra != NULL && at == old->header.count) {
		cut = count - 1;
	}
	nv_name_node_init(left);
	nv_name_node_init(right);
	for (i = 0; i < cut; i++) {
		nv_name_node_insert(left, i, name[i]);
	}
	for (i = cut; i < count; i++) {
		nv_name_node_insert(right, i - cut, name[i]);
	}
}

/* The record for the parent, and in upper nodes the first key taken away. */
static void make_separator(const struct nv_name_tree *tree,
			   const struct nv_disk_name_node *left,
			   struct nv_disk_name_node *right, uint64_t page,
			   struct nv_name_record *separator)
{
	const struct nv_disk_name *first = nv_name_node_at(right, 0);
	const struct nv_disk_name *last =
		nv_name_node_at(left, left->header.count - 1U);
	struct nv_name_record child;

	if (right->header.level == 0) {
		nv_tree_child_record(tree, page, nv_name_key(first),
				     separator_length(tree, last, first),
				     separator);
		return;
	}
	nv_tree_child_record(tree, page, nv_name_key(first),
			     first->key_length, separator);
	nv_tree_child_record(tree, first->value, NULL, 0, &child);
	nv_name_node_remove(right, 0);
	nv_name_node_insert(right, 0, &child.name);
}

/*
 * Put record (NULL: nothing) into the node at depth of the path, as number at,
 * splitting it if it has no room (NULL: always), and at most splits nodes.
 */
static enum nv_status put(struct nv_operation *operation,
			  struct nv_name_tree *tree,
			  struct nv_tree_path *path, uint32_t depth,
			  uint32_t at, const struct nv_disk_name *record,
			  uint32_t splits)
{
	struct nv_disk_name_node *node = NULL;
	struct nv_disk_name_node old;
	struct nv_name_record separator;
	void *right = NULL;
	enum nv_status status;
	uint64_t page = 0;
	uint32_t was = path->depth;

	status = nv_tree_modify(operation, tree, path->page[depth], &node);
	if (status != NV_OK) {
		return status;
	}
	if (record != NULL && at <= node->header.count &&
	    nv_name_node_free(node) >= nv_name_record_size(record) + 2) {
		nv_name_node_insert(node, at, record);
		NV_KILL_POINT("names: record inserted");
		return NV_OK;
	}
	if (at > node->header.count || node->header.count < 2) {
		return NV_ERR_CORRUPT;
	}
	if (splits == 0) {
		return NV_ERR_RETRY;
	}
	status = nv_node_new(operation, tree->kind, node->header.level,
			     tree->owner, &page, &right);
	if (status != NV_OK) {
		return status;
	}
	old = *node;
	lay_out(&old, record, at, node, right);
	make_separator(tree, node, right, page, &separator);
	NV_KILL_POINT("names: node split, parent unchanged");
	if (depth == 0) {
		status = raise_root(operation, tree, old.header.level, path);
		if (status != NV_OK) {
			return status;
		}
		depth += path->depth - was;
	}
	return put(operation, tree, path, depth - 1, path->at[depth - 1] + 1,
		   &separator.name, splits - 1);
}

static enum nv_status first_leaf(struct nv_operation *operation,
				 struct nv_name_tree *tree,
				 const struct nv_name_record *record)
{
	void *content = NULL;
	enum nv_status status;
	uint64_t page = 0;

	status = nv_node_new(operation, tree->kind, 0, tree->owner, &page,
			     &content);
	if (status != NV_OK) {
		return status;
	}
	nv_name_node_init(content);
	nv_name_node_insert(content, 0, &record->name);
	tree->root = page;
	return NV_OK;
}

static enum nv_status insert(struct nv_operation *operation,
			     struct nv_name_tree *tree,
			     const struct nv_name_record *record,
			     uint32_t splits)
{
	struct nv_tree_path path;
	enum nv_status status;
	struct nv_key key;

	if (tree->root == NV_PAGE_NONE) {
		return first_leaf(operation, tree, record);
	}
	nv_key_set(&key, &tree->order, nv_name_key(&record->name),
		   record->name.key_length);
	status = nv_tree_descend(tree, &key, &path);
	if (status != NV_OK) {
		return status;
	}
	if (path.exact) {
		return NV_ERR_EXISTS;
	}
	return put(operation, tree, &path, path.depth - 1,
		   path.at[path.depth - 1], &record->name, splits);
}

enum nv_status nv_name_tree_insert(struct nv_operation *operation,
				   struct nv_name_tree *tree,
				   const struct nv_name_record *record)
{
	return insert(operation, tree, record, 1);
}

enum nv_status nv_name_tree_insert_deep(struct nv_operation *operation,
					struct nv_name_tree *tree,
					const struct nv_name_record *record)
{
	return insert(operation, tree, record, NV_NAME_DEPTH_MAX);
}

enum nv_status nv_name_tree_make_room(struct nv_operation *operation,
				      struct nv_name_tree *tree,
				      const struct nv_key *key)
{
	const struct nv_disk_name_node *parent = NULL;
	struct nv_tree_path path;
	enum nv_status status;
	uint32_t free;

	if (tree->root == NV_PAGE_NONE) {
		return NV_OK;
	}
	status = nv_tree_descend(tree, key, &path);
	if (status != NV_OK || path.depth < 2) {
		return status;
	}
	status = nv_tree_node(tree, path.page[path.depth - 2], &parent);
	if (status != NV_OK) {
		return status;
	}
	free = nv_name_node_free(parent);
	if (free == UINT32_MAX) {
		return NV_ERR_CORRUPT;
	}
	if (free >= NV_NAME_CHILD_MAX + 2) {
		return NV_OK;
	}
	return put(operation, tree, &path, path.depth - 2,
		   path.at[path.depth - 2], NULL, NV_NAME_DEPTH_MAX);
}

enum nv_status nv_name_tree_replace(struct nv_operation *operation,
				    struct nv_name_tree *tree,
				    const struct nv_name_record *record)
{
	const struct nv_disk_name *present = NULL;
	struct nv_disk_name_node *leaf = NULL;
	struct nv_tree_path path;
	enum nv_status status;
	struct nv_key key;
	uint32_t size = nv_name_record_size(&record->name);
	uint32_t at;

	if (tree->root == NV_PAGE_NONE) {
		return NV_ERR_NOT_FOUND;
	}
	nv_key_set(&key, &tree->order, nv_name_key(&record->name),
		   record->name.key_length);
	status = nv_tree_descend(tree, &key, &path);
	if (status != NV_OK) {
		return status;
	}
	if (!path.exact) {
		return NV_ERR_NOT_FOUND;
	}
	status = nv_tree_modify(operation, tree, path.page[path.depth - 1],
				&leaf);
	if (status != NV_OK) {
		return status;
	}
	at = path.at[path.depth - 1];
	present = nv_name_node_at(leaf, at);
	if (nv_name_record_size(present) != size) {
		return NV_ERR_INVALID;
	}
	memcpy((uint8_t *)leaf + leaf->slot[at], record, size);
	NV_KILL_POINT("names: record replaced");
	return NV_OK;
}
