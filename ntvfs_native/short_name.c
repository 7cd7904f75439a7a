/*
 * Short (8.3) names as NTFS makes them.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * MS-FSCC 2.1.5.2.1 says what a short name is. How NTFS derives one is not
 * specified; what follows is what it is seen to do: blanks and dots in front
 * go, what DOS forbids becomes an underscore, the first four files that
 * collide get BASENA~1 to BASENA~4, the others two letters, four hexadecimal
 * digits of a hash of the whole name, and again ~1 to ~9.
 */

#include <string.h>
#include "directory.h"

#define BASE_MAX 8
#define EXTENSION_MAX 3

/* Allowed in a short name (MS-FSCC 2.1.5.2.1), ASCII only. */
static bool is_short_unit(uint16_t unit)
{
	static const char forbidden[] = "\"*+,./:;<=>?[\\]|";

	if (unit <= 0x20 || unit >= 0x7f) {
		return false;
	}
	return strchr(forbidden, unit) == NULL;
}

/* Position of the last dot that has something behind it; length if none. */
static uint32_t find_extension(const struct nv_name *name)
{
	uint32_t i;

	for (i = name->length; i > 1; i--) {
		if (name->units[i - 1] == '.' && i < name->length) {
			return i - 1;
		}
	}
	return name->length;
}

bool nv_short_name_wanted(const struct nv_name *name)
{
	uint32_t dot = name->length;
	uint32_t i;

	for (i = 0; i < name->length; i++) {
		if (name->units[i] == '.') {
			if (dot < name->length) {
				return true;
			}
			dot = i;
		} else if (!is_short_unit(name->units[i])) {
			return true;
		}
	}
	if (dot == name->length) {
		return name->length > BASE_MAX;
	}
	return dot == 0 || dot > BASE_MAX || dot + 1 == name->length ||
		name->length - dot - 1 > EXTENSION_MAX;
}

static uint16_t short_unit(uint16_t unit, const uint16_t *upcase)
{
	uint16_t upper = upcase == NULL ? unit : upcase[unit];

	return is_short_unit(upper) ? upper : '_';
}

/* Up to most units of name[from, to) that count. */
static uint32_t take(const struct nv_name *name, uint32_t from, uint32_t to,
		     const uint16_t *upcase, uint32_t most, uint16_t *units)
{
	uint32_t length = 0;
	uint32_t i;

	for (i = from; i < to && length < most; i++) {
		uint16_t unit = name->units[i];

		if (unit == ' ' || unit == '.') {
			continue;
		}
		units[length] = short_unit(unit, upcase);
		length++;
	}
	return length;
}

/* The hash NTFS is seen to use for the fifth collision and later ones. */
static uint16_t hash_of(const struct nv_name *name)
{
	uint16_t hash = 0;
	int32_t mixed;
	uint32_t i;

	for (i = 0; i < name->length; i++) {
		hash = (uint16_t)(hash * 0x25 + name->units[i]);
	}
	mixed = (int32_t)((uint32_t)hash * UINT32_C(314159269));
	if (mixed < 0) {
		mixed = (int32_t)(0U - (uint32_t)mixed);
	}
	mixed -= (int32_t)(((uint64_t)((int64_t)mixed * 1152921497) >> 60) *
			   1000000007);
	hash = (uint16_t)mixed;
	return (uint16_t)(((hash & 0xf000) >> 12) | ((hash & 0x0f00) >> 4) |
			  ((hash & 0x00f0) << 4) | ((hash & 0x000f) << 12));
}

uint32_t nv_short_name_candidate(const struct nv_name *name,
				 const uint16_t *upcase, uint32_t attempt,
				 uint16_t units[NV_SHORT_MAX])
{
	static const char digits[] = "0123456789ABCDEF";
	uint32_t extension = find_extension(name);
	uint32_t length;
	uint32_t i;

	if (attempt >= NV_SHORT_ATTEMPTS) {
		return 0;
	}
	length = take(name, 0, extension, upcase, attempt < 4 ? 6 : 2,
		      units);
	if (attempt < 4) {
		units[length++] = '~';
		units[length++] = (uint16_t)('1' + attempt);
	} else {
		/* Nine per hash, then the next hash. */
		uint16_t hash = (uint16_t)(hash_of(name) + (attempt - 4) / 9);

		for (i = 0; i < 4; i++) {
			units[length++] = (uint16_t)
				digits[(hash >> (12 - 4 * i)) & 15];
		}
		units[length++] = '~';
		units[length++] = (uint16_t)('1' + (attempt - 4) % 9);
	}
	if (extension < name->length) {
		uint16_t kept[EXTENSION_MAX];
		uint32_t count = take(name, extension + 1, name->length,
				      upcase, EXTENSION_MAX, kept);

		if (count > 0) {
			units[length++] = '.';
			memcpy(units + length, kept, count * sizeof(*kept));
			length += count;
		}
	}
	return length;
}
