/*
 * All that is kept about one file, as JSON.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <inttypes.h>
#include <string.h>
#include "tools/xattr_file.h"

/* The length of the UTF-8 sequence that begins at s; 0 if it is none. */
static size_t utf8_length(const uint8_t *s)
{
	static const struct {
		uint8_t mask;
		uint8_t lead;
		size_t length;
		uint32_t smallest;
	} forms[] = {
		{0x80, 0x00, 1, 0},
		{0xE0, 0xC0, 2, 0x80},
		{0xF0, 0xE0, 3, 0x800},
		{0xF8, 0xF0, 4, 0x10000},
		{0, 0, 0, 0},
	};
	uint32_t code;
	size_t i, j;

	for (i = 0; forms[i].length != 0; i++) {
		if ((s[0] & forms[i].mask) == forms[i].lead) {
			break;
		}
	}
	code = s[0] & (uint8_t)~forms[i].mask;
	for (j = 1; j < forms[i].length; j++) {
		if ((s[j] & 0xC0) != 0x80) {
			return 0;
		}
		code = code << 6 | (s[j] & 0x3F);
	}
	if (code < forms[i].smallest || code > 0x10FFFF ||
	    (code >= 0xD800 && code <= 0xDFFF))
	{
		return 0;
	}
	return forms[i].length;
}

static void print_string(FILE *out, const char *string)
{
	const uint8_t *s = (const uint8_t *)string;
	size_t length;

	fputc('"', out);
	while (*s != '\0') {
		length = utf8_length(s);
		if (length == 0) {
			fprintf(out, "\\udc%02x", *s);
			s++;
			continue;
		}
		if (*s == '"' || *s == '\\') {
			fprintf(out, "\\%c", *s);
		} else if (*s < 0x20 || *s == 0x7F) {
			fprintf(out, "\\u%04x", *s);
		} else {
			fwrite(s, 1, length, out);
		}
		s += length;
	}
	fputc('"', out);
}

static void print_hex(FILE *out, const uint8_t *data, size_t length)
{
	size_t i;

	fputc('"', out);
	for (i = 0; i < length; i++) {
		fprintf(out, "%02x", data[i]);
	}
	fputc('"', out);
}

/* "key": */
static void print_key(FILE *out, const char *key)
{
	fprintf(out, ", \"%s\": ", key);
}

static void print_number(FILE *out, const char *key, uint64_t value)
{
	print_key(out, key);
	fprintf(out, "%" PRIu64, value);
}

/* A time twice: to read, and exactly as it is stored. */
static void print_time(FILE *out, const char *key, NTTIME time)
{
	char buffer[NTVFS_NTTIME_TEXT_SIZE];

	print_key(out, key);
	print_string(out, ntvfs_nttime_to_text(time, buffer));
	fprintf(out, ", \"%s_nt\": %" PRIu64, key, time);
}

static void print_text(FILE *out, const char *key, const char *text)
{
	print_key(out, key);
	if (text == NULL) {
		fputs("null", out);
		return;
	}
	print_string(out, text);
}

static void print_dosattrib(FILE *out, const struct ntvfs_dosattrib *record)
{
	char *names = ntvfs_attributes_to_text(NULL, record->attributes);

	if (record->version == NTVFS_DOSATTRIB_VERSION_TEXT) {
		print_text(out, "version", "text");
	} else {
		print_number(out, "version", record->version);
	}
	print_number(out, "attributes", record->attributes);
	print_text(out, "attribute_names", names);
	TALLOC_FREE(names);
	if (record->valid & NTVFS_DOSATTRIB_CREATE_TIME) {
		print_time(out, "create_time", record->create_time);
	}
	if (record->valid & NTVFS_DOSATTRIB_CHANGE_TIME) {
		print_time(out, "change_time", record->change_time);
	}
	if (record->valid & NTVFS_DOSATTRIB_WRITE_TIME) {
		print_time(out, "write_time", record->write_time);
	}
	if (record->valid & NTVFS_DOSATTRIB_ITIME) {
		print_time(out, "file_id_time", record->itime);
	}
	if (record->valid & NTVFS_DOSATTRIB_SIZE) {
		print_number(out, "size_then", record->size);
	}
	if (record->valid & NTVFS_DOSATTRIB_ALLOCATION_SIZE) {
		print_number(out, "allocation_then", record->allocation_size);
	}
	if (record->valid & NTVFS_DOSATTRIB_EA_SIZE) {
		print_number(out, "ea_size", record->ea_size);
	}
}

static void print_ntacl(FILE *out, const struct xattr_value *value)
{
	const struct ntvfs_ntacl *ntacl = value->ntacl;
	char *text = ntvfs_ntacl_to_text(NULL, ntacl);

	print_number(out, "version", ntacl->version);
	if (ntacl->version >= 3) {
		print_number(out, "hash_type", ntacl->hash_type);
		print_key(out, "hash");
		print_hex(out, ntacl->hash, sizeof(ntacl->hash));
	}
	if (ntacl->version >= 4) {
		print_text(out, "hashed_from", ntacl->description);
		print_time(out, "hashed_at", ntacl->time);
	}
	print_text(out, "sddl", value->sddl);
	print_text(out, "text", text);
	TALLOC_FREE(text);
}

static void print_streams(FILE *out, const struct ntvfs_dosstreams *streams)
{
	uint32_t i;

	print_key(out, "streams");
	fputc('[', out);
	for (i = 0; i < streams->count; i++) {
		const struct ntvfs_dosstream *stream = &streams->streams[i];

		fputs(i == 0 ? "{\"name\": " : ", {\"name\": ", out);
		print_string(out, stream->name);
		print_number(out, "size", stream->size);
		print_number(out, "allocation", stream->allocation_size);
		print_number(out, "flags", stream->flags);
		fputc('}', out);
	}
	fputc(']', out);
}

static void print_eas(FILE *out, const struct ntvfs_doseas *eas)
{
	uint32_t i;

	print_key(out, "eas");
	fputc('[', out);
	for (i = 0; i < eas->count; i++) {
		const struct ntvfs_dosea *ea = &eas->eas[i];

		fputs(i == 0 ? "{\"name\": " : ", {\"name\": ", out);
		print_string(out, ea->name);
		print_key(out, "value");
		print_hex(out, ea->value.data, ea->value.length);
		fputc('}', out);
	}
	fputc(']', out);
}

static void print_value(FILE *out, const struct xattr_value *value)
{
	static const char *const kinds[] = {
		[XATTR_DOSATTRIB] = "dosattrib",
		[XATTR_DOSATTRIB_SAMBA4] = "dosattrib_samba4",
		[XATTR_NTACL] = "ntacl",
		[XATTR_STREAM] = "stream",
		[XATTR_STREAM_FILE] = "stream_file",
		[XATTR_STREAM_LIST] = "stream_list",
		[XATTR_EA_LIST] = "ea_list",
		[XATTR_INTERNAL] = "internal",
		[XATTR_EA] = "ea",
	};

	fputs("{\"xattr\": ", out);
	print_string(out, value->xattr_name);
	print_text(out, "kind", kinds[value->kind]);
	if (value->store != NULL) {
		print_text(out, "store", value->store);
	}
	print_number(out, "bytes", value->blob.length);
	if (value->name != NULL) {
		print_text(out, "name", value->name);
		print_number(out, "size", value->size);
	}
	if (value->bad != NULL) {
		print_text(out, "bad", value->bad);
		print_key(out, "raw");
		print_hex(out, value->blob.data, value->blob.length);
		fputc('}', out);
		return;
	}
	switch (value->kind) {
	case XATTR_DOSATTRIB:
	case XATTR_DOSATTRIB_SAMBA4:
		print_dosattrib(out, &value->dosattrib);
		break;
	case XATTR_NTACL:
		print_ntacl(out, value);
		break;
	case XATTR_STREAM_LIST:
		print_streams(out, value->streams);
		break;
	case XATTR_EA_LIST:
		print_eas(out, value->eas);
		break;
	case XATTR_EA:
		print_key(out, "value");
		print_hex(out, value->blob.data, value->blob.length);
		break;
	case XATTR_STREAM_FILE:
		print_text(out, "stream_file", value->stream_file);
		break;
	case XATTR_STREAM:
	case XATTR_INTERNAL:
		break;
	}
	fputc('}', out);
}

void xattr_file_print_json(const struct xattr_file *file, FILE *out)
{
	size_t i;

	fputs("{\"path\": ", out);
	print_string(out, file->path);
	print_text(out, "type", xattr_file_type(file));
	print_number(out, "device", file->st.st_dev);
	print_number(out, "inode", file->st.st_ino);
	print_number(out, "size", file->st.st_size);
	print_time(out, "write_time", file->write_time);
	print_time(out, "access_time", file->access_time);
	print_number(out, "bad_count", file->bad_count);
	print_key(out, "xattrs");
	fputc('[', out);
	for (i = 0; i < file->count; i++) {
		fputs(i == 0 ? "\n  " : ",\n  ", out);
		print_value(out, &file->values[i]);
	}
	fputs("]}", out);
}
