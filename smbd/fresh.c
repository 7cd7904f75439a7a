/*
 * What is known of the object that a request has created.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "smbd/vfs_ntvfs.h"
#include "smbd/globals.h"

void ntvfs_fresh_end(struct ntvfs_share *share)
{
	share->fresh.fsp = NULL;
	share->fresh.has_stat = false;
}

static void end_of_request(struct tevent_context *ev,
			   struct tevent_immediate *im,
			   void *private_data)
{
	struct ntvfs_share *share =
		talloc_get_type_abort(private_data, struct ntvfs_share);

	ntvfs_fresh_end(share);
}

void ntvfs_fresh_begin(struct vfs_handle_struct *handle,
		       const struct files_struct *fsp)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct smbd_server_connection *sconn = handle->conn->sconn;
	struct ntvfs_fresh *fresh = &share->fresh;

	ntvfs_fresh_end(share);
	if (sconn == NULL || sconn->ev_ctx == NULL) {
		/* no server, no request, and nobody to tell its end */
		return;
	}
	if (fresh->end_of_request == NULL) {
		fresh->end_of_request = tevent_create_immediate(share);
		if (fresh->end_of_request == NULL) {
			return;
		}
	}
	/* runs before the event loop looks for the next request */
	tevent_schedule_immediate(fresh->end_of_request,
				  sconn->ev_ctx,
				  end_of_request,
				  share);
	fresh->fsp = fsp;
	fresh->has_sd = false;
	fresh->attributes = (struct ntvfs_attributes){.valid = 0};
}

void ntvfs_fresh_stat(struct vfs_handle_struct *handle,
		      const struct files_struct *fsp,
		      const SMB_STRUCT_STAT *st)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_fresh *fresh = &share->fresh;

	if (fresh->fsp != fsp || fresh->has_stat) {
		return;
	}
	fresh->st = *st;
	fresh->has_stat = true;
	if (share->create != NULL) {
		ntvfs_drop_stale_opens(handle, st);
	}
}

struct ntvfs_fresh *ntvfs_fresh_of(struct ntvfs_share *share,
				   const struct files_struct *fsp)
{
	struct ntvfs_fresh *fresh = &share->fresh;
	const SMB_STRUCT_STAT *st = NULL;

	if (fresh->fsp == NULL || fresh->fsp != fsp || !fresh->has_stat) {
		return NULL;
	}
	/* a handle that was given up may have left its address to another */
	st = &fsp->fsp_name->st;
	if (!VALID_STAT(*st) || st->st_ex_ino != fresh->st.st_ex_ino ||
	    st->st_ex_dev != fresh->st.st_ex_dev)
	{
		return NULL;
	}
	return fresh;
}
