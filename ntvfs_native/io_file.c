/*
 * The table of disk calls for image files and block devices.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "format.h"
#include "io.h"

struct io_file {
	struct nv_io io;
	int fd;
	bool is_device;
};

static struct io_file *file_of(struct nv_io *io)
{
	return (struct io_file *)io;
}

static int size_of(struct io_file *file, uint64_t *size)
{
	struct stat st = {0};

	if (fstat(file->fd, &st) != 0) {
		return errno;
	}
	if (S_ISBLK(st.st_mode)) {
		if (ioctl(file->fd, BLKGETSIZE64, size) != 0) {
			return errno;
		}
		return 0;
	}
	*size = (uint64_t)st.st_size;
	return 0;
}

static int file_map(struct nv_io *io, size_t reserve, void **base)
{
	struct io_file *file = file_of(io);
	int protection = PROT_READ;
	void *range = NULL;

	if (!io->read_only) {
		protection |= PROT_WRITE;
	}
	/*
	 * Also what lies behind the end of the image: it becomes accessible
	 * in every process as soon as one of them makes the image longer.
	 */
	range = mmap(NULL, reserve, protection, MAP_SHARED | MAP_NORESERVE,
		     file->fd, 0);
	if (range == MAP_FAILED) {
		return errno;
	}
	/*
	 * Without read-around the page cache gets metadata in single pages:
	 * in a large folio a store would dirty the whole folio.
	 */
	madvise(range, reserve, MADV_RANDOM);
	io->base = range;
	io->reserved = reserve;
	*base = range;
	return 0;
}

static void file_unmap(struct nv_io *io)
{
	if (io->base != NULL) {
		munmap(io->base, io->reserved);
		io->base = NULL;
	}
}

static int file_pread(struct nv_io *io, void *buffer, size_t length,
		      uint64_t offset)
{
	struct io_file *file = file_of(io);
	uint8_t *next = buffer;

	while (length > 0) {
		ssize_t got = pread(file->fd, next, length, (off_t)offset);

		if (got < 0) {
			if (errno == EINTR) {
				continue;
			}
			return errno;
		}
		if (got == 0) {
			return EIO;
		}
		next += got;
		offset += (uint64_t)got;
		length -= (size_t)got;
	}
	return 0;
}

static int file_pwrite(struct nv_io *io, const void *buffer, size_t length,
		       uint64_t offset)
{
	struct io_file *file = file_of(io);
	const uint8_t *next = buffer;

	while (length > 0) {
		ssize_t put = pwrite(file->fd, next, length, (off_t)offset);

		if (put < 0) {
			if (errno == EINTR) {
				continue;
			}
			return errno;
		}
		if (put == 0) {
			return EIO;
		}
		next += put;
		offset += (uint64_t)put;
		length -= (size_t)put;
	}
	return 0;
}

static int file_flush(struct nv_io *io)
{
	if (fdatasync(file_of(io)->fd) != 0) {
		return errno;
	}
	return 0;
}

static int file_sync_range(struct nv_io *io, uint64_t offset,
			   uint64_t length)
{
	const unsigned int flags = SYNC_FILE_RANGE_WAIT_BEFORE |
		SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;

	if (sync_file_range(file_of(io)->fd, (off_t)offset, (off_t)length,
			    flags) != 0) {
		return errno;
	}
	return 0;
}

/*
 * msync of one page carries with it what sync_file_range alone does not give:
 * the host's metadata of all ranges, and the flush of the disk's cache. A small
 * write with RWF_DSYNC would do so, too, but waits for the inode's lock, which
 * a stream that is being throttled holds for a tenth of a second and longer.
 */
static int file_barrier(struct nv_io *io)
{
	uint8_t *page = io->base;

	if (page == NULL) {
		return file_flush(io);
	}
	page += (size_t)NV_SCRATCH_BLOCK << NV_BLOCK_SHIFT;
	if (msync(page, NV_BLOCK_SIZE, MS_SYNC) != 0) {
		return errno;
	}
	return 0;
}

static void file_write_behind(struct nv_io *io, uint64_t offset,
			      uint64_t length)
{
	sync_file_range(file_of(io)->fd, (off_t)offset, (off_t)length,
			SYNC_FILE_RANGE_WRITE);
}

static void file_discard(struct nv_io *io, uint64_t offset, uint64_t length)
{
	/*
	 * An image stays allocated on its host, so that the host's lack of
	 * space is never met in a store into the mapping.
	 */
}

static int file_refresh(struct nv_io *io)
{
	struct io_file *file = file_of(io);
	uint64_t size = 0;
	int ret;

	ret = size_of(file, &size);
	if (ret != 0) {
		return ret;
	}
	io->size = size;
	return 0;
}

static int file_grow(struct nv_io *io, uint64_t size)
{
	struct io_file *file = file_of(io);
	int ret;

	if (!file->is_device) {
		ret = posix_fallocate(file->fd, 0, (off_t)size);
		if (ret != 0) {
			return ret;
		}
	}
	ret = file_refresh(io);
	if (ret == 0 && io->size < size) {
		ret = ENOSPC;
	}
	return ret;
}

static void file_close(struct nv_io *io)
{
	file_unmap(io);
	close(file_of(io)->fd);
	free(io);
}

static const struct nv_io_ops file_ops = {
	.name = "file",
	.map = file_map,
	.unmap = file_unmap,
	.pread = file_pread,
	.pwrite = file_pwrite,
	.flush = file_flush,
	.sync_range = file_sync_range,
	.barrier = file_barrier,
	.write_behind = file_write_behind,
	.discard = file_discard,
	.grow = file_grow,
	.refresh = file_refresh,
	.close = file_close,
};

static int open_with(const char *path, int flags, bool read_only,
		     struct nv_io **io)
{
	struct io_file *file = NULL;
	struct stat st = {0};
	int ret;

	file = calloc(1, sizeof(*file));
	if (file == NULL) {
		return ENOMEM;
	}
	file->fd = open(path, flags | O_CLOEXEC, 0600);
	if (file->fd < 0) {
		ret = errno;
		free(file);
		return ret;
	}
	if (fstat(file->fd, &st) != 0) {
		ret = errno;
		goto fail;
	}
	if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode)) {
		ret = ENOTBLK;
		goto fail;
	}
	file->is_device = S_ISBLK(st.st_mode);
	file->io.ops = &file_ops;
	file->io.lock_fd = file->fd;
	file->io.read_only = read_only;
	file->io.identity[0] = file->is_device ? 0 : (uint64_t)st.st_dev;
	file->io.identity[1] = file->is_device ? (uint64_t)st.st_rdev :
		(uint64_t)st.st_ino;
	ret = size_of(file, &file->io.size);
	if (ret != 0) {
		goto fail;
	}
	*io = &file->io;
	return 0;
fail:
	close(file->fd);
	free(file);
	return ret;
}

int nv_io_open(const char *path, bool read_only, struct nv_io **io)
{
	return open_with(path, read_only ? O_RDONLY : O_RDWR, read_only, io);
}

int nv_io_create(const char *path, uint64_t size, struct nv_io **io)
{
	struct nv_io *made = NULL;
	int ret;

	ret = open_with(path, O_RDWR | (size > 0 ? O_CREAT : 0), false, &made);
	if (ret != 0) {
		return ret;
	}
	if (size > 0) {
		ret = made->ops->grow(made, size);
		if (ret != 0) {
			made->ops->close(made);
			return ret;
		}
	}
	*io = made;
	return 0;
}
