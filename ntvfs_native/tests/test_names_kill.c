/*
 * SIGKILL at every kill point of everything that deals with names.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A script of single operations runs once alive, and what the volume looks
 * like after each is written down. Then a victim runs it on a copy of the same
 * volume and is killed at the n-th kill point it passes. What the survivor, or
 * the next attacher, sees must be the volume after as many operations as had
 * returned, or one more; every index must be sound, the checker must find
 * nothing, and the survivor must go on within 100 ms.
 *
 * Usage: test_native_names_kill              where an operation is complete but
 *                                            not ended (all must be undone),
 *                                            each kind of point once, and 100
 *                                            others, in each mode
 *        test_native_names_kill all          every point
 *        test_native_names_kill alone|survivor N   only that point
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "killpoint.h"
#include "names_helper.h"

#define PATIENCE 100
#define STEPS_MAX 200
#define FILLERS 60

static uint64_t only_case;
static const char *only_mode;
static bool every_point;

static uint64_t passes_left;
static char last_case[80];

static void die_when_due(const char *name)
{
	passes_left--;
	if (passes_left == 0) {
		kill(getpid(), SIGKILL);
	}
}

/* ---- what a volume looks like ---- */

struct text {
	char *bytes;
	size_t used;
	size_t size;
};

static void add(struct text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...)
{
	va_list args;
	int length;

	if (text->size - text->used < 4096) {
		text->size = text->size * 2 + 65536;
		text->bytes = realloc(text->bytes, text->size);
		assert_non_null(text->bytes);
	}
	va_start(args, format);
	length = vsnprintf(text->bytes + text->used, 4096, format, args);
	va_end(args);
	assert_in_range(length, 0, 4095);
	text->used += (size_t)length;
}

static uint64_t sum(const void *data, size_t length)
{
	const uint8_t *bytes = data;
	uint64_t value = 14695981039346656037U;
	size_t i;

	for (i = 0; i < length; i++) {
		value = (value ^ bytes[i]) * 1099511628211U;
	}
	return value;
}

static void describe(struct nv_volume *volume, nv_file_id id,
		     struct text *text)
{
	static uint8_t buffer[300000];
	struct nv_found found[8];
	struct nv_info info;
	enum nv_status status;
	uint32_t returned = 0;
	uint32_t length = 0;
	uint32_t tag = 0;
	size_t done = 0;
	uint32_t i;

	assert_ok(nv_get_info(volume, id, &info));
	add(text, "type %u nlink %u attributes %x size %llu", info.type,
	    info.nlink, info.attributes, (unsigned long long)info.size);
	if (info.ea_count > 0) {
		length = sizeof(buffer);
		assert_ok(nv_ea_list(volume, id, buffer, &length));
		add(text, " eas %u %u %llx", info.ea_count, info.ea_size,
		    (unsigned long long)sum(buffer, length));
	}
	length = sizeof(buffer);
	status = nv_sd_get(volume, id, buffer, &length);
	if (status != NV_ERR_NOT_FOUND) {
		assert_ok(status);
		add(text, " sd %llx", (unsigned long long)
		    sum(buffer, length));
	}
	length = sizeof(buffer);
	status = nv_reparse_get(volume, id, &tag, buffer, &length);
	if (status != NV_ERR_NOT_FOUND) {
		assert_ok(status);
		add(text, " reparse %x %llx", tag, (unsigned long long)
		    sum(buffer, length));
	}
	if (info.type == NV_FILE || info.type == NV_STREAM) {
		assert_ok(nv_read(volume, id, 0, buffer, sizeof(buffer),
				  &done));
		add(text, " data %llx", (unsigned long long)
		    sum(buffer, done));
	}
	add(text, "\n");
	test_index_sound(volume, id, NV_KIND_STREAMS, NULL);
	test_index_sound(volume, id, NV_KIND_EA, NULL);
	assert_ok(nv_stream_enumerate(volume, id, NULL, found, 8,
				      &returned));
	assert_int_equal(returned, info.stream_count);
	for (i = 0; i < returned; i++) {
		add(text, "  stream %s: ", test_text(found[i].name,
						     found[i].name_length));
		describe(volume, found[i].id, text);
	}
}

static void describe_tree(struct nv_volume *volume, nv_file_id directory,
			  struct text *text)
{
	struct nv_found *found = calloc(FILLERS * 2, sizeof(*found));
	struct nv_info info;
	uint32_t returned = 0;
	uint32_t i;

	assert_non_null(found);
	test_index_sound(volume, directory, NV_KIND_DIRECTORY, NULL);
	assert_ok(nv_enumerate(volume, directory, NULL, found, FILLERS * 2,
			       &returned));
	for (i = 0; i < returned; i++) {
		assert_ok(nv_get_info(volume, found[i].id, &info));
		add(text, "%s [%s]: ", test_text(found[i].name,
						 found[i].name_length),
		    test_text(found[i].short_name, found[i].short_length));
		describe(volume, found[i].id, text);
		if (info.type == NV_DIRECTORY) {
			assert_true(info.parent == directory);
			add(text, "{\n");
			describe_tree(volume, found[i].id, text);
			add(text, "}\n");
		}
	}
	free(found);
}

/* ---- the script ---- */

/* Long, with a long common beginning: seven to a node, and deep trees. */
static void long_name(uint32_t i, char name[NV_NAME_MAX + 1])
{
	memset(name, 'l', NV_NAME_MAX);
	snprintf(name + NV_NAME_MAX - 8, 9, "%08u", i);
}

static nv_file_id at(struct nv_volume *volume, const char *directory)
{
	nv_file_id root = test_root(volume);

	if (directory[0] == '\0') {
		return root;
	}
	return test_lookup(volume, root, directory);
}

static void make(struct nv_volume *volume, const char *directory,
		 const char *name, uint32_t type)
{
	struct nv_ea ea = {.name = "ea", .value = "some value", .length = 10};
	struct nv_create_params params = {
		.type = type,
		.info_mask = NV_INFO_ATTRIBUTES,
		.info = {.attributes = 0x20},
		.short_name = {.length = NV_SHORT_NAME_AUTOMATIC},
		.sd = name,
		.sd_length = (uint32_t)strlen(name),
		.ea = &ea,
		.ea_count = 1,
		.directory_time = 12,
	};
	struct test_name made;
	nv_file_id id = 0;

	params.name = *test_name(&made, name);
	assert_ok(nv_create(volume, at(volume, directory), &params, &id));
}

static void move(struct nv_volume *volume, const char *from_directory,
		 const char *from, const char *to_directory, const char *to)
{
	struct nv_name automatic = {.length = NV_SHORT_NAME_AUTOMATIC};
	struct test_name from_name;
	struct test_name to_name;

	assert_ok(nv_rename(volume, at(volume, from_directory),
			    test_name(&from_name, from), 0,
			    at(volume, to_directory),
			    test_name(&to_name, to), &automatic, 13,
			    NV_REPLACE));
}

static void set_ea(struct nv_volume *volume, nv_file_id id, const char *name,
		   uint32_t length, uint64_t seed)
{
	static uint8_t value[65536];
	struct nv_ea ea = {.name = name, .value = value, .length = length};

	test_pattern(1, seed, 0, value, length);
	assert_ok(nv_ea_set(volume, id, &ea, 1));
}

static void stream_step(struct nv_volume *volume, uint32_t step)
{
	nv_file_id file = test_lookup(volume, test_root(volume), "file");
	static uint8_t data[20000];
	struct test_name from;
	struct test_name to;
	nv_file_id stream = 0;
	bool created = false;

	switch (step) {
	case 0:
		assert_ok(nv_stream_open(volume, file, test_name(&from, "s1"),
					 true, true, &stream, &created));
		break;
	case 1:
		assert_ok(nv_stream_open(volume, file, test_name(&from, "s1"),
					 false, false, &stream, &created));
		assert_ok(nv_write(volume, stream, 0, "text", 4, 0));
		break;
	case 2:
		assert_ok(nv_stream_open(volume, file, test_name(
			&from, "a second stream with a name that does not "
			"fit into the inode, so that a page of names is "
			"needed for it, which is the point of its being so "
			"very long"), true, true, &stream, &created));
		break;
	case 3:
		assert_ok(nv_stream_open(volume, file, test_name(&from, "s3"),
					 true, true, &stream, &created));
		break;
	case 4:
		assert_ok(nv_stream_rename(volume, file,
					   test_name(&from, "S1"),
					   test_name(&to, "s3"), NV_REPLACE));
		break;
	case 5:
		assert_ok(nv_stream_remove(volume, file,
					   test_name(&from, "s3")));
		break;
	case 6:
		test_pattern(3, 3, 0, data, sizeof(data));
		assert_ok(nv_reparse_set(volume, file, 0xa0000003, data,
					 9000));
		break;
	case 7:
		assert_ok(nv_reparse_set(volume, file, 0xa0000003, data, 10));
		break;
	case 8:
		set_ea(volume, file, "LARGE", 20000, 1);
		break;
	case 9:
		set_ea(volume, file, "large", 20000, 2);
		break;
	case 10:
		set_ea(volume, file, "middle", 400, 2);
		break;
	case 11:
		set_ea(volume, file, "small", 10, 2);
		break;
	case 12:
		set_ea(volume, file, "small", 10, 3);
		break;
	case 13:
		set_ea(volume, file, "middle", 300, 4);
		break;
	case 14:
		test_pattern(4, 4, 0, data, sizeof(data));
		assert_ok(nv_sd_set(volume, file, data, sizeof(data)));
		break;
	default:
		set_ea(volume, file, "LARGE", 0, 0);
		break;
	}
}

#define STREAM_STEPS 16
#define GROW 24
#define SHRINK 30
/* Directories whose root is about to split, and are emptied then: "full" has
 * an upper root, "leaf" a leaf, "list" has its names in the inode. */
#define FULL 48
#define LEAF 6
#define MORE 3

/* Fill and empty a directory of so many entries. False: i is behind it. */
static bool fill_step(struct nv_volume *volume, const char *directory,
		      uint32_t present, uint32_t i)
{
	char name[NV_NAME_MAX + 1];

	if (i < MORE) {
		long_name(present + i, name);
		make(volume, directory, name, NV_FILE);
		return true;
	}
	i -= MORE;
	if (i < present + MORE) {
		long_name(i, name);
		assert_ok(test_unlink(volume, at(volume, directory), name));
		return true;
	}
	return false;
}

static bool small_step(struct nv_volume *volume, uint32_t i)
{
	if (fill_step(volume, "full", FULL, i)) {
		return true;
	}
	i -= FULL + 2 * MORE;
	if (fill_step(volume, "leaf", LEAF, i)) {
		return true;
	}
	i -= LEAF + 2 * MORE;
	if (i == 0) {
		make(volume, "list", "s", NV_FILE);
		return true;
	}
	if (i == 1) {
		assert_ok(test_unlink(volume, at(volume, "list"), "s"));
		return true;
	}
	return false;
}

/* One operation. False: there are no more. */
static bool step(struct nv_volume *volume, uint32_t i)
{
	char name[NV_NAME_MAX + 1];
	struct test_name from;
	struct test_name to;

	if (i < STREAM_STEPS) {
		stream_step(volume, i);
		return true;
	}
	i -= STREAM_STEPS;
	switch (i) {
	case 0:
		make(volume, "", "a new file.text", NV_FILE);
		return true;
	case 1:
		make(volume, "", "a new directory", NV_DIRECTORY);
		return true;
	case 2:
		move(volume, "", "a new file.text", "a new directory", "f");
		return true;
	case 3:
		move(volume, "", "a new directory", "d", "moved directory");
		return true;
	case 4:
		move(volume, "", "file", "", "FILE");
		return true;
	case 5:
		assert_ok(nv_link(volume, at(volume, "file"), at(volume, "d"),
				  test_name(&to, "a second name of the file"),
				  NULL, 0, 0));
		return true;
	case 6:
		make(volume, "", "victim of a rename", NV_FILE);
		return true;
	case 7:
		move(volume, "", "file", "", "victim of a rename");
		return true;
	case 8:
		assert_ok(nv_set_short_name(volume, at(volume, ""),
					    test_name(&from, "VICTIM~1"),
					    test_name(&to, "V.S")));
		return true;
	case 9:
		assert_ok(test_unlink(volume, at(volume, ""), "v.s"));
		return true;
	case 10:
		assert_ok(test_unlink(volume, at(volume, "d"),
				      "A SECOND NAME OF THE FILE"));
		return true;
	default:
		break;
	}
	i -= 11;
	if (i < GROW) {
		/* Between those that are there. */
		long_name(i % 2 == 0 ? i * 10 + 5 : FILLERS * 10 + i, name);
		make(volume, "d", name, NV_FILE);
		return true;
	}
	i -= GROW;
	if (i < SHRINK) {
		long_name((10 + i) * 10, name);
		assert_ok(test_unlink(volume, at(volume, "d"), name));
		return true;
	}
	return small_step(volume, i - SHRINK);
}

static void prepare(struct nv_volume *volume)
{
	char name[NV_NAME_MAX + 1];
	nv_file_id id = 0;
	uint32_t i;

	assert_ok(test_create(volume, test_root(volume), "file", NV_FILE,
			      &id));
	assert_ok(test_create(volume, test_root(volume), "d", NV_DIRECTORY,
			      &id));
	for (i = 0; i < FILLERS; i++) {
		long_name(i * 10, name);
		make(volume, "d", name, NV_FILE);
	}
	assert_ok(test_create(volume, test_root(volume), "full", NV_DIRECTORY,
			      &id));
	assert_ok(test_create(volume, test_root(volume), "leaf", NV_DIRECTORY,
			      &id));
	assert_ok(test_create(volume, test_root(volume), "list", NV_DIRECTORY,
			      &id));
	for (i = 0; i < FULL; i++) {
		long_name(i, name);
		make(volume, "full", name, NV_FILE);
	}
	for (i = 0; i < LEAF; i++) {
		long_name(i, name);
		make(volume, "leaf", name, NV_FILE);
	}
}

/* ---- the cases ---- */

struct fixture {
	struct test_place base;
	struct test_place place;	/* a copy of base, per case */
	struct text seen[STEPS_MAX];	/* before step i */
	uint32_t steps;
	uint64_t points;
	_Atomic uint32_t *returned;	/* operations, shared with victims */
};

static void copy_base(struct fixture *fixture)
{
	int from = open(fixture->base.image, O_RDONLY);
	int to = open(fixture->place.image, O_RDWR | O_CREAT | O_TRUNC, 0600);
	off_t size = lseek(from, 0, SEEK_END);
	off_t done = 0;

	assert_true(from >= 0 && to >= 0);
	lseek(from, 0, SEEK_SET);
	while (done < size) {
		ssize_t part = copy_file_range(from, NULL, to, NULL,
					       (size_t)(size - done), 0);

		assert_true(part > 0);
		done += part;
	}
	close(from);
	close(to);
}

static void look(struct nv_volume *volume, struct text *text)
{
	text->used = 0;
	describe_tree(volume, test_root(volume), text);
}

#define POINTS_MAX 100000

static uint64_t points_passed;
static uint8_t points_chosen[POINTS_MAX];

/* Each name is one literal, so its address tells it. */
static bool is_new(const char *name)
{
	static const char *known[500];
	uint32_t i;

	for (i = 0; i < 500 && known[i] != NULL; i++) {
		if (known[i] == name) {
			return false;
		}
	}
	assert_true(i < 500);
	known[i] = name;
	return true;
}

static void count_point(const char *name)
{
	points_passed++;
	if (points_passed < POINTS_MAX) {
		points_chosen[points_passed] |= is_new(name) ||
			strcmp(name, "operation: complete, not ended") == 0;
	}
}

static void make_fixture(struct fixture *fixture)
{
	struct nv_volume *volume = NULL;
	uint32_t i;

	fixture->returned = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(fixture->returned != MAP_FAILED);
	test_place_make(&fixture->base);
	test_format(&fixture->base, 8, 0);
	volume = test_attach(&fixture->base);
	prepare(volume);
	test_detach(volume);
	test_check(&fixture->base);

	test_place_make(&fixture->place);
	copy_base(fixture);
	volume = test_attach(&fixture->place);
	for (i = 0; i < STEPS_MAX; i++) {
		bool more;

		look(volume, &fixture->seen[i]);
		fixture->steps = i;
		nv_kill_point_hook = count_point;
		more = step(volume, i);
		nv_kill_point_hook = NULL;
		if (!more) {
			break;
		}
		look(volume, &fixture->seen[i + 1]);
		assert_true(fixture->seen[i].used !=
			    fixture->seen[i + 1].used ||
			    memcmp(fixture->seen[i].bytes,
				   fixture->seen[i + 1].bytes,
				   fixture->seen[i].used) != 0);
		fixture->seen[i + 1].used = 0;
	}
	fixture->points = points_passed;
	test_sound(volume);
	test_detach(volume);
	test_check(&fixture->place);
	print_message("# %u operations, %llu kill points\n", fixture->steps,
		      (unsigned long long)fixture->points);
}

static void drop_fixture(struct fixture *fixture)
{
	uint32_t i;

	for (i = 0; i < STEPS_MAX; i++) {
		free(fixture->seen[i].bytes);
	}
	test_place_remove(&fixture->base);
	test_place_remove(&fixture->place);
	munmap((void *)fixture->returned, 4096);
}

static bool run_victim(struct fixture *fixture, uint64_t point)
{
	pid_t pid;
	int status = 0;

	*fixture->returned = 0;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct nv_volume *volume = test_attach(&fixture->place);
		uint32_t i;

		passes_left = point;
		nv_kill_point_hook = die_when_due;
		for (i = 0; step(volume, i); i++) {
			(*fixture->returned)++;
		}
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

static bool same(const struct text *a, const struct text *b)
{
	return a->used == b->used && memcmp(a->bytes, b->bytes, a->used) == 0;
}

static void check_seen(struct fixture *fixture, struct nv_volume *volume,
		       struct text *seen)
{
	uint32_t returned = *fixture->returned;

	look(volume, seen);
	if (same(seen, &fixture->seen[returned])) {
		return;
	}
	if (returned < fixture->steps &&
	    same(seen, &fixture->seen[returned + 1])) {
		return;
	}
	print_error("# after %u operations the volume is neither\n%.*s\n"
		    "# nor the next, but\n%.*s\n", returned,
		    (int)fixture->seen[returned].used,
		    fixture->seen[returned].bytes, (int)seen->used,
		    seen->bytes);
	fail_msg("operation %u is half done", returned);
}

static double now(void)
{
	struct timespec time = {0};

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1000 + (double)time.tv_nsec / 1000000;
}

/* Everything the victim may have held is free, at once. */
static void go_on(struct nv_volume *volume)
{
	double start = now();
	double took;

	make(volume, "", "made by the survivor", NV_FILE);
	make(volume, "d", "made by the survivor", NV_FILE);
	move(volume, "d", "made by the survivor", "", "MADE BY the survivor");
	assert_ok(test_unlink(volume, at(volume, ""),
			      "made by the survivor"));
	took = now() - start;
	if (took > PATIENCE) {
		fail_msg("the survivor took %.0f ms", took);
	}
}

static void run_case(struct fixture *fixture, const char *mode,
		     uint64_t point, struct text *seen)
{
	bool alone = strcmp(mode, "alone") == 0;
	struct nv_volume *volume = NULL;

	copy_base(fixture);
	if (!alone) {
		volume = test_attach(&fixture->place);
	}
	run_victim(fixture, point);
	if (alone) {
		volume = test_attach(&fixture->place);
	}
	if (!alone) {
		go_on(volume);
	}
	check_seen(fixture, volume, seen);
	test_sound(volume);
	test_detach(volume);
	test_check(&fixture->place);
	/* What was an orphan is gone now, and the rest is still right. */
	volume = test_attach(&fixture->place);
	check_seen(fixture, volume, seen);
	test_sound(volume);
	test_detach(volume);
}

static void run_mode(const char *mode)
{
	static struct fixture fixture;
	struct text seen = {0};
	uint64_t stride;
	uint64_t point;
	uint64_t cases = 0;

	if (only_mode != NULL && strcmp(only_mode, mode) != 0) {
		return;
	}
	memset(&fixture, 0, sizeof(fixture));
	points_passed = 0;
	make_fixture(&fixture);
	assert_true(fixture.points < POINTS_MAX);
	stride = fixture.points / 100 + 1;
	for (point = 1; point <= fixture.points; point++) {
		if (only_mode != NULL) {
			point = only_case;
		} else if (!every_point && points_chosen[point] == 0 &&
			   point % stride != 0) {
			continue;
		}
		snprintf(last_case, sizeof(last_case), "%s %llu", mode,
			 (unsigned long long)point);
		run_case(&fixture, mode, point, &seen);
		cases++;
		if (only_mode != NULL) {
			break;
		}
	}
	print_message("# %llu kills\n", (unsigned long long)cases);
	free(seen.bytes);
	drop_fixture(&fixture);
}

static void test_alone(void **state)
{
	run_mode("alone");
}

static void test_survivor(void **state)
{
	run_mode("survivor");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_survivor),
	};
	int failed;

	if (argc == 2 && strcmp(argv[1], "all") == 0) {
		every_point = true;
	} else if (argc == 3) {
		only_mode = argv[1];
		only_case = strtoull(argv[2], NULL, 0);
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (failed != 0) {
		fprintf(stderr, "# last case: test_native_names_kill %s\n",
			last_case);
	}
	return failed;
}
