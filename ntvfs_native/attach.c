/*
 * Attaching and detaching.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Two bytes of the image, far behind its end, carry OFD locks. INIT is held
 * exclusively by who attaches or detaches; only its holder ever asks for USE
 * exclusively, without waiting, to find out whether it is alone. All others
 * hold USE shared. So nobody waits while holding USE, and a sharer never
 * finds USE taken.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "attach.h"
#include "reclaim.h"
#include "volume.h"

#define INIT_BYTE ((off_t)1 << 61)
#define USE_BYTE (INIT_BYTE + 1)

/* How long to wait for others who are attaching, in milliseconds. */
#define INIT_PATIENCE 60000

static int lock_byte(const struct nv_io *io, off_t byte, short type)
{
	struct flock lock = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = byte,
		.l_len = 1,
	};

	if (fcntl(io->lock_fd, F_OFD_SETLK, &lock) != 0) {
		return errno;
	}
	return 0;
}

static int lock_init(const struct nv_io *io)
{
	uint64_t start = nv_milliseconds();
	struct timespec pause = {.tv_nsec = 1000000};
	int ret;

	for (;;) {
		ret = lock_byte(io, INIT_BYTE, F_WRLCK);
		if (ret != EAGAIN && ret != EACCES) {
			return ret;
		}
		if (nv_milliseconds() - start > INIT_PATIENCE) {
			return ETIMEDOUT;
		}
		nanosleep(&pause, NULL);
	}
}

enum nv_status nv_image_lock_alone(struct nv_io *io)
{
	if (io->lock_fd < 0 || lock_init(io) != 0) {
		return NV_ERR_IN_USE;
	}
	if (lock_byte(io, USE_BYTE, F_WRLCK) != 0) {
		lock_byte(io, INIT_BYTE, F_UNLCK);
		return NV_ERR_IN_USE;
	}
	return NV_OK;
}

void nv_image_unlock(struct nv_io *io)
{
	lock_byte(io, USE_BYTE, F_UNLCK);
	lock_byte(io, INIT_BYTE, F_UNLCK);
}

static void say(char *message, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(char *message, const char *format, ...)
{
	va_list args;

	if (message == NULL) {
		return;
	}
	va_start(args, format);
	vsnprintf(message, NV_MESSAGE_SIZE, format, args);
	va_end(args);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9') {
		return c - '0';
	}
	if (c >= 'a' && c <= 'f') {
		return c - 'a' + 10;
	}
	return -1;
}

/* 32 hex digits, dashes between them ignored. */
static void read_id(const char *path, uint8_t id[16])
{
	char text[64] = {0};
	uint32_t digits = 0;
	ssize_t got;
	ssize_t i;
	int fd;

	memset(id, 0, 16);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return;
	}
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	for (i = 0; i < got && digits < 32; i++) {
		int value = hex_digit(text[i]);

		if (value < 0) {
			continue;
		}
		id[digits / 2] = (uint8_t)((id[digits / 2] << 4) | value);
		digits++;
	}
}

static enum nv_status read_super(struct nv_volume *volume, char *message)
{
	struct nv_io *io = volume->io;
	struct nv_disk_super *super = &volume->super;
	int ret;

	if (io->size < (uint64_t)NV_MIN_BLOCKS << NV_BLOCK_SHIFT) {
		say(message, "the image has %llu bytes, too few for a volume; "
		    "is it the right file?", (unsigned long long)io->size);
		return NV_ERR_NOT_A_VOLUME;
	}
	ret = io->ops->pread(io, super, sizeof(*super), NV_SUPER_BLOCK);
	if (ret != 0) {
		say(message, "the super block cannot be read: %s",
		    strerror(ret));
		return NV_ERR_IO;
	}
	if (super->magic != NV_SUPER_MAGIC) {
		say(message, "no ntvfs super block; format the image with "
		    "mkfs.ntvfs, or name the right one");
		return NV_ERR_NOT_A_VOLUME;
	}
	if (super->format_version != NV_FORMAT_VERSION ||
	    super->features != 0) {
		say(message, "format version %u with features 0x%x; this "
		    "build knows version %u: use a newer ntvfs",
		    super->format_version, super->features,
		    NV_FORMAT_VERSION);
		return NV_ERR_VERSION;
	}
	if (!nv_super_valid(super)) {
		say(message, "the super block is damaged (bad checksum); run "
		    "fsck.ntvfs --repair");
		return NV_ERR_CORRUPT;
	}
	volume->inode_size = super->inode_size;
	volume->inodes_per_page = NV_BLOCK_SIZE / super->inode_size;
	return NV_OK;
}

static enum nv_status read_root(struct nv_volume *volume,
				struct nv_disk_root *root, char *message)
{
	enum nv_status status;

	status = nv_root_find(volume->io, &volume->super, root);
	if (status == NV_ERR_CORRUPT) {
		say(message, "both roots are damaged (bad checksum); restore "
		    "the image from a backup");
	}
	if (status == NV_ERR_IO) {
		say(message, "the roots cannot be read");
	}
	if (status != NV_OK) {
		return status;
	}
	if (root->total_blocks > volume->io->size >> NV_BLOCK_SHIFT) {
		say(message, "the volume has %llu blocks, the image only "
		    "%llu: make the image as long as it was",
		    (unsigned long long)root->total_blocks,
		    (unsigned long long)(volume->io->size >> NV_BLOCK_SHIFT));
		return NV_ERR_SHRUNK;
	}
	return NV_OK;
}

/* Under INIT and USE exclusively: nobody else has it attached. */
static enum nv_status start_alone(struct nv_volume *volume, char *message)
{
	struct nv_disk_root root;
	enum nv_status status;
	bool survived = false;
	int ret;

	status = read_root(volume, &root, message);
	if (status != NV_OK) {
		return status;
	}
	survived = nv_segment_usable(volume, &root);
	if (root.state == NV_STATE_ATTACHED && !survived &&
	    memcmp(root.machine_id, volume->machine_id, 16) != 0 &&
	    (volume->flags & NV_ATTACH_FORCE) == 0) {
		say(message, "another machine has the volume attached or "
		    "crashed with it; if it is certainly down, attach by "
		    "force");
		return NV_ERR_IN_USE;
	}
	status = nv_segment_map(volume, !survived);
	if (status != NV_OK) {
		say(message, "segment %s cannot be made; is there room on "
		    "its tmpfs?", volume->segment_path);
		return status;
	}
	ret = volume->io->ops->map(volume->io,
				   volume->layout.max_blocks << NV_BLOCK_SHIFT,
				   (void **)&volume->base);
	if (ret != 0) {
		say(message, "the image cannot be mapped: %s", strerror(ret));
		return NV_ERR_IO;
	}
	nv_sigbus_watch(volume);
	if (!survived) {
		/*
		 * What we read may be in the page cache only, root included:
		 * no block that it says is free may be used before it is
		 * durable (I4).
		 */
		if (volume->io->ops->flush(volume->io) != 0) {
			say(message, "the image cannot be flushed; look after "
			    "the disk");
			return NV_ERR_IO;
		}
		return nv_load(volume, &root, message);
	}
	nv_locks_init(volume->segment);
	nv_slots_bury(volume);
	nv_holds_clear(volume);
	nv_commit_repair(volume);
	return NV_OK;
}

static enum nv_status join(struct nv_volume *volume, char *message)
{
	enum nv_status status;
	int ret;

	status = nv_segment_map(volume, false);
	if (status != NV_OK ||
	    atomic_load(&volume->segment->ready) != NV_SEGMENT_MAGIC ||
	    memcmp(volume->segment->uuid, volume->super.uuid, 16) != 0) {
		say(message, "the volume is attached, but %s is not its "
		    "segment; use the same segment directory everywhere",
		    volume->segment_path);
		return NV_ERR_SEGMENT;
	}
	ret = volume->io->ops->map(volume->io,
				   volume->layout.max_blocks << NV_BLOCK_SHIFT,
				   (void **)&volume->base);
	if (ret != 0) {
		say(message, "the image cannot be mapped: %s", strerror(ret));
		return NV_ERR_IO;
	}
	nv_sigbus_watch(volume);
	return NV_OK;
}

/*
 * Under INIT. On success USE is held shared.
 */
static enum nv_status attach_locked(struct nv_volume *volume,
				    const char *directory, char *message,
				    bool *alone)
{
	enum nv_status status;
	int ret;

	status = read_super(volume, message);
	if (status != NV_OK) {
		return status;
	}
	ret = nv_segment_open(volume, directory);
	if (ret != 0) {
		say(message, "segment %s cannot be opened: %s",
		    volume->segment_path, strerror(ret));
		return NV_ERR_SEGMENT;
	}
	*alone = lock_byte(volume->io, USE_BYTE, F_WRLCK) == 0;
	if (*alone) {
		status = start_alone(volume, message);
	} else {
		ret = lock_byte(volume->io, USE_BYTE, F_RDLCK);
		if (ret != 0) {
			say(message, "the image cannot be locked: %s",
			    strerror(ret));
			return NV_ERR_IN_USE;
		}
		status = join(volume, message);
	}
	if (status != NV_OK) {
		lock_byte(volume->io, USE_BYTE, F_UNLCK);
		return status;
	}
	if (*alone) {
		/* Never fails: we hold it exclusively. */
		lock_byte(volume->io, USE_BYTE, F_RDLCK);
	}
	return NV_OK;
}

static enum nv_status become_ready(struct nv_volume *volume, bool alone,
				   char *message)
{
	enum nv_status status;

	status = nv_upcase_load(volume);
	if (status != NV_OK) {
		say(message, "the upcase table cannot be read; run "
		    "fsck.ntvfs");
		return status;
	}
	if (!alone || (volume->flags & NV_ATTACH_READ_ONLY) != 0) {
		return NV_OK;
	}
	/* From now on the root says that the volume is attached here. */
	status = nv_commit_all(volume, NV_STATE_ATTACHED);
	if (status == NV_OK) {
		status = nv_orphans_reclaim(volume);
	}
	if (status != NV_OK) {
		say(message, "the volume cannot be brought up: %s",
		    volume->segment->reason[0] != 0 ?
		    volume->segment->reason : nv_status_string(status));
	}
	return status;
}

static void free_volume(struct nv_volume *volume, bool remove_segment)
{
	nv_sigbus_forget(volume);
	volume->io->ops->unmap(volume->io);
	nv_segment_unmap(volume, remove_segment);
	pthread_key_delete(volume->slot_key);
	pthread_mutex_destroy(&volume->slots_mutex);
	free(volume);
}

enum nv_status nv_volume_attach(struct nv_io *io,
				const struct nv_attach_params *params,
				struct nv_volume **result, char *message)
{
	static const struct nv_attach_params defaults;
	struct nv_volume *volume = NULL;
	enum nv_status status;
	bool alone = false;
	int ret;

	if (params == NULL) {
		params = &defaults;
	}
	if (io->lock_fd < 0 || io->read_only) {
		say(message, "the image must be opened for writing");
		return NV_ERR_INVALID;
	}
	volume = calloc(1, sizeof(*volume));
	if (volume == NULL) {
		say(message, "out of memory");
		return NV_ERR_NO_MEMORY;
	}
	volume->io = io;
	volume->segment_fd = -1;
	volume->process_slot = UINT32_MAX;
	volume->forks = nv_forks();
	volume->flags = params->flags;
	volume->commit_interval = params->commit_interval;
	if (volume->commit_interval == 0) {
		volume->commit_interval = 5000;
	}
	volume->withdrawn = params->withdrawn;
	volume->private_data = params->private_data;
	read_id("/proc/sys/kernel/random/boot_id", volume->boot_id);
	read_id("/etc/machine-id", volume->machine_id);
	pthread_mutex_init(&volume->slots_mutex, NULL);
	if (pthread_key_create(&volume->slot_key, nv_slot_thread_ends) != 0) {
		pthread_mutex_destroy(&volume->slots_mutex);
		free(volume);
		say(message, "too many attached volumes in this process");
		return NV_ERR_NO_MEMORY;
	}

	ret = lock_init(io);
	if (ret != 0) {
		say(message, "the image cannot be locked: %s; another process "
		    "has been attaching for too long", strerror(ret));
		free_volume(volume, false);
		return NV_ERR_IN_USE;
	}
	status = attach_locked(volume, params->segment_directory, message,
			       &alone);
	if (status == NV_OK) {
		status = become_ready(volume, alone, message);
		if (status != NV_OK) {
			nv_slots_release(volume);
			lock_byte(io, USE_BYTE, F_UNLCK);
		}
	}
	lock_byte(io, INIT_BYTE, F_UNLCK);
	if (status != NV_OK) {
		free_volume(volume, false);
		return status;
	}
	*result = volume;
	return NV_OK;
}

enum nv_status nv_volume_detach(struct nv_volume *volume)
{
	struct nv_io *io = volume->io;
	enum nv_status status = NV_OK;
	bool keep_io = false;
	bool last = false;
	int ret;

	if (volume->forks != nv_forks()) {
		/*
		 * Our parent's: its locks are of the same descriptions, so
		 * unlocking here would unlock there. Closing does not.
		 */
		free_volume(volume, false);
		io->ops->close(io);
		return NV_OK;
	}
	nv_holds_drop(volume);
	ret = lock_init(io);
	nv_slots_release(volume);
	last = ret == 0 && lock_byte(io, USE_BYTE, F_WRLCK) == 0;
	if (last && (volume->flags & NV_ATTACH_READ_ONLY) == 0) {
		nv_slots_bury(volume);
		nv_holds_clear(volume);
		status = nv_orphans_reclaim(volume);
		nv_slots_release(volume);
		if (status == NV_OK) {
			status = nv_commit_all(volume, NV_STATE_CLEAN);
		}
	}
	/*
	 * A segment whose last commit failed is not kept: the disk has what
	 * it has, and the next attacher starts from there.
	 */
	keep_io = volume->keep_io;
	free_volume(volume, last);
	if (keep_io) {
		lock_byte(io, USE_BYTE, F_UNLCK);
		lock_byte(io, INIT_BYTE, F_UNLCK);
	} else {
		io->ops->close(io);
	}
	return status;
}
