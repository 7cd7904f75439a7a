/*
 * Tests of the counters by which processes tell that a directory changed.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "test_names.h"
#include "name_counters.h"

#define FILE_SIZE (64 + 65536 * 8)

static char folder[] = "/tmp/ntvfs-test-counters-XXXXXX";
static char path[sizeof(folder) + 16];

static int make_folder(void **state)
{
	if (mkdtemp(folder) == NULL) {
		return -1;
	}
	snprintf(path, sizeof(path), "%s/counters", folder);
	return 0;
}

static int remove_folder(void **state)
{
	unlink(path);
	talloc_disable_null_tracking();
	return rmdir(folder);
}

static void write_file(const void *data, size_t size)
{
	int fd = -1;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd != -1);
	assert_int_equal(write(fd, data, size), (ssize_t)size);
	close(fd);
}

static void read_file(uint8_t *data)
{
	int fd = open(path, O_RDONLY);

	assert_true(fd != -1);
	assert_int_equal(read(fd, data, FILE_SIZE), FILE_SIZE);
	close(fd);
}

static void test_counting(void **state)
{
	struct ntvfs_name_counters *first = NULL;
	struct ntvfs_name_counters *second = NULL;
	uint64_t a = ntvfs_name_counters_hash(1, 2);
	uint64_t b = ntvfs_name_counters_hash(1, 3);
	char *text = NULL;

	unlink(path);
	first = ntvfs_name_counters_open(*state, path);
	assert_non_null(first);
	second = ntvfs_name_counters_open(*state, path);
	assert_non_null(second);
	assert_int_equal(ntvfs_name_counters_add(first, a), 0);
	assert_int_equal(ntvfs_name_counters_add(second, a), 1);
	assert_int_equal(ntvfs_name_counters_get(first, a), 2);
	assert_int_equal(ntvfs_name_counters_get(second, b), 0);
	text = ntvfs_name_counters_to_text(first, *state);
	assert_non_null(strstr(text, " 1 ever moved, 2 steps"));
	TALLOC_FREE(first);
	TALLOC_FREE(second);
	/* They last as long as the file. */
	first = ntvfs_name_counters_open(*state, path);
	assert_int_equal(ntvfs_name_counters_get(first, a), 2);
	TALLOC_FREE(first);
	TALLOC_FREE(text);
}

static void test_private_counters(void **state)
{
	struct ntvfs_name_counters *first = NULL;
	struct ntvfs_name_counters *second = NULL;

	first = ntvfs_name_counters_open(*state, NULL);
	second = ntvfs_name_counters_open(*state, NULL);
	assert_non_null(first);
	assert_non_null(second);
	assert_int_equal(ntvfs_name_counters_add(first, 5), 0);
	assert_int_equal(ntvfs_name_counters_get(second, 5), 0);
	TALLOC_FREE(first);
	TALLOC_FREE(second);
}

#define RACERS 8
#define STEPS  20000

/* Processes that all come first share one set of counters, and no step of any
   is lost. */
static void test_race_to_create(void **state)
{
	struct ntvfs_name_counters *counters = NULL;
	int ready[2];
	pid_t children[RACERS];
	int status = 0;
	int round = 0;
	int i = 0;
	int step = 0;
	char c = 0;

	for (round = 0; round < 10; round++) {
		unlink(path);
		if (round % 2 == 1) {
			write_file("rubbish", 7);
		}
		assert_int_equal(pipe(ready), 0);
		for (i = 0; i < RACERS; i++) {
			children[i] = fork();
			assert_true(children[i] != -1);
			if (children[i] != 0) {
				continue;
			}
			close(ready[1]);
			(void)!read(ready[0], &c, 1); /* until all are there */
			counters = ntvfs_name_counters_open(NULL, path);
			if (counters == NULL) {
				_exit(1);
			}
			for (step = 0; step < STEPS; step++) {
				ntvfs_name_counters_add(counters, 77);
			}
			_exit(0);
		}
		close(ready[0]);
		close(ready[1]);
		for (i = 0; i < RACERS; i++) {
			assert_int_equal(waitpid(children[i], &status, 0),
					 children[i]);
			assert_int_equal(status, 0);
		}
		counters = ntvfs_name_counters_open(*state, path);
		assert_non_null(counters);
		assert_int_equal(ntvfs_name_counters_get(counters, 77),
				 RACERS * STEPS);
		TALLOC_FREE(counters);
	}
}

/* A file that is not ours becomes ours in place; counters in it stay. */
static void test_wrong_files(void **state)
{
	struct ntvfs_name_counters *counters = NULL;
	static uint8_t good[FILE_SIZE];
	static uint8_t bad[FILE_SIZE + 100];
	static const struct {
		const char *reason;
		size_t size;
		size_t offset;
		uint8_t value;
	} cases[] = {
		{"too short", 0, 0, 0},
		{"too short", FILE_SIZE - 1, 0, 'N'},
		{"no counter file", FILE_SIZE, 0, 'X'},
		{"no counter file", FILE_SIZE, 7, 0},
		{"another version", FILE_SIZE, 8, 2},
		{"another version", FILE_SIZE, 11, 1},
		{"another number of counters", FILE_SIZE, 12, 1},
		{"another number of counters", FILE_SIZE, 14, 0},
		{"reserved bytes are in use", FILE_SIZE, 16, 1},
		{"reserved bytes are in use", FILE_SIZE, 63, 255},
		{NULL, FILE_SIZE + 100, 0, 'N'},
	};
	const char *reason = NULL;
	struct stat st = {0};
	size_t i;

	unlink(path);
	counters = ntvfs_name_counters_open(*state, path);
	assert_non_null(counters);
	ntvfs_name_counters_add(counters, 65535);
	TALLOC_FREE(counters);
	read_file(good);
	assert_null(ntvfs_name_counters_validate(good, FILE_SIZE));

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memcpy(bad, good, FILE_SIZE);
		bad[cases[i].offset] = cases[i].value;
		reason = ntvfs_name_counters_validate(bad, cases[i].size);
		if (cases[i].reason == NULL) {
			assert_null(reason);
		} else {
			assert_string_equal(reason, cases[i].reason);
		}
		write_file(bad, cases[i].size);
		counters = ntvfs_name_counters_open(*state, path);
		assert_non_null(counters);
		/* The last byte is cut off in the second case: it was zero. */
		assert_int_equal(ntvfs_name_counters_get(counters, 65535),
				 cases[i].size == 0 ? 0 : 1);
		TALLOC_FREE(counters);
		read_file(bad);
		assert_memory_equal(bad, good, 64);
		assert_int_equal(stat(path, &st), 0);
		assert_true(st.st_size >= FILE_SIZE);
		assert_true(st.st_size >= (off_t)cases[i].size);
	}
}

static void test_not_a_file(void **state)
{
	struct ntvfs_name_counters *counters = NULL;

	counters = ntvfs_name_counters_open(*state, folder);
	assert_null(counters);
	assert_int_equal(errno, EISDIR);

	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	counters = ntvfs_name_counters_open(*state, path);
	assert_null(counters);
	assert_int_equal(errno, EINVAL);

	unlink(path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	counters = ntvfs_name_counters_open(*state, path);
	assert_null(counters);
	assert_int_equal(errno, ELOOP);

	unlink(path);
	counters = ntvfs_name_counters_open(*state, "/nonexistent/counters");
	assert_null(counters);
	assert_int_equal(errno, ENOENT);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		test_case(test_counting),
		test_case(test_private_counters),
		test_case(test_race_to_create),
		test_case(test_wrong_files),
		test_case(test_not_a_file),
	};

	test_arguments(argc, argv);
	return cmocka_run_group_tests_name(
		"name counters", tests, make_folder, remove_folder);
}
