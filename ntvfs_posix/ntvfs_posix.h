/*
 * The posix backend: ordinary files, NT metadata in extended attributes.
 *
 * What is kept where is in docs/ARCHITECTURE.md; all of it that stock Samba
 * has a place for is where stock Samba reads and writes it.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_POSIX_H
#define NTVFS_POSIX_H

#include "ntvfs_backend.h"
#include "ntvfs_posix/posix_io.h"
#include "xattr_idl/ntvfs_xattr_blob.h"

/* The folder at the top of a share that holds what is no client's. */
#define NTVFS_POSIX_PRIVATE_FOLDER ".ntvfs"

enum ntvfs_posix_xattr_store {
	NTVFS_XATTR_STORE_FS,	/* extended attributes of the file system */
	NTVFS_XATTR_STORE_TDB	/* a tdb in the private folder */
};

struct ntvfs_posix_config {
	/* The top folder of the share, absolute. */
	const char *path;

	/*
	 * The volume of the objects of the file system that path lies on.
	 * Other file systems may be mounted in the share: what is said of
	 * this one is not taken for true there. 0: it is the only one.
	 */
	uint64_t volume;

	enum ntvfs_posix_xattr_store xattr_store;

	/*
	 * A file that is locked, a byte for each object, while a stream is
	 * changed, and whose first page is memory that all share. Every
	 * process that serves the share names the same one.
	 */
	const char *lock_path;

	/* A stream larger than this many bytes goes to a file of its own. */
	size_t stream_xattr_max;

	/*
	 * Whether every change gives an object another change stamp. If
	 * not, what is as young as the clock is coarse is not cached.
	 */
	bool exact_stamps;

	/*
	 * Whether something below keeps xattrs outside of the file system,
	 * so that their changes leave the object's stamp alone. Nothing is
	 * cached then.
	 */
	bool xattrs_elsewhere;

	/*
	 * Whether a file descriptor of ours is what the system below the
	 * share uses too. If not there are no files for large streams.
	 */
	bool kernel_files;

	/* How many objects to remember the metadata of, in one process. */
	size_t cached_objects;

	/* Called once for each record that cannot be read. */
	ntvfs_complaint_fn complain;
	void *complain_data;
};

/*
 * Make a backend for one share. io must live as long as the backend does;
 * config is copied. Returns 0, ENOMEM, EINVAL (a wrong config), or what
 * opening the tdb of the xattr store, or that of pointers that did not fit
 * into their objects, said.
 */
int ntvfs_posix_create(TALLOC_CTX *mem_ctx,
		       const struct ntvfs_posix_io *io,
		       const struct ntvfs_posix_config *config,
		       struct ntvfs_backend **backend);

/*
 * Whether the file system of the directory has user xattrs: *has is set.
 * Nothing is written. Returns 0 or why it could not be told (EIO...).
 */
int ntvfs_posix_probe_xattrs(const struct ntvfs_posix_io *io,
			     void *directory_handle,
			     bool *has);

/*
 * Whether an xattr name is one of the backend's own, so that no client may
 * use it as an EA. The name begins with "user.".
 */
bool ntvfs_posix_is_private_xattr(const char *name);

#endif /* NTVFS_POSIX_H */
