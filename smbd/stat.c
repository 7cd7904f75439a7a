/*
 * Asking the file system for an object's stat, and the id that clients know
 * the object by.
 *
 * File systems give the inode number of a deleted file to a new one, ext4 to
 * the very next. Clients that know files by their id (MS-FSCC 2.4.22) would
 * take the one for the other. So the id has the object's birth in it as well,
 * which the file system tells with the rest: statx() costs what fstat() does.
 * smbd asks for the id with nothing but a stat at hand, whose device number
 * of a special file means nothing for others and carries the birth.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "smbd/vfs_ntvfs.h"
#include <sys/stat.h>
#include <sys/sysmacros.h>

/*
 * The id's upper part. What is below is left to inode numbers; few file
 * systems have greater ones, and these only lose what this was to give them.
 */
#define BIRTH_BITS  24
#define BIRTH_SHIFT 40

/* Clients remember ids: how they are made stays as it is. */
static uint64_t fold_birth(const struct statx_timestamp *birth)
{
	uint64_t ns = (uint64_t)birth->tv_sec * 1000000000 + birth->tv_nsec;

	return (ns * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - BIRTH_BITS);
}

static bool has_birth(const SMB_STRUCT_STAT *st)
{
	return S_ISREG(st->st_ex_mode) || S_ISDIR(st->st_ex_mode);
}

static struct timespec timespec_of(const struct statx_timestamp *t)
{
	return (struct timespec){.tv_sec = t->tv_sec, .tv_nsec = t->tv_nsec};
}

/* Are names and descriptors the kernel's, with no other module's say? */
static bool is_direct(struct vfs_handle_struct *handle)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);

	return share != NULL && share->nothing_below;
}

static int stat_directly(struct vfs_handle_struct *handle,
			 int dir_fd,
			 const char *name,
			 int flags,
			 SMB_STRUCT_STAT *sbuf)
{
	bool fake = lp_fake_directory_create_times(SNUM(handle->conn));
	struct statx stx = {.stx_mask = 0};
	struct stat st = {.st_size = 0};

	if (statx(dir_fd,
		  name,
		  flags,
		  STATX_BASIC_STATS | STATX_BTIME,
		  &stx) != 0)
	{
		return -1;
	}
	st.st_dev = makedev(stx.stx_dev_major, stx.stx_dev_minor);
	st.st_ino = stx.stx_ino;
	st.st_mode = stx.stx_mode;
	st.st_nlink = stx.stx_nlink;
	st.st_uid = stx.stx_uid;
	st.st_gid = stx.stx_gid;
	st.st_rdev = makedev(stx.stx_rdev_major, stx.stx_rdev_minor);
	/* as smbd's own: a directory has no size, whatever it takes up */
	st.st_size = S_ISDIR(stx.stx_mode) ? 0 : (off_t)stx.stx_size;
	st.st_blksize = stx.stx_blksize;
	st.st_blocks = (blkcnt_t)stx.stx_blocks;
	st.st_atim = timespec_of(&stx.stx_atime);
	st.st_mtim = timespec_of(&stx.stx_mtime);
	st.st_ctim = timespec_of(&stx.stx_ctime);
	if (S_ISDIR(st.st_mode)) {
		/* a folder has no size for clients */
		st.st_size = 0;
	}
	init_stat_ex_from_stat(sbuf, &st, fake);
	if (has_birth(sbuf) && (stx.stx_mask & STATX_BTIME)) {
		sbuf->st_ex_rdev = fold_birth(&stx.stx_btime);
	}
	return 0;
}

int ntvfs_next_stat(struct vfs_handle_struct *handle,
		    struct smb_filename *smb_fname)
{
	if (!is_direct(handle)) {
		return SMB_VFS_NEXT_STAT(handle, smb_fname);
	}
	return stat_directly(handle,
			     AT_FDCWD,
			     smb_fname->base_name,
			     0,
			     &smb_fname->st);
}

int ntvfs_next_lstat(struct vfs_handle_struct *handle,
		     struct smb_filename *smb_fname)
{
	if (!is_direct(handle)) {
		return SMB_VFS_NEXT_LSTAT(handle, smb_fname);
	}
	return stat_directly(handle,
			     AT_FDCWD,
			     smb_fname->base_name,
			     AT_SYMLINK_NOFOLLOW,
			     &smb_fname->st);
}

int ntvfs_next_fstat(struct vfs_handle_struct *handle,
		     struct files_struct *fsp,
		     SMB_STRUCT_STAT *sbuf)
{
	if (!is_direct(handle)) {
		return SMB_VFS_NEXT_FSTAT(handle, fsp, sbuf);
	}
	return stat_directly(handle,
			     fsp_get_pathref_fd(fsp),
			     "",
			     AT_EMPTY_PATH,
			     sbuf);
}

int ntvfs_fstatat(struct vfs_handle_struct *handle,
		  const struct files_struct *dirfsp,
		  const struct smb_filename *smb_fname,
		  SMB_STRUCT_STAT *sbuf,
		  int flags)
{
	if (!is_direct(handle)) {
		return SMB_VFS_NEXT_FSTATAT(handle,
					    dirfsp,
					    smb_fname,
					    sbuf,
					    flags);
	}
	return stat_directly(handle,
			     fsp_get_pathref_fd(dirfsp),
			     smb_fname->base_name,
			     flags,
			     sbuf);
}

uint64_t ntvfs_fs_file_id(struct vfs_handle_struct *handle,
			  const SMB_STRUCT_STAT *sbuf)
{
	uint64_t id = SMB_VFS_NEXT_FS_FILE_ID(handle, sbuf);

	if (is_direct(handle) && has_birth(sbuf)) {
		id ^= (uint64_t)sbuf->st_ex_rdev << BIRTH_SHIFT;
	}
	return id;
}
