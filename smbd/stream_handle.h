/*
 * The open handle of a named stream.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_SMBD_STREAM_HANDLE_H
#define NTVFS_SMBD_STREAM_HANDLE_H

#include "smbd/vfs_ntvfs.h"

struct ntvfs_stream_handle {
	/*
	 * The descriptor is that of the stream's own file. Otherwise it is
	 * a placeholder, and the data are part of the base file's metadata.
	 */
	bool is_file;
};

/* NULL: the handle is none of a stream, or not one of ours. */
struct ntvfs_stream_handle *
ntvfs_stream_handle_of(struct vfs_handle_struct *handle,
		       const struct files_struct *fsp);

/* The bare name on talloc_tos(); -1 with errno set if it is no name. */
int ntvfs_stream_name_of(const struct smb_filename *smb_fname, char **name);

/*
 * The backend's open_stream for a file's stream, as root if the file's
 * descriptor allows it. Returns -1 with errno set if that fails.
 */
int ntvfs_stream_open_data(struct vfs_handle_struct *handle,
			   struct files_struct *base_fsp,
			   const char *name,
			   uint32_t flags,
			   struct ntvfs_stream_data *data);

/*
 * The file that has the stream, when smbd gives only a name. *to_free is
 * the caller's to free. NULL with errno set if it is not found.
 */
struct files_struct *ntvfs_stream_base_of(struct vfs_handle_struct *handle,
					  const struct smb_filename *smb_fname,
					  struct smb_filename **to_free);

/*
 * The stream has got a file meanwhile, open as fd: let the handle's
 * descriptor be that file's. fd is closed. Returns -1 with errno set, and
 * the handle as it was, if that fails.
 */
int ntvfs_stream_becomes_file(struct vfs_handle_struct *handle,
			      struct files_struct *fsp,
			      int fd);

/* How many handles this process has open on a stream of an object. */
size_t ntvfs_stream_own_handles(struct vfs_handle_struct *handle,
				const struct ntvfs_object *object,
				const char *name);

#endif /* NTVFS_SMBD_STREAM_HANDLE_H */
