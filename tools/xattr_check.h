/*
 * ntvfs-xattr check: what a share keeps outside of its files.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef TOOLS_XATTR_CHECK_H
#define TOOLS_XATTR_CHECK_H

#include <stdbool.h>

/*
 * Check the share at path, and print what was found. Returns the exit status:
 * 0 nothing, or all of it was removed; 1 something; 2 it could not be done.
 */
int xattr_check(const char *path, bool remove_unused);

/* A name that comes from clients, in quotes and harmless to terminals. */
void xattr_print_name(const char *name);

#endif
