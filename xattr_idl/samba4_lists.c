/*
 * The lists that Samba 4's own file server kept: streams and EAs.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "xattr_idl/blob_pull.h"
#include "xattr_idl/ndr_ntvfs_xattr.h"

/* The shortest entries: an empty name, for an EA with an empty value too. */
#define STREAM_SIZE_MIN (4 + 8 + 8 + 1)
#define EA_SIZE_MIN	(1 + 4)

/*
 * Both lists are a count, a pointer, and behind it the count once more and the
 * entries. libndr would make room for as many as the second count says before
 * it compares them, so they are judged first.
 */
static NTSTATUS check_list(TALLOC_CTX *mem_ctx,
			   struct ndr_pull *ndr,
			   uint32_t count,
			   uint32_t referent,
			   size_t entry_size_min,
			   const char **reason)
{
	enum ndr_err_code ndr_err;
	uint32_t array_size = 0;

	if (referent == 0) {
		if (count == 0) {
			return NT_STATUS_OK;
		}
		return ntvfs_blob_reject(mem_ctx,
					 reason,
					 NT_STATUS_INVALID_PARAMETER,
					 "list of %u entries: they are absent",
					 (unsigned)count);
	}
	ndr_err = ndr_pull_uint32(ndr, NDR_SCALARS, &array_size);
	if (!NDR_ERR_CODE_IS_SUCCESS(ndr_err)) {
		return ntvfs_blob_pull_failed(
			mem_ctx, reason, "size of the list", ndr, ndr_err);
	}
	if (array_size != count) {
		return ntvfs_blob_reject(mem_ctx,
					 reason,
					 NT_STATUS_INVALID_PARAMETER,
					 "list of %u entries: its repetition "
					 "says %u",
					 (unsigned)count,
					 (unsigned)array_size);
	}
	if (count > (ndr->data_size - ndr->offset) / entry_size_min) {
		return ntvfs_blob_reject(
			mem_ctx,
			reason,
			NT_STATUS_BUFFER_TOO_SMALL,
			"list of %u entries: the %u bytes behind "
			"byte %u cannot hold them",
			(unsigned)count,
			(unsigned)(ndr->data_size - ndr->offset),
			(unsigned)ndr->offset);
	}
	return NT_STATUS_OK;
}

/* Read the whole record with fn, under mem_ctx, to the blob's last byte. */
static NTSTATUS pull_list(TALLOC_CTX *reason_ctx,
			  TALLOC_CTX *mem_ctx,
			  const DATA_BLOB *blob,
			  ndr_pull_flags_fn_t fn,
			  void *record,
			  const char **reason)
{
	struct ndr_pull *ndr = NULL;
	enum ndr_err_code ndr_err;
	NTSTATUS status;

	ndr = ndr_pull_init_blob(blob, mem_ctx);
	if (ndr == NULL) {
		return ntvfs_blob_reject(reason_ctx,
					 reason,
					 NT_STATUS_NO_MEMORY,
					 "out of memory");
	}
	ndr->flags |= LIBNDR_FLAG_INCOMPLETE_BUFFER;
	ndr_err = fn(ndr, NDR_SCALARS | NDR_BUFFERS, record);
	if (!NDR_ERR_CODE_IS_SUCCESS(ndr_err)) {
		status = ntvfs_blob_pull_failed(
			reason_ctx, reason, "list", ndr, ndr_err);
	} else {
		status = ntvfs_blob_pull_finished(
			reason_ctx, reason, "list", ndr);
	}
	TALLOC_FREE(ndr);
	return status;
}

NTSTATUS ntvfs_dosstreams_decode(TALLOC_CTX *mem_ctx,
				 const DATA_BLOB *blob,
				 struct ntvfs_dosstreams **out,
				 const char **reason)
{
	struct ntvfs_dosstreams_head head = {0};
	struct ntvfs_dosstreams_record record = {0};
	struct ntvfs_dosstreams *streams = NULL;
	struct ndr_pull ndr;
	enum ndr_err_code ndr_err;
	NTSTATUS status;
	uint32_t i;

	*out = NULL;
	status = ntvfs_blob_check_size(mem_ctx, reason, blob);
	if (!NT_STATUS_IS_OK(status)) {
		return status;
	}
	ntvfs_blob_pull_start(&ndr, mem_ctx, blob);
	ndr_err = ndr_pull_ntvfs_dosstreams_head(&ndr, NDR_SCALARS, &head);
	if (!NDR_ERR_CODE_IS_SUCCESS(ndr_err)) {
		return ntvfs_blob_pull_failed(
			mem_ctx, reason, "head of the list", &ndr, ndr_err);
	}
	status = check_list(mem_ctx,
			    &ndr,
			    head.count,
			    head.referent,
			    STREAM_SIZE_MIN,
			    reason);
	if (!NT_STATUS_IS_OK(status)) {
		return status;
	}

	streams = talloc_zero(mem_ctx, struct ntvfs_dosstreams);
	if (streams == NULL) {
		goto no_memory;
	}
	status =
		pull_list(mem_ctx,
			  streams,
			  blob,
			  (ndr_pull_flags_fn_t)ndr_pull_ntvfs_dosstreams_record,
			  &record,
			  reason);
	if (!NT_STATUS_IS_OK(status)) {
		goto fail;
	}
	/* libndr takes the end of the blob for the end of a text. */
	if (record.count > 0 && blob->data[blob->length - 1] != '\0') {
		status = ntvfs_blob_reject(
			mem_ctx,
			reason,
			NT_STATUS_BUFFER_TOO_SMALL,
			"list: ends at byte %zu, in the name of "
			"the last stream",
			blob->length);
		goto fail;
	}
	streams->count = record.count;
	if (record.count > 0) {
		streams->streams = talloc_zero_array(
			streams, struct ntvfs_dosstream, record.count);
		if (streams->streams == NULL) {
			goto no_memory;
		}
	}
	for (i = 0; i < record.count; i++) {
		const struct ntvfs_dosstreams_entry *from = &record.entries[i];
		struct ntvfs_dosstream *to = &streams->streams[i];

		to->name = talloc_steal(streams->streams, from->name);
		to->size = from->size;
		to->allocation_size = from->allocation_size;
		to->flags = from->flags;
	}
	TALLOC_FREE(record.entries);
	*out = streams;
	return NT_STATUS_OK;

no_memory:
	status = ntvfs_blob_reject(
		mem_ctx, reason, NT_STATUS_NO_MEMORY, "out of memory");
fail:
	TALLOC_FREE(streams);
	return status;
}

NTSTATUS ntvfs_doseas_decode(TALLOC_CTX *mem_ctx,
			     const DATA_BLOB *blob,
			     struct ntvfs_doseas **out,
			     const char **reason)
{
	struct ntvfs_doseas_head head = {0};
	struct ntvfs_doseas_record record = {0};
	struct ntvfs_doseas *eas = NULL;
	struct ndr_pull ndr;
	enum ndr_err_code ndr_err;
	NTSTATUS status;
	uint32_t i;

	*out = NULL;
	status = ntvfs_blob_check_size(mem_ctx, reason, blob);
	if (!NT_STATUS_IS_OK(status)) {
		return status;
	}
	ntvfs_blob_pull_start(&ndr, mem_ctx, blob);
	ndr_err = ndr_pull_ntvfs_doseas_head(&ndr, NDR_SCALARS, &head);
	if (!NDR_ERR_CODE_IS_SUCCESS(ndr_err)) {
		return ntvfs_blob_pull_failed(
			mem_ctx, reason, "head of the list", &ndr, ndr_err);
	}
	status = check_list(
		mem_ctx, &ndr, head.count, head.referent, EA_SIZE_MIN, reason);
	if (!NT_STATUS_IS_OK(status)) {
		return status;
	}

	eas = talloc_zero(mem_ctx, struct ntvfs_doseas);
	if (eas == NULL) {
		goto no_memory;
	}
	status = pull_list(mem_ctx,
			   eas,
			   blob,
			   (ndr_pull_flags_fn_t)ndr_pull_ntvfs_doseas_record,
			   &record,
			   reason);
	if (!NT_STATUS_IS_OK(status)) {
		goto fail;
	}
	eas->count = record.count;
	if (record.count > 0) {
		eas->eas = talloc_zero_array(
			eas, struct ntvfs_dosea, record.count);
		if (eas->eas == NULL) {
			goto no_memory;
		}
	}
	for (i = 0; i < record.count; i++) {
		const struct ntvfs_doseas_entry *from = &record.entries[i];
		struct ntvfs_dosea *to = &eas->eas[i];

		to->name = talloc_steal(eas->eas, from->name);
		to->value.data = talloc_steal(eas->eas, from->value);
		to->value.length = from->size;
	}
	TALLOC_FREE(record.entries);
	*out = eas;
	return NT_STATUS_OK;

no_memory:
	status = ntvfs_blob_reject(
		mem_ctx, reason, NT_STATUS_NO_MEMORY, "out of memory");
fail:
	TALLOC_FREE(eas);
	return status;
}
