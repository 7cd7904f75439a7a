/*
 * The checker: indexes of names, whatever they are for.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <string.h>
#include "check.h"
#include "check_index.h"

#define SLOTS_OFFSET offsetof(struct nv_disk_name_node, slot)
#define SLOTS_MOST (NV_NAME_NODE_ROOM / 2)

static uint16_t fold(const struct check_index *index, uint16_t unit)
{
	if (index->ascii) {
		return unit >= 'a' && unit <= 'z' ? unit - 32 : unit;
	}
	return index->upcase == NULL ? unit : index->upcase[unit];
}

int check_compare(const struct check_index *index,
		  const struct check_key *left, const struct check_key *right)
{
	uint32_t common = left->length < right->length ? left->length :
		right->length;
	uint32_t i;

	for (i = 0; i < common; i++) {
		uint16_t l = fold(index, left->units[i]);
		uint16_t r = fold(index, right->units[i]);

		if (l != r) {
			return l < r ? -1 : 1;
		}
	}
	if (left->length != right->length) {
		return left->length < right->length ? -1 : 1;
	}
	for (i = 0; index->exact && i < common; i++) {
		if (left->units[i] != right->units[i]) {
			return left->units[i] < right->units[i] ? -1 : 1;
		}
	}
	return 0;
}

static void set_key(struct check_key *key, const uint8_t *units,
		    uint32_t length)
{
	key->length = length;
	memcpy(key->units, units, 2 * (size_t)length);
}

/* The record of at most room bytes at bytes. False: it is malformed. */
static bool parse(const uint8_t *bytes, uint32_t room,
		  struct check_record *record)
{
	struct nv_disk_name name;
	uint32_t used;

	if (room < sizeof(name)) {
		return false;
	}
	memcpy(&name, bytes, sizeof(name));
	used = (uint32_t)sizeof(name) + 2 * (uint32_t)name.key_length +
		name.payload_length;
	record->size = (used + 7) & ~7U;
	if (record->size > room || name.reserved != 0 ||
	    name.payload_length > NV_NAME_PAYLOAD_MAX ||
	    (name.flags & ~(uint32_t)NV_NAME_ALIAS) != 0 ||
	    !check_zero(bytes + used, record->size - used)) {
		return false;
	}
	record->value = name.value;
	record->cookie = name.cookie;
	record->flags = name.flags;
	set_key(&record->key, bytes + sizeof(name), name.key_length);
	record->payload = bytes + sizeof(name) + 2 * name.key_length;
	record->payload_length = name.payload_length;
	return true;
}

/* A leaf's record, in its order. */
static void take_record(struct check_index *index,
			const struct check_record *record)
{
	if (record->key.length == 0) {
		check_say(index->check, index->entry, "%s: a record without "
			  "a name", index->who);
		return;
	}
	if (index->any && index->ordered &&
	    check_compare(index, &index->last, &record->key) >= 0) {
		check_say(index->check, NV_FINDING_DIRECTORY_ORDER,
			  "%s: record %llu of its %s is not behind the one "
			  "before it", index->who,
			  (unsigned long long)index->records, index->what);
	}
	index->any = true;
	index->last = record->key;
	index->records++;
	index->take(index, record);
}

static void say_node(struct check_index *index, uint64_t page,
		     const char *text)
{
	check_say(index->check, NV_FINDING_DIRECTORY_TREE,
		  "%s: node %u of its %s: %s", index->who,
		  NV_PAGE_INDEX(page), index->what, text);
}

/* Slots and records, packed. False: the node cannot be read. */
static bool node_sound(struct check_index *index, uint64_t page,
		       const struct nv_disk_name_node *node)
{
	uint32_t count = node->header.count;
	uint8_t used[NV_BLOCK_SIZE / 8 / 8] = {0};
	struct check_record record;
	uint32_t total = 0;
	uint32_t i;
	uint32_t k;

	if (count > SLOTS_MOST || node->heap > NV_BLOCK_SIZE ||
	    node->heap < SLOTS_OFFSET + 2 * count ||
	    (node->heap & 7) != 0 ||
	    !check_zero(node->reserved, sizeof(node->reserved)) ||
	    node->header.next != 0) {
		say_node(index, page, "its head is wrong");
		return false;
	}
	for (i = 0; i < count; i++) {
		uint32_t offset = node->slot[i];

		if (offset < node->heap || offset >= NV_BLOCK_SIZE ||
		    (offset & 7) != 0 ||
		    !parse((const uint8_t *)node + offset,
			   NV_BLOCK_SIZE - offset, &record)) {
			say_node(index, page, "a record is malformed");
			return false;
		}
		for (k = 0; k < record.size / 8; k++) {
			if (check_bit(used, offset / 8 + k)) {
				say_node(index, page, "records overlap");
				return false;
			}
			check_set_bit(used, offset / 8 + k);
		}
		total += record.size;
	}
	if (total != NV_BLOCK_SIZE - node->heap) {
		say_node(index, page, "there are gaps between records");
	}
	if (!check_zero(&node->slot[count], node->heap - SLOTS_OFFSET -
			2 * count)) {
		say_node(index, page, "free bytes are not zero");
	}
	return true;
}

struct bounds {
	const struct check_key *lower;	/* NULL: none */
	const struct check_key *upper;
};

static enum nv_status walk(struct check_index *index, uint64_t page,
			   int32_t level, struct bounds bounds)
{
	union {
		struct nv_disk_name_node node;
		uint8_t bytes[NV_BLOCK_SIZE];
	} content;
	const struct nv_disk_name_node *node = &content.node;
	struct check_record record;
	struct check_record next;
	enum nv_status status;
	uint32_t i;

	status = check_node(index->check, page, index->kind, index->owner,
			    index->who, &content);
	if (status == NV_ERR_CORRUPT) {
		return NV_OK;
	}
	if (status != NV_OK) {
		return status;
	}
	if (level < 0) {
		level = node->header.level;
	}
	if (node->header.level != level || level >= NV_NAME_DEPTH_MAX) {
		say_node(index, page, "its level is wrong");
		return NV_OK;
	}
	if (!node_sound(index, page, node)) {
		return NV_OK;
	}
	if (level > 0 && node->header.count == 0) {
		say_node(index, page, "an upper node without children");
	}
	for (i = 0; i < node->header.count; i++) {
		struct bounds child = bounds;

		parse(content.bytes + node->slot[i],
		      NV_BLOCK_SIZE - node->slot[i], &record);
		if ((i > 0 || level == 0) && index->ordered &&
		    ((bounds.lower != NULL &&
		      check_compare(index, &record.key, bounds.lower) < 0) ||
		     (bounds.upper != NULL &&
		      check_compare(index, &record.key, bounds.upper) >= 0))) {
			say_node(index, page, "a key is outside of what the "
				 "parent says");
		}
		if (level == 0) {
			take_record(index, &record);
			continue;
		}
		if ((record.key.length == 0) != (i == 0) ||
		    record.cookie != 0 || record.flags != 0 ||
		    record.payload_length != 0) {
			say_node(index, page, "a child's record is wrong");
		}
		if (i > 0) {
			child.lower = &record.key;
		}
		if (i + 1 < node->header.count) {
			parse(content.bytes + node->slot[i + 1],
			      NV_BLOCK_SIZE - node->slot[i + 1], &next);
			child.upper = &next.key;
		}
		status = walk(index, record.value, level - 1, child);
		if (status != NV_OK) {
			return status;
		}
	}
	return NV_OK;
}

static void walk_list(struct check_index *index)
{
	struct check_record record;
	uint32_t offset = 0;

	while (offset < index->list_length) {
		if (!parse(index->list + offset, index->list_length - offset,
			   &record)) {
			check_say(index->check, index->entry, "%s: the list "
				  "of its %s is malformed at byte %u",
				  index->who, index->what, offset);
			return;
		}
		take_record(index, &record);
		offset += record.size;
	}
}

enum nv_status check_index(struct check_index *index)
{
	struct bounds none = {0};

	if (index->list != NULL && index->root != NV_PAGE_NONE) {
		check_say(index->check, NV_FINDING_DIRECTORY_TREE,
			  "%s: its %s are in a list and in a tree", index->who,
			  index->what);
	}
	if (index->list != NULL) {
		walk_list(index);
	}
	if (index->root == NV_PAGE_NONE) {
		return NV_OK;
	}
	return walk(index, index->root, -1, none);
}

enum nv_status check_chain(struct check *check, uint64_t page, uint32_t kind,
			   uint64_t owner, const char *who, uint8_t *bytes,
			   uint32_t most, uint32_t *length)
{
	struct nv_disk_value_page value;
	uint32_t done = 0;

	while (page != NV_PAGE_NONE) {
		enum nv_status status;
		uint32_t part;

		status = check_node(check, page, kind, owner, who, &value);
		if (status != NV_OK) {
			return status;
		}
		part = value.header.count;
		if (part == 0 || part > NV_VALUE_ROOM || part > most - done ||
		    value.header.level != 0) {
			check_say(check, NV_FINDING_PAGE_HEADER,
				  "%s: node %u has %u bytes of a value of at "
				  "most %u", who, NV_PAGE_INDEX(page), part,
				  most);
			return NV_ERR_CORRUPT;
		}
		if (bytes != NULL) {
			memcpy(bytes + done, value.bytes, part);
		}
		done += part;
		page = value.header.next;
	}
	*length = done;
	return NV_OK;
}
