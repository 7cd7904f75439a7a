/*
 * The nearest errno of a status.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include "ntvfs_native.h"

int nv_status_errno(enum nv_status status)
{
	switch (status) {
	case NV_OK:
		return 0;
	case NV_ERR_IO:
		return EIO;
	case NV_ERR_CORRUPT:
		return EUCLEAN;
	case NV_ERR_WITHDRAWN:
	case NV_ERR_READ_ONLY:
		return EROFS;
	case NV_ERR_NO_SPACE:
		return ENOSPC;
	case NV_ERR_NO_MEMORY:
	case NV_ERR_SEGMENT:
		return ENOMEM;
	case NV_ERR_NO_SLOT:
		return EUSERS;
	case NV_ERR_NOT_A_VOLUME:
	case NV_ERR_VERSION:
	case NV_ERR_SHRUNK:
		return EMEDIUMTYPE;
	case NV_ERR_IN_USE:
		return EBUSY;
	case NV_ERR_INVALID:
		return EINVAL;
	case NV_ERR_NOT_FOUND:
		return ENOENT;
	case NV_ERR_EXISTS:
		return EEXIST;
	case NV_ERR_NOT_EMPTY:
		return ENOTEMPTY;
	case NV_ERR_NOT_DIRECTORY:
		return ENOTDIR;
	case NV_ERR_IS_DIRECTORY:
		return EISDIR;
	case NV_ERR_NAME:
		return ENAMETOOLONG;
	case NV_ERR_TOO_LARGE:
		return EFBIG;
	case NV_ERR_TOO_MANY_LINKS:
		return EMLINK;
	case NV_ERR_LOOP:
		return ELOOP;
	case NV_ERR_RETRY:
		return EAGAIN;
	}
	return EIO;
}
