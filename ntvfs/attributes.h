/*
 * The algebra of DOS attributes (MS-FSCC 2.6, MS-FSA 2.1.5.14.2).
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_ATTRIBUTES_H
#define NTVFS_ATTRIBUTES_H

#include <stdbool.h>
#include <stdint.h>

#define NTVFS_ATTRIBUTE_READONLY   0x00000001u
#define NTVFS_ATTRIBUTE_HIDDEN	   0x00000002u
#define NTVFS_ATTRIBUTE_SYSTEM	   0x00000004u
#define NTVFS_ATTRIBUTE_DIRECTORY  0x00000010u
#define NTVFS_ATTRIBUTE_ARCHIVE	   0x00000020u
#define NTVFS_ATTRIBUTE_NORMAL	   0x00000080u
#define NTVFS_ATTRIBUTE_TEMPORARY  0x00000100u
#define NTVFS_ATTRIBUTE_SPARSE	   0x00000200u
#define NTVFS_ATTRIBUTE_REPARSE	   0x00000400u
#define NTVFS_ATTRIBUTE_COMPRESSED 0x00000800u
#define NTVFS_ATTRIBUTE_OFFLINE	   0x00001000u
#define NTVFS_ATTRIBUTE_NOTINDEXED 0x00002000u
#define NTVFS_ATTRIBUTE_ENCRYPTED  0x00004000u

/*
 * What a request to create may have among its attributes; any other bit
 * makes it invalid (MS-FSA 2.1.5.1). Of these, some are for the object to
 * say and not for the request, which goes through without them.
 */
#define NTVFS_ATTRIBUTES_AT_CREATE 0x00007fb7u

/*
 * What an object has of the attributes that a client set or that were found
 * stored: NORMAL stands for none of the others, DIRECTORY is what the object
 * is and not what is said of it, a directory is neither temporary nor sparse,
 * and bits that nobody can set are left out. Applied before storing and again
 * after reading, since others store too.
 */
uint32_t ntvfs_attributes_of(uint32_t attributes, bool is_directory);

/*
 * May a file with these attributes be overwritten or superseded by a request
 * with those (MS-FSA 2.1.5.1.2.1)? One that is hidden or a system file by
 * who says so only. Read-only files are another matter: never.
 */
bool ntvfs_attributes_allow_overwrite(uint32_t existing, uint32_t requested);

/*
 * What comes about by other requests than the one that sets attributes, and
 * is not changed by that (MS-FSA 2.1.5.15.2).
 */
uint32_t ntvfs_attributes_not_set(uint32_t existing);

#endif /* NTVFS_ATTRIBUTES_H */
