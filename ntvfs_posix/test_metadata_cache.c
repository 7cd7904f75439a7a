/*
 * Tests of what a process remembers of objects' metadata (invariant M1).
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "ntvfs_posix/test_common.h"
#include <time.h>
#include "ntvfs_posix/metadata_cache.h"

static int setup(void **state)
{
	talloc_enable_null_tracking();
	*state = talloc_new(NULL);
	return 0;
}

static int teardown(void **state)
{
	TALLOC_FREE(*state);
	return talloc_total_blocks(NULL) == 1 ? 0 : -1;
}

static struct ntvfs_object object_of(uint64_t file_id, int64_t age_ns)
{
	struct ntvfs_object object = {.volume = 1, .file_id = file_id};
	int64_t ns;

	clock_gettime(CLOCK_REALTIME, &object.change_stamp);
	ns = object.change_stamp.tv_nsec - age_ns % 1000000000;
	object.change_stamp.tv_sec -= age_ns / 1000000000;
	if (ns < 0) {
		ns += 1000000000;
		object.change_stamp.tv_sec--;
	} else if (ns >= 1000000000) {
		ns -= 1000000000;
		object.change_stamp.tv_sec++;
	}
	object.change_stamp.tv_nsec = ns;
	return object;
}

/* Is what is put into the cache there at the next call? */
static bool is_kept(struct ntvfs_metadata_cache *cache,
		    const struct ntvfs_object *object)
{
	struct ntvfs_metadata *entry = ntvfs_metadata_get(cache, object);

	assert_int_equal(entry->known, 0);
	entry->known = NTVFS_METADATA_HAS_ATTRIBUTES;
	entry->attributes.attributes = 0x22;
	entry = ntvfs_metadata_get(cache, object);
	if (entry->known == 0) {
		return false;
	}
	assert_int_equal(entry->attributes.attributes, 0x22);
	return true;
}

static void test_exact_stamps(void **state)
{
	struct ntvfs_metadata_cache *cache = NULL;
	struct ntvfs_object object = object_of(1, 0);

	cache = ntvfs_metadata_cache_create(*state,
					    16,
					    NTVFS_STAMPS_EXACT,
					    0);
	assert_true(is_kept(cache, &object));
	/* any other stamp, an earlier one too: a backup was put back */
	object.change_stamp.tv_nsec ^= 1;
	assert_true(is_kept(cache, &object));
	object.change_stamp.tv_sec -= 1000;
	assert_true(is_kept(cache, &object));
	/* by another identity it is another object */
	object.volume = 2;
	assert_true(is_kept(cache, &object));
	object.file_id = 2;
	assert_true(is_kept(cache, &object));
	ntvfs_metadata_forget(cache, &object);
	assert_true(is_kept(cache, &object));
}

/*
 * M1: where two changes can have the same stamp, what is read while one may
 * still follow is not kept.
 */
static void test_m1_coarse_stamps(void **state)
{
	struct ntvfs_metadata_cache *cache = NULL;
	struct ntvfs_object object;
	const struct timespec pause = {.tv_nsec = 30000000};
	int i;

	cache = ntvfs_metadata_cache_create(*state,
					    16,
					    NTVFS_STAMPS_COARSE,
					    0);
	for (i = 0; i < 100; i++) {
		object = object_of(1, i * 100000);
		assert_false(is_kept(cache, &object));
	}
	/* of the future: nobody knows when it will be young */
	object = object_of(2, -500000000);
	assert_false(is_kept(cache, &object));
	object = object_of(3, -3600000000000);
	assert_false(is_kept(cache, &object));
	/* old enough */
	object = object_of(4, 100000000);
	assert_true(is_kept(cache, &object));
	object = object_of(5, 1100000000);
	assert_true(is_kept(cache, &object));
	object = object_of(6, 1000000000000000);
	assert_true(is_kept(cache, &object));

	/* what was read while it was young is not kept when it is old */
	object = object_of(7, 0);
	assert_false(is_kept(cache, &object));
	nanosleep(&pause, NULL);
	assert_true(is_kept(cache, &object));
}

/* Xattrs that lie elsewhere change without the object's knowing. */
static void test_no_stamps(void **state)
{
	struct ntvfs_metadata_cache *cache = NULL;
	struct ntvfs_object object = object_of(1, 1000000000000);

	cache = ntvfs_metadata_cache_create(*state, 16, NTVFS_STAMPS_NONE, 0);
	assert_false(is_kept(cache, &object));
	assert_false(is_kept(cache, &object));
}

/* M1: exact stamps of one volume say nothing of another one. */
static void test_m1_other_volume(void **state)
{
	struct ntvfs_metadata_cache *cache = NULL;
	struct ntvfs_object object = object_of(1, 0);

	cache = ntvfs_metadata_cache_create(*state,
					    16,
					    NTVFS_STAMPS_EXACT,
					    object.volume);
	assert_true(is_kept(cache, &object));
	object.volume += 1;
	assert_false(is_kept(cache, &object));
}

static void test_more_objects_than_room(void **state)
{
	struct ntvfs_metadata_cache *cache = NULL;
	struct ntvfs_object object = object_of(0, 0);
	struct ntvfs_metadata *entry = NULL;
	unsigned found = 0;
	uint64_t i;

	cache = ntvfs_metadata_cache_create(*state, 1, NTVFS_STAMPS_EXACT, 0);
	for (i = 0; i < 10000; i++) {
		object.file_id = i;
		entry = ntvfs_metadata_get(cache, &object);
		assert_int_equal(entry->known, 0);
		entry->known = NTVFS_METADATA_HAS_NAMES;
		entry->names = talloc_strdup(cache, "user.x");
		entry->names_length = i;
	}
	for (i = 10000; i-- > 0;) {
		object.file_id = i;
		entry = ntvfs_metadata_get(cache, &object);
		if (entry->known != 0) {
			assert_int_equal(entry->names_length, i);
			found++;
		}
	}
	assert_in_range(found, 4, 16);
	/* no more memory than for so many */
	assert_in_range(talloc_total_blocks(cache), 2, 2 + 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_exact_stamps,
						setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_m1_coarse_stamps,
						setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_m1_other_volume,
						setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_no_stamps,
						setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_more_objects_than_room,
						setup,
						teardown),
	};

	return cmocka_run_group_tests_name("metadata_cache",
					   tests,
					   NULL,
					   test_group_teardown);
}
