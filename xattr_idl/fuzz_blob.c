/*
 * libFuzzer's way into the decoders; see the script fuzz.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The first byte of an input chooses the type, the others are the blob.
 */

#include "includes.h"
#include "xattr_idl/ntvfs_xattr_blob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What we store of a decoded record decodes to the same. */
static void dosattrib_again(TALLOC_CTX *mem_ctx,
			    const struct ntvfs_dosattrib *first)
{
	const uint32_t kept = 0x3F;
	uint8_t buffer[NTVFS_DOSATTRIB_ENCODED_MAX];
	struct ntvfs_dosattrib second;
	size_t length = 0;
	DATA_BLOB blob;
	NTSTATUS status;

	status = ntvfs_dosattrib_encode(first, buffer, &length);
	if (!NT_STATUS_IS_OK(status)) {
		abort();
	}
	blob = data_blob_const(buffer, length);
	status = ntvfs_dosattrib_decode(mem_ctx, &blob, &second, NULL);
	if (!NT_STATUS_IS_OK(status)) {
		abort();
	}
	if (second.attributes != first->attributes ||
	    (second.valid & kept) != (first->valid & kept))
	{
		abort();
	}
}

static void ntacl_again(TALLOC_CTX *mem_ctx, const struct ntvfs_ntacl *first)
{
	struct ntvfs_ntacl *second = NULL;
	DATA_BLOB blob;
	NTSTATUS status;

	status = ntvfs_ntacl_encode(mem_ctx, first->sd, &blob);
	if (!NT_STATUS_IS_OK(status)) {
		/* What can be read is not always well formed. */
		return;
	}
	if (blob.length > NTVFS_XATTR_SIZE_MAX) {
		return;
	}
	status = ntvfs_ntacl_decode(mem_ctx, &blob, &second, NULL);
	if (!NT_STATUS_IS_OK(status)) {
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ntvfs_dosattrib dosattrib;
	struct ntvfs_ntacl *ntacl = NULL;
	struct ntvfs_dosstreams *streams = NULL;
	struct ntvfs_doseas *eas = NULL;
	const char *reason = NULL;
	TALLOC_CTX *frame = NULL;
	char *sddl = NULL;
	DATA_BLOB blob;
	NTSTATUS status;

	if (size < 1) {
		return 0;
	}
	frame = talloc_new(NULL);
	blob = data_blob_const(data + 1, size - 1);
	switch (data[0] % 5) {
	case 0:
		status = ntvfs_dosattrib_decode(frame,
						&blob,
						&dosattrib,
						&reason);
		if (NT_STATUS_IS_OK(status)) {
			ntvfs_dosattrib_to_text(frame, &dosattrib);
			dosattrib_again(frame, &dosattrib);
		}
		break;
	case 1:
		status = ntvfs_dosattrib_samba4_decode(frame,
						       &blob,
						       &dosattrib,
						       &reason);
		if (NT_STATUS_IS_OK(status)) {
			ntvfs_dosattrib_to_text(frame, &dosattrib);
			dosattrib_again(frame, &dosattrib);
		}
		break;
	case 2:
		status = ntvfs_ntacl_decode(frame, &blob, &ntacl, &reason);
		if (NT_STATUS_IS_OK(status)) {
			ntvfs_ntacl_to_text(frame, ntacl);
			ntvfs_sd_to_sddl(frame, ntacl->sd, &sddl);
			ntacl_again(frame, ntacl);
		}
		break;
	case 3:
		status = ntvfs_dosstreams_decode(frame,
						 &blob,
						 &streams,
						 &reason);
		if (NT_STATUS_IS_OK(status)) {
			ntvfs_dosstreams_to_text(frame, streams);
		}
		break;
	default:
		status = ntvfs_doseas_decode(frame, &blob, &eas, &reason);
		if (NT_STATUS_IS_OK(status)) {
			ntvfs_doseas_to_text(frame, eas);
		}
		break;
	}
	if (NT_STATUS_IS_OK(status) != (reason == NULL)) {
		abort();
	}
	talloc_free(frame);
	return 0;
}
