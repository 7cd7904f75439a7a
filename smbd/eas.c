/*
 * Extended attributes, as smbd shows them to clients.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "smbd/vfs_ntvfs.h"

#define USER_PREFIX "user."

/* The EA's name in an xattr's; NULL: it is none, but one of the system's. */
static const char *ea_name(const char *xattr_name)
{
	if (strncmp(xattr_name, USER_PREFIX, strlen(USER_PREFIX)) != 0) {
		return NULL;
	}
	return xattr_name + strlen(USER_PREFIX);
}

ssize_t ntvfs_fgetxattr(struct vfs_handle_struct *handle,
			struct files_struct *fsp,
			const char *name,
			void *value,
			size_t size)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_object object = {.handle = NULL};
	const char *ea = ea_name(name);
	size_t length = 0;
	int error;

	if (share == NULL || ea == NULL) {
		return SMB_VFS_NEXT_FGETXATTR(handle, fsp, name, value, size);
	}
	if (fsp_is_alternate_stream(fsp)) {
		errno = ENOTSUP;
		return -1;
	}
	if (ntvfs_fresh_of(share, fsp) != NULL) {
		errno = ENODATA;
		return -1;
	}
	if (!ntvfs_object_to_read(handle, fsp, &object, NULL)) {
		return -1;
	}
	error = share->backend->ops->get_ea(share->backend,
					    &object,
					    ea,
					    value,
					    size,
					    &length);
	if (error != 0) {
		errno = error;
		return -1;
	}
	return (ssize_t)length;
}

ssize_t ntvfs_flistxattr(struct vfs_handle_struct *handle,
			 struct files_struct *fsp,
			 char *list,
			 size_t size)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_object object = {.handle = NULL};
	const size_t prefix = strlen(USER_PREFIX);
	const char *name = NULL;
	char *names = NULL;
	size_t length = 0;
	size_t total = 0;
	int error;

	if (share == NULL) {
		return SMB_VFS_NEXT_FLISTXATTR(handle, fsp, list, size);
	}
	if (fsp_is_alternate_stream(fsp)) {
		errno = ENOTSUP;
		return -1;
	}
	if (ntvfs_fresh_of(share, fsp) != NULL) {
		return 0;
	}
	if (!ntvfs_object_to_read(handle, fsp, &object, NULL)) {
		return -1;
	}
	error = share->backend->ops->list_eas(share->backend,
					      &object,
					      talloc_tos(),
					      &names,
					      &length);
	if (error != 0) {
		errno = error;
		return -1;
	}
	for (name = names; name < names + length; name += strlen(name) + 1) {
		size_t bytes = prefix + strlen(name) + 1;

		if (size > 0) {
			if (size - total < bytes) {
				errno = ERANGE;
				TALLOC_FREE(names);
				return -1;
			}
			memcpy(list + total, USER_PREFIX, prefix);
			memcpy(list + total + prefix, name, bytes - prefix);
		}
		total += bytes;
	}
	TALLOC_FREE(names);
	return (ssize_t)total;
}

static int set_client_ea(struct vfs_handle_struct *handle,
		  struct ntvfs_share *share,
		  struct files_struct *fsp,
		  const char *ea,
		  const void *value,
		  size_t size)
{
	struct ntvfs_object object = {.handle = NULL};
	int error;

	ntvfs_fresh_end(share);
	if (!ntvfs_object_of(handle, fsp, &object, NULL)) {
		return -1;
	}
	error = share->backend->ops->set_ea(share->backend,
					    &object,
					    ea,
					    value,
					    size);
	if (error == 0) {
		share->backend->ops->note_change(share->backend, &object);
		return 0;
	}
	errno = ntvfs_errno(error);
	return -1;
}

int ntvfs_fsetxattr(struct vfs_handle_struct *handle,
		    struct files_struct *fsp,
		    const char *name,
		    const void *value,
		    size_t size,
		    int flags)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	const char *ea = ea_name(name);

	if (share == NULL || ea == NULL) {
		return SMB_VFS_NEXT_FSETXATTR(handle,
					      fsp,
					      name,
					      value,
					      size,
					      flags);
	}
	if (fsp_is_alternate_stream(fsp)) {
		errno = ENOTSUP;
		return -1;
	}
	/* the address tells set from remove, also for an empty value */
	return set_client_ea(handle, share, fsp, ea, value != NULL ? value : "",
		      size);
}

int ntvfs_fremovexattr(struct vfs_handle_struct *handle,
		       struct files_struct *fsp,
		       const char *name)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	const char *ea = ea_name(name);

	if (share == NULL || ea == NULL) {
		return SMB_VFS_NEXT_FREMOVEXATTR(handle, fsp, name);
	}
	if (fsp_is_alternate_stream(fsp)) {
		errno = ENOTSUP;
		return -1;
	}
	return set_client_ea(handle, share, fsp, ea, NULL, 0);
}

bool ntvfs_drop_eas(struct vfs_handle_struct *handle,
		    const struct ntvfs_object *object)
{
	struct ntvfs_backend *backend = ntvfs_share_of(handle)->backend;
	const char *name = NULL;
	char *names = NULL;
	size_t length = 0;
	int error;

	error = backend->ops->list_eas(backend,
				       object,
				       talloc_tos(),
				       &names,
				       &length);
	for (name = names; error == 0 && name < names + length;
	     name += strlen(name) + 1)
	{
		error = backend->ops->set_ea(backend, object, name, NULL, 0);
		if (error == EACCES || error == EPERM) {
			/* smbd has let the client overwrite the file */
			become_root();
			error = backend->ops->set_ea(backend,
						     object,
						     name,
						     NULL,
						     0);
			unbecome_root();
		}
		if (error == ENODATA) {
			/* somebody else was faster */
			error = 0;
		}
	}
	TALLOC_FREE(names);
	errno = error;
	return error == 0;
}
