/*
 * ntvfs-dump: what its files share.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The program reads an image as it is on the disk, from its newest root,
 * without attaching it. It shows what it finds and judges as little as
 * possible; judging is the checker's work.
 */

#ifndef NTVFS_NATIVE_DUMP_H
#define NTVFS_NATIVE_DUMP_H

#include "format.h"
#include "format_names.h"
#include "io.h"
#include "ntvfs_native.h"

struct dump {
	struct nv_io *io;
	struct nv_disk_super super;
	struct nv_disk_root root;
	bool json;
	uint32_t depth;		/* of objects and arrays being printed */
	bool first;		/* nothing printed yet at this depth */
};

/* ---- dump_read.c ---- */

/* Read and check super block and roots. */
enum nv_status dump_open(struct dump *dump);
/*
 * The content of a page, through the map. NV_ERR_NOT_FOUND, NV_ERR_CORRUPT
 * (a checksum), NV_ERR_IO. place, if not NULL, gets its map entry.
 */
enum nv_status dump_page(struct dump *dump, uint64_t page, void *buffer,
			 struct nv_disk_map_entry *place);
/* The inode with this number; buffer has room for inode_size bytes. */
enum nv_status dump_inode(struct dump *dump, uint64_t ino,
			  struct nv_disk_inode *inode);

/* ---- dump_print.c: text or JSON by the same calls ---- */

/* name NULL: an element of an array. */
void dump_begin(struct dump *dump, const char *name, char bracket);
void dump_end(struct dump *dump, char bracket);
void dump_number(struct dump *dump, const char *name, uint64_t value);
void dump_hex(struct dump *dump, const char *name, uint64_t value);
void dump_text(struct dump *dump, const char *name, const char *value);
void dump_bytes(struct dump *dump, const char *name, const void *bytes,
		size_t length);
/* UTF-16 units; what is no character is shown as \uXXXX. */
void dump_units(struct dump *dump, const char *name, const void *units,
		uint32_t count);
void dump_time(struct dump *dump, const char *name, uint64_t nttime);

/* ---- dump_object.c ---- */

enum nv_status dump_show_inode(struct dump *dump, uint64_t ino);
enum nv_status dump_show_extents(struct dump *dump, uint64_t ino);
/* Entries of a directory, or the streams of a file. */
enum nv_status dump_show_names(struct dump *dump, uint64_t ino, bool streams);

#endif
