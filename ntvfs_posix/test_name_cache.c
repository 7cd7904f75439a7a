/*
 * Tests of the name cache, against a directory that is made up here.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The made-up directory gives any stamp a test needs, on every kernel. What
 * real directories and processes do is in test_name_cache_files.c.
 */

#include "test_names.h"
#include "test_allocation.h"
#include "name_cache.h"

#define NAMES 120

struct made_up {
	char names[NAMES][5 * 3 + 1];
	bool there[NAMES];
	struct ntvfs_directory_stamp stamp;
	bool coarse; /* stamps of now, in steps of 10 ms */

	/* For the reading. */
	unsigned readings;
	int fail_with; /* after half of the names */
	void (*interrupt)(struct made_up *directory); /* after half of them */
	struct ntvfs_name_cache *interrupting_cache;
};

static struct made_up *make_directory(TALLOC_CTX *mem_ctx, bool coarse)
{
	struct made_up *directory = talloc_zero(mem_ctx, struct made_up);
	size_t i;
	size_t j;

	assert_non_null(directory);
	for (i = 0; i < NAMES; i++) {
		do {
			test_random_name(directory->names[i], 3);
			for (j = 0; j < i; j++) {
				if (strcmp(directory->names[j],
					   directory->names[i]) == 0) {
					break;
				}
			}
		} while (j < i);
	}
	directory->coarse = coarse;
	directory->stamp = (struct ntvfs_directory_stamp){
		.dev = 7,
		.ino = 11,
		.mtime = {.tv_sec = 1000000000, .tv_nsec = 1},
		.ctime = {.tv_sec = 1000000000, .tv_nsec = 1},
	};
	return directory;
}

/* What the kernel does to a directory that changes. */
static void new_stamp(struct made_up *directory)
{
	struct timespec now = {0};

	if (!directory->coarse) {
		directory->stamp.ctime.tv_nsec++;
		directory->stamp.mtime = directory->stamp.ctime;
		return;
	}
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	now.tv_nsec -= now.tv_nsec % 10000000;
	directory->stamp.ctime = now;
	directory->stamp.mtime = now;
}

static void set_name(struct made_up *directory, size_t i, bool there)
{
	if (directory->there[i] == there) {
		return;
	}
	directory->there[i] = there;
	new_stamp(directory);
}

static int read_made_up(struct ntvfs_name_cache_scan *scan, void *private_data)
{
	struct made_up *directory = private_data;
	size_t i;

	directory->readings++;
	ntvfs_name_cache_emit(scan, ".");
	ntvfs_name_cache_emit(scan, "..");
	for (i = 0; i < NAMES; i++) {
		if (i == NAMES / 2 && directory->interrupt != NULL) {
			directory->interrupt(directory);
		}
		if (i == NAMES / 2 && directory->fail_with != 0) {
			return directory->fail_with;
		}
		if (directory->there[i]) {
			ntvfs_name_cache_emit(scan, directory->names[i]);
		}
	}
	return 0;
}

static const char *search(const struct made_up *directory, const char *wanted)
{
	const char *best = NULL;
	size_t i;

	for (i = 0; i < NAMES; i++) {
		if (!directory->there[i] ||
		    strcasecmp_m(directory->names[i], wanted) != 0) {
			continue;
		}
		if (strcmp(directory->names[i], wanted) == 0) {
			return directory->names[i];
		}
		if (best == NULL || strcmp(directory->names[i], best) < 0) {
			best = directory->names[i];
		}
	}
	return best;
}

/* Is the cache's answer what a search of the directory finds now? */
static bool answer_is_right(struct ntvfs_name_cache *cache,
			    struct made_up *directory,
			    const char *name)
{
	const char *expected = search(directory, name);
	char *found = NULL;
	bool right = false;
	int ret = 0;

	ret = ntvfs_name_cache_lookup(cache,
				      &directory->stamp,
				      read_made_up,
				      directory,
				      name,
				      NULL,
				      &found);
	if (ret == 0) {
		right = expected != NULL && strcmp(found, expected) == 0;
	} else {
		right = ret == ENOENT && expected == NULL && found == NULL;
	}
	TALLOC_FREE(found);
	return right;
}

static void check_answer(struct ntvfs_name_cache *cache,
			 struct made_up *directory,
			 const char *name)
{
	if (!answer_is_right(cache, directory, name)) {
		print_error("wrong about %s\n", name);
		fail();
	}
}

/* A change made by a process that counts. */
static void make_change(struct ntvfs_name_cache *cache,
			struct made_up *directory,
			int removed,
			int added)
{
	struct ntvfs_name_change change;

	ntvfs_name_cache_begin_change(cache, &directory->stamp, &change);
	if (removed != -1) {
		set_name(directory, (size_t)removed, false);
	}
	if (added != -1) {
		set_name(directory, (size_t)added, true);
	}
	ntvfs_name_cache_end_change(
		cache,
		&change,
		true,
		&directory->stamp,
		removed == -1 ? NULL : directory->names[removed],
		added == -1 ? NULL : directory->names[added]);
}

static char counter_path[] = "/tmp/ntvfs-test-name-cache-XXXXXX";

static int make_counter_file(void **state)
{
	int fd = mkstemp(counter_path);

	if (fd == -1) {
		return -1;
	}
	close(fd);
	return 0;
}

static int remove_counter_file(void **state)
{
	talloc_disable_null_tracking();
	return unlink(counter_path);
}

static struct ntvfs_name_cache *make_cache(TALLOC_CTX *mem_ctx,
					   bool exact,
					   uint32_t unproven_milliseconds)
{
	struct ntvfs_name_cache_config config = {
		.exact_stamps = exact,
		.unproven_milliseconds = unproven_milliseconds,
		.counter_path = counter_path,
	};
	struct ntvfs_name_cache *cache = NULL;

	cache = ntvfs_name_cache_init(mem_ctx, &config);
	assert_non_null(cache);
	return cache;
}

static void get_statistics(struct ntvfs_name_cache *cache,
			   struct ntvfs_name_cache_statistics *now)
{
	ntvfs_name_cache_statistics(cache, now);
}

/* One to three changes of every kind, sometimes one within another. */
static void random_changes(struct ntvfs_name_cache **caches,
			   struct made_up *directory,
			   bool others_too)
{
	struct ntvfs_name_change change;
	uint32_t i = test_random(NAMES);
	uint32_t j = test_random(NAMES);
	struct ntvfs_name_cache *cache = caches[test_random(2)];

	switch (test_random(8)) {
	case 0: /* a rename, over another file perhaps, or to itself */
		if (directory->there[i]) {
			make_change(cache, directory, (int)i, (int)j);
		}
		break;
	case 1: /* a change of another process within one of ours */
		ntvfs_name_cache_begin_change(
			caches[0], &directory->stamp, &change);
		make_change(caches[1], directory, -1, (int)i);
		set_name(directory, j, true);
		ntvfs_name_cache_end_change(caches[0],
					    &change,
					    true,
					    &directory->stamp,
					    NULL,
					    directory->names[j]);
		break;
	case 2: /* a call that fails */
		ntvfs_name_cache_begin_change(
			cache, &directory->stamp, &change);
		ntvfs_name_cache_end_change(cache,
					    &change,
					    false,
					    &directory->stamp,
					    NULL,
					    directory->names[j]);
		break;
	case 3: /* a process that does not count */
		if (others_too) {
			set_name(directory, i, !directory->there[i]);
		}
		break;
	case 4: /* only attributes of the directory */
		ntvfs_name_cache_begin_change(
			cache, &directory->stamp, &change);
		new_stamp(directory);
		ntvfs_name_cache_end_change(
			cache, &change, true, &directory->stamp, NULL, NULL);
		break;
	default:
		if (directory->there[i]) {
			make_change(cache, directory, (int)i, -1);
		} else {
			make_change(cache, directory, -1, (int)i);
		}
		break;
	}
}

static void run_randomly(void **state,
			 bool exact,
			 uint32_t unproven_milliseconds,
			 bool others_too,
			 int steps,
			 struct ntvfs_name_cache_statistics *result)
{
	struct ntvfs_name_cache *caches[2];
	struct made_up *directory = make_directory(*state, !exact);
	struct timespec pause = {.tv_nsec = 500000};
	const char *name = NULL;
	int step = 0;
	uint32_t lookups;

	caches[0] = make_cache(*state, exact, unproven_milliseconds);
	caches[1] = make_cache(*state, exact, unproven_milliseconds);
	for (step = 0; step < steps; step++) {
		random_changes(caches, directory, others_too);
		if (!exact && step % 8 == 0) {
			nanosleep(&pause, NULL);
		}
		if (!exact && step % 500 == 0) {
			pause.tv_nsec = 30000000; /* let it become proven */
			nanosleep(&pause, NULL);
			pause.tv_nsec = 500000;
		}
		for (lookups = test_random(4); lookups > 0; lookups--) {
			name = directory->names[test_random(NAMES)];
			if (!answer_is_right(caches[test_random(2)],
					     directory,
					     name)) {
				test_fail("step %d: wrong about %s",
					  step,
					  name);
			}
		}
	}
	get_statistics(caches[0], result);
	TALLOC_FREE(caches[0]);
	TALLOC_FREE(caches[1]);
	TALLOC_FREE(directory);
}

static void test_exact_stamps(void **state)
{
	struct ntvfs_name_cache_statistics result = {0};

	test_begin(__func__);
	run_randomly(state, true, 1000, true, 40000, &result);
	assert_true(result.answered > result.scans / 2);
	assert_true(result.applied > 1000);
}

static void test_exact_stamps_nothing_unproven(void **state)
{
	struct ntvfs_name_cache_statistics result = {0};

	test_begin(__func__);
	run_randomly(state, true, 0, true, 20000, &result);
	assert_true(result.answered > 1000);
	assert_int_equal(result.applied, 0);
}

/* Nobody's change is missed although many hide behind one stamp. */
static void test_coarse_stamps_nothing_unproven(void **state)
{
	struct ntvfs_name_cache_statistics result = {0};

	test_begin(__func__);
	run_randomly(state, false, 0, true, 4000, &result);
	assert_int_equal(result.applied, 0);
}

/* Changes of processes that count are never missed. */
static void test_coarse_stamps_counted(void **state)
{
	struct ntvfs_name_cache_statistics result = {0};

	test_begin(__func__);
	run_randomly(state, false, 1000, false, 4000, &result);
	assert_true(result.answered > 100);
	assert_true(result.applied > 100);
}

static void wait_milliseconds(unsigned milliseconds)
{
	struct timespec pause = {
		.tv_sec = milliseconds / 1000,
		.tv_nsec = (long)(milliseconds % 1000) * 1000000,
	};

	nanosleep(&pause, NULL);
}

/*
 * A process that does not count changes the directory between our fstat before
 * and our fstat after a change: found at the deadline, not later.
 */
static void test_hidden_change(void **state)
{
	struct ntvfs_name_cache *cache = make_cache(*state, true, 50);
	struct made_up *directory = NULL;
	struct ntvfs_name_change change;
	unsigned readings = 0;

	test_begin(__func__);
	directory = make_directory(*state, false);
	set_name(directory, 0, true);
	check_answer(cache, directory, directory->names[0]);
	ntvfs_name_cache_begin_change(cache, &directory->stamp, &change);
	set_name(directory, 1, true); /* hidden */
	set_name(directory, 2, true);
	ntvfs_name_cache_end_change(cache,
				    &change,
				    true,
				    &directory->stamp,
				    NULL,
				    directory->names[2]);
	readings = directory->readings;
	check_answer(cache, directory, directory->names[2]);
	assert_int_equal(directory->readings, readings);
	wait_milliseconds(60);
	check_answer(cache, directory, directory->names[1]);
	assert_int_equal(directory->readings, readings + 1);
	/* Proven now: no more reading however long it lasts. */
	wait_milliseconds(60);
	check_answer(cache, directory, directory->names[1]);
	assert_int_equal(directory->readings, readings + 1);
	TALLOC_FREE(cache);
	TALLOC_FREE(directory);
}

/* The same with coarse stamps and a change behind the stamp of a reading. */
static void test_hidden_in_the_tick(void **state)
{
	struct ntvfs_name_cache *cache = make_cache(*state, false, 50);
	struct made_up *directory = NULL;
	struct ntvfs_directory_stamp stamp;

	test_begin(__func__);
	directory = make_directory(*state, true);
	set_name(directory, 0, true);
	check_answer(cache, directory, directory->names[0]);
	stamp = directory->stamp;
	set_name(directory, 1, true);
	directory->stamp = stamp; /* the same tick */
	wait_milliseconds(60);
	check_answer(cache, directory, directory->names[1]);
	assert_int_equal(directory->readings, 2);
	wait_milliseconds(60);
	check_answer(cache, directory, directory->names[1]);
	assert_int_equal(directory->readings, 2);
	TALLOC_FREE(cache);
	TALLOC_FREE(directory);
}

/* Which stamps are old enough, as told by how often the directory is read. */
static void test_age_of_stamps(void **state)
{
	struct ntvfs_name_cache *cache = make_cache(*state, false, 0);
	struct made_up *directory = NULL;
	struct timespec now = {0};
	static const struct {
		int seconds;
		long nanoseconds;
		unsigned readings;
	} cases[] = {
		{3600, 1, 1}, /* an hour old */
		{4, 0, 1},    /* a whole second, 4 s old */
		{1, 0, 2},    /* a whole second of last second */
		{1, 1, 1},    /* more than 20 ms: the second before's begin */
		{-5, 1, 2},   /* from the future */
	};
	size_t i;

	test_begin(__func__);
	directory = make_directory(*state, true);
	directory->there[3] = true;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		clock_gettime(CLOCK_REALTIME_COARSE, &now);
		if (now.tv_nsec < 100000000 || now.tv_nsec > 900000000) {
			wait_milliseconds(200);
			clock_gettime(CLOCK_REALTIME_COARSE, &now);
		}
		directory->stamp.ctime.tv_sec = now.tv_sec - cases[i].seconds;
		directory->stamp.ctime.tv_nsec = cases[i].nanoseconds;
		directory->readings = 0;
		check_answer(cache, directory, directory->names[3]);
		check_answer(cache, directory, directory->names[4]);
		if (directory->readings != cases[i].readings) {
			print_error("case %zu: %u readings\n",
				    i,
				    directory->readings);
			fail();
		}
	}
	TALLOC_FREE(cache);
	TALLOC_FREE(directory);
}

static void add_quietly(struct made_up *directory)
{
	directory->interrupt = NULL;
	set_name(directory, 1, true); /* before the half: not read */
}

static void add_counting(struct made_up *directory)
{
	struct ntvfs_directory_stamp stamp = directory->stamp;
	struct ntvfs_name_change change;

	directory->interrupt = NULL;
	ntvfs_name_cache_begin_change(
		directory->interrupting_cache, &stamp, &change);
	set_name(directory, 1, true);
	directory->stamp = stamp; /* the same tick */
	ntvfs_name_cache_end_change(directory->interrupting_cache,
				    &change,
				    true,
				    &stamp,
				    NULL,
				    directory->names[1]);
}

/* A name that comes while the directory is read, where reading was already. */
static void test_change_while_reading(void **state)
{
	struct ntvfs_name_cache *cache = make_cache(*state, true, 1000);
	struct made_up *directory = NULL;
	struct ntvfs_directory_stamp before;
	char *found = NULL;

	test_begin(__func__);
	directory = make_directory(*state, false);
	directory->interrupt = add_quietly;
	before = directory->stamp; /* as fstat said before the reading */
	ntvfs_name_cache_lookup(
		cache, &before, read_made_up, directory, "q", *state, &found);
	assert_null(found);
	check_answer(cache, directory, directory->names[1]);
	TALLOC_FREE(cache);
	TALLOC_FREE(directory);

	cache = make_cache(*state, false, 100000);
	directory = make_directory(*state, true);
	new_stamp(directory);
	directory->interrupting_cache = make_cache(*state, false, 100000);
	directory->interrupt = add_counting;
	ntvfs_name_cache_lookup(cache,
				&directory->stamp,
				read_made_up,
				directory,
				"q",
				*state,
				&found);
	assert_null(found);
	check_answer(cache, directory, directory->names[1]);
	TALLOC_FREE(directory->interrupting_cache);
	TALLOC_FREE(cache);
	TALLOC_FREE(directory);
}

/* A process that dies after its first count, before or after its change. */
static void test_half_counted_change(void **state)
{
	struct ntvfs_name_cache *cache = NULL;
	struct ntvfs_name_cache *dying = NULL;
	struct made_up *directory = NULL;
	struct ntvfs_name_change change;
	struct ntvfs_name_cache_statistics before;
	struct ntvfs_name_cache_statistics after;
	int coarse = 0;

	test_begin(__func__);
	for (coarse = 0; coarse < 2; coarse++) {
		cache = make_cache(*state, !coarse, 50);
		dying = make_cache(*state, !coarse, 50);
		directory = make_directory(*state, coarse != 0);
		new_stamp(directory);
		check_answer(cache, directory, directory->names[1]);
		ntvfs_name_cache_begin_change(
			dying, &directory->stamp, &change);
		TALLOC_FREE(dying);
		check_answer(cache, directory, directory->names[1]);
		set_name(directory, 1, true);
		if (coarse != 0) {
			wait_milliseconds(60);
		}
		check_answer(cache, directory, directory->names[1]);
		/* Nobody waits for the count that is missing: own changes
		   are applied as before. */
		get_statistics(cache, &before);
		make_change(cache, directory, 1, 2);
		check_answer(cache, directory, directory->names[1]);
		check_answer(cache, directory, directory->names[2]);
		get_statistics(cache, &after);
		assert_int_equal(after.applied, before.applied + 1);
		assert_int_equal(after.scans, before.scans);
		TALLOC_FREE(cache);
		TALLOC_FREE(directory);
	}
}

static void test_spellings(void **state)
{
	struct ntvfs_name_cache *cache = make_cache(*state, true, 1000);
	struct made_up *directory = NULL;
	static const char *const names[] = {
		"readme", "ReadMe", "README", "stra\xc3\x9f" "e",
		"\xc3\x9c" "ber", "\xce\xa3\xcf\x82", "\xff" "x",
	};
	static const struct {
		const char *wanted;
		const char *found;
	} cases[] = {
		{"readme", "readme"},
		{"ReadMe", "ReadMe"},
		{"README", "README"},
		{"rEADME", "README"}, /* the first by strcmp() */
		{"STRA\xc3\x9f" "E", "stra\xc3\x9f" "e"},
		{"STRASSE", NULL},
		{"\xc3\xbc" "BER", "\xc3\x9c" "ber"},
		{"\xcf\x83\xcf\x82", "\xce\xa3\xcf\x82"},
		{"\xcf\x83\xce\xa3", "\xce\xa3\xcf\x82"}, /* final too */
		{"\xff" "X", "\xff" "x"},
		{"\xfe" "x", NULL},
		{"", NULL},
		{".", NULL},
		{"..", NULL},
	};
	char *found = NULL;
	size_t i;
	int round = 0;
	int ret = 0;

	test_begin(__func__);
	directory = make_directory(*state, false);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(directory->names[i],
			 sizeof(directory->names[i]),
			 "%s",
			 names[i]);
		directory->there[i] = true;
	}
	/* The first round reads, the second remembers, for each anew. */
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		new_stamp(directory);
		for (round = 0; round < 2; round++) {
			ret = ntvfs_name_cache_lookup(cache,
						      &directory->stamp,
						      read_made_up,
						      directory,
						      cases[i].wanted,
						      *state,
						      &found);
			if (cases[i].found == NULL) {
				assert_int_equal(ret, ENOENT);
				assert_null(found);
				continue;
			}
			assert_int_equal(ret, 0);
			assert_string_equal(found, cases[i].found);
			TALLOC_FREE(found);
		}
	}
	make_change(cache, directory, 2, -1);
	ret = ntvfs_name_cache_lookup(cache,
				      &directory->stamp,
				      read_made_up,
				      directory,
				      "rEADME",
				      *state,
				      &found);
	assert_int_equal(ret, 0);
	assert_string_equal(found, "ReadMe");
	TALLOC_FREE(found);
	TALLOC_FREE(cache);
	TALLOC_FREE(directory);
}

static void test_failing_reading(void **state)
{
	struct ntvfs_name_cache *cache = make_cache(*state, true, 1000);
	struct ntvfs_name_cache_statistics now;
	struct made_up *directory = NULL;
	char *found = (char *)1;
	int ret = 0;

	test_begin(__func__);
	directory = make_directory(*state, false);
	directory->there[0] = true;
	directory->fail_with = EIO;
	ret = ntvfs_name_cache_lookup(cache,
				      &directory->stamp,
				      read_made_up,
				      directory,
				      directory->names[0],
				      *state,
				      &found);
	assert_int_equal(ret, EIO);
	assert_null(found);
	get_statistics(cache, &now);
	assert_int_equal(now.directories, 0);
	assert_int_equal(now.names, 0);
	directory->fail_with = 0;
	check_answer(cache, directory, directory->names[0]);
	TALLOC_FREE(cache);
	TALLOC_FREE(directory);
}

/* Whichever allocation fails: the right answer or ENOMEM, nothing else. */
static void test_no_memory(void **state)
{
	struct ntvfs_name_cache *cache = make_cache(*state, true, 1000);
	struct made_up *directory = NULL;
	unsigned allowed = 0;
	unsigned refused = 0;
	size_t i;
	char *found = NULL;
	const char *name = NULL;
	const char *expected = NULL;
	int ret = 0;

	test_begin(__func__);
	directory = make_directory(*state, false);
	for (i = 0; i < NAMES; i++) {
		directory->there[i] = i % 3 != 0;
	}
	for (allowed = 0; allowed < 2000; allowed++) {
		new_stamp(directory);
		i = test_random(NAMES);
		name = directory->names[i];
		test_allocations_left = allowed % 30;
		ret = ntvfs_name_cache_lookup(cache,
					      &directory->stamp,
					      read_made_up,
					      directory,
					      name,
					      *state,
					      &found);
		make_change(cache,
			    directory,
			    directory->there[i] ? (int)i : -1,
			    directory->there[i] ? -1 : (int)i);
		test_allocations_left = UINT_MAX;
		if (ret == ENOMEM) {
			assert_null(found);
			refused++;
		} else {
			/* As it was before the change. */
			directory->there[i] = !directory->there[i];
			expected = search(directory, name);
			directory->there[i] = !directory->there[i];
			assert_int_equal(ret, expected == NULL ? ENOENT : 0);
			if (expected != NULL) {
				assert_string_equal(found, expected);
			}
			TALLOC_FREE(found);
		}
		name = directory->names[test_random(NAMES)];
		if (!answer_is_right(cache, directory, name)) {
			test_fail("round %u: wrong about %s", allowed, name);
		}
	}
	assert_true(refused > 10);
	TALLOC_FREE(cache);
	TALLOC_FREE(directory);
}

/* Limits hold at every moment, and answers are right beyond them. */
static void test_limits(void **state)
{
	struct ntvfs_name_cache_config config = {
		.max_names = 100,
		.max_directories = 4,
		.exact_stamps = true,
		.unproven_milliseconds = 1000,
	};
	struct ntvfs_name_cache *cache = NULL;
	struct ntvfs_name_cache_statistics now;
	struct made_up *directories[8];
	uint32_t d = 0;
	uint32_t i = 0;
	int step = 0;

	test_begin(__func__);
	cache = ntvfs_name_cache_init(*state, &config);
	assert_non_null(cache);
	for (d = 0; d < 8; d++) {
		directories[d] = make_directory(*state, false);
		directories[d]->stamp.ino = 100 + d;
	}
	for (step = 0; step < 20000; step++) {
		d = test_random(test_random(2) == 0 ? 2 : 8);
		i = test_random(NAMES);
		/* Some stay small, some grow beyond the limit of names. */
		if (directories[d]->there[i] && test_random(8) > d) {
			make_change(cache, directories[d], (int)i, -1);
		} else if (!directories[d]->there[i]) {
			make_change(cache, directories[d], -1, (int)i);
		}
		i = test_random(NAMES);
		if (!answer_is_right(cache,
				     directories[d],
				     directories[d]->names[i])) {
			test_fail("step %d: wrong about %s",
				  step,
				  directories[d]->names[i]);
		}
		get_statistics(cache, &now);
		if (now.names > 100 || now.directories > 4) {
			test_fail("step %d: %zu names, %zu directories",
				  step,
				  now.names,
				  now.directories);
		}
	}
	assert_true(now.evicted > 100);
	assert_true(now.answered > 100);

	/* What was too much is remembered again when it is less. */
	for (i = 0; i < NAMES; i++) {
		set_name(directories[0], i, true);
	}
	check_answer(cache, directories[0], directories[0]->names[0]);
	check_answer(cache, directories[0], directories[0]->names[0]);
	for (i = 0; i < NAMES; i++) {
		set_name(directories[0], i, i < 50);
	}
	check_answer(cache, directories[0], directories[0]->names[0]);
	check_answer(cache, directories[0], directories[0]->names[0]);
	directories[0]->readings = 0;
	check_answer(cache, directories[0], directories[0]->names[0]);
	assert_int_equal(directories[0]->readings, 0);
	ntvfs_name_cache_forget(cache, 7, 100);
	check_answer(cache, directories[0], directories[0]->names[0]);
	assert_int_equal(directories[0]->readings, 1);
	TALLOC_FREE(cache);
	for (d = 0; d < 8; d++) {
		TALLOC_FREE(directories[d]);
	}
}

/* What survives and what is forgotten when a call changed nothing. */
static void test_calls_without_effect(void **state)
{
	struct ntvfs_name_cache *cache = NULL;
	struct made_up *directory = NULL;
	struct ntvfs_name_change change;
	int coarse = 0;

	test_begin(__func__);
	for (coarse = 0; coarse < 2; coarse++) {
		cache = make_cache(*state, !coarse, 100000);
		directory = make_directory(*state, coarse != 0);
		directory->there[0] = true;
		directory->there[1] = true;
		new_stamp(directory);
		check_answer(cache, directory, directory->names[0]);
		/* rename(2) of one hard link to another: both stay. */
		ntvfs_name_cache_begin_change(
			cache, &directory->stamp, &change);
		ntvfs_name_cache_end_change(cache,
					    &change,
					    true,
					    &directory->stamp,
					    directory->names[0],
					    directory->names[1]);
		directory->readings = 0;
		check_answer(cache, directory, directory->names[0]);
		check_answer(cache, directory, directory->names[1]);
		assert_int_equal(directory->readings, coarse);
		/* A stamp that is not known after it. */
		ntvfs_name_cache_begin_change(
			cache, &directory->stamp, &change);
		ntvfs_name_cache_end_change(
			cache, &change, true, NULL, NULL, "new");
		directory->readings = 0;
		check_answer(cache, directory, directory->names[0]);
		assert_int_equal(directory->readings, 1);
		TALLOC_FREE(cache);
		TALLOC_FREE(directory);
	}
}

struct filling {
	unsigned count;
	unsigned readings;
};

static int read_filling(struct ntvfs_name_cache_scan *scan, void *private_data)
{
	struct filling *filling = private_data;
	char name[32];
	unsigned i;

	filling->readings++;
	for (i = 0; i < filling->count; i++) {
		snprintf(name, sizeof(name), "Picture %06u.jpeg", i);
		ntvfs_name_cache_emit(scan, name);
	}
	return 0;
}

/* A client fills a directory with 200,000 files, each looked for first: it is
   read once and then about once a second at most, not once per file. */
static void test_filling(void **state)
{
	struct ntvfs_name_cache *cache = make_cache(*state, true, 1000);
	struct ntvfs_directory_stamp stamp = {
		.dev = 1,
		.ino = 2,
		.ctime = {.tv_sec = 1},
	};
	struct ntvfs_directory_stamp before;
	struct ntvfs_name_change change;
	struct filling filling = {0};
	struct timespec start = {0};
	struct timespec end = {0};
	char name[32];
	char *found = NULL;
	int ret = 0;

	clock_gettime(CLOCK_MONOTONIC, &start);
	while (filling.count < 200000) {
		snprintf(name,
			 sizeof(name),
			 "PICTURE %06u.jpeg",
			 filling.count);
		ret = ntvfs_name_cache_lookup(cache,
					      &stamp,
					      read_filling,
					      &filling,
					      name,
					      *state,
					      &found);
		assert_int_equal(ret, ENOENT);
		snprintf(name,
			 sizeof(name),
			 "Picture %06u.jpeg",
			 filling.count);
		before = stamp;
		ntvfs_name_cache_begin_change(cache, &before, &change);
		stamp.ctime.tv_nsec++;
		filling.count++;
		ntvfs_name_cache_end_change(
			cache, &change, true, &stamp, NULL, name);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	assert_true(filling.readings <=
		    2 + (unsigned)(end.tv_sec - start.tv_sec));
	ret = ntvfs_name_cache_lookup(cache,
				      &stamp,
				      read_filling,
				      &filling,
				      "pICTURE 123456.JPEG",
				      *state,
				      &found);
	assert_int_equal(ret, 0);
	assert_string_equal(found, "Picture 123456.jpeg");
	TALLOC_FREE(found);
	TALLOC_FREE(cache);
}

static void test_text(void **state)
{
	struct ntvfs_name_cache *cache = make_cache(*state, true, 1000);
	struct made_up *directory = NULL;
	char *text = NULL;

	test_begin(__func__);
	directory = make_directory(*state, false);
	directory->there[0] = true;
	check_answer(cache, directory, "x");
	check_answer(cache, directory, "y");
	text = ntvfs_name_cache_to_text(cache, *state);
	assert_non_null(strstr(text, ": 1 directories, 1 names, "));
	assert_non_null(strstr(text, "; 1 lookups answered, 1 readings, "));
	TALLOC_FREE(text);
	TALLOC_FREE(cache);
	TALLOC_FREE(directory);
}

static void test_bad_counter_path(void **state)
{
	struct ntvfs_name_cache_config config = {
		.counter_path = "/nonexistent/counters",
	};

	assert_null(ntvfs_name_cache_init(*state, &config));
	assert_int_equal(errno, ENOENT);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		test_case(test_exact_stamps),
		test_case(test_exact_stamps_nothing_unproven),
		test_case(test_coarse_stamps_nothing_unproven),
		test_case(test_coarse_stamps_counted),
		test_case(test_hidden_change),
		test_case(test_hidden_in_the_tick),
		test_case(test_age_of_stamps),
		test_case(test_change_while_reading),
		test_case(test_half_counted_change),
		test_case(test_spellings),
		test_case(test_failing_reading),
		test_case(test_no_memory),
		test_case(test_limits),
		test_case(test_calls_without_effect),
		test_case(test_filling),
		test_case(test_text),
		test_case(test_bad_counter_path),
	};

	test_arguments(argc, argv);
	return cmocka_run_group_tests_name("name cache",
					   tests,
					   make_counter_file,
					   remove_counter_file);
}
