/*
 * The image goes away under its mapping: withdraw instead of dying.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A device that is gone or an image that was cut short makes the kernel send
 * SIGBUS for an access to the mapping. The handler marks the volume withdrawn,
 * puts a private page of zeros in place of the missing one, and lets the
 * access go on: what it reads fails every check, what it writes goes nowhere,
 * and no commit follows. A SIGBUS from elsewhere goes to the handler that was
 * there before.
 */

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include "volume.h"

#define WATCHED 64

static struct {
	/* Stored under watch_mutex; base last when added, first when
	 * removed, so that the handler sees whole entries only. */
	_Atomic uintptr_t base;
	size_t length;
	struct nv_segment *segment;
} watched[WATCHED];

static pthread_mutex_t watch_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction previous;

static void withdraw(struct nv_segment *segment)
{
	static const char reason[] = "the image went away under its mapping "
		"(SIGBUS); look after the disk, detach everywhere, attach "
		"again";
	uint32_t unset = 0;

	if (atomic_compare_exchange_strong(&segment->withdrawn, &unset, 1)) {
		memcpy(segment->reason, reason, sizeof(reason));
		atomic_store(&segment->withdrawn, 2);
	}
}

static bool handle(const void *address)
{
	uintptr_t at = (uintptr_t)address;
	uint32_t i;

	for (i = 0; i < WATCHED; i++) {
		uintptr_t base = atomic_load(&watched[i].base);
		void *page = (void *)(at & ~(uintptr_t)(NV_BLOCK_SIZE - 1));
		void *got = NULL;

		if (base == 0 || at < base || at - base >= watched[i].length) {
			continue;
		}
		withdraw(watched[i].segment);
		got = mmap(page, NV_BLOCK_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		return got != MAP_FAILED;
	}
	return false;
}

static void on_sigbus(int number, siginfo_t *info, void *context)
{
	if (handle(info->si_addr)) {
		return;
	}
	if ((previous.sa_flags & SA_SIGINFO) != 0) {
		previous.sa_sigaction(number, info, context);
	} else if (previous.sa_handler != SIG_DFL &&
		   previous.sa_handler != SIG_IGN) {
		previous.sa_handler(number);
	} else {
		/* The access is done again, and ends the process. */
		signal(SIGBUS, SIG_DFL);
	}
}

void nv_sigbus_watch(struct nv_volume *volume)
{
	struct sigaction action = {
		.sa_sigaction = on_sigbus,
		.sa_flags = SA_SIGINFO | SA_NODEFER,
	};
	struct sigaction present = {0};
	uint32_t i;

	pthread_mutex_lock(&watch_mutex);
	/* The host program may have set its own handler since the last time. */
	sigemptyset(&action.sa_mask);
	if (sigaction(SIGBUS, NULL, &present) == 0 &&
	    present.sa_sigaction != on_sigbus) {
		previous = present;
		sigaction(SIGBUS, &action, NULL);
	}
	for (i = 0; i < WATCHED; i++) {
		if (atomic_load(&watched[i].base) != 0) {
			continue;
		}
		watched[i].length = volume->layout.max_blocks <<
			NV_BLOCK_SHIFT;
		watched[i].segment = volume->segment;
		atomic_store(&watched[i].base, (uintptr_t)volume->base);
		break;
	}
	pthread_mutex_unlock(&watch_mutex);
}

void nv_sigbus_forget(struct nv_volume *volume)
{
	uint32_t i;

	pthread_mutex_lock(&watch_mutex);
	for (i = 0; i < WATCHED; i++) {
		if (atomic_load(&watched[i].base) == (uintptr_t)volume->base) {
			atomic_store(&watched[i].base, 0);
		}
	}
	pthread_mutex_unlock(&watch_mutex);
}
