/*
 * Several processes that change the same directories, killed at random, while
 * another enumerates and looks names up.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Usage: test_native_names_soak [SECONDS [WRITERS]]
 *
 * Writers make, remove, link and move files and directories, streams and EAs
 * below a few directories, among names that stay. The parent starts and kills
 * them; in between it enumerates: each name that stays must be told exactly
 * once, in order, and be found by both of its names. At the end every index is
 * sound, and the checker agrees with all names, links and pages.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "names_helper.h"
#include "volume.h"

#define PLACES 3
#define STAYS 300
#define MOST_WRITERS 16

static uint32_t seconds = 3;
static uint32_t writers = 3;

struct fixture {
	struct test_place place;
	nv_file_id directory[PLACES];
	nv_file_id stays[STAYS];	/* all in directory[0] */
};

static void stay_name(uint32_t i, char name[32])
{
	snprintf(name, 32, "name %05u that stays", i * 10);
}

/* ---- writers ---- */

static bool possible(enum nv_status status)
{
	switch (status) {
	case NV_OK:
	case NV_ERR_EXISTS:
	case NV_ERR_NOT_FOUND:
	case NV_ERR_NOT_EMPTY:
	case NV_ERR_NOT_DIRECTORY:
	case NV_ERR_IS_DIRECTORY:
	case NV_ERR_LOOP:
	case NV_ERR_TOO_MANY_LINKS:
	case NV_ERR_NO_SPACE:
		return true;
	default:
		return false;
	}
}

static void pick_name(uint64_t *random, struct test_name *made)
{
	uint32_t number = test_random(random) % 400;
	char text[NV_NAME_MAX + 1];

	if (number % 7 == 0) {
		memset(text, 'y', NV_NAME_MAX);
		snprintf(text + 230, 20, "%u", number);
	} else {
		snprintf(text, sizeof(text), "Name %05u, %s", number * 8,
			 number % 3 == 0 ? "a file" : "another.text");
	}
	test_name(made, text);
}

/* One of the directories, or one somewhere below. */
static nv_file_id pick_directory(struct nv_volume *volume,
				 const struct fixture *fixture,
				 uint64_t *random)
{
	nv_file_id id = fixture->directory[test_random(random) % PLACES];
	struct test_name made;
	struct nv_found found;
	struct nv_info info;

	while (test_random(random) % 3 == 0) {
		pick_name(random, &made);
		if (nv_lookup(volume, id, &made.name, &found) != NV_OK ||
		    nv_get_info(volume, found.id, &info) != NV_OK ||
		    info.type != NV_DIRECTORY) {
			break;
		}
		id = found.id;
	}
	return id;
}

static enum nv_status attach_something(struct nv_volume *volume,
				       nv_file_id id, uint64_t *random)
{
	static const uint8_t value[6000];
	struct nv_ea ea = {.name = "ea", .value = value};
	struct test_name made;
	nv_file_id stream = 0;
	bool created = false;
	char name[16];

	switch (test_random(random) % 4) {
	case 0:
		ea.length = test_random(random) % sizeof(value);
		return nv_ea_set(volume, id, &ea, 1);
	case 1:
		return nv_reparse_set(volume, id, test_random(random) % 3,
				      value, test_random(random) % 6000);
	case 2:
		snprintf(name, sizeof(name), "sd %u",
			 test_random(random) % 50);
		return nv_sd_set(volume, id, name, sizeof(name));
	default:
		snprintf(name, sizeof(name), "s%u", test_random(random) % 9);
		if (test_random(random) % 3 == 0) {
			return nv_stream_remove(volume, id,
						test_name(&made, name));
		}
		return nv_stream_open(volume, id, test_name(&made, name),
				      true, false, &stream, &created);
	}
}

static void change(struct nv_volume *volume, const struct fixture *fixture,
		   uint64_t *random)
{
	struct nv_name automatic = {.length = NV_SHORT_NAME_AUTOMATIC};
	nv_file_id from = pick_directory(volume, fixture, random);
	nv_file_id to = pick_directory(volume, fixture, random);
	struct nv_create_params params = {.short_name = automatic};
	uint32_t what = test_random(random) % 100;
	enum nv_status status = NV_OK;
	struct test_name name;
	struct test_name other;
	struct nv_found found;
	nv_file_id id = 0;

	pick_name(random, &name);
	pick_name(random, &other);
	if (what < 35) {
		params.type = what < 8 ? NV_DIRECTORY : NV_FILE;
		params.name = name.name;
		status = nv_create(volume, from, &params, &id);
	} else if (what < 65) {
		status = nv_unlink(volume, from, &name.name, 0, 0);
	} else if (what < 85) {
		status = nv_rename(volume, from, &name.name, 0, to,
				   &other.name, &automatic, 0,
				   what % 2 == 0 ? NV_REPLACE : 0);
	} else {
		status = nv_lookup(volume, from, &name.name, &found);
		if (status == NV_OK && what < 90) {
			status = nv_link(volume, found.id, to, &other.name,
					 &automatic, 0, NV_REPLACE);
		} else if (status == NV_OK) {
			status = attach_something(volume, found.id, random);
		}
	}
	if (!possible(status)) {
		print_error("# operation %u: %s\n", what,
			    nv_status_string(status));
		abort();
	}
	if (test_random(random) % 300 == 0) {
		assert_ok(nv_volume_commit(volume));
	}
}

static pid_t start_writer(const struct fixture *fixture, uint64_t number)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct nv_volume *volume = NULL;
		uint64_t random = number * 977 + 1;

		/* A failed assertion ends the child, not its copy of us. */
		setenv("CMOCKA_TEST_ABORT", "1", 1);
		volume = test_attach(&fixture->place);
		for (;;) {
			change(volume, fixture, &random);
		}
	}
	return pid;
}

/* ---- the parent ---- */

static void enumerate(struct nv_volume *volume, const struct fixture *fixture,
		      uint64_t *random)
{
	struct test_name last = {.name = {.units = last.units}};
	struct nv_found found[20];
	uint32_t returned = 0;
	uint32_t stays = 0;
	char name[32];
	uint32_t i;

	do {
		uint32_t count = 1 + test_random(random) % 20;

		assert_ok(nv_enumerate(volume, fixture->directory[0],
				       last.name.length == 0 ? NULL :
				       &last.name, found, count, &returned));
		for (i = 0; i < returned; i++) {
			if (stays < STAYS &&
			    found[i].id == fixture->stays[stays]) {
				stay_name(stays, name);
				assert_string_equal(
					test_text(found[i].name,
						  found[i].name_length),
					name);
				stays++;
			} else {
				assert_true(found[i].name[0] != 'n');
			}
			memcpy(last.units, found[i].name,
			       2 * found[i].name_length);
			last.name.length = found[i].name_length;
		}
	} while (returned > 0);
	assert_int_equal(stays, STAYS);
}

static void look_up(struct nv_volume *volume, const struct fixture *fixture,
		    uint64_t *random)
{
	uint32_t which = test_random(random) % STAYS;
	struct test_name made;
	struct nv_found found;
	char name[32];

	stay_name(which, name);
	assert_ok(nv_lookup(volume, fixture->directory[0],
			    test_name(&made, name), &found));
	assert_true(found.id == fixture->stays[which]);
	made.name.units = found.short_name;
	made.name.length = found.short_length;
	assert_true(found.short_length > 0);
	assert_ok(nv_lookup(volume, fixture->directory[0], &made.name,
			    &found));
	assert_true(found.id == fixture->stays[which]);
	snprintf(name, sizeof(name), "name %05u that stays", which * 10 + 1);
	assert_true(test_lookup(volume, fixture->directory[0], name) == 0);
}

static void make_fixture(struct fixture *fixture, struct nv_volume **volume)
{
	struct nv_create_params params = {
		.type = NV_FILE,
		.short_name = {.length = NV_SHORT_NAME_AUTOMATIC},
	};
	struct test_name made;
	char name[32];
	uint32_t i;

	test_place_make(&fixture->place);
	test_format(&fixture->place, 64, 0);
	*volume = test_attach(&fixture->place);
	for (i = 0; i < PLACES; i++) {
		snprintf(name, sizeof(name), "d%u", i);
		assert_ok(test_create(*volume, test_root(*volume), name,
				      NV_DIRECTORY, &fixture->directory[i]));
	}
	for (i = 0; i < STAYS; i++) {
		stay_name(i, name);
		params.name = *test_name(&made, name);
		assert_ok(nv_create(*volume, fixture->directory[0], &params,
				    &fixture->stays[i]));
	}
}

static uint64_t check_below(struct nv_volume *volume, nv_file_id directory)
{
	struct nv_found *found = test_calloc(1000, sizeof(*found));
	uint32_t returned = 0;
	struct nv_info info;
	uint64_t names;
	uint32_t i;

	names = test_index_sound(volume, directory, NV_KIND_DIRECTORY, NULL);
	assert_ok(nv_enumerate(volume, directory, NULL, found, 1000,
			       &returned));
	assert_true(returned < 1000);
	for (i = 0; i < returned; i++) {
		assert_ok(nv_get_info(volume, found[i].id, &info));
		test_index_sound(volume, found[i].id, NV_KIND_STREAMS, NULL);
		test_index_sound(volume, found[i].id, NV_KIND_EA, NULL);
		if (info.type == NV_DIRECTORY) {
			assert_true(info.parent == directory);
			names += check_below(volume, found[i].id);
		}
	}
	test_free(found);
	return names;
}

static void test_soak(void **state)
{
	static struct fixture fixture;
	struct nv_volume *volume = NULL;
	pid_t writer[MOST_WRITERS] = {0};
	time_t end = time(NULL) + (time_t)seconds;
	uint64_t random = 42;
	uint64_t started = 0;
	uint64_t kills = 0;
	uint64_t rounds = 0;
	uint64_t names;
	int status = 0;
	uint32_t i;

	make_fixture(&fixture, &volume);
	while (time(NULL) < end) {
		for (i = 0; i < writers; i++) {
			if (writer[i] == 0) {
				started++;
				writer[i] = start_writer(&fixture, started);
			}
		}
		enumerate(volume, &fixture, &random);
		for (i = 0; i < 100; i++) {
			look_up(volume, &fixture, &random);
		}
		usleep(test_random(&random) % 3000);
		rounds++;
		i = test_random(&random) % writers;
		kill(writer[i], SIGKILL);
		assert_int_equal(waitpid(writer[i], &status, 0), writer[i]);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGKILL);
		writer[i] = 0;
		kills++;
	}
	for (i = 0; i < writers; i++) {
		if (writer[i] != 0) {
			kill(writer[i], SIGKILL);
			waitpid(writer[i], &status, 0);
			kills++;
		}
	}
	enumerate(volume, &fixture, &random);
	names = check_below(volume, test_root(volume));
	print_message("# %llu kills, %llu enumerations, %llu names left\n",
		      (unsigned long long)kills, (unsigned long long)rounds,
		      (unsigned long long)names);
	test_sound(volume);
	test_detach(volume);
	test_check(&fixture.place);
	test_place_remove(&fixture.place);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_soak),
	};

	if (argc > 1) {
		seconds = (uint32_t)atoi(argv[1]);
	}
	if (argc > 2) {
		writers = (uint32_t)atoi(argv[2]);
		if (writers == 0 || writers > MOST_WRITERS) {
			fprintf(stderr, "1 to %u writers\n", MOST_WRITERS);
			return 1;
		}
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
