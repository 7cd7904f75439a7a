/*
 * mkfs.ntvfs: make a volume of the native engine.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <inttypes.h>
#include <popt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "format.h"
#include "io.h"
#include "ntvfs_native.h"

static const char usage[] =
"Usage: mkfs.ntvfs [OPTION...] IMAGE\n"
"\n"
"Make an empty ntvfs volume on a block device or in an image file.\n"
"\n"
"  --size SIZE          make the file this long (K, M, G or T behind the\n"
"                       number: KiB, MiB...); needed for a new file\n"
"  --inode-size BYTES   256, 512 (default), 1024, 2048 or 4096: larger ones\n"
"                       keep more EAs and small files without extra blocks\n"
"  --label TEXT         up to 63 bytes\n"
"  --force              also over what looks like data; all of it is lost\n"
"  --segment-directory DIR  a tmpfs for the shared segment (/dev/shm)\n"
"  -h, --help           this text\n"
"\n"
"The exit status is 0 when the volume was made, 1 when it was not, 2 when the\n"
"command line is wrong.\n";

static bool parse_size(const char *text, uint64_t *size)
{
	static const char units[] = "KMGT";
	const char *unit = NULL;
	char *end = NULL;
	uint32_t shift = 0;

	errno = 0;
	*size = strtoull(text, &end, 10);
	if (errno != 0 || end == text || text[0] == '-') {
		return false;
	}
	if (*end != '\0') {
		unit = strchr(units, *end);
		if (unit == NULL || end[1] != '\0') {
			return false;
		}
		shift = 10 * (uint32_t)(unit - units + 1);
	}
	if (*size > UINT64_MAX >> shift) {
		return false;
	}
	*size <<= shift;
	return true;
}

/* The first 128 KiB are not all zero: there may be something to lose. */
static bool looks_used(struct nv_io *io)
{
	uint8_t block[NV_BLOCK_SIZE];
	uint64_t offset;
	uint32_t i;

	for (offset = 0; offset < 131072 &&
	     offset + sizeof(block) <= io->size; offset += sizeof(block)) {
		if (io->ops->pread(io, block, sizeof(block), offset) != 0) {
			return true;
		}
		for (i = 0; i < sizeof(block); i++) {
			if (block[i] != 0) {
				return true;
			}
		}
	}
	return false;
}

static int make(const char *path, uint64_t size, bool force,
		const struct nv_format_params *params)
{
	struct nv_io *io = NULL;
	struct stat st = {0};
	enum nv_status status;
	int ret;

	if (size == 0 && stat(path, &st) != 0) {
		fprintf(stderr, "mkfs.ntvfs: %s: %s; give --size to make a "
			"new image file\n", path, strerror(errno));
		return 1;
	}
	ret = nv_io_create(path, size, &io);
	if (ret != 0) {
		fprintf(stderr, "mkfs.ntvfs: %s: %s\n", path, strerror(ret));
		return 1;
	}
	if (!force && looks_used(io)) {
		fprintf(stderr, "mkfs.ntvfs: %s holds data; give --force to "
			"overwrite it\n", path);
		io->ops->close(io);
		return 1;
	}
	status = nv_volume_format(io, params);
	if (status == NV_OK) {
		printf("%s: %" PRIu64 " blocks of %u bytes, inodes of %u "
		       "bytes\n", path, io->size / NV_BLOCK_SIZE,
		       NV_BLOCK_SIZE, params->inode_size);
	} else if (status == NV_ERR_INVALID) {
		fprintf(stderr, "mkfs.ntvfs: %s: %" PRIu64 " bytes, inodes of "
			"%u; a volume needs at least 4 MiB, an inode 256 to "
			"4096 bytes, a power of two, a label at most 63\n",
			path, io->size, params->inode_size);
	} else {
		fprintf(stderr, "mkfs.ntvfs: %s: %s\n", path,
			nv_status_string(status));
	}
	io->ops->close(io);
	return status == NV_OK ? 0 : 1;
}

int main(int argc, const char **argv)
{
	struct nv_format_params params = {0};
	const char *size_text = NULL;
	const char *path = NULL;
	int inode_size = NV_DEFAULT_INODE_SIZE;
	uint64_t size = 0;
	poptContext context = NULL;
	int force = 0;
	int help = 0;
	int ret = 2;
	int next;
	struct poptOption options[] = {
		{"size", 0, POPT_ARG_STRING, &size_text, 0, NULL, NULL},
		{"inode-size", 0, POPT_ARG_INT, &inode_size, 0, NULL, NULL},
		{"label", 0, POPT_ARG_STRING, &params.label, 0, NULL, NULL},
		{"force", 0, POPT_ARG_NONE, &force, 0, NULL, NULL},
		{"segment-directory", 0, POPT_ARG_STRING,
		 &params.segment_directory, 0, NULL, NULL},
		{"help", 'h', POPT_ARG_NONE, &help, 0, NULL, NULL},
		POPT_TABLEEND
	};

	context = poptGetContext("mkfs.ntvfs", argc, argv, options, 0);
	next = poptGetNextOpt(context);
	if (next < -1) {
		fprintf(stderr, "mkfs.ntvfs: %s: %s\n",
			poptBadOption(context, 0), poptStrerror(next));
		goto done;
	}
	if (help) {
		fputs(usage, stdout);
		ret = 0;
		goto done;
	}
	path = poptGetArg(context);
	if (path == NULL || poptPeekArg(context) != NULL || inode_size < 0) {
		fputs(usage, stderr);
		goto done;
	}
	if (size_text != NULL && (!parse_size(size_text, &size) ||
				  size == 0)) {
		fprintf(stderr, "mkfs.ntvfs: --size %s: not a size\n",
			size_text);
		goto done;
	}
	params.inode_size = (uint32_t)inode_size;
	ret = make(path, size, force != 0, &params);
done:
	poptFreeContext(context);
	return ret;
}
