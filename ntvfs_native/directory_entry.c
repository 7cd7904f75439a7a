/*
 * Entries of directories within an operation.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <string.h>
#include "directory.h"
#include "killpoint.h"
#include "segment.h"

enum nv_status nv_name_check(const struct nv_name *name)
{
	uint32_t i;

	if (name->length == 0 || name->length > NV_NAME_MAX) {
		return NV_ERR_NAME;
	}
	for (i = 0; i < name->length; i++) {
		if (name->units[i] == 0 || name->units[i] == '/') {
			return NV_ERR_NAME;
		}
	}
	if (name->units[0] == '.' &&
	    (name->length == 1 ||
	     (name->length == 2 && name->units[1] == '.'))) {
		return NV_ERR_NAME;
	}
	return NV_OK;
}

enum nv_status nv_short_check(const struct nv_name *short_name)
{
	if (short_name == NULL || short_name->length == 0 ||
	    short_name->length == NV_SHORT_NAME_AUTOMATIC) {
		return NV_OK;
	}
	if (short_name->length > NV_SHORT_MAX) {
		return NV_ERR_NAME;
	}
	return nv_name_check(short_name);
}

enum nv_status nv_directory_open(struct nv_operation *operation,
				 nv_file_id id,
				 struct nv_open_directory *directory)
{
	enum nv_status status;

	status = nv_inode_modify(operation, id, &directory->inode);
	if (status != NV_OK) {
		return status;
	}
	if (directory->inode->type != NV_TYPE_DIRECTORY) {
		return NV_ERR_NOT_DIRECTORY;
	}
	if (directory->inode->nlink == 0) {
		return NV_ERR_NOT_FOUND;
	}
	nv_names_open(&directory->names, operation->volume, directory->inode,
		      NV_KIND_DIRECTORY);
	return NV_OK;
}

/* From a record of a directory's index; false: malformed. */
static bool found_from(const struct nv_name_record *record,
		       struct nv_found *found)
{
	const uint16_t *key = nv_name_key(&record->name);
	const uint8_t *other = nv_name_payload(&record->name);
	uint32_t other_length = record->name.payload_length / 2;
	uint32_t key_length = record->name.key_length;

	if ((record->name.payload_length & 1) != 0) {
		return false;
	}
	found->id = record->name.value;
	found->cookie = record->name.cookie;
	if ((record->name.flags & NV_NAME_ALIAS) != 0) {
		if (key_length > NV_SHORT_MAX || other_length == 0 ||
		    other_length > NV_NAME_MAX) {
			return false;
		}
		found->name_length = other_length;
		found->short_length = key_length;
		memcpy(found->name, other, 2 * other_length);
		memcpy(found->short_name, key, 2 * key_length);
	} else {
		if (other_length > NV_SHORT_MAX) {
			return false;
		}
		found->name_length = key_length;
		found->short_length = other_length;
		memcpy(found->name, key, 2 * key_length);
		memcpy(found->short_name, other, 2 * other_length);
	}
	found->name[found->name_length] = 0;
	found->short_name[found->short_length] = 0;
	return true;
}

enum nv_status nv_directory_find(const struct nv_names *names,
				 const struct nv_key *key,
				 struct nv_found *found)
{
	struct nv_name_record record;
	enum nv_status status;

	status = nv_names_find(names, key, &record);
	if (status != NV_OK) {
		return status;
	}
	return found_from(&record, found) ? NV_OK : NV_ERR_CORRUPT;
}

/* Which of the names NTFS tries is free, and is not the long name itself. */
static enum nv_status make_short(const struct nv_open_directory *directory,
				 const struct nv_name *name,
				 uint16_t units[NV_SHORT_MAX],
				 uint32_t *length)
{
	const struct nv_name_order *order = &directory->names.tree.order;
	struct nv_name_record record;
	enum nv_status status;
	struct nv_key key;
	uint32_t attempt;

	*length = 0;
	if (!nv_short_name_wanted(name)) {
		return NV_OK;
	}
	for (attempt = 0;; attempt++) {
		*length = nv_short_name_candidate(name, order->upcase,
						  attempt, units);
		if (*length == 0) {
			/* As NTFS: then it has none. */
			return NV_OK;
		}
		nv_key_set(&key, order, units, *length);
		if (nv_key_compare(&key, order, name->units,
				   name->length) == 0) {
			continue;
		}
		status = nv_names_find(&directory->names, &key, &record);
		if (status == NV_ERR_NOT_FOUND) {
			return NV_OK;
		}
		if (status != NV_OK) {
			return status;
		}
	}
}

void nv_after_init(struct nv_after *after)
{
	after->room = false;
	after->tidy = false;
	after->reclaim = 0;
}

enum nv_status nv_index_insert(struct nv_operation *operation,
			       struct nv_names *names,
			       struct nv_disk_inode *inode,
			       const struct nv_name_record *record,
			       struct nv_after *after)
{
	enum nv_status status;

	status = nv_names_insert(operation, names, inode, record);
	if (status == NV_ERR_RETRY) {
		after->room = true;
		after->owner = names->tree.owner;
		after->kind = names->tree.kind;
		nv_key_set(&after->key, &names->tree.order,
			   nv_name_key(&record->name),
			   record->name.key_length);
	}
	return status;
}

enum nv_status nv_index_remove(struct nv_operation *operation,
			       struct nv_names *names,
			       struct nv_disk_inode *inode,
			       const struct nv_key *key,
			       struct nv_after *after)
{
	enum nv_status status;

	status = nv_names_remove(operation, names, inode, key);
	if (status == NV_ERR_NOT_FOUND) {
		return NV_ERR_CORRUPT;
	}
	if (names->tree.tidy) {
		names->tree.tidy = false;
		after->tidy = true;
		after->owner = names->tree.owner;
		after->kind = names->tree.kind;
		after->key = *key;
	}
	return status;
}

enum nv_status nv_directory_enter(struct nv_operation *operation,
				  struct nv_open_directory *directory,
				  nv_file_id id, const struct nv_name *name,
				  const struct nv_name *short_name,
				  uint64_t cookie, struct nv_after *after)
{
	struct nv_disk_inode *inode = directory->inode;
	const uint16_t *alias = NULL;
	uint16_t made[NV_SHORT_MAX];
	struct nv_name_record record;
	enum nv_status status;
	uint32_t length = 0;

	if (short_name != NULL &&
	    short_name->length == NV_SHORT_NAME_AUTOMATIC) {
		status = make_short(directory, name, made, &length);
		if (status != NV_OK) {
			return status;
		}
		alias = made;
	} else if (short_name != NULL) {
		alias = short_name->units;
		length = short_name->length;
	}
	if (cookie == 0) {
		inode->next_cookie++;
		cookie = inode->next_cookie;
	}
	nv_name_record_set(&record, id, cookie, 0, name->units, name->length,
			   alias, 2 * length);
	status = nv_index_insert(operation, &directory->names, inode,
				 &record, after);
	if (status != NV_OK) {
		return status;
	}
	NV_KILL_POINT("directory: long name entered");
	if (length > 0) {
		nv_name_record_set(&record, id, cookie, NV_NAME_ALIAS, alias,
				   length, name->units, 2 * name->length);
		status = nv_index_insert(operation, &directory->names, inode,
				 &record, after);
		if (status != NV_OK) {
			return status;
		}
		NV_KILL_POINT("directory: short name entered");
	}
	inode->entry_count++;
	return NV_OK;
}

static enum nv_status leave_one(struct nv_operation *operation,
				struct nv_open_directory *directory,
				const uint16_t *units, uint32_t length,
				struct nv_after *after)
{
	struct nv_key key;

	nv_key_set(&key, &directory->names.tree.order, units, length);
	return nv_index_remove(operation, &directory->names, directory->inode,
			       &key, after);
}

enum nv_status nv_directory_leave(struct nv_operation *operation,
				  struct nv_open_directory *directory,
				  const struct nv_found *found,
				  struct nv_after *after)
{
	enum nv_status status;

	if (directory->inode->entry_count == 0) {
		return NV_ERR_CORRUPT;
	}
	status = leave_one(operation, directory, found->name,
			   found->name_length, after);
	if (status != NV_OK) {
		return status;
	}
	NV_KILL_POINT("directory: long name removed");
	if (found->short_length > 0) {
		status = leave_one(operation, directory, found->short_name,
				   found->short_length, after);
		if (status != NV_OK) {
			return status;
		}
		NV_KILL_POINT("directory: short name removed");
	}
	directory->inode->entry_count--;
	return NV_OK;
}

enum nv_status nv_object_unname(struct nv_operation *operation,
				nv_file_id id, struct nv_after *after)
{
	struct nv_volume *volume = operation->volume;
	struct nv_disk_inode *inode = NULL;
	enum nv_status status;

	status = nv_inode_modify(operation, id, &inode);
	if (status != NV_OK) {
		return status == NV_ERR_NOT_FOUND ? NV_ERR_CORRUPT : status;
	}
	if (inode->type == NV_TYPE_DIRECTORY && inode->entry_count != 0) {
		return NV_ERR_NOT_EMPTY;
	}
	if (inode->nlink == 0) {
		return NV_ERR_CORRUPT;
	}
	inode->nlink--;
	if (inode->nlink > 0) {
		return NV_OK;
	}
	/* An interrupted truncation may have made it one already. */
	if ((inode->flags & NV_INODE_ORPHAN) == 0) {
		inode->flags |= NV_INODE_ORPHAN;
		status = nv_bits_change(operation, NV_BITMAP_ORPHANS,
					NV_FILE_INO(id), 1, true);
		if (status != NV_OK) {
			return status;
		}
	}
	NV_KILL_POINT("directory: object made an orphan");
	if (!nv_hold_test(volume, id)) {
		after->reclaim = id;
	}
	return NV_OK;
}

void nv_directory_touch(struct nv_disk_inode *inode, uint64_t time)
{
	if (time != 0) {
		inode->last_write_time = time;
		inode->change_time = time;
	}
}

enum nv_status nv_after_operation(struct nv_volume *volume,
				  enum nv_status status,
				  const struct nv_after *after, bool *again)
{
	*again = false;
	if (status == NV_ERR_RETRY) {
		*again = true;
		if (!after->room) {
			return NV_OK;
		}
		status = nv_names_make_room(volume, after->owner, after->kind,
					    &after->key);
		*again = status == NV_OK;
		return status;
	}
	if (status != NV_OK) {
		return status;
	}
	/*
	 * The caller's change has happened. What cannot be tidied now can be
	 * next time; what cannot be reclaimed now is an orphan for the next
	 * attacher.
	 */
	if (after->reclaim != 0) {
		nv_object_reclaim(volume, after->reclaim);
	}
	if (after->tidy) {
		nv_names_tidy(volume, after->owner, after->kind, &after->key);
	}
	return NV_OK;
}

/* ---- reading, without a lock ---- */

/* Open for one round of a reader. */
static enum nv_status open_reading(struct nv_volume *volume, nv_file_id id,
				   struct nv_names *names)
{
	const struct nv_disk_inode *inode = NULL;
	enum nv_status status;

	status = nv_inode_read(volume, id, &inode);
	if (status != NV_OK) {
		return status;
	}
	if (inode->type != NV_TYPE_DIRECTORY) {
		return NV_ERR_NOT_DIRECTORY;
	}
	nv_names_open(names, volume, inode, NV_KIND_DIRECTORY);
	return NV_OK;
}

enum nv_status nv_lookup(struct nv_volume *volume, nv_file_id directory,
			 const struct nv_name *name, struct nv_found *found)
{
	struct nv_name_order order = {.upcase = nv_volume_upcase(volume)};
	struct nv_reader reader;
	enum nv_status status;
	struct nv_names names;
	struct nv_key key;

	if (name->length == 0 || name->length > NV_NAME_MAX) {
		return NV_ERR_NAME;
	}
	nv_key_set(&key, &order, name->units, name->length);
	status = nv_read_begin(volume, NV_FILE_INO(directory), &reader);
	if (status != NV_OK) {
		return status;
	}
	do {
		status = open_reading(volume, directory, &names);
		if (status == NV_OK) {
			status = nv_directory_find(&names, &key, found);
		}
	} while (nv_read_again(&reader));
	return status;
}

/* One leaf's worth of an enumeration. */
struct batch {
	struct nv_found *found;
	uint32_t count;
	uint32_t room;
	bool malformed;
	uint32_t last_length;		/* the record seen last */
	uint16_t last[NV_NAME_MAX];
};

static bool add_to_batch(void *private_data,
			 const struct nv_name_record *record)
{
	struct batch *batch = private_data;

	if ((record->name.flags & NV_NAME_ALIAS) == 0) {
		if (batch->count == batch->room) {
			return false;
		}
		if (!found_from(record, &batch->found[batch->count])) {
			batch->malformed = true;
			return false;
		}
		batch->count++;
	}
	batch->last_length = record->name.key_length;
	memcpy(batch->last, nv_name_key(&record->name),
	       2 * batch->last_length);
	return true;
}

static enum nv_status read_batch(struct nv_volume *volume, nv_file_id id,
				 uint32_t kind, const struct nv_key *key,
				 struct batch *batch)
{
	const struct nv_disk_inode *inode = NULL;
	uint32_t room = batch->room;
	struct nv_found *found = batch->found;
	struct nv_reader reader;
	enum nv_status status;
	struct nv_names names;

	status = nv_read_begin(volume, NV_FILE_INO(id), &reader);
	if (status != NV_OK) {
		return status;
	}
	do {
		*batch = (struct batch) {.found = found, .room = room};
		if (kind == NV_KIND_DIRECTORY) {
			status = open_reading(volume, id, &names);
		} else {
			status = nv_inode_read(volume, id, &inode);
			if (status == NV_OK) {
				nv_names_open(&names, volume, inode, kind);
			}
		}
		if (status == NV_OK) {
			status = nv_names_visit(&names, key, add_to_batch,
						batch);
			if (status == NV_OK && batch->malformed) {
				status = NV_ERR_CORRUPT;
			}
			/* This alone means that nothing more comes. */
			if (status == NV_ERR_NOT_FOUND) {
				status = NV_OK;
			}
		}
	} while (nv_read_again(&reader));
	return status;
}

static enum nv_status enumerate(struct nv_volume *volume, nv_file_id id,
				uint32_t kind, const struct nv_name *after,
				struct nv_found *found, uint32_t count,
				uint32_t *returned)
{
	struct nv_name_order order = {.upcase = nv_volume_upcase(volume)};
	struct batch batch;
	enum nv_status status;
	struct nv_key key;
	uint32_t done = 0;

	if (after != NULL && after->length > NV_NAME_MAX) {
		return NV_ERR_NAME;
	}
	nv_key_set(&key, &order, after == NULL ? NULL : after->units,
		   after == NULL ? 0 : after->length);
	/* Each visit tells what is above key, or that the index is damaged. */
	for (;;) {
		batch.found = found + done;
		batch.room = count - done;
		status = read_batch(volume, id, kind, &key, &batch);
		if (status != NV_OK) {
			return status;
		}
		done += batch.count;
		/* No record at all: behind the last one, or no room. */
		if (batch.last_length == 0 || done == count) {
			*returned = done;
			return NV_OK;
		}
		nv_key_set(&key, &order, batch.last, batch.last_length);
	}
}

enum nv_status nv_enumerate(struct nv_volume *volume, nv_file_id directory,
			    const struct nv_name *after,
			    struct nv_found *found, uint32_t count,
			    uint32_t *returned)
{
	return enumerate(volume, directory, NV_KIND_DIRECTORY, after, found,
			 count, returned);
}

enum nv_status nv_stream_enumerate(struct nv_volume *volume, nv_file_id file,
				   const struct nv_name *after,
				   struct nv_found *found, uint32_t count,
				   uint32_t *returned)
{
	return enumerate(volume, file, NV_KIND_STREAMS, after, found, count,
			 returned);
}
