/*
 * Tests of the security descriptors of the posix backend.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "ntvfs_posix/test_fake_io.h"
#include "librpc/gen_ndr/security.h"
#include "libcli/security/security_descriptor.h"

static const int plausible[] = {EIO,	ENOSPC, EDQUOT, EACCES, EPERM,
				ENOMEM, EINVAL, EROFS,	ESTALE, E2BIG};

static struct security_descriptor *sd_make(TALLOC_CTX *mem_ctx, unsigned aces)
{
	struct security_descriptor *sd = NULL;
	unsigned i;

	sd = security_descriptor_dacl_create(
		mem_ctx,
		SEC_DESC_DACL_AUTO_INHERITED,
		"S-1-5-21-1-2-3-1000",
		"S-1-5-21-1-2-3-513",
		"S-1-5-21-1-2-3-1000",
		SEC_ACE_TYPE_ACCESS_DENIED,
		SEC_FILE_WRITE_DATA,
		SEC_ACE_FLAG_OBJECT_INHERIT,
		NULL);
	assert_non_null(sd);
	for (i = 1; i < aces; i++) {
		struct security_ace ace = sd->dacl->aces[0];

		ace.trustee.sub_auths[4] = i;
		assert_true(NT_STATUS_IS_OK(
			security_descriptor_dacl_add(sd, &ace)));
	}
	sd->type |= SEC_DESC_SELF_RELATIVE;
	return sd;
}

static int get(struct ntvfs_backend *backend,
	       struct fake_object *file,
	       TALLOC_CTX *mem_ctx,
	       struct security_descriptor **sd)
{
	struct ntvfs_object object = fake_object_now(file);

	return backend->ops->get_security_descriptor(backend,
						     &object,
						     mem_ctx,
						     sd);
}

static int set(struct ntvfs_backend *backend,
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
	struct security_descriptor *sd = NULL;

	assert_error(get(backend, file, backend, &sd), 0);
	assert_true(security_descriptor_equal(sd, wanted));
	TALLOC_FREE(sd);
}

static void test_round_trip(void **state)
{
	struct fake_fixture *f = *state;
	struct security_descriptor *sd = NULL;
	struct security_descriptor *got = NULL;

	assert_error(get(f->backend, f->file, f, &got), ENODATA);
	assert_null(got);
	/* that there is none is remembered */
	fake_calls_reset();
	assert_error(get(f->backend, f->file, f, &got), ENODATA);
	assert_int_equal(fake_gate.calls, 0);

	/* as the user, who may not write it himself */
	f->file->forbids_user = true;
	sd = sd_make(f, 3);
	assert_error(set(f->backend, f->file, sd), 0);
	assert_sd(f->backend, f->file, sd);
	fake_calls_reset();
	assert_error(get(f->backend, f->file, f, &got), 0);
	assert_int_equal(fake_gate.calls, 0);
	/* what a caller does to its copy does not come back */
	got->owner_sid->sub_auths[4] = 7;
	assert_sd(f->backend, f->file, sd);

	/* larger than the first try of a read */
	TALLOC_FREE(sd);
	sd = sd_make(f, 400);
	assert_error(set(f->backend, f->file, sd), 0);
	assert_sd(f->backend, f->file, sd);
}

/* Never silently none, and never the caller's to open with defaults. */
static void test_corrupt(void **state)
{
	struct fake_fixture *f = *state;
	struct security_descriptor *sd = sd_make(f, 3);
	struct security_descriptor *got = NULL;
	struct fake_xattr good;
	size_t i;

	assert_error(set(f->backend, f->file, sd), 0);
	good = *fake_xattr_find(f->file, NTVFS_XATTR_NTACL);

	/* every truncation; the empty one too */
	for (i = 0; i < good.length; i++) {
		fake_xattr_put(f->file, NTVFS_XATTR_NTACL, good.value, i);
		assert_error(get(f->backend, f->file, f, &got), EINVAL);
		assert_null(got);
	}
	/* once for each file */
	assert_int_equal(fake_complaints, 1);
	/* remembered as that, not as none */
	fake_calls_reset();
	assert_error(get(f->backend, f->file, f, &got), EINVAL);
	assert_int_equal(fake_gate.calls, 0);

	/* every byte: another descriptor or none of sense, but no crash */
	for (i = 0; i < good.length; i++) {
		struct fake_xattr bad = good;
		int error;

		bad.value[i] ^= 0xff;
		fake_xattr_put(f->file,
			       NTVFS_XATTR_NTACL,
			       bad.value,
			       bad.length);
		error = get(f->backend, f->file, f, &got);
		if (error != 0) {
			assert_error(error, EINVAL);
			assert_null(got);
		}
		TALLOC_FREE(got);
	}
	/* it can be replaced */
	assert_error(set(f->backend, f->file, sd), 0);
	assert_sd(f->backend, f->file, sd);
}

static void test_does_not_fit(void **state)
{
	struct fake_fixture *f = *state;
	struct security_descriptor *small = sd_make(f, 2);
	struct security_descriptor *large = sd_make(f, 200);
	struct security_descriptor *huge = sd_make(f, 2500);

	assert_error(set(f->backend, f->file, small), 0);
	f->file->capacity = 4096;
	assert_error(set(f->backend, f->file, large), EFBIG);
	assert_sd(f->backend, f->file, small);
	f->file->capacity = 0;
	assert_error(set(f->backend, f->file, huge), EFBIG);
	assert_sd(f->backend, f->file, small);
	/* a small one that does not fit: into the object, or on the disk */
	f->file->capacity = 100;
	assert_error(set(f->backend, f->file, sd_make(f, 3)), EFBIG);
	f->file->disk_is_full = true;
	assert_error(set(f->backend, f->file, sd_make(f, 3)), ENOSPC);
	assert_error(set(f->backend, f->file, large), ENOSPC);
	assert_sd(f->backend, f->file, small);
}

static void test_each_call_fails(void **state)
{
	struct fake_fixture *f = *state;
	struct security_descriptor *old = sd_make(f, 30);
	struct security_descriptor *new = sd_make(f, 40);
	size_t e;

	for (e = 0; e < sizeof(plausible) / sizeof(plausible[0]); e++) {
		unsigned n;
		bool failed;

		for (n = 1;; n++) {
			struct ntvfs_backend *backend = NULL;
			struct security_descriptor *sd = NULL;
			int error;

			fake_calls_reset();
			backend = fake_backend_create(f, f->folder, 4000);
			assert_error(set(backend, f->file, old), 0);

			fake_calls_reset();
			fake_gate.fail_at = n;
			fake_gate.fail_errno = plausible[e];
			error = get(backend, f->file, f, &sd);
			failed = fake_gate.failed;
			if (error == 0) {
				assert_true(security_descriptor_equal(sd,
								      old));
			} else {
				/* these two say what is stored */
				assert_int_not_equal(error, ENODATA);
				assert_int_not_equal(error, EINVAL);
				assert_null(sd);
			}
			TALLOC_FREE(sd);
			fake_calls_reset();
			assert_sd(backend, f->file, old);

			fake_calls_reset();
			fake_gate.fail_at = n;
			fake_gate.fail_errno = plausible[e];
			error = set(backend, f->file, new);
			failed = failed || fake_gate.failed;
			fake_calls_reset();
			assert_sd(backend, f->file, error == 0 ? new : old);
			TALLOC_FREE(backend);
			if (!failed) {
				break;
			}
		}
		assert_in_range(n, 2, 5);
	}
	assert_int_equal(fake_complaints, 0);
}

int main(void)
{
#define SECURITY_TEST(name)                                                   \
	cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)
	const struct CMUnitTest tests[] = {
		SECURITY_TEST(test_round_trip),
		SECURITY_TEST(test_corrupt),
		SECURITY_TEST(test_does_not_fit),
		SECURITY_TEST(test_each_call_fails),
	};

	return cmocka_run_group_tests_name("security",
					   tests,
					   NULL,
					   test_group_teardown);
}
