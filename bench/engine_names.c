/*
 * bench-engine-names: one very large directory, and the same load six times.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <popt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "io.h"
#include "ntvfs_native.h"

#define BATCH 100
#define LOAD_DIRECTORIES 20

static const char usage[] =
"Usage: bench/engine-names [OPTION...]\n"
"\n"
"Of the native engine:\n"
"  large   one directory with many entries, made in an order that is not\n"
"          theirs: create, lookup of what is there and of what is not,\n"
"          enumerate (while another process makes and removes names, too:\n"
"          then each name that stays must be told exactly once), unlink;\n"
"          the checker has the last word\n"
"  rounds  the same load six times on one volume: is the last as fast as\n"
"          the first?\n"
"\n"
"  --entries N       of the large directory (default 1000000)\n"
"  --quick           100000 entries, a smaller load\n"
"  --json FILE       write a list of {test, fs, unit, value}\n"
"  --directory DIR   work here (default /dev/shm)\n"
"  -h, --help        this text\n";

struct result {
	const char *test;
	const char *unit;
	double value;
};

static struct result results[32];
static uint32_t result_count;
static char work[160];
static char image[200];

static void die(const char *what, const char *why)
	__attribute__((noreturn));

static void die(const char *what, const char *why)
{
	fprintf(stderr, "bench-engine-names: %s: %s\n", what, why);
	exit(1);
}

static void check(enum nv_status status, const char *what)
{
	if (status != NV_OK) {
		die(what, nv_status_string(status));
	}
}

static void tell(const char *test, const char *unit, double value)
{
	printf("%-28s %-8s %12.3f %s\n", test, "native", value, unit);
	fflush(stdout);
	results[result_count] = (struct result) {test, unit, value};
	result_count++;
}

static double microseconds(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static struct nv_volume *attach(void)
{
	struct nv_attach_params params = {.segment_directory = work};
	char message[NV_MESSAGE_SIZE] = "";
	struct nv_volume *volume = NULL;
	struct nv_io *io = NULL;

	if (nv_io_open(image, false, &io) != 0) {
		die(image, "cannot be opened");
	}
	if (nv_volume_attach(io, &params, &volume, message) != NV_OK) {
		die(image, message);
	}
	return volume;
}

static void format(uint64_t size)
{
	struct nv_format_params params = {.segment_directory = work};
	struct nv_io *io = NULL;

	unlink(image);
	if (nv_io_create(image, size, &io) != 0) {
		die(image, "cannot be made");
	}
	check(nv_volume_format(io, &params), "format");
	io->ops->close(io);
}

static nv_file_id root_of(struct nv_volume *volume)
{
	struct nv_volume_statistics statistics;

	check(nv_volume_statistics(volume, &statistics), "statistics");
	return statistics.root_directory;
}

static void tell_finding(void *private_data, const char *name,
			 const char *text)
{
	fprintf(stderr, "# check: %s: %s\n", name, text);
}

static void check_volume(void)
{
	struct nv_check_params params = {.finding = tell_finding};
	struct nv_io *io = NULL;
	uint64_t findings = 0;

	if (nv_io_open(image, true, &io) != 0) {
		die(image, "cannot be opened");
	}
	check(nv_check(io, &params, &findings), "check");
	io->ops->close(io);
	if (findings != 0) {
		die(image, "the checker has findings");
	}
}

struct text_name {
	uint16_t units[64];
	struct nv_name name;
};

static const struct nv_name *set_name(struct text_name *made,
				      const char *pattern, uint32_t number)
{
	char text[64];
	uint32_t i;

	snprintf(text, sizeof(text), "File name %010u.%s", number, pattern);
	for (i = 0; text[i] != '\0'; i++) {
		made->units[i] = (uint8_t)text[i];
	}
	made->name.units = made->units;
	made->name.length = i;
	return &made->name;
}

/* Each number once, in no order: an odd factor is a bijection of 32 bits. */
static uint32_t scatter(uint32_t i)
{
	return i * UINT32_C(2654435761);
}

static void make(struct nv_volume *volume, nv_file_id directory,
		 const char *pattern, uint32_t number)
{
	struct nv_create_params params = {
		.type = NV_FILE,
		.info = {.attributes = 0x20},
		.info_mask = NV_INFO_ATTRIBUTES | NV_INFO_TIMES,
	};
	struct text_name made;
	nv_file_id id = 0;

	params.name = *set_name(&made, pattern, number);
	check(nv_create(volume, directory, &params, &id), "create");
}

/* ---- one large directory ---- */

/* Until it is killed: names that come and go among those that stay. */
static void churn(nv_file_id directory, uint32_t entries)
{
	struct nv_volume *volume = attach();
	uint32_t i;

	for (i = 0;; i = (i + 1) % entries) {
		struct text_name made;

		make(volume, directory, "new", scatter(i));
		if (i >= 1000) {
			set_name(&made, "new", scatter(i - 1000));
			nv_unlink(volume, directory, &made.name, 0, 0);
		}
	}
}

/* Every name that ends in .txt is counted; they must rise. */
static uint32_t enumerate(struct nv_volume *volume, nv_file_id directory)
{
	struct nv_found *found = calloc(BATCH, sizeof(*found));
	struct text_name last = {.name = {.units = last.units}};
	uint32_t returned = 0;
	uint32_t count = 0;
	uint32_t i;

	if (found == NULL) {
		die("enumerate", "no memory");
	}
	do {
		check(nv_enumerate(volume, directory,
				   last.name.length == 0 ? NULL : &last.name,
				   found, BATCH, &returned), "enumerate");
		for (i = 0; i < returned; i++) {
			uint32_t length = found[i].name_length;

			if (last.name.length == length &&
			    memcmp(last.units + 10, found[i].name + 10,
				   20) == 0 &&
			    last.units[length - 3] ==
			    found[i].name[length - 3]) {
				die("enumerate", "a name was told twice");
			}
			count += found[i].name[length - 3] == 't' ? 1 : 0;
			memcpy(last.units, found[i].name, 2 * length);
			last.name.length = length;
		}
	} while (returned > 0);
	free(found);
	return count;
}

static void look_up(struct nv_volume *volume, nv_file_id directory,
		    uint32_t entries, bool there)
{
	uint32_t lookups = entries < 1000000 ? entries : 1000000;
	double start = microseconds();
	struct text_name made;
	struct nv_found found;
	enum nv_status status;
	uint32_t i;

	for (i = 0; i < lookups; i++) {
		uint32_t which = (uint32_t)((uint64_t)i * 7919 % entries);

		/* Other case than stored. */
		set_name(&made, there ? "TXT" : "TXU", scatter(which));
		status = nv_lookup(volume, directory, &made.name, &found);
		if (status != (there ? NV_OK : NV_ERR_NOT_FOUND)) {
			die("lookup", nv_status_string(status));
		}
	}
	tell(there ? "large_lookup_hit" : "large_lookup_miss", "us",
	     (microseconds() - start) / lookups);
}

static void large_directory(uint32_t entries)
{
	struct nv_volume *volume = NULL;
	struct text_name made;
	nv_file_id root;
	double start;
	pid_t pid;
	uint32_t i;

	/* An inode, its names in nodes half full, and a group's copies. */
	format(((uint64_t)entries * 900 + (64U << 20)) & ~UINT64_C(4095));
	volume = attach();
	root = root_of(volume);
	tell("large_entries", "names", entries);
	start = microseconds();
	for (i = 0; i < entries; i++) {
		make(volume, root, "txt", scatter(i));
		if (i % 1000 == 0) {
			check(nv_volume_tick(volume), "tick");
		}
	}
	tell("large_create", "us", (microseconds() - start) / entries);
	look_up(volume, root, entries, true);
	look_up(volume, root, entries, false);
	start = microseconds();
	if (enumerate(volume, root) != entries) {
		die("enumerate", "not all names were told");
	}
	tell("large_enumerate", "us", (microseconds() - start) / entries);

	pid = fork();
	if (pid == 0) {
		churn(root, entries);
	}
	start = microseconds();
	if (pid < 0 || enumerate(volume, root) != entries) {
		die("enumerate", "not every name was told once while others "
		    "came and went");
	}
	tell("large_enumerate_changing", "us",
	     (microseconds() - start) / entries);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	check(nv_volume_detach(volume), "detach");
	start = microseconds();
	check_volume();
	tell("large_check", "s", (microseconds() - start) / 1e6);

	volume = attach();
	start = microseconds();
	for (i = 0; i < entries; i++) {
		set_name(&made, "txt", scatter(i));
		check(nv_unlink(volume, root, &made.name, 0, 0), "unlink");
		if (i % 1000 == 0) {
			check(nv_volume_tick(volume), "tick");
		}
	}
	tell("large_unlink", "us", (microseconds() - start) / entries);
	check(nv_volume_detach(volume), "detach");
	check_volume();
}

/* ---- the same load, again and again ---- */

static void put(struct nv_volume *volume, nv_file_id directory, uint32_t i)
{
	static const uint8_t content[6000];
	struct text_name made;
	struct nv_found found;
	struct nv_info info = {.last_write_time = i};

	make(volume, directory, "txt", scatter(i));
	set_name(&made, "txt", scatter(i));
	check(nv_lookup(volume, directory, &made.name, &found), "lookup");
	check(nv_write(volume, found.id, 0, content, 100 + i % 5900, 1),
	      "write");
	check(nv_set_info(volume, found.id, NV_INFO_LAST_WRITE_TIME, &info),
	      "set times");
	nv_done_writing(volume, found.id);
}

static double one_round(struct nv_volume *volume,
			const nv_file_id *directory, uint32_t files)
{
	double start = microseconds();
	struct text_name from;
	struct text_name to;
	uint32_t i;

	for (i = 0; i < files; i++) {
		put(volume, directory[i % LOAD_DIRECTORIES], i);
	}
	for (i = 0; i < files; i += 2) {
		set_name(&from, "txt", scatter(i));
		set_name(&to, "moved", scatter(i));
		check(nv_rename(volume, directory[i % LOAD_DIRECTORIES],
				&from.name, 0,
				directory[(i + 1) % LOAD_DIRECTORIES],
				&to.name, NULL, 1, 0), "rename");
	}
	check(nv_volume_commit(volume), "commit");
	for (i = 0; i < files; i++) {
		uint32_t in = i % 2 == 0 ? i + 1 : i;

		set_name(&from, i % 2 == 0 ? "moved" : "txt", scatter(i));
		check(nv_unlink(volume, directory[in % LOAD_DIRECTORIES],
				&from.name, 0, 1), "unlink");
	}
	check(nv_volume_commit(volume), "commit");
	return files / (microseconds() - start) * 1e6;
}

static void same_load(uint32_t files)
{
	static const char *const names[] = {
		"round_1", "round_2", "round_3", "round_4", "round_5",
		"round_6"};
	nv_file_id directory[LOAD_DIRECTORIES];
	struct nv_volume *volume = NULL;
	double rate[6];
	uint32_t i;

	format(UINT64_C(1) << 30);
	volume = attach();
	for (i = 0; i < LOAD_DIRECTORIES; i++) {
		struct nv_create_params params = {.type = NV_DIRECTORY};
		struct text_name made;

		params.name = *set_name(&made, "d", i);
		check(nv_create(volume, root_of(volume), &params,
				&directory[i]), "create");
	}
	/* The pages of the image come to be in a round that does not count. */
	one_round(volume, directory, files);
	for (i = 0; i < 6; i++) {
		rate[i] = one_round(volume, directory, files);
		tell(names[i], "files/s", rate[i]);
	}
	tell("round_6_over_1", "ratio", rate[5] / rate[0]);
	check(nv_volume_detach(volume), "detach");
	check_volume();
}

static void write_json(const char *path)
{
	FILE *file = fopen(path, "w");
	uint32_t i;

	if (file == NULL) {
		die(path, strerror(errno));
	}
	fputc('[', file);
	for (i = 0; i < result_count; i++) {
		fprintf(file, "%s\n  {\"test\": \"%s\", \"fs\": \"native\", "
			"\"unit\": \"%s\", \"value\": %.3f}",
			i == 0 ? "" : ",", results[i].test, results[i].unit,
			results[i].value);
	}
	fputs("\n]\n", file);
	if (fclose(file) != 0) {
		die(path, strerror(errno));
	}
}

int main(int argc, const char **argv)
{
	const char *directory = "/dev/shm";
	const char *json = NULL;
	poptContext context = NULL;
	char command[240];
	int entries = 0;
	int quick = 0;
	int help = 0;
	int next;
	struct poptOption options[] = {
		{"entries", 0, POPT_ARG_INT, &entries, 0, NULL, NULL},
		{"quick", 0, POPT_ARG_NONE, &quick, 0, NULL, NULL},
		{"json", 0, POPT_ARG_STRING, &json, 0, NULL, NULL},
		{"directory", 0, POPT_ARG_STRING, &directory, 0, NULL, NULL},
		{"help", 'h', POPT_ARG_NONE, &help, 0, NULL, NULL},
		POPT_TABLEEND
	};

	context = poptGetContext("bench/engine-names", argc, argv, options,
				 0);
	next = poptGetNextOpt(context);
	if (next < -1 || poptPeekArg(context) != NULL || entries < 0) {
		fputs(usage, stderr);
		return 2;
	}
	if (help) {
		fputs(usage, stdout);
		return 0;
	}
	if (entries == 0) {
		entries = quick ? 100000 : 1000000;
	}
	snprintf(work, sizeof(work), "%s/bench-engine-names-XXXXXX",
		 directory);
	if (mkdtemp(work) == NULL) {
		die(work, strerror(errno));
	}
	snprintf(image, sizeof(image), "%s/image", work);
	same_load(quick ? 5000 : 50000);
	large_directory((uint32_t)entries);
	if (json != NULL) {
		write_json(json);
	}
	snprintf(command, sizeof(command), "rm -rf '%s'", work);
	if (system(command) != 0) {
		die(work, "cannot be removed");
	}
	poptFreeContext(context);
	return 0;
}
