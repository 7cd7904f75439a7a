/*
 * What is in a volume, or in the model of one, in a form to be compared.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "tree.h"

/* Few, so that cookies are used. */
#define ENTRIES_AT_ONCE 5

static void *need(void *memory)
{
	if (memory == NULL) {
		fprintf(stderr, "out of memory\n");
		exit(2);
	}
	return memory;
}

void text_add(struct text *text, const char *format, ...)
{
	va_list args;
	int length;

	if (text->room - text->length < 1024) {
		text->room = text->room * 2 + 2048;
		text->bytes = need(realloc(text->bytes, text->room));
	}
	va_start(args, format);
	length = vsnprintf(text->bytes + text->length,
			   text->room - text->length, format, args);
	va_end(args);
	if (length > 0) {
		text->length += (size_t)length;
	}
}

void text_add_bytes(struct text *text, const char *what, const void *bytes,
		    size_t length)
{
	text_add(text, " %s=%zu:%016llx", what, length,
		 (unsigned long long)XXH3_64bits(bytes, length));
}

void text_add_name(struct text *text, const uint16_t *units, uint32_t length)
{
	uint32_t i;

	text_add(text, "'");
	for (i = 0; i < length; i++) {
		if (units[i] > 32 && units[i] < 127) {
			text_add(text, "%c", units[i]);
		} else {
			text_add(text, "<%04x>", units[i]);
		}
	}
	text_add(text, "'");
}

struct tree *tree_new(void)
{
	return need(calloc(1, sizeof(struct tree)));
}

void tree_free(struct tree *tree)
{
	uint32_t i;

	if (tree == NULL) {
		return;
	}
	for (i = 0; i < tree->count; i++) {
		free(tree->item[i].text);
		free(tree->item[i].data);
	}
	free(tree->item);
	free(tree);
}

void tree_add(struct tree *tree, nv_file_id id, char *text, uint8_t *data,
	      uint64_t size)
{
	struct tree_item *item = NULL;

	if ((tree->count & (tree->count - 1)) == 0) {
		size_t room = tree->count == 0 ? 1 : tree->count * 2;

		tree->item = need(realloc(tree->item, room * sizeof(*item)));
	}
	item = &tree->item[tree->count];
	tree->count++;
	item->id = id;
	item->number = tree->count - 1;
	item->text = text;
	item->data = data;
	item->size = size;
}

static int compare_items(const void *a, const void *b)
{
	const struct tree_item *left = a;
	const struct tree_item *right = b;

	if (left->id != right->id) {
		return left->id < right->id ? -1 : 1;
	}
	return 0;
}

void tree_sort(struct tree *tree)
{
	if (tree->count > 0) {
		qsort(tree->item, tree->count, sizeof(*tree->item),
		      compare_items);
	}
}

const struct tree_item *tree_find(const struct tree *tree, nv_file_id id)
{
	struct tree_item key = {.id = id};

	if (tree->count == 0) {
		return NULL;
	}
	return bsearch(&key, tree->item, tree->count, sizeof(key),
		       compare_items);
}

/* ---- from a volume ---- */

struct reading {
	struct nv_volume *volume;
	struct tree *tree;
	nv_file_id *queue;	/* objects seen */
	uint32_t queued;
	uint32_t room;
	char *problem;
};

static bool trouble(struct reading *reading, const char *call, nv_file_id id,
		    enum nv_status status)
{
	snprintf(reading->problem, TREE_PROBLEM_SIZE, "%s of %llx: %s", call,
		 (unsigned long long)id, nv_status_string(status));
	return false;
}

/* Its number. */
static uint32_t enqueue(struct reading *reading, nv_file_id id)
{
	uint32_t i;

	for (i = 0; i < reading->queued; i++) {
		if (reading->queue[i] == id) {
			return i;
		}
	}
	if (reading->queued == reading->room) {
		reading->room = reading->room * 2 + 64;
		reading->queue = need(realloc(reading->queue, reading->room *
					      sizeof(*reading->queue)));
	}
	reading->queue[reading->queued] = id;
	reading->queued++;
	return i;
}

static bool look_up_again(struct reading *reading, nv_file_id directory,
			  const struct nv_found *entry)
{
	struct nv_name name = {
		.units = entry->name,
		.length = entry->name_length,
	};
	struct nv_found found;
	enum nv_status status;

	status = nv_lookup(reading->volume, directory, &name, &found);
	if (status == NV_OK && found.id == entry->id &&
	    entry->short_length > 0) {
		name.units = entry->short_name;
		name.length = entry->short_length;
		status = nv_lookup(reading->volume, directory, &name, &found);
	}
	if (status != NV_OK) {
		return trouble(reading, "lookup of an enumerated name in",
			       directory, status);
	}
	if (found.id != entry->id) {
		return trouble(reading, "lookup finds something else in",
			       directory, NV_OK);
	}
	return true;
}

static bool add_names(struct reading *reading, struct text *text,
		      nv_file_id id, bool streams)
{
	struct nv_found found[ENTRIES_AT_ONCE];
	struct nv_name after = {0};
	uint16_t units[NV_NAME_MAX];
	uint32_t returned = 0;
	enum nv_status status;
	uint32_t i;

	do {
		const struct nv_name *from = after.length > 0 ? &after : NULL;

		if (streams) {
			status = nv_stream_enumerate(reading->volume, id,
						     from, found,
						     ENTRIES_AT_ONCE,
						     &returned);
		} else {
			status = nv_enumerate(reading->volume, id, from,
					      found, ENTRIES_AT_ONCE,
					      &returned);
		}
		if (status != NV_OK) {
			return trouble(reading, "enumerate", id, status);
		}
		for (i = 0; i < returned; i++) {
			text_add(text, "\n  ");
			text_add_name(text, found[i].name,
				      found[i].name_length);
			if (found[i].short_length > 0) {
				text_add(text, " short ");
				text_add_name(text, found[i].short_name,
					      found[i].short_length);
			}
			text_add(text, " -> %u",
				 enqueue(reading, found[i].id));
			if (!streams &&
			    !look_up_again(reading, id, &found[i])) {
				return false;
			}
		}
		if (returned > 0) {
			after.length = found[returned - 1].name_length;
			memcpy(units, found[returned - 1].name,
			       2 * after.length);
			after.units = units;
		}
	} while (returned == ENTRIES_AT_ONCE);
	return true;
}

struct ea_text {
	char name[256];
	uint32_t length;
	uint64_t sum;
	uint8_t flags;
};

static int compare_eas(const void *a, const void *b)
{
	return strcmp(((const struct ea_text *)a)->name,
		      ((const struct ea_text *)b)->name);
}

/* FILE_FULL_EA_INFORMATION, sorted by name in upper case. */
static bool add_eas(struct reading *reading, struct text *text, nv_file_id id,
		    uint32_t count)
{
	uint32_t length = 4 * 1024 * 1024;
	struct ea_text *list = NULL;
	uint8_t *buffer = NULL;
	enum nv_status status;
	uint32_t offset = 0;
	uint32_t found = 0;
	uint32_t i;
	bool ok = false;

	buffer = need(malloc(length));
	list = need(calloc(count + 1, sizeof(*list)));
	status = nv_ea_list(reading->volume, id, buffer, &length);
	if (status != NV_OK) {
		trouble(reading, "ea_list", id, status);
		goto done;
	}
	while (found < count && offset + 8 <= length) {
		struct ea_text *ea = &list[found];
		uint32_t name_length = buffer[offset + 5];
		uint32_t next;
		uint16_t value_length;

		memcpy(&next, buffer + offset, 4);
		memcpy(&value_length, buffer + offset + 6, 2);
		if (offset + 8 + name_length + 1 + value_length > length) {
			trouble(reading, "EAs overrun", id, NV_OK);
			goto done;
		}
		memcpy(ea->name, buffer + offset + 8, name_length);
		for (i = 0; i < name_length; i++) {
			ea->name[i] = (char)toupper((unsigned char)
						    ea->name[i]);
		}
		ea->flags = buffer[offset + 4];
		ea->length = value_length;
		ea->sum = XXH3_64bits(buffer + offset + 8 + name_length + 1,
				      value_length);
		found++;
		if (next == 0) {
			break;
		}
		offset += next;
	}
	if (found != count) {
		trouble(reading, "number of EAs", id, NV_OK);
		goto done;
	}
	qsort(list, found, sizeof(*list), compare_eas);
	for (i = 0; i < found; i++) {
		text_add(text, "\n  ea %s flags %u %u:%016llx", list[i].name,
			 list[i].flags, list[i].length,
			 (unsigned long long)list[i].sum);
	}
	ok = true;
done:
	free(list);
	free(buffer);
	return ok;
}

static bool add_attached(struct reading *reading, struct text *text,
			 const struct nv_info *info)
{
	uint8_t *buffer = need(malloc(65536));
	uint32_t length = 65536;
	uint32_t tag = 0;
	enum nv_status status;
	bool ok = false;

	status = nv_sd_get(reading->volume, info->id, buffer, &length);
	if (status == NV_OK) {
		text_add_bytes(text, "sd", buffer, length);
	} else if (status != NV_ERR_NOT_FOUND || info->sd_id != 0) {
		trouble(reading, "sd_get", info->id, status);
		goto done;
	}
	length = 65536;
	status = nv_reparse_get(reading->volume, info->id, &tag, buffer,
				&length);
	if (status == NV_OK) {
		text_add(text, " tag=%x", tag);
		text_add_bytes(text, "reparse", buffer, length);
	} else if (status != NV_ERR_NOT_FOUND || info->reparse_tag != 0) {
		trouble(reading, "reparse_get", info->id, status);
		goto done;
	}
	ok = true;
done:
	free(buffer);
	return ok;
}

static bool add_object(struct reading *reading, nv_file_id id)
{
	struct text text = {0};
	struct nv_info info;
	enum nv_status status;
	uint8_t *data = NULL;
	size_t done = 0;

	status = nv_get_info(reading->volume, id, &info);
	if (status != NV_OK) {
		return trouble(reading, "get_info", id, status);
	}
	if (info.type == NV_STREAM) {
		text_add(&text, "stream size=%llu",
			 (unsigned long long)info.size);
	} else {
		text_add(&text, "type=%u attributes=%x times=%llx,%llx,%llx,"
			 "%llx size=%llu nlink=%u uid=%u gid=%u mode=%o "
			 "device=%llx case=%d eas=%u streams=%u names=%llu",
			 info.type, info.attributes,
			 (unsigned long long)info.creation_time,
			 (unsigned long long)info.last_access_time,
			 (unsigned long long)info.last_write_time,
			 (unsigned long long)info.change_time,
			 (unsigned long long)info.size, info.nlink, info.uid,
			 info.gid, info.mode, (unsigned long long)info.device,
			 info.case_sensitive, info.ea_count,
			 info.stream_count,
			 (unsigned long long)info.entry_count);
		if (!add_attached(reading, &text, &info) ||
		    !add_eas(reading, &text, id, info.ea_count) ||
		    !add_names(reading, &text, id, true)) {
			free(text.bytes);
			return false;
		}
	}
	if (info.type == NV_DIRECTORY) {
		if (!add_names(reading, &text, id, false)) {
			free(text.bytes);
			return false;
		}
	} else {
		data = need(malloc(info.size + 1));
		status = nv_read(reading->volume, id, 0, data, info.size,
				 &done);
		if (status != NV_OK || done != info.size) {
			free(text.bytes);
			free(data);
			return trouble(reading, "read", id, status);
		}
	}
	tree_add(reading->tree, id, text.bytes, data,
		 info.type == NV_DIRECTORY ? 0 : info.size);
	return true;
}

struct tree *tree_of_volume(struct nv_volume *volume, nv_file_id root,
			    char *problem)
{
	struct nv_volume_statistics statistics;
	struct reading reading = {.volume = volume, .problem = problem};
	bool ok = true;
	uint32_t i;

	reading.tree = tree_new();
	if (nv_volume_statistics(volume, &statistics) != NV_OK) {
		snprintf(problem, TREE_PROBLEM_SIZE, "no statistics");
		ok = false;
	} else {
		enqueue(&reading, root != 0 ? root :
			statistics.root_directory);
	}
	for (i = 0; ok && i < reading.queued; i++) {
		ok = add_object(&reading, reading.queue[i]);
	}
	free(reading.queue);
	if (!ok) {
		tree_free(reading.tree);
		return NULL;
	}
	tree_sort(reading.tree);
	return reading.tree;
}

/* ---- comparing ---- */

static void tell_texts(char *problem, nv_file_id id, const char *expected,
		       const char *found)
{
	size_t same = 0;

	/* From the beginning of the word that differs. */
	while (expected[same] != 0 && expected[same] == found[same]) {
		same++;
	}
	while (same > 0 && expected[same - 1] != ' ' &&
	       expected[same - 1] != '\n') {
		same--;
	}
	snprintf(problem, TREE_PROBLEM_SIZE, "object %llx should have "
		 "\"%.160s\" and has \"%.160s\"", (unsigned long long)id,
		 expected + same, found + same);
}

static bool texts_equal(const struct tree *expected, const struct tree *found,
			char *problem)
{
	uint32_t i;

	for (i = 0; i < expected->count; i++) {
		const struct tree_item *item = &expected->item[i];
		const struct tree_item *other = tree_find(found, item->id);

		if (other == NULL) {
			snprintf(problem, TREE_PROBLEM_SIZE, "object %llx "
				 "(%.200s) is missing",
				 (unsigned long long)item->id, item->text);
			return false;
		}
		if (strcmp(item->text, other->text) != 0) {
			tell_texts(problem, item->id, item->text,
				   other->text);
			return false;
		}
	}
	if (found->count != expected->count) {
		snprintf(problem, TREE_PROBLEM_SIZE, "there are %u objects, "
			 "should be %u", found->count, expected->count);
		return false;
	}
	return true;
}

bool tree_equal(const struct tree *expected, const struct tree *found,
		char *problem)
{
	struct tree *history = (struct tree *)expected;

	return tree_is_state(&history, NULL, 0, 0, found, problem);
}

void tree_note_synced(struct tree_synced *synced, nv_file_id id,
		      uint32_t state)
{
	uint32_t at = synced->flushes % TREE_FLUSHES;

	if (id == 0) {
		synced->all = state;
		synced->flushes = 0;
		return;
	}
	synced->flush[at].id = id;
	synced->flush[at].state = state;
	synced->flushes++;
}

/* The earliest state whose bytes the object may have. */
static uint32_t synced_since(const struct tree_synced *synced, uint32_t first,
			     nv_file_id id)
{
	uint32_t since;
	uint32_t i;

	if (synced == NULL) {
		return first;
	}
	since = synced->all;
	for (i = 0; i < synced->flushes && i < TREE_FLUSHES; i++) {
		if (synced->flush[i].id == id &&
		    synced->flush[i].state > since) {
			since = synced->flush[i].state;
		}
	}
	return since < first ? since : first;
}

static bool byte_allowed(struct tree *const *history, uint32_t first,
			 uint32_t last, nv_file_id id, uint64_t at,
			 uint8_t byte)
{
	uint32_t state;

	for (state = first; state <= last; state++) {
		const struct tree_item *item = tree_find(history[state], id);

		if (item != NULL && at < item->size &&
		    item->data[at] == byte) {
			return true;
		}
	}
	return false;
}

bool tree_is_state(struct tree *const *history,
		   const struct tree_synced *synced, uint32_t first,
		   uint32_t last, const struct tree *found, char *problem)
{
	const struct tree *expected = history[first];
	uint32_t i;

	if (!texts_equal(expected, found, problem)) {
		return false;
	}
	for (i = 0; i < found->count; i++) {
		const struct tree_item *item = &found->item[i];
		const struct tree_item *told = tree_find(expected, item->id);
		uint32_t since = synced_since(synced, first, item->id);
		uint64_t at;

		if (told->size != item->size) {
			snprintf(problem, TREE_PROBLEM_SIZE, "object %llx "
				 "has %llu bytes, should be %llu",
				 (unsigned long long)item->id,
				 (unsigned long long)item->size,
				 (unsigned long long)told->size);
			return false;
		}
		if (item->size == 0 ||
		    memcmp(told->data, item->data, item->size) == 0) {
			continue;
		}
		for (at = 0; at < item->size; at++) {
			if (told->data[at] == item->data[at] ||
			    byte_allowed(history, since, last, item->id, at,
					 item->data[at])) {
				continue;
			}
			snprintf(problem, TREE_PROBLEM_SIZE, "object %llx "
				 "(%.100s) has %02x at byte %llu, which was "
				 "never there; should be %02x",
				 (unsigned long long)item->id, item->text,
				 item->data[at], (unsigned long long)at,
				 told->data[at]);
			return false;
		}
	}
	return true;
}

/* ---- between two states ---- */

static const struct tree_item *item_numbered(const struct tree *tree,
					     uint32_t number)
{
	uint32_t i;

	for (i = 0; i < tree->count; i++) {
		if (tree->item[i].number == number) {
			return &tree->item[i];
		}
	}
	return NULL;
}

static bool items_same(const struct tree_item *a, const struct tree_item *b)
{
	return a != NULL && b != NULL && a->size == b->size &&
		strcmp(a->text, b->text) == 0 &&
		(a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static bool same_by_number(const struct tree *expected,
			   const struct tree *found, char *problem)
{
	uint32_t i;

	for (i = 0; i < expected->count; i++) {
		const struct tree_item *item = &expected->item[i];
		const struct tree_item *other = item_numbered(found,
							      item->number);

		if (other == NULL) {
			snprintf(problem, TREE_PROBLEM_SIZE, "object number "
				 "%u (%.200s) is missing", item->number,
				 item->text);
			return false;
		}
		if (strcmp(item->text, other->text) != 0) {
			tell_texts(problem, other->id, item->text,
				   other->text);
			return false;
		}
		if (!items_same(item, other)) {
			snprintf(problem, TREE_PROBLEM_SIZE, "object %llx "
				 "(%.200s) has other bytes",
				 (unsigned long long)other->id, other->text);
			return false;
		}
	}
	if (found->count != expected->count) {
		snprintf(problem, TREE_PROBLEM_SIZE, "there are %u objects, "
			 "should be %u", found->count, expected->count);
		return false;
	}
	return true;
}

/*
 * Equal but for "size=", a number in between, and "times=", of one of them.
 */
static bool words_between(const char *before, const char *after,
			  const char *found)
{
	while (*found != 0) {
		size_t b = strcspn(before, " \n");
		size_t a = strcspn(after, " \n");
		size_t f = strcspn(found, " \n");
		bool is_before = b == f && strncmp(before, found, f) == 0;
		bool is_after = a == f && strncmp(after, found, f) == 0;

		if (strncmp(found, "size=", 5) == 0) {
			uint64_t low = strtoull(before + 5, NULL, 10);
			uint64_t high = strtoull(after + 5, NULL, 10);
			uint64_t size = strtoull(found + 5, NULL, 10);

			if (low > high) {
				uint64_t swap = low;

				low = high;
				high = swap;
			}
			if (size < low || size > high) {
				return false;
			}
		} else if (strncmp(found, "times=", 6) == 0) {
			if (!is_before && !is_after) {
				return false;
			}
		} else if (!is_before || !is_after) {
			return false;
		}
		before += before[b] == 0 ? b : b + 1;
		after += after[a] == 0 ? a : a + 1;
		found += found[f] == 0 ? f : f + 1;
	}
	return *before == 0 && *after == 0;
}

static bool item_between(const struct tree_item *before,
			 const struct tree_item *after,
			 const struct tree_item *found)
{
	uint64_t i;

	if (!words_between(before->text, after->text, found->text)) {
		return false;
	}
	for (i = 0; i < found->size; i++) {
		uint8_t old_byte = i < before->size ? before->data[i] : 0;
		uint8_t new_byte = i < after->size ? after->data[i] : 0;

		if (found->data[i] != old_byte && found->data[i] != new_byte) {
			return false;
		}
	}
	return true;
}

bool tree_is_between(const struct tree *before, const struct tree *after,
		     const struct tree *found, char *problem)
{
	char other[TREE_PROBLEM_SIZE] = "";
	uint32_t changed = 0;
	uint32_t i;

	if (same_by_number(after, found, problem) ||
	    same_by_number(before, found, other)) {
		return true;
	}
	if (before->count != after->count || before->count != found->count) {
		return false;
	}
	for (i = 0; i < found->count; i++) {
		const struct tree_item *item = &found->item[i];
		const struct tree_item *b = item_numbered(before,
							  item->number);
		const struct tree_item *a = item_numbered(after,
							  item->number);

		if (items_same(b, item)) {
			continue;
		}
		changed++;
		if (changed > 1 || b == NULL || a == NULL ||
		    !item_between(b, a, item)) {
			return false;
		}
	}
	return true;
}

bool tree_is_on_the_way(struct tree *const *history, uint32_t state,
			uint32_t last, const struct tree *found)
{
	const struct tree *before = history[state];
	const struct tree *after = history[state + 1];
	uint32_t changed = 0;
	uint32_t i;

	if (found->count != before->count || found->count != after->count) {
		return false;
	}
	for (i = 0; i < found->count; i++) {
		const struct tree_item *item = &found->item[i];
		const struct tree_item *b = tree_find(before, item->id);
		const struct tree_item *a = tree_find(after, item->id);
		uint64_t at;
		bool same;

		if (b == NULL || a == NULL) {
			return false;
		}
		same = strcmp(b->text, item->text) == 0;
		if (!same) {
			changed++;
			if (changed > 1 || !words_between(b->text, a->text,
							  item->text)) {
				return false;
			}
		}
		for (at = 0; at < item->size; at++) {
			if (!byte_allowed(history, state, last, item->id, at,
					  item->data[at]) &&
			    (same || item->data[at] != 0)) {
				return false;
			}
		}
	}
	return true;
}

struct packed_item {
	uint64_t id;
	uint64_t size;
	uint32_t number;
	uint32_t text_size;
};

size_t tree_pack(const struct tree *tree, uint8_t *bytes, size_t room)
{
	size_t used = 8;
	uint64_t count = tree->count;
	uint32_t i;

	if (room < used) {
		return 0;
	}
	memcpy(bytes, &count, 8);
	for (i = 0; i < tree->count; i++) {
		const struct tree_item *item = &tree->item[i];
		struct packed_item packed = {
			.id = item->id,
			.size = item->size,
			.number = item->number,
			.text_size = (uint32_t)strlen(item->text) + 1,
		};
		size_t length = sizeof(packed) + packed.text_size +
			packed.size;

		if (length > room - used) {
			return 0;
		}
		memcpy(bytes + used, &packed, sizeof(packed));
		used += sizeof(packed);
		memcpy(bytes + used, item->text, packed.text_size);
		used += packed.text_size;
		if (item->size > 0) {
			memcpy(bytes + used, item->data, item->size);
		}
		used += item->size;
	}
	return used;
}

struct tree *tree_unpack(const uint8_t *bytes)
{
	struct tree *tree = tree_new();
	uint64_t count = 0;
	uint64_t i;

	memcpy(&count, bytes, 8);
	bytes += 8;
	for (i = 0; i < count; i++) {
		struct packed_item packed;
		uint8_t *data = NULL;

		memcpy(&packed, bytes, sizeof(packed));
		bytes += sizeof(packed);
		data = need(malloc(packed.size + 1));
		memcpy(data, bytes + packed.text_size, packed.size);
		tree_add(tree, packed.id, need(strdup((const char *)bytes)),
			 data, packed.size);
		tree->item[i].number = packed.number;
		bytes += packed.text_size + packed.size;
	}
	return tree;
}
