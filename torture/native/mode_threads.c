/*
 * Power cuts during commits, while threads work.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Each thread works in a directory of its own, so that its history is known;
 * they share the root directory, the SD store, the map and the allocator. The
 * main thread commits all the time, and cuts the power at each of its writes
 * and flushes and at many kill points in between, while the others go on.
 * After each round all stand still and the cuts are judged: the checker finds
 * nothing, and each thread's directory is in one of the states between the
 * last finished commit and the end of the round.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "killpoint.h"
#include "torture.h"
#include "workload.h"

#define THREADS 3
#define STATES_MOST 4096
#define CUTS_MOST 256
#define STEPS_IN_A_ROUND 12

struct worker {
	pthread_t thread;
	nv_file_id root;
	struct model *model;
	struct workload workload;
	struct tree *history[STATES_MOST];
	_Atomic uint32_t states;
	uint64_t steps;		/* to do in this round */
	bool failed;
	char problem[TREE_PROBLEM_SIZE];
};

struct taken {
	struct simdisk *disk;
	uint32_t first[THREADS];
	uint64_t number;
	char where[80];
};

struct threads_run {
	struct torture *torture;
	uint64_t seed;
	struct simdisk *disk;
	struct nv_volume *volume;
	struct worker worker[THREADS];
	uint32_t durable[THREADS];
	struct taken taken[CUTS_MOST];
	uint32_t taken_count;
	uint64_t number;
	struct seed choice;
};

static struct threads_run *run;
static uint64_t *judged;	/* shared */
static __thread bool commits;	/* this thread is the one that cuts */

static void take(enum simdisk_fate fate, const char *where)
{
	struct taken *taken = &run->taken[run->taken_count];

	run->number++;
	if (run->taken_count == CUTS_MOST ||
	    (run->torture->only_case != TORTURE_ALL_CASES &&
	     run->torture->only_case != run->number)) {
		return;
	}
	if (simdisk_cut(run->disk, fate, run->seed * 1000003 + run->number,
			&taken->disk, NULL) != 0) {
		return;
	}
	memcpy(taken->first, run->durable, sizeof(taken->first));
	taken->number = run->number;
	snprintf(taken->where, sizeof(taken->where), "%s", where);
	run->taken_count++;
}

static void at_call(void *private_data, enum simdisk_call call,
		    uint64_t number)
{
	if (!commits) {
		return;
	}
	if (call == SIMDISK_FLUSH || call == SIMDISK_WRITE) {
		take(SIMDISK_DROP_ALL, simdisk_call_name(call));
		take(SIMDISK_MIX, simdisk_call_name(call));
		take((enum simdisk_fate)seed_below(&run->choice,
						   SIMDISK_FATES),
		     simdisk_call_name(call));
	}
}

static void at_kill_point(const char *name)
{
	/* Threads of the engine stop here for a moment now and then. */
	if (!commits) {
		return;
	}
	if (seed_chance(&run->choice, 15)) {
		take((enum simdisk_fate)seed_below(&run->choice,
						   SIMDISK_FATES), name);
	}
}

/* ---- threads ---- */

static bool add_state(struct worker *worker)
{
	uint32_t states = atomic_load(&worker->states);

	if (states == STATES_MOST) {
		snprintf(worker->problem, sizeof(worker->problem),
			 "too many states");
		return false;
	}
	worker->history[states] = model_tree(worker->model);
	atomic_store(&worker->states, states + 1);
	return true;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	uint64_t i;

	commits = false;
	for (i = 0; i < worker->steps && !worker->failed; i++) {
		worker->failed = !workload_step(&worker->workload,
						worker->problem) ||
			!add_state(worker);
	}
	return NULL;
}

static bool start_worker(uint32_t i, char *problem)
{
	struct worker *worker = &run->worker[i];
	const uint16_t unit = (uint16_t)('P' + i);
	struct nv_create_params params = {
		.name = {.units = &unit, .length = 1},
		.type = NV_DIRECTORY,
	};
	struct nv_volume_statistics statistics;
	enum nv_status status;

	status = nv_volume_statistics(run->volume, &statistics);
	if (status == NV_OK) {
		status = nv_create(run->volume, statistics.root_directory,
				   &params, &worker->root);
	}
	if (status != NV_OK) {
		snprintf(problem, TREE_PROBLEM_SIZE, "making a directory: %s",
			 nv_status_string(status));
		return false;
	}
	worker->model = model_new(run->volume, worker->root);
	workload_init(&worker->workload, run->volume, worker->model,
		      run->seed * 31 + i);
	worker->workload.bytes_most = 150 * 1024;
	worker->workload.file_most = 60 * 1024;
	worker->workload.weight[WORK_COMMIT] = 0;
	worker->workload.weight[WORK_FLUSH] = 0;
	return add_state(worker);
}

/* ---- judging ---- */

static bool judge(void *argument, char *problem)
{
	const struct taken *taken = argument;
	char why[TREE_PROBLEM_SIZE] = "";
	struct nv_volume *volume = NULL;
	uint32_t i;

	nv_kill_point_hook = NULL;
	commits = false;
	if (!torture_check_disk(taken->disk, "after the cut", problem)) {
		return false;
	}
	volume = torture_attach(run->torture, taken->disk, problem);
	if (volume == NULL) {
		return false;
	}
	for (i = 0; i < THREADS; i++) {
		struct worker *worker = &run->worker[i];
		uint32_t last = atomic_load(&worker->states) - 1;
		struct tree *found = tree_of_volume(volume, worker->root,
						    problem);
		uint32_t state;
		bool ok = false;

		if (found == NULL) {
			return false;
		}
		for (state = last + 1; state > taken->first[i] && !ok;
		     state--) {
			ok = tree_is_state(worker->history, NULL, state - 1,
					   last, found, why);
			if (problem[0] == 0) {
				snprintf(problem, TREE_PROBLEM_SIZE, "%s",
					 why);
			}
		}
		/* The commit may have come in the middle of a long write. */
		for (state = taken->first[i]; state < last && !ok; state++) {
			ok = tree_is_on_the_way(worker->history, state, last,
						found);
		}
		tree_free(found);
		if (!ok) {
			snprintf(why, sizeof(why), "thread %u: none of the "
				 "states %u to %u: %.300s", i,
				 taken->first[i], last, problem);
			snprintf(problem, TREE_PROBLEM_SIZE, "%s", why);
			return false;
		}
		problem[0] = 0;
	}
	if (nv_volume_detach(volume) != NV_OK) {
		snprintf(problem, TREE_PROBLEM_SIZE, "detach");
		return false;
	}
	return torture_check_disk(taken->disk, "after recovery", problem);
}

static void judge_all(void)
{
	char problem[TREE_PROBLEM_SIZE] = "";
	uint32_t i;

	for (i = 0; i < run->taken_count; i++) {
		struct taken *taken = &run->taken[i];

		(*judged)++;
		if (torture_in_child(judge, taken, 30, problem)) {
			torture_pass(run->torture);
		} else {
			torture_fail(run->torture, run->seed, taken->number,
				     "", "power cut at %s: %s (threads: a "
				     "repetition may go another way)",
				     taken->where, problem);
		}
		simdisk_free(taken->disk);
	}
	run->taken_count = 0;
}

/* ---- a run ---- */

static bool round_of_work(char *problem)
{
	enum nv_status status = NV_OK;
	uint32_t commit;
	uint32_t i;

	for (i = 0; i < THREADS; i++) {
		run->worker[i].steps = STEPS_IN_A_ROUND;
		if (pthread_create(&run->worker[i].thread, NULL, work,
				   &run->worker[i]) != 0) {
			snprintf(problem, TREE_PROBLEM_SIZE, "no thread");
			return false;
		}
	}
	for (commit = 0; commit < 3 && status == NV_OK; commit++) {
		uint32_t states[THREADS];

		for (i = 0; i < THREADS; i++) {
			states[i] = atomic_load(&run->worker[i].states) - 1;
		}
		status = nv_volume_commit(run->volume);
		if (status == NV_OK) {
			memcpy(run->durable, states, sizeof(states));
		}
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(run->worker[i].thread, NULL);
		if (run->worker[i].failed) {
			snprintf(problem, TREE_PROBLEM_SIZE, "thread %u: "
				 "%.400s", i, run->worker[i].problem);
			return false;
		}
	}
	if (status != NV_OK) {
		snprintf(problem, TREE_PROBLEM_SIZE, "commit: %s",
			 nv_status_string(status));
		return false;
	}
	return true;
}

static void forget_run(void)
{
	uint32_t i;
	uint32_t k;

	for (i = 0; i < THREADS; i++) {
		struct worker *worker = &run->worker[i];

		if (worker->model == NULL) {
			continue;
		}
		for (k = 0; k < atomic_load(&worker->states); k++) {
			tree_free(worker->history[k]);
		}
		workload_done(&worker->workload);
		model_free(worker->model);
	}
	simdisk_free(run->disk);
	free(run);
}

static bool one_run(struct torture *torture, uint64_t seed, char *problem)
{
	uint64_t rounds = torture->steps / STEPS_IN_A_ROUND + 1;
	uint64_t i;
	bool ok = true;

	run->torture = torture;
	run->seed = seed;
	run->disk = torture_formatted(torture, seed);
	run->choice = seed_derive(seed, 0x7412);
	run->volume = torture_attach(torture, run->disk, problem);
	if (run->volume == NULL) {
		return false;
	}
	for (i = 0; i < THREADS && ok; i++) {
		ok = start_worker((uint32_t)i, problem);
	}
	if (!ok || nv_volume_commit(run->volume) != NV_OK) {
		return false;
	}
	for (i = 0; i < rounds && ok; i++) {
		commits = true;
		nv_kill_point_hook = at_kill_point;
		simdisk_set_hook(run->disk, at_call, NULL);
		simdisk_set_early(run->disk, 20);
		ok = round_of_work(problem);
		nv_kill_point_hook = NULL;
		simdisk_set_hook(run->disk, NULL, NULL);
		simdisk_set_early(run->disk, 0);
		judge_all();
	}
	if (nv_volume_detach(run->volume) != NV_OK && ok) {
		snprintf(problem, TREE_PROBLEM_SIZE, "detach");
		ok = false;
	}
	return ok && torture_check_disk(run->disk, "at the end", problem);
}

void torture_threads(struct torture *torture)
{
	char problem[TREE_PROBLEM_SIZE] = "";
	uint64_t r;

	judged = torture_shared(sizeof(*judged));
	for (r = 0; r < torture->runs; r++) {
		if (torture_time_is_up(torture)) {
			break;
		}
		run = calloc(1, sizeof(*run));
		if (run == NULL) {
			fprintf(stderr, "out of memory\n");
			exit(2);
		}
		if (one_run(torture, torture->seed + r, problem)) {
			torture_pass(torture);
		} else {
			torture_fail(torture, torture->seed + r,
				     TORTURE_ALL_CASES, "", "%s", problem);
		}
		forget_run();
		torture_progress(torture, "%llu of %llu runs, %llu states, "
				 "%llu wrong", (unsigned long long)r + 1,
				 (unsigned long long)torture->runs,
				 (unsigned long long)*judged,
				 (unsigned long long)torture->failed);
	}
	printf("power cuts while %u threads work: %llu states judged\n",
	       THREADS, (unsigned long long)*judged);
}
