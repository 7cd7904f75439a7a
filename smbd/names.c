/*
 * Names: finding them, and every call that adds or removes one.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "smbd/vfs_ntvfs.h"
#include <dirent.h>
#include "ntvfs/attributes.h"
#include "ntvfs_posix/ntvfs_posix.h"

static void stamp_from_stat(const SMB_STRUCT_STAT *st,
			    struct ntvfs_directory_stamp *stamp)
{
	*stamp = (struct ntvfs_directory_stamp){
		.dev = st->st_ex_dev,
		.ino = st->st_ex_ino,
		.mtime = st->st_ex_mtime,
		.ctime = st->st_ex_ctime,
	};
}

/*
 * The directory that a name relative to dirfsp lies in, which is dirfsp
 * itself but for names of several components.
 */
static bool parent_stamp(struct vfs_handle_struct *handle,
			 const struct files_struct *dirfsp,
			 const char *name,
			 struct ntvfs_directory_stamp *stamp)
{
	struct smb_filename parent = {.base_name = NULL};
	SMB_STRUCT_STAT st = {.st_ex_nlink = 0};
	const char *slash = strrchr(name, '/');
	char *path = NULL;
	int ret;

	if (slash == NULL && fsp_get_pathref_fd(dirfsp) != AT_FDCWD) {
		ret = SMB_VFS_NEXT_FSTAT(
			handle,
			discard_const_p(struct files_struct, dirfsp),
			&st);
	} else {
		if (slash == NULL) {
			path = talloc_strdup(talloc_tos(), ".");
		} else if (slash == name) {
			path = talloc_strdup(talloc_tos(), "/");
		} else {
			path = talloc_strndup(talloc_tos(),
					      name,
					      slash - name);
		}
		if (path == NULL) {
			errno = ENOMEM;
			return false;
		}
		parent.base_name = path;
		ret = SMB_VFS_NEXT_FSTATAT(handle, dirfsp, &parent, &st, 0);
		TALLOC_FREE(path);
	}
	if (ret != 0) {
		return false;
	}
	stamp_from_stat(&st, stamp);
	return true;
}

/*
 * The same for reading: what smbd learned of the directory for this request
 * will do.
 */
static bool stamp_to_read(struct vfs_handle_struct *handle,
			  const struct files_struct *dirfsp,
			  struct ntvfs_directory_stamp *stamp)
{
	if (!ntvfs_is_request_handle(dirfsp)) {
		return parent_stamp(handle, dirfsp, "", stamp);
	}
	stamp_from_stat(&dirfsp->fsp_name->st, stamp);
	return true;
}

static const char *last_component(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash == NULL ? name : slash + 1;
}

/* A change of a directory, from before the call to after it. */
struct directory_change {
	struct vfs_handle_struct *handle;
	struct ntvfs_name_cache *names;
	const struct files_struct *dirfsp;
	const char *name;
	bool begun;
	struct ntvfs_name_change change;
};

static void change_begin(struct vfs_handle_struct *handle,
			 const struct files_struct *dirfsp,
			 const char *name,
			 struct directory_change *change)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_directory_stamp stamp = {.dev = 0};

	*change = (struct directory_change){
		.handle = handle,
		.dirfsp = dirfsp,
		.name = name,
	};
	if (share == NULL || !parent_stamp(handle, dirfsp, name, &stamp)) {
		/* the call will find no directory either */
		return;
	}
	change->names = share->names;
	change->begun = true;
	ntvfs_name_cache_begin_change(change->names, &stamp, &change->change);
}

/* Keeps errno for the caller. */
static void change_end(struct directory_change *change,
		       bool succeeded,
		       const char *removed,
		       const char *added)
{
	struct ntvfs_directory_stamp stamp = {.dev = 0};
	int saved_errno = errno;
	bool have_stamp;

	if (!change->begun) {
		return;
	}
	have_stamp = parent_stamp(change->handle,
				  change->dirfsp,
				  change->name,
				  &stamp);
	ntvfs_name_cache_end_change(change->names,
				    &change->change,
				    succeeded,
				    have_stamp ? &stamp : NULL,
				    removed,
				    added);
	errno = saved_errno;
}

/*
 * Another share may lie within this one. Its private folder is nobody else's
 * either: see P1 in ntvfs_posix/private_folder.h.
 */
static bool is_private_of_another(struct vfs_handle_struct *handle,
				  const struct files_struct *dirfsp)
{
	struct smb_filename folder = {
		.base_name = discard_const_p(char, NTVFS_POSIX_PRIVATE_FOLDER),
	};
	SMB_STRUCT_STAT st = {.st_ex_nlink = 0};

	if (SMB_VFS_NEXT_FSTATAT(handle,
				 dirfsp,
				 &folder,
				 &st,
				 AT_SYMLINK_NOFOLLOW) != 0)
	{
		return false;
	}
	return S_ISDIR(st.st_ex_mode) && st.st_ex_uid == 0 &&
	       (st.st_ex_mode & 0777) == 0700;
}

/*
 * The private folder exists for no client: nor for one that spells it in
 * another case, which another folder may have.
 */
static bool is_private_name(struct vfs_handle_struct *handle,
			    const struct files_struct *dirfsp,
			    const char *name)
{
	const size_t length = strlen(NTVFS_POSIX_PRIVATE_FOLDER);
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_directory_stamp stamp = {.dev = 0};

	if (name[0] == '.' && name[1] == '/') {
		name += 2;
	}
	if (!strnequal(name, NTVFS_POSIX_PRIVATE_FOLDER, length) ||
	    (name[length] != '\0' && name[length] != '/'))
	{
		return false;
	}
	if (share == NULL || share->root_ino == 0 ||
	    !parent_stamp(handle, dirfsp, "", &stamp))
	{
		return false;
	}
	if (stamp.dev == share->root_dev && stamp.ino == share->root_ino) {
		return true;
	}
	return is_private_of_another(handle, dirfsp);
}

int ntvfs_openat(struct vfs_handle_struct *handle,
		 const struct files_struct *dirfsp,
		 const struct smb_filename *smb_fname,
		 struct files_struct *fsp,
		 const struct vfs_open_how *how)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	const char *name = smb_fname->base_name;
	struct directory_change change = {.begun = false};
	int fd;

	if (share == NULL) {
		return SMB_VFS_NEXT_OPENAT(handle,
					   dirfsp,
					   smb_fname,
					   fsp,
					   how);
	}
	if (smb_fname->twrp != 0 && share->no_snapshots) {
		/* the file as it was: nobody has that */
		errno = ENOENT;
		return -1;
	}
	if (is_named_stream(smb_fname)) {
		if (how->resolve != 0) {
			errno = ENOSYS;
			return -1;
		}
		return ntvfs_stream_openat(handle, smb_fname, fsp, how);
	}
	if (is_private_name(handle, dirfsp, name)) {
		errno = (how->flags & O_CREAT) ? EACCES : ENOENT;
		return -1;
	}
	if (!(how->flags & O_CREAT)) {
		return SMB_VFS_NEXT_OPENAT(handle,
					   dirfsp,
					   smb_fname,
					   fsp,
					   how);
	}

	change_begin(handle, dirfsp, name, &change);
	fd = SMB_VFS_NEXT_OPENAT(handle, dirfsp, smb_fname, fsp, how);
	change_end(&change, fd != -1, NULL, last_component(name));
	if (fd != -1 && (how->flags & O_EXCL)) {
		ntvfs_fresh_begin(handle, fsp);
		if (share->create != NULL) {
			share->create->made_base = true;
		}
	}
	return fd;
}

int ntvfs_mkdirat(struct vfs_handle_struct *handle,
		  struct files_struct *dirfsp,
		  const struct smb_filename *smb_fname,
		  mode_t mode)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	const char *name = smb_fname->base_name;
	struct directory_change change = {.begun = false};
	int ret;

	if (is_private_name(handle, dirfsp, name)) {
		errno = EACCES;
		return -1;
	}
	change_begin(handle, dirfsp, name, &change);
	ret = SMB_VFS_NEXT_MKDIRAT(handle, dirfsp, smb_fname, mode);
	change_end(&change, ret == 0, NULL, last_component(name));
	if (ret == 0 && share != NULL && share->create != NULL) {
		share->create->made_directory = true;
	}
	return ret;
}

/*
 * The file system did not let the user remove an object for which smbd has
 * a handle that was granted the right to. Such a handle is the proof.
 */
static bool open_for_delete(struct vfs_handle_struct *handle,
			    struct files_struct *dirfsp,
			    const struct smb_filename *smb_fname)
{
	struct connection_struct *conn = handle->conn;
	SMB_STRUCT_STAT st = {.st_ex_nlink = 0};
	struct files_struct *fsp = NULL;
	struct file_id id = {.devid = 0};

	if (SMB_VFS_NEXT_FSTATAT(handle,
				 dirfsp,
				 smb_fname,
				 &st,
				 AT_SYMLINK_NOFOLLOW) != 0)
	{
		return false;
	}
	id = vfs_file_id_from_sbuf(conn, &st);
	for (fsp = file_find_di_first(conn->sconn, id, true); fsp != NULL;
	     fsp = file_find_di_next(fsp, true))
	{
		if ((fsp->access_mask & DELETE_ACCESS) &&
		    fsp->fsp_flags.delete_on_close)
		{
			return true;
		}
	}
	return false;
}

/* Open a name as a handle that stands for the object; NULL with errno. */
static struct smb_filename *object_at(struct files_struct *dirfsp,
				      const struct smb_filename *name)
{
	struct smb_filename *pathref = NULL;
	NTSTATUS status;

	status = synthetic_pathref(talloc_tos(),
				   dirfsp,
				   name->base_name,
				   NULL,
				   NULL,
				   name->twrp,
				   name->flags,
				   &pathref);
	if (!NT_STATUS_IS_OK(status)) {
		errno = map_errno_from_nt_status(status);
		return NULL;
	}
	return pathref;
}

/* If the object has no name any more, what is kept outside of it goes too. */
static void forget_if_gone(struct vfs_handle_struct *handle,
			   struct files_struct *fsp)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_object object = {.handle = NULL};
	SMB_STRUCT_STAT st = {.st_ex_nlink = 0};

	if (ntvfs_object_of(handle, fsp, &object, &st) &&
	    st.st_ex_nlink == 0)
	{
		share->backend->ops->forget_object(share->backend, &object);
	}
}

int ntvfs_unlinkat(struct vfs_handle_struct *handle,
		   struct files_struct *dirfsp,
		   const struct smb_filename *smb_fname,
		   int flags)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	const char *name = smb_fname->base_name;
	struct directory_change change = {.begun = false};
	struct smb_filename *pathref = NULL;
	int ret;

	if (share == NULL) {
		return SMB_VFS_NEXT_UNLINKAT(handle,
					     dirfsp,
					     smb_fname,
					     flags);
	}
	if (is_named_stream(smb_fname)) {
		return ntvfs_stream_unlink(handle, smb_fname);
	}
	if (is_private_name(handle, dirfsp, name)) {
		errno = ENOENT;
		return -1;
	}
	if (share->backend->keeps_outside || share->doomed_streams) {
		/* to know the object by when its name is gone */
		share->doomed_streams = false;
		pathref = object_at(dirfsp, smb_fname);
	}
	change_begin(handle, dirfsp, name, &change);
	ret = SMB_VFS_NEXT_UNLINKAT(handle, dirfsp, smb_fname, flags);
	if (ret != 0 && (errno == EACCES || errno == EPERM)) {
		int saved_errno = errno;

		if (open_for_delete(handle, dirfsp, smb_fname)) {
			become_root();
			ret = SMB_VFS_NEXT_UNLINKAT(handle,
						    dirfsp,
						    smb_fname,
						    flags);
			saved_errno = errno;
			unbecome_root();
		}
		errno = saved_errno;
	}
	change_end(&change, ret == 0, last_component(name), NULL);
	if (pathref != NULL) {
		int saved_errno = errno;

		if (ret == 0) {
			forget_if_gone(handle, pathref->fsp);
		}
		TALLOC_FREE(pathref);
		errno = saved_errno;
	}
	return ret;
}

/*
 * May the object at dst be replaced? MS-FSA 2.1.5.14.11: a directory never
 * is, although POSIX would let an empty one go, and neither is what is read
 * only. Its streams go with it, so those in files of their own are removed
 * once it is gone: they are found here.
 */
static bool target_allows_replace(struct vfs_handle_struct *handle,
				  struct files_struct *src_dirfsp,
				  const struct smb_filename *src,
				  struct files_struct *dst_dirfsp,
				  const struct smb_filename *dst,
				  struct smb_filename **target)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_attributes attributes = {.valid = 0};
	struct ntvfs_object object = {.handle = NULL};
	SMB_STRUCT_STAT src_st = {.st_ex_nlink = 0};
	SMB_STRUCT_STAT dst_st = {.st_ex_nlink = 0};
	int error;

	*target = NULL;
	if (SMB_VFS_NEXT_FSTATAT(handle,
				 dst_dirfsp,
				 dst,
				 &dst_st,
				 AT_SYMLINK_NOFOLLOW) != 0)
	{
		return errno == ENOENT;
	}
	if (SMB_VFS_NEXT_FSTATAT(handle,
				 src_dirfsp,
				 src,
				 &src_st,
				 AT_SYMLINK_NOFOLLOW) != 0)
	{
		return false;
	}
	if (src_st.st_ex_dev == dst_st.st_ex_dev &&
	    src_st.st_ex_ino == dst_st.st_ex_ino)
	{
		/* a change of case, or another link of the same file */
		return true;
	}
	if (S_ISDIR(dst_st.st_ex_mode)) {
		errno = EACCES;
		return false;
	}
	if (!S_ISREG(dst_st.st_ex_mode)) {
		return true;
	}
	*target = object_at(dst_dirfsp, dst);
	if (*target == NULL) {
		return false;
	}
	if (!ntvfs_object_of(handle, (*target)->fsp, &object, NULL)) {
		return false;
	}
	error = share->backend->ops->get_attributes(share->backend,
						    &object,
						    &attributes);
	if (error != 0) {
		errno = error;
		return false;
	}
	if (attributes.attributes & NTVFS_ATTRIBUTE_READONLY) {
		errno = EACCES;
		return false;
	}
	return true;
}

int ntvfs_renameat(struct vfs_handle_struct *handle,
		   struct files_struct *src_dirfsp,
		   const struct smb_filename *src,
		   struct files_struct *dst_dirfsp,
		   const struct smb_filename *dst)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct directory_change from = {.begun = false};
	struct directory_change to = {.begun = false};
	struct ntvfs_directory_stamp from_stamp = {.dev = 0};
	struct ntvfs_directory_stamp to_stamp = {.dev = 1};
	struct smb_filename *target = NULL;
	bool same_directory;
	int saved_errno;
	int ret = -1;

	if (share == NULL) {
		return SMB_VFS_NEXT_RENAMEAT(handle,
					     src_dirfsp,
					     src,
					     dst_dirfsp,
					     dst);
	}
	if (is_named_stream(src) || is_named_stream(dst)) {
		return ntvfs_stream_rename(handle, src_dirfsp, src, dst);
	}
	if (is_private_name(handle, src_dirfsp, src->base_name) ||
	    is_private_name(handle, dst_dirfsp, dst->base_name))
	{
		errno = EACCES;
		return -1;
	}
	if (!ntvfs_may_rename(handle, src, dst_dirfsp)) {
		return -1;
	}
	if (!target_allows_replace(handle,
				   src_dirfsp,
				   src,
				   dst_dirfsp,
				   dst,
				   &target))
	{
		goto done;
	}

	same_directory =
		parent_stamp(handle, src_dirfsp, src->base_name,
			     &from_stamp) &&
		parent_stamp(handle, dst_dirfsp, dst->base_name, &to_stamp) &&
		from_stamp.dev == to_stamp.dev &&
		from_stamp.ino == to_stamp.ino;
	change_begin(handle, src_dirfsp, src->base_name, &from);
	if (!same_directory) {
		change_begin(handle, dst_dirfsp, dst->base_name, &to);
	}
	ret = SMB_VFS_NEXT_RENAMEAT(handle, src_dirfsp, src, dst_dirfsp, dst);
	if (same_directory) {
		change_end(&from,
			   ret == 0,
			   last_component(src->base_name),
			   last_component(dst->base_name));
	} else {
		change_end(&to,
			   ret == 0,
			   NULL,
			   last_component(dst->base_name));
		change_end(&from,
			   ret == 0,
			   last_component(src->base_name),
			   NULL);
	}
	if (ret == 0 && target != NULL) {
		forget_if_gone(handle, target->fsp);
	}
	if (ret == 0 && VALID_STAT(src->st) && S_ISREG(src->st.st_ex_mode)) {
		share->renamed_dev = src->st.st_ex_dev;
		share->renamed_ino = src->st.st_ex_ino;
	}
	if (ret == 0 && S_ISDIR(src->st.st_ex_mode)) {
		struct ntvfs_object object = {.handle = NULL};
		struct smb_filename *moved = object_at(dst_dirfsp, dst);

		/* a file's attributes are set anew by smbd after this */
		if (moved != NULL &&
		    ntvfs_object_of(handle, moved->fsp, &object, NULL))
		{
			share->backend->ops->note_change(share->backend,
							 &object);
		}
		TALLOC_FREE(moved);
	}
done:
	saved_errno = errno;
	TALLOC_FREE(target);
	errno = saved_errno;
	return ret;
}

int ntvfs_linkat(struct vfs_handle_struct *handle,
		 struct files_struct *src_dirfsp,
		 const struct smb_filename *src,
		 struct files_struct *dst_dirfsp,
		 const struct smb_filename *dst,
		 int flags)
{
	struct directory_change change = {.begun = false};
	int ret;

	if (is_private_name(handle, dst_dirfsp, dst->base_name)) {
		errno = EACCES;
		return -1;
	}
	change_begin(handle, dst_dirfsp, dst->base_name, &change);
	ret = SMB_VFS_NEXT_LINKAT(handle,
				  src_dirfsp,
				  src,
				  dst_dirfsp,
				  dst,
				  flags);
	change_end(&change, ret == 0, NULL, last_component(dst->base_name));
	return ret;
}

int ntvfs_symlinkat(struct vfs_handle_struct *handle,
		    const struct smb_filename *contents,
		    struct files_struct *dirfsp,
		    const struct smb_filename *smb_fname)
{
	const char *name = smb_fname->base_name;
	struct directory_change change = {.begun = false};
	int ret;

	if (is_private_name(handle, dirfsp, name)) {
		errno = EACCES;
		return -1;
	}
	change_begin(handle, dirfsp, name, &change);
	ret = SMB_VFS_NEXT_SYMLINKAT(handle, contents, dirfsp, smb_fname);
	change_end(&change, ret == 0, NULL, last_component(name));
	return ret;
}

int ntvfs_mknodat(struct vfs_handle_struct *handle,
		  struct files_struct *dirfsp,
		  const struct smb_filename *smb_fname,
		  mode_t mode,
		  SMB_DEV_T dev)
{
	const char *name = smb_fname->base_name;
	struct directory_change change = {.begun = false};
	int ret;

	if (is_private_name(handle, dirfsp, name)) {
		errno = EACCES;
		return -1;
	}
	change_begin(handle, dirfsp, name, &change);
	ret = SMB_VFS_NEXT_MKNODAT(handle, dirfsp, smb_fname, mode, dev);
	change_end(&change, ret == 0, NULL, last_component(name));
	return ret;
}

struct dirent *ntvfs_readdir(struct vfs_handle_struct *handle,
			     struct files_struct *dirfsp,
			     DIR *dirp,
			     SMB_STRUCT_STAT *sbuf)
{
	struct dirent *entry = NULL;

	do {
		entry = SMB_VFS_NEXT_READDIR(handle, dirfsp, dirp, sbuf);
	} while (entry != NULL &&
		 is_private_name(handle, dirfsp, entry->d_name));
	return entry;
}

struct read_names_state {
	struct vfs_handle_struct *handle;
	struct files_struct *dirfsp;
};

/* Straight from the file system: there is no module below to be asked. */
static int read_names_here(struct ntvfs_name_cache_scan *scan, int dir_fd)
{
	struct dirent *entry = NULL;
	DIR *dirp = NULL;
	int error = 0;
	int fd;

	fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1) {
		return errno;
	}
	dirp = fdopendir(fd);
	if (dirp == NULL) {
		error = errno;
		close(fd);
		return error;
	}
	errno = 0;
	while ((entry = readdir(dirp)) != NULL) {
		ntvfs_name_cache_emit(scan, entry->d_name);
		errno = 0;
	}
	error = errno;
	closedir(dirp);
	return error;
}

static int read_names(struct ntvfs_name_cache_scan *scan, void *private_data)
{
	struct read_names_state *state = private_data;
	struct ntvfs_share *share = ntvfs_share_of(state->handle);
	struct smb_Dir *directory = NULL;
	const char *name = NULL;
	char *talloced = NULL;
	long offset = 0;
	NTSTATUS status;

	if (share->nothing_below) {
		return read_names_here(scan,
				       fsp_get_pathref_fd(state->dirfsp));
	}
	status = OpenDir_from_pathref(talloc_tos(),
				      state->dirfsp,
				      NULL,
				      0,
				      &directory);
	if (!NT_STATUS_IS_OK(status)) {
		return map_errno_from_nt_status(status);
	}
	while ((name = ReadDirName(directory, &offset, NULL, &talloced)) !=
	       NULL)
	{
		ntvfs_name_cache_emit(scan, name);
		TALLOC_FREE(talloced);
	}
	TALLOC_FREE(directory);
	return 0;
}

NTSTATUS ntvfs_get_real_filename_at(struct vfs_handle_struct *handle,
				    struct files_struct *dirfsp,
				    const char *name,
				    TALLOC_CTX *mem_ctx,
				    char **found_name)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	struct ntvfs_directory_stamp stamp = {.dev = 0};
	struct read_names_state state = {
		.handle = handle,
		.dirfsp = dirfsp,
	};
	int error;

	if (share == NULL) {
		return SMB_VFS_NEXT_GET_REAL_FILENAME_AT(handle,
							 dirfsp,
							 name,
							 mem_ctx,
							 found_name);
	}
	if (is_private_name(handle, dirfsp, name)) {
		return NT_STATUS_OBJECT_NAME_NOT_FOUND;
	}
	if (!stamp_to_read(handle, dirfsp, &stamp)) {
		return map_nt_error_from_unix(errno);
	}
	error = ntvfs_name_cache_lookup(share->names,
					&stamp,
					read_names,
					&state,
					name,
					mem_ctx,
					found_name);
	if (error == ENOENT) {
		return NT_STATUS_OBJECT_NAME_NOT_FOUND;
	}
	return ntvfs_status(error);
}
