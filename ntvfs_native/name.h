/*
 * Keys and nodes of the indexes of names: plain functions on memory.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Readers look at nodes without a lock, so a node may be damaged or change
 * under the eyes of every function that takes a const one: each offset and
 * length is taken once and checked against the page before it is used, and
 * every loop is bounded. What a reader makes of such a node is thrown away by
 * nv_read_again.
 */

#ifndef NTVFS_NATIVE_NAME_H
#define NTVFS_NATIVE_NAME_H

#include <stdbool.h>
#include "ntvfs_native.h"
#include "format_names.h"

/*
 * How an index compares: units folded by the upcase table or, without one,
 * a..z if ascii; the shorter first; among equals, when exact, the units
 * themselves.
 */
struct nv_name_order {
	const uint16_t *upcase;
	bool ascii;
	bool exact;
};

static inline uint16_t nv_fold(const struct nv_name_order *order,
			       uint16_t unit)
{
	if (order->upcase != NULL) {
		return order->upcase[unit];
	}
	if (order->ascii && unit >= 'a' && unit <= 'z') {
		return (uint16_t)(unit - 'a' + 'A');
	}
	return unit;
}

/* A key to look for, folded once. */
struct nv_key {
	uint32_t length;
	uint16_t units[NV_NAME_KEY_MAX];
	uint16_t folded[NV_NAME_KEY_MAX];
};

/* length at most NV_NAME_KEY_MAX; 0 is lower than every name. */
void nv_key_set(struct nv_key *key, const struct nv_name_order *order,
		const uint16_t *units, uint32_t length);

/* Below, at or above zero, as the key is to the units. */
int nv_key_compare(const struct nv_key *key,
		   const struct nv_name_order *order, const uint16_t *units,
		   uint32_t length);

/* A record outside of any page. */
struct nv_name_record {
	struct nv_disk_name name;
	/* key, payload, padding: as stored */
	uint8_t bytes[NV_NAME_RECORD_MAX - sizeof(struct nv_disk_name)];
} __attribute__((aligned(8)));

static_assert(sizeof(struct nv_name_record) == NV_NAME_RECORD_MAX, "record");

static inline uint32_t nv_name_size(uint32_t key_length,
				    uint32_t payload_length)
{
	return ((uint32_t)sizeof(struct nv_disk_name) + 2 * key_length +
		payload_length + 7) & ~7U;
}

static inline uint32_t nv_name_record_size(const struct nv_disk_name *name)
{
	return nv_name_size(name->key_length, name->payload_length);
}

static inline const uint16_t *nv_name_key(const struct nv_disk_name *name)
{
	return (const uint16_t *)(name + 1);
}

static inline const uint8_t *nv_name_payload(const struct nv_disk_name *name)
{
	return (const uint8_t *)(name + 1) + 2 * (uint32_t)name->key_length;
}

/* Compose; the payload may be NULL when its length is 0. */
void nv_name_record_set(struct nv_name_record *record, uint64_t value,
			uint64_t cookie, uint32_t flags,
			const uint16_t *key, uint32_t key_length,
			const void *payload, uint32_t payload_length);

/*
 * Copy a record that lies in size bytes at bytes out. False: it does not
 * lie within them. *used, unless NULL, is its size.
 */
bool nv_name_record_get(struct nv_name_record *record, const uint8_t *bytes,
			uint32_t size, uint32_t *used);

/*
 * Is a record above the key it was asked for? In a damaged index it need not
 * be; who goes on behind the last record would then go round for ever.
 */
static inline bool nv_name_above(const struct nv_name_order *order,
				 const struct nv_key *key,
				 const struct nv_name_record *record)
{
	return nv_key_compare(key, order, nv_name_key(&record->name),
			      record->name.key_length) < 0;
}

/* ---- nodes ---- */

/* Bytes for further records and their slots; UINT32_MAX: damaged. */
uint32_t nv_name_node_free(const struct nv_disk_name_node *node);

/* Record i in place, NULL if it does not lie within the page. */
const struct nv_disk_name *
nv_name_node_at(const struct nv_disk_name_node *node, uint32_t i);

/*
 * The first record whose key is at or above key (*exact: at), count if none.
 * False: damaged.
 */
bool nv_name_node_search(const struct nv_disk_name_node *node,
			 const struct nv_name_order *order,
			 const struct nv_key *key, uint32_t *at, bool *exact);

/* Offsets and lengths are such that the functions below stay in the page. To
 * be asked before a node that somebody else may have damaged is changed. */
bool nv_name_node_sound(const struct nv_disk_name_node *node);

/* An empty node of what nv_node_new gave. */
void nv_name_node_init(struct nv_disk_name_node *node);

/* Insert as record at. The caller has seen to the room: size + 2 bytes. */
void nv_name_node_insert(struct nv_disk_name_node *node, uint32_t at,
			 const struct nv_disk_name *name);
void nv_name_node_remove(struct nv_disk_name_node *node, uint32_t at);

/*
 * Everything about the node that can be told without its neighbours: header,
 * slots, records packed without gap or overlap, keys rising, in upper nodes
 * the first one empty. *problem, if false, is a short English text.
 */
bool nv_name_node_valid(const struct nv_disk_name_node *node,
			const struct nv_name_order *order,
			const char **problem);

/* One line per record, UTF-8; as much as fits. Returns bytes written. */
size_t nv_name_node_to_text(const struct nv_disk_name_node *node, char *text,
			    size_t size);

#endif
