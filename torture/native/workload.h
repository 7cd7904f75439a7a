/*
 * Calls of the engine made at random, each made on the model, too.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef TORTURE_WORKLOAD_H
#define TORTURE_WORKLOAD_H

#include "model.h"
#include "seed.h"

enum workload_kind {
	WORK_CREATE,
	WORK_CREATE_DIRECTORY,
	WORK_UNLINK,
	WORK_RENAME,
	WORK_LINK,
	WORK_SET_INFO,
	WORK_WRITE,
	WORK_SET_SIZE,
	WORK_ZERO_RANGE,
	WORK_PUNCH,
	WORK_SET_ALLOCATION,
	WORK_EA,
	WORK_SD,
	WORK_REPARSE,
	WORK_STREAM_OPEN,
	WORK_STREAM_REMOVE,
	WORK_STREAM_RENAME,
	WORK_SHORT_NAME,
	WORK_HOLD,
	WORK_RELEASE,
	WORK_COMMIT,
	WORK_FLUSH,
	WORK_LOOKUP,
	WORK_READ,
	WORK_KINDS
};

const char *workload_kind_name(enum workload_kind kind);

#define WORK_NAME_MAX 40

/*
 * One call, with everything it needs. Objects are file ids, 0: unused. Made
 * before it is run, so that the same one can go to engine and model.
 */
struct work {
	enum workload_kind kind;
	nv_file_id object;
	nv_file_id directory;
	nv_file_id to_directory;
	uint16_t name_units[WORK_NAME_MAX];
	uint16_t to_units[WORK_NAME_MAX];
	uint16_t short_units[12];
	struct nv_name name;
	struct nv_name to;
	struct nv_name short_name;
	uint32_t flags;
	uint32_t mask;
	struct nv_info info;
	uint64_t offset;
	uint64_t length;
	uint64_t time;
	struct nv_ea ea[3];
	char ea_name[3][24];
	uint32_t ea_count;
	bool with_sd;
	bool create_new;
	uint8_t *bytes;			/* payload, malloc */
	char text[256];			/* for a person */
};

struct workload {
	struct nv_volume *volume;
	struct model *model;
	struct seed seed;
	uint64_t time;
	uint32_t weight[WORK_KINDS];
	uint64_t file_most;		/* bytes in one file */
	uint64_t bytes_most;		/* in all files together */
	/* the engine's volume may be full: NV_ERR_NO_SPACE is right */
	bool may_be_full;
	uint64_t steps;
	struct work work;		/* the last one */
	enum nv_status engine_status;
	nv_file_id engine_id;
};

void workload_init(struct workload *workload, struct nv_volume *volume,
		   struct model *model, uint64_t seed);
void workload_done(struct workload *workload);

/* Choose the next call. */
void workload_choose(struct workload *workload);
/* Run the chosen call in the engine. */
void workload_run_engine(struct workload *workload);
/*
 * Run it in the model. False: the engine answered something else; problem
 * (TREE_PROBLEM_SIZE) says what.
 */
bool workload_run_model(struct workload *workload, char *problem);
/* All three. */
bool workload_step(struct workload *workload, char *problem);

#endif
