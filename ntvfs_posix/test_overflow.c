/*
 * Tests of what does not fit into an object: pointers to stream files in the
 * overflow store (invariants O1, O2), and streams that are moved out of the
 * way of what can be nowhere else.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "ntvfs_posix/test_stream_content.h"
#include "librpc/gen_ndr/security.h"
#include "libcli/security/security_descriptor.h"

static const int plausible[] = {EIO, ENOSPC, EDQUOT, EACCES, ENOMEM, EROFS};

#define MANY 40

static struct content content_of(unsigned i)
{
	return (struct content){(char)('a' + i), (int)(i * 3)};
}

static char *name_of(TALLOC_CTX *mem_ctx, unsigned i)
{
	return talloc_asprintf(mem_ctx, "stream %u", i);
}

static void many_put(struct fake_fixture *f, unsigned count)
{
	unsigned i;

	for (i = 0; i < count; i++) {
		char *name = name_of(f, i);

		stream_put(f->backend, f->file, name, content_of(i));
		TALLOC_FREE(name);
	}
}

static void assert_many(struct ntvfs_backend *backend,
			struct fake_object *file,
			unsigned count)
{
	struct ntvfs_object object = fake_object_now(file);
	struct ntvfs_stream_entry *streams = NULL;
	size_t listed = 0;
	unsigned i;
	size_t j;

	assert_error(backend->ops->list_streams(backend,
						&object,
						backend,
						&streams,
						&listed),
		     0);
	assert_int_equal(listed, count);
	for (i = 0; i < count; i++) {
		char *name = name_of(backend, i);
		unsigned seen = 0;

		for (j = 0; j < listed; j++) {
			if (strcmp(streams[j].name, name) == 0) {
				assert_int_equal(streams[j].size,
						 content_of(i).size);
				seen++;
			}
		}
		assert_int_equal(seen, 1);
		assert_stream(backend, file, name, content_of(i));
		TALLOC_FREE(name);
	}
	TALLOC_FREE(streams);
}

static bool store_exists(struct fake_fixture *f)
{
	char *path = talloc_asprintf(f, "%s/.ntvfs/overflow.tdb", f->folder);
	bool exists = access(path, F_OK) == 0;

	TALLOC_FREE(path);
	return exists;
}

static void test_many_streams(void **state)
{
	struct fake_fixture *f = *state;
	size_t length = 0;
	unsigned i;

	f->file->capacity = 300;
	many_put(f, MANY);
	assert_many(f->backend, f->file, MANY);
	/* by somebody who remembers nothing */
	TALLOC_FREE(f->backend);
	f->backend = fake_backend_create(f, f->folder, SMALL_MAX);
	assert_many(f->backend, f->file, MANY);
	assert_int_equal(count_pointers(f, f->file), count_files(f));

	assert_error(stream_rename(f->backend,
				   f->file,
				   "stream 39",
				   "stream 0",
				   true),
		     0);
	assert_stream(f->backend, f->file, "stream 0", content_of(39));
	/* all go, in the order in which they came */
	for (i = 0; i < MANY - 1; i++) {
		char *name = name_of(f, i);

		assert_error(stream_remove(f->backend, f->file, name), 0);
		TALLOC_FREE(name);
	}
	assert_int_equal(count_files(f), 0);
	assert_null(overflow_names(f, f->file, &length));
	assert_int_equal(length, 0);
	assert_many(f->backend, f->file, 0);
}

/* The last name of the object is gone, and all that there was of it. */
static void test_forget(void **state)
{
	struct fake_fixture *f = *state;
	struct ntvfs_object object;
	size_t length = 0;

	f->file->capacity = 300;
	many_put(f, MANY);
	f->other->capacity = 1;
	stream_put(f->backend, f->other, "s", content_of(5));
	object = fake_object_now(f->file);
	f->backend->ops->forget_object(f->backend, &object);
	assert_null(overflow_names(f, f->file, &length));
	assert_stream(f->backend, f->other, "s", content_of(5));
	assert_int_equal(count_files(f), 1);
}

/*
 * Whoever looked before there was a store sees what another process stores.
 * The child's cached list is of the object as its stamp still says it is.
 */
static void test_other_process(void **state)
{
	struct fake_fixture *f = *state;
	int to_child[2];
	int status = 0;
	char byte = 0;
	pid_t pid;

	TALLOC_FREE(f->backend);
	assert_int_equal(pipe(to_child), 0);
	f->file->capacity = 1;
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		struct ntvfs_object object = fake_object_now(f->file);
		struct ntvfs_stream_entry *streams = NULL;
		size_t count = 0;
		int i;

		close(to_child[1]);
		f->backend = fake_backend_create(f, f->folder, SMALL_MAX);
		for (i = 0; i < 3; i++) {
			if (f->backend->ops->list_streams(f->backend,
							  &object,
							  f,
							  &streams,
							  &count) != 0 ||
			    count != (size_t)i)
			{
				_exit(1);
			}
			if (i < 2 && read(to_child[0], &byte, 1) != 1) {
				_exit(2);
			}
		}
		_exit(0);
	}
	close(to_child[0]);
	/* the child has looked when it reads */
	usleep(100000);
	f->backend = fake_backend_create(f, f->folder, SMALL_MAX);
	stream_put(f->backend, f->file, "a", content_of(1));
	assert_int_equal(write(to_child[1], "x", 1), 1);
	usleep(100000);
	stream_put(f->backend, f->file, "b", content_of(2));
	assert_int_equal(write(to_child[1], "x", 1), 1);
	close(to_child[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Nobody pays for it where nothing overflows, and little where it does. */
static void test_calls(void **state)
{
	struct fake_fixture *f = *state;
	struct ntvfs_stream_entry *streams = NULL;
	struct ntvfs_stream_data data;
	struct ntvfs_object object;
	size_t count = 0;

	fake_xattr_put(f->file, "user.DosStream.s:$DATA", "1", 2);
	fake_xattr_put(f->file, "user.DOSATTRIB", "0x20", 4);
	fake_calls_reset();
	object = fake_object_now(f->file);
	assert_error(f->backend->ops->list_streams(f->backend,
						   &object,
						   f,
						   &streams,
						   &count),
		     0);
	/* the list, and the size of the only stream */
	assert_int_equal(fake_gate.calls, 2);
	TALLOC_FREE(streams);
	fake_calls_reset();
	assert_error(stream_open(f->backend, f->file, "x", 0, &data), ENOENT);
	assert_int_equal(fake_gate.calls, 0);
	assert_error(stream_open(f->backend, f->file, "s", 0, &data), 0);
	assert_int_equal(fake_gate.calls, 1);
	assert_false(store_exists(f));

	/* another object overflows: this one is listed once more */
	f->other->capacity = 1;
	stream_put(f->backend, f->other, "s", content_of(5));
	assert_true(store_exists(f));
	fake_calls_reset();
	assert_error(stream_open(f->backend, f->file, "x", 0, &data), ENOENT);
	assert_int_equal(fake_gate.calls, 1);
	assert_error(stream_open(f->backend, f->file, "x", 0, &data), ENOENT);
	assert_int_equal(fake_gate.calls, 1);
}

/* O1: what is in the object counts, whatever the store says. */
static void test_o1(void **state)
{
	struct fake_fixture *f = *state;
	struct fake_xattr old;
	struct ntvfs_object object;
	struct ntvfs_stream_entry *streams = NULL;
	size_t length = 0;
	size_t count = 0;
	char *names = NULL;

	f->file->capacity = 1;
	stream_put(f->backend, f->file, "s", (struct content){'a', 100});
	f->file->capacity = 0;
	/* a process was killed while it moved that out */
	stream_put(f->backend, f->other, "s", (struct content){'b', LARGE});
	old = *fake_xattr_find(f->other, "user.ntvfs.str.s:$DATA");
	fake_xattr_put(f->file, old.name, old.value, old.length);
	assert_stream(f->backend,
		      f->file,
		      "s",
		      (struct content){'b', LARGE});
	object = fake_object_now(f->file);
	assert_error(f->backend->ops->list_streams(f->backend,
						   &object,
						   f,
						   &streams,
						   &count),
		     0);
	assert_int_equal(count, 1);
	TALLOC_FREE(streams);
	/* a copy's: it gets a pointer of its own, which then counts */
	assert_null(fake_xattr_find(f->file, "user.ntvfs.str.s:$DATA"));
	fake_xattr_put(f->file, old.name, old.value, old.length);
	assert_error(stream_remove(f->backend, f->file, "s"), 0);
	assert_stream(f->backend, f->file, "s", absent);
	names = overflow_names(f, f->file, &length);
	assert_null(names);
	assert_stream(f->backend,
		      f->other,
		      "s",
		      (struct content){'b', LARGE});
}

/* O2: the next file with that inode number has none of it. */
static void test_o2(void **state)
{
	struct fake_fixture *f = *state;
	struct ntvfs_stream_data data;
	struct ntvfs_object object;

	f->file->capacity = 1;
	stream_put(f->backend, f->file, "s", (struct content){'a', 100});
	f->file->birth++;
	fake_object_empty(f->file);
	assert_stream(f->backend, f->file, "s", absent);
	f->file->capacity = 1;
	stream_put(f->backend, f->file, "t", (struct content){'b', 100});
	assert_stream(f->backend, f->file, "s", absent);
	assert_stream(f->backend, f->file, "t", (struct content){'b', 100});

	/* nobody knows whether it is the same file */
	f->file->birth = 0;
	fake_object_empty(f->file);
	assert_stream(f->backend, f->file, "t", absent);
	f->file->capacity = 1;
	assert_error(stream_open(f->backend,
				 f->file,
				 "u",
				 NTVFS_STREAM_CREATE,
				 &data),
		     EFBIG);
	/* another volume's number is not for ever */
	object = fake_object_now(f->other);
	object.volume++;
	f->other->capacity = 1;
	assert_error(f->backend->ops->open_stream(f->backend,
						  &object,
						  "u",
						  NTVFS_STREAM_CREATE,
						  &data),
		     EFBIG);
	assert_int_equal(count_files(f), 2);
}

/* The store is root's, but the right to use it is asked for. */
static void test_rights(void **state)
{
	struct fake_fixture *f = *state;
	struct ntvfs_stream_data data;
	char name[301];

	memset(name, 'n', 300);
	name[300] = '\0';
	stream_put(f->backend, f->file, name, (struct content){'a', 10});
	f->file->forbids_user = true;
	assert_error(stream_remove(f->backend, f->file, name), EACCES);
	assert_error(stream_rename(f->backend, f->file, name, "t", true),
		     EACCES);
	assert_stream(f->backend, f->file, name, (struct content){'a', 10});
	name[299] = 'm';
	assert_error(stream_open(f->backend,
				 f->file,
				 name,
				 NTVFS_STREAM_CREATE,
				 &data),
		     EACCES);
	assert_int_equal(count_files(f), 1);
}

/* A store that cannot be used is told of, not passed over. */
static void test_broken_store(void **state)
{
	struct fake_fixture *f = *state;
	char *path = talloc_asprintf(f, "%s/.ntvfs", f->folder);
	char *lock_path = talloc_asprintf(f, "%s/lock", f->folder);
	struct ntvfs_backend *backend = NULL;
	const struct ntvfs_posix_config config = {
		.path = f->folder,
		.xattr_store = NTVFS_XATTR_STORE_FS,
		.lock_path = lock_path,
		.kernel_files = true,
		.complain = fake_complain,
	};
	int fd;

	assert_int_equal(mkdir(path, 0700), 0);
	TALLOC_FREE(path);
	path = talloc_asprintf(f, "%s/.ntvfs/overflow.tdb", f->folder);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, "nonsense", 8), 8);
	close(fd);
	assert_error(ntvfs_posix_create(f, &fake_io, &config, &backend), EIO);
	assert_null(backend);
	unlink(path);
	assert_error(ntvfs_posix_create(f, &fake_io, &config, &backend), 0);
	TALLOC_FREE(backend);
	TALLOC_FREE(path);
	TALLOC_FREE(lock_path);
}

static struct security_descriptor *sd_make(TALLOC_CTX *mem_ctx, unsigned aces)
{
	struct security_descriptor *sd = NULL;
	unsigned i;

	sd = security_descriptor_dacl_create(mem_ctx,
					     0,
					     "S-1-5-21-1-2-3-1000",
					     "S-1-5-21-1-2-3-513",
					     "S-1-1-0",
					     SEC_ACE_TYPE_ACCESS_ALLOWED,
					     SEC_FILE_READ_DATA,
					     0,
					     NULL);
	assert_non_null(sd);
	for (i = 1; i < aces; i++) {
		struct security_ace ace = sd->dacl->aces[0];

		ace.access_mask = i;
		assert_true(NT_STATUS_IS_OK(
			security_descriptor_dacl_add(sd, &ace)));
	}
	sd->type |= SEC_DESC_SELF_RELATIVE;
	return sd;
}

static int sd_set(struct ntvfs_backend *backend,
		  struct fake_object *file,
		  const struct security_descriptor *sd)
{
	struct ntvfs_object object = fake_object_now(file);

	return backend->ops->set_security_descriptor(backend, &object, sd);
}

static void assert_sd(struct ntvfs_backend *backend,
		      struct fake_object *file,
		      const struct security_descriptor *wanted)
{
	struct ntvfs_object object = fake_object_now(file);
	struct security_descriptor *sd = NULL;

	assert_error(backend->ops->get_security_descriptor(backend,
							   &object,
							   backend,
							   &sd),
		     0);
	assert_true(security_descriptor_equal(sd, wanted));
	TALLOC_FREE(sd);
}

/* What can be nowhere else comes before streams, which lose nothing. */
static void test_make_room(void **state)
{
	struct fake_fixture *f = *state;
	struct security_descriptor *sd = sd_make(f, 50);
	struct security_descriptor *huge = sd_make(f, 400);
	const struct ntvfs_attributes a = {
		.valid = NTVFS_VALID_ATTRIBUTES | NTVFS_VALID_CREATE_TIME,
		.attributes = 0x22,
		.create_time = 127457712001234567,
	};
	struct ntvfs_attributes got = {.valid = 0};
	struct ntvfs_object object;
	char value[100] = {0};

	f->file->capacity = 2000;
	assert_error(sd_set(f->backend, f->file, sd_make(f, 1)), 0);
	many_put(f, 30);
	/* by one who may not change streams himself */
	f->file->forbids_user = true;
	assert_error(sd_set(f->backend, f->file, sd), 0);
	f->file->forbids_user = false;
	assert_sd(f->backend, f->file, sd);
	assert_many(f->backend, f->file, 30);
	assert_true(count_files(f) > 10);

	/* pointers go, too, when no small stream is left */
	object = fake_object_now(f->file);
	assert_error(f->backend->ops->set_attributes(f->backend, &object, &a),
		     0);
	object = fake_object_now(f->file);
	assert_error(f->backend->ops->set_ea(f->backend,
					     &object,
					     "ea",
					     value,
					     sizeof(value)),
		     0);
	assert_many(f->backend, f->file, 30);
	assert_sd(f->backend, f->file, sd);
	object = fake_object_now(f->file);
	assert_error(f->backend->ops->get_attributes(f->backend,
						     &object,
						     &got),
		     0);
	assert_int_equal(got.attributes, 0x22);

	/* nothing is moved for what cannot fit */
	assert_error(sd_set(f->backend, f->file, huge), EFBIG);
	assert_sd(f->backend, f->file, sd);
	assert_many(f->backend, f->file, 30);
	assert_int_equal(count_pointers(f, f->file), count_files(f));
}

/* After a failed call the descriptor is the old or the new one; all streams
 * are there. */
static void test_make_room_each_call_fails(void **state)
{
	struct fake_fixture *f = *state;
	struct security_descriptor *old = sd_make(f, 1);
	struct security_descriptor *new = sd_make(f, 30);
	size_t e;

	for (e = 0; e < sizeof(plausible) / sizeof(plausible[0]); e++) {
		bool failed = true;
		unsigned n;

		for (n = 1; failed; n++) {
			char *private = talloc_asprintf(f,
							"%s/.ntvfs",
							f->folder);
			int error;

			TALLOC_FREE(f->backend);
			fake_calls_reset();
			test_folder_remove(private);
			TALLOC_FREE(private);
			fake_object_empty(f->file);
			f->backend = fake_backend_create(f,
							 f->folder,
							 SMALL_MAX);
			f->file->capacity = 900;
			assert_error(sd_set(f->backend, f->file, old), 0);
			many_put(f, 12);

			fake_calls_reset();
			fake_gate.fail_at = n;
			fake_gate.fail_errno = plausible[e];
			fprintf(stderr,
				"call %u fails: %s\n",
				n,
				strerrorname_np(fake_gate.fail_errno));
			error = sd_set(f->backend, f->file, new);
			failed = fake_gate.failed;
			fake_calls_reset();
			if (!failed) {
				assert_error(error, 0);
			}
			assert_sd(f->backend, f->file, error == 0 ? new : old);
			assert_many(f->backend, f->file, 12);
		}
		assert_true(n > 10);
	}
}

int main(void)
{
#define OVERFLOW_TEST(name)                                                   \
	cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)
	const struct CMUnitTest tests[] = {
		OVERFLOW_TEST(test_many_streams),
		OVERFLOW_TEST(test_forget),
		OVERFLOW_TEST(test_other_process),
		OVERFLOW_TEST(test_calls),
		OVERFLOW_TEST(test_o1),
		OVERFLOW_TEST(test_o2),
		OVERFLOW_TEST(test_rights),
		OVERFLOW_TEST(test_broken_store),
		OVERFLOW_TEST(test_make_room),
		OVERFLOW_TEST(test_make_room_each_call_fails),
	};

	return cmocka_run_group_tests_name("overflow",
					   tests,
					   NULL,
					   test_group_teardown);
}
