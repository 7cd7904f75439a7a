/*
 * What the tests of this folder share.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "xattr_idl/test_common.h"

/* Blocks that hang on no context, before a test. */
static size_t blocks_before;

/*
 * libndr makes its character conversion with the first text, and libsamba its
 * log with the first message, for ever.
 */
static void warm_up(void)
{
	static const uint8_t one_stream[] = {
		1, 0, 0, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0,	  0,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'a', 0};
	const DATA_BLOB blob = data_blob_const(one_stream, sizeof(one_stream));
	struct ntvfs_dosstreams *streams = NULL;
	TALLOC_CTX *frame = talloc_new(NULL);

	setup_logging("test", DEBUG_STDERR);
	ntvfs_dosstreams_decode(frame, &blob, &streams, NULL);
	assert_non_null(streams);
	talloc_free(frame);
}

int test_setup(void **state)
{
	talloc_enable_null_tracking();
	warm_up();
	blocks_before = talloc_total_blocks(NULL);
	*state = talloc_new(NULL);
	return *state == NULL ? -1 : 0;
}

int test_teardown(void **state)
{
	talloc_free(*state);
	if (talloc_total_blocks(NULL) != blocks_before) {
		talloc_report_full(NULL, stderr);
		return -1;
	}
	return 0;
}

static char *read_file(TALLOC_CTX *mem_ctx, const char *name, const char *end)
{
	char *path = talloc_asprintf(mem_ctx, "%s/%s%s", GOLDEN, name, end);
	char *text = talloc_zero_size(mem_ctx, 65536);
	FILE *file = fopen(path, "r");
	size_t length;

	if (file == NULL) {
		fail_msg("cannot open %s: %s", path, strerror(errno));
	}
	length = fread(text, 1, 65535, file);
	assert_false(ferror(file));
	assert_int_not_equal(length, 65535);
	fclose(file);
	talloc_free(path);
	return text;
}

static DATA_BLOB parse_hex(TALLOC_CTX *mem_ctx, const char *hex)
{
	DATA_BLOB blob = data_blob_talloc_zero(mem_ctx, strlen(hex) / 2);
	unsigned value;

	blob.length = 0;
	while (sscanf(hex, " %2x", &value) == 1) {
		blob.data[blob.length++] = value;
		hex += strspn(hex, " \n") + 2;
	}
	return blob;
}

size_t golden_load(TALLOC_CTX *mem_ctx, struct golden **goldens)
{
	char *index = read_file(mem_ctx, "INDEX", "");
	char *save = NULL;
	char *line = NULL;
	char *hex = NULL;
	size_t count = 0;

	*goldens = talloc_zero_array(mem_ctx, struct golden, 100);
	for (line = strtok_r(index, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		struct golden *golden = &(*goldens)[count];
		char *field = NULL;

		if (line[0] == '#') {
			continue;
		}
		golden->name = strtok_r(line, "\t", &field);
		golden->type = strtok_r(NULL, "\t", &field);
		assert_non_null(golden->type);
		hex = read_file(mem_ctx, golden->name, ".hex");
		golden->blob = parse_hex(mem_ctx, hex);
		talloc_free(hex);
		assert_int_not_equal(golden->blob.length, 0);
		golden->text = read_file(mem_ctx, golden->name, ".txt");
		count++;
		assert_true(count < 100);
	}
	assert_true(count > 0);
	return count;
}

static bool is_zero(const void *data, size_t size)
{
	const uint8_t *bytes = data;
	size_t i;

	for (i = 0; i < size; i++) {
		if (bytes[i] != 0) {
			return false;
		}
	}
	return true;
}

NTSTATUS decode_to_text(TALLOC_CTX *mem_ctx,
			const char *type,
			DATA_BLOB blob,
			const char **text,
			const char **reason)
{
	struct ntvfs_dosattrib dosattrib;
	struct ntvfs_ntacl *ntacl = NULL;
	struct ntvfs_dosstreams *streams = NULL;
	struct ntvfs_doseas *eas = NULL;
	void *out = NULL;
	char *sddl = NULL;
	DATA_BLOB copy = {0};
	NTSTATUS status;

	*text = NULL;
	*reason = "untouched";
	copy.length = blob.length;
	copy.data = malloc(MAX(blob.length, 1));
	assert_non_null(copy.data);
	if (blob.length > 0) {
		memcpy(copy.data, blob.data, blob.length);
	}

	memset(&dosattrib, 0xFF, sizeof(dosattrib));
	if (strcmp(type, "dosattrib") == 0) {
		status = ntvfs_dosattrib_decode(
			mem_ctx, &copy, &dosattrib, reason);
	} else if (strcmp(type, "samba4") == 0) {
		status = ntvfs_dosattrib_samba4_decode(
			mem_ctx, &copy, &dosattrib, reason);
	} else if (strcmp(type, "ntacl") == 0) {
		status = ntvfs_ntacl_decode(mem_ctx, &copy, &ntacl, reason);
		out = ntacl;
	} else if (strcmp(type, "streams") == 0) {
		status = ntvfs_dosstreams_decode(
			mem_ctx, &copy, &streams, reason);
		out = streams;
	} else {
		assert_string_equal(type, "eas");
		status = ntvfs_doseas_decode(mem_ctx, &copy, &eas, reason);
		out = eas;
	}
	/* Nothing that was decoded may point into the blob. */
	memset(copy.data, 0xA5, copy.length);
	free(copy.data);

	if (!NT_STATUS_IS_OK(status)) {
		assert_null(out);
		assert_non_null(*reason);
		assert_string_not_equal(*reason, "untouched");
		if (strcmp(type, "dosattrib") == 0 ||
		    strcmp(type, "samba4") == 0) {
			assert_true(is_zero(&dosattrib, sizeof(dosattrib)));
		}
		return status;
	}
	assert_null(*reason);
	if (ntacl != NULL) {
		*text = ntvfs_ntacl_to_text(mem_ctx, ntacl);
		status = ntvfs_sd_to_sddl(mem_ctx, ntacl->sd, &sddl);
		if (NT_STATUS_IS_OK(status)) {
			assert_non_null(sddl);
		} else {
			assert_null(sddl);
		}
	} else if (streams != NULL) {
		*text = ntvfs_dosstreams_to_text(mem_ctx, streams);
	} else if (eas != NULL) {
		*text = ntvfs_doseas_to_text(mem_ctx, eas);
	} else {
		*text = ntvfs_dosattrib_to_text(mem_ctx, &dosattrib);
	}
	assert_non_null(*text);
	return NT_STATUS_OK;
}
