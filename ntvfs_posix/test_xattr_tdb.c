/*
 * Tests of the extended attributes in a tdb.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "ntvfs_posix/test_common.h"
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <tdb.h>
#include <time.h>
#include "ntvfs_posix/xattr_tdb.h"
#include "ntvfs_posix/xattr_tdb_record.h"

/* How often a writer is killed. */
#define KILLS 60

static const struct ntvfs_xattr_tdb_key object = {
	.volume = 0x1122334455667788,
	.file_id = 0x99aabbccddeeff00,
	.birth = 1234567890123456789,
};

struct fixture {
	char *folder;
	char *path;
	struct ntvfs_xattr_tdb *store;
};

static int setup(void **state)
{
	struct fixture *f = NULL;

	talloc_enable_null_tracking();
	f = talloc_zero(NULL, struct fixture);
	f->folder = test_folder_make(f);
	if (f->folder == NULL) {
		return -1;
	}
	f->path = talloc_asprintf(f, "%s/xattr.tdb", f->folder);
	if (ntvfs_xattr_tdb_open(f, f->path, &f->store) != 0) {
		return -1;
	}
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	test_folder_remove(f->folder);
	TALLOC_FREE(f);
	if (talloc_total_blocks(NULL) != 1) {
		talloc_report_full(NULL, stderr);
		return -1;
	}
	return 0;
}

static void assert_value(struct ntvfs_xattr_tdb *store,
			 const struct ntvfs_xattr_tdb_key *key,
			 const char *name,
			 const void *wanted,
			 size_t wanted_length)
{
	uint8_t *value = NULL;
	size_t length = 0;

	assert_error(ntvfs_xattr_tdb_get(store, key, name, NULL, 0, &length),
		     0);
	assert_int_equal(length, wanted_length);
	value = talloc_array(store, uint8_t, length + 1);
	assert_error(ntvfs_xattr_tdb_get(store,
					 key,
					 name,
					 value,
					 length + 1,
					 &length),
		     0);
	assert_int_equal(length, wanted_length);
	assert_memory_equal(value, wanted, wanted_length);
	TALLOC_FREE(value);
}

static void assert_names(struct ntvfs_xattr_tdb *store,
			 const struct ntvfs_xattr_tdb_key *key,
			 const char *wanted,
			 size_t wanted_length)
{
	char *names = NULL;
	size_t length = 0;

	assert_error(ntvfs_xattr_tdb_list(store, key, store, &names, &length),
		     0);
	assert_int_equal(length, wanted_length);
	if (length > 0) {
		assert_memory_equal(names, wanted, wanted_length);
	}
	TALLOC_FREE(names);
}

static void test_round_trip(void **state)
{
	struct fixture *f = *state;
	static const char names[] = "security.NTACL\0user.DOSATTRIB\0user.x";
	uint8_t bytes[300];
	size_t length = 0;
	size_t i;

	for (i = 0; i < sizeof(bytes); i++) {
		bytes[i] = (uint8_t)i;
	}
	assert_names(f->store, &object, NULL, 0);
	assert_error(ntvfs_xattr_tdb_get(f->store,
					 &object,
					 "user.x",
					 NULL,
					 0,
					 &length),
		     ENODATA);
	assert_error(ntvfs_xattr_tdb_remove(f->store, &object, "user.x"),
		     ENODATA);

	/* in an order that is not the one in which they are kept */
	assert_error(ntvfs_xattr_tdb_set(f->store, &object, "user.x", "", 0),
		     0);
	assert_error(ntvfs_xattr_tdb_set(f->store,
					 &object,
					 "security.NTACL",
					 bytes,
					 sizeof(bytes)),
		     0);
	assert_error(ntvfs_xattr_tdb_set(f->store,
					 &object,
					 "user.DOSATTRIB",
					 "one",
					 3),
		     0);
	assert_names(f->store, &object, names, sizeof(names));
	assert_value(f->store, &object, "user.x", "", 0);
	assert_value(f->store,
		     &object,
		     "security.NTACL",
		     bytes,
		     sizeof(bytes));

	/* longer, shorter, and again through a new opening of the store */
	assert_error(ntvfs_xattr_tdb_set(f->store,
					 &object,
					 "user.DOSATTRIB",
					 bytes,
					 200),
		     0);
	assert_value(f->store, &object, "user.DOSATTRIB", bytes, 200);
	assert_error(ntvfs_xattr_tdb_set(f->store,
					 &object,
					 "user.DOSATTRIB",
					 "2",
					 1),
		     0);
	TALLOC_FREE(f->store);
	assert_error(ntvfs_xattr_tdb_open(f, f->path, &f->store), 0);
	assert_value(f->store, &object, "user.DOSATTRIB", "2", 1);
	assert_names(f->store, &object, names, sizeof(names));

	assert_error(ntvfs_xattr_tdb_remove(f->store,
					    &object,
					    "user.DOSATTRIB"),
		     0);
	assert_error(ntvfs_xattr_tdb_get(f->store,
					 &object,
					 "user.DOSATTRIB",
					 NULL,
					 0,
					 &length),
		     ENODATA);
	/* a name that is the beginning of another is not that one */
	assert_error(ntvfs_xattr_tdb_get(f->store,
					 &object,
					 "user.",
					 NULL,
					 0,
					 &length),
		     ENODATA);
	assert_error(ntvfs_xattr_tdb_forget(f->store, &object), 0);
	assert_names(f->store, &object, NULL, 0);
	assert_error(ntvfs_xattr_tdb_forget(f->store, &object), 0);
}

static void test_limits(void **state)
{
	struct fixture *f = *state;
	uint8_t *value = talloc_zero_array(f, uint8_t, 65537);
	char name[1025] = {0};
	uint8_t small[4];
	size_t length = 0;
	int error;
	int i;

	memset(name, 'n', 1024);
	assert_error(ntvfs_xattr_tdb_set(f->store, &object, name, "x", 1),
		     ERANGE);
	assert_error(ntvfs_xattr_tdb_get(f->store,
					 &object,
					 name,
					 NULL,
					 0,
					 &length),
		     ERANGE);
	assert_error(ntvfs_xattr_tdb_remove(f->store, &object, name), ERANGE);
	assert_error(ntvfs_xattr_tdb_set(f->store, &object, "", "x", 1),
		     ERANGE);
	name[1023] = '\0';
	assert_error(ntvfs_xattr_tdb_set(f->store, &object, name, "x", 1), 0);
	assert_value(f->store, &object, name, "x", 1);

	assert_error(ntvfs_xattr_tdb_set(f->store,
					 &object,
					 "user.v",
					 value,
					 65537),
		     E2BIG);
	value[65535] = 7;
	assert_error(ntvfs_xattr_tdb_set(f->store,
					 &object,
					 "user.v",
					 value,
					 65536),
		     0);
	assert_value(f->store, &object, "user.v", value, 65536);

	/* a buffer that is too small stays as it is */
	assert_error(ntvfs_xattr_tdb_set(f->store,
					 &object,
					 "user.w",
					 "12345",
					 5),
		     0);
	memset(small, 0xee, sizeof(small));
	assert_error(ntvfs_xattr_tdb_get(f->store,
					 &object,
					 "user.w",
					 small,
					 4,
					 &length),
		     ERANGE);
	assert_int_equal(small[0], 0xee);
	assert_int_equal(length, 0);

	/* too much in all leaves what was there */
	assert_error(ntvfs_xattr_tdb_forget(f->store, &object), 0);
	for (i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "user.%d", i);
		error = ntvfs_xattr_tdb_set(f->store,
					    &object,
					    name,
					    value,
					    65536);
		if (error != 0) {
			break;
		}
	}
	assert_error(error, EFBIG);
	assert_int_equal(i, 63);
	assert_value(f->store, &object, "user.62", value, 65536);
	TALLOC_FREE(value);
}

static void size_limit(rlim_t bytes)
{
	struct rlimit limit = {.rlim_cur = 0};

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* On a full disk, where no file can grow, what is there can go. */
static void test_remove_without_room(void **state)
{
	struct fixture *f = *state;
	struct ntvfs_xattr_tdb_key key = object;
	uint8_t *value = talloc_zero_array(f, uint8_t, 50000);
	char name[32];
	struct stat st;
	int error = 0;
	unsigned i;

	for (i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "user.%u", i);
		assert_error(ntvfs_xattr_tdb_set(f->store,
						 &object,
						 name,
						 value,
						 i * 1000),
			     0);
	}
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(stat(f->path, &st), 0);
	size_limit((rlim_t)st.st_size);
	/* as many as fit into what is free in it */
	for (i = 0; error == 0 && i < 1000; i++) {
		key.file_id = 1000 + i;
		error = ntvfs_xattr_tdb_set(f->store, &key, "user.a", value,
					    1000);
	}
	assert_int_not_equal(error, 0);
	for (i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "user.%u", i);
		assert_error(ntvfs_xattr_tdb_remove(f->store, &object, name),
			     0);
	}
	assert_names(f->store, &object, NULL, 0);
	size_limit(RLIM_INFINITY);
	TALLOC_FREE(value);
}

/* What is on a volume that is mounted read-only can be read. */
static void test_read_only(void **state)
{
	struct fixture *f = *state;
	int status = 0;
	pid_t pid;

	assert_error(ntvfs_xattr_tdb_set(f->store, &object, "user.a", "1", 1),
		     0);
	TALLOC_FREE(f->store);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		/* mounts of its own, which go with it */
		if (unshare(CLONE_NEWNS) != 0 ||
		    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		    mount(f->folder, f->folder, NULL, MS_BIND, NULL) != 0 ||
		    mount(NULL,
			  f->folder,
			  NULL,
			  MS_BIND | MS_REMOUNT | MS_RDONLY,
			  NULL) != 0)
		{
			_exit(77);
		}
		assert_error(ntvfs_xattr_tdb_open_existing(f,
							   f->path,
							   &f->store),
			     0);
		assert_value(f->store, &object, "user.a", "1", 1);
		assert_error(ntvfs_xattr_tdb_set(f->store,
						 &object,
						 "user.a",
						 "2",
						 1),
			     EROFS);
		assert_error(ntvfs_xattr_tdb_remove(f->store,
						    &object,
						    "user.a"),
			     EROFS);
		assert_value(f->store, &object, "user.a", "1", 1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		fprintf(stderr, "skipped: mounting is not allowed here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* An inode number that was given to another file brings nothing back. */
static void test_other_birth(void **state)
{
	struct fixture *f = *state;
	struct ntvfs_xattr_tdb_key later = object;
	struct ntvfs_xattr_tdb_key unknown = object;
	size_t length = 0;

	later.birth++;
	unknown.birth = 0;
	assert_error(ntvfs_xattr_tdb_set(f->store, &object, "user.a", "1", 1),
		     0);
	assert_error(ntvfs_xattr_tdb_set(f->store, &object, "user.b", "1", 1),
		     0);
	assert_names(f->store, &later, NULL, 0);
	assert_names(f->store, &unknown, NULL, 0);
	assert_error(ntvfs_xattr_tdb_get(f->store,
					 &later,
					 "user.a",
					 NULL,
					 0,
					 &length),
		     ENODATA);
	assert_error(ntvfs_xattr_tdb_remove(f->store, &later, "user.a"),
		     ENODATA);
	assert_value(f->store, &object, "user.a", "1", 1);

	/* forgetting it late leaves the new object's alone */
	assert_error(ntvfs_xattr_tdb_set(f->store, &later, "user.a", "2", 1),
		     0);
	assert_names(f->store, &later, "user.a", 7);
	assert_error(ntvfs_xattr_tdb_forget(f->store, &object), 0);
	assert_value(f->store, &later, "user.a", "2", 1);
	assert_names(f->store, &object, NULL, 0);
}

static void test_objects_apart(void **state)
{
	struct fixture *f = *state;
	struct ntvfs_xattr_tdb_key other_volume = object;
	struct ntvfs_xattr_tdb_key other_file = object;

	other_volume.volume ^= 1ULL << 63;
	other_file.file_id ^= 1ULL << 63;
	assert_error(ntvfs_xattr_tdb_set(f->store, &object, "user.a", "1", 1),
		     0);
	assert_names(f->store, &other_volume, NULL, 0);
	assert_names(f->store, &other_file, NULL, 0);
	assert_error(ntvfs_xattr_tdb_set(f->store,
					 &other_file,
					 "user.a",
					 "2",
					 1),
		     0);
	assert_value(f->store, &object, "user.a", "1", 1);
}

/* Two shares of one folder use the store of one process. */
static void test_open_twice(void **state)
{
	struct fixture *f = *state;
	struct ntvfs_xattr_tdb *second = NULL;

	assert_error(ntvfs_xattr_tdb_open(f, f->path, &second), 0);
	assert_error(ntvfs_xattr_tdb_set(f->store, &object, "user.a", "1", 1),
		     0);
	assert_value(second, &object, "user.a", "1", 1);
	TALLOC_FREE(f->store);
	assert_error(ntvfs_xattr_tdb_set(second, &object, "user.a", "2", 1),
		     0);
	assert_value(second, &object, "user.a", "2", 1);
	TALLOC_FREE(second);
	assert_error(ntvfs_xattr_tdb_open(f, f->path, &f->store), 0);
	assert_value(f->store, &object, "user.a", "2", 1);
}

static void write_file(const char *path, const void *bytes, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_not_equal(fd, -1);
	assert_int_equal(write(fd, bytes, length), length);
	close(fd);
}

/* What is no store of ours is refused and stays as it is. */
static void test_open_foreign(void **state)
{
	struct fixture *f = *state;
	struct ntvfs_xattr_tdb *store = NULL;
	struct tdb_context *tdb = NULL;
	char *path = talloc_asprintf(f, "%s/foreign", f->folder);
	char text[16] = {0};
	uint8_t hostile[512];
	struct stat st;
	uint32_t n;
	int fd;
	int i;

	write_file(path, "dear diary", 10);
	assert_error(ntvfs_xattr_tdb_open(f, path, &store), EIO);
	assert_null(store);
	fd = open(path, O_RDONLY);
	assert_int_equal(read(fd, text, sizeof(text)), 10);
	assert_string_equal(text, "dear diary");
	close(fd);

	write_file(path, "", 0);
	assert_error(ntvfs_xattr_tdb_open(f, path, &store), EIO);

	/* headers that say anything */
	for (i = 0; i < 64; i++) {
		memset(hostile, 0, sizeof(hostile));
		strcpy((char *)hostile, "TDB file\n");
		n = 0x26011967 + 6;
		memcpy(hostile + 32, &n, 4);
		for (n = 36; n < sizeof(hostile); n++) {
			hostile[n] = (uint8_t)((n * 2654435761U * (i + 1)) >>
					       (i % 24));
		}
		write_file(path, hostile, sizeof(hostile));
		assert_int_not_equal(ntvfs_xattr_tdb_open(f, path, &store), 0);
	}

	unlink(path);
	tdb = tdb_open(path, 0, TDB_DEFAULT, O_RDWR | O_CREAT, 0600);
	assert_non_null(tdb);
	tdb_close(tdb);
	assert_error(ntvfs_xattr_tdb_open(f, path, &store), EIO);

	unlink(path);
	assert_int_equal(symlink("xattr.tdb", path), 0);
	assert_error(ntvfs_xattr_tdb_open(f, path, &store), EIO);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_error(ntvfs_xattr_tdb_open(f, path, &store), EIO);
	path = talloc_asprintf_append(path, "/no/store");
	assert_error(ntvfs_xattr_tdb_open(f, path, &store), ENOENT);

	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static TDB_DATA raw_key(uint8_t bytes[16])
{
	int i;

	for (i = 0; i < 8; i++) {
		bytes[i] = (uint8_t)(object.volume >> (8 * i));
		bytes[8 + i] = (uint8_t)(object.file_id >> (8 * i));
	}
	return (TDB_DATA){.dptr = bytes, .dsize = 16};
}

/*
 * The bytes of the object's record, or a change of them behind the store's
 * back. The store is closed meanwhile: a process opens a tdb once.
 */
static TDB_DATA raw_record(struct fixture *f, const TDB_DATA *change)
{
	struct tdb_context *tdb = NULL;
	uint8_t bytes[16];
	TDB_DATA record;

	TALLOC_FREE(f->store);
	tdb = tdb_open(f->path, 0, TDB_DEFAULT, O_RDWR, 0);
	assert_non_null(tdb);
	if (change != NULL) {
		assert_int_equal(tdb_store(tdb,
					   raw_key(bytes),
					   *change,
					   TDB_REPLACE),
				 0);
	}
	record = tdb_fetch(tdb, raw_key(bytes));
	assert_non_null(record.dptr);
	tdb_close(tdb);
	assert_error(ntvfs_xattr_tdb_open(f, f->path, &f->store), 0);
	return record;
}

/* Nobody reads a wrong value, changes it, or takes it for none. */
static void assert_corrupt(struct fixture *f)
{
	char *names = NULL;
	size_t length = 0;
	uint8_t value[64];

	assert_error(ntvfs_xattr_tdb_get(f->store,
					 &object,
					 "user.a",
					 value,
					 sizeof(value),
					 &length),
		     EIO);
	assert_error(ntvfs_xattr_tdb_list(f->store,
					  &object,
					  f,
					  &names,
					  &length),
		     EIO);
	assert_null(names);
	assert_error(ntvfs_xattr_tdb_set(f->store, &object, "user.a", "9", 1),
		     EIO);
	assert_error(ntvfs_xattr_tdb_remove(f->store, &object, "user.a"), EIO);
}

static void test_corrupt(void **state)
{
	struct fixture *f = *state;
	TDB_DATA good;
	TDB_DATA bad;
	size_t i;

	assert_error(ntvfs_xattr_tdb_set(f->store,
					 &object,
					 "user.a",
					 "value of a",
					 10),
		     0);
	assert_error(ntvfs_xattr_tdb_set(f->store,
					 &object,
					 "user.b",
					 "value of b",
					 10),
		     0);
	good = raw_record(f, NULL);
	assert_int_equal(good.dsize, 48 + 2 * (8 + 6 + 10));

	/* every byte, then every length */
	for (i = 0; i < good.dsize; i++) {
		good.dptr[i] ^= 0x41;
		bad = raw_record(f, &good);
		assert_corrupt(f);
		free(bad.dptr);
		good.dptr[i] ^= 0x41;
	}
	for (i = 0; i < good.dsize; i++) {
		TDB_DATA cut = {.dptr = good.dptr, .dsize = i};

		bad = raw_record(f, &cut);
		assert_corrupt(f);
		free(bad.dptr);
	}
	bad = raw_record(f, &good);
	free(bad.dptr);
	assert_value(f->store, &object, "user.a", "value of a", 10);

	/* it goes with its object */
	good.dptr[60] ^= 1;
	bad = raw_record(f, &good);
	free(bad.dptr);
	free(good.dptr);
	assert_corrupt(f);
	assert_error(ntvfs_xattr_tdb_forget(f->store, &object), 0);
	assert_names(f->store, &object, NULL, 0);
	assert_error(ntvfs_xattr_tdb_set(f->store, &object, "user.a", "9", 1),
		     0);
}

/* The rules of a record, each broken in one whose checksum is right. */
static void test_record_rules(void **state)
{
	struct fixture *f = *state;
	static const struct {
		size_t at;
		uint8_t value;
		const char *says;
	} cases[] = {
		{0, 'X', "NTXA"},
		{4, 2, "version"},
		{6, 1, "X4"},
		{8, 0, "another object"},
		{16, 1, "another object"},
		{32, 3, "X1"},
		{32, 1, "X1"},
		{36, 1, "X1"},
		{48, 0, "X2"},
		{48, 0xff, "X1"},
		{50, 1, "X4"},
		{52, 0xff, "X1"},
		{55, 0xff, "X1"},
		{56, 0, "X2"},
		{61, 'c', "X2"},
		{61, 'b', "X2"},
	};
	uint8_t *record = NULL;
	uint8_t *second = NULL;
	uint64_t birth = 0;
	uint32_t count = 0;
	size_t length = 0;
	char *text = NULL;
	size_t i;

	assert_error(ntvfs_xattr_tdb_record_change(f,
						   &object,
						   NULL,
						   0,
						   "user.a",
						   "1",
						   1,
						   &second,
						   &length),
		     0);
	assert_error(ntvfs_xattr_tdb_record_change(f,
						   &object,
						   second,
						   length,
						   "user.b",
						   "2",
						   1,
						   &record,
						   &length),
		     0);
	assert_null(ntvfs_xattr_tdb_record_validate(record,
						    length,
						    &object,
						    &birth,
						    &count));
	assert_int_equal(count, 2);
	assert_true(birth == object.birth);
	text = ntvfs_xattr_tdb_record_to_text(f, record, length, &object);
	assert_string_equal(text,
			    "volume 0x1122334455667788 file "
			    "0x99aabbccddeeff00 birth 1234567890123456789, "
			    "78 bytes, 2 attributes\n"
			    "  user.a 1 bytes\n"
			    "  user.b 1 bytes\n");

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t *bad = talloc_memdup(f, record, length);
		const char *says = NULL;

		bad[cases[i].at] = cases[i].value;
		ntvfs_xattr_tdb_record_seal(bad, length);
		says = ntvfs_xattr_tdb_record_validate(bad,
						       length,
						       &object,
						       &birth,
						       &count);
		if (says == NULL || strstr(says, cases[i].says) == NULL) {
			fail_msg("byte %zu set to %u: \"%s\" should speak "
				 "of \"%s\"",
				 cases[i].at,
				 cases[i].value,
				 says,
				 cases[i].says);
		}
		text = ntvfs_xattr_tdb_record_to_text(f,
						      bad,
						      length,
						      &object);
		assert_non_null(strstr(text, says));
		TALLOC_FREE(bad);
	}
}

/* Random bytes and random damage to records: no answer but a clear one. */
static void test_record_fuzz(void **state)
{
	struct fixture *f = *state;
	uint8_t record[256];
	unsigned seed = 1;
	uint64_t birth;
	uint32_t count;
	int round;

	for (round = 0; round < 200000; round++) {
		struct ntvfs_xattr_tdb_header header = {
			.magic = {'N', 'T', 'X', 'A'},
			.version = {1, 0},
		};
		size_t length = 48 + (size_t)rand_r(&seed) % 200;
		size_t offset = 0;
		size_t seen = 0;
		struct ntvfs_xattr_tdb_entry entry;
		uint8_t *exact = NULL;
		size_t i;

		for (i = 0; i < length; i++) {
			record[i] = (uint8_t)(rand_r(&seed) % 7);
		}
		for (i = 0; i < 8; i++) {
			header.volume[i] = (uint8_t)(object.volume >> 8 * i);
			header.file_id[i] = (uint8_t)(object.file_id >> 8 * i);
		}
		header.count[0] = (uint8_t)(rand_r(&seed) % 4);
		header.length[0] = (uint8_t)length;
		memcpy(record, &header, sizeof(header));
		ntvfs_xattr_tdb_record_seal(record, length);
		/* so that a sanitizer sees a byte beyond the end */
		exact = malloc(length);
		memcpy(exact, record, length);
		if (ntvfs_xattr_tdb_record_validate(exact,
						    length,
						    &object,
						    &birth,
						    &count) == NULL)
		{
			while (ntvfs_xattr_tdb_record_next(exact,
							   length,
							   &offset,
							   &entry))
			{
				seen++;
			}
			assert_int_equal(seen, count);
			assert_int_equal(offset, length);
		}
		free(exact);
	}
	assert_non_null(f);
}

static uint8_t generation_byte(uint32_t generation, size_t i)
{
	return (uint8_t)(generation * 31 + i * 7);
}

/*
 * What a writer of the tests below writes: its generation's number, four
 * times it in an attribute whose length depends on it, then again its number.
 */
static int write_generation(struct ntvfs_xattr_tdb *store,
			    const struct ntvfs_xattr_tdb_key *key,
			    uint32_t generation)
{
	uint8_t value[3000];
	size_t length = 4 + generation % 2900;
	size_t i;

	memcpy(value, &generation, 4);
	for (i = 4; i < length; i++) {
		value[i] = generation_byte(generation, i);
	}
	return ntvfs_xattr_tdb_set(store, key, "user.value", value, length);
}

static uint32_t read_generation(struct ntvfs_xattr_tdb *store,
				const struct ntvfs_xattr_tdb_key *key)
{
	uint8_t value[3000];
	uint32_t generation = 0;
	size_t length = 0;
	size_t i;
	int error;

	error = ntvfs_xattr_tdb_get(store,
				    key,
				    "user.value",
				    value,
				    sizeof(value),
				    &length);
	if (error == ENODATA) {
		return 0;
	}
	assert_error(error, 0);
	assert_true(length >= 4);
	memcpy(&generation, value, 4);
	assert_int_equal(length, 4 + generation % 2900);
	for (i = 4; i < length; i++) {
		assert_int_equal(value[i], generation_byte(generation, i));
	}
	return generation;
}

/* Opens its own store: locks do not go to a child. */
static struct ntvfs_xattr_tdb *child_store(struct fixture *f)
{
	struct ntvfs_xattr_tdb *store = NULL;

	if (ntvfs_xattr_tdb_open(f, f->path, &store) != 0) {
		_exit(2);
	}
	return store;
}

static void wait_success(pid_t pid)
{
	int status = 0;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Two processes change one object; no change of either is lost. */
static void test_two_processes(void **state)
{
	struct fixture *f = *state;
	const int changes = 200;
	pid_t pids[2];
	int p;
	int i;

	TALLOC_FREE(f->store);
	for (p = 0; p < 2; p++) {
		pids[p] = fork();
		assert_int_not_equal(pids[p], -1);
		if (pids[p] == 0) {
			struct ntvfs_xattr_tdb *store = child_store(f);

			for (i = 0; i < changes; i++) {
				char name[32];

				snprintf(name, sizeof(name), "user.%d.%d", p,
					 i);
				if (ntvfs_xattr_tdb_set(store,
							&object,
							name,
							&i,
							sizeof(i)) != 0)
				{
					_exit(1);
				}
			}
			_exit(0);
		}
	}
	wait_success(pids[0]);
	wait_success(pids[1]);
	assert_error(ntvfs_xattr_tdb_open(f, f->path, &f->store), 0);
	for (p = 0; p < 2; p++) {
		for (i = 0; i < changes; i++) {
			char name[32];

			snprintf(name, sizeof(name), "user.%d.%d", p, i);
			assert_value(f->store, &object, name, &i, sizeof(i));
		}
	}
}

/* Two processes make the store at the same time: it is one. */
static void test_two_openers(void **state)
{
	struct fixture *f = *state;
	const uint8_t one = 1;
	pid_t pids[4];
	int round;
	int p;

	TALLOC_FREE(f->store);
	for (round = 0; round < 10; round++) {
		unlink(f->path);
		for (p = 0; p < 4; p++) {
			pids[p] = fork();
			assert_int_not_equal(pids[p], -1);
			if (pids[p] == 0) {
				struct ntvfs_xattr_tdb *store = child_store(f);
				char name[32];

				snprintf(name, sizeof(name), "user.%d", p);
				_exit(ntvfs_xattr_tdb_set(store,
							  &object,
							  name,
							  &one,
							  1));
			}
		}
		for (p = 0; p < 4; p++) {
			wait_success(pids[p]);
		}
		assert_error(ntvfs_xattr_tdb_open(f, f->path, &f->store), 0);
		assert_names(f->store,
			     &object,
			     "user.0\0user.1\0user.2\0user.3",
			     28);
		TALLOC_FREE(f->store);
	}
	assert_error(ntvfs_xattr_tdb_open(f, f->path, &f->store), 0);
}

/*
 * A writer is killed at any instant, again and again: the record is that of
 * the last change it reported, or of the one it was at.
 */
static void test_killed_writer(void **state)
{
	struct fixture *f = *state;
	const struct ntvfs_xattr_tdb_key bystander = {.file_id = 7};
	unsigned seed = (unsigned)time(NULL);
	uint32_t last = 0;
	int round;

	if (getenv("NTVFS_TEST_SEED") != NULL) {
		seed = (unsigned)strtoul(getenv("NTVFS_TEST_SEED"), NULL, 10);
	}
	fprintf(stderr,
		"again: NTVFS_TEST_SEED=%u bin/tests/test_posix_xattr_tdb\n",
		seed);
	assert_error(write_generation(f->store, &bystander, 77), 0);
	for (round = 0; round < KILLS; round++) {
		const struct timespec pause = {
			.tv_nsec = rand_r(&seed) % 8000000,
		};
		uint32_t reported = last;
		uint32_t generation;
		int reports[2];
		pid_t pid;

		TALLOC_FREE(f->store);
		assert_int_equal(pipe(reports), 0);
		pid = fork();
		assert_int_not_equal(pid, -1);
		if (pid == 0) {
			struct ntvfs_xattr_tdb *store = child_store(f);

			for (generation = last + 1;; generation++) {
				if (write_generation(store,
						     &object,
						     generation) != 0)
				{
					_exit(1);
				}
				if (write(reports[1], &generation, 4) != 4) {
					_exit(1);
				}
			}
		}
		close(reports[1]);
		nanosleep(&pause, NULL);
		kill(pid, SIGKILL);
		while (read(reports[0], &generation, 4) == 4) {
			reported = generation;
		}
		close(reports[0]);
		assert_int_equal(waitpid(pid, NULL, 0), pid);

		assert_error(ntvfs_xattr_tdb_open(f, f->path, &f->store), 0);
		last = read_generation(f->store, &object);
		assert_in_range(last, reported, reported + 1);
		assert_int_equal(read_generation(f->store, &bystander), 77);
	}
	/* it was really killed while it wrote */
	assert_true(last > KILLS / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip,
						setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_read_only, setup, teardown),
		cmocka_unit_test_setup_teardown(test_remove_without_room,
						setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_other_birth,
						setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_objects_apart,
						setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_open_twice,
						setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_open_foreign,
						setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_corrupt, setup, teardown),
		cmocka_unit_test_setup_teardown(test_record_rules,
						setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_record_fuzz,
						setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_two_processes,
						setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_two_openers,
						setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_killed_writer,
						setup,
						teardown),
	};

	return cmocka_run_group_tests_name("xattr_tdb",
					   tests,
					   NULL,
					   test_group_teardown);
}
