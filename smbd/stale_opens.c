/*
 * What smbd remembers of a file that is gone.
 *
 * smbd's record of who has a file open, and whether it is to be deleted, is
 * found by device and inode number. A process that dies between the removal
 * of a file and that of its record leaves it behind, and the next file that
 * gets the inode number would be deleted with its first close.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "smbd/vfs_ntvfs.h"
#include "librpc/gen_ndr/open_files.h"
#include "locking/share_mode_lock.h"
#include "serverid.h"

static bool is_alive(struct share_mode_entry *e,
		     bool *modified,
		     void *private_data)
{
	bool *alive = private_data;

	*alive = serverid_exists(&e->pid);
	return *alive;
}

static bool drop(struct share_mode_entry *e,
		 bool *modified,
		 void *private_data)
{
	e->stale = true;
	return false;
}

/*
 * A record of a file that has just been made, in whose open smbd is and
 * holds no record yet, is another file's if nobody of it lives. If somebody
 * does, he has found the new file already and the record is his.
 */
void ntvfs_drop_stale_opens(struct vfs_handle_struct *handle,
			    const SMB_STRUCT_STAT *st)
{
	struct share_mode_lock *lock = NULL;
	bool alive = false;
	struct file_id id = vfs_file_id_from_sbuf(handle->conn, st);

	lock = fetch_share_mode_unlocked(talloc_tos(), id);
	if (lock == NULL) {
		return;
	}
	(void)share_mode_forall_entries(lock, is_alive, &alive);
	TALLOC_FREE(lock);
	if (alive) {
		return;
	}
	lock = get_existing_share_mode_lock(talloc_tos(), id);
	if (lock == NULL) {
		return;
	}
	(void)share_mode_forall_entries(lock, is_alive, &alive);
	if (!alive) {
		DBG_NOTICE("inode %ju on device %ju: dropped what a dead "
			   "process left of another file\n",
			   (uintmax_t)st->st_ex_ino,
			   (uintmax_t)st->st_ex_dev);
		(void)share_mode_forall_entries(lock, drop, NULL);
	}
	TALLOC_FREE(lock);
}
