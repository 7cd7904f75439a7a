/*
 * The algebra of DOS attributes.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "ntvfs/attributes.h"

/* What a client may set and reads back. */
#define SETTABLE                                                              \
	(NTVFS_ATTRIBUTE_READONLY | NTVFS_ATTRIBUTE_HIDDEN |                  \
	 NTVFS_ATTRIBUTE_SYSTEM | NTVFS_ATTRIBUTE_ARCHIVE |                   \
	 NTVFS_ATTRIBUTE_TEMPORARY | NTVFS_ATTRIBUTE_OFFLINE |                \
	 NTVFS_ATTRIBUTE_NOTINDEXED)

/* What comes about by other requests and is stored beside them. */
#define BY_OPERATION                                                          \
	(NTVFS_ATTRIBUTE_SPARSE | NTVFS_ATTRIBUTE_REPARSE)

#define NEVER_OF_DIRECTORIES                                                  \
	(NTVFS_ATTRIBUTE_TEMPORARY | NTVFS_ATTRIBUTE_SPARSE)

uint32_t ntvfs_attributes_of(uint32_t attributes, bool is_directory)
{
	attributes &= SETTABLE | BY_OPERATION;
	if (is_directory) {
		attributes &= ~NEVER_OF_DIRECTORIES;
		attributes |= NTVFS_ATTRIBUTE_DIRECTORY;
	}
	return attributes;
}

bool ntvfs_attributes_allow_overwrite(uint32_t existing, uint32_t requested)
{
	uint32_t wanted = existing & (NTVFS_ATTRIBUTE_HIDDEN |
				      NTVFS_ATTRIBUTE_SYSTEM);

	return (wanted & ~requested) == 0;
}

uint32_t ntvfs_attributes_not_set(uint32_t existing)
{
	return existing & BY_OPERATION;
}
