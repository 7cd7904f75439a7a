/*
 * Opening and creating: what smbd leaves out of MS-FSA 2.1.5.1.
 *
 * smbd does the work. While it does, what the request is about is kept in
 * the share, for the calls that smbd makes on the way to know what they are
 * part of. All of this is memory: it costs no system call.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "smbd/vfs_ntvfs.h"
#include "locking/proto.h"
#include "smbd/globals.h"
#include "ntvfs/attributes.h"

/* Where a request to create has its attributes (MS-SMB2 2.2.13). */
#define CREATE_BODY_ATTRIBUTES 0x1c

/*
 * FILE_CREATE_TREE_CONNECTION and FILE_RESERVE_OPFILTER: options that a
 * server says it does not support (MS-SMB2 2.2.13).
 */
#define UNSUPPORTED_OPTIONS 0x00100080

/* Would this disposition empty what is there? */
static bool disposition_replaces(uint32_t disposition)
{
	return disposition == FILE_SUPERSEDE ||
	       disposition == FILE_OVERWRITE ||
	       disposition == FILE_OVERWRITE_IF;
}

/*
 * The attributes as the client sent them: smbd cuts one bit off that it
 * uses for itself, with which the request is invalid.
 */
static uint32_t attributes_as_sent(struct smb_request *req,
				   uint32_t attributes)
{
	const uint8_t *header = NULL;
	const uint8_t *body = NULL;

	if (req->smb2req == NULL) {
		return attributes;
	}
	header = SMBD_SMB2_IN_HDR_PTR(req->smb2req);
	if (SVAL(header, SMB2_HDR_OPCODE) != SMB2_OP_CREATE) {
		return attributes;
	}
	body = SMBD_SMB2_IN_BODY_PTR(req->smb2req);
	return IVAL(body, CREATE_BODY_ATTRIBUTES);
}

/*
 * Can a client ask for these? Those of SMB1 have bits of their own, which
 * smbd knows. Rights that cannot be are refused first, none at all among
 * them (MS-FSA 2.1.5.1).
 */
static NTSTATUS check_request(struct smb_request *req,
			      uint32_t access_mask,
			      uint32_t create_options,
			      uint32_t attributes)
{
	if (req == NULL || req->smb2req == NULL ||
	    (attributes & FILE_FLAG_POSIX_SEMANTICS))
	{
		return NT_STATUS_OK;
	}
	if (access_mask == 0 || (access_mask & SEC_MASK_INVALID)) {
		return NT_STATUS_ACCESS_DENIED;
	}
	if (create_options & UNSUPPORTED_OPTIONS) {
		return NT_STATUS_NOT_SUPPORTED;
	}
	attributes = attributes_as_sent(req, attributes);
	if (attributes & ~NTVFS_ATTRIBUTES_AT_CREATE) {
		return NT_STATUS_INVALID_PARAMETER;
	}
	if (attributes & NTVFS_ATTRIBUTE_ENCRYPTED) {
		/* nothing is encrypted here, and nobody shall think so */
		return NT_STATUS_ACCESS_DENIED;
	}
	return NT_STATUS_OK;
}

/*
 * MS-FSA 2.1.5.1.2.1: who supersedes a hidden or system file must know that
 * it is one. smbd asks this of the other dispositions.
 */
static NTSTATUS check_supersede(struct vfs_handle_struct *handle,
				const struct smb_filename *smb_fname,
				uint32_t attributes)
{
	uint32_t existing = 0;
	NTSTATUS status;

	if (smb_fname->fsp == NULL || !VALID_STAT(smb_fname->st) ||
	    !S_ISREG(smb_fname->st.st_ex_mode))
	{
		return NT_STATUS_OK;
	}
	status = ntvfs_fget_dos_attributes(handle, smb_fname->fsp, &existing);
	if (!NT_STATUS_IS_OK(status)) {
		return status;
	}
	if (!ntvfs_attributes_allow_overwrite(existing, attributes)) {
		return NT_STATUS_ACCESS_DENIED;
	}
	return NT_STATUS_OK;
}

/*
 * Is what is in the way going to be deleted? Then that is what a client must
 * be told, who may wait for it. smbd tells all that do not ask for a new file.
 */
static bool delete_is_pending(struct connection_struct *conn,
			      const struct smb_filename *smb_fname)
{
	uint32_t name_hash = 0;
	bool pending = false;

	if (!VALID_STAT(smb_fname->st) ||
	    !NT_STATUS_IS_OK(file_name_hash(conn,
					    smb_fname_str_dbg(smb_fname),
					    &name_hash)))
	{
		return false;
	}
	get_file_infos(vfs_file_id_from_sbuf(conn, &smb_fname->st),
		       name_hash,
		       &pending,
		       NULL);
	return pending;
}

NTSTATUS ntvfs_create_file(struct vfs_handle_struct *handle,
			   struct smb_request *req,
			   struct files_struct *dirfsp,
			   struct smb_filename *smb_fname,
			   uint32_t access_mask,
			   uint32_t share_access,
			   uint32_t create_disposition,
			   uint32_t create_options,
			   uint32_t file_attributes,
			   uint32_t oplock_request,
			   const struct smb2_lease *lease,
			   uint64_t allocation_size,
			   uint32_t private_flags,
			   struct security_descriptor *sd,
			   struct ea_list *ea_list,
			   files_struct **result,
			   int *pinfo,
			   const struct smb2_create_blobs *in_context_blobs,
			   struct smb2_create_blobs *out_context_blobs)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_create create = {.attributes = 0};
	struct ntvfs_create *outer = NULL;
	NTSTATUS status;

	if (share != NULL) {
		/* smb.conf may have been read again since the tree connect */
		ntvfs_force_settings(handle);
		status = check_request(req,
				       access_mask,
				       create_options,
				       file_attributes);
		if (!NT_STATUS_IS_OK(status)) {
			return status;
		}
		create.of_stream = is_named_stream(smb_fname);
		create.replaces = disposition_replaces(create_disposition);
		if (!(file_attributes & FILE_FLAG_POSIX_SEMANTICS)) {
			create.attributes = file_attributes;
		}
		if (create_disposition == FILE_SUPERSEDE &&
		    !create.of_stream)
		{
			status = check_supersede(handle,
						 smb_fname,
						 create.attributes);
			if (!NT_STATUS_IS_OK(status)) {
				return status;
			}
		}
		/* smbd opens streams while it opens their file */
		outer = share->create;
		share->create = &create;
	}
	status = SMB_VFS_NEXT_CREATE_FILE(handle,
					  req,
					  dirfsp,
					  smb_fname,
					  access_mask,
					  share_access,
					  create_disposition,
					  create_options,
					  file_attributes,
					  oplock_request,
					  lease,
					  allocation_size,
					  private_flags,
					  sd,
					  ea_list,
					  result,
					  pinfo,
					  in_context_blobs,
					  out_context_blobs);
	if (share == NULL) {
		return status;
	}
	share->create = outer;
	if (create_disposition == FILE_CREATE &&
	    NT_STATUS_EQUAL(status, NT_STATUS_OBJECT_NAME_COLLISION) &&
	    delete_is_pending(handle->conn, smb_fname))
	{
		return NT_STATUS_DELETE_PENDING;
	}
	return status;
}
