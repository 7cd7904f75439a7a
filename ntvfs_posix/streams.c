/*
 * Named streams: open, read, write, remove, list. What they are made of is in
 * stream_place.h.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "ntvfs_posix/stream_place.h"

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
	struct ntvfs_stream_place place;
	int error;

	/* an old list may have another size for a stream of that name */
	error = ntvfs_streams_convert_old(posix, object, mem_ctx);
	if (error != 0) {
		return error;
	}
	error = ntvfs_stream_find(posix, object, name, false, mem_ctx, &place);
	if (error != 0 && error != ENOENT) {
		return error;
	}
	error = ntvfs_stream_store_small(
		posix, object, &place, NULL, 0, mem_ctx);
	if (error == EFBIG) {
		error = ntvfs_stream_move_to_file(
			posix, object, &place, NULL, 0, fd);
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
	struct ntvfs_stream_place place;
	bool locked = false;
	int fd = -1;
	int error;

	*data = (struct ntvfs_stream_data){.fd = -1};
	*lost = false;
	if (frame == NULL) {
		return ENOMEM;
	}
	error = ntvfs_stream_find(posix, object, name, false, frame, &place);
	if ((flags & changing) || (error == 0 && place.has_pointer)) {
		/* what lacks the claim gets a new file: locked, too */
		error = ntvfs_streams_lock(posix, object);
		if (error != 0) {
			goto done;
		}
		locked = true;
		error = ntvfs_stream_find(
			posix, object, name, false, frame, &place);
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
		error = ntvfs_stream_open_file(
			posix, object, &place, lost, &fd);
		if (*lost && (flags & NTVFS_STREAM_LOOK)) {
			error = 0;
			goto done;
		}
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
		ntvfs_streams_unlock(posix, object);
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

	return stream_open(
		ntvfs_posix_of(backend), object, name, flags, data, &lost);
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
	struct ntvfs_stream_place place;
	int error;

	*count = 0;
	if (frame == NULL) {
		return ENOMEM;
	}
	error = ntvfs_stream_find(posix, object, name, true, frame, &place);
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
	struct ntvfs_stream_place place;
	uint8_t *content = NULL;
	uint64_t new_size;
	bool locked = false;
	int fd = -1;
	int error;

	if (frame == NULL) {
		return ENOMEM;
	}
	error = ntvfs_streams_lock(posix, object);
	if (error != 0) {
		goto done;
	}
	locked = true;
	error = ntvfs_streams_convert_old(posix, object, frame);
	if (error != 0) {
		goto done;
	}
	error = ntvfs_stream_find(posix, object, name, true, frame, &place);
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
		error = ntvfs_stream_store_small(
			posix, object, &place, content, new_size, frame);
		if (error != EFBIG) {
			goto done;
		}
	}
	error = ntvfs_stream_move_to_file(
		posix, object, &place, place.value.data, place.size, &fd);
	if (error == 0) {
		close(fd);
		error = ESTALE;
	}
done:
	if (locked) {
		ntvfs_streams_unlock(posix, object);
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
	return stream_change(
		ntvfs_posix_of(backend), object, name, NULL, 0, size, true);
}

/* Remove both forms of a stream. Locked. */
static int stream_remove_forms(struct ntvfs_posix *posix,
			       const struct ntvfs_object *object,
			       struct ntvfs_stream_place *place)
{
	int error;

	error = ntvfs_stream_remove_shadowed(posix, object, place);
	if (error != 0) {
		return error;
	}
	/* S2: the form that counts goes last */
	if (place->has_small) {
		error = ntvfs_xattr_remove(
			posix, object, place->small_name, place->as_root);
		if (error != 0 && error != ENODATA) {
			return error;
		}
	}
	if (!place->has_pointer) {
		return 0;
	}
	error = ntvfs_xattr_remove(
		posix, object, place->pointer_name, false);
	if (error != 0) {
		return error;
	}
	ntvfs_stream_drop_file(posix,
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
	struct ntvfs_stream_place place;
	bool locked = false;
	int error;

	if (frame == NULL) {
		return ENOMEM;
	}
	error = ntvfs_streams_lock(posix, object);
	if (error != 0) {
		goto done;
	}
	locked = true;
	error = ntvfs_streams_convert_old(posix, object, frame);
	if (error != 0 && error != EFBIG && error != ENOSPC &&
	    error != EDQUOT)
	{
		/* want of room must not keep streams from going */
		goto done;
	}
	error = ntvfs_stream_find(posix, object, name, false, frame, &place);
	if (error == 0) {
		error = stream_remove_forms(posix, object, &place);
	}
done:
	if (locked) {
		ntvfs_streams_unlock(posix, object);
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

	grown = talloc_realloc(
		mem_ctx, *streams, struct ntvfs_stream_entry, *count + 1);
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
	     xattr_name += strlen(xattr_name) + 1) {
		struct ntvfs_stream_data data = {.fd = -1};
		char *pointer_name = NULL;
		char *typed = NULL;
		char *name = NULL;
		bool lost = false;

		name = ntvfs_stream_of_xattr(
			frame, xattr_name, NTVFS_XATTR_STREAM_FILE_PREFIX);
		if (name == NULL) {
			name = ntvfs_stream_of_xattr(
				frame,
				xattr_name,
				NTVFS_XATTR_DOSSTREAM_PREFIX);
			if (name == NULL) {
				continue;
			}
			typed = talloc_asprintf(frame,
						NTVFS_XATTR_DOSSTREAM_PREFIX
						"%s" NTVFS_STREAM_TYPE,
						name);
			pointer_name = ntvfs_stream_pointer_name(frame, name);
			if (pointer_name == NULL || typed == NULL) {
				error = ENOMEM;
				goto done;
			}
			if (strcmp(xattr_name, typed) != 0 &&
			    ntvfs_xattr_names_have(names, length, typed)) {
				/* an older one of that name */
				continue;
			}
			if (ntvfs_xattr_names_have(
				    names, length, pointer_name)) {
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

/* Account the file of a stream, if it has one, to the object's owner. */
static void stream_chown(struct ntvfs_posix *posix,
			 const struct ntvfs_object *object,
			 const char *name,
			 uid_t uid,
			 gid_t gid)
{
	const struct ntvfs_posix_io *io = posix->io;
	TALLOC_CTX *frame = talloc_new(posix);
	struct ntvfs_stream_place place;
	bool lost = false;
	int fd = -1;

	if (frame == NULL || ntvfs_streams_lock(posix, object) != 0) {
		TALLOC_FREE(frame);
		return;
	}
	if (ntvfs_stream_find(posix, object, name, false, frame, &place) ==
		    0 &&
	    place.has_pointer &&
	    ntvfs_stream_open_file(posix, object, &place, &lost, &fd) == 0) {
		io->become_root(io->context);
		if (fchown(fd, uid, gid) != 0) {
			ntvfs_posix_complain(posix,
					     object,
					     place.pointer_name,
					     NT_STATUS_ACCESS_DENIED,
					     "names a file that cannot be "
					     "given to the object's owner");
		}
		io->unbecome_root(io->context);
		close(fd);
	}
	ntvfs_streams_unlock(posix, object);
	TALLOC_FREE(frame);
}

void ntvfs_posix_owner_changed(struct ntvfs_backend *backend,
			       const struct ntvfs_object *object)
{
	struct ntvfs_posix *posix = ntvfs_posix_of(backend);
	const struct ntvfs_posix_io *io = posix->io;
	TALLOC_CTX *frame = talloc_new(posix);
	const char *xattr_name = NULL;
	const char *cached = NULL;
	char *names = NULL;
	size_t length = 0;
	uid_t uid = 0;
	gid_t gid = 0;

	if (frame == NULL ||
	    io->get_owner(io->context, object->handle, &uid, &gid) != 0 ||
	    ntvfs_xattr_names(posix, object, &cached, &length) != 0 ||
	    length == 0) {
		goto done;
	}
	/* the lock of the streams forgets what is cached */
	names = talloc_memdup(frame, cached, length);
	if (names == NULL) {
		goto done;
	}
	for (xattr_name = names; xattr_name < names + length;
	     xattr_name += strlen(xattr_name) + 1) {
		char *name = ntvfs_stream_of_xattr(
			frame, xattr_name, NTVFS_XATTR_STREAM_FILE_PREFIX);

		if (name != NULL) {
			stream_chown(posix, object, name, uid, gid);
		}
	}
done:
	TALLOC_FREE(frame);
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
	    ntvfs_xattr_names(posix, object, &names, &length) != 0) {
		goto done;
	}
	/* nobody can reach the object any more: there is nothing to lock */
	for (xattr_name = names; xattr_name < names + length;
	     xattr_name += strlen(xattr_name) + 1) {
		DATA_BLOB pointer = {.data = NULL};
		char *name = NULL;

		name = ntvfs_stream_of_xattr(
			frame, xattr_name, NTVFS_XATTR_STREAM_FILE_PREFIX);
		if (name == NULL ||
		    ntvfs_xattr_load(
			    posix, object, xattr_name, frame, &pointer) != 0) {
			continue;
		}
		ntvfs_stream_drop_file(
			posix, object, name, pointer.data, pointer.length);
	}
done:
	ntvfs_xattr_forget(posix, object);
	TALLOC_FREE(frame);
}
