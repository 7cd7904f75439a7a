/*
 * Reads and writes. What is in the page cache is answered at once; only what
 * would wait for a disk goes to a thread, whose hand-over costs more than
 * the copy.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "smbd/vfs_ntvfs.h"
#include <sys/statvfs.h>
#include <sys/uio.h>
#include "lib/util/tevent_unix.h"

/*
 * ext4 does not say whether a write would wait. A write into the page cache
 * seldom does, so up to this size it is made at once there too.
 */
#define INLINE_WRITE_MAX (1024 * 1024)

struct data_io_state {
	ssize_t ret;
	struct vfs_aio_state aio_state;
};

static ssize_t data_io_recv(struct tevent_req *req,
			    struct vfs_aio_state *aio_state)
{
	struct data_io_state *state =
		tevent_req_data(req, struct data_io_state);

	if (tevent_req_is_unix_error(req, &aio_state->error)) {
		return -1;
	}
	*aio_state = state->aio_state;
	return state->ret;
}

static uint64_t now_ns(void)
{
	struct timespec now = {.tv_sec = 0};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Descriptors that are what they seem, with no other module's say. */
static bool direct_io(struct vfs_handle_struct *handle)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);

	return share != NULL && share->nothing_below;
}

ssize_t ntvfs_pread(struct vfs_handle_struct *handle,
		    struct files_struct *fsp,
		    void *data,
		    size_t n,
		    off_t offset)
{
	if (ntvfs_stream_is_small(handle, fsp)) {
		return ntvfs_stream_pread(handle, fsp, data, n, offset);
	}
	return SMB_VFS_NEXT_PREAD(handle, fsp, data, n, offset);
}

/*
 * Read all that is asked for, or all up to the end of the file, from memory.
 * False: not all of it is there.
 */
static bool read_cached(struct files_struct *fsp,
			void *data,
			size_t n,
			off_t offset,
			ssize_t *result)
{
	int fd = fsp_get_io_fd(fsp);
	size_t done = 0;

	while (done < n) {
		struct iovec iov = {
			.iov_base = (uint8_t *)data + done,
			.iov_len = n - done,
		};
		ssize_t got;

		got = preadv2(fd, &iov, 1, offset + (off_t)done, RWF_NOWAIT);
		if (got == -1) {
			/* EAGAIN, or an error that the thread will meet too */
			return false;
		}
		if (got == 0) {
			break;
		}
		done += (size_t)got;
	}
	*result = (ssize_t)done;
	return true;
}

static void pread_done(struct tevent_req *subreq)
{
	struct tevent_req *req =
		tevent_req_callback_data(subreq, struct tevent_req);
	struct data_io_state *state =
		tevent_req_data(req, struct data_io_state);

	state->ret = SMB_VFS_PREAD_RECV(subreq, &state->aio_state);
	TALLOC_FREE(subreq);
	tevent_req_done(req);
}

struct tevent_req *ntvfs_pread_send(struct vfs_handle_struct *handle,
				    TALLOC_CTX *mem_ctx,
				    struct tevent_context *ev,
				    struct files_struct *fsp,
				    void *data,
				    size_t n,
				    off_t offset)
{
	struct data_io_state *state = NULL;
	struct tevent_req *subreq = NULL;
	struct tevent_req *req = NULL;
	uint64_t start = now_ns();

	req = tevent_req_create(mem_ctx, &state, struct data_io_state);
	if (req == NULL) {
		return NULL;
	}
	if (ntvfs_stream_is_small(handle, fsp)) {
		state->ret = ntvfs_stream_pread(handle, fsp, data, n, offset);
		state->aio_state.error = state->ret == -1 ? errno : 0;
		goto at_once;
	}
	if (direct_io(handle) &&
	    read_cached(fsp, data, n, offset, &state->ret))
	{
		goto at_once;
	}
	subreq = SMB_VFS_NEXT_PREAD_SEND(state,
					 ev,
					 handle,
					 fsp,
					 data,
					 n,
					 offset);
	if (tevent_req_nomem(subreq, req)) {
		return tevent_req_post(req, ev);
	}
	tevent_req_set_callback(subreq, pread_done, req);
	return req;

at_once:
	state->aio_state.duration = now_ns() - start;
	tevent_req_done(req);
	return tevent_req_post(req, ev);
}

ssize_t ntvfs_pread_recv(struct tevent_req *req,
			 struct vfs_aio_state *aio_state)
{
	return data_io_recv(req, aio_state);
}

/*
 * Would the write leave a gap before it that the volume could never hold?
 * NTFS says at once that the disk is full, for a file that is not sparse,
 * where POSIX leaves a hole. Most writes end below the volume's size as it
 * was, and for them this is a comparison.
 */
static bool never_fits(struct vfs_handle_struct *handle,
		       struct files_struct *fsp,
		       size_t n,
		       off_t offset)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	uint64_t end = (uint64_t)offset + n;
	struct statvfs fs = {.f_bsize = 0};
	SMB_STRUCT_STAT st = {.st_ex_nlink = 0};

	if (share == NULL || !share->nothing_below || n == 0 ||
	    end <= share->volume_bytes || fsp->fsp_flags.is_sparse)
	{
		return false;
	}
	if (fstatvfs(fsp_get_pathref_fd(fsp), &fs) != 0 || fs.f_blocks == 0) {
		return false;
	}
	/* it may have grown */
	share->volume_bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
	if (end <= share->volume_bytes) {
		return false;
	}
	/* without a gap the file may have been compressed into the volume */
	return SMB_VFS_NEXT_FSTAT(handle, fsp, &st) == 0 &&
	       offset > st.st_ex_size;
}

ssize_t ntvfs_pwrite(struct vfs_handle_struct *handle,
		     struct files_struct *fsp,
		     const void *data,
		     size_t n,
		     off_t offset)
{
	if (ntvfs_stream_is_small(handle, fsp)) {
		return ntvfs_stream_pwrite(handle, fsp, data, n, offset);
	}
	if (never_fits(handle, fsp, n, offset)) {
		errno = ENOSPC;
		return -1;
	}
	return SMB_VFS_NEXT_PWRITE(handle, fsp, data, n, offset);
}

/* False: nothing has been written, and the write may have to wait. */
static bool write_cached(struct ntvfs_share *share,
			 struct files_struct *fsp,
			 const void *data,
			 size_t n,
			 off_t offset,
			 struct data_io_state *state)
{
	int fd = fsp_get_io_fd(fsp);
	struct iovec iov = {
		.iov_base = discard_const(data),
		.iov_len = n,
	};
	ssize_t written;

	if (share->nowait_writes) {
		written = pwritev2(fd, &iov, 1, offset, RWF_NOWAIT);
		if (written == -1 && errno == EOPNOTSUPP) {
			share->nowait_writes = false;
		} else if (written != (ssize_t)n) {
			/* what was written is written again, the same */
			return false;
		} else {
			state->ret = written;
			return true;
		}
	}
	if (n > INLINE_WRITE_MAX) {
		return false;
	}
	do {
		written = pwrite(fd, data, n, offset);
	} while (written == -1 && errno == EINTR);
	state->ret = written;
	state->aio_state.error = written == -1 ? errno : 0;
	return true;
}

static void pwrite_done(struct tevent_req *subreq)
{
	struct tevent_req *req =
		tevent_req_callback_data(subreq, struct tevent_req);
	struct data_io_state *state =
		tevent_req_data(req, struct data_io_state);

	state->ret = SMB_VFS_PWRITE_RECV(subreq, &state->aio_state);
	TALLOC_FREE(subreq);
	tevent_req_done(req);
}

struct tevent_req *ntvfs_pwrite_send(struct vfs_handle_struct *handle,
				     TALLOC_CTX *mem_ctx,
				     struct tevent_context *ev,
				     struct files_struct *fsp,
				     const void *data,
				     size_t n,
				     off_t offset)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct data_io_state *state = NULL;
	struct tevent_req *subreq = NULL;
	struct tevent_req *req = NULL;
	uint64_t start = now_ns();

	req = tevent_req_create(mem_ctx, &state, struct data_io_state);
	if (req == NULL) {
		return NULL;
	}
	if (ntvfs_stream_is_small(handle, fsp)) {
		state->ret = ntvfs_stream_pwrite(handle,
						 fsp,
						 data,
						 n,
						 offset);
		state->aio_state.error = state->ret == -1 ? errno : 0;
		goto at_once;
	}
	if (never_fits(handle, fsp, n, offset)) {
		state->ret = -1;
		state->aio_state.error = ENOSPC;
		goto at_once;
	}
	if (direct_io(handle) &&
	    write_cached(share, fsp, data, n, offset, state))
	{
		goto at_once;
	}
	subreq = SMB_VFS_NEXT_PWRITE_SEND(state,
					  ev,
					  handle,
					  fsp,
					  data,
					  n,
					  offset);
	if (tevent_req_nomem(subreq, req)) {
		return tevent_req_post(req, ev);
	}
	tevent_req_set_callback(subreq, pwrite_done, req);
	return req;

at_once:
	state->aio_state.duration = now_ns() - start;
	tevent_req_done(req);
	return tevent_req_post(req, ev);
}

ssize_t ntvfs_pwrite_recv(struct tevent_req *req,
			  struct vfs_aio_state *aio_state)
{
	return data_io_recv(req, aio_state);
}

static void fsync_done(struct tevent_req *subreq)
{
	struct tevent_req *req =
		tevent_req_callback_data(subreq, struct tevent_req);
	struct data_io_state *state =
		tevent_req_data(req, struct data_io_state);

	state->ret = SMB_VFS_FSYNC_RECV(subreq, &state->aio_state);
	TALLOC_FREE(subreq);
	tevent_req_done(req);
}

/*
 * A small stream is durable when its file's inode is, so that is what is
 * flushed: through a descriptor of its own, since the file may be open as a
 * mere name.
 */
static void flush_base(struct files_struct *fsp, struct data_io_state *state)
{
	char path[PATH_MAX];
	int fd;

	if (sys_proc_fd_path(fsp_get_pathref_fd(fsp->base_fsp),
			     path,
			     sizeof(path)) == NULL)
	{
		state->ret = -1;
		state->aio_state.error = ENOSYS;
		return;
	}
	become_root();
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	unbecome_root();
	state->ret = fd == -1 ? -1 : fsync(fd);
	state->aio_state.error = state->ret == -1 ? errno : 0;
	if (fd != -1) {
		close(fd);
	}
}

struct tevent_req *ntvfs_fsync_send(struct vfs_handle_struct *handle,
				    TALLOC_CTX *mem_ctx,
				    struct tevent_context *ev,
				    struct files_struct *fsp)
{
	struct data_io_state *state = NULL;
	struct tevent_req *subreq = NULL;
	struct tevent_req *req = NULL;

	req = tevent_req_create(mem_ctx, &state, struct data_io_state);
	if (req == NULL) {
		return NULL;
	}
	if (ntvfs_stream_is_small(handle, fsp)) {
		flush_base(fsp, state);
		tevent_req_done(req);
		return tevent_req_post(req, ev);
	}
	subreq = SMB_VFS_NEXT_FSYNC_SEND(state, ev, handle, fsp);
	if (tevent_req_nomem(subreq, req)) {
		return tevent_req_post(req, ev);
	}
	tevent_req_set_callback(subreq, fsync_done, req);
	return req;
}

int ntvfs_fsync_recv(struct tevent_req *req, struct vfs_aio_state *aio_state)
{
	return (int)data_io_recv(req, aio_state);
}
