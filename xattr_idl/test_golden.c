/*
 * Tests of all decoders with the golden blobs: as they are, cut off, made
 * longer, and with each bit of them flipped.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "xattr_idl/test_common.h"

static void test_golden_blobs_decode(void **state)
{
	struct golden *goldens = NULL;
	size_t count = golden_load(*state, &goldens);
	const char *text = NULL;
	const char *reason = NULL;
	NTSTATUS status;
	size_t i;

	for (i = 0; i < count; i++) {
		status = decode_to_text(*state,
					goldens[i].type,
					goldens[i].blob,
					&text,
					&reason);
		if (!NT_STATUS_IS_OK(status)) {
			fail_msg("%s: %s: %s",
				 goldens[i].name,
				 nt_errstr(status),
				 reason);
		}
		assert_string_equal(text, goldens[i].text);
	}
}

/* The only blobs whose beginnings are whole, too. */
static bool is_text(const char *name)
{
	return strncmp(name, "dosattrib-text", 14) == 0;
}

/* A record's text in front, cut off within, is an old blob of its own. */
static bool is_cut_text(const struct golden *golden, size_t length)
{
	size_t text_length;

	if (strcmp(golden->type, "dosattrib") != 0) {
		return false;
	}
	text_length =
		strnlen((const char *)golden->blob.data, golden->blob.length);
	return length >= 3 && length <= text_length + 1;
}

static void test_cut_off_anywhere(void **state)
{
	struct golden *goldens = NULL;
	size_t count = golden_load(*state, &goldens);
	const char *text = NULL;
	const char *reason = NULL;
	size_t length;
	NTSTATUS status;
	size_t i;

	for (i = 0; i < count; i++) {
		const struct golden *golden = &goldens[i];

		for (length = 0; length < golden->blob.length; length++) {
			TALLOC_CTX *frame = talloc_new(*state);

			status = decode_to_text(
				frame,
				golden->type,
				data_blob_const(golden->blob.data, length),
				&text,
				&reason);
			if (is_text(golden->name) ||
			    is_cut_text(golden, length)) {
				talloc_free(frame);
				continue;
			}
			if (NT_STATUS_IS_OK(status)) {
				fail_msg("%s is accepted without its last "
					 "%zu bytes",
					 golden->name,
					 golden->blob.length - length);
			}
			if (!NT_STATUS_EQUAL(status,
					     NT_STATUS_BUFFER_TOO_SMALL) &&
			    !NT_STATUS_EQUAL(status,
					     NT_STATUS_INVALID_PARAMETER)) {
				fail_msg("%s cut to %zu: %s: %s",
					 golden->name,
					 length,
					 nt_errstr(status),
					 reason);
			}
			talloc_free(frame);
		}
	}
}

static void test_bytes_left_over(void **state)
{
	struct golden *goldens = NULL;
	size_t count = golden_load(*state, &goldens);
	static const size_t extras[] = {1, 2, 3, 4, 5, 8, 1000};
	const char *text = NULL;
	const char *reason = NULL;
	NTSTATUS status;
	size_t i, j;
	int fill;

	for (i = 0; i < count; i++) {
		for (j = 0; j < 2 * ARRAY_SIZE(extras); j++) {
			size_t extra = extras[j / 2];
			DATA_BLOB longer = data_blob_talloc_zero(
				*state, goldens[i].blob.length + extra);

			fill = j % 2 == 0 ? 0 : 0xFF;
			memset(longer.data, fill, longer.length);
			memcpy(longer.data,
			       goldens[i].blob.data,
			       goldens[i].blob.length);
			status = decode_to_text(*state,
						goldens[i].type,
						longer,
						&text,
						&reason);
			if (strcmp(goldens[i].name, "dosattrib-text") == 0 &&
			    extra == 1 && fill == 0) {
				/* The NUL byte that text may end with. */
				assert_true(NT_STATUS_IS_OK(status));
				continue;
			}
			if (NT_STATUS_IS_OK(status)) {
				fail_msg("%s is accepted with %zu bytes "
					 "0x%02x behind it",
					 goldens[i].name,
					 extra,
					 (unsigned)fill);
			}
			if (is_text(goldens[i].name)) {
				continue;
			}
			assert_true(NT_STATUS_EQUAL(
				status, NT_STATUS_PORT_MESSAGE_TOO_LONG));
		}
	}
}

/* Whatever a bit means: an answer, no crash, and (by teardown) no leak. */
static void test_each_bit_flipped(void **state)
{
	struct golden *goldens = NULL;
	size_t count = golden_load(*state, &goldens);
	const char *text = NULL;
	const char *reason = NULL;
	size_t accepted = 0;
	size_t refused = 0;
	NTSTATUS status;
	size_t i, bit;

	for (i = 0; i < count; i++) {
		DATA_BLOB blob = data_blob_dup_talloc(*state, goldens[i].blob);

		for (bit = 0; bit < blob.length * 8; bit++) {
			TALLOC_CTX *frame = talloc_new(*state);

			blob.data[bit / 8] ^= 1 << bit % 8;
			status = decode_to_text(
				frame, goldens[i].type, blob, &text, &reason);
			blob.data[bit / 8] ^= 1 << bit % 8;
			if (NT_STATUS_IS_OK(status)) {
				accepted++;
			} else {
				refused++;
			}
			talloc_free(frame);
		}
	}
	print_message("%zu flips were refused, %zu changed a value\n",
		      refused,
		      accepted);
	assert_true(refused > 0 && accepted > 0);
}

/* Two random bytes at a time, the same ones in every run. */
static void test_random_damage(void **state)
{
	struct golden *goldens = NULL;
	size_t count = golden_load(*state, &goldens);
	const char *text = NULL;
	const char *reason = NULL;
	uint64_t random = 1;
	size_t i, round, change;

	for (i = 0; i < count; i++) {
		for (round = 0; round < 500; round++) {
			TALLOC_CTX *frame = talloc_new(*state);
			DATA_BLOB blob =
				data_blob_dup_talloc(frame, goldens[i].blob);

			for (change = 0; change < 2; change++) {
				random = random * 6364136223846793005 +
					 1442695040888963407;
				blob.data[(random >> 40) % blob.length] =
					random >> 32;
			}
			decode_to_text(
				frame, goldens[i].type, blob, &text, &reason);
			talloc_free(frame);
		}
	}
}

/* Counts that would want gigabytes are refused (test_memory.c: at no cost). */
static void test_absurd_counts(void **state)
{
	static const uint8_t streams[] = {0xFF,
					  0xFF,
					  0xFF,
					  0x7F,
					  0,
					  0,
					  2,
					  0,
					  0xFF,
					  0xFF,
					  0xFF,
					  0x7F,
					  0,
					  0,
					  0,
					  0};
	static const uint8_t eas[] = {
		0xFF, 0xFF, 0, 0, 0, 0, 2, 0, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0};
	static const uint8_t two_counts[] = {
		1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0};
	static const uint8_t absent[] = {3, 0, 0, 0, 0, 0, 0, 0};
	const struct {
		const char *type;
		DATA_BLOB blob;
	} cases[] = {
		{"streams", data_blob_const(streams, sizeof(streams))},
		{"eas", data_blob_const(eas, sizeof(eas))},
		{"streams", data_blob_const(two_counts, sizeof(two_counts))},
		{"eas", data_blob_const(two_counts, sizeof(two_counts))},
		{"streams", data_blob_const(absent, sizeof(absent))},
		{"eas", data_blob_const(absent, sizeof(absent))},
	};
	const char *text = NULL;
	const char *reason = NULL;
	NTSTATUS status;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		status = decode_to_text(
			*state, cases[i].type, cases[i].blob, &text, &reason);
		assert_false(NT_STATUS_IS_OK(status));
		assert_false(NT_STATUS_EQUAL(status, NT_STATUS_NO_MEMORY));
		assert_non_null(strstr(reason, "entries"));
	}
}

static void test_longer_than_an_xattr(void **state)
{
	static const char *const types[] = {
		"dosattrib", "samba4", "ntacl", "streams", "eas"};
	DATA_BLOB blob =
		data_blob_talloc_zero(*state, NTVFS_XATTR_SIZE_MAX + 1);
	const char *text = NULL;
	const char *reason = NULL;
	NTSTATUS status;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		status = decode_to_text(*state, types[i], blob, &text, &reason);
		assert_true(NT_STATUS_EQUAL(status,
					    NT_STATUS_PORT_MESSAGE_TOO_LONG));
		assert_string_equal(reason,
				    "65537 bytes, more than an xattr can hold");
		status = decode_to_text(
			*state, types[i], data_blob_null, &text, &reason);
		assert_true(
			NT_STATUS_EQUAL(status, NT_STATUS_BUFFER_TOO_SMALL));
		assert_string_equal(reason, "empty");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_golden_blobs_decode),
		TEST(test_cut_off_anywhere),
		TEST(test_bytes_left_over),
		TEST(test_each_bit_flipped),
		TEST(test_random_damage),
		TEST(test_absurd_counts),
		TEST(test_longer_than_an_xattr),
	};

	return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
