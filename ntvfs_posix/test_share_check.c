/*
 * Tests of the check of a share (invariants W1, U1, U2), with real files.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <sys/xattr.h>
#include <time.h>
#include "ntvfs_posix/test_common.h"
#include "ntvfs_posix/ntvfs_posix.h"
#include "ntvfs_posix/share_check.h"

#define KINDS (NTVFS_NOT_READ + 1)

/* Names beyond an xattr's go to the overflow store, on any file system. */
#define LONG_NAME                                                             \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"

struct fixture {
	char *folder;
	dev_t volume;
	struct ntvfs_backend *backend;
	unsigned counts[KINDS];
	unsigned removed[KINDS];
	struct ntvfs_share_check_result result;
};

static void complain(const struct ntvfs_complaint *complaint,
		     void *private_data)
{
	print_message("%s: %s\n", complaint->xattr_name, complaint->reason);
}

static struct ntvfs_backend *backend_make(struct fixture *f)
{
	struct ntvfs_backend *backend = NULL;
	char *lock_path = talloc_asprintf(f, "%s.lock", f->folder);
	const struct ntvfs_posix_config config = {
		.path = f->folder,
		.volume = f->volume,
		.xattr_store = NTVFS_XATTR_STORE_FS,
		.lock_path = lock_path,
		.stream_xattr_max = 100,
		.kernel_files = true,
		.complain = complain,
	};

	assert_error(ntvfs_posix_create(f,
					&ntvfs_posix_io_libc,
					&config,
					&backend),
		     0);
	TALLOC_FREE(lock_path);
	return backend;
}

static int setup(void **state)
{
	struct fixture *f = talloc_zero(NULL, struct fixture);
	const char *top = getenv("TMPDIR");
	struct stat st;

	/* in memory there may be no xattrs */
	f->folder = talloc_asprintf(f,
				    "%s/ntvfs-posix-XXXXXX",
				    top != NULL ? top : "/var/tmp");
	if (mkdtemp(f->folder) == NULL || lstat(f->folder, &st) != 0) {
		return -1;
	}
	f->volume = st.st_dev;
	f->backend = backend_make(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char *lock_path = talloc_asprintf(f, "%s.lock", f->folder);

	test_folder_remove(f->folder);
	unlink(lock_path);
	TALLOC_FREE(f);
	return 0;
}

static void skip_without_xattrs(struct fixture *f)
{
	if (setxattr(f->folder, "user.probe", "x", 1, 0) != 0) {
		fprintf(stderr, "skipped: %s has no xattrs; set TMPDIR\n",
			f->folder);
		skip();
	}
}

static char *path_of(struct fixture *f, const char *name)
{
	return talloc_asprintf(f, "%s/%s", f->folder, name);
}

static struct ntvfs_object object_of(struct fixture *f, int *fd)
{
	struct stat st;

	assert_int_equal(fstat(*fd, &st), 0);
	return (struct ntvfs_object){
		.volume = st.st_dev,
		.file_id = st.st_ino,
		.change_stamp = st.st_ctim,
		.write_stamp = st.st_mtim,
		.is_directory = S_ISDIR(st.st_mode),
		.handle = fd,
	};
}

/* Make a file, if it is not there, and a stream of it with a file. */
static void stream_put(struct fixture *f, const char *name, const char *stream)
{
	char *path = path_of(f, name);
	char *bytes = talloc_zero_size(f, 1000);
	struct ntvfs_stream_data data = {.fd = -1};
	struct ntvfs_object object;
	int fd = open(path, O_RDWR | O_CREAT, 0644);

	assert_int_not_equal(fd, -1);
	object = object_of(f, &fd);
	assert_error(f->backend->ops->open_stream(f->backend,
						  &object,
						  stream,
						  NTVFS_STREAM_CREATE,
						  &data),
		     0);
	if (data.fd == -1) {
		object = object_of(f, &fd);
		assert_error(f->backend->ops->write_stream(f->backend,
							   &object,
							   stream,
							   bytes,
							   1000,
							   0),
			     ESTALE);
	} else {
		close(data.fd);
	}
	close(fd);
	TALLOC_FREE(bytes);
	TALLOC_FREE(path);
}

/* Is the stream there, with its file? */
static bool stream_is_whole(struct fixture *f,
			    const char *name,
			    const char *stream)
{
	char *path = path_of(f, name);
	struct ntvfs_stream_data data = {.fd = -1};
	struct ntvfs_object object;
	int fd = open(path, O_RDWR);
	int error = ENOENT;

	TALLOC_FREE(path);
	if (fd == -1) {
		return false;
	}
	object = object_of(f, &fd);
	error = f->backend->ops->open_stream(f->backend,
					     &object,
					     stream,
					     0,
					     &data);
	close(fd);
	if (data.fd != -1) {
		close(data.fd);
	}
	return error == 0;
}

static void found(const struct ntvfs_share_finding *finding, void *private_data)
{
	struct fixture *f = private_data;

	print_message("found %d: %s\n", finding->kind, finding->path);
	f->counts[finding->kind]++;
	if (finding->removed) {
		f->removed[finding->kind]++;
	}
}

static void check(struct fixture *f, bool remove_unused, unsigned seconds)
{
	const struct ntvfs_share_check options = {
		.remove_unused = remove_unused,
		.seconds = seconds,
		.found = found,
		.private_data = f,
	};

	memset(f->counts, 0, sizeof(f->counts));
	memset(f->removed, 0, sizeof(f->removed));
	assert_error(
		ntvfs_share_check_run(f, f->folder, &options, &f->result),
		0);
}

static void test_nothing(void **state)
{
	struct fixture *f = *state;

	/* no .ntvfs at all */
	check(f, true, 0);
	assert_true(f->result.complete);
	assert_int_equal(f->result.findings, 0);
	assert_int_equal(f->result.files, 0);
	skip_without_xattrs(f);
	stream_put(f, "file", "a");
	stream_put(f, "file", LONG_NAME);
	check(f, true, 0);
	assert_true(f->result.complete);
	assert_int_equal(f->result.findings, 0);
	assert_int_equal(f->result.files, 2);
	assert_int_equal(f->result.records, 1);
	assert_true(stream_is_whole(f, "file", "a"));
	assert_true(stream_is_whole(f, "file", LONG_NAME));
}

/* U1, U2: what a local program's rm leaves. */
static void test_unused(void **state)
{
	struct fixture *f = *state;
	char *path = path_of(f, "gone");

	skip_without_xattrs(f);
	stream_put(f, "kept", "a");
	stream_put(f, "kept", LONG_NAME);
	stream_put(f, "gone", "a");
	stream_put(f, "gone", LONG_NAME);
	unlink(path);
	TALLOC_FREE(path);
	/* too young to be judged */
	check(f, true, 60);
	assert_int_equal(f->counts[NTVFS_UNUSED_FILE], 0);
	check(f, false, 0);
	assert_int_equal(f->counts[NTVFS_UNUSED_FILE], 2);
	assert_int_equal(f->result.removed, 0);
	check(f, true, 0);
	assert_int_equal(f->removed[NTVFS_UNUSED_FILE], 2);
	check(f, true, 0);
	assert_int_equal(f->result.findings, 0);
	assert_int_equal(f->result.records, 1);
	assert_int_equal(f->result.files, 2);
	assert_true(stream_is_whole(f, "kept", "a"));
	assert_true(stream_is_whole(f, "kept", LONG_NAME));
}

/* S1: a copy made by a local program has the file, too. */
static void test_copy(void **state)
{
	struct fixture *f = *state;
	char *from = path_of(f, "file");
	char *to = path_of(f, "copy");
	char value[64];
	ssize_t length;
	int fd;

	skip_without_xattrs(f);
	stream_put(f, "file", "a");
	fd = open(to, O_RDWR | O_CREAT, 0644);
	close(fd);
	length = getxattr(from, "user.ntvfs.str.a:$DATA", value, 64);
	assert_int_equal(length, 24);
	assert_int_equal(setxattr(to, "user.ntvfs.str.a:$DATA", value, 24, 0),
			 0);
	unlink(from);
	check(f, true, 0);
	assert_int_equal(f->result.findings, 0);
	assert_true(stream_is_whole(f, "copy", "a"));
	TALLOC_FREE(from);
	TALLOC_FREE(to);
}

static int unlink_file(const char *path,
		       const struct stat *st,
		       int flag,
		       struct FTW *ftw)
{
	return flag == FTW_F ? unlink(path) : 0;
}

static void test_lost_and_strange(void **state)
{
	struct fixture *f = *state;
	char *streams = path_of(f, ".ntvfs/streams");
	char *strange = path_of(f, ".ntvfs/streams/notes");
	char *file = path_of(f, "bad");
	int fd;

	skip_without_xattrs(f);
	stream_put(f, "lost", "a");
	stream_put(f, "lost", LONG_NAME);
	nftw(streams, unlink_file, 16, FTW_PHYS);
	stream_put(f, "whole", "a");
	fd = open(strange, O_RDWR | O_CREAT, 0600);
	close(fd);
	fd = open(file, O_RDWR | O_CREAT, 0600);
	close(fd);
	assert_int_equal(setxattr(file, "user.ntvfs.str.s:$DATA", "?", 1, 0),
			 0);
	check(f, true, 0);
	assert_int_equal(f->counts[NTVFS_LOST_STREAM], 2);
	assert_int_equal(f->counts[NTVFS_STRANGE_FILE], 1);
	assert_int_equal(f->counts[NTVFS_BAD_POINTER], 1);
	assert_int_equal(f->result.findings, 4);
	assert_int_equal(f->result.removed, 0);
	assert_true(stream_is_whole(f, "whole", "a"));
	TALLOC_FREE(streams);
	TALLOC_FREE(strange);
	TALLOC_FREE(file);
}

/* A share in a share: who has what is not known from the one alone. */
static void test_share_in_a_share(void **state)
{
	struct fixture *f = *state;
	char *inner = path_of(f, "inner");
	char *outer_folder = f->folder;
	char *path = path_of(f, "inner/gone");
	struct ntvfs_backend *outer_backend = f->backend;

	skip_without_xattrs(f);
	stream_put(f, "file", "a");
	assert_int_equal(mkdir(inner, 0755), 0);
	f->folder = inner;
	f->backend = backend_make(f);
	stream_put(f, "gone", "a");
	stream_put(f, "kept", "a");
	unlink(path);
	check(f, true, 0);
	assert_int_equal(f->counts[NTVFS_UNUSED_FILE], 1);
	assert_int_equal(f->result.removed, 0);
	assert_non_null(f->result.not_removed);
	TALLOC_FREE(f->backend);
	f->folder = outer_folder;
	f->backend = outer_backend;
	/* what the inner one has is not lost to the outer one */
	check(f, true, 0);
	assert_int_equal(f->result.findings, 0);
	TALLOC_FREE(inner);
	TALLOC_FREE(path);
}

#define FILES 30
#define FOLDERS 1000

static int64_t milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* What clients do to files and streams that are there. */
static void move_things(struct fixture *f)
{
	unsigned places[FILES] = {0};
	unsigned names[FILES] = {0};
	int64_t begun = milliseconds();
	unsigned seed = 7;

	f->backend = backend_make(f);
	for (;;) {
		unsigned i = (unsigned)rand_r(&seed) % FILES;
		unsigned to = (unsigned)rand_r(&seed) % FOLDERS;
		char *from_path = NULL;
		char *to_path = NULL;
		int fd;

		from_path = talloc_asprintf(f, "%s/d%u/f%u", f->folder,
					    places[i], i);
		to_path = talloc_asprintf(f, "%s/d%u/f%u", f->folder, to, i);
		if (rename(from_path, to_path) != 0) {
			_exit(1);
		}
		places[i] = to;
		/* a stream whose file gets another name is not judged */
		fd = -1;
		if (rand_r(&seed) % 64 == 0) {
			fd = open(to_path, O_RDWR);
		}
		if (fd != -1) {
			struct ntvfs_object object = object_of(f, &fd);

			if (f->backend->ops->rename_stream(
				    f->backend,
				    &object,
				    names[i] != 0 ? "b" : "a",
				    names[i] != 0 ? "a" : "b",
				    false) != 0)
			{
				_exit(2);
			}
			names[i] = 1 - names[i];
			close(fd);
		}
		TALLOC_FREE(from_path);
		TALLOC_FREE(to_path);
		/* clients pause now and then, so that a walk may end */
		if (milliseconds() - begun > 100) {
			usleep(250000);
			begun = milliseconds();
		}
	}
}

/* W1, U1: nothing is taken for unused because it was on its way. */
static void test_in_use(void **state)
{
	struct fixture *f = *state;
	int64_t begun = milliseconds();
	unsigned complete = 0;
	unsigned i;
	int status = 0;
	pid_t pid;

	skip_without_xattrs(f);
	for (i = 0; i < FOLDERS; i++) {
		char *path = talloc_asprintf(f, "%s/d%u", f->folder, i);

		assert_int_equal(mkdir(path, 0755), 0);
		TALLOC_FREE(path);
	}
	for (i = 0; i < FILES; i++) {
		char *name = talloc_asprintf(f, "d0/f%u", i);

		stream_put(f, name, "a");
		TALLOC_FREE(name);
	}
	TALLOC_FREE(f->backend);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		move_things(f);
	}
	for (i = 0; milliseconds() - begun < 3000; i++) {
		check(f, true, 0);
		if (f->result.complete) {
			complete++;
		}
		assert_int_equal(f->counts[NTVFS_LOST_STREAM], 0);
		assert_int_equal(f->result.removed, 0);
		if (f->result.complete) {
			assert_int_equal(f->counts[NTVFS_UNUSED_FILE], 0);
		}
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* it was at work all the time */
	assert_true(WIFSIGNALED(status));
	print_message("%u of %u walks were complete\n", complete, i);
	assert_true(complete > 0);
	f->backend = backend_make(f);
	check(f, true, 0);
	assert_true(f->result.complete);
	assert_int_equal(f->result.removed, 0);
	assert_int_equal(f->result.files, FILES);
}

int main(void)
{
#define CHECK_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CHECK_TEST(test_nothing),
		CHECK_TEST(test_unused),
		CHECK_TEST(test_copy),
		CHECK_TEST(test_lost_and_strange),
		CHECK_TEST(test_share_in_a_share),
		CHECK_TEST(test_in_use),
	};

	return cmocka_run_group_tests_name("share_check", tests, NULL, NULL);
}
