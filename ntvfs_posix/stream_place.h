/*
 * Where named streams are: user.DosStream.NAME:$DATA for small ones, as stock
 * streams_xattr keeps them, and a file of its own for each large one.
 *
 * The value of a small stream has one NUL byte behind its data, since some
 * file systems have no empty xattrs. Samba 4's own file server wrote none; it
 * kept a list of streams with their sizes in user.DosStreams, by which its
 * values are recognised. The list goes away when a stream of the object is
 * first changed.
 *
 * Its names of xattrs had no type, either, as stock's have with "store stream
 * type = no". Such a one counts if there is none with the type. What that
 * server wrote gets the type with the NUL; what stock wrote stays as it is,
 * and is told by its NUL if it is in no list.
 *
 * A large stream has user.ntvfs.str.NAME:$DATA, which names its file; if that
 * does not fit into the object it is elsewhere (overflow.h). When
 * a stream moves from one form to the other both exist for a moment: the file
 * then counts (invariant S2), and the small one is removed by whoever changes
 * the stream next.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_STREAM_PLACE_H
#define NTVFS_STREAM_PLACE_H

#include "ntvfs_posix/private.h"
#include "ntvfs_posix/stream_files.h"

#define NTVFS_STREAM_TYPE ":$DATA"

/* What is known of one stream while the object's streams are locked. */
struct ntvfs_stream_place {
	const char *name;   /* of the stream, as the caller has it */
	char *small_name;   /* the xattr of its data */
	char *typed_name;   /* what that is called where it is made anew */
	char *pointer_name; /* the xattr that names its file */
	char *shadowed_name; /* an older one, which does not count, or NULL */
	bool has_small;
	bool has_pointer;
	bool as_root;	 /* whoever asks may not change streams himself */
	bool is_old;	 /* of small: there is no NUL */
	DATA_BLOB value; /* of small: with or without the NUL */
	size_t size;	 /* of small, without the NUL */
	DATA_BLOB pointer;
};

/* "NAME" to "user.ntvfs.str.NAME:$DATA"; NULL: no memory. */
char *ntvfs_stream_pointer_name(TALLOC_CTX *mem_ctx, const char *name);

/* "user.DosStream.NAME:$DATA" to "NAME"; NULL if it is no such name. */
char *ntvfs_stream_of_xattr(TALLOC_CTX *mem_ctx,
			    const char *xattr_name,
			    const char *prefix);

/*
 * All of the following return 0 or an errno value. What changes a stream is
 * called with the object's streams locked, and so is what opens its file.
 */

/*
 * Keep other processes from changing the object's streams. What was cached of
 * the object is forgotten at both ends.
 */
int ntvfs_streams_lock(struct ntvfs_posix *posix,
		       const struct ntvfs_object *object);
void ntvfs_streams_unlock(struct ntvfs_posix *posix,
			  const struct ntvfs_object *object);

/*
 * Where a stream is. With load_value the small value is read too, else only
 * its size. ENOENT: nowhere; the names in place are set all the same.
 */
int ntvfs_stream_find(struct ntvfs_posix *posix,
		      const struct ntvfs_object *object,
		      const char *name,
		      bool load_value,
		      TALLOC_CTX *mem_ctx,
		      struct ntvfs_stream_place *place);

/* Remove what does not count, before what does goes. */
int ntvfs_stream_remove_shadowed(struct ntvfs_posix *posix,
				 const struct ntvfs_object *object,
				 struct ntvfs_stream_place *place);

/* Who claims the file of a stream. */
struct ntvfs_stream_claim
ntvfs_stream_claim_of(struct ntvfs_posix *posix,
		      const struct ntvfs_object *object,
		      const char *name);

/* Store the data as a small stream. EFBIG: they do not fit. */
int ntvfs_stream_store_small(struct ntvfs_posix *posix,
			     const struct ntvfs_object *object,
			     const struct ntvfs_stream_place *place,
			     const uint8_t *data,
			     size_t size,
			     TALLOC_CTX *mem_ctx);

/*
 * Give a stream a file with these data, and remove its small form. *fd is the
 * caller's to close. EFBIG, ENAMETOOLONG: there is no place for a pointer to
 * it, neither in the object nor elsewhere (xattr_store.c).
 */
int ntvfs_stream_move_to_file(struct ntvfs_posix *posix,
			      const struct ntvfs_object *object,
			      const struct ntvfs_stream_place *place,
			      const void *data,
			      size_t length,
			      int *fd);

/*
 * Open the file of a stream; a copied object's gets one of its own (S1).
 * *lost: there is no such file (EIO).
 */
int ntvfs_stream_open_file(struct ntvfs_posix *posix,
			   const struct ntvfs_object *object,
			   const struct ntvfs_stream_place *place,
			   bool *lost,
			   int *fd);

/* Remove the file of a stream that no xattr names any more. */
void ntvfs_stream_drop_file(struct ntvfs_posix *posix,
			    const struct ntvfs_object *object,
			    const char *name,
			    const void *pointer,
			    size_t pointer_length);

/*
 * Make the values of Samba 4's own file server like all others, then remove
 * its list.
 */
int ntvfs_streams_convert_old(struct ntvfs_posix *posix,
			      const struct ntvfs_object *object,
			      TALLOC_CTX *mem_ctx);

#endif /* NTVFS_STREAM_PLACE_H */
