/*
 * Where a stream is, and moving it from there.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <xxhash.h>
#include "ntvfs_posix/stream_place.h"

static char *small_xattr_name(TALLOC_CTX *mem_ctx, const char *name)
{
	return talloc_asprintf(mem_ctx,
			       NTVFS_XATTR_DOSSTREAM_PREFIX
			       "%s" NTVFS_STREAM_TYPE,
			       name);
}

char *ntvfs_stream_pointer_name(TALLOC_CTX *mem_ctx, const char *name)
{
	return talloc_asprintf(mem_ctx,
			       NTVFS_XATTR_STREAM_FILE_PREFIX
			       "%s" NTVFS_STREAM_TYPE,
			       name);
}

/* How many bytes of a stream's name are in front of its type, if it has one.
 */
static size_t length_without_type(const char *name)
{
	const size_t type_length = strlen(NTVFS_STREAM_TYPE);
	size_t length = strlen(name);

	if (length > type_length &&
	    strcasecmp(name + length - type_length, NTVFS_STREAM_TYPE) == 0) {
		length -= type_length;
	}
	return length;
}

/* "user.DosStream.NAME:$DATA" to "NAME"; NULL if it is no such name. */
char *ntvfs_stream_of_xattr(TALLOC_CTX *mem_ctx,
			    const char *xattr_name,
			    const char *prefix)
{
	const size_t prefix_length = strlen(prefix);
	size_t length;

	if (strncmp(xattr_name, prefix, prefix_length) != 0) {
		return NULL;
	}
	xattr_name += prefix_length;
	length = length_without_type(xattr_name);
	if (length == 0) {
		return NULL;
	}
	return talloc_strndup(mem_ctx, xattr_name, length);
}

/* The list of Samba 4's own file server; *list is NULL if there is none. */
static int old_list_load(struct ntvfs_posix *posix,
			 const struct ntvfs_object *object,
			 TALLOC_CTX *mem_ctx,
			 struct ntvfs_dosstreams **list)
{
	DATA_BLOB blob = {.data = NULL};
	const char *reason = NULL;
	const char *names = NULL;
	size_t length = 0;
	NTSTATUS status;
	int error;

	*list = NULL;
	error = ntvfs_xattr_names(posix, object, &names, &length);
	if (error != 0 ||
	    !ntvfs_xattr_names_have(names, length, NTVFS_XATTR_DOSSTREAMS)) {
		return error;
	}
	error = ntvfs_xattr_load(
		posix, object, NTVFS_XATTR_DOSSTREAMS, mem_ctx, &blob);
	if (error == ENODATA) {
		return 0;
	}
	if (error != 0) {
		return error;
	}
	status = ntvfs_dosstreams_decode(mem_ctx, &blob, list, &reason);
	if (NT_STATUS_EQUAL(status, NT_STATUS_NO_MEMORY)) {
		return ENOMEM;
	}
	if (!NT_STATUS_IS_OK(status)) {
		ntvfs_posix_complain(
			posix, object, NTVFS_XATTR_DOSSTREAMS, status, reason);
		*list = NULL;
	}
	return 0;
}

/* Is the whole value data, as Samba 4's own file server wrote it? */
static bool value_is_old(const struct ntvfs_dosstreams *old,
			 const char *name,
			 size_t length)
{
	uint32_t i;

	for (i = 0; old != NULL && i < old->count; i++) {
		const struct ntvfs_dosstream *stream = &old->streams[i];
		size_t name_length = length_without_type(stream->name);

		if (name_length == strlen(name) &&
		    strncmp(stream->name, name, name_length) == 0) {
			return stream->size == length;
		}
	}
	return false;
}

/*
 * Where a stream is. With load_value the small value is read too, else only
 * its size. ENOENT: nowhere; the names in place are set all the same.
 */
int ntvfs_stream_find(struct ntvfs_posix *posix,
		      const struct ntvfs_object *object,
		      const char *name,
		      bool load_value,
		      TALLOC_CTX *mem_ctx,
		      struct ntvfs_stream_place *place)
{
	struct ntvfs_dosstreams *old = NULL;
	const char *names = NULL;
	size_t length = 0;
	char *untyped = NULL;
	int error;

	*place = (struct ntvfs_stream_place){.name = name};
	place->typed_name = small_xattr_name(mem_ctx, name);
	place->small_name = place->typed_name;
	place->pointer_name = ntvfs_stream_pointer_name(mem_ctx, name);
	untyped = talloc_asprintf(
		mem_ctx, NTVFS_XATTR_DOSSTREAM_PREFIX "%s", name);
	if (place->small_name == NULL || place->pointer_name == NULL ||
	    untyped == NULL) {
		return ENOMEM;
	}
	error = ntvfs_xattr_names(posix, object, &names, &length);
	if (error != 0) {
		return error;
	}
	place->has_small =
		ntvfs_xattr_names_have(names, length, place->small_name);
	place->has_pointer =
		ntvfs_xattr_names_have(names, length, place->pointer_name);
	if (ntvfs_xattr_names_have(names, length, untyped)) {
		if (place->has_small) {
			place->shadowed_name = untyped;
		} else {
			place->small_name = untyped;
			place->has_small = true;
		}
	}

	if (place->has_pointer) {
		error = ntvfs_xattr_load(posix,
					 object,
					 place->pointer_name,
					 mem_ctx,
					 &place->pointer);
		return error == ENODATA ? ENOENT : error;
	}
	if (!place->has_small) {
		return ENOENT;
	}
	error = old_list_load(posix, object, mem_ctx, &old);
	if (error != 0) {
		return error;
	}
	if (load_value || place->small_name == untyped) {
		error = ntvfs_xattr_load(posix,
					 object,
					 place->small_name,
					 mem_ctx,
					 &place->value);
	} else {
		error = ntvfs_xattr_get(posix,
					object,
					place->small_name,
					NULL,
					0,
					&place->value.length);
	}
	if (error != 0) {
		return error == ENODATA ? ENOENT : error;
	}
	place->is_old = value_is_old(old, name, place->value.length);
	if (place->small_name == untyped && place->value.length > 0 &&
	    place->value.data[place->value.length - 1] != '\0')
	{
		/* a list that a rename there left behind has another name */
		place->is_old = true;
	}
	place->size = place->value.length;
	if (!place->is_old && place->size > 0) {
		place->size--;
	}
	return 0;
}

int ntvfs_stream_remove_shadowed(struct ntvfs_posix *posix,
				 const struct ntvfs_object *object,
				 struct ntvfs_stream_place *place)
{
	int error;

	if (place->shadowed_name == NULL) {
		return 0;
	}
	error = ntvfs_xattr_remove(
		posix, object, place->shadowed_name, place->as_root);
	if (error != 0 && error != ENODATA) {
		return error;
	}
	place->shadowed_name = NULL;
	return 0;
}

static int owner_of(struct ntvfs_posix *posix,
		    const struct ntvfs_object *object,
		    uid_t *uid,
		    gid_t *gid)
{
	const struct ntvfs_posix_io *io = posix->io;

	if (io->get_owner(io->context, object->handle, uid, gid) != 0) {
		return errno;
	}
	return 0;
}

/*
 * On another volume than the share's own the same inode number is another
 * object's: that of a snapshot's has even the same id.
 */
struct ntvfs_stream_claim
ntvfs_stream_claim_of(struct ntvfs_posix *posix,
		      const struct ntvfs_object *object,
		      const char *name)
{
	const struct ntvfs_posix_io *io = posix->io;
	struct ntvfs_stream_claim claim = {
		.inode = object->file_id,
		.name = name,
	};

	if (!ntvfs_is_home(posix, object)) {
		uint64_t key[2] = {
			io->get_volume_id(io->context, object->handle),
			object->file_id,
		};

		if (key[0] == 0) {
			key[0] = object->volume;
		}
		claim.inode = XXH64(key, sizeof(key), 0);
	}
	return claim;
}

/* Remove the file of a stream that no xattr names any more. */
void ntvfs_stream_drop_file(struct ntvfs_posix *posix,
			    const struct ntvfs_object *object,
			    const char *name,
			    const void *pointer,
			    size_t pointer_length)
{
	const struct ntvfs_posix_io *io = posix->io;
	struct ntvfs_stream_claim claim = ntvfs_stream_claim_of(posix, object, name);

	io->become_root(io->context);
	/* one that stays is of no use to anybody, and does no harm */
	(void)ntvfs_stream_file_remove(
		posix->stream_files, &claim, pointer, pointer_length);
	io->unbecome_root(io->context);
}

/* Name the new file in the object; the file is removed if that fails. */
static int pointer_store(struct ntvfs_posix *posix,
			 const struct ntvfs_object *object,
			 const struct ntvfs_stream_place *place,
			 const struct ntvfs_stream_pointer *pointer,
			 bool as_root,
			 int *fd)
{
	int error;

	error = ntvfs_xattr_set(posix,
				object,
				place->pointer_name,
				pointer,
				sizeof(*pointer),
				as_root);
	if (error == 0) {
		return 0;
	}
	ntvfs_stream_drop_file(
		posix, object, place->name, pointer, sizeof(*pointer));
	close(*fd);
	*fd = -1;
	return error;
}

/*
 * Give a stream a file with these data, and remove its small form. Locked.
 */
int ntvfs_stream_move_to_file(struct ntvfs_posix *posix,
			      const struct ntvfs_object *object,
			      const struct ntvfs_stream_place *place,
			      const void *data,
			      size_t length,
			      int *fd)
{
	const struct ntvfs_posix_io *io = posix->io;
	struct ntvfs_stream_claim claim =
		ntvfs_stream_claim_of(posix, object, place->name);
	struct ntvfs_stream_pointer pointer = {.version = 0};
	uid_t uid = 0;
	gid_t gid = 0;
	int error;

	*fd = -1;
	if (!posix->config.kernel_files) {
		return strlen(place->small_name) > NTVFS_XATTR_NAME_MAX
			       ? ENAMETOOLONG
			       : EFBIG;
	}
	error = owner_of(posix, object, &uid, &gid);
	if (error != 0) {
		return error;
	}
	io->become_root(io->context);
	error = ntvfs_stream_file_make(posix->stream_files,
				       &claim,
				       uid,
				       gid,
				       data,
				       length,
				       &pointer,
				       fd);
	io->unbecome_root(io->context);
	if (error != 0) {
		return error;
	}
	error = pointer_store(
		posix, object, place, &pointer, place->as_root, fd);
	if (error != 0) {
		return error;
	}
	if (place->has_small) {
		/* S2: it no longer counts, whether this works or not */
		(void)ntvfs_xattr_remove(
			posix, object, place->small_name, place->as_root);
	}
	return 0;
}

/*
 * Open the file of a stream; a copied object's gets one of its own (S1).
 * *lost: there is no such file.
 */
int ntvfs_stream_open_file(struct ntvfs_posix *posix,
			   const struct ntvfs_object *object,
			   const struct ntvfs_stream_place *place,
			   bool *lost,
			   int *fd)
{
	const struct ntvfs_posix_io *io = posix->io;
	struct ntvfs_stream_claim claim =
		ntvfs_stream_claim_of(posix, object, place->name);
	struct ntvfs_stream_pointer pointer = {.version = 0};
	bool claimed = false;
	uid_t uid = 0;
	gid_t gid = 0;
	int own_fd = -1;
	int error;

	io->become_root(io->context);
	error = ntvfs_stream_file_open(posix->stream_files,
				       &claim,
				       place->pointer.data,
				       place->pointer.length,
				       &claimed,
				       fd);
	io->unbecome_root(io->context);
	if (error == EINVAL || error == ENOENT) {
		ntvfs_posix_complain(posix,
				     object,
				     place->pointer_name,
				     NT_STATUS_OBJECT_NAME_NOT_FOUND,
				     error == EINVAL
					     ? "does not name a file of a "
					       "stream"
					     : "names a file that is not "
					       "there");
		*lost = true;
		return EIO;
	}
	if (error != 0 || claimed) {
		return error;
	}
	if ((fcntl(*fd, F_GETFL) & O_ACCMODE) == O_RDONLY) {
		/* S1: nobody writes to it, so it can be read as it is */
		return 0;
	}
	error = ntvfs_xattr_remove(posix, object, NTVFS_XATTR_PROBE, true);
	if (error == EROFS) {
		close(*fd);
		*fd = -1;
		ntvfs_posix_complain(posix,
				     object,
				     place->pointer_name,
				     NT_STATUS_OBJECT_NAME_NOT_FOUND,
				     "names a file of another object, and "
				     "none can be named instead in a "
				     "read-only snapshot");
		*lost = true;
		return EIO;
	}

	error = owner_of(posix, object, &uid, &gid);
	if (error == 0) {
		io->become_root(io->context);
		error = ntvfs_stream_file_copy(posix->stream_files,
					       &claim,
					       uid,
					       gid,
					       *fd,
					       &pointer,
					       &own_fd);
		io->unbecome_root(io->context);
	}
	close(*fd);
	*fd = -1;
	if (error != 0) {
		return error;
	}
	/* as root: who may but read the stream sets this right, too */
	error = pointer_store(posix, object, place, &pointer, true, &own_fd);
	*fd = own_fd;
	return error;
}

int ntvfs_streams_lock(struct ntvfs_posix *posix,
		       const struct ntvfs_object *object)
{
	const struct ntvfs_posix_io *io = posix->io;
	int error;

	io->become_root(io->context);
	error = ntvfs_stream_files_lock(
		posix->stream_files, object->volume, object->file_id);
	io->unbecome_root(io->context);
	/* what was read before the lock may be out of date */
	ntvfs_metadata_forget(posix->cache, object);
	return error;
}

void ntvfs_streams_unlock(struct ntvfs_posix *posix,
			  const struct ntvfs_object *object)
{
	/*
	 * The object's stamp has not been asked for since the lock was
	 * taken: what was read under it must not stay under the old one.
	 */
	ntvfs_metadata_forget(posix->cache, object);
	ntvfs_stream_files_unlock(
		posix->stream_files, object->volume, object->file_id);
}

int ntvfs_stream_store_small(struct ntvfs_posix *posix,
			     const struct ntvfs_object *object,
			     const struct ntvfs_stream_place *place,
			     const uint8_t *data,
			     size_t size,
			     TALLOC_CTX *mem_ctx)
{
	uint8_t *value = NULL;

	value = talloc_zero_size(mem_ctx, size + 1);
	if (value == NULL) {
		return ENOMEM;
	}
	if (size > 0) {
		memcpy(value, data, size);
	}
	return ntvfs_xattr_set(posix,
			       object,
			       place->small_name,
			       value,
			       size + 1,
			       place->as_root);
}

/* Store what has been found as all others are. *fd: it got a file. */
static int convert_one(struct ntvfs_posix *posix,
		       const struct ntvfs_object *object,
		       const struct ntvfs_stream_place *found,
		       TALLOC_CTX *mem_ctx,
		       int *fd)
{
	struct ntvfs_stream_place place = *found;
	int error;

	place.small_name = place.typed_name;
	error = ntvfs_stream_store_small(posix,
					 object,
					 &place,
					 place.value.data,
					 place.size,
					 mem_ctx);
	if (error == EFBIG) {
		/* for want of the one byte more, or of room for both */
		return ntvfs_stream_move_to_file(posix,
						 object,
						 found,
						 place.value.data,
						 place.size,
						 fd);
	}
	if (error == 0 && found->small_name != found->typed_name) {
		/* it does not count any more, whether this works or not */
		(void)ntvfs_xattr_remove(
			posix, object, found->small_name, false);
	}
	return error;
}

/*
 * Make the values of Samba 4's own file server like all others, then remove
 * its list. If this is cut short, value_is_old() still tells which value has
 * been done. Locked.
 */
int ntvfs_streams_convert_old(struct ntvfs_posix *posix,
			      const struct ntvfs_object *object,
			      TALLOC_CTX *mem_ctx)
{
	struct ntvfs_dosstreams *old = NULL;
	uint32_t i;
	int error;

	error = old_list_load(posix, object, mem_ctx, &old);
	if (error != 0 || old == NULL) {
		return error;
	}
	for (i = 0; i < old->count; i++) {
		const char *full = old->streams[i].name;
		struct ntvfs_stream_place place;
		char *name = NULL;
		int fd = -1;

		name = talloc_strndup(mem_ctx, full, length_without_type(full));
		if (name == NULL) {
			return ENOMEM;
		}
		error = ntvfs_stream_find(
			posix, object, name, true, mem_ctx, &place);
		if (error == ENOENT || (error == 0 && !place.is_old)) {
			continue;
		}
		if (error != 0) {
			return error;
		}
		error = convert_one(posix, object, &place, mem_ctx, &fd);
		if (error != 0) {
			return error;
		}
		if (fd != -1) {
			close(fd);
		}
	}
	error = ntvfs_xattr_remove(
		posix, object, NTVFS_XATTR_DOSSTREAMS, false);
	return error == ENODATA ? 0 : error;
}
