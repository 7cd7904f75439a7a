/*
 * Extended attributes in a tdb, for file systems that have none.
 *
 * The keys of objects have 16 bytes, volume and file id; what is kept under
 * them is described in xattr_tdb_record.h. One more record, with a shorter
 * key, says that the tdb is ours.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <tdb.h>
#include <unistd.h>
#include "ntvfs_posix/xattr_tdb.h"
#include "ntvfs_posix/xattr_tdb_record.h"

#define IDENTITY_KEY "ntvfs"
#define IDENTITY_VALUE "xattr store 1"

/* Of 4 bytes each; hundreds of thousands of objects are found quickly. */
#define HASH_CHAINS 32749

#define KEY_SIZE 16

/*
 * A tdb may be open once in a process: its locks are the process's. Shares
 * of the same folder use one between them.
 */
struct open_tdb {
	struct open_tdb *next;
	unsigned users;
	dev_t device;
	ino_t inode;
	bool read_only;	/* the file system is */
	struct tdb_context *tdb;
};

static struct open_tdb *open_tdbs;

struct ntvfs_xattr_tdb {
	struct open_tdb *open;
};

/* What tdb says, and what the system said to tdb, as an errno value. */
static int tdb_errno(struct tdb_context *tdb)
{
	int system_error = errno;

	switch (system_error) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
	case EROFS:
	case ENOMEM:
		return system_error;
	default:
		break;
	}
	switch (tdb_error(tdb)) {
	case TDB_ERR_OOM:
		return ENOMEM;
	case TDB_ERR_RDONLY:
		return EROFS;
	default:
		return EIO;
	}
}

static TDB_DATA key_encode(const struct ntvfs_xattr_tdb_key *key,
			   uint8_t bytes[KEY_SIZE])
{
	size_t i;

	for (i = 0; i < 8; i++) {
		bytes[i] = (uint8_t)(key->volume >> (8 * i));
		bytes[8 + i] = (uint8_t)(key->file_id >> (8 * i));
	}
	return (TDB_DATA){.dptr = bytes, .dsize = KEY_SIZE};
}

static TDB_DATA identity_key(void)
{
	static uint8_t key[] = IDENTITY_KEY;

	return (TDB_DATA){.dptr = key, .dsize = sizeof(key) - 1};
}

static TDB_DATA identity_value(void)
{
	static uint8_t value[] = IDENTITY_VALUE;

	return (TDB_DATA){.dptr = value, .dsize = sizeof(value) - 1};
}

static int identity_parse(TDB_DATA key, TDB_DATA data, void *private_data)
{
	bool *is_ours = private_data;
	TDB_DATA wanted = identity_value();

	*is_ours = data.dsize == wanted.dsize &&
		   memcmp(data.dptr, wanted.dptr, wanted.dsize) == 0;
	return 0;
}

/* Make sure that names in the folder of path are durable. */
static int sync_folder_of(const char *path)
{
	char copy[PATH_MAX];
	int error = 0;
	int fd;

	memcpy(copy, path, strlen(path) + 1);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1) {
		return errno;
	}
	if (fsync(fd) != 0) {
		error = errno;
	}
	close(fd);
	return error;
}

static int sync_file(const char *path)
{
	int error = 0;
	int fd;

	fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1) {
		return errno;
	}
	if (fsync(fd) != 0) {
		error = errno;
	}
	close(fd);
	return error;
}

/*
 * Make an empty store. It gets its name when it is complete and durable, so
 * that nobody meets half a one, and so that tdb is never told to make a file
 * that may be there: it would overwrite one that is no tdb.
 */
static int store_make(const char *path)
{
	struct tdb_context *tdb = NULL;
	char new_path[PATH_MAX];
	int printed;
	int error = 0;

	printed = snprintf(new_path,
			   sizeof(new_path),
			   "%s.new.%ld",
			   path,
			   (long)getpid());
	if (printed < 0 || (size_t)printed >= sizeof(new_path)) {
		return ENAMETOOLONG;
	}
	/* left by a process of the same number that was killed here */
	if (unlink(new_path) != 0 && errno != ENOENT) {
		return errno;
	}
	tdb = tdb_open(new_path,
		       HASH_CHAINS,
		       TDB_INCOMPATIBLE_HASH,
		       O_RDWR | O_CREAT | O_EXCL,
		       0600);
	if (tdb == NULL) {
		return errno != 0 ? errno : EIO;
	}
	errno = 0;
	if (tdb_store(tdb, identity_key(), identity_value(), TDB_INSERT) != 0)
	{
		error = tdb_errno(tdb);
	}
	/* another fd of the file must not be closed while tdb has its own */
	if (tdb_close(tdb) != 0 && error == 0) {
		error = EIO;
	}
	if (error == 0) {
		error = sync_file(new_path);
	}
	/* EEXIST: another process was first, and its store is the one */
	if (error == 0 && link(new_path, path) != 0 && errno != EEXIST) {
		error = errno;
	}
	unlink(new_path);
	if (error == 0) {
		error = sync_folder_of(path);
	}
	return error;
}

static int open_tdb_destructor(struct open_tdb *open)
{
	struct open_tdb **p = NULL;

	for (p = &open_tdbs; *p != NULL; p = &(*p)->next) {
		if (*p == open) {
			*p = open->next;
			break;
		}
	}
	tdb_close(open->tdb);
	return 0;
}

static int store_destructor(struct ntvfs_xattr_tdb *store)
{
	if (store->open == NULL) {
		return 0;
	}
	store->open->users--;
	if (store->open->users == 0) {
		TALLOC_FREE(store->open);
	}
	return 0;
}

static int open_store(const char *path, struct open_tdb **out)
{
	struct tdb_context *tdb = NULL;
	struct open_tdb *open = NULL;
	struct stat st = {.st_size = 0};
	bool read_only = false;
	bool is_ours = false;

	errno = 0;
	tdb = tdb_open(path, 0, TDB_SEQNUM, O_RDWR, 0);
	if (tdb == NULL && errno == EROFS) {
		/* nobody changes it there */
		read_only = true;
		errno = 0;
		tdb = tdb_open(path, 0, TDB_SEQNUM, O_RDONLY, 0);
	}
	if (tdb == NULL) {
		/* EINVAL: its header tells what cannot be */
		return errno != 0 && errno != EINVAL ? errno : EIO;
	}
	tdb_parse_record(tdb, identity_key(), identity_parse, &is_ours);
	if (!is_ours) {
		tdb_close(tdb);
		return EIO;
	}
	if (fstat(tdb_fd(tdb), &st) != 0) {
		tdb_close(tdb);
		return EIO;
	}
	open = talloc_zero(NULL, struct open_tdb);
	if (open == NULL) {
		tdb_close(tdb);
		return ENOMEM;
	}
	open->tdb = tdb;
	open->read_only = read_only;
	open->device = st.st_dev;
	open->inode = st.st_ino;
	open->next = open_tdbs;
	open_tdbs = open;
	talloc_set_destructor(open, open_tdb_destructor);
	*out = open;
	return 0;
}

/* The store of that path, if this process has it open; *exists is set. */
static int find_store(const char *path, struct open_tdb **found, bool *exists)
{
	struct open_tdb *open = NULL;
	struct stat st = {.st_size = 0};

	*found = NULL;
	*exists = false;
	if (lstat(path, &st) != 0) {
		return errno == ENOENT ? 0 : errno;
	}
	*exists = true;
	if (!S_ISREG(st.st_mode)) {
		return EIO;
	}
	for (open = open_tdbs; open != NULL; open = open->next) {
		if (open->device == st.st_dev && open->inode == st.st_ino) {
			*found = open;
			break;
		}
	}
	return 0;
}

static int store_open(TALLOC_CTX *mem_ctx,
		      const char *path,
		      bool create,
		      struct ntvfs_xattr_tdb **store)
{
	struct ntvfs_xattr_tdb *made = NULL;
	struct open_tdb *open = NULL;
	bool exists = false;
	int error;

	*store = NULL;
	if (strlen(path) >= PATH_MAX) {
		return ENAMETOOLONG;
	}
	error = find_store(path, &open, &exists);
	if (error != 0) {
		return error;
	}
	if (!exists && !create) {
		return ENOENT;
	}
	if (!exists) {
		error = store_make(path);
		if (error != 0) {
			return error;
		}
	}
	made = talloc_zero(mem_ctx, struct ntvfs_xattr_tdb);
	if (made == NULL) {
		return ENOMEM;
	}
	if (open == NULL) {
		error = open_store(path, &open);
		if (error != 0) {
			TALLOC_FREE(made);
			return error;
		}
	}
	open->users++;
	made->open = open;
	talloc_set_destructor(made, store_destructor);
	*store = made;
	return 0;
}

int ntvfs_xattr_tdb_open(TALLOC_CTX *mem_ctx,
			 const char *path,
			 struct ntvfs_xattr_tdb **store)
{
	return store_open(mem_ctx, path, true, store);
}

int ntvfs_xattr_tdb_open_existing(TALLOC_CTX *mem_ctx,
				  const char *path,
				  struct ntvfs_xattr_tdb **store)
{
	return store_open(mem_ctx, path, false, store);
}

uint32_t ntvfs_xattr_tdb_sequence(struct ntvfs_xattr_tdb *store)
{
	return (uint32_t)tdb_get_seqnum(store->open->tdb);
}

bool ntvfs_xattr_tdb_has(struct ntvfs_xattr_tdb *store,
			 uint64_t volume,
			 uint64_t file_id)
{
	const struct ntvfs_xattr_tdb_key key = {
		.volume = volume,
		.file_id = file_id,
	};
	uint8_t bytes[KEY_SIZE];

	return tdb_exists(store->open->tdb, key_encode(&key, bytes)) != 0;
}

static int name_check(const char *name)
{
	size_t length = strlen(name);

	if (length == 0 || length > NTVFS_XATTR_TDB_NAME_MAX) {
		return ERANGE;
	}
	return 0;
}

/*
 * Reading: the record is looked at where it lies in the tdb, under the lock
 * of its hash chain.
 */
struct read_state {
	const struct ntvfs_xattr_tdb_key *key;
	int (*use)(struct read_state *state,
		   const uint8_t *record,
		   size_t length);
	int error;

	/* for one attribute */
	const char *name;
	void *value;
	size_t size;

	/* for the list */
	TALLOC_CTX *mem_ctx;
	char *names;

	size_t found_length;
};

/* EIO: not a valid record; ENODATA: that of an earlier object. */
static int record_check(const struct ntvfs_xattr_tdb_key *key, TDB_DATA data)
{
	const char *broken = NULL;
	uint64_t birth = 0;
	uint32_t count = 0;

	broken = ntvfs_xattr_tdb_record_validate(data.dptr,
						 data.dsize,
						 key,
						 &birth,
						 &count);
	if (broken != NULL) {
		return EIO;
	}
	if (birth != key->birth) {
		return ENODATA;
	}
	return 0;
}

static int read_parse(TDB_DATA key, TDB_DATA data, void *private_data)
{
	struct read_state *state = private_data;

	state->error = record_check(state->key, data);
	if (state->error == 0) {
		state->error = state->use(state, data.dptr, data.dsize);
	}
	return 0;
}

/* ENODATA: there is no record of that object. */
static int record_read(struct ntvfs_xattr_tdb *store, struct read_state *state)
{
	struct tdb_context *tdb = store->open->tdb;
	uint8_t bytes[KEY_SIZE];
	TDB_DATA key = key_encode(state->key, bytes);

	errno = 0;
	if (tdb_parse_record(tdb, key, read_parse, state) != 0) {
		if (tdb_error(tdb) == TDB_ERR_NOEXIST) {
			return ENODATA;
		}
		return tdb_errno(tdb);
	}
	return state->error;
}

static int use_value(struct read_state *state,
		     const uint8_t *record,
		     size_t length)
{
	const size_t name_length = strlen(state->name);
	struct ntvfs_xattr_tdb_entry entry;
	size_t offset = 0;

	while (ntvfs_xattr_tdb_record_next(record, length, &offset, &entry)) {
		if (entry.name_length != name_length ||
		    memcmp(entry.name, state->name, name_length) != 0)
		{
			continue;
		}
		if (state->size != 0 && state->size < entry.value_length) {
			return ERANGE;
		}
		if (state->size != 0 && entry.value_length != 0) {
			memcpy(state->value, entry.value, entry.value_length);
		}
		state->found_length = entry.value_length;
		return 0;
	}
	return ENODATA;
}

int ntvfs_xattr_tdb_get(struct ntvfs_xattr_tdb *store,
			const struct ntvfs_xattr_tdb_key *key,
			const char *name,
			void *value,
			size_t size,
			size_t *length)
{
	struct read_state state = {
		.key = key,
		.use = use_value,
		.name = name,
		.value = value,
		.size = size,
	};
	int error;

	*length = 0;
	error = name_check(name);
	if (error != 0) {
		return error;
	}
	error = record_read(store, &state);
	if (error != 0) {
		return error;
	}
	*length = state.found_length;
	return 0;
}

static int use_names(struct read_state *state,
		     const uint8_t *record,
		     size_t length)
{
	struct ntvfs_xattr_tdb_entry entry;
	size_t offset = 0;
	size_t bytes = 0;
	char *at = NULL;

	while (ntvfs_xattr_tdb_record_next(record, length, &offset, &entry)) {
		bytes += entry.name_length + 1;
	}
	state->names = talloc_array(state->mem_ctx, char, bytes);
	if (state->names == NULL) {
		return ENOMEM;
	}
	at = state->names;
	offset = 0;
	while (ntvfs_xattr_tdb_record_next(record, length, &offset, &entry)) {
		memcpy(at, entry.name, entry.name_length);
		at[entry.name_length] = '\0';
		at += entry.name_length + 1;
	}
	state->found_length = bytes;
	return 0;
}

int ntvfs_xattr_tdb_list(struct ntvfs_xattr_tdb *store,
			 const struct ntvfs_xattr_tdb_key *key,
			 TALLOC_CTX *mem_ctx,
			 char **names,
			 size_t *length)
{
	struct read_state state = {
		.key = key,
		.use = use_names,
		.mem_ctx = mem_ctx,
	};
	int error;

	*names = NULL;
	*length = 0;
	error = record_read(store, &state);
	if (error == ENODATA) {
		return 0;
	}
	if (error != 0) {
		return error;
	}
	*names = state.names;
	*length = state.found_length;
	return 0;
}

/*
 * The record of an object in a transaction of its change; data->dptr is
 * malloc's, NULL if there is none. *error as record_check().
 */
static int record_fetch(struct tdb_context *tdb,
			const struct ntvfs_xattr_tdb_key *key,
			TDB_DATA tdb_key,
			TDB_DATA *data)
{
	errno = 0;
	*data = tdb_fetch(tdb, tdb_key);
	if (data->dptr == NULL) {
		if (tdb_error(tdb) == TDB_ERR_NOEXIST) {
			return 0;
		}
		return tdb_errno(tdb);
	}
	return record_check(key, *data);
}

static int record_store(struct tdb_context *tdb,
			TDB_DATA key,
			const uint8_t *record,
			size_t length)
{
	TDB_DATA data = {.dptr = (uint8_t *)(uintptr_t)record,
			 .dsize = length};

	errno = 0;
	if (record != NULL) {
		if (tdb_store(tdb, key, data, TDB_REPLACE) != 0) {
			return tdb_errno(tdb);
		}
		return 0;
	}
	if (tdb_delete(tdb, key) != 0 && tdb_error(tdb) != TDB_ERR_NOEXIST) {
		return tdb_errno(tdb);
	}
	return 0;
}

/* End the transaction: commit if nothing has gone wrong so far. */
static int transaction_end(struct tdb_context *tdb, int error)
{
	if (error != 0) {
		tdb_transaction_cancel(tdb);
		return error;
	}
	errno = 0;
	if (tdb_transaction_commit(tdb) != 0) {
		return tdb_errno(tdb);
	}
	return 0;
}

static int transaction_begin(struct ntvfs_xattr_tdb *store)
{
	struct tdb_context *tdb = store->open->tdb;

	if (store->open->read_only) {
		return EROFS;
	}
	errno = 0;
	if (tdb_transaction_start(tdb) != 0) {
		return tdb_errno(tdb);
	}
	return 0;
}

/* value NULL: remove the attribute. */
static int attribute_change(struct ntvfs_xattr_tdb *store,
			    const struct ntvfs_xattr_tdb_key *key,
			    const char *name,
			    const void *value,
			    size_t value_length)
{
	struct tdb_context *tdb = store->open->tdb;
	uint8_t bytes[KEY_SIZE];
	TDB_DATA tdb_key = key_encode(key, bytes);
	TDB_DATA old = {.dptr = NULL};
	uint8_t *record = NULL;
	size_t length = 0;
	bool is_old_object = false;
	int error;

	error = transaction_begin(store);
	if (error != 0) {
		return error;
	}
	error = record_fetch(tdb, key, tdb_key, &old);
	if (error == ENODATA) {
		/* what an earlier object left behind */
		is_old_object = true;
		error = 0;
	}
	if (error == 0) {
		error = ntvfs_xattr_tdb_record_change(
			store,
			key,
			is_old_object ? NULL : old.dptr,
			old.dsize,
			name,
			value,
			value_length,
			&record,
			&length);
	}
	if (error == 0) {
		error = record_store(tdb, tdb_key, record, length);
	}
	error = transaction_end(tdb, error);
	TALLOC_FREE(record);
	free(old.dptr);
	return error;
}

int ntvfs_xattr_tdb_set(struct ntvfs_xattr_tdb *store,
			const struct ntvfs_xattr_tdb_key *key,
			const char *name,
			const void *value,
			size_t length)
{
	int error;

	error = name_check(name);
	if (error != 0) {
		return error;
	}
	if (length > NTVFS_XATTR_TDB_VALUE_MAX) {
		return E2BIG;
	}
	/* an empty value is one too */
	return attribute_change(store,
				key,
				name,
				value != NULL ? value : "",
				length);
}

int ntvfs_xattr_tdb_remove(struct ntvfs_xattr_tdb *store,
			   const struct ntvfs_xattr_tdb_key *key,
			   const char *name)
{
	int error;

	error = name_check(name);
	if (error != 0) {
		return error;
	}
	return attribute_change(store, key, name, NULL, 0);
}

int ntvfs_xattr_tdb_forget(struct ntvfs_xattr_tdb *store,
			   const struct ntvfs_xattr_tdb_key *key)
{
	struct tdb_context *tdb = store->open->tdb;
	uint8_t bytes[KEY_SIZE];
	TDB_DATA tdb_key = key_encode(key, bytes);
	TDB_DATA old = {.dptr = NULL};
	int error;

	/* most objects have no record: no transaction for them */
	if (tdb_exists(tdb, tdb_key) == 0) {
		return 0;
	}
	error = transaction_begin(store);
	if (error != 0) {
		return error;
	}
	error = record_fetch(tdb, key, tdb_key, &old);
	if (error == ENODATA) {
		/* a new object has that number already: the record is its */
		error = 0;
	} else if (error == 0 || (error == EIO && old.dptr != NULL)) {
		/* what cannot be read goes with the object it was for */
		error = record_store(tdb, tdb_key, NULL, 0);
	}
	error = transaction_end(tdb, error);
	free(old.dptr);
	return error;
}

struct each_state {
	ntvfs_xattr_tdb_record_fn fn;
	void *private_data;
};

static int each_record(struct tdb_context *tdb,
		       TDB_DATA key,
		       TDB_DATA data,
		       void *private_data)
{
	struct each_state *state = private_data;
	struct ntvfs_xattr_tdb_key object = {.volume = 0};
	const char *broken = NULL;
	uint32_t count = 0;
	size_t i;

	if (key.dsize != KEY_SIZE) {
		/* what says that the tdb is ours */
		return 0;
	}
	for (i = 8; i > 0; i--) {
		object.volume = object.volume << 8 | key.dptr[i - 1];
		object.file_id = object.file_id << 8 | key.dptr[8 + i - 1];
	}
	broken = ntvfs_xattr_tdb_record_validate(data.dptr,
						 data.dsize,
						 &object,
						 &object.birth,
						 &count);
	if (!state->fn(&object,
		       data.dptr,
		       data.dsize,
		       broken,
		       state->private_data))
	{
		return 1;
	}
	return 0;
}

int ntvfs_xattr_tdb_each(struct ntvfs_xattr_tdb *store,
			 ntvfs_xattr_tdb_record_fn fn,
			 void *private_data)
{
	struct each_state state = {.fn = fn, .private_data = private_data};

	errno = 0;
	if (tdb_traverse_read(store->open->tdb, each_record, &state) == -1) {
		return tdb_errno(store->open->tdb);
	}
	return 0;
}
