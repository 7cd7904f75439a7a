/*
 * Locking an image that is not attached, for format and check.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_NATIVE_ATTACH_H
#define NTVFS_NATIVE_ATTACH_H

#include "io.h"
#include "ntvfs_native.h"

/* Nobody has it attached or can attach it until unlocked. NV_ERR_IN_USE. */
enum nv_status nv_image_lock_alone(struct nv_io *io);
void nv_image_unlock(struct nv_io *io);

#endif
