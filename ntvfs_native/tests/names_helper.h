/*
 * What the tests of names share.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_NATIVE_TESTS_NAMES_HELPER_H
#define NTVFS_NATIVE_TESTS_NAMES_HELPER_H

#include "helper.h"
#include "names.h"

/* A name with its units. */
struct test_name {
	uint16_t units[NV_NAME_MAX + 1];
	struct nv_name name;
};

/* From ASCII. Returns &made->name. */
const struct nv_name *test_name(struct test_name *made, const char *text);
/* To ASCII, '?' for the rest; into a static buffer of four in turn. */
const char *test_text(const uint16_t *units, uint32_t length);

nv_file_id test_root(struct nv_volume *volume);

/* nv_create of this type without anything special. */
enum nv_status test_create(struct nv_volume *volume, nv_file_id directory,
			   const char *name, uint32_t type, nv_file_id *id);
/* The id a name leads to, 0: none. */
nv_file_id test_lookup(struct nv_volume *volume, nv_file_id directory,
		       const char *name);
enum nv_status test_unlink(struct nv_volume *volume, nv_file_id directory,
			   const char *name);

/*
 * An index of an object is as docs/native-format.md says: every node valid,
 * keys within what the parents promise, in a directory as many entries as the
 * inode counts, each short name with its entry. Nothing may run meanwhile.
 * Returns the number of records; *depth, unless NULL, the levels.
 */
uint64_t test_index_sound(struct nv_volume *volume, nv_file_id id,
			  uint32_t kind, uint32_t *depth);

/* nv_check finds nothing. The image must not be attached. */
void test_check(const struct test_place *place);

/* A generator that gives the same on every machine. */
uint32_t test_random(uint64_t *state);

#endif
