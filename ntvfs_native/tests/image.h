/*
 * Damaging images on purpose: bytes are changed, and then all checksums are
 * made right again, so that what is wrong is met behind them.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_NATIVE_TESTS_IMAGE_H
#define NTVFS_NATIVE_TESTS_IMAGE_H

#include "format.h"

/* An image in memory. */
struct image {
	uint8_t *bytes;
	uint64_t size;
};

/* The newest root that is valid, NULL: none. */
struct nv_disk_root *image_root(const struct image *image);
/* The 4,096 bytes of a page, NULL: it does not exist. */
void *image_page(const struct image *image, uint64_t page);
/* An inode, in use or not; NULL: its page does not exist. */
struct nv_disk_inode *image_inode(const struct image *image, uint64_t ino);

/*
 * Make every checksum right that can be reached from the newest root, which
 * the caller may have damaged: root is what image_root said before. The super
 * block's too.
 */
void image_reseal(const struct image *image, struct nv_disk_root *root);

#endif
