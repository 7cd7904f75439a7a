/*
 * Bitmaps in the segment, changed by atomic instructions.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Bits of different owners share words, so every change is an atomic or/and
 * of just the owner's bits. Reading without a lock is harmless: who wants a
 * bit takes it by compare-exchange, who owns one is alone with it.
 */

#include "volume.h"

/* The bits [first, first + count) that lie in the word of first. */
static uint64_t mask_of(uint64_t first, uint64_t count, uint32_t *taken)
{
	uint32_t shift = (uint32_t)(first & 63);
	uint32_t length = 64 - shift;

	if (count < length) {
		length = (uint32_t)count;
	}
	*taken = length;
	if (length == 64) {
		return UINT64_MAX;
	}
	return ((UINT64_C(1) << length) - 1) << shift;
}

void nv_bits_fill(struct nv_volume *volume, uint32_t bitmap, uint64_t first,
		  uint64_t count, bool value)
{
	_Atomic uint64_t *bits = nv_bits(volume, bitmap);

	while (count > 0) {
		uint32_t taken = 0;
		uint64_t mask = mask_of(first, count, &taken);

		if (value) {
			atomic_fetch_or(&bits[first >> 6], mask);
		} else {
			atomic_fetch_and(&bits[first >> 6], ~mask);
		}
		NV_KILL_POINT("bits: one word changed");
		first += taken;
		count -= taken;
	}
}

bool nv_bits_test(struct nv_volume *volume, uint32_t bitmap, uint64_t bit)
{
	uint64_t word = atomic_load(&nv_bits(volume, bitmap)[bit >> 6]);

	return ((word >> (bit & 63)) & 1) != 0;
}

bool nv_bits_all(struct nv_volume *volume, uint32_t bitmap, uint64_t first,
		 uint64_t count, bool value)
{
	_Atomic uint64_t *bits = nv_bits(volume, bitmap);

	while (count > 0) {
		uint32_t taken = 0;
		uint64_t mask = mask_of(first, count, &taken);
		uint64_t word = atomic_load(&bits[first >> 6]);

		if ((word & mask) != (value ? mask : 0)) {
			return false;
		}
		first += taken;
		count -= taken;
	}
	return true;
}

void nv_bits_mark(struct nv_volume *volume, uint32_t bitmap, uint64_t first,
		  uint64_t count, uint64_t group)
{
	_Atomic uint8_t *dirty = nv_bits_dirty(volume, bitmap, group);
	uint64_t page = first / NV_BITS_PER_PAGE;
	uint64_t last = (first + count - 1) / NV_BITS_PER_PAGE;

	for (; page <= last; page++) {
		if (atomic_load_explicit(&dirty[page],
					 memory_order_relaxed) != 0) {
			continue;
		}
		atomic_store(&dirty[page], 1);
		/* A page, its leaf, and what is above: a generous guess. */
		atomic_fetch_add(&volume->segment->dirty_nodes[group & 1], 3);
	}
}

void nv_bits_written(struct nv_volume *volume, uint64_t first, uint64_t count,
		     uint64_t group)
{
	uint32_t written = NV_WRITTEN_EVEN + (uint32_t)(group & 1);

	nv_bits_fill(volume, written, first, count, true);
	nv_bits_mark(volume, written, first, count, group);
}

/* The first clear bit in [from, limit), limit if there is none. */
static uint64_t find_clear(_Atomic uint64_t *bits, uint64_t from,
			   uint64_t limit)
{
	uint64_t word = from >> 6;
	uint64_t value;
	uint64_t bit;

	if (from >= limit) {
		return limit;
	}
	value = atomic_load_explicit(&bits[word], memory_order_relaxed);
	value |= (UINT64_C(1) << (from & 63)) - 1;
	while (value == UINT64_MAX) {
		word++;
		if ((word << 6) >= limit) {
			return limit;
		}
		value = atomic_load_explicit(&bits[word],
					     memory_order_relaxed);
	}
	bit = (word << 6) + (uint64_t)__builtin_ctzll(~value);
	if (bit > limit) {
		return limit;
	}
	return bit;
}

/* Set the clear bits from first on, within its word. Returns how many. */
static uint32_t claim_in_word(_Atomic uint64_t *bits, uint64_t first,
			      uint64_t want)
{
	uint32_t shift = (uint32_t)(first & 63);
	uint64_t old = atomic_load(&bits[first >> 6]);

	for (;;) {
		uint64_t above = old >> shift;
		uint32_t room = 64 - shift;
		uint32_t taken = 0;
		uint64_t mask;

		if (above != 0) {
			uint32_t clear = (uint32_t)__builtin_ctzll(above);

			room = clear < room ? clear : room;
		}
		if (room == 0) {
			return 0;
		}
		mask = mask_of(first, want < room ? want : room, &taken);
		if (atomic_compare_exchange_weak(&bits[first >> 6], &old,
						 old | mask)) {
			return taken;
		}
	}
}

static uint64_t claim_between(struct nv_volume *volume, uint32_t bitmap,
			      uint64_t from, uint64_t limit, uint64_t want,
			      uint64_t *start)
{
	_Atomic uint64_t *bits = nv_bits(volume, bitmap);
	uint64_t count = 0;
	uint64_t first;

	for (;;) {
		first = find_clear(bits, from, limit);
		if (first >= limit) {
			return 0;
		}
		if (want > limit - first) {
			want = limit - first;
		}
		count = claim_in_word(bits, first, want);
		if (count > 0) {
			break;
		}
		/* Somebody else was faster. */
		from = first;
	}
	while (count < want && ((first + count) & 63) == 0) {
		uint32_t more = claim_in_word(bits, first + count,
					      want - count);

		if (more == 0) {
			break;
		}
		count += more;
	}
	*start = first;
	return count;
}

uint64_t nv_bits_claim(struct nv_volume *volume, uint32_t bitmap,
		       uint64_t first, uint64_t limit, uint64_t goal,
		       uint64_t want, uint64_t *start)
{
	uint64_t count = 0;

	if (goal < first || goal >= limit) {
		goal = first;
	}
	count = claim_between(volume, bitmap, goal, limit, want, start);
	if (count == 0 && goal > first) {
		count = claim_between(volume, bitmap, first, goal, want,
				      start);
	}
	return count;
}

uint64_t nv_bits_count(struct nv_volume *volume, uint32_t bitmap,
		       uint64_t limit)
{
	_Atomic uint64_t *bits = nv_bits(volume, bitmap);
	uint64_t words = limit >> 6;
	uint64_t count = 0;
	uint64_t i;

	for (i = 0; i < words; i++) {
		count += (uint64_t)__builtin_popcountll(
			atomic_load_explicit(&bits[i], memory_order_relaxed));
	}
	if ((limit & 63) != 0) {
		uint64_t word = atomic_load(&bits[words]);

		word &= (UINT64_C(1) << (limit & 63)) - 1;
		count += (uint64_t)__builtin_popcountll(word);
	}
	return count;
}
