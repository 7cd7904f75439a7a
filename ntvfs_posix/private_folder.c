/*
 * The folder at the top of a share that holds what is no client's.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "ntvfs_posix/ntvfs_posix.h"
#include "ntvfs_posix/private_folder.h"

#define OPEN_FOLDER (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* P1 */
static int folder_check(int fd)
{
	struct stat st = {.st_mode = 0};

	if (fstat(fd, &st) != 0) {
		return errno;
	}
	if (st.st_uid != geteuid() || (st.st_mode & 022) != 0) {
		return EPERM;
	}
	return 0;
}

static int subfolder_open(int parent, const char *name, bool create, int *fd)
{
	int error;

	*fd = openat(parent, name, OPEN_FOLDER | O_NOFOLLOW);
	if (*fd == -1 && errno == ENOENT && create) {
		if (mkdirat(parent, name, 0700) != 0 && errno != EEXIST) {
			return errno;
		}
		/* whoever made it: what will be in it must be found again */
		if (fsync(parent) != 0) {
			return errno;
		}
		*fd = openat(parent, name, OPEN_FOLDER | O_NOFOLLOW);
	}
	if (*fd == -1) {
		return errno;
	}
	error = folder_check(*fd);
	if (error != 0) {
		close(*fd);
		*fd = -1;
	}
	return error;
}

int ntvfs_private_folder_open(const char *share_path,
			      const char *name,
			      bool create,
			      int *fd)
{
	int top = -1;
	int folder = -1;
	int error;

	*fd = -1;
	top = open(share_path, OPEN_FOLDER);
	if (top == -1) {
		return errno;
	}
	error = subfolder_open(top,
			       NTVFS_POSIX_PRIVATE_FOLDER,
			       create,
			       &folder);
	close(top);
	if (error != 0 || name == NULL) {
		*fd = folder;
		return error;
	}
	error = subfolder_open(folder, name, create, fd);
	close(folder);
	return error;
}

void ntvfs_private_folder_path(int fd,
			       const char *name,
			       char path[NTVFS_PRIVATE_PATH_SIZE])
{
	snprintf(path, NTVFS_PRIVATE_PATH_SIZE, "/proc/self/fd/%d/%s", fd, name);
}
