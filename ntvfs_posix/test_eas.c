/*
 * Tests of the extended attributes of SMB clients on the posix backend.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "ntvfs_posix/test_fake_io.h"

static const int plausible[] = {EIO,	ENOSPC, EDQUOT, EACCES,
				ENOMEM, EROFS,	EINVAL};

static int set(struct ntvfs_backend *backend,
	       struct fake_object *file,
	       const char *name,
	       const char *value)
{
	struct ntvfs_object object = fake_object_now(file);

	return backend->ops->set_ea(backend,
				    &object,
				    name,
				    value,
				    value == NULL ? 0 : strlen(value));
}

static int get(struct ntvfs_backend *backend,
	       struct fake_object *file,
	       const char *name,
	       void *value,
	       size_t size,
	       size_t *length)
{
	struct ntvfs_object object = fake_object_now(file);

	return backend->ops->get_ea(backend,
				    &object,
				    name,
				    value,
				    size,
				    length);
}

/* value NULL: there is none. */
static void assert_ea(struct ntvfs_backend *backend,
		      struct fake_object *file,
		      const char *name,
		      const char *value)
{
	char got[64];
	size_t length = 0;
	int error;

	error = get(backend, file, name, got, sizeof(got), &length);
	if (value == NULL) {
		assert_error(error, ENODATA);
		return;
	}
	assert_error(error, 0);
	assert_int_equal(length, strlen(value));
	assert_memory_equal(got, value, length);
}

/* The names, in their order, with a comma behind each. */
static void assert_list(struct ntvfs_backend *backend,
			struct fake_object *file,
			const char *wanted)
{
	struct ntvfs_object object = fake_object_now(file);
	char *names = NULL;
	size_t length = 0;
	size_t i;

	assert_error(backend->ops->list_eas(backend,
					    &object,
					    backend,
					    &names,
					    &length),
		     0);
	assert_int_equal(length, strlen(wanted));
	for (i = 0; i < length; i++) {
		assert_int_equal(names[i] == '\0' ? ',' : names[i],
				 wanted[i]);
	}
	TALLOC_FREE(names);
}

/* user.DosEAs as Samba 4's own file server left it. */
static void old_put(struct fake_object *file,
		    const char *const (*eas)[2],
		    uint16_t count)
{
	uint8_t bytes[512] = {0};
	const uint32_t referent = 0x00020000;
	const uint32_t max_count = count;
	size_t at = 12;
	uint16_t i;

	memcpy(bytes, &count, 2);
	memcpy(bytes + 4, &referent, 4);
	memcpy(bytes + 8, &max_count, 4);
	for (i = 0; i < count; i++) {
		uint32_t length = (uint32_t)strlen(eas[i][1]);

		at = (at + 3) / 4 * 4;
		strcpy((char *)bytes + at, eas[i][0]);
		at += strlen(eas[i][0]) + 1;
		at = (at + 3) / 4 * 4;
		memcpy(bytes + at, &length, 4);
		memcpy(bytes + at + 4, eas[i][1], length);
		at += 4 + length;
	}
	fake_xattr_put(file, NTVFS_XATTR_DOSEAS, bytes, at);
}

static void test_round_trip(void **state)
{
	struct fake_fixture *f = *state;
	char small[2];
	size_t length = 7;

	assert_list(f->backend, f->file, "");
	assert_ea(f->backend, f->file, "one", NULL);
	assert_error(set(f->backend, f->file, "one", NULL), ENODATA);
	assert_error(set(f->backend, f->file, "one", "first"), 0);
	assert_error(set(f->backend, f->file, "two", ""), 0);
	assert_ea(f->backend, f->file, "one", "first");
	assert_ea(f->backend, f->file, "two", "");
	assert_list(f->backend, f->file, "one,two,");
	/* where stock Samba has it */
	assert_int_equal(fake_xattr_find(f->file, "user.one")->length, 5);

	assert_error(get(f->backend, f->file, "one", NULL, 0, &length), 0);
	assert_int_equal(length, 5);
	assert_error(get(f->backend, f->file, "one", small, 2, &length),
		     ERANGE);
	assert_error(set(f->backend, f->file, "one", NULL), 0);
	assert_list(f->backend, f->file, "two,");

	/* the second list is free */
	fake_calls_reset();
	assert_list(f->backend, f->file, "two,");
	assert_int_equal(fake_gate.calls, 0);
}

/* What the backend, or stock Samba, keeps for itself is no EA. */
static void test_private(void **state)
{
	struct fake_fixture *f = *state;
	static const char *const names[] = {
		"DOSATTRIB",
		"DosAttrib",
		"dosattrib",
		"DosStreams",
		"DosEAs",
		"DosStream.x:$DATA",
		"dosstream.",
		"ntvfs.str.x:$DATA",
		"NTVFS.anything",
		"SAMBA_PAI",
		"SAMBA_STREAMS",
		"org.netatalk.Metadata",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *full = talloc_asprintf(f, "user.%s", names[i]);

		assert_error(set(f->backend, f->file, names[i], "x"), EPERM);
		assert_error(set(f->backend, f->file, names[i], NULL), EPERM);
		assert_null(fake_xattr_find(f->file, full));
		/* user.DosEAs with nonsense in it is reported, no more */
		fake_xattr_put(f->file, full, "secret", 6);
		assert_ea(f->backend, f->file, names[i], NULL);
		TALLOC_FREE(full);
	}
	assert_list(f->backend, f->file, "");
	fake_xattr_put(f->file, "security.NTACL", "secret", 6);
	fake_xattr_put(f->file, "trusted.x", "secret", 6);
	fake_xattr_put(f->file, "user.visible", "v", 1);
	fake_xattr_put(f->file, "user.ntvfsx", "v", 1);
	assert_list(f->backend, f->file, "visible,ntvfsx,");
	assert_int_equal(fake_complaints, 1);
}

static void test_samba4(void **state)
{
	struct fake_fixture *f = *state;
	static const char *const eas[][2] = {
		{"One", "old 1"},
		{"Two", "old 2"},
		{"Empty", ""},
		{"DOSATTRIB", "never"},
		{"Three", "old 3"},
	};
	size_t length = 0;
	char small[2];

	old_put(f->file, eas, 5);
	assert_list(f->backend, f->file, "One,Two,Three,");
	assert_ea(f->backend, f->file, "One", "old 1");
	assert_ea(f->backend, f->file, "ONE", "old 1");
	assert_ea(f->backend, f->file, "Empty", NULL);
	assert_ea(f->backend, f->file, "DOSATTRIB", NULL);
	assert_error(get(f->backend, f->file, "Two", NULL, 0, &length), 0);
	assert_int_equal(length, 5);
	assert_error(get(f->backend, f->file, "Two", small, 2, &length),
		     ERANGE);

	/* a newer value hides an old one, whatever its case */
	fake_xattr_put(f->file, "user.TWO", "new 2", 5);
	assert_list(f->backend, f->file, "TWO,One,Three,");
	assert_ea(f->backend, f->file, "TWO", "new 2");
	assert_ea(f->backend, f->file, "Two", NULL);

	/* a change of one gives each an xattr of its own */
	assert_error(set(f->backend, f->file, "One", "new 1"), 0);
	assert_null(fake_xattr_find(f->file, NTVFS_XATTR_DOSEAS));
	assert_null(fake_xattr_find(f->file, NTVFS_XATTR_DOSATTRIB));
	assert_ea(f->backend, f->file, "One", "new 1");
	assert_ea(f->backend, f->file, "TWO", "new 2");
	assert_ea(f->backend, f->file, "Three", "old 3");
	assert_null(fake_xattr_find(f->file, "user.Two"));

	/* one is removed: it does not come back from the record */
	fake_object_empty(f->file);
	old_put(f->file, eas, 5);
	assert_error(set(f->backend, f->file, "Two", NULL), 0);
	assert_ea(f->backend, f->file, "Two", NULL);
	assert_ea(f->backend, f->file, "One", "old 1");
	assert_int_equal(fake_complaints, 0);
}

/* Before, or after, for a set, a removal and a conversion with either. */
static void test_each_call_fails(void **state)
{
	struct fake_fixture *f = *state;
	static const char *const eas[][2] = {
		{"one", "old 1"},
		{"two", "old 2"},
		{"three", "old 3"},
	};
	size_t i;

	for (i = 0; i < 2 * sizeof(plausible) / sizeof(int); i++) {
		const char *const value = (i % 2 == 0) ? "new 1" : NULL;
		bool failed = true;
		unsigned n;

		for (n = 1; failed; n++) {
			struct ntvfs_backend *backend = NULL;
			char got[64];
			size_t length = 0;
			int error;

			fake_calls_reset();
			fake_object_empty(f->file);
			old_put(f->file, eas, 3);
			fake_xattr_put(f->file, "user.two", "new 2", 5);
			backend = fake_backend_create(f, f->folder, 4000);
			fake_gate.fail_at = n;
			fake_gate.fail_errno = plausible[i / 2];
			error = set(backend, f->file, "one", value);
			failed = fake_gate.failed;
			fake_calls_reset();
			if (error != 0) {
				assert_true(failed);
			}
			/* by the one whose cache went through it */
			assert_ea(backend,
				  f->file,
				  "one",
				  error == 0 ? value : "old 1");
			assert_ea(backend, f->file, "two", "new 2");
			assert_ea(backend, f->file, "three", "old 3");
			TALLOC_FREE(backend);
			backend = fake_backend_create(f, f->folder, 4000);
			assert_ea(backend, f->file, "two", "new 2");

			/* reading: an error or what is true */
			fake_calls_reset();
			fake_gate.fail_at = n;
			fake_gate.fail_errno = plausible[i / 2];
			error = get(backend,
				    f->file,
				    "three",
				    got,
				    sizeof(got),
				    &length);
			if (error == 0) {
				assert_int_equal(length, 5);
				assert_memory_equal(got, "old 3", 5);
			} else {
				assert_int_not_equal(error, ENODATA);
			}
			fake_calls_reset();
			assert_ea(backend, f->file, "three", "old 3");
			TALLOC_FREE(backend);
		}
		assert_in_range(n, 6, 20);
	}
}

/* A process killed before any call leaves all EAs, of the old or new value. */
static void test_killed_at_each_call(void **state)
{
	struct fake_fixture *f = *state;
	static const char *const eas[][2] = {
		{"one", "old 1"},
		{"two", "old 2"},
		{"three", "old 3"},
	};
	struct ntvfs_backend *backend = NULL;
	bool killed = true;
	unsigned n;

	for (n = 1; killed; n++) {
		char got[8] = {0};
		size_t length = 0;
		int status = 0;
		pid_t pid;

		fake_object_empty(f->file);
		old_put(f->file, eas, 3);
		pid = fork();
		assert_int_not_equal(pid, -1);
		if (pid == 0) {
			backend = fake_backend_create(f, f->folder, 4000);
			fake_gate.calls = 0;
			fake_gate.kill_at = n;
			_exit(set(backend, f->file, "one", "new 1"));
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		killed = WIFSIGNALED(status);
		assert_true(killed || WEXITSTATUS(status) == 0);
		backend = fake_backend_create(f, f->folder, 4000);
		assert_error(get(backend,
				 f->file,
				 "one",
				 got,
				 sizeof(got),
				 &length),
			     0);
		assert_true(strcmp(got, "old 1") == 0 ||
			    strcmp(got, "new 1") == 0);
		assert_ea(backend, f->file, "two", "old 2");
		assert_ea(backend, f->file, "three", "old 3");
		TALLOC_FREE(backend);
	}
	assert_in_range(n, 6, 20);
}

int main(void)
{
#define EAS_TEST(name)                                                        \
	cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)
	const struct CMUnitTest tests[] = {
		EAS_TEST(test_round_trip),
		EAS_TEST(test_private),
		EAS_TEST(test_samba4),
		EAS_TEST(test_each_call_fails),
		EAS_TEST(test_killed_at_each_call),
	};

	return cmocka_run_group_tests_name("eas",
					   tests,
					   NULL,
					   test_group_teardown);
}
