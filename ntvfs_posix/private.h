/*
 * What the files of the posix backend share with each other.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_POSIX_PRIVATE_H
#define NTVFS_POSIX_PRIVATE_H

#include "ntvfs_posix/ntvfs_posix.h"
#include "ntvfs_posix/metadata_cache.h"
#include "ntvfs_posix/xattr_tdb.h"

#define NTVFS_XATTR_USER_PREFIX "user."

/* A stream in a file of its own: the xattr that names the file. */
#define NTVFS_XATTR_PRIVATE_PREFIX "user.ntvfs."
#define NTVFS_XATTR_STREAM_FILE_PREFIX "user.ntvfs.str."

/* No xattr has this name: trying to remove it tells who may change xattrs. */
#define NTVFS_XATTR_PROBE NTVFS_XATTR_PRIVATE_PREFIX "probe"

/* The most bytes of names of an object's own xattrs, each with its NUL. */
#define NTVFS_XATTR_NAMES_MAX 61440

/* The longest value of any xattr on Linux. */
#define NTVFS_XATTR_VALUE_MAX 65536

/* The longest name of any xattr on Linux. */
#define NTVFS_XATTR_NAME_MAX 255

struct ntvfs_overflow;
struct ntvfs_stream_files;

struct ntvfs_posix {
	struct ntvfs_backend backend;
	const struct ntvfs_posix_io *io;
	struct ntvfs_posix_config config;
	struct ntvfs_metadata_cache *cache;
	struct ntvfs_complaints *complaints;
	struct ntvfs_stream_files *stream_files;
	struct ntvfs_xattr_tdb *xattr_tdb;	/* NULL: the file system */
	struct ntvfs_overflow *overflow;	/* NULL: there can be none */
};

static inline struct ntvfs_posix *ntvfs_posix_of(struct ntvfs_backend *b)
{
	/* backend is the first member, as every backend's is */
	return (struct ntvfs_posix *)(void *)b;
}

/* Does the object lie on the file system that the share's top lies on? */
static inline bool ntvfs_is_home(const struct ntvfs_posix *posix,
				 const struct ntvfs_object *object)
{
	return posix->config.volume == 0 ||
	       posix->config.volume == object->volume;
}

/*
 * xattr_store.c: xattrs wherever the share keeps them. Each returns 0 or an
 * errno value; ENODATA: there is none of that name. Reading never returns
 * EINVAL. What the user may not do is not done as root unless as_root says so.
 *
 * Setting: EFBIG says that the object can hold no more; ENOSPC and EDQUOT that
 * the disk is full, or somebody's share of it. ENAMETOOLONG: no xattr can have
 * that name, and there is no other place for it.
 */
int ntvfs_xattr_get(struct ntvfs_posix *posix,
		    const struct ntvfs_object *object,
		    const char *name,
		    void *value,
		    size_t size,
		    size_t *length);
int ntvfs_xattr_set(struct ntvfs_posix *posix,
		    const struct ntvfs_object *object,
		    const char *name,
		    const void *value,
		    size_t length,
		    bool as_root);
int ntvfs_xattr_remove(struct ntvfs_posix *posix,
		       const struct ntvfs_object *object,
		       const char *name,
		       bool as_root);

/*
 * As ntvfs_xattr_set(), for what is no stream's: if it does not fit, streams
 * are moved out of the object until it does. (make_room.c)
 */
int ntvfs_xattr_set_making_room(struct ntvfs_posix *posix,
				const struct ntvfs_object *object,
				const char *name,
				const void *value,
				size_t length,
				bool as_root);

/*
 * Move a pointer to a stream's file out of the object. ENODATA: there is none
 * in it. The object's streams are locked.
 */
int ntvfs_xattr_move_pointer_out(struct ntvfs_posix *posix,
				 const struct ntvfs_object *object);

/* The object is gone, and its xattrs with it. */
void ntvfs_xattr_forget(struct ntvfs_posix *posix,
			const struct ntvfs_object *object);

/* The value on talloc, of any length. */
int ntvfs_xattr_load(struct ntvfs_posix *posix,
		     const struct ntvfs_object *object,
		     const char *name,
		     TALLOC_CTX *mem_ctx,
		     DATA_BLOB *value);

/*
 * All names, each with its NUL, packed. They belong to the metadata cache
 * and are good until the next call of the backend.
 */
int ntvfs_xattr_names(struct ntvfs_posix *posix,
		      const struct ntvfs_object *object,
		      const char **names,
		      size_t *length);

/* Whether there is a name among packed ones, exactly as it is. */
bool ntvfs_xattr_names_have(const char *names,
			    size_t length,
			    const char *wanted);

/* The key of the object in a tdb. */
struct ntvfs_xattr_tdb_key
ntvfs_xattr_key(struct ntvfs_posix *posix, const struct ntvfs_object *object);

/* Report a record that cannot be read, once for each object and name. */
void ntvfs_posix_complain(struct ntvfs_posix *posix,
			  const struct ntvfs_object *object,
			  const char *xattr_name,
			  NTSTATUS status,
			  const char *reason);

/* attributes.c */
int ntvfs_posix_get_attributes(struct ntvfs_backend *backend,
			       const struct ntvfs_object *object,
			       struct ntvfs_attributes *attributes);
int ntvfs_posix_set_attributes(struct ntvfs_backend *backend,
			       const struct ntvfs_object *object,
			       const struct ntvfs_attributes *attributes);
void ntvfs_posix_note_change(struct ntvfs_backend *backend,
			     const struct ntvfs_object *object);

/* security.c */
int ntvfs_posix_get_security_descriptor(struct ntvfs_backend *backend,
					const struct ntvfs_object *object,
					TALLOC_CTX *mem_ctx,
					struct security_descriptor **sd);
int ntvfs_posix_set_security_descriptor(struct ntvfs_backend *backend,
					const struct ntvfs_object *object,
					const struct security_descriptor *sd);

/* eas.c */
int ntvfs_posix_list_eas(struct ntvfs_backend *backend,
			 const struct ntvfs_object *object,
			 TALLOC_CTX *mem_ctx,
			 char **names,
			 size_t *length);
int ntvfs_posix_get_ea(struct ntvfs_backend *backend,
		       const struct ntvfs_object *object,
		       const char *name,
		       void *buffer,
		       size_t size,
		       size_t *length);
int ntvfs_posix_set_ea(struct ntvfs_backend *backend,
		       const struct ntvfs_object *object,
		       const char *name,
		       const void *value,
		       size_t length);

/* streams.c, stream_rename.c */
void ntvfs_posix_owner_changed(struct ntvfs_backend *backend,
			       const struct ntvfs_object *object);
void ntvfs_posix_forget_object(struct ntvfs_backend *backend,
			       const struct ntvfs_object *object);
int ntvfs_posix_list_streams(struct ntvfs_backend *backend,
			     const struct ntvfs_object *object,
			     TALLOC_CTX *mem_ctx,
			     struct ntvfs_stream_entry **streams,
			     size_t *count);
int ntvfs_posix_open_stream(struct ntvfs_backend *backend,
			    const struct ntvfs_object *object,
			    const char *name,
			    uint32_t flags,
			    struct ntvfs_stream_data *data);
int ntvfs_posix_read_stream(struct ntvfs_backend *backend,
			    const struct ntvfs_object *object,
			    const char *name,
			    void *buffer,
			    size_t length,
			    uint64_t offset,
			    size_t *count);
int ntvfs_posix_write_stream(struct ntvfs_backend *backend,
			     const struct ntvfs_object *object,
			     const char *name,
			     const void *buffer,
			     size_t length,
			     uint64_t offset);
int ntvfs_posix_truncate_stream(struct ntvfs_backend *backend,
				const struct ntvfs_object *object,
				const char *name,
				uint64_t size);
int ntvfs_posix_remove_stream(struct ntvfs_backend *backend,
			      const struct ntvfs_object *object,
			      const char *name);
int ntvfs_posix_rename_stream(struct ntvfs_backend *backend,
			      const struct ntvfs_object *object,
			      const char *from,
			      const char *to,
			      bool replace);

#endif /* NTVFS_POSIX_PRIVATE_H */
