/*
 * All short sequences of calls on a small tree, each with commits, and power
 * cuts at every write and flush of these.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sequences of one, two and three of the calls below, once with a commit
 * after each and once with one at the end, are numbered; the seed chooses the
 * number. As many runs as there are sequences, with consecutive seeds, are
 * all of them.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cuts.h"

/* The tree: /A/foo, /A/bar, /B/foo, /B/C, and what calls make. */
struct ace_call {
	const char *text;
	enum workload_kind kind;
	const char *path;	/* of the object, or the name */
	const char *to;
	uint64_t offset;
	uint64_t length;
	uint32_t flags;
};

static const struct ace_call calls[] = {
	{"create A/new", WORK_CREATE, "A/new"},
	{"mkdir A/new", WORK_CREATE_DIRECTORY, "A/new"},
	{"unlink A/foo", WORK_UNLINK, "A/foo"},
	{"unlink B/foo", WORK_UNLINK, "B/foo"},
	{"rmdir B/C", WORK_UNLINK, "B/C"},
	{"rename A/foo A/new", WORK_RENAME, "A/foo", "A/new"},
	{"rename A/foo A/bar, replace", WORK_RENAME, "A/foo", "A/bar", 0, 0,
	 NV_REPLACE},
	{"rename A/foo B/foo, replace", WORK_RENAME, "A/foo", "B/foo", 0, 0,
	 NV_REPLACE},
	{"rename A/foo A/FOO", WORK_RENAME, "A/foo", "A/FOO"},
	{"rename A B/A", WORK_RENAME, "A", "B/A"},
	{"rename B/C A/new", WORK_RENAME, "B/C", "A/new"},
	{"link A/foo B/new", WORK_LINK, "A/foo", "B/new"},
	{"link A/bar B/foo, replace", WORK_LINK, "A/bar", "B/foo", 0, 0,
	 NV_REPLACE},
	{"write A/foo in place", WORK_WRITE, "A/foo", NULL, 100, 5000},
	{"append A/foo", WORK_WRITE, "A/foo", NULL, 12288, 6000},
	{"write A/foo far behind", WORK_WRITE, "A/foo", NULL, 40000, 3000},
	{"write B/foo inside", WORK_WRITE, "B/foo", NULL, 10, 30},
	{"grow B/foo out of its inode", WORK_WRITE, "B/foo", NULL, 20, 4000},
	{"truncate A/foo 0", WORK_SET_SIZE, "A/foo", NULL, 0, 0},
	{"truncate A/foo 5000", WORK_SET_SIZE, "A/foo", NULL, 0, 5000},
	{"extend A/foo", WORK_SET_SIZE, "A/foo", NULL, 0, 30000},
	{"punch A/foo", WORK_PUNCH, "A/foo", NULL, 1000, 8000},
	{"zero A/foo", WORK_ZERO_RANGE, "A/foo", NULL, 1000, 8000},
	{"allocate A/foo", WORK_SET_ALLOCATION, "A/foo", NULL, 0, 60000},
	{"set info A/foo", WORK_SET_INFO, "A/foo"},
	{"set EA A/foo", WORK_EA, "A/foo", NULL, 0, 40},
	{"set long EA A/foo", WORK_EA, "A/foo", NULL, 0, 6000},
	{"set SD A/foo", WORK_SD, "A/foo", NULL, 0, 300},
	{"set reparse B/foo", WORK_REPARSE, "B/foo", NULL, 0, 200},
	{"open stream A/foo", WORK_STREAM_OPEN, "A/foo", "s2"},
	{"remove stream A/foo", WORK_STREAM_REMOVE, "A/foo", "s1"},
	{"rename stream A/foo", WORK_STREAM_RENAME, "A/foo", "s1"},
	{"short name A/bar", WORK_SHORT_NAME, "A/bar"},
};

#define CALLS ((uint64_t)(sizeof(calls) / sizeof(calls[0])))
#define SEQUENCES (2 * (CALLS + CALLS * CALLS + CALLS * CALLS * CALLS))
#define PRIME 1000003	/* shares no factor with SEQUENCES */

static void set_name(struct nv_name *name, uint16_t *units, const char *text)
{
	name->units = units;
	for (name->length = 0; text[name->length] != 0; name->length++) {
		units[name->length] = (uint8_t)text[name->length];
	}
}

/* The directory of a path, and its last name. False: it does not exist. */
static bool resolve(struct cuts *cuts, const char *path,
		    nv_file_id *directory, struct nv_name *name,
		    uint16_t *units)
{
	const char *slash = strchr(path, '/');
	char first[WORK_NAME_MAX];

	*directory = cuts->model->root->id;
	if (slash != NULL) {
		snprintf(first, sizeof(first), "%.*s", (int)(slash - path),
			 path);
		set_name(name, units, first);
		if (model_lookup(cuts->model, *directory, name, directory) !=
		    NV_OK) {
			return false;
		}
		path = slash + 1;
	}
	set_name(name, units, path);
	return model_find(cuts->model, *directory)->info.type ==
		NV_DIRECTORY;
}

static void set_bytes(struct cuts *cuts, uint64_t length)
{
	struct work *work = &cuts->workload.work;
	uint64_t i;

	free(work->bytes);
	work->bytes = malloc(length + 8);
	if (work->bytes == NULL) {
		fprintf(stderr, "out of memory\n");
		exit(2);
	}
	for (i = 0; i < length; i++) {
		work->bytes[i] = (uint8_t)seed_next(&cuts->workload.seed);
	}
	work->length = length;
}

/* Make the call the next one. False: what it needs is not there. */
static bool choose(struct cuts *cuts, const struct ace_call *call)
{
	struct work *work = &cuts->workload.work;
	uint8_t *bytes = work->bytes;
	nv_file_id object = 0;

	memset(work, 0, sizeof(*work));
	work->bytes = bytes;
	work->kind = call->kind;
	work->flags = call->flags;
	work->offset = call->offset;
	work->length = call->length;
	cuts->workload.time += 10000000;
	work->time = cuts->workload.time;
	snprintf(work->text, sizeof(work->text), "%s", call->text);
	if (!resolve(cuts, call->path, &work->directory, &work->name,
		     work->name_units)) {
		return false;
	}
	if (model_lookup(cuts->model, work->directory, &work->name,
			 &object) != NV_OK) {
		object = 0;
	}
	switch (call->kind) {
	case WORK_CREATE:
	case WORK_CREATE_DIRECTORY:
		work->mask = NV_INFO_TIMES | NV_INFO_ATTRIBUTES;
		work->info.creation_time = work->time;
		return true;
	case WORK_RENAME:
		return object != 0 &&
			resolve(cuts, call->to, &work->to_directory,
				&work->to, work->to_units);
	case WORK_LINK:
		work->object = object;
		return object != 0 &&
			resolve(cuts, call->to, &work->directory, &work->to,
				work->to_units);
	case WORK_UNLINK:
		return object != 0;
	case WORK_SHORT_NAME:
		set_name(&work->short_name, work->short_units, "BAR~1");
		return object != 0;
	default:
		break;
	}
	work->object = object;
	if (object == 0) {
		return false;
	}
	switch (call->kind) {
	case WORK_WRITE:
		set_bytes(cuts, call->length);
		break;
	case WORK_SET_INFO:
		work->mask = NV_INFO_TIMES | NV_INFO_MODE;
		work->info.change_time = work->time;
		work->info.mode = 0644;
		break;
	case WORK_EA:
		set_bytes(cuts, call->length);
		snprintf(work->ea_name[0], sizeof(work->ea_name[0]), "EA");
		work->ea[0].name = work->ea_name[0];
		work->ea[0].value = work->bytes;
		work->ea[0].length = (uint32_t)call->length;
		work->ea_count = 1;
		break;
	case WORK_SD:
		set_bytes(cuts, call->length);
		work->with_sd = true;
		break;
	case WORK_REPARSE:
		set_bytes(cuts, call->length);
		work->flags = 0xa000000c;
		break;
	case WORK_STREAM_OPEN:
	case WORK_STREAM_REMOVE:
	case WORK_STREAM_RENAME:
		set_name(&work->name, work->name_units, call->to);
		set_name(&work->to, work->to_units, "s3");
		break;
	default:
		break;
	}
	return true;
}

static bool commit(struct cuts *cuts)
{
	struct work *work = &cuts->workload.work;
	uint8_t *bytes = work->bytes;

	memset(work, 0, sizeof(*work));
	work->bytes = bytes;
	work->kind = WORK_COMMIT;
	snprintf(work->text, sizeof(work->text), "commit");
	return cuts_step(cuts);
}

/* Without cuts. */
static bool prepare(struct cuts *cuts)
{
	static const struct ace_call steps[] = {
		{"mkdir A", WORK_CREATE_DIRECTORY, "A"},
		{"mkdir B", WORK_CREATE_DIRECTORY, "B"},
		{"create A/foo", WORK_CREATE, "A/foo"},
		{"create A/bar", WORK_CREATE, "A/bar"},
		{"create B/foo", WORK_CREATE, "B/foo"},
		{"mkdir B/C", WORK_CREATE_DIRECTORY, "B/C"},
		{"write A/foo", WORK_WRITE, "A/foo", NULL, 0, 12288},
		{"write A/bar", WORK_WRITE, "A/bar", NULL, 0, 3000},
		{"write B/foo", WORK_WRITE, "B/foo", NULL, 0, 40},
		{"open stream", WORK_STREAM_OPEN, "A/foo", "s1"},
	};
	size_t i;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (!choose(cuts, &steps[i])) {
			snprintf(cuts->problem, sizeof(cuts->problem),
				 "cannot %s", steps[i].text);
			return false;
		}
		workload_run_engine(&cuts->workload);
		if (!workload_run_model(&cuts->workload, cuts->problem)) {
			return false;
		}
	}
	if (nv_volume_commit(cuts->volume) != NV_OK) {
		snprintf(cuts->problem, sizeof(cuts->problem),
			 "the first commit fails");
		return false;
	}
	cuts_forget(cuts);
	return true;
}

static void run_sequence(struct torture *torture, struct cuts *cuts,
			 uint64_t seed, struct simdisk *base)
{
	uint64_t index = (seed * PRIME) % SEQUENCES;
	bool each = (index & 1) != 0;
	struct simdisk *disk = NULL;
	uint64_t count = CALLS;
	uint32_t length = 1;
	uint32_t i;

	index /= 2;
	while (index >= count) {
		index -= count;
		count *= CALLS;
		length++;
	}
	if (simdisk_cut(base, SIMDISK_KEEP_ALL, seed, &disk, NULL) != 0) {
		fprintf(stderr, "no memory for a simdisk\n");
		exit(2);
	}
	if (!cuts_begin(cuts, torture, seed, disk)) {
		return;
	}
	cuts->kill_point_percent = 0;
	if (!prepare(cuts)) {
		torture_fail(torture, seed, TORTURE_ALL_CASES, "", "%s",
			     cuts->problem);
		cuts_end(cuts);
		return;
	}
	for (i = 0; i < length; i++) {
		if (choose(cuts, &calls[index % CALLS])) {
			if (torture->verbose) {
				printf("%s\n", cuts->workload.work.text);
			}
			if (!cuts_step(cuts)) {
				break;
			}
		}
		index /= CALLS;
		if ((each || i + 1 == length) && !commit(cuts)) {
			break;
		}
	}
	cuts_end(cuts);
}

void torture_ace(struct torture *torture)
{
	struct simdisk *base = NULL;
	struct cuts cuts = {0};
	uint64_t r;

	for (r = 0; r < torture->runs; r++) {
		if (torture_time_is_up(torture)) {
			break;
		}
		if (base == NULL) {
			base = torture_formatted(torture, 0);
		}
		run_sequence(torture, &cuts, torture->seed + r, base);
		torture_progress(torture, "%llu of %llu sequences, %llu "
				 "states, %llu wrong",
				 (unsigned long long)r + 1,
				 (unsigned long long)torture->runs,
				 (unsigned long long)cuts.shared->states,
				 (unsigned long long)torture->failed);
	}
	simdisk_free(base);
	if (cuts.shared != NULL) {
		printf("sequences: %llu of %llu; %llu states judged\n",
		       (unsigned long long)r, (unsigned long long)SEQUENCES,
		       (unsigned long long)cuts.shared->states);
	}
}
