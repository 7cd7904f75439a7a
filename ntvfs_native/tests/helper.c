/*
 * What the engine's tests share.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "extent.h"
#include "helper.h"
#include "volume.h"

void test_assert_status(enum nv_status got, enum nv_status wanted,
			const char *text, const char *file, int line)
{
	if (got == wanted) {
		return;
	}
	print_error("%s:%d: %s\n  is \"%s\", not \"%s\"\n", file, line, text,
		    nv_status_string(got), nv_status_string(wanted));
	_fail(file, line);
}

void test_place_make(struct test_place *place)
{
	snprintf(place->directory, sizeof(place->directory),
		 "/dev/shm/ntvfs-test-XXXXXX");
	assert_non_null(mkdtemp(place->directory));
	snprintf(place->image, sizeof(place->image), "%s/image",
		 place->directory);
}

void test_place_remove(struct test_place *place)
{
	DIR *directory = opendir(place->directory);
	struct dirent *entry = NULL;

	if (directory == NULL) {
		return;
	}
	while ((entry = readdir(directory)) != NULL) {
		if (entry->d_name[0] != '.') {
			unlinkat(dirfd(directory), entry->d_name, 0);
		}
	}
	closedir(directory);
	rmdir(place->directory);
}

void test_format(const struct test_place *place, uint64_t mebibytes,
		 uint32_t inode_size)
{
	struct nv_format_params params = {
		.inode_size = inode_size,
		.segment_directory = place->directory,
	};
	struct nv_io *io = NULL;

	assert_int_equal(nv_io_create(place->image, mebibytes << 20, &io), 0);
	assert_ok(nv_volume_format(io, &params));
	io->ops->close(io);
}

static void say_withdrawn(void *private_data, const char *reason)
{
	print_message("# withdrawn: %s\n", reason);
}

enum nv_status test_try_attach(const struct test_place *place,
			       uint32_t flags, struct nv_volume **volume,
			       char *message)
{
	struct nv_attach_params params = {
		.flags = flags,
		.segment_directory = place->directory,
		.withdrawn = say_withdrawn,
	};
	struct nv_io *io = NULL;
	enum nv_status status;

	assert_int_equal(nv_io_open(place->image, false, &io), 0);
	status = nv_volume_attach(io, &params, volume, message);
	if (status != NV_OK) {
		io->ops->close(io);
	}
	return status;
}

struct nv_volume *test_attach(const struct test_place *place)
{
	struct nv_volume *volume = NULL;
	char message[NV_MESSAGE_SIZE] = "";
	enum nv_status status;

	status = test_try_attach(place, 0, &volume, message);
	if (status != NV_OK) {
		print_error("attach: %s\n", message);
	}
	assert_ok(status);
	return volume;
}

void test_detach(struct nv_volume *volume)
{
	assert_ok(nv_volume_detach(volume));
}

nv_file_id test_object(struct nv_volume *volume, uint32_t type)
{
	struct nv_disk_inode *inode = NULL;
	struct nv_operation operation;
	nv_file_id id = 0;
	uint64_t ino;

	assert_ok(nv_inode_reserve(volume, &id));
	ino = NV_FILE_INO(id);
	assert_ok(nv_operation_begin(volume, &operation, &ino, 1, 1, 0));
	assert_ok(nv_inode_new(&operation, id, type, &inode));
	inode->nlink = 1;
	nv_operation_end(&operation);
	return id;
}

enum nv_status test_unname(struct nv_volume *volume, nv_file_id id)
{
	struct nv_disk_inode *inode = NULL;
	struct nv_operation operation;
	uint64_t ino = NV_FILE_INO(id);
	enum nv_status status;
	bool held;

	status = nv_operation_begin(volume, &operation, &ino, 1, 1,
				    NV_OP_FREES);
	if (status != NV_OK) {
		return status;
	}
	status = nv_inode_modify(&operation, id, &inode);
	if (status == NV_OK) {
		inode->nlink = 0;
		inode->flags |= NV_INODE_ORPHAN;
		status = nv_bits_change(&operation, NV_BITMAP_ORPHANS, ino, 1,
					true);
	}
	held = nv_hold_test(volume, id);
	status = nv_operation_finish(&operation, status);
	if (status != NV_OK || held) {
		return status;
	}
	return nv_object_reclaim(volume, id);
}

static uint64_t check_extents(struct nv_volume *volume,
			      const struct nv_disk_inode *inode)
{
	struct nv_disk_extent extent;
	uint64_t logical = 0;
	uint64_t blocks = 0;
	uint32_t count = 0;
	enum nv_status status;

	while (logical < NV_MAX_FILE_BLOCKS) {
		status = nv_extent_seek(volume, inode, (uint32_t)logical,
					&extent);
		if (status == NV_ERR_NOT_FOUND) {
			break;
		}
		assert_ok(status);
		if (extent.logical < logical) {
			fail_msg("I14: extents overlap");
		}
		if (!nv_bits_all(volume, NV_BITMAP_BLOCKS, extent.block,
				 nv_extent_length(&extent), true)) {
			fail_msg("I6: inode %llu has a block that is not in "
				 "the bitmap", (unsigned long long)
				 NV_FILE_INO(inode->file_id));
		}
		blocks += nv_extent_length(&extent);
		logical = nv_extent_end(&extent);
		count++;
	}
	assert_int_equal(count, inode->extent_count);
	assert_true(inode->allocation == blocks << NV_BLOCK_SHIFT);
	return blocks;
}

static const struct nv_disk_inode *raw_inode(struct nv_volume *volume,
					     uint64_t ino)
{
	const void *content = NULL;
	enum nv_status status;

	status = nv_page_read(volume, NV_PAGE(NV_REGION_INODES,
					      ino / volume->inodes_per_page),
			      &content);
	if (status == NV_ERR_NOT_FOUND) {
		return NULL;
	}
	assert_ok(status);
	return (const void *)((const uint8_t *)content +
			      ino % volume->inodes_per_page *
			      volume->inode_size);
}

void test_sound(struct nv_volume *volume)
{
	struct nv_segment *segment = volume->segment;
	uint64_t inodes = volume->inodes_per_page *
		atomic_load(&segment->region_limit[NV_REGION_INODES]);
	uint64_t data = 0;
	uint64_t claimed;
	uint64_t ino;

	assert_int_equal(atomic_load(&segment->withdrawn), 0);
	/* The second commit heals, if the first one was only resumed. */
	assert_ok(nv_volume_commit(volume));
	assert_ok(nv_volume_commit(volume));
	claimed = nv_bits_count(volume, NV_CLAIMED_BLOCKS,
			     atomic_load(&segment->total_blocks));
	assert_int_equal(claimed, atomic_load(&segment->used_blocks));
	/* A heal finds blocks with two owners (I3), and lost claims. */
	atomic_store(&segment->heal_wanted, 1);
	assert_ok(nv_volume_commit(volume));
	assert_int_equal(atomic_load(&segment->heal_wanted), 0);
	if (atomic_load(&segment->used_blocks) != claimed) {
		fail_msg("I5: %llu blocks were claimed, %llu are",
			 (unsigned long long)claimed, (unsigned long long)
			 atomic_load(&segment->used_blocks));
	}

	for (ino = NV_FIRST_INO; ino < inodes; ino++) {
		const struct nv_disk_inode *inode = raw_inode(volume, ino);
		bool used = inode != NULL && inode->type != 0;
		bool orphan = used && (inode->flags & NV_INODE_ORPHAN) != 0;

		if (nv_bits_test(volume, NV_BITMAP_INODES, ino) != used) {
			fail_msg("I13: inode %llu and its bit differ",
				 (unsigned long long)ino);
		}
		if (nv_bits_test(volume, NV_BITMAP_ORPHANS, ino) != orphan) {
			fail_msg("I13: inode %llu and its orphan bit differ",
				 (unsigned long long)ino);
		}
		if (used) {
			assert_int_equal(NV_FILE_INO(inode->file_id), ino);
			assert_true(nv_items_valid(inode, volume->inode_size));
			data += check_extents(volume, inode);
		}
	}
	if (data != nv_bits_count(volume, NV_BITMAP_BLOCKS,
				  atomic_load(&segment->total_blocks))) {
		fail_msg("I6: the bitmap has blocks that no file has");
	}
}

void test_pattern(nv_file_id id, uint64_t seed, uint64_t offset, void *buffer,
		  size_t length)
{
	uint8_t *bytes = buffer;
	size_t i;

	for (i = 0; i < length; i++) {
		uint64_t at = offset + i;
		uint64_t word = (at >> 3) ^ (id << 20) ^ (seed << 44);

		word *= UINT64_C(0x9e3779b97f4a7c15);
		word ^= word >> 29;
		word *= UINT64_C(0xbf58476d1ce4e5b9);
		bytes[i] = (uint8_t)(word >> (8 * (at & 7)));
	}
}
