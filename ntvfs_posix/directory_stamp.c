/*
 * Whether every change of a directory gets a time stamp of its own.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "directory_stamp.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

#define ROUNDS	 8
#define ATTEMPTS 5

/* The shortest tick Linux is built with (CONFIG_HZ_1000). */
#define SHORTEST_TICK_NANOSECONDS 1000000

/*
 * The file systems that use multigrain stamps for every change of a directory.
 * The probe looks at a file, so it would be fooled by tmpfs: that has them, but
 * gives a directory the stamp of the file that is made or removed in it, which
 * is coarse as nobody has looked at that file. And it would be fooled by file
 * systems in user space and on other machines, where what this client does is
 * stamped here but what others do is not.
 */
static bool has_multigrain_stamps(int fd)
{
	struct statfs fs = {0};
	int ret = 0;

	ret = fstatfs(fd, &fs);
	if (ret == -1) {
		return false;
	}
	switch ((uint64_t)fs.f_type & UINT32_MAX) {
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

static uint64_t nanoseconds_now(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

enum probe_result { PROBE_EXACT, PROBE_COARSE, PROBE_UNKNOWN };

/*
 * Change the file ROUNDS times, each followed by a look. Two equal stamps are
 * coarse. All different are exact, unless enough time went by for the tick to
 * have moved every stamp; then nothing is known.
 */
static enum probe_result probe_file(int fd)
{
	struct timespec previous = {0};
	struct stat st = {0};
	uint64_t start = 0;
	uint64_t elapsed = 0;
	ssize_t size = 0;
	int round = 0;
	int ret = 0;

	start = nanoseconds_now();
	for (round = 0; round < ROUNDS; round++) {
		size = pwrite(fd, "", 1, 0);
		if (size != 1) {
			return PROBE_UNKNOWN;
		}
		ret = fstat(fd, &st);
		if (ret == -1) {
			return PROBE_UNKNOWN;
		}
		if (round > 0 && st.st_ctim.tv_sec == previous.tv_sec &&
		    st.st_ctim.tv_nsec == previous.tv_nsec) {
			return PROBE_COARSE;
		}
		previous = st.st_ctim;
	}
	elapsed = nanoseconds_now() - start;
	if (elapsed >= (ROUNDS - 2) * (uint64_t)SHORTEST_TICK_NANOSECONDS) {
		return PROBE_UNKNOWN;
	}
	return PROBE_EXACT;
}

bool ntvfs_stamps_are_exact(int directory_fd)
{
	enum probe_result result = PROBE_UNKNOWN;
	int error = errno;
	int attempt = 0;
	int fd = -1;

	fd = openat(directory_fd,
		    ".",
		    O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL,
		    0600);
	if (fd == -1) {
		goto done;
	}
	if (!has_multigrain_stamps(fd)) {
		goto done;
	}
	/* Unlucky scheduling, not the file system, makes it unknown. */
	while (result == PROBE_UNKNOWN && attempt < ATTEMPTS) {
		result = probe_file(fd);
		attempt++;
	}
done:
	if (fd != -1) {
		close(fd);
	}
	errno = error;
	return result == PROBE_EXACT;
}
