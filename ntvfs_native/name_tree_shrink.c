/*
 * B+trees of names: what makes them smaller.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A node is thin below a quarter; it is merged with a neighbour when both fill
 * at most three quarters of one node, so that neither the next insertion
 * splits nor the next removal merges again.
 */

#include "killpoint.h"
#include "name_tree.h"
#include "name_tree_private.h"

#define THIN (NV_NAME_NODE_ROOM / 4)
#define MERGED_MOST (NV_NAME_NODE_ROOM * 3 / 4)

static uint32_t bytes_used(const struct nv_disk_name_node *node)
{
	uint32_t free = nv_name_node_free(node);

	if (free > NV_NAME_NODE_ROOM) {
		return NV_NAME_NODE_ROOM;
	}
	return NV_NAME_NODE_ROOM - free;
}

/* Take child at out of an upper node that has others. */
static void drop_child(const struct nv_name_tree *tree,
		       struct nv_disk_name_node *parent, uint32_t at)
{
	const struct nv_disk_name *first = NULL;
	struct nv_name_record record;

	nv_name_node_remove(parent, at);
	first = nv_name_node_at(parent, 0);
	if (at > 0 || first->key_length == 0) {
		return;
	}
	/* The first child has no key: nothing lies below it. */
	nv_tree_child_record(tree, first->value, NULL, 0, &record);
	nv_name_node_remove(parent, 0);
	nv_name_node_insert(parent, 0, &record.name);
}

/* The only child of the root becomes the root, as far as it goes. */
static enum nv_status lower_root(struct nv_operation *operation,
				 struct nv_name_tree *tree)
{
	const struct nv_disk_name_node *node = NULL;
	const struct nv_disk_name *child = NULL;
	enum nv_status status;
	uint64_t page;
	uint32_t i;

	for (i = 0; i < NV_NAME_DEPTH_MAX; i++) {
		status = nv_tree_node(tree, tree->root, &node);
		if (status != NV_OK) {
			return status;
		}
		if (node->header.level == 0 || node->header.count != 1) {
			return NV_OK;
		}
		child = nv_name_node_at(node, 0);
		if (child == NULL) {
			return NV_ERR_CORRUPT;
		}
		page = child->value;
		status = nv_node_free(operation, tree->root);
		if (status != NV_OK) {
			return status;
		}
		NV_KILL_POINT("names: root freed, child not yet root");
		tree->root = page;
	}
	return NV_ERR_CORRUPT;
}

/* Append the records of right to left; in upper nodes key is the one that
 * right has in the parent. */
static void join(const struct nv_name_tree *tree,
		 struct nv_disk_name_node *left,
		 const struct nv_disk_name_node *right,
		 const struct nv_disk_name *separator)
{
	struct nv_name_record record;
	uint32_t i;

	for (i = 0; i < right->header.count; i++) {
		const struct nv_disk_name *name = nv_name_node_at(right, i);

		if (i == 0 && right->header.level > 0) {
			nv_tree_child_record(tree, name->value,
					     nv_name_key(separator),
					     separator->key_length, &record);
			name = &record.name;
		}
		nv_name_node_insert(left, left->header.count, name);
	}
}

/*
 * Merge the children at and at + 1 of the node parent_page if both fit into
 * one with room to spare. *merged tells.
 */
static enum nv_status merge_pair(struct nv_operation *operation,
				 const struct nv_name_tree *tree,
				 uint64_t parent_page, uint32_t at,
				 bool *merged)
{
	const struct nv_disk_name_node *right = NULL;
	const struct nv_disk_name_node *view = NULL;
	const struct nv_disk_name *first = NULL;
	const struct nv_disk_name *second = NULL;
	struct nv_disk_name_node *parent = NULL;
	struct nv_disk_name_node *left = NULL;
	enum nv_status status;
	uint64_t left_page;
	uint64_t right_page;
	uint32_t together;

	*merged = false;
	status = nv_tree_node(tree, parent_page, &view);
	if (status != NV_OK) {
		return status;
	}
	first = nv_name_node_at(view, at);
	second = nv_name_node_at(view, at + 1);
	if (first == NULL || second == NULL) {
		return NV_ERR_CORRUPT;
	}
	left_page = first->value;
	right_page = second->value;
	status = nv_tree_node(tree, left_page, &view);
	if (status != NV_OK) {
		return status;
	}
	status = nv_tree_node(tree, right_page, &right);
	if (status != NV_OK) {
		return status;
	}
	if (view->header.level != right->header.level ||
	    !nv_name_node_sound(right)) {
		return NV_ERR_CORRUPT;
	}
	together = bytes_used(view) + bytes_used(right);
	if (right->header.level > 0) {
		together += nv_name_record_size(second);
	}
	if (together > MERGED_MOST) {
		return NV_OK;
	}
	status = nv_tree_modify(operation, tree, parent_page, &parent);
	if (status != NV_OK) {
		return status;
	}
	status = nv_tree_modify(operation, tree, left_page, &left);
	if (status != NV_OK) {
		return status;
	}
	join(tree, left, right, nv_name_node_at(parent, at + 1));
	NV_KILL_POINT("names: neighbours joined, parent unchanged");
	drop_child(tree, parent, at + 1);
	*merged = true;
	return nv_node_free(operation, right_page);
}

/* Merge the child at of the parent with a neighbour if it is thin. */
static enum nv_status merge_thin(struct nv_operation *operation,
				 const struct nv_name_tree *tree,
				 uint64_t parent_page, uint32_t at,
				 uint64_t child_page)
{
	const struct nv_disk_name_node *parent = NULL;
	const struct nv_disk_name_node *child = NULL;
	struct nv_disk_name_node *changed = NULL;
	enum nv_status status;
	uint32_t count;
	bool merged = false;

	status = nv_tree_node(tree, child_page, &child);
	if (status != NV_OK) {
		return status;
	}
	status = nv_tree_node(tree, parent_page, &parent);
	if (status != NV_OK) {
		return status;
	}
	count = parent->header.count;
	if (count < 2 || at >= count || bytes_used(child) >= THIN) {
		return NV_OK;
	}
	if (child->header.count == 0) {
		status = nv_tree_modify(operation, tree, parent_page,
					&changed);
		if (status != NV_OK) {
			return status;
		}
		drop_child(tree, changed, at);
		NV_KILL_POINT("names: empty leaf out of its parent");
		return nv_node_free(operation, child_page);
	}
	if (at + 1 < count) {
		status = merge_pair(operation, tree, parent_page, at,
				    &merged);
	}
	if (status == NV_OK && !merged && at > 0) {
		status = merge_pair(operation, tree, parent_page, at - 1,
				    &merged);
	}
	return status;
}

enum nv_status nv_name_tree_remove(struct nv_operation *operation,
				   struct nv_name_tree *tree,
				   const struct nv_key *key)
{
	const struct nv_disk_name_node *parent = NULL;
	struct nv_disk_name_node *leaf = NULL;
	struct nv_tree_path path;
	enum nv_status status;
	uint32_t depth;

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
	depth = path.depth;
	status = nv_tree_modify(operation, tree, path.page[depth - 1], &leaf);
	if (status != NV_OK) {
		return status;
	}
	nv_name_node_remove(leaf, path.at[depth - 1]);
	NV_KILL_POINT("names: record removed");
	if (depth == 1) {
		if (leaf->header.count > 0) {
			return NV_OK;
		}
		tree->root = NV_PAGE_NONE;
		return nv_node_free(operation, path.page[0]);
	}
	status = merge_thin(operation, tree, path.page[depth - 2],
			    path.at[depth - 2], path.page[depth - 1]);
	if (status != NV_OK) {
		return status;
	}
	status = nv_tree_node(tree, path.page[depth - 2], &parent);
	if (status != NV_OK) {
		return status;
	}
	if (depth == 2) {
		return lower_root(operation, tree);
	}
	if (bytes_used(parent) < THIN) {
		tree->tidy = true;
	}
	return NV_OK;
}

enum nv_status nv_name_tree_tidy(struct nv_operation *operation,
				 struct nv_name_tree *tree,
				 const struct nv_key *key)
{
	struct nv_tree_path path;
	enum nv_status status;
	uint32_t i;

	if (tree->root == NV_PAGE_NONE) {
		return NV_OK;
	}
	status = nv_tree_descend(tree, key, &path);
	if (status != NV_OK) {
		return status;
	}
	/* From the leaf upwards: a merge below does not move what is above. */
	for (i = path.depth - 1; i > 0; i--) {
		status = merge_thin(operation, tree, path.page[i - 1],
				    path.at[i - 1], path.page[i]);
		if (status != NV_OK) {
			return status;
		}
	}
	return lower_root(operation, tree);
}

enum nv_status nv_name_tree_prune(struct nv_operation *operation,
				  struct nv_name_tree *tree)
{
	const struct nv_disk_name_node *node = NULL;
	const struct nv_disk_name *child = NULL;
	struct nv_disk_name_node *keeper = NULL;
	uint64_t chain[NV_NAME_DEPTH_MAX];
	uint64_t keeper_page = NV_PAGE_NONE;
	uint64_t page = tree->root;
	enum nv_status status;
	uint32_t count = 0;
	uint32_t level = NV_NAME_DEPTH_MAX;
	uint32_t i;

	/* The leftmost way; chain is what hangs on nothing but its leaf. */
	while (level > 0) {
		status = nv_tree_node(tree, page, &node);
		if (status != NV_OK) {
			return status;
		}
		if (node->header.level >= level) {
			return NV_ERR_CORRUPT;
		}
		level = node->header.level;
		if (level > 0 && node->header.count > 1) {
			keeper_page = page;
			count = 0;
		} else {
			chain[count] = page;
			count++;
		}
		if (level > 0) {
			child = nv_name_node_at(node, 0);
			if (child == NULL) {
				return NV_ERR_CORRUPT;
			}
			page = child->value;
		}
	}
	if (keeper_page == NV_PAGE_NONE) {
		tree->root = NV_PAGE_NONE;
	} else {
		status = nv_tree_modify(operation, tree, keeper_page,
					&keeper);
		if (status != NV_OK) {
			return status;
		}
		drop_child(tree, keeper, 0);
	}
	for (i = 0; i < count; i++) {
		status = nv_node_free(operation, chain[i]);
		if (status != NV_OK) {
			return status;
		}
		NV_KILL_POINT("names: one node of the chain freed");
	}
	return NV_OK;
}
