/*
 * Making room in an object: where all xattrs of an inode share a block, a
 * security descriptor or an EA may not fit because of streams. They can be
 * kept elsewhere and it cannot, so they are moved out of its way.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "ntvfs_posix/stream_place.h"

/*
 * File systems that have a place for all xattrs of an inode together have one
 * of at most a block. A value that is larger does not fit there however much
 * is moved.
 */
#define PLACE_MAX 4096

/* The small stream that takes most room; NULL: there is none. */
static int largest_find(struct ntvfs_posix *posix,
			const struct ntvfs_object *object,
			TALLOC_CTX *mem_ctx,
			char **largest)
{
	const char *names = NULL;
	const char *xattr_name = NULL;
	size_t names_length = 0;
	size_t most = 0;
	int error;

	*largest = NULL;
	error = ntvfs_xattr_names(posix, object, &names, &names_length);
	if (error != 0) {
		return error;
	}
	for (xattr_name = names; xattr_name < names + names_length;
	     xattr_name += strlen(xattr_name) + 1) {
		char *name = NULL;
		size_t length = 0;

		name = ntvfs_stream_of_xattr(mem_ctx,
					     xattr_name,
					     NTVFS_XATTR_DOSSTREAM_PREFIX);
		if (name == NULL) {
			continue;
		}
		error = ntvfs_xattr_get(posix,
					object,
					xattr_name,
					NULL,
					0,
					&length);
		if (error == ENODATA) {
			/* gone meanwhile: that makes room, too */
			continue;
		}
		if (error != 0) {
			return error;
		}
		length += strlen(name);
		if (length >= most) {
			most = length;
			*largest = name;
		}
	}
	return 0;
}

/* Move one thing out of the object. ENODATA: nothing is left. Locked. */
static int move_out(struct ntvfs_posix *posix,
		    const struct ntvfs_object *object,
		    TALLOC_CTX *mem_ctx)
{
	struct ntvfs_stream_place place;
	char *name = NULL;
	int fd = -1;
	int error;

	error = largest_find(posix, object, mem_ctx, &name);
	if (error != 0) {
		return error;
	}
	if (name == NULL) {
		return ntvfs_xattr_move_pointer_out(posix, object);
	}
	error = ntvfs_stream_find(posix, object, name, true, mem_ctx, &place);
	if (error != 0) {
		return error == ENOENT ? 0 : error;
	}
	/* who may set a descriptor need not be allowed to change streams */
	place.as_root = true;
	error = ntvfs_stream_remove_shadowed(posix, object, &place);
	if (error != 0) {
		return error;
	}
	if (place.has_pointer) {
		/* S2: the small form does not count */
		return ntvfs_xattr_remove(posix,
					  object,
					  place.small_name,
					  true);
	}
	error = ntvfs_stream_move_to_file(posix,
					  object,
					  &place,
					  place.value.data,
					  place.size,
					  &fd);
	if (fd != -1) {
		close(fd);
	}
	return error;
}

int ntvfs_xattr_set_making_room(struct ntvfs_posix *posix,
				const struct ntvfs_object *object,
				const char *name,
				const void *value,
				size_t length,
				bool as_root)
{
	TALLOC_CTX *frame = NULL;
	bool locked = false;
	int moved = 0;
	int error;

	error = ntvfs_xattr_set(posix, object, name, value, length, as_root);
	if (error != EFBIG || length > PLACE_MAX) {
		return error;
	}
	frame = talloc_new(posix);
	if (frame == NULL) {
		return ENOMEM;
	}
	moved = ntvfs_streams_lock(posix, object);
	locked = moved == 0;
	while (error == EFBIG && moved == 0) {
		moved = move_out(posix, object, frame);
		if (moved == 0) {
			error = ntvfs_xattr_set(posix,
						object,
						name,
						value,
						length,
						as_root);
		}
	}
	if (locked) {
		ntvfs_streams_unlock(posix, object);
	}
	if (error == EFBIG && (moved == ENOSPC || moved == EDQUOT)) {
		/* there would be room if there were some on the disk */
		error = moved;
	}
	TALLOC_FREE(frame);
	return error;
}
