/*
 * Power cuts during random calls.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <stdio.h>
#include "cuts.h"

void torture_powercut(struct torture *torture)
{
	struct cuts cuts = {0};
	uint64_t distinct = 0;
	uint64_t r;
	uint64_t i;

	for (r = 0; r < torture->runs; r++) {
		uint64_t seed = torture->seed + r;

		if (torture_time_is_up(torture)) {
			break;
		}
		if (!cuts_begin(&cuts, torture, seed,
				torture_formatted(torture, seed))) {
			continue;
		}
		/* Room for the blocks that a small volume has twice. */
		cuts.workload.bytes_most = simdisk_size(cuts.disk) / 6;
		cuts.workload.file_most = simdisk_size(cuts.disk) / 24;
		cuts.workload.weight[WORK_COMMIT] = 20;
		for (i = 0; i < torture->steps; i++) {
			workload_choose(&cuts.workload);
			if (torture->verbose) {
				printf("%llu %s\n", (unsigned long long)i,
				       cuts.workload.work.text);
			}
			if (!cuts_step(&cuts)) {
				break;
			}
			torture_progress(torture, "run %llu of %llu, step "
					 "%llu: %llu states, %llu wrong",
					 (unsigned long long)r + 1,
					 (unsigned long long)torture->runs,
					 (unsigned long long)i + 1,
					 (unsigned long long)
					 cuts.shared->states,
					 (unsigned long long)torture->failed);
		}
		cuts_end(&cuts);
		distinct += cuts.hash_count;
	}
	if (cuts.shared != NULL) {
		printf("power cuts: %llu states judged, %llu of them after a "
		       "second cut during recovery; %llu distinct first "
		       "cuts\n", (unsigned long long)cuts.shared->states,
		       (unsigned long long)cuts.shared->again,
		       (unsigned long long)distinct);
	}
}
