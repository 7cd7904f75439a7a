/*
 * The load of the engine's benchmark: one test, on one store, by one or more
 * processes, for a given time. bench/engine runs it on all.
 *
 *   bench-engine native:IMAGE|files:FOLDER TEST PROCESSES MILLISECONDS NAMES
 *
 * prints operations per second of all processes together. TEST.shared: all
 * processes work in one directory and on one file. And
 *
 *   bench-engine format IMAGE MEBIBYTES
 *
 * makes an empty volume.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "bench/engine_store.h"
#include "io.h"
#include "ntvfs_native.h"

#define PROCESSES_MOST 64
#define BLOCK 4096
#define FILE_BLOCKS 1024
/* Files of a directory in which something is asked for. */
#define SOME_NAMES 1000

/* Shared by the processes of a run. */
struct run {
	int32_t ready;
	int32_t go;
	struct {
		double rate;
		int error;
		char pad[48];	/* a cache line each */
	} result[PROCESSES_MOST];
};

struct worker {
	struct store *store;
	unsigned number;
	bool shared;		/* all work in one directory */
	uint64_t names;		/* of the large directory */
	uint64_t dir;
	uint64_t random;
	struct handle handles[SOME_NAMES];
	struct handle file;
	uint8_t block[BLOCK];
};

/* One test: what is made before the time runs, and one operation. */
struct test {
	const char *name;
	int (*prepare)(struct worker *worker);
	/* i counts up from 0; ENODATA: nothing is left to do */
	int (*operation)(struct worker *worker, uint64_t i);
};

static uint64_t next_random(struct worker *worker)
{
	/* xorshift: any cheap sequence will do */
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random;
}

static void name_of(char name[48], const struct worker *worker, uint64_t i)
{
	snprintf(name, 48, "file-%02u-%08" PRIu64 ".dat", worker->number, i);
}

static int make_files(struct worker *worker, uint64_t count)
{
	char name[48];
	uint64_t i;
	int error;

	for (i = 0; i < count; i++) {
		name_of(name, worker, i);
		error = worker->store->create(worker->store,
					      worker->dir,
					      name);
		if (error != 0) {
			return error;
		}
	}
	return 0;
}

static int prepare_nothing(struct worker *worker)
{
	return 0;
}

static int prepare_some(struct worker *worker)
{
	return make_files(worker, SOME_NAMES);
}

static int prepare_names(struct worker *worker)
{
	return make_files(worker, worker->names);
}

static int create_meta(struct worker *worker, uint64_t i)
{
	char name[48];

	name_of(name, worker, i);
	return worker->store->create(worker->store, worker->dir, name);
}

static int unlink_one(struct worker *worker, uint64_t i)
{
	char name[48];

	if (i >= worker->names) {
		return ENODATA;
	}
	name_of(name, worker, i);
	return worker->store->remove(worker->store, worker->dir, name);
}

static int rename_one(struct worker *worker, uint64_t i)
{
	char from[48];
	char to[56];

	name_of(from, worker, i / 2 % SOME_NAMES);
	snprintf(to, sizeof(to), "%s.new", from);
	if (i % 2 == 0) {
		return worker->store->rename(worker->store,
					     worker->dir,
					     from,
					     to);
	}
	return worker->store->rename(worker->store, worker->dir, to, from);
}

static int stat_meta(struct worker *worker, uint64_t i)
{
	char name[48];

	name_of(name, worker, next_random(worker) % SOME_NAMES);
	return worker->store->stat_meta(worker->store, worker->dir, name);
}

static int lookup_hit(struct worker *worker, uint64_t i)
{
	char name[48];

	name_of(name, worker, next_random(worker) % worker->names);
	return worker->store->lookup(worker->store, worker->dir, name);
}

static int lookup_miss(struct worker *worker, uint64_t i)
{
	char name[48];
	int error;

	snprintf(name,
		 sizeof(name),
		 "file-%02u-%08" PRIu64 ".txt",
		 worker->number,
		 next_random(worker) % worker->names);
	error = worker->store->lookup(worker->store, worker->dir, name);
	if (error == 0) {
		return EEXIST;
	}
	return error == ENOENT ? 0 : error;
}

static int list_all(struct worker *worker, uint64_t i)
{
	size_t count = 0;
	int error;

	error = worker->store->list(worker->store, worker->dir, &count);
	if (error == 0 && count < SOME_NAMES) {
		error = ENODATA;
	}
	return error;
}

static int prepare_handles(struct worker *worker)
{
	char name[48];
	int error;
	uint64_t i;

	error = make_files(worker, SOME_NAMES);
	for (i = 0; error == 0 && i < SOME_NAMES; i++) {
		name_of(name, worker, i);
		error = worker->store->open(worker->store,
					    worker->dir,
					    name,
					    &worker->handles[i]);
	}
	return error;
}

static int set_times(struct worker *worker, uint64_t i)
{
	return worker->store->set_times(worker->store,
					&worker->handles[i % SOME_NAMES],
					133000000000000000 + i);
}

/* One file for data: its own, or the one of all. */
static int prepare_file(struct worker *worker, bool fill)
{
	const char *name = "data";
	char own[32];
	uint64_t i;
	int error;

	if (!worker->shared) {
		snprintf(own, sizeof(own), "data-%u", worker->number);
		name = own;
	}
	error = worker->store->create(worker->store, worker->dir, name);
	if (error != 0 && error != EEXIST) {
		return error;
	}
	error = worker->store->open(worker->store,
				    worker->dir,
				    name,
				    &worker->file);
	for (i = 0; error == 0 && fill && i < FILE_BLOCKS; i++) {
		error = worker->store->write(worker->store,
					     &worker->file,
					     worker->block,
					     BLOCK,
					     i * BLOCK);
	}
	return error;
}

static int prepare_empty_file(struct worker *worker)
{
	return prepare_file(worker, false);
}

static int prepare_full_file(struct worker *worker)
{
	return prepare_file(worker, true);
}

static int append_block(struct worker *worker, uint64_t i)
{
	return worker->store->write(worker->store,
				    &worker->file,
				    worker->block,
				    BLOCK,
				    i * BLOCK);
}

static int overwrite_block(struct worker *worker, uint64_t i)
{
	uint64_t block = next_random(worker) % FILE_BLOCKS;

	return worker->store->write(worker->store,
				    &worker->file,
				    worker->block,
				    BLOCK,
				    block * BLOCK);
}

static int read_block(struct worker *worker, uint64_t i)
{
	uint64_t block = next_random(worker) % FILE_BLOCKS;

	return worker->store->read(worker->store,
				   &worker->file,
				   worker->block,
				   BLOCK,
				   block * BLOCK);
}

static const struct test tests[] = {
	{"create_meta", prepare_nothing, create_meta},
	{"unlink", prepare_names, unlink_one},
	{"rename", prepare_some, rename_one},
	{"stat_meta", prepare_some, stat_meta},
	{"lookup_hit", prepare_names, lookup_hit},
	{"lookup_miss", prepare_names, lookup_miss},
	{"readdir", prepare_some, list_all},
	{"set_times", prepare_handles, set_times},
	{"append", prepare_empty_file, append_block},
	{"overwrite", prepare_full_file, overwrite_block},
	{"read", prepare_full_file, read_block},
};

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int run_test(const struct test *test, struct worker *worker,
		    struct run *run, double seconds, double *rate)
{
	double start;
	double now;
	uint64_t i = 0;
	int error;

	error = test->prepare(worker);
	/* the others must not wait for one that cannot begin */
	__atomic_add_fetch(&run->ready, 1, __ATOMIC_SEQ_CST);
	if (error != 0) {
		return error;
	}
	while (__atomic_load_n(&run->go, __ATOMIC_SEQ_CST) == 0) {
		usleep(100);
	}
	start = now = seconds_now();
	while (error == 0) {
		error = test->operation(worker, i);
		if (error != 0) {
			break;
		}
		i++;
		/* the clock is not asked for each of the fast ones */
		if (i % 16 == 0) {
			now = seconds_now();
			if (now - start >= seconds) {
				break;
			}
		}
	}
	if (error == ENODATA && i > 0) {
		now = seconds_now();
		error = 0;
	}
	*rate = now > start ? (double)i / (now - start) : 0;
	return error;
}

static int work(const char *where, const struct test *test, unsigned number,
		bool shared, uint64_t names, struct run *run, double seconds)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	char directory[64];
	int error;

	if (worker == NULL) {
		return ENOMEM;
	}
	worker->store = strncmp(where, "native:", 7) == 0 ? &store_native
							  : &store_files;
	worker->number = number;
	worker->shared = shared;
	worker->names = names;
	worker->random = 88172645463325252 + number;
	error = worker->store->attach(worker->store, strchr(where, ':') + 1);
	if (error == 0) {
		if (shared) {
			snprintf(directory, sizeof(directory), "%s", test->name);
		} else {
			snprintf(directory,
				 sizeof(directory),
				 "%s-%u",
				 test->name,
				 number);
		}
		error = worker->store->directory(worker->store,
						 directory,
						 &worker->dir);
	}
	if (error != 0) {
		__atomic_add_fetch(&run->ready, 1, __ATOMIC_SEQ_CST);
		goto done;
	}
	error = run_test(test,
			 worker,
			 run,
			 seconds,
			 &run->result[number].rate);
	worker->store->detach(worker->store);
done:
	free(worker);
	return error;
}

static int format(const char *path, const char *mebibytes)
{
	struct nv_format_params params = {.inode_size = 0};
	enum nv_status status;
	struct nv_io *io = NULL;
	int error;

	error = nv_io_create(path, strtoull(mebibytes, NULL, 10) << 20, &io);
	if (error != 0) {
		fprintf(stderr, "bench-engine: %s: %s\n", path,
			strerror(error));
		return 1;
	}
	status = nv_volume_format(io, &params);
	io->ops->close(io);
	if (status != NV_OK) {
		fprintf(stderr, "bench-engine: %s: %s\n", path,
			nv_status_string(status));
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct test *test = NULL;
	struct run *run = NULL;
	const char *dot = NULL;
	unsigned processes;
	bool shared;
	double total = 0;
	unsigned i;

	if (argc == 4 && strcmp(argv[1], "format") == 0) {
		return format(argv[2], argv[3]);
	}
	if (argc != 6 || strchr(argv[1], ':') == NULL) {
		fprintf(stderr,
			"usage: bench-engine native:IMAGE|files:FOLDER "
			"TEST[.shared] PROCESSES MILLISECONDS NAMES\n");
		return 2;
	}
	dot = strchr(argv[2], '.');
	shared = dot != NULL;
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		size_t length = shared ? (size_t)(dot - argv[2])
				       : strlen(argv[2]);

		if (strlen(tests[i].name) == length &&
		    strncmp(tests[i].name, argv[2], length) == 0)
		{
			test = &tests[i];
		}
	}
	processes = (unsigned)atoi(argv[3]);
	if (test == NULL || processes < 1 || processes > PROCESSES_MOST) {
		fprintf(stderr, "bench-engine: no such test: %s\n", argv[2]);
		return 2;
	}
	run = mmap(NULL,
		   sizeof(*run),
		   PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS,
		   -1,
		   0);
	if (run == MAP_FAILED) {
		perror("bench-engine: mmap");
		return 1;
	}
	for (i = 0; i < processes; i++) {
		if (fork() == 0) {
			run->result[i].error = work(argv[1],
						    test,
						    i,
						    shared,
						    strtoull(argv[5], NULL, 10),
						    run,
						    atof(argv[4]) / 1000);
			_exit(run->result[i].error == 0 ? 0 : 1);
		}
	}
	while (__atomic_load_n(&run->ready, __ATOMIC_SEQ_CST) <
	       (int32_t)processes)
	{
		usleep(1000);
	}
	__atomic_store_n(&run->go, 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < processes; i++) {
		int status = 0;

		if (wait(&status) == -1 || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != 0)
		{
			unsigned j;

			for (j = 0; j < processes; j++) {
				if (run->result[j].error == 0) {
					continue;
				}
				fprintf(stderr,
					"bench-engine: %s on %s: %s\n",
					argv[2],
					argv[1],
					strerror(run->result[j].error));
			}
			return 1;
		}
	}
	for (i = 0; i < processes; i++) {
		total += run->result[i].rate;
	}
	printf("%.1f\n", total);
	return 0;
}

/*
 * Owner and group, and a DACL with entries for one SID each; the rest, up to
 * the size that is wanted, are further entries.
 */
const void *bench_descriptor(void)
{
	static uint8_t sd[DESCRIPTOR_SIZE];
	static const uint8_t sid[28] = {1, 5, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0,
					1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
					0xe8, 3, 0, 0};
	uint8_t *ace = NULL;
	unsigned count = 0;

	if (sd[0] != 0) {
		return sd;
	}
	sd[2] = 0x04;	/* DACL present */
	sd[3] = 0x80;	/* self-relative */
	sd[4] = 20;	/* owner */
	sd[8] = 48;	/* group */
	sd[16] = 76;	/* DACL */
	memcpy(sd + 20, sid, sizeof(sid));
	memcpy(sd + 48, sid, sizeof(sid));
	sd[76] = 2;	/* revision */
	ace = sd + 84;
	while (ace + 36 <= sd + DESCRIPTOR_SIZE) {
		ace[2] = 36;
		ace[4] = 0xff;
		ace[5] = 0x01;
		ace[6] = 0x1f;
		memcpy(ace + 8, sid, sizeof(sid));
		ace[32] = (uint8_t)count;
		ace += 36;
		count++;
	}
	sd[78] = (uint8_t)(DESCRIPTOR_SIZE - 76);
	sd[79] = (uint8_t)((DESCRIPTOR_SIZE - 76) >> 8);
	sd[80] = (uint8_t)count;
	sd[0] = 1;	/* revision; last, it says that the rest is there */
	return sd;
}
