/*
 * Private helpers of the decoders: reading NDR with a reason when it fails.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef XATTR_IDL_BLOB_PULL_H
#define XATTR_IDL_BLOB_PULL_H

#include "includes.h"
#include "librpc/ndr/libndr.h"
#include "xattr_idl/ntvfs_xattr_blob.h"

/*
 * Store a talloc'ed sentence, or a static one when there is no memory.
 * Returns status, so that a decoder can end with it.
 */
NTSTATUS ntvfs_blob_reject(TALLOC_CTX *mem_ctx,
			   const char **reason,
			   NTSTATUS status,
			   const char *format,
			   ...) PRINTF_ATTRIBUTE(4, 5);

/*
 * The status and the sentence for an error of a generated pull function.
 * what names the record, "version 3".
 */
NTSTATUS ntvfs_blob_pull_failed(TALLOC_CTX *mem_ctx,
				const char **reason,
				const char *what,
				const struct ndr_pull *ndr,
				enum ndr_err_code ndr_err);

/* NT_STATUS_OK when the whole blob has been read. */
NTSTATUS ntvfs_blob_pull_finished(TALLOC_CTX *mem_ctx,
				  const char **reason,
				  const char *what,
				  const struct ndr_pull *ndr);

/* Refuse what cannot be the value of an xattr, or is empty. */
NTSTATUS ntvfs_blob_check_size(TALLOC_CTX *mem_ctx,
			       const char **reason,
			       const DATA_BLOB *blob);

/*
 * Start to read blob. The struct may be on the stack as long as only pull
 * functions without unions, pointers and arrays are given to it.
 */
void ntvfs_blob_pull_start(struct ndr_pull *ndr,
			   TALLOC_CTX *mem_ctx,
			   const DATA_BLOB *blob);

#endif
