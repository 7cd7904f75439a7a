/*
 * Giving a stream another name.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "ntvfs_posix/stream_place.h"

/*
 * Take back what a rename has done to its target. Nothing more can be done if
 * that fails, too: the data is then under both names.
 */
static void rename_undo(struct ntvfs_posix *posix,
			const struct ntvfs_object *object,
			const struct ntvfs_stream_place *source,
			const struct ntvfs_stream_place *target,
			TALLOC_CTX *mem_ctx)
{
	const struct ntvfs_posix_io *io = posix->io;
	struct ntvfs_stream_claim from =
		ntvfs_stream_claim_of(posix, object, source->name);
	struct ntvfs_stream_claim to =
		ntvfs_stream_claim_of(posix, object, target->name);
	struct ntvfs_stream_place now;
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
	if (ntvfs_stream_find(
		    posix, object, target->name, false, mem_ctx, &now) != 0) {
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
		error = ntvfs_xattr_remove(
			posix, object, target->pointer_name, false);
	}
	if (error == 0 && now.has_pointer && !source->has_pointer &&
	    data_blob_cmp(&now.pointer, &target->pointer) != 0) {
		/* a file that was made for the small source */
		ntvfs_stream_drop_file(posix,
				       object,
				       target->name,
				       now.pointer.data,
				       now.pointer.length);
	}
	if (now.has_small && !target->has_small) {
		(void)ntvfs_xattr_remove(
			posix, object, target->small_name, false);
	}
}

/* Give the target the data of a large source: the file changes hands. */
static int rename_large(struct ntvfs_posix *posix,
			const struct ntvfs_object *object,
			const struct ntvfs_stream_place *source,
			const struct ntvfs_stream_place *target)
{
	const struct ntvfs_posix_io *io = posix->io;
	struct ntvfs_stream_claim from =
		ntvfs_stream_claim_of(posix, object, source->name);
	struct ntvfs_stream_claim to =
		ntvfs_stream_claim_of(posix, object, target->name);
	int error;

	error = ntvfs_xattr_set(posix,
				object,
				target->pointer_name,
				source->pointer.data,
				source->pointer.length,
				false);
	if (error != 0) {
		return error;
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
			const struct ntvfs_stream_place *source,
			const struct ntvfs_stream_place *target,
			TALLOC_CTX *mem_ctx)
{
	int fd = -1;
	int error;

	error = ntvfs_stream_store_small(posix,
					 object,
					 target,
					 source->value.data,
					 source->size,
					 mem_ctx);
	if (error == EFBIG) {
		/* for a moment the data is there twice, if only for that */
		error = ntvfs_stream_move_to_file(posix,
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
		error = ntvfs_xattr_remove(
			posix, object, target->pointer_name, false);
	}
	return error;
}

/* Of a stream with both forms only one counts (S2): remove the other. */
static int stale_form_remove(struct ntvfs_posix *posix,
			     const struct ntvfs_object *object,
			     struct ntvfs_stream_place *place)
{
	int error;

	error = ntvfs_stream_remove_shadowed(posix, object, place);
	if (error != 0 || !place->has_pointer || !place->has_small) {
		return error;
	}
	error = ntvfs_xattr_remove(
		posix, object, place->small_name, place->as_root);
	if (error != 0 && error != ENODATA) {
		return error;
	}
	place->has_small = false;
	return 0;
}

/* Both have been found, and may be what they are. Locked. */
static int stream_rename(struct ntvfs_posix *posix,
			 const struct ntvfs_object *object,
			 struct ntvfs_stream_place *source,
			 struct ntvfs_stream_place *target,
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
						   : source->small_name,
					   false);
	}
	if (error != 0 && error != ENODATA) {
		rename_undo(posix, object, source, target, mem_ctx);
		return error;
	}

	if (target->has_pointer) {
		ntvfs_stream_drop_file(posix,
				       object,
				       target->name,
				       target->pointer.data,
				       target->pointer.length);
	}
	if (source->has_pointer && target->has_small) {
		/* S2: it does not count */
		(void)ntvfs_xattr_remove(
			posix, object, target->small_name, false);
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
	struct ntvfs_stream_place source;
	struct ntvfs_stream_place target;
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
	if (error != 0) {
		goto done;
	}
	error = ntvfs_stream_find(posix, object, from, true, frame, &source);
	if (error != 0 || strcmp(from, to) == 0) {
		goto done;
	}
	error = ntvfs_stream_find(posix, object, to, true, frame, &target);
	if (error == 0 && !replace) {
		error = EEXIST;
	}
	if (error == 0 || error == ENOENT) {
		error = stream_rename(posix, object, &source, &target, frame);
	}
done:
	if (locked) {
		ntvfs_streams_unlock(posix, object);
	}
	TALLOC_FREE(frame);
	return error;
}
