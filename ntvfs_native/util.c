/*
 * Small things the engine needs from the host: time, futex, checksum; and
 * withdrawing.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>
#include "volume.h"

#ifdef NTVFS_KILL_POINTS
void (*nv_kill_point_hook)(const char *name);
#endif

void nv_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#else
	atomic_signal_fence(memory_order_seq_cst);
#endif
}

uint64_t nv_milliseconds(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Seconds from 1601 to 1970. */
#define NTTIME_EPOCH UINT64_C(11644473600)

uint64_t nv_now(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_REALTIME, &now);
	return ((uint64_t)now.tv_sec + NTTIME_EPOCH) * 10000000 +
		(uint64_t)now.tv_nsec / 100;
}

void nv_futex_wait(_Atomic uint32_t *word, uint32_t value,
		   uint32_t milliseconds)
{
	struct timespec timeout = {
		.tv_sec = milliseconds / 1000,
		.tv_nsec = (long)(milliseconds % 1000) * 1000000,
	};

	syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, NULL, 0);
}

void nv_futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

uint64_t nv_checksum(const void *data, size_t length)
{
	return XXH3_64bits(data, length);
}

static void tell_withdrawn(struct nv_volume *volume)
{
	if (volume->withdrawn == NULL) {
		return;
	}
	if (atomic_exchange(&volume->told_withdrawn, 1) != 0) {
		return;
	}
	volume->withdrawn(volume->private_data, volume->segment->reason);
}

bool nv_is_withdrawn(struct nv_volume *volume)
{
	if (atomic_load(&volume->segment->withdrawn) == 0) {
		return false;
	}
	tell_withdrawn(volume);
	return true;
}

enum nv_status nv_withdraw(struct nv_volume *volume, enum nv_status status,
			   const char *format, ...)
{
	struct nv_segment *segment = volume->segment;
	uint32_t unset = 0;
	va_list args;

	/*
	 * 1 while the reason is being written: readers treat any value as
	 * withdrawn, and a half-written reason is still terminated, because
	 * the segment began as zeros and the last byte is never written.
	 */
	if (atomic_compare_exchange_strong(&segment->withdrawn, &unset, 1)) {
		va_start(args, format);
		vsnprintf(segment->reason, sizeof(segment->reason) - 1,
			  format, args);
		va_end(args);
		atomic_store(&segment->withdrawn, 2);
	}
	return status;
}

const char *nv_status_string(enum nv_status status)
{
	switch (status) {
	case NV_OK:
		return "success";
	case NV_ERR_IO:
		return "input/output error";
	case NV_ERR_CORRUPT:
		return "the volume is damaged";
	case NV_ERR_WITHDRAWN:
		return "the volume was withdrawn after an error";
	case NV_ERR_READ_ONLY:
		return "attached read-only";
	case NV_ERR_NO_SPACE:
		return "no space left on the volume";
	case NV_ERR_NO_MEMORY:
		return "out of memory";
	case NV_ERR_NO_SLOT:
		return "too many threads use the volume";
	case NV_ERR_NOT_A_VOLUME:
		return "not an ntvfs volume";
	case NV_ERR_VERSION:
		return "a format version that this build does not know";
	case NV_ERR_SHRUNK:
		return "the image is smaller than its volume";
	case NV_ERR_IN_USE:
		return "the volume is in use";
	case NV_ERR_SEGMENT:
		return "the shared segment cannot be made";
	case NV_ERR_INVALID:
		return "invalid argument";
	case NV_ERR_NOT_FOUND:
		return "not found";
	case NV_ERR_EXISTS:
		return "exists already";
	case NV_ERR_NOT_EMPTY:
		return "directory not empty";
	case NV_ERR_NOT_DIRECTORY:
		return "not a directory";
	case NV_ERR_IS_DIRECTORY:
		return "is a directory";
	case NV_ERR_NAME:
		return "bad name";
	case NV_ERR_TOO_LARGE:
		return "too large";
	case NV_ERR_TOO_MANY_LINKS:
		return "too many links";
	case NV_ERR_LOOP:
		return "a directory cannot move below itself";
	case NV_ERR_RETRY:
		return "try again";
	}
	return "unknown status";
}
