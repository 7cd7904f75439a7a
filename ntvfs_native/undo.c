/*
 * The undo log of a slot.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A record is complete before undo_top moves behind it, and undo_top moves
 * before the change it covers is made. All changes undone here are to things
 * that nobody else touches while the operation is not ended: pages and
 * entries under its locks, bits that belong to it. Every store is absolute
 * (I12).
 */

#include <string.h>
#include "volume.h"

bool nv_undo_push(struct nv_slot *slot, enum nv_undo_kind kind,
		  uint64_t target, uint64_t first, uint64_t count,
		  uint64_t value, const void *payload, uint32_t length)
{
	uint64_t top = atomic_load_explicit(&slot->undo_top,
					    memory_order_relaxed);
	uint32_t padded = (length + 7U) & ~7U;
	struct nv_undo_record record = {
		.kind = kind,
		.length = padded,
		.target = target,
		.first = first,
		.count = count,
		.value = value,
	};

	if (top + padded + sizeof(record) > NV_UNDO_SIZE) {
		return false;
	}
	if (length > 0) {
		memcpy(slot->undo + top, payload, length);
	}
	memcpy(slot->undo + top + padded, &record, sizeof(record));
	NV_KILL_POINT("undo: record written, top not moved");
	atomic_store_explicit(&slot->undo_top,
			      top + padded + sizeof(record),
			      memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	slot->undo_records++;
	NV_KILL_POINT("undo: top moved");
	return true;
}

static bool page_known(struct nv_volume *volume, uint64_t page)
{
	uint32_t region = NV_PAGE_REGION(page);

	if (region >= NV_REGION_COUNT) {
		return false;
	}
	return NV_PAGE_INDEX(page) < volume->layout.pages[region];
}

static bool undo_page(struct nv_volume *volume,
		      const struct nv_undo_record *record,
		      const uint8_t *payload)
{
	uint64_t block;

	if (!page_known(volume, record->target) ||
	    record->first > NV_BLOCK_SIZE ||
	    record->count > record->length ||
	    record->first + record->count > NV_BLOCK_SIZE) {
		return false;
	}
	block = atomic_load(&nv_entry_at(volume, record->target)->current);
	if (block < NV_FIRST_BLOCK ||
	    block >= atomic_load(&volume->segment->total_blocks)) {
		return false;
	}
	memcpy(nv_block_at(volume, block) + record->first, payload,
	       record->count);
	return true;
}

static bool undo_entry(struct nv_volume *volume,
		       const struct nv_undo_record *record,
		       const uint8_t *payload, uint64_t group)
{
	struct nv_undo_entry old;
	struct nv_entry *entry = NULL;
	uint32_t freed = NV_FREED_EVEN + (uint32_t)(group & 1);

	if (!page_known(volume, record->target) ||
	    record->length != sizeof(old)) {
		return false;
	}
	memcpy(&old, payload, sizeof(old));
	if (old.block >= atomic_load(&volume->segment->total_blocks)) {
		return false;
	}
	entry = nv_entry_at(volume, record->target);
	/*
	 * A committer of the group before may be looking: while it sees this
	 * group it uses previous, which had the same block; when it sees the
	 * old group, current is back already.
	 */
	atomic_store(&entry->current, old.current);
	atomic_store(&entry->previous, old.previous);
	atomic_store(&entry->group, old.group);
	if (old.block != 0) {
		nv_bits_fill(volume, freed, old.block, 1, record->value != 0);
		nv_bits_mark(volume, freed, old.block, 1, group);
	}
	return true;
}

static bool undo_bits(struct nv_volume *volume,
		      const struct nv_undo_record *record)
{
	uint64_t bits;

	if (record->target >= NV_ALL_BITMAPS) {
		return false;
	}
	bits = volume->layout.bit_count[record->target];
	if (record->first > bits || record->count > bits - record->first) {
		return false;
	}
	nv_bits_fill(volume, (uint32_t)record->target, record->first,
		     record->count, record->value != 0);
	return true;
}

bool nv_undo_apply(struct nv_volume *volume, struct nv_slot *slot,
		   uint64_t group)
{
	uint64_t top = atomic_load_explicit(&slot->undo_top,
					    memory_order_acquire);

	if (top > NV_UNDO_SIZE) {
		return false;
	}
	while (top > 0) {
		struct nv_undo_record record;
		const uint8_t *payload = NULL;
		bool ok = false;

		if (top < sizeof(record)) {
			return false;
		}
		memcpy(&record, slot->undo + top - sizeof(record),
		       sizeof(record));
		if (record.length > top - sizeof(record)) {
			return false;
		}
		payload = slot->undo + top - sizeof(record) - record.length;
		switch ((enum nv_undo_kind)record.kind) {
		case NV_UNDO_PAGE:
			ok = undo_page(volume, &record, payload);
			break;
		case NV_UNDO_ENTRY:
			ok = undo_entry(volume, &record, payload, group);
			break;
		case NV_UNDO_BITS:
			ok = undo_bits(volume, &record);
			break;
		}
		if (!ok) {
			return false;
		}
		NV_KILL_POINT("undo: record put back");
		top -= sizeof(record) + record.length;
	}
	return true;
}
