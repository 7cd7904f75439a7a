/*
 * simdisk: a disk in memory whose power can be cut at any moment.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "simdisk.h"

#define BLOCK 4096
/* Blocks looked at when dirty sectors are written early. */
#define EARLY_WINDOW 64

struct simdisk {
	/* durable, seed, counts: threads of the engine call at once */
	pthread_mutex_t mutex;
	int fd;			/* memfd: the present content */
	uint8_t *present;
	uint8_t *durable;
	uint8_t *handed;	/* content at the last sync_range */
	uint8_t *is_handed;	/* byte per sector: not durable yet */
	uint64_t size;
	struct seed seed;
	uint32_t early_percent;
	uint64_t calls[SIMDISK_CALLS];
	void (*hook)(void *private_data, enum simdisk_call call,
		     uint64_t number);
	void *private_data;
	enum simdisk_call fail_call;
	uint64_t fail_at;	/* 0: never */
	int fail_error;
	bool failed;
};

struct simdisk_io {
	struct nv_io io;
	struct simdisk *disk;
	size_t mapped;
};

static const struct nv_io_ops simdisk_ops;

const char *simdisk_call_name(enum simdisk_call call)
{
	switch (call) {
	case SIMDISK_MAP:
		return "map";
	case SIMDISK_READ:
		return "pread";
	case SIMDISK_WRITE:
		return "pwrite";
	case SIMDISK_FLUSH:
		return "flush";
	case SIMDISK_GROW:
		return "grow";
	case SIMDISK_CALLS:
		break;
	}
	return "?";
}

static int set_size(struct simdisk *disk, uint64_t size)
{
	uint8_t *present = NULL;
	uint8_t *durable = NULL;

	if (ftruncate(disk->fd, (off_t)size) != 0) {
		return errno;
	}
	present = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
		       disk->fd, 0);
	if (present == MAP_FAILED) {
		return errno;
	}
	durable = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (durable == MAP_FAILED) {
		munmap(present, size);
		return ENOMEM;
	}
	if (disk->present != NULL) {
		memcpy(durable, disk->durable, disk->size);
		munmap(disk->present, disk->size);
		munmap(disk->durable, disk->size);
	}
	disk->present = present;
	disk->durable = durable;
	disk->size = size;
	free(disk->handed);
	free(disk->is_handed);
	disk->handed = calloc(1, size);
	disk->is_handed = calloc(1, size / SIMDISK_SECTOR + 1);
	if (disk->handed == NULL || disk->is_handed == NULL) {
		return ENOMEM;
	}
	return 0;
}

int simdisk_create(uint64_t size, uint64_t seed, struct simdisk **result)
{
	struct simdisk *disk = NULL;
	pthread_mutexattr_t attributes;
	int ret;

	disk = calloc(1, sizeof(*disk));
	if (disk == NULL) {
		return ENOMEM;
	}
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&disk->mutex, &attributes);
	pthread_mutexattr_destroy(&attributes);
	disk->seed = seed_derive(seed, 0x51d1);
	disk->fd = memfd_create("simdisk", MFD_CLOEXEC);
	if (disk->fd < 0) {
		ret = errno;
		free(disk);
		return ret;
	}
	ret = set_size(disk, size);
	if (ret != 0) {
		close(disk->fd);
		free(disk);
		return ret;
	}
	*result = disk;
	return 0;
}

void simdisk_free(struct simdisk *disk)
{
	if (disk == NULL) {
		return;
	}
	munmap(disk->present, disk->size);
	munmap(disk->durable, disk->size);
	free(disk->handed);
	free(disk->is_handed);
	close(disk->fd);
	free(disk);
}

uint8_t *simdisk_content(struct simdisk *disk)
{
	return disk->present;
}

uint64_t simdisk_size(const struct simdisk *disk)
{
	return disk->size;
}

uint64_t simdisk_calls(const struct simdisk *disk, enum simdisk_call call)
{
	return disk->calls[call];
}

void simdisk_set_hook(struct simdisk *disk,
		      void (*hook)(void *private_data, enum simdisk_call call,
				   uint64_t number),
		      void *private_data)
{
	disk->hook = hook;
	disk->private_data = private_data;
}

void simdisk_fail(struct simdisk *disk, enum simdisk_call call,
		  uint64_t number, int error)
{
	disk->fail_call = call;
	disk->fail_at = number == 0 ? 0 : disk->calls[call] + number;
	disk->fail_error = error;
	disk->failed = false;
}

bool simdisk_failed(const struct simdisk *disk)
{
	return disk->failed;
}

void simdisk_set_early(struct simdisk *disk, uint32_t percent)
{
	disk->early_percent = percent;
}

static void lock(const struct simdisk *disk)
{
	pthread_mutex_lock((pthread_mutex_t *)&disk->mutex);
}

static void unlock(const struct simdisk *disk)
{
	pthread_mutex_unlock((pthread_mutex_t *)&disk->mutex);
}

/* Copy each sector of a range that differs, in percent of the cases. */
static void write_some(struct simdisk *disk, uint64_t start, uint64_t end,
		       uint32_t percent)
{
	uint64_t at;

	lock(disk);
	for (at = start; at < end; at += SIMDISK_SECTOR) {
		if (memcmp(disk->durable + at, disk->present + at,
			   SIMDISK_SECTOR) == 0) {
			continue;
		}
		if (seed_chance(&disk->seed, percent)) {
			memcpy(disk->durable + at, disk->present + at,
			       SIMDISK_SECTOR);
			/* Newer than what was handed over. */
			disk->is_handed[at / SIMDISK_SECTOR] = 0;
		}
	}
	unlock(disk);
}

void simdisk_write_early(struct simdisk *disk)
{
	uint64_t blocks = disk->size / BLOCK;
	uint64_t first;
	uint64_t end;

	lock(disk);
	first = seed_below(&disk->seed, blocks);
	end = first + EARLY_WINDOW;
	if (end > blocks) {
		end = blocks;
	}
	write_some(disk, first * BLOCK, end * BLOCK,
		   (uint32_t)seed_below(&disk->seed, 101));
	unlock(disk);
}

void simdisk_settle(struct simdisk *disk)
{
	uint64_t at;

	lock(disk);
	/* Untouched blocks of the durable content stay without memory. */
	for (at = 0; at < disk->size; at += BLOCK) {
		if (memcmp(disk->durable + at, disk->present + at, BLOCK) !=
		    0) {
			memcpy(disk->durable + at, disk->present + at, BLOCK);
		}
	}
	unlock(disk);
}

static bool sector_survives(enum simdisk_fate fate, struct seed *seed)
{
	switch (fate) {
	case SIMDISK_DROP_ALL:
		return false;
	case SIMDISK_KEEP_ALL:
		return true;
	case SIMDISK_FEW:
		return seed_chance(seed, 10);
	case SIMDISK_MOST:
		return seed_chance(seed, 90);
	default:
		return seed_chance(seed, 50);
	}
}

static void decide_sector(const struct simdisk *disk, uint64_t at,
			  enum simdisk_fate fate, struct seed *seed,
			  uint8_t *sector)
{
	const uint8_t *present = disk->present + at;
	uint64_t keep = SIMDISK_SECTOR;

	if (!sector_survives(fate, seed)) {
		return;
	}
	/* One in eight is torn: the first bytes new, the last ones old. */
	if (fate != SIMDISK_KEEP_ALL && seed_chance(seed, 12)) {
		keep = seed_below(seed, SIMDISK_SECTOR);
	}
	memcpy(sector, present, keep);
}

int simdisk_cut(const struct simdisk *disk, enum simdisk_fate fate,
		uint64_t cut_seed, struct simdisk **after, uint64_t *unsynced)
{
	static const uint8_t zeros[BLOCK];
	struct seed seed = seed_derive(cut_seed, fate);
	struct simdisk *cut = NULL;
	uint8_t block[BLOCK];
	uint64_t decided = 0;
	uint64_t at;
	uint64_t s;
	int ret;

	ret = simdisk_create(disk->size, cut_seed, &cut);
	if (ret != 0) {
		return ret;
	}
	lock(disk);
	for (at = 0; at < disk->size; at += BLOCK) {
		memcpy(block, disk->durable + at, BLOCK);
		for (s = 0; s < BLOCK; s += SIMDISK_SECTOR) {
			if (memcmp(disk->durable + at + s,
				   disk->present + at + s,
				   SIMDISK_SECTOR) != 0) {
				decide_sector(disk, at + s, fate, &seed,
					      block + s);
				decided++;
			}
		}
		if (memcmp(block, zeros, BLOCK) == 0) {
			continue;
		}
		memcpy(cut->present + at, block, BLOCK);
		memcpy(cut->durable + at, block, BLOCK);
	}
	unlock(disk);
	if (unsynced != NULL) {
		*unsynced = decided;
	}
	*after = cut;
	return 0;
}

/* Count the call, tell the hook, fail if it is time. */
static int begin_call(struct simdisk *disk, enum simdisk_call call)
{
	uint64_t number;
	int ret = 0;

	lock(disk);
	disk->calls[call]++;
	number = disk->calls[call];
	unlock(disk);
	if (disk->hook != NULL) {
		disk->hook(disk->private_data, call, number);
	}
	lock(disk);
	if (seed_chance(&disk->seed, disk->early_percent)) {
		simdisk_write_early(disk);
	}
	if (disk->fail_at == number && disk->fail_call == call) {
		disk->failed = true;
		ret = disk->fail_error;
	}
	unlock(disk);
	return ret;
}

static struct simdisk *disk_of(struct nv_io *io)
{
	return ((struct simdisk_io *)io)->disk;
}

static int map_up_to(struct simdisk_io *sim, uint64_t size)
{
	uint8_t *start = NULL;
	void *got = NULL;

	if (size <= sim->mapped) {
		return 0;
	}
	if (size > sim->io.reserved) {
		return EFBIG;
	}
	start = (uint8_t *)sim->io.base + sim->mapped;
	got = mmap(start, size - sim->mapped, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_FIXED, sim->disk->fd, (off_t)sim->mapped);
	if (got == MAP_FAILED) {
		return errno;
	}
	sim->mapped = size;
	return 0;
}

static int simdisk_map(struct nv_io *io, size_t reserve, void **base)
{
	struct simdisk_io *sim = (struct simdisk_io *)io;
	void *range = NULL;
	int ret;

	ret = begin_call(sim->disk, SIMDISK_MAP);
	if (ret != 0) {
		return ret;
	}
	range = mmap(NULL, reserve, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (range == MAP_FAILED) {
		return errno;
	}
	io->base = range;
	io->reserved = reserve;
	sim->mapped = 0;
	ret = map_up_to(sim, io->size);
	if (ret != 0) {
		munmap(range, reserve);
		io->base = NULL;
		return ret;
	}
	*base = range;
	return 0;
}

static void simdisk_unmap(struct nv_io *io)
{
	if (io->base != NULL) {
		munmap(io->base, io->reserved);
		io->base = NULL;
	}
}

static int simdisk_pread(struct nv_io *io, void *buffer, size_t length,
			 uint64_t offset)
{
	struct simdisk *disk = disk_of(io);
	int ret;

	ret = begin_call(disk, SIMDISK_READ);
	if (ret != 0) {
		return ret;
	}
	if (offset > disk->size || length > disk->size - offset) {
		return EIO;
	}
	memcpy(buffer, disk->present + offset, length);
	return 0;
}

static int simdisk_pwrite(struct nv_io *io, const void *buffer, size_t length,
			  uint64_t offset)
{
	struct simdisk *disk = disk_of(io);
	int ret;

	ret = begin_call(disk, SIMDISK_WRITE);
	if (offset > disk->size || length > disk->size - offset) {
		return EIO;
	}
	if (ret != 0) {
		/* As a real disk may: the first part has been written. */
		length = length == 0 ? 0 : seed_below(&disk->seed, length);
	}
	memcpy(disk->present + offset, buffer, length);
	return ret;
}

static int simdisk_flush(struct nv_io *io)
{
	struct simdisk *disk = disk_of(io);
	int ret;

	ret = begin_call(disk, SIMDISK_FLUSH);
	if (ret != 0) {
		write_some(disk, 0, disk->size, 50);
		return ret;
	}
	lock(disk);
	simdisk_settle(disk);
	memset(disk->is_handed, 0, disk->size / SIMDISK_SECTOR + 1);
	unlock(disk);
	return 0;
}

/*
 * The disk gets the sectors as they are now, and may still lose each of them
 * until the barrier.
 */
static int simdisk_sync_range(struct nv_io *io, uint64_t offset,
			      uint64_t length)
{
	struct simdisk *disk = disk_of(io);
	uint64_t end = offset + length;
	int ret;

	ret = begin_call(disk, SIMDISK_WRITE);
	if (ret != 0) {
		return ret;
	}
	if (end > disk->size) {
		end = disk->size;
	}
	lock(disk);
	for (; offset < end; offset += SIMDISK_SECTOR) {
		if (memcmp(disk->durable + offset, disk->present + offset,
			   SIMDISK_SECTOR) == 0) {
			continue;
		}
		memcpy(disk->handed + offset, disk->present + offset,
		       SIMDISK_SECTOR);
		disk->is_handed[offset / SIMDISK_SECTOR] = 1;
	}
	unlock(disk);
	return 0;
}

static int simdisk_barrier(struct nv_io *io)
{
	struct simdisk *disk = disk_of(io);
	uint64_t sector;
	int ret;

	ret = begin_call(disk, SIMDISK_FLUSH);
	if (ret != 0) {
		write_some(disk, 0, disk->size, 50);
		return ret;
	}
	lock(disk);
	for (sector = 0; sector < disk->size / SIMDISK_SECTOR; sector++) {
		if (disk->is_handed[sector] == 0) {
			continue;
		}
		memcpy(disk->durable + sector * SIMDISK_SECTOR,
		       disk->handed + sector * SIMDISK_SECTOR,
		       SIMDISK_SECTOR);
		disk->is_handed[sector] = 0;
	}
	unlock(disk);
	return 0;
}

static void simdisk_write_behind(struct nv_io *io, uint64_t offset,
				 uint64_t length)
{
	struct simdisk *disk = disk_of(io);
	uint64_t start = offset & ~(uint64_t)(SIMDISK_SECTOR - 1);
	uint64_t end = offset + length;

	if (end > disk->size) {
		end = disk->size;
	}
	write_some(disk, start, end, 50);
}

static void simdisk_discard(struct nv_io *io, uint64_t offset,
			    uint64_t length)
{
	/* As the table for files: the image stays allocated. */
}

static int simdisk_refresh(struct nv_io *io)
{
	struct simdisk_io *sim = (struct simdisk_io *)io;

	io->size = sim->disk->size;
	if (io->base != NULL) {
		return map_up_to(sim, io->size);
	}
	return 0;
}

static int simdisk_grow(struct nv_io *io, uint64_t size)
{
	struct simdisk *disk = disk_of(io);
	int ret;

	ret = begin_call(disk, SIMDISK_GROW);
	if (ret != 0) {
		return ret;
	}
	if (size > disk->size) {
		ret = set_size(disk, size);
		if (ret != 0) {
			return ret;
		}
	}
	return simdisk_refresh(io);
}

static void simdisk_close(struct nv_io *io)
{
	simdisk_unmap(io);
	close(io->lock_fd);
	free(io);
}

static const struct nv_io_ops simdisk_ops = {
	.name = "simdisk",
	.map = simdisk_map,
	.unmap = simdisk_unmap,
	.pread = simdisk_pread,
	.pwrite = simdisk_pwrite,
	.flush = simdisk_flush,
	.sync_range = simdisk_sync_range,
	.barrier = simdisk_barrier,
	.write_behind = simdisk_write_behind,
	.discard = simdisk_discard,
	.grow = simdisk_grow,
	.refresh = simdisk_refresh,
	.close = simdisk_close,
};

struct nv_io *simdisk_open(struct simdisk *disk)
{
	struct simdisk_io *sim = NULL;
	struct stat st = {0};
	char path[64];

	sim = calloc(1, sizeof(*sim));
	if (sim == NULL) {
		return NULL;
	}
	/* A description of its own, for OFD locks. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", disk->fd);
	sim->io.lock_fd = open(path, O_RDWR | O_CLOEXEC);
	if (sim->io.lock_fd < 0 || fstat(disk->fd, &st) != 0) {
		free(sim);
		return NULL;
	}
	sim->disk = disk;
	sim->io.ops = &simdisk_ops;
	sim->io.identity[0] = (uint64_t)st.st_dev;
	sim->io.identity[1] = (uint64_t)st.st_ino;
	sim->io.size = disk->size;
	return &sim->io;
}
