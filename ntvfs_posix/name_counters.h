/*
 * Numbers by which processes tell each other that a directory changed.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A file mapped by every process holds 65,536 counters of 64 bits, 512 KiB.
 * A directory's counter is chosen by a hash of its device and inode; a process
 * adds one before and one after each change it makes to the directory, and
 * another that remembers the directory sees by a moved counter that it must
 * look again. Directories that share a counter by accident make each other
 * look again without need, nothing worse.
 *
 * Counters only ever say "look again". None of their values is wrong, nothing
 * needs repair after a crash and nobody waits for anybody, so the counters
 * need no lock and no owner. A counter does not come back to an earlier value:
 * at ten million changes a second that takes 58,000 years.
 *
 * The file holds nothing that outlives its users: it may be removed when no
 * process uses it. (Removed while in use, processes started later count apart
 * from those before; what that can cost is what a program can cost that does
 * not count at all, see name_cache.h.)
 */

#ifndef NTVFS_POSIX_NAME_COUNTERS_H
#define NTVFS_POSIX_NAME_COUNTERS_H

#include <stddef.h>
#include <stdint.h>
#include <talloc.h>

#define NTVFS_NAME_COUNTERS_COUNT   65536
#define NTVFS_NAME_COUNTERS_VERSION 1

struct ntvfs_name_counters;

/*
 * Map the counter file, made with mode 0600 if it is missing. Whoever comes
 * first makes it, under an flock that lasts for a moment and that a dead
 * process does not keep. A file that is too short or whose header is not ours
 * is given the right size and header in place, so that processes that already
 * map it keep counting in the same memory. path NULL: counters that only this
 * process and its children see.
 *
 * Returns a talloc child of mem_ctx, unmapped when freed, or NULL with errno:
 * ENOMEM, what open, flock, fstat, pread, pwrite, posix_fallocate or mmap
 * gave, or EINVAL when path is not a regular file.
 */
struct ntvfs_name_counters *ntvfs_name_counters_open(TALLOC_CTX *mem_ctx,
						     const char *path);

/* The hash of a directory, the same in every process. */
uint64_t ntvfs_name_counters_hash(uint64_t dev, uint64_t ino);

/* The value of the directory's counter, from its hash. */
uint64_t ntvfs_name_counters_get(const struct ntvfs_name_counters *counters,
				 uint64_t hash);

/* Add one to it; returns the value before. */
uint64_t ntvfs_name_counters_add(struct ntvfs_name_counters *counters,
				 uint64_t hash);

/*
 * Look at the beginning of a counter file. Returns NULL when it is a valid
 * one, else what is wrong with it, a constant string.
 */
const char *ntvfs_name_counters_validate(const void *data, size_t size);

/* Say what the counters hold, a talloc child of mem_ctx; NULL: no memory. */
char *ntvfs_name_counters_to_text(const struct ntvfs_name_counters *counters,
				  TALLOC_CTX *mem_ctx);

#endif /* NTVFS_POSIX_NAME_COUNTERS_H */
