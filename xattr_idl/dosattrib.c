/*
 * The records of user.DOSATTRIB and user.DosAttrib.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * This runs for every file that is opened or listed: nothing is allocated on
 * the way to success, apart from the name in version 2.
 */

#include "xattr_idl/blob_pull.h"
#include "xattr_idl/ndr_ntvfs_xattr.h"

#define SAME_BIT(name)                                                         \
	_Static_assert(NTVFS_DOSATTRIB_##name ==                               \
			       (unsigned)NTVFS_DOSATTRIB_HAS_##name,           \
		       "public and stored bits are the same")
SAME_BIT(ATTRIBUTES);
SAME_BIT(EA_SIZE);
SAME_BIT(SIZE);
SAME_BIT(ALLOCATION_SIZE);
SAME_BIT(CREATE_TIME);
SAME_BIT(CHANGE_TIME);
SAME_BIT(ITIME);

static bool is_time(NTTIME time)
{
	return time != 0 && time <= INT64_MAX;
}

static uint32_t time_bit(NTTIME time, uint32_t bit)
{
	if (is_time(time)) {
		return bit;
	}
	return 0;
}

/* Take the bits of unusable times out of valid, and attributes in. */
static uint32_t believed(uint32_t members, const struct ntvfs_dosattrib *out)
{
	uint32_t never = 0;

	if (!is_time(out->create_time)) {
		never |= NTVFS_DOSATTRIB_CREATE_TIME;
	}
	if (!is_time(out->change_time)) {
		never |= NTVFS_DOSATTRIB_CHANGE_TIME;
	}
	if (!is_time(out->itime)) {
		never |= NTVFS_DOSATTRIB_ITIME;
	}
	return (members & ~never) | NTVFS_DOSATTRIB_ATTRIBUTES;
}

static enum ndr_err_code pull_version1(struct ndr_pull *ndr,
				       struct ntvfs_dosattrib *out)
{
	struct ntvfs_dosattrib_body1 body = {0};
	enum ndr_err_code ndr_err;

	ndr_err = ndr_pull_ntvfs_dosattrib_body1(ndr, NDR_SCALARS, &body);
	if (!NDR_ERR_CODE_IS_SUCCESS(ndr_err)) {
		return ndr_err;
	}
	out->attributes = body.attributes;
	out->ea_size = body.ea_size;
	out->size = body.size;
	out->allocation_size = body.allocation_size;
	out->create_time = body.create_time;
	out->change_time = body.change_time;
	out->valid = believed(NTVFS_DOSATTRIB_EA_SIZE | NTVFS_DOSATTRIB_SIZE |
				      NTVFS_DOSATTRIB_ALLOCATION_SIZE |
				      NTVFS_DOSATTRIB_CREATE_TIME |
				      NTVFS_DOSATTRIB_CHANGE_TIME,
			      out);
	return NDR_ERR_SUCCESS;
}

static enum ndr_err_code pull_version2(struct ndr_pull *ndr,
				       struct ntvfs_dosattrib *out)
{
	struct ntvfs_dosattrib_body2 body = {0};
	enum ndr_err_code ndr_err;

	ndr_err = ndr_pull_ntvfs_dosattrib_body2(ndr, NDR_SCALARS, &body);
	if (!NDR_ERR_CODE_IS_SUCCESS(ndr_err)) {
		return ndr_err;
	}
	/* Nobody ever read the name. */
	talloc_free(discard_const_p(char, body.name));
	/* libndr takes the end of the blob for the end of a text. */
	if (ndr->data[ndr->offset - 1] != '\0') {
		return NDR_ERR_INCOMPLETE_BUFFER;
	}
	out->attributes = body.attributes;
	out->ea_size = body.ea_size;
	out->size = body.size;
	out->allocation_size = body.allocation_size;
	out->create_time = body.create_time;
	out->change_time = body.change_time;
	out->write_time = body.write_time;
	out->valid = believed(NTVFS_DOSATTRIB_EA_SIZE | NTVFS_DOSATTRIB_SIZE |
				      NTVFS_DOSATTRIB_ALLOCATION_SIZE |
				      NTVFS_DOSATTRIB_CREATE_TIME |
				      NTVFS_DOSATTRIB_CHANGE_TIME,
			      out);
	if (body.flags & NTVFS_DOSATTRIB2_STICKY_WRITE_TIME) {
		out->valid |=
			time_bit(body.write_time, NTVFS_DOSATTRIB_WRITE_TIME);
	}
	return NDR_ERR_SUCCESS;
}

static enum ndr_err_code pull_version3(struct ndr_pull *ndr,
				       struct ntvfs_dosattrib *out)
{
	struct ntvfs_dosattrib_body3 body = {0};
	enum ndr_err_code ndr_err;

	ndr_err = ndr_pull_ntvfs_dosattrib_body3(ndr, NDR_SCALARS, &body);
	if (!NDR_ERR_CODE_IS_SUCCESS(ndr_err)) {
		return ndr_err;
	}
	out->attributes = body.attributes;
	out->ea_size = body.ea_size;
	out->size = body.size;
	out->allocation_size = body.allocation_size;
	out->create_time = body.create_time;
	out->change_time = body.change_time;
	out->valid = believed(body.members & (NTVFS_DOSATTRIB_EA_SIZE |
					      NTVFS_DOSATTRIB_SIZE |
					      NTVFS_DOSATTRIB_ALLOCATION_SIZE |
					      NTVFS_DOSATTRIB_CREATE_TIME |
					      NTVFS_DOSATTRIB_CHANGE_TIME),
			      out);
	return NDR_ERR_SUCCESS;
}

static enum ndr_err_code pull_version4(struct ndr_pull *ndr,
				       struct ntvfs_dosattrib *out)
{
	struct ntvfs_dosattrib_body4 body = {0};
	enum ndr_err_code ndr_err;

	ndr_err = ndr_pull_ntvfs_dosattrib_body4(ndr, NDR_SCALARS, &body);
	if (!NDR_ERR_CODE_IS_SUCCESS(ndr_err)) {
		return ndr_err;
	}
	out->attributes = body.attributes;
	out->itime = body.itime;
	out->create_time = body.create_time;
	out->valid = believed(body.members & (NTVFS_DOSATTRIB_ITIME |
					      NTVFS_DOSATTRIB_CREATE_TIME),
			      out);
	return NDR_ERR_SUCCESS;
}

static enum ndr_err_code pull_version5(struct ndr_pull *ndr,
				       struct ntvfs_dosattrib *out)
{
	struct ntvfs_dosattrib_body5 body = {0};
	enum ndr_err_code ndr_err;

	ndr_err = ndr_pull_ntvfs_dosattrib_body5(ndr, NDR_SCALARS, &body);
	if (!NDR_ERR_CODE_IS_SUCCESS(ndr_err)) {
		return ndr_err;
	}
	out->attributes = body.attributes;
	out->create_time = body.create_time;
	out->valid = believed(body.members & NTVFS_DOSATTRIB_CREATE_TIME, out);
	return NDR_ERR_SUCCESS;
}

typedef enum ndr_err_code (*pull_version_fn)(struct ndr_pull *ndr,
					     struct ntvfs_dosattrib *out);

/* By version; Samba 4's own server knew the first two only. */
static const struct {
	const char *what;
	pull_version_fn pull;
} versions[] = {
	[1] = {"version 1", pull_version1},
	[2] = {"version 2", pull_version2},
	[3] = {"version 3", pull_version3},
	[4] = {"version 4", pull_version4},
	[5] = {"version 5", pull_version5},
};

/* Read the record that begins at ndr->offset and must end the blob. */
static NTSTATUS pull_record(TALLOC_CTX *mem_ctx,
			    struct ndr_pull *ndr,
			    struct ntvfs_dosattrib *out,
			    const char **reason)
{
	struct ntvfs_dosattrib_head head = {0};
	enum ndr_err_code ndr_err;
	NTSTATUS status;

	ndr_err = ndr_pull_ntvfs_dosattrib_head(ndr, NDR_SCALARS, &head);
	if (!NDR_ERR_CODE_IS_SUCCESS(ndr_err)) {
		return ntvfs_blob_pull_failed(
			mem_ctx, reason, "version number", ndr, ndr_err);
	}
	if (head.version == 0 || head.version >= ARRAY_SIZE(versions)) {
		return ntvfs_blob_reject(mem_ctx,
					 reason,
					 NT_STATUS_REVISION_MISMATCH,
					 "version %u is unknown",
					 (unsigned)head.version);
	}
	if (head.discriminant != head.version) {
		return ntvfs_blob_reject(mem_ctx,
					 reason,
					 NT_STATUS_INVALID_PARAMETER,
					 "version %u: its repetition says %u",
					 (unsigned)head.version,
					 (unsigned)head.discriminant);
	}
	ndr_err = versions[head.version].pull(ndr, out);
	if (!NDR_ERR_CODE_IS_SUCCESS(ndr_err)) {
		return ntvfs_blob_pull_failed(mem_ctx,
					      reason,
					      versions[head.version].what,
					      ndr,
					      ndr_err);
	}
	status = ntvfs_blob_pull_finished(
		mem_ctx, reason, versions[head.version].what, ndr);
	if (!NT_STATUS_IS_OK(status)) {
		return status;
	}
	out->version = head.version;
	return NT_STATUS_OK;
}

/* "0x" and one to eight hex digits, nothing else. */
static bool parse_text(const uint8_t *text, size_t length, uint32_t *value)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = NULL;
	size_t i;

	if (length < 3 || length > 10 || text[0] != '0' || text[1] != 'x') {
		return false;
	}
	*value = 0;
	for (i = 2; i < length; i++) {
		if (text[i] == '\0') {
			return false;
		}
		found = strchr(digits, tolower(text[i]));
		if (found == NULL) {
			return false;
		}
		*value = *value << 4 | (uint32_t)(found - digits);
	}
	return true;
}

/* "0x" and as few digits as will do, and the NUL byte; returns the size. */
static size_t format_text(uint32_t value, uint8_t *buffer)
{
	static const char digits[] = "0123456789abcdef";
	size_t length = 0;
	int shift = 28;

	buffer[length++] = '0';
	buffer[length++] = 'x';
	while (shift > 0 && (value >> shift) == 0) {
		shift -= 4;
	}
	while (shift >= 0) {
		buffer[length++] = digits[value >> shift & 0xF];
		shift -= 4;
	}
	buffer[length++] = '\0';
	return length;
}

NTSTATUS ntvfs_dosattrib_decode(TALLOC_CTX *mem_ctx,
				const DATA_BLOB *blob,
				struct ntvfs_dosattrib *out,
				const char **reason)
{
	struct ndr_pull ndr;
	size_t text_length;
	NTSTATUS status;
	bool ok;

	*out = (struct ntvfs_dosattrib){0};
	status = ntvfs_blob_check_size(mem_ctx, reason, blob);
	if (!NT_STATUS_IS_OK(status)) {
		return status;
	}

	text_length = strnlen((const char *)blob->data, blob->length);
	if (text_length + 1 >= blob->length) {
		ok = parse_text(blob->data, text_length, &out->attributes);
		if (!ok) {
			out->attributes = 0;
			return ntvfs_blob_reject(
				mem_ctx,
				reason,
				NT_STATUS_INVALID_PARAMETER,
				"%zu bytes of text that is not a "
				"number such as 0x20, and no record "
				"behind it",
				blob->length);
		}
		out->version = NTVFS_DOSATTRIB_VERSION_TEXT;
		out->valid = NTVFS_DOSATTRIB_ATTRIBUTES;
		return NT_STATUS_OK;
	}

	ntvfs_blob_pull_start(&ndr, mem_ctx, blob);
	ndr.offset = text_length + 1;
	status = pull_record(mem_ctx, &ndr, out, reason);
	if (!NT_STATUS_IS_OK(status)) {
		*out = (struct ntvfs_dosattrib){0};
	}
	return status;
}

NTSTATUS ntvfs_dosattrib_samba4_decode(TALLOC_CTX *mem_ctx,
				       const DATA_BLOB *blob,
				       struct ntvfs_dosattrib *out,
				       const char **reason)
{
	struct ndr_pull ndr;
	NTSTATUS status;

	*out = (struct ntvfs_dosattrib){0};
	status = ntvfs_blob_check_size(mem_ctx, reason, blob);
	if (!NT_STATUS_IS_OK(status)) {
		return status;
	}
	ntvfs_blob_pull_start(&ndr, mem_ctx, blob);
	status = pull_record(mem_ctx, &ndr, out, reason);
	if (!NT_STATUS_IS_OK(status)) {
		*out = (struct ntvfs_dosattrib){0};
	}
	return status;
}

NTSTATUS ntvfs_dosattrib_encode(const struct ntvfs_dosattrib *in,
				uint8_t buffer[NTVFS_DOSATTRIB_ENCODED_MAX],
				size_t *length)
{
	static const struct ntvfs_dosattrib_head head = {
		.version = 3,
		.discriminant = 3,
	};
	struct ntvfs_dosattrib_body3 body = {0};
	struct ndr_push ndr = {
		.data = buffer,
		.alloc_size = NTVFS_DOSATTRIB_ENCODED_MAX,
		.fixed_buf_size = true,
	};
	enum ndr_err_code ndr_err;

	*length = 0;
	if (in->valid & NTVFS_DOSATTRIB_ATTRIBUTES) {
		body.attributes = in->attributes;
		body.members |= NTVFS_DOSATTRIB_HAS_ATTRIBUTES;
	}
	if (in->valid & NTVFS_DOSATTRIB_EA_SIZE) {
		body.ea_size = in->ea_size;
		body.members |= NTVFS_DOSATTRIB_HAS_EA_SIZE;
	}
	if (in->valid & NTVFS_DOSATTRIB_SIZE) {
		body.size = in->size;
		body.members |= NTVFS_DOSATTRIB_HAS_SIZE;
	}
	if (in->valid & NTVFS_DOSATTRIB_ALLOCATION_SIZE) {
		body.allocation_size = in->allocation_size;
		body.members |= NTVFS_DOSATTRIB_HAS_ALLOCATION_SIZE;
	}
	if ((in->valid & NTVFS_DOSATTRIB_CREATE_TIME) &&
	    is_time(in->create_time)) {
		body.create_time = in->create_time;
		body.members |= NTVFS_DOSATTRIB_HAS_CREATE_TIME;
	}
	if ((in->valid & NTVFS_DOSATTRIB_CHANGE_TIME) &&
	    is_time(in->change_time)) {
		body.change_time = in->change_time;
		body.members |= NTVFS_DOSATTRIB_HAS_CHANGE_TIME;
	}

	/* Without attributes Samba leaves the text empty, and so do we. */
	if (body.members & NTVFS_DOSATTRIB_HAS_ATTRIBUTES) {
		ndr.offset = format_text(body.attributes, buffer);
	} else {
		buffer[0] = '\0';
		ndr.offset = 1;
	}
	ndr_err = ndr_push_ntvfs_dosattrib_head(&ndr, NDR_SCALARS, &head);
	if (!NDR_ERR_CODE_IS_SUCCESS(ndr_err)) {
		return NT_STATUS_INTERNAL_ERROR;
	}
	ndr_err = ndr_push_ntvfs_dosattrib_body3(&ndr, NDR_SCALARS, &body);
	if (!NDR_ERR_CODE_IS_SUCCESS(ndr_err)) {
		return NT_STATUS_INTERNAL_ERROR;
	}
	*length = ndr.offset;
	return NT_STATUS_OK;
}
