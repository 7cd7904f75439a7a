/*
 * Tests of the name cache with real directories and other processes.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * They use the stamps that the file system gives, exact or not, and also these
 * stamps in steps of 10 ms, as an older kernel would give them.
 */

#include "test_names.h"
#include <dirent.h>
#include "directory_stamp.h"
#include "name_cache.h"

static char *top;
static char *counter_path;
static bool exact_here;

struct place {
	const char *path;
	int fd;
	bool coarse;
	unsigned readings;
};

static int make_top(void **state)
{
	int fd = -1;

	/* Not in memory: tmpfs has no exact stamps for directories. */
	setenv("TMPDIR", "/var/tmp", 0);
	top = test_folder_make(NULL);
	if (top == NULL) {
		return -1;
	}
	counter_path = talloc_asprintf(top, "%s/counters", top);
	fd = open(top, O_RDONLY | O_DIRECTORY);
	exact_here = ntvfs_stamps_are_exact(fd);
	close(fd);
	return 0;
}

static int remove_top(void **state)
{
	test_folder_remove(top);
	TALLOC_FREE(top);
	return test_group_teardown(state);
}

static struct place *make_place(TALLOC_CTX *mem_ctx, bool coarse)
{
	struct place *place = talloc_zero(mem_ctx, struct place);

	assert_non_null(place);
	place->path = talloc_asprintf(place, "%s/directory", top);
	test_folder_remove(place->path);
	assert_int_equal(mkdir(place->path, 0700), 0);
	place->fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(place->fd != -1);
	place->coarse = coarse;
	return place;
}

static void free_place(struct place *place)
{
	close(place->fd);
	test_folder_remove(place->path);
	TALLOC_FREE(place);
}

static struct ntvfs_directory_stamp get_stamp(const struct place *place)
{
	struct ntvfs_directory_stamp stamp = {0};
	struct stat st = {0};
	int ret = fstat(place->fd, &st);

	assert_int_equal(ret, 0);
	stamp.dev = st.st_dev;
	stamp.ino = st.st_ino;
	stamp.mtime = st.st_mtim;
	stamp.ctime = st.st_ctim;
	if (place->coarse) {
		stamp.mtime.tv_nsec -= stamp.mtime.tv_nsec % 10000000;
		stamp.ctime.tv_nsec -= stamp.ctime.tv_nsec % 10000000;
	}
	return stamp;
}

static int read_place(struct ntvfs_name_cache_scan *scan, void *private_data)
{
	struct place *place = private_data;
	struct dirent *entry = NULL;
	DIR *stream = NULL;
	int fd = -1;

	place->readings++;
	fd = openat(place->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1) {
		return errno;
	}
	stream = fdopendir(fd);
	if (stream == NULL) {
		close(fd);
		return ENOMEM;
	}
	while ((entry = readdir(stream)) != NULL) {
		ntvfs_name_cache_emit(scan, entry->d_name);
	}
	closedir(stream);
	return 0;
}

static bool look(struct ntvfs_name_cache *cache,
		 struct place *place,
		 const char *name)
{
	struct ntvfs_directory_stamp stamp = get_stamp(place);
	char *found = NULL;
	int ret = 0;

	ret = ntvfs_name_cache_lookup(
		cache, &stamp, read_place, place, name, NULL, &found);
	TALLOC_FREE(found);
	if (ret != 0 && ret != ENOENT) {
		test_fail("lookup of %s: %s", name, strerror(ret));
	}
	return ret == 0;
}

static int touch(const struct place *place, const char *name)
{
	int fd = openat(place->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd == -1) {
		return -1;
	}
	close(fd);
	return 0;
}

/* Create or remove a file as smbd does it. */
static void counted_change(struct ntvfs_name_cache *cache,
			   struct place *place,
			   const char *name,
			   bool create)
{
	struct ntvfs_directory_stamp stamp = get_stamp(place);
	struct ntvfs_name_change change;
	int ret = 0;

	ntvfs_name_cache_begin_change(cache, &stamp, &change);
	if (create) {
		ret = touch(place, name);
	} else {
		ret = unlinkat(place->fd, name, 0);
	}
	stamp = get_stamp(place);
	ntvfs_name_cache_end_change(cache,
				    &change,
				    ret == 0,
				    &stamp,
				    create ? NULL : name,
				    create ? name : NULL);
}

static struct ntvfs_name_cache *make_cache(TALLOC_CTX *mem_ctx,
					   const struct place *place,
					   uint32_t unproven_milliseconds)
{
	struct ntvfs_name_cache_config config = {
		.exact_stamps = exact_here && !place->coarse,
		.unproven_milliseconds = unproven_milliseconds,
		.counter_path = counter_path,
	};
	struct ntvfs_name_cache *cache = NULL;

	cache = ntvfs_name_cache_init(mem_ctx, &config);
	assert_non_null(cache);
	return cache;
}

static void wait_milliseconds(unsigned milliseconds)
{
	usleep(milliseconds * 1000);
}

#define CHANGES_OF_EACH_KIND 13

static void change_in_some_way(int fd, int other, int step)
{
	int ret = -1;

	switch (step) {
	case 0:
		ret = mknodat(fd, "file", S_IFREG | 0600, 0);
		break;
	case 1:
		ret = linkat(fd, "file", fd, "link", 0);
		break;
	case 2:
		ret = unlinkat(fd, "link", 0);
		break;
	case 3:
		ret = renameat(fd, "file", fd, "renamed");
		break;
	case 4:
		ret = renameat(fd, "renamed", other, "moved");
		break;
	case 5:
		ret = renameat(other, "moved", fd, "file");
		break;
	case 6:
		ret = symlinkat("file", fd, "symlink");
		break;
	case 7:
		ret = renameat(fd, "file", fd, "symlink"); /* replaces it */
		break;
	case 8:
		ret = unlinkat(fd, "symlink", 0);
		break;
	case 9:
		ret = mkdirat(fd, "folder", 0700);
		break;
	case 10:
		ret = renameat(fd, "folder", other, "folder");
		break;
	case 11:
		ret = renameat(other, "folder", fd, "folder");
		break;
	case 12:
		ret = unlinkat(fd, "folder", AT_REMOVEDIR);
		break;
	}
	assert_int_equal(ret, 0);
}

/* The probe's word holds for directories: if it says exact, then changes of
   every kind with a look in between never show one stamp twice. */
static void test_exact_stamps_are(void **state)
{
	struct place *place = make_place(*state, false);
	struct ntvfs_directory_stamp before;
	struct ntvfs_directory_stamp after;
	int proc = -1;
	int other = -1;
	int i = 0;
	int step = 0;

	errno = EXDEV;
	proc = open("/proc/self", O_RDONLY | O_DIRECTORY);
	errno = EXDEV;
	assert_false(ntvfs_stamps_are_exact(proc));
	assert_int_equal(errno, EXDEV);
	close(proc);
	assert_false(ntvfs_stamps_are_exact(-1));
	if (!exact_here) {
		print_message("the stamps are not exact here\n");
		free_place(place);
		skip();
	}
	assert_int_equal(mkdirat(place->fd, "other", 0700), 0);
	other = openat(place->fd, "other", O_RDONLY | O_DIRECTORY);
	assert_true(other != -1);
	before = get_stamp(place);
	for (i = 0; i < 2000; i++) {
		for (step = 0; step < CHANGES_OF_EACH_KIND; step++) {
			change_in_some_way(place->fd, other, step);
			after = get_stamp(place);
			if (after.ctime.tv_nsec == before.ctime.tv_nsec &&
			    after.ctime.tv_sec == before.ctime.tv_sec) {
				test_fail("round %d, change %d: same stamp",
					  i,
					  step);
			}
			before = after;
		}
	}
	close(other);
	free_place(place);
}

/* Random changes by two caches and by plain system calls, in turn. */
static void run_in_turn(void **state, bool coarse, uint32_t unproven, int steps)
{
	struct place *place = make_place(*state, coarse);
	struct ntvfs_name_cache *caches[2];
	char name[16];
	bool there[40] = {false};
	bool found = false;
	uint32_t i = 0;
	int step = 0;

	caches[0] = make_cache(*state, place, unproven);
	caches[1] = make_cache(*state, place, unproven);
	for (step = 0; step < steps; step++) {
		i = test_random(40);
		snprintf(name, sizeof(name), "file%u", i);
		if (test_random(4) == 0) {
			if (there[i]) {
				unlinkat(place->fd, name, 0);
			} else {
				touch(place, name);
			}
		} else {
			counted_change(caches[test_random(2)],
				       place,
				       name,
				       !there[i]);
		}
		there[i] = !there[i];
		i = test_random(40);
		snprintf(name, sizeof(name), "FILE%u", i);
		found = look(caches[test_random(2)], place, name);
		if (found != there[i]) {
			test_fail("step %d: wrong about %s", step, name);
		}
	}
	TALLOC_FREE(caches[0]);
	TALLOC_FREE(caches[1]);
	free_place(place);
}

static void test_in_turn(void **state)
{
	test_begin(__func__);
	run_in_turn(state, false, exact_here ? 1000 : 0, 10000);
	run_in_turn(state, true, 0, 3000);
}

static void test_rename_of_hard_links(void **state)
{
	struct place *place = make_place(*state, false);
	struct ntvfs_name_cache *cache = make_cache(*state, place, 1000);
	struct ntvfs_directory_stamp stamp;
	struct ntvfs_name_change change;
	int ret = 0;

	test_begin(__func__);
	touch(place, "one");
	assert_int_equal(linkat(place->fd, "one", place->fd, "two", 0), 0);
	assert_true(look(cache, place, "ONE"));
	stamp = get_stamp(place);
	ntvfs_name_cache_begin_change(cache, &stamp, &change);
	ret = renameat(place->fd, "one", place->fd, "two");
	stamp = get_stamp(place);
	ntvfs_name_cache_end_change(
		cache, &change, ret == 0, &stamp, "one", "two");
	assert_true(look(cache, place, "ONE"));
	assert_true(look(cache, place, "TWO"));
	TALLOC_FREE(cache);
	free_place(place);
}

enum moment { AFTER_BEGIN, AFTER_CHANGE };

/* A child that is killed within a change, at the moment given. Between its
   begin and its change it waits until the parent has read the directory. */
static pid_t start_dying(struct place *place,
			 uint32_t unproven,
			 enum moment moment,
			 int *begun,
			 int *go_on)
{
	struct ntvfs_name_cache *cache = NULL;
	struct ntvfs_directory_stamp stamp;
	struct ntvfs_name_change change;
	char c = 0;
	pid_t child = fork();

	if (child != 0) {
		return child;
	}
	cache = make_cache(NULL, place, unproven);
	stamp = get_stamp(place);
	ntvfs_name_cache_begin_change(cache, &stamp, &change);
	(void)!write(begun[1], "", 1);
	(void)!read(go_on[0], &c, 1);
	if (moment == AFTER_CHANGE) {
		touch(place, "by the child");
	}
	kill(getpid(), SIGKILL);
	_exit(1);
}

static void test_killed_child(void **state)
{
	struct place *place = NULL;
	struct ntvfs_name_cache *cache = NULL;
	struct ntvfs_name_cache_statistics now;
	enum moment moment = AFTER_BEGIN;
	int begun[2];
	int go_on[2];
	int coarse = 0;
	int status = 0;
	char c = 0;
	pid_t child = 0;

	test_begin(__func__);
	for (coarse = 0; coarse < 2; coarse++) {
		for (moment = AFTER_BEGIN; moment <= AFTER_CHANGE; moment++) {
			place = make_place(*state, coarse != 0);
			cache = make_cache(*state, place, 50);
			assert_int_equal(pipe(begun), 0);
			assert_int_equal(pipe(go_on), 0);
			touch(place, "mine");
			assert_true(look(cache, place, "MINE"));
			child = start_dying(place, 50, moment, begun, go_on);
			assert_true(child != -1);
			assert_int_equal(read(begun[0], &c, 1), 1);
			assert_false(look(cache, place, "BY THE CHILD"));
			assert_int_equal(write(go_on[1], "", 1), 1);
			assert_int_equal(waitpid(child, &status, 0), child);
			assert_true(WIFSIGNALED(status));
			assert_int_equal(WTERMSIG(status), SIGKILL);
			if (coarse != 0 || !exact_here) {
				wait_milliseconds(60);
			}
			assert_int_equal(look(cache, place, "BY THE CHILD"),
					 moment == AFTER_CHANGE);
			/* And nothing waits for the dead. */
			counted_change(cache, place, "another", true);
			ntvfs_name_cache_statistics(cache, &now);
			assert_true(now.applied >= 1);
			assert_true(look(cache, place, "ANOTHER"));
			TALLOC_FREE(cache);
			free_place(place);
			close(begun[0]);
			close(begun[1]);
			close(go_on[0]);
			close(go_on[1]);
		}
	}
}

#define CHANGERS 4
#define FILES	 30

/* A process that changes the directory until it is killed. */
static void change_for_ever(struct place *place, int number, bool counts)
{
	struct ntvfs_name_cache *cache = make_cache(NULL, place, 20);
	char name[32];
	uint32_t i = 0;
	int step = 0;

	test_random_state += (uint64_t)number * 7919;
	for (step = 0; step < 100000000; step++) {
		i = test_random(FILES);
		snprintf(name, sizeof(name), "file%d-%u", number, i);
		if (counts) {
			counted_change(
				cache, place, name, test_random(2) == 0);
		} else if (test_random(2) == 0) {
			touch(place, name);
		} else {
			unlinkat(place->fd, name, 0);
		}
		snprintf(name, sizeof(name), "FILE%u-%u", i % CHANGERS, i);
		(void)look(cache, place, name);
	}
	_exit(1);
}

/*
 * Processes change one directory all at once and are killed at any moment.
 * Meanwhile what nobody removes is always found and what nobody makes never;
 * when all is quiet every answer is right.
 */
static void run_crowd(void **state, bool coarse)
{
	struct place *place = make_place(*state, coarse);
	struct ntvfs_name_cache *cache = make_cache(*state, place, 20);
	struct timespec start = {0};
	struct timespec now = {0};
	pid_t children[CHANGERS];
	char name[32];
	bool there = false;
	int status = 0;
	int i = 0;
	int j = 0;
	uint32_t victim = 0;

	touch(place, "Permanent");
	for (i = 0; i < CHANGERS; i++) {
		children[i] = fork();
		assert_true(children[i] != -1);
		if (children[i] == 0) {
			change_for_ever(place, i, i != 0);
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (i = 0; i < 50; i++) {
			counted_change(cache, place, "Mine", i % 2 == 0);
			if (!look(cache, place, "PERMANENT")) {
				test_fail("the permanent name is lost");
			}
			if (look(cache, place, "NEVER")) {
				test_fail("a name that never was is found");
			}
		}
		victim = test_random(CHANGERS);
		kill(children[victim], SIGKILL);
		assert_int_equal(waitpid(children[victim], &status, 0),
				 children[victim]);
		children[victim] = fork();
		if (children[victim] == 0) {
			change_for_ever(place, (int)victim, victim != 0);
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - start.tv_sec < 2);
	for (i = 0; i < CHANGERS; i++) {
		kill(children[i], SIGKILL);
		assert_int_equal(waitpid(children[i], &status, 0),
				 children[i]);
	}
	wait_milliseconds(100);
	for (i = 0; i < CHANGERS; i++) {
		for (j = 0; j < FILES; j++) {
			snprintf(name, sizeof(name), "file%d-%d", i, j);
			there = faccessat(place->fd, name, F_OK, 0) == 0;
			snprintf(name, sizeof(name), "FILE%d-%d", i, j);
			if (look(cache, place, name) != there) {
				test_fail("wrong about %s in the end", name);
			}
		}
	}
	TALLOC_FREE(cache);
	free_place(place);
}

static void test_crowd(void **state)
{
	test_begin(__func__);
	run_crowd(state, false);
}

static void test_crowd_with_coarse_stamps(void **state)
{
	test_begin(__func__);
	run_crowd(state, true);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		test_case(test_exact_stamps_are),
		test_case(test_in_turn),
		test_case(test_rename_of_hard_links),
		test_case(test_killed_child),
		test_case(test_crowd),
		test_case(test_crowd_with_coarse_stamps),
	};

	test_arguments(argc, argv);
	return cmocka_run_group_tests_name(
		"name cache with files", tests, make_top, remove_top);
}
