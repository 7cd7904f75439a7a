/*
 * SIGKILL after the n-th instruction of an operation.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The victim is stepped through an operation by ptrace, one instruction after
 * the other, and killed after n of them; n goes up by a stride until the
 * operation ends. After each death a survivor looks whether the operation has
 * happened or not, and goes on.
 *
 * Usage: test_native_step [STRIDE [FIRST]]; a stride of 1 tries every
 * instruction, which takes minutes.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include "helper.h"
#include "volume.h"

static uint64_t stride = 499;
static uint64_t first = 1;

struct fixture {
	struct test_place place;
	nv_file_id left;	/* left and right always agree */
	nv_file_id right;
	nv_file_id file;
};

/* What is stepped through. */
struct operation {
	const char *name;
	void (*run)(struct nv_volume *volume, const struct fixture *fixture,
		    uint64_t value);
};

static void set_both(struct nv_volume *volume, const struct fixture *fixture,
		     uint64_t value)
{
	uint64_t inos[2] = {NV_FILE_INO(fixture->left),
			    NV_FILE_INO(fixture->right)};
	struct nv_disk_inode *inode = NULL;
	struct nv_operation operation;

	assert_ok(nv_operation_begin(volume, &operation, inos, 2, 2, 0));
	assert_ok(nv_inode_modify(&operation, fixture->left, &inode));
	inode->attributes = (uint32_t)value;
	assert_ok(nv_inode_modify(&operation, fixture->right, &inode));
	inode->attributes = (uint32_t)value;
	nv_operation_end(&operation);
}

static void cancel_both(struct nv_volume *volume,
			const struct fixture *fixture, uint64_t value)
{
	uint64_t inos[2] = {NV_FILE_INO(fixture->left),
			    NV_FILE_INO(fixture->right)};
	struct nv_disk_inode *inode = NULL;
	struct nv_operation operation;

	assert_ok(nv_operation_begin(volume, &operation, inos, 2, 2, 0));
	assert_ok(nv_inode_modify(&operation, fixture->left, &inode));
	inode->attributes = (uint32_t)value;
	assert_ok(nv_inode_modify(&operation, fixture->right, &inode));
	inode->attributes = (uint32_t)value + 1;
	nv_operation_cancel(&operation);
}

static void append(struct nv_volume *volume, const struct fixture *fixture,
		   uint64_t value)
{
	static const uint8_t byte = 'x';

	assert_ok(nv_write(volume, fixture->file, value * 8192, &byte, 1,
			   value));
}

static void truncate_file(struct nv_volume *volume,
			  const struct fixture *fixture, uint64_t value)
{
	assert_ok(nv_set_size(volume, fixture->file, 100, value));
}

static void make_and_remove(struct nv_volume *volume,
			    const struct fixture *fixture, uint64_t value)
{
	nv_file_id id = test_object(volume, NV_FILE);

	assert_ok(test_unname(volume, id));
}

static void victim(const struct fixture *fixture,
		   const struct operation *operation, uint64_t value)
{
	struct nv_volume *volume = NULL;

	setenv("CMOCKA_TEST_ABORT", "1", 1);
	volume = test_attach(&fixture->place);
	/* A slot, and filled caches; then a new group, so that pages move. */
	set_both(volume, fixture, value);
	append(volume, fixture, value % 7);
	assert_ok(nv_volume_commit(volume));
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	operation->run(volume, fixture, value + 1);
	_exit(0);
}

/* True if the victim was killed before it was through. */
static bool kill_after(const struct fixture *fixture,
		       const struct operation *operation, uint64_t steps)
{
	pid_t pid = fork();
	int status = 0;
	uint64_t i;

	assert_true(pid >= 0);
	if (pid == 0) {
		victim(fixture, operation, steps * 10);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	for (i = 0; i < steps; i++) {
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL),
				 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status)) {
			assert_int_equal(WEXITSTATUS(status), 0);
			return false;
		}
		assert_true(WIFSTOPPED(status));
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	return true;
}

static void check_both(struct nv_volume *volume, const struct fixture *fixture)
{
	struct nv_info left;
	struct nv_info right;

	assert_ok(nv_get_info(volume, fixture->left, &left));
	assert_ok(nv_get_info(volume, fixture->right, &right));
	assert_int_equal(left.attributes, right.attributes);
}

static void step_through(const struct operation *operation)
{
	struct fixture fixture = {0};
	struct nv_volume *volume = NULL;
	uint64_t steps = first;
	uint64_t kills = 0;

	test_place_make(&fixture.place);
	test_format(&fixture.place, 8, 0);
	volume = test_attach(&fixture.place);
	fixture.left = test_object(volume, NV_FILE);
	fixture.right = test_object(volume, NV_FILE);
	fixture.file = test_object(volume, NV_FILE);
	while (kill_after(&fixture, operation, steps)) {
		check_both(volume, &fixture);
		set_both(volume, &fixture, 5);
		append(volume, &fixture, steps % 11);
		check_both(volume, &fixture);
		test_sound(volume);
		steps += stride;
		kills++;
	}
	print_message("# %s: %llu kills over %llu instructions\n",
		      operation->name, (unsigned long long)kills,
		      (unsigned long long)steps);
	test_detach(volume);
	test_place_remove(&fixture.place);
}

static void test_every_operation(void **state)
{
	static const struct operation operations[] = {
		{"set_both", set_both},
		{"cancel_both", cancel_both},
		{"append", append},
		{"truncate", truncate_file},
		{"make_and_remove", make_and_remove},
	};
	uint32_t i;

	for (i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		print_message("# again: test_native_step %llu %llu\n",
			      (unsigned long long)stride,
			      (unsigned long long)first);
		step_through(&operations[i]);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_operation),
	};

	if (argc > 1) {
		stride = strtoull(argv[1], NULL, 0);
	}
	if (argc > 2) {
		first = strtoull(argv[2], NULL, 0);
	}
	if (stride == 0) {
		fprintf(stderr, "the stride must be at least 1\n");
		return 2;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
