/*
 * Reservation windows: blocks for file data.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_NATIVE_WINDOW_H
#define NTVFS_NATIVE_WINDOW_H

#include "inode.h"

/*
 * Claim up to want blocks for the file, one run. goal is the block behind the
 * one that holds the part of the file before, 0 if there is none. The run is
 * noted in inflight[0] of the slot until nv_window_linked or nv_window_return:
 * it belongs to no file yet. Enters and leaves the gate; may commit to find
 * space. NV_ERR_NO_SPACE.
 */
enum nv_status nv_window_take(struct nv_volume *volume, struct nv_slot *slot,
			      nv_file_id id, uint64_t goal, uint32_t want,
			      uint64_t *start, uint32_t *count);

/*
 * The run is linked now. Within the operation that linked it, as its last
 * step: nothing may fail afterwards.
 */
void nv_window_linked(struct nv_slot *slot);

/* The run is not needed. Outside of operations. */
void nv_window_return(struct nv_volume *volume, struct nv_slot *slot);

#endif
