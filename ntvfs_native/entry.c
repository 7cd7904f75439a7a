/*
 * Pages: finding, verifying, copying on the first write of a group.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <sched.h>
#include <string.h>
#include "volume.h"

/* Tries before we ask whether the one who made an entry busy is alive. */
#define BUSY_SPINS 2000

static bool page_possible(const struct nv_volume *volume, uint64_t page)
{
	uint32_t region = NV_PAGE_REGION(page);

	if (region >= NV_REGION_COUNT) {
		return false;
	}
	/* Entries that have memory; those never used say block 0. */
	return NV_PAGE_INDEX(page) <
		atomic_load(&volume->segment->region_backed[region]);
}

/* Busy for long: is the slot that made it so alive? */
static void ask_after(struct nv_volume *volume, uint64_t busy)
{
	uint64_t index = (busy & ~NV_GROUP_BUSY) >> NV_GROUP_SLOT_SHIFT;
	struct nv_slot *slot = &volume->segment->slot[index];
	uint64_t generation = atomic_load(&slot->generation);

	/*
	 * A slot stays of its generation as long as it has an entry busy:
	 * renewing it recovers it first.
	 */
	if (nv_slot_alive(volume, (uint32_t)index)) {
		sched_yield();
	} else {
		nv_slot_recover(volume, (uint32_t)index, generation);
	}
}

uint64_t nv_entry_group(struct nv_volume *volume, struct nv_entry *entry)
{
	uint32_t spins = 0;
	uint64_t group;

	for (;;) {
		group = atomic_load_explicit(&entry->group,
					     memory_order_acquire);
		if ((group & NV_GROUP_BUSY) == 0) {
			return group;
		}
		spins++;
		if (spins % BUSY_SPINS == 0) {
			ask_after(volume, group);
		} else {
			nv_relax();
		}
	}
}

void nv_entry_mark_dirty(struct nv_volume *volume, uint64_t page,
			 uint64_t group)
{
	struct nv_segment *segment = volume->segment;
	uint32_t region = NV_PAGE_REGION(page);
	uint32_t index = NV_PAGE_INDEX(page);
	_Atomic uint8_t *dirty = nv_node_dirty(volume, region, 1, group);
	uint64_t limit = atomic_load_explicit(&segment->region_limit[region],
					      memory_order_relaxed);

	while (limit <= index) {
		if (atomic_compare_exchange_weak(
			    &segment->region_limit[region], &limit,
			    (uint64_t)index + 1)) {
			break;
		}
	}
	dirty += index >> NV_MAP_SHIFT;
	if (atomic_load_explicit(dirty, memory_order_relaxed) == 0) {
		atomic_store(dirty, 1);
		atomic_fetch_add(&segment->dirty_nodes[group & 1], 1);
	}
}

/*
 * The intent's page is ours (its entry is BUSY with our number), or the
 * intent never got that far, or it was finished already. Every store is
 * absolute, and the entry stays BUSY until the last.
 */
void nv_intent_finish(struct nv_volume *volume, struct nv_slot *slot)
{
	uint64_t group = atomic_load_explicit(&slot->intent.active,
					      memory_order_acquire);
	uint64_t busy;
	struct nv_entry *entry = NULL;

	if (group == 0) {
		return;
	}
	busy = NV_GROUP_BUSY | group |
		((uint64_t)nv_slot_index(volume, slot) << NV_GROUP_SLOT_SHIFT);
	entry = nv_entry_at(volume, slot->intent.page);
	if (atomic_load(&entry->group) == busy) {
		uint64_t old_block = slot->intent.old_block;

		NV_KILL_POINT("entry: busy");
		nv_entry_mark_dirty(volume, slot->intent.page, group);
		if (slot->intent.old_group < group) {
			atomic_store(&entry->previous, old_block);
		}
		NV_KILL_POINT("entry: previous stored");
		atomic_store(&entry->current, slot->intent.new_block);
		NV_KILL_POINT("entry: current stored");
		if (old_block != 0) {
			uint32_t freed = NV_FREED_EVEN +
				(uint32_t)(group & 1);

			nv_bits_fill(volume, freed, old_block, 1, true);
			nv_bits_mark(volume, freed, old_block, 1, group);
		}
		NV_KILL_POINT("entry: old block marked freed, still busy");
		atomic_store(&entry->group, group);
	}
	NV_KILL_POINT("entry: settled, intent still active");
	atomic_store(&slot->intent.active, 0);
}

/*
 * Give the page another block. False: somebody else changed the entry since
 * old_group was read; nothing has happened.
 */
static bool publish(struct nv_operation *operation, uint64_t page,
		    uint64_t old_group, uint64_t old_block, uint64_t new_block)
{
	struct nv_volume *volume = operation->volume;
	struct nv_slot *slot = operation->slot;
	struct nv_entry *entry = nv_entry_at(volume, page);
	uint64_t busy = NV_GROUP_BUSY | operation->group |
		((uint64_t)nv_slot_index(volume, slot) << NV_GROUP_SLOT_SHIFT);

	slot->intent.page = page;
	slot->intent.old_block = old_block;
	slot->intent.new_block = new_block;
	slot->intent.old_group = old_group;
	atomic_store_explicit(&slot->intent.active, operation->group,
			      memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	NV_KILL_POINT("entry: intent stored");
	if (!atomic_compare_exchange_strong(&entry->group, &old_group, busy)) {
		atomic_store(&slot->intent.active, 0);
		return false;
	}
	nv_intent_finish(volume, slot);
	return true;
}

static enum nv_status verify(struct nv_volume *volume, uint64_t page,
			     struct nv_entry *entry, uint64_t block)
{
	uint64_t unverified = NV_GROUP_UNVERIFIED;
	uint64_t expected = atomic_load(&entry->checksum);
	uint64_t found = nv_checksum(nv_block_at(volume, block),
				     NV_BLOCK_SIZE);

	if (found == expected) {
		/* Losing this race to a writer is harmless. */
		atomic_compare_exchange_strong(&entry->group, &unverified,
					       NV_GROUP_VERIFIED);
		return NV_OK;
	}
	if (atomic_load(&entry->group) != NV_GROUP_UNVERIFIED ||
	    atomic_load(&entry->current) != block) {
		/* The page moved, and its old block may be used again. */
		return NV_ERR_RETRY;
	}
	return nv_withdraw(volume, NV_ERR_CORRUPT,
			   "checksum of page %u of region %u in block %llu is "
			   "wrong (I2); run fsck.ntvfs", NV_PAGE_INDEX(page),
			   NV_PAGE_REGION(page), (unsigned long long)block);
}

enum nv_status nv_page_read(struct nv_volume *volume, uint64_t page,
			    const void **content)
{
	struct nv_entry *entry = NULL;
	enum nv_status status;
	uint64_t group;
	uint64_t block;

	if (!page_possible(volume, page)) {
		return NV_ERR_NOT_FOUND;
	}
	entry = nv_entry_at(volume, page);
	do {
		group = atomic_load_explicit(&entry->group,
					     memory_order_acquire);
		/*
		 * While BUSY, current is the old or the new block: copies of
		 * each other, both readable.
		 */
		block = atomic_load_explicit(&entry->current,
					     memory_order_acquire);
		if (block == 0) {
			return NV_ERR_NOT_FOUND;
		}
		if (block < NV_FIRST_BLOCK ||
		    block >= atomic_load(&volume->segment->total_blocks)) {
			return nv_withdraw(volume, NV_ERR_CORRUPT,
					   "page %u of region %u is said to "
					   "be in block %llu; run fsck.ntvfs",
					   NV_PAGE_INDEX(page),
					   NV_PAGE_REGION(page),
					   (unsigned long long)block);
		}
		status = NV_OK;
		if (group == NV_GROUP_UNVERIFIED) {
			status = verify(volume, page, entry, block);
		}
	} while (status == NV_ERR_RETRY);
	if (status == NV_OK) {
		*content = nv_block_at(volume, block);
	}
	return status;
}

enum nv_status nv_node_read(struct nv_volume *volume, uint64_t page,
			    uint32_t kind, uint64_t owner,
			    const void **content)
{
	const struct nv_disk_page_header *header = NULL;
	const void *found = NULL;
	enum nv_status status;

	if (NV_PAGE_REGION(page) != NV_REGION_NODES) {
		return NV_ERR_CORRUPT;
	}
	status = nv_page_read(volume, page, &found);
	if (status == NV_ERR_NOT_FOUND) {
		return NV_ERR_CORRUPT;
	}
	if (status != NV_OK) {
		return status;
	}
	header = found;
	if (header->magic != NV_PAGE_MAGIC || header->kind != kind ||
	    header->page != page || header->owner != owner) {
		return NV_ERR_CORRUPT;
	}
	*content = found;
	return NV_OK;
}

static uint64_t pop_block(struct nv_slot *slot)
{
	uint32_t count = atomic_load_explicit(&slot->block_count,
					      memory_order_relaxed);

	if (count == 0) {
		return 0;
	}
	atomic_store_explicit(&slot->block_count, count - 1,
			      memory_order_release);
	return slot->block[count - 1];
}

static void push_block(struct nv_slot *slot, uint64_t block)
{
	uint32_t count = atomic_load_explicit(&slot->block_count,
					      memory_order_relaxed);

	slot->block[count] = block;
	atomic_store_explicit(&slot->block_count, count + 1,
			      memory_order_release);
}

/* The block of the page that may be stored to in this group. */
static enum nv_status writable_block(struct nv_operation *operation,
				     uint64_t page, bool make,
				     uint64_t *block)
{
	struct nv_volume *volume = operation->volume;
	struct nv_entry *entry = nv_entry_at(volume, page);
	const void *content = NULL;
	enum nv_status status;

	for (;;) {
		uint64_t group = nv_entry_group(volume, entry);
		uint64_t old_block = atomic_load(&entry->current);
		uint64_t new_block;

		if (group == operation->group && old_block != 0) {
			*block = old_block;
			return NV_OK;
		}
		if (old_block == 0 && !make) {
			return NV_ERR_NOT_FOUND;
		}
		if (old_block != 0) {
			status = nv_page_read(volume, page, &content);
			if (status != NV_OK) {
				return status;
			}
			/* Verifying has changed the group. */
			group = nv_entry_group(volume, entry);
			if (group == operation->group ||
			    atomic_load(&entry->current) != old_block) {
				continue;
			}
		}
		new_block = pop_block(operation->slot);
		if (new_block == 0) {
			/* More pages than were asked for at begin. */
			return NV_ERR_TOO_LARGE;
		}
		if (old_block != 0) {
			memcpy(nv_block_at(volume, new_block), content,
			       NV_BLOCK_SIZE);
		} else {
			memset(nv_block_at(volume, new_block), 0,
			       NV_BLOCK_SIZE);
		}
		NV_KILL_POINT("entry: page copied");
		if (publish(operation, page, group, old_block, new_block)) {
			*block = new_block;
			return NV_OK;
		}
		push_block(operation->slot, new_block);
	}
}

static bool saved_whole(const struct nv_operation *operation, uint64_t page)
{
	uint32_t i;

	for (i = 0; i < operation->saved_count; i++) {
		if (operation->saved[i] == page) {
			return true;
		}
	}
	return false;
}

static void note_saved(struct nv_operation *operation, uint64_t page)
{
	if (operation->saved_count < NV_OPERATION_PAGES) {
		operation->saved[operation->saved_count] = page;
		operation->saved_count++;
	}
}

static enum nv_status modify(struct nv_operation *operation, uint64_t page,
			     uint32_t offset, uint32_t length, bool make,
			     void **content)
{
	enum nv_status status;
	uint8_t *start = NULL;
	uint64_t block = 0;
	bool ok;

	if (offset > NV_BLOCK_SIZE || length > NV_BLOCK_SIZE - offset) {
		return NV_ERR_INVALID;
	}
	status = writable_block(operation, page, make, &block);
	if (status != NV_OK) {
		return status;
	}
	start = nv_block_at(operation->volume, block);
	*content = start;
	if (length == 0 || saved_whole(operation, page)) {
		return NV_OK;
	}
	ok = nv_undo_push(operation->slot, NV_UNDO_PAGE, page, offset, length,
			  0, start + offset, length);
	if (!ok) {
		return NV_ERR_TOO_LARGE;
	}
	if (length == NV_BLOCK_SIZE) {
		note_saved(operation, page);
	}
	return NV_OK;
}

enum nv_status nv_page_modify(struct nv_operation *operation, uint64_t page,
			      uint32_t offset, uint32_t length,
			      void **content)
{
	if (!page_possible(operation->volume, page)) {
		return NV_ERR_NOT_FOUND;
	}
	return modify(operation, page, offset, length, false, content);
}

enum nv_status nv_page_make(struct nv_operation *operation, uint64_t page,
			    uint32_t offset, uint32_t length,
			    void **content)
{
	struct nv_segment *segment = operation->volume->segment;
	uint32_t region = NV_PAGE_REGION(page);

	if (NV_PAGE_INDEX(page) >=
	    atomic_load(&segment->region_backed[region])) {
		return NV_ERR_INVALID;
	}
	return modify(operation, page, offset, length, true, content);
}

static bool push_entry(struct nv_operation *operation, uint64_t page,
		       uint64_t block, bool freed)
{
	struct nv_entry *entry = nv_entry_at(operation->volume, page);
	struct nv_undo_entry old = {
		.current = atomic_load(&entry->current),
		.previous = atomic_load(&entry->previous),
		.group = atomic_load(&entry->group),
		.block = block,
	};

	return nv_undo_push(operation->slot, NV_UNDO_ENTRY, page, 0, 0, freed,
			    &old, sizeof(old));
}

enum nv_status nv_node_new(struct nv_operation *operation, uint32_t kind,
			   uint32_t level, uint64_t owner, uint64_t *page,
			   void **content)
{
	struct nv_volume *volume = operation->volume;
	struct nv_slot *slot = operation->slot;
	struct nv_disk_page_header *header = NULL;
	uint32_t nodes = atomic_load_explicit(&slot->node_count,
					      memory_order_relaxed);
	struct nv_entry *entry = NULL;
	uint64_t number;
	uint64_t block;

	if (nodes == 0 || operation->freed_count == NV_OPERATION_FREES) {
		return NV_ERR_TOO_LARGE;
	}
	block = pop_block(slot);
	if (block == 0) {
		return NV_ERR_TOO_LARGE;
	}
	atomic_store(&slot->node_count, nodes - 1);
	number = NV_PAGE(NV_REGION_NODES, slot->node[nodes - 1]);
	entry = nv_entry_at(volume, number);
	nv_operation_drop_claim(operation, NV_CLAIMED_NODES,
				slot->node[nodes - 1], true);

	header = (struct nv_disk_page_header *)nv_block_at(volume, block);
	memset(header, 0, NV_BLOCK_SIZE);
	header->magic = NV_PAGE_MAGIC;
	header->kind = (uint8_t)kind;
	header->level = (uint8_t)level;
	header->page = number;
	header->owner = owner;

	/* Undone, the block is one that was freed in this group. */
	if (!push_entry(operation, number, block, true)) {
		push_block(slot, block);
		return NV_ERR_TOO_LARGE;
	}
	/* The number is ours: nobody else changes its entry. */
	publish(operation, number, atomic_load(&entry->group), 0, block);
	note_saved(operation, number);
	*page = number;
	*content = header;
	return NV_OK;
}

enum nv_status nv_node_free(struct nv_operation *operation, uint64_t page)
{
	struct nv_volume *volume = operation->volume;
	struct nv_entry *entry = NULL;
	uint64_t block;

	if (NV_PAGE_REGION(page) != NV_REGION_NODES ||
	    !page_possible(volume, page)) {
		return NV_ERR_CORRUPT;
	}
	entry = nv_entry_at(volume, page);
	block = atomic_load(&entry->current);
	if (block == 0) {
		return NV_ERR_CORRUPT;
	}
	if (!push_entry(operation, page, block, false)) {
		return NV_ERR_TOO_LARGE;
	}
	if (!nv_operation_drop_claim(operation, NV_CLAIMED_NODES,
				     NV_PAGE_INDEX(page), false)) {
		return NV_ERR_TOO_LARGE;
	}
	publish(operation, page, nv_entry_group(volume, entry), block, 0);
	return NV_OK;
}

enum nv_status nv_bits_change(struct nv_operation *operation, uint32_t bitmap,
			      uint64_t first, uint64_t count, bool value)
{
	struct nv_volume *volume = operation->volume;
	struct nv_slot *slot = operation->slot;
	uint32_t freed = NV_FREED_EVEN + (uint32_t)(operation->group & 1);

	if (bitmap >= NV_BITMAP_COUNT || count == 0 ||
	    first >= volume->layout.bit_count[bitmap] ||
	    count > volume->layout.bit_count[bitmap] - first) {
		return NV_ERR_INVALID;
	}
	if (!nv_bits_all(volume, bitmap, first, count, !value)) {
		return nv_withdraw(volume, NV_ERR_CORRUPT,
				   "bits %llu + %llu of bitmap %u are not "
				   "what they should be (I3); run fsck.ntvfs",
				   (unsigned long long)first,
				   (unsigned long long)count, bitmap);
	}
	if (!nv_undo_push(slot, NV_UNDO_BITS, bitmap, first, count, !value,
			  NULL, 0)) {
		return NV_ERR_TOO_LARGE;
	}
	nv_bits_mark(volume, bitmap, first, count, operation->group);
	nv_bits_fill(volume, bitmap, first, count, value);
	if (bitmap != NV_BITMAP_BLOCKS || value) {
		return NV_OK;
	}
	/* The blocks come back when this group is durable (I4). */
	if (!nv_undo_push(slot, NV_UNDO_BITS, freed, first, count, false,
			  NULL, 0)) {
		return NV_ERR_TOO_LARGE;
	}
	nv_bits_mark(volume, freed, first, count, operation->group);
	nv_bits_fill(volume, freed, first, count, true);
	return NV_OK;
}
