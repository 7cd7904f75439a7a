/*
 * Allocations that fail when a test says so.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * For programs linked with the flags in TEST_ALLOCATION of this folder's
 * wscript, which lead the calls of talloc made by the code under test here.
 */

#ifndef NTVFS_POSIX_TEST_ALLOCATION_H
#define NTVFS_POSIX_TEST_ALLOCATION_H

#include <limits.h>
#include <stdbool.h>
#include <talloc.h>

/* So many allocations more succeed, then all fail. */
static unsigned test_allocations_left = UINT_MAX;

static inline bool test_allocation_fails(void)
{
	if (test_allocations_left == UINT_MAX) {
		return false;
	}
	if (test_allocations_left == 0) {
		return true;
	}
	test_allocations_left--;
	return false;
}

void *__real__talloc(const void *ctx, size_t size);
void *__wrap__talloc(const void *ctx, size_t size);
void *__wrap__talloc(const void *ctx, size_t size)
{
	return test_allocation_fails() ? NULL : __real__talloc(ctx, size);
}

void *__real__talloc_zero(const void *ctx, size_t size, const char *name);
void *__wrap__talloc_zero(const void *ctx, size_t size, const char *name);
void *__wrap__talloc_zero(const void *ctx, size_t size, const char *name)
{
	return test_allocation_fails() ? NULL
				       : __real__talloc_zero(ctx, size, name);
}

void *__real_talloc_named_const(const void *ctx, size_t size, const char *name);
void *__wrap_talloc_named_const(const void *ctx, size_t size, const char *name);
void *__wrap_talloc_named_const(const void *ctx, size_t size, const char *name)
{
	return test_allocation_fails()
		       ? NULL
		       : __real_talloc_named_const(ctx, size, name);
}

void *__real__talloc_array(const void *ctx,
			   size_t size,
			   unsigned count,
			   const char *name);
void *__wrap__talloc_array(const void *ctx,
			   size_t size,
			   unsigned count,
			   const char *name);
void *__wrap__talloc_array(const void *ctx,
			   size_t size,
			   unsigned count,
			   const char *name)
{
	return test_allocation_fails()
		       ? NULL
		       : __real__talloc_array(ctx, size, count, name);
}

void *__real__talloc_zero_array(const void *ctx,
				size_t size,
				unsigned count,
				const char *name);
void *__wrap__talloc_zero_array(const void *ctx,
				size_t size,
				unsigned count,
				const char *name);
void *__wrap__talloc_zero_array(const void *ctx,
				size_t size,
				unsigned count,
				const char *name)
{
	return test_allocation_fails()
		       ? NULL
		       : __real__talloc_zero_array(ctx, size, count, name);
}

void *__real__talloc_realloc_array(const void *ctx,
				   void *old,
				   size_t size,
				   unsigned count,
				   const char *name);
void *__wrap__talloc_realloc_array(const void *ctx,
				   void *old,
				   size_t size,
				   unsigned count,
				   const char *name);
void *__wrap__talloc_realloc_array(const void *ctx,
				   void *old,
				   size_t size,
				   unsigned count,
				   const char *name)
{
	return test_allocation_fails()
		       ? NULL
		       : __real__talloc_realloc_array(
				 ctx, old, size, count, name);
}

char *__real_talloc_strdup(const void *ctx, const char *text);
char *__wrap_talloc_strdup(const void *ctx, const char *text);
char *__wrap_talloc_strdup(const void *ctx, const char *text)
{
	return test_allocation_fails() ? NULL
				       : __real_talloc_strdup(ctx, text);
}

#endif /* NTVFS_POSIX_TEST_ALLOCATION_H */
