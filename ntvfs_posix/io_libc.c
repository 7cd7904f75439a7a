/*
 * The calls of the posix backend, by file descriptor.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "ntvfs_posix/posix_io.h"

static int fd_of(void *handle)
{
	return *(int *)handle;
}

static ssize_t libc_fgetxattr(void *context, void *handle, const char *name,
			      void *value, size_t size)
{
	return fgetxattr(fd_of(handle), name, value, size);
}

static int libc_fsetxattr(void *context, void *handle, const char *name,
			  const void *value, size_t size, int flags)
{
	return fsetxattr(fd_of(handle), name, value, size, flags);
}

static int libc_fremovexattr(void *context, void *handle, const char *name)
{
	return fremovexattr(fd_of(handle), name);
}

static ssize_t libc_flistxattr(void *context, void *handle, char *list,
			       size_t size)
{
	return flistxattr(fd_of(handle), list, size);
}

static int libc_get_owner(void *context, void *handle, uid_t *uid, gid_t *gid)
{
	struct stat st = {.st_uid = 0};

	if (fstat(fd_of(handle), &st) != 0) {
		return -1;
	}
	*uid = st.st_uid;
	*gid = st.st_gid;
	return 0;
}

static uint64_t libc_get_birth(void *context, void *handle)
{
	struct statx stx = {.stx_mask = 0};

	if (statx(fd_of(handle), "", AT_EMPTY_PATH, STATX_BTIME, &stx) != 0 ||
	    !(stx.stx_mask & STATX_BTIME))
	{
		return 0;
	}
	return (uint64_t)stx.stx_btime.tv_sec * 1000000000 +
	       stx.stx_btime.tv_nsec;
}

static bool libc_has_free_space(void *context, void *handle)
{
	/* so many blocks for one xattr: they are more than any change takes */
	const fsblkcnt_t enough = 16;
	struct statvfs st = {.f_bavail = 0};

	if (fstatvfs(fd_of(handle), &st) != 0) {
		return true;
	}
	return (geteuid() == 0 ? st.f_bfree : st.f_bavail) >= enough;
}

static uint64_t libc_get_volume_id(void *context, void *handle)
{
	struct statfs st = {.f_type = 0};
	uint64_t id = 0;

	if (fstatfs(fd_of(handle), &st) != 0) {
		return 0;
	}
	memcpy(&id, &st.f_fsid, sizeof(id));
	return id;
}

static void libc_nothing(void *context)
{
	/* a tool or a test is who it is */
}

const struct ntvfs_posix_io ntvfs_posix_io_libc = {
	.fgetxattr = libc_fgetxattr,
	.fsetxattr = libc_fsetxattr,
	.fremovexattr = libc_fremovexattr,
	.flistxattr = libc_flistxattr,
	.get_owner = libc_get_owner,
	.get_birth = libc_get_birth,
	.has_free_space = libc_has_free_space,
	.get_volume_id = libc_get_volume_id,
	.become_root = libc_nothing,
	.unbecome_root = libc_nothing,
};
