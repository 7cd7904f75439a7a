/*
 * The one table of calls that reach the disk.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * No other code of the engine maps, writes or flushes an image. There are
 * three implementations: image file, block device (both in io_file.c) and
 * simdisk (torture), which keeps what is durable apart from what is not.
 *
 * Metadata and roots are changed by stores into the mapping, file data by
 * pwrite; mapping and pread/pwrite must be coherent (one page cache).
 */

#ifndef NTVFS_NATIVE_IO_H
#define NTVFS_NATIVE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct nv_io;

struct nv_io_ops {
	const char *name;

	/*
	 * Map the image shared, readable and, unless the image is opened
	 * read-only, writable, at the start of an address range of
	 * reserve bytes that stays ours until unmap: what lies behind
	 * the image is not accessible until grow. Called once.
	 * Returns 0 or an errno.
	 */
	int (*map)(struct nv_io *io, size_t reserve, void **base);
	void (*unmap)(struct nv_io *io);

	/* Transfer all bytes or fail. Return 0 or an errno (EIO: short). */
	int (*pread)(struct nv_io *io, void *buffer, size_t length,
		     uint64_t offset);
	int (*pwrite)(struct nv_io *io, const void *buffer, size_t length,
		      uint64_t offset);

	/*
	 * Everything stored into the mapping or written before the call is
	 * durable on return. Never called again after it failed once.
	 */
	int (*flush)(struct nv_io *io);

	/*
	 * Hand this part of what was stored or written before to the disk,
	 * and wait until it has it; it may still be in the disk's own cache.
	 * Nothing outside of the range is waited for.
	 */
	int (*sync_range)(struct nv_io *io, uint64_t offset, uint64_t length);

	/*
	 * All that sync_range had returned for before the call is durable on
	 * return. As flush, but costs nothing for what else is dirty.
	 */
	int (*barrier)(struct nv_io *io);

	/* Start writing this range out, wait for nothing. A hint. */
	void (*write_behind)(struct nv_io *io, uint64_t offset,
			     uint64_t length);

	/* Give the range back to the host file (a hint, may do nothing). */
	void (*discard)(struct nv_io *io, uint64_t offset, uint64_t length);

	/*
	 * Make the image size bytes long, every byte backed by the host,
	 * and reachable through the mapping. Returns 0 or an errno.
	 */
	int (*grow)(struct nv_io *io, uint64_t size);

	/* Look at the present size; another process may have grown it. */
	int (*refresh)(struct nv_io *io);

	void (*close)(struct nv_io *io);
};

struct nv_io {
	const struct nv_io_ops *ops;
	/*
	 * An own open file description of something all attachers of this
	 * image share, for OFD locks; -1 forbids attaching.
	 */
	int lock_fd;
	/* What names the image on this machine; the segment's name. */
	uint64_t identity[2];
	uint64_t size;		/* bytes */
	bool read_only;
	void *base;		/* after map */
	size_t reserved;	/* bytes of address range at base */
};

/*
 * Open an image file or block device. The description is close-on-exec.
 * Returns 0 or an errno; *io is closed with (*io)->ops->close().
 */
int nv_io_open(const char *path, bool read_only, struct nv_io **io);

/*
 * Create an image file of size bytes, all of it allocated on the host, or
 * open an existing file or device for formatting (size 0: as it is).
 */
int nv_io_create(const char *path, uint64_t size, struct nv_io **io);

#endif
