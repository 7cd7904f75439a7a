/*
 * Named streams: user.DosStream.NAME:$DATA for small ones, as stock
 * streams_xattr keeps them, and a file of its own for each large one.
 *
 * The value of a small stream has one NUL byte behind its data, since some
 * file systems have no empty xattrs. Samba 4's own file server wrote none; it
 * kept a list of streams with their sizes in user.DosStreams, by which its
 * values are recognised. The list goes away when a stream of the object is
 * first changed.
 *
 * A large stream has user.ntvfs.str.NAME:$DATA, which names its file. When
 * a stream moves from one form to the other both exist for a moment: the file
 * then counts (invariant S2), and the small one is removed by whoever changes
 * the stream next.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include "ntvfs_posix/private.h"
#include "ntvfs_posix/stream_files.h"

#define STREAM_TYPE ":$DATA"

/* The longest name of an xattr on Linux; of the two forms the file's counts. */
#define XATTR_NAME_MAX_BYTES 255
#define STREAM_NAME_MAX                                                       \
	(XATTR_NAME_MAX_BYTES -                                               \
	 (sizeof(NTVFS_XATTR_STREAM_FILE_PREFIX STREAM_TYPE) - 1))

/* What is known of one stream while the object's streams are locked. */
struct stream_place {
	const char *name;	/* of the stream, as the caller has it */
	char *small_name;	/* the xattr of its data */
	char *pointer_name;	/* the xattr that names its file */
	bool has_small;
	bool has_pointer;
	bool is_old;		/* of small: there is no NUL */
	DATA_BLOB value;	/* of small: with or without the NUL */
	size_t size;		/* of small, without the NUL */
	DATA_BLOB pointer;
};

static char *small_xattr_name(TALLOC_CTX *mem_ctx, const char *name)
{
	return talloc_asprintf(mem_ctx,
			       NTVFS_XATTR_DOSSTREAM_PREFIX "%s" STREAM_TYPE,
			       name);
}

static char *pointer_xattr_name(TALLOC_CTX *mem_ctx, const char *name)
{
	return talloc_asprintf(mem_ctx,
			       NTVFS_XATTR_STREAM_FILE_PREFIX "%s" STREAM_TYPE,
			       name);
}

/* How many bytes of a stream's name are in front of its type, if it has one. */
static size_t length_without_type(const char *name)
{
	const size_t type_length = strlen(STREAM_TYPE);
	size_t length = strlen(name);

	if (length > type_length &&
	    strcasecmp(name + length - type_length, STREAM_TYPE) == 0)
	{
		length -= type_length;
	}
	return length;
}

/* "user.DosStream.NAME:$DATA" to "NAME"; NULL if it is no such name. */
static char *stream_of_xattr(TALLOC_CTX *mem_ctx,
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

static bool names_have(const char *names, size_t length, const char *wanted)
{
	const char *name = NULL;

	for (name = names; name < names + length; name += strlen(name) + 1) {
		if (strcmp(name, wanted) == 0) {
			return true;
		}
	}
	return false;
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
	if (error != 0 || !names_have(names, length, NTVFS_XATTR_DOSSTREAMS))
	{
		return error;
	}
	error = ntvfs_xattr_load(posix,
				 object,
				 NTVFS_XATTR_DOSSTREAMS,
				 mem_ctx,
				 &blob);
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
		ntvfs_posix_complain(posix,
				     object,
				     NTVFS_XATTR_DOSSTREAMS,
				     status,
				     reason);
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
		    strncmp(stream->name, name, name_length) == 0)
		{
			return stream->size == length;
		}
	}
	return false;
}

/*
 * Where a stream is. With load_value the small value is read too, else only
 * its size. ENOENT: nowhere; the names in place are set all the same.
 */
static int stream_find(struct ntvfs_posix *posix,
		       const struct ntvfs_object *object,
		       const char *name,
		       bool load_value,
		       TALLOC_CTX *mem_ctx,
		       struct stream_place *place)
{
	struct ntvfs_dosstreams *old = NULL;
	const char *names = NULL;
	size_t length = 0;
	int error;

	*place = (struct stream_place){.name = name};
	place->small_name = small_xattr_name(mem_ctx, name);
	place->pointer_name = pointer_xattr_name(mem_ctx, name);
	if (place->small_name == NULL || place->pointer_name == NULL) {
		return ENOMEM;
	}
	error = ntvfs_xattr_names(posix, object, &names, &length);
	if (error != 0) {
		return error;
	}
	place->has_small = names_have(names, length, place->small_name);
	place->has_pointer = names_have(names, length, place->pointer_name);

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
	if (load_value) {
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
	place->size = place->value.length;
	if (!place->is_old && place->size > 0) {
		place->size--;
	}
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

static struct ntvfs_stream_claim claim_of(const struct ntvfs_object *object,
					  const char *name)
{
	return (struct ntvfs_stream_claim){
		.inode = object->file_id,
		.name = name,
	};
}

/* Remove the file of a stream that no xattr names any more. */
static void stream_file_drop(struct ntvfs_posix *posix,
			     const struct ntvfs_object *object,
			     const char *name,
			     const void *pointer,
			     size_t pointer_length)
{
	const struct ntvfs_posix_io *io = posix->io;
	struct ntvfs_stream_claim claim = claim_of(object, name);

	io->become_root(io->context);
	/* one that stays is of no use to anybody, and does no harm */
	(void)ntvfs_stream_file_remove(posix->stream_files,
				       &claim,
				       pointer,
				       pointer_length);
	io->unbecome_root(io->context);
}

/* Name the new file in the object; the file is removed if that fails. */
static int pointer_store(struct ntvfs_posix *posix,
			 const struct ntvfs_object *object,
			 const struct stream_place *place,
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
	if (error == ENOSPC) {
		/* there was room for the file: the object's xattrs are full */
		error = EFBIG;
	}
	stream_file_drop(posix,
			 object,
			 place->name,
			 pointer,
			 sizeof(*pointer));
	close(*fd);
	*fd = -1;
	return error;
}

/*
 * Give a stream a file with these data, and remove its small form. Locked.
 */
static int stream_move_to_file(struct ntvfs_posix *posix,
			       const struct ntvfs_object *object,
			       const struct stream_place *place,
			       const void *data,
			       size_t length,
			       int *fd)
{
	const struct ntvfs_posix_io *io = posix->io;
	struct ntvfs_stream_claim claim = claim_of(object, place->name);
	struct ntvfs_stream_pointer pointer = {.version = 0};
	uid_t uid = 0;
	gid_t gid = 0;
	int error;

	*fd = -1;
	if (!posix->config.kernel_files) {
		return EFBIG;
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
	error = pointer_store(posix, object, place, &pointer, false, fd);
	if (error != 0) {
		return error;
	}
	if (place->has_small) {
		/* S2: it no longer counts, whether this works or not */
		(void)ntvfs_xattr_remove(posix, object, place->small_name);
	}
	return 0;
}

/*
 * Open the file of a stream; a copied object's gets one of its own (S1).
 * *lost: there is no such file.
 */
static int stream_file_open(struct ntvfs_posix *posix,
			    const struct ntvfs_object *object,
			    const struct stream_place *place,
			    bool *lost,
			    int *fd)
{
	const struct ntvfs_posix_io *io = posix->io;
	struct ntvfs_stream_claim claim = claim_of(object, place->name);
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

static int streams_lock(struct ntvfs_posix *posix,
			const struct ntvfs_object *object)
{
	const struct ntvfs_posix_io *io = posix->io;
	int error;

	io->become_root(io->context);
	error = ntvfs_stream_files_lock(posix->stream_files,
					object->volume,
					object->file_id);
	io->unbecome_root(io->context);
	/* what was read before the lock may be out of date */
	ntvfs_metadata_forget(posix->cache, object);
	return error;
}

static void streams_unlock(struct ntvfs_posix *posix,
			   const struct ntvfs_object *object)
{
	/*
	 * The object's stamp has not been asked for since the lock was
	 * taken: what was read under it must not stay under the old one.
	 */
	ntvfs_metadata_forget(posix->cache, object);
	ntvfs_stream_files_unlock(posix->stream_files,
				  object->volume,
				  object->file_id);
}

static int small_store(struct ntvfs_posix *posix,
		       const struct ntvfs_object *object,
		       const struct stream_place *place,
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
			       false);
}

/* Errors by which a file system says that an xattr does not fit. */
static bool xattr_does_not_fit(int error)
{
	return error == ENOSPC || error == E2BIG || error == ERANGE ||
	       error == EFBIG;
}

/*
 * Make the values of Samba 4's own file server like all others, then remove
 * its list. If this is cut short, value_is_old() still tells which value has
 * been done. Locked.
 */
static int old_list_convert(struct ntvfs_posix *posix,
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
		struct stream_place place;
		char *name = NULL;
		int fd = -1;

		name = talloc_strndup(mem_ctx, full, length_without_type(full));
		if (name == NULL) {
			return ENOMEM;
		}
		error = stream_find(posix, object, name, true, mem_ctx, &place);
		if (error == ENOENT || (error == 0 && !place.is_old)) {
			continue;
		}
		if (error != 0) {
			return error;
		}
		error = small_store(posix,
				    object,
				    &place,
				    place.value.data,
				    place.size,
				    mem_ctx);
		if (xattr_does_not_fit(error)) {
			/* for want of the one byte more */
			error = stream_move_to_file(posix,
						    object,
						    &place,
						    place.value.data,
						    place.size,
						    &fd);
		}
		if (error != 0) {
			return error;
		}
		if (fd != -1) {
			close(fd);
		}
	}
	error = ntvfs_xattr_remove(posix, object, NTVFS_XATTR_DOSSTREAMS);
	return error == ENODATA ? 0 : error;
}

static int data_of_fd(int fd, struct ntvfs_stream_data *data)
{
	struct stat st = {.st_size = 0};

	if (fstat(fd, &st) != 0) {
		return errno;
	}
	data->fd = fd;
	data->size = (uint64_t)st.st_size;
	data->allocation_size = (uint64_t)st.st_blocks * 512;
	return 0;
}

/* Small streams are allocated in pieces of this many bytes, to clients. */
static uint64_t small_allocation(uint64_t size)
{
	return (size + 511) / 512 * 512;
}

/* A stream that was not there, or has become empty. Locked. */
static int stream_make_empty(struct ntvfs_posix *posix,
			     const struct ntvfs_object *object,
			     const char *name,
			     TALLOC_CTX *mem_ctx,
			     int *fd)
{
	struct stream_place place;
	int error;

	if (strlen(name) > STREAM_NAME_MAX) {
		return ENAMETOOLONG;
	}
	/* an old list may have another size for a stream of that name */
	error = old_list_convert(posix, object, mem_ctx);
	if (error != 0) {
		return error;
	}
	error = stream_find(posix, object, name, false, mem_ctx, &place);
	if (error != 0 && error != ENOENT) {
		return error;
	}
	error = small_store(posix, object, &place, NULL, 0, mem_ctx);
	if (xattr_does_not_fit(error)) {
		error = stream_move_to_file(posix,
					    object,
					    &place,
					    NULL,
					    0,
					    fd);
	}
	return error;
}

/* See struct ntvfs_backend_ops. *lost: the stream's file is not there. */
static int stream_open(struct ntvfs_posix *posix,
		       const struct ntvfs_object *object,
		       const char *name,
		       uint32_t flags,
		       struct ntvfs_stream_data *data,
		       bool *lost)
{
	const uint32_t changing = NTVFS_STREAM_CREATE | NTVFS_STREAM_TRUNCATE;
	TALLOC_CTX *frame = talloc_new(posix);
	struct stream_place place;
	bool locked = false;
	int fd = -1;
	int error;

	*data = (struct ntvfs_stream_data){.fd = -1};
	*lost = false;
	if (frame == NULL) {
		return ENOMEM;
	}
	error = stream_find(posix, object, name, false, frame, &place);
	if ((flags & changing) || (error == 0 && place.has_pointer)) {
		/* what lacks the claim gets a new file: locked, too */
		error = streams_lock(posix, object);
		if (error != 0) {
			goto done;
		}
		locked = true;
		error = stream_find(posix, object, name, false, frame, &place);
	}
	if (error == 0 && (flags & NTVFS_STREAM_EXCLUSIVE)) {
		error = EEXIST;
		goto done;
	}
	if (error == ENOENT && (flags & NTVFS_STREAM_CREATE)) {
		error = stream_make_empty(posix, object, name, frame, &fd);
		if (error == 0 && fd != -1) {
			error = data_of_fd(fd, data);
		}
		goto done;
	}
	if (error != 0) {
		goto done;
	}

	if (place.has_pointer) {
		error = stream_file_open(posix, object, &place, lost, &fd);
		if (error != 0) {
			goto done;
		}
		if ((flags & NTVFS_STREAM_TRUNCATE) && ftruncate(fd, 0) != 0) {
			error = errno;
			goto done;
		}
		error = data_of_fd(fd, data);
		goto done;
	}

	if ((flags & NTVFS_STREAM_TRUNCATE) && place.size > 0) {
		error = stream_make_empty(posix, object, name, frame, &fd);
		if (error == 0 && fd != -1) {
			error = data_of_fd(fd, data);
			goto done;
		}
		place.size = 0;
	}
	data->size = place.size;
	data->allocation_size = small_allocation(place.size);
done:
	if (error != 0) {
		if (fd != -1) {
			close(fd);
		}
		*data = (struct ntvfs_stream_data){.fd = -1};
	}
	if (locked) {
		streams_unlock(posix, object);
	}
	TALLOC_FREE(frame);
	return error;
}

int ntvfs_posix_open_stream(struct ntvfs_backend *backend,
			    const struct ntvfs_object *object,
			    const char *name,
			    uint32_t flags,
			    struct ntvfs_stream_data *data)
{
	bool lost = false;

	return stream_open(ntvfs_posix_of(backend),
			   object,
			   name,
			   flags,
			   data,
			   &lost);
}

int ntvfs_posix_read_stream(struct ntvfs_backend *backend,
			    const struct ntvfs_object *object,
			    const char *name,
			    void *buffer,
			    size_t length,
			    uint64_t offset,
			    size_t *count)
{
	struct ntvfs_posix *posix = ntvfs_posix_of(backend);
	TALLOC_CTX *frame = talloc_new(posix);
	struct stream_place place;
	int error;

	*count = 0;
	if (frame == NULL) {
		return ENOMEM;
	}
	error = stream_find(posix, object, name, true, frame, &place);
	if (error != 0) {
		goto done;
	}
	if (place.has_pointer) {
		error = ESTALE;
		goto done;
	}
	if (offset < place.size) {
		*count = place.size - offset;
		if (*count > length) {
			*count = length;
		}
		memcpy(buffer, place.value.data + offset, *count);
	}
done:
	TALLOC_FREE(frame);
	return error;
}

/*
 * Change a small stream: give it new_size bytes, those of data at offset. What
 * no longer fits goes to a file as it was before the change; the caller then
 * does the change there.
 */
static int stream_change(struct ntvfs_posix *posix,
			 const struct ntvfs_object *object,
			 const char *name,
			 const void *data,
			 size_t length,
			 uint64_t offset,
			 bool truncate)
{
	TALLOC_CTX *frame = talloc_new(posix);
	struct stream_place place;
	uint8_t *content = NULL;
	uint64_t new_size;
	bool locked = false;
	int fd = -1;
	int error;

	if (frame == NULL) {
		return ENOMEM;
	}
	error = streams_lock(posix, object);
	if (error != 0) {
		goto done;
	}
	locked = true;
	error = old_list_convert(posix, object, frame);
	if (error != 0) {
		goto done;
	}
	error = stream_find(posix, object, name, true, frame, &place);
	if (error != 0) {
		goto done;
	}
	if (place.has_pointer) {
		error = ESTALE;
		goto done;
	}

	if (length == 0 && !truncate) {
		/* writing nothing moves no end */
		goto done;
	}
	new_size = offset + length;
	if (new_size < offset) {
		error = EFBIG;
		goto done;
	}
	if (!truncate && new_size < place.size) {
		new_size = place.size;
	}
	if (new_size <= posix->config.stream_xattr_max) {
		content = talloc_zero_size(frame, new_size + 1);
		if (content == NULL) {
			error = ENOMEM;
			goto done;
		}
		memcpy(content,
		       place.value.data,
		       place.size < new_size ? place.size : new_size);
		if (length > 0) {
			memcpy(content + offset, data, length);
		}
		error = small_store(posix,
				    object,
				    &place,
				    content,
				    new_size,
				    frame);
		if (!xattr_does_not_fit(error)) {
			goto done;
		}
	}
	error = stream_move_to_file(posix,
				    object,
				    &place,
				    place.value.data,
				    place.size,
				    &fd);
	if (error == 0) {
		close(fd);
		error = ESTALE;
	}
done:
	if (locked) {
		streams_unlock(posix, object);
	}
	TALLOC_FREE(frame);
	return error;
}

int ntvfs_posix_write_stream(struct ntvfs_backend *backend,
			     const struct ntvfs_object *object,
			     const char *name,
			     const void *buffer,
			     size_t length,
			     uint64_t offset)
{
	return stream_change(ntvfs_posix_of(backend),
			     object,
			     name,
			     buffer,
			     length,
			     offset,
			     false);
}

int ntvfs_posix_truncate_stream(struct ntvfs_backend *backend,
				const struct ntvfs_object *object,
				const char *name,
				uint64_t size)
{
	return stream_change(ntvfs_posix_of(backend),
			     object,
			     name,
			     NULL,
			     0,
			     size,
			     true);
}

/* Remove both forms of a stream. Locked. */
static int stream_remove_forms(struct ntvfs_posix *posix,
			       const struct ntvfs_object *object,
			       const struct stream_place *place)
{
	int error;

	/* S2: the form that counts goes last */
	if (place->has_small) {
		error = ntvfs_xattr_remove(posix, object, place->small_name);
		if (error != 0 && error != ENODATA) {
			return error;
		}
	}
	if (!place->has_pointer) {
		return 0;
	}
	error = ntvfs_xattr_remove(posix, object, place->pointer_name);
	if (error != 0) {
		return error;
	}
	stream_file_drop(posix,
			 object,
			 place->name,
			 place->pointer.data,
			 place->pointer.length);
	return 0;
}

int ntvfs_posix_remove_stream(struct ntvfs_backend *backend,
			      const struct ntvfs_object *object,
			      const char *name)
{
	struct ntvfs_posix *posix = ntvfs_posix_of(backend);
	TALLOC_CTX *frame = talloc_new(posix);
	struct stream_place place;
	bool locked = false;
	int error;

	if (frame == NULL) {
		return ENOMEM;
	}
	error = streams_lock(posix, object);
	if (error != 0) {
		goto done;
	}
	locked = true;
	error = old_list_convert(posix, object, frame);
	if (error != 0 && !xattr_does_not_fit(error)) {
		/* a full object must not keep its streams from going */
		goto done;
	}
	error = stream_find(posix, object, name, false, frame, &place);
	if (error == 0) {
		error = stream_remove_forms(posix, object, &place);
	}
done:
	if (locked) {
		streams_unlock(posix, object);
	}
	TALLOC_FREE(frame);
	return error;
}

/*
 * Take back what a rename has done to its target. Nothing more can be done if
 * that fails, too: the data is then under both names.
 */
static void rename_undo(struct ntvfs_posix *posix,
			const struct ntvfs_object *object,
			const struct stream_place *source,
			const struct stream_place *target,
			TALLOC_CTX *mem_ctx)
{
	const struct ntvfs_posix_io *io = posix->io;
	struct ntvfs_stream_claim from = claim_of(object, source->name);
	struct ntvfs_stream_claim to = claim_of(object, target->name);
	struct stream_place now;
	int error = 0;

	if (source->has_pointer) {
		io->become_root(io->context);
		(void)ntvfs_stream_file_pass(posix->stream_files,
					     &to,
					     &from,
					     source->pointer.data,
					     source->pointer.length);
		io->unbecome_root(io->context);
	}
	if (stream_find(posix, object, target->name, false, mem_ctx, &now) !=
	    0)
	{
		now = *target;
		now.has_small = false;
		now.has_pointer = false;
	}
	/* S2: the old small form must be there before a new file goes */
	if (target->has_small) {
		(void)ntvfs_xattr_set(posix,
				      object,
				      target->small_name,
				      target->value.data,
				      target->value.length,
				      false);
	}
	if (target->has_pointer) {
		error = ntvfs_xattr_set(posix,
					object,
					target->pointer_name,
					target->pointer.data,
					target->pointer.length,
					false);
	} else if (now.has_pointer) {
		error = ntvfs_xattr_remove(posix,
					   object,
					   target->pointer_name);
	}
	if (error == 0 && now.has_pointer && !source->has_pointer &&
	    data_blob_cmp(&now.pointer, &target->pointer) != 0)
	{
		/* a file that was made for the small source */
		stream_file_drop(posix,
				 object,
				 target->name,
				 now.pointer.data,
				 now.pointer.length);
	}
	if (now.has_small && !target->has_small) {
		(void)ntvfs_xattr_remove(posix, object, target->small_name);
	}
}

/* Give the target the data of a large source: the file changes hands. */
static int rename_large(struct ntvfs_posix *posix,
			const struct ntvfs_object *object,
			const struct stream_place *source,
			const struct stream_place *target)
{
	const struct ntvfs_posix_io *io = posix->io;
	struct ntvfs_stream_claim from = claim_of(object, source->name);
	struct ntvfs_stream_claim to = claim_of(object, target->name);
	int error;

	error = ntvfs_xattr_set(posix,
				object,
				target->pointer_name,
				source->pointer.data,
				source->pointer.length,
				false);
	if (error != 0) {
		return error == ENOSPC ? EFBIG : error;
	}
	/*
	 * Until the old pointer is gone there are two, but only one of them
	 * has the claim at any instant (S1).
	 */
	io->become_root(io->context);
	error = ntvfs_stream_file_pass(posix->stream_files,
				       &from,
				       &to,
				       source->pointer.data,
				       source->pointer.length);
	io->unbecome_root(io->context);
	return error;
}

/* Give the target the data of a small source. */
static int rename_small(struct ntvfs_posix *posix,
			const struct ntvfs_object *object,
			const struct stream_place *source,
			const struct stream_place *target,
			TALLOC_CTX *mem_ctx)
{
	int fd = -1;
	int error;

	error = small_store(posix,
			    object,
			    target,
			    source->value.data,
			    source->size,
			    mem_ctx);
	if (xattr_does_not_fit(error)) {
		/* for a moment the data is there twice, if only for that */
		error = stream_move_to_file(posix,
					    object,
					    target,
					    source->value.data,
					    source->size,
					    &fd);
		if (error == 0) {
			close(fd);
		}
		return error;
	}
	if (error == 0 && target->has_pointer) {
		/* S2: this is the instant of the rename */
		error = ntvfs_xattr_remove(posix,
					   object,
					   target->pointer_name);
	}
	return error;
}

/* Of a stream with both forms only one counts (S2): remove the other. */
static int stale_form_remove(struct ntvfs_posix *posix,
			     const struct ntvfs_object *object,
			     struct stream_place *place)
{
	int error;

	if (!place->has_pointer || !place->has_small) {
		return 0;
	}
	error = ntvfs_xattr_remove(posix, object, place->small_name);
	if (error != 0 && error != ENODATA) {
		return error;
	}
	place->has_small = false;
	return 0;
}

/* Both have been found, and may be what they are. Locked. */
static int stream_rename(struct ntvfs_posix *posix,
			 const struct ntvfs_object *object,
			 struct stream_place *source,
			 struct stream_place *target,
			 TALLOC_CTX *mem_ctx)
{
	int error;

	error = stale_form_remove(posix, object, source);
	if (error != 0) {
		return error;
	}
	error = stale_form_remove(posix, object, target);
	if (error != 0) {
		return error;
	}

	/* the new name gets the data before the old one loses them */
	if (source->has_pointer) {
		error = rename_large(posix, object, source, target);
	} else {
		error = rename_small(posix, object, source, target, mem_ctx);
	}
	if (error == 0) {
		error = ntvfs_xattr_remove(posix,
					   object,
					   source->has_pointer
						   ? source->pointer_name
						   : source->small_name);
	}
	if (error != 0 && error != ENODATA) {
		rename_undo(posix, object, source, target, mem_ctx);
		return error;
	}

	if (target->has_pointer) {
		stream_file_drop(posix,
				 object,
				 target->name,
				 target->pointer.data,
				 target->pointer.length);
	}
	if (source->has_pointer && target->has_small) {
		/* S2: it does not count */
		(void)ntvfs_xattr_remove(posix, object, target->small_name);
	}
	return 0;
}

int ntvfs_posix_rename_stream(struct ntvfs_backend *backend,
			      const struct ntvfs_object *object,
			      const char *from,
			      const char *to,
			      bool replace)
{
	struct ntvfs_posix *posix = ntvfs_posix_of(backend);
	TALLOC_CTX *frame = talloc_new(posix);
	struct stream_place source;
	struct stream_place target;
	bool locked = false;
	int error;

	if (frame == NULL) {
		return ENOMEM;
	}
	error = streams_lock(posix, object);
	if (error != 0) {
		goto done;
	}
	locked = true;
	error = old_list_convert(posix, object, frame);
	if (error != 0) {
		goto done;
	}
	error = stream_find(posix, object, from, true, frame, &source);
	if (error != 0 || strcmp(from, to) == 0) {
		goto done;
	}
	if (strlen(to) > STREAM_NAME_MAX) {
		error = ENAMETOOLONG;
		goto done;
	}
	error = stream_find(posix, object, to, true, frame, &target);
	if (error == 0 && !replace) {
		error = EEXIST;
	}
	if (error == 0 || error == ENOENT) {
		error = stream_rename(posix, object, &source, &target, frame);
	}
done:
	if (locked) {
		streams_unlock(posix, object);
	}
	TALLOC_FREE(frame);
	return error;
}

static int list_add(TALLOC_CTX *mem_ctx,
		    struct ntvfs_stream_entry **streams,
		    size_t *count,
		    char *name,
		    const struct ntvfs_stream_data *data)
{
	struct ntvfs_stream_entry *grown = NULL;

	grown = talloc_realloc(mem_ctx,
			       *streams,
			       struct ntvfs_stream_entry,
			       *count + 1);
	if (grown == NULL) {
		return ENOMEM;
	}
	*streams = grown;
	grown[*count] = (struct ntvfs_stream_entry){
		.name = talloc_move(grown, &name),
		.size = data->size,
		.allocation_size = data->allocation_size,
	};
	*count += 1;
	return 0;
}

int ntvfs_posix_list_streams(struct ntvfs_backend *backend,
			     const struct ntvfs_object *object,
			     TALLOC_CTX *mem_ctx,
			     struct ntvfs_stream_entry **streams,
			     size_t *count)
{
	struct ntvfs_posix *posix = ntvfs_posix_of(backend);
	TALLOC_CTX *frame = NULL;
	const char *cached = NULL;
	char *names = NULL;
	const char *xattr_name = NULL;
	size_t length = 0;
	int error;

	*streams = NULL;
	*count = 0;
	error = ntvfs_xattr_names(posix, object, &cached, &length);
	if (error != 0 || length == 0) {
		return error;
	}
	frame = talloc_new(mem_ctx);
	if (frame == NULL) {
		return ENOMEM;
	}
	/* opening a stream may change what is cached */
	names = talloc_memdup(frame, cached, length);
	if (names == NULL) {
		error = ENOMEM;
		goto done;
	}
	for (xattr_name = names; xattr_name < names + length;
	     xattr_name += strlen(xattr_name) + 1)
	{
		struct ntvfs_stream_data data = {.fd = -1};
		char *pointer_name = NULL;
		char *name = NULL;
		bool lost = false;

		name = stream_of_xattr(frame,
				       xattr_name,
				       NTVFS_XATTR_STREAM_FILE_PREFIX);
		if (name == NULL) {
			name = stream_of_xattr(frame,
					       xattr_name,
					       NTVFS_XATTR_DOSSTREAM_PREFIX);
			if (name == NULL) {
				continue;
			}
			pointer_name = pointer_xattr_name(frame, name);
			if (pointer_name == NULL) {
				error = ENOMEM;
				goto done;
			}
			if (names_have(names, length, pointer_name)) {
				/* S2 */
				continue;
			}
		}
		error = stream_open(posix, object, name, 0, &data, &lost);
		if (error == ENOENT) {
			/* gone meanwhile */
			continue;
		}
		if (error != 0 && !lost) {
			goto done;
		}
		if (data.fd != -1) {
			close(data.fd);
		}
		/*
		 * One whose file is lost was complained of; it is shown,
		 * empty, so that nobody takes it for deleted.
		 */
		error = list_add(mem_ctx, streams, count, name, &data);
		if (error != 0) {
			goto done;
		}
	}
	error = 0;
done:
	if (error != 0) {
		TALLOC_FREE(*streams);
		*count = 0;
	}
	TALLOC_FREE(frame);
	return error;
}

void ntvfs_posix_forget_object(struct ntvfs_backend *backend,
			       const struct ntvfs_object *object)
{
	struct ntvfs_posix *posix = ntvfs_posix_of(backend);
	TALLOC_CTX *frame = talloc_new(posix);
	const char *xattr_name = NULL;
	const char *names = NULL;
	size_t length = 0;

	if (frame == NULL ||
	    ntvfs_xattr_names(posix, object, &names, &length) != 0)
	{
		goto done;
	}
	/* nobody can reach the object any more: there is nothing to lock */
	for (xattr_name = names; xattr_name < names + length;
	     xattr_name += strlen(xattr_name) + 1)
	{
		DATA_BLOB pointer = {.data = NULL};
		char *name = NULL;

		name = stream_of_xattr(frame,
				       xattr_name,
				       NTVFS_XATTR_STREAM_FILE_PREFIX);
		if (name == NULL ||
		    ntvfs_xattr_load(posix,
				     object,
				     xattr_name,
				     frame,
				     &pointer) != 0)
		{
			continue;
		}
		stream_file_drop(posix,
				 object,
				 name,
				 pointer.data,
				 pointer.length);
	}
done:
	ntvfs_xattr_forget(posix, object);
	TALLOC_FREE(frame);
}
