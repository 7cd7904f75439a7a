/*
 * Tests of security.NTACL: what we store, and how it comes back.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "librpc/gen_ndr/ndr_security.h"
#include "libcli/security/dom_sid.h"
#include "libcli/security/sddl.h"
#include "xattr_idl/test_common.h"

static struct security_descriptor *parse(TALLOC_CTX *mem_ctx, const char *sddl)
{
	struct security_descriptor *sd = NULL;
	struct dom_sid domain;

	assert_true(dom_sid_parse("S-1-5-21-1-2-3", &domain));
	sd = sddl_decode(mem_ctx, sddl, &domain);
	assert_non_null(sd);
	return sd;
}

static void test_descriptor_comes_back_exactly(void **state)
{
	static const char *const descriptors[] = {
		"O:BAG:BA",
		"O:BAG:BAD:",
		"O:BAG:BAD:PAI(A;OICIIO;GA;;;CO)(A;ID;FA;;;SY)(D;;FW;;;WD)",
		"O:S-1-22-1-1000G:S-1-22-2-1000D:AI(A;OICIID;0x1301bf;;;AU)"
		"S:PAI(AU;OICISAFA;FA;;;WD)",
		/* Not in canonical order: it is stored as it is. */
		"O:BAG:BAD:(A;;FA;;;WD)(D;;FA;;;WD)(A;ID;FA;;;WD)(A;;FA;;;BA)",
	};
	struct ntvfs_ntacl *ntacl = NULL;
	struct security_descriptor *sd = NULL;
	const char *reason = NULL;
	DATA_BLOB before;
	DATA_BLOB after;
	DATA_BLOB blob;
	NTSTATUS status;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(descriptors); i++) {
		sd = parse(*state, descriptors[i]);
		status = ntvfs_ntacl_encode(*state, sd, &blob);
		assert_true(NT_STATUS_IS_OK(status));
		status = ntvfs_ntacl_decode(*state, &blob, &ntacl, &reason);
		assert_true(NT_STATUS_IS_OK(status));
		assert_int_equal(ntacl->version, 3);
		assert_int_equal(ntacl->hash_type, 1);

		sd->type |= SEC_DESC_SELF_RELATIVE;
		assert_int_equal(ndr_push_struct_blob(
					 &before,
					 *state,
					 sd,
					 (ndr_push_flags_fn_t)
						 ndr_push_security_descriptor),
				 NDR_ERR_SUCCESS);
		assert_int_equal(ndr_push_struct_blob(
					 &after,
					 *state,
					 ntacl->sd,
					 (ndr_push_flags_fn_t)
						 ndr_push_security_descriptor),
				 NDR_ERR_SUCCESS);
		assert_int_equal(data_blob_cmp(&before, &after), 0);
	}
}

static void test_encode_leaves_the_descriptor_alone(void **state)
{
	struct security_descriptor *sd = parse(*state, "O:BAG:BAD:");
	uint16_t type = sd->type & ~SEC_DESC_SELF_RELATIVE;
	DATA_BLOB blob;
	NTSTATUS status;

	sd->type = type;
	status = ntvfs_ntacl_encode(*state, sd, &blob);
	assert_true(NT_STATUS_IS_OK(status));
	assert_int_equal(sd->type, type);
}

static void test_descriptor_can_be_moved_out(void **state)
{
	struct security_descriptor *sd =
		parse(*state, "O:BAG:BAD:(A;;FA;;;SY)");
	struct ntvfs_ntacl *ntacl = NULL;
	TALLOC_CTX *frame = talloc_new(*state);
	DATA_BLOB blob;
	char *before = NULL;
	char *after = NULL;
	NTSTATUS status;

	status = ntvfs_sd_to_sddl(*state, sd, &before);
	assert_true(NT_STATUS_IS_OK(status));
	status = ntvfs_ntacl_encode(frame, sd, &blob);
	assert_true(NT_STATUS_IS_OK(status));
	status = ntvfs_ntacl_decode(frame, &blob, &ntacl, NULL);
	assert_true(NT_STATUS_IS_OK(status));
	sd = talloc_move(*state, &ntacl->sd);
	talloc_free(frame);
	status = ntvfs_sd_to_sddl(*state, sd, &after);
	assert_true(NT_STATUS_IS_OK(status));
	assert_string_equal(after, before);
}

/* Samba believes a record that points nowhere; it would then crash. */
static void test_record_without_descriptor(void **state)
{
	static const uint8_t version1[] = {1, 0, 1, 0, 0, 0, 0, 0};
	static const uint8_t version3[] = {3, 0, 3, 0, 0, 0, 0, 0};
	uint8_t version2[] = {2, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 1, 1,
			      1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	const DATA_BLOB blobs[] = {
		data_blob_const(version1, sizeof(version1)),
		data_blob_const(version3, sizeof(version3)),
		data_blob_const(version2, sizeof(version2)),
	};
	const char *text = NULL;
	const char *reason = NULL;
	NTSTATUS status;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(blobs); i++) {
		status = decode_to_text(
			*state, "ntacl", blobs[i], &text, &reason);
		assert_true(
			NT_STATUS_EQUAL(status, NT_STATUS_INVALID_PARAMETER));
		assert_non_null(strstr(reason, "no security descriptor"));
	}
}

static void test_unknown_versions(void **state)
{
	uint8_t bytes[] = {5, 0, 5, 0, 0, 0, 2, 0};
	const DATA_BLOB blob = data_blob_const(bytes, sizeof(bytes));
	const char *text = NULL;
	const char *reason = NULL;
	NTSTATUS status;

	status = decode_to_text(*state, "ntacl", blob, &text, &reason);
	assert_true(NT_STATUS_EQUAL(status, NT_STATUS_REVISION_MISMATCH));
	assert_string_equal(reason, "version 5 is unknown");

	bytes[0] = 0;
	status = decode_to_text(*state, "ntacl", blob, &text, &reason);
	assert_true(NT_STATUS_EQUAL(status, NT_STATUS_REVISION_MISMATCH));

	bytes[0] = 3;
	status = decode_to_text(*state, "ntacl", blob, &text, &reason);
	assert_true(NT_STATUS_EQUAL(status, NT_STATUS_INVALID_PARAMETER));
	assert_string_equal(reason, "version 3: its repetition says 5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_descriptor_comes_back_exactly),
		TEST(test_encode_leaves_the_descriptor_alone),
		TEST(test_descriptor_can_be_moved_out),
		TEST(test_record_without_descriptor),
		TEST(test_unknown_versions),
	};

	return cmocka_run_group_tests_name("ntacl", tests, NULL, NULL);
}
