/*
 * Extended attributes, wherever the share keeps them.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <string.h>
#include "ntvfs_posix/private.h"
#include "ntvfs_posix/xattr_tdb.h"

/* Most files' values and lists of names are shorter. */
#define FIRST_TRY 1024

static struct ntvfs_xattr_tdb_key tdb_key(struct ntvfs_posix *posix,
					  const struct ntvfs_object *object)
{
	const struct ntvfs_posix_io *io = posix->io;

	return (struct ntvfs_xattr_tdb_key){
		.volume = object->volume,
		.file_id = object->file_id,
		.birth = io->get_birth(io->context, object->handle),
	};
}

static int xattr_get_as_user(struct ntvfs_posix *posix,
			     const struct ntvfs_object *object,
			     const char *name,
			     void *value,
			     size_t size,
			     size_t *length)
{
	const struct ntvfs_posix_io *io = posix->io;
	ssize_t got;

	got = io->fgetxattr(io->context, object->handle, name, value, size);
	if (got == -1) {
		return errno;
	}
	*length = (size_t)got;
	return 0;
}

int ntvfs_xattr_get(struct ntvfs_posix *posix,
		    const struct ntvfs_object *object,
		    const char *name,
		    void *value,
		    size_t size,
		    size_t *length)
{
	const struct ntvfs_posix_io *io = posix->io;
	int error;

	*length = 0;
	if (posix->xattr_tdb != NULL) {
		struct ntvfs_xattr_tdb_key key = tdb_key(posix, object);

		return ntvfs_xattr_tdb_get(posix->xattr_tdb,
					   &key,
					   name,
					   value,
					   size,
					   length);
	}

	error = xattr_get_as_user(posix, object, name, value, size, length);
	if (error == EACCES || error == EPERM) {
		/*
		 * Who may not read a file's data may well read its
		 * attributes; that has been decided by its descriptor.
		 */
		io->become_root(io->context);
		error = xattr_get_as_user(posix,
					  object,
					  name,
					  value,
					  size,
					  length);
		io->unbecome_root(io->context);
	}
	if (error == ENOTSUP) {
		/* nothing can have been stored */
		error = ENODATA;
	}
	if (error == EINVAL) {
		/* here that is the word for a value that cannot be read */
		error = EIO;
	}
	return error;
}

int ntvfs_xattr_set(struct ntvfs_posix *posix,
		    const struct ntvfs_object *object,
		    const char *name,
		    const void *value,
		    size_t length,
		    bool as_root)
{
	const struct ntvfs_posix_io *io = posix->io;
	int error = 0;

	ntvfs_metadata_forget(posix->cache, object);
	if (posix->xattr_tdb != NULL) {
		struct ntvfs_xattr_tdb_key key = tdb_key(posix, object);

		return ntvfs_xattr_tdb_set(posix->xattr_tdb,
					   &key,
					   name,
					   value,
					   length);
	}

	if (as_root) {
		io->become_root(io->context);
	}
	/* in place if the value is of the same size: one system call */
	if (io->fsetxattr(io->context, object->handle, name, value, length,
			  0) != 0)
	{
		error = errno;
	}
	if (as_root) {
		io->unbecome_root(io->context);
	}
	return error;
}

int ntvfs_xattr_remove(struct ntvfs_posix *posix,
		       const struct ntvfs_object *object,
		       const char *name)
{
	const struct ntvfs_posix_io *io = posix->io;

	ntvfs_metadata_forget(posix->cache, object);
	if (posix->xattr_tdb != NULL) {
		struct ntvfs_xattr_tdb_key key = tdb_key(posix, object);

		return ntvfs_xattr_tdb_remove(posix->xattr_tdb, &key, name);
	}
	if (io->fremovexattr(io->context, object->handle, name) != 0) {
		return errno;
	}
	return 0;
}

void ntvfs_xattr_forget(struct ntvfs_posix *posix,
			const struct ntvfs_object *object)
{
	ntvfs_metadata_forget(posix->cache, object);
	if (posix->xattr_tdb != NULL) {
		struct ntvfs_xattr_tdb_key key = tdb_key(posix, object);

		(void)ntvfs_xattr_tdb_forget(posix->xattr_tdb, &key);
	}
}

int ntvfs_xattr_load(struct ntvfs_posix *posix,
		     const struct ntvfs_object *object,
		     const char *name,
		     TALLOC_CTX *mem_ctx,
		     DATA_BLOB *value)
{
	uint8_t *buffer = NULL;
	size_t size = FIRST_TRY;
	size_t length = 0;
	int error;

	do {
		TALLOC_FREE(buffer);
		buffer = talloc_array(mem_ctx, uint8_t, size);
		if (buffer == NULL) {
			return ENOMEM;
		}
		error = ntvfs_xattr_get(posix,
					object,
					name,
					buffer,
					size,
					&length);
		if (error != ERANGE) {
			break;
		}
		/* somebody may make it longer meanwhile, so take the most */
		size = (size < NTVFS_XATTR_VALUE_MAX) ? NTVFS_XATTR_VALUE_MAX
						      : size * 2;
	} while (size <= 32 * NTVFS_XATTR_VALUE_MAX);

	if (error != 0) {
		TALLOC_FREE(buffer);
		return error;
	}
	*value = data_blob_const(buffer, length);
	return 0;
}

static int xattr_list_fs(struct ntvfs_posix *posix,
			 const struct ntvfs_object *object,
			 TALLOC_CTX *mem_ctx,
			 char **names,
			 size_t *length)
{
	const struct ntvfs_posix_io *io = posix->io;
	char stack[FIRST_TRY];
	char *buffer = NULL;
	ssize_t got;

	got = io->flistxattr(io->context, object->handle, stack,
			     sizeof(stack));
	if (got == -1 && errno == ERANGE) {
		buffer = talloc_array(mem_ctx, char, NTVFS_XATTR_VALUE_MAX);
		if (buffer == NULL) {
			return ENOMEM;
		}
		got = io->flistxattr(io->context,
				     object->handle,
				     buffer,
				     NTVFS_XATTR_VALUE_MAX);
	}
	if (got == -1) {
		int error = errno;

		TALLOC_FREE(buffer);
		if (error != ENOTSUP) {
			return error;
		}
		got = 0;
	}
	if (buffer == NULL) {
		buffer = talloc_array(mem_ctx, char, (size_t)got + 1);
		if (buffer == NULL) {
			return ENOMEM;
		}
		memcpy(buffer, stack, (size_t)got);
	}
	*names = buffer;
	*length = (size_t)got;
	return 0;
}

int ntvfs_xattr_names(struct ntvfs_posix *posix,
		      const struct ntvfs_object *object,
		      const char **names,
		      size_t *length)
{
	struct ntvfs_metadata *entry = NULL;
	char *list = NULL;
	size_t list_length = 0;
	int error;

	entry = ntvfs_metadata_get(posix->cache, object);
	if (!(entry->known & NTVFS_METADATA_HAS_NAMES)) {
		if (posix->xattr_tdb != NULL) {
			struct ntvfs_xattr_tdb_key key = tdb_key(posix,
								 object);

			error = ntvfs_xattr_tdb_list(posix->xattr_tdb,
						     &key,
						     posix,
						     &list,
						     &list_length);
		} else {
			error = xattr_list_fs(posix,
					      object,
					      posix,
					      &list,
					      &list_length);
		}
		if (error != 0) {
			return error;
		}
		if (list_length > 0 && list[list_length - 1] != '\0') {
			TALLOC_FREE(list);
			return EIO;
		}
		entry->names = list;
		entry->names_length = list_length;
		entry->known |= NTVFS_METADATA_HAS_NAMES;
	}
	*names = entry->names;
	*length = entry->names_length;
	return 0;
}

bool ntvfs_xattr_names_have(const char *names,
			    size_t length,
			    const char *wanted)
{
	const char *name = NULL;

	for (name = names; name < names + length; name += strlen(name) + 1) {
		if (strcmp(name, wanted) == 0) {
			return true;
		}
	}
	return false;
}

void ntvfs_posix_complain(struct ntvfs_posix *posix,
			  const struct ntvfs_object *object,
			  const char *xattr_name,
			  NTSTATUS status,
			  const char *reason)
{
	struct ntvfs_complaint complaint = {
		.device = object->volume,
		.inode = object->file_id,
		.xattr_name = xattr_name,
		.status = status,
		.reason = reason,
	};

	ntvfs_complain(posix->complaints, &complaint);
}
