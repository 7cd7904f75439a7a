/*
 * The record of security.NTACL.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "xattr_idl/blob_pull.h"
#include "xattr_idl/ndr_ntvfs_xattr.h"

_Static_assert(NTVFS_NTACL_HASH_BYTES == NTVFS_NTACL_HASH_SIZE,
	       "the header and the IDL agree on the size of a hash");

static const char *const version_names[] = {
	NULL,
	"version 1",
	"version 2",
	"version 3",
	"version 4",
};

/* Read the two tags alone: libndr would only log that it knows no such arm. */
static NTSTATUS check_head(TALLOC_CTX *mem_ctx,
			   const DATA_BLOB *blob,
			   uint16_t *version,
			   const char **reason)
{
	struct ntvfs_ntacl_head head = {0};
	struct ndr_pull ndr;
	enum ndr_err_code ndr_err;

	ntvfs_blob_pull_start(&ndr, mem_ctx, blob);
	ndr_err = ndr_pull_ntvfs_ntacl_head(&ndr, NDR_SCALARS, &head);
	if (!NDR_ERR_CODE_IS_SUCCESS(ndr_err)) {
		return ntvfs_blob_pull_failed(
			mem_ctx, reason, "version number", &ndr, ndr_err);
	}
	if (head.version == 0 || head.version >= ARRAY_SIZE(version_names)) {
		return ntvfs_blob_reject(mem_ctx,
					 reason,
					 NT_STATUS_REVISION_MISMATCH,
					 "version %u is unknown",
					 (unsigned)head.version);
	}
	if (head.discriminant != head.version) {
		return ntvfs_blob_reject(mem_ctx,
					 reason,
					 NT_STATUS_INVALID_PARAMETER,
					 "version %u: its repetition says %u",
					 (unsigned)head.version,
					 (unsigned)head.discriminant);
	}
	*version = head.version;
	return NT_STATUS_OK;
}

/* Move what the record holds into out; its arm may be absent. */
static void take_record(struct ntvfs_ntacl *out,
			const struct ntvfs_ntacl_record *record)
{
	const struct ntvfs_ntacl_body2 *body2 = NULL;
	const struct ntvfs_ntacl_body3 *body3 = NULL;
	const struct ntvfs_ntacl_body4 *body4 = NULL;

	out->version = record->version;
	switch (record->version) {
	case 1:
		out->sd = record->info.sd;
		break;
	case 2:
		body2 = record->info.body2;
		if (body2 == NULL) {
			break;
		}
		out->sd = body2->sd;
		memcpy(out->hash, body2->hash, sizeof(body2->hash));
		break;
	case 3:
		body3 = record->info.body3;
		if (body3 == NULL) {
			break;
		}
		out->sd = body3->sd;
		out->hash_type = body3->hash_type;
		memcpy(out->hash, body3->hash, sizeof(out->hash));
		break;
	case 4:
		body4 = record->info.body4;
		if (body4 == NULL) {
			break;
		}
		out->sd = body4->sd;
		out->hash_type = body4->hash_type;
		memcpy(out->hash, body4->hash, sizeof(out->hash));
		out->description = talloc_steal(out, body4->description);
		out->time = body4->time;
		memcpy(out->sys_acl_hash,
		       body4->sys_acl_hash,
		       sizeof(out->sys_acl_hash));
		break;
	}
	out->sd = talloc_steal(out, out->sd);
}

NTSTATUS ntvfs_ntacl_decode(TALLOC_CTX *mem_ctx,
			    const DATA_BLOB *blob,
			    struct ntvfs_ntacl **out,
			    const char **reason)
{
	struct ntvfs_ntacl_record *record = NULL;
	struct ntvfs_ntacl *ntacl = NULL;
	struct ndr_pull *ndr = NULL;
	enum ndr_err_code ndr_err;
	uint16_t version = 0;
	NTSTATUS status;

	*out = NULL;
	status = ntvfs_blob_check_size(mem_ctx, reason, blob);
	if (!NT_STATUS_IS_OK(status)) {
		return status;
	}
	status = check_head(mem_ctx, blob, &version, reason);
	if (!NT_STATUS_IS_OK(status)) {
		return status;
	}

	ntacl = talloc_zero(mem_ctx, struct ntvfs_ntacl);
	if (ntacl == NULL) {
		goto no_memory;
	}
	record = talloc_zero(ntacl, struct ntvfs_ntacl_record);
	if (record == NULL) {
		goto no_memory;
	}
	ndr = ndr_pull_init_blob(blob, record);
	if (ndr == NULL) {
		goto no_memory;
	}
	ndr->flags |= LIBNDR_FLAG_INCOMPLETE_BUFFER;
	ndr_err = ndr_pull_ntvfs_ntacl_record(
		ndr, NDR_SCALARS | NDR_BUFFERS, record);
	if (!NDR_ERR_CODE_IS_SUCCESS(ndr_err)) {
		status = ntvfs_blob_pull_failed(
			mem_ctx, reason, version_names[version], ndr, ndr_err);
		goto fail;
	}
	status = ntvfs_blob_pull_finished(
		mem_ctx, reason, version_names[version], ndr);
	if (!NT_STATUS_IS_OK(status)) {
		goto fail;
	}
	take_record(ntacl, record);
	if (ntacl->sd == NULL) {
		status = ntvfs_blob_reject(mem_ctx,
					   reason,
					   NT_STATUS_INVALID_PARAMETER,
					   "%s: holds no security descriptor",
					   version_names[version]);
		goto fail;
	}
	TALLOC_FREE(record);
	*out = ntacl;
	return NT_STATUS_OK;

no_memory:
	status = ntvfs_blob_reject(
		mem_ctx, reason, NT_STATUS_NO_MEMORY, "out of memory");
fail:
	TALLOC_FREE(ntacl);
	return status;
}

NTSTATUS ntvfs_ntacl_encode(TALLOC_CTX *mem_ctx,
			    const struct security_descriptor *sd,
			    DATA_BLOB *blob)
{
	struct security_descriptor stored = *sd;
	struct ntvfs_ntacl_body3 body = {
		.sd = &stored,
		.hash_type = NTVFS_NTACL_HASH_SHA256,
	};
	struct ntvfs_ntacl_record record = {
		.version = 3,
		.info.body3 = &body,
	};
	enum ndr_err_code ndr_err;

	*blob = (DATA_BLOB){0};
	stored.type |= SEC_DESC_SELF_RELATIVE;
	ndr_err = ndr_push_struct_blob(
		blob,
		mem_ctx,
		&record,
		(ndr_push_flags_fn_t)ndr_push_ntvfs_ntacl_record);
	if (ndr_err == NDR_ERR_ALLOC) {
		return NT_STATUS_NO_MEMORY;
	}
	if (!NDR_ERR_CODE_IS_SUCCESS(ndr_err)) {
		return NT_STATUS_INVALID_PARAMETER;
	}
	return NT_STATUS_OK;
}
