/*
 * A set of names that is searched without regard to case.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The names lie one after the other, each ended by NUL, in one piece of
 * memory. An open-addressed hash table of (hash, offset) pairs with linear
 * probing finds them; a removal shifts later pairs back, so that no markers of
 * removed names pile up. Memory per name of n bytes: n + 1 for the name and 8
 * for a pair at a load of 3/8 to 3/4, that is 11 to 21 bytes, in all n + 12 to
 * n + 22 after ntvfs_name_table_trim(); while growing, the names' memory has
 * up to half as much again in reserve.
 */

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "lib/util/charset/charset.h"
#include "name_table.h"

#define FIRST_SLOTS 16
#define FIRST_BYTES 256

/* Offset 0 marks an empty slot; the first byte of the names is not used. */
struct name_slot {
	uint32_t hash;
	uint32_t offset;
};

struct ntvfs_name_table {
	struct name_slot *slots;
	char *names;
	size_t slot_count; /* a power of two */
	size_t count;
	size_t used;	 /* bytes of names, the dead ones included */
	size_t dead;	 /* bytes of removed names */
	size_t capacity; /* bytes that names has */
};

static char ascii_lower(char c)
{
	if (c >= 'A' && c <= 'Z') {
		return c + ('a' - 'A');
	}
	return c;
}

bool ntvfs_names_equal(const char *first, const char *second)
{
	/*
	 * strcasecmp_m() goes code point by code point through both names and
	 * an ASCII character is a code point of one byte, so the names can be
	 * cut after any common ASCII beginning. No code point outside ASCII
	 * has an ASCII character as its upper or lower case (the test asks
	 * all of them), so two different ASCII letters decide at once.
	 */
	while (*first != '\0') {
		if (((*first | *second) & 0x80) != 0) {
			return strcasecmp_m(first, second) == 0;
		}
		if (ascii_lower(*first) != ascii_lower(*second)) {
			return false;
		}
		first++;
		second++;
	}
	return *second == '\0';
}

/*
 * A seed of its own for each process, so that nobody can prepare names that
 * all fall into one row.
 */
static uint64_t hash_seed(void)
{
	static uint64_t seed;
	static bool have_seed;
	struct timespec now = {0};
	ssize_t size = 0;

	if (have_seed) {
		return seed;
	}
	size = getrandom(&seed, sizeof(seed), GRND_NONBLOCK);
	if (size != (ssize_t)sizeof(seed)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		seed = ((uint64_t)now.tv_nsec << 32) ^ (uint64_t)getpid();
	}
	have_seed = true;
	return seed;
}

/*
 * The name is folded into a buffer, then hashed. ASCII becomes its lower case
 * byte. Other code points become four bytes, the first of which is no ASCII,
 * of lower(upper(c)): this is one value for all code points that
 * strcasecmp_m() calls equal (those with the same upper or the same lower
 * case; the test asks all of them). From the first byte that is not valid
 * strcasecmp_m() compares bytes, but for the case of ASCII letters, and so
 * does the hash. (In a locale of 8-bit characters the C library folds more
 * than ASCII there. Then such names, invalid and spelled differently, count as
 * different here.)
 *
 * A full buffer is hashed into the seed for the rest. Where it is full depends
 * on nothing but what was folded, so equal names stay equal.
 */
uint32_t ntvfs_name_hash(const char *name)
{
	uint8_t folded[256];
	uint64_t hash = hash_seed();
	size_t used = 0;
	size_t size = 0;
	bool valid = true;
	codepoint_t c = 0;

	while (*name != '\0') {
		if (used > sizeof(folded) - 4) {
			hash = XXH3_64bits_withSeed(folded, used, hash);
			used = 0;
		}
		if ((*name & 0x80) == 0) {
			folded[used] = (uint8_t)ascii_lower(*name);
			used++;
			name++;
			continue;
		}
		if (valid) {
			c = next_codepoint(name, &size);
			valid = c != INVALID_CODEPOINT && size > 0;
		}
		if (!valid) {
			folded[used] = (uint8_t)*name;
			used++;
			name++;
			continue;
		}
		c = tolower_m(toupper_m(c));
		folded[used] = 0x80 | (uint8_t)(c >> 18);
		folded[used + 1] = (uint8_t)(c >> 12) & 0x3f;
		folded[used + 2] = (uint8_t)(c >> 6) & 0x3f;
		folded[used + 3] = (uint8_t)c & 0x3f;
		used += 4;
		name += size;
	}
	hash = XXH3_64bits_withSeed(folded, used, hash);
	return (uint32_t)hash;
}

bool ntvfs_name_is_better(const char *wanted,
			  const char *candidate,
			  const char *best)
{
	if (best == NULL) {
		return true;
	}
	if (strcmp(best, wanted) == 0) {
		return false;
	}
	if (strcmp(candidate, wanted) == 0) {
		return true;
	}
	return strcmp(candidate, best) < 0;
}

struct ntvfs_name_table *ntvfs_name_table_create(TALLOC_CTX *mem_ctx)
{
	struct ntvfs_name_table *table = NULL;

	table = talloc_zero(mem_ctx, struct ntvfs_name_table);
	if (table == NULL) {
		return NULL;
	}
	table->slots = talloc_zero_array(table, struct name_slot, FIRST_SLOTS);
	table->names = talloc_array(table, char, FIRST_BYTES);
	if (table->slots == NULL || table->names == NULL) {
		TALLOC_FREE(table);
		return NULL;
	}
	table->slot_count = FIRST_SLOTS;
	table->capacity = FIRST_BYTES;
	table->names[0] = '\0';
	table->used = 1;
	return table;
}

static void place(struct name_slot *slots,
		  size_t slot_count,
		  const struct name_slot *slot)
{
	size_t mask = slot_count - 1;
	size_t i = slot->hash & mask;

	while (slots[i].offset != 0) {
		i = (i + 1) & mask;
	}
	slots[i] = *slot;
}

static bool resize_slots(struct ntvfs_name_table *table, size_t slot_count)
{
	struct name_slot *slots = NULL;
	size_t i;

	slots = talloc_zero_array(table, struct name_slot, slot_count);
	if (slots == NULL) {
		return false;
	}
	for (i = 0; i < table->slot_count; i++) {
		if (table->slots[i].offset != 0) {
			place(slots, slot_count, &table->slots[i]);
		}
	}
	TALLOC_FREE(table->slots);
	table->slots = slots;
	table->slot_count = slot_count;
	return true;
}

static bool resize_names(struct ntvfs_name_table *table, size_t capacity)
{
	char *names = NULL;

	names = talloc_realloc(table, table->names, char, capacity);
	if (names == NULL) {
		return false;
	}
	table->names = names;
	table->capacity = capacity;
	return true;
}

/*
 * Leave the removed names out, and slots that are no longer needed. Without
 * the memory for it everything stays as it was, which is merely bigger.
 */
static void compact(struct ntvfs_name_table *table)
{
	size_t live = table->used - table->dead;
	size_t capacity = live + live / 4 + FIRST_BYTES;
	size_t slot_count = table->slot_count;
	size_t used = 1;
	size_t size = 0;
	size_t i;
	char *names = NULL;
	struct name_slot *slot = NULL;

	names = talloc_array(table, char, capacity);
	if (names == NULL) {
		return;
	}
	names[0] = '\0';
	for (i = 0; i < table->slot_count; i++) {
		slot = &table->slots[i];
		if (slot->offset == 0) {
			continue;
		}
		size = strlen(table->names + slot->offset) + 1;
		memcpy(names + used, table->names + slot->offset, size);
		slot->offset = (uint32_t)used;
		used += size;
	}
	TALLOC_FREE(table->names);
	table->names = names;
	table->capacity = capacity;
	table->used = used;
	table->dead = 0;

	while (slot_count > FIRST_SLOTS && table->count < slot_count / 4) {
		slot_count /= 2;
	}
	if (slot_count != table->slot_count) {
		(void)resize_slots(table, slot_count);
	}
}

int ntvfs_name_table_add(struct ntvfs_name_table *table,
			 const char *name,
			 uint32_t hash)
{
	size_t size = strlen(name) + 1;
	size_t mask = table->slot_count - 1;
	size_t equal = 0;
	size_t capacity = 0;
	size_t i;
	struct name_slot slot = {.hash = hash};

	for (i = hash & mask; table->slots[i].offset != 0; i = (i + 1) & mask) {
		if (table->slots[i].hash != hash) {
			continue;
		}
		if (strcmp(table->names + table->slots[i].offset, name) == 0) {
			return EEXIST;
		}
		equal++;
	}
	if (equal >= NTVFS_NAME_TABLE_MAX_EQUAL) {
		return E2BIG;
	}
	if (size > UINT32_MAX - table->used) {
		return E2BIG;
	}
	if (size > table->capacity - table->used) {
		capacity = table->used + size + table->used / 2;
		if (!resize_names(table, capacity)) {
			return ENOMEM;
		}
	}
	if (table->count + 1 > table->slot_count / 4 * 3) {
		if (!resize_slots(table, table->slot_count * 2)) {
			return ENOMEM;
		}
	}
	slot.offset = (uint32_t)table->used;
	memcpy(table->names + table->used, name, size);
	table->used += size;
	place(table->slots, table->slot_count, &slot);
	table->count++;
	return 0;
}

/*
 * Empty slot i. A later pair of the same row moves into the gap when its own
 * place is not after the gap, or else the search for it would end there.
 */
static void empty_slot(struct ntvfs_name_table *table, size_t i)
{
	size_t mask = table->slot_count - 1;
	size_t gap = i;
	size_t distance_of_gap = 0;
	size_t distance_of_home = 0;

	for (i = (i + 1) & mask; table->slots[i].offset != 0;
	     i = (i + 1) & mask) {
		distance_of_gap = (i - gap) & mask;
		distance_of_home = (i - table->slots[i].hash) & mask;
		if (distance_of_home >= distance_of_gap) {
			table->slots[gap] = table->slots[i];
			gap = i;
		}
	}
	table->slots[gap] = (struct name_slot){0};
}

bool ntvfs_name_table_remove(struct ntvfs_name_table *table, const char *name)
{
	uint32_t hash = ntvfs_name_hash(name);
	size_t mask = table->slot_count - 1;
	size_t i;
	const char *stored = NULL;

	for (i = hash & mask; table->slots[i].offset != 0; i = (i + 1) & mask) {
		if (table->slots[i].hash != hash) {
			continue;
		}
		stored = table->names + table->slots[i].offset;
		if (strcmp(stored, name) == 0) {
			break;
		}
	}
	if (table->slots[i].offset == 0) {
		return false;
	}
	empty_slot(table, i);
	table->count--;
	table->dead += strlen(name) + 1;
	if (table->dead > FIRST_BYTES && table->dead > table->used / 2) {
		compact(table);
	}
	return true;
}

const char *ntvfs_name_table_find(const struct ntvfs_name_table *table,
				  const char *name)
{
	uint32_t hash = ntvfs_name_hash(name);
	size_t mask = table->slot_count - 1;
	size_t i;
	const char *stored = NULL;
	const char *best = NULL;

	for (i = hash & mask; table->slots[i].offset != 0; i = (i + 1) & mask) {
		if (table->slots[i].hash != hash) {
			continue;
		}
		stored = table->names + table->slots[i].offset;
		if (!ntvfs_names_equal(name, stored)) {
			continue;
		}
		if (ntvfs_name_is_better(name, stored, best)) {
			best = stored;
		}
	}
	return best;
}

size_t ntvfs_name_table_count(const struct ntvfs_name_table *table)
{
	return table->count;
}

size_t ntvfs_name_table_bytes(const struct ntvfs_name_table *table)
{
	return sizeof(*table) + table->capacity +
	       table->slot_count * sizeof(struct name_slot);
}

void ntvfs_name_table_trim(struct ntvfs_name_table *table)
{
	/* Failing to make it smaller is no failure. */
	(void)resize_names(table, table->used);
}
