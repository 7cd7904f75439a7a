/*
 * Several writers on one volume, killed at random.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Usage: test_native_soak [SECONDS [WRITERS]]
 *
 * Every writer changes pairs of objects in single operations, makes and
 * removes objects with data, and commits. The parent kills one after the
 * other and starts new ones; it is attached all the time, looks at pairs
 * without a lock, and checks everything at the end.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "helper.h"
#include "volume.h"

#define PAIRS 40
#define MOST_WRITERS 16

static uint32_t seconds = 4;
static uint32_t writers = 3;

struct pair {
	nv_file_id left;
	nv_file_id right;
};

static uint64_t random_state;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void change_pair(struct nv_volume *volume, const struct pair *pair)
{
	uint64_t inos[2] = {NV_FILE_INO(pair->left),
			    NV_FILE_INO(pair->right)};
	uint32_t value = (uint32_t)next_random();
	struct nv_disk_inode *inode = NULL;
	struct nv_operation operation;

	assert_ok(nv_operation_begin(volume, &operation, inos, 2, 2, 0));
	assert_ok(nv_inode_modify(&operation, pair->left, &inode));
	inode->attributes = value;
	inode->size++;
	assert_ok(nv_inode_modify(&operation, pair->right, &inode));
	inode->attributes = value;
	inode->size++;
	if (value % 8 == 0) {
		nv_operation_cancel(&operation);
	} else {
		nv_operation_end(&operation);
	}
}

static void check_pair(struct nv_volume *volume, const struct pair *pair)
{
	uint64_t inos[2] = {NV_FILE_INO(pair->left),
			    NV_FILE_INO(pair->right)};
	const struct nv_disk_inode *left = NULL;
	const struct nv_disk_inode *right = NULL;
	struct nv_operation operation;

	assert_ok(nv_operation_begin(volume, &operation, inos, 2, 2, 0));
	assert_ok(nv_inode_read(volume, pair->left, &left));
	assert_ok(nv_inode_read(volume, pair->right, &right));
	assert_int_equal(left->attributes, right->attributes);
	assert_true(left->size == right->size);
	nv_operation_end(&operation);
}

static void pass_object(struct nv_volume *volume)
{
	uint8_t buffer[30000];
	uint8_t got[30000];
	nv_file_id id = test_object(volume, NV_FILE);
	size_t length = next_random() % sizeof(buffer);
	size_t done = 0;

	test_pattern(id, 1, 0, buffer, length);
	assert_ok(nv_write(volume, id, 0, buffer, length, 1));
	assert_ok(nv_read(volume, id, 0, got, length, &done));
	assert_true(done == length);
	assert_memory_equal(buffer, got, length);
	if (next_random() % 500 == 0) {
		/* Left for the end: its content is checked there. */
		return;
	}
	nv_done_writing(volume, id);
	assert_ok(test_unname(volume, id));
}

static void write_for_ever(const struct test_place *place,
			   const struct pair *pair, uint64_t number)
{
	struct nv_volume *volume = NULL;

	random_state = number * UINT64_C(0x9e3779b97f4a7c15) + 1;
	volume = test_attach(place);
	for (;;) {
		uint64_t what = next_random() % 100;

		if (what < 70) {
			change_pair(volume, &pair[next_random() % PAIRS]);
		} else if (what < 97) {
			pass_object(volume);
		} else {
			assert_ok(nv_volume_commit(volume));
		}
	}
}

static pid_t start_writer(const struct test_place *place,
			  const struct pair *pair, uint64_t number)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		/* A failed assertion ends the child, not its copy of us. */
		setenv("CMOCKA_TEST_ABORT", "1", 1);
		write_for_ever(place, pair, number);
		_exit(1);
	}
	return pid;
}

/* Left objects are whole, or not written yet, or cut short by a kill. */
static void check_left_objects(struct nv_volume *volume,
			       const struct pair *pair)
{
	uint64_t inodes = volume->inodes_per_page * atomic_load(
		&volume->segment->region_limit[NV_REGION_INODES]);
	uint8_t buffer[30000];
	uint8_t got[30000];
	uint64_t ino;

	for (ino = NV_FIRST_INO; ino < inodes; ino++) {
		struct nv_info info;
		nv_file_id id = 0;
		size_t done = 0;
		uint32_t generation;
		bool is_pair = false;
		uint32_t i;

		if (!nv_bits_test(volume, NV_BITMAP_INODES, ino)) {
			continue;
		}
		for (generation = 1; generation < 100000; generation++) {
			id = NV_FILE_ID(ino, generation);
			if (nv_get_info(volume, id, &info) == NV_OK) {
				break;
			}
		}
		for (i = 0; i < PAIRS; i++) {
			if (pair[i].left == id || pair[i].right == id) {
				is_pair = true;
			}
		}
		/* Without a name: half reclaimed by one who was killed. */
		if (is_pair || info.type != NV_FILE || info.nlink == 0) {
			continue;
		}
		assert_true(info.size <= sizeof(buffer));
		assert_ok(nv_read(volume, id, 0, got, sizeof(got), &done));
		test_pattern(id, 1, 0, buffer, done);
		assert_memory_equal(buffer, got, done);
	}
}

static void test_killed_writers(void **state)
{
	struct nv_volume_statistics statistics;
	struct test_place place = {{0}};
	struct nv_volume *volume = NULL;
	struct pair pair[PAIRS];
	pid_t pid[MOST_WRITERS];
	uint64_t number = 0;
	uint32_t kills = 0;
	time_t end;
	uint32_t i;

	test_place_make(&place);
	test_format(&place, 256, 0);
	volume = test_attach(&place);
	for (i = 0; i < PAIRS; i++) {
		pair[i].left = test_object(volume, NV_SPECIAL);
		pair[i].right = test_object(volume, NV_SPECIAL);
	}
	random_state = 77;
	for (i = 0; i < writers; i++) {
		pid[i] = start_writer(&place, pair, ++number);
	}
	end = time(NULL) + (time_t)seconds;
	while (time(NULL) < end) {
		struct timespec pause = {
			.tv_nsec = (long)(next_random() % 8000000),
		};
		int status = 0;

		nanosleep(&pause, NULL);
		i = (uint32_t)(next_random() % writers);
		kill(pid[i], SIGKILL);
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
			fail_msg("a writer ended by itself");
		}
		kills++;
		check_pair(volume, &pair[next_random() % PAIRS]);
		pid[i] = start_writer(&place, pair, ++number);
	}
	for (i = 0; i < writers; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
		kills++;
	}
	for (i = 0; i < PAIRS; i++) {
		check_pair(volume, &pair[i]);
	}
	assert_ok(nv_volume_statistics(volume, &statistics));
	print_message("# %u kills, %llu recoveries, %llu commits\n", kills,
		      (unsigned long long)statistics.recovered_slots,
		      (unsigned long long)statistics.commits);
	test_sound(volume);
	check_left_objects(volume, pair);
	test_detach(volume);

	volume = test_attach(&place);
	for (i = 0; i < PAIRS; i++) {
		check_pair(volume, &pair[i]);
	}
	test_sound(volume);
	check_left_objects(volume, pair);
	test_detach(volume);
	test_place_remove(&place);
}

/* Attach, work a little, detach; over and over. */
static void come_and_go(const struct test_place *place,
			const struct pair *pair, uint64_t number)
{
	random_state = number * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (;;) {
		struct nv_volume *volume = test_attach(place);
		uint64_t count = next_random() % 20;

		for (; count > 0; count--) {
			change_pair(volume, &pair[next_random() % PAIRS]);
			pass_object(volume);
		}
		assert_ok(nv_volume_detach(volume));
	}
}

/*
 * Nobody stays: who attaches first, recovers, and who detaches last, commits,
 * are killed, too.
 */
static void test_killed_attachers(void **state)
{
	struct test_place place = {{0}};
	struct nv_volume *volume = NULL;
	struct pair pair[PAIRS];
	pid_t pid[MOST_WRITERS];
	uint64_t number = 0;
	uint32_t kills = 0;
	time_t end;
	uint32_t i;

	test_place_make(&place);
	test_format(&place, 64, 0);
	volume = test_attach(&place);
	for (i = 0; i < PAIRS; i++) {
		pair[i].left = test_object(volume, NV_SPECIAL);
		pair[i].right = test_object(volume, NV_SPECIAL);
	}
	test_detach(volume);
	random_state = 78;
	end = time(NULL) + (time_t)seconds;
	while (time(NULL) < end) {
		/* Two at most, so that often nobody else is there. */
		uint32_t count = 1 + (uint32_t)(next_random() % 2);
		struct timespec pause = {
			.tv_nsec = (long)(next_random() % 12000000),
		};

		for (i = 0; i < count; i++) {
			pid[i] = fork();
			assert_true(pid[i] >= 0);
			if (pid[i] == 0) {
				setenv("CMOCKA_TEST_ABORT", "1", 1);
				come_and_go(&place, pair, ++number * 10 + i);
				_exit(1);
			}
			number++;
		}
		nanosleep(&pause, NULL);
		for (i = 0; i < count; i++) {
			int status = 0;

			kill(pid[i], SIGKILL);
			assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
			if (!WIFSIGNALED(status) ||
			    WTERMSIG(status) != SIGKILL) {
				fail_msg("a process ended by itself");
			}
			kills++;
		}
	}
	volume = test_attach(&place);
	for (i = 0; i < PAIRS; i++) {
		check_pair(volume, &pair[i]);
	}
	print_message("# %u kills\n", kills);
	test_sound(volume);
	check_left_objects(volume, pair);
	test_detach(volume);
	test_place_remove(&place);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed_writers),
		cmocka_unit_test(test_killed_attachers),
	};

	if (argc > 1) {
		seconds = (uint32_t)atoi(argv[1]);
	}
	if (argc > 2) {
		writers = (uint32_t)atoi(argv[2]);
	}
	if (writers < 1 || writers > MOST_WRITERS) {
		fprintf(stderr, "1 to %u writers\n", MOST_WRITERS);
		return 2;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
