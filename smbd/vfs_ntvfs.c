/*
 * The VFS module that smbd loads: its table of functions.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "includes.h"
#include "smbd/smbd.h"

static struct vfs_fn_pointers vfs_ntvfs_fns = {0};
NTSTATUS vfs_ntvfs_init(TALLOC_CTX *ctx);
NTSTATUS vfs_ntvfs_init(TALLOC_CTX *ctx)
{
	return smb_register_vfs(SMB_VFS_INTERFACE_VERSION, "ntvfs",
				&vfs_ntvfs_fns);
}
NTSTATUS samba_init_module(TALLOC_CTX *ctx);
NTSTATUS samba_init_module(TALLOC_CTX *ctx)
{
	return vfs_ntvfs_init(ctx);
}
