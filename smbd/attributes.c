/*
 * DOS attributes and times.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "smbd/vfs_ntvfs.h"
#include "lib/util/tevent_ntstatus.h"
#include "ntvfs/attributes.h"

NTSTATUS ntvfs_fget_dos_attributes(struct vfs_handle_struct *handle,
				   struct files_struct *fsp,
				   uint32_t *dosmode)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_attributes attributes = {.valid = 0};
	struct ntvfs_object object = {.handle = NULL};
	struct ntvfs_fresh *fresh = NULL;
	SMB_STRUCT_STAT *st = NULL;
	int error = 0;

	if (share == NULL) {
		return SMB_VFS_NEXT_FGET_DOS_ATTRIBUTES(handle, fsp, dosmode);
	}
	if (!ntvfs_object_to_read(handle, fsp, &object, NULL)) {
		return map_nt_error_from_unix(errno);
	}
	fresh = ntvfs_fresh_of(share, fsp);
	if (fresh != NULL) {
		attributes = fresh->attributes;
	} else {
		error = share->backend->ops->get_attributes(share->backend,
							    &object,
							    &attributes);
	}
	if (error != 0) {
		return ntvfs_status(error);
	}

	/* nothing stored: nothing is made up from the mode bits */
	*dosmode |= ntvfs_attributes_of(attributes.attributes,
					object.is_directory);

	/*
	 * smbd takes the create time from here. This version shows the write
	 * time as change time and asks for no other.
	 */
	st = &fsp->fsp_name->st;
	if (attributes.valid & NTVFS_VALID_CREATE_TIME) {
		update_stat_ex_create_time(
			st,
			nt_time_to_full_timespec(attributes.create_time));
	}
	return NT_STATUS_OK;
}

/*
 * May the attributes be changed as root? They belong to whoever may write
 * the file or its attributes, while the file system knows owners only.
 */
static bool may_write_attributes(struct files_struct *fsp)
{
	NTSTATUS status;

	if (!CAN_WRITE(fsp->conn)) {
		return false;
	}
	status = smbd_check_access_rights_fsp(fsp->conn->cwd_fsp,
					      fsp,
					      false,
					      FILE_WRITE_ATTRIBUTES);
	if (NT_STATUS_IS_OK(status)) {
		return true;
	}
	return can_write_to_fsp(fsp);
}

static int set_attributes(struct ntvfs_share *share,
			  struct files_struct *fsp,
			  const struct ntvfs_object *object,
			  const struct ntvfs_attributes *attributes)
{
	struct ntvfs_backend *backend = share->backend;
	int error;

	error = backend->ops->set_attributes(backend, object, attributes);
	if ((error == EACCES || error == EPERM) && may_write_attributes(fsp)) {
		become_root();
		error = backend->ops->set_attributes(backend,
						     object,
						     attributes);
		unbecome_root();
	}
	return error;
}

/*
 * What to store of the attributes that smbd sets, which lack those that it
 * does not know (SAMBA_ATTRIBUTES_MASK).
 */
static uint32_t attributes_to_store(struct ntvfs_share *share,
				    const struct ntvfs_object *object,
				    uint32_t dosmode,
				    uint32_t old)
{
	const struct ntvfs_create *create = share->create;
	bool renamed = share->renamed_ino != 0 &&
		       share->renamed_dev == object->volume &&
		       share->renamed_ino == object->file_id;

	share->renamed_ino = 0;
	if (create != NULL && create->of_stream && !create->made_base) {
		/* a stream has no attributes, and its file has its own */
		return old | NTVFS_ATTRIBUTE_ARCHIVE;
	}
	if (create != NULL) {
		return dosmode | (create->attributes &
				  (NTVFS_ATTRIBUTE_TEMPORARY |
				   NTVFS_ATTRIBUTE_NOTINDEXED));
	}
	if (share->sets_sparse) {
		return dosmode;
	}
	if (renamed) {
		return dosmode | (old & ~SAMBA_ATTRIBUTES_MASK);
	}
	return dosmode | ntvfs_attributes_not_set(old);
}

NTSTATUS ntvfs_fset_dos_attributes(struct vfs_handle_struct *handle,
				   struct files_struct *fsp,
				   uint32_t dosmode)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_attributes attributes = {.valid = 0};
	struct ntvfs_attributes old = {.valid = 0};
	struct ntvfs_object object = {.handle = NULL};
	struct ntvfs_fresh *fresh = NULL;
	int error;

	if (share == NULL) {
		return SMB_VFS_NEXT_FSET_DOS_ATTRIBUTES(handle, fsp, dosmode);
	}
	if (!ntvfs_object_of(handle, fsp, &object, NULL)) {
		return map_nt_error_from_unix(errno);
	}
	attributes.valid = NTVFS_VALID_ATTRIBUTES;

	/*
	 * The birth of an object is known when it happens; later the file
	 * system's stat only tells of changes. One that has no create time
	 * stored keeps what clients have seen so far.
	 */
	fresh = ntvfs_fresh_of(share, fsp);
	if (fresh != NULL) {
		old = fresh->attributes;
	} else {
		error = share->backend->ops->get_attributes(share->backend,
							    &object,
							    &old);
		if (error != 0) {
			return ntvfs_status(error);
		}
	}
	attributes.create_time = old.create_time;
	attributes.valid |= old.valid & NTVFS_VALID_CREATE_TIME;
	if (!(attributes.valid & NTVFS_VALID_CREATE_TIME)) {
		attributes.create_time = full_timespec_to_nt_time(
			&fsp->fsp_name->st.st_ex_btime);
		attributes.valid |= NTVFS_VALID_CREATE_TIME;
	}
	attributes.attributes = ntvfs_attributes_of(
		attributes_to_store(share, &object, dosmode, old.attributes),
		object.is_directory);

	error = set_attributes(share, fsp, &object, &attributes);
	if (fresh != NULL) {
		if (error == 0) {
			fresh->attributes = attributes;
		} else if (error == ENOTSUP) {
			/* what cannot be kept of a new file is no reason
			   not to create it */
			error = 0;
		}
	}
	return ntvfs_status(error);
}

NTSTATUS ntvfs_fsctl(struct vfs_handle_struct *handle,
		     struct files_struct *fsp,
		     TALLOC_CTX *ctx,
		     uint32_t function,
		     uint16_t req_flags,
		     const uint8_t *in_data,
		     uint32_t in_len,
		     uint8_t **out_data,
		     uint32_t max_out_len,
		     uint32_t *out_len)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	NTSTATUS status;

	if (share != NULL) {
		share->sets_sparse = function == FSCTL_SET_SPARSE;
	}
	status = SMB_VFS_NEXT_FSCTL(handle,
				    fsp,
				    ctx,
				    function,
				    req_flags,
				    in_data,
				    in_len,
				    out_data,
				    max_out_len,
				    out_len);
	if (share != NULL) {
		share->sets_sparse = false;
	}
	return status;
}

struct get_dos_attributes_state {
	uint32_t dosmode;
};

struct tevent_req *
ntvfs_get_dos_attributes_send(TALLOC_CTX *mem_ctx,
			      struct tevent_context *ev,
			      struct vfs_handle_struct *handle,
			      files_struct *dir_fsp,
			      struct smb_filename *smb_fname)
{
	struct get_dos_attributes_state *state = NULL;
	struct tevent_req *req = NULL;
	NTSTATUS status;

	req = tevent_req_create(mem_ctx,
				&state,
				struct get_dos_attributes_state);
	if (req == NULL) {
		return NULL;
	}
	/* one xattr at most, and mostly none: no thread is faster */
	status = ntvfs_fget_dos_attributes(handle,
					   smb_fname->fsp,
					   &state->dosmode);
	if (tevent_req_nterror(req, status)) {
		return tevent_req_post(req, ev);
	}
	smb_fname->st.st_ex_btime = smb_fname->fsp->fsp_name->st.st_ex_btime;
	tevent_req_done(req);
	return tevent_req_post(req, ev);
}

NTSTATUS ntvfs_get_dos_attributes_recv(struct tevent_req *req,
				       struct vfs_aio_state *aio_state,
				       uint32_t *dosmode)
{
	struct get_dos_attributes_state *state =
		tevent_req_data(req, struct get_dos_attributes_state);
	NTSTATUS status;

	*aio_state = (struct vfs_aio_state){.error = 0};
	if (tevent_req_is_nterror(req, &status)) {
		tevent_req_received(req);
		return status;
	}
	*dosmode = state->dosmode;
	tevent_req_received(req);
	return NT_STATUS_OK;
}

static bool same_100ns(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec &&
	       a->tv_nsec / 100 == b->tv_nsec / 100;
}

/* File systems keep these years whatever they are. */
static bool time_is_ordinary(const struct timespec *t)
{
	return is_omit_timespec(t) ||
	       (t->tv_sec >= 0 && t->tv_sec <= INT32_MAX);
}

/*
 * Set access and write time. A file system that cannot keep one of them
 * stores the nearest that it can: that is put back and refused.
 */
static int set_posix_times(struct vfs_handle_struct *handle,
			   struct files_struct *fsp,
			   const struct smb_file_time *ft)
{
	struct smb_file_time posix = *ft;
	SMB_STRUCT_STAT before = {.st_ex_nlink = 0};
	SMB_STRUCT_STAT after = {.st_ex_nlink = 0};
	bool ordinary;
	int ret;

	/* the module below would store this one in its own way */
	posix.create_time = make_omit_timespec();

	ordinary = time_is_ordinary(&ft->atime) &&
		   time_is_ordinary(&ft->mtime);
	if (!ordinary && SMB_VFS_NEXT_FSTAT(handle, fsp, &before) != 0) {
		return -1;
	}
	ret = SMB_VFS_NEXT_FNTIMES(handle, fsp, &posix);
	if (ret != 0 || ordinary) {
		return ret;
	}
	if (SMB_VFS_NEXT_FSTAT(handle, fsp, &after) != 0) {
		return -1;
	}
	if ((is_omit_timespec(&ft->atime) ||
	     same_100ns(&ft->atime, &after.st_ex_atime)) &&
	    (is_omit_timespec(&ft->mtime) ||
	     same_100ns(&ft->mtime, &after.st_ex_mtime)))
	{
		return 0;
	}
	posix.atime = before.st_ex_atime;
	posix.mtime = before.st_ex_mtime;
	/* otherwise the call below finds nothing to do */
	fsp->fsp_name->st.st_ex_atime = after.st_ex_atime;
	fsp->fsp_name->st.st_ex_mtime = after.st_ex_mtime;
	(void)SMB_VFS_NEXT_FNTIMES(handle, fsp, &posix);
	DBG_NOTICE("%s: the file system cannot keep a time that far away; "
		   "nothing was changed\n",
		   fsp_str_dbg(fsp));
	errno = EINVAL;
	return -1;
}

/*
 * A value below -2 is no time (MS-FSA 2.1.5.15.2). smbd has made the last of
 * all times of it, which nobody means.
 */
static bool is_no_time(const struct timespec *t)
{
	return !is_omit_timespec(t) &&
	       full_timespec_to_nt_time(t) >= NTTIME_MAX;
}

int ntvfs_fntimes(struct vfs_handle_struct *handle,
		  files_struct *fsp,
		  struct smb_file_time *ft)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_attributes attributes = {.valid = 0};
	struct ntvfs_object object = {.handle = NULL};
	int error;

	if (share == NULL || ft == NULL) {
		return SMB_VFS_NEXT_FNTIMES(handle, fsp, ft);
	}
	if (is_no_time(&ft->create_time) || is_no_time(&ft->atime) ||
	    is_no_time(&ft->mtime) || is_no_time(&ft->ctime))
	{
		errno = EINVAL;
		return -1;
	}
	/* a stream has its file's times */
	fsp = metadata_fsp(fsp);

	if (!is_omit_timespec(&ft->atime) || !is_omit_timespec(&ft->mtime)) {
		if (set_posix_times(handle, fsp, ft) != 0) {
			return -1;
		}
	}
	if (!is_omit_timespec(&ft->create_time)) {
		attributes.valid |= NTVFS_VALID_CREATE_TIME;
		attributes.create_time =
			full_timespec_to_nt_time(&ft->create_time);
	}
	if (!is_omit_timespec(&ft->ctime)) {
		attributes.valid |= NTVFS_VALID_CHANGE_TIME;
		attributes.change_time = full_timespec_to_nt_time(&ft->ctime);
	}
	if (attributes.valid == 0) {
		return 0;
	}

	/* after the write time: a change time stands for a write time */
	ntvfs_fresh_end(share);
	if (!ntvfs_object_of(handle, fsp, &object, NULL)) {
		return -1;
	}
	error = set_attributes(share, fsp, &object, &attributes);
	if (error != 0) {
		errno = error;
		return -1;
	}
	if (attributes.valid & NTVFS_VALID_CREATE_TIME) {
		fsp->fsp_name->st.st_ex_btime = ft->create_time;
	}
	return 0;
}

int ntvfs_fchmod(struct vfs_handle_struct *handle,
		 struct files_struct *fsp,
		 mode_t mode)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	bool posix_client;

	posix_client = (fsp->posix_flags & FSP_POSIX_FLAGS_PATHNAMES) ||
		       (fsp->fsp_name->flags & SMB_FILENAME_POSIX_PATH);
	if (share == NULL || posix_client) {
		return SMB_VFS_NEXT_FCHMOD(handle, fsp, mode);
	}
	/* mode bits stand for nothing here; smbd only means to map onto them */
	return 0;
}

SMB_ACL_T ntvfs_sys_acl_get_fd(struct vfs_handle_struct *handle,
			       struct files_struct *fsp,
			       SMB_ACL_TYPE_T type,
			       TALLOC_CTX *mem_ctx)
{
	if (ntvfs_share_of(handle) == NULL ||
	    (fsp->posix_flags & FSP_POSIX_FLAGS_PATHNAMES))
	{
		return SMB_VFS_NEXT_SYS_ACL_GET_FD(handle,
						   fsp,
						   type,
						   mem_ctx);
	}
	/* no client's access depends on it */
	errno = ENOTSUP;
	return NULL;
}
