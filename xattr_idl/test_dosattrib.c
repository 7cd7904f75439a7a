/*
 * Tests of the records of user.DOSATTRIB: what we encode and how it decodes.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "xattr_idl/test_common.h"

static void test_round_trip(void **state)
{
	const struct ntvfs_dosattrib in = {
		.valid = NTVFS_DOSATTRIB_ATTRIBUTES |
			 NTVFS_DOSATTRIB_CREATE_TIME |
			 NTVFS_DOSATTRIB_CHANGE_TIME,
		.attributes = 0x22,
		.create_time = 127457712001234567,
		.change_time = 127457712007654321,
	};
	struct ntvfs_dosattrib out;
	uint8_t buffer[NTVFS_DOSATTRIB_ENCODED_MAX];
	const char *reason = NULL;
	size_t length = 0;
	DATA_BLOB blob;
	NTSTATUS status;

	status = ntvfs_dosattrib_encode(&in, buffer, &length);
	assert_true(NT_STATUS_IS_OK(status));
	blob = data_blob_const(buffer, length);
	status = ntvfs_dosattrib_decode(*state, &blob, &out, &reason);
	assert_true(NT_STATUS_IS_OK(status));
	assert_null(reason);
	assert_int_equal(out.version, 3);
	assert_int_equal(out.valid, in.valid);
	assert_int_equal(out.attributes, in.attributes);
	assert_true(out.create_time == in.create_time);
	assert_true(out.change_time == in.change_time);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip,
						test_setup,
						test_teardown),
	};

	return cmocka_run_group_tests_name("dosattrib", tests, NULL, NULL);
}
