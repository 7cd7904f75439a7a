/*
 * Tree connect: the options of a share, and what is refused.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "smbd/vfs_ntvfs.h"
#include "lib/param/loadparm.h"
#include "lib/util/smb_strtox.h"
#include "ntvfs_posix/directory_stamp.h"
#include "ntvfs_posix/ntvfs_posix.h"
#include <linux/magic.h>
#include <sys/vfs.h>

#define MODULE "ntvfs"

/* Flags of MS-FSCC 2.5.1 that smbd's headers do not have. */
#ifndef FILE_SUPPORTS_HARD_LINKS
#define FILE_SUPPORTS_HARD_LINKS 0x00400000
#endif
#ifndef FILE_SUPPORTS_EXTENDED_ATTRIBUTES
#define FILE_SUPPORTS_EXTENDED_ATTRIBUTES 0x00800000
#endif

/* Defaults of the options; see docs/options.md. */
#define DEFAULT_STREAM_XATTR_SIZE 1024
#define STREAM_XATTR_SIZE_MOST	  65535
#define DEFAULT_CACHED_OBJECTS	  8192
#define DEFAULT_CACHED_NAMES	  1000000
#define UNPROVEN_MILLISECONDS	  1000

static const struct enum_list xattr_stores[] = {
	{-1, "auto"},
	{NTVFS_XATTR_STORE_FS, "fs"},
	{NTVFS_XATTR_STORE_TDB, "tdb"},
	{0, NULL},
};

/*
 * What a share needs so that NT metadata mean what clients meant by them:
 * descriptors are inherited and checked by smbd, and nothing is mapped onto
 * mode bits, which let everybody in.
 */
static const struct {
	const char *name;
	const char *value;
} needed_settings[] = {
	{"inherit acls", "yes"},
	{"dos filemode", "yes"},
	{"force unknown acl user", "yes"},
	{"nt acl support", "yes"},
	{"store dos attributes", "yes"},
	{"map archive", "no"},
	{"map hidden", "no"},
	{"map system", "no"},
	{"map readonly", "no"},
	{"ea support", "yes"},
	{"smbd async dosmode", "no"},
	{"create mask", "0666"},
	{"directory mask", "0777"},
	{"check parent directory delete on close", "yes"},
};

static bool share_is_ours(const struct connection_struct *conn)
{
	return !IS_IPC(conn) && !IS_PRINT(conn);
}

struct ntvfs_share *ntvfs_share_of(struct vfs_handle_struct *handle)
{
	return handle->data;
}

/*
 * Listings show the short names by which files are found anyway, as they do
 * on a volume that has them.
 */
static bool has_short_names(const struct connection_struct *conn)
{
	return lp_mangled_names(conn->params) == MANGLED_NAMES_YES ||
	       !lp_parm_bool(SNUM(conn), MODULE, "short names", true);
}

/* Called again when the settings may have been read anew. */
void ntvfs_force_settings(struct vfs_handle_struct *handle)
{
	int snum = SNUM(handle->conn);
	size_t i;

	if (lp_inherit_acls(snum) && lp_create_mask(snum) == 0666 &&
	    lp_dos_filemode(snum) && lp_force_unknown_acl_user(snum) &&
	    lp_store_dos_attributes(snum) && lp_nt_acl_support(snum) &&
	    !lp_map_archive(snum) && !lp_map_hidden(snum) &&
	    !lp_map_system(snum) &&
	    lp_map_readonly(snum) == MAP_READONLY_NO &&
	    lp_ea_support(snum) && !lp_smbd_async_dosmode(snum) &&
	    lp_directory_mask(snum) == 0777 &&
	    lp_check_parent_directory_delete_on_close(snum) &&
	    has_short_names(handle->conn))
	{
		return;
	}
	for (i = 0; i < ARRAY_SIZE(needed_settings); i++) {
		lp_do_parameter(snum,
				needed_settings[i].name,
				needed_settings[i].value);
	}
	if (!has_short_names(handle->conn)) {
		lp_do_parameter(snum, "mangled names", "yes");
	}
	DBG_NOTICE("share %s: set what ntvfs needs: inherit acls = yes, "
		   "dos filemode = yes, force unknown acl user = yes, "
		   "nt acl support = yes, store dos attributes = yes, "
		   "map archive, hidden, system, readonly = no, "
		   "ea support = yes, smbd async dosmode = no, "
		   "create mask = 0666, directory mask = 0777, "
		   "check parent directory delete on close = yes; and, unless "
		   "ntvfs:short names = no, mangled names = yes\n",
		   lp_const_servicename(snum));
}

/*
 * Is an entry of vfs objects that module? It may be a path, and may have a
 * parameter behind a colon.
 */
static bool is_module(const char *entry, const char *module)
{
	const char *slash = strrchr(entry, '/');
	size_t length = strlen(module);

	if (slash != NULL) {
		entry = slash + 1;
	}
	return strncmp(entry, module, length) == 0 &&
	       (entry[length] == '\0' || entry[length] == ':' ||
		strcmp(entry + length, ".so") == 0);
}

static bool is_one_of(const char *entry,
		      const char *const *modules,
		      const char **found)
{
	for (; *modules != NULL; modules++) {
		if (is_module(entry, *modules)) {
			*found = *modules;
			return true;
		}
	}
	return false;
}

/* Modules that keep what this one keeps, each in its own way. */
static bool other_store_is_stacked(struct vfs_handle_struct *handle)
{
	static const char *const stores[] = {
		"acl_xattr", "acl_tdb", "streams_xattr", "streams_depot",
		"nfs4acl_xattr", "zfsacl", "gpfs", NULL,
	};
	const char *service = lp_const_servicename(SNUM(handle->conn));
	const char **objects = lp_vfs_objects(SNUM(handle->conn));
	const char *found = NULL;
	unsigned own = 0;

	for (; objects != NULL && *objects != NULL; objects++) {
		if (is_module(*objects, MODULE)) {
			own++;
		}
		if (is_one_of(*objects, stores, &found)) {
			DBG_ERR("share %s: vfs objects has both ntvfs and %s, "
				"which keep the same metadata in two ways; "
				"remove %s\n",
				service,
				found,
				found);
			return true;
		}
	}
	if (own > 1) {
		DBG_ERR("share %s: vfs objects has ntvfs %u times; once is "
			"enough\n",
			service,
			own);
		return true;
	}
	return false;
}

/*
 * Might a module on the right keep xattrs elsewhere than in the file system?
 * Of one that is not known here it must be feared.
 */
static bool xattrs_may_be_elsewhere(struct vfs_handle_struct *handle)
{
	static const char *const harmless[] = {
		"aio_fork", "aio_pthread", "audit", "btrfs", "catia",
		"default_quota", "dirsort", "extd_audit", "fake_perms",
		"full_audit", "io_uring", "preopen", "readahead", "readonly",
		"recycle", "shadow_copy2", "syncops", "time_audit", "worm",
		NULL,
	};
	const char **objects = lp_vfs_objects(SNUM(handle->conn));
	const char *found = NULL;
	bool on_the_right = false;

	for (; objects != NULL && *objects != NULL; objects++) {
		if (is_module(*objects, MODULE)) {
			on_the_right = true;
		} else if (on_the_right &&
			   !is_one_of(*objects, harmless, &found))
		{
			return true;
		}
	}
	return false;
}

static void report_complaint(const struct ntvfs_complaint *complaint,
			     void *private_data)
{
	struct vfs_handle_struct *handle = private_data;

	DBG_ERR("share %s: %s of inode %ju on device %ju: %s (%s); "
		"the file is used without it. ntvfs-xattr dump shows it\n",
		lp_const_servicename(SNUM(handle->conn)),
		complaint->xattr_name,
		(uintmax_t)complaint->inode,
		(uintmax_t)complaint->device,
		complaint->reason,
		nt_errstr(complaint->status));
}

static int share_destructor(struct ntvfs_share *share)
{
	if (share->placeholder_fd != -1) {
		close(share->placeholder_fd);
		share->placeholder_fd = -1;
	}
	return 0;
}

static void free_share(void **data)
{
	TALLOC_FREE(*data);
}

/*
 * Does any module but the last, which has no snapshots, list them? Modules
 * that have some are asked for a file as it was by the same names.
 */
static bool has_snapshots(const struct connection_struct *conn)
{
	const struct vfs_handle_struct *module = NULL;

	for (module = conn->vfs_handles; module != NULL && module->next != NULL;
	     module = module->next)
	{
		if (module->fns->get_shadow_copy_data_fn != NULL) {
			return true;
		}
	}
	return false;
}

/* Does the file system give a file several names? FAT does not. */
static bool has_hard_links(int root_fd)
{
	struct statfs fs = {.f_type = 0};

	if (root_fd == -1 || fstatfs(root_fd, &fs) != 0) {
		/* another module's: it is not promised */
		return false;
	}
	return fs.f_type != MSDOS_SUPER_MAGIC &&
	       fs.f_type != EXFAT_SUPER_MAGIC;
}

/*
 * The value of an option that has names. A name that it does not have is
 * refused, where smbd's own lp_parm_enum() takes the default.
 */
static bool option_enum(struct vfs_handle_struct *handle,
			const char *option,
			const struct enum_list *names,
			int default_value,
			int *value)
{
	int snum = SNUM(handle->conn);
	const char *given = NULL;
	char *known = NULL;
	size_t i;

	*value = default_value;
	given = lp_parm_const_string(snum, MODULE, option, NULL);
	if (given == NULL) {
		return true;
	}
	known = talloc_strdup(talloc_tos(), "");
	for (i = 0; names[i].name != NULL; i++) {
		if (strwicmp(names[i].name, given) == 0) {
			*value = names[i].value;
			TALLOC_FREE(known);
			return true;
		}
		known = talloc_asprintf_append(known,
					       "%s%s",
					       i == 0 ? "" : ", ",
					       names[i].name);
	}
	DBG_ERR("share %s: ntvfs:%s = %s is none of its values: %s\n",
		lp_const_servicename(snum),
		option,
		given,
		known != NULL ? known : "");
	TALLOC_FREE(known);
	return false;
}

/* The value of an option that is a number from 0 to most. */
static bool option_number(struct vfs_handle_struct *handle,
			  const char *option,
			  unsigned long default_value,
			  unsigned long most,
			  unsigned long *value)
{
	int snum = SNUM(handle->conn);
	const char *given = NULL;
	int error = 0;

	*value = default_value;
	given = lp_parm_const_string(snum, MODULE, option, NULL);
	if (given == NULL) {
		return true;
	}
	*value = smb_strtoul(given, NULL, 10, &error, SMB_STR_FULL_STR_CONV);
	if (error != 0 || *value > most) {
		DBG_ERR("share %s: ntvfs:%s = %s is no number from 0 to %lu\n",
			lp_const_servicename(snum),
			option,
			given,
			most);
		return false;
	}
	return true;
}

/*
 * Where xattrs go: what the option says, or what the file system can. A
 * share that does not lie in a folder of this host (root_fd is -1) is
 * another module's, which knows xattrs or says so later.
 */
static bool choose_xattr_store(struct vfs_handle_struct *handle,
			       int root_fd,
			       enum ntvfs_posix_xattr_store *store)
{
	const char *service = lp_const_servicename(SNUM(handle->conn));
	bool has = true;
	int option;
	int error = 0;

	if (!option_enum(handle, "xattr store", xattr_stores, -1, &option)) {
		return false;
	}
	if (root_fd != -1) {
		error = ntvfs_posix_probe_xattrs(&ntvfs_posix_io_libc,
						 &root_fd,
						 &has);
	}
	if (error != 0) {
		DBG_ERR("share %s: cannot ask %s for extended attributes: "
			"%s\n",
			service,
			handle->conn->connectpath,
			strerror(error));
		return false;
	}
	if (option == NTVFS_XATTR_STORE_FS && !has) {
		DBG_ERR("share %s: ntvfs:xattr store = fs, but the file "
			"system of %s has no user extended attributes; mount "
			"it with them or set ntvfs:xattr store = tdb\n",
			service,
			handle->conn->connectpath);
		return false;
	}
	if (option == -1) {
		option = has ? NTVFS_XATTR_STORE_FS : NTVFS_XATTR_STORE_TDB;
	}
	*store = option;
	return true;
}

static bool create_backend(struct vfs_handle_struct *handle,
			   struct ntvfs_share *share,
			   int root_fd)
{
	int snum = SNUM(handle->conn);
	const char *service = lp_const_servicename(snum);
	struct ntvfs_name_cache_config names = {.max_names = 0};
	struct ntvfs_posix_config posix = {.path = NULL};
	const char *type = NULL;
	char *counter_path = NULL;
	unsigned long size = 0;
	bool ok = false;
	int error;

	type = lp_parm_const_string(snum, MODULE, "backend", "posix");
	if (strcmp(type, "posix") != 0) {
		DBG_ERR("share %s: ntvfs:backend = %s is none of the backends "
			"of this module; it has: posix\n",
			service,
			type);
		return false;
	}
	if (!option_number(handle,
			   "stream xattr size",
			   DEFAULT_STREAM_XATTR_SIZE,
			   STREAM_XATTR_SIZE_MOST,
			   &size))
	{
		return false;
	}
	if (!choose_xattr_store(handle, root_fd, &posix.xattr_store)) {
		return false;
	}

	posix.path = handle->conn->connectpath;
	posix.volume = share->root_dev;
	posix.lock_path = lock_path(talloc_tos(), "ntvfs_streams.lock");
	counter_path = lock_path(talloc_tos(), "ntvfs_names.counters");
	if (posix.lock_path == NULL || counter_path == NULL) {
		goto done;
	}
	posix.stream_xattr_max = size;
	posix.exact_stamps = root_fd != -1 && ntvfs_stamps_are_exact(root_fd);
	posix.xattrs_elsewhere = xattrs_may_be_elsewhere(handle);
	posix.kernel_files = root_fd != -1;
	posix.cached_objects = DEFAULT_CACHED_OBJECTS;
	posix.complain = report_complaint;
	posix.complain_data = handle;
	error = ntvfs_posix_create(share, &share->io, &posix, &share->backend);
	if (error == EPERM || error == ENOTDIR || error == ELOOP) {
		/* P1 in ntvfs_posix/private_folder.h */
		DBG_ERR("share %s: %s/" NTVFS_POSIX_PRIVATE_FOLDER " is not a "
			"folder that is root's and that nobody else may write "
			"to; move it out of the way\n",
			service,
			posix.path);
		goto done;
	}
	if (error != 0) {
		DBG_ERR("share %s: cannot use %s: %s\n",
			service,
			posix.path,
			strerror(error));
		goto done;
	}

	names.max_names = DEFAULT_CACHED_NAMES;
	names.exact_stamps = posix.exact_stamps;
	names.stamps_dev = posix.volume;
	names.unproven_milliseconds = UNPROVEN_MILLISECONDS;
	names.counter_path = counter_path;
	share->names = ntvfs_name_cache_init(share, &names);
	if (share->names == NULL) {
		DBG_ERR("share %s: cannot use %s: %s\n",
			service,
			counter_path,
			strerror(errno));
		goto done;
	}
	ok = true;
done:
	TALLOC_FREE(counter_path);
	return ok;
}

static bool set_up_share(struct vfs_handle_struct *handle)
{
	struct ntvfs_share *share = NULL;
	struct stat st = {.st_dev = 0};
	int root_fd = -1;
	int style = DEFAULT_ACL_WINDOWS;
	bool ok = false;

	share = talloc_zero(handle->conn, struct ntvfs_share);
	if (share == NULL) {
		return false;
	}
	share->placeholder_fd = -1;
	talloc_set_destructor(share, share_destructor);
	share->io = ntvfs_io_next;
	share->io.context = handle;
	share->nowait_writes = true;
	/* the file system's own calls are the last module of every share */
	share->nothing_below = handle->next != NULL &&
			       handle->next->next == NULL;
	share->no_snapshots = !has_snapshots(handle->conn);
	if (!option_enum(handle,
			 "default acl style",
			 get_default_acl_style_list(),
			 DEFAULT_ACL_WINDOWS,
			 &style))
	{
		goto done;
	}
	share->default_acl_style = style;

	share->placeholder_fd = open("/", O_PATH | O_CLOEXEC);
	if (share->placeholder_fd == -1) {
		goto done;
	}
	root_fd = open(handle->conn->connectpath,
		       O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root_fd != -1) {
		if (fstat(root_fd, &st) != 0) {
			goto done;
		}
		share->root_dev = st.st_dev;
		share->root_ino = st.st_ino;
	} else if (share->nothing_below) {
		DBG_ERR("share %s: cannot open %s: %s\n",
			lp_const_servicename(SNUM(handle->conn)),
			handle->conn->connectpath,
			strerror(errno));
		goto done;
	}
	share->has_links = has_hard_links(root_fd);
	if (!create_backend(handle, share, root_fd)) {
		goto done;
	}
	SMB_VFS_HANDLE_SET_DATA(handle,
				share,
				free_share,
				struct ntvfs_share,
				goto done);
	share = NULL;
	ok = true;
done:
	if (root_fd != -1) {
		close(root_fd);
	}
	TALLOC_FREE(share);
	return ok;
}

/*
 * A share's folder may be made by a preexec script, which smbd runs after
 * the tree connect. The share is then set up when the folder is there: see
 * ntvfs_realpath().
 */
static bool folder_comes_later(struct vfs_handle_struct *handle)
{
	const struct loadparm_substitution *lp_sub =
		loadparm_s3_global_substitution();
	int snum = SNUM(handle->conn);

	if (access(handle->conn->connectpath, F_OK) == 0 || errno != ENOENT) {
		return false;
	}
	return lp_root_preexec(talloc_tos(), lp_sub, snum)[0] != '\0' ||
	       lp_preexec(talloc_tos(), lp_sub, snum)[0] != '\0';
}

static bool start_share(struct vfs_handle_struct *handle)
{
	if (other_store_is_stacked(handle) || !set_up_share(handle)) {
		return false;
	}
	ntvfs_force_settings(handle);
	return true;
}

int ntvfs_connect(struct vfs_handle_struct *handle,
		  const char *service,
		  const char *user)
{
	int ret;

	ret = SMB_VFS_NEXT_CONNECT(handle, service, user);
	if (ret != 0 || !share_is_ours(handle->conn)) {
		return ret;
	}
	if (!folder_comes_later(handle) && !start_share(handle)) {
		SMB_VFS_NEXT_DISCONNECT(handle);
		errno = EINVAL;
		return -1;
	}
	return 0;
}

/*
 * smbd asks for the path of a share's folder before the preexec scripts, when
 * it may fail, and after them, as root, when a failure refuses the share. It
 * looks at nothing in the folder before that.
 */
struct smb_filename *ntvfs_realpath(struct vfs_handle_struct *handle,
				    TALLOC_CTX *ctx,
				    const struct smb_filename *smb_fname)
{
	struct smb_filename *real = NULL;

	real = SMB_VFS_NEXT_REALPATH(handle, ctx, smb_fname);
	if (real == NULL || ntvfs_share_of(handle) != NULL ||
	    !share_is_ours(handle->conn))
	{
		return real;
	}
	if (!start_share(handle)) {
		TALLOC_FREE(real);
		errno = EINVAL;
	}
	return real;
}

void ntvfs_disconnect(struct vfs_handle_struct *handle)
{
	SMB_VFS_NEXT_DISCONNECT(handle);
}

uint32_t ntvfs_fs_capabilities(struct vfs_handle_struct *handle,
			       enum timestamp_set_resolution *resolution)
{
	struct ntvfs_share *share = ntvfs_share_of(handle);
	uint32_t capabilities;

	capabilities = SMB_VFS_NEXT_FS_CAPABILITIES(handle, resolution);
	if (share != NULL) {
		/* there is a store for both, or no tree connect */
		capabilities |= FILE_NAMED_STREAMS |
				FILE_SUPPORTS_EXTENDED_ATTRIBUTES;
		if (share->has_links) {
			capabilities |= FILE_SUPPORTS_HARD_LINKS;
		}
		*resolution = TIMESTAMP_SET_NT_OR_BETTER;
	}
	return capabilities;
}
