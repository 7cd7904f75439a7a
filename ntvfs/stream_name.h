/*
 * Names of streams as SMB clients write them.
 *
 * A name may be followed by ":STREAM:$DATA" or, shorter, ":STREAM"; "::$DATA"
 * is the file's own data (MS-FSCC 2.1.5). The type is compared without regard
 * to case, and $DATA is the only one that a client may name.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_STREAM_NAME_H
#define NTVFS_STREAM_NAME_H

#include <talloc.h>

/*
 * The bare name of ":NAME:$DATA" or ":NAME", on mem_ctx. Returns 0; ENOENT:
 * it is the file's own data, "::$DATA" or ":"; EINVAL: a name that no stream
 * can have (another type; a slash, backslash or colon within); ENAMETOOLONG:
 * it has more than 255 UTF-16 units; ENOMEM.
 */
int ntvfs_stream_name_parse(TALLOC_CTX *mem_ctx,
			    const char *stream,
			    char **name);

/* ":NAME:$DATA" of a bare name; NULL: no memory. */
char *ntvfs_stream_name_full(TALLOC_CTX *mem_ctx, const char *name);

#endif /* NTVFS_STREAM_NAME_H */
