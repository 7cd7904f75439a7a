/*
 * Numbers by which processes tell each other that a directory changed.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "name_counters.h"

static const uint8_t counter_magic[8] = "NTVFSNCN";

/*
 * The file: this header, then the counters. The header is little-endian. The
 * counters are in the order of the processor that counts, since there is no
 * atomic addition in another; the file never leaves its machine.
 */
struct name_counters_file {
	uint8_t magic[8];
	uint32_t version;
	uint32_t count;
	uint8_t reserved[48]; /* zero */
	uint64_t counters[NTVFS_NAME_COUNTERS_COUNT];
};

static_assert(offsetof(struct name_counters_file, version) == 8, "format");
static_assert(offsetof(struct name_counters_file, count) == 12, "format");
static_assert(offsetof(struct name_counters_file, counters) == 64, "format");
static_assert(sizeof(struct name_counters_file) == 64 + 65536 * 8, "format");
static_assert((NTVFS_NAME_COUNTERS_COUNT & (NTVFS_NAME_COUNTERS_COUNT - 1)) ==
		      0,
	      "a counter is chosen by the low bits of a hash");
static_assert(__atomic_always_lock_free(sizeof(uint64_t), NULL),
	      "processes share counters without a lock");

#define HEADER_SIZE offsetof(struct name_counters_file, counters)

struct ntvfs_name_counters {
	struct name_counters_file *file;
};

static int unmap_counters(struct ntvfs_name_counters *counters)
{
	munmap(counters->file, sizeof(*counters->file));
	return 0;
}

const char *ntvfs_name_counters_validate(const void *data, size_t size)
{
	struct name_counters_file header;
	size_t i;

	if (size < sizeof(struct name_counters_file)) {
		return "too short";
	}
	memcpy(&header, data, HEADER_SIZE);
	if (memcmp(header.magic, counter_magic, sizeof(header.magic)) != 0) {
		return "no counter file";
	}
	if (le32toh(header.version) != NTVFS_NAME_COUNTERS_VERSION) {
		return "another version";
	}
	if (le32toh(header.count) != NTVFS_NAME_COUNTERS_COUNT) {
		return "another number of counters";
	}
	for (i = 0; i < sizeof(header.reserved); i++) {
		if (header.reserved[i] != 0) {
			return "reserved bytes are in use";
		}
	}
	return NULL;
}

static int lock_file(int fd)
{
	int ret = 0;

	do {
		ret = flock(fd, LOCK_EX);
	} while (ret == -1 && errno == EINTR);
	return ret;
}

/*
 * Make the file behind fd a valid counter file, with errno on failure. It is
 * never made shorter: a process that maps it would be killed by SIGBUS. Its
 * blocks are allocated, for a hole that finds no space when it is written
 * through a mapping is a SIGBUS too. Counters that are there stay: any values
 * are good, and resetting them could bring back one that somebody remembers.
 */
static int prepare_file(int fd)
{
	uint8_t header[HEADER_SIZE] = {0};
	uint32_t version = htole32(NTVFS_NAME_COUNTERS_VERSION);
	uint32_t count = htole32(NTVFS_NAME_COUNTERS_COUNT);
	struct stat st = {0};
	ssize_t size = 0;
	int ret = 0;

	ret = fstat(fd, &st);
	if (ret == -1) {
		return -1;
	}
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	if (st.st_size < (off_t)sizeof(struct name_counters_file)) {
		ret = posix_fallocate(fd, 0, sizeof(struct name_counters_file));
		if (ret != 0) {
			errno = ret;
			return -1;
		}
	}
	size = pread(fd, header, sizeof(header), 0);
	if (size == -1) {
		return -1;
	}
	if (ntvfs_name_counters_validate(
		    header, sizeof(struct name_counters_file)) == NULL) {
		return 0;
	}
	memset(header, 0, sizeof(header));
	memcpy(header, counter_magic, sizeof(counter_magic));
	memcpy(header + offsetof(struct name_counters_file, version),
	       &version,
	       sizeof(version));
	memcpy(header + offsetof(struct name_counters_file, count),
	       &count,
	       sizeof(count));
	size = pwrite(fd, header, sizeof(header), 0);
	if (size == -1) {
		return -1;
	}
	if (size != (ssize_t)sizeof(header)) {
		errno = ENOSPC;
		return -1;
	}
	return 0;
}

static void *map_file(const char *path)
{
	void *mapping = MAP_FAILED;
	int error = 0;
	int fd = -1;
	int ret = 0;

	fd = open(path,
		  O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
		  0600);
	if (fd == -1) {
		return MAP_FAILED;
	}
	ret = lock_file(fd);
	if (ret == 0) {
		ret = prepare_file(fd);
	}
	if (ret == 0) {
		mapping = mmap(NULL,
			       sizeof(struct name_counters_file),
			       PROT_READ | PROT_WRITE,
			       MAP_SHARED,
			       fd,
			       0);
	}
	error = errno;
	/* closing would not do: the mapping keeps the description, and that
	   the lock */
	(void)flock(fd, LOCK_UN);
	close(fd);
	errno = error;
	return mapping;
}

struct ntvfs_name_counters *ntvfs_name_counters_open(TALLOC_CTX *mem_ctx,
						     const char *path)
{
	struct ntvfs_name_counters *counters = NULL;
	void *mapping = MAP_FAILED;
	int error = 0;

	counters = talloc_zero(mem_ctx, struct ntvfs_name_counters);
	if (counters == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	if (path == NULL) {
		mapping = mmap(NULL,
			       sizeof(struct name_counters_file),
			       PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS,
			       -1,
			       0);
	} else {
		mapping = map_file(path);
	}
	if (mapping == MAP_FAILED) {
		error = errno;
		TALLOC_FREE(counters);
		errno = error;
		return NULL;
	}
	counters->file = mapping;
	talloc_set_destructor(counters, unmap_counters);
	return counters;
}

uint64_t ntvfs_name_counters_hash(uint64_t dev, uint64_t ino)
{
	const uint64_t key[2] = {dev, ino};

	return XXH3_64bits(key, sizeof(key));
}

/*
 * The reader needs no lock. A writer adds one before its change and one after
 * it; both additions are atomic and in one order for everybody, and the change
 * itself is a system call that takes the directory's lock in the kernel. A
 * reader that reads before the first addition reads a directory without the
 * change and finds the counter moved next time. One that reads between the two
 * may or may not see the change, and finds the counter moved too. One that
 * reads after the second sees the change.
 */
uint64_t ntvfs_name_counters_get(const struct ntvfs_name_counters *counters,
				 uint64_t hash)
{
	size_t i = hash & (NTVFS_NAME_COUNTERS_COUNT - 1);

	return __atomic_load_n(&counters->file->counters[i], __ATOMIC_SEQ_CST);
}

uint64_t ntvfs_name_counters_add(struct ntvfs_name_counters *counters,
				 uint64_t hash)
{
	size_t i = hash & (NTVFS_NAME_COUNTERS_COUNT - 1);

	return __atomic_fetch_add(
		&counters->file->counters[i], 1, __ATOMIC_SEQ_CST);
}

char *ntvfs_name_counters_to_text(const struct ntvfs_name_counters *counters,
				  TALLOC_CTX *mem_ctx)
{
	uint64_t sum = 0;
	uint64_t value = 0;
	size_t moved = 0;
	size_t i;

	/* Others go on counting meanwhile: the sum is of no single moment,
	   which is enough for reading by a person. */
	for (i = 0; i < NTVFS_NAME_COUNTERS_COUNT; i++) {
		value = ntvfs_name_counters_get(counters, i);
		sum += value;
		if (value != 0) {
			moved++;
		}
	}
	return talloc_asprintf(mem_ctx,
			       "name counters, version %d: %d counters, %zu "
			       "ever moved, %" PRIu64 " steps in all",
			       NTVFS_NAME_COUNTERS_VERSION,
			       NTVFS_NAME_COUNTERS_COUNT,
			       moved,
			       sum);
}
