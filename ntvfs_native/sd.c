/*
 * Security descriptors: each distinct one stored once.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Files share few descriptors. To store one is an operation of its own under
 * the store's lock; to find one again, by content or by id, takes no lock, so
 * that making a file does not meet others who make files. There are no
 * counts of references, which every making and removing of a file would have
 * to change: as in NTFS's $Secure a descriptor stays once it was used, and an
 * id means the same for ever.
 */

#include <string.h>
#include <xxhash.h>
#include "killpoint.h"
#include "names.h"

#define HEAD_PAGE NV_PAGE(NV_REGION_SYSTEM, NV_SYSTEM_SD_HEAD)
#define HASH_UNITS 4
#define ID_UNITS 2

/*
 * Two trees of short keys are at most 5 deep with 2^32 descriptors (each node
 * has at least 40 records), so each insertion splits 5 nodes and makes a root
 * at most; a descriptor has up to 17 pages; the head is one.
 */
#define STORE_PAGES (2 * (2 * 5 + 1) + (uint32_t)NV_VALUE_PAGES_MAX + 1)

static_assert(STORE_PAGES <= NV_OPERATION_PAGES, "storing is bounded");

static void hash_units(uint64_t hash, uint16_t units[HASH_UNITS])
{
	uint32_t i;

	for (i = 0; i < HASH_UNITS; i++) {
		units[i] = (uint16_t)(hash >> (48 - 16 * i));
	}
}

static void id_units(uint32_t id, uint16_t units[ID_UNITS])
{
	units[0] = (uint16_t)(id >> 16);
	units[1] = (uint16_t)id;
}

static void open_tree(struct nv_name_tree *tree, struct nv_volume *volume,
		      uint64_t root)
{
	*tree = (struct nv_name_tree) {
		.volume = volume,
		.kind = NV_KIND_SD_INDEX,
		.root = root,
	};
}

static enum nv_status read_head(struct nv_volume *volume,
				struct nv_disk_sd_head *head)
{
	const void *content = NULL;
	enum nv_status status;

	status = nv_page_read(volume, HEAD_PAGE, &content);
	if (status != NV_OK) {
		return status == NV_ERR_NOT_FOUND ? NV_ERR_CORRUPT : status;
	}
	memcpy(head, content, sizeof(*head));
	if (head->magic != NV_SD_MAGIC && head->magic != 0) {
		return NV_ERR_CORRUPT;
	}
	return NV_OK;
}

/* Where a descriptor is: value and cookie of its records. */
struct place {
	uint64_t page;
	uint32_t offset;
	uint32_t length;
};

static struct place place_of(const struct nv_disk_name *name)
{
	return (struct place) {
		.page = name->value,
		.offset = (uint32_t)(name->cookie >> 32),
		.length = (uint32_t)name->cookie,
	};
}

static enum nv_status read_place(struct nv_volume *volume,
				 const struct place *place, void *sd)
{
	const struct nv_disk_value_page *page = NULL;
	const void *content = NULL;
	enum nv_status status;

	if (place->length > NV_SD_SHARED_MAX) {
		return nv_value_read(volume, NV_KIND_SD_DATA, 0, place->page,
				     sd, place->length);
	}
	status = nv_node_read(volume, place->page, NV_KIND_SD_DATA, 0,
			      &content);
	if (status != NV_OK) {
		return status;
	}
	page = content;
	if (place->offset > NV_VALUE_ROOM ||
	    place->length > NV_VALUE_ROOM - place->offset) {
		return NV_ERR_CORRUPT;
	}
	memcpy(sd, page->bytes + place->offset, place->length);
	return NV_OK;
}

/* Is this what is stored there? */
static enum nv_status compare_place(struct nv_volume *volume,
				    const struct place *place,
				    const uint8_t *sd, uint32_t length,
				    bool *equal)
{
	const struct nv_disk_value_page *page = NULL;
	uint64_t next = place->page;
	uint32_t offset = place->offset;
	uint32_t done = 0;

	*equal = false;
	if (place->length != length) {
		return NV_OK;
	}
	while (done < length) {
		const void *content = NULL;
		enum nv_status status;
		uint32_t part;

		status = nv_node_read(volume, next, NV_KIND_SD_DATA, 0,
				      &content);
		if (status != NV_OK) {
			return status;
		}
		page = content;
		if (length > NV_SD_SHARED_MAX) {
			part = page->header.count;
		} else {
			part = length;
		}
		if (part == 0 || part > length - done ||
		    offset > NV_VALUE_ROOM || part > NV_VALUE_ROOM - offset) {
			return NV_ERR_CORRUPT;
		}
		if (memcmp(page->bytes + offset, sd + done, part) != 0) {
			return NV_OK;
		}
		done += part;
		next = page->header.next;
	}
	*equal = true;
	return NV_OK;
}

/* Descriptors of one hash that lie in one leaf. */
#define SAME_HASH 8
struct candidates {
	uint16_t hash[HASH_UNITS];
	uint32_t count;
	struct nv_name_record last;
	struct {
		struct place place;
		uint32_t id;
	} found[SAME_HASH];
};

static bool add_candidate(void *private_data,
			  const struct nv_name_record *record)
{
	struct candidates *candidates = private_data;
	const uint16_t *key = nv_name_key(&record->name);
	uint32_t i = candidates->count;

	if (i == SAME_HASH || record->name.key_length != HASH_UNITS + ID_UNITS ||
	    memcmp(key, candidates->hash, sizeof(candidates->hash)) != 0) {
		return false;
	}
	candidates->found[i].place = place_of(&record->name);
	candidates->found[i].id = ((uint32_t)key[HASH_UNITS] << 16) |
		key[HASH_UNITS + 1];
	candidates->last = *record;
	candidates->count++;
	return true;
}

/* For one round of a reader, or in an operation. */
static enum nv_status find_equal(struct nv_volume *volume,
				 const struct nv_disk_sd_head *head,
				 uint64_t hash, const void *sd,
				 uint32_t length, uint32_t *id)
{
	struct candidates candidates;
	struct nv_name_tree tree;
	struct nv_key key;
	uint32_t i;

	open_tree(&tree, volume, head->by_hash);
	hash_units(hash, candidates.hash);
	nv_key_set(&key, &tree.order, candidates.hash, HASH_UNITS);
	for (;;) {
		enum nv_status status;

		candidates.count = 0;
		status = nv_name_tree_visit(&tree, &key, add_candidate,
					    &candidates);
		if (status != NV_OK) {
			return status;
		}
		if (candidates.count == 0) {
			return NV_ERR_NOT_FOUND;
		}
		for (i = 0; i < candidates.count; i++) {
			bool equal = false;

			status = compare_place(volume,
					       &candidates.found[i].place,
					       sd, length, &equal);
			if (status != NV_OK) {
				return status;
			}
			if (equal) {
				*id = candidates.found[i].id;
				return NV_OK;
			}
		}
		nv_key_set(&key, &tree.order,
			   nv_name_key(&candidates.last.name),
			   candidates.last.name.key_length);
	}
}

/* Room for a short descriptor in a page that others share. */
static enum nv_status share_page(struct nv_operation *operation,
				 struct nv_disk_sd_head *head,
				 const void *sd, struct place *place)
{
	struct nv_disk_value_page *page = NULL;
	const void *present = NULL;
	void *content = NULL;
	enum nv_status status;
	uint32_t used = NV_VALUE_ROOM;
	uint32_t first;

	if (head->filling != NV_PAGE_NONE) {
		status = nv_node_read(operation->volume, head->filling,
				      NV_KIND_SD_DATA, 0, &present);
		if (status != NV_OK) {
			return status;
		}
		page = (struct nv_disk_value_page *)present;
		used = (page->header.count + 7U) & ~7U;
	}
	if (used > NV_VALUE_ROOM || place->length > NV_VALUE_ROOM - used) {
		status = nv_node_new(operation, NV_KIND_SD_DATA, 0, 0,
				     &head->filling, &content);
		if (status != NV_OK) {
			return status;
		}
		used = 0;
	} else {
		first = (uint32_t)offsetof(struct nv_disk_value_page, bytes) +
			used;
		status = nv_page_modify(operation, head->filling, 0,
					sizeof(page->header), &content);
		if (status != NV_OK) {
			return status;
		}
		status = nv_page_modify(operation, head->filling, first,
					place->length, &content);
		if (status != NV_OK) {
			return status;
		}
	}
	page = content;
	memcpy(page->bytes + used, sd, place->length);
	NV_KILL_POINT("sd: copied to a shared page");
	page->header.count = (uint16_t)(used + place->length);
	place->page = head->filling;
	place->offset = used;
	return NV_OK;
}

static enum nv_status enter(struct nv_operation *operation, uint64_t *root,
			    const uint16_t *key, uint32_t key_length,
			    const struct place *place)
{
	struct nv_name_record record;
	struct nv_name_tree tree;
	enum nv_status status;

	open_tree(&tree, operation->volume, *root);
	nv_name_record_set(&record, place->page,
			   ((uint64_t)place->offset << 32) | place->length, 0,
			   key, key_length, NULL, 0);
	status = nv_name_tree_insert_deep(operation, &tree, &record);
	*root = tree.root;
	return status == NV_ERR_EXISTS ? NV_ERR_CORRUPT : status;
}

static enum nv_status store_in(struct nv_operation *operation, uint64_t hash,
			       const void *sd, uint32_t length, uint32_t *id)
{
	struct place place = {.length = length};
	uint16_t units[HASH_UNITS + ID_UNITS];
	struct nv_disk_sd_head *head = NULL;
	struct nv_disk_sd_head present;
	void *content = NULL;
	enum nv_status status;

	status = read_head(operation->volume, &present);
	if (status != NV_OK) {
		return status;
	}
	status = find_equal(operation->volume, &present, hash, sd, length,
			    id);
	if (status != NV_ERR_NOT_FOUND) {
		return status;
	}
	status = nv_page_modify(operation, HEAD_PAGE, 0, sizeof(*head),
				&content);
	if (status != NV_OK) {
		return status;
	}
	head = content;
	if (head->magic == 0) {
		head->magic = NV_SD_MAGIC;
		head->next_id = 1;
	}
	if (head->next_id == UINT32_MAX) {
		return NV_ERR_TOO_LARGE;
	}
	*id = head->next_id;
	head->next_id++;
	head->count++;
	if (length > NV_SD_SHARED_MAX) {
		status = nv_value_new(operation, NV_KIND_SD_DATA, 0, sd,
				      length, &place.page);
	} else {
		status = share_page(operation, head, sd, &place);
	}
	if (status != NV_OK) {
		return status;
	}
	hash_units(hash, units);
	id_units(*id, units + HASH_UNITS);
	status = enter(operation, &head->by_hash, units,
		       HASH_UNITS + ID_UNITS, &place);
	if (status != NV_OK) {
		return status;
	}
	NV_KILL_POINT("sd: entered by hash, not by id");
	return enter(operation, &head->by_id, units + HASH_UNITS, ID_UNITS,
		     &place);
}

enum nv_status nv_sd_intern(struct nv_volume *volume, const void *sd,
			    uint32_t length, uint32_t *sd_id)
{
	struct nv_operation operation;
	struct nv_disk_sd_head head;
	struct nv_reader reader;
	enum nv_status status;
	uint64_t hash;

	if (sd == NULL) {
		*sd_id = 0;
		return NV_OK;
	}
	if (length == 0) {
		return NV_ERR_INVALID;
	}
	if (length > NV_VALUE_MAX) {
		return NV_ERR_TOO_LARGE;
	}
	hash = XXH3_64bits(sd, length);
	status = nv_read_begin_sd(volume, &reader);
	if (status != NV_OK) {
		return status;
	}
	do {
		status = read_head(volume, &head);
		if (status == NV_OK) {
			status = find_equal(volume, &head, hash, sd, length,
					    sd_id);
		}
	} while (nv_read_again(&reader));
	if (status != NV_ERR_NOT_FOUND) {
		return status;
	}
	status = nv_operation_begin(volume, &operation, NULL, 0, STORE_PAGES,
				    NV_OP_SD);
	if (status != NV_OK) {
		return status;
	}
	status = store_in(&operation, hash, sd, length, sd_id);
	return nv_operation_finish(&operation, status);
}

enum nv_status nv_sd_set(struct nv_volume *volume, nv_file_id id,
			 const void *sd, uint32_t length)
{
	struct nv_disk_inode *inode = NULL;
	struct nv_operation operation;
	uint64_t ino = NV_FILE_INO(id);
	enum nv_status status;
	uint32_t sd_id = 0;

	status = nv_sd_intern(volume, sd, length, &sd_id);
	if (status != NV_OK) {
		return status;
	}
	status = nv_operation_begin(volume, &operation, &ino, 1, 1, 0);
	if (status != NV_OK) {
		return status;
	}
	status = nv_inode_modify(&operation, id, &inode);
	if (status == NV_OK) {
		inode->sd_id = sd_id;
	}
	return nv_operation_finish(&operation, status);
}

/* For one round of a reader. */
static enum nv_status get_by_id(struct nv_volume *volume, uint32_t sd_id,
				void *sd, uint32_t room, uint32_t *length)
{
	struct nv_disk_sd_head head;
	struct nv_name_record record;
	uint16_t units[ID_UNITS];
	struct nv_name_tree tree;
	enum nv_status status;
	struct place place;
	struct nv_key key;

	status = read_head(volume, &head);
	if (status != NV_OK) {
		return status;
	}
	open_tree(&tree, volume, head.by_id);
	id_units(sd_id, units);
	nv_key_set(&key, &tree.order, units, ID_UNITS);
	status = nv_name_tree_find(&tree, &key, &record);
	if (status != NV_OK) {
		return status;
	}
	place = place_of(&record.name);
	if (place.length == 0 || place.length > NV_VALUE_MAX) {
		return NV_ERR_CORRUPT;
	}
	*length = place.length;
	if (place.length > room) {
		return NV_OK;
	}
	return read_place(volume, &place, sd);
}

enum nv_status nv_sd_get_by_id(struct nv_volume *volume, uint32_t sd_id,
			       void *sd, uint32_t *length)
{
	struct nv_reader reader;
	uint32_t room = *length;
	enum nv_status status;
	uint32_t found = 0;

	status = nv_read_begin_sd(volume, &reader);
	if (status != NV_OK) {
		return status;
	}
	do {
		status = get_by_id(volume, sd_id, sd, room, &found);
	} while (nv_read_again(&reader));
	if (status != NV_OK) {
		return status;
	}
	*length = found;
	return found > room ? NV_ERR_TOO_LARGE : NV_OK;
}

enum nv_status nv_sd_get(struct nv_volume *volume, nv_file_id id, void *sd,
			 uint32_t *length)
{
	enum nv_status status;
	struct nv_info info;

	status = nv_get_info(volume, id, &info);
	if (status != NV_OK) {
		return status;
	}
	if (info.sd_id == 0) {
		return NV_ERR_NOT_FOUND;
	}
	status = nv_sd_get_by_id(volume, info.sd_id, sd, length);
	/* An id in an inode leads to a descriptor. */
	return status == NV_ERR_NOT_FOUND ? NV_ERR_CORRUPT : status;
}
