/*
 * What looking for a name without regard to case costs, with the name cache of
 * the posix backend and without.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 *	bin/bench-name-cache [FOLDER]
 *
 * makes directories of 10, 1,000 and 200,000 files in FOLDER (default:
 * /var/tmp), measures and removes them. All figures are nanoseconds per
 * operation, the fstat calls that the caller makes included, but not the
 * system calls that make the change.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "lib/util/charset/charset.h"
#include "directory_stamp.h"
#include "name_cache.h"

static void die(const char *what)
{
	fprintf(stderr, "bench-name-cache: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t nanoseconds_now(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct ntvfs_directory_stamp get_stamp(int fd)
{
	struct ntvfs_directory_stamp stamp = {0};
	struct stat st = {0};

	if (fstat(fd, &st) == -1) {
		die("fstat");
	}
	stamp.dev = st.st_dev;
	stamp.ino = st.st_ino;
	stamp.mtime = st.st_mtim;
	stamp.ctime = st.st_ctim;
	return stamp;
}

static DIR *open_reading(int directory_fd)
{
	DIR *stream = NULL;
	int fd = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY);

	if (fd == -1) {
		die("openat");
	}
	stream = fdopendir(fd);
	if (stream == NULL) {
		die("fdopendir");
	}
	return stream;
}

static int read_directory(struct ntvfs_name_cache_scan *scan,
			  void *private_data)
{
	int *fd = private_data;
	struct dirent *entry = NULL;
	DIR *stream = open_reading(*fd);

	while ((entry = readdir(stream)) != NULL) {
		ntvfs_name_cache_emit(scan, entry->d_name);
	}
	closedir(stream);
	return 0;
}

/* What smbd does itself for a name that is not there. */
static void plain_search(int fd, const char *name)
{
	struct dirent *entry = NULL;
	DIR *stream = open_reading(fd);

	while ((entry = readdir(stream)) != NULL) {
		if (strcasecmp_m(entry->d_name, name) == 0) {
			break;
		}
	}
	closedir(stream);
}

static void look(struct ntvfs_name_cache *cache, int fd, const char *name)
{
	struct ntvfs_directory_stamp stamp = get_stamp(fd);
	char *found = NULL;

	ntvfs_name_cache_lookup(
		cache, &stamp, read_directory, &fd, name, cache, &found);
	TALLOC_FREE(found);
}

static void make_file(int fd, const char *name)
{
	int file = openat(fd, name, O_WRONLY | O_CREAT, 0600);

	if (file == -1) {
		die(name);
	}
	close(file);
}

/* Nanoseconds of the cache's part of a create and a remove, per change. */
static uint64_t measure_changes(struct ntvfs_name_cache *cache,
				int fd,
				unsigned rounds)
{
	struct ntvfs_directory_stamp stamp;
	struct ntvfs_name_change change;
	uint64_t start = 0;
	uint64_t total = 0;
	unsigned i;

	for (i = 0; i < rounds; i++) {
		start = nanoseconds_now();
		stamp = get_stamp(fd);
		ntvfs_name_cache_begin_change(cache, &stamp, &change);
		total += nanoseconds_now() - start;
		if (i % 2 == 0) {
			make_file(fd, "One more file.docx");
		} else {
			unlinkat(fd, "One more file.docx", 0);
		}
		start = nanoseconds_now();
		stamp = get_stamp(fd);
		ntvfs_name_cache_end_change(
			cache,
			&change,
			true,
			&stamp,
			i % 2 == 0 ? NULL : "One more file.docx",
			i % 2 == 0 ? "One more file.docx" : NULL);
		total += nanoseconds_now() - start;
	}
	return total / rounds;
}

static void file_name(char *name, size_t size, const char *word, unsigned i)
{
	snprintf(name, size, "%s %06u.docx", word, i);
}

static void measure(const char *folder, unsigned count)
{
	struct ntvfs_name_cache_config config = {
		.unproven_milliseconds = 1000,
	};
	struct ntvfs_name_cache_statistics statistics;
	struct ntvfs_name_cache *cache = NULL;
	const unsigned rounds = 200000;
	unsigned searches = 2000000 / (count + 100) + 1;
	uint64_t first = 0;
	uint64_t hit = 0;
	uint64_t miss = 0;
	uint64_t applied = 0;
	uint64_t plain = 0;
	uint64_t start = 0;
	char path[4096];
	char name[64];
	unsigned i;
	int fd = -1;

	snprintf(path, sizeof(path), "%s/ntvfs-bench-XXXXXX", folder);
	if (mkdtemp(path) == NULL) {
		die(path);
	}
	fd = open(path, O_RDONLY | O_DIRECTORY);
	if (fd == -1) {
		die(path);
	}
	for (i = 0; i < count; i++) {
		file_name(name, sizeof(name), "Document", i);
		make_file(fd, name);
	}
	usleep(50000);
	config.exact_stamps = ntvfs_stamps_are_exact(fd);
	cache = ntvfs_name_cache_init(NULL, &config);
	if (cache == NULL) {
		die("ntvfs_name_cache_init");
	}

	start = nanoseconds_now();
	for (i = 0; i < searches; i++) {
		plain_search(fd, "Missing.docx");
	}
	plain = (nanoseconds_now() - start) / searches;

	start = nanoseconds_now();
	look(cache, fd, "DOCUMENT 000000.DOCX");
	first = nanoseconds_now() - start;
	ntvfs_name_cache_statistics(cache, &statistics);

	start = nanoseconds_now();
	for (i = 0; i < rounds; i++) {
		file_name(name, sizeof(name), "DOCUMENT", i * 7919 % count);
		look(cache, fd, name);
	}
	hit = (nanoseconds_now() - start) / rounds;

	start = nanoseconds_now();
	for (i = 0; i < rounds; i++) {
		file_name(name, sizeof(name), "MISSING", i * 7919 % count);
		look(cache, fd, name);
	}
	miss = (nanoseconds_now() - start) / rounds;

	applied = measure_changes(cache, fd, 20000);
	printf("%8u %12llu %12llu %8llu %8llu %8llu %8.1f\n",
	       count,
	       (unsigned long long)plain,
	       (unsigned long long)first,
	       (unsigned long long)hit,
	       (unsigned long long)miss,
	       (unsigned long long)applied,
	       (double)statistics.bytes / count);

	for (i = 0; i < count; i++) {
		file_name(name, sizeof(name), "Document", i);
		unlinkat(fd, name, 0);
	}
	close(fd);
	rmdir(path);
	TALLOC_FREE(cache);
}

int main(int argc, char **argv)
{
	const char *folder = argc > 1 ? argv[1] : "/var/tmp";
	int fd = open(folder, O_RDONLY | O_DIRECTORY);

	if (fd == -1) {
		die(folder);
	}
	printf("names of 20 bytes, time in ns; stamps of %s are %s\n",
	       folder,
	       ntvfs_stamps_are_exact(fd) ? "exact" : "coarse");
	close(fd);
	printf("%8s %12s %12s %8s %8s %8s %8s\n",
	       "names",
	       "plain search",
	       "first lookup",
	       "hit",
	       "miss",
	       "change",
	       "bytes");
	measure(folder, 10);
	measure(folder, 1000);
	measure(folder, 200000);
	return 0;
}
