/*
 * Bad blobs: counted always, reported once per xattr of a file.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "includes.h"
#include "xattr_idl/ntvfs_xattr_blob.h"

/* A key may be in one of so many places; the oldest of them makes room. */
#define WAYS 4

struct complaints_set {
	uint64_t keys[WAYS]; /* 0: free; the newest first */
};

struct ntvfs_complaints {
	ntvfs_complaint_fn report;
	void *private_data;
	uint64_t counted;
	uint64_t reported;
	size_t set_mask;
	struct complaints_set *sets;
};

/* One round of the 64-bit finaliser of MurmurHash3. */
static uint64_t mix(uint64_t key)
{
	key ^= key >> 33;
	key *= UINT64_C(0xff51afd7ed558ccd);
	key ^= key >> 33;
	key *= UINT64_C(0xc4ceb9fe1a85ec53);
	key ^= key >> 33;
	return key;
}

static uint64_t complaint_key(const struct ntvfs_complaint *complaint)
{
	const char *name = complaint->xattr_name;
	uint64_t key;

	key = mix((uint64_t)complaint->device + 1);
	key = mix(key ^ (uint64_t)complaint->inode);
	for (; *name != '\0'; name++) {
		key = mix(key ^ (uint8_t)*name);
	}
	if (key == 0) {
		key = 1;
	}
	return key;
}

struct ntvfs_complaints *ntvfs_complaints_create(TALLOC_CTX *mem_ctx,
						 size_t capacity,
						 ntvfs_complaint_fn report,
						 void *private_data)
{
	struct ntvfs_complaints *complaints = NULL;
	size_t sets = 1;

	if (capacity == 0 || capacity > 65536) {
		return NULL;
	}
	while (sets * WAYS < capacity) {
		sets *= 2;
	}
	complaints = talloc_zero(mem_ctx, struct ntvfs_complaints);
	if (complaints == NULL) {
		return NULL;
	}
	complaints->sets =
		talloc_zero_array(complaints, struct complaints_set, sets);
	if (complaints->sets == NULL) {
		TALLOC_FREE(complaints);
		return NULL;
	}
	complaints->report = report;
	complaints->private_data = private_data;
	complaints->set_mask = sets - 1;
	return complaints;
}

bool ntvfs_complain(struct ntvfs_complaints *complaints,
		    const struct ntvfs_complaint *complaint)
{
	uint64_t key = complaint_key(complaint);
	struct complaints_set *set = NULL;
	size_t i;

	complaints->counted++;
	set = &complaints->sets[key & complaints->set_mask];
	for (i = 0; i < WAYS; i++) {
		if (set->keys[i] == key) {
			return false;
		}
	}
	for (i = WAYS - 1; i > 0; i--) {
		set->keys[i] = set->keys[i - 1];
	}
	set->keys[0] = key;
	complaints->reported++;
	complaints->report(complaint, complaints->private_data);
	return true;
}

uint64_t ntvfs_complaints_counted(const struct ntvfs_complaints *complaints)
{
	return complaints->counted;
}

uint64_t ntvfs_complaints_reported(const struct ntvfs_complaints *complaints)
{
	return complaints->reported;
}
