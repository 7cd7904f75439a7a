/*
 * Directories: each call, then random ones against a model.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The model is a plain list of entries; after every operation the result must
 * be the model's, and every so often each directory must be it exactly, in its
 * order.
 *
 * Usage: test_native_directory [SEED [STEPS]]: the random test only; an even
 * seed has long names, which make deep trees.
 */

#include <stdio.h>
#include <stdlib.h>
#include "directory.h"
#include "names_helper.h"

static uint64_t only_seed;
static uint32_t only_steps;

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

static void test_create_and_find(void **state)
{
	struct nv_create_params params = {
		.type = NV_FILE,
		.info_mask = NV_INFO_ATTRIBUTES | NV_INFO_TIMES | NV_INFO_UID,
		.info = {.attributes = 0x22, .creation_time = 1,
			 .last_access_time = 2, .last_write_time = 3,
			 .change_time = 4, .uid = 77},
		.sd = "a security descriptor",
		.sd_length = 21,
		.directory_time = 99,
	};
	struct nv_ea ea = {.name = "Some.Name", .value = "value", .length = 5,
			   .flags = 0x80};
	struct place place = {0};
	struct test_name made;
	struct nv_found found;
	struct nv_info info;
	char buffer[64];
	uint32_t length = sizeof(buffer);
	nv_file_id id = 0;
	nv_file_id other = 0;

	open_place(&place, 8, 0);
	params.name = *test_name(&made, "Report.TXT");
	params.ea = &ea;
	params.ea_count = 1;
	assert_ok(nv_create(place.volume, place.root, &params, &id));
	assert_ok(nv_get_info(place.volume, id, &info));
	assert_int_equal(info.attributes, 0x22);
	assert_int_equal(info.creation_time, 1);
	assert_int_equal(info.last_access_time, 2);
	assert_int_equal(info.last_write_time, 3);
	assert_int_equal(info.change_time, 4);
	assert_int_equal(info.uid, 77);
	assert_int_equal(info.nlink, 1);
	assert_true(info.parent == place.root);
	assert_int_equal(info.ea_count, 1);
	assert_true(info.sd_id != 0);
	assert_ok(nv_sd_get(place.volume, id, buffer, &length));
	assert_int_equal(length, 21);
	assert_memory_equal(buffer, params.sd, 21);
	assert_ok(nv_get_info(place.volume, place.root, &info));
	assert_int_equal(info.last_write_time, 99);
	assert_int_equal(info.change_time, 99);
	assert_int_equal(info.entry_count, 1);

	/* Case is kept and does not count. */
	assert_ok(nv_lookup(place.volume, place.root,
			    test_name(&made, "rEPORT.txt"), &found));
	assert_true(found.id == id);
	assert_string_equal(test_text(found.name, found.name_length),
			    "Report.TXT");
	assert_status(test_create(place.volume, place.root, "REPORT.txt",
				  NV_FILE, &other), NV_ERR_EXISTS);
	assert_true(other == 0);
	assert_true(test_lookup(place.volume, place.root, "Report.TX") == 0);
	assert_true(test_lookup(place.volume, place.root, "Report.TXTX") == 0);
	assert_status(nv_lookup(place.volume, id, test_name(&made, "x"),
				&found), NV_ERR_NOT_DIRECTORY);
	assert_status(test_create(place.volume, id, "x", NV_FILE, &other),
		      NV_ERR_NOT_DIRECTORY);
	assert_status(test_create(place.volume, place.root, "a/b", NV_FILE,
				  &other), NV_ERR_NAME);
	assert_status(test_create(place.volume, place.root, "..", NV_FILE,
				  &other), NV_ERR_NAME);
	assert_status(test_create(place.volume, place.root, "", NV_FILE,
				  &other), NV_ERR_NAME);

	assert_ok(test_unlink(place.volume, place.root, "REPORT.TXT"));
	assert_true(test_lookup(place.volume, place.root, "Report.TXT") == 0);
	assert_status(nv_get_info(place.volume, id, &info), NV_ERR_NOT_FOUND);
	assert_status(test_unlink(place.volume, place.root, "REPORT.TXT"),
		      NV_ERR_NOT_FOUND);
	close_place(&place);
}

static void test_case_sensitive(void **state)
{
	struct nv_info info = {.case_sensitive = true};
	struct place place = {0};
	nv_file_id directory = 0;
	nv_file_id upper = 0;
	nv_file_id lower = 0;

	open_place(&place, 8, 0);
	assert_ok(test_create(place.volume, place.root, "d", NV_DIRECTORY,
			      &directory));
	assert_ok(nv_set_info(place.volume, directory, NV_INFO_CASE_SENSITIVE,
			      &info));
	assert_ok(test_create(place.volume, directory, "Name", NV_FILE,
			      &upper));
	assert_ok(test_create(place.volume, directory, "name", NV_FILE,
			      &lower));
	assert_status(test_create(place.volume, directory, "name", NV_FILE,
				  &lower), NV_ERR_EXISTS);
	assert_true(test_lookup(place.volume, directory, "Name") == upper);
	assert_true(test_lookup(place.volume, directory, "name") == lower);
	assert_true(test_lookup(place.volume, directory, "NAME") == 0);
	info.case_sensitive = false;
	assert_status(nv_set_info(place.volume, directory,
				  NV_INFO_CASE_SENSITIVE, &info),
		      NV_ERR_NOT_EMPTY);
	assert_ok(test_unlink(place.volume, directory, "Name"));
	assert_true(test_lookup(place.volume, directory, "name") == lower);
	close_place(&place);
}

static nv_file_id create_short(struct place *place, const char *name,
			       const char *expected)
{
	struct nv_create_params params = {
		.type = NV_FILE,
		.short_name = {.length = NV_SHORT_NAME_AUTOMATIC},
	};
	struct test_name made;
	struct nv_found found;
	nv_file_id id = 0;

	params.name = *test_name(&made, name);
	assert_ok(nv_create(place->volume, place->root, &params, &id));
	assert_ok(nv_lookup(place->volume, place->root, &params.name,
			    &found));
	assert_string_equal(test_text(found.short_name, found.short_length),
			    expected);
	if (found.short_length > 0) {
		assert_ok(nv_lookup(place->volume, place->root,
				    test_name(&made, expected), &found));
		assert_true(found.id == id);
		assert_string_equal(test_text(found.name, found.name_length),
				    name);
	}
	return id;
}

static void test_short_names(void **state)
{
	struct nv_create_params params = {.type = NV_FILE};
	struct place place = {0};
	struct test_name made;
	struct test_name made_short;
	struct nv_found found;
	nv_file_id id = 0;
	char name[64];
	int i;

	open_place(&place, 8, 0);
	create_short(&place, "SHORT.TXT", "");
	create_short(&place, "mixed.txt", "");
	create_short(&place, "a long name.text", "ALONGN~1.TEX");
	create_short(&place, "a long name too.text", "ALONGN~2.TEX");
	create_short(&place, "a long name 3.text", "ALONGN~3.TEX");
	create_short(&place, "a long name 4.text", "ALONGN~4.TEX");
	create_short(&place, ".profile", "PROFIL~1");
	create_short(&place, "a.b.c", "AB~1.C");
	create_short(&place, "plus+sign", "PLUS_S~1");
	/* From the fifth on, two letters and a hash. */
	params.name = *test_name(&made, "a long name 5.text");
	params.short_name.length = NV_SHORT_NAME_AUTOMATIC;
	assert_ok(nv_create(place.volume, place.root, &params, &id));
	assert_ok(nv_lookup(place.volume, place.root, &params.name, &found));
	assert_int_equal(found.short_length, 12);
	assert_memory_equal(test_text(found.short_name, 2), "AL", 2);
	assert_memory_equal(test_text(found.short_name + 6, 6), "~1.TEX", 6);

	/* One name space: a long name cannot be somebody's short name. */
	assert_status(test_create(place.volume, place.root, "alongn~1.tex",
				  NV_FILE, &id), NV_ERR_EXISTS);
	params.name = *test_name(&made, "other");
	params.short_name = *test_name(&made_short, "SHORT.TXT");
	assert_status(nv_create(place.volume, place.root, &params, &id),
		      NV_ERR_EXISTS);
	assert_true(test_lookup(place.volume, place.root, "other") == 0);

	/* Set, change, remove. */
	assert_ok(nv_set_short_name(place.volume, place.root,
				    test_name(&made, "SHORT.TXT"),
				    test_name(&made_short, "S.T")));
	assert_true(test_lookup(place.volume, place.root, "s.t") != 0);
	assert_status(nv_set_short_name(place.volume, place.root,
					test_name(&made, "SHORT.TXT"),
					test_name(&made_short, "MIXED.TXT")),
		      NV_ERR_EXISTS);
	assert_ok(nv_set_short_name(place.volume, place.root,
				    test_name(&made, "SHORT.TXT"),
				    test_name(&made_short, "")));
	assert_true(test_lookup(place.volume, place.root, "s.t") == 0);

	/* Removed and renamed by it. */
	assert_ok(test_unlink(place.volume, place.root, "ALONGN~2.TEX"));
	assert_true(test_lookup(place.volume, place.root,
				"a long name too.text") == 0);
	assert_ok(nv_rename(place.volume, place.root,
			    test_name(&made, "alongn~3.tex"), 0, place.root,
			    test_name(&made_short, "plain"), NULL, 0, 0));
	assert_true(test_lookup(place.volume, place.root,
				"a long name 3.text") == 0);
	assert_true(test_lookup(place.volume, place.root,
				"ALONGN~3.TEX") == 0);
	assert_true(test_lookup(place.volume, place.root, "PLAIN") != 0);

	/* Many that collide. */
	for (i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "collide with many %d.htm", i);
		params.name = *test_name(&made, name);
		params.short_name.length = NV_SHORT_NAME_AUTOMATIC;
		assert_ok(nv_create(place.volume, place.root, &params, &id));
		assert_ok(nv_lookup(place.volume, place.root, &params.name,
				    &found));
		assert_true(found.short_length > 0);
	}
	test_index_sound(place.volume, place.root, NV_KIND_DIRECTORY, NULL);
	close_place(&place);
}

static void test_directories_move(void **state)
{
	struct place place = {0};
	struct test_name from;
	struct test_name to;
	struct nv_info info;
	nv_file_id a = 0;
	nv_file_id b = 0;
	nv_file_id c = 0;
	nv_file_id file = 0;

	open_place(&place, 8, 0);
	assert_ok(test_create(place.volume, place.root, "a", NV_DIRECTORY,
			      &a));
	assert_ok(test_create(place.volume, a, "b", NV_DIRECTORY, &b));
	assert_ok(test_create(place.volume, b, "c", NV_DIRECTORY, &c));
	assert_ok(test_create(place.volume, c, "file", NV_FILE, &file));
	assert_status(nv_rename(place.volume, place.root,
				test_name(&from, "a"), 0, c,
				test_name(&to, "x"), NULL, 0, 0),
		      NV_ERR_LOOP);
	assert_status(nv_rename(place.volume, place.root,
				test_name(&from, "a"), 0, a,
				test_name(&to, "x"), NULL, 0, 0),
		      NV_ERR_LOOP);
	assert_status(test_unlink(place.volume, a, "b"), NV_ERR_NOT_EMPTY);
	assert_ok(nv_rename(place.volume, a, test_name(&from, "b"), 0,
			    place.root, test_name(&to, "B"), NULL, 5, 0));
	assert_ok(nv_get_info(place.volume, b, &info));
	assert_true(info.parent == place.root);
	assert_ok(nv_get_info(place.volume, a, &info));
	assert_int_equal(info.entry_count, 0);
	assert_int_equal(info.last_write_time, 5);
	/* Now a may go below b. */
	assert_ok(nv_rename(place.volume, place.root, test_name(&from, "a"),
			    a, c, test_name(&to, "a"), NULL, 0, 0));
	assert_status(nv_rename(place.volume, place.root,
				test_name(&from, "b"), 0, a,
				test_name(&to, "b"), NULL, 0, 0),
		      NV_ERR_LOOP);
	/* Replacing: kinds must agree, directories must be empty. */
	assert_status(nv_rename(place.volume, c, test_name(&from, "file"), 0,
				c, test_name(&to, "a"), NULL, 0, NV_REPLACE),
		      NV_ERR_IS_DIRECTORY);
	assert_status(nv_rename(place.volume, c, test_name(&from, "a"), 0, c,
				test_name(&to, "file"), NULL, 0, NV_REPLACE),
		      NV_ERR_NOT_DIRECTORY);
	assert_ok(test_create(place.volume, place.root, "empty", NV_DIRECTORY,
			      &a));
	assert_status(nv_rename(place.volume, place.root,
				test_name(&from, "empty"), 0, b,
				test_name(&to, "c"), NULL, 0, NV_REPLACE),
		      NV_ERR_NOT_EMPTY);
	assert_ok(nv_rename(place.volume, b, test_name(&from, "c"), 0,
			    place.root, test_name(&to, "EMPTY"), NULL, 0,
			    NV_REPLACE));
	assert_status(nv_get_info(place.volume, a, &info), NV_ERR_NOT_FOUND);
	assert_true(test_lookup(place.volume, place.root, "empty") == c);
	/* Onto the directory it is in, which it leaves empty. */
	assert_ok(test_create(place.volume, place.root, "p", NV_DIRECTORY,
			      &a));
	assert_ok(test_create(place.volume, a, "q", NV_DIRECTORY, &c));
	assert_status(nv_rename(place.volume, a, test_name(&from, "q"), 0,
				place.root, test_name(&to, "p"), NULL, 0,
				NV_REPLACE), NV_ERR_NOT_EMPTY);
	assert_true(test_lookup(place.volume, a, "q") == c);
	assert_ok(test_unlink(place.volume, a, "q"));
	assert_ok(test_create(place.volume, a, "q", NV_FILE, &c));
	assert_status(nv_rename(place.volume, a, test_name(&from, "q"), 0,
				place.root, test_name(&to, "p"), NULL, 0,
				NV_REPLACE), NV_ERR_IS_DIRECTORY);
	close_place(&place);
}

static void test_links_and_holds(void **state)
{
	struct place place = {0};
	struct test_name from;
	struct test_name to;
	struct nv_info info;
	nv_file_id file = 0;
	nv_file_id other = 0;
	char name[16];
	int i;

	open_place(&place, 8, 0);
	assert_ok(test_create(place.volume, place.root, "file", NV_FILE,
			      &file));
	assert_ok(test_create(place.volume, place.root, "other", NV_FILE,
			      &other));
	assert_status(nv_link(place.volume, file, place.root,
			      test_name(&to, "OTHER"), NULL, 0, 0),
		      NV_ERR_EXISTS);
	assert_ok(nv_link(place.volume, file, place.root,
			  test_name(&to, "OTHER"), NULL, 0, NV_REPLACE));
	assert_status(nv_get_info(place.volume, other, &info),
		      NV_ERR_NOT_FOUND);
	assert_ok(nv_get_info(place.volume, file, &info));
	assert_int_equal(info.nlink, 2);
	/* A rename over another name of the same object. */
	assert_ok(nv_rename(place.volume, place.root,
			    test_name(&from, "file"), file, place.root,
			    test_name(&to, "other"), NULL, 0, NV_REPLACE));
	assert_ok(nv_get_info(place.volume, file, &info));
	assert_int_equal(info.nlink, 1);
	/* A link over itself. */
	assert_ok(nv_link(place.volume, file, place.root,
			  test_name(&to, "other"), NULL, 0, NV_REPLACE));
	assert_ok(nv_get_info(place.volume, file, &info));
	assert_int_equal(info.nlink, 1);
	for (i = 1; i < NV_LINKS_MAX; i++) {
		snprintf(name, sizeof(name), "link%d", i);
		assert_ok(nv_link(place.volume, file, place.root,
				  test_name(&to, name), NULL, 0, 0));
	}
	assert_status(nv_link(place.volume, file, place.root,
			      test_name(&to, "one more"), NULL, 0, 0),
		      NV_ERR_TOO_MANY_LINKS);
	assert_ok(nv_hold(place.volume, file));
	assert_ok(test_unlink(place.volume, place.root, "other"));
	for (i = 1; i < NV_LINKS_MAX; i++) {
		snprintf(name, sizeof(name), "link%d", i);
		assert_ok(test_unlink(place.volume, place.root, name));
	}
	/* Held, it is there without a name. */
	assert_ok(nv_get_info(place.volume, file, &info));
	assert_int_equal(info.nlink, 0);
	assert_status(nv_link(place.volume, file, place.root,
			      test_name(&to, "again"), NULL, 0, 0),
		      NV_ERR_NOT_FOUND);
	assert_ok(nv_release(place.volume, file));
	assert_status(nv_get_info(place.volume, file, &info),
		      NV_ERR_NOT_FOUND);
	/* An expected id that is not the one. */
	assert_ok(test_create(place.volume, place.root, "file", NV_FILE,
			      &file));
	assert_status(nv_unlink(place.volume, place.root,
				test_name(&from, "file"), file + 1, 0),
		      NV_ERR_NOT_FOUND);
	close_place(&place);
}

/* ---- against a model ---- */

#define DIRECTORIES 3
#define ENTRIES_MAX 6000

struct model_entry {
	struct test_name name;
	uint16_t short_units[NV_SHORT_MAX];
	uint32_t short_length;
	nv_file_id id;
};

struct model {
	struct place place;
	nv_file_id directory[DIRECTORIES];
	bool exact[DIRECTORIES];
	struct model_entry *entry[DIRECTORIES];
	uint32_t count[DIRECTORIES];
	uint64_t random;
	bool lengthy;		/* long names with long common beginnings */
};

/* The order, written down again. */
static int model_compare(const struct model *model, uint32_t d,
			 const uint16_t *a, uint32_t a_length,
			 const uint16_t *b, uint32_t b_length)
{
	const uint16_t *upcase = nv_volume_upcase(model->place.volume);
	uint32_t i;

	for (i = 0; i < a_length && i < b_length; i++) {
		if (upcase[a[i]] != upcase[b[i]]) {
			return upcase[a[i]] < upcase[b[i]] ? -1 : 1;
		}
	}
	if (a_length != b_length) {
		return a_length < b_length ? -1 : 1;
	}
	for (i = 0; model->exact[d] && i < a_length; i++) {
		if (a[i] != b[i]) {
			return a[i] < b[i] ? -1 : 1;
		}
	}
	return 0;
}

static struct model_entry *model_find(struct model *model, uint32_t d,
				      const struct nv_name *name)
{
	uint32_t i;

	for (i = 0; i < model->count[d]; i++) {
		struct model_entry *entry = &model->entry[d][i];

		if (model_compare(model, d, name->units, name->length,
				  entry->name.units,
				  entry->name.name.length) == 0 ||
		    (entry->short_length > 0 &&
		     model_compare(model, d, name->units, name->length,
				   entry->short_units,
				   entry->short_length) == 0)) {
			return entry;
		}
	}
	return NULL;
}

static void model_add(struct model *model, uint32_t d,
		      const struct nv_name *name, nv_file_id id)
{
	struct model_entry *list = model->entry[d];
	struct nv_found found;
	uint32_t at = model->count[d];

	assert_true(at < ENTRIES_MAX);
	while (at > 0 && model_compare(model, d, name->units, name->length,
				       list[at - 1].name.units,
				       list[at - 1].name.name.length) < 0) {
		at--;
	}
	memmove(&list[at + 1], &list[at],
		(model->count[d] - at) * sizeof(*list));
	model->count[d]++;
	memset(&list[at], 0, sizeof(list[at]));
	memcpy(list[at].name.units, name->units, 2 * (size_t)name->length);
	list[at].name.name.length = name->length;
	list[at].id = id;
	/* What short name was made is the volume's choice. */
	assert_ok(nv_lookup(model->place.volume, model->directory[d], name,
			    &found));
	assert_true(found.id == id);
	list[at].short_length = found.short_length;
	memcpy(list[at].short_units, found.short_name,
	       2 * (size_t)found.short_length);
}

static void model_remove(struct model *model, uint32_t d,
			 struct model_entry *entry)
{
	uint32_t at = (uint32_t)(entry - model->entry[d]);

	model->count[d]--;
	memmove(entry, entry + 1,
		(model->count[d] - at) * sizeof(*entry));
}

/*
 * Names from a small world, so that they meet: common beginnings, cases,
 * lengths up to 255, letters beyond ASCII that have an upper case.
 */
static void random_name(struct model *model, uint32_t variety,
			struct test_name *made)
{
	static const char *const stem[] = {"", "File ", "IMG_2024_", "zz",
					   "report.final."};
	uint64_t seed = test_random(&model->random) % variety;
	uint32_t length = 0;
	uint32_t style;
	const char *text = NULL;
	char digits[16];
	uint32_t i;

	seed = seed * 7919 + 1;
	style = test_random(&seed);
	if (model->lengthy) {
		while (length < 230) {
			made->units[length++] = 'x';
		}
		style &= 0x7ff;
	}
	text = stem[style % 5];
	for (; *text != '\0'; text++) {
		made->units[length++] = (uint16_t)*text;
	}
	snprintf(digits, sizeof(digits), "%u", test_random(&seed) % 100000);
	for (text = digits; *text != '\0'; text++) {
		made->units[length++] = (uint16_t)*text;
	}
	if ((style & 0x100) != 0) {
		made->units[length++] = 0x00e9;
		made->units[length++] = 0x0448;
	}
	if ((style & 0x7000) == 0x7000) {
		uint32_t wanted = 200 + test_random(&seed) % 56;

		while (length < wanted) {
			made->units[length++] = 'x';
		}
	} else if ((style & 0x600) == 0x600) {
		made->units[length++] = '.';
		made->units[length++] = 'd';
	}
	/* The case is not part of the choice. */
	for (i = 0; i < length; i++) {
		if (made->units[i] >= 'a' && made->units[i] <= 'z' &&
		    test_random(&model->random) % 2 == 0) {
			made->units[i] = (uint16_t)(made->units[i] - 32);
		}
	}
	made->name.units = made->units;
	made->name.length = length;
}

static void compare_all(struct model *model, uint32_t d)
{
	struct nv_volume *volume = model->place.volume;
	struct nv_found *found = test_malloc(50 * sizeof(*found));
	struct test_name last = {.name = {.units = last.units}};
	uint32_t returned = 0;
	uint32_t seen = 0;
	uint32_t i;

	do {
		assert_ok(nv_enumerate(volume, model->directory[d],
				       seen == 0 ? NULL : &last.name, found,
				       1 + seen % 50, &returned));
		for (i = 0; i < returned; i++) {
			struct model_entry *entry = &model->entry[d][seen];

			assert_true(seen < model->count[d]);
			assert_true(found[i].id == entry->id);
			assert_int_equal(found[i].name_length,
					 entry->name.name.length);
			assert_memory_equal(found[i].name, entry->name.units,
					    2 * found[i].name_length);
			assert_int_equal(found[i].short_length,
					 entry->short_length);
			assert_memory_equal(found[i].short_name,
					    entry->short_units,
					    2 * entry->short_length);
			memcpy(last.units, found[i].name,
			       2 * found[i].name_length);
			last.name.length = found[i].name_length;
			seen++;
		}
	} while (returned > 0);
	assert_int_equal(seen, model->count[d]);
	test_free(found);
}

static void step_create(struct model *model, uint32_t d, uint32_t variety)
{
	struct nv_create_params params = {.type = NV_FILE};
	struct test_name made;
	enum nv_status status;
	nv_file_id id = 0;

	random_name(model, variety, &made);
	params.name = made.name;
	if (test_random(&model->random) % 2 == 0) {
		params.short_name.length = NV_SHORT_NAME_AUTOMATIC;
	}
	status = nv_create(model->place.volume, model->directory[d], &params,
			   &id);
	if (model_find(model, d, &made.name) != NULL) {
		assert_status(status, NV_ERR_EXISTS);
		return;
	}
	assert_ok(status);
	model_add(model, d, &made.name, id);
}

static void step_unlink(struct model *model, uint32_t d, uint32_t variety)
{
	struct model_entry *entry = NULL;
	struct test_name made;
	enum nv_status status;

	random_name(model, variety, &made);
	if (model->count[d] > 0 && test_random(&model->random) % 2 == 0) {
		/* One that is there, perhaps by its short name. */
		entry = &model->entry[d][test_random(&model->random) %
					 model->count[d]];
		made = entry->name;
		if (entry->short_length > 0 &&
		    test_random(&model->random) % 2 == 0) {
			memcpy(made.units, entry->short_units,
			       2 * entry->short_length);
			made.name.length = entry->short_length;
		}
		made.name.units = made.units;
	}
	entry = model_find(model, d, &made.name);
	status = nv_unlink(model->place.volume, model->directory[d],
			   &made.name, entry == NULL ? 0 : entry->id, 0);
	if (entry == NULL) {
		assert_status(status, NV_ERR_NOT_FOUND);
		return;
	}
	assert_ok(status);
	model_remove(model, d, entry);
}

static void step_lookup(struct model *model, uint32_t d, uint32_t variety)
{
	struct model_entry *entry = NULL;
	struct test_name made;
	struct nv_found found;
	enum nv_status status;

	random_name(model, variety, &made);
	entry = model_find(model, d, &made.name);
	status = nv_lookup(model->place.volume, model->directory[d],
			   &made.name, &found);
	if (entry == NULL) {
		assert_status(status, NV_ERR_NOT_FOUND);
		return;
	}
	assert_ok(status);
	assert_true(found.id == entry->id);
}

static void step_rename(struct model *model, uint32_t d, uint32_t variety)
{
	uint32_t to = test_random(&model->random) % DIRECTORIES;
	uint32_t flags = test_random(&model->random) % 2 == 0 ?
		NV_REPLACE : 0;
	struct nv_name automatic = {.length = NV_SHORT_NAME_AUTOMATIC};
	struct model_entry *target = NULL;
	struct model_entry *source = NULL;
	struct test_name from;
	struct test_name made;
	enum nv_status status;
	nv_file_id id;

	if (model->count[d] == 0) {
		return;
	}
	source = &model->entry[d][test_random(&model->random) %
				  model->count[d]];
	from = source->name;
	from.name.units = from.units;
	random_name(model, variety, &made);
	if (test_random(&model->random) % 8 == 0) {
		/* To another case of its own name. */
		made = from;
		made.name.units = made.units;
		if (made.units[0] >= 'a' && made.units[0] <= 'z') {
			made.units[0] = (uint16_t)(made.units[0] - 32);
		}
		to = d;
	}
	target = model_find(model, to, &made.name);
	id = source->id;
	status = nv_rename(model->place.volume, model->directory[d],
			   &from.name, id, model->directory[to], &made.name,
			   test_random(&model->random) % 2 == 0 ? &automatic :
			   NULL, 0, flags);
	if (target != NULL && target != source && flags == 0) {
		assert_status(status, NV_ERR_EXISTS);
		return;
	}
	assert_ok(status);
	if (target != NULL && target != source) {
		model_remove(model, to, target);
	}
	source = model_find(model, d, &from.name);
	assert_non_null(source);
	model_remove(model, d, source);
	model_add(model, to, &made.name, id);
}

static void run_model(uint64_t seed, uint32_t steps, uint32_t inode_size,
		      bool lengthy)
{
	struct nv_info sensitive = {.case_sensitive = true};
	struct model model = {.random = seed, .lengthy = lengthy};
	uint32_t variety = 3000;
	uint32_t depth = 0;
	uint32_t deepest = 0;
	uint32_t i;
	uint32_t d;

	open_place(&model.place, 64, inode_size);
	for (d = 0; d < DIRECTORIES; d++) {
		char name[8];

		snprintf(name, sizeof(name), "d%u", d);
		model.entry[d] = test_malloc(ENTRIES_MAX *
					     sizeof(model.entry[d][0]));
		assert_ok(test_create(model.place.volume, model.place.root,
				      name, NV_DIRECTORY,
				      &model.directory[d]));
	}
	model.exact[2] = true;
	assert_ok(nv_set_info(model.place.volume, model.directory[2],
			      NV_INFO_CASE_SENSITIVE, &sensitive));
	for (i = 0; i < steps; i++) {
		/* Times of growing and times of shrinking. */
		uint32_t growing = (i / (steps / 4 + 1)) % 2 == 0 ? 60 : 25;
		uint32_t what = test_random(&model.random) % 100;

		d = test_random(&model.random) % DIRECTORIES;
		if (what < growing) {
			step_create(&model, d, variety);
		} else if (what < 80) {
			step_unlink(&model, d, variety);
		} else if (what < 90) {
			step_lookup(&model, d, variety);
		} else {
			step_rename(&model, d, variety);
		}
		if (i % 1000 == 999 || i + 1 == steps) {
			for (d = 0; d < DIRECTORIES; d++) {
				compare_all(&model, d);
				test_index_sound(model.place.volume,
						 model.directory[d],
						 NV_KIND_DIRECTORY, &depth);
				deepest = depth > deepest ? depth : deepest;
			}
		}
	}
	print_message("# seed %llu: %u steps, %u + %u + %u entries, %u "
		      "levels at most\n", (unsigned long long)seed, steps,
		      model.count[0], model.count[1], model.count[2],
		      deepest);
	assert_true(steps < 5000 || deepest >= (lengthy ? 4 : 2));
	/* And down to nothing. */
	for (d = 0; d < DIRECTORIES; d++) {
		while (model.count[d] > 0) {
			struct model_entry *entry = &model.entry[d]
				[test_random(&model.random) %
				 model.count[d]];
			struct test_name name = entry->name;

			name.name.units = name.units;
			assert_ok(nv_unlink(model.place.volume,
					    model.directory[d], &name.name,
					    entry->id, 0));
			model_remove(&model, d, entry);
		}
		compare_all(&model, d);
		assert_int_equal(test_index_sound(model.place.volume,
						  model.directory[d],
						  NV_KIND_DIRECTORY, NULL),
				 0);
		test_free(model.entry[d]);
	}
	close_place(&model.place);
}

static void test_model(void **state)
{
	if (only_steps > 0) {
		run_model(only_seed, only_steps, 0, only_seed % 2 == 0);
		return;
	}
	run_model(1, 12000, 0, false);
	run_model(2, 12000, 512, true);
	run_model(3, 6000, 4096, false);
	run_model(4, 6000, 256, true);
}

/* ---- enumeration while others change the directory ---- */

static void test_enumerate_changing(void **state)
{
	struct nv_found found[16];
	struct test_name last = {.name = {.units = last.units}};
	struct place place = {0};
	struct nv_info info;
	uint64_t random = 5;
	uint32_t returned = 0;
	uint32_t kept = 0;
	nv_file_id id = 0;
	char name[32];
	uint32_t i;

	open_place(&place, 16, 0);
	for (i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "stays %04u", i);
		assert_ok(test_create(place.volume, place.root, name, NV_FILE,
				      &id));
		snprintf(name, sizeof(name), "stays %04u goes", i);
		assert_ok(test_create(place.volume, place.root, name, NV_FILE,
				      &id));
	}
	do {
		assert_ok(nv_enumerate(place.volume, place.root,
				       last.name.length == 0 ? NULL :
				       &last.name, found, 7, &returned));
		for (i = 0; i < returned; i++) {
			if (found[i].name_length == 10) {
				snprintf(name, sizeof(name), "stays %04u",
					 kept);
				assert_string_equal(
					test_text(found[i].name, 10), name);
				kept++;
			}
			memcpy(last.units, found[i].name,
			       2 * found[i].name_length);
			last.name.length = found[i].name_length;
		}
		/* The one told last goes, too, if it may. */
		snprintf(name, sizeof(name), "%s",
			 test_text(last.units, last.name.length));
		if (last.name.length > 10) {
			test_unlink(place.volume, place.root, name);
		}
		for (i = 0; i < 5; i++) {
			snprintf(name, sizeof(name), "stays %04u goes",
				 test_random(&random) % 1000);
			test_unlink(place.volume, place.root, name);
			snprintf(name, sizeof(name), "stays %04u new",
				 test_random(&random) % 1000);
			test_create(place.volume, place.root, name, NV_FILE,
				    &id);
		}
	} while (returned > 0);
	assert_int_equal(kept, 1000);
	assert_ok(nv_get_info(place.volume, place.root, &info));
	assert_true(info.entry_count > 1000);
	close_place(&place);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create_and_find),
		cmocka_unit_test(test_case_sensitive),
		cmocka_unit_test(test_short_names),
		cmocka_unit_test(test_directories_move),
		cmocka_unit_test(test_links_and_holds),
		cmocka_unit_test(test_enumerate_changing),
		cmocka_unit_test(test_model),
	};
	const struct CMUnitTest random[] = {
		cmocka_unit_test(test_model),
	};

	if (argc > 1) {
		only_seed = strtoull(argv[1], NULL, 0);
		only_steps = argc > 2 ? (uint32_t)atoi(argv[2]) : 12000;
		return cmocka_run_group_tests(random, NULL, NULL);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
