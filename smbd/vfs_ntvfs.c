/*
 * The VFS module that smbd loads: its table of functions.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "smbd/vfs_ntvfs.h"

static struct vfs_fn_pointers vfs_ntvfs_fns = {
	.connect_fn = ntvfs_connect,
	.disconnect_fn = ntvfs_disconnect,
	.realpath_fn = ntvfs_realpath,
	.fs_capabilities_fn = ntvfs_fs_capabilities,
	.get_quota_fn = ntvfs_get_quota,
	.set_quota_fn = ntvfs_set_quota,

	.create_file_fn = ntvfs_create_file,
	.openat_fn = ntvfs_openat,
	.mkdirat_fn = ntvfs_mkdirat,
	.unlinkat_fn = ntvfs_unlinkat,
	.renameat_fn = ntvfs_renameat,
	.linkat_fn = ntvfs_linkat,
	.symlinkat_fn = ntvfs_symlinkat,
	.mknodat_fn = ntvfs_mknodat,
	.parent_pathname_fn = ntvfs_parent_pathname,
	.readdir_fn = ntvfs_readdir,
	.get_real_filename_at_fn = ntvfs_get_real_filename_at,

	.stat_fn = ntvfs_stat,
	.lstat_fn = ntvfs_lstat,
	.fstat_fn = ntvfs_fstat,
	.fstatat_fn = ntvfs_fstatat,
	.fs_file_id_fn = ntvfs_fs_file_id,
	.fstreaminfo_fn = ntvfs_fstreaminfo,

	.fget_dos_attributes_fn = ntvfs_fget_dos_attributes,
	.fset_dos_attributes_fn = ntvfs_fset_dos_attributes,
	.fsctl_fn = ntvfs_fsctl,
	.get_dos_attributes_send_fn = ntvfs_get_dos_attributes_send,
	.get_dos_attributes_recv_fn = ntvfs_get_dos_attributes_recv,
	.fntimes_fn = ntvfs_fntimes,
	.fchmod_fn = ntvfs_fchmod,
	.fchown_fn = ntvfs_fchown,

	.sys_acl_get_fd_fn = ntvfs_sys_acl_get_fd,
	.fget_nt_acl_fn = ntvfs_fget_nt_acl,
	.fset_nt_acl_fn = ntvfs_fset_nt_acl,

	.fgetxattr_fn = ntvfs_fgetxattr,
	.flistxattr_fn = ntvfs_flistxattr,
	.fsetxattr_fn = ntvfs_fsetxattr,
	.fremovexattr_fn = ntvfs_fremovexattr,

	.pread_fn = ntvfs_pread,
	.pread_send_fn = ntvfs_pread_send,
	.pread_recv_fn = ntvfs_pread_recv,
	.pwrite_fn = ntvfs_pwrite,
	.pwrite_send_fn = ntvfs_pwrite_send,
	.pwrite_recv_fn = ntvfs_pwrite_recv,
	.fsync_send_fn = ntvfs_fsync_send,
	.fsync_recv_fn = ntvfs_fsync_recv,
	.ftruncate_fn = ntvfs_ftruncate,
	.fallocate_fn = ntvfs_fallocate,
	.lseek_fn = ntvfs_lseek,
	.sendfile_fn = ntvfs_sendfile,
	.recvfile_fn = ntvfs_recvfile,
	.fcntl_fn = ntvfs_fcntl,
	.lock_fn = ntvfs_lock,
	.getlock_fn = ntvfs_getlock,
	.filesystem_sharemode_fn = ntvfs_filesystem_sharemode,
	.linux_setlease_fn = ntvfs_linux_setlease,
};

NTSTATUS vfs_ntvfs_init(TALLOC_CTX *ctx);
NTSTATUS vfs_ntvfs_init(TALLOC_CTX *ctx)
{
	return smb_register_vfs(SMB_VFS_INTERFACE_VERSION,
				"ntvfs",
				&vfs_ntvfs_fns);
}

/* The name by which smbd finds the start of a module that it has loaded. */
NTSTATUS samba_init_module(TALLOC_CTX *ctx);
NTSTATUS samba_init_module(TALLOC_CTX *ctx)
{
	return vfs_ntvfs_init(ctx);
}
