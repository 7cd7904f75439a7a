/*
 * What the files of the data path share.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef NTVFS_NATIVE_DATA_H
#define NTVFS_NATIVE_DATA_H

#include "extent.h"

/* A part of a file and where it is. block 0: reads as zeros. */
struct nv_piece {
	uint64_t offset;	/* bytes in the file */
	uint64_t length;
	uint64_t place;		/* byte on the volume, 0: zeros */
};

#define NV_PIECES 16

/* The state of a file that the data path decides by. */
struct nv_data_state {
	uint64_t size;
	uint64_t allocation;
	uint32_t form;
	uint32_t type;
	uint32_t inline_room;
};

/* A consistent look, without a lock. NV_ERR_IS_DIRECTORY. */
enum nv_status nv_data_look(struct nv_volume *volume, nv_file_id id,
			    struct nv_data_state *state);

/* A consistent nv_extent_seek, without a lock. */
enum nv_status nv_data_seek(struct nv_volume *volume, nv_file_id id,
			    uint32_t logical, struct nv_disk_extent *extent);

/*
 * The rest needs the data lock of the file.
 */

/* Zero what lies behind the end of file (size) in its last block, up to
 * offset (I15). */
enum nv_status nv_data_zero_tail(struct nv_volume *volume, nv_file_id id,
				 uint64_t size, uint64_t offset);

/* Zero [offset, offset + length), which lies in one block, if it is in a
 * written extent. */
enum nv_status nv_data_zero_part(struct nv_volume *volume, nv_file_id id,
				 uint64_t offset, uint64_t length);

/* Move inline data into a block. */
enum nv_status nv_data_spill(struct nv_volume *volume, nv_file_id id);

/* Change a range in as many operations as it takes. */
enum nv_status nv_data_change_range(struct nv_volume *volume, nv_file_id id,
				    uint64_t first, uint64_t end,
				    enum nv_extent_change change);

/* Free the blocks from first on, what an interrupted truncation left. */
enum nv_status nv_data_finish_cut(struct nv_volume *volume, nv_file_id id,
				  uint64_t first);

#endif
