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

/* A file with data in each form. */
static nv_file_id make_file(struct nv_volume *volume, uint64_t bytes,
			    bool scattered)
{
	nv_file_id id = test_object(volume, NV_FILE);
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
};

static void make_volume(const struct test_place *place, uint32_t inode_size,
			struct made *made)
{
	struct nv_volume *volume = NULL;

	test_format(place, MEBIBYTES, inode_size);
	volume = test_attach(place);
	made->small = make_file(volume, 20, false);
	made->listed = make_file(volume, 3 * NV_BLOCK_SIZE, false);
	made->tree = make_file(volume, 300 * NV_BLOCK_SIZE, true);
	made->gone = make_file(volume, 5 * NV_BLOCK_SIZE, true);
	assert_ok(test_unname(volume, made->gone));
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

	node->entry[200].block = image_root(image)->total_blocks;
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

	return (void *)((uint8_t *)inode + inode->fixed_size);
}

static void damage_item_length(const struct image *image,
			       const struct made *made)
{
	first_item(image, made->small)->length = 0xfff0;
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

static const struct damage damages[] = {
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sound_volumes),
		cmocka_unit_test(test_names_and_invariants),
		cmocka_unit_test(test_no_volume),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
