/*
 * The one right that storing a descriptor needs.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "smbd/vfs_ntvfs.h"
#include <linux/capability.h>
#include <sys/syscall.h>

#define WORD CAP_TO_INDEX(CAP_SYS_ADMIN)
#define BIT  CAP_TO_MASK(CAP_SYS_ADMIN)

/*
 * As a user smbd has no effective capabilities, but its saved user id is
 * still root's, so that it is permitted all. Three system calls make one of
 * them effective and not again; become_root() takes some twenty, and gives
 * away more. Capabilities belong to the thread: smbd's workers get none.
 */
bool ntvfs_raise_sys_admin(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
		{.effective = 0},
	};

	if (syscall(SYS_capget, &header, data) != 0 ||
	    (data[WORD].effective & BIT) != 0)
	{
		/* cannot tell, or is there already: not ours to lower */
		return false;
	}
	data[WORD].effective |= BIT;
	return syscall(SYS_capset, &header, data) == 0;
}

void ntvfs_lower_sys_admin(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
		{.effective = 0},
	};
	int saved_errno = errno;

	if (syscall(SYS_capget, &header, data) != 0) {
		goto panic;
	}
	data[WORD].effective &= ~BIT;
	if (syscall(SYS_capset, &header, data) != 0) {
		goto panic;
	}
	errno = saved_errno;
	return;
panic:
	/* never seen; but a user's request must not go on with this right */
	smb_panic("ntvfs: cannot give CAP_SYS_ADMIN back");
}
