/*
 * The owner and group of a descriptor, and those of the file system.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "smbd/vfs_ntvfs.h"

/*
 * Each new object inherits a descriptor with its creator as owner, and has
 * that owner already; smbd only finds out by looking both names up, as root.
 * What it found is remembered: objects of this uid and gid have these SIDs.
 * Such a mapping changes as seldom as those of default_sd.c.
 */
#define OWNERSHIPS	16
#define BELIEVE_SECONDS 60

struct ntvfs_ownership {
	struct dom_sid owner;
	struct dom_sid group;
	uid_t uid;
	gid_t gid;
	struct timespec until;	/* 0: a free place */
};

bool ntvfs_ownership_is(const struct ntvfs_share *share,
			const struct security_descriptor *sd,
			const SMB_STRUCT_STAT *st)
{
	struct timespec now = {.tv_sec = 0};
	size_t i;

	if (share->ownerships == NULL || sd->owner_sid == NULL ||
	    sd->group_sid == NULL)
	{
		return false;
	}
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	for (i = 0; i < OWNERSHIPS; i++) {
		const struct ntvfs_ownership *known = &share->ownerships[i];

		if (known->uid == st->st_ex_uid &&
		    known->gid == st->st_ex_gid &&
		    timespec_compare(&now, &known->until) < 0 &&
		    dom_sid_equal(&known->owner, sd->owner_sid) &&
		    dom_sid_equal(&known->group, sd->group_sid))
		{
			return true;
		}
	}
	return false;
}

void ntvfs_ownership_learn(struct ntvfs_share *share,
			   const struct security_descriptor *sd,
			   const SMB_STRUCT_STAT *st)
{
	struct ntvfs_ownership *oldest = NULL;
	size_t i;

	if (sd->owner_sid == NULL || sd->group_sid == NULL) {
		return;
	}
	if (share->ownerships == NULL) {
		share->ownerships = talloc_zero_array(share,
						      struct ntvfs_ownership,
						      OWNERSHIPS);
		if (share->ownerships == NULL) {
			/* the next object is asked about again */
			return;
		}
	}
	for (i = 0; i < OWNERSHIPS; i++) {
		struct ntvfs_ownership *known = &share->ownerships[i];

		if (oldest == NULL ||
		    timespec_compare(&known->until, &oldest->until) < 0)
		{
			oldest = known;
		}
	}
	oldest->owner = *sd->owner_sid;
	oldest->group = *sd->group_sid;
	oldest->uid = st->st_ex_uid;
	oldest->gid = st->st_ex_gid;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &oldest->until);
	oldest->until.tv_sec += BELIEVE_SECONDS;
}
