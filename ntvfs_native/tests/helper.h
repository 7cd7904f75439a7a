/*
 * What the engine's tests share.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_NATIVE_TESTS_HELPER_H
#define NTVFS_NATIVE_TESTS_HELPER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "inode.h"
#include "io.h"
#include "ntvfs_native.h"

/* A place for one test's image and segment; removed at the end. */
struct test_place {
	char directory[64];
	char image[96];
};

void test_place_make(struct test_place *place);
void test_place_remove(struct test_place *place);

/* A formatted image of so many MiB. */
void test_format(const struct test_place *place, uint64_t mebibytes,
		 uint32_t inode_size);

struct nv_volume *test_attach(const struct test_place *place);
/* The same, with what went wrong instead of a failed assertion. */
enum nv_status test_try_attach(const struct test_place *place,
			       uint32_t flags, struct nv_volume **volume,
			       char *message);
void test_detach(struct nv_volume *volume);

/* An object with one (imaginary) name. */
nv_file_id test_object(struct nv_volume *volume, uint32_t type);
/* Take its name away; it is reclaimed unless held. */
enum nv_status test_unname(struct nv_volume *volume, nv_file_id id);

/*
 * Every inode can be read, its extents are sorted, inside the volume and
 * nobody else's, and the bitmaps say the same (I3, I6, I13, I14). Nothing may
 * run meanwhile. Fails the test with the invariant's number.
 */
void test_sound(struct nv_volume *volume);

/* Deterministic bytes for a file, so that any part can be checked. */
void test_pattern(nv_file_id id, uint64_t seed, uint64_t offset, void *buffer,
		  size_t length);

#define assert_status(got, wanted) \
	test_assert_status(got, wanted, #got, __FILE__, __LINE__)
void test_assert_status(enum nv_status got, enum nv_status wanted,
			const char *text, const char *file, int line);
#define assert_ok(got) assert_status(got, NV_OK)

#endif
