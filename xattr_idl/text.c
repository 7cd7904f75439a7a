/*
 * The records in words.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "includes.h"
#include "libcli/security/dom_sid.h"
#include "libcli/security/secace.h"
#include "libcli/security/sddl.h"
#include "librpc/gen_ndr/ndr_security.h"
#include "xattr_idl/ntvfs_xattr_blob.h"

/* Seconds from 1601-01-01 to 1970-01-01. */
#define EPOCH_DIFFERENCE INT64_C(11644473600)

struct bit_name {
	uint32_t bit;
	const char *name;
};

/* MS-FSCC 2.6 */
static const struct bit_name attribute_names[] = {
	{0x00000001, "READONLY"},
	{0x00000002, "HIDDEN"},
	{0x00000004, "SYSTEM"},
	{0x00000008, "VOLUME"},
	{0x00000010, "DIRECTORY"},
	{0x00000020, "ARCHIVE"},
	{0x00000040, "DEVICE"},
	{0x00000080, "NORMAL"},
	{0x00000100, "TEMPORARY"},
	{0x00000200, "SPARSE"},
	{0x00000400, "REPARSE_POINT"},
	{0x00000800, "COMPRESSED"},
	{0x00001000, "OFFLINE"},
	{0x00002000, "NOT_CONTENT_INDEXED"},
	{0x00004000, "ENCRYPTED"},
	{0x00008000, "INTEGRITY_STREAM"},
	{0x00020000, "NO_SCRUB_DATA"},
	{0x00040000, "RECALL_ON_OPEN"},
	{0x00080000, "PINNED"},
	{0x00100000, "UNPINNED"},
	{0x00400000, "RECALL_ON_DATA_ACCESS"},
	{0, NULL},
};

/* MS-DTYP 2.4.6 */
static const struct bit_name descriptor_names[] = {
	{SEC_DESC_OWNER_DEFAULTED, "OWNER_DEFAULTED"},
	{SEC_DESC_GROUP_DEFAULTED, "GROUP_DEFAULTED"},
	{SEC_DESC_DACL_PRESENT, "DACL_PRESENT"},
	{SEC_DESC_DACL_DEFAULTED, "DACL_DEFAULTED"},
	{SEC_DESC_SACL_PRESENT, "SACL_PRESENT"},
	{SEC_DESC_SACL_DEFAULTED, "SACL_DEFAULTED"},
	{SEC_DESC_DACL_TRUSTED, "DACL_TRUSTED"},
	{SEC_DESC_SERVER_SECURITY, "SERVER_SECURITY"},
	{SEC_DESC_DACL_AUTO_INHERIT_REQ, "DACL_AUTO_INHERIT_REQ"},
	{SEC_DESC_SACL_AUTO_INHERIT_REQ, "SACL_AUTO_INHERIT_REQ"},
	{SEC_DESC_DACL_AUTO_INHERITED, "DACL_AUTO_INHERITED"},
	{SEC_DESC_SACL_AUTO_INHERITED, "SACL_AUTO_INHERITED"},
	{SEC_DESC_DACL_PROTECTED, "DACL_PROTECTED"},
	{SEC_DESC_SACL_PROTECTED, "SACL_PROTECTED"},
	{SEC_DESC_RM_CONTROL_VALID, "RM_CONTROL_VALID"},
	{SEC_DESC_SELF_RELATIVE, "SELF_RELATIVE"},
	{0, NULL},
};

/* MS-DTYP 2.4.4.1 */
static const struct bit_name ace_flag_names[] = {
	{SEC_ACE_FLAG_OBJECT_INHERIT, "OBJECT_INHERIT"},
	{SEC_ACE_FLAG_CONTAINER_INHERIT, "CONTAINER_INHERIT"},
	{SEC_ACE_FLAG_NO_PROPAGATE_INHERIT, "NO_PROPAGATE"},
	{SEC_ACE_FLAG_INHERIT_ONLY, "INHERIT_ONLY"},
	{SEC_ACE_FLAG_INHERITED_ACE, "INHERITED"},
	{SEC_ACE_FLAG_SUCCESSFUL_ACCESS, "SUCCESSFUL_ACCESS"},
	{SEC_ACE_FLAG_FAILED_ACCESS, "FAILED_ACCESS"},
	{0, NULL},
};

/* MS-DTYP 2.4.3, in the meaning for files; sets before what they hold. */
static const struct bit_name access_names[] = {
	{0x001F01FF, "FULL"},
	{0x001301BF, "MODIFY"},
	{0x001200A9, "READ+EXECUTE"},
	{0x00120089, "READ"},
	{0x00120116, "WRITE"},
	{0x00000001, "READ_DATA"},
	{0x00000002, "WRITE_DATA"},
	{0x00000004, "APPEND_DATA"},
	{0x00000008, "READ_EA"},
	{0x00000010, "WRITE_EA"},
	{0x00000020, "EXECUTE"},
	{0x00000040, "DELETE_CHILD"},
	{0x00000080, "READ_ATTRIBUTES"},
	{0x00000100, "WRITE_ATTRIBUTES"},
	{0x00010000, "DELETE"},
	{0x00020000, "READ_CONTROL"},
	{0x00040000, "WRITE_DAC"},
	{0x00080000, "WRITE_OWNER"},
	{0x00100000, "SYNCHRONIZE"},
	{0x01000000, "SYSTEM_SECURITY"},
	{0x02000000, "MAXIMUM_ALLOWED"},
	{0x10000000, "GENERIC_ALL"},
	{0x20000000, "GENERIC_EXECUTE"},
	{0x40000000, "GENERIC_WRITE"},
	{0x80000000, "GENERIC_READ"},
	{0, NULL},
};

static const char *const ace_type_names[] = {
	[SEC_ACE_TYPE_ACCESS_ALLOWED] = "allow",
	[SEC_ACE_TYPE_ACCESS_DENIED] = "deny",
	[SEC_ACE_TYPE_SYSTEM_AUDIT] = "audit",
	[SEC_ACE_TYPE_SYSTEM_ALARM] = "alarm",
	[SEC_ACE_TYPE_ALLOWED_COMPOUND] = "allow compound",
	[SEC_ACE_TYPE_ACCESS_ALLOWED_OBJECT] = "allow object",
	[SEC_ACE_TYPE_ACCESS_DENIED_OBJECT] = "deny object",
	[SEC_ACE_TYPE_SYSTEM_AUDIT_OBJECT] = "audit object",
	[SEC_ACE_TYPE_SYSTEM_ALARM_OBJECT] = "alarm object",
};

/*
 * talloc_asprintf_append_buffer() on *text, once it has become NULL a no-op:
 * a failure in the middle shows at the end.
 */
static void append(char **text, const char *format, ...) PRINTF_ATTRIBUTE(2, 3);
static void append(char **text, const char *format, ...)
{
	char *longer = NULL;
	va_list ap;

	if (*text == NULL) {
		return;
	}
	va_start(ap, format);
	longer = talloc_vasprintf_append_buffer(*text, format, ap);
	va_end(ap);
	if (longer == NULL) {
		TALLOC_FREE(*text);
	}
	*text = longer;
}

/* Append the names of value's bits, and in hex those without a name. */
static void
append_bits(char **text, uint32_t value, const struct bit_name *names)
{
	const char *separator = "";
	size_t i;

	if (value == 0) {
		append(text, "none");
		return;
	}
	for (i = 0; names[i].name != NULL; i++) {
		if ((value & names[i].bit) != names[i].bit) {
			continue;
		}
		append(text, "%s%s", separator, names[i].name);
		separator = "|";
		value &= ~names[i].bit;
	}
	if (value != 0) {
		append(text, "%s0x%x", separator, (unsigned)value);
	}
}

/* Append text that may hold anything as printable ASCII or valid UTF-8. */
static void append_quoted(char **text, const char *string)
{
	append(text, "\"");
	for (; *string != '\0'; string++) {
		uint8_t c = (uint8_t)*string;

		if (c < 0x20 || c == 0x7F) {
			append(text, "\\x%02x", (unsigned)c);
		} else if (c == '"' || c == '\\') {
			append(text, "\\%c", c);
		} else {
			append(text, "%c", c);
		}
	}
	append(text, "\"");
}

char *ntvfs_attributes_to_text(TALLOC_CTX *mem_ctx, uint32_t attributes)
{
	char *text = talloc_strdup(mem_ctx, "");

	append_bits(&text, attributes, attribute_names);
	return text;
}

char *ntvfs_nttime_to_text(NTTIME time, char buffer[NTVFS_NTTIME_TEXT_SIZE])
{
	int64_t seconds;
	struct tm tm = {0};
	time_t unix_seconds;

	if (time == 0 || time == UINT64_MAX) {
		snprintf(buffer, NTVFS_NTTIME_TEXT_SIZE, "%d", time ? -1 : 0);
		return buffer;
	}
	if (time > INT64_MAX) {
		snprintf(buffer, NTVFS_NTTIME_TEXT_SIZE, "%" PRIu64, time);
		return buffer;
	}
	seconds = (int64_t)(time / 10000000) - EPOCH_DIFFERENCE;
	unix_seconds = (time_t)seconds;
	gmtime_r(&unix_seconds, &tm);
	snprintf(buffer,
		 NTVFS_NTTIME_TEXT_SIZE,
		 "%04d-%02d-%02dT%02d:%02d:%02d.%07uZ",
		 (tm.tm_year + 1900) % 100000,
		 (tm.tm_mon + 1) % 100,
		 tm.tm_mday % 100,
		 tm.tm_hour % 100,
		 tm.tm_min % 100,
		 tm.tm_sec % 100,
		 (unsigned)(time % 10000000));
	return buffer;
}

static void append_time(char **text, const char *label, NTTIME time)
{
	char buffer[NTVFS_NTTIME_TEXT_SIZE];

	append(text, "%s: %s\n", label, ntvfs_nttime_to_text(time, buffer));
}

char *ntvfs_dosattrib_to_text(TALLOC_CTX *mem_ctx,
			      const struct ntvfs_dosattrib *dosattrib)
{
	char *text = talloc_strdup(mem_ctx, "");

	if (dosattrib->version == NTVFS_DOSATTRIB_VERSION_TEXT) {
		append(&text, "record: hex text\n");
	} else {
		append(&text, "record: version %u\n", dosattrib->version);
	}
	if (dosattrib->valid & NTVFS_DOSATTRIB_ATTRIBUTES) {
		append(&text,
		       "attributes: 0x%x ",
		       (unsigned)dosattrib->attributes);
		append_bits(&text, dosattrib->attributes, attribute_names);
		append(&text, "\n");
	}
	if (dosattrib->valid & NTVFS_DOSATTRIB_CREATE_TIME) {
		append_time(&text, "create time", dosattrib->create_time);
	}
	if (dosattrib->valid & NTVFS_DOSATTRIB_CHANGE_TIME) {
		append_time(&text, "change time", dosattrib->change_time);
	}
	if (dosattrib->valid & NTVFS_DOSATTRIB_WRITE_TIME) {
		append_time(&text, "write time", dosattrib->write_time);
	}
	if (dosattrib->valid & NTVFS_DOSATTRIB_ITIME) {
		append_time(&text, "file id time", dosattrib->itime);
	}
	if (dosattrib->valid & NTVFS_DOSATTRIB_SIZE) {
		append(&text, "size then: %" PRIu64 "\n", dosattrib->size);
	}
	if (dosattrib->valid & NTVFS_DOSATTRIB_ALLOCATION_SIZE) {
		append(&text,
		       "allocation then: %" PRIu64 "\n",
		       dosattrib->allocation_size);
	}
	if (dosattrib->valid & NTVFS_DOSATTRIB_EA_SIZE) {
		append(&text, "EA size: %u\n", (unsigned)dosattrib->ea_size);
	}
	return text;
}

NTSTATUS ntvfs_sd_to_sddl(TALLOC_CTX *mem_ctx,
			  const struct security_descriptor *sd,
			  char **sddl)
{
	TALLOC_CTX *frame = NULL;

	*sddl = NULL;
	/* sddl_encode() leaves its own scraps behind when it fails. */
	frame = talloc_new(mem_ctx);
	if (frame == NULL) {
		return NT_STATUS_NO_MEMORY;
	}
	*sddl = sddl_encode(frame, sd, NULL);
	*sddl = talloc_steal(mem_ctx, *sddl);
	TALLOC_FREE(frame);
	if (*sddl == NULL) {
		return NT_STATUS_INVALID_PARAMETER;
	}
	return NT_STATUS_OK;
}

static void
append_sid(char **text, const char *label, const struct dom_sid *sid)
{
	struct dom_sid_buf buffer;

	if (sid == NULL) {
		append(text, "%s: none\n", label);
		return;
	}
	append(text, "%s: %s\n", label, dom_sid_str_buf(sid, &buffer));
}

static void append_guid(char **text, const char *label, const struct GUID *guid)
{
	struct GUID_txt_buf buffer;

	append(text, " %s %s", label, GUID_buf_string(guid, &buffer));
}

static void append_ace(char **text, const struct security_ace *ace)
{
	const struct security_ace_object *object = &ace->object.object;
	const char *type = NULL;
	struct dom_sid_buf buffer;

	if ((size_t)ace->type < ARRAY_SIZE(ace_type_names)) {
		type = ace_type_names[ace->type];
	}
	if (type != NULL) {
		append(text, "  %s", type);
	} else {
		append(text, "  type %u", (unsigned)ace->type);
	}
	append(text,
	       " %s 0x%08x ",
	       dom_sid_str_buf(&ace->trustee, &buffer),
	       (unsigned)ace->access_mask);
	append_bits(text, ace->access_mask, access_names);
	if (ace->flags != 0) {
		append(text, " (");
		append_bits(text, ace->flags, ace_flag_names);
		append(text, ")");
	}
	if (sec_ace_object(ace->type)) {
		if (object->flags & SEC_ACE_OBJECT_TYPE_PRESENT) {
			append_guid(text, "object", &object->type.type);
		}
		if (object->flags & SEC_ACE_INHERITED_OBJECT_TYPE_PRESENT) {
			append_guid(text,
				    "inherited by",
				    &object->inherited_type.inherited_type);
		}
	}
	append(text, "\n");
}

/* An ACL: absent, NULL (grants all), empty (grants nothing), or its ACEs. */
static void append_acl(char **text,
		       const char *label,
		       bool present,
		       const struct security_acl *acl)
{
	uint32_t i;

	if (!present) {
		append(text, "%s: absent\n", label);
		return;
	}
	if (acl == NULL) {
		append(text, "%s: NULL\n", label);
		return;
	}
	append(text,
	       "%s: revision %u, %u %s\n",
	       label,
	       (unsigned)acl->revision,
	       (unsigned)acl->num_aces,
	       acl->num_aces == 1 ? "entry" : "entries");
	for (i = 0; i < acl->num_aces; i++) {
		append_ace(text, &acl->aces[i]);
	}
}

static void
append_hash(char **text, const char *label, const uint8_t *hash, size_t size)
{
	size_t i;

	for (i = 0; i < size && hash[i] == 0; i++) {
		continue;
	}
	if (i == size) {
		append(text, "%s: zeros\n", label);
		return;
	}
	append(text, "%s: ", label);
	for (i = 0; i < size; i++) {
		append(text, "%02x", (unsigned)hash[i]);
	}
	append(text, "\n");
}

char *ntvfs_ntacl_to_text(TALLOC_CTX *mem_ctx, const struct ntvfs_ntacl *ntacl)
{
	const struct security_descriptor *sd = ntacl->sd;
	char *text = talloc_strdup(mem_ctx, "");

	append(&text, "record: version %u\n", ntacl->version);
	if (ntacl->version == 2) {
		append_hash(&text, "hash", ntacl->hash, 16);
	}
	if (ntacl->version >= 3) {
		append(&text, "hash type: %u\n", ntacl->hash_type);
		append_hash(&text, "hash", ntacl->hash, sizeof(ntacl->hash));
	}
	if (ntacl->version >= 4) {
		append_hash(&text,
			    "POSIX ACL hash",
			    ntacl->sys_acl_hash,
			    sizeof(ntacl->sys_acl_hash));
		append_time(&text, "hashed at", ntacl->time);
	}
	if (ntacl->description != NULL) {
		append(&text, "hashed from: ");
		append_quoted(&text, ntacl->description);
		append(&text, "\n");
	}
	append(&text, "control: 0x%04x ", (unsigned)sd->type);
	append_bits(&text, sd->type, descriptor_names);
	append(&text, "\n");
	append_sid(&text, "owner", sd->owner_sid);
	append_sid(&text, "group", sd->group_sid);
	append_acl(&text, "DACL", sd->type & SEC_DESC_DACL_PRESENT, sd->dacl);
	append_acl(&text, "SACL", sd->type & SEC_DESC_SACL_PRESENT, sd->sacl);
	return text;
}

char *ntvfs_dosstreams_to_text(TALLOC_CTX *mem_ctx,
			       const struct ntvfs_dosstreams *streams)
{
	char *text = talloc_strdup(mem_ctx, "");
	uint32_t i;

	for (i = 0; i < streams->count; i++) {
		const struct ntvfs_dosstream *stream = &streams->streams[i];

		append_quoted(&text, stream->name);
		append(&text,
		       " size %" PRIu64 " allocation %" PRIu64 " flags 0x%x\n",
		       stream->size,
		       stream->allocation_size,
		       (unsigned)stream->flags);
	}
	return text;
}

char *ntvfs_doseas_to_text(TALLOC_CTX *mem_ctx, const struct ntvfs_doseas *eas)
{
	char *text = talloc_strdup(mem_ctx, "");
	uint32_t i;

	for (i = 0; i < eas->count; i++) {
		append_quoted(&text, eas->eas[i].name);
		append(&text, " %zu bytes\n", eas->eas[i].value.length);
	}
	return text;
}
