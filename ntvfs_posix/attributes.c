/*
 * DOS attributes, create time and change time: user.DOSATTRIB.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include "ntvfs_posix/private.h"

/*
 * The change time that a client has set is the object's change time until
 * the next change. The inode's own change time cannot tell whether there was
 * one, since storing the record moves it; the time of the last write can,
 * because that is not moved by it. So the record remembers the last write of
 * when it was made, in the member of version 3 that no server has ever used
 * for anything: the allocation size. Changes other than writes come through
 * the backend, which forgets the change time then (invariant A1: a stored
 * change time is returned only while the last write is the remembered one
 * and nothing has been changed through the backend).
 */

static uint64_t write_mark(const struct ntvfs_object *object)
{
	return full_timespec_to_nt_time(&object->write_stamp);
}

static int attributes_decode(struct ntvfs_posix *posix,
			     const struct ntvfs_object *object,
			     const char *xattr_name,
			     NTSTATUS (*decode)(TALLOC_CTX *mem_ctx,
						const DATA_BLOB *blob,
						struct ntvfs_dosattrib *out,
						const char **reason),
			     struct ntvfs_dosattrib *record)
{
	TALLOC_CTX *frame = NULL;
	uint8_t buffer[256];
	DATA_BLOB blob = {.data = buffer};
	const char *reason = NULL;
	NTSTATUS status;
	int error;

	*record = (struct ntvfs_dosattrib){.valid = 0};
	frame = talloc_new(posix);
	if (frame == NULL) {
		return ENOMEM;
	}
	error = ntvfs_xattr_get(posix,
				object,
				xattr_name,
				buffer,
				sizeof(buffer),
				&blob.length);
	if (error == ERANGE) {
		/* version 2 has the file's name in it */
		error = ntvfs_xattr_load(posix,
					 object,
					 xattr_name,
					 frame,
					 &blob);
	}
	if (error != 0) {
		goto done;
	}
	status = decode(frame, &blob, record, &reason);
	if (NT_STATUS_EQUAL(status, NT_STATUS_NO_MEMORY)) {
		error = ENOMEM;
	} else if (!NT_STATUS_IS_OK(status)) {
		ntvfs_posix_complain(posix,
				     object,
				     xattr_name,
				     status,
				     reason);
		error = EINVAL;
	}
done:
	TALLOC_FREE(frame);
	return error;
}

static int attributes_load(struct ntvfs_posix *posix,
			   const struct ntvfs_object *object,
			   struct ntvfs_dosattrib *record)
{
	struct ntvfs_metadata *entry = NULL;
	int error;

	entry = ntvfs_metadata_get(posix->cache, object);
	if (entry->known & NTVFS_METADATA_HAS_ATTRIBUTES) {
		*record = entry->attributes;
		return 0;
	}

	error = attributes_decode(posix,
				  object,
				  NTVFS_XATTR_DOSATTRIB,
				  ntvfs_dosattrib_decode,
				  record);
	if (error == ENODATA) {
		error = attributes_decode(posix,
					  object,
					  NTVFS_XATTR_DOSATTRIB_SAMBA4,
					  ntvfs_dosattrib_samba4_decode,
					  record);
	}
	if (error == ENODATA || error == EINVAL) {
		/* nothing stored, or nothing that can be used */
		*record = (struct ntvfs_dosattrib){.valid = 0};
		error = 0;
	}
	if (error != 0) {
		return error;
	}
	entry->attributes = *record;
	entry->known |= NTVFS_METADATA_HAS_ATTRIBUTES;
	return 0;
}

int ntvfs_posix_get_attributes(struct ntvfs_backend *backend,
			       const struct ntvfs_object *object,
			       struct ntvfs_attributes *attributes)
{
	struct ntvfs_posix *posix = ntvfs_posix_of(backend);
	struct ntvfs_dosattrib record = {.valid = 0};
	int error;

	*attributes = (struct ntvfs_attributes){.valid = 0};
	error = attributes_load(posix, object, &record);
	if (error != 0) {
		return error;
	}
	if (record.valid & NTVFS_DOSATTRIB_ATTRIBUTES) {
		attributes->valid |= NTVFS_VALID_ATTRIBUTES;
		attributes->attributes = record.attributes;
	}
	if (record.valid & NTVFS_DOSATTRIB_CREATE_TIME) {
		attributes->valid |= NTVFS_VALID_CREATE_TIME;
		attributes->create_time = record.create_time;
	}
	/* A1; a record of another server has no mark and no say here */
	if ((record.valid & NTVFS_DOSATTRIB_CHANGE_TIME) &&
	    (record.valid & NTVFS_DOSATTRIB_ALLOCATION_SIZE) &&
	    record.allocation_size == write_mark(object))
	{
		attributes->valid |= NTVFS_VALID_CHANGE_TIME;
		attributes->change_time = record.change_time;
	}
	return 0;
}

static int attributes_store(struct ntvfs_posix *posix,
			    const struct ntvfs_object *object,
			    const struct ntvfs_dosattrib *record)
{
	uint8_t buffer[NTVFS_DOSATTRIB_ENCODED_MAX];
	size_t length = 0;
	NTSTATUS status;

	status = ntvfs_dosattrib_encode(record, buffer, &length);
	if (!NT_STATUS_IS_OK(status)) {
		return EINVAL;
	}
	return ntvfs_xattr_set_making_room(posix,
					   object,
					   NTVFS_XATTR_DOSATTRIB,
					   buffer,
					   length,
					   false);
}

int ntvfs_posix_set_attributes(struct ntvfs_backend *backend,
			       const struct ntvfs_object *object,
			       const struct ntvfs_attributes *attributes)
{
	struct ntvfs_posix *posix = ntvfs_posix_of(backend);
	struct ntvfs_dosattrib old = {.valid = 0};
	struct ntvfs_dosattrib record = {.valid = 0};
	int error;

	error = attributes_load(posix, object, &old);
	if (error != 0) {
		return error;
	}

	record.valid = old.valid & (NTVFS_DOSATTRIB_ATTRIBUTES |
				    NTVFS_DOSATTRIB_CREATE_TIME);
	record.attributes = old.attributes;
	record.create_time = old.create_time;
	if (attributes->valid & NTVFS_VALID_ATTRIBUTES) {
		record.valid |= NTVFS_DOSATTRIB_ATTRIBUTES;
		record.attributes = attributes->attributes;
	}
	if (attributes->valid & NTVFS_VALID_CREATE_TIME) {
		record.valid |= NTVFS_DOSATTRIB_CREATE_TIME;
		record.create_time = attributes->create_time;
	}
	if (attributes->valid & NTVFS_VALID_CHANGE_TIME) {
		record.valid |= NTVFS_DOSATTRIB_CHANGE_TIME |
				NTVFS_DOSATTRIB_ALLOCATION_SIZE;
		record.change_time = attributes->change_time;
		record.allocation_size = write_mark(object);
	}
	if (!(record.valid & NTVFS_DOSATTRIB_ATTRIBUTES)) {
		/*
		 * Every reader believes the attributes of a record, so one
		 * without any has to say what the object is without it.
		 */
		record.valid |= NTVFS_DOSATTRIB_ATTRIBUTES;
		record.attributes = object->is_directory ? 0x10 : 0x20;
	}
	return attributes_store(posix, object, &record);
}

void ntvfs_posix_note_change(struct ntvfs_backend *backend,
			     const struct ntvfs_object *object)
{
	struct ntvfs_posix *posix = ntvfs_posix_of(backend);
	struct ntvfs_dosattrib record = {.valid = 0};
	int error;

	error = attributes_load(posix, object, &record);
	if (error != 0 || !(record.valid & NTVFS_DOSATTRIB_CHANGE_TIME)) {
		/* there is nothing to forget, for almost every object */
		return;
	}
	record.valid &= ~(NTVFS_DOSATTRIB_CHANGE_TIME |
			  NTVFS_DOSATTRIB_ALLOCATION_SIZE);
	error = attributes_store(posix, object, &record);
	if (error != 0) {
		ntvfs_posix_complain(posix,
				     object,
				     NTVFS_XATTR_DOSATTRIB,
				     NT_STATUS_UNSUCCESSFUL,
				     "cannot be written to forget the change "
				     "time that was set before this change");
	}
}
