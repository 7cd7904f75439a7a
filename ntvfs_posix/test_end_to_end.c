/*
 * Tests of the posix backend with real files: what one process stores another
 * finds, with xattrs of the file system and with those in a tdb.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "ntvfs_posix/test_common.h"
#include "ntvfs_posix/ntvfs_posix.h"
#include "ntvfs_posix/xattr_tdb.h"
#include "librpc/gen_ndr/security.h"
#include "libcli/security/security_descriptor.h"
#include "lib/util/charset/charset.h"

#define ALL (NTVFS_VALID_ATTRIBUTES | NTVFS_VALID_CREATE_TIME |               \
	     NTVFS_VALID_CHANGE_TIME)

struct fixture {
	enum ntvfs_posix_xattr_store kind;
	char *folder;
	char *path;
	int fd;
	struct ntvfs_backend *backend;
};

static size_t blocks_before;

static void complain(const struct ntvfs_complaint *complaint,
		     void *private_data)
{
	fail_msg("%s: %s", complaint->xattr_name, complaint->reason);
}

static struct ntvfs_backend *backend_make(struct fixture *f)
{
	struct ntvfs_backend *backend = NULL;
	char *lock_path = talloc_asprintf(f, "%s/lock", f->folder);
	const struct ntvfs_posix_config config = {
		.path = f->folder,
		.xattr_store = f->kind,
		.lock_path = lock_path,
		.stream_xattr_max = 2000,
		.exact_stamps = false,
		.kernel_files = true,
		.cached_objects = 64,
		.complain = complain,
	};

	if (ntvfs_posix_create(f, &ntvfs_posix_io_libc, &config, &backend) !=
	    0)
	{
		backend = NULL;
	}
	TALLOC_FREE(lock_path);
	return backend;
}

static struct ntvfs_object object_of(struct fixture *f)
{
	struct stat st;

	assert_int_equal(fstat(f->fd, &st), 0);
	return (struct ntvfs_object){
		.volume = 1,
		.file_id = st.st_ino,
		.change_stamp = st.st_ctim,
		.write_stamp = st.st_mtim,
		.handle = &f->fd,
	};
}

static bool folder_has_xattrs(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY);
	bool has = false;

	if (fd == -1) {
		return false;
	}
	ntvfs_posix_probe_xattrs(&ntvfs_posix_io_libc, &fd, &has);
	close(fd);
	return has;
}

static int setup(void **state, enum ntvfs_posix_xattr_store kind)
{
	struct fixture *f = NULL;
	void *text = NULL;
	size_t length = 0;

	talloc_enable_null_tracking();
	convert_string_talloc(NULL, CH_UTF8, CH_UNIX, "x", 2, &text, &length);
	talloc_free(text);
	blocks_before = talloc_total_blocks(NULL);
	f = talloc_zero(NULL, struct fixture);
	f->kind = kind;
	f->fd = -1;
	f->folder = test_folder_make(f);
	if (f->folder != NULL && kind == NTVFS_XATTR_STORE_FS &&
	    !folder_has_xattrs(f->folder))
	{
		test_folder_remove(f->folder);
		f->folder = talloc_strdup(f, "/var/tmp/ntvfs-posix-XXXXXX");
		f->folder = mkdtemp(f->folder);
	}
	if (f->folder == NULL) {
		return -1;
	}
	f->path = talloc_asprintf(f, "%s/file", f->folder);
	f->fd = open(f->path, O_RDWR | O_CREAT | O_EXCL, 0600);
	f->backend = backend_make(f);
	*state = f;
	return f->fd == -1 || f->backend == NULL ? -1 : 0;
}

static int setup_fs(void **state)
{
	return setup(state, NTVFS_XATTR_STORE_FS);
}

static int setup_tdb(void **state)
{
	return setup(state, NTVFS_XATTR_STORE_TDB);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	close(f->fd);
	test_folder_remove(f->folder);
	TALLOC_FREE(f);
	if (talloc_total_blocks(NULL) != blocks_before) {
		talloc_report_full(NULL, stderr);
		return -1;
	}
	return 0;
}

/* Not every place to be tested in lets us. */
static void skip_without(struct fixture *f)
{
	if (geteuid() != 0) {
		fprintf(stderr, "skipped: security.NTACL is root's\n");
		skip();
	}
	if (f->kind == NTVFS_XATTR_STORE_FS && !folder_has_xattrs(f->folder)) {
		fprintf(stderr, "skipped: %s has no xattrs; set TMPDIR\n",
			f->folder);
		skip();
	}
}

static struct security_descriptor *sd_make(TALLOC_CTX *mem_ctx)
{
	struct security_descriptor *sd = NULL;

	sd = security_descriptor_dacl_create(mem_ctx,
					     SEC_DESC_DACL_AUTO_INHERITED,
					     "S-1-5-21-1-2-3-1000",
					     "S-1-5-21-1-2-3-513",
					     "S-1-1-0",
					     SEC_ACE_TYPE_ACCESS_ALLOWED,
					     SEC_FILE_READ_DATA,
					     0,
					     NULL);
	assert_non_null(sd);
	sd->type |= SEC_DESC_SELF_RELATIVE;
	return sd;
}

static int stream_write(struct fixture *f,
			const char *name,
			size_t size,
			char letter)
{
	struct ntvfs_object object = object_of(f);
	struct ntvfs_stream_data data;
	char *bytes = talloc_array(f, char, size);
	int error;

	memset(bytes, letter, size);
	error = f->backend->ops->open_stream(f->backend,
					     &object,
					     name,
					     NTVFS_STREAM_CREATE |
						     NTVFS_STREAM_TRUNCATE,
					     &data);
	if (error == 0) {
		if (data.fd != -1) {
			close(data.fd);
		}
		object = object_of(f);
		error = f->backend->ops->write_stream(f->backend,
						      &object,
						      name,
						      bytes,
						      size,
						      0);
	}
	if (error == ESTALE) {
		object = object_of(f);
		error = f->backend->ops->open_stream(f->backend,
						     &object,
						     name,
						     0,
						     &data);
		assert_int_equal(pwrite(data.fd, bytes, size, 0), size);
		close(data.fd);
	}
	TALLOC_FREE(bytes);
	return error;
}

static void assert_stream(struct fixture *f,
			  const char *name,
			  size_t size,
			  char letter)
{
	struct ntvfs_object object = object_of(f);
	struct ntvfs_stream_data data;
	char *bytes = talloc_array(f, char, size + 1);
	size_t count = 0;

	assert_error(f->backend->ops->open_stream(f->backend,
						  &object,
						  name,
						  0,
						  &data),
		     0);
	assert_int_equal(data.size, size);
	if (data.fd != -1) {
		count = (size_t)pread(data.fd, bytes, size + 1, 0);
		close(data.fd);
	} else {
		assert_error(f->backend->ops->read_stream(f->backend,
							  &object,
							  name,
							  bytes,
							  size + 1,
							  0,
							  &count),
			     0);
	}
	assert_int_equal(count, size);
	while (count > 0) {
		count--;
		assert_int_equal(bytes[count], letter);
	}
	TALLOC_FREE(bytes);
}

static uint32_t attributes_now(struct fixture *f)
{
	struct ntvfs_object object = object_of(f);
	struct ntvfs_attributes a = {.valid = 0};

	assert_error(f->backend->ops->get_attributes(f->backend, &object, &a),
		     0);
	assert_int_equal(a.valid & NTVFS_VALID_ATTRIBUTES,
			 NTVFS_VALID_ATTRIBUTES);
	return a.attributes;
}

static int attributes_set(struct fixture *f, uint32_t attributes)
{
	struct ntvfs_object object = object_of(f);
	const struct ntvfs_attributes a = {
		.valid = ALL,
		.attributes = attributes,
		.create_time = 127457712001234567,
		.change_time = 127457712007654321,
	};

	return f->backend->ops->set_attributes(f->backend, &object, &a);
}

static void test_all_of_it(void **state)
{
	struct fixture *f = *state;
	struct ntvfs_attributes a = {.valid = 0};
	struct security_descriptor *sd = NULL;
	struct security_descriptor *got = NULL;
	struct ntvfs_stream_entry *streams = NULL;
	struct ntvfs_object object;
	size_t count = 0;
	char value[8];

	skip_without(f);
	sd = sd_make(f);
	assert_error(attributes_set(f, 0x26), 0);
	object = object_of(f);
	assert_error(f->backend->ops->set_security_descriptor(f->backend,
							      &object,
							      sd),
		     0);
	object = object_of(f);
	assert_error(f->backend->ops->set_ea(f->backend,
					     &object,
					     "ea",
					     "value",
					     5),
		     0);
	assert_error(stream_write(f, "small", 1000, 's'), 0);
	assert_error(stream_write(f, "large", 300000, 'l'), 0);

	/* by somebody who remembers nothing */
	TALLOC_FREE(f->backend);
	f->backend = backend_make(f);
	object = object_of(f);
	assert_error(f->backend->ops->get_attributes(f->backend, &object, &a),
		     0);
	assert_int_equal(a.valid, ALL);
	assert_int_equal(a.attributes, 0x26);
	assert_true(a.create_time == 127457712001234567);
	assert_true(a.change_time == 127457712007654321);
	assert_error(f->backend->ops->get_security_descriptor(f->backend,
							      &object,
							      f,
							      &got),
		     0);
	assert_true(security_descriptor_equal(sd, got));
	assert_error(f->backend->ops->get_ea(f->backend,
					     &object,
					     "ea",
					     value,
					     sizeof(value),
					     &count),
		     0);
	assert_int_equal(count, 5);
	assert_memory_equal(value, "value", 5);
	assert_error(f->backend->ops->list_streams(f->backend,
						   &object,
						   f,
						   &streams,
						   &count),
		     0);
	assert_int_equal(count, 2);
	assert_stream(f, "small", 1000, 's');
	assert_stream(f, "large", 300000, 'l');

	object = object_of(f);
	assert_error(f->backend->ops->rename_stream(f->backend,
						    &object,
						    "large",
						    "small",
						    true),
		     0);
	assert_stream(f, "small", 300000, 'l');

	/* a write ends the change time that was set, and nothing else */
	assert_int_equal(write(f->fd, "x", 1), 1);
	object = object_of(f);
	assert_error(f->backend->ops->get_attributes(f->backend, &object, &a),
		     0);
	assert_int_equal(a.valid, ALL & ~NTVFS_VALID_CHANGE_TIME);
}

/*
 * Another process changes the object again and again, each time at once after
 * this one has looked: what this one sees next is never older.
 */
static void test_other_process(void **state)
{
	struct fixture *f = *state;
	int to_child[2];
	int from_child[2];
	uint32_t i;
	pid_t pid;
	int status = 0;

	skip_without(f);
	TALLOC_FREE(f->backend);
	assert_int_equal(pipe(to_child), 0);
	assert_int_equal(pipe(from_child), 0);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		close(to_child[1]);
		f->backend = backend_make(f);
		while (read(to_child[0], &i, sizeof(i)) == sizeof(i)) {
			if (attributes_set(f, i) != 0 ||
			    write(from_child[1], &i, 4) != 4)
			{
				_exit(1);
			}
		}
		_exit(0);
	}
	close(to_child[0]);
	close(from_child[1]);
	f->backend = backend_make(f);
	for (i = 1; i < 300; i++) {
		uint32_t done = 0;

		assert_int_equal(write(to_child[1], &i, 4), 4);
		assert_int_equal(read(from_child[0], &done, 4), 4);
		assert_int_equal(attributes_now(f), i);
		assert_int_equal(attributes_now(f), i);
	}
	close(to_child[1]);
	close(from_child[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A child's part of the test below; its own streams are named by letter. */
static void streams_come_and_go(struct fixture *f,
				const char *prefix,
				char letter,
				int rounds)
{
	char *first = talloc_asprintf(f, "%s%c1", prefix, letter);
	char *second = talloc_asprintf(f, "%s%c2", prefix, letter);
	const size_t sizes[] = {100, 1900, 2100, 70000};
	int i;

	for (i = 0; i < rounds; i++) {
		size_t size = sizes[i % 4];
		struct ntvfs_object object;

		assert_error(stream_write(f, first, size, letter), 0);
		assert_stream(f, first, size, letter);
		object = object_of(f);
		assert_error(f->backend->ops->rename_stream(f->backend,
							    &object,
							    first,
							    second,
							    true),
			     0);
		assert_stream(f, second, size, letter);
		if (i % 3 == 0) {
			object = object_of(f);
			assert_error(f->backend->ops->remove_stream(f->backend,
								    &object,
								    second),
				     0);
		}
	}
}

/* Two processes change streams of one object: neither notices the other. */
static void two_processes(struct fixture *f, const char *prefix, int rounds)
{
	pid_t pids[2];
	int p;

	skip_without(f);
	TALLOC_FREE(f->backend);
	for (p = 0; p < 2; p++) {
		pids[p] = fork();
		assert_int_not_equal(pids[p], -1);
		if (pids[p] == 0) {
			/* its own descriptor and locks, as smbd's are */
			close(f->fd);
			f->fd = open(f->path, O_RDWR);
			f->backend = backend_make(f);
			streams_come_and_go(f,
					    prefix,
					    (char)('a' + p),
					    rounds);
			_exit(0);
		}
	}
	for (p = 0; p < 2; p++) {
		int status = 0;

		assert_int_equal(waitpid(pids[p], &status, 0), pids[p]);
		assert_int_equal(status, 0);
	}
	f->backend = backend_make(f);
	for (p = 0; p < 2; p++) {
		char *name = talloc_asprintf(f, "%s%c2", prefix, 'a' + p);

		assert_stream(f, name, 70000, (char)('a' + p));
		TALLOC_FREE(name);
	}
}

static void test_two_processes(void **state)
{
	two_processes(*state, "", 120);
}

/* The same, with names that no xattr can have. */
static void test_two_processes_overflow(void **state)
{
	char prefix[301] = {0};

	memset(prefix, 'n', 300);
	two_processes(*state, prefix, 32);
}

/* What is kept outside of an object does not outlive it. */
static void test_forget(void **state)
{
	struct fixture *f = *state;
	struct ntvfs_attributes a = {.valid = 0};
	struct ntvfs_object object;

	skip_without(f);
	assert_error(attributes_set(f, 0x22), 0);
	assert_error(stream_write(f, "large", 300000, 'l'), 0);
	unlink(f->path);
	object = object_of(f);
	f->backend->ops->forget_object(f->backend, &object);
	if (f->kind == NTVFS_XATTR_STORE_TDB) {
		assert_true(f->backend->keeps_outside);
		assert_error(f->backend->ops->get_attributes(f->backend,
							     &object,
							     &a),
			     0);
		assert_int_equal(a.valid, 0);
	} else {
		assert_false(f->backend->keeps_outside);
	}
}

int main(void)
{
#define BOTH(name)                                                            \
	{#name "_fs", name, setup_fs, teardown, NULL},                        \
	{#name "_tdb", name, setup_tdb, teardown, NULL}
	const struct CMUnitTest tests[] = {
		BOTH(test_all_of_it),
		BOTH(test_other_process),
		BOTH(test_two_processes),
		BOTH(test_two_processes_overflow),
		BOTH(test_forget),
	};

	return cmocka_run_group_tests_name("end_to_end",
					   tests,
					   NULL,
					   test_group_teardown);
}
