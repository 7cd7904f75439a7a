/*
 * SIGKILL at every kill point, with and without a survivor.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A victim process runs a script of operations and is killed at the n-th kill
 * point it passes; n goes up until the script ends alive. After each death the
 * survivor (or, in the second test, the next attacher) must find every
 * operation done or not done, and go on at once.
 *
 * Usage: test_native_kill [alone|survivor N]: only that case.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "helper.h"
#include "volume.h"

#define PATIENCE 100	/* milliseconds until the survivor has gone on */

/* What the script works on; made once per volume. */
struct fixture {
	struct test_place place;
	nv_file_id left;	/* left, right and page always agree */
	nv_file_id right;
	uint64_t page;
	nv_file_id file;	/* grows and shrinks */
};

static uint64_t only_case;
static const char *only_test;

static uint64_t passes_left;
static char last_point[80];

static void die_when_due(const char *name)
{
	passes_left--;
	if (passes_left == 0) {
		kill(getpid(), SIGKILL);
	}
}

/* One operation on three things at once. */
static void set_all_three(struct nv_volume *volume,
			  const struct fixture *fixture, uint32_t value)
{
	uint64_t inos[2] = {NV_FILE_INO(fixture->left),
			    NV_FILE_INO(fixture->right)};
	struct nv_disk_inode *inode = NULL;
	struct nv_operation operation;
	uint32_t *content = NULL;

	assert_ok(nv_operation_begin(volume, &operation, inos, 2, 4, 0));
	assert_ok(nv_inode_modify(&operation, fixture->left, &inode));
	inode->attributes = value;
	NV_KILL_POINT("test: left changed");
	assert_ok(nv_inode_modify(&operation, fixture->right, &inode));
	inode->attributes = value;
	NV_KILL_POINT("test: right changed");
	assert_ok(nv_page_modify(&operation, fixture->page, 64, 8,
				 (void **)&content));
	content[16] = value;
	NV_KILL_POINT("test: page changed");
	nv_operation_end(&operation);
}

static void check_all_three(struct nv_volume *volume,
			    const struct fixture *fixture)
{
	const uint32_t *content = NULL;
	struct nv_info left;
	struct nv_info right;

	assert_ok(nv_get_info(volume, fixture->left, &left));
	assert_ok(nv_get_info(volume, fixture->right, &right));
	assert_ok(nv_node_read(volume, fixture->page, NV_KIND_EA,
			       fixture->left, (const void **)&content));
	assert_int_equal(left.attributes, right.attributes);
	assert_int_equal(left.attributes, content[16]);
}

/* Pages come and go in one operation. */
static void turn_pages(struct nv_volume *volume,
		       const struct fixture *fixture)
{
	uint64_t ino = NV_FILE_INO(fixture->left);
	struct nv_operation operation;
	void *content = NULL;
	uint64_t first = 0;
	uint64_t second = 0;

	assert_ok(nv_operation_begin(volume, &operation, &ino, 1, 4, 0));
	assert_ok(nv_node_new(&operation, NV_KIND_EA, 0, fixture->left,
			      &first, &content));
	assert_ok(nv_node_new(&operation, NV_KIND_EA, 0, fixture->left,
			      &second, &content));
	nv_operation_end(&operation);
	assert_ok(nv_operation_begin(volume, &operation, &ino, 1, 4, 0));
	assert_ok(nv_node_free(&operation, first));
	assert_ok(nv_node_free(&operation, second));
	nv_operation_end(&operation);
}

static void write_file(struct nv_volume *volume, const struct fixture *fixture,
		       uint64_t version)
{
	uint8_t buffer[20000];

	memset(buffer, (int)('a' + version % 26), sizeof(buffer));
	assert_ok(nv_write(volume, fixture->file, 3000, buffer,
			   sizeof(buffer), version));
	assert_ok(nv_write(volume, fixture->file, 5000, buffer, 100,
			   version));
	assert_ok(nv_set_size(volume, fixture->file, 7000, version));
	assert_ok(nv_punch(volume, fixture->file, 0, 8192, version));
	assert_ok(nv_set_allocation(volume, fixture->file, 100000));
	assert_ok(nv_write(volume, fixture->file, 90000, buffer, 100,
			   version));
	assert_ok(nv_set_size(volume, fixture->file, 0, version));
}

static void script(struct nv_volume *volume, const struct fixture *fixture,
		   uint32_t value)
{
	static const uint8_t bytes[500] = {'k'};
	nv_file_id id;
	uint32_t i;

	set_all_three(volume, fixture, value);
	turn_pages(volume, fixture);
	write_file(volume, fixture, value);
	assert_ok(nv_volume_commit(volume));
	set_all_three(volume, fixture, value + 1);
	for (i = 0; i < 3; i++) {
		id = test_object(volume, NV_FILE);
		assert_ok(nv_write(volume, id, 0, bytes, sizeof(bytes),
				   0));
		assert_ok(nv_hold(volume, id));
		assert_ok(test_unname(volume, id));
		assert_ok(nv_release(volume, id));
	}
	assert_ok(nv_volume_commit(volume));
	set_all_three(volume, fixture, value + 2);
}

static void make_fixture(struct fixture *fixture)
{
	struct nv_volume *volume = NULL;
	struct nv_operation operation;
	void *content = NULL;
	uint64_t ino;

	test_place_make(&fixture->place);
	test_format(&fixture->place, 8, 0);
	volume = test_attach(&fixture->place);
	fixture->left = test_object(volume, NV_FILE);
	fixture->right = test_object(volume, NV_FILE);
	fixture->file = test_object(volume, NV_FILE);
	ino = NV_FILE_INO(fixture->left);
	assert_ok(nv_operation_begin(volume, &operation, &ino, 1, 1, 0));
	assert_ok(nv_node_new(&operation, NV_KIND_EA, 0, fixture->left,
			      &fixture->page, &content));
	nv_operation_end(&operation);
	test_detach(volume);
}

/* True if the victim was killed; false if its script came to the end. */
static bool run_victim(const struct fixture *fixture, uint64_t point)
{
	pid_t pid = fork();
	int status = 0;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct nv_volume *volume = NULL;

		/* A failed assertion ends the child, not its copy of us. */
		setenv("CMOCKA_TEST_ABORT", "1", 1);
		volume = test_attach(&fixture->place);
		passes_left = point;
		nv_kill_point_hook = die_when_due;
		script(volume, fixture, (uint32_t)point * 10);
		nv_kill_point_hook = NULL;
		nv_volume_detach(volume);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status)) {
		assert_int_equal(WEXITSTATUS(status), 0);
		return false;
	}
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	return true;
}

static double now(void)
{
	struct timespec time = {0};

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1000 + (double)time.tv_nsec / 1000000;
}

static void check_file(struct nv_volume *volume, const struct fixture *fixture)
{
	uint8_t *buffer = malloc(200000);
	struct nv_info info;
	size_t done = 0;
	size_t i;

	assert_ok(nv_get_info(volume, fixture->file, &info));
	assert_ok(nv_read(volume, fixture->file, 0, buffer, 200000, &done));
	assert_true(done == info.size);
	for (i = 0; i < done; i++) {
		/* Zeros, or what a script writes: no foreign bytes (I9). */
		if (buffer[i] != 0 &&
		    (buffer[i] < 'a' || buffer[i] > 'z')) {
			fail_msg("I9: byte %zu is 0x%02x", i, buffer[i]);
		}
	}
	free(buffer);
}

static void survivor_goes_on(struct nv_volume *volume,
			     const struct fixture *fixture, uint64_t point)
{
	double start = now();
	double took;

	check_all_three(volume, fixture);
	set_all_three(volume, fixture, 7);
	write_file(volume, fixture, point);
	took = now() - start;
	if (took > PATIENCE) {
		fail_msg("the survivor took %.0f ms", took);
	}
	check_all_three(volume, fixture);
	check_file(volume, fixture);
	test_sound(volume);
}

static bool skipped(const char *test, uint64_t point)
{
	if (only_test == NULL) {
		return false;
	}
	return strcmp(only_test, test) != 0 || only_case != point;
}

static void test_survivor(void **state)
{
	struct fixture fixture = {0};
	struct nv_volume *volume = NULL;
	uint64_t point;
	bool killed = true;

	make_fixture(&fixture);
	volume = test_attach(&fixture.place);
	for (point = 1; killed && point < 100000; point++) {
		if (skipped("survivor", point)) {
			killed = only_test != NULL && point < only_case;
			continue;
		}
		snprintf(last_point, sizeof(last_point), "survivor %llu",
			 (unsigned long long)point);
		killed = run_victim(&fixture, point);
		survivor_goes_on(volume, &fixture, point);
	}
	print_message("# %llu kill points\n", (unsigned long long)point);
	test_detach(volume);
	test_place_remove(&fixture.place);
}

static void test_alone(void **state)
{
	struct fixture fixture = {0};
	struct nv_volume *volume = NULL;
	uint64_t point;
	bool killed = true;

	make_fixture(&fixture);
	for (point = 1; killed && point < 100000; point++) {
		if (skipped("alone", point)) {
			killed = only_test != NULL && point < only_case;
			continue;
		}
		snprintf(last_point, sizeof(last_point), "alone %llu",
			 (unsigned long long)point);
		killed = run_victim(&fixture, point);
		volume = test_attach(&fixture.place);
		survivor_goes_on(volume, &fixture, point);
		test_detach(volume);
	}
	print_message("# %llu kill points\n", (unsigned long long)point);
	test_place_remove(&fixture.place);
}

static void say_how_to_repeat(void)
{
	if (last_point[0] != 0) {
		fprintf(stderr, "# last case: test_native_kill %s\n",
			last_point);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_survivor),
		cmocka_unit_test(test_alone),
	};
	int failed;

	if (argc == 3) {
		only_test = argv[1];
		only_case = strtoull(argv[2], NULL, 0);
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (failed != 0) {
		say_how_to_repeat();
	}
	return failed;
}
