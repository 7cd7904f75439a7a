/*
 * Random numbers that a seed repeats exactly (splitmix64).
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef TORTURE_SEED_H
#define TORTURE_SEED_H

#include <stdbool.h>
#include <stdint.h>

struct seed {
	uint64_t state;
};

static inline uint64_t seed_next(struct seed *seed)
{
	uint64_t z;

	seed->state += UINT64_C(0x9e3779b97f4a7c15);
	z = seed->state;
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* 0 .. below - 1; below is not 0. */
static inline uint64_t seed_below(struct seed *seed, uint64_t below)
{
	return seed_next(seed) % below;
}

/* True in percent of the cases. */
static inline bool seed_chance(struct seed *seed, uint32_t percent)
{
	return seed_below(seed, 100) < percent;
}

/* A seed for one of many things that belong to another seed. */
static inline struct seed seed_derive(uint64_t from, uint64_t number)
{
	struct seed seed = {.state = from ^ (number * UINT64_C(
		0xd1342543de82ef95))};

	seed.state = seed_next(&seed);
	return seed;
}

#endif
