/*
 * The engine's benchmark on a native volume.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "bench/engine_store.h"
#include "io.h"
#include "ntvfs_native.h"

struct native_state {
	struct nv_volume *volume;
	nv_file_id root;
	/* names of a listing, and the last of the page before */
	struct nv_found found[64];
	uint16_t after[NV_NAME_MAX + 1];
};

struct native_name {
	uint16_t units[NV_NAME_MAX + 1];
	struct nv_name name;
};

static const struct nv_name *to_name(struct native_name *made,
				     const char *text)
{
	uint32_t i;

	for (i = 0; text[i] != '\0' && i < NV_NAME_MAX; i++) {
		made->units[i] = (unsigned char)text[i];
	}
	made->name.units = made->units;
	made->name.length = i;
	return &made->name;
}

static int native_attach(struct store *store, const char *where)
{
	struct nv_attach_params params = {.flags = 0};
	struct nv_volume_statistics statistics;
	struct native_state *state = calloc(1, sizeof(*state));
	char message[NV_MESSAGE_SIZE];
	enum nv_status status;
	struct nv_io *io = NULL;
	int error;

	if (state == NULL) {
		return ENOMEM;
	}
	error = nv_io_open(where, false, &io);
	if (error != 0) {
		free(state);
		return error;
	}
	status = nv_volume_attach(io, &params, &state->volume, message);
	if (status != NV_OK) {
		io->ops->close(io);
		free(state);
		return nv_status_errno(status);
	}
	status = nv_volume_statistics(state->volume, &statistics);
	state->root = statistics.root_directory;
	store->state = state;
	return nv_status_errno(status);
}

static int native_detach(struct store *store)
{
	struct native_state *state = store->state;
	enum nv_status status = nv_volume_detach(state->volume);

	free(state);
	store->state = NULL;
	return nv_status_errno(status);
}

static int native_make(struct native_state *state, nv_file_id dir,
		       const char *name, uint32_t type, nv_file_id *id)
{
	struct nv_create_params params = {.type = type};
	struct native_name made;

	params.name = *to_name(&made, name);
	params.info_mask = NV_INFO_ATTRIBUTES | NV_INFO_TIMES;
	params.info.attributes = 0x20;
	params.info.creation_time = 133000000000000000;
	params.info.last_access_time = params.info.creation_time + 1;
	params.info.last_write_time = params.info.creation_time + 2;
	params.info.change_time = params.info.creation_time + 3;
	params.sd = bench_descriptor();
	params.sd_length = DESCRIPTOR_SIZE;
	return nv_status_errno(nv_create(state->volume, dir, &params, id));
}

static int native_lookup_id(struct native_state *state, nv_file_id dir,
			    const char *name, nv_file_id *id)
{
	struct native_name made;
	struct nv_found found;
	enum nv_status status;

	status = nv_lookup(state->volume, dir, to_name(&made, name), &found);
	*id = found.id;
	return nv_status_errno(status);
}

static int native_directory(struct store *store, const char *name,
			    uint64_t *dir)
{
	struct native_state *state = store->state;
	int error;

	error = native_make(state, state->root, name, NV_DIRECTORY, dir);
	if (error == EEXIST) {
		error = native_lookup_id(state, state->root, name, dir);
	}
	return error;
}

static int native_create(struct store *store, uint64_t dir, const char *name)
{
	nv_file_id id;

	return native_make(store->state, dir, name, NV_FILE, &id);
}

static int native_remove(struct store *store, uint64_t dir, const char *name)
{
	struct native_state *state = store->state;
	struct native_name made;

	return nv_status_errno(nv_unlink(state->volume,
					 dir,
					 to_name(&made, name),
					 0,
					 0));
}

static int native_rename(struct store *store, uint64_t dir, const char *from,
			 const char *to)
{
	struct native_state *state = store->state;
	struct native_name made_from;
	struct native_name made_to;

	return nv_status_errno(nv_rename(state->volume,
					 dir,
					 to_name(&made_from, from),
					 0,
					 dir,
					 to_name(&made_to, to),
					 NULL,
					 0,
					 0));
}

static int native_stat_meta(struct store *store, uint64_t dir,
			    const char *name)
{
	struct native_state *state = store->state;
	uint8_t sd[DESCRIPTOR_SIZE];
	uint32_t length = sizeof(sd);
	struct nv_info info;
	enum nv_status status;
	nv_file_id id;
	int error;

	error = native_lookup_id(state, dir, name, &id);
	if (error != 0) {
		return error;
	}
	status = nv_get_info(state->volume, id, &info);
	if (status == NV_OK) {
		status = nv_sd_get_by_id(state->volume,
					 info.sd_id,
					 sd,
					 &length);
	}
	return nv_status_errno(status);
}

static int native_lookup(struct store *store, uint64_t dir, const char *name)
{
	nv_file_id id;

	return native_lookup_id(store->state, dir, name, &id);
}

static int native_list(struct store *store, uint64_t dir, size_t *count)
{
	struct native_state *state = store->state;
	const uint32_t page = sizeof(state->found) / sizeof(state->found[0]);
	struct nv_name after = {.units = state->after};
	uint32_t returned = 0;
	enum nv_status status;

	*count = 0;
	do {
		status = nv_enumerate(state->volume,
				      dir,
				      *count == 0 ? NULL : &after,
				      state->found,
				      page,
				      &returned);
		if (status != NV_OK) {
			return nv_status_errno(status);
		}
		*count += returned;
		if (returned > 0) {
			const struct nv_found *last =
				&state->found[returned - 1];

			memcpy(state->after,
			       last->name,
			       last->name_length * sizeof(uint16_t));
			after.length = last->name_length;
		}
	} while (returned == page);
	return 0;
}

static int native_open(struct store *store, uint64_t dir, const char *name,
		       struct handle *handle)
{
	return native_lookup_id(store->state, dir, name, &handle->id);
}

static int native_close(struct store *store, struct handle *handle)
{
	struct native_state *state = store->state;

	nv_done_writing(state->volume, handle->id);
	return 0;
}

static int native_set_times(struct store *store, struct handle *handle,
			    uint64_t nttime)
{
	struct native_state *state = store->state;
	struct nv_info info = {
		.creation_time = nttime,
		.last_access_time = nttime + 1,
		.last_write_time = nttime + 2,
		.change_time = nttime + 3,
	};

	return nv_status_errno(nv_set_info(state->volume,
					   handle->id,
					   NV_INFO_TIMES,
					   &info));
}

static int native_read(struct store *store, struct handle *handle, void *data,
		       size_t length, uint64_t offset)
{
	struct native_state *state = store->state;
	enum nv_status status;
	size_t done = 0;

	status = nv_read(state->volume,
			 handle->id,
			 offset,
			 data,
			 length,
			 &done);
	if (status == NV_OK && done != length) {
		return EIO;
	}
	return nv_status_errno(status);
}

static int native_write(struct store *store, struct handle *handle,
			const void *data, size_t length, uint64_t offset)
{
	struct native_state *state = store->state;

	return nv_status_errno(nv_write(state->volume,
					handle->id,
					offset,
					data,
					length,
					133000000000000000 + offset));
}

struct store store_native = {
	.name = "native",
	.attach = native_attach,
	.detach = native_detach,
	.directory = native_directory,
	.create = native_create,
	.remove = native_remove,
	.rename = native_rename,
	.stat_meta = native_stat_meta,
	.lookup = native_lookup,
	.list = native_list,
	.open = native_open,
	.close = native_close,
	.set_times = native_set_times,
	.read = native_read,
	.write = native_write,
};
