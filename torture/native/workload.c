/*
 * Calls of the engine made at random, each made on the model, too.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "workload.h"

static const char *const kind_names[WORK_KINDS] = {
	[WORK_CREATE] = "create",
	[WORK_CREATE_DIRECTORY] = "mkdir",
	[WORK_UNLINK] = "unlink",
	[WORK_RENAME] = "rename",
	[WORK_LINK] = "link",
	[WORK_SET_INFO] = "set_info",
	[WORK_WRITE] = "write",
	[WORK_SET_SIZE] = "set_size",
	[WORK_ZERO_RANGE] = "zero_range",
	[WORK_PUNCH] = "punch",
	[WORK_SET_ALLOCATION] = "set_allocation",
	[WORK_EA] = "ea_set",
	[WORK_SD] = "sd_set",
	[WORK_REPARSE] = "reparse_set",
	[WORK_STREAM_OPEN] = "stream_open",
	[WORK_STREAM_REMOVE] = "stream_remove",
	[WORK_STREAM_RENAME] = "stream_rename",
	[WORK_SHORT_NAME] = "set_short_name",
	[WORK_HOLD] = "hold",
	[WORK_RELEASE] = "release",
	[WORK_COMMIT] = "commit",
	[WORK_FLUSH] = "flush",
	[WORK_LOOKUP] = "lookup",
	[WORK_READ] = "read",
};

static const uint32_t default_weights[WORK_KINDS] = {
	[WORK_CREATE] = 14,
	[WORK_CREATE_DIRECTORY] = 5,
	[WORK_UNLINK] = 9,
	[WORK_RENAME] = 9,
	[WORK_LINK] = 4,
	[WORK_SET_INFO] = 6,
	[WORK_WRITE] = 16,
	[WORK_SET_SIZE] = 5,
	[WORK_ZERO_RANGE] = 2,
	[WORK_PUNCH] = 3,
	[WORK_SET_ALLOCATION] = 2,
	[WORK_EA] = 6,
	[WORK_SD] = 5,
	[WORK_REPARSE] = 2,
	[WORK_STREAM_OPEN] = 5,
	[WORK_STREAM_REMOVE] = 2,
	[WORK_STREAM_RENAME] = 2,
	[WORK_SHORT_NAME] = 2,
	[WORK_HOLD] = 2,
	[WORK_RELEASE] = 2,
	[WORK_COMMIT] = 8,
	[WORK_FLUSH] = 2,
	[WORK_LOOKUP] = 3,
	[WORK_READ] = 3,
};

/* Names that meet each other: by case, by short name. */
static const char *const name_pool[] = {
	"a", "A", "b", "report.doc", "REPORT.DOC", "Report.Doc", "b~1",
	"A~1", "longer name of a file.txt", "LONGER NAME OF A FILE.TXT",
	"x", "y", "z", "zz", "desktop.ini", "n1", "n2", "n3", "n4", "n5",
};

#define POOL (sizeof(name_pool) / sizeof(name_pool[0]))

const char *workload_kind_name(enum workload_kind kind)
{
	return kind_names[kind];
}

void workload_init(struct workload *workload, struct nv_volume *volume,
		   struct model *model, uint64_t seed)
{
	memset(workload, 0, sizeof(*workload));
	workload->volume = volume;
	workload->model = model;
	workload->seed = seed_derive(seed, 0x3073);
	workload->time = UINT64_C(133500000000000000);
	workload->file_most = 256 * 1024;
	workload->bytes_most = 2 * 1024 * 1024;
	memcpy(workload->weight, default_weights, sizeof(default_weights));
}

void workload_done(struct workload *workload)
{
	free(workload->work.bytes);
	workload->work.bytes = NULL;
}

/* ---- choosing ---- */

static uint64_t below(struct workload *workload, uint64_t limit)
{
	return seed_below(&workload->seed, limit);
}

static bool chance(struct workload *workload, uint32_t percent)
{
	return seed_chance(&workload->seed, percent);
}

static bool suits(const struct model_object *object, bool directory,
		  bool file, bool stream)
{
	if (object->info.nlink == 0 && object->holds == 0) {
		return false;
	}
	switch (object->info.type) {
	case NV_DIRECTORY:
		return directory && object->info.nlink > 0;
	case NV_STREAM:
		return stream && object->file != NULL;
	default:
		return file && object->info.type == NV_FILE;
	}
}

/* Any object of the kinds; 0: there is none. */
static nv_file_id any_object(struct workload *workload, bool directory,
			     bool file, bool stream)
{
	struct model_object *object = NULL;
	uint32_t count = 0;
	uint64_t at;

	for (object = workload->model->objects; object != NULL;
	     object = object->next) {
		count += suits(object, directory, file, stream) ? 1 : 0;
	}
	if (count == 0) {
		return 0;
	}
	at = below(workload, count);
	for (object = workload->model->objects; object != NULL;
	     object = object->next) {
		if (!suits(object, directory, file, stream)) {
			continue;
		}
		if (at == 0) {
			break;
		}
		at--;
	}
	return object->id;
}

static void set_name(struct workload *workload, struct nv_name *name,
		     uint16_t *units)
{
	const char *text = name_pool[below(workload, POOL)];
	uint32_t i;

	for (i = 0; text[i] != 0; i++) {
		units[i] = (uint16_t)(unsigned char)text[i];
	}
	if (chance(workload, 15)) {
		/* A letter that only the upcase table knows. */
		units[i] = chance(workload, 50) ? 0xe9 : 0xc9;
		i++;
	}
	if (chance(workload, 5)) {
		units[i] = chance(workload, 50) ? 0x3b1 : 0x391;
		i++;
	}
	name->units = units;
	name->length = i;
}

/* A name of an entry that exists in the directory, mostly. */
static void set_present_name(struct workload *workload, nv_file_id directory,
			     bool streams, struct nv_name *name,
			     uint16_t *units)
{
	struct model_object *object = model_find(workload->model, directory);
	struct model_name *entry = NULL;
	uint32_t count = 0;
	uint64_t at;

	set_name(workload, name, units);
	if (object == NULL || chance(workload, 10)) {
		return;
	}
	entry = streams ? object->streams : object->names;
	for (; entry != NULL; entry = entry->next) {
		count++;
	}
	if (count == 0) {
		return;
	}
	at = below(workload, count);
	entry = streams ? object->streams : object->names;
	for (; at > 0; at--) {
		entry = entry->next;
	}
	if (entry->short_length > 0 && chance(workload, 20)) {
		memcpy(units, entry->short_units, 2 * entry->short_length);
		name->length = entry->short_length;
	} else if (entry->length < WORK_NAME_MAX) {
		memcpy(units, entry->units, 2 * entry->length);
		name->length = entry->length;
		if (chance(workload, 10)) {
			units[0] = model_upper(units[0]);
		}
	}
}

static void set_short(struct workload *workload)
{
	static const char *const pool[] = {"A~1", "B~1", "REPORT~1.DOC",
					   "LONGER~1.TXT", "X~1"};
	struct work *work = &workload->work;
	const char *text = pool[below(workload, 5)];
	uint32_t i;

	for (i = 0; text[i] != 0; i++) {
		work->short_units[i] = (uint16_t)(unsigned char)text[i];
	}
	work->short_name.units = work->short_units;
	work->short_name.length = i;
}

static void set_payload(struct workload *workload, uint64_t length)
{
	struct work *work = &workload->work;
	uint64_t i;

	free(work->bytes);
	work->bytes = malloc(length + 8);
	if (work->bytes == NULL) {
		fprintf(stderr, "out of memory\n");
		exit(2);
	}
	for (i = 0; i < length; i += 8) {
		uint64_t word = seed_next(&workload->seed);

		memcpy(work->bytes + i, &word, 8);
	}
	work->length = length;
}

static void set_info(struct workload *workload)
{
	static const uint32_t masks[] = {
		NV_INFO_ATTRIBUTES, NV_INFO_CREATION_TIME,
		NV_INFO_LAST_ACCESS_TIME, NV_INFO_LAST_WRITE_TIME,
		NV_INFO_CHANGE_TIME, NV_INFO_UID, NV_INFO_GID, NV_INFO_MODE,
		NV_INFO_DEVICE};
	struct work *work = &workload->work;
	struct nv_info *info = &work->info;
	uint32_t i;

	work->mask = 0;
	for (i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		if (chance(workload, 50)) {
			work->mask |= masks[i];
		}
	}
	info->attributes = (uint32_t)below(workload, 0x8000);
	info->creation_time = workload->time + below(workload, 1000);
	info->last_access_time = workload->time + below(workload, 1000);
	info->last_write_time = workload->time + below(workload, 1000);
	info->change_time = workload->time + below(workload, 1000);
	info->uid = (uint32_t)below(workload, 5000);
	info->gid = (uint32_t)below(workload, 5000);
	info->mode = (uint32_t)below(workload, 0x10000);
	info->device = below(workload, 1 << 20);
}

static void set_eas(struct workload *workload)
{
	static const char *const pool[] = {"AUTHOR", "author", "Comment",
					   "user.x", "K1", "K2", "K3"};
	struct work *work = &workload->work;
	uint32_t i;

	work->ea_count = 1 + (uint32_t)below(workload, 2);
	for (i = 0; i < work->ea_count; i++) {
		uint64_t size = chance(workload, 20) ? below(workload, 9000) :
			below(workload, 120);

		snprintf(work->ea_name[i], sizeof(work->ea_name[i]), "%s",
			 pool[below(workload, 7)]);
		/* The payload is long enough for each. */
		work->ea[i].name = work->ea_name[i];
		work->ea[i].flags = chance(workload, 10) ? 0x80 : 0;
		work->ea[i].length = (uint32_t)size;
	}
	set_payload(workload, 9000);
	for (i = 0; i < work->ea_count; i++) {
		work->ea[i].value = work->bytes + i;
		if (work->ea[i].length > 8990) {
			work->ea[i].length = 8990;
		}
	}
}

/*
 * A self-relative descriptor of one of a few kinds, so that some are the
 * same: only its length and bytes matter to the engine, but its head is right.
 */
static void set_sd(struct workload *workload)
{
	struct seed kind = seed_derive(4711, below(workload, 12));
	uint32_t length = 20 + (uint32_t)seed_below(&kind, 400);
	struct work *work = &workload->work;
	uint32_t i;

	if (seed_chance(&kind, 10)) {
		length += 5000;
	}
	set_payload(workload, length);
	memset(work->bytes, 0, 20);
	work->bytes[0] = 1;
	work->bytes[3] = 0x80;
	for (i = 20; i < length; i++) {
		work->bytes[i] = (uint8_t)seed_next(&kind);
	}
	work->length = length;
	work->with_sd = true;
}

static uint64_t some_length(struct workload *workload)
{
	switch (below(workload, 8)) {
	case 0:
	case 1:
		return 1 + below(workload, 64);
	case 2:
		return 1 + below(workload, 600);
	case 3:
	case 4:
		return 1 + below(workload, 5000);
	case 5:
		return 4096 * (1 + below(workload, 4));
	case 6:
		return 1 + below(workload, 30000);
	default:
		return 1 + below(workload, 100000);
	}
}

static uint64_t some_offset(struct workload *workload, nv_file_id id)
{
	struct model_object *object = model_find(workload->model, id);
	uint64_t size = object->info.size;

	switch (below(workload, 5)) {
	case 0:
		return 0;
	case 1:
		return size;
	case 2:
		return size > 0 ? below(workload, size) : 0;
	case 3:
		return 4096 * below(workload, 30);
	default:
		return below(workload, 120000);
	}
}

static uint64_t all_bytes(const struct model *model)
{
	const struct model_object *object = NULL;
	uint64_t bytes = 0;

	for (object = model->objects; object != NULL; object = object->next) {
		bytes += object->info.size;
	}
	return bytes;
}

static uint32_t count_objects(const struct model *model)
{
	const struct model_object *object = NULL;
	uint32_t count = 0;

	for (object = model->objects; object != NULL; object = object->next) {
		count++;
	}
	return count;
}

static enum workload_kind choose_kind(struct workload *workload)
{
	uint64_t total = 0;
	uint64_t at;
	uint32_t i;

	if (all_bytes(workload->model) > workload->bytes_most ||
	    count_objects(workload->model) > 120) {
		return chance(workload, 70) ? WORK_UNLINK : WORK_SET_SIZE;
	}
	for (i = 0; i < WORK_KINDS; i++) {
		total += workload->weight[i];
	}
	at = below(workload, total);
	for (i = 0; at >= workload->weight[i]; i++) {
		at -= workload->weight[i];
	}
	return (enum workload_kind)i;
}

static void choose_data(struct workload *workload)
{
	struct work *work = &workload->work;

	work->object = any_object(workload, chance(workload, 2), true, true);
	if (work->object == 0) {
		work->kind = WORK_COMMIT;
		return;
	}
	work->offset = some_offset(workload, work->object);
	work->length = some_length(workload);
	if (work->offset + work->length > workload->file_most) {
		work->offset = 0;
	}
	work->time = chance(workload, 70) ? workload->time : 0;
	switch (work->kind) {
	case WORK_WRITE:
		set_payload(workload, work->length);
		break;
	case WORK_SET_SIZE:
		work->length = chance(workload, 30) ? 0 :
			some_offset(workload, work->object);
		break;
	case WORK_SET_ALLOCATION:
		work->length = some_offset(workload, work->object) +
			some_length(workload);
		if (!workload->may_be_full) {
			/* Nobody counts what is reserved: little. */
			uint64_t size = model_find(
				workload->model, work->object)->info.size;

			work->length = size + below(workload, 16384);
			if (size > 0 && chance(workload, 10)) {
				work->length = size - 1;
			}
		}
		break;
	default:
		break;
	}
}

static void choose_names(struct workload *workload)
{
	struct work *work = &workload->work;
	struct model_object *object = NULL;

	work->directory = any_object(workload, true, chance(workload, 2),
				     false);
	work->to_directory = any_object(workload, true, false, false);
	work->flags = chance(workload, 50) ? NV_REPLACE : 0;
	work->time = chance(workload, 80) ? workload->time : 0;
	set_name(workload, &work->to, work->to_units);
	if (chance(workload, 30)) {
		set_short(workload);
	}
	switch (work->kind) {
	case WORK_CREATE:
	case WORK_CREATE_DIRECTORY:
		set_name(workload, &work->name, work->name_units);
		set_info(workload);
		if (chance(workload, 30)) {
			set_sd(workload);
		} else if (chance(workload, 20)) {
			set_eas(workload);
		}
		break;
	case WORK_LINK:
		work->object = any_object(workload, false, true, false);
		if (work->object == 0) {
			work->kind = WORK_COMMIT;
		}
		break;
	default:
		set_present_name(workload, work->directory, false,
				 &work->name, work->name_units);
		break;
	}
	if (work->kind == WORK_RENAME && chance(workload, 15)) {
		/* Only the case changes. */
		work->to_directory = work->directory;
		memcpy(work->to_units, work->name_units,
		       sizeof(work->to_units));
		work->to.length = work->name.length;
		work->to_units[0] = model_upper(work->to_units[0]);
	}
	object = model_find(workload->model, work->to_directory);
	if (work->kind == WORK_SHORT_NAME && chance(workload, 70)) {
		set_short(workload);
	}
	if (object == NULL) {
		work->kind = WORK_COMMIT;
	}
}

static void choose_stream(struct workload *workload)
{
	struct work *work = &workload->work;

	work->object = any_object(workload, true, true, false);
	work->flags = chance(workload, 50) ? NV_REPLACE : 0;
	work->create_new = chance(workload, 30);
	set_name(workload, &work->to, work->to_units);
	if (work->kind == WORK_STREAM_OPEN) {
		set_name(workload, &work->name, work->name_units);
	} else {
		set_present_name(workload, work->object, true, &work->name,
				 work->name_units);
	}
}

static void describe(struct workload *workload)
{
	const struct work *work = &workload->work;
	struct text text = {0};

	text_add(&text, "%s object=%llx in=%llx to=%llx ",
		 kind_names[work->kind], (unsigned long long)work->object,
		 (unsigned long long)work->directory,
		 (unsigned long long)work->to_directory);
	if (work->name.length > 0) {
		text_add_name(&text, work->name.units, work->name.length);
	}
	if (work->to.length > 0) {
		text_add(&text, " new ");
		text_add_name(&text, work->to.units, work->to.length);
	}
	if (work->short_name.length > 0) {
		text_add(&text, " short ");
		text_add_name(&text, work->short_name.units,
			      work->short_name.length);
	}
	text_add(&text, " offset=%llu length=%llu flags=%u",
		 (unsigned long long)work->offset,
		 (unsigned long long)work->length, work->flags);
	snprintf(workload->work.text, sizeof(workload->work.text), "%s",
		 text.bytes);
	free(text.bytes);
}

void workload_choose(struct workload *workload)
{
	struct work *work = &workload->work;
	uint8_t *bytes = work->bytes;

	memset(work, 0, sizeof(*work));
	work->bytes = bytes;
	workload->time += 10000000;
	work->kind = choose_kind(workload);
	switch (work->kind) {
	case WORK_CREATE:
	case WORK_CREATE_DIRECTORY:
	case WORK_UNLINK:
	case WORK_RENAME:
	case WORK_LINK:
	case WORK_SHORT_NAME:
	case WORK_LOOKUP:
		choose_names(workload);
		break;
	case WORK_WRITE:
	case WORK_SET_SIZE:
	case WORK_ZERO_RANGE:
	case WORK_PUNCH:
	case WORK_SET_ALLOCATION:
	case WORK_READ:
		choose_data(workload);
		break;
	case WORK_STREAM_OPEN:
	case WORK_STREAM_REMOVE:
	case WORK_STREAM_RENAME:
		choose_stream(workload);
		break;
	case WORK_SET_INFO:
		work->object = any_object(workload, true, true, false);
		set_info(workload);
		break;
	case WORK_EA:
		work->object = any_object(workload, true, true, false);
		set_eas(workload);
		break;
	case WORK_SD:
		work->object = any_object(workload, true, true, false);
		set_sd(workload);
		work->with_sd = !chance(workload, 10);
		break;
	case WORK_REPARSE:
		work->object = any_object(workload, true, true, false);
		set_payload(workload, chance(workload, 30) ?
			    below(workload, 9000) : below(workload, 200));
		work->flags = chance(workload, 20) ? 0 : 0xa000000c;
		if (work->flags == 0) {
			work->length = 0;
		}
		break;
	case WORK_HOLD:
	case WORK_FLUSH:
		work->object = any_object(workload, chance(workload, 20),
					  true, true);
		if (work->object == 0) {
			work->kind = WORK_COMMIT;
		}
		break;
	case WORK_RELEASE: {
		struct model_object *object = workload->model->objects;

		while (object != NULL && object->holds == 0) {
			object = object->next;
		}
		if (object == NULL) {
			work->kind = WORK_COMMIT;
		} else {
			work->object = object->id;
		}
		break;
	}
	case WORK_COMMIT:
	case WORK_KINDS:
		break;
	}
	describe(workload);
}

/* ---- running ---- */

static void fill_create(const struct work *work,
			struct nv_create_params *params)
{
	memset(params, 0, sizeof(*params));
	params->name = work->name;
	params->short_name = work->short_name;
	params->type = work->kind == WORK_CREATE ? NV_FILE : NV_DIRECTORY;
	params->info = work->info;
	params->info_mask = work->mask;
	if (work->with_sd) {
		params->sd = work->bytes;
		params->sd_length = (uint32_t)work->length;
	}
	params->ea = work->ea_count > 0 ? work->ea : NULL;
	params->ea_count = work->ea_count;
	params->directory_time = work->time;
}

static enum nv_status engine_read(struct workload *workload)
{
	const struct work *work = &workload->work;
	struct model_object *object = model_find(workload->model,
						 work->object);
	uint64_t size = object->info.size;
	uint64_t expected = 0;
	enum nv_status status;
	uint8_t *buffer = NULL;
	size_t done = 0;

	buffer = malloc(work->length + 1);
	if (buffer == NULL) {
		return NV_ERR_NO_MEMORY;
	}
	status = nv_read(workload->volume, work->object, work->offset, buffer,
			 work->length, &done);
	if (work->offset < size) {
		expected = size - work->offset;
		if (expected > work->length) {
			expected = work->length;
		}
	}
	if (status == NV_OK && (done != expected ||
				(expected > 0 &&
				 memcmp(buffer, object->data + work->offset,
					expected) != 0))) {
		/* What the model never answers. */
		status = NV_ERR_RETRY;
	}
	free(buffer);
	return status;
}

void workload_run_engine(struct workload *workload)
{
	struct nv_volume *volume = workload->volume;
	struct work *work = &workload->work;
	struct nv_create_params params;
	enum nv_status status = NV_OK;
	struct nv_found found = {0};
	bool created = false;

	workload->engine_id = 0;
	switch (work->kind) {
	case WORK_CREATE:
	case WORK_CREATE_DIRECTORY:
		fill_create(work, &params);
		status = nv_create(volume, work->directory, &params,
				   &workload->engine_id);
		break;
	case WORK_UNLINK:
		status = nv_unlink(volume, work->directory, &work->name, 0,
				   work->time);
		break;
	case WORK_RENAME:
		status = nv_rename(volume, work->directory, &work->name, 0,
				   work->to_directory, &work->to,
				   &work->short_name, work->time,
				   work->flags);
		break;
	case WORK_LINK:
		status = nv_link(volume, work->object, work->directory,
				 &work->to, &work->short_name, work->time,
				 work->flags);
		break;
	case WORK_SET_INFO:
		status = nv_set_info(volume, work->object, work->mask,
				     &work->info);
		break;
	case WORK_WRITE:
		status = nv_write(volume, work->object, work->offset,
				  work->bytes, work->length, work->time);
		break;
	case WORK_SET_SIZE:
		status = nv_set_size(volume, work->object, work->length,
				     work->time);
		break;
	case WORK_ZERO_RANGE:
		status = nv_zero_range(volume, work->object, work->offset,
				       work->length, work->time);
		break;
	case WORK_PUNCH:
		status = nv_punch(volume, work->object, work->offset,
				  work->length, work->time);
		break;
	case WORK_SET_ALLOCATION:
		status = nv_set_allocation(volume, work->object,
					   work->length);
		break;
	case WORK_EA:
		status = nv_ea_set(volume, work->object, work->ea,
				   work->ea_count);
		break;
	case WORK_SD:
		status = nv_sd_set(volume, work->object,
				   work->with_sd ? work->bytes : NULL,
				   work->with_sd ? (uint32_t)work->length : 0);
		break;
	case WORK_REPARSE:
		status = nv_reparse_set(volume, work->object, work->flags,
					work->bytes, (uint32_t)work->length);
		break;
	case WORK_STREAM_OPEN:
		status = nv_stream_open(volume, work->object, &work->name,
					true, work->create_new,
					&workload->engine_id, &created);
		break;
	case WORK_STREAM_REMOVE:
		status = nv_stream_remove(volume, work->object, &work->name);
		break;
	case WORK_STREAM_RENAME:
		status = nv_stream_rename(volume, work->object, &work->name,
					  &work->to, work->flags);
		break;
	case WORK_SHORT_NAME:
		status = nv_set_short_name(volume, work->directory,
					   &work->name, &work->short_name);
		break;
	case WORK_HOLD:
		status = nv_hold(volume, work->object);
		break;
	case WORK_RELEASE:
		status = nv_release(volume, work->object);
		break;
	case WORK_COMMIT:
		status = nv_volume_commit(volume);
		break;
	case WORK_FLUSH:
		status = nv_file_flush(volume, work->object);
		break;
	case WORK_LOOKUP:
		status = nv_lookup(volume, work->directory, &work->name,
				   &found);
		workload->engine_id = found.id;
		break;
	case WORK_READ:
		status = engine_read(workload);
		break;
	case WORK_KINDS:
		break;
	}
	workload->engine_status = status;
}

static enum nv_status run_model(struct workload *workload)
{
	struct model *model = workload->model;
	struct work *work = &workload->work;
	struct nv_create_params params;
	enum nv_status status = NV_OK;
	nv_file_id id = 0;

	switch (work->kind) {
	case WORK_CREATE:
	case WORK_CREATE_DIRECTORY:
		fill_create(work, &params);
		return model_create(model, work->directory, &params,
				    workload->engine_id);
	case WORK_UNLINK:
		return model_unlink(model, work->directory, &work->name, 0,
				    work->time);
	case WORK_RENAME:
		return model_rename(model, work->directory, &work->name, 0,
				    work->to_directory, &work->to,
				    &work->short_name, work->time,
				    work->flags);
	case WORK_LINK:
		return model_link(model, work->object, work->directory,
				  &work->to, &work->short_name, work->time,
				  work->flags);
	case WORK_SET_INFO:
		return model_set_info(model, work->object, work->mask,
				      &work->info);
	case WORK_WRITE:
		return model_write(model, work->object, work->offset,
				   work->bytes, work->length, work->time);
	case WORK_SET_SIZE:
		return model_set_size(model, work->object, work->length,
				      work->time);
	case WORK_ZERO_RANGE:
	case WORK_PUNCH:
		return model_zero(model, work->object, work->offset,
				  work->length, work->time);
	case WORK_SET_ALLOCATION:
		return model_set_allocation(model, work->object,
					    work->length);
	case WORK_EA:
		return model_ea_set(model, work->object, work->ea,
				    work->ea_count);
	case WORK_SD:
		return model_sd_set(model, work->object,
				    work->with_sd ? work->bytes : NULL,
				    (uint32_t)work->length);
	case WORK_REPARSE:
		return model_reparse_set(model, work->object, work->flags,
					 work->bytes,
					 (uint32_t)work->length);
	case WORK_STREAM_OPEN:
		return model_stream_open(model, work->object, &work->name,
					 true, work->create_new,
					 workload->engine_id);
	case WORK_STREAM_REMOVE:
		return model_stream_remove(model, work->object, &work->name);
	case WORK_STREAM_RENAME:
		return model_stream_rename(model, work->object, &work->name,
					   &work->to, work->flags);
	case WORK_SHORT_NAME:
		return model_set_short_name(model, work->directory,
					    &work->name, &work->short_name);
	case WORK_HOLD:
		return model_hold(model, work->object);
	case WORK_RELEASE:
		return model_release(model, work->object);
	case WORK_LOOKUP:
		status = model_lookup(model, work->directory, &work->name,
				      &id);
		if (status == NV_OK && id != workload->engine_id &&
		    workload->engine_status == NV_OK) {
			return NV_ERR_RETRY;
		}
		return status;
	case WORK_READ: {
		struct model_object *object = model_find(model, work->object);

		return object->info.type == NV_DIRECTORY ?
			NV_ERR_IS_DIRECTORY : NV_OK;
	}
	case WORK_COMMIT:
	case WORK_FLUSH:
	case WORK_KINDS:
		break;
	}
	return NV_OK;
}

bool workload_run_model(struct workload *workload, char *problem)
{
	enum nv_status status;

	workload->steps++;
	if (workload->engine_status == NV_ERR_NO_SPACE &&
	    workload->may_be_full) {
		return true;
	}
	status = run_model(workload);
	if (status != workload->engine_status) {
		snprintf(problem, TREE_PROBLEM_SIZE, "step %llu: %s: the "
			 "engine says \"%s\", the model \"%s\"",
			 (unsigned long long)workload->steps,
			 workload->work.text,
			 nv_status_string(workload->engine_status),
			 nv_status_string(status));
		return false;
	}
	return true;
}

bool workload_step(struct workload *workload, char *problem)
{
	workload_choose(workload);
	workload_run_engine(workload);
	return workload_run_model(workload, problem);
}
