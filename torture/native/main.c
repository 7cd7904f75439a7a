/*
 * native-torture: the proof of the native engine, by trying.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <dirent.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "torture.h"

static const struct {
	const char *name;
	void (*function)(struct torture *torture);
	uint64_t runs, steps, mebibytes;	/* defaults: the quick form */
	const char *what;
} modes[] = {
	{"model", torture_model, 20, 400, 16,
	 "random calls, compared with the reference model"},
	{"powercut", torture_powercut, 3, 50, 4,
	 "power cuts at every flush, write and many kill points"},
	{"threads", torture_threads, 2, 24, 4,
	 "power cuts during commits, while threads work"},
	{"ace", torture_ace, 25, 3, 4,
	 "all short sequences of calls, each followed by a commit and a cut"},
	{"kill", torture_kill, 60, 40, 16,
	 "a process killed at a kill point, another that must go on"},
	{"full", torture_full, 3, 60, 4,
	 "calls at every degree of fullness of the volume"},
	{"inject", torture_inject, 2, 60, 4,
	 "failure of every call that can fail"},
	{"fuzz", torture_fuzz, 300, 1, 4,
	 "damaged images: check, attach, walk"},
};

#define MODES (sizeof(modes) / sizeof(modes[0]))

static void usage(void)
{
	size_t i;

	printf("Usage: native-torture MODE [OPTION...]\n\nModes:\n");
	for (i = 0; i < MODES; i++) {
		printf("  %-10s %s\n", modes[i].name, modes[i].what);
	}
	printf("\nnative-torture --modes prints the modes' names alone.\n"
	       "\nOptions:\n"
	       "  --seed N        seed of the first run (default 1)\n"
	       "  --runs N        how many runs, each with the next seed\n"
	       "  --steps N       calls in a run\n"
	       "  --case N        judge only this case of each run\n"
	       "  --size N        size of the volume in MiB\n"
	       "  --inode-size N  256 to 4096 (default: by the seed)\n"
	       "  --seconds N     begin no run after so long\n"
	       "  --verbose       tell every step\n\n"
	       "The last line counts what passed, failed and was skipped.\n");
}

static bool parse(struct torture *torture, int argc, char **argv)
{
	static const struct option options[] = {
		{"seed", required_argument, NULL, 's'},
		{"runs", required_argument, NULL, 'r'},
		{"steps", required_argument, NULL, 't'},
		{"case", required_argument, NULL, 'c'},
		{"size", required_argument, NULL, 'm'},
		{"inode-size", required_argument, NULL, 'i'},
		{"seconds", required_argument, NULL, 'd'},
		{"verbose", no_argument, NULL, 'v'},
		{NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		uint64_t value = optarg != NULL ? strtoull(optarg, NULL, 0) :
			0;

		switch (c) {
		case 's':
			torture->seed = value;
			break;
		case 'r':
			torture->runs = value;
			break;
		case 't':
			torture->steps = value;
			break;
		case 'c':
			torture->only_case = value;
			torture->runs = 1;
			break;
		case 'm':
			torture->mebibytes = value;
			break;
		case 'i':
			torture->inode_size = (uint32_t)value;
			break;
		case 'd':
			torture->seconds = (uint32_t)value;
			break;
		case 'v':
			torture->verbose = true;
			break;
		default:
			return false;
		}
	}
	return optind == argc;
}

static void remove_directory(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry = NULL;

	if (directory == NULL) {
		return;
	}
	while ((entry = readdir(directory)) != NULL) {
		if (entry->d_name[0] != '.') {
			unlinkat(dirfd(directory), entry->d_name, 0);
		}
	}
	closedir(directory);
	rmdir(path);
}

int main(int argc, char **argv)
{
	struct torture torture = {
		.seed = 1,
		.only_case = TORTURE_ALL_CASES,
	};
	size_t mode;

	if (argc < 2) {
		usage();
		return 2;
	}
	if (strcmp(argv[1], "--modes") == 0) {
		for (mode = 0; mode < MODES; mode++) {
			printf("%s\n", modes[mode].name);
		}
		return 0;
	}
	for (mode = 0; mode < MODES; mode++) {
		if (strcmp(argv[1], modes[mode].name) == 0) {
			break;
		}
	}
	if (mode == MODES) {
		usage();
		return strcmp(argv[1], "--help") == 0 ? 0 : 2;
	}
	torture.mode = modes[mode].name;
	torture.runs = modes[mode].runs;
	torture.steps = modes[mode].steps;
	torture.mebibytes = modes[mode].mebibytes;
	if (!parse(&torture, argc - 1, argv + 1)) {
		usage();
		return 2;
	}
	setlinebuf(stdout);
	snprintf(torture.directory, sizeof(torture.directory),
		 "/dev/shm/native-torture-XXXXXX");
	if (mkdtemp(torture.directory) == NULL) {
		perror(torture.directory);
		return 2;
	}
	torture.started = torture_milliseconds();
	modes[mode].function(&torture);
	remove_directory(torture.directory);
	printf("%llu passed, %llu failed, %llu skipped\n",
	       (unsigned long long)torture.passed,
	       (unsigned long long)torture.failed,
	       (unsigned long long)torture.skipped);
	return torture.failed == 0 ? 0 : 1;
}
