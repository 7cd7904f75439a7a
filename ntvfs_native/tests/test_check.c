/*
 * The checker: silent about sound volumes, and for each kind of damage it says
 * the name of that damage.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "check.h"
#include "format_names.h"
#include "helper.h"
#include "image.h"

#define MEBIBYTES 8

struct found {
	uint64_t count;
	bool seen[NV_FINDINGS];
	char first[600];
};

static void note(void *private_data, const char *name, const char *text)
{
	struct found *found = private_data;
	uint32_t i;

	if (found->count == 0) {
		snprintf(found->first, sizeof(found->first), "%s: %s", name,
			 text);
	}
	found->count++;
	for (i = 0; i < NV_FINDINGS; i++) {
		if (strcmp(name, nv_finding_name(i)) == 0) {
			found->seen[i] = true;
			return;
		}
	}
	fail_msg("a finding without a name: %s", name);
}

static enum nv_status run_check(const struct test_place *place,
				struct found *found)
{
	struct nv_check_params params = {
		.finding = note,
		.private_data = found,
	};
	uint64_t findings = 0;
	struct nv_io *io = NULL;
	enum nv_status status;

	memset(found, 0, sizeof(*found));
	assert_int_equal(nv_io_open(place->image, true, &io), 0);
	status = nv_check(io, &params, &findings);
	io->ops->close(io);
	if (status == NV_OK) {
		assert_true(findings == found->count);
	}
	return status;
}

static void assert_clean(const struct test_place *place)
{
	struct found found;

	assert_ok(run_check(place, &found));
	if (found.count > 0) {
		print_error("%s\n", found.first);
	}
	assert_true(found.count == 0);
}

static nv_file_id root_of(struct nv_volume *volume)
{
	struct nv_volume_statistics statistics;

	assert_ok(nv_volume_statistics(volume, &statistics));
	return statistics.root_directory;
}

static void name_set(struct nv_name *name, uint16_t *units, const char *text)
{
	name->units = units;
	for (name->length = 0; text[name->length] != 0; name->length++) {
		units[name->length] = (uint8_t)text[name->length];
	}
}

static nv_file_id make(struct nv_volume *volume, nv_file_id directory,
		       const char *text, const char *short_text,
		       uint32_t type)
{
	static const uint8_t sd[32] = {1};
	struct nv_ea ea = {.name = "EA", .value = "12345", .length = 5};
	struct nv_create_params params = {
		.type = type,
		.sd = sd,
		.sd_length = sizeof(sd),
		.ea = &ea,
		.ea_count = 1,
	};
	uint16_t units[64];
	uint16_t short_units[12];
	nv_file_id id = 0;

	name_set(&params.name, units, text);
	name_set(&params.short_name, short_units, short_text);
	assert_ok(nv_create(volume, directory, &params, &id));
	return id;
}

/* A file with data in each form. */
static nv_file_id make_file(struct nv_volume *volume, const char *name,
			    uint64_t bytes, bool scattered)
{
	nv_file_id id = make(volume, root_of(volume), name, "", NV_FILE);
	uint8_t buffer[NV_BLOCK_SIZE];
	uint64_t at;

	memset(buffer, 0x5a, sizeof(buffer));
	if (bytes < sizeof(buffer)) {
		assert_ok(nv_write(volume, id, 0, buffer, bytes, 1));
		return id;
	}
	for (at = 0; at < bytes; at += sizeof(buffer)) {
		assert_ok(nv_write(volume, id, scattered ? at * 2 : at,
				   buffer, sizeof(buffer), 1));
	}
	return id;
}

struct made {
	nv_file_id small, listed, tree, gone;
	nv_file_id few, many, inner;	/* directories */
	nv_file_id stream;
};

/* Everything a checker can meet. */
static void make_volume(const struct test_place *place, uint32_t inode_size,
			struct made *made)
{
	struct nv_volume *volume = NULL;
	uint8_t long_value[9000] = {1};
	struct nv_ea ea[2] = {
		{.name = "long", .value = long_value, .length = 9000},
		{.name = "middle", .value = long_value, .length = 400},
	};
	struct nv_name name;
	uint16_t units[64];
	char text[32];
	bool created;
	uint32_t i;

	test_format(place, MEBIBYTES, inode_size);
	volume = test_attach(place);
	made->small = make_file(volume, "small", 20, false);
	made->listed = make_file(volume, "listed", 3 * NV_BLOCK_SIZE, false);
	made->tree = make_file(volume, "tree", 300 * NV_BLOCK_SIZE, true);
	made->gone = make_file(volume, "gone", 5 * NV_BLOCK_SIZE, true);
	name_set(&name, units, "gone");
	assert_ok(nv_unlink(volume, root_of(volume), &name, made->gone, 1));

	made->few = make(volume, root_of(volume), "few", "FEW~1",
			 NV_DIRECTORY);
	made->inner = make(volume, made->few, "inner", "", NV_DIRECTORY);
	made->many = make(volume, root_of(volume), "many", "", NV_DIRECTORY);
	for (i = 0; i < 300; i++) {
		char short_text[13];

		snprintf(text, sizeof(text), "file number %u", i);
		snprintf(short_text, sizeof(short_text), "FILE~%u", i);
		make(volume, made->many, text, short_text, NV_FILE);
	}
	for (i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "stream %u", i);
		name_set(&name, units, text);
		assert_ok(nv_stream_open(volume, made->listed, &name, true,
					 true, &made->stream, &created));
	}
	assert_ok(nv_ea_set(volume, made->listed, ea, 2));
	assert_ok(nv_sd_set(volume, made->tree, long_value, 9000));
	assert_ok(nv_reparse_set(volume, made->tree, 0xa0000003, long_value,
				 9000));
	test_detach(volume);
}

static void test_sound_volumes(void **state)
{
	static const uint32_t sizes[] = {256, 512, 1024, 2048, 4096};
	struct made made;
	uint32_t i;

	for (i = 0; i < 5; i++) {
		struct test_place place;

		test_place_make(&place);
		make_volume(&place, sizes[i], &made);
		assert_clean(&place);
		test_place_remove(&place);
	}
}

static void test_names_and_invariants(void **state)
{
	uint32_t i;
	uint32_t k;

	for (i = 0; i < NV_FINDINGS; i++) {
		assert_non_null(nv_finding_name(i));
		assert_non_null(nv_finding_meaning(i));
		assert_true(nv_finding_invariant(i) <= 17);
		for (k = 0; k < i; k++) {
			assert_string_not_equal(nv_finding_name(i),
						nv_finding_name(k));
		}
	}
}

static void test_no_volume(void **state)
{
	struct test_place place;
	struct found found;
	struct nv_io *io = NULL;

	test_place_make(&place);
	assert_int_equal(nv_io_create(place.image, 8 << 20, &io), 0);
	io->ops->close(io);
	assert_status(run_check(&place, &found), NV_ERR_NOT_A_VOLUME);
	assert_int_equal(truncate(place.image, 100), 0);
	assert_status(run_check(&place, &found), NV_ERR_NOT_A_VOLUME);
	test_place_remove(&place);
}

/* ---- damage ---- */

struct damage {
	const char *name;
	enum nv_finding expected;
	void (*apply)(const struct image *image, const struct made *made);
	bool keep_checksums;	/* do not make them right again */
};

static void damage_super(const struct image *image, const struct made *made)
{
	((struct nv_disk_super *)image->bytes)->creation_time ^= 4;
}

static void damage_super_reserved(const struct image *image,
				  const struct made *made)
{
	((struct nv_disk_super *)image->bytes)->reserved[7] = 1;
}

static void damage_roots(const struct image *image, const struct made *made)
{
	image->bytes[(NV_ROOT_BLOCK_0 << NV_BLOCK_SHIFT) + 20] ^= 1;
	image->bytes[(NV_ROOT_BLOCK_1 << NV_BLOCK_SHIFT) + 20] ^= 1;
}

static void damage_root_count(const struct image *image,
			      const struct made *made)
{
	image_root(image)->data_blocks++;
}

static void damage_root_inodes(const struct image *image,
			       const struct made *made)
{
	image_root(image)->inodes--;
}

static void damage_root_blocks(const struct image *image,
			       const struct made *made)
{
	image_root(image)->total_blocks += 1;
}

static void damage_root_height(const struct image *image,
			       const struct made *made)
{
	image_root(image)->map[NV_REGION_NODES].height = 5;
}

static void damage_map_node(const struct image *image,
			    const struct made *made)
{
	uint64_t block = image_root(image)->map[NV_REGION_INODES].block;

	image->bytes[block << NV_BLOCK_SHIFT] ^= 1;
}

static void damage_map_place(const struct image *image,
			     const struct made *made)
{
	uint64_t block = image_root(image)->map[NV_REGION_INODES].block;
	struct nv_disk_map_node *node = (void *)
		(image->bytes + (block << NV_BLOCK_SHIFT));

	node->entry[NV_ROOT_INO / 8].block = image_root(image)->total_blocks;
}

static void damage_block_twice(const struct image *image,
			       const struct made *made)
{
	uint64_t block = image_root(image)->map[NV_REGION_INODES].block;
	struct nv_disk_map_node *node = (void *)
		(image->bytes + (block << NV_BLOCK_SHIFT));

	node->entry[200] = node->entry[NV_ROOT_INO / 8];
}

static void damage_page(const struct image *image, const struct made *made)
{
	uint8_t *page = image_page(image, NV_PAGE(NV_REGION_INODES,
						  NV_ROOT_INO / 8));

	page[0] ^= 1;
}

static void damage_upcase(const struct image *image, const struct made *made)
{
	uint16_t *page = image_page(image, NV_PAGE(NV_REGION_SYSTEM, 0));

	page['B'] = 'x';
}

static void damage_block_bitmap(const struct image *image, bool set)
{
	uint8_t *page = image_page(image, NV_PAGE(NV_REGION_BLOCK_BITMAP, 0));
	uint32_t i;

	/* The first byte that has a bit that can be changed so. */
	for (i = 2; page[i] == (set ? 0xff : 0); i++) {
	}
	if (set) {
		page[i] |= (uint8_t)(page[i] + 1);
	} else {
		page[i] &= (uint8_t)(page[i] - 1);
	}
}

static void damage_bit_extra(const struct image *image,
			     const struct made *made)
{
	damage_block_bitmap(image, true);
}

static void damage_bit_missing(const struct image *image,
			       const struct made *made)
{
	damage_block_bitmap(image, false);
}

static void damage_inode_bit(const struct image *image,
			     const struct made *made)
{
	uint8_t *page = image_page(image, NV_PAGE(NV_REGION_INODE_BITMAP, 0));

	page[NV_FILE_INO(made->small) / 8] ^=
		(uint8_t)(1U << (NV_FILE_INO(made->small) % 8));
}

static void damage_orphan_flag(const struct image *image,
			       const struct made *made)
{
	image_inode(image, NV_FILE_INO(made->small))->flags |=
		NV_INODE_ORPHAN;
}

static struct nv_disk_inode *inode_of(const struct image *image,
				      nv_file_id id)
{
	return image_inode(image, NV_FILE_INO(id));
}

static void damage_magic(const struct image *image, const struct made *made)
{
	inode_of(image, made->small)->magic++;
}

static void damage_type(const struct image *image, const struct made *made)
{
	inode_of(image, made->small)->type = 77;
}

static void damage_fixed_size(const struct image *image,
			      const struct made *made)
{
	inode_of(image, made->small)->fixed_size = 60000;
}

static void damage_id(const struct image *image, const struct made *made)
{
	inode_of(image, made->small)->file_id++;
}

static void damage_inline_size(const struct image *image,
			       const struct made *made)
{
	inode_of(image, made->small)->size++;
}

static void damage_form(const struct image *image, const struct made *made)
{
	inode_of(image, made->small)->data_form = NV_DATA_EXTENTS;
}

static struct nv_disk_item *first_item(const struct image *image,
				       nv_file_id id)
{
	struct nv_disk_inode *inode = inode_of(image, id);

	struct nv_disk_item *item = (void *)((uint8_t *)inode +
					     inode->fixed_size);

	/* Behind the EA that all have. */
	if (item->kind == NV_ITEM_EA) {
		item = (void *)((uint8_t *)(item + 1) +
				((item->length + 7U) & ~7U));
	}
	return item;
}

static void damage_item_length(const struct image *image,
			       const struct made *made)
{
	first_item(image, made->small)->length = 0xfff0;
}

static void damage_behind_items(const struct image *image,
				const struct made *made)
{
	struct nv_disk_inode *inode = inode_of(image, made->small);

	((uint8_t *)inode)[511] = 1;
}

static void damage_item_kind(const struct image *image,
			     const struct made *made)
{
	first_item(image, made->small)->kind = 99;
}

static struct nv_disk_extent *listed_extent(const struct image *image,
					    const struct made *made)
{
	return (void *)(first_item(image, made->listed) + 1);
}

static void damage_extent_block(const struct image *image,
				const struct made *made)
{
	listed_extent(image, made)->block = UINT64_C(1) << 60;
}

static void damage_extent_length(const struct image *image,
				 const struct made *made)
{
	listed_extent(image, made)->length |= NV_EXTENT_LENGTH;
}

static void damage_extent_shared(const struct image *image,
				 const struct made *made)
{
	listed_extent(image, made)->length |= NV_EXTENT_SHARED;
}

static void damage_extent_metadata(const struct image *image,
				   const struct made *made)
{
	listed_extent(image, made)->block =
		image_root(image)->map[NV_REGION_INODES].block;
}

static void damage_extent_count(const struct image *image,
				const struct made *made)
{
	inode_of(image, made->listed)->extent_count++;
}

static void damage_allocation(const struct image *image,
			      const struct made *made)
{
	inode_of(image, made->listed)->allocation += NV_BLOCK_SIZE;
}

static struct nv_disk_extent_node *tree_root(const struct image *image,
					     const struct made *made)
{
	return image_page(image, inode_of(image, made->tree)->data_root);
}

static struct nv_disk_extent_node *tree_leaf(const struct image *image,
					     const struct made *made)
{
	struct nv_disk_extent_node *node = tree_root(image, made);

	while (node->header.level > 0) {
		node = image_page(image, node->child[0].page);
	}
	return node;
}

static void damage_leaf_order(const struct image *image,
			      const struct made *made)
{
	struct nv_disk_extent_node *leaf = tree_leaf(image, made);
	struct nv_disk_extent first = leaf->extent[0];

	leaf->extent[0] = leaf->extent[1];
	leaf->extent[1] = first;
}

static void damage_leaf_count(const struct image *image,
			      const struct made *made)
{
	tree_leaf(image, made)->header.count = 60000;
}

static void damage_tree_level(const struct image *image,
			      const struct made *made)
{
	tree_root(image, made)->header.level = 200;
}

static void damage_page_magic(const struct image *image,
			      const struct made *made)
{
	tree_leaf(image, made)->header.magic = 0;
}

static void damage_page_owner(const struct image *image,
			      const struct made *made)
{
	tree_leaf(image, made)->header.owner = made->listed;
}

static void damage_page_reference(const struct image *image,
				  const struct made *made)
{
	inode_of(image, made->tree)->data_root = NV_PAGE(NV_REGION_NODES,
							 999999);
}

static void damage_page_lost(const struct image *image,
			     const struct made *made)
{
	struct nv_disk_inode *inode = inode_of(image, made->tree);

	inode->data_root = NV_PAGE_NONE;
	inode->data_form = NV_DATA_NONE;
	inode->extent_count = 0;
	inode->allocation = 0;
}

static void damage_page_twice(const struct image *image,
			      const struct made *made)
{
	struct nv_disk_extent_node *root = tree_root(image, made);

	assert_true(root->header.level > 0);
	root->child[1].page = root->child[0].page;
}

/* The first leaf of a tree of names. */
static struct nv_disk_name_node *name_leaf(const struct image *image,
					   uint64_t page)
{
	struct nv_disk_name_node *node = image_page(image, page);

	while (node->header.level > 0) {
		const struct nv_disk_name *name = (const void *)
			((const uint8_t *)node + node->slot[0]);

		node = image_page(image, name->value);
	}
	return node;
}

static struct nv_disk_name *record_of(struct nv_disk_name_node *node,
				      uint32_t i)
{
	return (void *)((uint8_t *)node + node->slot[i]);
}

static struct nv_disk_name_node *many_leaf(const struct image *image,
					   const struct made *made)
{
	return name_leaf(image, inode_of(image, made->many)->directory_root);
}

static void damage_name_order(const struct image *image,
			      const struct made *made)
{
	struct nv_disk_name_node *leaf = many_leaf(image, made);
	uint16_t slot = leaf->slot[0];

	leaf->slot[0] = leaf->slot[1];
	leaf->slot[1] = slot;
}

static void damage_name_slot(const struct image *image,
			     const struct made *made)
{
	many_leaf(image, made)->slot[0] = 4090;
}

static void damage_name_twice(const struct image *image,
			      const struct made *made)
{
	struct nv_disk_name_node *leaf = many_leaf(image, made);

	leaf->slot[1] = leaf->slot[0];
}

static void damage_name_value(const struct image *image,
			      const struct made *made)
{
	record_of(many_leaf(image, made), 0)->value = NV_FILE_ID(99999, 1);
}

static void damage_name_unit(const struct image *image,
			     const struct made *made)
{
	struct nv_disk_name *name = record_of(many_leaf(image, made), 0);

	((uint16_t *)(name + 1))[2] = '/';
}

static void damage_cookie(const struct image *image, const struct made *made)
{
	struct nv_disk_name_node *leaf = many_leaf(image, made);
	uint32_t first = 0;
	uint32_t i;

	/* Two long names, not a long and a short one. */
	while ((record_of(leaf, first)->flags & NV_NAME_ALIAS) != 0) {
		first++;
	}
	for (i = first + 1; (record_of(leaf, i)->flags & NV_NAME_ALIAS) != 0;
	     i++) {
	}
	record_of(leaf, i)->cookie = record_of(leaf, first)->cookie;
}

static void damage_alias(const struct image *image, const struct made *made)
{
	struct nv_disk_name_node *node = image_page(
		image, inode_of(image, made->many)->directory_root);

	/* All "FILE~..." are behind all "file number...". */
	while (node->header.level > 0) {
		node = image_page(image, record_of(
			node, node->header.count - 1U)->value);
	}
	assert_true((record_of(node, 0)->flags & NV_NAME_ALIAS) != 0);
	record_of(node, 0)->cookie++;
}

static void damage_entry_count(const struct image *image,
			       const struct made *made)
{
	inode_of(image, made->few)->entry_count++;
}

static void damage_nlink(const struct image *image, const struct made *made)
{
	inode_of(image, made->small)->nlink = 2;
}

static void damage_no_orphan(const struct image *image,
			     const struct made *made)
{
	inode_of(image, made->small)->nlink = 0;
}

static void damage_parent(const struct image *image, const struct made *made)
{
	inode_of(image, made->inner)->parent_id = made->many;
}

static void damage_loop(const struct image *image, const struct made *made)
{
	/* few and inner are each other's parents. */
	inode_of(image, made->few)->parent_id = made->inner;
}

static void damage_stream(const struct image *image, const struct made *made)
{
	inode_of(image, made->stream)->parent_id = made->small;
}

static void damage_stream_count(const struct image *image,
				const struct made *made)
{
	inode_of(image, made->listed)->stream_count--;
}

static void damage_ea_count(const struct image *image,
			    const struct made *made)
{
	inode_of(image, made->listed)->ea_count++;
}

static void damage_ea_length(const struct image *image,
			     const struct made *made)
{
	struct nv_disk_name_node *leaf = name_leaf(
		image, inode_of(image, made->listed)->ea_root);

	record_of(leaf, 0)->cookie += 1;
}

static struct nv_disk_sd_head *sd_head(const struct image *image)
{
	return image_page(image, NV_PAGE(NV_REGION_SYSTEM,
					 NV_SYSTEM_SD_HEAD));
}

static void damage_sd_id(const struct image *image, const struct made *made)
{
	inode_of(image, made->small)->sd_id = 4711;
}

static void damage_sd_count(const struct image *image,
			    const struct made *made)
{
	sd_head(image)->count++;
}

static void damage_sd_bytes(const struct image *image,
			    const struct made *made)
{
	struct nv_disk_name_node *leaf = name_leaf(image,
						   sd_head(image)->by_id);
	struct nv_disk_value_page *page = image_page(
		image, record_of(leaf, 0)->value);

	page->bytes[record_of(leaf, 0)->cookie >> 32] ^= 1;
}

static void damage_reparse(const struct image *image, const struct made *made)
{
	inode_of(image, made->tree)->reparse_tag = 0;
}

static const struct damage damages[] = {
	{"name order", NV_FINDING_DIRECTORY_ORDER, damage_name_order},
	{"name slot", NV_FINDING_DIRECTORY_TREE, damage_name_slot},
	{"name twice", NV_FINDING_DIRECTORY_TREE, damage_name_twice},
	{"name value", NV_FINDING_NAME_DANGLING, damage_name_value},
	{"name unit", NV_FINDING_DIRECTORY_ENTRY, damage_name_unit},
	{"cookie", NV_FINDING_DIRECTORY_COOKIE, damage_cookie},
	{"alias", NV_FINDING_SHORT_NAME, damage_alias},
	{"entry count", NV_FINDING_DIRECTORY_COUNT, damage_entry_count},
	{"link count", NV_FINDING_LINK_COUNT, damage_nlink},
	{"no orphan", NV_FINDING_ORPHAN, damage_no_orphan},
	{"parent", NV_FINDING_PARENT, damage_parent},
	{"loop", NV_FINDING_DIRECTORY_LOOP, damage_loop},
	{"stream", NV_FINDING_STREAM, damage_stream},
	{"stream count", NV_FINDING_STREAM_COUNT, damage_stream_count},
	{"EA count", NV_FINDING_EA, damage_ea_count},
	{"EA length", NV_FINDING_EA, damage_ea_length},
	{"SD id", NV_FINDING_SD_DANGLING, damage_sd_id},
	{"SD count", NV_FINDING_SD_COUNT, damage_sd_count},
	{"SD bytes", NV_FINDING_SD_STORE, damage_sd_bytes},
	{"reparse", NV_FINDING_REPARSE, damage_reparse},
	{"super", NV_FINDING_SUPER_DAMAGED, damage_super, true},
	{"super reserved", NV_FINDING_SUPER_FIELD, damage_super_reserved},
	{"roots", NV_FINDING_ROOT_NONE, damage_roots, true},
	{"root data blocks", NV_FINDING_ROOT_COUNT, damage_root_count},
	{"root inodes", NV_FINDING_ROOT_COUNT, damage_root_inodes},
	{"root blocks", NV_FINDING_IMAGE_SHORT, damage_root_blocks},
	{"root height", NV_FINDING_ROOT_FIELD, damage_root_height},
	{"map node", NV_FINDING_MAP_CHECKSUM, damage_map_node, true},
	{"map place", NV_FINDING_MAP_PLACE, damage_map_place},
	{"block twice", NV_FINDING_BLOCK_TWICE, damage_block_twice},
	{"page", NV_FINDING_PAGE_CHECKSUM, damage_page, true},
	{"upcase", NV_FINDING_SYSTEM_PAGE, damage_upcase},
	{"block bit extra", NV_FINDING_BLOCK_BIT_EXTRA, damage_bit_extra},
	{"block bit missing", NV_FINDING_BLOCK_BIT_MISSING,
	 damage_bit_missing},
	{"inode bit", NV_FINDING_INODE_BIT, damage_inode_bit},
	{"orphan flag", NV_FINDING_ORPHAN_BIT, damage_orphan_flag},
	{"inode magic", NV_FINDING_INODE_FIELD, damage_magic},
	{"inode type", NV_FINDING_INODE_FIELD, damage_type},
	{"inode fixed size", NV_FINDING_INODE_FIELD, damage_fixed_size},
	{"inode id", NV_FINDING_INODE_ID, damage_id},
	{"inline size", NV_FINDING_INODE_FIELD, damage_inline_size},
	{"data form", NV_FINDING_INODE_FIELD, damage_form},
	{"item length", NV_FINDING_ITEMS, damage_item_length},
	{"item kind", NV_FINDING_ITEMS, damage_item_kind},
	{"items behind", NV_FINDING_ITEMS, damage_behind_items},
	{"extent block", NV_FINDING_EXTENT_PLACE, damage_extent_block},
	{"extent length", NV_FINDING_EXTENT_PLACE, damage_extent_length},
	{"extent shared", NV_FINDING_EXTENT_PLACE, damage_extent_shared},
	{"extent in metadata", NV_FINDING_BLOCK_TWICE,
	 damage_extent_metadata},
	{"extent count", NV_FINDING_EXTENT_COUNT, damage_extent_count},
	{"allocation", NV_FINDING_ALLOCATION, damage_allocation},
	{"leaf order", NV_FINDING_EXTENT_ORDER, damage_leaf_order},
	{"leaf count", NV_FINDING_EXTENT_TREE, damage_leaf_count},
	{"tree level", NV_FINDING_EXTENT_TREE, damage_tree_level},
	{"page magic", NV_FINDING_PAGE_HEADER, damage_page_magic},
	{"page owner", NV_FINDING_PAGE_OWNER, damage_page_owner},
	{"page reference", NV_FINDING_PAGE_MISSING, damage_page_reference},
	{"page lost", NV_FINDING_PAGE_LOST, damage_page_lost},
	{"page twice", NV_FINDING_PAGE_TWICE, damage_page_twice},
};

static void map_image(const struct test_place *place, struct image *image)
{
	int fd = open(place->image, O_RDWR);

	assert_true(fd >= 0);
	image->size = MEBIBYTES << 20;
	image->bytes = mmap(NULL, image->size, PROT_READ | PROT_WRITE,
			    MAP_SHARED, fd, 0);
	assert_true(image->bytes != MAP_FAILED);
	close(fd);
}

static void test_damage(void **state)
{
	struct test_place place;
	struct image image;
	struct made made;
	uint8_t *sound = NULL;
	uint32_t i;

	test_place_make(&place);
	make_volume(&place, 512, &made);
	map_image(&place, &image);
	sound = malloc(image.size);
	assert_non_null(sound);
	memcpy(sound, image.bytes, image.size);

	for (i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		const struct damage *damage = &damages[i];
		struct nv_disk_root *root = image_root(&image);
		struct found found;

		damage->apply(&image, &made);
		if (!damage->keep_checksums) {
			image_reseal(&image, root);
		}
		assert_ok(run_check(&place, &found));
		if (!found.seen[damage->expected]) {
			fail_msg("damage \"%s\" is not told as %s, but: %s",
				 damage->name,
				 nv_finding_name(damage->expected),
				 found.count > 0 ? found.first : "nothing");
		}
		memcpy(image.bytes, sound, image.size);
	}
	assert_clean(&place);
	free(sound);
	munmap(image.bytes, image.size);
	test_place_remove(&place);
}

/* Damage that a repair mends, and what may not be touched. */
static const struct {
	const char *name;
	bool mended;
} repairs[] = {
	{"super", true},
	{"root data blocks", true},
	{"root inodes", true},
	{"block bit extra", true},
	{"block bit missing", true},
	{"inode bit", true},
	{"orphan flag", true},
	{"extent count", true},
	{"allocation", true},
	{"page lost", true},
	{"entry count", true},
	{"link count", true},
	{"stream count", true},
	{"SD count", true},
	{"page owner", false},
	{"extent in metadata", false},
	{"name value", false},
	{"items behind", false},
	{"page", false},
};

static const struct damage *damage_called(const char *name)
{
	uint32_t i;

	for (i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		if (strcmp(damages[i].name, name) == 0) {
			return &damages[i];
		}
	}
	return NULL;
}

static void run_repair(const struct test_place *place)
{
	struct nv_check_params params = {.repair = true};
	uint64_t findings = 0;
	struct nv_io *io = NULL;

	assert_int_equal(nv_io_open(place->image, false, &io), 0);
	assert_ok(nv_check(io, &params, &findings));
	io->ops->close(io);
	assert_true(findings > 0);
}

static void test_repair(void **state)
{
	struct test_place place;
	struct image image;
	struct made made;
	uint8_t *sound = NULL;
	uint8_t *damaged = NULL;
	uint32_t i;

	test_place_make(&place);
	make_volume(&place, 512, &made);
	map_image(&place, &image);
	sound = malloc(image.size);
	damaged = malloc(image.size);
	assert_non_null(sound);
	assert_non_null(damaged);
	memcpy(sound, image.bytes, image.size);

	for (i = 0; i < sizeof(repairs) / sizeof(repairs[0]); i++) {
		const struct damage *damage = damage_called(repairs[i].name);
		struct nv_disk_root *root = image_root(&image);
		struct found found;

		assert_non_null(damage);
		damage->apply(&image, &made);
		if (!damage->keep_checksums) {
			image_reseal(&image, root);
		}
		memcpy(damaged, image.bytes, image.size);
		run_repair(&place);
		assert_ok(run_check(&place, &found));
		if (repairs[i].mended && found.count > 0) {
			fail_msg("\"%s\" is not mended: %s", damage->name,
				 found.first);
		}
		if (!repairs[i].mended) {
			assert_true(found.seen[damage->expected]);
			assert_memory_equal(image.bytes, damaged, image.size);
		} else {
			/* And the engine agrees. */
			test_detach(test_attach(&place));
			assert_clean(&place);
		}
		memcpy(image.bytes, sound, image.size);
	}
	free(sound);
	free(damaged);
	munmap(image.bytes, image.size);
	test_place_remove(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_repair),
		cmocka_unit_test(test_sound_volumes),
		cmocka_unit_test(test_names_and_invariants),
		cmocka_unit_test(test_no_volume),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
