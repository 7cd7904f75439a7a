/*
 * The reference model: a volume as plain lists in memory, obviously right.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>
#include "model.h"

static void *need(void *memory)
{
	if (memory == NULL) {
		fprintf(stderr, "out of memory\n");
		exit(2);
	}
	return memory;
}

uint16_t model_upper(uint16_t unit)
{
	if (unit >= 'a' && unit <= 'z') {
		return unit - 32;
	}
	if (unit >= 0xe0 && unit <= 0xfe && unit != 0xf7) {
		return unit - 32;
	}
	if (unit >= 0x3b1 && unit <= 0x3c9 && unit != 0x3c2) {
		return unit - 32;
	}
	return unit;
}

/* ---- objects ---- */

static void set_bytes(struct model_bytes *to, const void *bytes,
		      uint32_t length)
{
	uint8_t *copy = need(malloc(length + 1));

	if (length > 0) {
		memcpy(copy, bytes, length);
	}
	free(to->bytes);
	to->bytes = copy;
	to->length = length;
}

static void free_eas(struct model_object *object)
{
	struct model_ea *ea = object->eas;

	while (ea != NULL) {
		struct model_ea *next = ea->next;

		free(ea->value.bytes);
		free(ea);
		ea = next;
	}
}

static void free_names(struct model_name *name)
{
	while (name != NULL) {
		struct model_name *next = name->next;

		free(name);
		name = next;
	}
}

static void free_object(struct model *model, struct model_object *object)
{
	struct model_object **place = &model->objects;

	while (*place != object) {
		place = &(*place)->next;
	}
	*place = object->next;
	free_eas(object);
	free_names(object->names);
	free_names(object->streams);
	free(object->data);
	free(object->sd.bytes);
	free(object->reparse.bytes);
	free(object);
}

static struct model_object *new_object(struct model *model, nv_file_id id,
				       uint32_t type)
{
	struct model_object *object = need(calloc(1, sizeof(*object)));

	object->id = id;
	object->info.id = id;
	object->info.type = type;
	object->next = model->objects;
	model->objects = object;
	return object;
}

struct model_object *model_find(const struct model *model, nv_file_id id)
{
	struct model_object *object = NULL;

	for (object = model->objects; object != NULL; object = object->next) {
		if (object->id == id) {
			return object;
		}
	}
	return NULL;
}

/* An object without names and holds goes, and its streams lose their name. */
static void drop_if_unused(struct model *model, struct model_object *object)
{
	if (object->info.nlink > 0 || object->holds > 0) {
		return;
	}
	while (object->streams != NULL) {
		struct model_name *name = object->streams;
		struct model_object *stream = name->object;

		object->streams = name->next;
		free(name);
		stream->info.nlink = 0;
		stream->file = NULL;
		drop_if_unused(model, stream);
	}
	free_object(model, object);
}

struct model *model_new(struct nv_volume *volume, nv_file_id root)
{
	struct model *model = need(calloc(1, sizeof(*model)));
	struct nv_volume_statistics statistics = {0};
	struct nv_info info = {0};

	if (nv_volume_statistics(volume, &statistics) != NV_OK ||
	    nv_get_info(volume, root != 0 ? root :
			statistics.root_directory, &info) != NV_OK) {
		fprintf(stderr, "the root directory cannot be read\n");
		exit(2);
	}
	model->root = new_object(model, info.id, NV_DIRECTORY);
	model->root->info = info;
	return model;
}

void model_free(struct model *model)
{
	while (model->objects != NULL) {
		free_object(model, model->objects);
	}
	free(model);
}

/* ---- names ---- */

static bool units_equal(const uint16_t *a, uint32_t a_length,
			const uint16_t *b, uint32_t b_length, bool exact)
{
	uint32_t i;

	if (a_length != b_length) {
		return false;
	}
	for (i = 0; i < a_length; i++) {
		if (a[i] != b[i] &&
		    (exact || model_upper(a[i]) != model_upper(b[i]))) {
			return false;
		}
	}
	return true;
}

/* The entry that a name leads to; a long or a short name. */
static struct model_name *find_name(struct model_name *list,
				    const struct nv_name *name, bool exact)
{
	struct model_name *entry = NULL;

	for (entry = list; entry != NULL; entry = entry->next) {
		if (units_equal(entry->units, entry->length, name->units,
				name->length, exact)) {
			return entry;
		}
		if (entry->short_length > 0 &&
		    units_equal(entry->short_units, entry->short_length,
				name->units, name->length, exact)) {
			return entry;
		}
	}
	return NULL;
}

static bool name_fits(const struct nv_name *name)
{
	return name->length >= 1 && name->length <= NV_NAME_MAX;
}

static bool has_short(const struct nv_name *short_name)
{
	return short_name != NULL && short_name->length > 0;
}

/* A short name cannot be the long name itself. */
static bool short_is_name(const struct nv_name *name,
			  const struct nv_name *short_name, bool exact)
{
	return has_short(short_name) &&
		units_equal(name->units, name->length, short_name->units,
			    short_name->length, exact);
}

static void set_short(struct model_name *entry,
		      const struct nv_name *short_name)
{
	entry->short_length = 0;
	if (has_short(short_name)) {
		entry->short_length = short_name->length;
		memcpy(entry->short_units, short_name->units,
		       2 * short_name->length);
	}
}

static struct model_name *add_name(struct model_name **list,
				   const struct nv_name *name,
				   const struct nv_name *short_name,
				   struct model_object *object)
{
	struct model_name *entry = need(calloc(1, sizeof(*entry)));

	entry->length = name->length;
	memcpy(entry->units, name->units, 2 * name->length);
	set_short(entry, short_name);
	entry->object = object;
	entry->next = *list;
	*list = entry;
	return entry;
}

static void remove_name(struct model_name **list, struct model_name *entry)
{
	while (*list != entry) {
		list = &(*list)->next;
	}
	*list = entry->next;
	free(entry);
}

static enum nv_status find_directory(struct model *model, nv_file_id id,
				     struct model_object **directory)
{
	*directory = model_find(model, id);
	if (*directory == NULL) {
		return NV_ERR_NOT_FOUND;
	}
	if ((*directory)->info.type != NV_DIRECTORY) {
		return NV_ERR_NOT_DIRECTORY;
	}
	return NV_OK;
}

static void touch(struct model_object *object, uint64_t time)
{
	if (time != 0) {
		object->info.last_write_time = time;
		object->info.change_time = time;
	}
}

static void count_names(struct model_object *directory)
{
	struct model_name *entry = NULL;

	directory->info.entry_count = 0;
	for (entry = directory->names; entry != NULL; entry = entry->next) {
		directory->info.entry_count++;
	}
}

enum nv_status model_lookup(struct model *model, nv_file_id directory_id,
			    const struct nv_name *name, nv_file_id *id)
{
	struct model_object *directory = NULL;
	struct model_name *entry = NULL;
	enum nv_status status;

	status = find_directory(model, directory_id, &directory);
	if (status != NV_OK) {
		return status;
	}
	if (!name_fits(name)) {
		return NV_ERR_NAME;
	}
	entry = find_name(directory->names, name,
			  directory->info.case_sensitive);
	if (entry == NULL) {
		return NV_ERR_NOT_FOUND;
	}
	*id = entry->object->id;
	return NV_OK;
}

static void apply_info(struct model_object *object, uint32_t mask,
		       const struct nv_info *info)
{
	if ((mask & NV_INFO_ATTRIBUTES) != 0) {
		object->info.attributes = info->attributes;
	}
	if ((mask & NV_INFO_CREATION_TIME) != 0) {
		object->info.creation_time = info->creation_time;
	}
	if ((mask & NV_INFO_LAST_ACCESS_TIME) != 0) {
		object->info.last_access_time = info->last_access_time;
	}
	if ((mask & NV_INFO_LAST_WRITE_TIME) != 0) {
		object->info.last_write_time = info->last_write_time;
	}
	if ((mask & NV_INFO_CHANGE_TIME) != 0) {
		object->info.change_time = info->change_time;
	}
	if ((mask & NV_INFO_UID) != 0) {
		object->info.uid = info->uid;
	}
	if ((mask & NV_INFO_GID) != 0) {
		object->info.gid = info->gid;
	}
	if ((mask & NV_INFO_MODE) != 0) {
		object->info.mode = info->mode;
	}
	if ((mask & NV_INFO_DEVICE) != 0) {
		object->info.device = info->device;
	}
	if ((mask & NV_INFO_CASE_SENSITIVE) != 0) {
		object->info.case_sensitive = info->case_sensitive;
	}
}

enum nv_status model_set_info(struct model *model, nv_file_id id,
			      uint32_t mask, const struct nv_info *info)
{
	struct model_object *object = model_find(model, id);

	if (object == NULL) {
		return NV_ERR_NOT_FOUND;
	}
	if ((mask & NV_INFO_CASE_SENSITIVE) != 0) {
		if (object->info.type != NV_DIRECTORY) {
			return NV_ERR_NOT_DIRECTORY;
		}
		if (object->names != NULL) {
			return NV_ERR_NOT_EMPTY;
		}
	}
	apply_info(object, mask, info);
	return NV_OK;
}

enum nv_status model_create(struct model *model, nv_file_id directory_id,
			    const struct nv_create_params *params,
			    nv_file_id id)
{
	struct model_object *directory = NULL;
	struct model_object *object = NULL;
	enum nv_status status;
	bool exact;

	status = find_directory(model, directory_id, &directory);
	if (status != NV_OK) {
		return status;
	}
	if (!name_fits(&params->name)) {
		return NV_ERR_NAME;
	}
	exact = directory->info.case_sensitive;
	if (short_is_name(&params->name, &params->short_name, exact) ||
	    find_name(directory->names, &params->name, exact) != NULL ||
	    (has_short(&params->short_name) &&
	     find_name(directory->names, &params->short_name, exact) !=
	     NULL)) {
		return NV_ERR_EXISTS;
	}
	object = new_object(model, id, params->type);
	apply_info(object, params->info_mask, &params->info);
	object->info.nlink = 1;
	if (params->sd != NULL) {
		model_sd_set(model, id, params->sd, params->sd_length);
	}
	if (params->ea_count > 0) {
		model_ea_set(model, id, params->ea, params->ea_count);
	}
	if (params->hold) {
		object->holds = 1;
	}
	add_name(&directory->names, &params->name, &params->short_name,
		 object);
	count_names(directory);
	touch(directory, params->directory_time);
	return NV_OK;
}

enum nv_status model_link(struct model *model, nv_file_id id,
			  nv_file_id directory_id, const struct nv_name *name,
			  const struct nv_name *short_name,
			  uint64_t directory_time, uint32_t flags)
{
	struct model_object *object = model_find(model, id);
	struct model_object *directory = NULL;
	struct model_object *target = NULL;
	struct model_name *entry = NULL;
	struct model_name *other = NULL;
	enum nv_status status;

	status = find_directory(model, directory_id, &directory);
	if (status != NV_OK) {
		return status;
	}
	if (!name_fits(name)) {
		return NV_ERR_NAME;
	}
	if (object == NULL) {
		return NV_ERR_NOT_FOUND;
	}
	if (object->info.type == NV_DIRECTORY) {
		return NV_ERR_IS_DIRECTORY;
	}
	if (object->info.nlink == 0) {
		return NV_ERR_NOT_FOUND;
	}
	entry = find_name(directory->names, name,
			  directory->info.case_sensitive);
	if (has_short(short_name)) {
		other = find_name(directory->names, short_name,
				  directory->info.case_sensitive);
	}
	if (object->info.nlink >= 1024) {
		return NV_ERR_TOO_MANY_LINKS;
	}
	if (entry != NULL && (flags & NV_REPLACE) == 0) {
		return NV_ERR_EXISTS;
	}
	if (entry != NULL && entry->object->info.type == NV_DIRECTORY) {
		return NV_ERR_IS_DIRECTORY;
	}
	if ((other != NULL && other != entry) ||
	    short_is_name(name, short_name, directory->info.case_sensitive)) {
		return NV_ERR_EXISTS;
	}
	if (entry != NULL) {
		target = entry->object;
		remove_name(&directory->names, entry);
		target->info.nlink--;
	}
	object->info.nlink++;
	add_name(&directory->names, name, short_name, object);
	count_names(directory);
	touch(directory, directory_time);
	if (target != NULL) {
		drop_if_unused(model, target);
	}
	return NV_OK;
}

enum nv_status model_unlink(struct model *model, nv_file_id directory_id,
			    const struct nv_name *name, nv_file_id expected,
			    uint64_t directory_time)
{
	struct model_object *directory = NULL;
	struct model_object *object = NULL;
	struct model_name *entry = NULL;
	enum nv_status status;

	status = find_directory(model, directory_id, &directory);
	if (status != NV_OK) {
		return status;
	}
	if (!name_fits(name)) {
		return NV_ERR_NAME;
	}
	entry = find_name(directory->names, name,
			  directory->info.case_sensitive);
	if (entry == NULL ||
	    (expected != 0 && entry->object->id != expected)) {
		return NV_ERR_NOT_FOUND;
	}
	object = entry->object;
	if (object->info.type == NV_DIRECTORY && object->names != NULL) {
		return NV_ERR_NOT_EMPTY;
	}
	remove_name(&directory->names, entry);
	count_names(directory);
	touch(directory, directory_time);
	object->info.nlink--;
	drop_if_unused(model, object);
	return NV_OK;
}

static struct model_object *parent_of(const struct model *model,
				      const struct model_object *object)
{
	struct model_object *directory = NULL;
	struct model_name *entry = NULL;

	for (directory = model->objects; directory != NULL;
	     directory = directory->next) {
		for (entry = directory->names; entry != NULL;
		     entry = entry->next) {
			if (entry->object == object) {
				return directory;
			}
		}
	}
	return NULL;
}

static bool is_below(const struct model *model,
		     const struct model_object *directory,
		     const struct model_object *above)
{
	while (directory != NULL) {
		if (directory == above) {
			return true;
		}
		directory = parent_of(model, directory);
	}
	return false;
}

/* Whether what the name leads to may be replaced by object. */
static enum nv_status may_replace(const struct model_object *object,
				  const struct model_object *target,
				  uint32_t flags)
{
	if ((flags & NV_REPLACE) == 0) {
		return NV_ERR_EXISTS;
	}
	if (target->info.type == NV_DIRECTORY) {
		if (object->info.type != NV_DIRECTORY) {
			return NV_ERR_IS_DIRECTORY;
		}
		if (target->names != NULL) {
			return NV_ERR_NOT_EMPTY;
		}
	} else if (object->info.type == NV_DIRECTORY) {
		return NV_ERR_NOT_DIRECTORY;
	}
	return NV_OK;
}

enum nv_status model_rename(struct model *model, nv_file_id from_id,
			    const struct nv_name *from, nv_file_id expected,
			    nv_file_id to_id, const struct nv_name *to,
			    const struct nv_name *to_short,
			    uint64_t directory_time, uint32_t flags)
{
	struct model_object *from_directory = NULL;
	struct model_object *to_directory = NULL;
	struct model_object *object = NULL;
	struct model_object *target = NULL;
	struct model_name *other = NULL;
	struct model_name *entry = NULL;
	struct model_name *there = NULL;
	enum nv_status status;
	bool exact;

	status = find_directory(model, from_id, &from_directory);
	if (status == NV_OK) {
		status = find_directory(model, to_id, &to_directory);
	}
	if (status != NV_OK) {
		return status;
	}
	if (!name_fits(from) || !name_fits(to)) {
		return NV_ERR_NAME;
	}
	entry = find_name(from_directory->names, from,
			  from_directory->info.case_sensitive);
	if (entry == NULL ||
	    (expected != 0 && entry->object->id != expected)) {
		return NV_ERR_NOT_FOUND;
	}
	object = entry->object;
	if (object->info.type == NV_DIRECTORY &&
	    is_below(model, to_directory, object)) {
		return NV_ERR_LOOP;
	}
	exact = to_directory->info.case_sensitive;
	there = find_name(to_directory->names, to, exact);
	if (there == entry) {
		there = NULL;
	}
	if (there != NULL) {
		target = there->object;
		status = may_replace(object, target, flags);
		if (status != NV_OK) {
			return status;
		}
	}
	if (has_short(to_short)) {
		other = find_name(to_directory->names, to_short, exact);
		if ((other != NULL && other != entry && other != there) ||
		    short_is_name(to, to_short, exact)) {
			return NV_ERR_EXISTS;
		}
	}
	if (there != NULL) {
		remove_name(&to_directory->names, there);
		target->info.nlink--;
	}
	remove_name(&from_directory->names, entry);
	add_name(&to_directory->names, to, to_short, object);
	count_names(from_directory);
	count_names(to_directory);
	touch(from_directory, directory_time);
	touch(to_directory, directory_time);
	if (target != NULL) {
		drop_if_unused(model, target);
	}
	return NV_OK;
}

enum nv_status model_set_short_name(struct model *model,
				    nv_file_id directory_id,
				    const struct nv_name *name,
				    const struct nv_name *short_name)
{
	struct model_object *directory = NULL;
	struct model_name *entry = NULL;
	struct model_name *other = NULL;
	struct nv_name long_name;
	enum nv_status status;

	status = find_directory(model, directory_id, &directory);
	if (status != NV_OK) {
		return status;
	}
	if (!name_fits(name)) {
		return NV_ERR_NAME;
	}
	entry = find_name(directory->names, name,
			  directory->info.case_sensitive);
	if (entry == NULL) {
		return NV_ERR_NOT_FOUND;
	}
	long_name.units = entry->units;
	long_name.length = entry->length;
	if (has_short(short_name)) {
		other = find_name(directory->names, short_name,
				  directory->info.case_sensitive);
		if ((other != NULL && other != entry) ||
		    short_is_name(&long_name, short_name,
				  directory->info.case_sensitive)) {
			return NV_ERR_EXISTS;
		}
	}
	set_short(entry, short_name);
	return NV_OK;
}

enum nv_status model_hold(struct model *model, nv_file_id id)
{
	struct model_object *object = model_find(model, id);

	if (object == NULL) {
		return NV_ERR_NOT_FOUND;
	}
	object->holds++;
	return NV_OK;
}

enum nv_status model_release(struct model *model, nv_file_id id)
{
	struct model_object *object = model_find(model, id);

	if (object == NULL || object->holds == 0) {
		return NV_ERR_NOT_FOUND;
	}
	object->holds--;
	drop_if_unused(model, object);
	return NV_OK;
}

/* ---- data ---- */

static enum nv_status find_file(struct model *model, nv_file_id id,
				struct model_object **object)
{
	*object = model_find(model, id);
	if (*object == NULL) {
		return NV_ERR_NOT_FOUND;
	}
	if ((*object)->info.type == NV_DIRECTORY) {
		return NV_ERR_IS_DIRECTORY;
	}
	return NV_OK;
}

static void resize(struct model_object *object, uint64_t size)
{
	uint64_t old = object->info.size;

	object->data = need(realloc(object->data, size + 1));
	if (size > old) {
		memset(object->data + old, 0, size - old);
	}
	object->info.size = size;
}

enum nv_status model_write(struct model *model, nv_file_id id,
			   uint64_t offset, const void *buffer, size_t length,
			   uint64_t time)
{
	struct model_object *object = NULL;
	enum nv_status status;

	status = find_file(model, id, &object);
	if (status != NV_OK) {
		return status;
	}
	if (offset + length > object->info.size) {
		resize(object, offset + length);
	}
	memcpy(object->data + offset, buffer, length);
	touch(object, time);
	return NV_OK;
}

enum nv_status model_set_size(struct model *model, nv_file_id id,
			      uint64_t size, uint64_t time)
{
	struct model_object *object = NULL;
	enum nv_status status;

	status = find_file(model, id, &object);
	if (status != NV_OK) {
		return status;
	}
	resize(object, size);
	touch(object, time);
	return NV_OK;
}

enum nv_status model_set_allocation(struct model *model, nv_file_id id,
				    uint64_t allocation)
{
	struct model_object *object = NULL;
	enum nv_status status;

	status = find_file(model, id, &object);
	if (status != NV_OK) {
		return status;
	}
	if (allocation < object->info.size) {
		return NV_ERR_INVALID;
	}
	return NV_OK;
}

enum nv_status model_zero(struct model *model, nv_file_id id, uint64_t offset,
			  uint64_t length, uint64_t time)
{
	struct model_object *object = NULL;
	enum nv_status status;

	status = find_file(model, id, &object);
	if (status != NV_OK) {
		return status;
	}
	if (offset < object->info.size) {
		if (length > object->info.size - offset) {
			length = object->info.size - offset;
		}
		memset(object->data + offset, 0, length);
	}
	touch(object, time);
	return NV_OK;
}

/* ---- streams ---- */

static void count_streams(struct model_object *file)
{
	struct model_name *entry = NULL;

	file->info.stream_count = 0;
	for (entry = file->streams; entry != NULL; entry = entry->next) {
		file->info.stream_count++;
	}
}

static enum nv_status find_stream_owner(struct model *model, nv_file_id id,
					const struct nv_name *name,
					struct model_object **file)
{
	*file = model_find(model, id);
	if (*file == NULL) {
		return NV_ERR_NOT_FOUND;
	}
	if ((*file)->info.type == NV_STREAM) {
		return NV_ERR_INVALID;
	}
	if (!name_fits(name)) {
		return NV_ERR_NAME;
	}
	return NV_OK;
}

enum nv_status model_stream_open(struct model *model, nv_file_id file_id,
				 const struct nv_name *name, bool create,
				 bool create_new, nv_file_id id)
{
	struct model_object *stream = NULL;
	struct model_object *file = NULL;
	struct model_name *entry = NULL;
	enum nv_status status;

	status = find_stream_owner(model, file_id, name, &file);
	if (status != NV_OK) {
		return status;
	}
	entry = find_name(file->streams, name, false);
	if (entry != NULL) {
		return create_new ? NV_ERR_EXISTS : NV_OK;
	}
	if (!create || file->info.nlink == 0) {
		return NV_ERR_NOT_FOUND;
	}
	stream = new_object(model, id, NV_STREAM);
	stream->info.nlink = 1;
	stream->file = file;
	add_name(&file->streams, name, NULL, stream);
	count_streams(file);
	return NV_OK;
}

enum nv_status model_stream_remove(struct model *model, nv_file_id file_id,
				   const struct nv_name *name)
{
	struct model_object *stream = NULL;
	struct model_object *file = NULL;
	struct model_name *entry = NULL;
	enum nv_status status;

	status = find_stream_owner(model, file_id, name, &file);
	if (status != NV_OK) {
		return status;
	}
	entry = find_name(file->streams, name, false);
	if (entry == NULL) {
		return NV_ERR_NOT_FOUND;
	}
	stream = entry->object;
	remove_name(&file->streams, entry);
	count_streams(file);
	stream->info.nlink = 0;
	stream->file = NULL;
	drop_if_unused(model, stream);
	return NV_OK;
}

enum nv_status model_stream_rename(struct model *model, nv_file_id file_id,
				   const struct nv_name *from,
				   const struct nv_name *to, uint32_t flags)
{
	struct model_object *target = NULL;
	struct model_object *file = NULL;
	struct model_name *entry = NULL;
	struct model_name *there = NULL;
	struct model_object *stream = NULL;
	enum nv_status status;

	status = find_stream_owner(model, file_id, from, &file);
	if (status != NV_OK) {
		return status;
	}
	if (!name_fits(to)) {
		return NV_ERR_NAME;
	}
	entry = find_name(file->streams, from, false);
	if (entry == NULL) {
		return NV_ERR_NOT_FOUND;
	}
	there = find_name(file->streams, to, false);
	if (there == entry) {
		there = NULL;
	}
	if (there != NULL) {
		if ((flags & NV_REPLACE) == 0) {
			return NV_ERR_EXISTS;
		}
		target = there->object;
		remove_name(&file->streams, there);
		target->info.nlink = 0;
		target->file = NULL;
	}
	stream = entry->object;
	remove_name(&file->streams, entry);
	add_name(&file->streams, to, NULL, stream);
	count_streams(file);
	if (target != NULL) {
		drop_if_unused(model, target);
	}
	return NV_OK;
}

/* ---- EAs, security descriptors, reparse data ---- */

enum nv_status model_ea_set(struct model *model, nv_file_id id,
			    const struct nv_ea *ea, uint32_t count)
{
	struct model_object *object = model_find(model, id);
	uint32_t i;

	if (object == NULL) {
		return NV_ERR_NOT_FOUND;
	}
	for (i = 0; i < count; i++) {
		struct model_ea **place = &object->eas;
		struct model_ea *present = NULL;

		while (*place != NULL &&
		       strcasecmp((*place)->name, ea[i].name) != 0) {
			place = &(*place)->next;
		}
		present = *place;
		if (ea[i].length == 0) {
			if (present != NULL) {
				*place = present->next;
				free(present->value.bytes);
				free(present);
				object->info.ea_count--;
			}
			continue;
		}
		if (present == NULL) {
			present = need(calloc(1, sizeof(*present)));
			snprintf(present->name, sizeof(present->name), "%s",
				 ea[i].name);
			*place = present;
			object->info.ea_count++;
		}
		present->flags = ea[i].flags;
		set_bytes(&present->value, ea[i].value, ea[i].length);
	}
	return NV_OK;
}

enum nv_status model_sd_set(struct model *model, nv_file_id id,
			    const void *sd, uint32_t length)
{
	struct model_object *object = model_find(model, id);

	if (object == NULL) {
		return NV_ERR_NOT_FOUND;
	}
	object->has_sd = sd != NULL;
	set_bytes(&object->sd, sd, sd == NULL ? 0 : length);
	return NV_OK;
}

enum nv_status model_reparse_set(struct model *model, nv_file_id id,
				 uint32_t tag, const void *data,
				 uint32_t length)
{
	struct model_object *object = model_find(model, id);

	if (object == NULL) {
		return NV_ERR_NOT_FOUND;
	}
	object->info.reparse_tag = tag;
	set_bytes(&object->reparse, data, tag == 0 ? 0 : length);
	return NV_OK;
}

/* ---- as a tree ---- */

static int compare_entries(const void *a, const void *b)
{
	const struct model_name *left = *(struct model_name *const *)a;
	const struct model_name *right = *(struct model_name *const *)b;
	uint32_t i;

	/* The order of the volume: upper case, the shorter first, exact. */
	for (i = 0; i < left->length && i < right->length; i++) {
		uint16_t l = model_upper(left->units[i]);
		uint16_t r = model_upper(right->units[i]);

		if (l != r) {
			return l < r ? -1 : 1;
		}
	}
	if (left->length != right->length) {
		return left->length < right->length ? -1 : 1;
	}
	for (i = 0; i < left->length; i++) {
		if (left->units[i] != right->units[i]) {
			return left->units[i] < right->units[i] ? -1 : 1;
		}
	}
	return 0;
}

/* The entries of a list in order; free the result. */
static struct model_name **sorted_entries(struct model_name *list,
					  uint32_t *count)
{
	struct model_name **sorted = NULL;
	struct model_name *entry = NULL;

	*count = 0;
	for (entry = list; entry != NULL; entry = entry->next) {
		(*count)++;
	}
	sorted = need(calloc(*count + 1, sizeof(*sorted)));
	*count = 0;
	for (entry = list; entry != NULL; entry = entry->next) {
		sorted[*count] = entry;
		(*count)++;
	}
	qsort(sorted, *count, sizeof(*sorted), compare_entries);
	return sorted;
}

struct numbering {
	struct model_object **queue;
	uint32_t queued;
};

static void add_entries(struct text *text, struct numbering *numbering,
			struct model_name *list)
{
	struct model_name **sorted = NULL;
	uint32_t count = 0;
	uint32_t i;

	sorted = sorted_entries(list, &count);
	for (i = 0; i < count; i++) {
		struct model_object *object = sorted[i]->object;

		text_add(text, "\n  ");
		text_add_name(text, sorted[i]->units, sorted[i]->length);
		if (sorted[i]->short_length > 0) {
			text_add(text, " short ");
			text_add_name(text, sorted[i]->short_units,
				      sorted[i]->short_length);
		}
		if (object->number == 0) {
			object->number = numbering->queued;
			numbering->queue[numbering->queued] = object;
			numbering->queued++;
		}
		text_add(text, " -> %u", object->number);
	}
	free(sorted);
}

static int compare_eas(const void *a, const void *b)
{
	return strcasecmp((*(struct model_ea *const *)a)->name,
			  (*(struct model_ea *const *)b)->name);
}

static void add_eas(struct text *text, const struct model_object *object)
{
	struct model_ea **sorted = NULL;
	struct model_ea *ea = NULL;
	uint32_t count = 0;
	uint32_t i;

	sorted = need(calloc(object->info.ea_count + 1, sizeof(*sorted)));
	for (ea = object->eas; ea != NULL; ea = ea->next) {
		sorted[count] = ea;
		count++;
	}
	qsort(sorted, count, sizeof(*sorted), compare_eas);
	for (i = 0; i < count; i++) {
		char upper[256];
		uint32_t c;

		ea = sorted[i];
		for (c = 0; ea->name[c] != 0; c++) {
			upper[c] = (char)toupper((unsigned char)ea->name[c]);
		}
		upper[c] = 0;
		text_add(text, "\n  ea %s flags %u %u:%016llx", upper,
			 ea->flags, ea->value.length,
			 (unsigned long long)XXH3_64bits(ea->value.bytes,
							 ea->value.length));
	}
	free(sorted);
}

static void add_object(struct tree *tree, struct numbering *numbering,
		       const struct model_object *object)
{
	const struct nv_info *info = &object->info;
	struct text text = {0};
	uint8_t *data = NULL;

	if (info->type == NV_STREAM) {
		text_add(&text, "stream size=%llu",
			 (unsigned long long)info->size);
	} else {
		text_add(&text, "type=%u attributes=%x times=%llx,%llx,%llx,"
			 "%llx size=%llu nlink=%u uid=%u gid=%u mode=%o "
			 "device=%llx case=%d eas=%u streams=%u names=%llu",
			 info->type, info->attributes,
			 (unsigned long long)info->creation_time,
			 (unsigned long long)info->last_access_time,
			 (unsigned long long)info->last_write_time,
			 (unsigned long long)info->change_time,
			 (unsigned long long)info->size, info->nlink,
			 info->uid, info->gid, info->mode,
			 (unsigned long long)info->device,
			 info->case_sensitive, info->ea_count,
			 info->stream_count,
			 (unsigned long long)info->entry_count);
		if (object->has_sd) {
			text_add_bytes(&text, "sd", object->sd.bytes,
				       object->sd.length);
		}
		if (info->reparse_tag != 0) {
			text_add(&text, " tag=%x", info->reparse_tag);
			text_add_bytes(&text, "reparse",
				       object->reparse.bytes,
				       object->reparse.length);
		}
		add_eas(&text, object);
		add_entries(&text, numbering, object->streams);
		add_entries(&text, numbering, object->names);
	}
	if (info->type != NV_DIRECTORY) {
		data = need(malloc(info->size + 1));
		if (info->size > 0) {
			memcpy(data, object->data, info->size);
		}
	}
	tree_add(tree, object->id, text.bytes, data,
		 info->type == NV_DIRECTORY ? 0 : info->size);
}

struct tree *model_tree(const struct model *model)
{
	struct model_object *object = NULL;
	struct tree *tree = tree_new();
	struct numbering numbering = {0};
	uint32_t count = 0;
	uint32_t i;

	for (object = model->objects; object != NULL; object = object->next) {
		object->number = 0;
		count++;
	}
	numbering.queue = need(calloc(count, sizeof(*numbering.queue)));
	/* The root is number 0, and nothing leads to it. */
	numbering.queue[0] = model->root;
	numbering.queued = 1;
	for (i = 0; i < numbering.queued; i++) {
		add_object(tree, &numbering, numbering.queue[i]);
	}
	free(numbering.queue);
	tree_sort(tree);
	return tree;
}
