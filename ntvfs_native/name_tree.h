/*
 * B+trees of names.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pages per operation are bounded whatever the tree's size:
 *
 *   insert     a leaf splits, and its parent takes one more record; when the
 *              parent has no room for it nothing happens (NV_ERR_RETRY) and
 *              nv_name_tree_make_room comes first, an operation of its own
 *   remove     a leaf, one neighbour, their parent; what becomes thin above is
 *              left to nv_name_tree_tidy, again an operation of its own, and
 *              without that the tree is only less dense
 *
 * A thin or even empty node is therefore sound. Every upper node has at least
 * one child.
 */

#ifndef NTVFS_NATIVE_NAME_TREE_H
#define NTVFS_NATIVE_NAME_TREE_H

#include "transaction.h"
#include "name.h"

struct nv_name_tree {
	struct nv_volume *volume;
	uint32_t kind;			/* NV_KIND_* */
	nv_file_id owner;		/* 0: the volume */
	struct nv_name_order order;
	uint64_t root;			/* page, 0: no record at all */
	bool tidy;			/* out: nv_name_tree_tidy is due */
};

#define NV_NAME_INSERT_PAGES 3
#define NV_NAME_REMOVE_PAGES 3
#define NV_NAME_MAKE_ROOM_PAGES (2 * NV_NAME_DEPTH_MAX + 1)
#define NV_NAME_TIDY_PAGES (2 * NV_NAME_DEPTH_MAX)

static_assert(NV_NAME_MAKE_ROOM_PAGES < NV_OPERATION_PAGES, "make room");
static_assert(NV_NAME_TIDY_PAGES < NV_OPERATION_PAGES, "tidy");

/*
 * Copy the record with this key out. For readers and operations, as the next
 * two. NV_ERR_NOT_FOUND, NV_ERR_CORRUPT.
 */
enum nv_status nv_name_tree_find(const struct nv_name_tree *tree,
				 const struct nv_key *key,
				 struct nv_name_record *record);

/*
 * Tell the records behind key in order, as long as they lie in one leaf and
 * the function returns true; at least one, or NV_ERR_NOT_FOUND: there is none.
 * The records passed are copies.
 */
typedef bool (*nv_name_visit)(void *private_data,
			      const struct nv_name_record *record);
enum nv_status nv_name_tree_visit(const struct nv_name_tree *tree,
				  const struct nv_key *key,
				  nv_name_visit visit, void *private_data);

/* NV_ERR_EXISTS; NV_ERR_RETRY: see above. May change root. */
enum nv_status nv_name_tree_insert(struct nv_operation *operation,
				   struct nv_name_tree *tree,
				   const struct nv_name_record *record);
/* The same, but splits as far up as it takes. */
enum nv_status nv_name_tree_insert_deep(struct nv_operation *operation,
					struct nv_name_tree *tree,
					const struct nv_name_record *record);

/* NV_ERR_NOT_FOUND. May change root (0: it was the last) and set tidy. */
enum nv_status nv_name_tree_remove(struct nv_operation *operation,
				   struct nv_name_tree *tree,
				   const struct nv_key *key);

/* Put other content in place of a record of the same key and size. */
enum nv_status nv_name_tree_replace(struct nv_operation *operation,
				    struct nv_name_tree *tree,
				    const struct nv_name_record *record);

/* So that the leaf for key can split. */
enum nv_status nv_name_tree_make_room(struct nv_operation *operation,
				      struct nv_name_tree *tree,
				      const struct nv_key *key);
/* Merge what is thin on the way to key. */
enum nv_status nv_name_tree_tidy(struct nv_operation *operation,
				 struct nv_name_tree *tree,
				 const struct nv_key *key);

/*
 * Free the leftmost leaf, with the records it has, and the nodes that have no
 * other child. Call until root is 0. Touches one page.
 */
enum nv_status nv_name_tree_prune(struct nv_operation *operation,
				  struct nv_name_tree *tree);

#endif
