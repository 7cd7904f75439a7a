/*
 * Files that hold the data of large streams.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include "ntvfs_posix/private_folder.h"
#include "ntvfs_posix/stream_files.h"

/* "ab/", the id, "-", the inode number, "-", the hash of the name, in hex */
#define ID_DIGITS (2 * NTVFS_STREAM_ID_SIZE)
#define NAME_SIZE (3 + ID_DIGITS + 1 + 16 + 1 + 16 + 1)

/* A file that is renamed while it is looked for is looked for again. */
#define SEARCHES 16

#define LOCKS 65536

struct ntvfs_stream_files {
	char *path;	/* of the share */
	char *lock_path;
	int folder_fd;	/* -1: not opened yet */
	int lock_fd;	/* -1: not opened yet */
};

static int stream_files_destructor(struct ntvfs_stream_files *files)
{
	if (files->folder_fd != -1) {
		close(files->folder_fd);
	}
	if (files->lock_fd != -1) {
		close(files->lock_fd);
	}
	return 0;
}

struct ntvfs_stream_files *ntvfs_stream_files_create(TALLOC_CTX *mem_ctx,
						     const char *path,
						     const char *lock_path)
{
	struct ntvfs_stream_files *files = NULL;

	files = talloc_zero(mem_ctx, struct ntvfs_stream_files);
	if (files == NULL) {
		return NULL;
	}
	files->folder_fd = -1;
	files->lock_fd = -1;
	talloc_set_destructor(files, stream_files_destructor);
	files->path = talloc_strdup(files, path);
	files->lock_path = talloc_strdup(files, lock_path);
	if (files->path == NULL || files->lock_path == NULL) {
		TALLOC_FREE(files);
	}
	return files;
}

/* Open the folder, making it if create is set. */
static int folder_open(struct ntvfs_stream_files *files, bool create)
{
	if (files->folder_fd != -1) {
		return 0;
	}
	return ntvfs_private_folder_open(files->path,
					 "streams",
					 create,
					 &files->folder_fd);
}

uint64_t ntvfs_stream_name_hash(const char *name)
{
	return XXH64(name, strlen(name), 0);
}

bool ntvfs_stream_file_name_parse(const char *name,
				  struct ntvfs_stream_file_name *parsed)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t claim[2] = {0, 0};
	const char *at = name;
	const char *digit = NULL;
	size_t i;

	if (strlen(name) != NAME_SIZE - 3 - 1 || name[ID_DIGITS] != '-' ||
	    name[ID_DIGITS + 17] != '-')
	{
		return false;
	}
	for (i = 0; i < ID_DIGITS; i++, at++) {
		digit = memchr(digits, *at, 16);
		if (digit == NULL) {
			return false;
		}
		parsed->id[i / 2] = (uint8_t)(parsed->id[i / 2] << 4 |
					      (digit - digits));
	}
	for (i = 0; i < 32; i++) {
		if (i % 16 == 0) {
			at++;
		}
		digit = memchr(digits, *at, 16);
		if (digit == NULL) {
			return false;
		}
		claim[i / 16] = claim[i / 16] << 4 | (uint64_t)(digit - digits);
		at++;
	}
	parsed->inode = claim[0];
	parsed->name_hash = claim[1];
	return true;
}

/* "ab/abcdef...": few enough files to a folder for any file system. */
static void file_name(const struct ntvfs_stream_pointer *pointer,
		      const struct ntvfs_stream_claim *claim,
		      char name[NAME_SIZE])
{
	size_t i;
	char *p = name;

	p += snprintf(p, 4, "%02x/", pointer->id[0]);
	for (i = 0; i < NTVFS_STREAM_ID_SIZE; i++) {
		p += snprintf(p, 3, "%02x", pointer->id[i]);
	}
	snprintf(p,
		 1 + 16 + 1 + 16 + 1,
		 "-%016" PRIx64 "-%016" PRIx64,
		 claim->inode,
		 ntvfs_stream_name_hash(claim->name));
}

int ntvfs_stream_pointer_parse(const void *value,
			       size_t length,
			       struct ntvfs_stream_pointer *pointer)
{
	static const uint8_t head[8] = {'N', 'T', 'S', 'F', 1, 0, 0, 0};

	if (length != sizeof(*pointer) ||
	    memcmp(value, head, sizeof(head)) != 0)
	{
		return EINVAL;
	}
	memcpy(pointer, value, sizeof(*pointer));
	return 0;
}

static int write_all(int fd, const uint8_t *data, size_t length)
{
	size_t done = 0;

	while (done < length) {
		ssize_t n = pwrite(fd,
				   data + done,
				   length - done,
				   (off_t)done);

		if (n == -1) {
			if (errno == EINTR) {
				continue;
			}
			return errno;
		}
		done += (size_t)n;
	}
	return 0;
}

/* An empty file of a new id. */
static int file_create(struct ntvfs_stream_files *files,
		       const struct ntvfs_stream_claim *claim,
		       uid_t uid,
		       gid_t gid,
		       struct ntvfs_stream_pointer *pointer,
		       char name[NAME_SIZE],
		       int *fd)
{
	char subfolder[3] = {0};
	int error;

	error = folder_open(files, true);
	if (error != 0) {
		return error;
	}
	*pointer = (struct ntvfs_stream_pointer){
		.magic = {'N', 'T', 'S', 'F'},
		.version = 1,
	};
	if (getrandom(pointer->id, sizeof(pointer->id), 0) !=
	    sizeof(pointer->id))
	{
		return EIO;
	}
	file_name(pointer, claim, name);
	memcpy(subfolder, name, 2);
	if (mkdirat(files->folder_fd, subfolder, 0700) != 0 &&
	    errno != EEXIST)
	{
		return errno;
	}
	*fd = openat(files->folder_fd,
		     name,
		     O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		     0600);
	if (*fd == -1) {
		return errno;
	}
	if (fchown(*fd, uid, gid) != 0) {
		error = errno;
		unlinkat(files->folder_fd, name, 0);
		close(*fd);
		*fd = -1;
	}
	return error;
}

/* Make the file and its name durable before an xattr names it. */
static int file_sync(struct ntvfs_stream_files *files,
		     const char *name,
		     int fd)
{
	char subfolder[3] = {name[0], name[1], '\0'};
	int folder = -1;
	int error = 0;

	if (fsync(fd) != 0) {
		return errno;
	}
	folder = openat(files->folder_fd,
			subfolder,
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder == -1) {
		return errno;
	}
	if (fsync(folder) != 0 || fsync(files->folder_fd) != 0) {
		error = errno;
	}
	close(folder);
	return error;
}

int ntvfs_stream_file_make(struct ntvfs_stream_files *files,
			   const struct ntvfs_stream_claim *claim,
			   uid_t uid,
			   gid_t gid,
			   const void *data,
			   size_t length,
			   struct ntvfs_stream_pointer *pointer,
			   int *fd)
{
	char name[NAME_SIZE];
	int error;

	*fd = -1;
	error = file_create(files, claim, uid, gid, pointer, name, fd);
	if (error != 0) {
		return error;
	}
	error = write_all(*fd, data, length);
	if (error == 0) {
		error = file_sync(files, name, *fd);
	}
	if (error != 0) {
		unlinkat(files->folder_fd, name, 0);
		close(*fd);
		*fd = -1;
	}
	return error;
}

/* -1 with errno if that fails. On a read-only file system it is to read. */
static int file_open(int folder_fd, const char *name)
{
	const int flags = O_NOFOLLOW | O_CLOEXEC;
	int fd;

	fd = openat(folder_fd, name, O_RDWR | flags);
	if (fd == -1 && errno == EROFS) {
		fd = openat(folder_fd, name, O_RDONLY | flags);
	}
	return fd;
}

/*
 * Open the file of that id, whoever claims it. EAGAIN: it was seen, but has
 * got another name since.
 */
static int unclaimed_open(struct ntvfs_stream_files *files,
			  const char wanted[NAME_SIZE],
			  int *fd)
{
	char subfolder[3] = {wanted[0], wanted[1], '\0'};
	const char *id = wanted + 3;
	struct dirent *entry = NULL;
	DIR *dir = NULL;
	int dir_fd = -1;
	int error = ENOENT;

	dir_fd = openat(files->folder_fd,
			subfolder,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir_fd == -1) {
		return errno;
	}
	dir = fdopendir(dir_fd);
	if (dir == NULL) {
		error = errno;
		close(dir_fd);
		return error;
	}
	for (;;) {
		errno = 0;
		entry = readdir(dir);
		if (entry == NULL) {
			if (errno != 0) {
				error = errno;
			}
			break;
		}
		if (strncmp(entry->d_name, id, ID_DIGITS) != 0) {
			continue;
		}
		*fd = file_open(dir_fd, entry->d_name);
		error = 0;
		if (*fd == -1) {
			error = errno == ENOENT ? EAGAIN : errno;
		}
		break;
	}
	closedir(dir);
	return error;
}

int ntvfs_stream_file_open(struct ntvfs_stream_files *files,
			   const struct ntvfs_stream_claim *claim,
			   const void *pointer,
			   size_t pointer_length,
			   bool *claimed,
			   int *fd)
{
	struct ntvfs_stream_pointer valid;
	char name[NAME_SIZE];
	unsigned searches = 0;
	int error;

	*claimed = false;
	*fd = -1;
	error = ntvfs_stream_pointer_parse(pointer, pointer_length, &valid);
	if (error != 0) {
		return error;
	}
	error = folder_open(files, false);
	if (error != 0) {
		return error;
	}
	file_name(&valid, claim, name);
	*fd = file_open(files->folder_fd, name);
	if (*fd != -1) {
		*claimed = true;
		return 0;
	}
	if (errno != ENOENT) {
		return errno;
	}
	do {
		error = unclaimed_open(files, name, fd);
		searches++;
	} while (error == EAGAIN && searches < SEARCHES);
	return error;
}

static int copy_data(int from_fd, int to_fd)
{
	char buffer[65536];
	off_t offset = 0;

	/* shares the blocks where the file system can */
	if (ioctl(to_fd, FICLONE, from_fd) == 0) {
		return 0;
	}
	for (;;) {
		ssize_t n = pread(from_fd, buffer, sizeof(buffer), offset);
		ssize_t written = 0;

		if (n == 0) {
			return 0;
		}
		if (n == -1) {
			if (errno == EINTR) {
				continue;
			}
			return errno;
		}
		while (written < n) {
			ssize_t w = pwrite(to_fd,
					   buffer + written,
					   (size_t)(n - written),
					   offset + written);
			if (w == -1) {
				if (errno == EINTR) {
					continue;
				}
				return errno;
			}
			written += w;
		}
		offset += n;
	}
}

int ntvfs_stream_file_copy(struct ntvfs_stream_files *files,
			   const struct ntvfs_stream_claim *claim,
			   uid_t uid,
			   gid_t gid,
			   int from_fd,
			   struct ntvfs_stream_pointer *pointer,
			   int *fd)
{
	char name[NAME_SIZE];
	int error;

	*fd = -1;
	error = file_create(files, claim, uid, gid, pointer, name, fd);
	if (error != 0) {
		return error;
	}
	error = copy_data(from_fd, *fd);
	if (error == 0) {
		error = file_sync(files, name, *fd);
	}
	if (error != 0) {
		unlinkat(files->folder_fd, name, 0);
		close(*fd);
		*fd = -1;
	}
	return error;
}

int ntvfs_stream_file_pass(struct ntvfs_stream_files *files,
			   const struct ntvfs_stream_claim *from,
			   const struct ntvfs_stream_claim *to,
			   const void *pointer,
			   size_t pointer_length)
{
	struct ntvfs_stream_pointer valid;
	char from_name[NAME_SIZE];
	char to_name[NAME_SIZE];
	int error;

	error = ntvfs_stream_pointer_parse(pointer, pointer_length, &valid);
	if (error != 0) {
		return error;
	}
	error = folder_open(files, false);
	if (error != 0) {
		return error;
	}
	file_name(&valid, from, from_name);
	file_name(&valid, to, to_name);
	if (renameat(files->folder_fd, from_name, files->folder_fd, to_name) !=
		    0 &&
	    errno != ENOENT)
	{
		return errno;
	}
	return 0;
}

int ntvfs_stream_file_remove(struct ntvfs_stream_files *files,
			     const struct ntvfs_stream_claim *claim,
			     const void *pointer,
			     size_t pointer_length)
{
	struct ntvfs_stream_pointer valid;
	char name[NAME_SIZE];
	int error;

	error = ntvfs_stream_pointer_parse(pointer, pointer_length, &valid);
	if (error != 0) {
		return error;
	}
	error = folder_open(files, false);
	if (error != 0) {
		return error;
	}
	/* S1: under any other name it is another stream's */
	file_name(&valid, claim, name);
	if (unlinkat(files->folder_fd, name, 0) != 0 && errno != ENOENT) {
		return errno;
	}
	return 0;
}

static struct flock lock_of(uint64_t volume, uint64_t inode, short type)
{
	uint64_t key[2] = {volume, inode};

	return (struct flock){
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = (off_t)(XXH64(key, sizeof(key), 0) % LOCKS),
		.l_len = 1,
	};
}

int ntvfs_stream_files_lock(struct ntvfs_stream_files *files,
			    uint64_t volume,
			    uint64_t inode)
{
	struct flock lock = lock_of(volume, inode, F_WRLCK);

	if (files->lock_fd == -1) {
		files->lock_fd = open(files->lock_path,
				      O_RDWR | O_CREAT | O_NOFOLLOW |
					      O_CLOEXEC,
				      0600);
		if (files->lock_fd == -1) {
			return errno;
		}
	}
	/* the description is this process's own: no fork in between */
	while (fcntl(files->lock_fd, F_OFD_SETLKW, &lock) != 0) {
		if (errno != EINTR) {
			return errno;
		}
	}
	return 0;
}

void ntvfs_stream_files_unlock(struct ntvfs_stream_files *files,
			       uint64_t volume,
			       uint64_t inode)
{
	struct flock lock = lock_of(volume, inode, F_UNLCK);

	/* cannot fail: the lock is there */
	(void)fcntl(files->lock_fd, F_OFD_SETLK, &lock);
}
