/*
 * The checker: what objects have besides data and names: EAs, reparse data,
 * security descriptors.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "check_index.h"

#define REPARSE_MOST 16384
#define EA_SIZE_EACH 5		/* of FILE_EA_INFORMATION */
#define EA_SIZE_LIST 4

/* ---- EAs ---- */

struct eas {
	const struct nv_disk_inode *inode;
	const uint8_t *list;
	uint32_t list_length;
	uint64_t count;
	uint64_t size;
	enum nv_status status;
};

static uint8_t fold(uint8_t c)
{
	return c >= 'a' && c <= 'z' ? (uint8_t)(c - 32) : c;
}

static int compare_names(const uint8_t *a, uint32_t a_length,
			 const uint8_t *b, uint32_t b_length)
{
	uint32_t i;

	for (i = 0; i < a_length && i < b_length; i++) {
		if (fold(a[i]) != fold(b[i])) {
			return fold(a[i]) < fold(b[i]) ? -1 : 1;
		}
	}
	return a_length < b_length ? -1 : a_length > b_length;
}

/* The EA at offset of the list; false: it does not lie within it. */
static bool listed_ea(const struct eas *eas, uint32_t offset,
		      struct nv_disk_ea *ea, uint32_t *next)
{
	uint32_t room = eas->list_length - offset;
	uint32_t used;

	if (room < sizeof(*ea)) {
		return false;
	}
	memcpy(ea, eas->list + offset, sizeof(*ea));
	used = (uint32_t)sizeof(*ea) + ea->name_length + ea->value_length;
	if (((used + 7) & ~7U) > room || ea->name_length == 0 ||
	    ea->value_length == 0 || ea->reserved != 0) {
		return false;
	}
	*next = offset + ((used + 7) & ~7U);
	return true;
}

static void count_ea(struct eas *eas, uint32_t name_length,
		     uint32_t value_length)
{
	eas->count++;
	eas->size += EA_SIZE_EACH + name_length + value_length;
}

static void check_listed_eas(struct check *check, struct eas *eas,
			     const char *who)
{
	const uint8_t *last = NULL;
	uint32_t last_length = 0;
	struct nv_disk_ea ea;
	uint32_t offset = 0;
	uint32_t next = 0;

	while (offset < eas->list_length) {
		const uint8_t *name = eas->list + offset + sizeof(ea);

		if (!listed_ea(eas, offset, &ea, &next)) {
			check_say(check, NV_FINDING_EA, "%s: the list of its "
				  "EAs is malformed at byte %u", who, offset);
			return;
		}
		if (last != NULL && compare_names(last, last_length, name,
						  ea.name_length) >= 0) {
			check_say(check, NV_FINDING_EA, "%s: the EAs inside "
				  "it are not sorted", who);
		}
		count_ea(eas, ea.name_length, ea.value_length);
		last = name;
		last_length = ea.name_length;
		offset = next;
	}
}

static bool is_listed(const struct eas *eas, const struct check_key *key)
{
	struct nv_disk_ea ea;
	uint8_t name[256];
	uint32_t offset = 0;
	uint32_t next = 0;
	uint32_t i;

	for (i = 0; i < key->length; i++) {
		name[i] = (uint8_t)key->units[i];
	}
	while (offset < eas->list_length &&
	       listed_ea(eas, offset, &ea, &next)) {
		if (compare_names(eas->list + offset + sizeof(ea),
				  ea.name_length, name, key->length) == 0) {
			return true;
		}
		offset = next;
	}
	return false;
}

static void take_ea(struct check_index *index,
		    const struct check_record *record)
{
	struct eas *eas = index->private_data;
	uint32_t length = (uint32_t)record->cookie;
	uint32_t found = 0;
	uint32_t i;

	if (eas->status != NV_OK) {
		return;
	}
	for (i = 0; i < record->key.length; i++) {
		if (record->key.units[i] > 255 || record->key.units[i] == 0) {
			break;
		}
	}
	if (i < record->key.length || record->flags != 0 ||
	    record->cookie >> 40 != 0 || length == 0 ||
	    length > UINT16_MAX || is_listed(eas, &record->key)) {
		check_say(index->check, NV_FINDING_EA,
			  "%s: the record of an EA of %u bytes is malformed, "
			  "or the EA is there twice", index->who, length);
		return;
	}
	if (record->value == NV_PAGE_NONE) {
		found = record->payload_length;
	} else {
		enum nv_status status;

		status = check_chain(index->check, record->value, NV_KIND_EA,
				     eas->inode->file_id, index->who, NULL,
				     length, &found);
		if (status == NV_ERR_CORRUPT) {
			return;
		}
		eas->status = status;
	}
	if (eas->status == NV_OK && found != length) {
		check_say(index->check, NV_FINDING_EA,
			  "%s: an EA should have %u bytes and has %u",
			  index->who, length, found);
	}
	count_ea(eas, record->key.length, length);
}

enum nv_status check_eas(struct check *check,
			 const struct nv_disk_inode *inode)
{
	struct eas eas = {.inode = inode};
	char who[48];
	struct check_index index = {
		.check = check,
		.kind = NV_KIND_EA,
		.owner = inode->file_id,
		.root = inode->ea_root,
		.ascii = true,
		.ordered = true,
		.entry = NV_FINDING_EA,
		.who = who,
		.what = "EAs",
		.take = take_ea,
		.private_data = &eas,
	};
	enum nv_status status;

	snprintf(who, sizeof(who), "inode %llu",
		 (unsigned long long)NV_FILE_INO(inode->file_id));
	eas.list = check_item(check, inode, NV_ITEM_EA, &eas.list_length);
	check_listed_eas(check, &eas, who);
	status = check_index(&index);
	if (status != NV_OK) {
		return status;
	}
	if (eas.count > 0) {
		eas.size += EA_SIZE_LIST;
	}
	if (eas.status == NV_OK && (eas.count != inode->ea_count ||
				    eas.size != inode->ea_size)) {
		check_say(check, NV_FINDING_EA, "%s: it has %llu EAs of %llu "
			  "bytes and counts %u of %u", who,
			  (unsigned long long)eas.count,
			  (unsigned long long)eas.size, inode->ea_count,
			  inode->ea_size);
	}
	return eas.status;
}

/* ---- reparse data ---- */

enum nv_status check_reparse(struct check *check,
			     const struct nv_disk_inode *inode)
{
	const void *inside = NULL;
	enum nv_status status;
	uint32_t length = 0;
	char who[48];

	snprintf(who, sizeof(who), "inode %llu",
		 (unsigned long long)NV_FILE_INO(inode->file_id));
	inside = check_item(check, inode, NV_ITEM_REPARSE, &length);
	if ((inode->reparse_tag == 0 &&
	     (inside != NULL || inode->reparse_root != NV_PAGE_NONE)) ||
	    (inside != NULL && inode->reparse_root != NV_PAGE_NONE)) {
		check_say(check, NV_FINDING_REPARSE, "%s: tag %x, data%s%s",
			  who, inode->reparse_tag,
			  inside != NULL ? " inside" : "",
			  inode->reparse_root != NV_PAGE_NONE ? " in pages" :
			  "");
	}
	if (inode->reparse_root == NV_PAGE_NONE) {
		return NV_OK;
	}
	status = check_chain(check, inode->reparse_root, NV_KIND_REPARSE,
			     inode->file_id, who, NULL, REPARSE_MOST,
			     &length);
	return status == NV_ERR_CORRUPT ? NV_OK : status;
}

/* ---- security descriptors ---- */

struct check_sd {
	uint32_t id;
	uint32_t offset;
	uint32_t length;
	uint64_t page;
	uint64_t hash;
	bool readable;
};

struct sd_walk {
	uint8_t *shared;	/* bit per node: descriptors share it */
	uint8_t *bytes;		/* NV_VALUE_MAX */
	uint64_t by_hash;
	enum nv_status status;
};

static struct check_sd *find_sd(struct check *check, uint32_t id)
{
	uint32_t low = 0;
	uint32_t high = check->sd_limit;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (check->sd[middle].id == id) {
			return &check->sd[middle];
		}
		if (check->sd[middle].id < id) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return NULL;
}

bool check_sd_exists(struct check *check, uint32_t id)
{
	return find_sd(check, id) != NULL;
}

/* Read what a record says. NV_ERR_CORRUPT: told. */
static enum nv_status read_sd(struct check *check, struct sd_walk *walk,
			      const struct check_sd *sd)
{
	struct nv_disk_value_page page;
	enum nv_status status;
	uint32_t length = 0;

	if (sd->length > NV_SD_SHARED_MAX) {
		status = check_chain(check, sd->page, NV_KIND_SD_DATA, 0,
				     "the SD store", walk->bytes,
				     NV_VALUE_MAX, &length);
		if (status == NV_OK && length != sd->length) {
			check_say(check, NV_FINDING_SD_STORE, "descriptor %u "
				  "should have %u bytes and has %u", sd->id,
				  sd->length, length);
			return NV_ERR_CORRUPT;
		}
		return status;
	}
	if (NV_PAGE_REGION(sd->page) == NV_REGION_NODES &&
	    NV_PAGE_INDEX(sd->page) <
	    check->region[NV_REGION_NODES].limit &&
	    check_bit(walk->shared, NV_PAGE_INDEX(sd->page))) {
		status = check_page(check, sd->page, &page);
	} else {
		status = check_node(check, sd->page, NV_KIND_SD_DATA, 0,
				    "the SD store", &page);
		if (status == NV_OK) {
			check_set_bit(walk->shared, NV_PAGE_INDEX(sd->page));
		}
	}
	if (status != NV_OK) {
		return status;
	}
	if ((sd->offset & 7) != 0 || sd->offset > page.header.count ||
	    sd->length > page.header.count - sd->offset ||
	    page.header.count > NV_VALUE_ROOM) {
		check_say(check, NV_FINDING_SD_STORE, "descriptor %u is said "
			  "to be at %u, %u bytes, of node %u with %u", sd->id,
			  sd->offset, sd->length, NV_PAGE_INDEX(sd->page),
			  page.header.count);
		return NV_ERR_CORRUPT;
	}
	memcpy(walk->bytes, page.bytes + sd->offset, sd->length);
	return NV_OK;
}

static void take_by_id(struct check_index *index,
		       const struct check_record *record)
{
	struct sd_walk *walk = index->private_data;
	struct check *check = index->check;
	struct check_sd *sd = NULL;
	enum nv_status status;

	if (walk->status != NV_OK) {
		return;
	}
	if (record->key.length != 2 || record->payload_length != 0 ||
	    record->flags != 0 || (uint32_t)record->cookie == 0 ||
	    (uint32_t)record->cookie > NV_VALUE_MAX) {
		check_say(check, NV_FINDING_SD_STORE,
			  "a record by id is malformed");
		return;
	}
	if ((check->sd_limit & (check->sd_limit - 1)) == 0) {
		size_t room = check->sd_limit == 0 ? 1 :
			(size_t)check->sd_limit * 2;
		struct check_sd *grown = realloc(check->sd, room *
						 sizeof(*grown));

		if (grown == NULL) {
			walk->status = NV_ERR_NO_MEMORY;
			return;
		}
		check->sd = grown;
	}
	sd = &check->sd[check->sd_limit];
	memset(sd, 0, sizeof(*sd));
	sd->id = ((uint32_t)record->key.units[0] << 16) |
		record->key.units[1];
	sd->page = record->value;
	sd->length = (uint32_t)record->cookie;
	sd->offset = (uint32_t)(record->cookie >> 32);
	if (check->sd_limit > 0 &&
	    check->sd[check->sd_limit - 1].id >= sd->id) {
		return;		/* told as a matter of order */
	}
	check->sd_limit++;
	status = read_sd(check, walk, sd);
	if (status == NV_OK) {
		sd->hash = XXH3_64bits(walk->bytes, sd->length);
		sd->readable = true;
	} else if (status != NV_ERR_CORRUPT) {
		walk->status = status;
	}
}

static void take_by_hash(struct check_index *index,
			 const struct check_record *record)
{
	struct sd_walk *walk = index->private_data;
	struct check *check = index->check;
	const uint16_t *units = record->key.units;
	const struct check_sd *sd = NULL;
	uint64_t hash = 0;
	uint32_t id = 0;
	uint32_t i;

	walk->by_hash++;
	if (record->key.length == 6) {
		for (i = 0; i < 4; i++) {
			hash = (hash << 16) | units[i];
		}
		id = ((uint32_t)units[4] << 16) | units[5];
		sd = find_sd(check, id);
	}
	if (sd == NULL || sd->page != record->value ||
	    record->cookie != (((uint64_t)sd->offset << 32) | sd->length) ||
	    (sd->readable && sd->hash != hash)) {
		check_say(check, NV_FINDING_SD_STORE,
			  "the record by hash of descriptor %u does not agree "
			  "with the one by id", id);
	}
}

static enum nv_status check_store(struct check *check, struct sd_walk *walk,
				  const struct nv_disk_sd_head *head)
{
	struct check_index index = {
		.check = check,
		.kind = NV_KIND_SD_INDEX,
		.root = head->by_id,
		.ordered = true,
		.entry = NV_FINDING_SD_STORE,
		.who = "the SD store",
		.what = "descriptors by id",
		.take = take_by_id,
		.private_data = walk,
	};
	struct nv_disk_sd_head *fixed = NULL;
	enum nv_status status;

	status = check_index(&index);
	if (status != NV_OK || walk->status != NV_OK) {
		return status != NV_OK ? status : walk->status;
	}
	index.root = head->by_hash;
	index.what = "descriptors by hash";
	index.take = take_by_hash;
	index.any = false;
	status = check_index(&index);
	if (status != NV_OK) {
		return status;
	}
	if (check->sd_limit != head->count || walk->by_hash != head->count) {
		check_say(check, NV_FINDING_SD_COUNT, "the SD store counts "
			  "%llu descriptors, has %u by id, %llu by hash",
			  (unsigned long long)head->count, check->sd_limit,
			  (unsigned long long)walk->by_hash);
		fixed = check_change(check, NV_PAGE(NV_REGION_SYSTEM,
						    NV_SYSTEM_SD_HEAD));
		if (fixed != NULL && check->sd_limit == walk->by_hash) {
			fixed->count = walk->by_hash;
		}
	}
	if (check->sd_limit > 0 &&
	    check->sd[check->sd_limit - 1].id >= head->next_id) {
		check_say(check, NV_FINDING_SD_COUNT, "the next descriptor "
			  "would be %u, but there is %u", head->next_id,
			  check->sd[check->sd_limit - 1].id);
		fixed = check_change(check, NV_PAGE(NV_REGION_SYSTEM,
						    NV_SYSTEM_SD_HEAD));
		if (fixed != NULL) {
			fixed->next_id = check->sd[check->sd_limit - 1].id +
				1;
		}
	}
	if (head->filling != NV_PAGE_NONE &&
	    (NV_PAGE_REGION(head->filling) != NV_REGION_NODES ||
	     NV_PAGE_INDEX(head->filling) >=
	     check->region[NV_REGION_NODES].limit ||
	     !check_bit(walk->shared, NV_PAGE_INDEX(head->filling)))) {
		check_say(check, NV_FINDING_SD_STORE, "page %llx should have "
			  "room for descriptors, but has none of them",
			  (unsigned long long)head->filling);
	}
	return NV_OK;
}

enum nv_status check_sd_store(struct check *check)
{
	union {
		struct nv_disk_sd_head head;
		uint8_t bytes[NV_BLOCK_SIZE];
	} page;
	struct sd_walk walk = {0};
	enum nv_status status;

	status = check_page(check, NV_PAGE(NV_REGION_SYSTEM,
					   NV_SYSTEM_SD_HEAD), page.bytes);
	if (status == NV_ERR_NOT_FOUND || status == NV_ERR_CORRUPT) {
		if (status == NV_ERR_NOT_FOUND) {
			check_say(check, NV_FINDING_SYSTEM_PAGE,
				  "the head of the SD store is missing");
		}
		return NV_OK;
	}
	if (status != NV_OK) {
		return status;
	}
	if (page.head.magic == 0 && check_zero(&page, sizeof(page))) {
		return NV_OK;
	}
	if (page.head.magic != NV_SD_MAGIC || page.head.next_id == 0 ||
	    !check_zero(page.head.reserved, sizeof(page.head.reserved)) ||
	    !check_zero(page.bytes + sizeof(page.head),
			sizeof(page) - sizeof(page.head))) {
		check_say(check, NV_FINDING_SD_STORE,
			  "the head of the SD store is malformed");
		return NV_OK;
	}
	walk.shared = calloc((check->region[NV_REGION_NODES].limit + 8) / 8,
			     1);
	walk.bytes = malloc(NV_VALUE_MAX);
	if (walk.shared == NULL || walk.bytes == NULL) {
		status = NV_ERR_NO_MEMORY;
	} else {
		status = check_store(check, &walk, &page.head);
	}
	free(walk.shared);
	free(walk.bytes);
	return status;
}
