/*
 * ntvfs-dump: inodes, extents, names.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <string.h>
#include "dump.h"
#include "inode.h"

union inode_buffer {
	struct nv_disk_inode inode;
	uint8_t bytes[NV_MAX_INODE_SIZE];
};

static const char *type_name(uint32_t type)
{
	static const char *const names[] = {
		"free", "file", "directory", "stream", "special",
	};

	return type < 5 ? names[type] : "unknown";
}

static const char *form_name(uint32_t form)
{
	static const char *const names[] = {
		"none", "inline", "extents", "tree",
	};

	return form < 4 ? names[form] : "unknown";
}

static void show_items(struct dump *dump, const struct nv_disk_inode *inode)
{
	static const char *const names[NV_ITEM_MAX + 1] = {
		[NV_ITEM_EA] = "eas",
		[NV_ITEM_EXTENTS] = "extents",
		[NV_ITEM_DATA] = "data",
		[NV_ITEM_NAMES] = "names",
		[NV_ITEM_STREAMS] = "streams",
		[NV_ITEM_REPARSE] = "reparse",
	};
	uint32_t kind;

	dump_begin(dump, "item_bytes", '{');
	for (kind = 1; kind <= NV_ITEM_MAX; kind++) {
		uint32_t length = 0;

		if (nv_item_find(inode, dump->super.inode_size, kind,
				 &length) != NULL) {
			dump_number(dump, names[kind], length);
		}
	}
	dump_end(dump, '}');
}

enum nv_status dump_show_inode(struct dump *dump, uint64_t ino)
{
	union inode_buffer buffer = {{0}};
	const struct nv_disk_inode *inode = &buffer.inode;
	enum nv_status status;

	status = dump_inode(dump, ino, &buffer.inode);
	if (status != NV_OK) {
		return status;
	}
	dump_begin(dump, NULL, '{');
	dump_number(dump, "inode", ino);
	dump_hex(dump, "file_id", inode->file_id);
	dump_text(dump, "type", type_name(inode->type));
	dump_number(dump, "fixed_size", inode->fixed_size);
	dump_hex(dump, "flags", inode->flags);
	dump_hex(dump, "attributes", inode->attributes);
	dump_number(dump, "nlink", inode->nlink);
	dump_hex(dump, "parent_id", inode->parent_id);
	dump_time(dump, "creation_time", inode->creation_time);
	dump_time(dump, "last_access_time", inode->last_access_time);
	dump_time(dump, "last_write_time", inode->last_write_time);
	dump_time(dump, "change_time", inode->change_time);
	dump_number(dump, "size", inode->size);
	dump_number(dump, "allocation", inode->allocation);
	dump_text(dump, "data_form", form_name(inode->data_form));
	dump_number(dump, "extent_count", inode->extent_count);
	dump_hex(dump, "data_root", inode->data_root);
	dump_number(dump, "sd_id", inode->sd_id);
	dump_number(dump, "uid", inode->uid);
	dump_number(dump, "gid", inode->gid);
	dump_hex(dump, "mode", inode->mode);
	dump_hex(dump, "reparse_tag", inode->reparse_tag);
	dump_hex(dump, "directory_root", inode->directory_root);
	dump_number(dump, "entry_count", inode->entry_count);
	dump_number(dump, "next_cookie", inode->next_cookie);
	dump_hex(dump, "stream_root", inode->stream_root);
	dump_number(dump, "stream_count", inode->stream_count);
	dump_hex(dump, "ea_root", inode->ea_root);
	dump_number(dump, "ea_count", inode->ea_count);
	dump_number(dump, "ea_size", inode->ea_size);
	show_items(dump, inode);
	dump_end(dump, '}');
	return NV_OK;
}

static void show_extent(struct dump *dump, const struct nv_disk_extent *extent)
{
	dump_begin(dump, NULL, '{');
	dump_number(dump, "logical", extent->logical);
	dump_number(dump, "length", extent->length & NV_EXTENT_LENGTH);
	dump_number(dump, "block", extent->block);
	if ((extent->length & NV_EXTENT_UNWRITTEN) != 0) {
		dump_number(dump, "unwritten", 1);
	}
	dump_end(dump, '}');
}

static enum nv_status show_extent_node(struct dump *dump, uint64_t page,
				       uint32_t depth)
{
	struct nv_disk_extent_node node;
	enum nv_status status;
	uint32_t i;

	if (depth > 8) {
		return NV_ERR_CORRUPT;
	}
	status = dump_page(dump, page, &node, NULL);
	if (status != NV_OK) {
		return status;
	}
	if (node.header.magic != NV_PAGE_MAGIC ||
	    node.header.kind != NV_KIND_EXTENTS ||
	    node.header.count > NV_EXTENT_FANOUT) {
		return NV_ERR_CORRUPT;
	}
	for (i = 0; i < node.header.count; i++) {
		if (node.header.level == 0) {
			show_extent(dump, &node.extent[i]);
			continue;
		}
		status = show_extent_node(dump, node.child[i].page, depth + 1);
		if (status != NV_OK) {
			return status;
		}
	}
	return NV_OK;
}

enum nv_status dump_show_extents(struct dump *dump, uint64_t ino)
{
	union inode_buffer buffer = {{0}};
	const uint8_t *list = NULL;
	enum nv_status status;
	uint32_t length = 0;
	uint32_t i;

	status = dump_inode(dump, ino, &buffer.inode);
	if (status != NV_OK) {
		return status;
	}
	dump_begin(dump, NULL, '[');
	if (buffer.inode.data_form == NV_DATA_TREE) {
		status = show_extent_node(dump, buffer.inode.data_root, 0);
	} else if (buffer.inode.data_form == NV_DATA_EXTENTS) {
		list = nv_item_find(&buffer.inode, dump->super.inode_size,
				    NV_ITEM_EXTENTS, &length);
		for (i = 0; list != NULL &&
		     (i + 1) * sizeof(struct nv_disk_extent) <= length; i++) {
			struct nv_disk_extent extent;

			memcpy(&extent, list + i * sizeof(extent),
			       sizeof(extent));
			show_extent(dump, &extent);
		}
	}
	dump_end(dump, ']');
	return status;
}

/* One record of at most room bytes; how many it has, 0: malformed. */
static uint32_t show_name(struct dump *dump, const uint8_t *bytes,
			  uint32_t room, bool streams)
{
	struct nv_disk_name name;
	uint32_t length;

	if (room < sizeof(name)) {
		return 0;
	}
	memcpy(&name, bytes, sizeof(name));
	length = (uint32_t)sizeof(name) + name.key_length * 2U +
		name.payload_length;
	if (length > room) {
		return 0;
	}
	bytes += sizeof(name);
	if ((name.flags & NV_NAME_ALIAS) == 0) {
		dump_begin(dump, NULL, '{');
		dump_units(dump, "name", bytes, name.key_length);
		dump_hex(dump, "file_id", name.value);
		dump_number(dump, "number", name.cookie);
		if (!streams && name.payload_length > 0) {
			dump_units(dump, "short_name",
				   bytes + name.key_length * 2U,
				   name.payload_length / 2U);
		}
		dump_end(dump, '}');
	}
	return (length + 7U) & ~7U;
}

static enum nv_status show_name_node(struct dump *dump, uint64_t page,
				     uint32_t depth, bool streams)
{
	union {
		struct nv_disk_name_node node;
		uint8_t bytes[NV_BLOCK_SIZE];
	} buffer;
	const uint32_t slots = sizeof(buffer.node.slot) /
		sizeof(buffer.node.slot[0]);
	enum nv_status status;
	uint32_t i;

	if (depth > NV_NAME_DEPTH_MAX) {
		return NV_ERR_CORRUPT;
	}
	status = dump_page(dump, page, &buffer, NULL);
	if (status != NV_OK) {
		return status;
	}
	if (buffer.node.header.magic != NV_PAGE_MAGIC ||
	    buffer.node.header.count > slots) {
		return NV_ERR_CORRUPT;
	}
	for (i = 0; i < buffer.node.header.count; i++) {
		uint32_t offset = buffer.node.slot[i];
		struct nv_disk_name child;

		if (offset + sizeof(child) > NV_BLOCK_SIZE) {
			return NV_ERR_CORRUPT;
		}
		memcpy(&child, buffer.bytes + offset, sizeof(child));
		if (buffer.node.header.level > 0) {
			status = show_name_node(dump, child.value, depth + 1,
						streams);
			if (status != NV_OK) {
				return status;
			}
		} else if (show_name(dump, buffer.bytes + offset,
				     NV_BLOCK_SIZE - offset, streams) == 0) {
			return NV_ERR_CORRUPT;
		}
	}
	return NV_OK;
}

enum nv_status dump_show_names(struct dump *dump, uint64_t ino, bool streams)
{
	union inode_buffer buffer = {{0}};
	const uint8_t *list = NULL;
	enum nv_status status;
	uint32_t length = 0;
	uint32_t at = 0;
	uint64_t root;

	status = dump_inode(dump, ino, &buffer.inode);
	if (status != NV_OK) {
		return status;
	}
	if (!streams && buffer.inode.type != NV_TYPE_DIRECTORY) {
		return NV_ERR_NOT_DIRECTORY;
	}
	root = streams ? buffer.inode.stream_root :
		buffer.inode.directory_root;
	dump_begin(dump, NULL, '[');
	if (root != NV_PAGE_NONE) {
		status = show_name_node(dump, root, 0, streams);
	} else {
		list = nv_item_find(&buffer.inode, dump->super.inode_size,
				    streams ? NV_ITEM_STREAMS : NV_ITEM_NAMES,
				    &length);
		while (list != NULL && at < length) {
			uint32_t step = show_name(dump, list + at,
						  length - at, streams);

			if (step == 0) {
				status = NV_ERR_CORRUPT;
				break;
			}
			at += step;
		}
	}
	dump_end(dump, ']');
	return status;
}
