/*
 * The reference model: a volume as plain lists in memory, obviously right.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every call follows the contract of the call of the same name in
 * ntvfs_native.h, without blocks, pages, locks or crashes. Objects are known
 * by the file ids that the engine gave them: who makes an object in both says
 * the id to the model.
 */

#ifndef TORTURE_MODEL_H
#define TORTURE_MODEL_H

#include "tree.h"

/* Files of the model are arrays: keep them small. */
#define MODEL_FILE_MAX (4 * 1024 * 1024)

struct model_bytes {
	uint8_t *bytes;
	uint32_t length;
};

struct model_ea {
	char name[256];
	uint8_t flags;
	struct model_bytes value;
	struct model_ea *next;
};

struct model_name {
	uint16_t units[NV_NAME_MAX + 1];
	uint32_t length;
	uint16_t short_units[13];
	uint32_t short_length;
	struct model_object *object;
	struct model_name *next;
};

struct model_object {
	nv_file_id id;
	struct nv_info info;
	uint8_t *data;			/* info.size bytes */
	struct model_bytes sd;
	bool has_sd;
	struct model_bytes reparse;
	struct model_ea *eas;
	struct model_name *names;	/* of a directory */
	struct model_name *streams;
	struct model_object *file;	/* of a stream */
	uint32_t holds;
	uint32_t number;		/* in model_tree */
	struct model_object *next;
};

struct model {
	struct model_object *objects;
	struct model_object *root;
};

/*
 * A directory of a volume, empty, as the volume describes it (0: the root
 * directory). Nobody else may change what is in it.
 */
struct model *model_new(struct nv_volume *volume, nv_file_id root);
void model_free(struct model *model);
struct tree *model_tree(const struct model *model);
struct model_object *model_find(const struct model *model, nv_file_id id);
/* How names compare: simple upper case of letters up to Greek. */
uint16_t model_upper(uint16_t unit);

/* id: what the engine gave; ignored when the result is not NV_OK. */
enum nv_status model_create(struct model *model, nv_file_id directory,
			    const struct nv_create_params *params,
			    nv_file_id id);
enum nv_status model_lookup(struct model *model, nv_file_id directory,
			    const struct nv_name *name, nv_file_id *id);
enum nv_status model_link(struct model *model, nv_file_id id,
			  nv_file_id directory, const struct nv_name *name,
			  const struct nv_name *short_name,
			  uint64_t directory_time, uint32_t flags);
enum nv_status model_unlink(struct model *model, nv_file_id directory,
			    const struct nv_name *name, nv_file_id expected,
			    uint64_t directory_time);
enum nv_status model_rename(struct model *model, nv_file_id from_directory,
			    const struct nv_name *from, nv_file_id expected,
			    nv_file_id to_directory, const struct nv_name *to,
			    const struct nv_name *to_short,
			    uint64_t directory_time, uint32_t flags);
enum nv_status model_set_short_name(struct model *model, nv_file_id directory,
				    const struct nv_name *name,
				    const struct nv_name *short_name);
enum nv_status model_set_info(struct model *model, nv_file_id id,
			      uint32_t mask, const struct nv_info *info);
enum nv_status model_hold(struct model *model, nv_file_id id);
enum nv_status model_release(struct model *model, nv_file_id id);
enum nv_status model_write(struct model *model, nv_file_id id,
			   uint64_t offset, const void *buffer, size_t length,
			   uint64_t time);
enum nv_status model_set_size(struct model *model, nv_file_id id,
			      uint64_t size, uint64_t time);
enum nv_status model_set_allocation(struct model *model, nv_file_id id,
				    uint64_t allocation);
/* nv_punch and nv_zero_range: the bytes are the same. */
enum nv_status model_zero(struct model *model, nv_file_id id, uint64_t offset,
			  uint64_t length, uint64_t time);
enum nv_status model_stream_open(struct model *model, nv_file_id file,
				 const struct nv_name *name, bool create,
				 bool create_new, nv_file_id id);
enum nv_status model_stream_remove(struct model *model, nv_file_id file,
				   const struct nv_name *name);
enum nv_status model_stream_rename(struct model *model, nv_file_id file,
				   const struct nv_name *from,
				   const struct nv_name *to, uint32_t flags);
enum nv_status model_ea_set(struct model *model, nv_file_id id,
			    const struct nv_ea *ea, uint32_t count);
enum nv_status model_sd_set(struct model *model, nv_file_id id,
			    const void *sd, uint32_t length);
enum nv_status model_reparse_set(struct model *model, nv_file_id id,
				 uint32_t tag, const void *data,
				 uint32_t length);

#endif
