/*
 * ntvfs-dump: show the structures of a volume.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <popt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach.h"
#include "dump.h"
#include "inode.h"
#include "volume.h"

static const char usage[] =
"Usage: ntvfs-dump [--json] [--attached] IMAGE WHAT\n"
"\n"
"Show structures of an ntvfs volume as they are stored. WHAT is one of\n"
"\n"
"  super           the super block\n"
"  roots           both roots\n"
"  map             where every page is\n"
"  inode ID        an inode: its number, 0x and a file id, or root\n"
"  extents ID      which blocks hold its data\n"
"  directory ID    the names in a directory\n"
"  streams ID      the names of an object's streams\n"
"\n"
"  --json          one JSON value instead of text\n"
"  --attached      also when somebody has it attached: what is shown is the\n"
"                  last durable state, and may be overtaken while reading\n"
"  -h, --help      this text\n"
"\n"
"The exit status is 0 when it could be shown, 1 when not, 2 when the command\n"
"line is wrong.\n";

static void show_super(struct dump *dump)
{
	const struct nv_disk_super *super = &dump->super;

	dump_begin(dump, NULL, '{');
	dump_number(dump, "format_version", super->format_version);
	dump_number(dump, "block_size", super->block_size);
	dump_number(dump, "inode_size", super->inode_size);
	dump_hex(dump, "features", super->features);
	dump_time(dump, "creation_time", super->creation_time);
	dump_bytes(dump, "uuid", super->uuid, 16);
	dump_text(dump, "label", super->label);
	dump_end(dump, '}');
}

static void show_root(struct dump *dump, const struct nv_disk_root *root)
{
	static const char *const regions[NV_REGION_COUNT] = {
		"system", "block_bitmap", "inode_bitmap", "orphan_bitmap",
		"inodes", "nodes",
	};
	const char *state = "unknown";
	uint32_t i;

	if (root->state == NV_STATE_CLEAN) {
		state = "clean";
	} else if (root->state == NV_STATE_ATTACHED) {
		state = "attached";
	}
	dump_number(dump, "sequence", root->sequence);
	dump_text(dump, "state", state);
	dump_number(dump, "total_blocks", root->total_blocks);
	dump_bytes(dump, "boot_id", root->boot_id, 16);
	dump_bytes(dump, "machine_id", root->machine_id, 16);
	dump_time(dump, "time", root->time);
	dump_number(dump, "data_blocks", root->data_blocks);
	dump_number(dump, "inodes", root->inodes);
	dump_hex(dump, "root_directory", root->root_directory);
	dump_begin(dump, "map", '{');
	for (i = 0; i < NV_REGION_COUNT; i++) {
		dump_begin(dump, regions[i], '{');
		dump_number(dump, "block", root->map[i].block);
		dump_hex(dump, "checksum", root->map[i].checksum);
		dump_number(dump, "height", root->map[i].height);
		dump_end(dump, '}');
	}
	dump_end(dump, '}');
}

static enum nv_status show_roots(struct dump *dump)
{
	struct nv_io *io = dump->io;
	struct nv_disk_root root;
	uint32_t i;

	dump_begin(dump, NULL, '[');
	for (i = 0; i < 2; i++) {
		uint64_t block = NV_ROOT_BLOCK_0 + i;
		bool valid;

		if (io->ops->pread(io, &root, sizeof(root),
				   block << NV_BLOCK_SHIFT) != 0) {
			return NV_ERR_IO;
		}
		valid = nv_root_valid(&root, dump->super.uuid);
		dump_begin(dump, NULL, '{');
		dump_number(dump, "slot_block", block);
		dump_number(dump, "valid", valid);
		if (valid) {
			show_root(dump, &root);
		}
		dump_end(dump, '}');
	}
	dump_end(dump, ']');
	return NV_OK;
}

static enum nv_status show_map(struct dump *dump)
{
	enum nv_status status = NV_OK;
	uint32_t region;

	dump_begin(dump, NULL, '[');
	for (region = 0; region < NV_REGION_COUNT; region++) {
		uint32_t height = dump->root.map[region].height;
		uint64_t pages = 0;
		uint64_t i;

		if (height > 0) {
			pages = UINT64_C(1) << (NV_MAP_SHIFT * height);
		}
		for (i = 0; i < pages && i <= UINT32_MAX; i++) {
			struct nv_disk_map_entry place = {0};
			uint8_t block[NV_BLOCK_SIZE];

			status = dump_page(dump, NV_PAGE(region, i), block,
					   &place);
			if (status == NV_ERR_IO) {
				break;
			}
			if (place.block == 0) {
				continue;
			}
			dump_begin(dump, NULL, '{');
			dump_number(dump, "region", region);
			dump_number(dump, "page", i);
			dump_number(dump, "block", place.block);
			dump_hex(dump, "checksum", place.checksum);
			dump_number(dump, "sound", status == NV_OK);
			dump_end(dump, '}');
		}
	}
	dump_end(dump, ']');
	return status == NV_ERR_IO ? status : NV_OK;
}

static bool parse_id(const struct dump *dump, const char *text, uint64_t *ino)
{
	char *end = NULL;

	if (text == NULL) {
		return false;
	}
	if (strcmp(text, "root") == 0) {
		*ino = NV_FILE_INO(dump->root.root_directory);
		return true;
	}
	errno = 0;
	*ino = strtoull(text, &end, 0);
	if (errno != 0 || end == text || *end != '\0') {
		return false;
	}
	if (strncmp(text, "0x", 2) == 0) {
		*ino = NV_FILE_INO(*ino);
	}
	return true;
}

/* NV_ERR_INVALID: the command line is wrong. */
static enum nv_status show(struct dump *dump, const char *what,
			   const char *id)
{
	uint64_t ino = 0;

	if (strcmp(what, "super") == 0 && id == NULL) {
		show_super(dump);
		return NV_OK;
	}
	if (strcmp(what, "roots") == 0 && id == NULL) {
		return show_roots(dump);
	}
	if (strcmp(what, "map") == 0 && id == NULL) {
		return show_map(dump);
	}
	if (!parse_id(dump, id, &ino)) {
		return NV_ERR_INVALID;
	}
	if (strcmp(what, "inode") == 0) {
		return dump_show_inode(dump, ino);
	}
	if (strcmp(what, "extents") == 0) {
		return dump_show_extents(dump, ino);
	}
	if (strcmp(what, "directory") == 0) {
		return dump_show_names(dump, ino, false);
	}
	if (strcmp(what, "streams") == 0) {
		return dump_show_names(dump, ino, true);
	}
	return NV_ERR_INVALID;
}

static int run(struct dump *dump, const char *path, const char *what,
	       const char *id, bool attached)
{
	enum nv_status status;
	bool locked = false;
	int ret;

	ret = nv_io_open(path, attached, &dump->io);
	if (ret != 0) {
		fprintf(stderr, "ntvfs-dump: %s: %s\n", path, strerror(ret));
		return 1;
	}
	status = dump_open(dump);
	if (status == NV_OK && !attached) {
		status = nv_image_lock_alone(dump->io);
		locked = status == NV_OK;
		if (status == NV_ERR_IN_USE) {
			fprintf(stderr, "ntvfs-dump: %s is attached; give "
				"--attached to look all the same\n", path);
		}
	}
	if (status == NV_OK) {
		status = show(dump, what, id);
	}
	if (status == NV_ERR_INVALID) {
		fputs(usage, stderr);
	} else if (status != NV_OK && status != NV_ERR_IN_USE) {
		fprintf(stderr, "ntvfs-dump: %s: %s\n", path,
			nv_status_string(status));
	}
	if (locked) {
		nv_image_unlock(dump->io);
	}
	dump->io->ops->close(dump->io);
	if (status == NV_ERR_INVALID) {
		return 2;
	}
	return status == NV_OK ? 0 : 1;
}

int main(int argc, const char **argv)
{
	struct dump dump = {0};
	const char *path = NULL;
	const char *what = NULL;
	const char *id = NULL;
	poptContext context = NULL;
	int attached = 0;
	int json = 0;
	int help = 0;
	int ret = 2;
	int next;
	struct poptOption options[] = {
		{"json", 0, POPT_ARG_NONE, &json, 0, NULL, NULL},
		{"attached", 0, POPT_ARG_NONE, &attached, 0, NULL, NULL},
		{"help", 'h', POPT_ARG_NONE, &help, 0, NULL, NULL},
		POPT_TABLEEND
	};

	context = poptGetContext("ntvfs-dump", argc, argv, options, 0);
	next = poptGetNextOpt(context);
	if (next < -1) {
		fprintf(stderr, "ntvfs-dump: %s: %s\n",
			poptBadOption(context, 0), poptStrerror(next));
		goto done;
	}
	if (help) {
		fputs(usage, stdout);
		ret = 0;
		goto done;
	}
	path = poptGetArg(context);
	what = poptGetArg(context);
	id = poptGetArg(context);
	if (path == NULL || what == NULL || poptPeekArg(context) != NULL) {
		fputs(usage, stderr);
		goto done;
	}
	dump.json = json != 0;
	dump.first = true;
	ret = run(&dump, path, what, id, attached != 0);
done:
	poptFreeContext(context);
	return ret;
}
