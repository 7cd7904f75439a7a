/*
 * The store of a share for pointers to stream files that do not fit into
 * their object.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "ntvfs_posix/overflow.h"
#include "ntvfs_posix/private_folder.h"

/*
 * What lies in the file that is locked for changes of streams. It is of all
 * shares that name the same file: a store made for another one costs a look.
 */
struct signal {
	uint32_t stores_made;
};
_Static_assert(sizeof(struct signal) == 4, "the layout of shared memory");

#define SIGNAL_BYTES 4096

struct ntvfs_overflow {
	struct signal *signal;
	uint32_t stores_seen;	     /* signal's, before the last look */
	struct ntvfs_xattr_tdb *tdb; /* NULL: there was none then */
};

static int overflow_destructor(struct ntvfs_overflow *overflow)
{
	if (overflow->signal != NULL) {
		munmap(overflow->signal, SIGNAL_BYTES);
	}
	return 0;
}

static int signal_map(const char *lock_path, struct signal **signal)
{
	struct stat st = {.st_size = 0};
	void *page = NULL;
	int error = 0;
	int fd;

	fd = open(lock_path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd == -1) {
		return errno;
	}
	if (fstat(fd, &st) != 0) {
		error = errno;
		goto done;
	}
	/* several may do so at once, all to the same size */
	if (st.st_size < SIGNAL_BYTES && ftruncate(fd, SIGNAL_BYTES) != 0) {
		error = errno;
		goto done;
	}
	page = mmap(NULL,
		    SIGNAL_BYTES,
		    PROT_READ | PROT_WRITE,
		    MAP_SHARED,
		    fd,
		    0);
	if (page == MAP_FAILED) {
		error = errno;
		goto done;
	}
	*signal = page;
done:
	/*
	 * Not kept: an open description that a mapping keeps alive would keep
	 * locks alive, too, were they taken on it.
	 */
	close(fd);
	return error;
}

/* Open the store; with create, make it. ENOENT: it is not there. As root. */
static int store_open(struct ntvfs_posix *posix, bool create)
{
	struct ntvfs_overflow *overflow = posix->overflow;
	char path[NTVFS_PRIVATE_PATH_SIZE];
	int folder_fd = -1;
	int error;

	error = ntvfs_private_folder_open(posix->config.path,
					  NULL,
					  create,
					  &folder_fd);
	if (error != 0) {
		return error;
	}
	ntvfs_private_folder_path(folder_fd, NTVFS_OVERFLOW_NAME, path);
	if (create) {
		error = ntvfs_xattr_tdb_open(overflow, path, &overflow->tdb);
	} else {
		error = ntvfs_xattr_tdb_open_existing(overflow,
						      path,
						      &overflow->tdb);
	}
	close(folder_fd);
	return error;
}

/*
 * Look whether there is a store. The number is read before the look: a store
 * made after the look has counted it up since.
 */
static int store_look(struct ntvfs_posix *posix, uint32_t stores_made)
{
	struct ntvfs_overflow *overflow = posix->overflow;
	const struct ntvfs_posix_io *io = posix->io;
	int error;

	io->become_root(io->context);
	error = store_open(posix, false);
	io->unbecome_root(io->context);
	if (error == 0 || error == ENOENT) {
		overflow->stores_seen = stores_made;
		return 0;
	}
	return error;
}

int ntvfs_overflow_start(struct ntvfs_posix *posix)
{
	struct ntvfs_overflow *overflow = NULL;
	const struct ntvfs_posix_io *io = posix->io;
	int error;

	overflow = talloc_zero(posix, struct ntvfs_overflow);
	if (overflow == NULL) {
		return ENOMEM;
	}
	talloc_set_destructor(overflow, overflow_destructor);
	posix->overflow = overflow;
	io->become_root(io->context);
	error = signal_map(posix->config.lock_path, &overflow->signal);
	io->unbecome_root(io->context);
	if (error != 0) {
		return error;
	}
	return store_look(posix,
			  __atomic_load_n(&overflow->signal->stores_made,
					  __ATOMIC_ACQUIRE));
}

int ntvfs_overflow_stamp(struct ntvfs_posix *posix, uint64_t *stamp)
{
	struct ntvfs_overflow *overflow = posix->overflow;
	uint32_t stores_made;
	int error;

	*stamp = 0;
	if (overflow == NULL) {
		return 0;
	}
	if (overflow->tdb == NULL) {
		/*
		 * Harmless when it is counted up just now: whoever does so
		 * has stored nothing yet.
		 */
		stores_made = __atomic_load_n(&overflow->signal->stores_made,
					      __ATOMIC_ACQUIRE);
		if (stores_made == overflow->stores_seen) {
			return 0;
		}
		error = store_look(posix, stores_made);
		if (error != 0) {
			return error;
		}
	}
	if (overflow->tdb != NULL) {
		*stamp = 1 + (uint64_t)ntvfs_xattr_tdb_sequence(overflow->tdb);
	}
	return 0;
}

/* O2, and whether there is a record at all; the key is set then. */
static int record_key(struct ntvfs_posix *posix,
		      const struct ntvfs_object *object,
		      struct ntvfs_xattr_tdb_key *key)
{
	uint64_t stamp = 0;
	int error;

	error = ntvfs_overflow_stamp(posix, &stamp);
	if (error != 0) {
		return error;
	}
	if (stamp == 0 || !ntvfs_is_home(posix, object) ||
	    !ntvfs_xattr_tdb_has(posix->overflow->tdb, 0, object->file_id)) {
		return ENODATA;
	}
	*key = ntvfs_xattr_key(posix, object);
	return key->birth != 0 ? 0 : ENODATA;
}

int ntvfs_overflow_names(struct ntvfs_posix *posix,
			 const struct ntvfs_object *object,
			 TALLOC_CTX *mem_ctx,
			 char **names,
			 size_t *length)
{
	struct ntvfs_xattr_tdb_key key;
	int error;

	*names = NULL;
	*length = 0;
	error = record_key(posix, object, &key);
	if (error != 0) {
		return error == ENODATA ? 0 : error;
	}
	return ntvfs_xattr_tdb_list(posix->overflow->tdb,
				    &key,
				    mem_ctx,
				    names,
				    length);
}

int ntvfs_overflow_get(struct ntvfs_posix *posix,
		       const struct ntvfs_object *object,
		       const char *name,
		       void *value,
		       size_t size,
		       size_t *length)
{
	struct ntvfs_xattr_tdb_key key;
	int error;

	*length = 0;
	error = record_key(posix, object, &key);
	if (error != 0) {
		return error;
	}
	return ntvfs_xattr_tdb_get(posix->overflow->tdb,
				   &key,
				   name,
				   value,
				   size,
				   length);
}

/* As root. */
static int store_make(struct ntvfs_posix *posix)
{
	struct ntvfs_overflow *overflow = posix->overflow;
	int error;

	error = store_open(posix, true);
	if (error == 0) {
		__atomic_add_fetch(&overflow->signal->stores_made,
				   1,
				   __ATOMIC_SEQ_CST);
	}
	return error;
}

int ntvfs_overflow_set(struct ntvfs_posix *posix,
		       const struct ntvfs_object *object,
		       const char *name,
		       const void *value,
		       size_t length)
{
	struct ntvfs_overflow *overflow = posix->overflow;
	const struct ntvfs_posix_io *io = posix->io;
	struct ntvfs_xattr_tdb_key key;
	int error = 0;

	if (overflow == NULL || !ntvfs_is_home(posix, object)) {
		return EFBIG;
	}
	key = ntvfs_xattr_key(posix, object);
	if (key.birth == 0) {
		return EFBIG;
	}
	/* what root has kept for himself of the disk may be used for it */
	io->become_root(io->context);
	if (overflow->tdb == NULL) {
		error = store_make(posix);
	}
	if (error == 0) {
		error = ntvfs_xattr_tdb_set(overflow->tdb,
					    &key,
					    name,
					    value,
					    length);
	}
	io->unbecome_root(io->context);
	return error;
}

int ntvfs_overflow_remove(struct ntvfs_posix *posix,
			  const struct ntvfs_object *object,
			  const char *name)
{
	const struct ntvfs_posix_io *io = posix->io;
	struct ntvfs_xattr_tdb_key key;
	int error;

	error = record_key(posix, object, &key);
	if (error != 0) {
		return error;
	}
	io->become_root(io->context);
	error = ntvfs_xattr_tdb_remove(posix->overflow->tdb, &key, name);
	io->unbecome_root(io->context);
	return error;
}

void ntvfs_overflow_forget(struct ntvfs_posix *posix,
			   const struct ntvfs_object *object)
{
	const struct ntvfs_posix_io *io = posix->io;
	struct ntvfs_xattr_tdb_key key;

	if (record_key(posix, object, &key) != 0) {
		return;
	}
	io->become_root(io->context);
	/* O2: one that stays is believed for no other object */
	(void)ntvfs_xattr_tdb_forget(posix->overflow->tdb, &key);
	io->unbecome_root(io->context);
}
