/*
 * Private helpers of the decoders: reading NDR with a reason when it fails.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "xattr_idl/blob_pull.h"

NTSTATUS ntvfs_blob_reject(TALLOC_CTX *mem_ctx,
			   const char **reason,
			   NTSTATUS status,
			   const char *format,
			   ...)
{
	va_list ap;

	if (reason == NULL) {
		return status;
	}
	va_start(ap, format);
	*reason = talloc_vasprintf(mem_ctx, format, ap);
	va_end(ap);
	if (*reason == NULL) {
		*reason = "bad, and no memory to say why";
	}
	return status;
}

NTSTATUS ntvfs_blob_pull_failed(TALLOC_CTX *mem_ctx,
				const char **reason,
				const char *what,
				const struct ndr_pull *ndr,
				enum ndr_err_code ndr_err)
{
	switch (ndr_err) {
	case NDR_ERR_ALLOC:
		return ntvfs_blob_reject(mem_ctx,
					 reason,
					 NT_STATUS_NO_MEMORY,
					 "%s: out of memory",
					 what);
	case NDR_ERR_INCOMPLETE_BUFFER:
	case NDR_ERR_BUFSIZE:
		return ntvfs_blob_reject(
			mem_ctx,
			reason,
			NT_STATUS_BUFFER_TOO_SMALL,
			"%s: ends at byte %u, in a member that "
			"begins at byte %u",
			what,
			(unsigned)ndr->data_size,
			(unsigned)ndr->offset);
	case NDR_ERR_RANGE:
	case NDR_ERR_ARRAY_SIZE:
		return ntvfs_blob_reject(
			mem_ctx,
			reason,
			NT_STATUS_INVALID_PARAMETER,
			"%s: the count or size before byte %u is "
			"out of range",
			what,
			(unsigned)ndr->offset);
	case NDR_ERR_CHARCNV:
		return ntvfs_blob_reject(mem_ctx,
					 reason,
					 NT_STATUS_INVALID_PARAMETER,
					 "%s: the text at byte %u is not UTF-8",
					 what,
					 (unsigned)ndr->offset);
	default:
		return ntvfs_blob_reject(mem_ctx,
					 reason,
					 NT_STATUS_INVALID_PARAMETER,
					 "%s: near byte %u: %s",
					 what,
					 (unsigned)ndr->offset,
					 ndr_map_error2string(ndr_err));
	}
}

NTSTATUS ntvfs_blob_pull_finished(TALLOC_CTX *mem_ctx,
				  const char **reason,
				  const char *what,
				  const struct ndr_pull *ndr)
{
	uint32_t end = MAX(ndr->offset, ndr->relative_highest_offset);

	if (end >= ndr->data_size) {
		return NT_STATUS_OK;
	}
	return ntvfs_blob_reject(mem_ctx,
				 reason,
				 NT_STATUS_PORT_MESSAGE_TOO_LONG,
				 "%s: ends at byte %u, %u more follow",
				 what,
				 (unsigned)end,
				 (unsigned)(ndr->data_size - end));
}

NTSTATUS ntvfs_blob_check_size(TALLOC_CTX *mem_ctx,
			       const char **reason,
			       const DATA_BLOB *blob)
{
	if (reason != NULL) {
		*reason = NULL;
	}
	if (blob->length == 0) {
		return ntvfs_blob_reject(
			mem_ctx, reason, NT_STATUS_BUFFER_TOO_SMALL, "empty");
	}
	if (blob->length > NTVFS_XATTR_SIZE_MAX) {
		return ntvfs_blob_reject(
			mem_ctx,
			reason,
			NT_STATUS_PORT_MESSAGE_TOO_LONG,
			"%zu bytes, more than an xattr can hold",
			blob->length);
	}
	return NT_STATUS_OK;
}

void ntvfs_blob_pull_start(struct ndr_pull *ndr,
			   TALLOC_CTX *mem_ctx,
			   const DATA_BLOB *blob)
{
	/*
	 * The flag keeps libndr from writing to the log about every blob that
	 * is cut off: what is bad is reported once per file, by our caller.
	 */
	*ndr = (struct ndr_pull){
		.flags = LIBNDR_FLAG_INCOMPLETE_BUFFER,
		.data = blob->data,
		.data_size = blob->length,
		.current_mem_ctx = mem_ctx,
	};
}
