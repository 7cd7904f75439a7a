/*
 * Security descriptors.
 *
 * smbd checks access with what is returned here, and nothing else does: the
 * mode bits let everybody in. So no error ends in a descriptor that lets
 * more people in than were meant to be.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "smbd/vfs_ntvfs.h"

/* All four parts, whatever there is. */
static NTSTATUS load_descriptor(struct ntvfs_share *share,
				struct files_struct *fsp,
				const struct ntvfs_object *object,
				const SMB_STRUCT_STAT *st,
				TALLOC_CTX *mem_ctx,
				struct security_descriptor **sd)
{
	struct ntvfs_backend *backend = share->backend;
	enum default_acl_style style = share->default_acl_style;
	struct ntvfs_fresh *fresh = ntvfs_fresh_of(share, fsp);
	int error = ENODATA;

	if (fresh == NULL || fresh->has_sd) {
		error = backend->ops->get_security_descriptor(backend,
							      object,
							      mem_ctx,
							      sd);
	}
	if (error == 0) {
		return NT_STATUS_OK;
	}
	if (error == EINVAL) {
		/* an unreadable one (reported): owner and system, no more */
		style = DEFAULT_ACL_WINDOWS;
	} else if (error != ENODATA) {
		return ntvfs_status(error);
	}
	return ntvfs_default_sd(share,
				style,
				fsp->fsp_name->base_name,
				st,
				mem_ctx,
				sd);
}

NTSTATUS ntvfs_fget_nt_acl(struct vfs_handle_struct *handle,
			   struct files_struct *fsp,
			   uint32_t security_info,
			   TALLOC_CTX *mem_ctx,
			   struct security_descriptor **ppdesc)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_object object = {.handle = NULL};
	struct security_descriptor *sd = NULL;
	SMB_STRUCT_STAT st = {.st_ex_nlink = 0};
	NTSTATUS status;

	if (share == NULL) {
		return SMB_VFS_NEXT_FGET_NT_ACL(handle,
						fsp,
						security_info,
						mem_ctx,
						ppdesc);
	}
	fsp = metadata_fsp(fsp);
	if (!ntvfs_object_to_read(handle, fsp, &object, &st)) {
		return map_nt_error_from_unix(errno);
	}
	status = load_descriptor(share, fsp, &object, &st, mem_ctx, &sd);
	if (!NT_STATUS_IS_OK(status)) {
		return status;
	}

	if (!(security_info & SECINFO_OWNER)) {
		TALLOC_FREE(sd->owner_sid);
	}
	if (!(security_info & SECINFO_GROUP)) {
		TALLOC_FREE(sd->group_sid);
	}
	if (!(security_info & SECINFO_DACL)) {
		sd->type &= ~SEC_DESC_DACL_PRESENT;
		TALLOC_FREE(sd->dacl);
	}
	if (!(security_info & SECINFO_SACL)) {
		sd->type &= ~SEC_DESC_SACL_PRESENT;
		TALLOC_FREE(sd->sacl);
	}
	*ppdesc = sd;
	return NT_STATUS_OK;
}

/*
 * Let the file system's owner and group follow the descriptor's. Who has the
 * right may take a file, and only root may give one away.
 */
static NTSTATUS set_ownership(struct vfs_handle_struct *handle,
			      struct files_struct *fsp,
			      uint32_t security_info,
			      struct security_descriptor *sd)
{
	const struct security_token *token = NULL;
	NTSTATUS status;

	security_info &= SECINFO_OWNER | SECINFO_GROUP;
	status = SMB_VFS_NEXT_FSET_NT_ACL(handle, fsp, security_info, sd);
	if (!NT_STATUS_EQUAL(status, NT_STATUS_ACCESS_DENIED)) {
		return status;
	}
	if (get_current_uid(handle->conn) == 0 ||
	    !(fsp->access_mask & SEC_STD_WRITE_OWNER))
	{
		return NT_STATUS_ACCESS_DENIED;
	}
	/* MS-FSA 2.1.5.16: an owner that the caller may not assign */
	token = get_current_nttok(fsp->conn);
	if (!security_token_is_sid(token, sd->owner_sid)) {
		return NT_STATUS_INVALID_OWNER;
	}
	become_root();
	status = SMB_VFS_NEXT_FSET_NT_ACL(handle, fsp, security_info, sd);
	unbecome_root();
	return status;
}

NTSTATUS ntvfs_fset_nt_acl(struct vfs_handle_struct *handle,
			   struct files_struct *fsp,
			   uint32_t security_info_sent,
			   const struct security_descriptor *psd)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_object object = {.handle = NULL};
	struct security_descriptor *sd = NULL;
	struct ntvfs_fresh *fresh = NULL;
	SMB_STRUCT_STAT st = {.st_ex_nlink = 0};
	TALLOC_CTX *frame = NULL;
	bool owner_changes = false;
	NTSTATUS status;
	int error;

	if (share == NULL) {
		return SMB_VFS_NEXT_FSET_NT_ACL(handle,
						fsp,
						security_info_sent,
						psd);
	}
	fsp = metadata_fsp(fsp);
	if (!ntvfs_object_of(handle, fsp, &object, &st)) {
		return map_nt_error_from_unix(errno);
	}
	frame = talloc_stackframe();
	status = load_descriptor(share, fsp, &object, &st, frame, &sd);
	if (!NT_STATUS_IS_OK(status)) {
		goto done;
	}

	/* the parts that were sent replace those that were there */
	sd->revision = psd->revision;
	if ((security_info_sent & SECINFO_OWNER) && psd->owner_sid != NULL) {
		owner_changes |= !dom_sid_equal(psd->owner_sid,
						sd->owner_sid);
		sd->owner_sid = psd->owner_sid;
	}
	if ((security_info_sent & SECINFO_GROUP) && psd->group_sid != NULL) {
		owner_changes |= !dom_sid_equal(psd->group_sid,
						sd->group_sid);
		sd->group_sid = psd->group_sid;
	}
	if (security_info_sent & SECINFO_DACL) {
		sd->type = psd->type | SEC_DESC_SELF_RELATIVE |
			   SEC_DESC_DACL_PRESENT |
			   (sd->type & SEC_DESC_SACL_PRESENT);
		sd->dacl = psd->dacl;
	}
	if (security_info_sent & SECINFO_SACL) {
		sd->type |= SEC_DESC_SACL_PRESENT;
		sd->sacl = psd->sacl;
	}

	if (owner_changes && !ntvfs_ownership_is(share, sd, &st)) {
		const uint32_t both = SECINFO_OWNER | SECINFO_GROUP;

		status = set_ownership(handle, fsp, security_info_sent, sd);
		if (!NT_STATUS_IS_OK(status)) {
			goto done;
		}
		/* that has changed the object's stamp and owner */
		ntvfs_fresh_end(share);
		if (!ntvfs_object_of(handle, fsp, &object, &st)) {
			status = map_nt_error_from_unix(errno);
			goto done;
		}
		share->backend->ops->owner_changed(share->backend, &object);
		/* what is remembered lets any caller have it: his own SID */
		if ((security_info_sent & both) == both &&
		    security_token_is_sid(get_current_nttok(fsp->conn),
					  sd->owner_sid))
		{
			ntvfs_ownership_learn(share, sd, &st);
		}
	}
	fresh = ntvfs_fresh_of(share, fsp);
	if (fresh != NULL) {
		fresh->has_sd = true;
	} else {
		share->backend->ops->note_change(share->backend, &object);
	}
	error = share->backend->ops->set_security_descriptor(share->backend,
							     &object,
							     sd);
	status = ntvfs_status(error);
done:
	TALLOC_FREE(frame);
	return status;
}
