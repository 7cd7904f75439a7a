/*
 * Quotas: asked for with every question about free space, and mostly absent.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "smbd/vfs_ntvfs.h"

/*
 * To find that there is no quota costs smbd two passes over the mount table
 * and some thirty system calls. The answer that a user or group has none is
 * believed for so long; a quota that is there is asked for each time.
 */
#define BELIEVE_SECONDS 10

/* The kinds are small numbers (enum SMB_QUOTA_TYPE). */
#define KINDS 8

struct ntvfs_no_quota {
	struct timespec until;
	SMB_DEV_T dev;
	unid_t id;
	int ret;
	int error;
	SMB_DISK_QUOTA quota;
};

static struct ntvfs_no_quota *no_quota_of(struct ntvfs_share *share,
					  enum SMB_QUOTA_TYPE qtype)
{
	if ((size_t)qtype >= KINDS) {
		return NULL;
	}
	if (share->no_quotas == NULL) {
		share->no_quotas = talloc_zero_array(share,
						     struct ntvfs_no_quota,
						     KINDS);
		if (share->no_quotas == NULL) {
			return NULL;
		}
	}
	return &share->no_quotas[qtype];
}

static bool is_no_quota(int ret, const SMB_DISK_QUOTA *quota)
{
	if (ret != 0) {
		return errno == ENOTSUP || errno == ENOSYS || errno == ESRCH;
	}
	return quota->softlimit == 0 && quota->hardlimit == 0 &&
	       quota->isoftlimit == 0 && quota->ihardlimit == 0;
}

int ntvfs_get_quota(struct vfs_handle_struct *handle,
		    const struct smb_filename *smb_fname,
		    enum SMB_QUOTA_TYPE qtype,
		    unid_t id,
		    SMB_DISK_QUOTA *quota)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_no_quota *known = NULL;
	struct timespec now = {.tv_sec = 0};
	int ret;

	/* which file system is asked about, smbd has found out before */
	if (share != NULL && VALID_STAT(smb_fname->st)) {
		known = no_quota_of(share, qtype);
	}
	if (known == NULL) {
		return SMB_VFS_NEXT_GET_QUOTA(handle,
					      smb_fname,
					      qtype,
					      id,
					      quota);
	}
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (known->id.uid == id.uid && known->dev == smb_fname->st.st_ex_dev &&
	    timespec_compare(&now, &known->until) < 0)
	{
		*quota = known->quota;
		errno = known->error;
		return known->ret;
	}
	ret = SMB_VFS_NEXT_GET_QUOTA(handle, smb_fname, qtype, id, quota);
	if (is_no_quota(ret, quota)) {
		known->id = id;
		known->dev = smb_fname->st.st_ex_dev;
		known->ret = ret;
		known->error = errno;
		known->quota = *quota;
		known->until = now;
		known->until.tv_sec += BELIEVE_SECONDS;
	}
	return ret;
}

int ntvfs_set_quota(struct vfs_handle_struct *handle,
		    enum SMB_QUOTA_TYPE qtype,
		    unid_t id,
		    SMB_DISK_QUOTA *quota)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);

	if (share != NULL) {
		/* through this connection at least it is seen at once */
		TALLOC_FREE(share->no_quotas);
	}
	return SMB_VFS_NEXT_SET_QUOTA(handle, qtype, id, quota);
}
