/*
 * The record in which all extended attributes of an object are kept in a tdb.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>
#include "ntvfs_posix/xattr_tdb_record.h"

static const uint8_t record_magic[4] = {'N', 'T', 'X', 'A'};

static void put_number(uint8_t *bytes, size_t count, uint64_t number)
{
	size_t i;

	for (i = 0; i < count; i++) {
		bytes[i] = (uint8_t)(number >> (8 * i));
	}
}

static uint64_t get_number(const uint8_t *bytes, size_t count)
{
	uint64_t number = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		number |= (uint64_t)bytes[i] << (8 * i);
	}
	return number;
}

static uint64_t record_checksum(const uint8_t *record, size_t length)
{
	static const uint8_t no_checksum[8];
	const size_t before = offsetof(struct ntvfs_xattr_tdb_header,
				       checksum);
	const size_t after = before + sizeof(no_checksum);
	uint64_t part[2];
	uint8_t bytes[2 * sizeof(uint64_t)];

	/*
	 * The bytes of the checksum lie between two parts, so their sums are
	 * summed up: no copy, no state to allocate.
	 */
	part[0] = XXH64(record, before, 0);
	part[1] = XXH64(record + after, length - after, 0);
	put_number(bytes, 8, part[0]);
	put_number(bytes + 8, 8, part[1]);
	return XXH64(bytes, sizeof(bytes), 0);
}

void ntvfs_xattr_tdb_record_seal(uint8_t *record, size_t length)
{
	put_number(record + offsetof(struct ntvfs_xattr_tdb_header, checksum),
		   8,
		   record_checksum(record, length));
}

/* The entry at *offset, which is moved behind it; false: it does not fit. */
static bool entry_parse(const uint8_t *record,
			size_t length,
			size_t *offset,
			struct ntvfs_xattr_tdb_entry *entry)
{
	struct ntvfs_xattr_tdb_entry_header header;
	size_t at = *offset;

	if (length - at < sizeof(header)) {
		return false;
	}
	memcpy(&header, record + at, sizeof(header));
	at += sizeof(header);
	entry->name_length = get_number(header.name_length, 2);
	entry->value_length = get_number(header.value_length, 4);
	if (length - at < entry->name_length ||
	    length - at - entry->name_length < entry->value_length)
	{
		return false;
	}
	entry->name = (const char *)record + at;
	entry->value = record + at + entry->name_length;
	*offset = at + entry->name_length + entry->value_length;
	return true;
}

/* As memcmp(): the order of the names of two entries. */
static int entry_compare(const struct ntvfs_xattr_tdb_entry *a,
			 const struct ntvfs_xattr_tdb_entry *b)
{
	size_t both = a->name_length;
	int order;

	if (b->name_length < both) {
		both = b->name_length;
	}
	order = memcmp(a->name, b->name, both);
	if (order != 0) {
		return order;
	}
	return (a->name_length > b->name_length) -
	       (a->name_length < b->name_length);
}

static const char *entries_validate(const uint8_t *record,
				    size_t length,
				    uint32_t count)
{
	size_t offset = sizeof(struct ntvfs_xattr_tdb_header);
	struct ntvfs_xattr_tdb_entry before = {.name = NULL};
	uint32_t i;

	for (i = 0; i < count; i++) {
		struct ntvfs_xattr_tdb_entry entry;
		const size_t start = offset;
		const uint8_t *reserved = NULL;

		if (!entry_parse(record, length, &offset, &entry)) {
			return "X1: an entry goes beyond the end";
		}
		reserved = record + start +
			   offsetof(struct ntvfs_xattr_tdb_entry_header,
				    reserved);
		if (get_number(reserved, 2) != 0) {
			return "X4: a reserved field of an entry is used";
		}
		if (entry.name_length == 0 ||
		    entry.name_length > NTVFS_XATTR_TDB_NAME_MAX ||
		    memchr(entry.name, '\0', entry.name_length) != NULL)
		{
			return "X2: a name that no attribute can have";
		}
		if (entry.value_length > NTVFS_XATTR_TDB_VALUE_MAX) {
			return "X3: a value is too long";
		}
		if (before.name != NULL && entry_compare(&before, &entry) >= 0)
		{
			return "X2: the names are not in order";
		}
		before = entry;
	}
	if (offset != length) {
		return "X1: there are bytes behind the last entry";
	}
	return NULL;
}

const char *
ntvfs_xattr_tdb_record_validate(const uint8_t *record,
				size_t length,
				const struct ntvfs_xattr_tdb_key *key,
				uint64_t *birth,
				uint32_t *count)
{
	struct ntvfs_xattr_tdb_header header;

	*birth = 0;
	*count = 0;
	if (length < sizeof(header)) {
		return "it is shorter than its header";
	}
	memcpy(&header, record, sizeof(header));
	if (memcmp(header.magic, record_magic, sizeof(header.magic)) != 0) {
		return "it does not begin with NTXA";
	}
	if (get_number(header.version, 2) != NTVFS_XATTR_TDB_RECORD_VERSION) {
		return "its version is not known";
	}
	if (length > NTVFS_XATTR_TDB_RECORD_MAX ||
	    get_number(header.length, 4) != length)
	{
		return "X1: its length is not what it says";
	}
	if (get_number(header.checksum, 8) != record_checksum(record, length))
	{
		return "its checksum is wrong";
	}
	if (get_number(header.reserved, 2) != 0) {
		return "X4: a reserved field is used";
	}
	if (get_number(header.volume, 8) != key->volume ||
	    get_number(header.file_id, 8) != key->file_id)
	{
		return "it belongs to another object";
	}
	*birth = get_number(header.birth, 8);
	*count = (uint32_t)get_number(header.count, 4);
	return entries_validate(record, length, *count);
}

bool ntvfs_xattr_tdb_record_next(const uint8_t *record,
				 size_t length,
				 size_t *offset,
				 struct ntvfs_xattr_tdb_entry *entry)
{
	if (*offset == 0) {
		*offset = sizeof(struct ntvfs_xattr_tdb_header);
	}
	if (*offset >= length) {
		return false;
	}
	return entry_parse(record, length, offset, entry);
}

static size_t entry_size(size_t name_length, size_t value_length)
{
	return sizeof(struct ntvfs_xattr_tdb_entry_header) + name_length +
	       value_length;
}

static uint8_t *entry_put(uint8_t *at,
			  const struct ntvfs_xattr_tdb_entry *entry)
{
	struct ntvfs_xattr_tdb_entry_header header = {.reserved = {0}};

	put_number(header.name_length, 2, entry->name_length);
	put_number(header.value_length, 4, entry->value_length);
	memcpy(at, &header, sizeof(header));
	at += sizeof(header);
	memcpy(at, entry->name, entry->name_length);
	at += entry->name_length;
	if (entry->value_length > 0) {
		memcpy(at, entry->value, entry->value_length);
	}
	return at + entry->value_length;
}

int ntvfs_xattr_tdb_record_change(TALLOC_CTX *mem_ctx,
				  const struct ntvfs_xattr_tdb_key *key,
				  const uint8_t *old,
				  size_t old_length,
				  const char *name,
				  const void *value,
				  size_t value_length,
				  uint8_t **record,
				  size_t *length)
{
	struct ntvfs_xattr_tdb_header header = {
		.magic = {'N', 'T', 'X', 'A'},
	};
	const struct ntvfs_xattr_tdb_entry added = {
		.name = name,
		.name_length = strlen(name),
		.value = value,
		.value_length = value_length,
	};
	struct ntvfs_xattr_tdb_entry entry;
	size_t size = sizeof(header);
	size_t offset = 0;
	uint32_t count = 0;
	bool found = false;
	bool added_is_put = false;
	uint8_t *at = NULL;

	*record = NULL;
	*length = 0;
	while (old != NULL &&
	       ntvfs_xattr_tdb_record_next(old, old_length, &offset, &entry))
	{
		if (entry_compare(&entry, &added) == 0) {
			found = true;
			continue;
		}
		size += entry_size(entry.name_length, entry.value_length);
		count++;
	}
	if (value == NULL && !found) {
		return ENODATA;
	}
	if (value != NULL) {
		size += entry_size(added.name_length, added.value_length);
		count++;
	}
	if (count == 0) {
		return 0;
	}
	if (size > NTVFS_XATTR_TDB_RECORD_MAX) {
		return EFBIG;
	}

	*record = talloc_array(mem_ctx, uint8_t, size);
	if (*record == NULL) {
		return ENOMEM;
	}
	put_number(header.version, 2, NTVFS_XATTR_TDB_RECORD_VERSION);
	put_number(header.volume, 8, key->volume);
	put_number(header.file_id, 8, key->file_id);
	put_number(header.birth, 8, key->birth);
	put_number(header.count, 4, count);
	put_number(header.length, 4, size);
	memcpy(*record, &header, sizeof(header));
	at = *record + sizeof(header);
	offset = 0;
	while (old != NULL &&
	       ntvfs_xattr_tdb_record_next(old, old_length, &offset, &entry))
	{
		int order = entry_compare(&entry, &added);

		if (order == 0) {
			continue;
		}
		if (order > 0 && value != NULL && !added_is_put) {
			at = entry_put(at, &added);
			added_is_put = true;
		}
		at = entry_put(at, &entry);
	}
	if (value != NULL && !added_is_put) {
		entry_put(at, &added);
	}
	ntvfs_xattr_tdb_record_seal(*record, size);
	*length = size;
	return 0;
}

/* What is not printable ASCII becomes \xHH. */
static char *append_name(char *text, const struct ntvfs_xattr_tdb_entry *entry)
{
	size_t i;

	for (i = 0; text != NULL && i < entry->name_length; i++) {
		unsigned char c = (unsigned char)entry->name[i];

		if (c < 0x7f && isgraph(c) && c != '\\') {
			text = talloc_asprintf_append_buffer(text, "%c", c);
		} else {
			text = talloc_asprintf_append_buffer(text,
							     "\\x%02x",
							     c);
		}
	}
	return text;
}

char *ntvfs_xattr_tdb_record_to_text(TALLOC_CTX *mem_ctx,
				     const uint8_t *record,
				     size_t length,
				     const struct ntvfs_xattr_tdb_key *key)
{
	struct ntvfs_xattr_tdb_entry entry;
	const char *broken = NULL;
	uint64_t birth = 0;
	uint32_t count = 0;
	size_t offset = 0;
	char *text = NULL;

	broken = ntvfs_xattr_tdb_record_validate(record,
						 length,
						 key,
						 &birth,
						 &count);
	text = talloc_asprintf(mem_ctx,
			       "volume 0x%" PRIx64 " file 0x%" PRIx64
			       " birth %" PRIu64 ", %zu bytes, ",
			       key->volume,
			       key->file_id,
			       birth,
			       length);
	if (text == NULL) {
		return NULL;
	}
	if (broken != NULL) {
		return talloc_asprintf_append_buffer(text,
						     "not valid: %s\n",
						     broken);
	}
	text = talloc_asprintf_append_buffer(text,
					     "%" PRIu32 " attributes\n",
					     count);
	while (text != NULL &&
	       ntvfs_xattr_tdb_record_next(record, length, &offset, &entry))
	{
		text = talloc_asprintf_append_buffer(text, "  ");
		text = append_name(text, &entry);
		if (text != NULL) {
			text = talloc_asprintf_append_buffer(
				text,
				" %zu bytes\n",
				entry.value_length);
		}
	}
	return text;
}
