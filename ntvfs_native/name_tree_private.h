/*
 * What the two files of the B+tree of names share.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_NATIVE_NAME_TREE_PRIVATE_H
#define NTVFS_NATIVE_NAME_TREE_PRIVATE_H

#include "name_tree.h"

/* The way from the root to a leaf. */
struct nv_tree_path {
	uint32_t depth;				/* nodes */
	uint64_t page[NV_NAME_DEPTH_MAX];
	uint32_t at[NV_NAME_DEPTH_MAX];		/* child; in the leaf: lower
						   bound of the key */
	bool exact;				/* the leaf has the key there */
	const struct nv_disk_name_node *leaf;
};

enum nv_status nv_tree_node(const struct nv_name_tree *tree, uint64_t page,
			    const struct nv_disk_name_node **node);
/* Saved and writable; refused if changing it could leave the page. */
enum nv_status nv_tree_modify(struct nv_operation *operation,
			      const struct nv_name_tree *tree, uint64_t page,
			      struct nv_disk_name_node **node);
enum nv_status nv_tree_descend(const struct nv_name_tree *tree,
			       const struct nv_key *key,
			       struct nv_tree_path *path);
void nv_tree_child_record(const struct nv_name_tree *tree, uint64_t page,
			  const uint16_t *key, uint32_t length,
			  struct nv_name_record *record);

#endif
