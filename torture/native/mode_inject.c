/*
 * Every call that can fail, fails once: of the disk, and of memory.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The same calls run again and again; each time another one of the writes,
 * flushes, reads, mappings or allocations in them fails. The engine must say
 * so (or do without), never crash, and lose nothing: what a power cut leaves
 * then is judged as in cuts.c.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "torture.h"
#include "workload.h"

/* ---- allocations ---- */

/* The linker leads the engine's calls here. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

static bool engine_runs;
static uint64_t allocations;
static uint64_t allocation_fails;	/* 0: none */
static bool allocation_failed;

static bool refuse(void)
{
	if (!engine_runs) {
		return false;
	}
	allocations++;
	if (allocations != allocation_fails) {
		return false;
	}
	allocation_failed = true;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return refuse() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return refuse() ? NULL : __real_calloc(count, size);
}

/* ---- a case ---- */

/* Kinds of failure: those of the disk, then this one. */
#define FAIL_MEMORY SIMDISK_CALLS
#define FAIL_KINDS (SIMDISK_CALLS + 1)

struct inject_shared {
	uint64_t total[FAIL_KINDS];	/* calls in a run without failure */
	uint64_t withdrawn;
	uint64_t refused;
	uint64_t unnoticed;
};

struct injection {
	struct torture *torture;
	uint64_t seed;
	struct simdisk *base;
	uint32_t kind;
	uint64_t number;		/* 0: none fails, count only */
	/* history, as in cuts.c */
	struct tree **history;
	uint32_t states;
	uint32_t durable;
	struct tree_synced synced;
};

static struct inject_shared *shared;

static void add_state(struct injection *this, struct model *model)
{
	this->history = realloc(this->history, (this->states + 1) *
				sizeof(*this->history));
	if (this->history == NULL) {
		fprintf(stderr, "out of memory\n");
		_Exit(2);
	}
	this->history[this->states] = model_tree(model);
	this->states++;
}

static bool happened(const struct injection *this, const struct simdisk *disk)
{
	return this->kind == FAIL_MEMORY ? allocation_failed :
		simdisk_failed(disk);
}

/* After everything, as after a power cut. */
static bool judge(struct injection *this, struct simdisk *disk, char *problem)
{
	char nearest[TREE_PROBLEM_SIZE] = "";
	struct simdisk *after = NULL;
	struct nv_volume *volume = NULL;
	struct tree *found = NULL;
	bool ok = false;
	uint32_t state;

	simdisk_fail(disk, SIMDISK_FLUSH, 0, 0);
	if (simdisk_cut(disk, (enum simdisk_fate)(this->number %
						  SIMDISK_FATES),
			this->seed + this->number, &after, NULL) != 0) {
		return false;
	}
	if (!torture_check_disk(after, "after the failure and a power cut",
				problem)) {
		return false;
	}
	volume = torture_attach(this->torture, after, problem);
	if (volume == NULL) {
		return false;
	}
	found = tree_of_volume(volume, 0, problem);
	if (found == NULL) {
		return false;
	}
	for (state = this->states; state > this->durable && !ok; state--) {
		ok = tree_is_state(this->history, &this->synced, state - 1,
				   this->states - 1, found, problem);
		if (nearest[0] == 0) {
			snprintf(nearest, sizeof(nearest), "%s", problem);
		}
	}
	if (!ok && this->states >= 2) {
		/* The last call failed on its way. */
		ok = tree_is_between(this->history[this->states - 2],
				     this->history[this->states - 1], found,
				     problem);
	}
	tree_free(found);
	if (!ok) {
		snprintf(problem, TREE_PROBLEM_SIZE, "after the failure none "
			 "of the states %u to %u: %.400s", this->durable,
			 this->states - 1, nearest);
		return false;
	}
	if (nv_volume_detach(volume) != NV_OK) {
		snprintf(problem, TREE_PROBLEM_SIZE, "detach afterwards");
		return false;
	}
	return torture_check_disk(after, "at the end", problem);
}

/* What may be the answer of a call in which something failed. */
static bool honest(enum nv_status status)
{
	return status == NV_ERR_IO || status == NV_ERR_WITHDRAWN ||
		status == NV_ERR_NO_MEMORY || status == NV_ERR_SEGMENT ||
		status == NV_ERR_NO_SLOT;
}

static void fail_at(struct injection *this, struct simdisk *disk)
{
	allocations = 0;
	allocation_failed = false;
	allocation_fails = 0;
	if (this->kind == FAIL_MEMORY) {
		allocation_fails = this->number;
	} else {
		simdisk_fail(disk, (enum simdisk_call)this->kind,
			     this->number, EIO);
	}
}

/* The calls, until one fails. */
static bool run_calls(struct injection *this, struct simdisk *disk,
		      struct workload *workload, char *problem)
{
	uint64_t i;

	for (i = 0; i < this->torture->steps; i++) {
		bool ok;

		workload_choose(workload);
		engine_runs = true;
		workload_run_engine(workload);
		engine_runs = false;
		if (workload->engine_status == NV_OK ||
		    !honest(workload->engine_status)) {
			ok = workload_run_model(workload, problem);
			if (!ok) {
				return false;
			}
			add_state(this, workload->model);
			if (workload->work.kind == WORK_COMMIT ||
			    workload->work.kind == WORK_FLUSH) {
				this->durable = this->states - 1;
				tree_note_synced(
					&this->synced,
					workload->work.kind == WORK_FLUSH ?
					workload->work.object : 0,
					this->durable);
			}
			continue;
		}
		if (!happened(this, disk)) {
			snprintf(problem, TREE_PROBLEM_SIZE, "%s: %s, but "
				 "nothing has failed", workload->work.text,
				 nv_status_string(workload->engine_status));
			return false;
		}
		/* It may have happened nevertheless. */
		workload->engine_status = NV_OK;
		if (workload->engine_id == 0) {
			workload->engine_id = UINT64_C(0xffffffffffff);
		}
		workload_run_model(workload, problem);
		add_state(this, workload->model);
		return true;
	}
	return true;
}

/* The volume still answers, and if it was withdrawn refuses changes. */
static bool ask_again(struct nv_volume *volume, char *problem)
{
	struct nv_volume_statistics statistics;
	struct nv_info info = {.attributes = 7};
	enum nv_status status;

	status = nv_volume_statistics(volume, &statistics);
	if (status != NV_OK) {
		snprintf(problem, TREE_PROBLEM_SIZE, "statistics: %s",
			 nv_status_string(status));
		return false;
	}
	if (!statistics.withdrawn) {
		shared->refused++;
		return true;
	}
	shared->withdrawn++;
	status = nv_set_info(volume, statistics.root_directory,
			     NV_INFO_ATTRIBUTES, &info);
	if (status != NV_ERR_WITHDRAWN) {
		snprintf(problem, TREE_PROBLEM_SIZE, "a change of a withdrawn "
			 "volume (I16): %s", nv_status_string(status));
		return false;
	}
	status = nv_get_info(volume, statistics.root_directory, &info);
	if (status != NV_OK) {
		snprintf(problem, TREE_PROBLEM_SIZE, "reading a withdrawn "
			 "volume: %s", nv_status_string(status));
		return false;
	}
	return true;
}

static void note_totals(const struct simdisk *disk)
{
	uint32_t i;

	for (i = 0; i < SIMDISK_CALLS; i++) {
		shared->total[i] = simdisk_calls(disk, (enum simdisk_call)i);
	}
	shared->total[FAIL_MEMORY] = allocations;
}

static bool run_one(void *argument, char *problem)
{
	struct injection *this = argument;
	struct nv_volume *volume = NULL;
	struct model *model = NULL;
	struct simdisk *disk = NULL;
	struct workload workload;
	enum nv_status status;

	if (simdisk_cut(this->base, SIMDISK_KEEP_ALL, this->seed, &disk,
			NULL) != 0) {
		return false;
	}
	/* What is there at first, for the case that attaching fails. */
	volume = torture_attach(this->torture, disk, problem);
	if (volume == NULL) {
		return false;
	}
	model = model_new(volume, 0);
	add_state(this, model);
	if (nv_volume_detach(volume) != NV_OK) {
		return false;
	}

	fail_at(this, disk);
	engine_runs = true;
	volume = torture_attach(this->torture, disk, problem);
	engine_runs = false;
	if (volume == NULL) {
		if (!happened(this, disk)) {
			return false;
		}
		shared->refused++;
		problem[0] = 0;
		return judge(this, disk, problem);
	}
	workload_init(&workload, volume, model, this->seed);
	workload.bytes_most = simdisk_size(disk) / 8;
	workload.file_most = simdisk_size(disk) / 24;
	if (!run_calls(this, disk, &workload, problem)) {
		return false;
	}
	if (happened(this, disk) && !ask_again(volume, problem)) {
		return false;
	}
	engine_runs = true;
	status = nv_volume_detach(volume);
	engine_runs = false;
	if (status != NV_OK && !happened(this, disk)) {
		snprintf(problem, TREE_PROBLEM_SIZE, "detach: %s",
			 nv_status_string(status));
		return false;
	}
	if (this->number == 0) {
		note_totals(disk);
	} else if (!happened(this, disk)) {
		shared->unnoticed++;
	}
	return judge(this, disk, problem);
}

static const char *kind_name(uint32_t kind)
{
	return kind == FAIL_MEMORY ? "allocation" :
		simdisk_call_name((enum simdisk_call)kind);
}

/* Of one kind: all numbers, or in the quick form about forty of them. */
static void run_kind(struct injection *this, uint64_t *number)
{
	struct torture *torture = this->torture;
	char problem[TREE_PROBLEM_SIZE] = "";
	uint64_t total = shared->total[this->kind];
	uint64_t stride = total / 40 + 1;
	uint64_t i;

	if (torture->seconds != 0) {
		stride = 1;
	}
	for (i = 1 + this->seed % stride; i <= total; i += stride) {
		(*number)++;
		if (torture_time_is_up(torture)) {
			return;
		}
		if (torture->only_case != TORTURE_ALL_CASES &&
		    torture->only_case != *number) {
			continue;
		}
		this->number = i;
		if (torture_in_child(run_one, this, 60, problem)) {
			torture_pass(torture);
		} else {
			torture_fail(torture, this->seed, *number,
				     torture->seconds != 0 ?
				     " --seconds 3600" : "",
				     "%s %llu fails: %s",
				     kind_name(this->kind),
				     (unsigned long long)i, problem);
		}
	}
}

void torture_inject(struct torture *torture)
{
	char problem[TREE_PROBLEM_SIZE] = "";
	uint64_t r;

	shared = torture_shared(sizeof(*shared));
	for (r = 0; r < torture->runs; r++) {
		struct injection this = {
			.torture = torture,
			.seed = torture->seed + r,
			.base = torture_formatted(torture,
						  torture->seed + r),
		};
		uint64_t number = 0;

		if (!torture_in_child(run_one, &this, 60, problem)) {
			torture_fail(torture, this.seed, TORTURE_ALL_CASES,
				     "", "without any failure: %s", problem);
		} else {
			for (this.kind = 0; this.kind < FAIL_KINDS;
			     this.kind++) {
				run_kind(&this, &number);
			}
		}
		simdisk_free(this.base);
		torture_progress(torture, "%llu of %llu runs, %llu failures "
				 "injected", (unsigned long long)r + 1,
				 (unsigned long long)torture->runs,
				 (unsigned long long)torture->passed);
	}
	printf("failures: %llu injected; %llu times refused, %llu times "
	       "withdrawn, %llu times never reached\n",
	       (unsigned long long)(torture->passed + torture->failed),
	       (unsigned long long)shared->refused,
	       (unsigned long long)shared->withdrawn,
	       (unsigned long long)shared->unnoticed);
}
