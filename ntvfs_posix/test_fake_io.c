/*
 * A table of the posix backend's calls for tests.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <sys/mman.h>
#include <xxhash.h>
#include "ntvfs_posix/test_fake_io.h"
#include "lib/util/charset/charset.h"

#define FAKE_VOLUME 0x77

struct fake_gate fake_gate;
unsigned fake_complaints;

static size_t blocks_before;

bool fake_gate_pass(void)
{
	fake_gate.calls++;
	if (fake_gate.calls == fake_gate.kill_at) {
		kill(getpid(), SIGKILL);
	}
	if (fake_gate.calls == fake_gate.fail_at) {
		fake_gate.failed = true;
		errno = fake_gate.fail_errno;
		return false;
	}
	return true;
}

void fake_calls_reset(void)
{
	assert_int_equal(fake_gate.root_depth, 0);
	fake_gate = (struct fake_gate){.calls = 0};
}

struct fake_object *fake_object_create(uint64_t file_id)
{
	struct fake_object *object = NULL;

	/* shared, so that it is there after a child was killed */
	object = mmap(NULL,
		      sizeof(*object),
		      PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS,
		      -1,
		      0);
	assert_ptr_not_equal(object, MAP_FAILED);
	object->file_id = file_id;
	object->birth = file_id * 1000;
	object->stamp = (struct timespec){.tv_sec = 1000000000};
	object->write_stamp = (struct timespec){.tv_sec = 900000000,
						.tv_nsec = 123456700};
	return object;
}

void fake_object_destroy(struct fake_object *object)
{
	munmap(object, sizeof(*object));
}

static void stamp_move(struct fake_object *object)
{
	object->stamp.tv_nsec++;
}

void fake_object_empty(struct fake_object *object)
{
	size_t i;

	for (i = 0; i < FAKE_XATTRS; i++) {
		object->xattrs[i].name[0] = '\0';
	}
	object->capacity = 0;
	object->disk_is_full = false;
	object->forbids_user = false;
	stamp_move(object);
}

void fake_object_copy(const struct fake_object *from, struct fake_object *to)
{
	memcpy(to->xattrs, from->xattrs, sizeof(to->xattrs));
	stamp_move(to);
}

struct ntvfs_object fake_object_now(struct fake_object *object)
{
	return (struct ntvfs_object){
		.volume = FAKE_VOLUME,
		.file_id = object->file_id,
		.change_stamp = object->stamp,
		.write_stamp = object->write_stamp,
		.is_directory = object->is_directory,
		.handle = object,
	};
}

static struct fake_xattr *xattr_place(struct fake_object *object,
				      const char *name)
{
	size_t i;

	for (i = 0; i < FAKE_XATTRS; i++) {
		if (strcmp(object->xattrs[i].name, name) == 0) {
			return &object->xattrs[i];
		}
	}
	return NULL;
}

const struct fake_xattr *fake_xattr_find(const struct fake_object *object,
					 const char *name)
{
	size_t i;

	for (i = 0; i < FAKE_XATTRS; i++) {
		if (strcmp(object->xattrs[i].name, name) == 0) {
			return &object->xattrs[i];
		}
	}
	return NULL;
}

void fake_xattr_put(struct fake_object *object,
		    const char *name,
		    const void *value,
		    size_t length)
{
	struct fake_xattr *place = xattr_place(object, name);

	if (place == NULL) {
		place = xattr_place(object, "");
	}
	assert_non_null(place);
	assert_true(length <= FAKE_VALUE_MAX);
	if (length > 0) {
		memcpy(place->value, value, length);
	}
	place->length = length;
	/* the name makes it count: a kill before leaves the old state */
	strcpy(place->name, name);
	stamp_move(object);
}

void fake_xattr_drop(struct fake_object *object, const char *name)
{
	struct fake_xattr *place = xattr_place(object, name);

	assert_non_null(place);
	place->name[0] = '\0';
	stamp_move(object);
}

uint64_t fake_object_sum(const struct fake_object *object)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < FAKE_XATTRS; i++) {
		const struct fake_xattr *x = &object->xattrs[i];
		uint64_t part;

		if (x->name[0] == '\0') {
			continue;
		}
		part = XXH64(x->name, strlen(x->name), x->length);
		sum += XXH64(x->value, x->length, part);
	}
	return sum;
}

static bool user_may(const struct fake_object *object)
{
	if (object->forbids_user && fake_gate.root_depth == 0) {
		errno = EACCES;
		return false;
	}
	return true;
}

static ssize_t fake_fgetxattr(void *context, void *handle, const char *name,
			      void *value, size_t size)
{
	struct fake_object *object = handle;
	const struct fake_xattr *x = NULL;

	if (!fake_gate_pass()) {
		return -1;
	}
	if (strncmp(name, "user.", 5) == 0 && !user_may(object)) {
		return -1;
	}
	x = strlen(name) > 255 ? NULL : fake_xattr_find(object, name);
	if (x == NULL) {
		errno = ENODATA;
		return -1;
	}
	if (size == 0) {
		return (ssize_t)x->length;
	}
	if (size < x->length) {
		errno = ERANGE;
		return -1;
	}
	memcpy(value, x->value, x->length);
	return (ssize_t)x->length;
}

static size_t bytes_used(const struct fake_object *object, const char *except)
{
	size_t bytes = 0;
	size_t i;

	for (i = 0; i < FAKE_XATTRS; i++) {
		const struct fake_xattr *x = &object->xattrs[i];

		if (x->name[0] != '\0' && strcmp(x->name, except) != 0) {
			bytes += strlen(x->name) + x->length;
		}
	}
	return bytes;
}

static int fake_fsetxattr(void *context, void *handle, const char *name,
			  const void *value, size_t size, int flags)
{
	struct fake_object *object = handle;

	if (!fake_gate_pass()) {
		return -1;
	}
	if (strncmp(name, "user.", 5) != 0 && fake_gate.root_depth == 0) {
		errno = EPERM;
		return -1;
	}
	if (!user_may(object)) {
		return -1;
	}
	if (strlen(name) > 255) {
		errno = ERANGE;
		return -1;
	}
	if (size > FAKE_VALUE_MAX) {
		errno = E2BIG;
		return -1;
	}
	if (object->capacity != 0 &&
	    bytes_used(object, name) + strlen(name) + size > object->capacity)
	{
		errno = ENOSPC;
		return -1;
	}
	fake_xattr_put(object, name, value, size);
	return 0;
}

static int fake_fremovexattr(void *context, void *handle, const char *name)
{
	struct fake_object *object = handle;

	if (!fake_gate_pass() || !user_may(object)) {
		return -1;
	}
	if (strlen(name) > 255 || fake_xattr_find(object, name) == NULL) {
		errno = ENODATA;
		return -1;
	}
	fake_xattr_drop(object, name);
	return 0;
}

static ssize_t fake_flistxattr(void *context, void *handle, char *list,
			       size_t size)
{
	struct fake_object *object = handle;
	size_t length = 0;
	size_t i;

	if (!fake_gate_pass()) {
		return -1;
	}
	for (i = 0; i < FAKE_XATTRS; i++) {
		size_t bytes = strlen(object->xattrs[i].name) + 1;

		if (bytes == 1) {
			continue;
		}
		if (size != 0 && length + bytes > size) {
			errno = ERANGE;
			return -1;
		}
		if (size != 0) {
			memcpy(list + length, object->xattrs[i].name, bytes);
		}
		length += bytes;
	}
	return (ssize_t)length;
}

static int fake_get_owner(void *context, void *handle, uid_t *uid, gid_t *gid)
{
	if (!fake_gate_pass()) {
		return -1;
	}
	*uid = geteuid();
	*gid = getegid();
	return 0;
}

static uint64_t fake_get_birth(void *context, void *handle)
{
	struct fake_object *object = handle;

	return object->birth;
}

static uint64_t fake_get_volume_id(void *context, void *handle)
{
	return 1;
}

static bool fake_has_free_space(void *context, void *handle)
{
	struct fake_object *object = handle;

	return !object->disk_is_full;
}

static void fake_become_root(void *context)
{
	/* smbd's own does nest, but there is no need to */
	assert_int_equal(fake_gate.root_depth, 0);
	fake_gate.root_depth++;
}

static void fake_unbecome_root(void *context)
{
	assert_int_equal(fake_gate.root_depth, 1);
	fake_gate.root_depth--;
	/* as setting ids may do */
	errno = EDOM;
}

const struct ntvfs_posix_io fake_io = {
	.fgetxattr = fake_fgetxattr,
	.fsetxattr = fake_fsetxattr,
	.fremovexattr = fake_fremovexattr,
	.flistxattr = fake_flistxattr,
	.get_owner = fake_get_owner,
	.get_birth = fake_get_birth,
	.has_free_space = fake_has_free_space,
	.get_volume_id = fake_get_volume_id,
	.become_root = fake_become_root,
	.unbecome_root = fake_unbecome_root,
};

void fake_complain(const struct ntvfs_complaint *complaint, void *private_data)
{
	assert_non_null(complaint->reason);
	assert_non_null(complaint->xattr_name);
	fake_complaints++;
}

struct ntvfs_backend *fake_backend_create(TALLOC_CTX *mem_ctx,
					  const char *folder,
					  size_t stream_max)
{
	struct ntvfs_backend *backend = NULL;
	char *lock_path = talloc_asprintf(mem_ctx, "%s/lock", folder);
	const struct ntvfs_posix_config config = {
		.path = folder,
		.volume = FAKE_VOLUME,
		.xattr_store = NTVFS_XATTR_STORE_FS,
		.lock_path = lock_path,
		.stream_xattr_max = stream_max,
		.exact_stamps = true,
		.kernel_files = true,
		.cached_objects = 64,
		.complain = fake_complain,
	};

	assert_error(ntvfs_posix_create(mem_ctx, &fake_io, &config, &backend),
		     0);
	TALLOC_FREE(lock_path);
	return backend;
}

int fake_setup(void **state)
{
	struct fake_fixture *f = NULL;
	void *text = NULL;
	size_t length = 0;

	talloc_enable_null_tracking();
	/* Samba's libraries keep what they made at the first use of it */
	convert_string_talloc(NULL, CH_UTF8, CH_UNIX, "x", 2, &text, &length);
	talloc_free(text);
	blocks_before = talloc_total_blocks(NULL);
	f = talloc_zero(NULL, struct fake_fixture);
	f->folder = test_folder_make(f);
	if (f->folder == NULL) {
		return -1;
	}
	f->file = fake_object_create(4711);
	f->other = fake_object_create(815);
	f->backend = fake_backend_create(f, f->folder, 4000);
	fake_calls_reset();
	fake_complaints = 0;
	*state = f;
	return 0;
}

int fake_teardown(void **state)
{
	struct fake_fixture *f = *state;

	fake_object_destroy(f->file);
	fake_object_destroy(f->other);
	test_folder_remove(f->folder);
	TALLOC_FREE(f);
	if (talloc_total_blocks(NULL) != blocks_before) {
		talloc_report_full(NULL, stderr);
		return -1;
	}
	return 0;
}
