/*
 * Tests of names of streams as SMB clients write them.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "ntvfs/stream_name.h"

static void assert_name(const char *stream, int error, const char *wanted)
{
	char *name = NULL;

	assert_int_equal(ntvfs_stream_name_parse(NULL, stream, &name), error);
	if (wanted == NULL) {
		assert_null(name);
	} else {
		assert_string_equal(name, wanted);
	}
	TALLOC_FREE(name);
}

static void test_parse(void **state)
{
	char *full = NULL;

	assert_name(":s", 0, "s");
	assert_name(":s:$DATA", 0, "s");
	assert_name(":s:$data", 0, "s");
	assert_name(":?a*", 0, "?a*");
	assert_name("::$DATA", ENOENT, NULL);
	assert_name(":", ENOENT, NULL);
	assert_name(NULL, EINVAL, NULL);
	assert_name("s", EINVAL, NULL);
	assert_name(":s:$FOO", EINVAL, NULL);
	assert_name(":a/b", EINVAL, NULL);
	assert_name(":a\\b", EINVAL, NULL);
	full = ntvfs_stream_name_full(NULL, "s");
	assert_string_equal(full, ":s:$DATA");
	TALLOC_FREE(full);
}

/* So many of a character are the most, with an n behind them the limit. */
static void assert_longest(const char *character, unsigned count)
{
	char stream[1100] = ":";
	unsigned i;

	for (i = 0; i < count; i++) {
		strcat(stream, character);
	}
	strcat(stream, "n");
	assert_name(stream, 0, stream + 1);
	strcat(stream, "n");
	assert_name(stream, ENAMETOOLONG, NULL);
}

/* 255 UTF-16 units, whatever they take in UTF-8. */
static void test_length(void **state)
{
	assert_longest("n", 254);
	assert_longest("\xc3\xa4", 254);
	assert_longest("\xe6\x97\xa5", 254);
	/* two units each */
	assert_longest("\xf0\x9f\x98\x80", 127);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_length),
	};

	return cmocka_run_group_tests_name("stream_name", tests, NULL, NULL);
}
