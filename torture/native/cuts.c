/*
 * Power cuts during a run of calls, each judged.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include "cuts.h"
#include "killpoint.h"

#define JUDGE_SECONDS 30
/* Cuts of one attach that are judged. */
#define AGAIN_MOST 6

static struct cuts *active;	/* whose calls are running */

/* ---- a set of hashes ---- */

static bool hash_is_new(struct cuts *cuts, uint64_t hash)
{
	uint64_t *old = cuts->hashes;
	uint64_t old_room = cuts->hash_room;
	uint64_t i;

	if (hash == 0) {
		hash = 1;
	}
	if (cuts->hash_count * 2 >= cuts->hash_room) {
		cuts->hash_room = old_room == 0 ? 1024 : old_room * 2;
		cuts->hashes = calloc(cuts->hash_room, sizeof(uint64_t));
		if (cuts->hashes == NULL) {
			fprintf(stderr, "out of memory\n");
			exit(2);
		}
		cuts->hash_count = 0;
		for (i = 0; i < old_room; i++) {
			if (old[i] != 0) {
				hash_is_new(cuts, old[i]);
			}
		}
		free(old);
	}
	for (i = hash % cuts->hash_room; cuts->hashes[i] != 0;
	     i = (i + 1) % cuts->hash_room) {
		if (cuts->hashes[i] == hash) {
			return false;
		}
	}
	cuts->hashes[i] = hash;
	cuts->hash_count++;
	return true;
}

/* ---- taking ---- */

static void take(struct cuts *cuts, enum simdisk_fate fate, const char *where)
{
	struct torture *torture = cuts->torture;
	struct cut *cut = NULL;
	struct simdisk *disk = NULL;
	uint64_t hash;

	cuts->number++;
	if (torture->only_case != TORTURE_ALL_CASES &&
	    torture->only_case != cuts->number) {
		return;
	}
	if (simdisk_cut(cuts->disk, fate, cuts->seed * 1000003 +
			cuts->number, &disk, NULL) != 0) {
		fprintf(stderr, "no memory for a cut\n");
		exit(2);
	}
	hash = XXH3_64bits_withSeed(simdisk_content(disk), simdisk_size(disk),
				    cuts->durable);
	if (!hash_is_new(cuts, hash)) {
		simdisk_free(disk);
		return;
	}
	if (cuts->pending_count == cuts->pending_room) {
		cuts->pending_room = cuts->pending_room * 2 + 64;
		cuts->pending = realloc(cuts->pending, cuts->pending_room *
					sizeof(*cut));
		if (cuts->pending == NULL) {
			fprintf(stderr, "out of memory\n");
			exit(2);
		}
	}
	cut = &cuts->pending[cuts->pending_count];
	cuts->pending_count++;
	cut->disk = disk;
	cut->number = cuts->number;
	cut->first = cuts->durable;
	cut->full = cuts->number % 16 == 0 ||
		torture->only_case == cuts->number;
	snprintf(cut->where, sizeof(cut->where), "%s", where);
}

static void at_call(void *private_data, enum simdisk_call call,
		    uint64_t number)
{
	struct cuts *cuts = private_data;
	char where[80];

	snprintf(where, sizeof(where), "%s %llu", simdisk_call_name(call),
		 (unsigned long long)number);
	switch (call) {
	case SIMDISK_FLUSH:
		take(cuts, SIMDISK_DROP_ALL, where);
		take(cuts, SIMDISK_KEEP_ALL, where);
		take(cuts, SIMDISK_MIX, where);
		take(cuts, SIMDISK_FEW, where);
		take(cuts, SIMDISK_MOST, where);
		break;
	case SIMDISK_WRITE:
		take(cuts, SIMDISK_MIX, where);
		break;
	default:
		break;
	}
}

static void at_kill_point(const char *name)
{
	struct cuts *cuts = active;

	if (cuts == NULL ||
	    !seed_chance(&cuts->choice, cuts->kill_point_percent)) {
		return;
	}
	take(cuts, (enum simdisk_fate)seed_below(&cuts->choice,
						 SIMDISK_FATES), name);
}

static void listen(struct cuts *cuts, bool on)
{
	active = on ? cuts : NULL;
	nv_kill_point_hook = on ? at_kill_point : NULL;
	simdisk_set_hook(cuts->disk, on ? at_call : NULL, cuts);
	simdisk_set_early(cuts->disk, on ? 20 : 0);
}

/* ---- judging ---- */

struct judgement {
	struct cuts *cuts;
	struct cut *cut;
	uint32_t last;		/* newest state that may be there */
	uint32_t newest;	/* whose bytes may be there */
	uint32_t state;		/* found */
	/* cuts during the attach of this one */
	struct simdisk *again[AGAIN_MOST];
	uint32_t again_count;
	uint64_t again_seen;
	struct seed choice;
};

static void at_again(void *private_data, enum simdisk_call call,
		     uint64_t number)
{
	struct judgement *judgement = private_data;
	struct simdisk *disk = NULL;
	uint32_t at;

	if (call != SIMDISK_FLUSH && call != SIMDISK_WRITE) {
		return;
	}
	/* Some of all, each as likely as the others. */
	judgement->again_seen++;
	at = judgement->again_count;
	if (at == AGAIN_MOST) {
		at = (uint32_t)seed_below(&judgement->choice,
					  judgement->again_seen);
		if (at >= AGAIN_MOST) {
			return;
		}
		simdisk_free(judgement->again[at]);
	} else {
		judgement->again_count++;
	}
	if (simdisk_cut(judgement->cut->disk, (enum simdisk_fate)seed_below(
				&judgement->choice, SIMDISK_FATES),
			seed_next(&judgement->choice), &disk, NULL) != 0) {
		fprintf(stderr, "no memory for a cut\n");
		_exit(2);
	}
	judgement->again[at] = disk;
}

/* Which state is it? */
static bool find_state(struct judgement *judgement, struct nv_volume *volume,
		       char *problem)
{
	struct cuts *cuts = judgement->cuts;
	struct tree *found = tree_of_volume(volume, 0, problem);
	char nearest[TREE_PROBLEM_SIZE] = "";
	uint32_t state;

	if (found == NULL) {
		return false;
	}
	/* The newest first: one state can look like another. */
	for (state = judgement->last + 1; state > judgement->cut->first;
	     state--) {
		if (tree_is_state(cuts->history, &cuts->synced, state - 1,
				  judgement->newest, found, problem)) {
			judgement->state = state - 1;
			tree_free(found);
			return true;
		}
		if (nearest[0] == 0) {
			snprintf(nearest, sizeof(nearest), "%s", problem);
		}
	}
	snprintf(problem, TREE_PROBLEM_SIZE, "none of the states %u to %u; "
		 "not the newest because %.400s", judgement->cut->first,
		 judgement->last, nearest);
	tree_free(found);
	return false;
}

/* The volume goes on: what it hands out is free. */
static bool work_on(struct judgement *judgement, struct nv_volume *volume,
		    char *problem)
{
	static const uint16_t units[] = {'a', 'f', 't', 'e', 'r'};
	struct nv_create_params params = {
		.name = {.units = units, .length = 5},
		.type = NV_FILE,
	};
	struct nv_volume_statistics statistics;
	uint8_t buffer[20000];
	enum nv_status status;
	nv_file_id id = 0;

	memset(buffer, 0xa5, sizeof(buffer));
	status = nv_volume_statistics(volume, &statistics);
	if (status == NV_OK) {
		status = nv_create(volume, statistics.root_directory, &params,
				   &id);
	}
	if (status == NV_OK) {
		status = nv_write(volume, id, 0, buffer, sizeof(buffer), 1);
	}
	if (status == NV_OK) {
		status = nv_volume_commit(volume);
	}
	if (status == NV_OK) {
		status = nv_unlink(volume, statistics.root_directory,
				   &params.name, id, 1);
	}
	/* The engine may be right to be full. */
	if (status != NV_OK && status != NV_ERR_NO_SPACE) {
		snprintf(problem, TREE_PROBLEM_SIZE, "work afterwards: %s",
			 nv_status_string(status));
		return false;
	}
	return true;
}

static bool judge_disk(struct judgement *judgement, struct simdisk *disk,
		       char *problem)
{
	struct nv_volume *volume = NULL;
	enum nv_status status;

	judgement->cuts->shared->states++;
	if (!torture_check_disk(disk, "after the cut", problem)) {
		return false;
	}
	volume = torture_attach(judgement->cuts->torture, disk, problem);
	simdisk_set_hook(disk, NULL, NULL);
	if (volume == NULL || !find_state(judgement, volume, problem) ||
	    !work_on(judgement, volume, problem)) {
		return false;
	}
	status = nv_volume_detach(volume);
	if (status != NV_OK) {
		snprintf(problem, TREE_PROBLEM_SIZE, "detach: %s",
			 nv_status_string(status));
		return false;
	}
	return torture_check_disk(disk, "after recovery and detach",
				  problem);
}

static bool judge(void *argument, char *problem)
{
	struct judgement *judgement = argument;
	struct cut *cut = judgement->cut;
	char text[TREE_PROBLEM_SIZE] = "";
	uint32_t i;

	active = NULL;
	nv_kill_point_hook = NULL;
	if (cut->full) {
		simdisk_set_hook(cut->disk, at_again, judgement);
	}
	if (!judge_disk(judgement, cut->disk, problem)) {
		return false;
	}
	/*
	 * A cut during recovery leaves the state that was being recovered;
	 * but bytes in place may be as new as after the first cut.
	 */
	cut->first = judgement->state;
	judgement->last = judgement->state;
	for (i = 0; i < judgement->again_count; i++) {
		judgement->cuts->shared->again++;
		if (!judge_disk(judgement, judgement->again[i], text)) {
			snprintf(problem, TREE_PROBLEM_SIZE, "after a second "
				 "cut, number %u, while attaching: %.420s", i,
				 text);
			return false;
		}
	}
	return true;
}

static void judge_pending(struct cuts *cuts)
{
	struct torture *torture = cuts->torture;
	char problem[TREE_PROBLEM_SIZE] = "";
	uint32_t i;

	for (i = 0; i < cuts->pending_count; i++) {
		struct judgement judgement = {
			.cuts = cuts,
			.cut = &cuts->pending[i],
			.last = cuts->states - 1,
			.newest = cuts->states - 1,
			.choice = seed_derive(cuts->seed,
					      cuts->pending[i].number),
		};

		if (torture_in_child(judge, &judgement, JUDGE_SECONDS,
				     problem)) {
			torture_pass(torture);
		} else {
			torture_fail(torture, cuts->seed,
				     cuts->pending[i].number, "",
				     "power cut at %s, in step %llu (%s): %s",
				     cuts->pending[i].where,
				     (unsigned long long)cuts->workload.steps,
				     cuts->workload.work.text, problem);
		}
		simdisk_free(cuts->pending[i].disk);
	}
	cuts->pending_count = 0;
}

/* ---- a run ---- */

static void add_state(struct cuts *cuts)
{
	if ((cuts->states & (cuts->states - 1)) == 0) {
		size_t room = cuts->states == 0 ? 1 : cuts->states * 2;

		cuts->history = realloc(cuts->history, room *
					sizeof(*cuts->history));
		if (cuts->history == NULL) {
			fprintf(stderr, "out of memory\n");
			exit(2);
		}
	}
	cuts->history[cuts->states] = model_tree(cuts->model);
	cuts->states++;
}

void cuts_forget(struct cuts *cuts)
{
	uint32_t i;

	for (i = 0; i < cuts->states; i++) {
		tree_free(cuts->history[i]);
	}
	cuts->states = 0;
	cuts->durable = 0;
	memset(&cuts->synced, 0, sizeof(cuts->synced));
	add_state(cuts);
}

bool cuts_begin(struct cuts *cuts, struct torture *torture, uint64_t seed,
		struct simdisk *disk)
{
	struct cuts_shared *shared = cuts->shared;

	memset(cuts, 0, sizeof(*cuts));
	cuts->shared = shared;
	if (shared == NULL) {
		cuts->shared = torture_shared(sizeof(*cuts->shared));
	}
	cuts->torture = torture;
	cuts->seed = seed;
	cuts->disk = disk;
	cuts->choice = seed_derive(seed, 0xc07);
	cuts->kill_point_percent = 4;
	cuts->volume = torture_attach(torture, disk, cuts->problem);
	if (cuts->volume == NULL) {
		torture_fail(torture, seed, TORTURE_ALL_CASES, "", "%s",
			     cuts->problem);
		simdisk_free(disk);
		return false;
	}
	cuts->model = model_new(cuts->volume, 0);
	workload_init(&cuts->workload, cuts->volume, cuts->model, seed);
	add_state(cuts);
	return true;
}

bool cuts_step(struct cuts *cuts)
{
	struct workload *workload = &cuts->workload;
	bool ok;

	listen(cuts, true);
	workload_run_engine(workload);
	listen(cuts, false);
	ok = workload_run_model(workload, cuts->problem);
	if (!ok) {
		torture_fail(cuts->torture, cuts->seed, TORTURE_ALL_CASES, "",
			     "%s", cuts->problem);
		return false;
	}
	add_state(cuts);
	judge_pending(cuts);
	if (workload->engine_status == NV_OK &&
	    (workload->work.kind == WORK_COMMIT ||
	     workload->work.kind == WORK_FLUSH)) {
		cuts->durable = cuts->states - 1;
		tree_note_synced(&cuts->synced,
				 workload->work.kind == WORK_FLUSH ?
				 workload->work.object : 0, cuts->durable);
		/* What the disk holds now, before anything else happens. */
		take(cuts, SIMDISK_DROP_ALL, "the return of a commit");
		judge_pending(cuts);
	}
	return true;
}

void cuts_end(struct cuts *cuts)
{
	enum nv_status status;
	uint32_t i;

	listen(cuts, true);
	status = nv_volume_detach(cuts->volume);
	listen(cuts, false);
	add_state(cuts);
	if (status != NV_OK) {
		torture_fail(cuts->torture, cuts->seed, TORTURE_ALL_CASES, "",
			     "detach: %s", nv_status_string(status));
	} else {
		snprintf(cuts->workload.work.text,
			 sizeof(cuts->workload.work.text), "detach");
		judge_pending(cuts);
		cuts->durable = cuts->states - 1;
		tree_note_synced(&cuts->synced, 0, cuts->durable);
		take(cuts, SIMDISK_DROP_ALL, "the return of detach");
	}
	judge_pending(cuts);
	for (i = 0; i < cuts->states; i++) {
		tree_free(cuts->history[i]);
	}
	free(cuts->history);
	free(cuts->pending);
	free(cuts->hashes);
	workload_done(&cuts->workload);
	model_free(cuts->model);
	simdisk_free(cuts->disk);
}
