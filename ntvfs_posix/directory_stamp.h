/*
 * Whether every change of a directory gets a time stamp of its own.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_POSIX_DIRECTORY_STAMP_H
#define NTVFS_POSIX_DIRECTORY_STAMP_H

#include <stdbool.h>

/*
 * Ask the file system that holds the directory: does a change that follows an
 * fstat always get a ctime that differs from what the fstat said? Linux 6.13
 * and later do so on ext4, xfs and btrfs ("multigrain time stamps"); before,
 * and on others, stamps move with the timer tick, every 1 to 10 ms. (tmpfs does
 * it for files but not for directories: false.)
 *
 * An unnamed temporary file in the directory is written and looked at several
 * times within less than a tick, which needs the right to create a file there.
 * Returns false when the stamps are not exact or when that cannot be told.
 * Takes some 50 us; ask once per share. errno is kept.
 */
bool ntvfs_stamps_are_exact(int directory_fd);

#endif /* NTVFS_POSIX_DIRECTORY_STAMP_H */
