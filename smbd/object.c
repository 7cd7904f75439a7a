/*
 * smbd's file handles as the backend's objects.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "smbd/vfs_ntvfs.h"
#include <linux/xattr.h>
#include <sys/stat.h>

static ssize_t next_fgetxattr(void *context, void *handle, const char *name,
			      void *value, size_t size)
{
	struct vfs_handle_struct *vfs = context;

	return SMB_VFS_NEXT_FGETXATTR(vfs, handle, name, value, size);
}

static int next_fsetxattr(void *context, void *handle, const char *name,
			  const void *value, size_t size, int flags)
{
	struct vfs_handle_struct *vfs = context;
	bool raised = false;
	int ret;

	if (strncmp(name, XATTR_SECURITY_PREFIX, XATTR_SECURITY_PREFIX_LEN) ==
	    0)
	{
		raised = ntvfs_raise_sys_admin();
	}
	ret = SMB_VFS_NEXT_FSETXATTR(vfs, handle, name, value, size, flags);
	if (raised) {
		ntvfs_lower_sys_admin();
	}
	return ret;
}

static int next_fremovexattr(void *context, void *handle, const char *name)
{
	struct vfs_handle_struct *vfs = context;

	return SMB_VFS_NEXT_FREMOVEXATTR(vfs, handle, name);
}

static ssize_t next_flistxattr(void *context, void *handle, char *list,
			       size_t size)
{
	struct vfs_handle_struct *vfs = context;

	return SMB_VFS_NEXT_FLISTXATTR(vfs, handle, list, size);
}

static int next_get_owner(void *context, void *handle, uid_t *uid, gid_t *gid)
{
	struct vfs_handle_struct *vfs = context;
	SMB_STRUCT_STAT st = {.st_ex_nlink = 0};

	if (SMB_VFS_NEXT_FSTAT(vfs, (files_struct *)handle, &st) != 0) {
		return -1;
	}
	*uid = st.st_ex_uid;
	*gid = st.st_ex_gid;
	return 0;
}

static uint64_t next_get_birth(void *context, void *handle)
{
	/* smbd's stat does not have it; the descriptor, if it is one, does */
	int fd = fsp_get_pathref_fd((files_struct *)handle);

	return ntvfs_posix_io_libc.get_birth(NULL, &fd);
}

static bool next_has_free_space(void *context, void *handle)
{
	int fd = fsp_get_pathref_fd((files_struct *)handle);

	return ntvfs_posix_io_libc.has_free_space(NULL, &fd);
}

static uint64_t next_get_volume_id(void *context, void *handle)
{
	int fd = fsp_get_pathref_fd((files_struct *)handle);

	return ntvfs_posix_io_libc.get_volume_id(NULL, &fd);
}

static void next_become_root(void *context)
{
	become_root();
}

static void next_unbecome_root(void *context)
{
	unbecome_root();
}

const struct ntvfs_posix_io ntvfs_io_next = {
	.fgetxattr = next_fgetxattr,
	.fsetxattr = next_fsetxattr,
	.fremovexattr = next_fremovexattr,
	.flistxattr = next_flistxattr,
	.get_owner = next_get_owner,
	.get_birth = next_get_birth,
	.has_free_space = next_has_free_space,
	.get_volume_id = next_get_volume_id,
	.become_root = next_become_root,
	.unbecome_root = next_unbecome_root,
};

static void object_from_stat(struct files_struct *fsp,
			     const SMB_STRUCT_STAT *st,
			     struct ntvfs_object *object)
{
	*object = (struct ntvfs_object){
		.volume = st->st_ex_dev,
		.file_id = st->st_ex_ino,
		.change_stamp = st->st_ex_ctime,
		.write_stamp = st->st_ex_mtime,
		.is_directory = S_ISDIR(st->st_ex_mode),
		.handle = fsp,
	};
}

bool ntvfs_object_of(struct vfs_handle_struct *handle,
		     struct files_struct *fsp,
		     struct ntvfs_object *object,
		     SMB_STRUCT_STAT *sbuf)
{
	struct ntvfs_fresh *fresh = NULL;
	SMB_STRUCT_STAT st = {.st_ex_nlink = 0};

	fsp = metadata_fsp(fsp);
	fresh = ntvfs_fresh_of(ntvfs_share_of(handle), fsp);
	if (fresh != NULL) {
		/* nothing that is cached is asked for under its stamps */
		object_from_stat(fsp, &fresh->st, object);
		if (sbuf != NULL) {
			*sbuf = fresh->st;
		}
		return true;
	}
	if (SMB_VFS_NEXT_FSTAT(handle, fsp, &st) != 0) {
		return false;
	}
	object_from_stat(fsp, &st, object);
	if (sbuf != NULL) {
		*sbuf = st;
	}
	return true;
}

bool ntvfs_is_request_handle(const struct files_struct *fsp)
{
	/*
	 * A client's handle has an open file record (op), the connection's
	 * own handle of its working directory has no descriptor. What is
	 * left are handles that smbd opens by name while it works on a
	 * request, and asks for their stat at once.
	 */
	return fsp->op == NULL && fsp->fsp_flags.is_pathref &&
	       fsp != fsp->conn->cwd_fsp && VALID_STAT(fsp->fsp_name->st);
}

bool ntvfs_object_to_read(struct vfs_handle_struct *handle,
			  struct files_struct *fsp,
			  struct ntvfs_object *object,
			  SMB_STRUCT_STAT *sbuf)
{
	fsp = metadata_fsp(fsp);
	if (!ntvfs_is_request_handle(fsp)) {
		return ntvfs_object_of(handle, fsp, object, sbuf);
	}
	object_from_stat(fsp, &fsp->fsp_name->st, object);
	if (sbuf != NULL) {
		*sbuf = fsp->fsp_name->st;
	}
	return true;
}

int ntvfs_errno(int error)
{
	if (error == EFBIG || error == E2BIG || error == ERANGE) {
		/*
		 * smbd takes EFBIG for a full disk. This one it knows from
		 * streams, and says FILE_SYSTEM_LIMITATION to a write;
		 * elsewhere it is ALLOTTED_SPACE_EXCEEDED.
		 */
		return EOVERFLOW;
	}
	return error;
}

NTSTATUS ntvfs_status(int error)
{
	switch (error) {
	case 0:
		return NT_STATUS_OK;
	case EFBIG:
	case E2BIG:
	case ERANGE:
		/* too large for the store, however empty the disk is */
		return NT_STATUS_FILE_SYSTEM_LIMITATION;
	case ENOTSUP:
		return NT_STATUS_NOT_SUPPORTED;
	default:
		return map_nt_error_from_unix(error);
	}
}
