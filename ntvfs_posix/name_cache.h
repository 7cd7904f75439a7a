/*
 * The names of a directory, found without regard to case and kept.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A POSIX directory answers "is there a name spelled exactly so". An SMB
 * client asks "is there a name equal to this one without regard to case, and
 * how is it spelled" (MS-FSA 2.1.5.1, names are compared upcased), and about
 * half of its questions are about names that do not exist: each would read
 * the whole directory. This cache reads a directory once and answers from
 * memory until the directory changes. Changes of this process are applied to
 * the memory, so that filling a directory costs the same per file however
 * large it has become.
 *
 * The cache belongs to one process and is not thread safe. Other processes
 * change directories at any time; nothing here locks them out, so every
 * answer is true of some moment between the caller's fstat of the directory
 * and the return, as with a scan, except for what "unproven" says below.
 *
 * When is what is remembered still true? Two witnesses:
 *
 * - The *stamp*: device, inode, mtime and ctime of the directory. Every change
 *   to a directory sets its ctime, and no program can set it back.
 * - The *counter*: a number shared by all processes that use this cache with
 *   the same counter file. Everyone adds one before and one after each change.
 *
 * Content is used only while both are what they were. That alone is enough
 * when stamps are exact: when no two changes with an fstat between them get
 * the same stamp (Linux 6.13 and later on ext4, xfs and btrfs, asked by
 * ntvfs_stamps_are_exact()). Content read under an exact stamp is *proven*: it
 * is used for as long as the stamp stays. Elsewhere stamps move once in a few
 * milliseconds, and content is proven only if the stamp was already older than
 * that when the reading began.
 *
 * Two kinds of content are *unproven*: content read under a stamp too young
 * for that, and content to which a change of this process was applied (between
 * the caller's two fstats a program that knows nothing of counters may have
 * changed the directory too, and the second stamp would then hide it). Such
 * content is used for at most config.unproven_milliseconds, then the directory
 * is read again. So the only wrong answers ever given are about a name that a
 * local program added or removed within the same few milliseconds (with exact
 * stamps: microseconds) as a change by this process, and only for that long.
 * They are answers about spelling only, as long as the caller has first asked
 * the file system for the exact name; when an answer turns out to be wrong,
 * call ntvfs_name_cache_forget() and ask again. Zero allows no unproven content
 * at all: then own changes are not applied, each costs one reading.
 *
 * Equal means what smbd means by it: strcasecmp_m() of libsamba-util returns
 * zero, invalid UTF-8 included.
 */

#ifndef NTVFS_POSIX_NAME_CACHE_H
#define NTVFS_POSIX_NAME_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <talloc.h>

struct ntvfs_name_cache;

/*
 * What an fstat of a directory says about its state: the file system's own
 * values, not times that NT metadata put in their place.
 */
struct ntvfs_directory_stamp {
	uint64_t dev;
	uint64_t ino;
	struct timespec mtime;
	struct timespec ctime;
};

struct ntvfs_name_cache_config {
	/* Names remembered in all directories together; the directories used
	   longest ago make room. A directory with more is read for every
	   question. 0 means the default of 1,000,000 (about 45 MB of names of
	   20 bytes). */
	size_t max_names;

	/* Directories remembered. 0 means the default of 4,096. */
	size_t max_directories;

	/* What ntvfs_stamps_are_exact() said of the share's file system. */
	bool exact_stamps;

	/* The device that was asked; those of others mounted in the share are
	   taken for coarse. 0: there is no other. */
	uint64_t stamps_dev;

	/* Without exact stamps: how old a stamp must be before a change made
	   now is sure to get another one. 0 means the default of 20. A stamp
	   of a whole second, which file systems that know no fractions give,
	   must be 2 seconds older than that. Ages are told by this machine's
	   clock: where another machine's clock stamps the directories, add the
	   largest difference between the two. */
	uint32_t coarse_milliseconds;

	/* See "unproven" above; also never shorter than twenty times what the
	   last reading took, so that readings of a huge directory cannot eat
	   more than a twentieth of the time. 1,000 is a good value. */
	uint32_t unproven_milliseconds;

	/* The file of shared counters (docs in name_counters.h), made when it
	   is missing. All processes that serve the same directories name the
	   same file. NULL: nobody else uses this cache for them. */
	const char *counter_path;
};

/*
 * Make a cache, a talloc child of mem_ctx; TALLOC_FREE ends it. The config is
 * copied. Returns NULL with errno set: ENOMEM, or why the counter file cannot
 * be used (errno of open, fallocate or mmap; EINVAL when it is no regular
 * file).
 */
struct ntvfs_name_cache *ntvfs_name_cache_init(
	TALLOC_CTX *mem_ctx, const struct ntvfs_name_cache_config *config);

/*
 * A reading of a directory in progress: read_directory hands every name to
 * ntvfs_name_cache_emit() with it.
 */
struct ntvfs_name_cache_scan;

/*
 * Read all names of the directory that the stamp was taken of, from its
 * beginning, and pass each to ntvfs_name_cache_emit(). "." and ".." may be
 * passed, they are ignored. Returns 0, or an errno value when the reading
 * failed; what was emitted is then thrown away. Must not call the cache
 * otherwise.
 */
typedef int (*ntvfs_read_directory_fn)(struct ntvfs_name_cache_scan *scan,
				       void *private_data);

void ntvfs_name_cache_emit(struct ntvfs_name_cache_scan *scan,
			   const char *name);

/*
 * Does the directory hold a name equal to name, and how is it spelled? The
 * stamp comes from an fstat done just before the call. read_directory is
 * called with private_data, once at most, when memory has no answer.
 *
 * Returns 0 with *stored_name (talloc child of mem_ctx, the caller's): exactly
 * name if the directory holds that spelling, else the first in the order of
 * strcmp() among the equal names. Returns ENOENT when there is none, with
 * *stored_name NULL. Otherwise what read_directory returned, or ENOMEM for the
 * answer itself; the lack of memory for remembering is not an error.
 *
 * A read_directory that fails with ENOENT (the directory is gone) reads as
 * "absent", which is true of a directory that is no more.
 */
int ntvfs_name_cache_lookup(struct ntvfs_name_cache *cache,
			    const struct ntvfs_directory_stamp *stamp,
			    ntvfs_read_directory_fn read_directory,
			    void *private_data,
			    const char *name,
			    TALLOC_CTX *mem_ctx,
			    char **stored_name);

/*
 * A change by this process, from begin to end; no memory hangs on it. A
 * process that dies in between leaves nothing behind that others wait for.
 */
struct ntvfs_name_change {
	struct ntvfs_directory_stamp before;
	uint64_t counter;
};

/*
 * Around each system call that adds or removes a name in a directory:
 *
 *	fstat(directory) -> before
 *	ntvfs_name_cache_begin_change(cache, &before, &change)
 *	the system call
 *	fstat(directory) -> after
 *	ntvfs_name_cache_end_change(cache, &change, succeeded, &after,
 *				    removed, added)
 *
 * Every begin is followed by its end, whatever happens between. The calls may
 * be nested for different directories (rename to another directory: begin
 * both, end both); nested for one directory they are correct but forget it.
 *
 * When the call failed, succeeded is false and the names do not matter. When
 * the second fstat failed, after is NULL: the directory is forgotten. removed
 * and added name what the system call removed and added, each may be NULL: a
 * create adds, an unlink removes, a rename within one directory does both (a
 * name that existed before may be added again: O_CREAT without O_EXCL, rename
 * over an existing file). Both NULL is for a change to the directory's own
 * attributes (chmod, setxattr, utimensat move its ctime): what is remembered
 * then survives it. "." and ".." are ignored.
 */
void ntvfs_name_cache_begin_change(struct ntvfs_name_cache *cache,
				   const struct ntvfs_directory_stamp *before,
				   struct ntvfs_name_change *change);

void ntvfs_name_cache_end_change(struct ntvfs_name_cache *cache,
				 struct ntvfs_name_change *change,
				 bool succeeded,
				 const struct ntvfs_directory_stamp *after,
				 const char *removed,
				 const char *added);

/*
 * Forget a directory: its answer turned out wrong, or it was removed.
 * Forgetting one that is not remembered is no error.
 */
void ntvfs_name_cache_forget(struct ntvfs_name_cache *cache,
			     uint64_t dev,
			     uint64_t ino);

/* What the cache holds and did since it was made. */
struct ntvfs_name_cache_statistics {
	size_t directories;
	size_t names;
	size_t bytes;		 /* of memory, everything included */
	uint64_t answered;	 /* lookups answered from memory */
	uint64_t scans;		 /* lookups that read the directory */
	uint64_t applied;	 /* own changes applied in place */
	uint64_t dropped;	 /* directories forgotten, not for room */
	uint64_t evicted;	 /* directories forgotten to make room */
};

void ntvfs_name_cache_statistics(const struct ntvfs_name_cache *cache,
				 struct ntvfs_name_cache_statistics *result);

/* The same as a line of text, a talloc child of mem_ctx; NULL: no memory. */
char *ntvfs_name_cache_to_text(const struct ntvfs_name_cache *cache,
			       TALLOC_CTX *mem_ctx);

#endif /* NTVFS_POSIX_NAME_CACHE_H */
