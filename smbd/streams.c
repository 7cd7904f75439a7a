/*
 * Named streams as objects of their own.
 *
 * A stream's handle has a descriptor of smbd's usual kind. If the stream is
 * in a file of its own it is that file's, and data go through the module
 * below like any file's. If the stream is part of its file's metadata it is
 * a placeholder, with which no I/O is possible. The stream may become a
 * file while handles are open; each notices when it is used (stream_io.c).
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "smbd/vfs_ntvfs.h"
#include <xxhash.h>
#include "ntvfs/attributes.h"
#include "ntvfs/stream_name.h"
#include "smbd/stream_handle.h"

static void stream_handle_destroy(void *data)
{
	/* the descriptor is smbd's to close, and nothing else is held */
}

struct ntvfs_stream_handle *
ntvfs_stream_handle_of(struct vfs_handle_struct *handle,
		       const struct files_struct *fsp)
{
	return (struct ntvfs_stream_handle *)VFS_FETCH_FSP_EXTENSION(
		handle, discard_const_p(struct files_struct, fsp));
}

int ntvfs_stream_name_of(const struct smb_filename *smb_fname,
			 char **name)
{
	int error;

	error = ntvfs_stream_name_parse(talloc_tos(),
					smb_fname->stream_name,
					name);
	if (error == EINVAL) {
		/* smbd's errno for OBJECT_NAME_INVALID */
		error = ENAMETOOLONG;
	}
	if (error != 0) {
		errno = error;
		return -1;
	}
	return 0;
}

/*
 * The inode number under which smbd keeps locks and share modes of the
 * stream. Clients name it in any case.
 */
static uint64_t stream_inode(const SMB_STRUCT_STAT *base, const char *name)
{
	XXH64_state_t *state = XXH64_createState();
	char *upper = talloc_strdup_upper(talloc_tos(), name);
	uint64_t inode = 0;

	if (state != NULL) {
		XXH64_reset(state, base->st_ex_dev);
		XXH64_update(state, &base->st_ex_ino, sizeof(base->st_ex_ino));
		if (upper != NULL) {
			XXH64_update(state, upper, strlen(upper));
		} else {
			XXH64_update(state, name, strlen(name));
		}
		inode = XXH64_digest(state);
		XXH64_freeState(state);
	}
	TALLOC_FREE(upper);
	/* zero is no inode number */
	return inode != 0 ? inode : base->st_ex_ino + 1;
}

/* Make a stream's stat of its file's. */
static void stream_stat(SMB_STRUCT_STAT *st,
			const char *name,
			const struct ntvfs_stream_data *data)
{
	st->st_ex_ino = stream_inode(st, name);
	st->st_ex_mode &= ~S_IFMT;
	st->st_ex_mode |= S_IFREG;
	st->st_ex_size = (off_t)data->size;
	st->st_ex_blocks = (data->allocation_size + STAT_ST_BLOCKSIZE - 1) /
			   STAT_ST_BLOCKSIZE;
}

static int placeholder(const struct ntvfs_share *share)
{
	return fcntl(share->placeholder_fd, F_DUPFD_CLOEXEC, 0);
}

/*
 * Who may not write a file may not give it a stream, which is for its
 * descriptor to say and not for its mode bits.
 */
static bool may_change_streams(struct files_struct *base_fsp,
			       uint32_t access_mask)
{
	NTSTATUS status;

	if (!CAN_WRITE(base_fsp->conn)) {
		return false;
	}
	status = smbd_check_access_rights_fsp(base_fsp->conn->cwd_fsp,
					      base_fsp,
					      false,
					      access_mask);
	return NT_STATUS_IS_OK(status);
}

/*
 * May a client change the stream by opening it? smbd has asked the file's
 * descriptor for what the client said that it wants to do, but making or
 * overwriting a stream writes to it without saying so (MS-FSA 2.1.5.1.2).
 * Who has just made the file may.
 */
static bool may_open_to_change(struct vfs_handle_struct *handle,
			       struct files_struct *base_fsp)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_attributes attributes = {.valid = 0};
	struct ntvfs_object object = {.handle = NULL};

	if (share->create != NULL && share->create->made_base) {
		return true;
	}
	if (!may_change_streams(base_fsp, FILE_WRITE_DATA) &&
	    !may_change_streams(base_fsp, FILE_APPEND_DATA))
	{
		return false;
	}
	if (!ntvfs_object_of(handle, base_fsp, &object, NULL) ||
	    share->backend->ops->get_attributes(share->backend,
						&object,
						&attributes) != 0)
	{
		return false;
	}
	return !(attributes.attributes & NTVFS_ATTRIBUTE_READONLY);
}

int ntvfs_stream_open_data(struct vfs_handle_struct *handle,
			   struct files_struct *base_fsp,
			   const char *name,
			   uint32_t flags,
			   struct ntvfs_stream_data *data)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_backend *backend = share->backend;
	struct ntvfs_object object = {.handle = NULL};
	int error;

	ntvfs_fresh_end(share);
	if (!ntvfs_object_of(handle, base_fsp, &object, NULL)) {
		return -1;
	}
	error = backend->ops->open_stream(backend,
					  &object,
					  name,
					  flags,
					  data);
	if ((error == EACCES || error == EPERM) &&
	    may_change_streams(base_fsp, FILE_WRITE_DATA))
	{
		become_root();
		error = backend->ops->open_stream(backend,
						  &object,
						  name,
						  flags,
						  data);
		unbecome_root();
	}
	if (error != 0) {
		errno = ntvfs_errno(error);
		return -1;
	}
	return 0;
}

int ntvfs_stream_openat(struct vfs_handle_struct *handle,
			const struct smb_filename *smb_fname,
			struct files_struct *fsp,
			const struct vfs_open_how *how)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_stream_handle *stream = NULL;
	struct ntvfs_stream_data data = {.fd = -1};
	uint32_t flags = 0;
	char *name = NULL;
	int fd = -1;

	SMB_ASSERT(fsp_is_alternate_stream(fsp));
	if (ntvfs_stream_name_of(smb_fname, &name) != 0) {
		return -1;
	}
	if (how->flags & O_CREAT) {
		flags |= NTVFS_STREAM_CREATE;
		if (how->flags & O_EXCL) {
			flags |= NTVFS_STREAM_EXCLUSIVE;
		}
	}
	if (how->flags & O_TRUNC) {
		flags |= NTVFS_STREAM_TRUNCATE;
	}
	if ((flags != 0 || (how->flags & O_ACCMODE) != O_RDONLY) &&
	    !may_open_to_change(handle, fsp->base_fsp))
	{
		errno = EACCES;
		goto done;
	}
	if (flags == 0 && fsp->fsp_flags.is_pathref) {
		/* to be deleted it need not have data */
		flags = NTVFS_STREAM_LOOK;
	}
	if (ntvfs_stream_open_data(handle, fsp->base_fsp, name, flags, &data)
	    != 0)
	{
		goto done;
	}
	fd = data.fd != -1 ? data.fd : placeholder(share);
	if (fd == -1) {
		goto done;
	}
	stream = VFS_ADD_FSP_EXTENSION(handle,
				       fsp,
				       struct ntvfs_stream_handle,
				       stream_handle_destroy);
	if (stream == NULL) {
		close(fd);
		fd = -1;
		errno = ENOMEM;
		goto done;
	}
	stream->is_file = data.fd != -1;
	/* reopening goes by name: a placeholder's path leads elsewhere */
	fsp->fsp_flags.have_proc_fds = false;
done:
	TALLOC_FREE(name);
	return fd;
}

struct files_struct *ntvfs_stream_base_of(struct vfs_handle_struct *handle,
					  const struct smb_filename *smb_fname,
					  struct smb_filename **to_free)
{
	NTSTATUS status;

	*to_free = NULL;
	if (smb_fname->fsp != NULL) {
		return metadata_fsp(smb_fname->fsp);
	}
	status = synthetic_pathref(talloc_tos(),
				   handle->conn->cwd_fsp,
				   smb_fname->base_name,
				   NULL,
				   NULL,
				   smb_fname->twrp,
				   smb_fname->flags,
				   to_free);
	if (!NT_STATUS_IS_OK(status)) {
		errno = ENOENT;
		return NULL;
	}
	return (*to_free)->fsp;
}

/*
 * Is it the client that deletes the stream? Then it has it open to be
 * deleted at the close. smbd itself removes all streams of a file that it is
 * going to remove, with the file's handle still open.
 */
static bool goes_with_file(struct vfs_handle_struct *handle,
			   const struct ntvfs_object *object,
			   const SMB_STRUCT_STAT *base_st,
			   const char *name)
{
	struct connection_struct *conn = handle->conn;
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct file_id id = vfs_file_id_from_sbuf(conn, base_st);

	if (share->create != NULL || !S_ISREG(base_st->st_ex_mode) ||
	    ntvfs_stream_own_handles(handle, object, name) != 0)
	{
		return false;
	}
	return file_find_di_first(conn->sconn, id, true) != NULL;
}

/*
 * smbd removes the streams of a file first and then one of its names. That
 * may not be the last one, and may fail, and a module above may move the
 * file elsewhere instead. So streams that go with a file are left until its
 * last name is gone: see ntvfs_unlinkat().
 */
int ntvfs_stream_unlink(struct vfs_handle_struct *handle,
			const struct smb_filename *smb_fname)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_backend *backend = share->backend;
	struct ntvfs_object object = {.handle = NULL};
	SMB_STRUCT_STAT base_st = {.st_ex_nlink = 0};
	struct smb_filename *to_free = NULL;
	struct files_struct *base = NULL;
	char *name = NULL;
	int error = 0;

	if (ntvfs_stream_name_of(smb_fname, &name) != 0) {
		return -1;
	}
	base = ntvfs_stream_base_of(handle, smb_fname, &to_free);
	if (base == NULL ||
	    !ntvfs_object_of(handle, base, &object, &base_st))
	{
		error = errno;
		goto done;
	}
	if (goes_with_file(handle, &object, &base_st, name)) {
		share->doomed_streams = true;
		goto done;
	}
	error = backend->ops->remove_stream(backend, &object, name);
	if (error == EACCES || error == EPERM) {
		/* smbd asked the descriptor before it came here */
		become_root();
		error = backend->ops->remove_stream(backend, &object, name);
		unbecome_root();
	}
	if (error == 0) {
		backend->ops->note_change(backend, &object);
	}
done:
	TALLOC_FREE(to_free);
	TALLOC_FREE(name);
	errno = error;
	return error == 0 ? 0 : -1;
}

int ntvfs_stat(struct vfs_handle_struct *handle,
	       struct smb_filename *smb_fname)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_stream_data data = {.fd = -1};
	struct smb_filename *to_free = NULL;
	struct files_struct *base = NULL;
	char *name = NULL;
	int ret = -1;

	if (share != NULL && smb_fname->twrp != 0 && share->no_snapshots) {
		errno = ENOENT;
		return -1;
	}
	if (share == NULL || !is_named_stream(smb_fname)) {
		return ntvfs_next_stat(handle, smb_fname);
	}
	if (ntvfs_stream_name_of(smb_fname, &name) != 0) {
		return -1;
	}
	base = ntvfs_stream_base_of(handle, smb_fname, &to_free);
	if (base == NULL ||
	    ntvfs_next_fstat(handle, base, &smb_fname->st) != 0)
	{
		goto done;
	}
	if (ntvfs_stream_open_data(handle,
				   base,
				   name,
				   NTVFS_STREAM_LOOK,
				   &data) != 0)
	{
		goto done;
	}
	if (data.fd != -1) {
		close(data.fd);
	}
	stream_stat(&smb_fname->st, name, &data);
	ret = 0;
done:
	if (ret != 0) {
		SET_STAT_INVALID(smb_fname->st);
	}
	TALLOC_FREE(to_free);
	TALLOC_FREE(name);
	return ret;
}

int ntvfs_lstat(struct vfs_handle_struct *handle,
		struct smb_filename *smb_fname)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);

	if (share != NULL && is_named_stream(smb_fname)) {
		/* no client sees a symlink, so none has a stream */
		return ntvfs_stat(handle, smb_fname);
	}
	return ntvfs_next_lstat(handle, smb_fname);
}

int ntvfs_fstat(struct vfs_handle_struct *handle,
		struct files_struct *fsp,
		SMB_STRUCT_STAT *sbuf)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_stream_data data = {.fd = -1};
	struct stat st = {.st_size = 0};
	char *name = NULL;
	int ret = -1;

	if (share == NULL || !fsp_is_alternate_stream(fsp) ||
	    ntvfs_stream_handle_of(handle, fsp) == NULL)
	{
		ret = ntvfs_next_fstat(handle, fsp, sbuf);
		if (ret == 0 && share != NULL) {
			ntvfs_fresh_stat(handle, fsp, sbuf);
		}
		if (ret == 0 && share != NULL && share->create != NULL &&
		    share->create->made_directory)
		{
			/* smbd opens what it has made and asks at once */
			share->create->made_directory = false;
			ntvfs_drop_stale_opens(handle, sbuf);
		}
		return ret;
	}
	if (!is_named_stream(fsp->fsp_name)) {
		/* has been renamed to the file's own data */
		name = talloc_strdup(talloc_tos(), "");
		if (name == NULL) {
			errno = ENOMEM;
			return -1;
		}
	} else if (ntvfs_stream_name_of(fsp->fsp_name, &name) != 0) {
		return -1;
	}
	if (ntvfs_next_fstat(handle, fsp->base_fsp, sbuf) != 0) {
		goto done;
	}
	if (!ntvfs_stream_is_small(handle, fsp)) {
		if (fstat(fsp_get_pathref_fd(fsp), &st) != 0) {
			goto done;
		}
		data.size = (uint64_t)st.st_size;
		data.allocation_size = (uint64_t)st.st_blocks * 512;
	} else {
		if (ntvfs_stream_open_data(handle,
					   fsp->base_fsp,
					   name,
					   NTVFS_STREAM_LOOK,
					   &data) != 0)
		{
			goto done;
		}
		if (data.fd != -1) {
			ntvfs_stream_becomes_file(handle, fsp, data.fd);
		}
	}
	stream_stat(sbuf, name, &data);
	ret = 0;
done:
	if (ret != 0) {
		SET_STAT_INVALID(*sbuf);
	}
	TALLOC_FREE(name);
	return ret;
}

/*
 * Can a client name the stream? A local program may have given an xattr a
 * name that is none of a stream. smbd would fail to open it when it deletes
 * the file, or even panic if it is no text.
 */
static bool can_be_named(const char *name)
{
	char *utf16 = NULL;
	size_t size = 0;
	bool ok;

	if (strpbrk(name, "/\\") != NULL) {
		return false;
	}
	ok = convert_string_talloc(talloc_tos(),
				   CH_UNIX,
				   CH_UTF16LE,
				   name,
				   strlen(name) + 1,
				   &utf16,
				   &size);
	TALLOC_FREE(utf16);
	return ok;
}

NTSTATUS ntvfs_fstreaminfo(struct vfs_handle_struct *handle,
			   struct files_struct *fsp,
			   TALLOC_CTX *mem_ctx,
			   unsigned int *num_streams,
			   struct stream_struct **streams)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_stream_entry *entries = NULL;
	struct ntvfs_object object = {.handle = NULL};
	struct stream_struct *grown = NULL;
	size_t count = 0;
	size_t i;
	int error;

	if (share == NULL) {
		goto next;
	}
	fsp = metadata_fsp(fsp);
	if (!ntvfs_object_to_read(handle, fsp, &object, NULL)) {
		return map_nt_error_from_unix(errno);
	}
	error = share->backend->ops->list_streams(share->backend,
						  &object,
						  talloc_tos(),
						  &entries,
						  &count);
	if (error != 0) {
		return ntvfs_status(error);
	}
	if (count == 0) {
		goto next;
	}
	grown = talloc_realloc(mem_ctx,
			       *streams,
			       struct stream_struct,
			       *num_streams + count);
	if (grown == NULL) {
		TALLOC_FREE(entries);
		return NT_STATUS_NO_MEMORY;
	}
	*streams = grown;
	for (i = 0; i < count; i++) {
		struct stream_struct *stream = &grown[*num_streams];

		if (!can_be_named(entries[i].name)) {
			continue;
		}
		stream->name = ntvfs_stream_name_full(grown, entries[i].name);
		if (stream->name == NULL) {
			TALLOC_FREE(entries);
			return NT_STATUS_NO_MEMORY;
		}
		stream->size = (off_t)entries[i].size;
		stream->alloc_size = (off_t)entries[i].allocation_size;
		*num_streams += 1;
	}
	TALLOC_FREE(entries);
next:
	return SMB_VFS_NEXT_FSTREAMINFO(handle,
					fsp,
					mem_ctx,
					num_streams,
					streams);
}
