/*
 * Tests of the decoders with little memory: every single allocation fails
 * once, and no absurd count makes a large one.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * malloc() and realloc() of the whole process are ours here, libtalloc's too.
 * AddressSanitizer needs them itself: then there is nothing to run.
 */

#include "xattr_idl/test_common.h"

#ifdef __SANITIZE_ADDRESS__
#define OURS 0
#else
#define OURS 1
#endif

static size_t countdown; /* the one that reaches 0 fails */
static size_t largest;	 /* request since it was set to 0 */

#if OURS
void *__libc_malloc(size_t size);
void *__libc_realloc(void *old, size_t size);

static bool fails(size_t size)
{
	if (size > largest) {
		largest = size;
	}
	if (countdown == 0) {
		return false;
	}
	countdown--;
	return countdown == 0;
}

void *malloc(size_t size)
{
	if (fails(size)) {
		return NULL;
	}
	return __libc_malloc(size);
}

void *realloc(void *old, size_t size)
{
	if (fails(size)) {
		return NULL;
	}
	return __libc_realloc(old, size);
}
#endif

static void need_our_malloc(void)
{
	if (!OURS) {
		print_message("AddressSanitizer has malloc() to itself\n");
		skip();
	}
}

static NTSTATUS decode(TALLOC_CTX *mem_ctx, const struct golden *golden)
{
	struct ntvfs_dosattrib dosattrib;
	struct ntvfs_ntacl *ntacl = NULL;
	struct ntvfs_dosstreams *streams = NULL;
	struct ntvfs_doseas *eas = NULL;
	const char *reason = NULL;

	if (strcmp(golden->type, "ntacl") == 0) {
		return ntvfs_ntacl_decode(
			mem_ctx, &golden->blob, &ntacl, &reason);
	}
	if (strcmp(golden->type, "streams") == 0) {
		return ntvfs_dosstreams_decode(
			mem_ctx, &golden->blob, &streams, &reason);
	}
	if (strcmp(golden->type, "eas") == 0) {
		return ntvfs_doseas_decode(
			mem_ctx, &golden->blob, &eas, &reason);
	}
	if (strcmp(golden->type, "samba4") == 0) {
		return ntvfs_dosattrib_samba4_decode(
			mem_ctx, &golden->blob, &dosattrib, &reason);
	}
	return ntvfs_dosattrib_decode(
		mem_ctx, &golden->blob, &dosattrib, &reason);
}

static void test_each_allocation_fails_once(void **state)
{
	struct golden *goldens = NULL;
	size_t count = golden_load(*state, &goldens);
	size_t blocks;
	size_t failures = 0;
	size_t nth;
	NTSTATUS status;
	size_t i;

	need_our_malloc();
	for (i = 0; i < count; i++) {
		for (nth = 1; nth < 1000; nth++) {
			TALLOC_CTX *frame = talloc_new(*state);

			blocks = talloc_total_blocks(frame);
			countdown = nth;
			status = decode(frame, &goldens[i]);
			if (countdown > 0) {
				/* It needs fewer than nth: all have failed. */
				countdown = 0;
				assert_true(NT_STATUS_IS_OK(status));
				talloc_free(frame);
				break;
			}
			failures++;
			if (NT_STATUS_IS_OK(status)) {
				fail_msg("%s: allocation %zu fails unseen",
					 goldens[i].name,
					 nth);
			}
			/* Nothing is left but, at most, the reason. */
			assert_true(talloc_total_blocks(frame) <= blocks + 1);
			talloc_free(frame);
		}
		assert_true(nth < 1000);
	}
	assert_true(failures > 100);
}

static void test_absurd_counts_cost_nothing(void **state)
{
	static const uint8_t many[] = {
		0xFF, 0xFF, 0, 0, 0, 0, 2, 0, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0};
	static const uint8_t more[] = {0xFF,
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
	const struct golden cases[] = {
		{.type = "eas", .blob = data_blob_const(many, sizeof(many))},
		{.type = "streams",
		 .blob = data_blob_const(more, sizeof(more))},
		{.type = "streams",
		 .blob = data_blob_const(many, sizeof(many))},
	};
	NTSTATUS status;
	size_t i;

	need_our_malloc();
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		largest = 0;
		status = decode(*state, &cases[i]);
		assert_false(NT_STATUS_IS_OK(status));
		assert_true(largest < 4096);
	}
}

/* The most an ACL can claim, and the promise of ntvfs_xattr_blob.h. */
static void test_damaged_acls_cost_little(void **state)
{
	struct golden *goldens = NULL;
	size_t count = golden_load(*state, &goldens);
	size_t i, at;

	need_our_malloc();
	largest = 0;
	for (i = 0; i < count; i++) {
		for (at = 0; at + 4 <= goldens[i].blob.length; at++) {
			TALLOC_CTX *frame = talloc_new(*state);
			uint8_t saved[4];

			memcpy(saved, goldens[i].blob.data + at, 4);
			memcpy(goldens[i].blob.data + at, "\xd0\x07\0\0", 4);
			decode(frame, &goldens[i]);
			memcpy(goldens[i].blob.data + at, saved, 4);
			talloc_free(frame);
		}
	}
	print_message("the largest allocation was of %zu bytes\n", largest);
	assert_true(largest > 2000);
	assert_true(largest < 1024 * 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_each_allocation_fails_once),
		TEST(test_absurd_counts_cost_nothing),
		TEST(test_damaged_acls_cost_little),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
