/*
 * Renaming a named stream (MS-FSA 2.1.5.15.11.1).
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "smbd/vfs_ntvfs.h"
#include "locking/share_mode_lock.h"
#include "librpc/gen_ndr/open_files.h"
#include "lib/util/server_id.h"
#include "lib/util/sys_rw.h"
#include "messages.h"
#include "serverid.h"
#include "smbd/globals.h"
#include "smbd/stream_handle.h"

#define COPY_SIZE 65536

/* A handle of this process on the stream; see for_own_handles(). */
typedef void (*stream_handle_fn)(struct vfs_handle_struct *handle,
				 struct files_struct *fsp,
				 void *private_data);

struct own_handles_state {
	struct vfs_handle_struct *handle;
	uint64_t base_dev;
	uint64_t base_ino;
	const char *name;
	stream_handle_fn fn;
	void *private_data;
};

static struct files_struct *own_handle(struct files_struct *fsp,
				       void *private_data)
{
	struct own_handles_state *state = private_data;
	const SMB_STRUCT_STAT *st = NULL;
	char *name = NULL;

	if (fsp->base_fsp == NULL || fsp->op == NULL ||
	    !is_named_stream(fsp->fsp_name))
	{
		return NULL;
	}
	st = &fsp->base_fsp->fsp_name->st;
	if (st->st_ex_dev != state->base_dev ||
	    st->st_ex_ino != state->base_ino)
	{
		return NULL;
	}
	if (ntvfs_stream_name_of(fsp->fsp_name, &name) != 0) {
		return NULL;
	}
	if (strequal_m(name, state->name)) {
		state->fn(state->handle, fsp, state->private_data);
	}
	TALLOC_FREE(name);
	return NULL;
}

/*
 * Call fn for each of this process' handles on a stream. smbd's record of
 * who has a stream open is found by the name that the stream had when it
 * was opened, so that what this process has renamed is not found there.
 */
static void for_own_handles(struct vfs_handle_struct *handle,
			    const struct ntvfs_object *object,
			    const char *name,
			    stream_handle_fn fn,
			    void *private_data)
{
	struct own_handles_state state = {
		.handle = handle,
		.base_dev = object->volume,
		.base_ino = object->file_id,
		.name = name,
		.fn = fn,
		.private_data = private_data,
	};

	(void)files_forall(handle->conn->sconn, own_handle, &state);
}

static void count_own(struct vfs_handle_struct *handle,
		      struct files_struct *fsp,
		      void *private_data)
{
	size_t *count = private_data;

	*count += 1;
}

size_t ntvfs_stream_own_handles(struct vfs_handle_struct *handle,
				const struct ntvfs_object *object,
				const char *name)
{
	size_t count = 0;

	for_own_handles(handle, object, name, count_own, &count);
	return count;
}

static void count_with_delete(struct vfs_handle_struct *handle,
			      struct files_struct *fsp,
			      void *private_data)
{
	size_t *count = private_data;

	if (fsp->access_mask & DELETE_ACCESS) {
		*count += 1;
	}
}

/* As ntvfs_may_rename() asks it of a file. */
static bool has_handle_to_delete(struct vfs_handle_struct *handle,
				 const struct ntvfs_object *object,
				 const char *name)
{
	size_t with_delete = 0;

	if (!handle->conn->sconn->using_smb2 ||
	    ntvfs_stream_own_handles(handle, object, name) == 0)
	{
		return true;
	}
	for_own_handles(handle, object, name, count_with_delete, &with_delete);
	return with_delete != 0;
}

struct count_opens_state {
	struct server_id self;
	bool self_too;
	size_t count;
};

static bool count_open(struct share_mode_entry *e,
		       bool *modified,
		       void *private_data)
{
	struct count_opens_state *state = private_data;

	if (e->private_options & NTCREATEX_FLAG_STREAM_BASEOPEN) {
		/* stands for an open stream of the file */
		return false;
	}
	if (!state->self_too && server_id_equal(&e->pid, &state->self)) {
		return false;
	}
	/* a durable handle whose client is away is open, too */
	if (server_id_is_disconnected(&e->pid) || serverid_exists(&e->pid)) {
		state->count += 1;
	}
	return false;
}

/*
 * How many handles are open on what st tells of? smbd holds the record of
 * the stream that is renamed, and can hold no second one: the others are
 * only looked at.
 */
static size_t count_opens(struct vfs_handle_struct *handle,
			  const SMB_STRUCT_STAT *st,
			  bool self_too)
{
	struct count_opens_state state = {
		.self = messaging_server_id(handle->conn->sconn->msg_ctx),
		.self_too = self_too,
	};
	struct share_mode_lock *lock = NULL;
	struct file_id id = vfs_file_id_from_sbuf(handle->conn, st);

	lock = fetch_share_mode_unlocked(talloc_tos(), id);
	if (lock == NULL) {
		return 0;
	}
	(void)share_mode_forall_entries(lock, count_open, &state);
	TALLOC_FREE(lock);
	return state.count;
}

static size_t count_stream_opens(struct vfs_handle_struct *handle,
				 const struct ntvfs_object *object,
				 const SMB_STRUCT_STAT *st,
				 const char *name)
{
	return count_opens(handle, st, false) +
	       ntvfs_stream_own_handles(handle, object, name);
}

/*
 * A descriptor of the file's own data. The handle of the stream was granted
 * the right to delete it, which is what a rename asks for.
 */
static int open_main_data(struct files_struct *base)
{
	char buffer[PATH_MAX] = {0};
	const char *path = NULL;
	int fd;

	path = sys_proc_fd_path(fsp_get_pathref_fd(base),
				buffer,
				sizeof(buffer));
	if (path == NULL) {
		errno = ENOSYS;
		return -1;
	}
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd == -1 && (errno == EACCES || errno == EPERM)) {
		int saved_errno;

		become_root();
		fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
		saved_errno = errno;
		unbecome_root();
		errno = saved_errno;
	}
	return fd;
}

/* Returns an errno value, or 0. */
static int read_stream(struct ntvfs_backend *backend,
		       const struct ntvfs_object *object,
		       const char *name,
		       int stream_fd,
		       uint8_t *buffer,
		       uint64_t offset,
		       size_t *count)
{
	ssize_t got;

	if (stream_fd == -1) {
		return backend->ops->read_stream(backend,
						 object,
						 name,
						 buffer,
						 COPY_SIZE,
						 offset,
						 count);
	}
	got = sys_pread(stream_fd, buffer, COPY_SIZE, (off_t)offset);
	if (got == -1) {
		return errno;
	}
	*count = (size_t)got;
	return 0;
}

static int copy_stream(struct ntvfs_backend *backend,
		       const struct ntvfs_object *object,
		       const char *name,
		       const struct ntvfs_stream_data *data,
		       int main_fd)
{
	uint8_t *buffer = talloc_array(talloc_tos(), uint8_t, COPY_SIZE);
	uint64_t offset = 0;
	size_t count = 0;
	int error = 0;

	if (buffer == NULL) {
		return ENOMEM;
	}
	while (offset < data->size) {
		ssize_t written;

		error = read_stream(backend,
				    object,
				    name,
				    data->fd,
				    buffer,
				    offset,
				    &count);
		if (error == 0 && count == 0) {
			/* it was shortened by somebody else */
			error = ETXTBSY;
		}
		if (error != 0) {
			break;
		}
		written = sys_pwrite_full(main_fd,
					  buffer,
					  count,
					  (off_t)offset);
		if (written == -1) {
			error = errno;
			break;
		}
		offset += count;
	}
	TALLOC_FREE(buffer);
	/* what is told to be moved must outlive what it was moved from */
	if (error == 0 && data->size > 0 && fdatasync(main_fd) != 0) {
		error = errno;
	}
	return error;
}

/* Let the handle on the stream be one on the file's own data. */
static void handle_becomes_main(struct vfs_handle_struct *handle,
				struct files_struct *fsp,
				void *private_data)
{
	const int *main_fd = private_data;
	int fd;

	if (ntvfs_stream_handle_of(handle, fsp) == NULL) {
		return;
	}
	fd = dup(*main_fd);
	if (fd == -1 || ntvfs_stream_becomes_file(handle, fsp, fd) != 0) {
		DBG_WARNING("%s: the handle of the stream that is the file's "
			    "data now is lost: %s\n",
			    fsp_str_dbg(fsp),
			    strerror(errno));
	}
}

/*
 * The stream becomes the file's own data, if there are none, and if nobody
 * has opened either but the client that asks for it. At every moment the
 * data are in the one place or the other or both. Returns an errno value.
 */
static int become_main_data(struct vfs_handle_struct *handle,
			    struct files_struct *base,
			    const struct ntvfs_object *object,
			    const SMB_STRUCT_STAT *base_st,
			    const SMB_STRUCT_STAT *stream_st,
			    const char *name)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_backend *backend = share->backend;
	struct ntvfs_stream_data data = {.fd = -1};
	int main_fd = -1;
	int error;

	if (base_st->st_ex_size != 0 || object->is_directory) {
		return EINVAL;
	}
	if (count_opens(handle, base_st, true) != 0 ||
	    count_stream_opens(handle, object, stream_st, name) > 1)
	{
		return EINVAL;
	}
	if (ntvfs_stream_open_data(handle, base, name, 0, &data) != 0) {
		return errno;
	}
	main_fd = open_main_data(base);
	if (main_fd == -1) {
		error = errno;
		goto done;
	}
	error = copy_stream(backend, object, name, &data, main_fd);
	if (error == 0) {
		error = backend->ops->remove_stream(backend, object, name);
		if (error == EACCES || error == EPERM) {
			become_root();
			error = backend->ops->remove_stream(backend,
							    object,
							    name);
			unbecome_root();
		}
	}
	if (error != 0) {
		/* it was empty */
		if (ftruncate(main_fd, 0) != 0) {
			DBG_ERR("%s: has the data of its stream %s twice: "
				"%s\n",
				fsp_str_dbg(base),
				name,
				strerror(errno));
		}
		goto done;
	}
	for_own_handles(handle, object, name, handle_becomes_main, &main_fd);
done:
	if (data.fd != -1) {
		close(data.fd);
	}
	if (main_fd != -1) {
		close(main_fd);
	}
	return error;
}

static int rename_named(struct vfs_handle_struct *handle,
			const struct ntvfs_object *object,
			const struct smb_filename *src,
			const struct smb_filename *dst,
			const char *from,
			const char *to)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_backend *backend = share->backend;
	int error;

	/* smbd has refused what it must not replace, but for what is open */
	if (VALID_STAT(dst->st) && !strequal_m(from, to) &&
	    count_stream_opens(handle, object, &dst->st, to) != 0)
	{
		return EINVAL;
	}
	error = backend->ops->rename_stream(backend, object, from, to, true);
	if (error == EACCES || error == EPERM) {
		become_root();
		error = backend->ops->rename_stream(backend,
						    object,
						    from,
						    to,
						    true);
		unbecome_root();
	}
	return error;
}

int ntvfs_stream_rename(struct vfs_handle_struct *handle,
			struct files_struct *dirfsp,
			const struct smb_filename *src,
			const struct smb_filename *dst)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_backend *backend = share->backend;
	struct ntvfs_object object = {.handle = NULL};
	SMB_STRUCT_STAT base_st = {.st_ex_nlink = 0};
	struct smb_filename *full = NULL;
	struct smb_filename *to_free = NULL;
	struct files_struct *base = NULL;
	char *from = NULL;
	char *to = NULL;
	int error = 0;

	full = full_path_from_dirfsp_atname(talloc_tos(), dirfsp, src);
	if (full == NULL) {
		errno = ENOMEM;
		return -1;
	}
	if (!is_named_stream(src) || dst->stream_name == NULL ||
	    strcmp(src->base_name, dst->base_name) != 0)
	{
		/* a stream is renamed within its file */
		error = EINVAL;
		goto done;
	}
	if (ntvfs_stream_name_of(src, &from) != 0) {
		error = errno;
		goto done;
	}
	if (is_named_stream(dst) && ntvfs_stream_name_of(dst, &to) != 0) {
		error = errno;
		goto done;
	}
	if (to != NULL && strcmp(from, to) == 0) {
		goto done;
	}
	base = ntvfs_stream_base_of(handle, full, &to_free);
	if (base == NULL ||
	    !ntvfs_object_of(handle, base, &object, &base_st))
	{
		error = errno;
		goto done;
	}
	if (!has_handle_to_delete(handle, &object, from)) {
		error = EACCES;
		goto done;
	}
	if (to != NULL) {
		error = rename_named(handle, &object, src, dst, from, to);
	} else {
		error = become_main_data(handle,
					 base,
					 &object,
					 &base_st,
					 &src->st,
					 from);
	}
	if (error == 0) {
		backend->ops->note_change(backend, &object);
	}
done:
	TALLOC_FREE(full);
	TALLOC_FREE(to_free);
	TALLOC_FREE(from);
	TALLOC_FREE(to);
	errno = ntvfs_errno(error);
	return error == 0 ? 0 : -1;
}
