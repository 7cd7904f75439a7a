/*
 * The frame of the torture programs: options, counting, telling.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * native-torture MODE [--seed N] [--case N] [--runs N] [--steps N] ...
 *
 * A mode makes runs; run r of seed s always does the same. Within a run cases
 * are numbered. A failure prints the command that repeats its run, and judges
 * that case alone.
 */

#ifndef TORTURE_TORTURE_H
#define TORTURE_TORTURE_H

#include "simdisk.h"
#include "tree.h"

#define TORTURE_ALL_CASES UINT64_MAX

struct torture {
	const char *mode;
	uint64_t seed;		/* of the first run; each next one adds 1 */
	uint64_t runs;
	uint64_t steps;		/* calls in a run */
	uint64_t only_case;	/* TORTURE_ALL_CASES: every one */
	uint64_t mebibytes;	/* size of the volume */
	uint32_t inode_size;
	uint32_t seconds;	/* stop beginning runs after so long; 0: no */
	bool verbose;
	char directory[64];	/* on a tmpfs: segments, images */

	uint64_t passed;
	uint64_t failed;
	uint64_t skipped;
	uint64_t started;	/* milliseconds */
};

/* One thing was right. */
void torture_pass(struct torture *torture);

/*
 * One thing was wrong: say so, and how to repeat it: mode, run seed and case
 * (TORTURE_ALL_CASES: the whole run), and further arguments.
 */
void torture_fail(struct torture *torture, uint64_t seed, uint64_t number,
		  const char *more, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
void torture_skip(struct torture *torture, const char *what, const char *why);
/* A line of progress, at most one a second. */
void torture_progress(struct torture *torture, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
uint64_t torture_milliseconds(void);
/* True: begin no further run. */
bool torture_time_is_up(const struct torture *torture);

/*
 * Run function in a child process: a crash, a hang of more than seconds, or
 * false is false, with a problem (TREE_PROBLEM_SIZE bytes).
 */
bool torture_in_child(bool (*function)(void *argument, char *problem),
		      void *argument, uint32_t seconds, char *problem);

/* Memory that parent and children share; zeros. */
void *torture_shared(size_t size);

/* A formatted, empty volume; exits when that fails. */
struct simdisk *torture_formatted(const struct torture *torture,
				  uint64_t seed);
/* Attach a simdisk; NULL with a problem. */
struct nv_volume *torture_attach(const struct torture *torture,
				 struct simdisk *disk, char *problem);
/* The checker finds nothing. */
bool torture_check_clean(struct nv_io *io, const char *when, char *problem);
bool torture_check_disk(struct simdisk *disk, const char *when,
			char *problem);

/* The modes. */
void torture_model(struct torture *torture);
void torture_powercut(struct torture *torture);
void torture_threads(struct torture *torture);
void torture_ace(struct torture *torture);
void torture_kill(struct torture *torture);
void torture_full(struct torture *torture);
void torture_inject(struct torture *torture);
void torture_fuzz(struct torture *torture);

#endif
