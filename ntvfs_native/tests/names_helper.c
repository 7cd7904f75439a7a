/*
 * What the tests of names share.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <stdio.h>
#include "directory.h"
#include "names_helper.h"

const struct nv_name *test_name(struct test_name *made, const char *text)
{
	uint32_t length = 0;

	for (; text[length] != '\0' && length < NV_NAME_MAX; length++) {
		made->units[length] = (uint8_t)text[length];
	}
	made->units[length] = 0;
	made->name.units = made->units;
	made->name.length = length;
	return &made->name;
}

const char *test_text(const uint16_t *units, uint32_t length)
{
	static char buffers[4][NV_NAME_MAX + 1];
	static uint32_t next;
	char *text = buffers[next];
	uint32_t i;

	next = (next + 1) % 4;
	for (i = 0; i < length && i < NV_NAME_MAX; i++) {
		text[i] = units[i] < 0x7f ? (char)units[i] : '?';
	}
	text[i] = '\0';
	return text;
}

nv_file_id test_root(struct nv_volume *volume)
{
	struct nv_volume_statistics statistics;

	assert_ok(nv_volume_statistics(volume, &statistics));
	return statistics.root_directory;
}

enum nv_status test_create(struct nv_volume *volume, nv_file_id directory,
			   const char *name, uint32_t type, nv_file_id *id)
{
	struct nv_create_params params = {.type = type};
	struct test_name made;

	params.name = *test_name(&made, name);
	return nv_create(volume, directory, &params, id);
}

nv_file_id test_lookup(struct nv_volume *volume, nv_file_id directory,
		       const char *name)
{
	struct nv_found found;
	struct test_name made;
	enum nv_status status;

	status = nv_lookup(volume, directory, test_name(&made, name), &found);
	if (status == NV_ERR_NOT_FOUND) {
		return 0;
	}
	assert_ok(status);
	return found.id;
}

enum nv_status test_unlink(struct nv_volume *volume, nv_file_id directory,
			   const char *name)
{
	struct test_name made;

	return nv_unlink(volume, directory, test_name(&made, name), 0, 0);
}

/* ---- soundness ---- */

struct walk {
	struct nv_volume *volume;
	struct nv_names names;
	uint64_t records;
	uint64_t entries;
	uint64_t aliases;
	struct nv_key last;		/* of the record before */
};

static void check_record(struct walk *walk, const struct nv_disk_name *name)
{
	const struct nv_name_order *order = &walk->names.tree.order;
	struct nv_found found;
	struct nv_key other;

	assert_true(name->key_length > 0);
	if (walk->records > 0 &&
	    nv_key_compare(&walk->last, order, nv_name_key(name),
			   name->key_length) >= 0) {
		fail_msg("records out of order at \"%s\"",
			 test_text(nv_name_key(name), name->key_length));
	}
	nv_key_set(&walk->last, order, nv_name_key(name), name->key_length);
	walk->records++;
	if (walk->names.tree.kind != NV_KIND_DIRECTORY) {
		return;
	}
	if ((name->flags & NV_NAME_ALIAS) == 0) {
		walk->entries++;
		if (name->payload_length == 0) {
			return;
		}
	} else {
		walk->aliases++;
	}
	/* The other name of the pair leads to the same. */
	nv_key_set(&other, order, (const uint16_t *)nv_name_payload(name),
		   name->payload_length / 2U);
	assert_ok(nv_directory_find(&walk->names, &other, &found));
	assert_true(found.id == name->value);
	assert_true(found.cookie == name->cookie);
	assert_true(found.short_length > 0);
}

static void walk_node(struct walk *walk, uint64_t page, uint32_t level,
		      const struct nv_disk_name *bound)
{
	const struct nv_name_tree *tree = &walk->names.tree;
	const struct nv_disk_name_node *node = NULL;
	const void *content = NULL;
	const char *problem = "";
	struct nv_key key;
	uint32_t i;

	assert_ok(nv_node_read(walk->volume, page, tree->kind, tree->owner,
			       &content));
	node = content;
	if (!nv_name_node_valid(node, &tree->order, &problem)) {
		fail_msg("page 0x%llx: %s", (unsigned long long)page,
			 problem);
	}
	assert_int_equal(node->header.level, level);
	for (i = 0; i < node->header.count; i++) {
		const struct nv_disk_name *name = nv_name_node_at(node, i);

		if (bound != NULL && name->key_length > 0) {
			nv_key_set(&key, &tree->order, nv_name_key(name),
				   name->key_length);
			assert_true(nv_key_compare(&key, &tree->order,
						   nv_name_key(bound),
						   bound->key_length) >= 0);
		}
		if (level == 0) {
			check_record(walk, name);
			continue;
		}
		if (name->key_length > 0 && walk->records > 0) {
			/* Above all that is left of it. */
			assert_true(nv_key_compare(&walk->last, &tree->order,
						   nv_name_key(name),
						   name->key_length) < 0);
		}
		walk_node(walk, name->value, level - 1,
			  name->key_length > 0 ? name : bound);
	}
}

uint64_t test_index_sound(struct nv_volume *volume, nv_file_id id,
			  uint32_t kind, uint32_t *depth)
{
	const struct nv_disk_inode *found = NULL;
	struct nv_disk_inode *inode = test_malloc(NV_MAX_INODE_SIZE);
	const struct nv_disk_name_node *root = NULL;
	struct walk walk = {.volume = volume};
	const uint8_t *bytes = NULL;
	const void *content = NULL;
	struct nv_reader reader;
	uint32_t length = 0;
	uint32_t offset = 0;
	enum nv_status status;

	assert_ok(nv_read_begin(volume, NV_FILE_INO(id), &reader));
	do {
		status = nv_inode_read(volume, id, &found);
		if (status == NV_OK) {
			memcpy(inode, found, nv_inode_size(volume));
		}
	} while (nv_read_again(&reader));
	assert_ok(status);
	nv_names_open(&walk.names, volume, inode, kind);
	if (depth != NULL) {
		*depth = 0;
	}
	if (walk.names.tree.root != NV_PAGE_NONE) {
		assert_ok(nv_node_read(volume, walk.names.tree.root, kind, id,
				       &content));
		root = content;
		if (depth != NULL) {
			*depth = root->header.level + 1U;
		}
		walk_node(&walk, walk.names.tree.root, root->header.level,
			  NULL);
	} else if (walk.names.item != 0) {
		bytes = nv_item_find(inode, nv_inode_size(volume),
				     walk.names.item, &length);
	}
	while (bytes != NULL && offset < length) {
		struct nv_name_record record;
		uint32_t used = 0;

		assert_true(nv_name_record_get(&record, bytes + offset,
					       length - offset, &used));
		check_record(&walk, &record.name);
		offset += used;
	}
	if (kind == NV_KIND_DIRECTORY) {
		assert_true(inode->entry_count == walk.entries);
		assert_true(walk.records == walk.entries + walk.aliases);
	} else if (kind == NV_KIND_STREAMS) {
		assert_true(inode->stream_count == walk.records);
	}
	test_free(inode);
	return walk.records;
}

static void tell_finding(void *private_data, const char *name,
			 const char *text)
{
	print_error("# check: %s: %s\n", name, text);
}

void test_check(const struct test_place *place)
{
	struct nv_check_params params = {.finding = tell_finding};
	struct nv_io *io = NULL;
	uint64_t findings = 0;

	assert_int_equal(nv_io_open(place->image, true, &io), 0);
	assert_ok(nv_check(io, &params, &findings));
	io->ops->close(io);
	assert_int_equal(findings, 0);
}

uint32_t test_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) +
		UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}
