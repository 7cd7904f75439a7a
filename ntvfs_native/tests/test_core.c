/*
 * Volume, pages, operations, inodes: one process.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "helper.h"
#include "volume.h"

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

static void test_format_and_attach(void **state)
{
	struct nv_volume_statistics statistics;
	struct nv_volume *volume = NULL;
	struct nv_info info;

	test_format(*state, 4, 0);
	volume = test_attach(*state);
	assert_ok(nv_volume_statistics(volume, &statistics));
	assert_int_equal(statistics.total_blocks, 1024);
	assert_int_equal(statistics.inode_size, 512);
	assert_int_equal(statistics.inodes, 1);
	assert_int_equal(statistics.data_blocks, 0);
	assert_int_equal(NV_FILE_INO(statistics.root_directory), NV_ROOT_INO);
	assert_ok(nv_get_info(volume, statistics.root_directory, &info));
	assert_int_equal(info.type, NV_DIRECTORY);
	assert_int_equal(nv_volume_upcase(volume)['a'], 'A');
	assert_int_equal(nv_volume_upcase(volume)[0xe4], 0xc4);
	assert_int_equal(nv_volume_upcase(volume)[0xd800], 0xd800);
	test_sound(volume);
	test_detach(volume);
}

static void test_inode_sizes(void **state)
{
	uint32_t size;

	for (size = 256; size <= 4096; size *= 2) {
		struct nv_volume *volume = NULL;
		struct nv_info info;
		nv_file_id id;

		test_format(*state, 8, size);
		volume = test_attach(*state);
		id = test_object(volume, NV_FILE);
		test_detach(volume);
		volume = test_attach(*state);
		assert_ok(nv_get_info(volume, id, &info));
		test_sound(volume);
		test_detach(volume);
	}
}

static void test_times_are_independent(void **state)
{
	static const uint32_t masks[] = {
		NV_INFO_CREATION_TIME, NV_INFO_LAST_ACCESS_TIME,
		NV_INFO_LAST_WRITE_TIME, NV_INFO_CHANGE_TIME,
	};
	struct nv_volume *volume = NULL;
	struct nv_info wanted = {0};
	struct nv_info info;
	nv_file_id id;
	uint32_t i;

	test_format(*state, 4, 0);
	volume = test_attach(*state);
	id = test_object(volume, NV_FILE);
	for (i = 0; i < 16; i++) {
		struct nv_info set = {
			.creation_time = i * 10 + 1,
			.last_access_time = i * 10 + 2,
			.last_write_time = i * 10 + 3,
			.change_time = i * 10 + 4,
		};
		uint32_t mask = 0;
		uint32_t bit;

		for (bit = 0; bit < 4; bit++) {
			if ((i >> bit & 1) != 0) {
				mask |= masks[bit];
			}
		}
		if ((mask & NV_INFO_CREATION_TIME) != 0) {
			wanted.creation_time = set.creation_time;
		}
		if ((mask & NV_INFO_LAST_ACCESS_TIME) != 0) {
			wanted.last_access_time = set.last_access_time;
		}
		if ((mask & NV_INFO_LAST_WRITE_TIME) != 0) {
			wanted.last_write_time = set.last_write_time;
		}
		if ((mask & NV_INFO_CHANGE_TIME) != 0) {
			wanted.change_time = set.change_time;
		}
		assert_ok(nv_set_info(volume, id, mask, &set));
		assert_ok(nv_get_info(volume, id, &info));
		assert_int_equal(info.creation_time, wanted.creation_time);
		assert_int_equal(info.last_access_time,
				 wanted.last_access_time);
		assert_int_equal(info.last_write_time,
				 wanted.last_write_time);
		assert_int_equal(info.change_time, wanted.change_time);
	}
	test_detach(volume);
}

static void test_cancel_restores_everything(void **state)
{
	struct nv_disk_inode *inode = NULL;
	struct nv_volume_statistics before;
	struct nv_volume_statistics after;
	struct nv_volume *volume = NULL;
	struct nv_operation operation;
	struct nv_info info;
	void *content = NULL;
	nv_file_id id;
	nv_file_id other = 0;
	uint64_t inos[2];
	uint64_t page = 0;
	uint64_t kept = 0;

	test_format(*state, 4, 0);
	volume = test_attach(*state);
	id = test_object(volume, NV_FILE);
	inos[0] = NV_FILE_INO(id);
	assert_ok(nv_operation_begin(volume, &operation, inos, 1, 4, 0));
	assert_ok(nv_node_new(&operation, NV_KIND_EA, 0, id, &kept,
			      &content));
	memset((uint8_t *)content + 100, 'x', 50);
	nv_operation_end(&operation);
	assert_ok(nv_volume_commit(volume));

	assert_ok(nv_volume_statistics(volume, &before));
	assert_ok(nv_inode_reserve(volume, &other));
	inos[1] = NV_FILE_INO(other);
	assert_ok(nv_operation_begin(volume, &operation, inos, 2, 10, 0));
	assert_ok(nv_inode_modify(&operation, id, &inode));
	inode->attributes = 77;
	assert_ok(nv_inode_new(&operation, other, NV_FILE, &inode));
	assert_ok(nv_page_modify(&operation, kept, 100, 50, &content));
	memset((uint8_t *)content + 100, 'y', 50);
	assert_ok(nv_node_new(&operation, NV_KIND_EA, 0, id, &page,
			      &content));
	assert_ok(nv_node_free(&operation, kept));
	assert_ok(nv_node_free(&operation, page));
	nv_operation_cancel(&operation);
	nv_inode_unreserve(volume, other);

	assert_ok(nv_get_info(volume, id, &info));
	assert_int_equal(info.attributes, 0);
	assert_status(nv_get_info(volume, other, &info), NV_ERR_NOT_FOUND);
	assert_ok(nv_node_read(volume, kept, NV_KIND_EA, id,
			       (const void **)&content));
	assert_int_equal(((uint8_t *)content)[100], 'x');
	assert_int_equal(((uint8_t *)content)[149], 'x');
	assert_status(nv_page_read(volume, page, (const void **)&content),
		      NV_ERR_NOT_FOUND);
	assert_ok(nv_volume_statistics(volume, &after));
	assert_int_equal(after.inodes, before.inodes);
	test_sound(volume);
	test_detach(volume);

	volume = test_attach(*state);
	assert_ok(nv_node_read(volume, kept, NV_KIND_EA, id,
			       (const void **)&content));
	assert_int_equal(((uint8_t *)content)[100], 'x');
	test_sound(volume);
	test_detach(volume);
}

static void test_ids_are_never_reused(void **state)
{
	struct nv_volume *volume = NULL;
	struct nv_info info;
	nv_file_id seen[300];
	uint32_t i;
	uint32_t j;

	test_format(*state, 4, 0);
	volume = test_attach(*state);
	for (i = 0; i < 300; i++) {
		seen[i] = test_object(volume, NV_FILE);
		for (j = 0; j < i; j++) {
			assert_true(seen[i] != seen[j]);
		}
		assert_ok(test_unname(volume, seen[i]));
		assert_status(nv_get_info(volume, seen[i], &info),
			      NV_ERR_NOT_FOUND);
		if (i % 50 == 0) {
			test_detach(volume);
			volume = test_attach(*state);
		}
	}
	test_sound(volume);
	test_detach(volume);
}

static void test_many_groups(void **state)
{
	struct nv_volume_statistics statistics;
	struct nv_volume *volume = NULL;
	nv_file_id id[64];
	struct nv_info info = {0};
	uint64_t free_blocks = 0;
	uint32_t round;
	uint32_t i;

	test_format(*state, 4, 0);
	volume = test_attach(*state);
	for (i = 0; i < 64; i++) {
		id[i] = test_object(volume, NV_FILE);
	}
	for (round = 1; round <= 200; round++) {
		for (i = 0; i < 64; i++) {
			info.attributes = round * 64 + i;
			assert_ok(nv_set_info(volume, id[i],
					      NV_INFO_ATTRIBUTES, &info));
		}
		assert_ok(nv_volume_commit(volume));
		assert_ok(nv_volume_statistics(volume, &statistics));
		assert_int_equal(statistics.durable_group + 1,
				 statistics.open_group);
		/* Copying on write gives back what it takes. */
		if (round == 20) {
			free_blocks = statistics.free_blocks;
		}
		if (round > 20) {
			assert_true(statistics.free_blocks + 4 >=
				    free_blocks);
		}
	}
	test_sound(volume);
	test_detach(volume);
	volume = test_attach(*state);
	for (i = 0; i < 64; i++) {
		assert_ok(nv_get_info(volume, id[i], &info));
		assert_int_equal(info.attributes, 200 * 64 + i);
	}
	test_detach(volume);
}

static void test_map_of_two_levels(void **state)
{
	struct nv_volume *volume = NULL;
	nv_file_id *id = NULL;
	struct nv_info info;
	uint32_t count = 6000;
	uint32_t i;

	id = calloc(count, sizeof(*id));
	test_format(*state, 16, 0);
	volume = test_attach(*state);
	for (i = 0; i < count; i++) {
		info.attributes = i;
		id[i] = test_object(volume, NV_FILE);
		assert_ok(nv_set_info(volume, id[i], NV_INFO_ATTRIBUTES,
				      &info));
		if (i % 1500 == 0) {
			assert_ok(nv_volume_commit(volume));
		}
	}
	test_sound(volume);
	test_detach(volume);
	volume = test_attach(*state);
	for (i = 0; i < count; i++) {
		assert_ok(nv_get_info(volume, id[i], &info));
		assert_int_equal(info.attributes, i);
	}
	test_sound(volume);
	test_detach(volume);
	free(id);
}

static void overwrite(const struct test_place *place, uint64_t offset,
		      uint8_t mask)
{
	uint8_t byte = 0;
	int fd = open(place->image, O_RDWR);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, (off_t)offset), 1);
	byte ^= mask;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)offset), 1);
	close(fd);
}

static void test_attach_refuses(void **state)
{
	struct test_place *place = *state;
	struct nv_volume *volume = NULL;
	char message[NV_MESSAGE_SIZE] = "";

	test_format(place, 4, 0);
	/* Damaged super block, damaged roots, wrong magic. */
	overwrite(place, 33, 1);
	assert_status(test_try_attach(place, 0, &volume, message),
		      NV_ERR_CORRUPT);
	assert_non_null(strstr(message, "super block is damaged"));
	overwrite(place, 33, 1);
	overwrite(place, 4096 + 20, 1);
	overwrite(place, 8192 + 20, 1);
	assert_status(test_try_attach(place, 0, &volume, message),
		      NV_ERR_CORRUPT);
	overwrite(place, 4096 + 20, 1);
	overwrite(place, 8192 + 20, 1);
	overwrite(place, 0, 1);
	assert_status(test_try_attach(place, 0, &volume, message),
		      NV_ERR_NOT_A_VOLUME);
	overwrite(place, 0, 1);
	overwrite(place, 8, 2);
	assert_status(test_try_attach(place, 0, &volume, message),
		      NV_ERR_VERSION);
	overwrite(place, 8, 2);
	volume = test_attach(place);
	test_detach(volume);

	/* One damaged root: the other one counts. */
	overwrite(place, 4096 + 20, 1);
	volume = test_attach(place);
	test_sound(volume);
	test_detach(volume);

	/* Shrunk. */
	assert_int_equal(truncate(place->image, 4000000), 0);
	assert_true(test_try_attach(place, 0, &volume, message) != NV_OK);
	assert_int_equal(truncate(place->image, 4 << 20), 0);

	/* Formatting what is attached. */
	test_format(place, 4, 0);
	volume = test_attach(place);
	{
		struct nv_io *io = NULL;

		assert_int_equal(nv_io_open(place->image, false, &io), 0);
		assert_status(nv_volume_format(io, NULL), NV_ERR_IN_USE);
		io->ops->close(io);
	}
	test_detach(volume);
}

static void test_bad_page_withdraws(void **state)
{
	struct test_place *place = *state;
	struct nv_volume *volume = NULL;
	struct nv_info info = {0};
	nv_file_id id;
	uint64_t block;

	test_format(place, 4, 0);
	volume = test_attach(place);
	id = test_object(volume, NV_FILE);
	assert_ok(nv_volume_commit(volume));
	block = atomic_load(&nv_entry_at(volume, NV_PAGE(
		NV_REGION_INODES, NV_FILE_INO(id) / 8))->current);
	test_detach(volume);

	overwrite(place, (block << 12) + 4000, 0x10);
	volume = test_attach(place);
	assert_status(nv_get_info(volume, id, &info), NV_ERR_CORRUPT);
	assert_status(nv_set_info(volume, id, 0, &info), NV_ERR_WITHDRAWN);
	assert_status(nv_volume_commit(volume), NV_ERR_WITHDRAWN);
	assert_non_null(strstr(volume->segment->reason, "checksum"));
	assert_status(nv_volume_detach(volume), NV_ERR_WITHDRAWN);
}

static void test_items(void **state)
{
	union {
		struct nv_disk_inode inode;
		uint8_t bytes[512];
	} u = {0};
	uint8_t payload[512];
	const uint8_t *found = NULL;
	uint32_t length = 0;
	uint32_t room;

	memset(payload, 'p', sizeof(payload));
	u.inode.fixed_size = sizeof(u.inode);
	room = nv_item_room(&u.inode, 512, NV_ITEM_DATA);
	assert_int_equal(room, 512 - 192 - 8);
	assert_true(nv_item_set(&u.inode, 512, NV_ITEM_DATA, payload, room));
	assert_false(nv_item_set(&u.inode, 512, NV_ITEM_EA, payload, 1));
	assert_true(nv_item_set(&u.inode, 512, NV_ITEM_DATA, payload, 100));
	assert_true(nv_item_set(&u.inode, 512, NV_ITEM_EA, payload, 33));
	assert_true(nv_item_set(&u.inode, 512, NV_ITEM_EXTENTS, "abcdefgh",
				8));
	assert_true(nv_items_valid(&u.inode, 512));
	found = nv_item_find(&u.inode, 512, NV_ITEM_EXTENTS, &length);
	assert_int_equal(length, 8);
	assert_memory_equal(found, "abcdefgh", 8);
	/* Growing keeps the front and zeroes the new part. */
	assert_true(nv_item_set(&u.inode, 512, NV_ITEM_EXTENTS, NULL, 16));
	found = nv_item_find(&u.inode, 512, NV_ITEM_EXTENTS, &length);
	assert_memory_equal(found, "abcdefgh\0\0\0\0\0\0\0\0", 16);
	found = nv_item_find(&u.inode, 512, NV_ITEM_DATA, &length);
	assert_int_equal(length, 100);
	assert_memory_equal(found, payload, 100);
	assert_true(nv_item_set(&u.inode, 512, NV_ITEM_EA, NULL, 0));
	assert_true(nv_item_set(&u.inode, 512, NV_ITEM_EXTENTS, NULL, 0));
	assert_true(nv_item_set(&u.inode, 512, NV_ITEM_DATA, NULL, 0));
	for (length = sizeof(u.inode); length < 512; length++) {
		assert_int_equal(u.bytes[length], 0);
	}
}

static void test_other_machine_and_other_places(void **state)
{
	struct test_place *place = *state;
	struct nv_attach_params params = {
		.segment_directory = "/nonexistent",
	};
	struct nv_volume *volume = NULL;
	char message[NV_MESSAGE_SIZE] = "";
	struct nv_disk_super super;
	struct nv_disk_root root;
	struct nv_info info = {0};
	struct nv_io *io = NULL;
	nv_file_id id;

	test_format(place, 4, 0);
	/* A root of another machine that has it attached, or had. */
	assert_int_equal(nv_io_open(place->image, false, &io), 0);
	assert_int_equal(io->ops->pread(io, &super, sizeof(super), 0), 0);
	assert_ok(nv_root_find(io, &super, &root));
	root.state = NV_STATE_ATTACHED;
	memset(root.machine_id, 0x77, 16);
	assert_ok(nv_root_write(io, &root));
	io->ops->close(io);
	assert_status(test_try_attach(place, 0, &volume, message),
		      NV_ERR_IN_USE);
	assert_non_null(strstr(message, "another machine"));
	assert_ok(test_try_attach(place, NV_ATTACH_FORCE, &volume, message));
	id = test_object(volume, NV_FILE);
	test_detach(volume);

	/* No place for the segment. */
	assert_int_equal(nv_io_open(place->image, false, &io), 0);
	assert_status(nv_volume_attach(io, &params, &volume, message),
		      NV_ERR_SEGMENT);
	assert_non_null(strstr(message, "/nonexistent"));
	io->ops->close(io);

	/* Reading only. */
	assert_ok(test_try_attach(place, NV_ATTACH_READ_ONLY, &volume,
				  message));
	assert_ok(nv_get_info(volume, id, &info));
	assert_status(nv_set_info(volume, id, 0, &info), NV_ERR_READ_ONLY);
	assert_status(nv_write(volume, id, 0, "x", 1, 0), NV_ERR_READ_ONLY);
	test_detach(volume);
}

static void child_of_fork(struct nv_volume *volume, nv_file_id id,
			  const struct test_place *place)
{
	struct nv_volume *own = NULL;
	struct nv_info info = {0};

	setenv("CMOCKA_TEST_ABORT", "1", 1);
	assert_status(nv_get_info(volume, id, &info), NV_ERR_NO_SLOT);
	assert_status(nv_set_info(volume, id, 0, &info), NV_ERR_NO_SLOT);
	assert_status(nv_write(volume, id, 0, "x", 1, 0), NV_ERR_NO_SLOT);
	assert_ok(nv_volume_detach(volume));
	own = test_attach(place);
	info.attributes = 99;
	assert_ok(nv_set_info(own, id, NV_INFO_ATTRIBUTES, &info));
	test_detach(own);
}

static void test_fork_does_not_attach(void **state)
{
	struct test_place *place = *state;
	struct nv_volume *volume = NULL;
	struct nv_info info = {0};
	nv_file_id id;
	int status = 0;
	pid_t pid;

	test_format(place, 4, 0);
	volume = test_attach(place);
	id = test_object(volume, NV_FILE);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		child_of_fork(volume, id, place);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* Our slot is still ours: nobody takes us for dead. */
	nv_slots_bury(volume);
	assert_int_equal(atomic_load(&volume->segment->recovered_slots), 0);
	assert_ok(nv_get_info(volume, id, &info));
	assert_int_equal(info.attributes, 99);
	assert_ok(nv_set_info(volume, id, NV_INFO_ATTRIBUTES, &info));
	test_sound(volume);
	test_detach(volume);
}

/* Two volumes of different shape, and attaching again and again. */
static void test_two_volumes(void **state)
{
	struct test_place *place = *state;
	struct test_place other = {{0}};
	struct nv_volume *first = NULL;
	struct nv_volume *second = NULL;
	uint32_t i;

	test_place_make(&other);
	test_format(place, 4, 256);
	test_format(&other, 8, 1024);
	for (i = 0; i < 50; i++) {
		first = test_attach(place);
		second = test_attach(&other);
		test_object(first, NV_FILE);
		test_object(second, NV_FILE);
		test_sound(first);
		test_detach(first);
		test_sound(second);
		test_detach(second);
	}
	test_place_remove(&other);
}

static void test_grow(void **state)
{
	struct test_place *place = *state;
	struct nv_volume_statistics statistics;
	struct nv_volume *volume = NULL;
	struct nv_volume *other = NULL;
	uint8_t *buffer = calloc(1, 1 << 20);
	nv_file_id id;
	size_t done = 0;
	uint32_t i;

	test_format(place, 4, 0);
	volume = test_attach(place);
	other = test_attach(place);
	assert_ok(nv_volume_grow(volume));
	assert_int_equal(truncate(place->image, (40 << 20) + 5000), 0);
	assert_ok(nv_volume_grow(volume));
	assert_ok(nv_volume_statistics(other, &statistics));
	assert_int_equal(statistics.total_blocks, 10241);
	id = test_object(other, NV_FILE);
	for (i = 0; i < 30; i++) {
		memset(buffer, (int)i, 1 << 20);
		assert_ok(nv_write(other, id, (uint64_t)i << 20, buffer,
				   1 << 20, 0));
	}
	for (i = 0; i < 30; i++) {
		assert_ok(nv_read(volume, id, (uint64_t)i << 20, buffer,
				  1 << 20, &done));
		assert_int_equal(buffer[4711], i);
	}
	test_sound(volume);
	test_detach(other);
	test_detach(volume);
	volume = test_attach(place);
	assert_ok(nv_volume_statistics(volume, &statistics));
	assert_int_equal(statistics.total_blocks, 10241);
	test_sound(volume);
	test_detach(volume);
	free(buffer);
}

static void test_image_goes_away(void **state)
{
	struct test_place *place = *state;
	struct nv_volume *volume = NULL;
	struct nv_info info = {0};
	nv_file_id id[400];
	uint32_t i;

	test_format(place, 4, 0);
	volume = test_attach(place);
	for (i = 0; i < 400; i++) {
		id[i] = test_object(volume, NV_FILE);
	}
	assert_ok(nv_volume_commit(volume));
	assert_int_equal(truncate(place->image, 8192), 0);
	for (i = 0; i < 400; i++) {
		/* Whatever it says, it does not end the process. */
		nv_get_info(volume, id[i], &info);
	}
	assert_status(nv_set_info(volume, id[0], 0, &info),
		      NV_ERR_WITHDRAWN);
	assert_non_null(strstr(volume->segment->reason, "SIGBUS"));
	assert_status(nv_volume_commit(volume), NV_ERR_WITHDRAWN);
	assert_status(nv_volume_detach(volume), NV_ERR_WITHDRAWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_items),
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(test_format_and_attach),
		CASE(test_inode_sizes),
		CASE(test_times_are_independent),
		CASE(test_cancel_restores_everything),
		CASE(test_ids_are_never_reused),
		CASE(test_many_groups),
		CASE(test_map_of_two_levels),
		CASE(test_attach_refuses),
		CASE(test_bad_page_withdraws),
		CASE(test_other_machine_and_other_places),
		CASE(test_two_volumes),
		CASE(test_fork_does_not_attach),
		CASE(test_grow),
		CASE(test_image_goes_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
