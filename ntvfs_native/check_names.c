/*
 * The checker: directories and streams, and what names lead to.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "check_index.h"

#define SHORT_MOST 12

struct directory {
	const struct nv_disk_inode *inode;
	uint64_t entries;
	/* Of each entry with a short name and of each short name, a sum that
	 * comes out the same if they belong together. */
	uint64_t long_sum, short_sum;
	uint64_t *cookie;
	uint64_t cookies;
	uint64_t cookie_room;
	bool no_memory;
};

static void add_cookie(struct directory *directory, uint64_t cookie)
{
	if (directory->cookies == directory->cookie_room) {
		uint64_t room = directory->cookie_room * 2 + 32;
		uint64_t *grown = realloc(directory->cookie, room *
					  sizeof(*grown));

		if (grown == NULL) {
			directory->no_memory = true;
			return;
		}
		directory->cookie = grown;
		directory->cookie_room = room;
	}
	directory->cookie[directory->cookies] = cookie;
	directory->cookies++;
}

static int compare_cookies(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a;
	uint64_t right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static void check_cookies(struct check_index *index,
			  struct directory *directory)
{
	uint64_t i;

	if (directory->cookies == 0) {
		return;
	}
	qsort(directory->cookie, directory->cookies, sizeof(uint64_t),
	      compare_cookies);
	for (i = 1; i < directory->cookies; i++) {
		if (directory->cookie[i] == directory->cookie[i - 1]) {
			check_say(index->check, NV_FINDING_DIRECTORY_COOKIE,
				  "%s: two entries have cookie %llu",
				  index->who,
				  (unsigned long long)directory->cookie[i]);
		}
	}
	if (directory->cookie[directory->cookies - 1] >
	    directory->inode->next_cookie || directory->cookie[0] == 0) {
		check_say(index->check, NV_FINDING_DIRECTORY_COOKIE,
			  "%s: a cookie is 0 or above %llu", index->who,
			  (unsigned long long)directory->inode->next_cookie);
	}
}

static bool units_possible(const uint16_t *units, uint32_t length)
{
	uint32_t i;

	for (i = 0; i < length; i++) {
		if (units[i] == 0 || units[i] == '/') {
			return false;
		}
	}
	return !(length == 1 && units[0] == '.') &&
		!(length == 2 && units[0] == '.' && units[1] == '.');
}

static uint64_t pair_sum(const struct check_record *record,
			 const void *long_units, size_t long_size,
			 const void *short_units, size_t short_size)
{
	uint64_t numbers[2] = {record->value, record->cookie};
	uint64_t sum = XXH3_64bits(numbers, sizeof(numbers));

	sum = XXH3_64bits_withSeed(long_units, long_size, sum);
	return XXH3_64bits_withSeed(short_units, short_size, sum);
}

static void take_entry(struct check_index *index,
		       const struct check_record *record)
{
	struct directory *directory = index->private_data;
	struct check *check = index->check;
	struct check_inode *child = NULL;
	uint32_t other = record->payload_length / 2;
	size_t key_size = 2 * (size_t)record->key.length;

	if ((record->payload_length & 1) != 0 ||
	    !units_possible(record->key.units, record->key.length)) {
		check_say(check, NV_FINDING_DIRECTORY_ENTRY,
			  "%s: the entry with cookie %llu has an impossible "
			  "name", index->who,
			  (unsigned long long)record->cookie);
		return;
	}
	if ((record->flags & NV_NAME_ALIAS) != 0) {
		if (record->key.length > SHORT_MOST || other == 0 ||
		    other > NV_NAME_KEY_MAX) {
			check_say(check, NV_FINDING_SHORT_NAME,
				  "%s: the short name with cookie %llu has "
				  "%u units, its long name %u", index->who,
				  (unsigned long long)record->cookie,
				  record->key.length, other);
		}
		directory->short_sum += pair_sum(record, record->payload,
						 record->payload_length,
						 record->key.units, key_size);
		return;
	}
	directory->entries++;
	add_cookie(directory, record->cookie);
	if (other > SHORT_MOST) {
		check_say(check, NV_FINDING_SHORT_NAME, "%s: the entry with "
			  "cookie %llu has a short name of %u units",
			  index->who, (unsigned long long)record->cookie,
			  other);
	}
	if (other > 0) {
		directory->long_sum += pair_sum(record, record->key.units,
						key_size, record->payload,
						record->payload_length);
	}
	child = check_inode_of(check, record->value);
	if (child == NULL || child->type == NV_TYPE_STREAM) {
		check_say(check, NV_FINDING_NAME_DANGLING,
			  "%s: the entry with cookie %llu leads to %llx, "
			  "which is no object with names", index->who,
			  (unsigned long long)record->cookie,
			  (unsigned long long)record->value);
		return;
	}
	child->names++;
	if (child->parent_id == directory->inode->file_id) {
		child->parent_names_it = true;
	}
}

enum nv_status check_directory(struct check *check,
			       const struct nv_disk_inode *inode)
{
	struct directory directory = {.inode = inode};
	char who[48];
	struct check_index index = {
		.check = check,
		.kind = NV_KIND_DIRECTORY,
		.owner = inode->file_id,
		.root = inode->directory_root,
		.upcase = check->upcase,
		.ordered = check->upcase_known,
		.exact = (inode->flags & NV_INODE_CASE_SENSITIVE) != 0,
		.entry = NV_FINDING_DIRECTORY_ENTRY,
		.who = who,
		.what = "names",
		.take = take_entry,
		.private_data = &directory,
	};
	struct nv_disk_inode *fixed = NULL;
	enum nv_status status;

	snprintf(who, sizeof(who), "directory %llu",
		 (unsigned long long)NV_FILE_INO(inode->file_id));
	index.list = check_item(check, inode, NV_ITEM_NAMES,
				&index.list_length);
	status = check_index(&index);
	if (status == NV_OK && directory.no_memory) {
		status = NV_ERR_NO_MEMORY;
	}
	if (status != NV_OK) {
		free(directory.cookie);
		return status;
	}
	check_cookies(&index, &directory);
	free(directory.cookie);
	if (directory.entries != inode->entry_count) {
		check_say(check, NV_FINDING_DIRECTORY_COUNT,
			  "%s: it has %llu names and counts %llu", who,
			  (unsigned long long)directory.entries,
			  (unsigned long long)inode->entry_count);
		fixed = check_change_inode(check, inode->file_id);
		if (fixed != NULL) {
			fixed->entry_count = directory.entries;
		}
	}
	if (directory.long_sum != directory.short_sum) {
		check_say(check, NV_FINDING_SHORT_NAME, "%s: short names and "
			  "long names do not belong together", who);
	}
	return NV_OK;
}

static void take_stream(struct check_index *index,
			const struct check_record *record)
{
	const struct nv_disk_inode *file = index->private_data;
	struct check_inode *stream = check_inode_of(index->check,
						    record->value);

	if (record->flags != 0 || record->payload_length != 0 ||
	    record->cookie == 0 || record->cookie > file->next_cookie) {
		check_say(index->check, NV_FINDING_STREAM,
			  "%s: the record of stream %llx is malformed",
			  index->who, (unsigned long long)record->value);
	}
	if (stream == NULL || stream->type != NV_TYPE_STREAM ||
	    stream->parent_id != file->file_id) {
		check_say(index->check, NV_FINDING_STREAM,
			  "%s: a stream's name leads to %llx, which is no "
			  "stream of it", index->who,
			  (unsigned long long)record->value);
		return;
	}
	stream->names++;
	stream->parent_names_it = true;
}

enum nv_status check_streams(struct check *check,
			     const struct nv_disk_inode *inode)
{
	char who[48];
	struct check_index index = {
		.check = check,
		.kind = NV_KIND_STREAMS,
		.owner = inode->file_id,
		.root = inode->stream_root,
		.upcase = check->upcase,
		.ordered = check->upcase_known,
		.entry = NV_FINDING_STREAM,
		.who = who,
		.what = "streams",
		.take = take_stream,
		.private_data = (void *)inode,
	};
	struct nv_disk_inode *fixed = NULL;
	enum nv_status status;

	snprintf(who, sizeof(who), "inode %llu",
		 (unsigned long long)NV_FILE_INO(inode->file_id));
	index.list = check_item(check, inode, NV_ITEM_STREAMS,
				&index.list_length);
	status = check_index(&index);
	if (status == NV_OK && index.records != inode->stream_count) {
		check_say(check, NV_FINDING_STREAM_COUNT,
			  "%s: it has %llu streams and counts %u", who,
			  (unsigned long long)index.records,
			  inode->stream_count);
		fixed = check_change_inode(check, inode->file_id);
		if (fixed != NULL) {
			fixed->stream_count = (uint32_t)index.records;
		}
	}
	return status;
}

/* ---- when all names are known ---- */

/* Up to the root directory, or to one that is known to be below it. */
static void check_reachable(struct check *check, uint64_t ino)
{
	uint64_t at = ino;
	uint64_t steps;

	for (steps = 0; steps <= check->inode_count; steps++) {
		struct check_inode *inode = &check->inode[at];
		struct check_inode *parent = NULL;

		if (inode->reached) {
			break;
		}
		parent = check_inode_of(check, inode->parent_id);
		if (parent == NULL || parent->type != NV_TYPE_DIRECTORY ||
		    parent == inode) {
			return;	/* told as its parent's fault */
		}
		at = NV_FILE_INO(parent->file_id);
	}
	if (steps > check->inode_count) {
		check_say(check, NV_FINDING_DIRECTORY_LOOP,
			  "directory %llu is below itself",
			  (unsigned long long)ino);
		return;
	}
	/* All on the way are reached now. */
	for (at = ino; !check->inode[at].reached;
	     at = NV_FILE_INO(check->inode[at].parent_id)) {
		check->inode[at].reached = true;
	}
}

static void check_links(struct check *check, uint64_t ino)
{
	struct check_inode *inode = &check->inode[ino];
	bool is_root = inode->file_id == check->root.root_directory;
	struct nv_disk_inode *fixed = NULL;
	unsigned long long number = ino;
	uint32_t names = inode->names + (is_root ? 1 : 0);

	if (names == 0 && inode->nlink > 0) {
		/* Its content may be wanted: no repair removes it. */
		check_say(check, NV_FINDING_LOST,
			  "inode %llu: no name leads to it, it counts %u",
			  number, inode->nlink);
	} else if (names != inode->nlink) {
		check_say(check, NV_FINDING_LINK_COUNT,
			  "inode %llu: %u names lead to it, it counts %u",
			  number, inode->names, inode->nlink);
		fixed = check_change_inode(check, inode->file_id);
		if (fixed != NULL) {
			fixed->nlink = names;
			inode->nlink = names;
		}
	}
	if (inode->nlink == 0 && !inode->has_orphan_flag) {
		check_say(check, NV_FINDING_ORPHAN,
			  "inode %llu: it has no name and is no orphan",
			  number);
		fixed = check_change_inode(check, inode->file_id);
		if (fixed != NULL) {
			fixed->flags |= NV_INODE_ORPHAN;
			inode->has_orphan_flag = true;
		}
	}
	if (inode->type == NV_TYPE_DIRECTORY && inode->nlink > 1) {
		check_say(check, NV_FINDING_LINK_COUNT,
			  "inode %llu: a directory with %u names", number,
			  inode->nlink);
	}
	if (inode->nlink == 0 || is_root) {
		return;
	}
	/*
	 * A file's parent is where it got its last name, which may be gone;
	 * a directory and a stream have only one.
	 */
	if (inode->type == NV_TYPE_DIRECTORY ||
	    inode->type == NV_TYPE_STREAM) {
		if (!inode->parent_names_it) {
			check_say(check, NV_FINDING_PARENT,
				  "inode %llu: its parent %llx does not name "
				  "it", number,
				  (unsigned long long)inode->parent_id);
		}
	}
	if (inode->type == NV_TYPE_DIRECTORY) {
		check_reachable(check, ino);
	}
}

void check_all_links(struct check *check)
{
	struct check_inode *root = check_inode_of(
		check, check->root.root_directory);
	uint64_t ino;

	if (root == NULL || root->type != NV_TYPE_DIRECTORY) {
		check_say(check, NV_FINDING_ROOT_FIELD,
			  "the root directory %llx is no directory",
			  (unsigned long long)check->root.root_directory);
	} else {
		root->reached = true;
	}
	for (ino = 0; ino < check->inode_count; ino++) {
		if (check->inode[ino].type != 0 &&
		    !check->inode[ino].damaged) {
			check_links(check, ino);
		}
	}
}
