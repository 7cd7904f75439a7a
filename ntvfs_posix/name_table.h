/*
 * A set of names that is searched without regard to case.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * It holds the names of one directory. Names that differ only by case are
 * names of their own, all kept. Nothing is shared; not thread safe.
 */

#ifndef NTVFS_POSIX_NAME_TABLE_H
#define NTVFS_POSIX_NAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <talloc.h>

/*
 * More names than this that differ only by case are refused, lest a local
 * program could make every search walk a long row.
 */
#define NTVFS_NAME_TABLE_MAX_EQUAL 256

struct ntvfs_name_table;

/*
 * Equal as smbd means it: strcasecmp_m() says zero. Never an error; bytes that
 * are no valid UTF-8, and all that follow them, equal only themselves, but for
 * ASCII letters.
 */
bool ntvfs_names_equal(const char *first, const char *second);

/* Equal names have equal hashes. Differs from process to process. */
uint32_t ntvfs_name_hash(const char *name);

/* Does candidate answer a question for wanted better than best (or NULL)? The
   wanted spelling itself is best, then the first in the order of strcmp(). All
   three are equal names. */
bool ntvfs_name_is_better(const char *wanted,
			  const char *candidate,
			  const char *best);

/* An empty table, a talloc child of mem_ctx; NULL when out of memory. */
struct ntvfs_name_table *ntvfs_name_table_create(TALLOC_CTX *mem_ctx);

/*
 * Add a copy of a name whose ntvfs_name_hash() is hash. Returns 0 when added,
 * EEXIST when this very spelling is there already, ENOMEM, or E2BIG when there
 * are too many equal ones or the table is full (4 GiB of names, or talloc's
 * limit of 256 MiB for one piece, which is ENOMEM). After an error the table is
 * what it was.
 */
int ntvfs_name_table_add(struct ntvfs_name_table *table,
			 const char *name,
			 uint32_t hash);

/* Remove exactly this spelling; false when it is not there. */
bool ntvfs_name_table_remove(struct ntvfs_name_table *table, const char *name);

/*
 * The best equal name, see ntvfs_name_is_better(), or NULL. It belongs to the
 * table and is gone with the next change of it.
 */
const char *ntvfs_name_table_find(const struct ntvfs_name_table *table,
				  const char *name);

/* The number of names. */
size_t ntvfs_name_table_count(const struct ntvfs_name_table *table);

/* The bytes of memory it takes. */
size_t ntvfs_name_table_bytes(const struct ntvfs_name_table *table);

/* Give back memory kept for growth: the table is complete for now. */
void ntvfs_name_table_trim(struct ntvfs_name_table *table);

#endif /* NTVFS_POSIX_NAME_TABLE_H */
