/*
 * fsck.ntvfs: check a volume of the native engine, and repair it.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * It can be interrupted at any point: what it writes takes effect with one
 * sector at the end, as a commit does.
 */

#include <errno.h>
#include <inttypes.h>
#include <popt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "attach.h"
#include "format.h"
#include "io.h"
#include "ntvfs_native.h"

/* fsck(8) */
#define EXIT_SOUND 0
#define EXIT_CORRECTED 1
#define EXIT_UNCORRECTED 4
#define EXIT_OPERATION 8
#define EXIT_USAGE 16

static const char usage[] =
"Usage: fsck.ntvfs [OPTION...] IMAGE\n"
"\n"
"Check an ntvfs volume that nobody has attached.\n"
"\n"
"  -n               only check (default)\n"
"  -y, --repair     repair what can be repaired for certain: bitmaps, counts,\n"
"                   orphan marks, pages that nothing leads to. Nothing is\n"
"                   written as long as there is other damage\n"
"  -a, -p           as --repair\n"
"  -q, --quiet      no progress, no summary\n"
"  --segment-directory DIR  a tmpfs for the shared segment (/dev/shm)\n"
"  -h, --help       this text\n"
"\n"
"Each finding is one line: its name, the invariant of the design that is\n"
"broken, what it is. The exit status is that of fsck(8): 0 sound, 1 repaired,\n"
"4 damage left, 8 the check could not be made, 16 wrong command line.\n";

struct fsck {
	const char *path;
	const char *segment_directory;
	bool repair;
	bool quiet;
	bool telling;		/* print findings */
	time_t last;		/* line of progress */
};

static void tell_finding(void *private_data, const char *name,
			 const char *text)
{
	const struct fsck *fsck = private_data;

	if (fsck->telling) {
		printf("%s: %s\n", name, text);
	}
}

static void tell_progress(void *private_data, const char *what,
			  uint64_t done, uint64_t total)
{
	struct fsck *fsck = private_data;
	time_t now = time(NULL);

	if (fsck->quiet || !isatty(STDERR_FILENO) || now == fsck->last) {
		return;
	}
	fsck->last = now;
	if (total > 0) {
		fprintf(stderr, "\r%s: %" PRIu64 " of %" PRIu64 "   ", what,
			done, total);
	} else {
		fprintf(stderr, "\r%s: %" PRIu64 "   ", what, done);
	}
}

static enum nv_status run_check(struct fsck *fsck, struct nv_io *io,
				bool repair, bool telling,
				uint64_t *findings)
{
	struct nv_check_params params = {
		.repair = repair,
		.finding = tell_finding,
		.progress = tell_progress,
		.private_data = fsck,
	};
	enum nv_status status;

	fsck->telling = telling;
	status = nv_check(io, &params, findings);
	if (!fsck->quiet && isatty(STDERR_FILENO)) {
		fprintf(stderr, "\r%60s\r", "");
	}
	return status;
}

/*
 * What was not durable when all processes died may still be in a segment of
 * this boot: attach, so that it is written, before anything is changed.
 */
static bool recover(const struct fsck *fsck)
{
	struct nv_attach_params params = {
		.segment_directory = fsck->segment_directory,
	};
	char message[NV_MESSAGE_SIZE] = "";
	struct nv_volume *volume = NULL;
	struct nv_io *io = NULL;
	enum nv_status status;

	if (nv_io_open(fsck->path, false, &io) != 0) {
		return false;
	}
	status = nv_volume_attach(io, &params, &volume, message);
	if (status == NV_OK) {
		status = nv_volume_detach(volume);
		return status == NV_OK;
	}
	io->ops->close(io);
	if (status == NV_ERR_IN_USE) {
		fprintf(stderr, "fsck.ntvfs: %s: %s\n", fsck->path, message);
		return false;
	}
	/* Too damaged to be attached: that is what a repair is for. */
	return true;
}

static int say_failure(const struct fsck *fsck, enum nv_status status)
{
	fprintf(stderr, "fsck.ntvfs: %s: %s\n", fsck->path,
		nv_status_string(status));
	return EXIT_OPERATION;
}

static int summary(const struct fsck *fsck, uint64_t findings, int result)
{
	if (fsck->quiet) {
		return result;
	}
	if (findings == 0) {
		printf("%s: sound\n", fsck->path);
	} else {
		printf("%s: %" PRIu64 " finding%s, %s\n", fsck->path,
		       findings, findings == 1 ? "" : "s",
		       result == EXIT_CORRECTED ? "repaired" :
		       fsck->repair ? "not repaired: there is damage that "
		       "makes the rest uncertain; save the files first" :
		       "nothing was changed");
	}
	return result;
}

/* The image is locked. */
static int check_locked(struct fsck *fsck, struct nv_io *io)
{
	enum nv_status status;
	uint64_t findings = 0;
	uint64_t left = 0;

	status = run_check(fsck, io, fsck->repair, true, &findings);
	if (status != NV_OK) {
		return say_failure(fsck, status);
	}
	if (findings == 0) {
		return summary(fsck, 0, EXIT_SOUND);
	}
	if (!fsck->repair) {
		return summary(fsck, findings, EXIT_UNCORRECTED);
	}
	status = run_check(fsck, io, false, false, &left);
	if (status != NV_OK) {
		return say_failure(fsck, status);
	}
	return summary(fsck, findings, left == 0 ? EXIT_CORRECTED :
		       EXIT_UNCORRECTED);
}

static int run(struct fsck *fsck)
{
	struct nv_io *io = NULL;
	enum nv_status status;
	int result;
	int ret;

	if (fsck->repair && !recover(fsck)) {
		return EXIT_OPERATION;
	}
	/* The lock needs a description that can be written to. */
	ret = nv_io_open(fsck->path, false, &io);
	if (ret != 0) {
		fprintf(stderr, "fsck.ntvfs: %s: %s\n", fsck->path,
			strerror(ret));
		return EXIT_OPERATION;
	}
	status = nv_image_lock_alone(io);
	if (status != NV_OK) {
		fprintf(stderr, "fsck.ntvfs: %s: it is attached; stop what "
			"uses it (smbd, for one)\n", fsck->path);
		io->ops->close(io);
		return EXIT_OPERATION;
	}
	result = check_locked(fsck, io);
	nv_image_unlock(io);
	io->ops->close(io);
	return result;
}

int main(int argc, const char **argv)
{
	struct fsck fsck = {0};
	poptContext context = NULL;
	int repair = 0;
	int ignored = 0;
	int quiet = 0;
	int help = 0;
	int ret = EXIT_USAGE;
	int next;
	struct poptOption options[] = {
		{"repair", 'y', POPT_ARG_NONE, &repair, 0, NULL, NULL},
		{NULL, 'a', POPT_ARG_NONE, &repair, 0, NULL, NULL},
		{NULL, 'p', POPT_ARG_NONE, &repair, 0, NULL, NULL},
		{NULL, 'n', POPT_ARG_NONE, &ignored, 0, NULL, NULL},
		{NULL, 'f', POPT_ARG_NONE, &ignored, 0, NULL, NULL},
		{"quiet", 'q', POPT_ARG_NONE, &quiet, 0, NULL, NULL},
		{"segment-directory", 0, POPT_ARG_STRING,
		 &fsck.segment_directory, 0, NULL, NULL},
		{"help", 'h', POPT_ARG_NONE, &help, 0, NULL, NULL},
		POPT_TABLEEND
	};

	context = poptGetContext("fsck.ntvfs", argc, argv, options, 0);
	next = poptGetNextOpt(context);
	if (next < -1) {
		fprintf(stderr, "fsck.ntvfs: %s: %s\n",
			poptBadOption(context, POPT_BADOPTION_NOALIAS),
			poptStrerror(next));
		goto done;
	}
	if (help != 0) {
		printf("%s", usage);
		ret = EXIT_SOUND;
		goto done;
	}
	fsck.path = poptGetArg(context);
	if (fsck.path == NULL || poptPeekArg(context) != NULL) {
		fprintf(stderr, "%s", usage);
		goto done;
	}
	fsck.repair = repair != 0;
	fsck.quiet = quiet != 0;
	ret = run(&fsck);
done:
	poptFreeContext(context);
	return ret;
}
