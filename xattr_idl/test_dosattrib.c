/*
 * Tests of the records of user.DOSATTRIB: what we store, and how it comes back.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "xattr_idl/test_common.h"

#define ALL_STORED                                                             \
	(NTVFS_DOSATTRIB_ATTRIBUTES | NTVFS_DOSATTRIB_EA_SIZE |                \
	 NTVFS_DOSATTRIB_SIZE | NTVFS_DOSATTRIB_ALLOCATION_SIZE |              \
	 NTVFS_DOSATTRIB_CREATE_TIME | NTVFS_DOSATTRIB_CHANGE_TIME)

static const struct ntvfs_dosattrib sample = {
	.valid = ALL_STORED,
	.attributes = 0x22,
	.create_time = 127457712001234567,
	.change_time = 127457712007654321,
	.ea_size = 4,
	.size = 12345,
	.allocation_size = UINT64_MAX,
};

/* Encode and decode again; returns the size of the record. */
static size_t round_trip(TALLOC_CTX *mem_ctx,
			 const struct ntvfs_dosattrib *in,
			 struct ntvfs_dosattrib *out)
{
	uint8_t buffer[NTVFS_DOSATTRIB_ENCODED_MAX];
	const char *reason = NULL;
	size_t length = 0;
	DATA_BLOB blob;
	NTSTATUS status;

	memset(buffer, 0xA5, sizeof(buffer));
	status = ntvfs_dosattrib_encode(in, buffer, &length);
	assert_true(NT_STATUS_IS_OK(status));
	assert_true(length <= sizeof(buffer));
	blob = data_blob_const(buffer, length);
	status = ntvfs_dosattrib_decode(mem_ctx, &blob, out, &reason);
	assert_true(NT_STATUS_IS_OK(status));
	assert_null(reason);
	assert_int_equal(out->version, 3);
	return length;
}

static void test_all_members_come_back(void **state)
{
	struct ntvfs_dosattrib out;

	round_trip(*state, &sample, &out);
	assert_int_equal(out.valid, ALL_STORED);
	assert_int_equal(out.attributes, sample.attributes);
	assert_true(out.create_time == sample.create_time);
	assert_true(out.change_time == sample.change_time);
	assert_int_equal(out.ea_size, sample.ea_size);
	assert_true(out.size == sample.size);
	assert_true(out.allocation_size == sample.allocation_size);
}

static void test_members_without_bit_are_not_stored(void **state)
{
	struct ntvfs_dosattrib in = sample;
	struct ntvfs_dosattrib out;
	uint32_t bit;

	for (bit = 1; bit <= NTVFS_DOSATTRIB_CHANGE_TIME; bit <<= 1) {
		in.valid = bit;
		round_trip(*state, &in, &out);
		/* Attributes always count, as 0 when they were not given. */
		assert_int_equal(out.valid, bit | NTVFS_DOSATTRIB_ATTRIBUTES);
		assert_int_equal(out.attributes, bit == 1 ? 0x22 : 0);
		assert_true(out.create_time ==
			    (bit == NTVFS_DOSATTRIB_CREATE_TIME
				     ? sample.create_time
				     : 0));
		assert_true(out.change_time ==
			    (bit == NTVFS_DOSATTRIB_CHANGE_TIME
				     ? sample.change_time
				     : 0));
	}
}

static void test_version_3_has_no_place_for_two_times(void **state)
{
	struct ntvfs_dosattrib in = sample;
	struct ntvfs_dosattrib out;

	in.valid = UINT32_MAX;
	in.itime = 1;
	in.write_time = 1;
	round_trip(*state, &in, &out);
	assert_int_equal(out.valid, ALL_STORED);
	assert_true(out.itime == 0);
	assert_true(out.write_time == 0);
}

static void test_what_is_no_time_is_not_valid(void **state)
{
	static const NTTIME no_times[] = {
		0,
		UINT64_MAX,
		UINT64_MAX - 1,
		(NTTIME)INT64_MAX + 1,
	};
	struct ntvfs_dosattrib in = sample;
	struct ntvfs_dosattrib out;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(no_times); i++) {
		in.create_time = no_times[i];
		in.change_time = no_times[i];
		round_trip(*state, &in, &out);
		assert_false(out.valid & NTVFS_DOSATTRIB_CREATE_TIME);
		assert_false(out.valid & NTVFS_DOSATTRIB_CHANGE_TIME);
		assert_true(out.create_time == 0);
		assert_true(out.change_time == 0);
	}
	in.create_time = 1;
	in.change_time = INT64_MAX;
	round_trip(*state, &in, &out);
	assert_int_equal(out.valid, ALL_STORED);
	assert_true(out.create_time == 1);
	assert_true(out.change_time == INT64_MAX);
}

/* An xattr that is replaced by one of the same size is replaced in place. */
static void test_size_depends_on_hex_digits_only(void **state)
{
	struct ntvfs_dosattrib in = sample;
	struct ntvfs_dosattrib out;
	size_t lengths[9] = {0};
	size_t digits;

	for (digits = 1; digits <= 8; digits++) {
		in.attributes =
			(uint32_t)(UINT64_C(0xFEDCBA98) >> (32 - 4 * digits));
		lengths[digits] = round_trip(*state, &in, &out);
		assert_int_equal(out.attributes, in.attributes);
	}
	in.attributes = 0;
	assert_int_equal(round_trip(*state, &in, &out), 52);
	assert_int_equal(lengths[1], 52);
	assert_int_equal(lengths[2], 56);
	assert_int_equal(lengths[5], 56);
	assert_int_equal(lengths[6], 60);
	assert_int_equal(lengths[8], 60);
}

static void test_nothing_is_allocated(void **state)
{
	struct ntvfs_dosattrib out;
	size_t before = talloc_total_blocks(NULL);

	round_trip(NULL, &sample, &out);
	assert_int_equal(talloc_total_blocks(NULL), before);
}

static void test_hex_text(void **state)
{
	static const struct {
		const char *text;
		size_t length;
		bool ok;
		uint32_t attributes;
	} cases[] = {
		{"0x20", 4, true, 0x20},
		{"0x20", 5, true, 0x20},
		{"0x0", 3, true, 0},
		{"0xABcd", 6, true, 0xABCD},
		{"0xffffffff", 10, true, 0xFFFFFFFF},
		{"0x00000020", 10, true, 0x20},
		{"0x000000020", 11, false, 0},
		{"0x", 2, false, 0},
		{"0", 1, false, 0},
		{"", 1, false, 0},
		{"20", 2, false, 0},
		{"0X20", 4, false, 0},
		{"0x2g", 4, false, 0},
		{"0x20 ", 5, false, 0},
		{" 0x20", 5, false, 0},
		{"0x-1", 4, false, 0},
		{"0x20\0", 6, false, 0},
	};
	const char *text = NULL;
	const char *reason = NULL;
	char *expected = NULL;
	char *names = NULL;
	NTSTATUS status;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		DATA_BLOB blob =
			data_blob_const(cases[i].text, cases[i].length);

		status = decode_to_text(
			*state, "dosattrib", blob, &text, &reason);
		if (NT_STATUS_IS_OK(status) != cases[i].ok) {
			fail_msg("\"%s\" of %zu bytes: %s, %s",
				 cases[i].text,
				 cases[i].length,
				 nt_errstr(status),
				 reason);
		}
		if (!cases[i].ok) {
			continue;
		}
		names = ntvfs_attributes_to_text(*state, cases[i].attributes);
		expected = talloc_asprintf(*state,
					   "record: hex text\n"
					   "attributes: 0x%x %s\n",
					   (unsigned)cases[i].attributes,
					   names);
		assert_string_equal(text, expected);
	}
}

static void test_versions_of_samba4_have_no_text(void **state)
{
	const DATA_BLOB text_only = data_blob_const("0x20", 4);
	struct ntvfs_dosattrib out;
	const char *reason = NULL;
	NTSTATUS status;

	status = ntvfs_dosattrib_samba4_decode(
		*state, &text_only, &out, &reason);
	assert_true(NT_STATUS_EQUAL(status, NT_STATUS_REVISION_MISMATCH));
	assert_string_equal(reason, "version 30768 is unknown");
}

static void test_reason_is_not_asked_for(void **state)
{
	const DATA_BLOB bad = data_blob_const("\0\0\6\0\6\0", 6);
	struct ntvfs_dosattrib out;
	size_t before = talloc_total_blocks(NULL);
	NTSTATUS status;

	status = ntvfs_dosattrib_decode(*state, &bad, &out, NULL);
	assert_true(NT_STATUS_EQUAL(status, NT_STATUS_REVISION_MISMATCH));
	assert_int_equal(talloc_total_blocks(NULL), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_all_members_come_back),
		TEST(test_members_without_bit_are_not_stored),
		TEST(test_version_3_has_no_place_for_two_times),
		TEST(test_what_is_no_time_is_not_valid),
		TEST(test_size_depends_on_hex_digits_only),
		TEST(test_nothing_is_allocated),
		TEST(test_hex_text),
		TEST(test_versions_of_samba4_have_no_text),
		TEST(test_reason_is_not_asked_for),
	};

	return cmocka_run_group_tests_name("dosattrib", tests, NULL, NULL);
}
