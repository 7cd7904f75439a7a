/*
 * The posix backend: making one, and its table of operations.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <unistd.h>
#include "ntvfs_posix/overflow.h"
#include "ntvfs_posix/private.h"
#include "ntvfs_posix/private_folder.h"
#include "ntvfs_posix/stream_files.h"
#include "ntvfs_posix/xattr_tdb.h"

/* How many files' complaints are remembered, to report each once. */
#define COMPLAINTS 4096

static const struct ntvfs_backend_ops posix_ops = {
	.name = "posix",
	.get_attributes = ntvfs_posix_get_attributes,
	.set_attributes = ntvfs_posix_set_attributes,
	.note_change = ntvfs_posix_note_change,
	.forget_object = ntvfs_posix_forget_object,
	.owner_changed = ntvfs_posix_owner_changed,
	.get_security_descriptor = ntvfs_posix_get_security_descriptor,
	.set_security_descriptor = ntvfs_posix_set_security_descriptor,
	.list_eas = ntvfs_posix_list_eas,
	.get_ea = ntvfs_posix_get_ea,
	.set_ea = ntvfs_posix_set_ea,
	.list_streams = ntvfs_posix_list_streams,
	.open_stream = ntvfs_posix_open_stream,
	.read_stream = ntvfs_posix_read_stream,
	.write_stream = ntvfs_posix_write_stream,
	.truncate_stream = ntvfs_posix_truncate_stream,
	.remove_stream = ntvfs_posix_remove_stream,
	.rename_stream = ntvfs_posix_rename_stream,
};

static int open_xattr_tdb(struct ntvfs_posix *posix)
{
	const struct ntvfs_posix_io *io = posix->io;
	char path[NTVFS_PRIVATE_PATH_SIZE];
	int folder_fd = -1;
	int error = 0;

	io->become_root(io->context);
	error = ntvfs_private_folder_open(posix->config.path,
					  NULL,
					  true,
					  &folder_fd);
	if (error == 0) {
		ntvfs_private_folder_path(folder_fd, "xattr.tdb", path);
		error = ntvfs_xattr_tdb_open(posix, path, &posix->xattr_tdb);
		close(folder_fd);
	}
	io->unbecome_root(io->context);
	return error;
}

static enum ntvfs_stamps stamps_of(const struct ntvfs_posix_config *config)
{
	if (config->xattr_store == NTVFS_XATTR_STORE_TDB ||
	    config->xattrs_elsewhere)
	{
		return NTVFS_STAMPS_NONE;
	}
	return config->exact_stamps ? NTVFS_STAMPS_EXACT : NTVFS_STAMPS_COARSE;
}

int ntvfs_posix_create(TALLOC_CTX *mem_ctx,
		       const struct ntvfs_posix_io *io,
		       const struct ntvfs_posix_config *config,
		       struct ntvfs_backend **backend)
{
	struct ntvfs_posix *posix = NULL;
	int error = ENOMEM;

	*backend = NULL;
	if (config->path == NULL || config->path[0] != '/' ||
	    config->lock_path == NULL || config->complain == NULL ||
	    config->stream_xattr_max >= NTVFS_XATTR_VALUE_MAX)
	{
		return EINVAL;
	}
	posix = talloc_zero(mem_ctx, struct ntvfs_posix);
	if (posix == NULL) {
		return ENOMEM;
	}
	posix->backend.ops = &posix_ops;
	posix->io = io;
	posix->config = *config;
	posix->config.path = talloc_strdup(posix, config->path);
	posix->config.lock_path = talloc_strdup(posix, config->lock_path);
	posix->cache = ntvfs_metadata_cache_create(posix,
						   config->cached_objects,
						   stamps_of(config),
						   config->volume);
	posix->complaints = ntvfs_complaints_create(posix,
						    COMPLAINTS,
						    config->complain,
						    config->complain_data);
	posix->stream_files = ntvfs_stream_files_create(posix,
							config->path,
							config->lock_path);
	if (posix->config.path == NULL || posix->config.lock_path == NULL ||
	    posix->cache == NULL || posix->complaints == NULL ||
	    posix->stream_files == NULL)
	{
		goto fail;
	}
	if (config->xattr_store == NTVFS_XATTR_STORE_TDB) {
		error = open_xattr_tdb(posix);
		if (error != 0) {
			goto fail;
		}
		posix->backend.keeps_outside = true;
	} else if (config->kernel_files) {
		error = ntvfs_overflow_start(posix);
		if (error != 0) {
			goto fail;
		}
	}
	*backend = &posix->backend;
	return 0;
fail:
	TALLOC_FREE(posix);
	return error;
}

int ntvfs_posix_probe_xattrs(const struct ntvfs_posix_io *io,
			     void *directory_handle,
			     bool *has)
{
	char value[1];
	int error = 0;

	*has = false;
	io->become_root(io->context);
	/* asking for one that cannot be there needs no right to write */
	if (io->fgetxattr(io->context,
			  directory_handle,
			  NTVFS_XATTR_PROBE,
			  value,
			  sizeof(value)) >= 0)
	{
		*has = true;
	} else if (errno == ENODATA || errno == ERANGE) {
		*has = true;
	} else if (errno != ENOTSUP) {
		error = errno;
	}
	io->unbecome_root(io->context);
	return error;
}
