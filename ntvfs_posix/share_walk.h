/*
 * All files and folders of a share that is in use, none of them missed.
 *
 * While a tree is read, others move what is in it: from a folder that has not
 * been read yet to one that has. So a folder that has changed since it was
 * read is read again, until none has.
 *
 * W1: when the walk is complete, whatever was in the tree from its beginning
 *     to its end has been seen. For let it be in a folder at the end: either
 *     it was there when that was last read, or its coming changed the folder's
 *     stamp, and the folder is read again. The same holds for that folder in
 *     the one above. A stamp that is so young that another change might leave
 *     it as it is counts as changed.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_SHARE_WALK_H
#define NTVFS_SHARE_WALK_H

#include <stdbool.h>
#include <sys/stat.h>
#include <talloc.h>

struct ntvfs_share_walk {
	/*
	 * Called for each file and folder, more than once if need be. What it
	 * returns but 0 ends the walk.
	 */
	int (*object)(const char *path,
		      const struct stat *st,
		      void *private_data);
	/* What could not be read, and why (an errno value). */
	void (*problem)(const char *path, int error, void *private_data);
	/* Whether to leave out a folder, and all that is in it. */
	bool (*skip)(const char *path, void *private_data);
	void *private_data;
};

/*
 * Walk the tree below path, which is an object of it. Symbolic links are not
 * followed; file systems mounted in it belong to it. Returns 0, ENOMEM, or
 * what a function returned. *complete: W1 holds.
 */
int ntvfs_share_walk_run(TALLOC_CTX *mem_ctx,
			 const char *path,
			 const struct ntvfs_share_walk *walk,
			 bool *complete);

/* Could another change leave the stamp as it is? */
bool ntvfs_share_stamp_is_young(const struct timespec *stamp);

/* Wait until what is young now is not. */
void ntvfs_share_stamps_age(void);

#endif /* NTVFS_SHARE_WALK_H */
