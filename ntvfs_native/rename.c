/*
 * Moving names.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A rename locks both directories, the object, and the one that loses its
 * name. A directory that moves to another one takes the rename lock besides:
 * under it no directory's parent changes, so that the way from the new parent
 * up to the root can be walked without locks.
 */

#include "directory.h"
#include "killpoint.h"

/* Directories above one another; more would be a damaged volume. */
#define DEPTH_MAX 65536

struct rename {
	nv_file_id from_directory;
	nv_file_id to_directory;
	const struct nv_name *to;
	const struct nv_name *to_short;
	struct nv_key from_key;
	struct nv_key to_key;
	uint64_t time;
	uint32_t flags;
	/* as looked up before */
	nv_file_id source;
	nv_file_id target;		/* 0: none */
	bool source_is_directory;
};

/* Is ancestor the directory or above it? Under the rename lock. */
static enum nv_status check_loop(struct nv_volume *volume,
				 nv_file_id ancestor, nv_file_id directory)
{
	const struct nv_disk_inode *inode = NULL;
	enum nv_status status;
	uint32_t i;

	for (i = 0; i < DEPTH_MAX; i++) {
		if (directory == ancestor) {
			return NV_ERR_LOOP;
		}
		/*
		 * Not locked, but nobody else moves a directory, and none of
		 * these can be removed, as there is one in it: their parent
		 * ids do not change. Whoever copies or undoes such an inode
		 * stores the same bytes there.
		 */
		status = nv_inode_read(volume, directory, &inode);
		if (status != NV_OK) {
			return NV_ERR_CORRUPT;
		}
		if (inode->parent_id == directory) {
			return NV_OK;
		}
		directory = inode->parent_id;
	}
	return NV_ERR_CORRUPT;
}

/* The target loses its name, in the operation. */
static enum nv_status replace(struct nv_operation *operation,
			      const struct rename *rename,
			      struct nv_open_directory *directory,
			      const struct nv_found *found,
			      struct nv_after *after)
{
	struct nv_disk_inode *inode = NULL;
	enum nv_status status;
	bool is_directory;

	if ((rename->flags & NV_REPLACE) == 0) {
		return NV_ERR_EXISTS;
	}
	if (found->id != rename->target) {
		return NV_ERR_RETRY;
	}
	if (found->id == rename->from_directory) {
		/* The source, which has left already, was in it. */
		return rename->source_is_directory ? NV_ERR_NOT_EMPTY :
			NV_ERR_IS_DIRECTORY;
	}
	status = nv_inode_modify(operation, found->id, &inode);
	if (status != NV_OK) {
		return status;
	}
	is_directory = inode->type == NV_TYPE_DIRECTORY;
	if (is_directory && !rename->source_is_directory) {
		return NV_ERR_IS_DIRECTORY;
	}
	if (!is_directory && rename->source_is_directory) {
		return NV_ERR_NOT_DIRECTORY;
	}
	status = nv_directory_leave(operation, directory, found, after);
	if (status != NV_OK) {
		return status;
	}
	NV_KILL_POINT("rename: target out of its directory");
	return nv_object_unname(operation, found->id, after);
}

static enum nv_status rename_in(struct nv_operation *operation,
				const struct rename *rename,
				struct nv_after *after)
{
	bool same = rename->from_directory == rename->to_directory;
	struct nv_open_directory from_store;
	struct nv_open_directory to_store;
	struct nv_open_directory *from = &from_store;
	struct nv_open_directory *to = same ? &from_store : &to_store;
	struct nv_disk_inode *inode = NULL;
	struct nv_found source;
	struct nv_found target;
	enum nv_status status;
	bool replaced;

	status = nv_directory_open(operation, rename->from_directory, from);
	if (status != NV_OK) {
		return status;
	}
	if (!same) {
		status = nv_directory_open(operation, rename->to_directory,
					   to);
		if (status != NV_OK) {
			return status;
		}
	}
	status = nv_directory_find(&from->names, &rename->from_key, &source);
	if (status != NV_OK) {
		return status;
	}
	if (source.id != rename->source) {
		return NV_ERR_RETRY;
	}
	if (rename->source_is_directory && !same) {
		status = check_loop(operation->volume, rename->source,
				    rename->to_directory);
		if (status != NV_OK) {
			return status;
		}
	}
	status = nv_directory_find(&to->names, &rename->to_key, &target);
	if (status != NV_OK && status != NV_ERR_NOT_FOUND) {
		return status;
	}
	/* Its own name in other case, or its own short name, is no target. */
	replaced = status == NV_OK &&
		!(same && target.cookie == source.cookie);
	status = nv_directory_leave(operation, from, &source, after);
	if (status != NV_OK) {
		return status;
	}
	NV_KILL_POINT("rename: source out of its directory");
	if (replaced) {
		status = replace(operation, rename, to, &target, after);
		if (status != NV_OK) {
			return status;
		}
	}
	status = nv_directory_enter(operation, to, source.id, rename->to,
				    rename->to_short, 0, after);
	if (status != NV_OK) {
		return status;
	}
	NV_KILL_POINT("rename: entered, parent not stored");
	nv_directory_touch(from->inode, rename->time);
	nv_directory_touch(to->inode, rename->time);
	if (same) {
		return NV_OK;
	}
	status = nv_inode_modify(operation, source.id, &inode);
	if (status != NV_OK) {
		return status == NV_ERR_NOT_FOUND ? NV_ERR_CORRUPT : status;
	}
	inode->parent_id = rename->to_directory;
	return NV_OK;
}

/* Look up without a lock what is to be locked. */
static enum nv_status look_up(struct nv_volume *volume,
			      struct rename *rename,
			      const struct nv_name *from, nv_file_id expected)
{
	struct nv_found found;
	struct nv_info info;
	enum nv_status status;

	status = nv_lookup(volume, rename->from_directory, from, &found);
	if (status != NV_OK) {
		return status;
	}
	if (expected != 0 && found.id != expected) {
		return NV_ERR_NOT_FOUND;
	}
	rename->source = found.id;
	status = nv_get_info(volume, found.id, &info);
	if (status == NV_ERR_NOT_FOUND) {
		/* Removed since: look again. */
		return NV_ERR_RETRY;
	}
	if (status != NV_OK) {
		return status;
	}
	rename->source_is_directory = info.type == NV_DIRECTORY;
	rename->target = 0;
	status = nv_lookup(volume, rename->to_directory, rename->to, &found);
	if (status == NV_OK) {
		rename->target = found.id;
	} else if (status != NV_ERR_NOT_FOUND) {
		return status;
	}
	return NV_OK;
}

#define RENAME_PAGES (4 + 2 * NV_LEAVE_PAGES + NV_ENTER_PAGES)

static_assert(RENAME_PAGES <= NV_OPERATION_PAGES, "rename is bounded");

static enum nv_status rename_once(struct nv_volume *volume,
				  const struct rename *rename,
				  struct nv_after *after)
{
	struct nv_operation operation;
	enum nv_status status;
	uint32_t flags = 0;
	uint64_t inos[4] = {
		NV_FILE_INO(rename->from_directory),
		NV_FILE_INO(rename->to_directory),
		NV_FILE_INO(rename->source),
		NV_FILE_INO(rename->target),
	};

	if (rename->source_is_directory &&
	    rename->from_directory != rename->to_directory) {
		flags |= NV_OP_RENAME;
	}
	status = nv_operation_begin(volume, &operation, inos,
				    rename->target == 0 ? 3 : 4,
				    RENAME_PAGES, flags);
	if (status != NV_OK) {
		return status;
	}
	status = rename_in(&operation, rename, after);
	return nv_operation_finish(&operation, status);
}

enum nv_status nv_rename(struct nv_volume *volume, nv_file_id from_directory,
			 const struct nv_name *from, nv_file_id expected,
			 nv_file_id to_directory, const struct nv_name *to,
			 const struct nv_name *to_short,
			 uint64_t directory_time, uint32_t flags)
{
	struct nv_name_order order = {.upcase = nv_volume_upcase(volume)};
	struct rename rename = {
		.from_directory = from_directory,
		.to_directory = to_directory,
		.to = to,
		.to_short = to_short,
		.time = directory_time,
		.flags = flags,
	};
	struct nv_after after;
	enum nv_status status;
	bool again = false;

	if (from->length == 0 || from->length > NV_NAME_MAX) {
		return NV_ERR_NAME;
	}
	status = nv_name_check(to);
	if (status != NV_OK) {
		return status;
	}
	status = nv_short_check(to_short);
	if (status != NV_OK) {
		return status;
	}
	nv_key_set(&rename.from_key, &order, from->units, from->length);
	nv_key_set(&rename.to_key, &order, to->units, to->length);
	do {
		nv_after_init(&after);
		status = look_up(volume, &rename, from, expected);
		if (status == NV_OK) {
			status = rename_once(volume, &rename, &after);
		}
		status = nv_after_operation(volume, status, &after, &again);
	} while (again);
	return status;
}
