/*
 * File data against a model in memory: one process.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The random test takes a seed as its argument; a failure prints it.
 */

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "extent.h"
#include "helper.h"
#include "volume.h"

#define MODEL_SIZE (3U << 20)

static uint64_t seed = 1;

static int setup(void **state)
{
	struct test_place *place = calloc(1, sizeof(*place));

	test_place_make(place);
	*state = place;
	return 0;
}

static int teardown(void **state)
{
	test_place_remove(*state);
	free(*state);
	return 0;
}

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

struct model {
	nv_file_id id;
	uint64_t size;
	uint8_t *bytes;		/* MODEL_SIZE; zero behind size */
};

static void compare(struct nv_volume *volume, struct model *model,
		    uint8_t *buffer)
{
	struct nv_info info;
	size_t done = 0;

	assert_ok(nv_get_info(volume, model->id, &info));
	assert_true(info.size == model->size);
	assert_ok(nv_read(volume, model->id, 0, buffer, MODEL_SIZE, &done));
	assert_true(done == model->size);
	assert_memory_equal(buffer, model->bytes, done);
}

static uint64_t random_offset(void)
{
	switch (next_random() % 4) {
	case 0:
		return next_random() % 600;
	case 1:
		return (next_random() % 700) * 4096;
	case 2:
		return next_random() % (MODEL_SIZE / 2);
	default:
		return next_random() % 20000;
	}
}

static uint64_t random_length(void)
{
	switch (next_random() % 4) {
	case 0:
		return next_random() % 200;
	case 1:
		return 4096;
	case 2:
		return next_random() % 300000;
	default:
		return next_random() % 9000;
	}
}

static void one_step(struct nv_volume *volume, struct model *model,
		     uint8_t *buffer)
{
	uint64_t offset = random_offset();
	uint64_t length = random_length();
	uint64_t what = next_random() % 10;
	uint64_t end;

	if (offset + length > MODEL_SIZE) {
		length = MODEL_SIZE - offset;
	}
	end = offset + length;
	if (what < 6) {
		test_pattern(model->id, next_random(), offset, buffer, length);
		assert_ok(nv_write(volume, model->id, offset, buffer, length,
				   what));
		memcpy(model->bytes + offset, buffer, length);
		if (length > 0 && end > model->size) {
			model->size = end;
		}
	} else if (what == 6) {
		assert_ok(nv_set_size(volume, model->id, offset, 0));
		if (offset < model->size) {
			memset(model->bytes + offset, 0,
			       model->size - offset);
		}
		model->size = offset;
	} else if (what == 7) {
		assert_ok(nv_punch(volume, model->id, offset, length, 0));
		memset(model->bytes + offset, 0, length);
	} else if (what == 8) {
		assert_ok(nv_zero_range(volume, model->id, offset, length,
					0));
		memset(model->bytes + offset, 0, length);
	} else if (model->size + length <= MODEL_SIZE) {
		assert_ok(nv_set_allocation(volume, model->id,
					    model->size + length));
	}
}

static void random_steps(const struct test_place *place, uint32_t inode_size,
			 uint32_t steps)
{
	struct nv_volume *volume = NULL;
	struct model model[3] = {{0}};
	uint8_t *buffer = malloc(MODEL_SIZE);
	uint32_t step;
	uint32_t i;

	test_format(place, 32, inode_size);
	volume = test_attach(place);
	for (i = 0; i < 3; i++) {
		model[i].id = test_object(volume, NV_FILE);
		model[i].bytes = calloc(1, MODEL_SIZE);
	}
	for (step = 0; step < steps; step++) {
		i = (uint32_t)(next_random() % 3);
		one_step(volume, &model[i], buffer);
		if (step % 7 == 0) {
			compare(volume, &model[i], buffer);
		}
		if (step % 23 == 0) {
			assert_ok(nv_volume_commit(volume));
		}
		if (step % 201 == 0) {
			test_detach(volume);
			volume = test_attach(place);
		}
	}
	for (i = 0; i < 3; i++) {
		compare(volume, &model[i], buffer);
	}
	test_sound(volume);
	for (i = 0; i < 3; i++) {
		assert_ok(test_unname(volume, model[i].id));
		free(model[i].bytes);
	}
	test_sound(volume);
	assert_int_equal(nv_bits_count(volume, NV_BITMAP_BLOCKS, 8192), 0);
	test_detach(volume);
	free(buffer);
}

static void test_random_against_model(void **state)
{
	uint64_t first = seed;
	uint32_t i;

	for (i = 0; i < 6; i++) {
		seed = first + i;
		print_message("# again: test_native_data %llu\n",
			      (unsigned long long)seed);
		seed *= UINT64_C(0x9e3779b97f4a7c15);
		random_steps(*state, 256U << (i % 5), 800);
	}
}

static void test_many_extents(void **state)
{
	struct nv_volume *volume = NULL;
	uint8_t block[4096];
	uint8_t got[4096];
	struct nv_info info;
	nv_file_id id;
	size_t done = 0;
	uint32_t count = 3000;
	uint32_t i;

	test_format(*state, 64, 0);
	volume = test_attach(*state);
	id = test_object(volume, NV_FILE);
	/* Every other block, from the end to the start: all are extents. */
	for (i = count; i > 0; i--) {
		test_pattern(id, 0, i, block, sizeof(block));
		assert_ok(nv_write(volume, id, (uint64_t)i * 8192, block,
				   sizeof(block), 0));
	}
	assert_ok(nv_get_info(volume, id, &info));
	assert_int_equal(info.allocation, count * 4096);
	test_sound(volume);
	for (i = 1; i <= count; i += 37) {
		assert_ok(nv_read(volume, id, (uint64_t)i * 8192, got,
				  sizeof(got), &done));
		test_pattern(id, 0, i, block, sizeof(block));
		assert_memory_equal(block, got, sizeof(got));
	}
	test_detach(volume);
	volume = test_attach(*state);
	/* Fill the gaps: they join. */
	for (i = 0; i < count; i++) {
		assert_ok(nv_write(volume, id, (uint64_t)i * 8192 + 4096,
				   block, sizeof(block), 0));
	}
	test_sound(volume);
	for (i = 1; i <= count; i += 37) {
		assert_ok(nv_read(volume, id, (uint64_t)i * 8192, got,
				  sizeof(got), &done));
		test_pattern(id, 0, i, block, sizeof(block));
		assert_memory_equal(block, got, sizeof(got));
	}
	assert_ok(nv_set_size(volume, id, 5, 0));
	assert_ok(nv_get_info(volume, id, &info));
	assert_int_equal(info.allocation, 0);
	test_sound(volume);
	test_detach(volume);
}

static void test_huge_sizes(void **state)
{
	struct nv_volume *volume = NULL;
	struct nv_range range[4];
	struct nv_info info;
	nv_file_id id;
	uint8_t byte = 0;
	size_t done = 0;
	uint32_t returned = 0;
	const uint64_t size = UINT64_C(6) << 30;

	test_format(*state, 16, 0);
	volume = test_attach(*state);
	id = test_object(volume, NV_FILE);
	assert_ok(nv_set_size(volume, id, size, 5));
	assert_ok(nv_get_info(volume, id, &info));
	assert_true(info.size == size);
	assert_int_equal(info.allocation, 0);
	assert_int_equal(info.last_write_time, 5);
	assert_ok(nv_write(volume, id, size - 1, "z", 1, 0));
	assert_ok(nv_read(volume, id, size - 1, &byte, 1, &done));
	assert_int_equal(byte, 'z');
	assert_ok(nv_allocated_ranges(volume, id, 0, UINT64_MAX, range, 4,
				      &returned));
	assert_int_equal(returned, 1);
	assert_true(range[0].offset == size - 4096);
	assert_true(range[0].length == 4096);
	assert_ok(nv_set_size(volume, id, NV_MAX_FILE_SIZE, 0));
	assert_status(nv_set_size(volume, id, NV_MAX_FILE_SIZE + 1, 0),
		      NV_ERR_TOO_LARGE);
	assert_ok(nv_write(volume, id, NV_MAX_FILE_SIZE - 1, "y", 1, 0));
	assert_status(nv_write(volume, id, NV_MAX_FILE_SIZE, "y", 1, 0),
		      NV_ERR_TOO_LARGE);
	assert_ok(nv_read(volume, id, NV_MAX_FILE_SIZE - 1, &byte, 1, &done));
	assert_int_equal(byte, 'y');
	assert_ok(nv_set_size(volume, id, 0, 0));
	test_sound(volume);
	test_detach(volume);
}

static void test_full_volume(void **state)
{
	struct nv_volume_statistics before;
	struct nv_volume_statistics after;
	struct nv_volume *volume = NULL;
	uint8_t *buffer = calloc(1, 1 << 20);
	nv_file_id id[64];
	enum nv_status status = NV_OK;
	uint32_t count = 0;
	uint32_t round;
	uint32_t i;

	test_format(*state, 16, 0);
	volume = test_attach(*state);
	assert_ok(nv_volume_statistics(volume, &before));
	for (round = 0; round < 4; round++) {
		for (count = 0; count < 64; count++) {
			id[count] = test_object(volume, NV_FILE);
			status = nv_write(volume, id[count], 0, buffer,
					  1 << 20, 0);
			if (status != NV_OK) {
				count++;
				break;
			}
		}
		assert_status(status, NV_ERR_NO_SPACE);
		assert_true(count >= 13);
		test_sound(volume);
		/* Deleting always works. */
		for (i = 0; i < count; i++) {
			assert_ok(test_unname(volume, id[i]));
		}
		assert_ok(nv_volume_commit(volume));
		test_sound(volume);
	}
	assert_ok(nv_volume_commit(volume));
	assert_ok(nv_volume_statistics(volume, &after));
	assert_int_equal(after.data_blocks, 0);
	assert_true(after.free_blocks + 400 > before.free_blocks);
	test_detach(volume);
	free(buffer);
}

static void test_appenders_get_long_runs(void **state)
{
	struct nv_volume *volume = NULL;
	const struct nv_disk_inode *inode = NULL;
	uint8_t *buffer = calloc(1, 65536);
	nv_file_id id[8];
	uint32_t round;
	uint32_t i;

	test_format(*state, 512, 0);
	volume = test_attach(*state);
	for (i = 0; i < 8; i++) {
		id[i] = test_object(volume, NV_FILE);
	}
	for (round = 0; round < 320; round++) {
		for (i = 0; i < 8; i++) {
			assert_ok(nv_write(volume, id[i],
					   (uint64_t)round * 65536, buffer,
					   65536, 0));
		}
	}
	for (i = 0; i < 8; i++) {
		assert_ok(nv_inode_read(volume, id[i], &inode));
		assert_in_range(inode->extent_count, 1, 3);
	}
	test_sound(volume);
	test_detach(volume);
	free(buffer);
}

static void append_from_a_process(const struct test_place *place,
				  nv_file_id id)
{
	struct nv_volume *volume = test_attach(place);
	uint8_t *buffer = calloc(1, 65536);
	uint32_t i;

	for (i = 0; i < 320; i++) {
		assert_ok(nv_write(volume, id, (uint64_t)i * 65536, buffer,
				   65536, 1));
	}
	test_detach(volume);
	free(buffer);
}

/* Eight writers, 20 MiB each, at the same time. */
static void test_appending_processes_get_long_runs(void **state)
{
	const struct nv_disk_inode *inode = NULL;
	struct nv_volume *volume = NULL;
	nv_file_id id[8];
	pid_t pid[8];
	uint32_t i;

	test_format(*state, 512, 0);
	volume = test_attach(*state);
	for (i = 0; i < 8; i++) {
		id[i] = test_object(volume, NV_FILE);
	}
	for (i = 0; i < 8; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (pid[i] == 0) {
			setenv("CMOCKA_TEST_ABORT", "1", 1);
			append_from_a_process(*state, id[i]);
			_exit(0);
		}
	}
	for (i = 0; i < 8; i++) {
		int status = 0;

		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	for (i = 0; i < 8; i++) {
		assert_ok(nv_inode_read(volume, id[i], &inode));
		assert_true(inode->size == 20 << 20);
		assert_in_range(inode->extent_count, 1, 3);
	}
	test_sound(volume);
	test_detach(volume);
}

static void test_windows_are_stolen_before_no_space(void **state)
{
	struct nv_volume *volume = NULL;
	uint8_t *buffer = calloc(1, 1 << 20);
	nv_file_id id;
	uint32_t i;

	test_format(*state, 16, 0);
	volume = test_attach(*state);
	id = test_object(volume, NV_FILE);
	/* A window of half the volume, hardly used. */
	assert_ok(nv_set_window(volume, id, 8 << 20));
	assert_ok(nv_write(volume, id, 0, buffer, 1 << 20, 0));
	id = test_object(volume, NV_FILE);
	for (i = 0; i < 12; i++) {
		assert_ok(nv_write(volume, id, (uint64_t)i << 20, buffer,
				   1 << 20, 0));
	}
	test_sound(volume);
	test_detach(volume);
	free(buffer);
}

static void test_small_files_lie_in_order(void **state)
{
	struct nv_volume *volume = NULL;
	struct nv_disk_extent extent;
	const struct nv_disk_inode *inode = NULL;
	uint8_t buffer[6000] = {0};
	uint64_t last = 0;
	uint32_t breaks = 0;
	uint32_t i;

	test_format(*state, 512, 0);
	volume = test_attach(*state);
	for (i = 0; i < 50000; i++) {
		nv_file_id id = test_object(volume, NV_FILE);

		assert_ok(nv_write(volume, id, 0, buffer, sizeof(buffer), 0));
		nv_done_writing(volume, id);
		assert_ok(nv_inode_read(volume, id, &inode));
		assert_int_equal(inode->extent_count, 1);
		assert_ok(nv_extent_seek(volume, inode, 0, &extent));
		if (extent.block != last) {
			breaks++;
		}
		last = extent.block + 2;
	}
	/* One for each 128 files at most: where a window ends. */
	print_message("# %u breaks\n", breaks);
	assert_in_range(breaks, 1, 50000 / 128 + 10);
	test_detach(volume);
}

static void test_interrupted_truncation_is_finished(void **state)
{
	struct nv_disk_inode *inode = NULL;
	struct nv_volume *volume = NULL;
	struct nv_operation operation;
	struct nv_info info;
	uint8_t block[4096] = {1};
	nv_file_id id;
	uint64_t ino;
	uint32_t i;

	test_format(*state, 8, 0);
	volume = test_attach(*state);
	id = test_object(volume, NV_FILE);
	for (i = 0; i < 40; i++) {
		assert_ok(nv_write(volume, id, (uint64_t)i * 8192, block, 4096,
				   0));
	}
	/* What the first operation of a truncation leaves. */
	ino = NV_FILE_INO(id);
	assert_ok(nv_operation_begin(volume, &operation, &ino, 1, 1, 0));
	assert_ok(nv_inode_modify(&operation, id, &inode));
	inode->size = 10000;
	inode->flags |= NV_INODE_ORPHAN;
	assert_ok(nv_bits_change(&operation, NV_BITMAP_ORPHANS, ino, 1,
				 true));
	nv_operation_end(&operation);
	test_detach(volume);

	volume = test_attach(*state);
	assert_ok(nv_get_info(volume, id, &info));
	assert_int_equal(info.size, 10000);
	assert_int_equal(info.allocation, 2 * 4096);
	test_sound(volume);
	test_detach(volume);
}

static void test_held_object_stays(void **state)
{
	struct nv_volume *volume = NULL;
	struct nv_info info;
	uint8_t block[4096] = {1};
	nv_file_id id;

	test_format(*state, 8, 0);
	volume = test_attach(*state);
	id = test_object(volume, NV_FILE);
	assert_ok(nv_write(volume, id, 0, block, 4096, 0));
	assert_ok(nv_hold(volume, id));
	assert_ok(nv_hold(volume, id));
	assert_ok(test_unname(volume, id));
	assert_ok(nv_get_info(volume, id, &info));
	assert_int_equal(info.nlink, 0);
	assert_ok(nv_release(volume, id));
	assert_ok(nv_write(volume, id, 4096, block, 4096, 0));
	assert_ok(nv_release(volume, id));
	assert_status(nv_get_info(volume, id, &info), NV_ERR_NOT_FOUND);
	assert_status(nv_release(volume, id), NV_ERR_NOT_FOUND);
	test_sound(volume);

	/* Detaching releases. */
	id = test_object(volume, NV_FILE);
	assert_ok(nv_hold(volume, id));
	assert_ok(test_unname(volume, id));
	test_detach(volume);
	volume = test_attach(*state);
	assert_status(nv_get_info(volume, id, &info), NV_ERR_NOT_FOUND);
	test_sound(volume);
	test_detach(volume);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(test_random_against_model),
		CASE(test_many_extents),
		CASE(test_huge_sizes),
		CASE(test_full_volume),
		CASE(test_appenders_get_long_runs),
		CASE(test_appending_processes_get_long_runs),
		CASE(test_windows_are_stolen_before_no_space),
		CASE(test_small_files_lie_in_order),
		CASE(test_interrupted_truncation_is_finished),
		CASE(test_held_object_stays),
	};

	if (argc > 1) {
		seed = strtoull(argv[1], NULL, 0);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
