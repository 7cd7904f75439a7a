/*
 * bench-engine-more: flush beside a stream, attach after a crash, memory.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <popt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "io.h"
#include "ntvfs_native.h"

#define BLOCK 4096
#define STREAM_PIECE (256 * 1024)
#define MOST_FLUSHES 2000

static const char usage[] =
"Usage: bench/engine-more [OPTION...]\n"
"\n"
"What bench/engine does not measure of the native engine:\n"
"  flush   of a 4 KiB file while another process streams into the same\n"
"          volume, and fsync on the file system of DIR under the same load\n"
"  attach  of a volume with many files after all processes were killed and\n"
"          the segment is gone, its image not in the page cache\n"
"  memory  of a process that has attached and touched nothing\n"
"\n"
"  --quick           fewer files, a shorter stream\n"
"  --json FILE       write a list of {test, fs, unit, value}\n"
"  --directory DIR   work here (default /var/tmp); ext4 is what is meant\n"
"  -h, --help        this text\n";

struct result {
	const char *test;
	const char *fs;
	const char *unit;
	double value;
};

static struct result results[32];
static uint32_t result_count;
static char work[160];
static char image[200];

static void die(const char *what, const char *why)
	__attribute__((noreturn));

static void die(const char *what, const char *why)
{
	fprintf(stderr, "bench-engine-more: %s: %s\n", what, why);
	exit(1);
}

static void check(enum nv_status status, const char *what)
{
	if (status != NV_OK) {
		die(what, nv_status_string(status));
	}
}

static void tell(const char *test, const char *fs, const char *unit,
		 double value)
{
	printf("%-28s %-8s %12.3f %s\n", test, fs, value, unit);
	fflush(stdout);
	results[result_count] = (struct result) {test, fs, unit, value};
	result_count++;
}

static double milliseconds(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1000 + (double)now.tv_nsec / 1e6;
}

static struct nv_volume *attach(void)
{
	char message[NV_MESSAGE_SIZE] = "";
	struct nv_volume *volume = NULL;
	struct nv_io *io = NULL;

	if (nv_io_open(image, false, &io) != 0) {
		die(image, "cannot be opened");
	}
	if (nv_volume_attach(io, NULL, &volume, message) != NV_OK) {
		die(image, message);
	}
	return volume;
}

static void format(uint64_t size)
{
	struct nv_io *io = NULL;

	unlink(image);
	if (nv_io_create(image, size, &io) != 0) {
		die(image, "cannot be made");
	}
	check(nv_volume_format(io, NULL), "format");
	io->ops->close(io);
}

static nv_file_id create(struct nv_volume *volume, nv_file_id directory,
			 uint32_t type, const char *prefix, uint32_t number)
{
	struct nv_create_params params = {
		.type = type,
		.info = {.attributes = 0x20},
		.info_mask = NV_INFO_ATTRIBUTES,
	};
	uint16_t units[32];
	char text[32];
	nv_file_id id = 0;
	uint32_t i;

	snprintf(text, sizeof(text), "%s%u", prefix, number);
	for (i = 0; text[i] != '\0'; i++) {
		units[i] = (uint8_t)text[i];
	}
	params.name.units = units;
	params.name.length = i;
	check(nv_create(volume, directory, &params, &id), "create");
	return id;
}

static nv_file_id root_of(struct nv_volume *volume)
{
	struct nv_volume_statistics statistics;

	check(nv_volume_statistics(volume, &statistics), "statistics");
	return statistics.root_directory;
}

/* ---- flush beside a stream ---- */

static void stream_native(uint64_t bytes)
{
	struct nv_volume *volume = attach();
	nv_file_id id = create(volume, root_of(volume), NV_FILE, "stream", 0);
	uint8_t *buffer = calloc(1, STREAM_PIECE);
	uint64_t offset;

	memset(buffer, 's', STREAM_PIECE);
	/* Over and over, until we are killed. */
	for (offset = 0;; offset = (offset + STREAM_PIECE) % bytes) {
		check(nv_write(volume, id, offset, buffer, STREAM_PIECE, 1),
		      "stream");
		check(nv_volume_tick(volume), "tick");
	}
}

static void stream_file(uint64_t bytes)
{
	uint8_t *buffer = calloc(1, STREAM_PIECE);
	char path[240];
	uint64_t offset;
	int fd;

	memset(buffer, 's', STREAM_PIECE);
	snprintf(path, sizeof(path), "%s/stream", work);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (offset = 0;; offset = (offset + STREAM_PIECE) % bytes) {
		if (pwrite(fd, buffer, STREAM_PIECE, (off_t)offset) !=
		    STREAM_PIECE) {
			die(path, strerror(errno));
		}
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void tell_times(const char *fs, double *times, uint32_t count)
{
	qsort(times, count, sizeof(times[0]), compare);
	tell("flush_beside_stream_median", fs, "ms", times[count / 2]);
	tell("flush_beside_stream_p99", fs, "ms", times[count * 99 / 100]);
}

static uint32_t flush_native(double *times, double duration)
{
	struct nv_volume *volume = attach();
	nv_file_id root = root_of(volume);
	uint8_t block[BLOCK] = {0};
	double start = milliseconds();
	uint32_t count = 0;

	while (milliseconds() - start < duration && count < MOST_FLUSHES) {
		nv_file_id id = create(volume, root, NV_FILE, "small", count);
		double begin;

		check(nv_write(volume, id, 0, block, BLOCK, 1), "write");
		begin = milliseconds();
		check(nv_file_flush(volume, id), "flush");
		times[count] = milliseconds() - begin;
		count++;
		usleep(5000);
	}
	check(nv_volume_detach(volume), "detach");
	return count;
}

static uint32_t flush_files(double *times, double duration)
{
	uint8_t block[BLOCK] = {0};
	double start = milliseconds();
	uint32_t count = 0;

	while (milliseconds() - start < duration && count < MOST_FLUSHES) {
		char path[240];
		double begin;
		int fd;

		snprintf(path, sizeof(path), "%s/small%u", work, count);
		fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
		if (fd < 0 || pwrite(fd, block, BLOCK, 0) != BLOCK) {
			die(path, strerror(errno));
		}
		begin = milliseconds();
		if (fsync(fd) != 0) {
			die(path, strerror(errno));
		}
		times[count] = milliseconds() - begin;
		count++;
		close(fd);
		usleep(5000);
	}
	return count;
}

static void flush_beside_stream(bool native, double duration, uint64_t bytes)
{
	static double times[MOST_FLUSHES];
	uint32_t count;
	pid_t pid;

	if (native) {
		format(bytes * 2);
	}
	pid = fork();
	if (pid < 0) {
		die("fork", strerror(errno));
	}
	if (pid == 0) {
		if (native) {
			stream_native(bytes);
		}
		stream_file(bytes);
	}
	usleep(1000000);
	count = native ? flush_native(times, duration) :
		flush_files(times, duration);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	tell_times(native ? "native" : "host", times, count);
}

/* ---- attach after a crash ---- */

static void fill_volume(uint32_t files)
{
	pid_t pid = fork();
	int status = 0;

	if (pid < 0) {
		die("fork", strerror(errno));
	}
	if (pid == 0) {
		struct nv_volume *volume = attach();
		nv_file_id directory = 0;
		uint32_t i;

		for (i = 0; i < files; i++) {
			if (i % 10000 == 0) {
				directory = create(volume, root_of(volume),
						   NV_DIRECTORY, "directory",
						   i / 10000);
				check(nv_volume_tick(volume), "tick");
			}
			create(volume, directory, NV_FILE, "file", i);
		}
		check(nv_volume_commit(volume), "commit");
		create(volume, directory, NV_FILE, "lost", 0);
		kill(getpid(), SIGKILL);
	}
	if (waitpid(pid, &status, 0) < 0 || !WIFSIGNALED(status)) {
		die("fill", "the process that fills the volume failed");
	}
}

/* As after a reboot: no segment, and the image not in memory. */
static void forget_segment_and_cache(void)
{
	char segment[200];
	struct stat st;
	int fd = open(image, O_RDWR);

	if (fd < 0 || fstat(fd, &st) != 0) {
		die(image, strerror(errno));
	}
	snprintf(segment, sizeof(segment), "/dev/shm/ntvfs-%016llx-%016llx",
		 (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	if (unlink(segment) != 0) {
		die(segment, strerror(errno));
	}
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

static void attach_after_crash(uint32_t files)
{
	struct nv_volume_statistics statistics;
	struct nv_volume *volume = NULL;
	double start;
	double took;

	format((uint64_t)files * 2048 + ((uint64_t)64 << 20));
	fill_volume(files);
	forget_segment_and_cache();
	start = milliseconds();
	volume = attach();
	took = milliseconds() - start;
	check(nv_volume_statistics(volume, &statistics), "statistics");
	if (statistics.inodes < files) {
		die("attach", "files are missing");
	}
	check(nv_volume_detach(volume), "detach");
	tell("attach_after_crash", "native", "ms", took);
	tell("attach_after_crash_files", "native", "files", files);
}

/* ---- memory ---- */

static double private_kib(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	char line[200];
	double sum = 0;

	if (file == NULL) {
		die("/proc/self/smaps_rollup", strerror(errno));
	}
	while (fgets(line, sizeof(line), file) != NULL) {
		if (strncmp(line, "Private_", 8) == 0) {
			sum += atof(strchr(line, ':') + 1);
		}
	}
	fclose(file);
	return sum;
}

static void memory_of_attached(void)
{
	struct nv_volume *keep = attach();
	double *added = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();

	if (pid < 0) {
		die("fork", strerror(errno));
	}
	if (pid == 0) {
		double before = private_kib();
		struct nv_volume *volume = attach();

		*added = private_kib() - before;
		check(nv_volume_detach(volume), "detach");
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	check(nv_volume_detach(keep), "detach");
	tell("memory_of_attached", "native", "KiB", *added);
}

static void write_json(const char *path)
{
	FILE *file = fopen(path, "w");
	uint32_t i;

	if (file == NULL) {
		die(path, strerror(errno));
	}
	fputc('[', file);
	for (i = 0; i < result_count; i++) {
		fprintf(file, "%s\n  {\"test\": \"%s\", \"fs\": \"%s\", "
			"\"unit\": \"%s\", \"value\": %.3f}",
			i == 0 ? "" : ",", results[i].test, results[i].fs,
			results[i].unit, results[i].value);
	}
	fputs("\n]\n", file);
	if (fclose(file) != 0) {
		die(path, strerror(errno));
	}
}

int main(int argc, const char **argv)
{
	const char *directory = "/var/tmp";
	const char *json = NULL;
	poptContext context = NULL;
	uint32_t rounds = 3;
	char command[240];
	int quick = 0;
	int help = 0;
	uint32_t i;
	int next;
	struct poptOption options[] = {
		{"quick", 0, POPT_ARG_NONE, &quick, 0, NULL, NULL},
		{"json", 0, POPT_ARG_STRING, &json, 0, NULL, NULL},
		{"directory", 0, POPT_ARG_STRING, &directory, 0, NULL, NULL},
		{"help", 'h', POPT_ARG_NONE, &help, 0, NULL, NULL},
		POPT_TABLEEND
	};

	context = poptGetContext("bench/engine-more", argc, argv, options, 0);
	next = poptGetNextOpt(context);
	if (next < -1 || poptPeekArg(context) != NULL) {
		fputs(usage, stderr);
		return 2;
	}
	if (help) {
		fputs(usage, stdout);
		return 0;
	}
	snprintf(work, sizeof(work), "%s/bench-engine-more-XXXXXX", directory);
	if (mkdtemp(work) == NULL) {
		die(work, strerror(errno));
	}
	snprintf(image, sizeof(image), "%s/image", work);
	if (quick) {
		rounds = 1;
	}
	for (i = 0; i < rounds; i++) {
		double duration = quick ? 4000 : 15000;
		uint64_t bytes = (uint64_t)(quick ? 512 : 2048) << 20;

		flush_beside_stream(true, duration, bytes);
		flush_beside_stream(false, duration, bytes);
	}
	attach_after_crash(quick ? 100000 : 1000000);
	memory_of_attached();
	if (json != NULL) {
		write_json(json);
	}
	snprintf(command, sizeof(command), "rm -rf '%s'", work);
	if (system(command) != 0) {
		die(work, "cannot be removed");
	}
	poptFreeContext(context);
	return 0;
}
