/*
 * Making and removing names.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Each is one operation. What it needs to know before it can say which objects
 * it locks is looked up first, without a lock, and looked at again inside;
 * when it is not true any more all begins again.
 */

#include "directory.h"
#include "info.h"
#include "killpoint.h"
#include "reclaim.h"

/* ---- create ---- */

static void fill_inode(struct nv_disk_inode *inode, nv_file_id directory,
		       const struct nv_create_params *params, uint32_t sd_id)
{
	inode->nlink = 1;
	inode->parent_id = directory;
	inode->sd_id = sd_id;
	nv_info_apply(inode, params->info_mask, &params->info);
}

static enum nv_status create_in(struct nv_operation *operation,
				nv_file_id parent,
				const struct nv_create_params *params,
				uint32_t sd_id, nv_file_id id,
				struct nv_after *after)
{
	struct nv_open_directory directory;
	struct nv_disk_inode *inode = NULL;
	enum nv_status status;

	status = nv_directory_open(operation, parent, &directory);
	if (status != NV_OK) {
		return status;
	}
	status = nv_directory_enter(operation, &directory, id, &params->name,
				    &params->short_name, 0, after);
	if (status != NV_OK) {
		return status;
	}
	nv_directory_touch(directory.inode, params->directory_time);
	status = nv_inode_new(operation, id, params->type, &inode);
	if (status != NV_OK) {
		return status;
	}
	NV_KILL_POINT("create: inode made, empty");
	fill_inode(inode, parent, params, sd_id);
	if (params->ea_count > 0) {
		status = nv_ea_apply(operation, inode, params->ea,
				     params->ea_count);
		if (status != NV_OK) {
			return status;
		}
	}
	if (params->hold) {
		return nv_hold_locked(operation->volume, id);
	}
	return NV_OK;
}

static enum nv_status check_create(const struct nv_create_params *params)
{
	enum nv_status status;

	status = nv_name_check(&params->name);
	if (status != NV_OK) {
		return status;
	}
	if (params->type != NV_FILE && params->type != NV_DIRECTORY &&
	    params->type != NV_SPECIAL) {
		return NV_ERR_INVALID;
	}
	if ((params->info_mask & NV_INFO_CASE_SENSITIVE) != 0 &&
	    params->type != NV_DIRECTORY) {
		return NV_ERR_NOT_DIRECTORY;
	}
	return nv_short_check(&params->short_name);
}

enum nv_status nv_create(struct nv_volume *volume, nv_file_id directory,
			 const struct nv_create_params *params,
			 nv_file_id *id)
{
	struct nv_operation operation;
	struct nv_after after;
	enum nv_status status;
	nv_file_id made = 0;
	uint32_t ea_pages = 0;
	uint32_t sd_id = 0;
	bool again = false;

	status = check_create(params);
	if (status != NV_OK) {
		return status;
	}
	status = nv_ea_prepare(params->ea, params->ea_count, &ea_pages);
	if (status != NV_OK) {
		return status;
	}
	status = nv_sd_intern(volume, params->sd, params->sd_length, &sd_id);
	if (status != NV_OK) {
		return status;
	}
	status = nv_inode_reserve(volume, &made);
	if (status != NV_OK) {
		return status;
	}
	do {
		uint64_t inos[] = {NV_FILE_INO(directory), NV_FILE_INO(made)};

		nv_after_init(&after);
		status = nv_operation_begin(volume, &operation, inos, 2,
					    2 + NV_ENTER_PAGES + ea_pages, 0);
		if (status != NV_OK) {
			break;
		}
		status = create_in(&operation, directory, params, sd_id, made,
				   &after);
		status = nv_operation_finish(&operation, status);
		status = nv_after_operation(volume, status, &after, &again);
	} while (again);
	if (status != NV_OK) {
		nv_inode_unreserve(volume, made);
		return status;
	}
	*id = made;
	return NV_OK;
}

static_assert(2 + NV_ENTER_PAGES + NV_EA_PAGES <= NV_OPERATION_PAGES,
	      "create is bounded");

/* ---- unlink ---- */

static enum nv_status unlink_in(struct nv_operation *operation,
				nv_file_id parent, const struct nv_key *key,
				nv_file_id child, uint64_t time,
				struct nv_after *after)
{
	struct nv_open_directory directory;
	struct nv_found found;
	enum nv_status status;

	status = nv_directory_open(operation, parent, &directory);
	if (status != NV_OK) {
		return status;
	}
	status = nv_directory_find(&directory.names, key, &found);
	if (status != NV_OK) {
		return status;
	}
	if (found.id != child) {
		return NV_ERR_RETRY;
	}
	status = nv_directory_leave(operation, &directory, &found, after);
	if (status != NV_OK) {
		return status;
	}
	nv_directory_touch(directory.inode, time);
	return nv_object_unname(operation, child, after);
}

enum nv_status nv_unlink(struct nv_volume *volume, nv_file_id directory,
			 const struct nv_name *name, nv_file_id expected,
			 uint64_t directory_time)
{
	struct nv_name_order order = {.upcase = nv_volume_upcase(volume)};
	struct nv_operation operation;
	struct nv_after after;
	struct nv_found found;
	enum nv_status status;
	struct nv_key key;
	bool again = false;

	if (name->length == 0 || name->length > NV_NAME_MAX) {
		return NV_ERR_NAME;
	}
	nv_key_set(&key, &order, name->units, name->length);
	do {
		uint64_t inos[2];

		nv_after_init(&after);
		status = nv_lookup(volume, directory, name, &found);
		if (status != NV_OK) {
			return status;
		}
		if (expected != 0 && found.id != expected) {
			return NV_ERR_NOT_FOUND;
		}
		inos[0] = NV_FILE_INO(directory);
		inos[1] = NV_FILE_INO(found.id);
		status = nv_operation_begin(volume, &operation, inos, 2,
					    2 + NV_LEAVE_PAGES, NV_OP_FREES);
		if (status != NV_OK) {
			return status;
		}
		status = unlink_in(&operation, directory, &key, found.id,
				   directory_time, &after);
		status = nv_operation_finish(&operation, status);
		status = nv_after_operation(volume, status, &after, &again);
	} while (again);
	return status;
}

/* ---- link ---- */

static enum nv_status link_in(struct nv_operation *operation, nv_file_id id,
			      nv_file_id parent, const struct nv_name *name,
			      const struct nv_key *key,
			      const struct nv_name *short_name,
			      nv_file_id target, uint64_t time,
			      uint32_t flags, struct nv_after *after)
{
	struct nv_open_directory directory;
	struct nv_disk_inode *inode = NULL;
	struct nv_found found;
	enum nv_status status;

	status = nv_directory_open(operation, parent, &directory);
	if (status != NV_OK) {
		return status;
	}
	status = nv_inode_modify(operation, id, &inode);
	if (status != NV_OK) {
		return status;
	}
	if (inode->type == NV_TYPE_DIRECTORY) {
		return NV_ERR_IS_DIRECTORY;
	}
	if (inode->nlink == 0 || inode->type == NV_TYPE_STREAM) {
		return NV_ERR_NOT_FOUND;
	}
	if (inode->nlink >= NV_LINKS_MAX) {
		return NV_ERR_TOO_MANY_LINKS;
	}
	inode->nlink++;
	inode->parent_id = parent;
	NV_KILL_POINT("link: counted, not entered");
	status = nv_directory_find(&directory.names, key, &found);
	if (status == NV_OK) {
		if ((flags & NV_REPLACE) == 0) {
			return NV_ERR_EXISTS;
		}
		if (found.id != target) {
			return NV_ERR_RETRY;
		}
		status = nv_directory_leave(operation, &directory, &found,
					    after);
		if (status != NV_OK) {
			return status;
		}
		status = nv_inode_modify(operation, target, &inode);
		if (status != NV_OK) {
			return status;
		}
		if (inode->type == NV_TYPE_DIRECTORY) {
			return NV_ERR_IS_DIRECTORY;
		}
		status = nv_object_unname(operation, target, after);
		if (status != NV_OK) {
			return status;
		}
	} else if (status != NV_ERR_NOT_FOUND) {
		return status;
	}
	nv_directory_touch(directory.inode, time);
	return nv_directory_enter(operation, &directory, id, name, short_name,
				  0, after);
}

enum nv_status nv_link(struct nv_volume *volume, nv_file_id id,
		       nv_file_id directory, const struct nv_name *name,
		       const struct nv_name *short_name,
		       uint64_t directory_time, uint32_t flags)
{
	struct nv_name_order order = {.upcase = nv_volume_upcase(volume)};
	struct nv_operation operation;
	struct nv_after after;
	struct nv_found found;
	enum nv_status status;
	struct nv_key key;
	bool again = false;

	status = nv_name_check(name);
	if (status != NV_OK) {
		return status;
	}
	status = nv_short_check(short_name);
	if (status != NV_OK) {
		return status;
	}
	nv_key_set(&key, &order, name->units, name->length);
	do {
		uint64_t inos[3];
		nv_file_id target = id;

		nv_after_init(&after);
		status = nv_lookup(volume, directory, name, &found);
		if (status == NV_OK) {
			target = found.id;
		} else if (status != NV_ERR_NOT_FOUND) {
			return status;
		}
		inos[0] = NV_FILE_INO(directory);
		inos[1] = NV_FILE_INO(id);
		inos[2] = NV_FILE_INO(target);
		status = nv_operation_begin(volume, &operation, inos, 3,
					    3 + NV_LEAVE_PAGES +
					    NV_ENTER_PAGES, 0);
		if (status != NV_OK) {
			return status;
		}
		status = link_in(&operation, id, directory, name, &key,
				 short_name, target, directory_time, flags,
				 &after);
		status = nv_operation_finish(&operation, status);
		status = nv_after_operation(volume, status, &after, &again);
	} while (again);
	return status;
}

static_assert(3 + NV_LEAVE_PAGES + NV_ENTER_PAGES <= NV_OPERATION_PAGES,
	      "link is bounded");

/* ---- short names ---- */

static enum nv_status set_short_in(struct nv_operation *operation,
				   nv_file_id parent,
				   const struct nv_key *key,
				   const struct nv_name *short_name,
				   struct nv_after *after)
{
	struct nv_open_directory directory;
	struct nv_found found;
	struct nv_name name;
	enum nv_status status;

	status = nv_directory_open(operation, parent, &directory);
	if (status != NV_OK) {
		return status;
	}
	status = nv_directory_find(&directory.names, key, &found);
	if (status != NV_OK) {
		return status;
	}
	status = nv_directory_leave(operation, &directory, &found, after);
	if (status != NV_OK) {
		return status;
	}
	NV_KILL_POINT("short name: entry out of the directory");
	name.units = found.name;
	name.length = found.name_length;
	return nv_directory_enter(operation, &directory, found.id, &name,
				  short_name, found.cookie, after);
}

enum nv_status nv_set_short_name(struct nv_volume *volume,
				 nv_file_id directory,
				 const struct nv_name *name,
				 const struct nv_name *short_name)
{
	struct nv_name_order order = {.upcase = nv_volume_upcase(volume)};
	uint64_t ino = NV_FILE_INO(directory);
	struct nv_operation operation;
	struct nv_after after;
	enum nv_status status;
	struct nv_key key;
	bool again = false;

	if (name->length == 0 || name->length > NV_NAME_MAX) {
		return NV_ERR_NAME;
	}
	status = nv_short_check(short_name);
	if (status != NV_OK) {
		return status;
	}
	nv_key_set(&key, &order, name->units, name->length);
	do {
		nv_after_init(&after);
		status = nv_operation_begin(volume, &operation, &ino, 1,
					    1 + NV_LEAVE_PAGES +
					    NV_ENTER_PAGES, 0);
		if (status != NV_OK) {
			return status;
		}
		status = set_short_in(&operation, directory, &key, short_name,
				      &after);
		status = nv_operation_finish(&operation, status);
		status = nv_after_operation(volume, status, &after, &again);
	} while (again);
	return status;
}
