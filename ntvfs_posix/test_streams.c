/*
 * Tests of the named streams of the posix backend: what they are, and what
 * they are after any call failed or was the process's last (invariants S1,
 * S2).
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "ntvfs_posix/test_stream_content.h"

static const int plausible[] = {EIO, ENOSPC, EDQUOT, EACCES, ENOMEM, EROFS};

static void test_small(void **state)
{
	struct fake_fixture *f = *state;
	struct ntvfs_stream_data data;
	struct ntvfs_object object;
	uint8_t bytes[8];
	size_t count = 0;

	assert_error(stream_open(f->backend, f->file, "s", 0, &data), ENOENT);
	assert_error(stream_open(f->backend,
				 f->file,
				 "s",
				 NTVFS_STREAM_TRUNCATE,
				 &data),
		     ENOENT);
	assert_error(stream_open(f->backend,
				 f->file,
				 "s",
				 NTVFS_STREAM_CREATE | NTVFS_STREAM_EXCLUSIVE,
				 &data),
		     0);
	assert_int_equal(data.fd, -1);
	assert_int_equal(data.size, 0);
	assert_error(stream_open(f->backend,
				 f->file,
				 "s",
				 NTVFS_STREAM_CREATE | NTVFS_STREAM_EXCLUSIVE,
				 &data),
		     EEXIST);

	assert_error(stream_write(f->backend, f->file, "s", bytes, 0, 100), 0);
	assert_stream(f->backend, f->file, "s", (struct content){'x', 0});
	assert_error(stream_write(f->backend,
				  f->file,
				  "s",
				  (const uint8_t *)"abc",
				  3,
				  2),
		     0);
	object = fake_object_now(f->file);
	assert_error(f->backend->ops->read_stream(f->backend,
						  &object,
						  "s",
						  bytes,
						  8,
						  0,
						  &count),
		     0);
	assert_int_equal(count, 5);
	assert_memory_equal(bytes, "\0\0abc", 5);
	assert_error(f->backend->ops->read_stream(f->backend,
						  &object,
						  "s",
						  bytes,
						  2,
						  3,
						  &count),
		     0);
	assert_int_equal(count, 2);
	assert_memory_equal(bytes, "bc", 2);
	assert_error(f->backend->ops->read_stream(f->backend,
						  &object,
						  "s",
						  bytes,
						  2,
						  UINT64_MAX,
						  &count),
		     0);
	assert_int_equal(count, 0);
	assert_error(stream_write(f->backend,
				  f->file,
				  "s",
				  bytes,
				  2,
				  UINT64_MAX),
		     EFBIG);
	/* as stock Samba has it: with a NUL behind */
	assert_int_equal(fake_xattr_find(f->file, "user.DosStream.s:$DATA")
				 ->length,
			 6);
	object = fake_object_now(f->file);
	assert_error(f->backend->ops->truncate_stream(f->backend,
						      &object,
						      "s",
						      7),
		     0);
	assert_error(stream_open(f->backend, f->file, "s", 0, &data), 0);
	assert_int_equal(data.size, 7);
	assert_int_equal(data.allocation_size, 512);
	assert_error(stream_open(f->backend,
				 f->file,
				 "s",
				 NTVFS_STREAM_TRUNCATE,
				 &data),
		     0);
	assert_int_equal(data.size, 0);
	assert_int_equal(count_files(f), 0);
	assert_error(stream_remove(f->backend, f->file, "s"), 0);
	assert_error(stream_remove(f->backend, f->file, "s"), ENOENT);
	assert_error(stream_rename(f->backend, f->file, "s", "t", true),
		     ENOENT);
}

static void test_threshold(void **state)
{
	struct fake_fixture *f = *state;
	const struct content at = {'a', SMALL_MAX};
	const struct content over = {'b', SMALL_MAX + 1};
	struct ntvfs_stream_data data;
	struct ntvfs_object object;
	struct stat st;

	stream_put(f->backend, f->file, "at", at);
	assert_int_equal(count_files(f), 0);
	stream_put(f->backend, f->file, "over", over);
	assert_int_equal(count_files(f), 1);
	assert_null(fake_xattr_find(f->file, "user.DosStream.over:$DATA"));
	assert_stream(f->backend, f->file, "at", at);
	assert_stream(f->backend, f->file, "over", over);

	/* what does not fit into the object goes to a file before that */
	f->file->capacity = SMALL_MAX + 500;
	stream_put(f->backend, f->file, "full", (struct content){'c', 2000});
	assert_stream(f->backend,
		      f->file,
		      "full",
		      (struct content){'c', 2000});
	assert_int_equal(count_files(f), 2);

	/* truncating a large one leaves it a file */
	object = fake_object_now(f->file);
	assert_error(f->backend->ops->truncate_stream(f->backend,
						      &object,
						      "over",
						      3),
		     ESTALE);
	assert_error(stream_open(f->backend,
				 f->file,
				 "over",
				 NTVFS_STREAM_TRUNCATE | NTVFS_STREAM_CREATE,
				 &data),
		     0);
	assert_int_equal(data.size, 0);
	assert_int_equal(fstat(data.fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	close(data.fd);
	f->file->capacity = 0;
	assert_error(f->backend->ops->truncate_stream(f->backend,
						      &object,
						      "at",
						      1ULL << 40),
		     ESTALE);
	assert_stream(f->backend, f->file, "at", at);
	assert_int_equal(count_files(f), 3);
	assert_error(stream_remove(f->backend, f->file, "at"), 0);
	assert_error(stream_remove(f->backend, f->file, "over"), 0);
	assert_error(stream_remove(f->backend, f->file, "full"), 0);
	assert_int_equal(count_files(f), 0);

	/* not even the pointer fits: it is elsewhere, and nothing is lost */
	stream_put(f->backend, f->file, "s", (struct content){'d', 3000});
	f->file->capacity = 3025;
	assert_error(stream_write(f->backend,
				  f->file,
				  "s",
				  (const uint8_t *)"12345",
				  5,
				  5998),
		     0);
	assert_error(stream_open(f->backend, f->file, "s", 0, &data), 0);
	assert_int_equal(data.size, 6003);
	close(data.fd);
	assert_int_equal(count_files(f), 1);

	/* the disk is full: said so, and nothing is changed */
	stream_put(f->backend, f->file, "t", (struct content){'e', 1000});
	f->file->capacity = 1100;
	f->file->disk_is_full = true;
	assert_error(stream_write(f->backend,
				  f->file,
				  "t",
				  content_bytes(f, (struct content){'x', 2500}),
				  2500,
				  0),
		     ENOSPC);
	assert_stream(f->backend, f->file, "t", (struct content){'e', 1000});
}

/* The longest that clients can give: 255 units of three bytes each. */
static void test_long_names(void **state)
{
	struct fake_fixture *f = *state;
	struct ntvfs_stream_data data;
	char name[1025];

	memset(name, 'n', sizeof(name));
	name[234] = '\0';
	stream_put(f->backend, f->file, name, (struct content){'a', LARGE});
	assert_int_equal(count_pointers(f, f->file), 1);
	name[234] = 'n';
	name[765] = '\0';
	stream_put(f->backend, f->file, "s", (struct content){'b', 10});
	stream_put(f->backend, f->file, name, (struct content){'c', 20});
	assert_stream(f->backend, f->file, name, (struct content){'c', 20});
	assert_error(stream_rename(f->backend, f->file, name, "t", true), 0);
	assert_stream(f->backend, f->file, "t", (struct content){'c', 20});
	assert_error(stream_rename(f->backend, f->file, "s", name, true), 0);
	assert_stream(f->backend, f->file, name, (struct content){'b', 10});
	assert_stream(f->backend, f->file, "s", absent);
	assert_error(stream_remove(f->backend, f->file, name), 0);
	assert_stream(f->backend, f->file, name, absent);
	assert_int_equal(count_files(f), 2);

	/* longer than any client's */
	name[765] = 'n';
	name[1024] = '\0';
	assert_error(stream_open(f->backend,
				 f->file,
				 name,
				 NTVFS_STREAM_CREATE,
				 &data),
		     ENAMETOOLONG);
	assert_error(stream_open(f->backend, f->file, name, 0, &data), ENOENT);
	assert_error(stream_rename(f->backend, f->file, "t", name, true),
		     ENAMETOOLONG);
	assert_stream(f->backend, f->file, "t", (struct content){'c', 20});
	assert_int_equal(count_files(f), 2);
}

static void test_list(void **state)
{
	struct fake_fixture *f = *state;
	struct ntvfs_stream_entry *streams = NULL;
	struct ntvfs_object object;
	size_t count = 7;
	size_t i;
	unsigned seen = 0;

	object = fake_object_now(f->file);
	assert_error(f->backend->ops->list_streams(f->backend,
						   &object,
						   f,
						   &streams,
						   &count),
		     0);
	assert_int_equal(count, 0);
	assert_null(streams);

	stream_put(f->backend, f->file, "small", (struct content){'a', 600});
	stream_put(f->backend, f->file, "large", (struct content){'b', LARGE});
	fake_xattr_put(f->file, "user.DOSATTRIB", "0x20", 4);
	fake_xattr_put(f->file, "user.an ea", "v", 1);
	/* S2: the small form that was left does not count */
	fake_xattr_put(f->file, "user.DosStream.large:$DATA", "old", 4);
	/* B22: no stream's name is special */
	stream_put(f->backend, f->file, "DOSATTRIB", (struct content){'c', 1});
	/* a pointer that leads nowhere is shown, not hidden */
	fake_xattr_put(f->file, "user.ntvfs.str.lost:$DATA", "?", 1);
	object = fake_object_now(f->file);
	assert_error(f->backend->ops->list_streams(f->backend,
						   &object,
						   f,
						   &streams,
						   &count),
		     0);
	assert_int_equal(count, 4);
	for (i = 0; i < count; i++) {
		const struct ntvfs_stream_entry *s = &streams[i];

		if (strcmp(s->name, "small") == 0) {
			assert_int_equal(s->size, 600);
			assert_int_equal(s->allocation_size, 1024);
			seen |= 1;
		} else if (strcmp(s->name, "large") == 0) {
			assert_int_equal(s->size, LARGE);
			assert_true(s->allocation_size >= LARGE);
			seen |= 2;
		} else if (strcmp(s->name, "DOSATTRIB") == 0) {
			assert_int_equal(s->size, 1);
			seen |= 4;
		} else if (strcmp(s->name, "lost") == 0) {
			assert_int_equal(s->size, 0);
			seen |= 8;
		}
	}
	assert_int_equal(seen, 15);
	assert_int_equal(fake_complaints, 1);
	TALLOC_FREE(streams);
	assert_error(stream_remove(f->backend, f->file, "lost"), 0);
}

/* S1: a copy made with cp -a gets a file of its own. */
static void test_s1_copied_object(void **state)
{
	struct fake_fixture *f = *state;
	const struct content a = {'a', LARGE};
	const struct content b = {'b', 5000};
	struct ntvfs_stream_data data;

	stream_put(f->backend, f->file, "s", a);
	fake_object_copy(f->file, f->other);
	assert_int_equal(count_files(f), 1);
	/* who may but read it may do so */
	f->other->forbids_user = true;
	assert_stream(f->backend, f->other, "s", a);
	f->other->forbids_user = false;
	assert_int_equal(count_files(f), 2);

	assert_error(stream_open(f->backend,
				 f->other,
				 "s",
				 NTVFS_STREAM_TRUNCATE,
				 &data),
		     0);
	close(data.fd);
	stream_put(f->backend, f->other, "s", b);
	assert_stream(f->backend, f->other, "s", b);
	assert_stream(f->backend, f->file, "s", a);

	/* a copy that was never opened takes nothing with it */
	fake_object_empty(f->other);
	fake_object_copy(f->file, f->other);
	assert_error(stream_remove(f->backend, f->other, "s"), 0);
	assert_stream(f->backend, f->file, "s", a);
	/* nor does one whose stream is renamed first */
	fake_object_copy(f->file, f->other);
	assert_error(stream_rename(f->backend, f->other, "s", "t", true), 0);
	assert_stream(f->backend, f->other, "t", a);
	assert_stream(f->backend, f->other, "s", absent);
	assert_error(stream_remove(f->backend, f->other, "t"), 0);
	assert_stream(f->backend, f->file, "s", a);
}

/* S1: two streams of one object whose rename was cut short. */
static void test_s1_two_pointers(void **state)
{
	struct fake_fixture *f = *state;
	const struct content a = {'a', LARGE};
	const struct fake_xattr *x = NULL;

	stream_put(f->backend, f->file, "s", a);
	x = fake_xattr_find(f->file, "user.ntvfs.str.s:$DATA");
	fake_xattr_put(f->file,
		       "user.ntvfs.str.t:$DATA",
		       x->value,
		       x->length);
	/* whichever goes, the other one stays */
	assert_error(stream_remove(f->backend, f->file, "t"), 0);
	assert_stream(f->backend, f->file, "s", a);
	fake_xattr_put(f->file,
		       "user.ntvfs.str.t:$DATA",
		       x->value,
		       x->length);
	assert_stream(f->backend, f->file, "t", a);
	assert_error(stream_remove(f->backend, f->file, "s"), 0);
	assert_stream(f->backend, f->file, "t", a);
	assert_int_equal(count_files(f), 1);
}

static void test_pointer_is_nonsense(void **state)
{
	struct fake_fixture *f = *state;
	struct ntvfs_stream_data data;
	struct fake_xattr good;
	size_t i;

	stream_put(f->backend, f->file, "s", (struct content){'a', LARGE});
	good = *fake_xattr_find(f->file, "user.ntvfs.str.s:$DATA");
	assert_int_equal(good.length, 24);
	for (i = 0; i < 24; i++) {
		struct fake_xattr bad = good;

		bad.value[i] ^= 0x20;
		fake_xattr_put(f->file, good.name, bad.value, bad.length);
		assert_error(stream_open(f->backend, f->file, "s", 0, &data),
			     EIO);
		fake_xattr_put(f->file, good.name, good.value, i);
		assert_error(stream_open(f->backend, f->file, "s", 0, &data),
			     EIO);
	}
	assert_int_equal(fake_complaints, 1);
	fake_xattr_put(f->file, good.name, good.value, good.length);
	assert_stream(f->backend,
		      f->file,
		      "s",
		      (struct content){'a', LARGE});
}

/* P1: root does not go where anybody else may lead it. */
static void test_p1_private_folder(void **state)
{
	struct fake_fixture *f = *state;
	char *path = talloc_asprintf(f, "%s/.ntvfs", f->folder);
	struct ntvfs_stream_data data;
	struct ntvfs_object object;
	uint8_t byte = 1;

	if (geteuid() != 0) {
		skip();
	}
	assert_error(stream_open(f->backend,
				 f->file,
				 "s",
				 NTVFS_STREAM_CREATE,
				 &data),
		     0);
	assert_int_equal(symlink("/tmp", path), 0);
	object = fake_object_now(f->file);
	assert_int_not_equal(f->backend->ops->write_stream(f->backend,
							   &object,
							   "s",
							   &byte,
							   1,
							   LARGE),
			     ESTALE);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chown(path, 12345, 12345), 0);
	assert_error(f->backend->ops->write_stream(f->backend,
						   &object,
						   "s",
						   &byte,
						   1,
						   LARGE),
		     EPERM);
	assert_int_equal(chown(path, 0, 0), 0);
	assert_int_equal(chmod(path, 0770), 0);
	assert_error(f->backend->ops->write_stream(f->backend,
						   &object,
						   "s",
						   &byte,
						   1,
						   LARGE),
		     EPERM);
	assert_int_equal(chmod(path, 0700), 0);
	assert_error(f->backend->ops->write_stream(f->backend,
						   &object,
						   "s",
						   &byte,
						   1,
						   LARGE),
		     ESTALE);
	TALLOC_FREE(path);
}

/* user.DosStreams: one entry for each; see ntvfs_xattr.idl. */
static void old_list_put(struct fake_object *file,
			 const char *const *names,
			 const uint32_t *sizes,
			 uint32_t count)
{
	uint8_t bytes[512] = {0};
	size_t at = 0;
	uint32_t i;

#define PUT(number)                                                           \
	do {                                                                  \
		uint32_t value_ = (number);                                   \
		memcpy(bytes + at, &value_, 4);                               \
		at += 4;                                                      \
	} while (0)
	PUT(count);
	PUT(0x00020000);
	PUT(count);
	for (i = 0; i < count; i++) {
		at = (at + 3) / 4 * 4;
		PUT(1);
		PUT(sizes[i]);
		PUT(0);
		PUT(sizes[i]);
		PUT(0);
		strcpy((char *)bytes + at, names[i]);
		at += strlen(names[i]) + 1;
	}
#undef PUT
	fake_xattr_put(file, NTVFS_XATTR_DOSSTREAMS, bytes, at);
}

/* Values without NUL, as Samba 4's own file server left them. */
static void test_samba4(void **state)
{
	struct fake_fixture *f = *state;
	const char *const names[] = {"a:$DATA", "b:$DATA", "gone:$DATA"};
	const uint32_t sizes[] = {5, 0, 1};
	struct ntvfs_stream_data data;

	old_list_put(f->file, names, sizes, 3);
	fake_xattr_put(f->file, "user.DosStream.a:$DATA", "ahov}", 5);
	fake_xattr_put(f->file, "user.DosStream.b:$DATA", "", 0);
	assert_stream(f->backend, f->file, "a", (struct content){'a', 5});
	assert_stream(f->backend, f->file, "b", (struct content){'b', 0});
	assert_stream(f->backend, f->file, "gone", absent);
	assert_int_equal(fake_complaints, 0);

	/* a new stream is not as long as the list says of an older one */
	assert_error(stream_open(f->backend,
				 f->file,
				 "gone",
				 NTVFS_STREAM_CREATE,
				 &data),
		     0);
	assert_stream(f->backend, f->file, "gone", (struct content){'x', 0});
	assert_stream(f->backend, f->file, "a", (struct content){'a', 5});
	assert_stream(f->backend, f->file, "b", (struct content){'b', 0});
	assert_null(fake_xattr_find(f->file, NTVFS_XATTR_DOSSTREAMS));
	assert_int_equal(fake_xattr_find(f->file, "user.DosStream.a:$DATA")
				 ->length,
			 6);
}

/* Its names of xattrs had no type; nor have stock's, if it is told so. */
static void test_names_without_type(void **state)
{
	struct fake_fixture *f = *state;
	const char *const names[] = {"a"};
	const uint32_t sizes[] = {5};
	struct ntvfs_stream_entry *streams = NULL;
	struct ntvfs_object object;
	size_t count = 0;

	old_list_put(f->file, names, sizes, 1);
	fake_xattr_put(f->file, "user.DosStream.a", "ahov}", 5);
	fake_xattr_put(f->file, "user.DosStream.b", "bipw", 5);
	assert_stream(f->backend, f->file, "a", (struct content){'a', 5});
	assert_stream(f->backend, f->file, "b", (struct content){'b', 4});
	stream_put(f->backend, f->file, "a", (struct content){'c', 3000});
	assert_null(fake_xattr_find(f->file, "user.DosStream.a"));
	/* renamed there: its list has another name for it */
	fake_xattr_put(f->file, "user.DosStream.e", "elsz\x81", 5);
	assert_stream(f->backend, f->file, "e", (struct content){'e', 5});
	assert_error(stream_remove(f->backend, f->file, "e"), 0);
	stream_put(f->backend, f->file, "b", (struct content){'d', LARGE});

	/* where a server made one with a type beside it, that one counts */
	fake_xattr_put(f->file, "user.DosStream.a:$DATA", "ahov}", 6);
	assert_stream(f->backend, f->file, "a", (struct content){'a', 5});
	object = fake_object_now(f->file);
	assert_error(f->backend->ops->list_streams(f->backend,
						   &object,
						   f,
						   &streams,
						   &count),
		     0);
	assert_int_equal(count, 2);
	TALLOC_FREE(streams);
	assert_error(stream_rename(f->backend, f->file, "a", "c", true), 0);
	assert_stream(f->backend, f->file, "a", absent);
	fake_xattr_put(f->file, "user.DosStream.c", "old", 4);
	assert_error(stream_remove(f->backend, f->file, "c"), 0);
	assert_stream(f->backend, f->file, "c", absent);
	assert_stream(f->backend, f->file, "b", (struct content){'d', LARGE});
}

/* There may be no room for the NUL. */
static void test_samba4_full(void **state)
{
	struct fake_fixture *f = *state;
	const char *const names[] = {"a:$DATA", "max:$DATA"};
	const uint32_t sizes[] = {5, 65536};
	uint8_t *max = content_bytes(f, (struct content){'m', 65536});

	old_list_put(f->file, names, sizes, 2);
	fake_xattr_put(f->file, "user.DosStream.a:$DATA", "ahov}", 5);
	fake_xattr_put(f->file, "user.DosStream.max:$DATA", max, 65536);
	assert_stream(f->backend, f->file, "max", (struct content){'m', 65536});
	assert_error(stream_write(f->backend,
				  f->file,
				  "a",
				  (const uint8_t *)"a",
				  1,
				  0),
		     0);
	assert_stream(f->backend, f->file, "a", (struct content){'a', 5});
	assert_stream(f->backend, f->file, "max", (struct content){'m', 65536});
	assert_int_equal(count_files(f), 1);

	/* a stream goes even if nothing fits any more */
	fake_object_empty(f->file);
	old_list_put(f->file, names, sizes, 1);
	fake_xattr_put(f->file, "user.DosStream.a:$DATA", "ahov}", 5);
	f->file->capacity = 1;
	assert_error(stream_remove(f->backend, f->file, "a"), 0);
	assert_stream(f->backend, f->file, "a", absent);
	TALLOC_FREE(max);
}

/* The last name is gone: its files go, those of a copy do not. */
static void test_forget_object(void **state)
{
	struct fake_fixture *f = *state;
	const struct content a = {'a', LARGE};
	struct ntvfs_object object;

	stream_put(f->backend, f->file, "a", a);
	stream_put(f->backend, f->file, "b", (struct content){'b', 10});
	stream_put(f->backend, f->file, "c", (struct content){'c', 5000});
	fake_object_copy(f->file, f->other);
	assert_stream(f->backend, f->other, "a", a);
	assert_int_equal(count_files(f), 3);
	object = fake_object_now(f->file);
	f->backend->ops->forget_object(f->backend, &object);
	assert_int_equal(count_files(f), 1);
	assert_stream(f->backend, f->other, "a", a);
	object = fake_object_now(f->other);
	f->backend->ops->forget_object(f->backend, &object);
	assert_int_equal(count_files(f), 0);
}

static void test_rename_to_itself(void **state)
{
	struct fake_fixture *f = *state;
	const struct content a = {'a', LARGE};
	const struct content b = {'b', 10};

	stream_put(f->backend, f->file, "a", a);
	stream_put(f->backend, f->file, "b", b);
	assert_error(stream_rename(f->backend, f->file, "a", "a", true), 0);
	assert_error(stream_rename(f->backend, f->file, "a", "a", false), 0);
	assert_error(stream_rename(f->backend, f->file, "b", "b", true), 0);
	assert_stream(f->backend, f->file, "a", a);
	assert_stream(f->backend, f->file, "b", b);
	assert_error(stream_rename(f->backend, f->file, "a", "b", false),
		     EEXIST);
	/* only the case */
	assert_error(stream_rename(f->backend, f->file, "a", "A", false), 0);
	assert_stream(f->backend, f->file, "A", a);
	assert_stream(f->backend, f->file, "a", absent);
}

/* What is cached costs nothing to list again, but the sizes. */
static void test_calls(void **state)
{
	struct fake_fixture *f = *state;
	struct ntvfs_stream_entry *streams = NULL;
	struct ntvfs_object object;
	struct ntvfs_stream_data data;
	size_t count = 0;

	object = fake_object_now(f->file);
	assert_error(f->backend->ops->list_streams(f->backend,
						   &object,
						   f,
						   &streams,
						   &count),
		     0);
	fake_calls_reset();
	assert_error(f->backend->ops->list_streams(f->backend,
						   &object,
						   f,
						   &streams,
						   &count),
		     0);
	assert_error(stream_open(f->backend, f->file, "s", 0, &data), ENOENT);
	assert_int_equal(fake_gate.calls, 0);
}

/*
 * Operations, each of whose calls is made to fail, and to be the last. What
 * the streams called a and b are before and after; full: how many bytes are
 * left in the object.
 */
struct scenario {
	const char *name;
	struct content a;
	struct content b;
	int (*operation)(struct ntvfs_backend *backend,
			 struct fake_object *file);
	struct content a_after;
	struct content b_after;
	bool a_has_both_forms;
	bool b_has_both_forms;
	size_t room;
	bool on_copy;
	bool old_list;
	bool overflows;		/* no pointer is in the object */
};

static int do_create(struct ntvfs_backend *backend, struct fake_object *file)
{
	struct ntvfs_stream_data data;
	int error;

	error = stream_open(backend, file, "a", NTVFS_STREAM_CREATE, &data);
	if (error == 0 && data.fd != -1) {
		close(data.fd);
	}
	return error;
}

static int do_truncate(struct ntvfs_backend *backend,
		       struct fake_object *file)
{
	struct ntvfs_stream_data data;
	int error;

	error = stream_open(backend, file, "a", NTVFS_STREAM_TRUNCATE, &data);
	if (error == 0 && data.fd != -1) {
		close(data.fd);
	}
	return error;
}

static int do_open(struct ntvfs_backend *backend, struct fake_object *file)
{
	struct ntvfs_stream_data data;
	int error;

	error = stream_open(backend, file, "a", 0, &data);
	if (error == 0 && data.fd != -1) {
		close(data.fd);
	}
	return error;
}

/* From "a of 10 bytes" to "a of 3000 bytes". */
static int do_write(struct ntvfs_backend *backend, struct fake_object *file)
{
	uint8_t *bytes = content_bytes(backend, (struct content){'a', 3000});
	struct ntvfs_object object = fake_object_now(file);
	int error;

	error = backend->ops->write_stream(backend,
					   &object,
					   "a",
					   bytes + 10,
					   2990,
					   10);
	TALLOC_FREE(bytes);
	return error;
}

/* The write that moves a stream does nothing else. */
static int do_move(struct ntvfs_backend *backend, struct fake_object *file)
{
	struct ntvfs_object object = fake_object_now(file);
	int error;

	error = backend->ops->write_stream(backend,
					   &object,
					   "a",
					   "x",
					   1,
					   SMALL_MAX);
	return error == ESTALE ? 0 : error;
}

static int do_remove(struct ntvfs_backend *backend, struct fake_object *file)
{
	return stream_remove(backend, file, "a");
}

static int do_rename(struct ntvfs_backend *backend, struct fake_object *file)
{
	return stream_rename(backend, file, "a", "b", true);
}

#define NONE {'-', -1}
#define SMALL_A {'a', 1500}
#define SMALL_B {'b', 1600}
#define LARGE_A {'a', LARGE}
#define LARGE_B {'b', 9000}

static const struct scenario scenarios[] = {
	{"create", NONE, SMALL_B, do_create, {'a', 0}, SMALL_B},
	{"truncate small", SMALL_A, LARGE_B, do_truncate, {'a', 0}, LARGE_B},
	{"truncate large", LARGE_A, LARGE_B, do_truncate, {'a', 0}, LARGE_B},
	{"write", {'a', 10}, SMALL_B, do_write, {'a', 3000}, SMALL_B},
	{"move", SMALL_A, LARGE_B, do_move, SMALL_A, LARGE_B},
	{"move from a full object", SMALL_A, LARGE_B, do_move, SMALL_A,
	 LARGE_B, .room = 60},
	{"open large", LARGE_A, LARGE_B, do_open, LARGE_A, LARGE_B},
	{"open copied", LARGE_A, LARGE_B, do_open, LARGE_A, LARGE_B,
	 .on_copy = true},
	{"truncate copied", LARGE_A, LARGE_B, do_truncate, {'a', 0}, LARGE_B,
	 .on_copy = true},
	{"remove copied", LARGE_A, LARGE_B, do_remove, NONE, LARGE_B,
	 .on_copy = true},
	{"rename copied", LARGE_A, LARGE_B, do_rename, NONE, LARGE_A,
	 .on_copy = true},
	{"remove small", SMALL_A, SMALL_B, do_remove, NONE, SMALL_B},
	{"remove large", LARGE_A, SMALL_B, do_remove, NONE, SMALL_B},
	{"remove both forms", LARGE_A, NONE, do_remove, NONE, NONE,
	 .a_has_both_forms = true},
	{"rename small", SMALL_A, NONE, do_rename, NONE, SMALL_A},
	{"rename small to small", SMALL_A, SMALL_B, do_rename, NONE, SMALL_A},
	{"rename small to large", SMALL_A, LARGE_B, do_rename, NONE, SMALL_A},
	{"rename small to both forms", SMALL_A, LARGE_B, do_rename, NONE,
	 SMALL_A, .b_has_both_forms = true},
	{"rename small in a full object", SMALL_A, NONE, do_rename, NONE,
	 SMALL_A, .room = 60},
	{"rename small to small in a full object", SMALL_A, {'b', 100},
	 do_rename, NONE, SMALL_A, .room = 60},
	{"rename small to large in a full object", SMALL_A, LARGE_B,
	 do_rename, NONE, SMALL_A, .room = 60},
	{"rename large", LARGE_A, NONE, do_rename, NONE, LARGE_A},
	{"rename large to small", LARGE_A, SMALL_B, do_rename, NONE, LARGE_A},
	{"rename large to large", LARGE_A, LARGE_B, do_rename, NONE, LARGE_A},
	{"rename both forms", LARGE_A, NONE, do_rename, NONE, LARGE_A,
	 .a_has_both_forms = true},
	{"rename both forms to both forms", LARGE_A, LARGE_B, do_rename, NONE,
	 LARGE_A, .a_has_both_forms = true, .b_has_both_forms = true},
	{"create in an object without room", NONE, SMALL_B, do_create,
	 {'a', 0}, SMALL_B, .room = 1},
	{"move without room", SMALL_A, LARGE_B, do_move, SMALL_A, LARGE_B,
	 .room = 1},
	{"rename small without room", SMALL_A, NONE, do_rename, NONE, SMALL_A,
	 .room = 1},
	{"rename small to small without room", SMALL_A, {'b', 100},
	 do_rename, NONE, SMALL_A, .room = 1},
	{"rename large without room", LARGE_A, NONE, do_rename, NONE, LARGE_A,
	 .room = 1},
	{"rename large to small without room", LARGE_A, SMALL_B, do_rename,
	 NONE, LARGE_A, .room = 1},
	{"remove overflowing", LARGE_A, LARGE_B, do_remove, NONE, LARGE_B,
	 .overflows = true},
	{"rename overflowing", LARGE_A, LARGE_B, do_rename, NONE, LARGE_A,
	 .overflows = true},
	{"rename overflowing to none", LARGE_A, NONE, do_rename, NONE,
	 LARGE_A, .overflows = true},
	{"truncate overflowing", LARGE_A, LARGE_B, do_truncate, {'a', 0},
	 LARGE_B, .overflows = true},
	{"write with an old list", {'a', 10}, {'b', 20}, do_write,
	 {'a', 3000}, {'b', 20}, .old_list = true},
	{"move with an old list", {'a', 10}, {'b', 20}, do_move, {'a', 10},
	 {'b', 20}, .old_list = true},
	{"rename with an old list", {'a', 10}, {'b', 20}, do_rename, NONE,
	 {'a', 10}, .old_list = true},
};

#define SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

static size_t bytes_of(const struct fake_object *file)
{
	size_t bytes = 0;
	size_t i;

	for (i = 0; i < FAKE_XATTRS; i++) {
		if (file->xattrs[i].name[0] != '\0') {
			bytes += strlen(file->xattrs[i].name) +
				 file->xattrs[i].length;
		}
	}
	return bytes;
}

/* As Samba 4's own file server would have made it. */
static void make_old(struct fake_fixture *f, const struct scenario *s)
{
	const char *const names[] = {"a", "b"};
	const uint32_t sizes[] = {(uint32_t)s->a.size, (uint32_t)s->b.size};
	uint8_t *bytes = content_bytes(f, s->a);

	old_list_put(f->file, names, sizes, 2);
	fake_xattr_put(f->file, "user.DosStream.a", bytes, sizes[0]);
	TALLOC_FREE(bytes);
	bytes = content_bytes(f, s->b);
	fake_xattr_put(f->file, "user.DosStream.b", bytes, sizes[1]);
	TALLOC_FREE(bytes);
}

/* The object on which the operation is done. */
static struct fake_object *scenario_prepare(struct fake_fixture *f,
					    const struct scenario *s)
{
	struct ntvfs_backend *backend = NULL;
	char *streams = talloc_asprintf(f, "%s/.ntvfs", f->folder);

	fake_calls_reset();
	test_folder_remove(streams);
	TALLOC_FREE(streams);
	fake_object_empty(f->file);
	fake_object_empty(f->other);
	backend = fake_backend_create(f, f->folder, SMALL_MAX);
	if (s->overflows) {
		f->file->capacity = 30;
	}
	if (s->old_list) {
		make_old(f, s);
	} else {
		stream_put(backend, f->file, "a", s->a);
		stream_put(backend, f->file, "b", s->b);
	}
	if (s->a_has_both_forms) {
		fake_xattr_put(f->file, "user.DosStream.a:$DATA", "stale", 6);
	}
	if (s->b_has_both_forms) {
		fake_xattr_put(f->file, "user.DosStream.b:$DATA", "stale", 6);
	}
	TALLOC_FREE(backend);
	if (s->room != 0) {
		f->file->capacity = bytes_of(f->file) + s->room;
	}
	if (s->on_copy) {
		fake_object_copy(f->file, f->other);
		return f->other;
	}
	return f->file;
}

/* S1: no two streams in one file. */
static void assert_s1(struct ntvfs_backend *backend, struct fake_fixture *f)
{
	static const char *const names[] = {"a", "b"};
	struct fake_object *const files[] = {f->file, f->other};
	uint8_t *bytes = talloc_array(backend, uint8_t, LARGE + 1);
	ino_t inodes[4] = {0};
	size_t length = 0;
	size_t i;
	size_t j;

	for (i = 0; i < 4; i++) {
		stream_load(backend,
			    files[i / 2],
			    names[i % 2],
			    bytes,
			    &length,
			    &inodes[i]);
		for (j = 0; j < i; j++) {
			assert_true(inodes[i] == 0 || inodes[i] != inodes[j]);
		}
	}
	TALLOC_FREE(bytes);
}

/* What the operation was not done on is as it was. */
static void assert_bystander(struct ntvfs_backend *backend,
			     struct fake_fixture *f,
			     const struct scenario *s)
{
	if (s->on_copy) {
		assert_stream(backend, f->file, "a", s->a);
		assert_stream(backend, f->file, "b", s->b);
	}
}

static void assert_state(struct ntvfs_backend *backend,
			 struct fake_object *file,
			 const struct scenario *s,
			 bool after)
{
	assert_stream(backend, file, "a", after ? s->a_after : s->a);
	assert_stream(backend, file, "b", after ? s->b_after : s->b);
}

/* After one failed call all is as before, or the operation has succeeded. */
static void test_each_call_fails(void **state)
{
	struct fake_fixture *f = *state;
	size_t i;

	for (i = 0; i < SCENARIOS * sizeof(plausible) / sizeof(int); i++) {
		const struct scenario *s = &scenarios[i % SCENARIOS];
		unsigned n;
		bool failed = true;

		for (n = 1; failed; n++) {
			struct ntvfs_backend *backend = NULL;
			struct fake_object *file = NULL;
			unsigned open_before;
			int error;

			file = scenario_prepare(f, s);
			open_before = count_in("/proc/self/fd");
			backend = fake_backend_create(f, f->folder, SMALL_MAX);
			fake_calls_reset();
			fake_gate.fail_at = n;
			fake_gate.fail_errno = plausible[i / SCENARIOS];
			fprintf(stderr, "%s: call %u fails: %s\n", s->name, n,
				strerrorname_np(fake_gate.fail_errno));
			error = s->operation(backend, file);
			failed = fake_gate.failed;
			fake_calls_reset();
			if (!failed) {
				assert_error(error, 0);
			}
			/*
			 * No file is left over, unless its removal at the
			 * very end is what failed.
			 */
			if ((error != 0 || !failed) && !s->on_copy) {
				assert_int_equal(count_files(f),
						 count_pointers(f, file));
			}
			/* by the one whose cache went through it */
			file->capacity = 0;
			assert_state(backend, file, s, error == 0);
			assert_bystander(backend, f, s);
			assert_s1(backend, f);
			TALLOC_FREE(backend);
			assert_int_equal(count_in("/proc/self/fd"),
					 open_before);
			backend = fake_backend_create(f, f->folder, SMALL_MAX);
			assert_state(backend, file, s, error == 0);
			TALLOC_FREE(backend);
		}
	}
}

/* A process killed before any call leaves old or new data, or both. */
static void test_killed_at_each_call(void **state)
{
	struct fake_fixture *f = *state;
	size_t i;

	for (i = 0; i < SCENARIOS; i++) {
		const struct scenario *s = &scenarios[i];
		unsigned n;
		bool killed = true;

		for (n = 1; killed; n++) {
			struct ntvfs_backend *backend = NULL;
			struct fake_object *file = NULL;
			int status = 0;
			pid_t pid;

			file = scenario_prepare(f, s);
			fprintf(stderr, "%s: killed at call %u\n", s->name, n);
			pid = fork();
			assert_int_not_equal(pid, -1);
			if (pid == 0) {
				int error;

				/* its own: locks would go on in the parent */
				backend = fake_backend_create(f,
							      f->folder,
							      SMALL_MAX);
				fake_gate.calls = 0;
				fake_gate.kill_at = n;
				error = s->operation(backend, file);
				_exit(error == 0 ? 0 : 1);
			}
			assert_int_equal(waitpid(pid, &status, 0), pid);
			killed = WIFSIGNALED(status);
			assert_true(killed || WEXITSTATUS(status) == 0);

			/* a stuck lock would be waited for here */
			file->capacity = 0;
			backend = fake_backend_create(f, f->folder, SMALL_MAX);
			assert_true(
				stream_is(backend, file, "a", s->a) ||
				stream_is(backend, file, "a", s->a_after));
			assert_true(
				stream_is(backend, file, "b", s->b) ||
				stream_is(backend, file, "b", s->b_after));
			if (s->operation == do_rename) {
				assert_true(
					stream_is(backend, file, "a", s->a) ||
					stream_is(backend, file, "b", s->a));
			}
			if (!killed) {
				assert_state(backend, file, s, true);
			}
			assert_bystander(backend, f, s);
			assert_s1(backend, f);
			/* and all of it can be done again */
			if (killed && stream_is(backend, file, "a", s->a)) {
				assert_error(s->operation(backend, file), 0);
				assert_state(backend, file, s, true);
			}
			TALLOC_FREE(backend);
		}
	}
}

int main(void)
{
#define STREAMS_TEST(name)                                                    \
	cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)
	const struct CMUnitTest tests[] = {
		STREAMS_TEST(test_small),
		STREAMS_TEST(test_threshold),
		STREAMS_TEST(test_long_names),
		STREAMS_TEST(test_list),
		STREAMS_TEST(test_s1_copied_object),
		STREAMS_TEST(test_s1_two_pointers),
		STREAMS_TEST(test_pointer_is_nonsense),
		STREAMS_TEST(test_p1_private_folder),
		STREAMS_TEST(test_samba4),
		STREAMS_TEST(test_names_without_type),
		STREAMS_TEST(test_samba4_full),
		STREAMS_TEST(test_forget_object),
		STREAMS_TEST(test_rename_to_itself),
		STREAMS_TEST(test_calls),
		STREAMS_TEST(test_each_call_fails),
		STREAMS_TEST(test_killed_at_each_call),
	};

	return cmocka_run_group_tests_name("streams",
					   tests,
					   NULL,
					   test_group_teardown);
}
