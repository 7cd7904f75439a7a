/*
 * Indexes of names that belong to an object.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Few names live in an item of the inode, sorted; more in a tree of pages
 * (name_tree.h) that the inode names. An index that becomes empty is an item
 * again. Directories, streams and long EAs are such indexes.
 */

#ifndef NTVFS_NATIVE_NAMES_H
#define NTVFS_NATIVE_NAMES_H

#include "inode.h"
#include "name_tree.h"

/*
 * A view of one index of one inode. Good as long as the inode is: for one
 * round of a reader, or within an operation.
 */
struct nv_names {
	struct nv_name_tree tree;
	uint32_t item;			/* NV_ITEM_*; 0: never inside */
	uint32_t inode_size;
	const struct nv_disk_inode *inode;
};

/* kind: NV_KIND_DIRECTORY, NV_KIND_STREAMS or NV_KIND_EA. */
void nv_names_open(struct nv_names *names, struct nv_volume *volume,
		   const struct nv_disk_inode *inode, uint32_t kind);

/* Reading; as the functions of name_tree.h. */
enum nv_status nv_names_find(const struct nv_names *names,
			     const struct nv_key *key,
			     struct nv_name_record *record);
enum nv_status nv_names_visit(const struct nv_names *names,
			      const struct nv_key *key, nv_name_visit visit,
			      void *private_data);

/*
 * Changing, in an operation that holds the inode, which nv_inode_modify gave.
 * Only the index is changed: counts and times are the caller's. NV_ERR_RETRY:
 * cancel, nv_names_make_room, begin again.
 */
enum nv_status nv_names_insert(struct nv_operation *operation,
			       struct nv_names *names,
			       struct nv_disk_inode *inode,
			       const struct nv_name_record *record);
enum nv_status nv_names_insert_deep(struct nv_operation *operation,
				    struct nv_names *names,
				    struct nv_disk_inode *inode,
				    const struct nv_name_record *record);
enum nv_status nv_names_remove(struct nv_operation *operation,
			       struct nv_names *names,
			       struct nv_disk_inode *inode,
			       const struct nv_key *key);

/* Operations of their own. The object may be gone by now: NV_OK, too. */
enum nv_status nv_names_make_room(struct nv_volume *volume, nv_file_id id,
				  uint32_t kind, const struct nv_key *key);
enum nv_status nv_names_tidy(struct nv_volume *volume, nv_file_id id,
			     uint32_t kind, const struct nv_key *key);
/* Free every page of an index, whatever it holds. */
enum nv_status nv_names_reclaim(struct nv_volume *volume, nv_file_id id,
				uint32_t kind);

/* What nv_object_reclaim calls, in this order, without an operation. */
enum nv_status nv_streams_reclaim(struct nv_volume *volume, nv_file_id id);
enum nv_status nv_directory_reclaim(struct nv_volume *volume, nv_file_id id);
enum nv_status nv_ea_reclaim(struct nv_volume *volume, nv_file_id id);
enum nv_status nv_reparse_reclaim(struct nv_volume *volume, nv_file_id id);

/* ---- value.c: long values in chains of pages ---- */

static inline uint32_t nv_value_pages(uint32_t length)
{
	return (length + (uint32_t)NV_VALUE_ROOM - 1) /
		(uint32_t)NV_VALUE_ROOM;
}

enum nv_status nv_value_new(struct nv_operation *operation, uint32_t kind,
			    nv_file_id owner, const void *data,
			    uint32_t length, uint64_t *page);
/* The same length in place. */
enum nv_status nv_value_replace(struct nv_operation *operation, uint32_t kind,
				nv_file_id owner, uint64_t page,
				const void *data, uint32_t length);
/* Exactly length bytes; NV_ERR_CORRUPT if the chain has fewer or more. */
enum nv_status nv_value_read(struct nv_volume *volume, uint32_t kind,
			     nv_file_id owner, uint64_t page, void *data,
			     uint32_t length);
/* How many bytes the chain has. */
enum nv_status nv_value_length(struct nv_volume *volume, uint32_t kind,
			       nv_file_id owner, uint64_t page,
			       uint32_t *length);
enum nv_status nv_value_free(struct nv_operation *operation, uint32_t kind,
			     nv_file_id owner, uint64_t page);

/* ---- sd.c, ea.c, for who makes an object ---- */

/*
 * The id of a descriptor, stored if it was not yet. Not within an operation.
 * sd NULL: 0.
 */
enum nv_status nv_sd_intern(struct nv_volume *volume, const void *sd,
			    uint32_t length, uint32_t *sd_id);

#define NV_EA_PAGES 40		/* what one nv_ea_apply may touch */

/* Check names and sizes; the pages that setting all of them may touch. */
enum nv_status nv_ea_prepare(const struct nv_ea *ea, uint32_t count,
			     uint32_t *pages);
/* Set (length 0: remove) within an operation. */
enum nv_status nv_ea_apply(struct nv_operation *operation,
			   struct nv_disk_inode *inode,
			   const struct nv_ea *ea, uint32_t count);

#endif
