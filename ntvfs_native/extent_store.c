/*
 * Extent records of one inode: in an item of the inode, or in a B+tree.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Nodes split in the middle, but at the end when appending; they are freed
 * when empty and not merged before: extents of a file come and go in runs.
 */

#include <string.h>
#include "extent.h"
#include "volume.h"

#define TREE_MAX_DEPTH 6

/* The way from the root to a leaf. */
struct tree_path {
	uint32_t depth;			/* nodes; the last is the leaf */
	uint64_t page[TREE_MAX_DEPTH];
	uint32_t at[TREE_MAX_DEPTH];	/* child taken; in a leaf: position */
};

/* Position of the first extent that starts behind logical. */
static uint32_t upper_bound(const struct nv_disk_extent *extent,
			    uint32_t count, uint32_t logical)
{
	uint32_t low = 0;
	uint32_t high = count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (extent[middle].logical <= logical) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static const struct nv_disk_extent *
inline_extents(const struct nv_volume *volume,
	       const struct nv_disk_inode *inode, uint32_t *count)
{
	const void *found = NULL;
	uint32_t length = 0;

	*count = 0;
	if (inode->data_form != NV_DATA_EXTENTS) {
		return NULL;
	}
	found = nv_item_find(inode, nv_inode_size(volume), NV_ITEM_EXTENTS,
			     &length);
	if (found == NULL) {
		return NULL;
	}
	*count = length / (uint32_t)sizeof(struct nv_disk_extent);
	return found;
}

static enum nv_status read_node(struct nv_volume *volume,
				const struct nv_disk_inode *inode,
				uint64_t page,
				const struct nv_disk_extent_node **node)
{
	const void *content = NULL;
	enum nv_status status;

	status = nv_node_read(volume, page, NV_KIND_EXTENTS, inode->file_id,
			      &content);
	if (status != NV_OK) {
		return status;
	}
	*node = content;
	if ((*node)->header.count > NV_EXTENT_FANOUT) {
		return NV_ERR_CORRUPT;
	}
	return NV_OK;
}

/* Walk to the leaf for logical; at of the leaf is its upper bound. */
static enum nv_status descend(struct nv_volume *volume,
			      const struct nv_disk_inode *inode,
			      uint32_t logical, struct tree_path *path)
{
	const struct nv_disk_extent_node *node = NULL;
	uint64_t page = inode->data_root;
	enum nv_status status;
	uint32_t level = UINT32_MAX;

	path->depth = 0;
	for (;;) {
		uint32_t count;
		uint32_t at;

		if (path->depth == TREE_MAX_DEPTH) {
			return NV_ERR_CORRUPT;
		}
		status = read_node(volume, inode, page, &node);
		if (status != NV_OK) {
			return status;
		}
		count = node->header.count;
		if (level != UINT32_MAX && node->header.level != level - 1) {
			return NV_ERR_CORRUPT;
		}
		level = node->header.level;
		/* Children compare by the same first member. */
		at = upper_bound(node->extent, count, logical);
		path->page[path->depth] = page;
		path->at[path->depth] = at;
		path->depth++;
		if (level == 0) {
			return NV_OK;
		}
		if (count == 0) {
			return NV_ERR_CORRUPT;
		}
		at = at > 0 ? at - 1 : 0;
		path->at[path->depth - 1] = at;
		page = node->child[at].page;
	}
}

/*
 * Go to the leaf to the left or right. NV_ERR_NOT_FOUND at the end. at of the
 * leaf is its first position going right, one behind its last going left.
 */
static enum nv_status step(struct nv_volume *volume,
			   const struct nv_disk_inode *inode, bool right,
			   struct tree_path *path)
{
	const struct nv_disk_extent_node *node = NULL;
	uint32_t depth = path->depth;
	uint32_t up = depth - 1;
	enum nv_status status;

	for (;;) {
		if (up == 0) {
			return NV_ERR_NOT_FOUND;
		}
		up--;
		status = read_node(volume, inode, path->page[up], &node);
		if (status != NV_OK) {
			return status;
		}
		if (right && path->at[up] + 1 < node->header.count) {
			path->at[up]++;
			break;
		}
		if (!right && path->at[up] > 0) {
			path->at[up]--;
			break;
		}
	}
	while (up + 1 < depth) {
		uint64_t page;

		if (path->at[up] >= node->header.count) {
			return NV_ERR_CORRUPT;
		}
		page = node->child[path->at[up]].page;
		status = read_node(volume, inode, page, &node);
		if (status != NV_OK) {
			return status;
		}
		up++;
		path->page[up] = page;
		path->at[up] = right ? 0 : node->header.count;
		if (!right && up + 1 < depth && path->at[up] > 0) {
			path->at[up]--;
		}
	}
	return NV_OK;
}

enum nv_status nv_extent_store_before(struct nv_volume *volume,
				      const struct nv_disk_inode *inode,
				      uint32_t logical,
				      struct nv_disk_extent *extent)
{
	const struct nv_disk_extent_node *node = NULL;
	const struct nv_disk_extent *list = NULL;
	struct tree_path path;
	enum nv_status status;
	uint32_t count = 0;
	uint32_t at;

	if (inode->data_form != NV_DATA_TREE) {
		list = inline_extents(volume, inode, &count);
		at = upper_bound(list, count, logical);
		if (at == 0) {
			return NV_ERR_NOT_FOUND;
		}
		memcpy(extent, &list[at - 1], sizeof(*extent));
		return NV_OK;
	}
	status = descend(volume, inode, logical, &path);
	if (status != NV_OK) {
		return status;
	}
	if (path.at[path.depth - 1] == 0) {
		status = step(volume, inode, false, &path);
		if (status != NV_OK) {
			return status;
		}
	}
	status = read_node(volume, inode, path.page[path.depth - 1], &node);
	if (status != NV_OK) {
		return status;
	}
	at = path.at[path.depth - 1];
	if (at == 0 || at > node->header.count) {
		return NV_ERR_CORRUPT;
	}
	*extent = node->extent[at - 1];
	return NV_OK;
}

enum nv_status nv_extent_store_after(struct nv_volume *volume,
				     const struct nv_disk_inode *inode,
				     uint32_t logical,
				     struct nv_disk_extent *extent)
{
	const struct nv_disk_extent_node *node = NULL;
	const struct nv_disk_extent *list = NULL;
	struct tree_path path;
	enum nv_status status;
	uint32_t count = 0;
	uint32_t at;

	if (inode->data_form != NV_DATA_TREE) {
		list = inline_extents(volume, inode, &count);
		at = upper_bound(list, count, logical);
		if (at == count) {
			return NV_ERR_NOT_FOUND;
		}
		memcpy(extent, &list[at], sizeof(*extent));
		return NV_OK;
	}
	status = descend(volume, inode, logical, &path);
	if (status != NV_OK) {
		return status;
	}
	for (;;) {
		status = read_node(volume, inode, path.page[path.depth - 1],
				   &node);
		if (status != NV_OK) {
			return status;
		}
		at = path.at[path.depth - 1];
		if (at < node->header.count) {
			*extent = node->extent[at];
			return NV_OK;
		}
		status = step(volume, inode, true, &path);
		if (status != NV_OK) {
			return status;
		}
	}
}

/* ---- changing ---- */

static enum nv_status modify_node(struct nv_operation *operation,
				  uint64_t page,
				  struct nv_disk_extent_node **node)
{
	void *content = NULL;
	enum nv_status status;

	status = nv_page_modify(operation, page, 0, NV_BLOCK_SIZE, &content);
	*node = content;
	return status;
}

static void open_room(struct nv_disk_extent_node *node, uint32_t at)
{
	memmove(&node->extent[at + 1], &node->extent[at],
		(node->header.count - at) * sizeof(node->extent[0]));
	node->header.count++;
}

static void close_room(struct nv_disk_extent_node *node, uint32_t at)
{
	uint32_t count = node->header.count;

	memmove(&node->extent[at], &node->extent[at + 1],
		(count - at - 1) * sizeof(node->extent[0]));
	memset(&node->extent[count - 1], 0, sizeof(node->extent[0]));
	node->header.count--;
}

/* A new root over the old one. */
static enum nv_status raise_root(struct nv_operation *operation,
				 struct nv_disk_inode *inode, uint32_t level,
				 struct tree_path *path)
{
	struct nv_disk_extent_node *root = NULL;
	void *content = NULL;
	enum nv_status status;
	uint64_t page = 0;
	uint32_t i;

	if (path->depth == TREE_MAX_DEPTH) {
		return NV_ERR_TOO_LARGE;
	}
	status = nv_node_new(operation, NV_KIND_EXTENTS, level + 1,
			     inode->file_id, &page, &content);
	if (status != NV_OK) {
		return status;
	}
	root = content;
	root->header.count = 1;
	root->child[0].logical = 0;
	root->child[0].page = inode->data_root;
	inode->data_root = page;
	for (i = path->depth; i > 0; i--) {
		path->page[i] = path->page[i - 1];
		path->at[i] = path->at[i - 1];
	}
	path->page[0] = page;
	path->at[0] = 0;
	path->depth++;
	return NV_OK;
}

/*
 * Make room in the full node at depth of the path, whose parents have room.
 * The path leads to the same position afterwards.
 */
static enum nv_status split_node(struct nv_operation *operation,
				 struct nv_disk_inode *inode, uint32_t depth,
				 struct tree_path *path)
{
	struct nv_disk_extent_node *parent = NULL;
	struct nv_disk_extent_node *right = NULL;
	struct nv_disk_extent_node *left = NULL;
	void *content = NULL;
	enum nv_status status;
	uint64_t page = 0;
	uint32_t keep;
	uint32_t moved;

	status = modify_node(operation, path->page[depth], &left);
	if (status != NV_OK) {
		return status;
	}
	status = modify_node(operation, path->page[depth - 1], &parent);
	if (status != NV_OK) {
		return status;
	}
	status = nv_node_new(operation, NV_KIND_EXTENTS, left->header.level,
			     inode->file_id, &page, &content);
	if (status != NV_OK) {
		return status;
	}
	right = content;
	keep = left->header.count / 2;
	if (path->at[depth] >= left->header.count - 1U) {
		/* Appending: leave the left one nearly full. */
		keep = left->header.count - 1U;
	}
	moved = left->header.count - keep;
	memcpy(right->extent, &left->extent[keep],
	       moved * sizeof(left->extent[0]));
	memset(&left->extent[keep], 0, moved * sizeof(left->extent[0]));
	left->header.count = (uint16_t)keep;
	right->header.count = (uint16_t)moved;

	open_room(parent, path->at[depth - 1] + 1);
	parent->child[path->at[depth - 1] + 1] =
		(struct nv_disk_extent_child) {
		.logical = right->extent[0].logical,
		.page = page,
	};
	if (path->at[depth] >= keep) {
		path->at[depth] -= keep;
		path->page[depth] = page;
		path->at[depth - 1]++;
	}
	return NV_OK;
}

/* Room in the leaf of the path, splitting from the lowest full node up. */
static enum nv_status make_room(struct nv_operation *operation,
				struct nv_disk_inode *inode,
				struct tree_path *path)
{
	const struct nv_disk_extent_node *node = NULL;
	enum nv_status status;
	uint32_t depth;

	/* The highest node from which on all are full. */
	depth = path->depth;
	while (depth > 0) {
		status = read_node(operation->volume, inode,
				   path->page[depth - 1], &node);
		if (status != NV_OK) {
			return status;
		}
		if (node->header.count < NV_EXTENT_FANOUT) {
			break;
		}
		depth--;
	}
	if (depth == 0) {
		status = raise_root(operation, inode, node->header.level,
				    path);
		if (status != NV_OK) {
			return status;
		}
		depth = 1;
	}
	for (; depth < path->depth; depth++) {
		status = split_node(operation, inode, depth, path);
		if (status != NV_OK) {
			return status;
		}
	}
	return NV_OK;
}

/* A key below all others goes to the first child: lower its bound. */
static enum nv_status lower_bounds(struct nv_operation *operation,
				   const struct nv_disk_inode *inode,
				   const struct tree_path *path,
				   uint32_t logical)
{
	const struct nv_disk_extent_node *node = NULL;
	struct nv_disk_extent_node *changed = NULL;
	enum nv_status status;
	uint32_t i;

	for (i = 0; i + 1 < path->depth; i++) {
		status = read_node(operation->volume, inode, path->page[i],
				   &node);
		if (status != NV_OK) {
			return status;
		}
		if (node->child[path->at[i]].logical <= logical) {
			continue;
		}
		status = modify_node(operation, path->page[i], &changed);
		if (status != NV_OK) {
			return status;
		}
		changed->child[path->at[i]].logical = logical;
	}
	return NV_OK;
}

static enum nv_status tree_insert(struct nv_operation *operation,
				  struct nv_disk_inode *inode,
				  const struct nv_disk_extent *extent)
{
	struct nv_disk_extent_node *leaf = NULL;
	struct tree_path path;
	enum nv_status status;

	status = descend(operation->volume, inode, extent->logical, &path);
	if (status != NV_OK) {
		return status;
	}
	status = lower_bounds(operation, inode, &path, extent->logical);
	if (status != NV_OK) {
		return status;
	}
	status = make_room(operation, inode, &path);
	if (status != NV_OK) {
		return status;
	}
	status = modify_node(operation, path.page[path.depth - 1], &leaf);
	if (status != NV_OK) {
		return status;
	}
	open_room(leaf, path.at[path.depth - 1]);
	leaf->extent[path.at[path.depth - 1]] = *extent;
	return NV_OK;
}

/* From an item to a tree of one leaf. */
static enum nv_status make_tree(struct nv_operation *operation,
				struct nv_disk_inode *inode)
{
	const struct nv_disk_extent *list = NULL;
	struct nv_disk_extent_node *leaf = NULL;
	void *content = NULL;
	enum nv_status status;
	uint32_t count = 0;
	uint64_t page = 0;

	list = inline_extents(operation->volume, inode, &count);
	status = nv_node_new(operation, NV_KIND_EXTENTS, 0, inode->file_id,
			     &page, &content);
	if (status != NV_OK) {
		return status;
	}
	leaf = content;
	if (count > 0) {
		memcpy(leaf->extent, list, count * sizeof(*list));
	}
	leaf->header.count = (uint16_t)count;
	nv_item_set(inode, nv_inode_size(operation->volume), NV_ITEM_EXTENTS,
		    NULL, 0);
	inode->data_form = NV_DATA_TREE;
	inode->data_root = page;
	return NV_OK;
}

static bool inline_insert(struct nv_volume *volume,
			  struct nv_disk_inode *inode,
			  const struct nv_disk_extent *extent)
{
	uint32_t size = nv_inode_size(volume);
	struct nv_disk_extent *list = NULL;
	uint32_t count = 0;
	uint32_t length = 0;
	uint32_t at;
	bool ok;

	inline_extents(volume, inode, &count);
	ok = nv_item_set(inode, size, NV_ITEM_EXTENTS, NULL,
			 (count + 1) * (uint32_t)sizeof(*extent));
	if (!ok) {
		return false;
	}
	inode->data_form = NV_DATA_EXTENTS;
	list = (struct nv_disk_extent *)nv_item_find(
		inode, size, NV_ITEM_EXTENTS, &length);
	at = upper_bound(list, count, extent->logical);
	memmove(&list[at + 1], &list[at], (count - at) * sizeof(*list));
	list[at] = *extent;
	return true;
}

enum nv_status nv_extent_store_insert(struct nv_operation *operation,
				      struct nv_disk_inode *inode,
				      const struct nv_disk_extent *extent)
{
	enum nv_status status;

	if (inode->data_form == NV_DATA_INLINE) {
		return NV_ERR_CORRUPT;
	}
	if (inode->data_form != NV_DATA_TREE) {
		if (inline_insert(operation->volume, inode, extent)) {
			inode->extent_count++;
			return NV_OK;
		}
		status = make_tree(operation, inode);
		if (status != NV_OK) {
			return status;
		}
	}
	status = tree_insert(operation, inode, extent);
	if (status == NV_OK) {
		inode->extent_count++;
	}
	return status;
}

enum nv_status nv_extent_store_replace(struct nv_operation *operation,
				       struct nv_disk_inode *inode,
				       uint32_t logical,
				       const struct nv_disk_extent *extent)
{
	struct nv_disk_extent_node *leaf = NULL;
	struct nv_disk_extent *list = NULL;
	struct tree_path path;
	enum nv_status status;
	uint32_t count = 0;
	uint32_t at;

	if (inode->data_form != NV_DATA_TREE) {
		list = (struct nv_disk_extent *)inline_extents(
			operation->volume, inode, &count);
		at = upper_bound(list, count, logical);
		if (at == 0 || list[at - 1].logical != logical) {
			return NV_ERR_CORRUPT;
		}
		list[at - 1] = *extent;
		return NV_OK;
	}
	status = descend(operation->volume, inode, logical, &path);
	if (status != NV_OK) {
		return status;
	}
	status = modify_node(operation, path.page[path.depth - 1], &leaf);
	if (status != NV_OK) {
		return status;
	}
	at = path.at[path.depth - 1];
	if (at == 0 || leaf->extent[at - 1].logical != logical) {
		return NV_ERR_CORRUPT;
	}
	leaf->extent[at - 1] = *extent;
	return NV_OK;
}

/* Free the empty leaf of the path, and what becomes empty above it. */
static enum nv_status prune(struct nv_operation *operation,
			    struct nv_disk_inode *inode,
			    const struct tree_path *path)
{
	struct nv_disk_extent_node *parent = NULL;
	enum nv_status status;
	uint32_t depth = path->depth;

	for (;;) {
		depth--;
		status = nv_node_free(operation, path->page[depth]);
		if (status != NV_OK) {
			return status;
		}
		if (depth == 0) {
			inode->data_root = NV_PAGE_NONE;
			inode->data_form = NV_DATA_NONE;
			return NV_OK;
		}
		status = modify_node(operation, path->page[depth - 1],
				     &parent);
		if (status != NV_OK) {
			return status;
		}
		close_room(parent, path->at[depth - 1]);
		if (parent->header.count > 0) {
			return NV_OK;
		}
	}
}

static enum nv_status inline_remove(struct nv_volume *volume,
				    struct nv_disk_inode *inode,
				    uint32_t logical)
{
	struct nv_disk_extent *list = NULL;
	uint32_t count = 0;
	uint32_t at;

	list = (struct nv_disk_extent *)inline_extents(volume, inode, &count);
	at = upper_bound(list, count, logical);
	if (at == 0 || list[at - 1].logical != logical) {
		return NV_ERR_CORRUPT;
	}
	memmove(&list[at - 1], &list[at], (count - at) * sizeof(*list));
	nv_item_set(inode, nv_inode_size(volume), NV_ITEM_EXTENTS, NULL,
		    (count - 1) * (uint32_t)sizeof(*list));
	if (count == 1) {
		inode->data_form = NV_DATA_NONE;
	}
	return NV_OK;
}

enum nv_status nv_extent_store_remove(struct nv_operation *operation,
				      struct nv_disk_inode *inode,
				      uint32_t logical)
{
	struct nv_disk_extent_node *leaf = NULL;
	struct tree_path path;
	enum nv_status status;
	uint32_t at;

	if (inode->data_form != NV_DATA_TREE) {
		status = inline_remove(operation->volume, inode, logical);
		if (status == NV_OK) {
			inode->extent_count--;
		}
		return status;
	}
	status = descend(operation->volume, inode, logical, &path);
	if (status != NV_OK) {
		return status;
	}
	status = modify_node(operation, path.page[path.depth - 1], &leaf);
	if (status != NV_OK) {
		return status;
	}
	at = path.at[path.depth - 1];
	if (at == 0 || leaf->extent[at - 1].logical != logical) {
		return NV_ERR_CORRUPT;
	}
	close_room(leaf, at - 1);
	inode->extent_count--;
	if (leaf->header.count > 0) {
		return NV_OK;
	}
	return prune(operation, inode, &path);
}
