/*
 * The calls of the backend's own files in tests: as the system's, but counted,
 * failed and cut short by the gate of test_fake_io.h. The linker puts them in
 * the place of the system's (see the wscript).
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <stdarg.h>
#include <sys/random.h>
#include "ntvfs_posix/test_fake_io.h"

int __real_open64(const char *path, int flags, ...);
int __real_openat64(int folder, const char *path, int flags, ...);
int __real_mkdirat(int folder, const char *path, mode_t mode);
int __real_renameat(int from, const char *path, int to, const char *new_path);
int __real_unlinkat(int folder, const char *path, int flags);
int __real_fchown(int fd, uid_t uid, gid_t gid);
int __real_fsync(int fd);
int __real_ftruncate64(int fd, off_t size);
ssize_t __real_pwrite64(int fd, const void *data, size_t size, off_t offset);
ssize_t __real_getrandom(void *data, size_t size, unsigned flags);

int __wrap_open64(const char *path, int flags, ...);
int __wrap_openat64(int folder, const char *path, int flags, ...);
int __wrap_mkdirat(int folder, const char *path, mode_t mode);
int __wrap_renameat(int from, const char *path, int to, const char *new_path);
int __wrap_unlinkat(int folder, const char *path, int flags);
int __wrap_fchown(int fd, uid_t uid, gid_t gid);
int __wrap_fsync(int fd);
int __wrap_ftruncate64(int fd, off_t size);
ssize_t __wrap_pwrite64(int fd, const void *data, size_t size, off_t offset);
ssize_t __wrap_getrandom(void *data, size_t size, unsigned flags);

/* What is the caller's mode if flags make one be there. */
static mode_t mode_of(int flags, va_list list)
{
	if (flags & O_CREAT) {
		return va_arg(list, mode_t);
	}
	return 0;
}

int __wrap_open64(const char *path, int flags, ...)
{
	va_list list;
	mode_t mode;

	va_start(list, flags);
	mode = mode_of(flags, list);
	va_end(list);
	if (!fake_gate_pass()) {
		return -1;
	}
	return __real_open64(path, flags, mode);
}

int __wrap_openat64(int folder, const char *path, int flags, ...)
{
	va_list list;
	mode_t mode;

	va_start(list, flags);
	mode = mode_of(flags, list);
	va_end(list);
	if (!fake_gate_pass()) {
		return -1;
	}
	return __real_openat64(folder, path, flags, mode);
}

int __wrap_mkdirat(int folder, const char *path, mode_t mode)
{
	return fake_gate_pass() ? __real_mkdirat(folder, path, mode) : -1;
}

int __wrap_renameat(int from, const char *path, int to, const char *new_path)
{
	return fake_gate_pass() ? __real_renameat(from, path, to, new_path)
				: -1;
}

int __wrap_unlinkat(int folder, const char *path, int flags)
{
	return fake_gate_pass() ? __real_unlinkat(folder, path, flags) : -1;
}

int __wrap_fchown(int fd, uid_t uid, gid_t gid)
{
	return fake_gate_pass() ? __real_fchown(fd, uid, gid) : -1;
}

int __wrap_fsync(int fd)
{
	return fake_gate_pass() ? __real_fsync(fd) : -1;
}

int __wrap_ftruncate64(int fd, off_t size)
{
	return fake_gate_pass() ? __real_ftruncate64(fd, size) : -1;
}

ssize_t __wrap_pwrite64(int fd, const void *data, size_t size, off_t offset)
{
	if (!fake_gate_pass()) {
		return -1;
	}
	/* half at a time, as a system may */
	if (size > 1) {
		size = size / 2;
	}
	return __real_pwrite64(fd, data, size, offset);
}

ssize_t __wrap_getrandom(void *data, size_t size, unsigned flags)
{
	return fake_gate_pass() ? __real_getrandom(data, size, flags) : -1;
}
