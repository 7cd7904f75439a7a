/*
 * ntvfs-xattr: show what is kept about a file in its extended attributes, and
 * check what a share keeps elsewhere.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <inttypes.h>
#include <popt.h>
#include <stdlib.h>
#include <string.h>
#include "tools/xattr_check.h"
#include "tools/xattr_file.h"

/* Exit statuses. */
#define ALL_WELL 0
#define SOMETHING_BAD 1
#define NOT_DONE 2

/* So many bytes of an EA or a bad value are shown. */
#define BYTES_SHOWN 64

static const char usage[] =
"Usage: ntvfs-xattr dump [--json] PATH...\n"
"       ntvfs-xattr check [--remove-unused] SHARE\n"
"\n"
"dump: Show what Samba servers and ntvfs keep about files and directories in\n"
"extended attributes: DOS attributes, create and change time, NT ACL,\n"
"streams, EAs, in all the forms that were ever in use. A symbolic link is\n"
"followed. Nothing is changed. What a share keeps below .ntvfs instead is shown\n"
"to root.\n"
"\n"
"check: Compare what a share keeps outside of its files, below .ntvfs at its\n"
"top, with all files and folders of the share. Found are stream files that no\n"
"file has (a local program deleted it), streams whose data are not there, and\n"
"records of files that are gone. The share may be in use. For root.\n"
"\n"
"  --json           one JSON array, an object for each path, instead of text\n"
"  --remove-unused  remove stream files and records that no file has, if they\n"
"                   have not been touched for a minute\n"
"  -h, --help       this text\n"
"\n"
"The exit status of dump is 0 when all could be read and understood; 1 when the value\n"
"of an attribute makes no sense, which is then marked BAD, with the reason;\n"
"2 when a path could not be read, or the command line is wrong.\n"
"\n"
"That of check is 0 when nothing was found, or all of it was removed; 1 when\n"
"something was found; 2 when not all could be looked at.\n"
"\n"
"To remove a value that is bad: setfattr -x NAME PATH. smbd then goes by its\n"
"defaults for that file.\n";

/* Print text with so many columns in front of each line. */
static void print_indented(const char *text, int columns)
{
	const char *end = NULL;

	if (text == NULL) {
		fputs("ntvfs-xattr: out of memory\n", stderr);
		exit(NOT_DONE);
	}
	while (*text != '\0') {
		end = strchr(text, '\n');
		if (end == NULL) {
			end = text + strlen(text);
		}
		printf("%*s%.*s\n", columns, "", (int)(end - text), text);
		text = *end == '\0' ? end : end + 1;
	}
}

/*
 * Names come from clients: what a terminal could take for an order is not
 * passed on to it.
 */
void xattr_print_name(const char *name)
{
	const unsigned char *c = NULL;

	putchar('"');
	for (c = (const unsigned char *)name; *c != '\0'; c++) {
		if (*c < 0x20 || *c == 0x7F) {
			printf("\\x%02x", *c);
		} else if (*c == '"' || *c == '\\') {
			printf("\\%c", *c);
		} else {
			putchar(*c);
		}
	}
	putchar('"');
}

static void print_hex(const DATA_BLOB *blob)
{
	size_t i;

	for (i = 0; i < blob->length && i < BYTES_SHOWN; i++) {
		printf("%02x", blob->data[i]);
	}
	if (i < blob->length) {
		printf("... (%zu bytes)", blob->length);
	}
}

/* As text when it is nothing but printable ASCII, else in hex. */
static void print_bytes(const DATA_BLOB *blob)
{
	size_t i;

	for (i = 0; i < blob->length; i++) {
		if (blob->data[i] < 0x20 || blob->data[i] > 0x7E) {
			print_hex(blob);
			return;
		}
	}
	printf("\"%.*s\"", BYTES_SHOWN < blob->length ?
	       BYTES_SHOWN : (int)blob->length, (const char *)blob->data);
	if (blob->length > BYTES_SHOWN) {
		printf("...");
	}
}

static void print_bytes_count(uint64_t count)
{
	printf("%" PRIu64 " byte%s", count, count == 1 ? "" : "s");
}

static void print_heading(const char *heading, const struct xattr_value *value)
{
	printf("  %s (%s, ", heading, value->xattr_name);
	print_bytes_count(value->blob.length);
	printf(")\n");
}

static void print_bad(const struct xattr_value *value)
{
	printf("  BAD ");
	xattr_print_name(value->xattr_name);
	printf(" (");
	print_bytes_count(value->blob.length);
	printf("): %s\n      it holds ", value->bad);
	if (value->blob.length == 0) {
		printf("nothing");
	} else {
		print_hex(&value->blob);
	}
	printf("\n");
}

static void print_eas(const struct ntvfs_doseas *eas)
{
	uint32_t i;

	for (i = 0; i < eas->count; i++) {
		const struct ntvfs_dosea *ea = &eas->eas[i];

		printf("    ");
		xattr_print_name(ea->name);
		printf(" ");
		print_bytes_count(ea->value.length);
		printf(" ");
		print_bytes(&ea->value);
		printf("\n");
	}
	if (eas->count == 0) {
		printf("    none\n");
	}
}

static void print_value(TALLOC_CTX *mem_ctx, const struct xattr_value *value)
{
	if (value->bad != NULL) {
		print_bad(value);
		return;
	}
	switch (value->kind) {
	case XATTR_DOSATTRIB:
		print_heading("DOS attributes", value);
		print_indented(ntvfs_dosattrib_to_text(mem_ctx,
						       &value->dosattrib),
			       4);
		break;
	case XATTR_DOSATTRIB_SAMBA4:
		print_heading("DOS attributes of Samba 4's own file server",
			      value);
		print_indented(ntvfs_dosattrib_to_text(mem_ctx,
						       &value->dosattrib),
			       4);
		break;
	case XATTR_NTACL:
		print_heading("NT ACL", value);
		if (value->sddl != NULL) {
			printf("    SDDL: %s\n", value->sddl);
		}
		print_indented(ntvfs_ntacl_to_text(mem_ctx, value->ntacl), 4);
		break;
	case XATTR_STREAM:
		printf("  stream ");
		xattr_print_name(value->name);
		printf(" ");
		print_bytes_count(value->size);
		printf("\n");
		break;
	case XATTR_STREAM_FILE:
		printf("  stream ");
		xattr_print_name(value->name);
		printf(" ");
		print_bytes_count(value->size);
		printf(" in %s\n", value->stream_file);
		break;
	case XATTR_STREAM_LIST:
		print_heading("list of streams of Samba 4's own file server",
			      value);
		print_indented(ntvfs_dosstreams_to_text(mem_ctx,
							value->streams),
			       4);
		if (value->streams->count == 0) {
			printf("    none\n");
		}
		break;
	case XATTR_EA_LIST:
		print_heading("EAs of Samba 4's own file server", value);
		print_eas(value->eas);
		break;
	case XATTR_INTERNAL:
		print_heading("a server's own", value);
		break;
	case XATTR_EA:
		printf("  EA ");
		xattr_print_name(value->name);
		printf(" ");
		print_bytes_count(value->size);
		printf(" ");
		print_bytes(&value->blob);
		printf("\n");
		break;
	}
}

static void print_file(TALLOC_CTX *mem_ctx, const struct xattr_file *file)
{
	char buffer[NTVFS_NTTIME_TEXT_SIZE];
	const char *store = NULL;
	size_t i;

	xattr_print_name(file->path);
	printf(": %s, ", xattr_file_type(file));
	print_bytes_count((uint64_t)file->st.st_size);
	printf(", inode %ju\n", (uintmax_t)file->st.st_ino);
	printf("  write time: %s\n",
	       ntvfs_nttime_to_text(file->write_time, buffer));
	printf("  access time: %s\n",
	       ntvfs_nttime_to_text(file->access_time, buffer));
	for (i = 0; i < file->count; i++) {
		const struct xattr_value *value = &file->values[i];

		if (value->store != NULL && value->store != store) {
			store = value->store;
			printf("  in %s:\n", store);
		}
		print_value(mem_ctx, value);
	}
	if (file->count == 0) {
		printf("  nothing is kept in extended attributes\n");
	}
}

/* All paths; returns the exit status. */
static int dump(const char **paths, bool json)
{
	struct xattr_file *file = NULL;
	const char *what = NULL;
	const char *separator = "";
	int status = ALL_WELL;
	int ret;

	if (json) {
		printf("[");
	}
	for (; *paths != NULL; paths++) {
		TALLOC_CTX *frame = talloc_new(NULL);

		ret = xattr_file_read(frame, *paths, &file, &what);
		if (ret != 0) {
			fprintf(stderr,
				"ntvfs-xattr: %s: %s: %s\n",
				*paths,
				what,
				strerror(ret));
			status = NOT_DONE;
			TALLOC_FREE(frame);
			continue;
		}
		if (file->bad_count > 0 && status == ALL_WELL) {
			status = SOMETHING_BAD;
		}
		printf("%s", separator);
		if (json) {
			xattr_file_print_json(file, stdout);
			separator = ",\n";
		} else {
			print_file(frame, file);
			separator = "\n";
		}
		TALLOC_FREE(frame);
	}
	if (json) {
		printf("]\n");
	}
	if (fflush(stdout) != 0 || ferror(stdout)) {
		perror("ntvfs-xattr: cannot write the output");
		return NOT_DONE;
	}
	return status;
}

static int wrong_usage(const char *what, const char *subject)
{
	fprintf(stderr,
		"ntvfs-xattr: %s%s\nntvfs-xattr --help tells how to use it\n",
		what,
		subject);
	return NOT_DONE;
}

int main(int argc, const char *argv[])
{
	int json = 0;
	int help = 0;
	int remove_unused = 0;
	const struct poptOption options[] = {
		{"json", '\0', POPT_ARG_NONE, &json, 0, NULL, NULL},
		{"remove-unused",
		 '\0',
		 POPT_ARG_NONE,
		 &remove_unused,
		 0,
		 NULL,
		 NULL},
		{"help", 'h', POPT_ARG_NONE, &help, 0, NULL, NULL},
		POPT_TABLEEND,
	};
	poptContext context;
	const char **arguments = NULL;
	int status;
	int ret;

	context = poptGetContext("ntvfs-xattr", argc, argv, options, 0);
	if (context == NULL) {
		return wrong_usage("out of memory", "");
	}
	ret = poptGetNextOpt(context);
	arguments = poptGetArgs(context);
	if (ret < -1) {
		status = wrong_usage("unknown option ",
				     poptBadOption(context, 0));
	} else if (help) {
		fputs(usage, stdout);
		status = ALL_WELL;
	} else if (arguments == NULL) {
		fputs(usage, stderr);
		status = NOT_DONE;
	} else if (strcmp(arguments[0], "check") == 0) {
		if (arguments[1] == NULL || arguments[2] != NULL) {
			status = wrong_usage("check needs the path of one "
					     "share",
					     "");
		} else {
			status = xattr_check(arguments[1], remove_unused != 0);
		}
	} else if (strcmp(arguments[0], "dump") != 0) {
		status = wrong_usage("unknown command ", arguments[0]);
	} else if (arguments[1] == NULL) {
		status = wrong_usage("dump needs a path", "");
	} else {
		status = dump(arguments + 1, json);
	}
	poptFreeContext(context);
	return status;
}
