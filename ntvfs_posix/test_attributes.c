/*
 * Tests of DOS attributes, create and change time of the posix backend.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "ntvfs_posix/test_fake_io.h"

#define CREATE_TIME 127457712001234567ULL
#define CHANGE_TIME 132539328007654321ULL

#define ALL (NTVFS_VALID_ATTRIBUTES | NTVFS_VALID_CREATE_TIME |               \
	     NTVFS_VALID_CHANGE_TIME)

static const int plausible[] = {EIO,	ENOSPC, EDQUOT, EACCES, EPERM,
				ENOMEM, EINVAL, EROFS,	ESTALE, EBADF};

/* A record under construction; all members are little-endian. */
struct blob {
	uint8_t bytes[600];
	size_t length;
};

static void put(struct blob *blob, size_t bytes, uint64_t number)
{
	size_t i;

	for (i = 0; i < bytes; i++) {
		blob->bytes[blob->length++] = (uint8_t)(number >> (8 * i));
	}
}

/* The record of a version; with_text: as in user.DOSATTRIB. */
static struct blob record_of(unsigned version, bool with_text)
{
	struct blob blob = {.length = 0};

	if (with_text) {
		put(&blob, 2, 0);	/* empty text, alignment */
	}
	put(&blob, 2, version);
	put(&blob, 2, version);
	if (with_text) {
		put(&blob, 2, 0);
	}
	switch (version) {
	case 2:
		put(&blob, 4, 0);
		break;
	case 3:
		put(&blob, 4, 0x11);
		break;
	case 4:
	case 5:
		put(&blob, 4, 0x11);
		break;
	default:
		break;
	}
	put(&blob, 4, 0x23);
	if (version == 4) {
		put(&blob, 8, 42);
		put(&blob, 8, CREATE_TIME);
		return blob;
	}
	if (version == 5) {
		put(&blob, 8, CREATE_TIME);
		return blob;
	}
	put(&blob, 4, 0);
	put(&blob, 8, 0);
	put(&blob, 8, 0);
	put(&blob, 8, CREATE_TIME);
	put(&blob, 8, CHANGE_TIME);
	return blob;
}

static struct ntvfs_attributes get(struct ntvfs_backend *backend,
				   struct fake_object *file)
{
	struct ntvfs_object object = fake_object_now(file);
	struct ntvfs_attributes a = {.valid = ~0u};

	assert_error(backend->ops->get_attributes(backend, &object, &a), 0);
	return a;
}

static int set(struct ntvfs_backend *backend,
	       struct fake_object *file,
	       uint32_t valid,
	       uint32_t attributes,
	       uint64_t create_time,
	       uint64_t change_time)
{
	struct ntvfs_object object = fake_object_now(file);
	const struct ntvfs_attributes a = {
		.valid = valid,
		.attributes = attributes,
		.create_time = create_time,
		.change_time = change_time,
	};

	return backend->ops->set_attributes(backend, &object, &a);
}

static void assert_attributes(const struct ntvfs_attributes a,
			      uint32_t valid,
			      uint32_t attributes,
			      uint64_t create_time,
			      uint64_t change_time)
{
	assert_int_equal(a.valid, valid);
	assert_int_equal(a.attributes, attributes);
	assert_true(a.create_time == create_time);
	assert_true(a.change_time == change_time);
}

static void test_nothing_stored(void **state)
{
	struct fake_fixture *f = *state;

	assert_attributes(get(f->backend, f->file), 0, 0, 0, 0);
	assert_int_equal(fake_complaints, 0);
	assert_int_equal(f->file->stamp.tv_nsec, 0);

	/* remembered, too */
	fake_calls_reset();
	assert_attributes(get(f->backend, f->file), 0, 0, 0, 0);
	assert_int_equal(fake_gate.calls, 0);
}

static void test_all_versions(void **state)
{
	struct fake_fixture *f = *state;
	unsigned version;

	for (version = 1; version <= 5; version++) {
		struct blob blob = record_of(version, true);

		if (version == 2) {
			put(&blob, 8, 0);
			put(&blob, 1, 0);	/* an empty name */
		}
		fake_xattr_put(f->file,
			       NTVFS_XATTR_DOSATTRIB,
			       blob.bytes,
			       blob.length);
		/* a change time without the mark of ours has no say */
		assert_attributes(get(f->backend, f->file),
				  NTVFS_VALID_ATTRIBUTES |
					  NTVFS_VALID_CREATE_TIME,
				  0x23,
				  CREATE_TIME,
				  0);
	}
	fake_xattr_put(f->file, NTVFS_XATTR_DOSATTRIB, "0x23", 4);
	assert_attributes(get(f->backend, f->file),
			  NTVFS_VALID_ATTRIBUTES,
			  0x23,
			  0,
			  0);
	assert_int_equal(fake_complaints, 0);
}

/* Version 2 holds the file's name, which may have any length. */
static void test_version_2_long_name(void **state)
{
	struct fake_fixture *f = *state;
	struct blob blob = record_of(2, true);
	int i;

	put(&blob, 8, 0);
	for (i = 0; i < 255; i++) {
		put(&blob, 1, 'n');
	}
	put(&blob, 1, 0);
	fake_xattr_put(f->file,
		       NTVFS_XATTR_DOSATTRIB,
		       blob.bytes,
		       blob.length);
	assert_attributes(get(f->backend, f->file),
			  NTVFS_VALID_ATTRIBUTES | NTVFS_VALID_CREATE_TIME,
			  0x23,
			  CREATE_TIME,
			  0);
	assert_int_equal(fake_complaints, 0);
}

static void test_samba4(void **state)
{
	struct fake_fixture *f = *state;
	struct blob blob = record_of(1, false);

	fake_xattr_put(f->file,
		       NTVFS_XATTR_DOSATTRIB_SAMBA4,
		       blob.bytes,
		       blob.length);
	assert_attributes(get(f->backend, f->file),
			  NTVFS_VALID_ATTRIBUTES | NTVFS_VALID_CREATE_TIME,
			  0x23,
			  CREATE_TIME,
			  0);
	/* what is set replaces it, the rest is taken over */
	assert_error(set(f->backend,
			 f->file,
			 NTVFS_VALID_ATTRIBUTES,
			 0x20,
			 0,
			 0),
		     0);
	assert_attributes(get(f->backend, f->file),
			  NTVFS_VALID_ATTRIBUTES | NTVFS_VALID_CREATE_TIME,
			  0x20,
			  CREATE_TIME,
			  0);
}

/* Defaults and one report for each file; the file stays usable. */
static void test_corrupt(void **state)
{
	struct fake_fixture *f = *state;
	uint8_t junk[700];
	size_t length;

	memset(junk, 0xa5, sizeof(junk));
	for (length = 1; length < sizeof(junk); length += 37) {
		fake_xattr_put(f->file, NTVFS_XATTR_DOSATTRIB, junk, length);
		assert_attributes(get(f->backend, f->file), 0, 0, 0, 0);
	}
	assert_int_equal(fake_complaints, 1);
	assert_error(set(f->backend,
			 f->file,
			 NTVFS_VALID_ATTRIBUTES,
			 0x21,
			 0,
			 0),
		     0);
	assert_attributes(get(f->backend, f->file),
			  NTVFS_VALID_ATTRIBUTES,
			  0x21,
			  0,
			  0);
}

static void test_set_and_get(void **state)
{
	struct fake_fixture *f = *state;

	assert_error(set(f->backend,
			 f->file,
			 ALL,
			 0x26,
			 CREATE_TIME,
			 CHANGE_TIME),
		     0);
	assert_attributes(get(f->backend, f->file),
			  ALL,
			  0x26,
			  CREATE_TIME,
			  CHANGE_TIME);
	/* the second look costs nothing */
	fake_calls_reset();
	assert_attributes(get(f->backend, f->file),
			  ALL,
			  0x26,
			  CREATE_TIME,
			  CHANGE_TIME);
	assert_int_equal(fake_gate.calls, 0);
	/* a third process's change is seen by its stamp */
	fake_xattr_put(f->file, NTVFS_XATTR_DOSATTRIB, "0x12", 4);
	assert_int_equal(get(f->backend, f->file).attributes, 0x12);
	assert_int_equal(fake_gate.calls, 1);

	/* one field alone: the others stay */
	assert_error(set(f->backend,
			 f->file,
			 NTVFS_VALID_CREATE_TIME,
			 0,
			 5,
			 0),
		     0);
	assert_attributes(get(f->backend, f->file),
			  NTVFS_VALID_ATTRIBUTES | NTVFS_VALID_CREATE_TIME,
			  0x12,
			  5,
			  0);
}

/*
 * A record has attributes, so one made for a time alone says what the object
 * has without it.
 */
static void test_time_alone(void **state)
{
	struct fake_fixture *f = *state;

	assert_error(set(f->backend,
			 f->file,
			 NTVFS_VALID_CREATE_TIME,
			 0,
			 CREATE_TIME,
			 0),
		     0);
	assert_attributes(get(f->backend, f->file),
			  NTVFS_VALID_ATTRIBUTES | NTVFS_VALID_CREATE_TIME,
			  0x20,
			  CREATE_TIME,
			  0);
	f->other->is_directory = true;
	assert_error(set(f->backend,
			 f->other,
			 NTVFS_VALID_CREATE_TIME,
			 0,
			 CREATE_TIME,
			 0),
		     0);
	assert_int_equal(get(f->backend, f->other).attributes, 0x10);
}

/* A1: a change time counts until the next change of whatever kind. */
static void test_a1_change_time(void **state)
{
	struct fake_fixture *f = *state;
	struct ntvfs_object object;
	long nsec = f->file->write_stamp.tv_nsec;

	assert_error(set(f->backend, f->file, ALL, 0x20, 1, CHANGE_TIME), 0);
	assert_int_equal(get(f->backend, f->file).valid, ALL);

	/* a write of the data, also by somebody else, also by 100 ns */
	f->file->write_stamp.tv_nsec += 100;
	f->file->stamp.tv_nsec++;
	assert_int_equal(get(f->backend, f->file).valid,
			 NTVFS_VALID_ATTRIBUTES | NTVFS_VALID_CREATE_TIME);
	f->file->write_stamp.tv_nsec = nsec;
	assert_int_equal(get(f->backend, f->file).valid, ALL);
	f->file->write_stamp.tv_sec--;
	assert_int_equal(get(f->backend, f->file).valid,
			 NTVFS_VALID_ATTRIBUTES | NTVFS_VALID_CREATE_TIME);
	f->file->write_stamp.tv_sec++;

	/* an attribute set without it */
	assert_error(set(f->backend,
			 f->file,
			 NTVFS_VALID_ATTRIBUTES,
			 0x22,
			 0,
			 0),
		     0);
	assert_attributes(get(f->backend, f->file),
			  NTVFS_VALID_ATTRIBUTES | NTVFS_VALID_CREATE_TIME,
			  0x22,
			  1,
			  0);

	/* a rename and the like */
	assert_error(set(f->backend,
			 f->file,
			 NTVFS_VALID_CHANGE_TIME,
			 0,
			 0,
			 CHANGE_TIME),
		     0);
	assert_attributes(get(f->backend, f->file), ALL, 0x22, 1, CHANGE_TIME);
	object = fake_object_now(f->file);
	f->backend->ops->note_change(f->backend, &object);
	assert_attributes(get(f->backend, f->file),
			  NTVFS_VALID_ATTRIBUTES | NTVFS_VALID_CREATE_TIME,
			  0x22,
			  1,
			  0);
	/* there is nothing to forget now: no call */
	object = fake_object_now(f->file);
	fake_calls_reset();
	f->backend->ops->note_change(f->backend, &object);
	assert_int_equal(fake_gate.calls, 0);
	assert_int_equal(fake_complaints, 0);
}

/* Who may not read the data may have been allowed to read the attributes. */
static void test_user_may_not_read(void **state)
{
	struct fake_fixture *f = *state;

	fake_xattr_put(f->file, NTVFS_XATTR_DOSATTRIB, "0x22", 4);
	f->file->forbids_user = true;
	assert_int_equal(get(f->backend, f->file).attributes, 0x22);
	assert_int_equal(fake_gate.root_depth, 0);
}

/* The record is replaced in place: each set is one call, a read one before. */
static void test_calls(void **state)
{
	struct fake_fixture *f = *state;

	assert_error(set(f->backend, f->file, ALL, 0x20, 1, 2), 0);
	/* two reads that found nothing, one write */
	assert_int_equal(fake_gate.calls, 3);
	get(f->backend, f->file);
	fake_calls_reset();
	assert_error(set(f->backend, f->file, ALL, 0x22, 3, 4), 0);
	assert_int_equal(fake_gate.calls, 1);
}

static void test_each_call_fails(void **state)
{
	struct fake_fixture *f = *state;
	size_t e;

	for (e = 0; e < sizeof(plausible) / sizeof(plausible[0]); e++) {
		const int wanted = plausible[e];
		unsigned n;

		for (n = 1;; n++) {
			struct ntvfs_attributes a = {.valid = 0};
			struct ntvfs_object object;
			struct ntvfs_backend *backend = NULL;
			struct blob blob = record_of(1, false);
			uint64_t before;
			bool failed;
			int error;

			fake_object_empty(f->file);
			fake_xattr_put(f->file,
				       NTVFS_XATTR_DOSATTRIB_SAMBA4,
				       blob.bytes,
				       blob.length);
			before = fake_object_sum(f->file);
			backend = fake_backend_create(f, f->folder, 4000);

			/* reading: right, or an error, and right again */
			fake_calls_reset();
			fake_gate.fail_at = n;
			fake_gate.fail_errno = wanted;
			object = fake_object_now(f->file);
			error = backend->ops->get_attributes(backend,
							     &object,
							     &a);
			if (error == 0) {
				assert_int_equal(a.attributes, 0x23);
			} else {
				assert_int_equal(a.valid, 0);
			}
			fake_calls_reset();
			assert_int_equal(get(backend, f->file).attributes,
					 0x23);
			TALLOC_FREE(backend);

			/* writing: all or nothing */
			backend = fake_backend_create(f, f->folder, 4000);
			fake_calls_reset();
			fake_gate.fail_at = n;
			fake_gate.fail_errno = wanted;
			error = set(backend,
				    f->file,
				    NTVFS_VALID_ATTRIBUTES,
				    0x21,
				    0,
				    0);
			failed = fake_gate.failed;
			fake_calls_reset();
			if (error != 0) {
				assert_true(fake_object_sum(f->file) ==
					    before);
			}
			assert_attributes(get(backend, f->file),
					  NTVFS_VALID_ATTRIBUTES |
						  NTVFS_VALID_CREATE_TIME,
					  error == 0 ? 0x21 : 0x23,
					  CREATE_TIME,
					  0);
			TALLOC_FREE(backend);
			if (!failed) {
				assert_error(error, 0);
				break;
			}
		}
		assert_int_equal(n, 4);
	}
	assert_int_equal(fake_complaints, 0);
}

/* Forgetting a change time that fails is reported. */
static void test_note_change_fails(void **state)
{
	struct fake_fixture *f = *state;
	struct ntvfs_object object;

	assert_error(set(f->backend, f->file, ALL, 0x20, 1, CHANGE_TIME), 0);
	get(f->backend, f->file);
	fake_calls_reset();
	fake_gate.fail_at = 1;
	fake_gate.fail_errno = EIO;
	object = fake_object_now(f->file);
	f->backend->ops->note_change(f->backend, &object);
	assert_int_equal(fake_complaints, 1);
	assert_int_equal(get(f->backend, f->file).valid, ALL);
}

int main(void)
{
#define ATTRIBUTES_TEST(name)                                                 \
	cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)
	const struct CMUnitTest tests[] = {
		ATTRIBUTES_TEST(test_nothing_stored),
		ATTRIBUTES_TEST(test_all_versions),
		ATTRIBUTES_TEST(test_version_2_long_name),
		ATTRIBUTES_TEST(test_samba4),
		ATTRIBUTES_TEST(test_corrupt),
		ATTRIBUTES_TEST(test_set_and_get),
		ATTRIBUTES_TEST(test_time_alone),
		ATTRIBUTES_TEST(test_a1_change_time),
		ATTRIBUTES_TEST(test_user_may_not_read),
		ATTRIBUTES_TEST(test_calls),
		ATTRIBUTES_TEST(test_each_call_fails),
		ATTRIBUTES_TEST(test_note_change_fails),
	};

	return cmocka_run_group_tests_name("attributes",
					   tests,
					   NULL,
					   test_group_teardown);
}
