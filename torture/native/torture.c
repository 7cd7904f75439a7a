/*
 * The frame of the torture programs: counting, telling, child processes.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "torture.h"

uint64_t torture_milliseconds(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

bool torture_time_is_up(const struct torture *torture)
{
	return torture->seconds != 0 && torture_milliseconds() -
		torture->started > (uint64_t)torture->seconds * 1000;
}

void torture_pass(struct torture *torture)
{
	torture->passed++;
}

void torture_fail(struct torture *torture, uint64_t seed, uint64_t number,
		  const char *more, const char *format, ...)
{
	va_list args;

	torture->failed++;
	printf("FAILED %s seed %llu", torture->mode,
	       (unsigned long long)seed);
	if (number != TORTURE_ALL_CASES) {
		printf(" case %llu", (unsigned long long)number);
	}
	printf("\n    ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n    rerun: bin/native-torture %s --seed %llu --runs 1 "
	       "--steps %llu --size %llu", torture->mode,
	       (unsigned long long)seed, (unsigned long long)torture->steps,
	       (unsigned long long)torture->mebibytes);
	if (torture->inode_size != 0) {
		printf(" --inode-size %u", torture->inode_size);
	}
	if (number != TORTURE_ALL_CASES) {
		printf(" --case %llu", (unsigned long long)number);
	}
	printf("%s\n", more);
}

void torture_skip(struct torture *torture, const char *what, const char *why)
{
	torture->skipped++;
	printf("skip %s: %s\n", what, why);
}

void torture_progress(struct torture *torture, const char *format, ...)
{
	static uint64_t last;
	uint64_t now = torture_milliseconds();
	va_list args;

	if (now - last < 1000 && !torture->verbose) {
		return;
	}
	last = now;
	printf("  ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

void *torture_shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	return memory;
}

bool torture_in_child(bool (*function)(void *argument, char *problem),
		      void *argument, uint32_t seconds, char *problem)
{
	static char *shared;
	int status = 0;
	pid_t child;

	if (shared == NULL) {
		shared = torture_shared(TREE_PROBLEM_SIZE);
	}
	shared[0] = 0;
	fflush(stdout);
	child = fork();
	if (child < 0) {
		perror("fork");
		exit(2);
	}
	if (child == 0) {
		bool ok;

		alarm(seconds);
		ok = function(argument, shared);
		fflush(stdout);
		_exit(ok ? 0 : 1);
	}
	if (waitpid(child, &status, 0) != child) {
		perror("waitpid");
		exit(2);
	}
	if (WIFSIGNALED(status)) {
		if (WTERMSIG(status) == SIGALRM) {
			snprintf(problem, TREE_PROBLEM_SIZE,
				 "it hung for %u s (%.300s)", seconds,
				 shared);
		} else {
			snprintf(problem, TREE_PROBLEM_SIZE,
				 "it crashed: %s (%.300s)",
				 strsignal(WTERMSIG(status)), shared);
		}
		return false;
	}
	if (WEXITSTATUS(status) == 0) {
		return true;
	}
	if (shared[0] == 0) {
		snprintf(problem, TREE_PROBLEM_SIZE,
			 "it ended with exit status %d; see above",
			 WEXITSTATUS(status));
	} else {
		snprintf(problem, TREE_PROBLEM_SIZE, "%s", shared);
	}
	return false;
}

struct simdisk *torture_formatted(const struct torture *torture,
				  uint64_t seed)
{
	static const uint32_t inode_sizes[] = {512, 256, 1024, 512, 2048,
					       4096};
	struct nv_format_params params = {
		.inode_size = inode_sizes[seed % 6],
		.label = "torture",
		.segment_directory = torture->directory,
	};
	uint8_t uuid[16] = "native-torture";
	struct simdisk *disk = NULL;
	struct nv_io *io = NULL;
	enum nv_status status;

	if (torture->inode_size != 0) {
		params.inode_size = torture->inode_size;
	}
	params.uuid = uuid;
	if (simdisk_create(torture->mebibytes << 20, seed, &disk) != 0) {
		fprintf(stderr, "no memory for a simdisk\n");
		exit(2);
	}
	io = simdisk_open(disk);
	if (io == NULL) {
		fprintf(stderr, "a simdisk cannot be opened\n");
		exit(2);
	}
	status = nv_volume_format(io, &params);
	io->ops->close(io);
	if (status != NV_OK) {
		fprintf(stderr, "format: %s\n", nv_status_string(status));
		exit(2);
	}
	return disk;
}

struct nv_volume *torture_attach(const struct torture *torture,
				 struct simdisk *disk, char *problem)
{
	struct nv_attach_params params = {
		.segment_directory = torture->directory,
		.commit_interval = 1000000,
	};
	char message[NV_MESSAGE_SIZE] = "";
	struct nv_volume *volume = NULL;
	struct nv_io *io = simdisk_open(disk);
	enum nv_status status;

	if (io == NULL) {
		snprintf(problem, TREE_PROBLEM_SIZE, "no memory");
		return NULL;
	}
	status = nv_volume_attach(io, &params, &volume, message);
	if (status != NV_OK) {
		snprintf(problem, TREE_PROBLEM_SIZE, "attach: %s (%s)",
			 nv_status_string(status), message);
		io->ops->close(io);
		return NULL;
	}
	return volume;
}

struct first_finding {
	char *text;		/* TREE_PROBLEM_SIZE */
	uint64_t count;
};

static void note_finding(void *private_data, const char *name,
			 const char *text)
{
	struct first_finding *first = private_data;

	if (first->count == 0) {
		snprintf(first->text, TREE_PROBLEM_SIZE, "%s: %s", name,
			 text);
	}
	first->count++;
}

bool torture_check_clean(struct nv_io *io, const char *when, char *problem)
{
	char text[TREE_PROBLEM_SIZE] = "";
	struct first_finding first = {.text = text};
	struct nv_check_params params = {
		.finding = note_finding,
		.private_data = &first,
	};
	enum nv_status status;
	uint64_t findings = 0;

	status = nv_check(io, &params, &findings);
	if (status != NV_OK) {
		snprintf(problem, TREE_PROBLEM_SIZE, "the checker %s: %s",
			 when, nv_status_string(status));
		return false;
	}
	if (findings > 0) {
		snprintf(problem, TREE_PROBLEM_SIZE, "the checker %s: %llu "
			 "findings, first %.380s", when,
			 (unsigned long long)findings, text);
		return false;
	}
	return true;
}

bool torture_check_disk(struct simdisk *disk, const char *when, char *problem)
{
	struct nv_io *io = simdisk_open(disk);
	bool ok;

	if (io == NULL) {
		snprintf(problem, TREE_PROBLEM_SIZE, "no memory");
		return false;
	}
	ok = torture_check_clean(io, when, problem);
	io->ops->close(io);
	return ok;
}
