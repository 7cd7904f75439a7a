/*
 * Holds and orphans, for attach and detach.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_NATIVE_RECLAIM_H
#define NTVFS_NATIVE_RECLAIM_H

#include "inode.h"

/* nv_hold for who has the object locked. */
enum nv_status nv_hold_locked(struct nv_volume *volume, nv_file_id id);
/* Nobody is attached but us: forget all holds. */
void nv_holds_clear(struct nv_volume *volume);
/* Release everything this process holds. */
void nv_holds_drop(struct nv_volume *volume);
/* Finish what was left of every object in the orphan bitmap that nobody
 * holds. */
enum nv_status nv_orphans_reclaim(struct nv_volume *volume);

#endif
