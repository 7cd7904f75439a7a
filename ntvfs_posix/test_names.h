/*
 * What the tests of the name cache share.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_POSIX_TEST_NAMES_H
#define NTVFS_POSIX_TEST_NAMES_H

#include "test_common.h"
#include <inttypes.h>
#include <sys/types.h>
#include <time.h>
#include "lib/util/charset/charset.h"

/* The seed of this run and the number that comes next. */
static uint64_t test_seed;
static uint64_t test_random_state;
static const char *test_name;

static inline uint32_t test_random(uint32_t below)
{
	/* xorshift64*: the same numbers everywhere for the same seed. */
	test_random_state ^= test_random_state >> 12;
	test_random_state ^= test_random_state << 25;
	test_random_state ^= test_random_state >> 27;
	return (uint32_t)((test_random_state * UINT64_C(2685821657736338717)) >>
			  33) %
	       below;
}

/* Begin a test that depends on random numbers. */
static inline void test_begin(const char *name)
{
	test_name = name;
	test_random_state = test_seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
}

/* Say how to see a failure again, and fail. */
static inline void test_fail(const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	print_error("%s\nto run it again: NTVFS_TEST_SEED=%" PRIu64
		    " %s %s\n",
		    text,
		    test_seed,
		    program_invocation_name,
		    test_name);
	fail();
}

/* The first argument picks tests by name; NTVFS_TEST_SEED repeats a run. */
static inline void test_arguments(int argc, char **argv)
{
	const char *seed = getenv("NTVFS_TEST_SEED");

	test_seed = (uint64_t)time(NULL);
	if (seed != NULL) {
		test_seed = strtoull(seed, NULL, 10);
	}
	if (argc > 1) {
		cmocka_set_test_filter(argv[1]);
	}
}

/* *state is a talloc context; a test that leaves anything on NULL fails. */
static size_t test_blocks;

static inline int test_setup(void **state)
{
	char buffer[8];
	size_t size = 0;

	talloc_enable_null_tracking();
	/* Samba makes its character conversion when it first needs it. */
	(void)next_codepoint("\xc3\xbc", &size);
	(void)push_codepoint(buffer, 0xfc);
	test_blocks = talloc_total_blocks(NULL);
	*state = talloc_new(NULL);
	return *state == NULL ? -1 : 0;
}

static inline int test_teardown(void **state)
{
	talloc_free(*state);
	if (talloc_total_blocks(NULL) != test_blocks) {
		talloc_report_full(NULL, stderr);
		return -1;
	}
	return 0;
}

#define test_case(function) \
	cmocka_unit_test_setup_teardown(function, test_setup, test_teardown)

/* Pieces of names that fold in different ways, or not at all. */
static const char *const test_pieces[] = {
	"a", "A", "k", "K", "i", "I", "s", "S", ".", "~1", "_", "[", "{",
	"\xc3\xbc",	    /* u with diaeresis */
	"\xc3\x9c",	    /* U with diaeresis */
	"\xc4\xb0",	    /* I with dot above */
	"\xc4\xb1",	    /* dotless i */
	"\xcf\x83",	    /* sigma */
	"\xcf\x82",	    /* final sigma */
	"\xce\xa3",	    /* capital sigma */
	"\xe2\x84\xaa",	    /* Kelvin sign */
	"\xc5\xbf",	    /* long s */
	"\xe1\xba\x9e",	    /* capital sharp s */
	"\xc3\x9f",	    /* sharp s */
	"\xc7\x85",	    /* title case Dz with caron */
	"\xc7\x84",	    /* capital */
	"\xc7\x86",	    /* small */
	"\xf0\x90\x90\x80", /* Deseret capital long I, outside the BMP */
	"\xf0\x90\x90\xa8", /* Deseret small long I */
	"\xf0\x9f\x98\x80", /* an emoji, outside the BMP */
	"\xff",		    /* never valid */
	"\xc3",		    /* cut short */
	"\xed\xa0\x80",	    /* a lone surrogate */
	"\xc0\xaf",	    /* an overlong form */
	"\xe4\xff",
};

#define TEST_PIECES (sizeof(test_pieces) / sizeof(test_pieces[0]))

/* A name of up to max_pieces pieces; the buffer holds five bytes for each. */
static inline void test_random_name(char *name, uint32_t max_pieces)
{
	uint32_t pieces = 1 + test_random(max_pieces);
	size_t used = 0;
	size_t length = 0;
	const char *piece = NULL;

	while (pieces > 0) {
		piece = test_pieces[test_random(TEST_PIECES)];
		length = strlen(piece);
		memcpy(name + used, piece, length);
		used += length;
		pieces--;
	}
	name[used] = '\0';
	if (strcmp(name, ".") == 0) {
		name[0] = 'x';
	}
	if (strcmp(name, "..") == 0) {
		name[1] = 'x';
	}
}

#endif /* NTVFS_POSIX_TEST_NAMES_H */
