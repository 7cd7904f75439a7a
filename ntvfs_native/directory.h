/*
 * Directories: what their files share.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An entry is one record of the directory's index; an entry with a short name
 * is two, each with the other's name as its payload, both with the same file
 * id and cookie. So either name is found by one descent and tells the other,
 * and no two names of a directory, long or short, are equal.
 */

#ifndef NTVFS_NATIVE_DIRECTORY_H
#define NTVFS_NATIVE_DIRECTORY_H

#include "names.h"

/* Names an object may have. */
#define NV_LINKS_MAX 1024
/* Pages that entering or removing one entry may touch. */
#define NV_ENTER_PAGES (2 * NV_NAME_INSERT_PAGES)
#define NV_LEAVE_PAGES (2 * NV_NAME_REMOVE_PAGES)

/* What is to be done outside of the operation. */
struct nv_after {
	/* With NV_ERR_RETRY: make room for this key and begin again, if room
	 * is set; otherwise just begin again. */
	bool room;
	/* With NV_OK: tidy there. */
	bool tidy;
	nv_file_id owner;
	uint32_t kind;			/* of the index */
	struct nv_key key;
	/* With NV_OK: nobody holds this object any more; 0: none. */
	nv_file_id reclaim;
};

void nv_after_init(struct nv_after *after);

/* A directory within an operation. */
struct nv_open_directory {
	struct nv_disk_inode *inode;
	struct nv_names names;
};

/* NV_ERR_NAME. */
enum nv_status nv_name_check(const struct nv_name *name);
/* As a short name given by a caller; NULL is right. */
enum nv_status nv_short_check(const struct nv_name *short_name);

/* NV_ERR_NOT_FOUND (also: it has no name any more), NV_ERR_NOT_DIRECTORY. */
enum nv_status nv_directory_open(struct nv_operation *operation,
				 nv_file_id id,
				 struct nv_open_directory *directory);

/*
 * Insert into, remove from any index; after gets what is to be done when
 * there is no room, or little left. Removing what is not there is
 * NV_ERR_CORRUPT: it was found before.
 */
enum nv_status nv_index_insert(struct nv_operation *operation,
			       struct nv_names *names,
			       struct nv_disk_inode *inode,
			       const struct nv_name_record *record,
			       struct nv_after *after);
enum nv_status nv_index_remove(struct nv_operation *operation,
			       struct nv_names *names,
			       struct nv_disk_inode *inode,
			       const struct nv_key *key,
			       struct nv_after *after);

/* Find by long or short name. */
enum nv_status nv_directory_find(const struct nv_names *names,
				 const struct nv_key *key,
				 struct nv_found *found);

/*
 * Enter a name and its short name (NULL or length 0: none;
 * NV_SHORT_NAME_AUTOMATIC: made here). cookie 0: a new one. NV_ERR_EXISTS.
 */
enum nv_status nv_directory_enter(struct nv_operation *operation,
				  struct nv_open_directory *directory,
				  nv_file_id id, const struct nv_name *name,
				  const struct nv_name *short_name,
				  uint64_t cookie, struct nv_after *after);

/* Remove an entry that nv_directory_find told. */
enum nv_status nv_directory_leave(struct nv_operation *operation,
				  struct nv_open_directory *directory,
				  const struct nv_found *found,
				  struct nv_after *after);

/*
 * One name of the object less, and if it was the last one make it an orphan.
 * NV_ERR_NOT_EMPTY: a directory with entries.
 */
enum nv_status nv_object_unname(struct nv_operation *operation,
				nv_file_id id, struct nv_after *after);

/* The directory's last write and change time; time 0: not. */
void nv_directory_touch(struct nv_disk_inode *inode, uint64_t time);

/*
 * What is due after an operation ended with status, which it returns unless
 * that work fails. *again: begin the operation again.
 */
enum nv_status nv_after_operation(struct nv_volume *volume,
				  enum nv_status status,
				  const struct nv_after *after, bool *again);

/* ---- short_name.c ---- */

#define NV_SHORT_MAX 12

/* False: the name is itself a short name. */
bool nv_short_name_wanted(const struct nv_name *name);
/*
 * The attempt-th short name NTFS tries for a name; 0.. Returns its length, 0:
 * no more attempts.
 */
uint32_t nv_short_name_candidate(const struct nv_name *name,
				 const uint16_t *upcase, uint32_t attempt,
				 uint16_t units[NV_SHORT_MAX]);
#define NV_SHORT_ATTEMPTS 64

#endif
