/*
 * What the files of the smbd module share with each other.
 *
 * The module translates smbd's VFS calls. What NT semantics are is decided
 * in ntvfs/, how they are stored in the backend; see docs/ARCHITECTURE.md.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_SMBD_VFS_NTVFS_H
#define NTVFS_SMBD_VFS_NTVFS_H

#include "includes.h"
#include "smbd/smbd.h"
#include "system/filesys.h"
#include "../libcli/security/security.h"
#include "include/ntvfs_backend.h"
#include "ntvfs_posix/posix_io.h"
#include "ntvfs_posix/name_cache.h"

#undef DBGC_CLASS
#define DBGC_CLASS DBGC_VFS

/*
 * The object that the request which smbd is working on has created (O_EXCL).
 *
 * smbd stores a descriptor and attributes on each, and reads them again for
 * its answer. What is stored on the object is known without looking: nothing
 * but what the request itself has stored. That ends with the request, for
 * which smbd's event loop is asked to say so.
 */
struct ntvfs_fresh {
	struct tevent_immediate *end_of_request;
	const struct files_struct *fsp;	/* NULL: there is none */
	bool has_stat;			/* smbd has asked for st */
	SMB_STRUCT_STAT st;
	bool has_sd;			/* the request stored one */
	struct ntvfs_attributes attributes;	/* that it stored */
};

/* The request to open or create that smbd is working on; see create.c. */
struct ntvfs_create {
	bool of_stream;
	bool made_base;		/* the stream's file was not there before */
	bool replaces;		/* what is there is to be emptied */
	bool made_directory;	/* and smbd has not asked for its stat yet */
	uint32_t attributes;	/* of the request; none of a POSIX client's */
};

/* One tree connect. */
struct ntvfs_share {
	struct ntvfs_backend *backend;
	struct ntvfs_posix_io io;
	struct ntvfs_name_cache *names;
	enum default_acl_style default_acl_style;
	struct ntvfs_default_sd *default_sds;	/* see default_sd.c */
	struct ntvfs_ownership *ownerships;	/* see ownership.c */

	/* The share's top folder, to know the private folder in it by. */
	uint64_t root_dev;
	uint64_t root_ino;

	/*
	 * Names no file and can do no I/O: a copy of it is the descriptor
	 * of a handle whose data is not a file's.
	 */
	int placeholder_fd;

	/* Nothing but smbd's own file system calls is below this module. */
	bool nothing_below;

	/* A file can have several names. */
	bool has_links;

	/* How large the volume was when somebody asked; 0: nobody has. */
	uint64_t volume_bytes;

	/* No module of the share knows snapshots. */
	bool no_snapshots;

	/* pwritev2() with RWF_NOWAIT works: not known to fail yet. */
	bool nowait_writes;

	struct ntvfs_no_quota *no_quotas;	/* see quota.c */

	struct ntvfs_fresh fresh;

	struct ntvfs_create *create;	/* NULL: it works on something else */

	/* smbd has been told to set or clear the sparse attribute. */
	bool sets_sparse;

	/*
	 * The file that was renamed last, until its attributes are set: smbd
	 * does that to add one, and leaves out what it does not know.
	 */
	uint64_t renamed_dev;
	uint64_t renamed_ino;

	/*
	 * smbd wanted to remove the streams of a file since it is about to
	 * remove the file: see ntvfs_stream_unlink().
	 */
	bool doomed_streams;
};

/* connect.c */
int ntvfs_connect(struct vfs_handle_struct *handle,
		  const char *service,
		  const char *user);
void ntvfs_disconnect(struct vfs_handle_struct *handle);
struct smb_filename *ntvfs_realpath(struct vfs_handle_struct *handle,
				    TALLOC_CTX *ctx,
				    const struct smb_filename *smb_fname);
void ntvfs_force_settings(struct vfs_handle_struct *handle);
uint32_t ntvfs_fs_capabilities(struct vfs_handle_struct *handle,
			       enum timestamp_set_resolution *resolution);

/* NULL for IPC$ and printers, which the module leaves alone. */
struct ntvfs_share *ntvfs_share_of(struct vfs_handle_struct *handle);

/* object.c */

extern const struct ntvfs_posix_io ntvfs_io_next;

/*
 * Name the object behind a handle, asking the file system for its stamps
 * now. A stream's object is the file that has it. sbuf may be NULL, else it
 * gets what fstat said. False with errno set if that fails.
 */
bool ntvfs_object_of(struct vfs_handle_struct *handle,
		     struct files_struct *fsp,
		     struct ntvfs_object *object,
		     SMB_STRUCT_STAT *sbuf);

/*
 * The same, for reading: what smbd itself learned when it opened the handle
 * will do, if the handle was opened for this request.
 */
bool ntvfs_object_to_read(struct vfs_handle_struct *handle,
			  struct files_struct *fsp,
			  struct ntvfs_object *object,
			  SMB_STRUCT_STAT *sbuf);

/*
 * Is it a handle that names an object for the time of one request, and do
 * fsp_name->st tell of the object as it was when that began?
 */
bool ntvfs_is_request_handle(const struct files_struct *fsp);

/* ownership.c */

/* Is it known that an object of this stat has the descriptor's owner? */
bool ntvfs_ownership_is(const struct ntvfs_share *share,
			const struct security_descriptor *sd,
			const SMB_STRUCT_STAT *st);

/* The file system's owner and group have just been made the descriptor's. */
void ntvfs_ownership_learn(struct ntvfs_share *share,
			   const struct security_descriptor *sd,
			   const SMB_STRUCT_STAT *st);

/* capability.c */

/*
 * Let this thread write xattrs of the security name space. False: it can
 * already, or it cannot be given that right. After true it must be lowered
 * before anything else happens; lowering keeps errno.
 */
bool ntvfs_raise_sys_admin(void);
void ntvfs_lower_sys_admin(void);

/* fresh.c */
void ntvfs_fresh_begin(struct vfs_handle_struct *handle,
		       const struct files_struct *fsp);
void ntvfs_fresh_end(struct ntvfs_share *share);

/* smbd has asked for the stat of a handle. */
void ntvfs_fresh_stat(struct vfs_handle_struct *handle,
		      const struct files_struct *fsp,
		      const SMB_STRUCT_STAT *st);

/* The fresh object if this handle is one of it, or NULL. */
struct ntvfs_fresh *ntvfs_fresh_of(struct ntvfs_share *share,
				   const struct files_struct *fsp);

/*
 * What an errno value of the backend is for clients: as NTSTATUS, and as the
 * errno value that smbd makes the nearest NTSTATUS of.
 */
NTSTATUS ntvfs_status(int error);
int ntvfs_errno(int error);

/* create.c */
NTSTATUS ntvfs_create_file(struct vfs_handle_struct *handle,
			   struct smb_request *req,
			   struct files_struct *dirfsp,
			   struct smb_filename *smb_fname,
			   uint32_t access_mask,
			   uint32_t share_access,
			   uint32_t create_disposition,
			   uint32_t create_options,
			   uint32_t file_attributes,
			   uint32_t oplock_request,
			   const struct smb2_lease *lease,
			   uint64_t allocation_size,
			   uint32_t private_flags,
			   struct security_descriptor *sd,
			   struct ea_list *ea_list,
			   files_struct **result,
			   int *pinfo,
			   const struct smb2_create_blobs *in_context_blobs,
			   struct smb2_create_blobs *out_context_blobs);

/* attributes.c */
NTSTATUS ntvfs_fsctl(struct vfs_handle_struct *handle,
		     struct files_struct *fsp,
		     TALLOC_CTX *ctx,
		     uint32_t function,
		     uint16_t req_flags,
		     const uint8_t *in_data,
		     uint32_t in_len,
		     uint8_t **out_data,
		     uint32_t max_out_len,
		     uint32_t *out_len);
SMB_ACL_T ntvfs_sys_acl_get_fd(struct vfs_handle_struct *handle,
			       struct files_struct *fsp,
			       SMB_ACL_TYPE_T type,
			       TALLOC_CTX *mem_ctx);
NTSTATUS ntvfs_fget_dos_attributes(struct vfs_handle_struct *handle,
				   struct files_struct *fsp,
				   uint32_t *dosmode);
NTSTATUS ntvfs_fset_dos_attributes(struct vfs_handle_struct *handle,
				   struct files_struct *fsp,
				   uint32_t dosmode);
struct tevent_req *
ntvfs_get_dos_attributes_send(TALLOC_CTX *mem_ctx,
			      struct tevent_context *ev,
			      struct vfs_handle_struct *handle,
			      files_struct *dir_fsp,
			      struct smb_filename *smb_fname);
NTSTATUS ntvfs_get_dos_attributes_recv(struct tevent_req *req,
				       struct vfs_aio_state *aio_state,
				       uint32_t *dosmode);
int ntvfs_fntimes(struct vfs_handle_struct *handle,
		  files_struct *fsp,
		  struct smb_file_time *ft);
int ntvfs_fchmod(struct vfs_handle_struct *handle,
		 struct files_struct *fsp,
		 mode_t mode);

/* quota.c */
int ntvfs_get_quota(struct vfs_handle_struct *handle,
		    const struct smb_filename *smb_fname,
		    enum SMB_QUOTA_TYPE qtype,
		    unid_t id,
		    SMB_DISK_QUOTA *quota);
int ntvfs_set_quota(struct vfs_handle_struct *handle,
		    enum SMB_QUOTA_TYPE qtype,
		    unid_t id,
		    SMB_DISK_QUOTA *quota);

/* security.c */
NTSTATUS ntvfs_fget_nt_acl(struct vfs_handle_struct *handle,
			   struct files_struct *fsp,
			   uint32_t security_info,
			   TALLOC_CTX *mem_ctx,
			   struct security_descriptor **ppdesc);
NTSTATUS ntvfs_fset_nt_acl(struct vfs_handle_struct *handle,
			   struct files_struct *fsp,
			   uint32_t security_info_sent,
			   const struct security_descriptor *psd);

/*
 * The descriptor of an object that has none stored, as the share's default
 * ACL style makes it, from memory where possible: names of users are
 * expensive to look up.
 */
NTSTATUS ntvfs_default_sd(struct ntvfs_share *share,
			  enum default_acl_style style,
			  const char *name,
			  const SMB_STRUCT_STAT *st,
			  TALLOC_CTX *mem_ctx,
			  struct security_descriptor **sd);

/* eas.c */
ssize_t ntvfs_fgetxattr(struct vfs_handle_struct *handle,
			struct files_struct *fsp,
			const char *name,
			void *value,
			size_t size);
ssize_t ntvfs_flistxattr(struct vfs_handle_struct *handle,
			 struct files_struct *fsp,
			 char *list,
			 size_t size);
int ntvfs_fsetxattr(struct vfs_handle_struct *handle,
		    struct files_struct *fsp,
		    const char *name,
		    const void *value,
		    size_t size,
		    int flags);
int ntvfs_fremovexattr(struct vfs_handle_struct *handle,
		       struct files_struct *fsp,
		       const char *name);


/*
 * Remove all EAs of an object. False with errno set if one stays.
 */
bool ntvfs_drop_eas(struct vfs_handle_struct *handle,
		    const struct ntvfs_object *object);

/* names.c */
int ntvfs_openat(struct vfs_handle_struct *handle,
		 const struct files_struct *dirfsp,
		 const struct smb_filename *smb_fname,
		 struct files_struct *fsp,
		 const struct vfs_open_how *how);
int ntvfs_mkdirat(struct vfs_handle_struct *handle,
		  struct files_struct *dirfsp,
		  const struct smb_filename *smb_fname,
		  mode_t mode);
int ntvfs_unlinkat(struct vfs_handle_struct *handle,
		   struct files_struct *dirfsp,
		   const struct smb_filename *smb_fname,
		   int flags);
int ntvfs_renameat(struct vfs_handle_struct *handle,
		   struct files_struct *src_dirfsp,
		   const struct smb_filename *src,
		   struct files_struct *dst_dirfsp,
		   const struct smb_filename *dst);
int ntvfs_linkat(struct vfs_handle_struct *handle,
		 struct files_struct *src_dirfsp,
		 const struct smb_filename *src,
		 struct files_struct *dst_dirfsp,
		 const struct smb_filename *dst,
		 int flags);
int ntvfs_symlinkat(struct vfs_handle_struct *handle,
		    const struct smb_filename *contents,
		    struct files_struct *dirfsp,
		    const struct smb_filename *smb_fname);
int ntvfs_mknodat(struct vfs_handle_struct *handle,
		  struct files_struct *dirfsp,
		  const struct smb_filename *smb_fname,
		  mode_t mode,
		  SMB_DEV_T dev);
struct dirent *ntvfs_readdir(struct vfs_handle_struct *handle,
			     struct files_struct *dirfsp,
			     DIR *dirp,
			     SMB_STRUCT_STAT *sbuf);
NTSTATUS ntvfs_get_real_filename_at(struct vfs_handle_struct *handle,
				    struct files_struct *dirfsp,
				    const char *name,
				    TALLOC_CTX *mem_ctx,
				    char **found_name);

/* stat.c: the calls of the module below, or as they would be */
int ntvfs_next_stat(struct vfs_handle_struct *handle,
		    struct smb_filename *smb_fname);
int ntvfs_next_lstat(struct vfs_handle_struct *handle,
		     struct smb_filename *smb_fname);
int ntvfs_next_fstat(struct vfs_handle_struct *handle,
		     struct files_struct *fsp,
		     SMB_STRUCT_STAT *sbuf);
int ntvfs_fstatat(struct vfs_handle_struct *handle,
		  const struct files_struct *dirfsp,
		  const struct smb_filename *smb_fname,
		  SMB_STRUCT_STAT *sbuf,
		  int flags);
uint64_t ntvfs_fs_file_id(struct vfs_handle_struct *handle,
			  const SMB_STRUCT_STAT *sbuf);

/* stale_opens.c: st is of a file that smbd has just made, to open it */
void ntvfs_drop_stale_opens(struct vfs_handle_struct *handle,
			    const SMB_STRUCT_STAT *st);

/* rename.c */

/* False with errno set: what MS-FSA asks of a rename is not there. */
bool ntvfs_may_rename(struct vfs_handle_struct *handle,
		      const struct smb_filename *src,
		      const struct files_struct *dst_dirfsp);
NTSTATUS ntvfs_parent_pathname(struct vfs_handle_struct *handle,
			       TALLOC_CTX *mem_ctx,
			       const struct smb_filename *smb_fname,
			       struct smb_filename **parent,
			       struct smb_filename **atname);

/* streams.c: named streams as objects of their own */
int ntvfs_stream_openat(struct vfs_handle_struct *handle,
			const struct smb_filename *smb_fname,
			struct files_struct *fsp,
			const struct vfs_open_how *how);
int ntvfs_stream_unlink(struct vfs_handle_struct *handle,
			const struct smb_filename *smb_fname);
int ntvfs_stream_rename(struct vfs_handle_struct *handle,
			struct files_struct *dirfsp,
			const struct smb_filename *src,
			const struct smb_filename *dst);
int ntvfs_stat(struct vfs_handle_struct *handle,
	       struct smb_filename *smb_fname);
int ntvfs_lstat(struct vfs_handle_struct *handle,
		struct smb_filename *smb_fname);
int ntvfs_fstat(struct vfs_handle_struct *handle,
		struct files_struct *fsp,
		SMB_STRUCT_STAT *sbuf);
NTSTATUS ntvfs_fstreaminfo(struct vfs_handle_struct *handle,
			   struct files_struct *fsp,
			   TALLOC_CTX *mem_ctx,
			   unsigned int *num_streams,
			   struct stream_struct **streams);

/* stream_io.c: the calls on an open stream */

/*
 * Is the handle one of a stream that is part of its file, so that there is
 * no file to hand to the module below?
 */
bool ntvfs_stream_is_small(struct vfs_handle_struct *handle,
			   struct files_struct *fsp);
ssize_t ntvfs_stream_pread(struct vfs_handle_struct *handle,
			   struct files_struct *fsp,
			   void *data,
			   size_t n,
			   off_t offset);
ssize_t ntvfs_stream_pwrite(struct vfs_handle_struct *handle,
			    struct files_struct *fsp,
			    const void *data,
			    size_t n,
			    off_t offset);
int ntvfs_ftruncate(struct vfs_handle_struct *handle,
		    struct files_struct *fsp,
		    off_t offset);
int ntvfs_fallocate(struct vfs_handle_struct *handle,
		    struct files_struct *fsp,
		    uint32_t mode,
		    off_t offset,
		    off_t len);
off_t ntvfs_lseek(struct vfs_handle_struct *handle,
		  struct files_struct *fsp,
		  off_t offset,
		  int whence);
ssize_t ntvfs_sendfile(struct vfs_handle_struct *handle,
		       int tofd,
		       files_struct *fromfsp,
		       const DATA_BLOB *header,
		       off_t offset,
		       size_t count);
ssize_t ntvfs_recvfile(struct vfs_handle_struct *handle,
		       int fromfd,
		       files_struct *tofsp,
		       off_t offset,
		       size_t count);
int ntvfs_fchown(struct vfs_handle_struct *handle,
		 files_struct *fsp,
		 uid_t uid,
		 gid_t gid);
int ntvfs_fcntl(struct vfs_handle_struct *handle,
		struct files_struct *fsp,
		int cmd,
		va_list arguments);
bool ntvfs_lock(struct vfs_handle_struct *handle,
		struct files_struct *fsp,
		int op,
		off_t offset,
		off_t count,
		int type);
bool ntvfs_getlock(struct vfs_handle_struct *handle,
		   struct files_struct *fsp,
		   off_t *poffset,
		   off_t *pcount,
		   int *ptype,
		   pid_t *ppid);
int ntvfs_filesystem_sharemode(struct vfs_handle_struct *handle,
			       files_struct *fsp,
			       uint32_t share_access,
			       uint32_t access_mask);
int ntvfs_linux_setlease(struct vfs_handle_struct *handle,
			 files_struct *fsp,
			 int leasetype);

/* data_io.c: reads and writes, answered at once where possible */
ssize_t ntvfs_pread(struct vfs_handle_struct *handle,
		    struct files_struct *fsp,
		    void *data,
		    size_t n,
		    off_t offset);
struct tevent_req *ntvfs_pread_send(struct vfs_handle_struct *handle,
				    TALLOC_CTX *mem_ctx,
				    struct tevent_context *ev,
				    struct files_struct *fsp,
				    void *data,
				    size_t n,
				    off_t offset);
ssize_t ntvfs_pread_recv(struct tevent_req *req,
			 struct vfs_aio_state *aio_state);
ssize_t ntvfs_pwrite(struct vfs_handle_struct *handle,
		     struct files_struct *fsp,
		     const void *data,
		     size_t n,
		     off_t offset);
struct tevent_req *ntvfs_pwrite_send(struct vfs_handle_struct *handle,
				     TALLOC_CTX *mem_ctx,
				     struct tevent_context *ev,
				     struct files_struct *fsp,
				     const void *data,
				     size_t n,
				     off_t offset);
ssize_t ntvfs_pwrite_recv(struct tevent_req *req,
			  struct vfs_aio_state *aio_state);
struct tevent_req *ntvfs_fsync_send(struct vfs_handle_struct *handle,
				    TALLOC_CTX *mem_ctx,
				    struct tevent_context *ev,
				    struct files_struct *fsp);
int ntvfs_fsync_recv(struct tevent_req *req, struct vfs_aio_state *aio_state);

#endif /* NTVFS_SMBD_VFS_NTVFS_H */
