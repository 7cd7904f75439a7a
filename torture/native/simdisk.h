/*
 * simdisk: a disk in memory whose power can be cut at any moment.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A simdisk has two contents. The present one is what a process of the
 * running machine sees: mapped, read and written as an image file. The
 * durable one is what the disk would hold after a power cut, if nothing of
 * what is unsynced had reached it. A flush makes the two equal. Before that,
 * any 512-byte sector may have reached the disk or not, or in part, in any
 * order; and dirty sectors reach the durable content early at random moments,
 * so that it can hold a state of a sector that was there between two flushes.
 *
 * Stores into the mapping cannot be seen, so what is dirty is found by
 * comparing the two contents.
 *
 * Threads may use a disk at once. A cut made meanwhile takes each sector as it
 * is at some moment of the cutting; that is what a real one may leave, if
 * nobody flushes meanwhile. After fork the child may only make cuts of it.
 */

#ifndef TORTURE_SIMDISK_H
#define TORTURE_SIMDISK_H

#include "io.h"
#include "seed.h"

#define SIMDISK_SECTOR 512

struct simdisk;

enum simdisk_call {
	SIMDISK_MAP,
	SIMDISK_READ,
	SIMDISK_WRITE,
	SIMDISK_FLUSH,
	SIMDISK_GROW,
	SIMDISK_CALLS
};

const char *simdisk_call_name(enum simdisk_call call);

/* An all-zero disk. Returns 0 or an errno. */
int simdisk_create(uint64_t size, uint64_t seed, struct simdisk **disk);
void simdisk_free(struct simdisk *disk);

/* An I/O table for it; as many as wanted. NULL: no memory. */
struct nv_io *simdisk_open(struct simdisk *disk);

/*
 * Called before a call of the table has had any effect, with the number of
 * the call among all calls of its kind, from 1.
 */
void simdisk_set_hook(struct simdisk *disk,
		      void (*hook)(void *private_data, enum simdisk_call call,
				   uint64_t number),
		      void *private_data);

/*
 * Make the number-th call of this kind from now on (1: the next) fail with
 * this errno; later ones succeed again. A flush that fails has written a
 * part. Number 0: forget it.
 */
void simdisk_fail(struct simdisk *disk, enum simdisk_call call,
		  uint64_t number, int error);
/* True if it has come to that. */
bool simdisk_failed(const struct simdisk *disk);

/* How many calls of a kind there were. */
uint64_t simdisk_calls(const struct simdisk *disk, enum simdisk_call call);

/* How often, in percent of all calls, some dirty sectors are written early. */
void simdisk_set_early(struct simdisk *disk, uint32_t percent);
/* Write some dirty sectors early now. */
void simdisk_write_early(struct simdisk *disk);

/* What becomes of unsynced sectors in a power cut. */
enum simdisk_fate {
	SIMDISK_DROP_ALL,
	SIMDISK_KEEP_ALL,
	SIMDISK_MIX,		/* keep, drop or tear each */
	SIMDISK_FEW,		/* keep few */
	SIMDISK_MOST,		/* drop few */
	SIMDISK_FATES
};

/*
 * What a power cut now would leave: a new disk, all of it durable.
 * *unsynced, if not NULL, is the number of sectors that fate decided about.
 */
int simdisk_cut(const struct simdisk *disk, enum simdisk_fate fate,
		uint64_t seed, struct simdisk **after, uint64_t *unsynced);

/* The present content: simdisk_size bytes. */
uint8_t *simdisk_content(struct simdisk *disk);
uint64_t simdisk_size(const struct simdisk *disk);
/* Make the present content durable without counting a flush. */
void simdisk_settle(struct simdisk *disk);

#endif
