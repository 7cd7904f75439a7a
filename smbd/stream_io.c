/*
 * Calls on the handle of an open stream. Those of a stream that has a file
 * go through the module below like any file's.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "smbd/vfs_ntvfs.h"
#include "smbd/stream_handle.h"

bool ntvfs_stream_is_small(struct vfs_handle_struct *handle,
			   struct files_struct *fsp)
{
	struct ntvfs_stream_handle *stream = NULL;

	if (!fsp_is_alternate_stream(fsp)) {
		return false;
	}
	stream = ntvfs_stream_handle_of(handle, fsp);
	return stream != NULL && !stream->is_file;
}

int ntvfs_stream_becomes_file(struct vfs_handle_struct *handle,
			      struct files_struct *fsp,
			      int fd)
{
	struct ntvfs_stream_handle *stream =
		ntvfs_stream_handle_of(handle, fsp);
	int saved_errno = 0;
	int ret;

	/* smbd knows the handle's number, so the number stays */
	ret = dup3(fd, fsp_get_pathref_fd(fsp), O_CLOEXEC);
	if (ret == -1) {
		saved_errno = errno;
	} else {
		stream->is_file = true;
	}
	close(fd);
	errno = saved_errno;
	return ret == -1 ? -1 : 0;
}

/* The backend said ESTALE: the data are in a file now. */
static int follow_to_file(struct vfs_handle_struct *handle,
			  struct files_struct *fsp,
			  const char *name)
{
	struct ntvfs_stream_data data = {.fd = -1};

	if (ntvfs_stream_open_data(handle, fsp->base_fsp, name, 0, &data) !=
	    0)
	{
		return -1;
	}
	if (data.fd == -1) {
		/* removed and made again, small: its handle is another */
		errno = ESTALE;
		return -1;
	}
	return ntvfs_stream_becomes_file(handle, fsp, data.fd);
}

ssize_t ntvfs_stream_pread(struct vfs_handle_struct *handle,
			   struct files_struct *fsp,
			   void *data,
			   size_t n,
			   off_t offset)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_object object = {.handle = NULL};
	char *name = NULL;
	size_t count = 0;
	int error;

	if (ntvfs_stream_name_of(fsp->fsp_name, &name) != 0) {
		return -1;
	}
	if (!ntvfs_object_of(handle, fsp, &object, NULL)) {
		TALLOC_FREE(name);
		return -1;
	}
	error = share->backend->ops->read_stream(share->backend,
						 &object,
						 name,
						 data,
						 n,
						 (uint64_t)offset,
						 &count);
	if (error == ESTALE) {
		int ret = follow_to_file(handle, fsp, name);

		TALLOC_FREE(name);
		if (ret != 0) {
			return -1;
		}
		return SMB_VFS_NEXT_PREAD(handle, fsp, data, n, offset);
	}
	TALLOC_FREE(name);
	if (error != 0) {
		errno = error;
		return -1;
	}
	return (ssize_t)count;
}

ssize_t ntvfs_stream_pwrite(struct vfs_handle_struct *handle,
			    struct files_struct *fsp,
			    const void *data,
			    size_t n,
			    off_t offset)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_backend *backend = share->backend;
	struct ntvfs_object object = {.handle = NULL};
	char *name = NULL;
	int error;

	if (ntvfs_stream_name_of(fsp->fsp_name, &name) != 0) {
		return -1;
	}
	if (!ntvfs_object_of(handle, fsp, &object, NULL)) {
		TALLOC_FREE(name);
		return -1;
	}
	error = backend->ops->write_stream(backend,
					   &object,
					   name,
					   data,
					   n,
					   (uint64_t)offset);
	if (error == EACCES || error == EPERM) {
		/* the handle was granted the right to write */
		become_root();
		error = backend->ops->write_stream(backend,
						   &object,
						   name,
						   data,
						   n,
						   (uint64_t)offset);
		unbecome_root();
	}
	if (error == ESTALE) {
		int ret = follow_to_file(handle, fsp, name);

		TALLOC_FREE(name);
		if (ret != 0) {
			return -1;
		}
		return SMB_VFS_NEXT_PWRITE(handle, fsp, data, n, offset);
	}
	TALLOC_FREE(name);
	if (error != 0) {
		errno = ntvfs_errno(error);
		return -1;
	}
	return (ssize_t)n;
}

/*
 * The file is overwritten: its EAs go too (MS-FSA 2.1.5.1.2.1). smbd removes
 * the streams, and sets the request's EAs after that.
 */
static int empty_file(struct vfs_handle_struct *handle,
		      struct files_struct *fsp)
{
	struct ntvfs_object object = {.handle = NULL};

	if (SMB_VFS_NEXT_FTRUNCATE(handle, fsp, 0) != 0) {
		return -1;
	}
	if (!ntvfs_object_of(handle, fsp, &object, NULL) ||
	    !ntvfs_drop_eas(handle, &object))
	{
		return -1;
	}
	return 0;
}

int ntvfs_ftruncate(struct vfs_handle_struct *handle,
		    struct files_struct *fsp,
		    off_t offset)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_object object = {.handle = NULL};
	char *name = NULL;
	int error;

	if (!ntvfs_stream_is_small(handle, fsp)) {
		if (share != NULL && offset == 0 && share->create != NULL &&
		    share->create->replaces && !share->create->of_stream)
		{
			return empty_file(handle, fsp);
		}
		return SMB_VFS_NEXT_FTRUNCATE(handle, fsp, offset);
	}
	if (ntvfs_stream_name_of(fsp->fsp_name, &name) != 0) {
		return -1;
	}
	if (!ntvfs_object_of(handle, fsp, &object, NULL)) {
		TALLOC_FREE(name);
		return -1;
	}
	error = share->backend->ops->truncate_stream(share->backend,
						     &object,
						     name,
						     (uint64_t)offset);
	if (error == EACCES || error == EPERM) {
		become_root();
		error = share->backend->ops->truncate_stream(share->backend,
							     &object,
							     name,
							     (uint64_t)offset);
		unbecome_root();
	}
	if (error == ESTALE) {
		int ret = follow_to_file(handle, fsp, name);

		TALLOC_FREE(name);
		if (ret != 0) {
			return -1;
		}
		return SMB_VFS_NEXT_FTRUNCATE(handle, fsp, offset);
	}
	TALLOC_FREE(name);
	errno = ntvfs_errno(error);
	return error == 0 ? 0 : -1;
}

int ntvfs_fallocate(struct vfs_handle_struct *handle,
		    struct files_struct *fsp,
		    uint32_t mode,
		    off_t offset,
		    off_t len)
{
	if (ntvfs_stream_is_small(handle, fsp)) {
		/* smbd then writes what it wants to be there */
		errno = ENOSYS;
		return -1;
	}
	return SMB_VFS_NEXT_FALLOCATE(handle, fsp, mode, offset, len);
}

off_t ntvfs_lseek(struct vfs_handle_struct *handle,
		  struct files_struct *fsp,
		  off_t offset,
		  int whence)
{
	SMB_STRUCT_STAT st = {.st_ex_nlink = 0};

	if (!ntvfs_stream_is_small(handle, fsp)) {
		return SMB_VFS_NEXT_LSEEK(handle, fsp, offset, whence);
	}
	/* what there is is all data, up to the end */
	if (ntvfs_fstat(handle, fsp, &st) != 0) {
		return -1;
	}
	switch (whence) {
	case SEEK_SET:
		return offset;
	case SEEK_END:
		return st.st_ex_size + offset;
#ifdef SEEK_DATA
	case SEEK_DATA:
		if (offset >= st.st_ex_size) {
			errno = ENXIO;
			return -1;
		}
		return offset;
	case SEEK_HOLE:
		if (offset >= st.st_ex_size) {
			errno = ENXIO;
			return -1;
		}
		return st.st_ex_size;
#endif
	default:
		errno = EINVAL;
		return -1;
	}
}

ssize_t ntvfs_sendfile(struct vfs_handle_struct *handle,
		       int tofd,
		       files_struct *fromfsp,
		       const DATA_BLOB *header,
		       off_t offset,
		       size_t count)
{
	if (ntvfs_stream_is_small(handle, fromfsp)) {
		/* smbd then reads and sends */
		errno = ENOSYS;
		return -1;
	}
	return SMB_VFS_NEXT_SENDFILE(handle,
				     tofd,
				     fromfsp,
				     header,
				     offset,
				     count);
}

ssize_t ntvfs_recvfile(struct vfs_handle_struct *handle,
		       int fromfd,
		       files_struct *tofsp,
		       off_t offset,
		       size_t count)
{
	if (ntvfs_stream_is_small(handle, tofsp)) {
		errno = ENOSYS;
		return -1;
	}
	return SMB_VFS_NEXT_RECVFILE(handle, fromfd, tofsp, offset, count);
}

int ntvfs_fchown(struct vfs_handle_struct *handle,
		 files_struct *fsp,
		 uid_t uid,
		 gid_t gid)
{
	if (fsp_is_alternate_stream(fsp) && ntvfs_share_of(handle) != NULL) {
		/* a stream is owned by whoever owns its file */
		return 0;
	}
	return SMB_VFS_NEXT_FCHOWN(handle, fsp, uid, gid);
}

int ntvfs_fcntl(struct vfs_handle_struct *handle,
		struct files_struct *fsp,
		int cmd,
		va_list arguments)
{
	va_list copy;
	void *argument = NULL;
	int ret;

	if (ntvfs_stream_is_small(handle, fsp)) {
		if (cmd == F_GETFL || cmd == F_SETFL) {
			/* it never blocks, whatever the flags say */
			return 0;
		}
		errno = EINVAL;
		return -1;
	}
	va_copy(copy, arguments);
	argument = va_arg(copy, void *);
	ret = SMB_VFS_NEXT_FCNTL(handle, fsp, cmd, argument);
	va_end(copy);
	return ret;
}

bool ntvfs_lock(struct vfs_handle_struct *handle,
		struct files_struct *fsp,
		int op,
		off_t offset,
		off_t count,
		int type)
{
	if (ntvfs_stream_is_small(handle, fsp)) {
		/* no program outside of smbd can reach what is locked */
		return true;
	}
	return SMB_VFS_NEXT_LOCK(handle, fsp, op, offset, count, type);
}

bool ntvfs_getlock(struct vfs_handle_struct *handle,
		   struct files_struct *fsp,
		   off_t *poffset,
		   off_t *pcount,
		   int *ptype,
		   pid_t *ppid)
{
	if (ntvfs_stream_is_small(handle, fsp)) {
		errno = ENOTSUP;
		return false;
	}
	return SMB_VFS_NEXT_GETLOCK(handle,
				    fsp,
				    poffset,
				    pcount,
				    ptype,
				    ppid);
}

int ntvfs_filesystem_sharemode(struct vfs_handle_struct *handle,
			       files_struct *fsp,
			       uint32_t share_access,
			       uint32_t access_mask)
{
	if (ntvfs_stream_is_small(handle, fsp)) {
		return 0;
	}
	return SMB_VFS_NEXT_FILESYSTEM_SHAREMODE(handle,
						 fsp,
						 share_access,
						 access_mask);
}

int ntvfs_linux_setlease(struct vfs_handle_struct *handle,
			 files_struct *fsp,
			 int leasetype)
{
	if (ntvfs_stream_is_small(handle, fsp)) {
		return 0;
	}
	return SMB_VFS_NEXT_LINUX_SETLEASE(handle, fsp, leasetype);
}
