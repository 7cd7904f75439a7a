/*
 * Metadata of an object, for those who make one.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_NATIVE_INFO_H
#define NTVFS_NATIVE_INFO_H

#include "ntvfs_native.h"
#include "format.h"

/* Store what mask (NV_INFO_*) names into an inode (pure). */
void nv_info_apply(struct nv_disk_inode *inode, uint32_t mask,
		   const struct nv_info *info);

#endif
