/*
 * Power cuts during a run of calls, each judged.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * While calls run on a simdisk, what a power cut would leave is taken at every
 * flush, every write and some kill points. After the call each of these disks
 * is judged in a process of its own: the checker finds nothing; it can be
 * attached; the tree is one of the states between the last commit and now
 * (file data written in place may be newer); it can be worked on; the checker
 * finds nothing afterwards. The attaching itself is cut, too.
 */

#ifndef TORTURE_CUTS_H
#define TORTURE_CUTS_H

#include "torture.h"
#include "workload.h"

struct cut {
	struct simdisk *disk;
	uint64_t number;
	uint32_t first;		/* no older state may be there */
	bool full;		/* judge also recovery under cuts */
	char where[80];
};

struct cuts_shared {
	uint64_t states;	/* judged */
	uint64_t again;		/* of these: cuts during recovery */
};

struct cuts {
	struct torture *torture;
	uint64_t seed;
	struct simdisk *disk;
	struct nv_volume *volume;
	struct model *model;
	struct workload workload;
	struct seed choice;
	uint32_t kill_point_percent;	/* of passes that are cut */

	struct tree **history;	/* [0]: after the first commit */
	uint32_t states;
	uint32_t durable;	/* this state and later ones are durable */
	struct tree_synced synced;
	struct cut *pending;
	uint32_t pending_count;
	uint32_t pending_room;
	uint64_t number;	/* cases so far */
	uint64_t *hashes;	/* of disks judged: a set */
	uint64_t hash_room;
	uint64_t hash_count;
	struct cuts_shared *shared;
	char problem[TREE_PROBLEM_SIZE];
};

/* Begin on a disk; it is taken over. False: failed, and told. */
bool cuts_begin(struct cuts *cuts, struct torture *torture, uint64_t seed,
		struct simdisk *disk);
/*
 * Run the call that is chosen in cuts->workload, and judge what was cut
 * meanwhile. False: engine and model differ; told.
 */
bool cuts_step(struct cuts *cuts);
/* All that happened so far is durable and history. */
void cuts_forget(struct cuts *cuts);
/* Detach under cuts, judge, free. */
void cuts_end(struct cuts *cuts);

#endif
