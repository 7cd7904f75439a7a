/*
 * Random calls, compared with the reference model: every answer, and now and
 * then the whole tree; the checker and another attachment at the end.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <stdio.h>
#include "torture.h"
#include "workload.h"

#define COMPARE_EVERY 25

struct run {
	struct torture *torture;
	uint64_t seed;
};

static bool same_tree(struct nv_volume *volume, const struct model *model,
		      char *problem)
{
	struct tree *found = tree_of_volume(volume, 0, problem);
	struct tree *expected = NULL;
	bool ok;

	if (found == NULL) {
		return false;
	}
	expected = model_tree(model);
	ok = tree_equal(expected, found, problem);
	tree_free(expected);
	tree_free(found);
	return ok;
}

static bool run_one(void *argument, char *problem)
{
	struct run *run = argument;
	struct torture *torture = run->torture;
	struct simdisk *disk = torture_formatted(torture, run->seed);
	struct workload workload;
	struct nv_volume *volume = NULL;
	struct model *model = NULL;
	enum nv_status status;
	uint64_t i;

	volume = torture_attach(torture, disk, problem);
	if (volume == NULL) {
		return false;
	}
	model = model_new(volume, 0);
	workload_init(&workload, volume, model, run->seed);
	for (i = 0; i < torture->steps; i++) {
		workload_choose(&workload);
		if (torture->verbose) {
			printf("%llu %s\n", (unsigned long long)i,
			       workload.work.text);
		}
		workload_run_engine(&workload);
		if (!workload_run_model(&workload, problem)) {
			return false;
		}
		if (i % COMPARE_EVERY == COMPARE_EVERY - 1 &&
		    !same_tree(volume, model, problem)) {
			return false;
		}
	}
	if (!same_tree(volume, model, problem)) {
		return false;
	}
	workload_done(&workload);
	status = nv_volume_detach(volume);
	if (status != NV_OK) {
		snprintf(problem, TREE_PROBLEM_SIZE, "detach: %s",
			 nv_status_string(status));
		return false;
	}
	if (!torture_check_disk(disk, "after detach", problem)) {
		return false;
	}
	volume = torture_attach(torture, disk, problem);
	if (volume == NULL || !same_tree(volume, model, problem)) {
		return false;
	}
	nv_volume_detach(volume);
	model_free(model);
	simdisk_free(disk);
	return true;
}

void torture_model(struct torture *torture)
{
	char problem[TREE_PROBLEM_SIZE] = "";
	uint64_t i;

	for (i = 0; i < torture->runs; i++) {
		struct run run = {
			.torture = torture,
			.seed = torture->seed + i,
		};

		if (torture_time_is_up(torture)) {
			break;
		}
		if (torture_in_child(run_one, &run, 120, problem)) {
			torture_pass(torture);
		} else {
			torture_fail(torture, run.seed, TORTURE_ALL_CASES, "",
				     "%s", problem);
		}
		torture_progress(torture, "%llu of %llu runs of %llu calls",
				 (unsigned long long)i + 1,
				 (unsigned long long)torture->runs,
				 (unsigned long long)torture->steps);
	}
}
