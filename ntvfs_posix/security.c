/*
 * Security descriptors: security.NTACL.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include "ntvfs_posix/private.h"
#include "librpc/gen_ndr/security.h"
#include "libcli/security/security_descriptor.h"

static int sd_load(struct ntvfs_posix *posix,
		   const struct ntvfs_object *object,
		   struct security_descriptor **sd)
{
	TALLOC_CTX *frame = NULL;
	struct ntvfs_ntacl *ntacl = NULL;
	const char *reason = NULL;
	DATA_BLOB blob = {.data = NULL};
	NTSTATUS status;
	int error;

	*sd = NULL;
	frame = talloc_new(posix);
	if (frame == NULL) {
		return ENOMEM;
	}
	error = ntvfs_xattr_load(posix,
				 object,
				 NTVFS_XATTR_NTACL,
				 frame,
				 &blob);
	if (error != 0) {
		goto done;
	}
	status = ntvfs_ntacl_decode(frame, &blob, &ntacl, &reason);
	if (NT_STATUS_EQUAL(status, NT_STATUS_NO_MEMORY)) {
		error = ENOMEM;
		goto done;
	}
	if (!NT_STATUS_IS_OK(status)) {
		ntvfs_posix_complain(posix,
				     object,
				     NTVFS_XATTR_NTACL,
				     status,
				     reason);
		error = EINVAL;
		goto done;
	}
	*sd = security_descriptor_copy(posix, ntacl->sd);
	if (*sd == NULL) {
		error = ENOMEM;
	}
done:
	TALLOC_FREE(frame);
	return error;
}

int ntvfs_posix_get_security_descriptor(struct ntvfs_backend *backend,
					const struct ntvfs_object *object,
					TALLOC_CTX *mem_ctx,
					struct security_descriptor **sd)
{
	struct ntvfs_posix *posix = ntvfs_posix_of(backend);
	struct ntvfs_metadata *entry = NULL;
	int error;

	*sd = NULL;
	entry = ntvfs_metadata_get(posix->cache, object);
	if (!(entry->known & NTVFS_METADATA_HAS_SD)) {
		struct security_descriptor *loaded = NULL;

		error = sd_load(posix, object, &loaded);
		if (error != 0 && error != ENODATA && error != EINVAL) {
			return error;
		}
		entry->sd = loaded;
		entry->sd_error = error;
		entry->known |= NTVFS_METADATA_HAS_SD;
	}
	if (entry->sd == NULL) {
		return entry->sd_error;
	}
	/* the caller may change what it gets */
	*sd = security_descriptor_copy(mem_ctx, entry->sd);
	if (*sd == NULL) {
		return ENOMEM;
	}
	return 0;
}

int ntvfs_posix_set_security_descriptor(struct ntvfs_backend *backend,
					const struct ntvfs_object *object,
					const struct security_descriptor *sd)
{
	struct ntvfs_posix *posix = ntvfs_posix_of(backend);
	DATA_BLOB blob = {.data = NULL};
	NTSTATUS status;
	int error;

	status = ntvfs_ntacl_encode(posix, sd, &blob);
	if (NT_STATUS_EQUAL(status, NT_STATUS_NO_MEMORY)) {
		return ENOMEM;
	}
	if (!NT_STATUS_IS_OK(status)) {
		return EINVAL;
	}
	error = ntvfs_xattr_set_making_room(posix,
					    object,
					    NTVFS_XATTR_NTACL,
					    blob.data,
					    blob.length,
					    false);
	if (error == EPERM || error == EACCES) {
		error = ntvfs_xattr_set_making_room(posix,
						    object,
						    NTVFS_XATTR_NTACL,
						    blob.data,
						    blob.length,
						    true);
	}
	TALLOC_FREE(blob.data);
	return error;
}
