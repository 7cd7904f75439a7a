/*
 * Who may rename: what MS-FSA 2.1.5.15.11 and MS-SMB2 3.3.5.21.1 ask of the
 * handle and of the folders, beyond what smbd does.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "smbd/vfs_ntvfs.h"
#include "librpc/gen_ndr/open_files.h"
#include "locking/share_mode_lock.h"
#include "serverid.h"
#include "smbd/globals.h"

/* Rights of which a share mode says whether others may have them. */
#define SHARED_RIGHTS                                                         \
	(FILE_READ_DATA | FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_EXECUTE | \
	 DELETE_ACCESS)

/*
 * A rename asks for a handle with DELETE. smbd does not tell which handle it
 * renames by, so one of the object's must have it. A client of SMB1 renames
 * by name, and smbd opens a handle for it with what it needs itself.
 */
static bool has_handle_to_delete(struct connection_struct *conn,
				 const struct smb_filename *src)
{
	struct files_struct *fsp = NULL;
	bool has_handle = false;
	struct file_id id;

	if (!conn->sconn->using_smb2 || !VALID_STAT(src->st)) {
		return true;
	}
	id = vfs_file_id_from_sbuf(conn, &src->st);
	for (fsp = file_find_di_first(conn->sconn, id, true); fsp != NULL;
	     fsp = file_find_di_next(fsp, true))
	{
		if (fsp->access_mask & DELETE_ACCESS) {
			return true;
		}
		has_handle = true;
	}
	/* without any, it is no client's rename */
	return !has_handle;
}

static bool blocks_change(struct share_mode_entry *e,
			  bool *modified,
			  void *private_data)
{
	bool *blocks = private_data;

	if (!(e->access_mask & SHARED_RIGHTS)) {
		return false;
	}
	if (!(e->access_mask & DELETE_ACCESS) &&
	    (e->share_access & FILE_SHARE_WRITE))
	{
		return false;
	}
	*blocks = serverid_exists(&e->pid);
	return *blocks;
}

/*
 * A Windows server opens the folder of the new name to add a file to it, and
 * lets nobody delete it for that time. smbd looks only for handles of the
 * same process that may delete it.
 */
static bool folder_takes_name(struct connection_struct *conn,
			      const struct files_struct *dirfsp)
{
	const SMB_STRUCT_STAT *st = &dirfsp->fsp_name->st;
	struct share_mode_lock *lock = NULL;
	bool blocks = false;

	if (!VALID_STAT(*st)) {
		return true;
	}
	lock = fetch_share_mode_unlocked(talloc_tos(),
					 vfs_file_id_from_sbuf(conn, st));
	if (lock == NULL) {
		/* nobody has it open */
		return true;
	}
	(void)share_mode_forall_entries(lock, blocks_change, &blocks);
	TALLOC_FREE(lock);
	return !blocks;
}

bool ntvfs_may_rename(struct vfs_handle_struct *handle,
		      const struct smb_filename *src,
		      const struct files_struct *dst_dirfsp)
{
	if (!has_handle_to_delete(handle->conn, src)) {
		errno = EACCES;
		return false;
	}
	if (!folder_takes_name(handle->conn, dst_dirfsp)) {
		/* smbd's errno for SHARING_VIOLATION */
		errno = ETXTBSY;
		return false;
	}
	return true;
}

struct named_folder_state {
	const struct connection_struct *conn;
	const char *name;
};

static struct files_struct *is_named_folder(struct files_struct *fsp,
					    void *private_data)
{
	struct named_folder_state *state = private_data;

	if (fsp->conn != state->conn || fsp == state->conn->cwd_fsp ||
	    !fsp->fsp_flags.is_pathref || fsp->fsp_flags.is_fsa ||
	    strcmp(fsp->fsp_name->base_name, state->name) != 0)
	{
		return NULL;
	}
	return fsp;
}

/*
 * When it renames, smbd asks for the folder of the new name to see whether
 * somebody may delete it. That has no bearing on a stream's new name, which
 * is ":NAME" and opens no folder on Windows either. If the client has named
 * the folder too then smbd has it open, since that is how it finds the name.
 */
NTSTATUS ntvfs_parent_pathname(struct vfs_handle_struct *handle,
			       TALLOC_CTX *mem_ctx,
			       const struct smb_filename *smb_fname,
			       struct smb_filename **parent,
			       struct smb_filename **atname)
{
	struct named_folder_state state = {.conn = handle->conn};
	NTSTATUS status;

	status = SMB_VFS_NEXT_PARENT_PATHNAME(handle,
					      mem_ctx,
					      smb_fname,
					      parent,
					      atname);
	if (!NT_STATUS_IS_OK(status) || ntvfs_share_of(handle) == NULL ||
	    atname != NULL || smb_fname->stream_name == NULL)
	{
		return status;
	}
	state.name = (*parent)->base_name;
	if (files_forall(handle->conn->sconn, is_named_folder, &state) !=
	    NULL)
	{
		return NT_STATUS_OK;
	}
	TALLOC_FREE(*parent);
	/* what is always there, and open to no client */
	*parent = synthetic_smb_fname(mem_ctx, "/", NULL, NULL, 0, 0);
	return *parent == NULL ? NT_STATUS_NO_MEMORY : NT_STATUS_OK;
}
