/*
 * The decoders and encoders behind a pipe, for the tests that compare them
 * with Samba's own from Python.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One request per line of standard input, one line of answer each:
 *
 *   decode TYPE HEX        the record in words, lines joined by "|", after
 *                          "ok "; or "error STATUS REASON"
 *   again TYPE HEX         the blob decoded into what pidl generated from our
 *                          IDL and encoded from it: "ok HEX" or "error"
 *   dosattrib VALID ATTRIBUTES CREATE_TIME CHANGE_TIME
 *                          what we store: "ok HEX"
 *   ntacl HEX              what we store for the marshalled descriptor
 *
 * TYPE is dosattrib, samba4, ntacl, streams or eas.
 */

#include "includes.h"
#include "librpc/gen_ndr/ndr_security.h"
#include "xattr_idl/ndr_ntvfs_xattr.h"
#include "xattr_idl/ntvfs_xattr_blob.h"

static void print_hex(DATA_BLOB blob)
{
	size_t i;

	printf("ok ");
	for (i = 0; i < blob.length; i++) {
		printf("%02x", blob.data[i]);
	}
	printf("\n");
}

static void print_text(const char *text)
{
	printf("ok ");
	for (; *text != '\0'; text++) {
		putchar(*text == '\n' ? '|' : *text);
	}
	printf("\n");
}

static void print_error(NTSTATUS status, const char *reason)
{
	printf("error %s %s\n", nt_errstr(status), reason);
}

static DATA_BLOB parse_hex(TALLOC_CTX *mem_ctx, const char *hex)
{
	return strhex_to_data_blob(mem_ctx, hex);
}

static void decode(TALLOC_CTX *mem_ctx, const char *type, DATA_BLOB blob)
{
	struct ntvfs_dosattrib dosattrib;
	struct ntvfs_ntacl *ntacl = NULL;
	struct ntvfs_dosstreams *streams = NULL;
	struct ntvfs_doseas *eas = NULL;
	const char *reason = NULL;
	const char *text = NULL;
	NTSTATUS status = NT_STATUS_NOT_SUPPORTED;

	if (strequal(type, "ntacl")) {
		status = ntvfs_ntacl_decode(mem_ctx, &blob, &ntacl, &reason);
		if (NT_STATUS_IS_OK(status)) {
			text = ntvfs_ntacl_to_text(mem_ctx, ntacl);
		}
	} else if (strequal(type, "streams")) {
		status = ntvfs_dosstreams_decode(
			mem_ctx, &blob, &streams, &reason);
		if (NT_STATUS_IS_OK(status)) {
			text = ntvfs_dosstreams_to_text(mem_ctx, streams);
		}
	} else if (strequal(type, "eas")) {
		status = ntvfs_doseas_decode(mem_ctx, &blob, &eas, &reason);
		if (NT_STATUS_IS_OK(status)) {
			text = ntvfs_doseas_to_text(mem_ctx, eas);
		}
	} else if (strequal(type, "samba4")) {
		status = ntvfs_dosattrib_samba4_decode(
			mem_ctx, &blob, &dosattrib, &reason);
		if (NT_STATUS_IS_OK(status)) {
			text = ntvfs_dosattrib_to_text(mem_ctx, &dosattrib);
		}
	} else if (strequal(type, "dosattrib")) {
		status = ntvfs_dosattrib_decode(
			mem_ctx, &blob, &dosattrib, &reason);
		if (NT_STATUS_IS_OK(status)) {
			text = ntvfs_dosattrib_to_text(mem_ctx, &dosattrib);
		}
	}
	if (text == NULL) {
		print_error(status, reason);
		return;
	}
	print_text(text);
}

struct codec {
	const char *name;
	ndr_pull_flags_fn_t pull;
	ndr_push_flags_fn_t push;
};

/* The bodies by version; the tags in front of them are common to all. */
static const struct codec bodies[] = {
	[1] = {"1",
	       (ndr_pull_flags_fn_t)ndr_pull_ntvfs_dosattrib_body1,
	       (ndr_push_flags_fn_t)ndr_push_ntvfs_dosattrib_body1},
	[2] = {"2",
	       (ndr_pull_flags_fn_t)ndr_pull_ntvfs_dosattrib_body2,
	       (ndr_push_flags_fn_t)ndr_push_ntvfs_dosattrib_body2},
	[3] = {"3",
	       (ndr_pull_flags_fn_t)ndr_pull_ntvfs_dosattrib_body3,
	       (ndr_push_flags_fn_t)ndr_push_ntvfs_dosattrib_body3},
	[4] = {"4",
	       (ndr_pull_flags_fn_t)ndr_pull_ntvfs_dosattrib_body4,
	       (ndr_push_flags_fn_t)ndr_push_ntvfs_dosattrib_body4},
	[5] = {"5",
	       (ndr_pull_flags_fn_t)ndr_pull_ntvfs_dosattrib_body5,
	       (ndr_push_flags_fn_t)ndr_push_ntvfs_dosattrib_body5},
};

static const struct codec lists[] = {
	{"ntacl",
	 (ndr_pull_flags_fn_t)ndr_pull_ntvfs_ntacl_record,
	 (ndr_push_flags_fn_t)ndr_push_ntvfs_ntacl_record},
	{"streams",
	 (ndr_pull_flags_fn_t)ndr_pull_ntvfs_dosstreams_record,
	 (ndr_push_flags_fn_t)ndr_push_ntvfs_dosstreams_record},
	{"eas",
	 (ndr_pull_flags_fn_t)ndr_pull_ntvfs_doseas_record,
	 (ndr_push_flags_fn_t)ndr_push_ntvfs_doseas_record},
};

/* Room for any of the structs that pidl generated. */
union record {
	struct ntvfs_dosattrib_body1 body1;
	struct ntvfs_dosattrib_body2 body2;
	struct ntvfs_dosattrib_body3 body3;
	struct ntvfs_dosattrib_body4 body4;
	struct ntvfs_dosattrib_body5 body5;
	struct ntvfs_ntacl_record ntacl;
	struct ntvfs_dosstreams_record streams;
	struct ntvfs_doseas_record eas;
};

static void dosattrib_again(TALLOC_CTX *mem_ctx, DATA_BLOB blob, size_t offset)
{
	struct ntvfs_dosattrib_head head = {0};
	union record record = {0};
	struct ndr_pull *pull = ndr_pull_init_blob(&blob, mem_ctx);
	struct ndr_push *push = ndr_push_init_ctx(mem_ctx);
	enum ndr_err_code err = NDR_ERR_SUCCESS;

	pull->offset = offset;
	err = ndr_push_bytes(push, blob.data, offset);
	if (err == NDR_ERR_SUCCESS) {
		err = ndr_pull_ntvfs_dosattrib_head(pull, NDR_SCALARS, &head);
	}
	if (err == NDR_ERR_SUCCESS) {
		err = ndr_push_ntvfs_dosattrib_head(push, NDR_SCALARS, &head);
	}
	if (err != NDR_ERR_SUCCESS || head.version == 0 ||
	    head.version >= ARRAY_SIZE(bodies)) {
		printf("error version\n");
		return;
	}
	err = bodies[head.version].pull(pull, NDR_SCALARS, &record);
	if (err == NDR_ERR_SUCCESS) {
		err = bodies[head.version].push(push, NDR_SCALARS, &record);
	}
	if (err != NDR_ERR_SUCCESS) {
		printf("error %s\n", ndr_map_error2string(err));
		return;
	}
	print_hex(ndr_push_blob(push));
}

static void again(TALLOC_CTX *mem_ctx, const char *type, DATA_BLOB blob)
{
	union record record = {0};
	enum ndr_err_code err;
	size_t i;

	if (strequal(type, "samba4")) {
		dosattrib_again(mem_ctx, blob, 0);
		return;
	}
	if (strequal(type, "dosattrib")) {
		i = strnlen((const char *)blob.data, blob.length);
		dosattrib_again(mem_ctx, blob, i + 1);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		if (!strequal(type, lists[i].name)) {
			continue;
		}
		err = ndr_pull_struct_blob_all(
			&blob, mem_ctx, &record, lists[i].pull);
		if (err == NDR_ERR_SUCCESS) {
			err = ndr_push_struct_blob(
				&blob, mem_ctx, &record, lists[i].push);
		}
		if (err != NDR_ERR_SUCCESS) {
			printf("error %s\n", ndr_map_error2string(err));
			return;
		}
		print_hex(blob);
		return;
	}
	printf("error type\n");
}

static void encode_dosattrib(const char *arguments)
{
	struct ntvfs_dosattrib in = {0};
	uint8_t buffer[NTVFS_DOSATTRIB_ENCODED_MAX];
	size_t length = 0;
	NTSTATUS status;
	int ret;

	ret = sscanf(arguments,
		     "%" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu64,
		     &in.valid,
		     &in.attributes,
		     &in.create_time,
		     &in.change_time);
	if (ret != 4) {
		printf("error arguments\n");
		return;
	}
	status = ntvfs_dosattrib_encode(&in, buffer, &length);
	if (!NT_STATUS_IS_OK(status)) {
		print_error(status, "encode");
		return;
	}
	print_hex(data_blob_const(buffer, length));
}

static void encode_ntacl(TALLOC_CTX *mem_ctx, DATA_BLOB blob)
{
	struct security_descriptor sd = {0};
	enum ndr_err_code err;
	DATA_BLOB out = {0};
	NTSTATUS status;

	err = ndr_pull_struct_blob_all(
		&blob,
		mem_ctx,
		&sd,
		(ndr_pull_flags_fn_t)ndr_pull_security_descriptor);
	if (err != NDR_ERR_SUCCESS) {
		printf("error %s\n", ndr_map_error2string(err));
		return;
	}
	status = ntvfs_ntacl_encode(mem_ctx, &sd, &out);
	if (!NT_STATUS_IS_OK(status)) {
		print_error(status, "encode");
		return;
	}
	print_hex(out);
}

static void handle(TALLOC_CTX *mem_ctx, char *line)
{
	char *save = NULL;
	const char *verb = strtok_r(line, " \n", &save);
	const char *first = NULL;
	const char *second = NULL;

	if (verb == NULL) {
		printf("error empty\n");
		return;
	}
	if (strequal(verb, "dosattrib")) {
		encode_dosattrib(save);
		return;
	}
	first = strtok_r(NULL, " \n", &save);
	second = strtok_r(NULL, " \n", &save);
	if (first == NULL) {
		first = "";
	}
	if (second == NULL) {
		second = "";
	}
	if (strequal(verb, "ntacl")) {
		encode_ntacl(mem_ctx, parse_hex(mem_ctx, first));
	} else if (strequal(verb, "decode")) {
		decode(mem_ctx, first, parse_hex(mem_ctx, second));
	} else if (strequal(verb, "again")) {
		again(mem_ctx, first, parse_hex(mem_ctx, second));
	} else {
		printf("error verb\n");
	}
}

int main(void)
{
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, stdin) > 0) {
		TALLOC_CTX *frame = talloc_new(NULL);

		handle(frame, line);
		fflush(stdout);
		TALLOC_FREE(frame);
	}
	free(line);
	return 0;
}
