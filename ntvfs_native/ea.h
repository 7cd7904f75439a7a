/*
 * Extended attributes: what their two files share.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_NATIVE_EA_H
#define NTVFS_NATIVE_EA_H

#include "names.h"

/* What a record of the tree has as cookie. */
uint64_t nv_ea_cookie(uint32_t length, uint8_t flags);
void nv_ea_open_tree(struct nv_names *names, struct nv_volume *volume,
		     const struct nv_disk_inode *inode);
void nv_ea_key(struct nv_key *key, const struct nv_names *names,
	       const char *name);

/*
 * The item: the EA at offset, and where the next one is. False at the end and
 * where the list is malformed.
 */
bool nv_ea_item_at(const uint8_t *bytes, uint32_t length, uint32_t offset,
		   struct nv_disk_ea *ea, uint32_t *next);
/* By name. False: *offset is where it belongs. */
bool nv_ea_item_find(const uint8_t *bytes, uint32_t length, const char *name,
		     struct nv_disk_ea *ea, uint32_t *offset);

#endif
