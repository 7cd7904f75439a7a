/*
 * Long values: EAs, descriptors, reparse data in chains of pages.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <string.h>
#include "killpoint.h"
#include "names.h"

static enum nv_status page_at(struct nv_volume *volume, uint32_t kind,
			      nv_file_id owner, uint64_t page,
			      const struct nv_disk_value_page **value)
{
	const void *content = NULL;
	enum nv_status status;

	status = nv_node_read(volume, page, kind, owner, &content);
	if (status != NV_OK) {
		return status;
	}
	*value = content;
	return NV_OK;
}

enum nv_status nv_value_new(struct nv_operation *operation, uint32_t kind,
			    nv_file_id owner, const void *data,
			    uint32_t length, uint64_t *page)
{
	struct nv_disk_value_page *before = NULL;
	const uint8_t *bytes = data;
	uint32_t done = 0;

	if (length == 0 || length > NV_VALUE_MAX) {
		return NV_ERR_INVALID;
	}
	while (done < length) {
		struct nv_disk_value_page *value = NULL;
		uint32_t part = length - done;
		void *content = NULL;
		enum nv_status status;
		uint64_t made = 0;

		if (part > NV_VALUE_ROOM) {
			part = NV_VALUE_ROOM;
		}
		status = nv_node_new(operation, kind, 0, owner, &made,
				     &content);
		if (status != NV_OK) {
			return status;
		}
		value = content;
		value->header.count = (uint16_t)part;
		memcpy(value->bytes, bytes + done, part);
		if (before == NULL) {
			*page = made;
		} else {
			before->header.next = made;
		}
		NV_KILL_POINT("value: page added");
		before = value;
		done += part;
	}
	return NV_OK;
}

enum nv_status nv_value_replace(struct nv_operation *operation, uint32_t kind,
				nv_file_id owner, uint64_t page,
				const void *data, uint32_t length)
{
	const struct nv_disk_value_page *value = NULL;
	const uint8_t *bytes = data;
	uint32_t done = 0;

	while (done < length) {
		struct nv_disk_value_page *changed = NULL;
		void *content = NULL;
		enum nv_status status;
		uint32_t part;

		status = page_at(operation->volume, kind, owner, page,
				 &value);
		if (status != NV_OK) {
			return status;
		}
		part = value->header.count;
		if (part == 0 || part > length - done ||
		    part > NV_VALUE_ROOM) {
			return NV_ERR_CORRUPT;
		}
		status = nv_page_modify(operation, page,
					offsetof(struct nv_disk_value_page,
						 bytes), part, &content);
		if (status != NV_OK) {
			return status;
		}
		changed = content;
		memcpy(changed->bytes, bytes + done, part);
		NV_KILL_POINT("value: page replaced");
		done += part;
		page = changed->header.next;
	}
	return page == NV_PAGE_NONE ? NV_OK : NV_ERR_CORRUPT;
}

/* data NULL: only count. */
static enum nv_status walk(struct nv_volume *volume, uint32_t kind,
			   nv_file_id owner, uint64_t page, uint8_t *data,
			   uint32_t most, uint32_t *length)
{
	const struct nv_disk_value_page *value = NULL;
	uint32_t done = 0;

	while (page != NV_PAGE_NONE) {
		enum nv_status status;
		uint32_t part;

		status = page_at(volume, kind, owner, page, &value);
		if (status != NV_OK) {
			return status;
		}
		part = value->header.count;
		/* Each page has bytes, so this ends. */
		if (part == 0 || part > NV_VALUE_ROOM || part > most - done) {
			return NV_ERR_CORRUPT;
		}
		if (data != NULL) {
			memcpy(data + done, value->bytes, part);
		}
		done += part;
		page = value->header.next;
	}
	*length = done;
	return NV_OK;
}

enum nv_status nv_value_read(struct nv_volume *volume, uint32_t kind,
			     nv_file_id owner, uint64_t page, void *data,
			     uint32_t length)
{
	enum nv_status status;
	uint32_t found = 0;

	status = walk(volume, kind, owner, page, data, length, &found);
	if (status == NV_OK && found != length) {
		return NV_ERR_CORRUPT;
	}
	return status;
}

enum nv_status nv_value_length(struct nv_volume *volume, uint32_t kind,
			       nv_file_id owner, uint64_t page,
			       uint32_t *length)
{
	return walk(volume, kind, owner, page, NULL, NV_VALUE_MAX, length);
}

enum nv_status nv_value_free(struct nv_operation *operation, uint32_t kind,
			     nv_file_id owner, uint64_t page)
{
	const struct nv_disk_value_page *value = NULL;
	enum nv_status status;
	uint32_t i;

	for (i = 0; page != NV_PAGE_NONE; i++) {
		uint64_t next;

		if (i == NV_VALUE_PAGES_MAX) {
			return NV_ERR_CORRUPT;
		}
		status = page_at(operation->volume, kind, owner, page,
				 &value);
		if (status != NV_OK) {
			return status;
		}
		next = value->header.next;
		status = nv_node_free(operation, page);
		if (status != NV_OK) {
			return status;
		}
		NV_KILL_POINT("value: page freed");
		page = next;
	}
	return NV_OK;
}
