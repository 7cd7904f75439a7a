/*
 * Extended attributes, wherever the share keeps them.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <string.h>
#include "ntvfs_posix/overflow.h"
#include "ntvfs_posix/stream_files.h"

/* Most files' values and lists of names are shorter. */
#define FIRST_TRY 1024

struct ntvfs_xattr_tdb_key ntvfs_xattr_key(struct ntvfs_posix *posix,
					   const struct ntvfs_object *object)
{
	const struct ntvfs_posix_io *io = posix->io;

	return (struct ntvfs_xattr_tdb_key){
		/* a device's number may be another one tomorrow */
		.volume = ntvfs_is_home(posix, object) ? 0 : object->volume,
		.file_id = object->file_id,
		.birth = io->get_birth(io->context, object->handle),
	};
}

/* Is it the name of a pointer to a stream's file? */
static bool is_pointer(const char *name)
{
	return strncmp(name,
		       NTVFS_XATTR_STREAM_FILE_PREFIX,
		       strlen(NTVFS_XATTR_STREAM_FILE_PREFIX)) == 0;
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

/* A value in the object itself. */
static int inode_get(struct ntvfs_posix *posix,
		     const struct ntvfs_object *object,
		     const char *name,
		     void *value,
		     size_t size,
		     size_t *length)
{
	const struct ntvfs_posix_io *io = posix->io;
	int error;

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

int ntvfs_xattr_get(struct ntvfs_posix *posix,
		    const struct ntvfs_object *object,
		    const char *name,
		    void *value,
		    size_t size,
		    size_t *length)
{
	int error = ENODATA;

	*length = 0;
	if (posix->xattr_tdb != NULL) {
		struct ntvfs_xattr_tdb_key key = ntvfs_xattr_key(posix, object);

		return ntvfs_xattr_tdb_get(posix->xattr_tdb,
					   &key,
					   name,
					   value,
					   size,
					   length);
	}
	/* O1: what is in the object counts */
	if (strlen(name) <= NTVFS_XATTR_NAME_MAX) {
		error = inode_get(posix, object, name, value, size, length);
	}
	if (error == ENODATA && is_pointer(name)) {
		error = ntvfs_overflow_get(posix,
					   object,
					   name,
					   value,
					   size,
					   length);
	}
	return error;
}

/*
 * What an error of setting says. ENOSPC may mean the disk or the object, which
 * on ext4 has one block for all its xattrs; on others there is a largest size
 * of each. The file system knows which of them is full.
 */
static int set_error(struct ntvfs_posix *posix,
		     const struct ntvfs_object *object,
		     int error)
{
	const struct ntvfs_posix_io *io = posix->io;

	if (error == E2BIG || error == ERANGE) {
		return EFBIG;
	}
	if (error == ENOSPC &&
	    io->has_free_space(io->context, object->handle)) {
		return EFBIG;
	}
	return error;
}

/*
 * Linux lists names of up to 64 KiB, and those of an object that has more
 * cannot be listed at all: nothing of it could be found or removed any more.
 * Some file systems let it come to that. What is missing to 64 KiB here is
 * for those who set another name at the same time.
 */
static int name_fits(struct ntvfs_posix *posix,
		     const struct ntvfs_object *object,
		     const char *name)
{
	const struct ntvfs_posix_io *io = posix->io;
	const char *names = NULL;
	size_t length = 0;
	ssize_t own_length;
	int error;

	if (strncmp(name,
		    NTVFS_XATTR_USER_PREFIX,
		    strlen(NTVFS_XATTR_USER_PREFIX)) != 0 ||
	    strcmp(name, NTVFS_XATTR_DOSATTRIB) == 0)
	{
		/* there are but few others */
		return 0;
	}
	error = ntvfs_xattr_names(posix, object, &names, &length);
	if (error != 0 || length <= NTVFS_XATTR_NAMES_MAX ||
	    ntvfs_xattr_names_have(names, length, name))
	{
		return error == E2BIG ? EFBIG : error;
	}
	/* without those in the overflow store */
	own_length = io->flistxattr(io->context, object->handle, NULL, 0);
	if (own_length == -1) {
		return errno;
	}
	return own_length <= NTVFS_XATTR_NAMES_MAX ? 0 : EFBIG;
}

static int inode_set(struct ntvfs_posix *posix,
		     const struct ntvfs_object *object,
		     const char *name,
		     const void *value,
		     size_t length,
		     bool as_root)
{
	const struct ntvfs_posix_io *io = posix->io;
	int error = 0;

	if (strlen(name) > NTVFS_XATTR_NAME_MAX) {
		return EFBIG;
	}
	error = name_fits(posix, object, name);
	if (error != 0) {
		return error;
	}
	ntvfs_metadata_forget(posix->cache, object);
	if (as_root) {
		io->become_root(io->context);
	}
	/* in place if the value is of the same size: one system call */
	if (io->fsetxattr(io->context,
			  object->handle,
			  name,
			  value,
			  length,
			  0) != 0) {
		error = errno;
	}
	if (as_root) {
		io->unbecome_root(io->context);
	}
	return set_error(posix, object, error);
}

static int inode_remove(struct ntvfs_posix *posix,
			const struct ntvfs_object *object,
			const char *name,
			bool as_root)
{
	const struct ntvfs_posix_io *io = posix->io;
	int error = 0;

	if (strlen(name) > NTVFS_XATTR_NAME_MAX) {
		return ENODATA;
	}
	if (as_root) {
		io->become_root(io->context);
	}
	if (io->fremovexattr(io->context, object->handle, name) != 0) {
		error = errno;
	}
	if (as_root) {
		io->unbecome_root(io->context);
	}
	return error;
}

/*
 * The overflow store is root's: may the user change what would be an xattr?
 * The kernel asks for the right before it looks for the xattr.
 */
static int may_change(struct ntvfs_posix *posix,
		      const struct ntvfs_object *object,
		      bool as_root)
{
	int error;

	if (as_root) {
		return 0;
	}
	error = inode_remove(posix, object, NTVFS_XATTR_PROBE, false);
	return error == ENODATA ? 0 : error;
}

/* Set a pointer where it is, or else in the object if it fits there. */
static int pointer_set(struct ntvfs_posix *posix,
		       const struct ntvfs_object *object,
		       const char *name,
		       const void *value,
		       size_t length,
		       bool as_root)
{
	const bool is_short = strlen(name) <= NTVFS_XATTR_NAME_MAX;
	size_t old_length = 0;
	int in_overflow;
	int in_object = ENODATA;
	int error;

	in_overflow = ntvfs_overflow_get(posix,
					 object,
					 name,
					 NULL,
					 0,
					 &old_length);
	if (in_overflow != 0 && in_overflow != ENODATA) {
		return in_overflow;
	}
	if (in_overflow == ENODATA) {
		error = inode_set(posix, object, name, value, length, as_root);
		if (error != EFBIG) {
			return error;
		}
	}
	if (is_short) {
		in_object = inode_get(posix,
				      object,
				      name,
				      NULL,
				      0,
				      &old_length);
		if (in_object != 0 && in_object != ENODATA) {
			return in_object;
		}
	}
	if (in_object == 0 && in_overflow == ENODATA) {
		/* it keeps its value: one that does not fit is of no use */
		return EFBIG;
	}
	error = may_change(posix, object, as_root);
	if (error != 0) {
		return error;
	}
	error = ntvfs_overflow_set(posix, object, name, value, length);
	if ((error == EFBIG || error == ERANGE) && !is_short) {
		return ENAMETOOLONG;
	}
	error = set_error(posix, object, error);
	if (error == 0 && in_object == 0) {
		/* O1: the new value counts from when the old one is gone */
		error = inode_remove(posix, object, name, as_root);
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
	if (posix->xattr_tdb != NULL) {
		struct ntvfs_xattr_tdb_key key = ntvfs_xattr_key(posix, object);
		int error;

		ntvfs_metadata_forget(posix->cache, object);
		error = ntvfs_xattr_tdb_set(posix->xattr_tdb,
					    &key,
					    name,
					    value,
					    length);
		return set_error(posix, object, error);
	}
	if (is_pointer(name)) {
		ntvfs_metadata_forget(posix->cache, object);
		return pointer_set(posix, object, name, value, length, as_root);
	}
	return inode_set(posix, object, name, value, length, as_root);
}

static int pointer_remove(struct ntvfs_posix *posix,
			  const struct ntvfs_object *object,
			  const char *name,
			  bool as_root)
{
	size_t length = 0;
	int in_object = ENODATA;
	int error;

	error = ntvfs_overflow_get(posix, object, name, NULL, 0, &length);
	if (error == ENODATA) {
		return inode_remove(posix, object, name, as_root);
	}
	if (error != 0) {
		return error;
	}
	if (strlen(name) <= NTVFS_XATTR_NAME_MAX) {
		in_object =
			inode_get(posix, object, name, NULL, 0, &length);
	}
	if (in_object != 0 && in_object != ENODATA) {
		return in_object;
	}
	error = may_change(posix, object, as_root);
	if (error != 0) {
		return error;
	}
	/* O1: the one that counts goes last */
	error = ntvfs_overflow_remove(posix, object, name);
	if (error == 0 && in_object == 0) {
		error = inode_remove(posix, object, name, as_root);
	}
	return error;
}

int ntvfs_xattr_remove(struct ntvfs_posix *posix,
		       const struct ntvfs_object *object,
		       const char *name,
		       bool as_root)
{
	ntvfs_metadata_forget(posix->cache, object);
	if (posix->xattr_tdb != NULL) {
		struct ntvfs_xattr_tdb_key key =
			ntvfs_xattr_key(posix, object);

		return ntvfs_xattr_tdb_remove(posix->xattr_tdb, &key, name);
	}
	if (is_pointer(name)) {
		return pointer_remove(posix, object, name, as_root);
	}
	return inode_remove(posix, object, name, as_root);
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

	got = io->flistxattr(io->context, object->handle, stack, sizeof(stack));
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

void ntvfs_xattr_forget(struct ntvfs_posix *posix,
			const struct ntvfs_object *object)
{
	ntvfs_metadata_forget(posix->cache, object);
	if (posix->xattr_tdb != NULL) {
		struct ntvfs_xattr_tdb_key key = ntvfs_xattr_key(posix, object);

		(void)ntvfs_xattr_tdb_forget(posix->xattr_tdb, &key);
		return;
	}
	ntvfs_overflow_forget(posix, object);
}

/* Copy a pointer of the object to the overflow store, then remove it. */
static int pointer_move_out(struct ntvfs_posix *posix,
			    const struct ntvfs_object *object,
			    const char *name)
{
	uint8_t value[sizeof(struct ntvfs_stream_pointer)];
	size_t length = 0;
	int error;

	error = inode_get(posix, object, name, value, sizeof(value), &length);
	if (error != 0) {
		return error;
	}
	error = ntvfs_overflow_set(posix, object, name, value, length);
	if (error != 0) {
		return set_error(posix, object, error);
	}
	/* O1: until then it is in both places, and the same in both */
	return inode_remove(posix, object, name, true);
}

int ntvfs_xattr_move_pointer_out(struct ntvfs_posix *posix,
				 const struct ntvfs_object *object)
{
	TALLOC_CTX *frame = talloc_new(posix);
	const char *name = NULL;
	char *names = NULL;
	size_t length = 0;
	int error = ENODATA;

	if (frame == NULL) {
		return ENOMEM;
	}
	if (posix->xattr_tdb == NULL) {
		error = xattr_list_fs(posix, object, frame, &names, &length);
		if (error == 0) {
			error = ENODATA;
		}
	}
	for (name = names; error == ENODATA && name < names + length;
	     name += strlen(name) + 1) {
		if (is_pointer(name)) {
			error = pointer_move_out(posix, object, name);
		}
	}
	ntvfs_metadata_forget(posix->cache, object);
	TALLOC_FREE(frame);
	return error;
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

/* The names in the object, and those in the overflow store behind them. */
static int names_load(struct ntvfs_posix *posix,
		      const struct ntvfs_object *object,
		      char **names,
		      size_t *length)
{
	const char *name = NULL;
	char *more = NULL;
	char *both = NULL;
	size_t own_length = 0;
	size_t more_length = 0;
	int error;

	if (posix->xattr_tdb != NULL) {
		struct ntvfs_xattr_tdb_key key = ntvfs_xattr_key(posix, object);

		return ntvfs_xattr_tdb_list(posix->xattr_tdb,
					    &key,
					    posix,
					    names,
					    length);
	}
	error = xattr_list_fs(posix, object, posix, names, length);
	if (error != 0) {
		return error;
	}
	error = ntvfs_overflow_names(posix, object, posix, &more, &more_length);
	if (error != 0 || more_length == 0) {
		goto done;
	}
	both = talloc_realloc(posix, *names, char, *length + more_length);
	if (both == NULL) {
		error = ENOMEM;
		goto done;
	}
	*names = both;
	own_length = *length;
	for (name = more; name < more + more_length; name += strlen(name) + 1) {
		/* O1: it may be in both places */
		if (!ntvfs_xattr_names_have(both, own_length, name)) {
			memcpy(both + *length, name, strlen(name) + 1);
			*length += strlen(name) + 1;
		}
	}
done:
	TALLOC_FREE(more);
	if (error != 0) {
		TALLOC_FREE(*names);
		*length = 0;
	}
	return error;
}

int ntvfs_xattr_names(struct ntvfs_posix *posix,
		      const struct ntvfs_object *object,
		      const char **names,
		      size_t *length)
{
	struct ntvfs_metadata *entry = NULL;
	char *list = NULL;
	size_t list_length = 0;
	uint64_t before = 0;
	uint64_t after = 0;
	int error;

	error = ntvfs_overflow_stamp(posix, &before);
	if (error != 0) {
		return error;
	}
	entry = ntvfs_metadata_get(posix->cache, object);
	if (!(entry->known & NTVFS_METADATA_HAS_NAMES) ||
	    entry->overflow_stamp != before) {
		error = names_load(posix, object, &list, &list_length);
		if (error != 0) {
			return error;
		}
		if (list_length > 0 && list[list_length - 1] != '\0') {
			TALLOC_FREE(list);
			return EIO;
		}
		error = ntvfs_overflow_stamp(posix, &after);
		if (error != 0) {
			TALLOC_FREE(list);
			return error;
		}
		TALLOC_FREE(entry->names);
		entry->names = list;
		entry->names_length = list_length;
		entry->known |= NTVFS_METADATA_HAS_NAMES;
		/*
		 * A change may be taken back by the crash of who made it, and
		 * its number be another change's: only what has the same
		 * number before and after the look is remembered by it.
		 */
		entry->overflow_stamp =
			(before == after) ? before : NTVFS_OVERFLOW_STAMP_NONE;
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
