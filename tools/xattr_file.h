/*
 * All that is kept about one file, read from its extended attributes and from
 * the tdbs in which a share keeps what the file cannot have.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef TOOLS_XATTR_FILE_H
#define TOOLS_XATTR_FILE_H

#include <stdio.h>
#include <sys/stat.h>
#include "xattr_idl/ntvfs_xattr_blob.h"

enum xattr_kind {
	XATTR_DOSATTRIB,	/* user.DOSATTRIB */
	XATTR_DOSATTRIB_SAMBA4,	/* user.DosAttrib */
	XATTR_NTACL,		/* security.NTACL */
	XATTR_STREAM,		/* user.DosStream.NAME: the data themselves */
	XATTR_STREAM_FILE,	/* user.ntvfs.str.NAME: names a file */
	XATTR_STREAM_LIST,	/* user.DosStreams */
	XATTR_EA_LIST,		/* user.DosEAs */
	XATTR_INTERNAL,		/* a server's own, with nothing to show */
	XATTR_EA		/* any other user.NAME */
};

struct xattr_value {
	const char *xattr_name;
	const char *store;		/* the tdb that has it; NULL: the file */
	enum xattr_kind kind;
	DATA_BLOB blob;

	/* The reason why it cannot be read, else NULL. */
	const char *bad;
	NTSTATUS status;

	/* Of a stream or an EA: its name, and how many bytes clients see. */
	const char *name;
	uint64_t size;
	const char *stream_file;	/* XATTR_STREAM_FILE; NULL: bad */

	/* By kind; NULL or zero when bad. */
	struct ntvfs_dosattrib dosattrib;
	struct ntvfs_ntacl *ntacl;
	char *sddl;			/* NULL: SDDL has no words for it */
	struct ntvfs_dosstreams *streams;
	struct ntvfs_doseas *eas;
};

struct xattr_file {
	const char *path;
	struct stat st;
	NTTIME write_time;		/* st_mtim and st_atim */
	NTTIME access_time;
	size_t count;
	size_t bad_count;
	/*
	 * Those of the file, then those in the tdbs of the share that it lies
	 * in, each of them in the order of enum xattr_kind.
	 */
	struct xattr_value *values;
};

/**
 * Read everything about path; a symbolic link is followed.
 *
 * Returns 0, or an errno value with a sentence in *what ("cannot read
 * user.DOSATTRIB"). A value that makes no sense is no error: see bad.
 * All memory is under mem_ctx.
 */
int xattr_file_read(TALLOC_CTX *mem_ctx,
		    const char *path,
		    struct xattr_file **file,
		    const char **what);

/** "file", "directory" or "special file". */
const char *xattr_file_type(const struct xattr_file *file);

/**
 * Write the file as one JSON object, without a newline behind it. Bytes of
 * names that are not UTF-8 become U+DC80 to U+DCFF, as in Python.
 */
void xattr_file_print_json(const struct xattr_file *file, FILE *out);

#endif
