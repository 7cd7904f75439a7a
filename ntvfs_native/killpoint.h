/*
 * Kill points: places where the torture tests kill a process.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * In a release build NV_KILL_POINT is nothing. In a build configured with
 * --kill-points each pass calls the hook, if a test has set one.
 */

#ifndef NTVFS_NATIVE_KILLPOINT_H
#define NTVFS_NATIVE_KILLPOINT_H

#ifdef NTVFS_KILL_POINTS
extern void (*nv_kill_point_hook)(const char *name);
#define NV_KILL_POINT(name) \
	((nv_kill_point_hook != NULL) ? nv_kill_point_hook(name) : (void)0)
#else
#define NV_KILL_POINT(name) ((void)0)
#endif

#endif
