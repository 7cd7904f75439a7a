/*
 * What is in a volume, or in the model of one, in a form to be compared.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef TORTURE_TREE_H
#define TORTURE_TREE_H

#include "ntvfs_native.h"

/*
 * One object: its bytes, and everything else as text. In texts objects are
 * numbered in the order in which a walk from the root directory finds them
 * (of each first its streams, then its names), so that a tree does not depend
 * on what file ids there are.
 */
struct tree_item {
	nv_file_id id;
	uint32_t number;
	char *text;
	uint8_t *data;
	uint64_t size;
};

struct tree {
	struct tree_item *item;	/* sorted by id */
	uint32_t count;
};

/* Text that grows. */
struct text {
	char *bytes;
	size_t length;
	size_t room;
};

void text_add(struct text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Bytes as a length and a checksum; names as UTF-16 code units in hex. */
void text_add_bytes(struct text *text, const char *what, const void *bytes,
		    size_t length);
void text_add_name(struct text *text, const uint16_t *units, uint32_t length);

struct tree *tree_new(void);
void tree_free(struct tree *tree);
/* Takes over text and data (malloc). */
void tree_add(struct tree *tree, nv_file_id id, char *text, uint8_t *data,
	      uint64_t size);
void tree_sort(struct tree *tree);
const struct tree_item *tree_find(const struct tree *tree, nv_file_id id);

/*
 * Everything that can be reached from a directory (0: the volume's root).
 * problem (TREE_PROBLEM_SIZE bytes) says what could not be read, and then the
 * result is NULL. Names are found by enumeration and looked up again.
 */
#define TREE_PROBLEM_SIZE 512
struct tree *tree_of_volume(struct nv_volume *volume, nv_file_id root,
			    char *problem);

/*
 * Equal, texts and bytes. problem says what is not.
 */
bool tree_equal(const struct tree *expected, const struct tree *found,
		char *problem);

/*
 * Since which state data written over data is known to be on the disk: for all
 * objects since the last commit, for some since a flush of theirs.
 */
#define TREE_FLUSHES 64

struct tree_synced {
	uint32_t all;
	struct {
		nv_file_id id;
		uint32_t state;
	} flush[TREE_FLUSHES];	/* the last ones */
	uint32_t flushes;
};

/* A commit or flush (id 0: a commit) that returned made this state durable. */
void tree_note_synced(struct tree_synced *synced, nv_file_id id,
		      uint32_t state);

/*
 * found is what history[first] tells, but bytes may be those of any later
 * state up to history[last], because data is written in place, and of earlier
 * ones as long as nothing has synced them (synced NULL: history[first] has).
 */
bool tree_is_state(struct tree *const *history,
		   const struct tree_synced *synced, uint32_t first,
		   uint32_t last, const struct tree *found, char *problem);

/*
 * found is on the way from history[state] to history[state + 1], a call that
 * only changes one object's data in several operations; bytes as above.
 */
bool tree_is_on_the_way(struct tree *const *history, uint32_t state,
			uint32_t last, const struct tree *found);

/*
 * A process died in a call that leads from before to after. found is one of
 * the two or, if the call only changes one object's data, on the way: each
 * byte is from one of the two, the size in between. Objects are told apart by
 * number, not by id.
 */
bool tree_is_between(const struct tree *before, const struct tree *after,
		     const struct tree *found, char *problem);

/* Copy into at most room bytes, and back. 0: no room. */
size_t tree_pack(const struct tree *tree, uint8_t *bytes, size_t room);
struct tree *tree_unpack(const uint8_t *bytes);

#endif
