/*
 * What belongs to an object: streams, EAs, security descriptors, reparse data.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Usage: test_native_attached [SEED]: the random test of EAs only.
 */

#include <stdio.h>
#include <stdlib.h>
#include "names_helper.h"

static uint64_t only_seed;

struct place {
	struct test_place place;
	struct nv_volume *volume;
	nv_file_id root;
};

static void open_place(struct place *place, uint64_t mebibytes,
		       uint32_t inode_size)
{
	test_place_make(&place->place);
	test_format(&place->place, mebibytes, inode_size);
	place->volume = test_attach(&place->place);
	place->root = test_root(place->volume);
}

static void close_place(struct place *place)
{
	test_sound(place->volume);
	test_detach(place->volume);
	test_check(&place->place);
	test_place_remove(&place->place);
}

/* How many pages of the region NODES exist. */
static uint64_t node_pages(struct nv_volume *volume)
{
	const void *content = NULL;
	uint64_t count = 0;
	uint32_t i;

	for (i = 1; i < 5000; i++) {
		if (nv_page_read(volume, NV_PAGE(NV_REGION_NODES, i),
				 &content) == NV_OK) {
			count++;
		}
	}
	return count;
}

/* ---- streams ---- */

static nv_file_id open_stream(struct place *place, nv_file_id file,
			      const char *name, bool expect_created)
{
	struct test_name made;
	nv_file_id stream = 0;
	bool created = false;

	assert_ok(nv_stream_open(place->volume, file, test_name(&made, name),
				 true, false, &stream, &created));
	assert_int_equal(created, expect_created);
	return stream;
}

static void test_streams(void **state)
{
	struct place place = {0};
	struct test_name from;
	struct test_name to;
	struct nv_info info;
	nv_file_id file = 0;
	nv_file_id first;
	nv_file_id second;
	nv_file_id other = 0;
	char buffer[100];
	size_t done = 0;
	bool created = false;

	open_place(&place, 16, 0);
	assert_ok(test_create(place.volume, place.root, "file", NV_FILE,
			      &file));
	assert_status(nv_stream_open(place.volume, file,
				     test_name(&from, "One"), false, false,
				     &other, &created), NV_ERR_NOT_FOUND);
	first = open_stream(&place, file, "One", true);
	assert_true(open_stream(&place, file, "ONE", false) == first);
	assert_status(nv_stream_open(place.volume, file,
				     test_name(&from, "oNE"), true, true,
				     &other, &created), NV_ERR_EXISTS);
	assert_status(nv_stream_open(place.volume, file,
				     test_name(&from, "a:b"), true, false,
				     &other, &created), NV_ERR_NAME);
	assert_status(nv_stream_open(place.volume, first,
				     test_name(&from, "s"), true, false,
				     &other, &created), NV_ERR_INVALID);
	second = open_stream(&place, file, "two", true);
	assert_ok(nv_write(place.volume, first, 5000, "data", 4, 0));
	assert_ok(nv_get_info(place.volume, first, &info));
	assert_int_equal(info.type, NV_STREAM);
	assert_int_equal(info.size, 5004);
	assert_true(info.parent == file);
	assert_ok(nv_get_info(place.volume, file, &info));
	assert_int_equal(info.size, 0);
	assert_int_equal(info.stream_count, 2);

	/* Rename: case, taken, replacing what is held. */
	assert_ok(nv_stream_rename(place.volume, file, test_name(&from, "one"),
				   test_name(&to, "oNe"), 0));
	assert_status(nv_stream_rename(place.volume, file,
				       test_name(&from, "one"),
				       test_name(&to, "TWO"), 0),
		      NV_ERR_EXISTS);
	assert_ok(nv_hold(place.volume, second));
	assert_ok(nv_stream_rename(place.volume, file, test_name(&from, "one"),
				   test_name(&to, "TWO"), NV_REPLACE));
	assert_true(open_stream(&place, file, "two", false) == first);
	assert_ok(nv_write(place.volume, second, 0, "still there", 11, 0));
	assert_ok(nv_read(place.volume, second, 0, buffer, 100, &done));
	assert_int_equal(done, 11);
	assert_ok(nv_release(place.volume, second));
	assert_status(nv_get_info(place.volume, second, &info),
		      NV_ERR_NOT_FOUND);
	assert_ok(nv_get_info(place.volume, file, &info));
	assert_int_equal(info.stream_count, 1);
	assert_ok(nv_stream_remove(place.volume, file,
				   test_name(&from, "TWO")));
	assert_status(nv_stream_remove(place.volume, file,
				       test_name(&from, "TWO")),
		      NV_ERR_NOT_FOUND);
	assert_status(nv_get_info(place.volume, first, &info),
		      NV_ERR_NOT_FOUND);
	close_place(&place);
}

static void test_many_streams(void **state)
{
	struct nv_found found[64];
	struct test_name made;
	struct test_name last = {.name = {.units = last.units}};
	struct place place = {0};
	struct nv_info info;
	nv_file_id directory = 0;
	nv_file_id held;
	uint64_t pages;
	uint32_t returned = 0;
	uint32_t seen = 0;
	char name[32];
	uint32_t i;

	open_place(&place, 16, 0);
	pages = node_pages(place.volume);
	/* Directories have them, too. */
	assert_ok(test_create(place.volume, place.root, "d", NV_DIRECTORY,
			      &directory));
	for (i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "stream %u", i);
		open_stream(&place, directory, name, true);
	}
	assert_int_equal(test_index_sound(place.volume, directory,
					  NV_KIND_STREAMS, NULL), 500);
	do {
		assert_ok(nv_stream_enumerate(place.volume, directory,
					      seen == 0 ? NULL : &last.name,
					      found, 64, &returned));
		seen += returned;
		if (returned > 0) {
			memcpy(last.units, found[returned - 1].name,
			       2 * found[returned - 1].name_length);
			last.name.length = found[returned - 1].name_length;
		}
	} while (returned == 64);
	assert_int_equal(seen, 500);
	for (i = 0; i < 250; i++) {
		snprintf(name, sizeof(name), "STREAM %u", i);
		assert_ok(nv_stream_remove(place.volume, directory,
					   test_name(&made, name)));
	}
	assert_int_equal(test_index_sound(place.volume, directory,
					  NV_KIND_STREAMS, NULL), 250);
	/* All go with the object; one that is held goes later. */
	held = open_stream(&place, directory, "stream 300", false);
	assert_ok(nv_hold(place.volume, held));
	assert_ok(test_unlink(place.volume, place.root, "d"));
	assert_status(nv_get_info(place.volume, directory, &info),
		      NV_ERR_NOT_FOUND);
	assert_ok(nv_get_info(place.volume, held, &info));
	assert_ok(nv_release(place.volume, held));
	assert_status(nv_get_info(place.volume, held, &info),
		      NV_ERR_NOT_FOUND);
	assert_int_equal(node_pages(place.volume), pages);
	close_place(&place);
}

/* ---- EAs against a model ---- */

#define EA_NAMES 24

struct model_ea {
	uint8_t value[UINT16_MAX];
	uint32_t length;		/* 0: not there */
	uint8_t flags;
};

static void ea_name(uint32_t i, char name[NV_NAME_KEY_MAX + 1])
{
	memset(name, 'n', NV_NAME_KEY_MAX);
	snprintf(name, 32, "Name.%u", i);
	if (i % 8 == 7) {
		/* Some as long as they may be. */
		name[strlen(name)] = '-';
		name[NV_NAME_KEY_MAX] = '\0';
	}
}

static void compare_eas(struct place *place, nv_file_id file,
			const struct model_ea *model, uint8_t *buffer)
{
	char name[NV_NAME_KEY_MAX + 1];
	struct nv_info info;
	uint32_t count = 0;
	uint32_t size = 0;
	uint32_t length;
	uint32_t packed = 0;
	uint8_t flags = 0;
	uint32_t i;

	for (i = 0; i < EA_NAMES; i++) {
		ea_name(i, name);
		name[0] = 'N' + (i % 2) * 32;
		length = UINT16_MAX;
		if (model[i].length == 0) {
			assert_status(nv_ea_get(place->volume, file, name,
						buffer, &length, &flags),
				      NV_ERR_NOT_FOUND);
			continue;
		}
		assert_ok(nv_ea_get(place->volume, file, name, buffer,
				    &length, &flags));
		assert_int_equal(length, model[i].length);
		assert_int_equal(flags, model[i].flags);
		assert_memory_equal(buffer, model[i].value, length);
		count++;
		size += 5 + (uint32_t)strlen(name) + length;
		packed = ((packed + 3U) & ~3U) + 8 +
			(uint32_t)strlen(name) + 1 + length;
	}
	assert_ok(nv_get_info(place->volume, file, &info));
	assert_int_equal(info.ea_count, count);
	assert_int_equal(info.ea_size, count == 0 ? 0 : size + 4);
	length = 0;
	if (count == 0) {
		assert_ok(nv_ea_list(place->volume, file, NULL, &length));
		assert_int_equal(length, 0);
		return;
	}
	assert_status(nv_ea_list(place->volume, file, NULL, &length),
		      NV_ERR_TOO_LARGE);
	/* Padding depends on the order only between the two places. */
	assert_in_range(length, packed - 4 * EA_NAMES, packed + 4 * EA_NAMES);
}

/* FILE_FULL_EA_INFORMATION, read as MS-FSCC 2.4.16 says. */
static void compare_list(struct place *place, nv_file_id file,
			 const struct model_ea *model)
{
	uint32_t length = 2 * 1024 * 1024;
	uint8_t *buffer = test_malloc(length);
	uint32_t offset = 0;
	uint32_t seen = 0;
	uint32_t count = 0;
	uint32_t next = 0;
	uint32_t i;

	assert_ok(nv_ea_list(place->volume, file, buffer, &length));
	do {
		uint16_t value_length;
		const char *name = NULL;
		char known[NV_NAME_KEY_MAX + 1];

		if (length == 0) {
			break;
		}
		assert_true(offset + 8 < length && offset % 4 == 0);
		memcpy(&next, buffer + offset, 4);
		memcpy(&value_length, buffer + offset + 6, 2);
		name = (const char *)buffer + offset + 8;
		assert_int_equal(strlen(name), buffer[offset + 5]);
		for (i = 0; i < EA_NAMES; i++) {
			ea_name(i, known);
			if (strcmp(known, name) == 0) {
				break;
			}
		}
		assert_true(i < EA_NAMES);
		assert_int_equal(buffer[offset + 4], model[i].flags);
		assert_int_equal(value_length, model[i].length);
		assert_memory_equal(name + strlen(name) + 1, model[i].value,
				    value_length);
		assert_true((seen & (1U << i)) == 0);
		seen |= 1U << i;
		count++;
		offset += next;
	} while (next != 0);
	for (i = 0; i < EA_NAMES; i++) {
		assert_int_equal(model[i].length > 0, (seen >> i) & 1);
	}
	test_free(buffer);
}

static void run_eas(uint64_t seed, uint32_t inode_size)
{
	struct model_ea *model = test_calloc(EA_NAMES, sizeof(*model));
	uint8_t *buffer = test_malloc(UINT16_MAX);
	char name[3][NV_NAME_KEY_MAX + 1];
	struct place place = {0};
	struct nv_ea ea[3];
	struct nv_info info;
	uint64_t random = seed;
	nv_file_id file = 0;
	uint64_t pages;
	uint32_t steps;
	uint32_t i;

	open_place(&place, 32, inode_size);
	assert_ok(test_create(place.volume, place.root, "file", NV_FILE,
			      &file));
	pages = node_pages(place.volume);
	for (steps = 0; steps < 1500; steps++) {
		uint32_t count = 1 + test_random(&random) % 3;
		uint32_t first = test_random(&random) % EA_NAMES;

		for (i = 0; i < count; i++) {
			uint32_t which = (first + i * 5) % EA_NAMES;
			uint32_t kind = test_random(&random) % 10;
			uint32_t length = 0;

			ea_name(which, name[i]);
			if (kind < 4) {
				length = 1 + test_random(&random) % 60;
			} else if (kind < 5) {
				length = 1 + test_random(&random) % 1200;
			} else if (kind < 6) {
				length = 1 + test_random(&random) %
					(count == 1 ? UINT16_MAX : 10000);
			} else if (kind < 8) {
				length = model[which].length;
			}
			if (count > 1 && length > 20000) {
				length = 0;
			}
			model[which].length = length;
			model[which].flags = (uint8_t)(kind << 4);
			test_pattern(which, random, 0, model[which].value,
				     length);
			ea[i] = (struct nv_ea) {
				.name = name[i],
				.flags = model[which].flags,
				.value = model[which].value,
				.length = length,
			};
		}
		assert_ok(nv_ea_set(place.volume, file, ea, count));
		if (steps % 50 == 0) {
			compare_eas(&place, file, model, buffer);
			compare_list(&place, file, model);
			test_index_sound(place.volume, file, NV_KIND_EA,
					 NULL);
		}
	}
	assert_ok(test_unlink(place.volume, place.root, "file"));
	assert_status(nv_get_info(place.volume, file, &info),
		      NV_ERR_NOT_FOUND);
	assert_int_equal(node_pages(place.volume), pages);
	test_free(buffer);
	test_free(model);
	close_place(&place);
}

static void test_ea_model(void **state)
{
	if (only_seed != 0) {
		run_eas(only_seed, 0);
		return;
	}
	run_eas(11, 0);
	run_eas(12, 4096);
	run_eas(13, 256);
}

static void test_ea_all_or_none(void **state)
{
	struct nv_ea ea[3] = {
		{.name = "one", .value = "1", .length = 1},
		{.name = "", .value = "2", .length = 1},
		{.name = "three", .value = "3", .length = 1},
	};
	uint8_t *large = test_calloc(1, 65536);
	struct place place = {0};
	struct nv_info info;
	nv_file_id file = 0;
	uint32_t length = 0;

	open_place(&place, 16, 0);
	assert_ok(test_create(place.volume, place.root, "file", NV_FILE,
			      &file));
	assert_status(nv_ea_set(place.volume, file, ea, 3), NV_ERR_NAME);
	assert_ok(nv_get_info(place.volume, file, &info));
	assert_int_equal(info.ea_count, 0);
	ea[1].name = "two";
	ea[1].value = large;
	ea[1].length = 65536;
	assert_status(nv_ea_set(place.volume, file, ea, 3),
		      NV_ERR_TOO_LARGE);
	/* More than one operation can hold: nothing of it is there. */
	ea[0].value = large;
	ea[0].length = ea[1].length = ea[2].length = 65535;
	ea[2].value = large;
	assert_status(nv_ea_set(place.volume, file, ea, 3),
		      NV_ERR_TOO_LARGE);
	assert_ok(nv_get_info(place.volume, file, &info));
	assert_int_equal(info.ea_count, 0);
	assert_int_equal(info.ea_size, 0);
	assert_ok(nv_ea_set(place.volume, file, ea, 1));
	length = 10;
	assert_status(nv_ea_get(place.volume, file, "ONE", large, &length,
				NULL), NV_ERR_TOO_LARGE);
	assert_int_equal(length, 65535);
	assert_ok(test_unlink(place.volume, place.root, "file"));
	test_free(large);
	close_place(&place);
}

/* ---- security descriptors ---- */

static void test_descriptors(void **state)
{
	uint8_t *sd = test_malloc(65536);
	uint8_t *back = test_malloc(65536);
	struct place place = {0};
	struct nv_info info;
	nv_file_id file[4] = {0};
	uint32_t ids[300];
	uint32_t length;
	char name[8];
	uint32_t i;

	open_place(&place, 32, 0);
	for (i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		assert_ok(test_create(place.volume, place.root, name, NV_FILE,
				      &file[i]));
	}
	length = 65536;
	assert_status(nv_sd_get(place.volume, file[0], back, &length),
		      NV_ERR_NOT_FOUND);
	/* Of all sizes, up to 64 KiB. */
	for (i = 0; i < 300; i++) {
		length = 1 + i * 217;
		test_pattern(i, 1, 0, sd, length);
		assert_ok(nv_sd_set(place.volume, file[i % 4], sd, length));
		assert_ok(nv_get_info(place.volume, file[i % 4], &info));
		assert_true(info.sd_id != 0);
		ids[i] = info.sd_id;
		assert_true(i == 0 || ids[i] != ids[i - 1]);
	}
	/* Found again by content: the same ids, whoever sets them. */
	for (i = 0; i < 300; i++) {
		length = 1 + i * 217;
		test_pattern(i, 1, 0, sd, length);
		assert_ok(nv_sd_set(place.volume, file[(i + 1) % 4], sd,
				    length));
		assert_ok(nv_get_info(place.volume, file[(i + 1) % 4],
				      &info));
		assert_int_equal(info.sd_id, ids[i]);
		length = 65536;
		assert_ok(nv_sd_get(place.volume, file[(i + 1) % 4], back,
				    &length));
		assert_int_equal(length, 1 + i * 217);
		assert_memory_equal(back, sd, length);
	}
	/* One byte different is another one. */
	length = 65000;
	test_pattern(1, 2, 0, sd, length);
	assert_ok(nv_sd_set(place.volume, file[0], sd, length));
	sd[64999] ^= 1;
	assert_ok(nv_sd_set(place.volume, file[1], sd, length));
	assert_ok(nv_get_info(place.volume, file[0], &info));
	ids[0] = info.sd_id;
	assert_ok(nv_get_info(place.volume, file[1], &info));
	assert_true(info.sd_id != ids[0]);
	length = 65537;
	assert_status(nv_sd_set(place.volume, file[0], sd, length),
		      NV_ERR_TOO_LARGE);
	length = 100;
	assert_status(nv_sd_get(place.volume, file[0], back, &length),
		      NV_ERR_TOO_LARGE);
	assert_int_equal(length, 65000);
	assert_ok(nv_sd_set(place.volume, file[0], NULL, 0));
	assert_status(nv_sd_get(place.volume, file[0], back, &length),
		      NV_ERR_NOT_FOUND);
	/* An id stays good when its objects are gone, and over attaching. */
	for (i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		assert_ok(test_unlink(place.volume, place.root, name));
	}
	test_detach(place.volume);
	place.volume = test_attach(&place.place);
	length = 65536;
	assert_ok(nv_sd_get_by_id(place.volume, ids[200], back, &length));
	assert_int_equal(length, 1 + 200 * 217);
	test_pattern(200, 1, 0, sd, length);
	assert_memory_equal(back, sd, length);
	assert_status(nv_sd_get_by_id(place.volume, 1000000, back, &length),
		      NV_ERR_NOT_FOUND);
	test_free(sd);
	test_free(back);
	close_place(&place);
}

/* ---- reparse data ---- */

static void test_reparse(void **state)
{
	static const uint32_t sizes[] = {0, 1, 50, 400, 5000, 16384, 16384, 20};
	uint8_t *data = test_malloc(16384);
	uint8_t *back = test_malloc(16384);
	struct place place = {0};
	struct nv_info info;
	nv_file_id file = 0;
	uint64_t pages;
	uint32_t length = 0;
	uint32_t tag = 0;
	uint32_t i;

	open_place(&place, 8, 0);
	assert_ok(test_create(place.volume, place.root, "file", NV_FILE,
			      &file));
	pages = node_pages(place.volume);
	assert_status(nv_reparse_get(place.volume, file, &tag, back, &length),
		      NV_ERR_NOT_FOUND);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		test_pattern(i, 3, 0, data, sizes[i]);
		assert_ok(nv_reparse_set(place.volume, file, 0xa000000c + i,
					 data, sizes[i]));
		length = 16384;
		assert_ok(nv_reparse_get(place.volume, file, &tag, back,
					 &length));
		assert_int_equal(tag, 0xa000000c + i);
		assert_int_equal(length, sizes[i]);
		assert_memory_equal(back, data, length);
		assert_ok(nv_get_info(place.volume, file, &info));
		assert_int_equal(info.reparse_tag, tag);
	}
	length = 5;
	assert_status(nv_reparse_get(place.volume, file, &tag, back, &length),
		      NV_ERR_TOO_LARGE);
	assert_int_equal(length, 20);
	assert_status(nv_reparse_set(place.volume, file, 7, data, 16385),
		      NV_ERR_TOO_LARGE);
	assert_ok(nv_reparse_set(place.volume, file, 7, data, 9000));
	assert_ok(nv_reparse_set(place.volume, file, 0, NULL, 0));
	assert_status(nv_reparse_get(place.volume, file, &tag, back, &length),
		      NV_ERR_NOT_FOUND);
	assert_int_equal(node_pages(place.volume), pages);
	assert_ok(nv_reparse_set(place.volume, file, 7, data, 9000));
	assert_ok(test_unlink(place.volume, place.root, "file"));
	assert_int_equal(node_pages(place.volume), pages);
	test_free(data);
	test_free(back);
	close_place(&place);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_many_streams),
		cmocka_unit_test(test_ea_all_or_none),
		cmocka_unit_test(test_ea_model),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_reparse),
	};
	const struct CMUnitTest random[] = {
		cmocka_unit_test(test_ea_model),
	};

	if (argc > 1) {
		only_seed = strtoull(argv[1], NULL, 0);
		return cmocka_run_group_tests(random, NULL, NULL);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
