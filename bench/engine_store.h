/*
 * What the engine's benchmark does to a store, the same on each.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_BENCH_ENGINE_STORE_H
#define NTVFS_BENCH_ENGINE_STORE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The metadata that every object gets: a 44-byte record of attributes, as
 * Samba's file servers have kept since 2004, and a descriptor of this size.
 */
#define ATTRIBUTES_SIZE 44
#define DESCRIPTOR_SIZE 300

/* An object for which a server would have a handle open. */
struct handle {
	uint64_t id;	/* native: the file id; files: a descriptor */
};

/*
 * The calls of one process on one store. Names are ASCII. Each returns 0 or
 * an errno value.
 */
struct store {
	const char *name;
	void *state;

	/* Before anything else, in each process. */
	int (*attach)(struct store *store, const char *where);
	int (*detach)(struct store *store);

	/* Make a directory of the top one, or find it. */
	int (*directory)(struct store *store, const char *name, uint64_t *dir);

	/* A file with attributes, four times, and the descriptor. */
	int (*create)(struct store *store, uint64_t dir, const char *name);
	int (*remove)(struct store *store, uint64_t dir, const char *name);
	int (*rename)(struct store *store, uint64_t dir, const char *from,
		      const char *to);

	/* Everything that a query by name has to answer. */
	int (*stat_meta)(struct store *store, uint64_t dir, const char *name);
	/* Is there such a name? ENOENT is an answer. */
	int (*lookup)(struct store *store, uint64_t dir, const char *name);
	/* All names of a directory; *count of them. */
	int (*list)(struct store *store, uint64_t dir, size_t *count);

	int (*open)(struct store *store, uint64_t dir, const char *name,
		    struct handle *handle);
	int (*close)(struct store *store, struct handle *handle);
	/* The four times of an open object. */
	int (*set_times)(struct store *store, struct handle *handle,
			 uint64_t nttime);
	int (*read)(struct store *store, struct handle *handle, void *data,
		    size_t length, uint64_t offset);
	int (*write)(struct store *store, struct handle *handle,
		     const void *data, size_t length, uint64_t offset);
};

/* where: the image of a volume, or a directory. */
extern struct store store_native;
extern struct store store_files;

/* A self-relative descriptor of DESCRIPTOR_SIZE bytes. */
const void *bench_descriptor(void);

#endif /* NTVFS_BENCH_ENGINE_STORE_H */
