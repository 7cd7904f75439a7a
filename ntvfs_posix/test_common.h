/*
 * What the tests of this folder share.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_POSIX_TEST_COMMON_H
#define NTVFS_POSIX_TEST_COMMON_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <talloc.h>
#include <unistd.h>
#include <cmocka.h>

/* Where a test's files are: in memory if possible, many are made. */
static inline char *test_folder_make(TALLOC_CTX *mem_ctx)
{
	const char *top = "/dev/shm";
	char *path = NULL;

	if (getenv("TMPDIR") != NULL) {
		top = getenv("TMPDIR");
	} else if (access(top, W_OK) != 0) {
		top = "/tmp";
	}
	path = talloc_asprintf(mem_ctx, "%s/ntvfs-posix-XXXXXX", top);
	if (path == NULL || mkdtemp(path) == NULL) {
		fprintf(stderr, "cannot make a folder in %s: %s\n", top,
			strerror(errno));
		return NULL;
	}
	return path;
}

static inline int test_folder_entry_remove(const char *path,
					   const struct stat *st,
					   int flag,
					   struct FTW *ftw)
{
	return remove(path);
}

static inline void test_folder_remove(const char *path)
{
	nftw(path, test_folder_entry_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* What talloc itself holds is no leak to a sanitizer then. */
static inline int test_group_teardown(void **state)
{
	talloc_disable_null_tracking();
	return 0;
}

/* Like assert_int_equal() for errno values, with their names. */
#define assert_error(error, wanted)                                           \
	test_assert_error((error), (wanted), #error, __FILE__, __LINE__)

static inline void test_assert_error(int error,
				     int wanted,
				     const char *what,
				     const char *file,
				     int line)
{
	if (error == wanted) {
		return;
	}
	print_error("%s: %s, not %s\n",
		    what,
		    error == 0 ? "success" : strerrorname_np(error),
		    wanted == 0 ? "success" : strerrorname_np(wanted));
	_fail(file, line);
}

#endif /* NTVFS_POSIX_TEST_COMMON_H */
