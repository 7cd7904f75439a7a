/*
 * The folder at the top of a share that holds what is no client's.
 *
 * Whoever can write to the share's top otherwise than by SMB could make a
 * folder of that name, or a link, before we do. What root does in there must
 * not be led astray, so the folder has to be root's, and only root may change
 * it (invariant P1).
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_PRIVATE_FOLDER_H
#define NTVFS_PRIVATE_FOLDER_H

#include <stdbool.h>

/*
 * Open the private folder of a share, or a folder in it; name NULL: itself.
 * With create, what is missing of the two is made, and is durable when this
 * returns. To be called as root. *fd is the caller's to close.
 *
 * ENOENT: it is not there; EPERM: P1 does not hold; ENOTDIR, ELOOP: it is no
 * folder; what mkdir(2), open(2) and fsync(2) say.
 */
int ntvfs_private_folder_open(const char *share_path,
			      const char *name,
			      bool create,
			      int *fd);

/*
 * A path of something in an open folder, for calls that take no descriptor of
 * it. It leads there whatever the folder is called meanwhile: by its name,
 * who may write to the share's top could lead root elsewhere.
 */
#define NTVFS_PRIVATE_PATH_SIZE 64
void ntvfs_private_folder_path(int fd,
			       const char *name,
			       char path[NTVFS_PRIVATE_PATH_SIZE]);

#endif /* NTVFS_PRIVATE_FOLDER_H */
