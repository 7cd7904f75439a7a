/*
 * The seam between the NT semantics and a storage backend.
 *
 * A backend stores and finds objects: files and directories with their
 * metadata, security descriptor, extended attributes and named streams. It
 * knows no SMB and no policy. Every NT rule (what a name may be, what moves
 * which time, who may do what) is decided by the caller, once, for all
 * backends; see docs/ARCHITECTURE.md.
 *
 * Conventions of all functions here:
 *
 * - They return 0 or a positive errno value; nothing is changed when they
 *   return an error, unless the function says otherwise. One table turns
 *   errno values into NTSTATUS, at the caller's.
 * - Memory that is returned hangs on the talloc context that was passed.
 * - Times are NTTIME: 100 ns since 1601-01-01 UTC, any unsigned 64-bit
 *   value.
 * - A backend may be used by many processes at the same time. In one
 *   process, a share is used by one thread.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_BACKEND_H
#define NTVFS_BACKEND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include <talloc.h>

struct security_descriptor;
struct ntvfs_backend;

/*
 * An open object, named by the caller for the time of one call.
 *
 * The pair of volume and file_id is the object's identity: what is cached of
 * it is found by them. change_stamp is the time of the object's last change
 * of any kind as the file system reports it now; the backend trusts what it
 * cached under the same stamp, so a caller that has not just asked for it
 * must do so before the call.
 */
struct ntvfs_object {
	uint64_t volume;
	uint64_t file_id;
	struct timespec change_stamp;
	struct timespec write_stamp;	/* of the data: last write */
	bool is_directory;
	void *handle;			/* what the backend's I/O table takes */
};

/* Which fields of struct ntvfs_attributes count. */
#define NTVFS_VALID_ATTRIBUTES  0x01u
#define NTVFS_VALID_CREATE_TIME 0x02u
#define NTVFS_VALID_CHANGE_TIME 0x04u

/* The part of a file's basic information that POSIX has no place for. */
struct ntvfs_attributes {
	uint32_t valid;
	uint32_t attributes;	/* FILE_ATTRIBUTE_*, MS-FSCC 2.6 */
	uint64_t create_time;
	uint64_t change_time;
};

/*
 * A named stream as a listing shows it. The name has no colon and no type:
 * "Zone.Identifier".
 */
struct ntvfs_stream_entry {
	const char *name;
	uint64_t size;
	uint64_t allocation_size;
};

/*
 * How the data of a stream is reached. A small stream is part of the object
 * and read and written with read_stream and write_stream. A large one is an
 * open file; its data is the descriptor's data.
 */
struct ntvfs_stream_data {
	int fd;			/* -1: part of the object */
	uint64_t size;
	uint64_t allocation_size;
};

#define NTVFS_STREAM_CREATE    0x01u	/* make it if it is not there */
#define NTVFS_STREAM_EXCLUSIVE 0x02u	/* with CREATE: EEXIST if it is */
#define NTVFS_STREAM_TRUNCATE  0x04u	/* empty it */
#define NTVFS_STREAM_LOOK      0x08u	/* alone: one whose data are lost is
					   empty, as in a listing */

struct ntvfs_backend_ops {
	const char *name;

	/*
	 * What is stored of attributes, create and change time. Nothing
	 * stored is success with valid == 0: the object has its defaults.
	 * A stored record that cannot be read is reported once for each
	 * object and is as if nothing were stored.
	 *
	 * The change time is valid only while it is the object's last
	 * change: one that was set and then followed by a write is not
	 * returned.
	 */
	int (*get_attributes)(struct ntvfs_backend *backend,
			      const struct ntvfs_object *object,
			      struct ntvfs_attributes *attributes);

	/*
	 * Store the valid fields, all or none of them; the others keep what
	 * was stored, except that a change time set before is forgotten:
	 * setting something is a change.
	 *
	 * ENOSPC, EDQUOT; ENOTSUP where the store has no place for them.
	 */
	int (*set_attributes)(struct ntvfs_backend *backend,
			      const struct ntvfs_object *object,
			      const struct ntvfs_attributes *attributes);

	/*
	 * The object has been changed by other means than this table (a
	 * rename, an EA): a change time set before is forgotten. Best
	 * effort: no error is returned, what could not be stored is
	 * reported.
	 */
	void (*note_change)(struct ntvfs_backend *backend,
			    const struct ntvfs_object *object);

	/*
	 * The object has lost its last name: what is kept of it outside of
	 * it (the files of large streams, a record in a tdb) goes. Best
	 * effort: what stays takes room, but comes back for no other object.
	 */
	void (*forget_object)(struct ntvfs_backend *backend,
			      const struct ntvfs_object *object);

	/*
	 * The object has got another owner or group on the file system:
	 * what is kept of it outside of it is accounted to them, too. Best
	 * effort.
	 */
	void (*owner_changed)(struct ntvfs_backend *backend,
			      const struct ntvfs_object *object);

	/*
	 * The stored security descriptor, complete. ENODATA: none is
	 * stored. EINVAL: what is stored cannot be read (it was reported);
	 * the caller must not let anybody in because of that.
	 */
	int (*get_security_descriptor)(struct ntvfs_backend *backend,
				       const struct ntvfs_object *object,
				       TALLOC_CTX *mem_ctx,
				       struct security_descriptor **sd);

	/*
	 * Store a complete security descriptor. The old one stays when it
	 * fails. EFBIG: larger than this store can hold.
	 */
	int (*set_security_descriptor)(struct ntvfs_backend *backend,
				       const struct ntvfs_object *object,
				       const struct security_descriptor *sd);

	/*
	 * Extended attributes of SMB clients, without any of what the
	 * backend keeps for itself. Names have no prefix.
	 *
	 * list_eas: names with a NUL behind each, packed; *length is the
	 * sum of their bytes.
	 * get_ea: the value goes to buffer, its length to *length; ERANGE:
	 * it is longer than size. With size 0 only the length is told.
	 * ENODATA: there is none of that name.
	 * set_ea: value NULL removes it (ENODATA as above). EPERM: the name
	 * is one that the backend uses for itself.
	 */
	int (*list_eas)(struct ntvfs_backend *backend,
			const struct ntvfs_object *object,
			TALLOC_CTX *mem_ctx,
			char **names,
			size_t *length);
	int (*get_ea)(struct ntvfs_backend *backend,
		      const struct ntvfs_object *object,
		      const char *name,
		      void *buffer,
		      size_t size,
		      size_t *length);
	int (*set_ea)(struct ntvfs_backend *backend,
		      const struct ntvfs_object *object,
		      const char *name,
		      const void *value,
		      size_t length);

	/* All named streams, in no particular order. */
	int (*list_streams)(struct ntvfs_backend *backend,
			    const struct ntvfs_object *object,
			    TALLOC_CTX *mem_ctx,
			    struct ntvfs_stream_entry **streams,
			    size_t *count);

	/*
	 * Find or make a stream; name as in struct ntvfs_stream_entry. A
	 * descriptor that is returned is the caller's to close. ENOENT: it
	 * is not there. ENAMETOOLONG: a stream that is to be made has a
	 * longer name than the store can hold. EFBIG: the object can hold no
	 * more. EIO: what the store knows of the stream leads nowhere (it
	 * was reported). ENOTSUP: the store has no streams.
	 */
	int (*open_stream)(struct ntvfs_backend *backend,
			   const struct ntvfs_object *object,
			   const char *name,
			   uint32_t flags,
			   struct ntvfs_stream_data *data);

	/*
	 * Read and write a stream that is part of the object. ESTALE: it
	 * is (or has become) an open file: open_stream again without flags
	 * and use the descriptor. A write that makes the stream larger than
	 * what fits moves it and returns ESTALE with nothing written but
	 * everything kept.
	 */
	int (*read_stream)(struct ntvfs_backend *backend,
			   const struct ntvfs_object *object,
			   const char *name,
			   void *buffer,
			   size_t length,
			   uint64_t offset,
			   size_t *count);
	int (*write_stream)(struct ntvfs_backend *backend,
			    const struct ntvfs_object *object,
			    const char *name,
			    const void *buffer,
			    size_t length,
			    uint64_t offset);
	int (*truncate_stream)(struct ntvfs_backend *backend,
			       const struct ntvfs_object *object,
			       const char *name,
			       uint64_t size);

	/* Remove a stream. ENOENT: it is not there. */
	int (*remove_stream)(struct ntvfs_backend *backend,
			     const struct ntvfs_object *object,
			     const char *name);

	/*
	 * Give a stream another name, replacing the stream of that name if
	 * replace is set, else EEXIST. At every instant the data is found
	 * under the old or the new name or both. Should an error of the
	 * store be followed by another one while the change is taken back,
	 * it is under both, each of them a stream of its own.
	 */
	int (*rename_stream)(struct ntvfs_backend *backend,
			     const struct ntvfs_object *object,
			     const char *from,
			     const char *to,
			     bool replace);
};

struct ntvfs_backend {
	const struct ntvfs_backend_ops *ops;
	/* whether forget_object has something to do for most objects */
	bool keeps_outside;
};

#endif /* NTVFS_BACKEND_H */
