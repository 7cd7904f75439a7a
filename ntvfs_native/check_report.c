/*
 * The checker: what it can say, and saying it.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <stdarg.h>
#include <stdio.h>
#include "check.h"

/* Of each kind so many are told; a damaged volume can have millions. */
#define TOLD_MOST 1000

static const struct {
	const char *name;
	uint32_t invariant;
	const char *meaning;
} findings[NV_FINDINGS] = {
	[NV_FINDING_SUPER_DAMAGED] = {"super-damaged", 0,
		"the super block's checksum is wrong"},
	[NV_FINDING_SUPER_FIELD] = {"super-field", 0,
		"a field of the super block has an impossible value"},
	[NV_FINDING_ROOT_NONE] = {"root-none", 2,
		"neither root slot holds a valid root"},
	[NV_FINDING_ROOT_FIELD] = {"root-field", 2,
		"a field of a root with a right checksum is impossible"},
	[NV_FINDING_ROOT_COUNT] = {"root-count", 6,
		"a count in the root differs from what was found"},
	[NV_FINDING_IMAGE_SHORT] = {"image-short", 0,
		"the image is smaller than its volume"},
	[NV_FINDING_MAP_PLACE] = {"map-place", 3,
		"a map names a block or page that cannot be"},
	[NV_FINDING_MAP_CHECKSUM] = {"map-checksum", 1,
		"a map node's checksum is wrong"},
	[NV_FINDING_PAGE_CHECKSUM] = {"page-checksum", 1,
		"a page's checksum is wrong"},
	[NV_FINDING_BLOCK_TWICE] = {"block-twice", 3,
		"a block has two owners"},
	[NV_FINDING_PAGE_HEADER] = {"page-header", 17,
		"a page's header has an impossible value"},
	[NV_FINDING_PAGE_OWNER] = {"page-owner", 17,
		"a page belongs to another owner than its reference says"},
	[NV_FINDING_PAGE_TWICE] = {"page-twice", 17,
		"two references lead to a page"},
	[NV_FINDING_PAGE_LOST] = {"page-lost", 17,
		"no reference leads to a page"},
	[NV_FINDING_PAGE_MISSING] = {"page-missing", 17,
		"a reference leads to a page that does not exist"},
	[NV_FINDING_SYSTEM_PAGE] = {"system-page", 0,
		"a page of the system region is missing or wrong"},
	[NV_FINDING_BLOCK_BIT_MISSING] = {"block-bit-missing", 6,
		"a block of file data is not in the block bitmap"},
	[NV_FINDING_BLOCK_BIT_EXTRA] = {"block-bit-extra", 6,
		"the block bitmap has a block that no file has"},
	[NV_FINDING_INODE_BIT] = {"inode-bit", 13,
		"the inode bitmap disagrees with an inode"},
	[NV_FINDING_ORPHAN_BIT] = {"orphan-bit", 13,
		"the orphan bitmap disagrees with an inode"},
	[NV_FINDING_INODE_FIELD] = {"inode-field", 0,
		"a field of an inode has an impossible value"},
	[NV_FINDING_INODE_ID] = {"inode-id", 0,
		"an inode's file id does not belong to its number"},
	[NV_FINDING_ITEMS] = {"items", 0,
		"the items of an inode are malformed"},
	[NV_FINDING_EXTENT_ORDER] = {"extent-order", 14,
		"extents are not sorted or overlap"},
	[NV_FINDING_EXTENT_PLACE] = {"extent-place", 14,
		"an extent lies outside the volume or the file"},
	[NV_FINDING_EXTENT_COUNT] = {"extent-count", 14,
		"an inode's number of extents is wrong"},
	[NV_FINDING_EXTENT_TREE] = {"extent-tree", 14,
		"an extent tree has a wrong shape"},
	[NV_FINDING_ALLOCATION] = {"allocation", 14,
		"an inode's allocation differs from its extents"},
	[NV_FINDING_DIRECTORY_ORDER] = {"directory-order", 0,
		"names are not in the order of their upper case, or twice"},
	[NV_FINDING_DIRECTORY_TREE] = {"directory-tree", 0,
		"a name tree has a wrong shape"},
	[NV_FINDING_DIRECTORY_ENTRY] = {"directory-entry", 0,
		"an entry of a name tree is malformed"},
	[NV_FINDING_DIRECTORY_COUNT] = {"directory-count", 0,
		"a directory's number of names is wrong"},
	[NV_FINDING_DIRECTORY_COOKIE] = {"directory-cookie", 0,
		"a cookie is used twice, or was never handed out"},
	[NV_FINDING_SHORT_NAME] = {"short-name", 0,
		"short names and the entries they belong to disagree"},
	[NV_FINDING_NAME_DANGLING] = {"name-dangling", 0,
		"a name leads to no object, or to one that has no names"},
	[NV_FINDING_LINK_COUNT] = {"link-count", 0,
		"an object's link count differs from its names"},
	[NV_FINDING_LOST] = {"lost", 0,
		"no name leads to an object that is no orphan"},
	[NV_FINDING_PARENT] = {"parent", 0,
		"an object's parent does not name it"},
	[NV_FINDING_DIRECTORY_LOOP] = {"directory-loop", 0,
		"a directory cannot be reached from the root directory"},
	[NV_FINDING_ORPHAN] = {"orphan", 13,
		"an orphan has a name, or an object without one is no orphan"},
	[NV_FINDING_STREAM] = {"stream", 0,
		"a stream and its file disagree"},
	[NV_FINDING_STREAM_COUNT] = {"stream-count", 0,
		"a file's number of streams is wrong"},
	[NV_FINDING_EA] = {"ea", 0,
		"the EAs of an object are malformed, or counted wrong"},
	[NV_FINDING_SD_STORE] = {"sd-store", 0,
		"the store of security descriptors is damaged"},
	[NV_FINDING_SD_COUNT] = {"sd-count", 0,
		"a security descriptor's use count is wrong"},
	[NV_FINDING_SD_DANGLING] = {"sd-dangling", 0,
		"an object has a security descriptor that does not exist"},
	[NV_FINDING_REPARSE] = {"reparse", 0,
		"the reparse data of an object is malformed"},
};

const char *nv_finding_name(enum nv_finding finding)
{
	return findings[finding].name;
}

uint32_t nv_finding_invariant(enum nv_finding finding)
{
	return findings[finding].invariant;
}

const char *nv_finding_meaning(enum nv_finding finding)
{
	return findings[finding].meaning;
}

void check_say(struct check *check, enum nv_finding finding,
	       const char *format, ...)
{
	uint32_t invariant = findings[finding].invariant;
	char text[512];
	size_t used = 0;
	va_list args;

	check->findings++;
	check->told[finding]++;
	if (check->params->finding == NULL ||
	    check->told[finding] > TOLD_MOST) {
		return;
	}
	if (invariant != 0) {
		used = (size_t)snprintf(text, sizeof(text), "I%u: ",
					invariant);
	}
	va_start(args, format);
	vsnprintf(text + used, sizeof(text) - used, format, args);
	va_end(args);
	check->params->finding(check->params->private_data,
			       findings[finding].name, text);
}

void check_progress(struct check *check, const char *what, uint64_t done,
		    uint64_t total)
{
	if (check->params->progress != NULL) {
		check->params->progress(check->params->private_data, what,
					done, total);
	}
}
