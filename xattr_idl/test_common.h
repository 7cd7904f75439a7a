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

/* One line of golden/INDEX and its two files. */
struct golden {
	const char *name;
	const char *type;
	const char *text; /* what it must decode to */
	DATA_BLOB blob;
};

/* *state is a talloc context; a test that leaves anything elsewhere fails. */
int test_setup(void **state);
int test_teardown(void **state);

#define TEST(function)                                                         \
	cmocka_unit_test_setup_teardown(function, test_setup, test_teardown)

/* All golden blobs; fails the test when they cannot be read. */
size_t golden_load(TALLOC_CTX *mem_ctx, struct golden **goldens);

/*
 * Decode a blob as type (see golden/INDEX) into the text of its to_text
 * function. The blob is copied to memory that ends where it ends, so that
 * AddressSanitizer sees the smallest step too far. Checks what must hold for
 * any input: after an error a reason and nothing decoded, after success none.
 */
NTSTATUS decode_to_text(TALLOC_CTX *mem_ctx,
			const char *type,
			DATA_BLOB blob,
			const char **text,
			const char **reason);

#endif
