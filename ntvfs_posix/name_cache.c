/*
 * The names of a directory, found without regard to case and kept.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See name_cache.h for when what is remembered may be used. The invariants:
 *
 * C1 A remembered directory holds exactly the names the directory had at some
 *    moment when its stamp was directory->stamp and its counter was
 *    directory->counter, or it is unproven and its deadline is set.
 * C2 The counter is read before the directory, and the stamp before the
 *    counter: what changes later moves one of them away from what is kept.
 * C3 The stamp alone protects against processes that do not count, and that
 *    includes one that was killed between its change and its second count:
 *    with exact stamps its change moved the stamp. With coarse stamps its
 *    change may hide behind an equal stamp, but only if the stamp was young
 *    when the directory was read; then what was read is unproven and is read
 *    again in time. Nobody waits for the missing count.
 * C4 What was applied in place is unproven: a process that does not count (or
 *    died as in C3) may have made a change between the two stamps of ours.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "name_cache.h"
#include "name_counters.h"
#include "name_table.h"

#define DEFAULT_MAX_NAMES	    1000000
#define DEFAULT_MAX_DIRECTORIES	    4096
#define DEFAULT_COARSE_MILLISECONDS 20
#define WHOLE_SECOND_MILLISECONDS   2000
#define MAX_BUCKETS		    65536

/* A directory is read at most once in this many times what that takes. */
#define READING_SHARE 20

#define PROVEN UINT64_MAX

#define NANOSECONDS_PER_MILLISECOND UINT64_C(1000000)
#define NANOSECONDS_PER_SECOND	    UINT64_C(1000000000)

struct directory {
	struct directory *newer; /* by last use */
	struct directory *older;
	struct directory *next; /* in the bucket */
	uint64_t hash;
	struct ntvfs_directory_stamp stamp;
	uint64_t counter;

	/* On the monotonic clock: from then on read it again. PROVEN: never. */
	uint64_t deadline;
	uint64_t reading_nanoseconds;

	/* NULL: it holds more than may be remembered, see scan_directory(). */
	struct ntvfs_name_table *table;
};

struct ntvfs_name_cache {
	struct ntvfs_name_cache_config config;
	struct ntvfs_name_counters *counters;
	struct directory **buckets;
	size_t bucket_count; /* a power of two */
	struct directory *newest;
	struct directory *oldest;
	struct ntvfs_name_cache_statistics statistics;
};

struct ntvfs_name_cache_scan {
	struct ntvfs_name_table *table; /* NULL: not to be remembered */
	size_t max_names;
	size_t names;
	const char *wanted;
	uint32_t wanted_hash;
	TALLOC_CTX *mem_ctx;
	char *best;
	int error;
};

static bool times_equal(const struct timespec *first,
			const struct timespec *second)
{
	return first->tv_sec == second->tv_sec &&
	       first->tv_nsec == second->tv_nsec;
}

static bool stamps_equal(const struct ntvfs_directory_stamp *first,
			 const struct ntvfs_directory_stamp *second)
{
	return first->dev == second->dev && first->ino == second->ino &&
	       times_equal(&first->mtime, &second->mtime) &&
	       times_equal(&first->ctime, &second->ctime);
}

static uint64_t nanoseconds_now(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NANOSECONDS_PER_SECOND +
	       (uint64_t)now.tv_nsec;
}

static bool stamps_are_exact(const struct ntvfs_name_cache *cache,
			     const struct ntvfs_directory_stamp *stamp)
{
	const struct ntvfs_name_cache_config *config = &cache->config;

	return config->exact_stamps &&
	       (config->stamps_dev == 0 || config->stamps_dev == stamp->dev);
}

/*
 * Will a change that begins after "now" get another stamp than this one? "now"
 * is CLOCK_REALTIME_COARSE, the clock that coarse stamps are taken from. A
 * stamp from the future (the clock was set back) is not settled.
 */
static bool stamp_is_settled(const struct ntvfs_name_cache *cache,
			     const struct ntvfs_directory_stamp *stamp,
			     const struct timespec *now)
{
	int64_t needed = cache->config.coarse_milliseconds;
	int64_t seconds = 0;
	int64_t age = 0;

	if (stamps_are_exact(cache, stamp)) {
		return true;
	}
	if (stamp->ctime.tv_nsec == 0) {
		needed += WHOLE_SECOND_MILLISECONDS;
	}
	seconds = (int64_t)now->tv_sec - (int64_t)stamp->ctime.tv_sec;
	if (seconds < 0) {
		return false;
	}
	if (seconds > needed / 1000 + 1) {
		return true;
	}
	age = seconds * (int64_t)NANOSECONDS_PER_SECOND + now->tv_nsec -
	      stamp->ctime.tv_nsec;
	return age > needed * (int64_t)NANOSECONDS_PER_MILLISECOND;
}

/* The moment until which content that is unproven from now on may be used. */
static uint64_t deadline_from_now(const struct ntvfs_name_cache *cache,
				  uint64_t reading_nanoseconds)
{
	uint64_t allowed = cache->config.unproven_milliseconds *
			   NANOSECONDS_PER_MILLISECOND;

	if (allowed < reading_nanoseconds * READING_SHARE) {
		allowed = reading_nanoseconds * READING_SHARE;
	}
	return nanoseconds_now() + allowed;
}

static struct directory **bucket_of(struct ntvfs_name_cache *cache,
				    uint64_t hash)
{
	/* The low bits choose the counter; take others. */
	return &cache->buckets[(hash >> 32) & (cache->bucket_count - 1)];
}

static struct directory *find_directory(struct ntvfs_name_cache *cache,
					uint64_t hash,
					uint64_t dev,
					uint64_t ino)
{
	struct directory *directory = *bucket_of(cache, hash);

	while (directory != NULL) {
		if (directory->stamp.dev == dev &&
		    directory->stamp.ino == ino) {
			return directory;
		}
		directory = directory->next;
	}
	return NULL;
}

static void unlink_use(struct ntvfs_name_cache *cache,
		       struct directory *directory)
{
	if (directory->newer != NULL) {
		directory->newer->older = directory->older;
	} else {
		cache->newest = directory->older;
	}
	if (directory->older != NULL) {
		directory->older->newer = directory->newer;
	} else {
		cache->oldest = directory->newer;
	}
}

static void link_use(struct ntvfs_name_cache *cache,
		     struct directory *directory)
{
	directory->newer = NULL;
	directory->older = cache->newest;
	if (cache->newest != NULL) {
		cache->newest->newer = directory;
	} else {
		cache->oldest = directory;
	}
	cache->newest = directory;
}

static void used_now(struct ntvfs_name_cache *cache,
		     struct directory *directory)
{
	if (cache->newest == directory) {
		return;
	}
	unlink_use(cache, directory);
	link_use(cache, directory);
}

static size_t directory_names(const struct directory *directory)
{
	if (directory->table == NULL) {
		return 0;
	}
	return ntvfs_name_table_count(directory->table);
}

static void remove_directory(struct ntvfs_name_cache *cache,
			     struct directory *directory)
{
	struct directory **link = bucket_of(cache, directory->hash);

	while (*link != directory) {
		link = &(*link)->next;
	}
	*link = directory->next;
	unlink_use(cache, directory);
	cache->statistics.directories--;
	cache->statistics.names -= directory_names(directory);
	TALLOC_FREE(directory);
}

static void drop(struct ntvfs_name_cache *cache, struct directory *directory)
{
	cache->statistics.dropped++;
	remove_directory(cache, directory);
}

static void insert_directory(struct ntvfs_name_cache *cache,
			     struct directory *directory)
{
	struct directory **link = bucket_of(cache, directory->hash);

	directory->next = *link;
	*link = directory;
	link_use(cache, directory);
	cache->statistics.directories++;
	cache->statistics.names += directory_names(directory);
}

/* Forget what was used longest ago until the limits hold; the newest stays. */
static void make_room(struct ntvfs_name_cache *cache)
{
	while (cache->oldest != cache->newest) {
		if (cache->statistics.directories <=
			    cache->config.max_directories &&
		    cache->statistics.names <= cache->config.max_names) {
			return;
		}
		cache->statistics.evicted++;
		remove_directory(cache, cache->oldest);
	}
}

struct ntvfs_name_cache *ntvfs_name_cache_init(
	TALLOC_CTX *mem_ctx, const struct ntvfs_name_cache_config *config)
{
	struct ntvfs_name_cache *cache = NULL;
	int error = ENOMEM;

	cache = talloc_zero(mem_ctx, struct ntvfs_name_cache);
	if (cache == NULL) {
		goto fail;
	}
	cache->config = *config;
	cache->config.counter_path = NULL; /* the caller's; needed only here */
	if (cache->config.max_names == 0) {
		cache->config.max_names = DEFAULT_MAX_NAMES;
	}
	if (cache->config.max_directories == 0) {
		cache->config.max_directories = DEFAULT_MAX_DIRECTORIES;
	}
	if (cache->config.coarse_milliseconds == 0) {
		cache->config.coarse_milliseconds = DEFAULT_COARSE_MILLISECONDS;
	}
	cache->bucket_count = 1;
	while (cache->bucket_count < cache->config.max_directories &&
	       cache->bucket_count < MAX_BUCKETS) {
		cache->bucket_count *= 2;
	}
	cache->buckets = talloc_zero_array(
		cache, struct directory *, cache->bucket_count);
	if (cache->buckets == NULL) {
		goto fail;
	}
	cache->counters = ntvfs_name_counters_open(cache, config->counter_path);
	if (cache->counters == NULL) {
		error = errno;
		goto fail;
	}
	return cache;
fail:
	TALLOC_FREE(cache);
	errno = error;
	return NULL;
}

static bool is_dot_or_dot_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Remember a name that is read; give up remembering if that cannot be done. */
static void remember_name(struct ntvfs_name_cache_scan *scan,
			  const char *name,
			  uint32_t hash)
{
	int ret = 0;

	if (scan->table == NULL) {
		return;
	}
	ret = ntvfs_name_table_add(scan->table, name, hash);
	if (ret == EEXIST) {
		/* A reading may meet a name twice while others rename. */
		return;
	}
	if (ret != 0 ||
	    ntvfs_name_table_count(scan->table) > scan->max_names) {
		TALLOC_FREE(scan->table);
	}
}

void ntvfs_name_cache_emit(struct ntvfs_name_cache_scan *scan,
			   const char *name)
{
	uint32_t hash = 0;

	if (is_dot_or_dot_dot(name)) {
		return;
	}
	scan->names++;
	hash = ntvfs_name_hash(name);
	remember_name(scan, name, hash);
	if (hash != scan->wanted_hash) {
		return;
	}
	if (!ntvfs_names_equal(scan->wanted, name)) {
		return;
	}
	if (!ntvfs_name_is_better(scan->wanted, name, scan->best)) {
		return;
	}
	TALLOC_FREE(scan->best);
	scan->best = talloc_strdup(scan->mem_ctx, name);
	if (scan->best == NULL) {
		scan->error = ENOMEM;
	}
}

/* Keep what a complete scan has read; template holds all but the table. */
static void remember_scan(struct ntvfs_name_cache *cache,
			  struct ntvfs_name_cache_scan *scan,
			  const struct directory *template)
{
	struct directory *directory = NULL;
	bool too_many = scan->names > cache->config.max_names;

	if (scan->table == NULL && !too_many) {
		return;
	}
	directory = talloc(cache, struct directory);
	if (directory == NULL) {
		return;
	}
	*directory = *template;
	directory->table = talloc_steal(directory, scan->table);
	scan->table = NULL;
	if (directory->table != NULL) {
		ntvfs_name_table_trim(directory->table);
	}
	insert_directory(cache, directory);
	make_room(cache);
}

/*
 * Read the directory, answer from what is read and remember it if it can be
 * used again. Of a directory that held too many names last time only that is
 * remembered, as a directory without a table: collecting the names is then
 * not tried again until a reading finds that there are few enough.
 */
static int scan_directory(struct ntvfs_name_cache *cache,
			  const struct directory *template,
			  bool too_many_last_time,
			  ntvfs_read_directory_fn read_directory,
			  void *private_data,
			  const char *name,
			  TALLOC_CTX *mem_ctx,
			  char **stored_name)
{
	struct directory result = *template;
	struct ntvfs_name_cache_scan scan = {
		.max_names = cache->config.max_names,
		.wanted = name,
		.wanted_hash = ntvfs_name_hash(name),
		.mem_ctx = mem_ctx,
	};
	struct timespec now = {0};
	uint64_t start = 0;
	bool settled = false;
	int ret = 0;

	cache->statistics.scans++;
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	settled = stamp_is_settled(cache, &result.stamp, &now);
	if (!too_many_last_time &&
	    (settled || cache->config.unproven_milliseconds != 0)) {
		scan.table = ntvfs_name_table_create(cache);
	}
	start = nanoseconds_now();
	ret = read_directory(&scan, private_data);
	if (ret == 0) {
		ret = scan.error;
	}
	if (ret != 0) {
		TALLOC_FREE(scan.best);
		goto done;
	}
	result.reading_nanoseconds = nanoseconds_now() - start;
	result.deadline = PROVEN;
	if (!settled) {
		result.deadline =
			deadline_from_now(cache, result.reading_nanoseconds);
	}
	remember_scan(cache, &scan, &result);
	if (scan.best == NULL) {
		ret = ENOENT;
		goto done;
	}
	*stored_name = scan.best;
done:
	TALLOC_FREE(scan.table);
	return ret;
}

static bool may_be_used(const struct directory *directory,
			const struct ntvfs_directory_stamp *stamp,
			uint64_t counter)
{
	if (directory->table == NULL) {
		return false;
	}
	if (directory->counter != counter) {
		return false;
	}
	if (!stamps_equal(&directory->stamp, stamp)) {
		return false;
	}
	if (directory->deadline == PROVEN) {
		return true;
	}
	return nanoseconds_now() < directory->deadline;
}

int ntvfs_name_cache_lookup(struct ntvfs_name_cache *cache,
			    const struct ntvfs_directory_stamp *stamp,
			    ntvfs_read_directory_fn read_directory,
			    void *private_data,
			    const char *name,
			    TALLOC_CTX *mem_ctx,
			    char **stored_name)
{
	struct directory template = {
		.hash = ntvfs_name_counters_hash(stamp->dev, stamp->ino),
		.stamp = *stamp,
	};
	struct directory *directory = NULL;
	const char *found = NULL;
	bool too_many_last_time = false;

	*stored_name = NULL;

	/* Before the directory is read (C2). */
	template.counter =
		ntvfs_name_counters_get(cache->counters, template.hash);
	directory = find_directory(
		cache, template.hash, stamp->dev, stamp->ino);
	if (directory == NULL ||
	    !may_be_used(directory, stamp, template.counter)) {
		if (directory != NULL && directory->table == NULL) {
			too_many_last_time = true;
			remove_directory(cache, directory);
		} else if (directory != NULL) {
			drop(cache, directory);
		}
		return scan_directory(cache,
				      &template,
				      too_many_last_time,
				      read_directory,
				      private_data,
				      name,
				      mem_ctx,
				      stored_name);
	}
	cache->statistics.answered++;
	used_now(cache, directory);
	found = ntvfs_name_table_find(directory->table, name);
	if (found == NULL) {
		return ENOENT;
	}
	*stored_name = talloc_strdup(mem_ctx, found);
	if (*stored_name == NULL) {
		return ENOMEM;
	}
	return 0;
}

void ntvfs_name_cache_begin_change(struct ntvfs_name_cache *cache,
				   const struct ntvfs_directory_stamp *before,
				   struct ntvfs_name_change *change)
{
	uint64_t hash = ntvfs_name_counters_hash(before->dev, before->ino);

	*change = (struct ntvfs_name_change){
		.before = *before,
		.counter = ntvfs_name_counters_add(cache->counters, hash),
	};
}

/*
 * Make the names of a change in memory. False: that could not be done, and
 * the table is no longer right.
 */
static bool apply_names(struct ntvfs_name_cache *cache,
			struct directory *directory,
			const char *removed,
			const char *added)
{
	int ret = 0;

	if (removed != NULL) {
		/* If it is not there, then what is remembered is wrong. */
		if (!ntvfs_name_table_remove(directory->table, removed)) {
			return false;
		}
		cache->statistics.names--;
	}
	if (added != NULL) {
		ret = ntvfs_name_table_add(
			directory->table, added, ntvfs_name_hash(added));
		if (ret == EEXIST) {
			return true;
		}
		if (ret != 0) {
			return false;
		}
		cache->statistics.names++;
	}
	return true;
}

/*
 * Apply a change that this process has made; nobody else who counts made one
 * meanwhile. False: the directory is to be forgotten.
 */
static bool apply_change(struct ntvfs_name_cache *cache,
			 struct directory *directory,
			 bool succeeded,
			 const struct ntvfs_directory_stamp *after,
			 const char *removed,
			 const char *added)
{
	bool same = stamps_equal(&directory->stamp, after);

	if (!succeeded) {
		/* A call that failed changed nothing; others may have. */
		return same;
	}
	if (same && (stamps_are_exact(cache, after) ||
		     directory->deadline == PROVEN)) {
		/*
		 * Every change would have moved this stamp. The call changed
		 * nothing: open with O_CREAT of a name that was there, rename
		 * of one hard link to another of the same file.
		 */
		return true;
	}
	if (same && removed != NULL) {
		/* Did nothing, as above, or did it within one tick? */
		return false;
	}
	if (cache->config.unproven_milliseconds == 0) {
		return false;
	}
	if (!apply_names(cache, directory, removed, added)) {
		return false;
	}
	directory->stamp = *after;
	if (directory->deadline == PROVEN) {
		directory->deadline = deadline_from_now(
			cache, directory->reading_nanoseconds);
	}
	cache->statistics.applied++;
	return directory_names(directory) <= cache->config.max_names;
}

void ntvfs_name_cache_end_change(struct ntvfs_name_cache *cache,
				 struct ntvfs_name_change *change,
				 bool succeeded,
				 const struct ntvfs_directory_stamp *after,
				 const char *removed,
				 const char *added)
{
	struct directory *directory = NULL;
	uint64_t dev = change->before.dev;
	uint64_t ino = change->before.ino;
	uint64_t hash = ntvfs_name_counters_hash(dev, ino);
	uint64_t counter = 0;

	counter = ntvfs_name_counters_add(cache->counters, hash);
	directory = find_directory(cache, hash, dev, ino);
	if (directory == NULL || directory->table == NULL) {
		return;
	}
	if (after == NULL) {
		goto forget;
	}
	/*
	 * What is remembered must be of the moment before the change: neither
	 * older, nor read in between by this process. And only our own two
	 * steps may have moved the counter.
	 */
	if (counter != change->counter + 1 ||
	    directory->counter != change->counter ||
	    !stamps_equal(&directory->stamp, &change->before)) {
		goto forget;
	}
	if (after->dev != dev || after->ino != ino) {
		goto forget;
	}
	if (removed != NULL && is_dot_or_dot_dot(removed)) {
		removed = NULL;
	}
	if (added != NULL && is_dot_or_dot_dot(added)) {
		added = NULL;
	}
	if (!apply_change(cache, directory, succeeded, after, removed, added)) {
		goto forget;
	}
	directory->counter = counter + 1;
	used_now(cache, directory);
	make_room(cache);
	return;
forget:
	drop(cache, directory);
}

void ntvfs_name_cache_forget(struct ntvfs_name_cache *cache,
			     uint64_t dev,
			     uint64_t ino)
{
	struct directory *directory = NULL;
	uint64_t hash = ntvfs_name_counters_hash(dev, ino);

	directory = find_directory(cache, hash, dev, ino);
	if (directory != NULL) {
		drop(cache, directory);
	}
}

void ntvfs_name_cache_statistics(const struct ntvfs_name_cache *cache,
				 struct ntvfs_name_cache_statistics *result)
{
	const struct directory *directory = NULL;

	*result = cache->statistics;
	result->bytes = sizeof(*cache) +
			cache->bucket_count * sizeof(struct directory *);
	for (directory = cache->newest; directory != NULL;
	     directory = directory->older) {
		result->bytes += sizeof(*directory);
		if (directory->table != NULL) {
			result->bytes +=
				ntvfs_name_table_bytes(directory->table);
		}
	}
}

char *ntvfs_name_cache_to_text(const struct ntvfs_name_cache *cache,
			       TALLOC_CTX *mem_ctx)
{
	struct ntvfs_name_cache_statistics now = {0};

	ntvfs_name_cache_statistics(cache, &now);
	return talloc_asprintf(mem_ctx,
			       "name cache: %zu directories, %zu names, "
			       "%zu bytes; %" PRIu64 " lookups answered, "
			       "%" PRIu64 " readings, %" PRIu64 " changes "
			       "applied, %" PRIu64 " directories dropped, "
			       "%" PRIu64 " evicted",
			       now.directories,
			       now.names,
			       now.bytes,
			       now.answered,
			       now.scans,
			       now.applied,
			       now.dropped,
			       now.evicted);
}
