/*
 * Random calls on a volume that is full, or nearly.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A file is made that takes all the space there is, and then gives it back
 * block by block, with calls in between. A call that finds no space leaves
 * everything as it was (a write: a first part may be written); removing,
 * truncating, committing and detaching always work.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "torture.h"
#include "workload.h"

struct full_shared {
	uint64_t refused[WORK_KINDS];
	uint64_t done[WORK_KINDS];
};

struct run {
	struct torture *torture;
	uint64_t seed;
};

static struct full_shared *shared;

static bool frees(const struct workload *workload)
{
	switch (workload->work.kind) {
	case WORK_UNLINK:
	case WORK_STREAM_REMOVE:
	case WORK_RELEASE:
	case WORK_COMMIT:
	case WORK_FLUSH:
	case WORK_READ:
	case WORK_LOOKUP:
	case WORK_HOLD:
		return true;
	case WORK_SET_SIZE: {
		struct model_object *object = model_find(
			workload->model, workload->work.object);

		/* Within data in the inode it may grow an item. */
		return object != NULL && workload->work.length == 0;
	}
	default:
		return false;
	}
}

/* The call was refused. The volume is what it was, or a write's beginning. */
static bool judge_refusal(struct workload *workload, char *problem)
{
	struct work *work = &workload->work;
	bool data = work->kind == WORK_WRITE || work->kind == WORK_PUNCH ||
		work->kind == WORK_ZERO_RANGE ||
		work->kind == WORK_SET_SIZE;
	struct tree *before = model_tree(workload->model);
	struct tree *after = NULL;
	struct tree *found = NULL;
	bool ok = false;

	found = tree_of_volume(workload->volume, 0, problem);
	if (found == NULL) {
		tree_free(before);
		return false;
	}
	if (!data) {
		ok = tree_equal(before, found, problem);
	} else {
		struct model_object *object = NULL;
		const struct tree_item *item = tree_find(found, work->object);
		struct nv_info info;

		workload->engine_status = NV_OK;
		workload_run_model(workload, problem);
		after = model_tree(workload->model);
		ok = tree_is_between(before, after, found, problem);
		/* The model goes on from what is there. */
		object = model_find(workload->model, work->object);
		if (ok && item != NULL && object != NULL &&
		    nv_get_info(workload->volume, work->object, &info) ==
		    NV_OK) {
			object->data = realloc(object->data, item->size + 1);
			if (object->data == NULL) {
				fprintf(stderr, "out of memory\n");
				exit(2);
			}
			memcpy(object->data, item->data, item->size);
			object->info.size = item->size;
			object->info.last_write_time = info.last_write_time;
			object->info.change_time = info.change_time;
		}
	}
	tree_free(before);
	tree_free(after);
	tree_free(found);
	return ok;
}

static bool step(struct workload *workload, char *problem)
{
	char what[TREE_PROBLEM_SIZE] = "";

	workload_run_engine(workload);
	if (workload->engine_status != NV_ERR_NO_SPACE) {
		shared->done[workload->work.kind]++;
		return workload_run_model(workload, problem);
	}
	shared->refused[workload->work.kind]++;
	if (frees(workload)) {
		snprintf(problem, TREE_PROBLEM_SIZE, "step %llu: %s: refused "
			 "for want of space",
			 (unsigned long long)workload->steps,
			 workload->work.text);
		return false;
	}
	if (!judge_refusal(workload, what)) {
		snprintf(problem, TREE_PROBLEM_SIZE, "step %llu: %.120s: "
			 "refused, but %.300s",
			 (unsigned long long)workload->steps,
			 workload->work.text, what);
		return false;
	}
	return true;
}

/* Let the ballast file grow until there is no space. */
static bool fill(struct workload *workload, nv_file_id ballast,
		 uint64_t *size, char *problem)
{
	static const uint64_t pieces[] = {65536, 4096};
	uint8_t *bytes = calloc(1, 65536);
	enum nv_status status = NV_OK;
	uint32_t i;

	if (bytes == NULL) {
		return false;
	}
	for (i = 0; i < 2; i++) {
		do {
			status = nv_write(workload->volume, ballast, *size,
					  bytes, pieces[i], 0);
			if (status == NV_OK) {
				*size += pieces[i];
			}
		} while (status == NV_OK);
		if (status != NV_ERR_NO_SPACE) {
			break;
		}
	}
	free(bytes);
	if (status != NV_ERR_NO_SPACE) {
		snprintf(problem, TREE_PROBLEM_SIZE, "filling: %s",
			 nv_status_string(status));
		return false;
	}
	/* A last piece may have been written in part. */
	status = nv_set_size(workload->volume, ballast, *size, 0);
	if (status == NV_OK) {
		status = nv_volume_commit(workload->volume);
	}
	if (status != NV_OK) {
		snprintf(problem, TREE_PROBLEM_SIZE, "a full volume: %s",
			 nv_status_string(status));
		return false;
	}
	return true;
}

static bool make_ballast(struct workload *workload, nv_file_id *ballast,
			 char *problem)
{
	static const uint16_t units[] = {'b', 'a', 'l', 'l', 'a', 's', 't'};
	struct nv_create_params params = {
		.name = {.units = units, .length = 7},
		.type = NV_FILE,
	};
	nv_file_id root = workload->model->root->id;
	enum nv_status status;

	status = nv_create(workload->volume, root, &params, ballast);
	if (status == NV_OK) {
		status = model_create(workload->model, root, &params,
				      *ballast);
	}
	if (status != NV_OK) {
		snprintf(problem, TREE_PROBLEM_SIZE, "ballast: %s",
			 nv_status_string(status));
	}
	return status == NV_OK;
}

/* Both sides agree on how large the ballast is. */
static bool set_ballast(struct workload *workload, nv_file_id ballast,
			uint64_t size, char *problem)
{
	struct model_object *object = model_find(workload->model, ballast);
	enum nv_status status;

	status = nv_set_size(workload->volume, ballast, size, 0);
	if (status != NV_OK) {
		snprintf(problem, TREE_PROBLEM_SIZE, "truncating: %s",
			 nv_status_string(status));
		return false;
	}
	object->data = realloc(object->data, size + 1);
	if (object->data == NULL) {
		fprintf(stderr, "out of memory\n");
		exit(2);
	}
	memset(object->data, 0, size);
	object->info.size = size;
	return true;
}

static bool same_tree(struct workload *workload, char *problem)
{
	struct tree *found = tree_of_volume(workload->volume, 0, problem);
	struct tree *expected = NULL;
	bool ok;

	if (found == NULL) {
		return false;
	}
	expected = model_tree(workload->model);
	ok = tree_equal(expected, found, problem);
	tree_free(expected);
	tree_free(found);
	return ok;
}

/* Nobody but the ballast's own calls may touch it. */
static bool touches(const struct workload *workload, nv_file_id ballast)
{
	const struct work *work = &workload->work;

	if (work->object == ballast) {
		return true;
	}
	return work->kind == WORK_UNLINK || work->kind == WORK_RENAME ||
		work->kind == WORK_LINK || work->kind == WORK_SHORT_NAME ?
		(work->name.length == 7 && work->name.units[0] == 'b') ||
		(work->name.length == 7 && work->name.units[0] == 'B') :
		false;
}

static bool run_one(void *argument, char *problem)
{
	struct run *run = argument;
	struct torture *torture = run->torture;
	struct simdisk *disk = torture_formatted(torture, run->seed);
	struct workload workload;
	nv_file_id ballast = 0;
	enum nv_status status;
	uint64_t size = 0;
	uint64_t i;

	workload.volume = torture_attach(torture, disk, problem);
	if (workload.volume == NULL) {
		return false;
	}
	workload_init(&workload, workload.volume,
		      model_new(workload.volume, 0), run->seed);
	workload.may_be_full = true;
	workload.bytes_most = UINT64_MAX;
	workload.file_most = 100000;
	workload.weight[WORK_UNLINK] = 4;
	workload.weight[WORK_COMMIT] = 3;
	for (i = 0; i < torture->steps; i++) {
		workload_choose(&workload);
		if (!step(&workload, problem)) {
			return false;
		}
	}
	if (!make_ballast(&workload, &ballast, problem) ||
	    !fill(&workload, ballast, &size, problem) ||
	    !set_ballast(&workload, ballast, size, problem)) {
		return false;
	}
	for (i = 0; i < torture->steps * 8; i++) {
		do {
			workload_choose(&workload);
		} while (touches(&workload, ballast));
		if (torture->verbose) {
			printf("%llu %s\n", (unsigned long long)i,
			       workload.work.text);
		}
		if (!step(&workload, problem)) {
			return false;
		}
		if (i % 12 == 11 && size >= 4096) {
			size -= 4096;
			if (!set_ballast(&workload, ballast, size, problem)) {
				return false;
			}
		}
		if (i % 50 == 49 && !same_tree(&workload, problem)) {
			return false;
		}
	}
	if (!same_tree(&workload, problem)) {
		return false;
	}
	status = nv_volume_detach(workload.volume);
	if (status != NV_OK) {
		snprintf(problem, TREE_PROBLEM_SIZE, "detach: %s",
			 nv_status_string(status));
		return false;
	}
	if (!torture_check_disk(disk, "after detach", problem)) {
		return false;
	}
	workload.volume = torture_attach(torture, disk, problem);
	return workload.volume != NULL && same_tree(&workload, problem) &&
		nv_volume_detach(workload.volume) == NV_OK;
}

void torture_full(struct torture *torture)
{
	char problem[TREE_PROBLEM_SIZE] = "";
	uint64_t refused = 0;
	uint64_t done = 0;
	uint64_t i;

	shared = torture_shared(sizeof(*shared));
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
		torture_progress(torture, "%llu of %llu runs",
				 (unsigned long long)i + 1,
				 (unsigned long long)torture->runs);
	}
	for (i = 0; i < WORK_KINDS; i++) {
		refused += shared->refused[i];
		done += shared->done[i];
		if (shared->refused[i] > 0) {
			printf("  %s: %llu refused, %llu done\n",
			       workload_kind_name((enum workload_kind)i),
			       (unsigned long long)shared->refused[i],
			       (unsigned long long)shared->done[i]);
		}
	}
	printf("calls: %llu refused for want of space, %llu done\n",
	       (unsigned long long)refused, (unsigned long long)done);
}
