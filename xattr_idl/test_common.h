/*
 * What the tests of this folder share.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef XATTR_IDL_TEST_COMMON_H
#define XATTR_IDL_TEST_COMMON_H

#include "includes.h"
#include <setjmp.h>
#include <cmocka.h>
#include "xattr_idl/ntvfs_xattr_blob.h"

/* *state is a talloc context; a test that leaves anything on NULL fails. */
static inline int test_setup(void **state)
{
	talloc_enable_null_tracking();
	*state = talloc_new(NULL);
	return *state == NULL ? -1 : 0;
}

static inline int test_teardown(void **state)
{
	talloc_free(*state);
	if (talloc_total_blocks(NULL) != 1) {
		talloc_report_full(NULL, stderr);
		return -1;
	}
	return 0;
}

#endif
