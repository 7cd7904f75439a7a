/*
 * What this process last read of objects' metadata.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <string.h>
#include <xxhash.h>
#include "ntvfs_posix/metadata_cache.h"

/* Entries that share a hash value compete for so many places. */
#define WAYS 4

/* No kernel's coarse clock has a longer step than this. */
#define COARSE_CLOCK_STEP_NS 20000000

struct ntvfs_metadata_cache {
	enum ntvfs_stamps stamps;
	uint64_t stamps_volume;	/* 0: of every volume */
	size_t sets;
	uint64_t count;
	struct ntvfs_metadata *entries;	/* sets * WAYS */
};

struct ntvfs_metadata_cache *ntvfs_metadata_cache_create(TALLOC_CTX *mem_ctx,
							 size_t objects,
							 enum ntvfs_stamps stamps,
							 uint64_t stamps_volume)
{
	struct ntvfs_metadata_cache *cache = NULL;

	cache = talloc_zero(mem_ctx, struct ntvfs_metadata_cache);
	if (cache == NULL) {
		return NULL;
	}
	if (objects < 16) {
		objects = 16;
	}
	cache->stamps = stamps;
	cache->stamps_volume = stamps_volume;
	cache->sets = (objects + WAYS - 1) / WAYS;
	cache->entries = talloc_zero_array(cache,
					   struct ntvfs_metadata,
					   cache->sets * WAYS);
	if (cache->entries == NULL) {
		TALLOC_FREE(cache);
		return NULL;
	}
	return cache;
}

static void metadata_clear(struct ntvfs_metadata *entry)
{
	TALLOC_FREE(entry->sd);
	TALLOC_FREE(entry->names);
	*entry = (struct ntvfs_metadata){.volume = 0};
}

static bool metadata_is(const struct ntvfs_metadata *entry,
			const struct ntvfs_object *object)
{
	return entry->used != 0 && entry->file_id == object->file_id &&
	       entry->volume == object->volume;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Can another change still give the object the stamp that it has now? */
static bool stamp_is_young(const struct timespec *stamp)
{
	struct timespec now = {.tv_sec = 0};
	int64_t age = 0;

	clock_gettime(CLOCK_REALTIME, &now);
	if (now.tv_sec - stamp->tv_sec > 1) {
		return false;
	}
	/* a stamp of the future cannot be judged by its age */
	if (stamp->tv_sec - now.tv_sec > 1) {
		return true;
	}
	age = (int64_t)(now.tv_sec - stamp->tv_sec) * 1000000000 +
	      (now.tv_nsec - stamp->tv_nsec);
	return age < COARSE_CLOCK_STEP_NS;
}

static struct ntvfs_metadata *metadata_set_of(struct ntvfs_metadata_cache *c,
					      const struct ntvfs_object *object)
{
	uint64_t key[2] = {object->volume, object->file_id};
	uint64_t hash = XXH64(key, sizeof(key), 0);

	return &c->entries[(hash % c->sets) * WAYS];
}

static enum ntvfs_stamps stamps_of(const struct ntvfs_metadata_cache *cache,
				   const struct ntvfs_object *object)
{
	if (cache->stamps == NTVFS_STAMPS_EXACT &&
	    cache->stamps_volume != 0 &&
	    cache->stamps_volume != object->volume)
	{
		return NTVFS_STAMPS_COARSE;
	}
	return cache->stamps;
}

struct ntvfs_metadata *
ntvfs_metadata_get(struct ntvfs_metadata_cache *cache,
		   const struct ntvfs_object *object)
{
	struct ntvfs_metadata *set = metadata_set_of(cache, object);
	enum ntvfs_stamps stamps = stamps_of(cache, object);
	struct ntvfs_metadata *entry = NULL;
	size_t i;

	for (i = 0; i < WAYS; i++) {
		if (metadata_is(&set[i], object)) {
			entry = &set[i];
			break;
		}
		if (entry == NULL || set[i].used < entry->used) {
			entry = &set[i];
		}
	}

	if (!metadata_is(entry, object) || entry->for_one_call ||
	    !same_time(&entry->stamp, &object->change_stamp))
	{
		metadata_clear(entry);
		entry->volume = object->volume;
		entry->file_id = object->file_id;
		entry->stamp = object->change_stamp;
		/*
		 * M1. A later change may leave the stamp as it is: what is
		 * read now is for this call alone.
		 */
		entry->for_one_call =
			stamps == NTVFS_STAMPS_NONE ||
			(stamps == NTVFS_STAMPS_COARSE &&
			 stamp_is_young(&object->change_stamp));
	}
	entry->used = ++cache->count;
	return entry;
}

void ntvfs_metadata_forget(struct ntvfs_metadata_cache *cache,
			   const struct ntvfs_object *object)
{
	struct ntvfs_metadata *set = metadata_set_of(cache, object);
	size_t i;

	for (i = 0; i < WAYS; i++) {
		if (metadata_is(&set[i], object)) {
			metadata_clear(&set[i]);
		}
	}
}
