/*
 * Tests of the algebra of DOS attributes.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "ntvfs/attributes.h"

/* What each bit becomes on a file and on a directory. */
static const struct {
	uint32_t bit;
	bool on_file;
	bool on_directory;
} bits[] = {
	{NTVFS_ATTRIBUTE_READONLY, true, true},
	{NTVFS_ATTRIBUTE_HIDDEN, true, true},
	{NTVFS_ATTRIBUTE_SYSTEM, true, true},
	{0x00000008u, false, false},	/* a volume label */
	{NTVFS_ATTRIBUTE_DIRECTORY, false, true},
	{NTVFS_ATTRIBUTE_ARCHIVE, true, true},
	{0x00000040u, false, false},	/* a device */
	{NTVFS_ATTRIBUTE_NORMAL, false, false},
	{NTVFS_ATTRIBUTE_TEMPORARY, true, false},
	{NTVFS_ATTRIBUTE_SPARSE, true, false},
	{NTVFS_ATTRIBUTE_REPARSE, true, true},
	{NTVFS_ATTRIBUTE_COMPRESSED, false, false},
	{NTVFS_ATTRIBUTE_OFFLINE, true, true},
	{NTVFS_ATTRIBUTE_NOTINDEXED, true, true},
	{NTVFS_ATTRIBUTE_ENCRYPTED, false, false},
	{0x00008000u, false, false},
	{0x80000000u, false, false},
};

static void test_each_bit(void **state)
{
	size_t i;

	for (i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		uint32_t bit = bits[i].bit;

		assert_int_equal(ntvfs_attributes_of(bit, false),
				 bits[i].on_file ? bit : 0);
		assert_int_equal(ntvfs_attributes_of(bit, true),
				 (bits[i].on_directory ? bit : 0) |
					 NTVFS_ATTRIBUTE_DIRECTORY);
	}
}

static void test_all_bits_are_the_sum_of_each(void **state)
{
	uint32_t file = 0;
	uint32_t directory = 0;
	size_t i;

	for (i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		file |= bits[i].on_file ? bits[i].bit : 0;
		directory |= bits[i].on_directory ? bits[i].bit : 0;
	}
	assert_int_equal(ntvfs_attributes_of(UINT32_MAX, false), file);
	assert_int_equal(ntvfs_attributes_of(UINT32_MAX, true), directory);
	/* what was applied once is not changed by a second time */
	assert_int_equal(ntvfs_attributes_of(file, false), file);
	assert_int_equal(ntvfs_attributes_of(directory, true), directory);
}

static void test_at_create(void **state)
{
	/* MS-FSA 2.1.5.1: label, device, and all above ENCRYPTED are not */
	assert_int_equal(NTVFS_ATTRIBUTES_AT_CREATE & 0x48u, 0);
	assert_int_equal(NTVFS_ATTRIBUTES_AT_CREATE & 0xffff8000u, 0);
	assert_int_equal(NTVFS_ATTRIBUTES_AT_CREATE | 0xffff8048u, UINT32_MAX);
}

static void test_overwrite(void **state)
{
	static const uint32_t guarded[] = {
		0,
		NTVFS_ATTRIBUTE_HIDDEN,
		NTVFS_ATTRIBUTE_SYSTEM,
		NTVFS_ATTRIBUTE_HIDDEN | NTVFS_ATTRIBUTE_SYSTEM,
	};
	size_t has, asks;

	for (has = 0; has < 4; has++) {
		for (asks = 0; asks < 4; asks++) {
			uint32_t existing = guarded[has];
			uint32_t requested = guarded[asks];
			bool allowed = (has & asks) == has;

			assert_int_equal(ntvfs_attributes_allow_overwrite(
						 existing, requested),
					 allowed);
			/* the others do not matter */
			existing |= NTVFS_ATTRIBUTE_ARCHIVE |
				    NTVFS_ATTRIBUTE_OFFLINE;
			requested |= NTVFS_ATTRIBUTE_NORMAL;
			assert_int_equal(ntvfs_attributes_allow_overwrite(
						 existing, requested),
					 allowed);
		}
	}
}

static void test_not_set(void **state)
{
	assert_int_equal(ntvfs_attributes_not_set(UINT32_MAX),
			 NTVFS_ATTRIBUTE_SPARSE | NTVFS_ATTRIBUTE_REPARSE);
	assert_int_equal(ntvfs_attributes_not_set(NTVFS_ATTRIBUTE_HIDDEN), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_bit),
		cmocka_unit_test(test_all_bits_are_the_sum_of_each),
		cmocka_unit_test(test_at_create),
		cmocka_unit_test(test_overwrite),
		cmocka_unit_test(test_not_set),
	};

	return cmocka_run_group_tests_name("attributes", tests, NULL, NULL);
}
