/*
 * The shared segment: its layout, its file, its mapping.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "volume.h"

static uint64_t place(uint64_t *end, uint64_t bytes)
{
	uint64_t start = *end;

	*end = (start + bytes + 4095) & ~UINT64_C(4095);
	return start;
}

static uint64_t divide_up(uint64_t value, uint64_t by)
{
	return (value + by - 1) / by;
}

static void layout_region(struct nv_layout *layout, uint32_t region,
			  uint64_t *end)
{
	uint64_t count = layout->pages[region];
	uint32_t level;

	layout->entry[region] = place(end, count * sizeof(struct nv_entry));
	for (level = 1; level <= NV_MAP_MAX_HEIGHT; level++) {
		count = divide_up(count, NV_MAP_FANOUT);
		layout->node_count[region][level] = count;
		layout->nodes[region][level] = place(
			end, count * sizeof(struct nv_disk_map_entry));
		layout->dirty[region][level][0] = place(end, count);
		layout->dirty[region][level][1] = place(end, count);
	}
}

static void layout_bitmap(struct nv_layout *layout, uint32_t bitmap,
			  uint64_t bits, uint64_t *end)
{
	uint64_t pages = divide_up(bits, NV_BITS_PER_PAGE);

	layout->bit_count[bitmap] = pages * NV_BITS_PER_PAGE;
	layout->bits[bitmap] = place(end, pages * NV_BLOCK_SIZE);
	layout->bits_dirty[bitmap][0] = place(end, pages);
	layout->bits_dirty[bitmap][1] = place(end, pages);
	if (bitmap < NV_BITMAP_COUNT) {
		layout->snapshot[bitmap] = place(end, pages * NV_BLOCK_SIZE);
		layout->snapshot_count[bitmap] =
			place(end, pages * sizeof(uint32_t));
	}
}

void nv_layout_compute(struct nv_layout *layout, uint64_t max_blocks,
		       uint32_t inode_size)
{
	uint64_t inode_pages = max_blocks / 2;
	uint64_t inodes = inode_pages * (NV_BLOCK_SIZE / inode_size);
	uint64_t end = sizeof(struct nv_segment);
	uint32_t region;

	memset(layout, 0, sizeof(*layout));
	place(&end, 0);
	layout->max_blocks = max_blocks;
	layout->pages[NV_REGION_SYSTEM] = NV_SYSTEM_PAGES;
	layout->pages[NV_REGION_BLOCK_BITMAP] =
		divide_up(max_blocks, NV_BITS_PER_PAGE);
	layout->pages[NV_REGION_INODE_BITMAP] =
		divide_up(inodes, NV_BITS_PER_PAGE);
	layout->pages[NV_REGION_ORPHAN_BITMAP] =
		divide_up(inodes, NV_BITS_PER_PAGE);
	layout->pages[NV_REGION_INODES] = inode_pages;
	layout->pages[NV_REGION_NODES] = max_blocks / 2;
	for (region = 0; region < NV_REGION_COUNT; region++) {
		layout_region(layout, region, &end);
	}

	layout_bitmap(layout, NV_BITMAP_BLOCKS, max_blocks, &end);
	layout_bitmap(layout, NV_BITMAP_INODES, inodes, &end);
	layout_bitmap(layout, NV_BITMAP_ORPHANS, inodes, &end);
	layout_bitmap(layout, NV_CLAIMED_BLOCKS, max_blocks, &end);
	layout_bitmap(layout, NV_CLAIMED_INODES, inodes, &end);
	layout_bitmap(layout, NV_CLAIMED_NODES, max_blocks / 2, &end);
	layout_bitmap(layout, NV_FREED_EVEN, max_blocks, &end);
	layout_bitmap(layout, NV_FREED_ODD, max_blocks, &end);
	layout_bitmap(layout, NV_WRITTEN_EVEN, max_blocks, &end);
	layout_bitmap(layout, NV_WRITTEN_ODD, max_blocks, &end);
	layout->size = end;
}

/* Returns 0 or an errno. */
int nv_segment_open(struct nv_volume *volume, const char *directory)
{
	int written;

	if (directory == NULL) {
		directory = "/dev/shm";
	}
	written = snprintf(volume->segment_path, sizeof(volume->segment_path),
			   "%s/ntvfs-%016llx-%016llx", directory,
			   (unsigned long long)volume->io->identity[0],
			   (unsigned long long)volume->io->identity[1]);
	if (written < 0 || (size_t)written >= sizeof(volume->segment_path)) {
		return ENAMETOOLONG;
	}
	volume->segment_fd = open(volume->segment_path,
				  O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
				  0600);
	if (volume->segment_fd < 0) {
		return errno;
	}
	return 0;
}

#define PEEK_SIZE 4096

/* The front of an existing segment file; NULL if it is too short. */
static const struct nv_segment *peek(struct nv_volume *volume)
{
	struct stat st = {0};
	void *front = NULL;

	static_assert(offsetof(struct nv_segment, used_blocks) <= PEEK_SIZE,
		      "the front has all that is looked at");

	if (fstat(volume->segment_fd, &st) != 0 || st.st_size < PEEK_SIZE) {
		return NULL;
	}
	front = mmap(NULL, PEEK_SIZE, PROT_READ, MAP_SHARED,
		     volume->segment_fd, 0);
	return front == MAP_FAILED ? NULL : front;
}

static bool segment_known(struct nv_volume *volume,
			  const struct nv_segment *segment)
{
	struct nv_layout *layout = &volume->layout;
	struct stat st = {0};

	if (segment->magic != NV_SEGMENT_MAGIC ||
	    segment->version != NV_SEGMENT_VERSION ||
	    atomic_load(&segment->ready) != NV_SEGMENT_MAGIC ||
	    segment->max_blocks > NV_MAX_BLOCKS ||
	    segment->inode_size != volume->inode_size ||
	    memcmp(segment->uuid, volume->super.uuid, 16) != 0 ||
	    memcmp(segment->boot_id, volume->boot_id, 16) != 0) {
		return false;
	}
	nv_layout_compute(layout, segment->max_blocks, volume->inode_size);
	return segment->size == layout->size &&
		fstat(volume->segment_fd, &st) == 0 &&
		(uint64_t)st.st_size == layout->size;
}

/*
 * The image may have been replaced by another copy of itself: the root must be
 * the one the segment knows, or the one its dead committer had just written.
 */
static bool segment_fits(const struct nv_segment *segment,
			 const struct nv_disk_root *root)
{
	uint64_t durable = atomic_load(&segment->durable_group);
	uint64_t word = atomic_load(&segment->commit_phase);

	if (atomic_load(&segment->withdrawn) != 0) {
		return false;
	}
	if (root->sequence == durable) {
		return true;
	}
	return root->sequence == durable + 1 &&
		NV_PHASE_OF(word) == NV_PHASE_WRITING &&
		NV_PHASE_GROUP(word) == root->sequence;
}

bool nv_segment_usable(struct nv_volume *volume,
		       const struct nv_disk_root *root)
{
	const struct nv_segment *segment = peek(volume);
	bool usable = false;

	if (segment != NULL) {
		usable = segment_known(volume, segment) &&
			segment_fits(segment, root);
		munmap((void *)segment, PEEK_SIZE);
	}
	return usable;
}

/* Give part of the segment memory, so that a store cannot meet SIGBUS. */
enum nv_status nv_segment_back(struct nv_volume *volume, uint64_t offset,
			       uint64_t length)
{
	uint64_t end = (offset + length + 4095) & ~UINT64_C(4095);
	int ret;

	offset &= ~UINT64_C(4095);
	do {
		ret = fallocate(volume->segment_fd, 0, (off_t)offset,
				(off_t)(end - offset));
	} while (ret != 0 && errno == EINTR);
	if (ret != 0) {
		return NV_ERR_SEGMENT;
	}
	return NV_OK;
}

static uint64_t choose_max_blocks(const struct nv_volume *volume)
{
	uint64_t blocks = volume->io->size >> NV_BLOCK_SHIFT;
	uint64_t least = UINT64_C(1) << 22;	/* 16 GiB */
	uint64_t most = blocks * 4;

	/* Address space only: room to grow without detaching. */
	if (most < least) {
		most = least;
	}
	if (most > NV_MAX_BLOCKS) {
		most = NV_MAX_BLOCKS;
	}
	return most;
}

enum nv_status nv_segment_map(struct nv_volume *volume, bool fresh)
{
	enum nv_status status = NV_ERR_SEGMENT;
	uint64_t slots = offsetof(struct nv_segment, slot);
	const struct nv_segment *front = NULL;
	bool known = false;
	void *base = NULL;

	if (fresh) {
		nv_layout_compute(&volume->layout, choose_max_blocks(volume),
				  volume->inode_size);
		/* First to nothing, so that every byte is zero again. */
		if (ftruncate(volume->segment_fd, 0) != 0 ||
		    ftruncate(volume->segment_fd,
			      (off_t)volume->layout.size) != 0) {
			return NV_ERR_SEGMENT;
		}
		status = nv_segment_back(volume, 0, slots);
		if (status != NV_OK) {
			return status;
		}
	} else {
		front = peek(volume);
		if (front != NULL) {
			known = segment_known(volume, front);
			munmap((void *)front, PEEK_SIZE);
		}
		if (!known) {
			return NV_ERR_SEGMENT;
		}
	}
	base = mmap(NULL, volume->layout.size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_NORESERVE, volume->segment_fd, 0);
	if (base == MAP_FAILED) {
		return NV_ERR_SEGMENT;
	}
	volume->segment = base;
	volume->segment_base = base;
	return NV_OK;
}

void nv_segment_unmap(struct nv_volume *volume, bool remove)
{
	void *base = volume->segment;
	size_t size = volume->layout.size;

	if (base != NULL) {
		/*
		 * The addresses stay taken for ever: a thread that dies in
		 * the last instructions of unlocking a robust mutex makes the
		 * kernel look at its address once more, and that must not be
		 * somebody else's memory by then.
		 */
		mmap(base, size, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
		     -1, 0);
		volume->segment = NULL;
		volume->segment_base = NULL;
	}
	if (volume->segment_fd >= 0) {
		if (remove) {
			unlink(volume->segment_path);
		}
		close(volume->segment_fd);
		volume->segment_fd = -1;
	}
}
