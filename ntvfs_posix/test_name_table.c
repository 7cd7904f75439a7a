/*
 * Tests of the set of names that is searched without regard to case.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "test_names.h"
#include "test_allocation.h"
#include "name_table.h"

static size_t code_point_name(char *name, codepoint_t c)
{
	ssize_t size = push_codepoint(name + 1, c);

	if (size <= 0) {
		return 0;
	}
	name[0] = 'x';
	name[1 + size] = 'y';
	name[2 + size] = '\0';
	return (size_t)size + 2;
}

/* What strcasecmp_m() calls equal has one hash, for every code point there is;
   and ASCII is alone with itself, which the shortcuts rely on. */
static void test_every_code_point(void **state)
{
	codepoint_t c = 0;
	codepoint_t other[2] = {0};
	char name[16];
	char other_name[16];
	size_t i;
	unsigned equal = 0;

	test_begin(__func__);
	for (c = 1; c < 0x110000; c++) {
		other[0] = toupper_m(c);
		other[1] = tolower_m(c);
		if (code_point_name(name, c) == 0) {
			continue;
		}
		for (i = 0; i < 2; i++) {
			if (c >= 128 && other[i] < 128) {
				test_fail("U+%04x has an ASCII case", c);
			}
			if (other[i] == c ||
			    code_point_name(other_name, other[i]) == 0) {
				continue;
			}
			if (strcasecmp_m(name, other_name) != 0) {
				test_fail("U+%04x: no case of its own", c);
			}
			if (!ntvfs_names_equal(name, other_name)) {
				test_fail("U+%04x is not U+%04x", c, other[i]);
			}
			if (ntvfs_name_hash(name) !=
			    ntvfs_name_hash(other_name)) {
				test_fail("U+%04x hashes unlike U+%04x",
					  c,
					  other[i]);
			}
			equal++;
		}
	}
	/* The tables have some 1,300 such pairs; none would test nothing. */
	assert_true(equal > 1000);
}

/* Two code points with one lower case have one hash too, that is one
   lower(upper(c)), or the hash would part what strcasecmp_m() joins. */
static void test_lower_case_joins(void **state)
{
	static codepoint_t first_with_lower[0x10000];
	codepoint_t c = 0;
	codepoint_t first = 0;
	codepoint_t lower = 0;

	test_begin(__func__);
	for (c = 1; c < 0x10000; c++) {
		lower = tolower_m(c);
		first = first_with_lower[lower];
		if (first == 0) {
			first_with_lower[lower] = c;
			continue;
		}
		if (tolower_m(toupper_m(first)) != tolower_m(toupper_m(c))) {
			test_fail("U+%04x and U+%04x fold apart", first, c);
		}
	}
}

static void test_random_pairs(void **state)
{
	char first[5 * 400 + 1];
	char second[5 * 400 + 1];
	int pair = 0;
	unsigned equal = 0;
	bool expected = false;

	test_begin(__func__);
	for (pair = 0; pair < 300000; pair++) {
		test_random_name(first, 3);
		test_random_name(second, 3);
		expected = strcasecmp_m(first, second) == 0;
		if (ntvfs_names_equal(first, second) != expected) {
			test_fail("pair %d: %s and %s", pair, first, second);
		}
		if (!expected) {
			continue;
		}
		equal++;
		if (ntvfs_name_hash(first) != ntvfs_name_hash(second)) {
			test_fail("hashes of pair %d: %s and %s",
				  pair,
				  first,
				  second);
		}
	}
	assert_true(equal > 1000);
}

/* Names longer than any buffer inside, that differ by case at the end. */
static void test_long_names(void **state)
{
	char first[5 * 400 + 8];
	char second[5 * 400 + 8];
	int i;
	size_t length = 0;
	size_t at = 0;

	test_begin(__func__);
	for (i = 0; i < 3000; i++) {
		do {
			test_random_name(first, 400);
		} while (strpbrk(first, "\xff\xc0\xed\xe4") != NULL &&
			 test_random(4) != 0);
		strcpy(second, first);
		length = strlen(first);
		for (at = 0; at < length; at++) {
			if (test_random(2) == 0 && second[at] >= 'a' &&
			    second[at] <= 'z') {
				second[at] -= 'a' - 'A';
			}
		}
		assert_true(ntvfs_names_equal(first, second));
		assert_int_equal(ntvfs_name_hash(first),
				 ntvfs_name_hash(second));
		second[length] = 'z';
		second[length + 1] = '\0';
		assert_false(ntvfs_names_equal(first, second));
		assert_false(ntvfs_names_equal(second, first));
	}
}

/* Bytes that are no UTF-8 equal only themselves. */
static void test_invalid_names(void **state)
{
	assert_true(ntvfs_names_equal("\xff", "\xff"));
	assert_false(ntvfs_names_equal("\xff", "\xfe"));
	assert_false(ntvfs_names_equal("\xff\xc3\xbc", "\xff\xc3\x9c"));
	assert_true(ntvfs_names_equal("\xc3\xbc\xff", "\xc3\x9c\xff"));
	assert_true(ntvfs_names_equal("\xff" "abc", "\xff" "ABC"));
	assert_int_equal(ntvfs_name_hash("\xff" "abc"),
			 ntvfs_name_hash("\xff" "ABC"));
	assert_false(ntvfs_names_equal("a\xc3", "a"));
	assert_false(ntvfs_names_equal("a", "a\xc3"));
	assert_false(ntvfs_names_equal("", "\xff"));
	/* No case outside the BMP, as in smbd. */
	assert_false(ntvfs_names_equal("\xf0\x90\x90\x80",
				       "\xf0\x90\x90\xa8"));
	/* Turkish: four letters, all different but for ASCII i. */
	assert_true(ntvfs_names_equal("i", "I"));
	assert_false(ntvfs_names_equal("i", "\xc4\xb0"));
	assert_false(ntvfs_names_equal("I", "\xc4\xb1"));
}

#define UNIVERSE 600

struct universe {
	char names[UNIVERSE][5 * 4 + 1];
	bool there[UNIVERSE];
};

/* Different names to play with, many of them equal but for case. */
static struct universe *make_universe(TALLOC_CTX *mem_ctx)
{
	struct universe *universe = talloc_zero(mem_ctx, struct universe);
	size_t i;
	size_t j;

	assert_non_null(universe);
	for (i = 0; i < UNIVERSE; i++) {
		do {
			test_random_name(universe->names[i], 4);
			for (j = 0; j < i; j++) {
				if (strcmp(universe->names[j],
					   universe->names[i]) == 0) {
					break;
				}
			}
		} while (j < i);
	}
	return universe;
}

static const char *search(const struct universe *universe, const char *wanted)
{
	const char *best = NULL;
	size_t i;

	for (i = 0; i < UNIVERSE; i++) {
		if (!universe->there[i] ||
		    strcasecmp_m(universe->names[i], wanted) != 0) {
			continue;
		}
		if (strcmp(universe->names[i], wanted) == 0) {
			return universe->names[i];
		}
		if (best == NULL || strcmp(universe->names[i], best) < 0) {
			best = universe->names[i];
		}
	}
	return best;
}

static void test_random_operations(void **state)
{
	struct ntvfs_name_table *table = NULL;
	struct universe *universe = NULL;
	const char *found = NULL;
	const char *expected = NULL;
	const char *name = NULL;
	size_t count = 0;
	uint32_t bias = 0;
	uint32_t i;
	int step = 0;
	int ret = 0;
	bool ok = false;

	test_begin(__func__);
	universe = make_universe(*state);
	table = ntvfs_name_table_create(*state);
	assert_non_null(table);
	for (step = 0; step < 60000; step++) {
		if (step % 5000 == 0) {
			bias = 1 + test_random(9); /* grow or shrink */
		}
		i = test_random(UNIVERSE);
		name = universe->names[i];
		if (test_random(10) < bias) {
			ret = ntvfs_name_table_add(
				table, name, ntvfs_name_hash(name));
			if (ret != (universe->there[i] ? EEXIST : 0)) {
				test_fail("step %d: add %s: %d",
					  step,
					  name,
					  ret);
			}
			count += universe->there[i] ? 0 : 1;
			universe->there[i] = true;
		} else {
			ok = ntvfs_name_table_remove(table, name);
			if (ok != universe->there[i]) {
				test_fail("step %d: remove %s", step, name);
			}
			count -= universe->there[i] ? 1 : 0;
			universe->there[i] = false;
		}
		if (test_random(1000) == 0) {
			ntvfs_name_table_trim(table);
		}
		name = universe->names[test_random(UNIVERSE)];
		found = ntvfs_name_table_find(table, name);
		expected = search(universe, name);
		if ((found == NULL) != (expected == NULL) ||
		    (found != NULL && strcmp(found, expected) != 0)) {
			test_fail("step %d: %s is %s, not %s",
				  step,
				  name,
				  found == NULL ? "absent" : found,
				  expected == NULL ? "absent" : expected);
		}
		assert_int_equal(ntvfs_name_table_count(table), count);
	}
	TALLOC_FREE(table);
	TALLOC_FREE(universe);
}

static void spell(char *name, unsigned variant)
{
	unsigned bit;

	for (bit = 0; bit < 10; bit++) {
		name[bit] = (variant >> bit) & 1 ? 'X' : 'x';
	}
	name[10] = '\0';
}

/* Too many spellings of one name are refused, the table stays what it was. */
static void test_too_many_equal(void **state)
{
	struct ntvfs_name_table *table = ntvfs_name_table_create(*state);
	char name[16];
	unsigned variant;
	int ret = 0;

	assert_non_null(table);
	for (variant = 0; variant < NTVFS_NAME_TABLE_MAX_EQUAL; variant++) {
		spell(name, variant);
		ret = ntvfs_name_table_add(table, name, ntvfs_name_hash(name));
		assert_int_equal(ret, 0);
	}
	spell(name, variant);
	ret = ntvfs_name_table_add(table, name, ntvfs_name_hash(name));
	assert_int_equal(ret, E2BIG);
	assert_int_equal(ntvfs_name_table_count(table),
			 NTVFS_NAME_TABLE_MAX_EQUAL);
	/* Upper case comes first in the order of strcmp(). */
	assert_string_equal(ntvfs_name_table_find(table, name), "XXXXXXXXxx");
	spell(name, 3);
	assert_string_equal(ntvfs_name_table_find(table, name), name);
	TALLOC_FREE(table);
}

/* Each allocation may fail: an addition then fails or not, and the table is
   what it was or one name more; removing needs no memory. */
static void test_no_memory(void **state)
{
	struct ntvfs_name_table *table = NULL;
	char name[32];
	unsigned allowed = 0;
	unsigned failures = 0;
	unsigned count = 0;
	unsigned i;
	int ret = 0;

	for (allowed = 0; allowed < 3; allowed++) {
		test_allocations_left = allowed;
		table = ntvfs_name_table_create(*state);
		test_allocations_left = UINT_MAX;
		assert_null(table);
	}
	table = ntvfs_name_table_create(*state);
	assert_non_null(table);
	for (i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "name number %u", count);
		test_allocations_left = i % 2;
		ret = ntvfs_name_table_add(table, name, ntvfs_name_hash(name));
		test_allocations_left = UINT_MAX;
		if (ret == 0) {
			count++;
			continue;
		}
		failures++;
		assert_int_equal(ret, ENOMEM);
		assert_int_equal(ntvfs_name_table_count(table), count);
		assert_null(ntvfs_name_table_find(table, name));
	}
	assert_true(failures > 3);
	assert_true(count > 1000);
	for (i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "NAME number %u", i);
		assert_non_null(ntvfs_name_table_find(table, name));
	}
	for (i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "name number %u", i);
		test_allocations_left = i % 3;
		assert_true(ntvfs_name_table_remove(table, name));
		test_allocations_left = 0;
		ntvfs_name_table_trim(table);
		test_allocations_left = UINT_MAX;
		snprintf(name, sizeof(name), "Name number %u", count - 1);
		assert_true(i == count - 1 ||
			    ntvfs_name_table_find(table, name) != NULL);
	}
	assert_int_equal(ntvfs_name_table_count(table), 0);
	TALLOC_FREE(table);
}

/* The memory that name_table.c promises: n + 12 to n + 22 for n bytes. */
static void test_memory_per_name(void **state)
{
	struct ntvfs_name_table *table = ntvfs_name_table_create(*state);
	size_t lengths = 0;
	size_t per_name = 0;
	size_t length_per_name = 0;
	char name[32];
	unsigned i;

	assert_non_null(table);
	for (i = 0; i < 200000; i++) {
		lengths += (size_t)snprintf(
			name, sizeof(name), "Document %06u.docx", i);
		assert_int_equal(ntvfs_name_table_add(
					 table, name, ntvfs_name_hash(name)),
				 0);
	}
	ntvfs_name_table_trim(table);
	per_name = ntvfs_name_table_bytes(table) / 200000;
	length_per_name = lengths / 200000;
	if (per_name < length_per_name + 9 || per_name > length_per_name + 23) {
		print_error("%zu bytes for a name of %zu\n",
			    per_name,
			    length_per_name);
		fail();
	}
	/* And what is removed is given back. */
	for (i = 0; i < 199990; i++) {
		snprintf(name, sizeof(name), "Document %06u.docx", i);
		assert_true(ntvfs_name_table_remove(table, name));
	}
	assert_true(ntvfs_name_table_bytes(table) < 16384);
	TALLOC_FREE(table);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		test_case(test_every_code_point),
		test_case(test_lower_case_joins),
		test_case(test_random_pairs),
		test_case(test_long_names),
		test_case(test_invalid_names),
		test_case(test_random_operations),
		test_case(test_too_many_equal),
		test_case(test_no_memory),
		test_case(test_memory_per_name),
	};

	test_arguments(argc, argv);
	return cmocka_run_group_tests_name(
		"name table", tests, NULL, test_group_teardown);
}
