/*
 * ntvfs-xattr check: what a share keeps outside of its files.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "ntvfs_posix/share_check.h"
#include "tools/xattr_check.h"

/* Long enough for any client's request to be done with a new file. */
#define UNTOUCHED_SECONDS 60

static void print_finding(const struct ntvfs_share_finding *finding,
			  void *private_data)
{
	xattr_print_name(finding->path);
	switch (finding->kind) {
	case NTVFS_UNUSED_FILE:
		printf(": no stream has this file, of inode %" PRIu64
		       ", %" PRIu64 " bytes%s\n",
		       finding->inode,
		       finding->size,
		       finding->removed ? "; removed" : "");
		break;
	case NTVFS_GONE_RECORD:
		printf(": a record of inode %" PRIu64 ", which is gone%s\n",
		       finding->inode,
		       finding->removed ? "; removed" : "");
		break;
	case NTVFS_LOST_STREAM:
		printf(": the data of the stream ");
		xattr_print_name(finding->stream);
		printf(" are not there; get .ntvfs back from a backup, or "
		       "remove the stream\n");
		break;
	case NTVFS_BAD_POINTER:
		printf(": what should name the data of the stream ");
		xattr_print_name(finding->stream);
		printf(" makes no sense\n");
		break;
	case NTVFS_BAD_RECORD:
		printf(": the record of inode %" PRIu64
		       " is damaged; get the file back from a backup\n",
		       finding->inode);
		break;
	case NTVFS_STRANGE_FILE:
		printf(": not made by ntvfs; move it elsewhere\n");
		break;
	case NTVFS_NOT_READ:
		printf(": cannot be read: %s\n",
		       finding->error == EBUSY ? "it changes all the time"
					       : strerror(finding->error));
		break;
	}
}

int xattr_check(const char *path, bool remove_unused)
{
	const struct ntvfs_share_check check = {
		.remove_unused = remove_unused,
		.seconds = UNTOUCHED_SECONDS,
		.found = print_finding,
	};
	struct ntvfs_share_check_result result;
	int error;

	if (geteuid() != 0) {
		fputs("ntvfs-xattr: check has to be run by root: .ntvfs is "
		      "root's\n",
		      stderr);
		return 2;
	}
	error = ntvfs_share_check_run(NULL, path, &check, &result);
	if (error != 0) {
		fprintf(stderr,
			"ntvfs-xattr: cannot check %s: %s\n",
			path,
			strerror(error));
		return 2;
	}
	printf("%" PRIu64 " files and folders, %" PRIu64 " stream files, "
	       "%" PRIu64 " records: %" PRIu64 " found, %" PRIu64
	       " removed\n",
	       result.objects,
	       result.files,
	       result.records,
	       result.findings,
	       result.removed);
	if (remove_unused && !result.complete) {
		puts("nothing was removed: not all of the share could be "
		     "looked at; try again when it is less busy");
	} else if (remove_unused && result.not_removed != NULL) {
		printf("nothing was removed: %s; check that one\n",
		       result.not_removed);
	}
	if (fflush(stdout) != 0 || ferror(stdout)) {
		perror("ntvfs-xattr: cannot write the output");
		return 2;
	}
	if (!result.complete) {
		return 2;
	}
	return result.findings == result.removed ? 0 : 1;
}
