/*
 * The descriptors of objects that have none stored.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "smbd/vfs_ntvfs.h"
#include "libcli/security/security_descriptor.h"

/*
 * Such a descriptor follows from the owner, the group, the mode and the type
 * of an object. Few of them occur on a share, and which SIDs stand for a
 * user and a group changes as seldom as they do; smbd itself believes in
 * that for a week.
 */
#define DEFAULT_SDS	16
#define BELIEVE_SECONDS 60

struct ntvfs_default_sd {
	struct security_descriptor *sd;	/* NULL: a free place */
	enum default_acl_style style;
	uid_t uid;
	gid_t gid;
	mode_t mode;
	struct timespec until;
};

static bool default_sd_is(const struct ntvfs_default_sd *entry,
			  enum default_acl_style style,
			  const SMB_STRUCT_STAT *st)
{
	return entry->sd != NULL && entry->style == style &&
	       entry->uid == st->st_ex_uid && entry->gid == st->st_ex_gid &&
	       entry->mode == st->st_ex_mode;
}

NTSTATUS ntvfs_default_sd(struct ntvfs_share *share,
			  enum default_acl_style style,
			  const char *name,
			  const SMB_STRUCT_STAT *st,
			  TALLOC_CTX *mem_ctx,
			  struct security_descriptor **sd)
{
	struct ntvfs_default_sd *oldest = NULL;
	struct timespec now = {.tv_sec = 0};
	SMB_STRUCT_STAT copy = *st;
	NTSTATUS status;
	size_t i;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (share->default_sds == NULL) {
		share->default_sds = talloc_zero_array(share,
						       struct ntvfs_default_sd,
						       DEFAULT_SDS);
		if (share->default_sds == NULL) {
			return NT_STATUS_NO_MEMORY;
		}
	}
	for (i = 0; i < DEFAULT_SDS; i++) {
		struct ntvfs_default_sd *entry = &share->default_sds[i];

		if (default_sd_is(entry, style, st) &&
		    timespec_compare(&now, &entry->until) < 0)
		{
			*sd = security_descriptor_copy(mem_ctx, entry->sd);
			return *sd == NULL ? NT_STATUS_NO_MEMORY
					   : NT_STATUS_OK;
		}
		if (oldest == NULL ||
		    timespec_compare(&entry->until, &oldest->until) < 0)
		{
			oldest = entry;
		}
	}

	status = make_default_filesystem_acl(mem_ctx, style, name, &copy, sd);
	if (!NT_STATUS_IS_OK(status)) {
		return status;
	}
	TALLOC_FREE(oldest->sd);
	oldest->sd = security_descriptor_copy(share->default_sds, *sd);
	oldest->style = style;
	oldest->uid = st->st_ex_uid;
	oldest->gid = st->st_ex_gid;
	oldest->mode = st->st_ex_mode;
	oldest->until = now;
	oldest->until.tv_sec += BELIEVE_SECONDS;
	/* out of memory for the copy: a free place */
	return NT_STATUS_OK;
}
