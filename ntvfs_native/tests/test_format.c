/*
 * The structures of the format, where a static assertion cannot tell.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <cmocka.h>
#include "ntvfs_native.h"
#include "format.h"
#include "inode.h"
#include "io.h"
#include "killpoint.h"
#include "segment.h"
#include "transaction.h"

static void test_magics(void **state)
{
	uint64_t super = NV_SUPER_MAGIC;
	uint64_t root = NV_ROOT_MAGIC;
	uint32_t inode = NV_INODE_MAGIC;
	uint32_t page = NV_PAGE_MAGIC;

	/* They are readable in a hex dump. */
	assert_memory_equal(&super, "NTVFSNAT", 8);
	assert_memory_equal(&root, "NTVFSROT", 8);
	assert_memory_equal(&inode, "NVIN", 4);
	assert_memory_equal(&page, "NVPG", 4);
}

static void test_file_ids(void **state)
{
	uint64_t id = NV_FILE_ID(NV_INO_MASK, NV_MAX_GENERATION);

	assert_true(id == UINT64_MAX);
	assert_true(NV_FILE_INO(id) == NV_INO_MASK);
	assert_int_equal(NV_FILE_GENERATION(id), NV_MAX_GENERATION);
	assert_true(NV_FILE_INO(NV_FILE_ID(77, 3)) == 77);
	assert_int_equal(NV_FILE_GENERATION(NV_FILE_ID(77, 3)), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_magics),
		cmocka_unit_test(test_file_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
