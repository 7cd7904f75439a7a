/*
 * Tests of the texts, and of the complaints about bad blobs.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "librpc/gen_ndr/ndr_security.h"
#include "xattr_idl/test_common.h"

static void test_times(void **state)
{
	static const struct {
		NTTIME time;
		const char *text;
	} cases[] = {
		{0, "0"},
		{UINT64_MAX, "-1"},
		{1, "1601-01-01T00:00:00.0000001Z"},
		{116444736000000000, "1970-01-01T00:00:00.0000000Z"},
		{127457712001234567, "2004-11-24T12:00:00.1234567Z"},
		{125963423999999999, "2000-02-29T23:59:59.9999999Z"},
		{116444735999999999, "1969-12-31T23:59:59.9999999Z"},
		{INT64_MAX, "30828-09-14T02:48:05.4775807Z"},
		{(NTTIME)INT64_MAX + 1, "9223372036854775808"},
	};
	char buffer[NTVFS_NTTIME_TEXT_SIZE];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_string_equal(ntvfs_nttime_to_text(cases[i].time, buffer),
				    cases[i].text);
	}
}

static void test_attributes(void **state)
{
	assert_string_equal(ntvfs_attributes_to_text(*state, 0), "none");
	assert_string_equal(ntvfs_attributes_to_text(*state, 0x27),
			    "READONLY|HIDDEN|SYSTEM|ARCHIVE");
	assert_string_equal(ntvfs_attributes_to_text(*state, 0x80010080),
			    "NORMAL|0x80010000");
}

/* A mask that has all of FULL, and one bit that has no name. */
static void test_rights(void **state)
{
	struct security_ace ace = {
		.type = SEC_ACE_TYPE_ACCESS_ALLOWED,
		.access_mask = 0x005F01FF,
		.trustee = {.sid_rev_num = 1,
			    .num_auths = 1,
			    .id_auth = {0, 0, 0, 0, 0, 5},
			    .sub_auths = {18}},
	};
	struct security_acl dacl = {
		.revision = SECURITY_ACL_REVISION_NT4,
		.num_aces = 1,
		.aces = &ace,
	};
	struct security_descriptor sd = {
		.revision = SD_REVISION,
		.type = SEC_DESC_DACL_PRESENT,
		.dacl = &dacl,
	};
	const struct ntvfs_ntacl ntacl = {.version = 1, .sd = &sd};
	const char *text = ntvfs_ntacl_to_text(*state, &ntacl);

	assert_string_equal(text,
			    "record: version 1\n"
			    "control: 0x0004 DACL_PRESENT\n"
			    "owner: none\n"
			    "group: none\n"
			    "DACL: revision 2, 1 entry\n"
			    "  allow S-1-5-18 0x005f01ff FULL|0x400000\n"
			    "SACL: absent\n");
}

static void test_names_are_quoted(void **state)
{
	struct ntvfs_dosea ea = {
		.name = "a\"b\\c\n\x7f\x01\xc3\xbc",
		.value = {.length = 3},
	};
	const struct ntvfs_doseas eas = {.count = 1, .eas = &ea};

	assert_string_equal(ntvfs_doseas_to_text(*state, &eas),
			    "\"a\\\"b\\\\c\\x0a\\x7f\\x01\xc3\xbc\" 3 bytes\n");
}

struct heard {
	size_t count;
	ino_t last;
};

static void hear(const struct ntvfs_complaint *complaint, void *private_data)
{
	struct heard *heard = private_data;

	assert_string_equal(complaint->reason, "why");
	heard->count++;
	heard->last = complaint->inode;
}

static void test_complaints_are_reported_once(void **state)
{
	struct heard heard = {0};
	struct ntvfs_complaint complaint = {
		.device = 1,
		.inode = 2,
		.xattr_name = NTVFS_XATTR_DOSATTRIB,
		.path = "a/b",
		.status = NT_STATUS_INVALID_PARAMETER,
		.reason = "why",
	};
	struct ntvfs_complaints *complaints = NULL;

	complaints = ntvfs_complaints_create(*state, 100, hear, &heard);
	assert_non_null(complaints);
	assert_true(ntvfs_complain(complaints, &complaint));
	assert_int_equal(heard.count, 1);
	assert_int_equal(heard.last, 2);
	assert_false(ntvfs_complain(complaints, &complaint));
	complaint.path = "renamed";
	assert_false(ntvfs_complain(complaints, &complaint));
	assert_int_equal(heard.count, 1);

	complaint.xattr_name = NTVFS_XATTR_NTACL;
	assert_true(ntvfs_complain(complaints, &complaint));
	complaint.inode = 3;
	assert_true(ntvfs_complain(complaints, &complaint));
	complaint.device = 2;
	assert_true(ntvfs_complain(complaints, &complaint));
	/* Device and inode are not just added up. */
	complaint.device = 3;
	complaint.inode = 2;
	assert_true(ntvfs_complain(complaints, &complaint));
	assert_int_equal(heard.count, 5);
	assert_int_equal(ntvfs_complaints_counted(complaints), 7);
	assert_int_equal(ntvfs_complaints_reported(complaints), 5);
}

static void test_complaints_are_bounded(void **state)
{
	struct heard heard = {0};
	struct ntvfs_complaint complaint = {
		.xattr_name = NTVFS_XATTR_DOSATTRIB,
		.reason = "why",
	};
	struct ntvfs_complaints *complaints = NULL;
	size_t before;
	size_t i;

	complaints = ntvfs_complaints_create(*state, 64, hear, &heard);
	before = talloc_total_size(NULL);
	for (i = 0; i < 100000; i++) {
		complaint.inode = i;
		assert_true(ntvfs_complain(complaints, &complaint));
		/* The one just told is never told twice in a row. */
		assert_false(ntvfs_complain(complaints, &complaint));
	}
	assert_int_equal(talloc_total_size(NULL), before);
	assert_int_equal(ntvfs_complaints_counted(complaints), 200000);
	assert_int_equal(ntvfs_complaints_reported(complaints), 100000);
	assert_int_equal(heard.count, 100000);
	/* The first was forgotten long ago. */
	complaint.inode = 0;
	assert_true(ntvfs_complain(complaints, &complaint));
}

static void test_complaints_capacity(void **state)
{
	assert_null(ntvfs_complaints_create(*state, 0, hear, NULL));
	assert_null(ntvfs_complaints_create(*state, 65537, hear, NULL));
	assert_non_null(ntvfs_complaints_create(*state, 1, hear, NULL));
	assert_non_null(ntvfs_complaints_create(*state, 65536, hear, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_times),
		TEST(test_attributes),
		TEST(test_rights),
		TEST(test_names_are_quoted),
		TEST(test_complaints_are_reported_once),
		TEST(test_complaints_are_bounded),
		TEST(test_complaints_capacity),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
