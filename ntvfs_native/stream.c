/*
 * Named streams.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A stream is an object of its own, of type STREAM, that a name in its file's
 * index of streams leads to: so it has all that files have of data, is locked
 * apart from its file, and outlives its name while it is held.
 */

#include "directory.h"
#include "killpoint.h"

static enum nv_status check_name(const struct nv_name *name)
{
	uint32_t i;

	if (name->length == 0 || name->length > NV_NAME_MAX) {
		return NV_ERR_NAME;
	}
	for (i = 0; i < name->length; i++) {
		if (name->units[i] == 0 || name->units[i] == '/' ||
		    name->units[i] == ':') {
			return NV_ERR_NAME;
		}
	}
	return NV_OK;
}

/* The file within an operation. */
static enum nv_status open_file(struct nv_operation *operation,
				nv_file_id file, struct nv_names *names,
				struct nv_disk_inode **inode)
{
	enum nv_status status;

	status = nv_inode_modify(operation, file, inode);
	if (status != NV_OK) {
		return status;
	}
	if ((*inode)->type == NV_TYPE_STREAM) {
		return NV_ERR_INVALID;
	}
	nv_names_open(names, operation->volume, *inode, NV_KIND_STREAMS);
	return NV_OK;
}

/* Without a lock: the id of a stream. */
static enum nv_status look_up(struct nv_volume *volume, nv_file_id file,
			      const struct nv_key *key, nv_file_id *stream)
{
	const struct nv_disk_inode *inode = NULL;
	struct nv_name_record record;
	struct nv_reader reader;
	enum nv_status status;
	struct nv_names names;

	status = nv_read_begin(volume, NV_FILE_INO(file), &reader);
	if (status != NV_OK) {
		return status;
	}
	do {
		status = nv_inode_read(volume, file, &inode);
		if (status == NV_OK) {
			nv_names_open(&names, volume, inode, NV_KIND_STREAMS);
			status = nv_names_find(&names, key, &record);
		}
	} while (nv_read_again(&reader));
	if (status == NV_OK) {
		*stream = record.name.value;
	}
	return status;
}

static enum nv_status make_in(struct nv_operation *operation,
			      nv_file_id file, const struct nv_name *name,
			      nv_file_id stream, struct nv_after *after)
{
	struct nv_disk_inode *inode = NULL;
	struct nv_disk_inode *made = NULL;
	struct nv_name_record record;
	struct nv_names names;
	enum nv_status status;

	status = open_file(operation, file, &names, &inode);
	if (status != NV_OK) {
		return status;
	}
	if (inode->nlink == 0) {
		return NV_ERR_NOT_FOUND;
	}
	inode->next_cookie++;
	nv_name_record_set(&record, stream, inode->next_cookie, 0,
			   name->units, name->length, NULL, 0);
	status = nv_index_insert(operation, &names, inode, &record, after);
	if (status != NV_OK) {
		return status;
	}
	inode->stream_count++;
	NV_KILL_POINT("stream: name entered");
	status = nv_inode_new(operation, stream, NV_TYPE_STREAM, &made);
	if (status != NV_OK) {
		return status;
	}
	made->nlink = 1;
	made->parent_id = file;
	return NV_OK;
}

static enum nv_status make(struct nv_volume *volume, nv_file_id file,
			   const struct nv_name *name, nv_file_id *stream)
{
	struct nv_operation operation;
	struct nv_after after;
	enum nv_status status;
	nv_file_id id = 0;
	bool again = false;

	status = nv_inode_reserve(volume, &id);
	if (status != NV_OK) {
		return status;
	}
	do {
		uint64_t inos[] = {NV_FILE_INO(file), NV_FILE_INO(id)};

		nv_after_init(&after);
		status = nv_operation_begin(volume, &operation, inos, 2,
					    2 + NV_NAME_INSERT_PAGES, 0);
		if (status != NV_OK) {
			break;
		}
		status = make_in(&operation, file, name, id, &after);
		status = nv_operation_finish(&operation, status);
		status = nv_after_operation(volume, status, &after, &again);
	} while (again);
	if (status != NV_OK) {
		nv_inode_unreserve(volume, id);
		return status;
	}
	*stream = id;
	return NV_OK;
}

enum nv_status nv_stream_open(struct nv_volume *volume, nv_file_id file,
			      const struct nv_name *name, bool create,
			      bool create_new, nv_file_id *stream,
			      bool *created)
{
	struct nv_name_order order = {.upcase = nv_volume_upcase(volume)};
	nv_file_id found = 0;
	enum nv_status status;
	struct nv_key key;

	status = check_name(name);
	if (status != NV_OK) {
		return status;
	}
	nv_key_set(&key, &order, name->units, name->length);
	for (;;) {
		status = look_up(volume, file, &key, &found);
		if (status == NV_OK) {
			if (create_new) {
				return NV_ERR_EXISTS;
			}
			*stream = found;
			*created = false;
			return NV_OK;
		}
		if (status != NV_ERR_NOT_FOUND || (!create && !create_new)) {
			return status;
		}
		status = make(volume, file, name, &found);
		if (status == NV_OK) {
			*stream = found;
			*created = true;
			return NV_OK;
		}
		if (status != NV_ERR_EXISTS) {
			return status;
		}
		/* Somebody made it since we looked. */
	}
}

/* Take one name out and make what it leads to an orphan. */
static enum nv_status remove_in(struct nv_operation *operation,
				nv_file_id file, const struct nv_key *key,
				nv_file_id stream, struct nv_after *after)
{
	struct nv_disk_inode *inode = NULL;
	struct nv_disk_inode *object = NULL;
	struct nv_name_record record;
	struct nv_names names;
	enum nv_status status;

	status = open_file(operation, file, &names, &inode);
	if (status != NV_OK) {
		return status;
	}
	status = nv_names_find(&names, key, &record);
	if (status != NV_OK) {
		return status;
	}
	if (record.name.value != stream) {
		return NV_ERR_RETRY;
	}
	status = nv_inode_modify(operation, stream, &object);
	if (status == NV_ERR_NOT_FOUND) {
		return NV_ERR_CORRUPT;
	}
	if (status != NV_OK) {
		return status;
	}
	if (inode->stream_count == 0 || object->type != NV_TYPE_STREAM) {
		return NV_ERR_CORRUPT;
	}
	status = nv_index_remove(operation, &names, inode, key, after);
	if (status != NV_OK) {
		return status;
	}
	inode->stream_count--;
	NV_KILL_POINT("stream: name removed");
	return nv_object_unname(operation, stream, after);
}

static enum nv_status remove_key(struct nv_volume *volume, nv_file_id file,
				 const struct nv_key *key)
{
	struct nv_operation operation;
	struct nv_after after;
	enum nv_status status;
	bool again = false;

	do {
		nv_file_id stream = 0;
		uint64_t inos[2];

		nv_after_init(&after);
		status = look_up(volume, file, key, &stream);
		if (status != NV_OK) {
			return status;
		}
		inos[0] = NV_FILE_INO(file);
		inos[1] = NV_FILE_INO(stream);
		status = nv_operation_begin(volume, &operation, inos, 2,
					    2 + NV_NAME_REMOVE_PAGES,
					    NV_OP_FREES);
		if (status != NV_OK) {
			return status;
		}
		status = remove_in(&operation, file, key, stream, &after);
		status = nv_operation_finish(&operation, status);
		status = nv_after_operation(volume, status, &after, &again);
	} while (again);
	return status;
}

enum nv_status nv_stream_remove(struct nv_volume *volume, nv_file_id file,
				const struct nv_name *name)
{
	struct nv_name_order order = {.upcase = nv_volume_upcase(volume)};
	enum nv_status status;
	struct nv_key key;

	status = check_name(name);
	if (status != NV_OK) {
		return status;
	}
	nv_key_set(&key, &order, name->units, name->length);
	return remove_key(volume, file, &key);
}

static bool keep_first(void *private_data,
		       const struct nv_name_record *record)
{
	struct nv_name_record *first = private_data;

	*first = *record;
	return false;
}

/* The first stream behind key. */
static enum nv_status next_stream(struct nv_volume *volume, nv_file_id id,
				  const struct nv_key *key,
				  struct nv_name_record *first,
				  uint32_t *count)
{
	const struct nv_disk_inode *inode = NULL;
	struct nv_reader reader;
	enum nv_status status;
	struct nv_names names;

	status = nv_read_begin(volume, NV_FILE_INO(id), &reader);
	if (status != NV_OK) {
		return status;
	}
	do {
		*count = 0;
		status = nv_inode_read(volume, id, &inode);
		if (status == NV_OK) {
			*count = inode->stream_count;
			nv_names_open(&names, volume, inode, NV_KIND_STREAMS);
			status = nv_names_visit(&names, key, keep_first,
						first);
		}
	} while (nv_read_again(&reader));
	return status;
}

enum nv_status nv_streams_reclaim(struct nv_volume *volume, nv_file_id id)
{
	struct nv_name_order order = {.upcase = nv_volume_upcase(volume)};
	struct nv_name_record first;
	enum nv_status status;
	struct nv_key key;
	uint32_t count = 0;

	/* Keys rise, so this ends in a damaged index, too. */
	nv_key_set(&key, &order, NULL, 0);
	for (;;) {
		status = next_stream(volume, id, &key, &first, &count);
		if (status == NV_ERR_NOT_FOUND) {
			break;
		}
		if (status != NV_OK) {
			return status;
		}
		nv_key_set(&key, &order, nv_name_key(&first.name),
			   first.name.key_length);
		status = remove_key(volume, id, &key);
		if (status != NV_OK && status != NV_ERR_NOT_FOUND) {
			return status;
		}
	}
	/* No stream is left, or the object is gone. */
	if (count != 0) {
		return NV_ERR_CORRUPT;
	}
	return nv_names_reclaim(volume, id, NV_KIND_STREAMS);
}

struct stream_rename {
	nv_file_id file;
	const struct nv_name *to;
	struct nv_key from_key;
	struct nv_key to_key;
	uint32_t flags;
	nv_file_id target;		/* as looked up; 0: none */
};

static enum nv_status rename_in(struct nv_operation *operation,
				const struct stream_rename *rename,
				struct nv_after *after)
{
	struct nv_disk_inode *inode = NULL;
	struct nv_name_record source;
	struct nv_name_record target;
	struct nv_name_record record;
	struct nv_names names;
	enum nv_status status;

	status = open_file(operation, rename->file, &names, &inode);
	if (status != NV_OK) {
		return status;
	}
	status = nv_names_find(&names, &rename->from_key, &source);
	if (status != NV_OK) {
		return status;
	}
	status = nv_names_find(&names, &rename->to_key, &target);
	if (status != NV_OK && status != NV_ERR_NOT_FOUND) {
		return status;
	}
	if (status == NV_OK && target.name.value != source.name.value) {
		if ((rename->flags & NV_REPLACE) == 0) {
			return NV_ERR_EXISTS;
		}
		status = remove_in(operation, rename->file, &rename->to_key,
				   rename->target, after);
		if (status == NV_ERR_NOT_FOUND) {
			return NV_ERR_RETRY;
		}
		if (status != NV_OK) {
			return status;
		}
		/* The root may be another now. */
		nv_names_open(&names, operation->volume, inode,
			      NV_KIND_STREAMS);
	}
	status = nv_index_remove(operation, &names, inode, &rename->from_key,
				 after);
	if (status != NV_OK) {
		return status;
	}
	NV_KILL_POINT("stream: source name removed");
	nv_name_record_set(&record, source.name.value, source.name.cookie, 0,
			   rename->to->units, rename->to->length, NULL, 0);
	return nv_index_insert(operation, &names, inode, &record, after);
}

#define RENAME_PAGES (2 + 2 * NV_NAME_REMOVE_PAGES + NV_NAME_INSERT_PAGES)

enum nv_status nv_stream_rename(struct nv_volume *volume, nv_file_id file,
				const struct nv_name *from,
				const struct nv_name *to, uint32_t flags)
{
	struct nv_name_order order = {.upcase = nv_volume_upcase(volume)};
	struct stream_rename rename = {
		.file = file,
		.to = to,
		.flags = flags,
	};
	struct nv_operation operation;
	struct nv_after after;
	enum nv_status status;
	bool again = false;

	status = check_name(from);
	if (status != NV_OK) {
		return status;
	}
	status = check_name(to);
	if (status != NV_OK) {
		return status;
	}
	nv_key_set(&rename.from_key, &order, from->units, from->length);
	nv_key_set(&rename.to_key, &order, to->units, to->length);
	do {
		uint64_t inos[2];

		nv_after_init(&after);
		rename.target = 0;
		status = look_up(volume, file, &rename.to_key,
				 &rename.target);
		if (status != NV_OK && status != NV_ERR_NOT_FOUND) {
			return status;
		}
		inos[0] = NV_FILE_INO(file);
		inos[1] = NV_FILE_INO(rename.target);
		status = nv_operation_begin(volume, &operation, inos,
					    rename.target == 0 ? 1 : 2,
					    RENAME_PAGES, 0);
		if (status != NV_OK) {
			return status;
		}
		status = rename_in(&operation, &rename, &after);
		status = nv_operation_finish(&operation, status);
		status = nv_after_operation(volume, status, &after, &again);
	} while (again);
	return status;
}
