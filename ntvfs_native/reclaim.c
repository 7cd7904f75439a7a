/*
 * Finishing objects that no name leads to, and interrupted truncations.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Bounded operations; after each the object is still an orphan, so that attach
 * finds it again after a crash.
 */

#include "data.h"
#include "names.h"
#include "reclaim.h"
#include "volume.h"

static enum nv_status free_object(struct nv_volume *volume, nv_file_id id)
{
	struct nv_disk_inode *inode = NULL;
	struct nv_operation operation;
	uint64_t ino = NV_FILE_INO(id);
	enum nv_status status;

	status = nv_operation_begin(volume, &operation, &ino, 1, 1,
				    NV_OP_FREES);
	if (status != NV_OK) {
		return status;
	}
	status = nv_inode_modify(&operation, id, &inode);
	if (status != NV_OK) {
		goto done;
	}
	if (inode->stream_count != 0 || inode->stream_root != NV_PAGE_NONE ||
	    inode->directory_root != NV_PAGE_NONE ||
	    inode->ea_root != NV_PAGE_NONE ||
	    inode->reparse_root != NV_PAGE_NONE) {
		/* Somebody who does not hold it has given it something. */
		status = NV_ERR_RETRY;
		goto done;
	}
	if ((inode->flags & NV_INODE_ORPHAN) != 0) {
		inode->flags &= ~(uint32_t)NV_INODE_ORPHAN;
		status = nv_bits_change(&operation, NV_BITMAP_ORPHANS, ino, 1,
					false);
		if (status != NV_OK) {
			goto done;
		}
	}
	status = nv_inode_free(&operation, id);
done:
	return nv_operation_finish(&operation, status);
}

/* Streams, and pages of names, EAs and reparse data. Most have none. */
static enum nv_status reclaim_parts(struct nv_volume *volume, nv_file_id id)
{
	const struct nv_disk_inode *found = NULL;
	struct nv_disk_inode inode;
	struct nv_reader reader;
	enum nv_status status;

	status = nv_read_begin(volume, NV_FILE_INO(id), &reader);
	if (status != NV_OK) {
		return status;
	}
	do {
		status = nv_inode_read(volume, id, &found);
		if (status == NV_OK) {
			inode = *found;
		}
	} while (nv_read_again(&reader));
	if (status == NV_OK && (inode.stream_count != 0 ||
				inode.stream_root != NV_PAGE_NONE)) {
		status = nv_streams_reclaim(volume, id);
	}
	if (status == NV_OK && inode.directory_root != NV_PAGE_NONE) {
		status = nv_directory_reclaim(volume, id);
	}
	if (status == NV_OK && inode.ea_root != NV_PAGE_NONE) {
		status = nv_ea_reclaim(volume, id);
	}
	if (status == NV_OK && inode.reparse_root != NV_PAGE_NONE) {
		status = nv_reparse_reclaim(volume, id);
	}
	return status;
}

enum nv_status nv_object_reclaim(struct nv_volume *volume, nv_file_id id)
{
	enum nv_status status;

	do {
		status = reclaim_parts(volume, id);
		if (status != NV_OK) {
			break;
		}
		NV_KILL_POINT("reclaim: parts freed, data left");
		nv_data_lock(volume, NV_FILE_INO(id));
		status = nv_data_change_range(volume, id, 0,
					      NV_MAX_FILE_BLOCKS,
					      NV_EXTENT_REMOVE);
		NV_KILL_POINT("reclaim: data freed, inode left");
		if (status == NV_OK) {
			status = free_object(volume, id);
		}
		nv_data_unlock(volume, NV_FILE_INO(id));
	} while (status == NV_ERR_RETRY);
	if (status == NV_ERR_NOT_FOUND) {
		/* Somebody else was faster. */
		status = NV_OK;
	}
	return status;
}

static enum nv_status finish_truncation(struct nv_volume *volume,
					nv_file_id id)
{
	const struct nv_disk_inode *inode = NULL;
	struct nv_reader reader;
	enum nv_status status;
	bool unfinished = false;
	uint64_t first = 0;

	/*
	 * Looked at under the data lock: a live process may have been in the
	 * middle of it, and may have made the file longer since.
	 */
	nv_data_lock(volume, NV_FILE_INO(id));
	status = nv_read_begin(volume, NV_FILE_INO(id), &reader);
	if (status != NV_OK) {
		nv_data_unlock(volume, NV_FILE_INO(id));
		return status;
	}
	do {
		status = nv_inode_read(volume, id, &inode);
		if (status == NV_OK) {
			unfinished = inode->nlink > 0 &&
				(inode->flags & NV_INODE_ORPHAN) != 0;
			first = (inode->size + NV_BLOCK_SIZE - 1) >>
				NV_BLOCK_SHIFT;
		}
	} while (nv_read_again(&reader));
	if (status == NV_OK && unfinished) {
		status = nv_data_finish_cut(volume, id, first);
	}
	nv_data_unlock(volume, NV_FILE_INO(id));
	return status == NV_ERR_NOT_FOUND ? NV_OK : status;
}

static enum nv_status reclaim_number(struct nv_volume *volume, uint64_t ino)
{
	uint32_t offset = (uint32_t)(ino % volume->inodes_per_page) *
		volume->inode_size;
	const struct nv_disk_inode *inode = NULL;
	const void *content = NULL;
	struct nv_slot *slot = NULL;
	enum nv_status status;
	nv_file_id id;
	uint32_t nlink;
	bool held;

	status = nv_slot_get(volume, &slot);
	if (status != NV_OK) {
		return status;
	}
	nv_object_lock_quiet(volume, nv_lock_index(ino));
	nv_transfer_begin(volume, slot);
	status = nv_page_read(volume, NV_PAGE(NV_REGION_INODES,
					      ino / volume->inodes_per_page),
			      &content);
	if (status != NV_OK) {
		nv_transfer_end(slot);
		nv_object_unlock_quiet(volume, nv_lock_index(ino));
		return status;
	}
	inode = (const void *)((const uint8_t *)content + offset);
	id = inode->file_id;
	nlink = inode->nlink;
	held = nv_hold_test(volume, id);
	if (inode->type == 0 || (inode->flags & NV_INODE_ORPHAN) == 0) {
		/* Finished by somebody since we saw its bit. */
		held = true;
	}
	nv_transfer_end(slot);
	nv_object_unlock_quiet(volume, nv_lock_index(ino));
	if (held) {
		return NV_OK;
	}
	if (nlink == 0) {
		return nv_object_reclaim(volume, id);
	}
	return finish_truncation(volume, id);
}

enum nv_status nv_orphans_reclaim(struct nv_volume *volume)
{
	_Atomic uint64_t *bits = nv_bits(volume, NV_BITMAP_ORPHANS);
	uint64_t words = nv_bitmap_pages(volume, NV_BITMAP_ORPHANS) *
		(NV_BLOCK_SIZE / 8);
	enum nv_status status;
	uint64_t i;

	for (i = 0; i < words; i++) {
		uint64_t word = atomic_load(&bits[i]);

		while (word != 0) {
			uint64_t bit = (uint64_t)__builtin_ctzll(word);

			word &= word - 1;
			status = reclaim_number(volume, i * 64 + bit);
			if (status != NV_OK) {
				return status;
			}
		}
	}
	return NV_OK;
}
