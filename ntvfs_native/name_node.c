/*
 * Nodes of the indexes of names: a page of sorted records.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Slots grow upwards behind the header, records downwards from the end of the
 * page. Removing closes the gap at once, so that the free bytes are one run
 * and a node never needs tidying when a record comes that fits.
 */

#include <stdio.h>
#include <string.h>
#include "name.h"

#define SLOTS_OFFSET ((uint32_t)offsetof(struct nv_disk_name_node, slot))
#define SLOTS_MAX (NV_NAME_NODE_ROOM / 2)

void nv_key_set(struct nv_key *key, const struct nv_name_order *order,
		const uint16_t *units, uint32_t length)
{
	uint32_t i;

	key->length = length;
	for (i = 0; i < length; i++) {
		key->units[i] = units[i];
		key->folded[i] = nv_fold(order, units[i]);
	}
}

int nv_key_compare(const struct nv_key *key,
		   const struct nv_name_order *order, const uint16_t *units,
		   uint32_t length)
{
	uint32_t common = key->length < length ? key->length : length;
	int difference = 0;
	uint32_t i;

	for (i = 0; i < common; i++) {
		uint16_t unit = units[i];

		if (unit == key->units[i]) {
			continue;
		}
		unit = nv_fold(order, unit);
		if (unit != key->folded[i]) {
			return key->folded[i] < unit ? -1 : 1;
		}
		if (difference == 0) {
			difference = key->units[i] < units[i] ? -1 : 1;
		}
	}
	if (key->length != length) {
		return key->length < length ? -1 : 1;
	}
	return order->exact ? difference : 0;
}

void nv_name_record_set(struct nv_name_record *record, uint64_t value,
			uint64_t cookie, uint32_t flags,
			const uint16_t *key, uint32_t key_length,
			const void *payload, uint32_t payload_length)
{
	uint32_t size = nv_name_size(key_length, payload_length);

	record->name = (struct nv_disk_name) {
		.value = value,
		.cookie = cookie,
		.key_length = (uint8_t)key_length,
		.flags = (uint8_t)flags,
		.payload_length = (uint16_t)payload_length,
	};
	memset((uint8_t *)record + size - 8, 0,
	       size > sizeof(record->name) ? 8 : 0);
	if (key_length > 0) {
		memcpy(record->bytes, key, 2 * (size_t)key_length);
	}
	if (payload_length > 0) {
		memcpy(record->bytes + 2 * key_length, payload,
		       payload_length);
	}
}

bool nv_name_record_get(struct nv_name_record *record, const uint8_t *bytes,
			uint32_t size, uint32_t *used)
{
	uint32_t length;

	if (size < sizeof(record->name)) {
		return false;
	}
	memcpy(&record->name, bytes, sizeof(record->name));
	length = nv_name_record_size(&record->name);
	if (length > size || length > NV_NAME_RECORD_MAX ||
	    record->name.payload_length > NV_NAME_PAYLOAD_MAX) {
		return false;
	}
	memcpy(record->bytes, bytes + sizeof(record->name),
	       length - sizeof(record->name));
	if (used != NULL) {
		*used = length;
	}
	return true;
}

uint32_t nv_name_node_free(const struct nv_disk_name_node *node)
{
	uint32_t slots_end = SLOTS_OFFSET + 2 * (uint32_t)node->header.count;
	uint32_t heap = node->heap;

	if (heap > NV_BLOCK_SIZE || heap < slots_end) {
		return UINT32_MAX;
	}
	return heap - slots_end;
}

const struct nv_disk_name *
nv_name_node_at(const struct nv_disk_name_node *node, uint32_t i)
{
	const struct nv_disk_name *name = NULL;
	uint32_t offset;

	if (i >= SLOTS_MAX) {
		return NULL;
	}
	offset = node->slot[i];
	if (offset < SLOTS_OFFSET || (offset & 7) != 0 ||
	    offset > NV_BLOCK_SIZE - sizeof(*name)) {
		return NULL;
	}
	name = (const void *)((const uint8_t *)node + offset);
	/*
	 * A later look at the lengths may see others. The longest key still
	 * ends within the process's memory only if this page is not the last
	 * of the mapping, so users copy with lengths taken once.
	 */
	if (nv_name_record_size(name) > NV_BLOCK_SIZE - offset) {
		return NULL;
	}
	return name;
}

/* Compare with record i; false: damaged. */
static bool compare_at(const struct nv_disk_name_node *node, uint32_t i,
		       const struct nv_name_order *order,
		       const struct nv_key *key, int *result)
{
	uint32_t offset = node->slot[i];
	const struct nv_disk_name *name = NULL;
	uint32_t length;

	if (offset < SLOTS_OFFSET || (offset & 7) != 0 ||
	    offset > NV_BLOCK_SIZE - sizeof(*name)) {
		return false;
	}
	name = (const void *)((const uint8_t *)node + offset);
	length = name->key_length;
	if (sizeof(*name) + 2 * length > NV_BLOCK_SIZE - offset) {
		return false;
	}
	*result = nv_key_compare(key, order, nv_name_key(name), length);
	return true;
}

bool nv_name_node_search(const struct nv_disk_name_node *node,
			 const struct nv_name_order *order,
			 const struct nv_key *key, uint32_t *at, bool *exact)
{
	uint32_t low = 0;
	uint32_t high = node->header.count;

	*exact = false;
	if (high > SLOTS_MAX) {
		return false;
	}
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		int result = 0;

		if (!compare_at(node, middle, order, key, &result)) {
			return false;
		}
		if (result == 0) {
			*at = middle;
			*exact = true;
			return true;
		}
		if (result > 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	*at = low;
	return true;
}

bool nv_name_node_sound(const struct nv_disk_name_node *node)
{
	uint32_t total = 0;
	uint32_t i;

	if (nv_name_node_free(node) == UINT32_MAX) {
		return false;
	}
	for (i = 0; i < node->header.count; i++) {
		const struct nv_disk_name *name = nv_name_node_at(node, i);

		if (name == NULL || node->slot[i] < node->heap) {
			return false;
		}
		total += nv_name_record_size(name);
	}
	return total == NV_BLOCK_SIZE - node->heap;
}

void nv_name_node_init(struct nv_disk_name_node *node)
{
	node->header.count = 0;
	node->heap = NV_BLOCK_SIZE;
	memset(node->reserved, 0, sizeof(node->reserved));
	memset(node->slot, 0, sizeof(node->slot));
}

void nv_name_node_insert(struct nv_disk_name_node *node, uint32_t at,
			 const struct nv_disk_name *name)
{
	uint32_t size = nv_name_record_size(name);
	uint32_t count = node->header.count;

	assert(nv_name_node_free(node) >= size + 2 && at <= count);
	node->heap = (uint16_t)(node->heap - size);
	memcpy((uint8_t *)node + node->heap, name, size);
	memmove(&node->slot[at + 1], &node->slot[at], 2 * (count - at));
	node->slot[at] = node->heap;
	node->header.count++;
}

void nv_name_node_remove(struct nv_disk_name_node *node, uint32_t at)
{
	uint8_t *bytes = (uint8_t *)node;
	const struct nv_disk_name *name = nv_name_node_at(node, at);
	uint32_t count = node->header.count;
	uint32_t offset = node->slot[at];
	uint32_t size;
	uint32_t i;

	assert(name != NULL && at < count);
	size = nv_name_record_size(name);
	memmove(bytes + node->heap + size, bytes + node->heap,
		offset - node->heap);
	memset(bytes + node->heap, 0, size);
	for (i = 0; i < count; i++) {
		if (node->slot[i] < offset) {
			node->slot[i] = (uint16_t)(node->slot[i] + size);
		}
	}
	memmove(&node->slot[at], &node->slot[at + 1], 2 * (count - at - 1));
	node->slot[count - 1] = 0;
	node->heap = (uint16_t)(node->heap + size);
	node->header.count--;
}

static bool fail(const char **problem, const char *text)
{
	*problem = text;
	return false;
}

bool nv_name_node_valid(const struct nv_disk_name_node *node,
			const struct nv_name_order *order,
			const char **problem)
{
	uint32_t free = nv_name_node_free(node);
	struct nv_key before = {0};
	uint64_t used[NV_BLOCK_SIZE / 8 / 64] = {0};
	uint32_t total = 0;
	uint32_t i;
	uint32_t j;

	if (node->header.magic != NV_PAGE_MAGIC) {
		return fail(problem, "no page header");
	}
	if (node->header.level >= NV_NAME_DEPTH_MAX) {
		return fail(problem, "level too high");
	}
	if (free == UINT32_MAX) {
		return fail(problem, "slots and records overlap");
	}
	if (node->header.level > 0 && node->header.count == 0) {
		return fail(problem, "upper node without a child");
	}
	for (i = 0; i < node->header.count; i++) {
		const struct nv_disk_name *name = nv_name_node_at(node, i);
		uint32_t size;
		bool empty;

		if (name == NULL || node->slot[i] < node->heap) {
			return fail(problem, "record outside the heap");
		}
		size = nv_name_record_size(name);
		if (name->reserved != 0 ||
		    (name->flags & ~(uint32_t)NV_NAME_ALIAS) != 0 ||
		    name->payload_length > NV_NAME_PAYLOAD_MAX) {
			return fail(problem, "record with unknown content");
		}
		for (j = 0; j < size / 8; j++) {
			uint32_t bit = node->slot[i] / 8 + j;

			if ((used[bit / 64] & (UINT64_C(1) << (bit % 64))) !=
			    0) {
				return fail(problem, "records overlap");
			}
			used[bit / 64] |= UINT64_C(1) << (bit % 64);
		}
		total += size;
		empty = node->header.level > 0 && i == 0;
		if ((name->key_length == 0) != empty) {
			return fail(problem, "empty or missing key");
		}
		if (node->header.level > 0 &&
		    (name->payload_length != 0 || name->flags != 0 ||
		     name->cookie != 0)) {
			return fail(problem, "child with a payload");
		}
		if (i > 0 && nv_key_compare(&before, order, nv_name_key(name),
					    name->key_length) >= 0) {
			return fail(problem, "keys out of order");
		}
		nv_key_set(&before, order, nv_name_key(name),
			   name->key_length);
	}
	if (total != NV_BLOCK_SIZE - node->heap) {
		return fail(problem, "gaps between records");
	}
	return true;
}

/* UTF-16 to UTF-8; unpaired surrogates as three bytes each (WTF-8). */
static size_t put_units(char *text, size_t size, const uint16_t *units,
			uint32_t length)
{
	size_t used = 0;
	uint32_t i;

	for (i = 0; i < length; i++) {
		uint32_t c = units[i];

		if (used + 5 > size) {
			break;
		}
		if (c >= 0xd800 && c < 0xdc00 && i + 1 < length &&
		    units[i + 1] >= 0xdc00 && units[i + 1] < 0xe000) {
			i++;
			c = 0x10000 + ((c - 0xd800) << 10) +
				(units[i] - 0xdc00U);
			text[used++] = (char)(0xf0 | (c >> 18));
			text[used++] = (char)(0x80 | ((c >> 12) & 0x3f));
			text[used++] = (char)(0x80 | ((c >> 6) & 0x3f));
			text[used++] = (char)(0x80 | (c & 0x3f));
		} else if (c >= 0x800) {
			text[used++] = (char)(0xe0 | (c >> 12));
			text[used++] = (char)(0x80 | ((c >> 6) & 0x3f));
			text[used++] = (char)(0x80 | (c & 0x3f));
		} else if (c >= 0x80) {
			text[used++] = (char)(0xc0 | (c >> 6));
			text[used++] = (char)(0x80 | (c & 0x3f));
		} else if (c < 0x20 || c == 0x7f) {
			text[used++] = '?';
		} else {
			text[used++] = (char)c;
		}
	}
	if (size > used) {
		text[used] = '\0';
	}
	return used;
}

size_t nv_name_node_to_text(const struct nv_disk_name_node *node, char *text,
			    size_t size)
{
	size_t used = 0;
	uint32_t i;

	for (i = 0; i < node->header.count; i++) {
		const struct nv_disk_name *name = nv_name_node_at(node, i);
		char line[96];
		int length;

		if (name == NULL) {
			break;
		}
		length = snprintf(line, sizeof(line),
				  "%s 0x%llx cookie %llu payload %u: ",
				  node->header.level > 0 ? "child" :
				  (name->flags & NV_NAME_ALIAS) != 0 ?
				  "alias" : "entry",
				  (unsigned long long)name->value,
				  (unsigned long long)name->cookie,
				  name->payload_length);
		if (length < 0 || used + (size_t)length + 2 > size) {
			break;
		}
		memcpy(text + used, line, (size_t)length);
		used += (size_t)length;
		used += put_units(text + used, size - used - 1,
				  nv_name_key(name), name->key_length);
		text[used++] = '\n';
	}
	if (size > 0) {
		text[used < size ? used : size - 1] = '\0';
	}
	return used;
}
