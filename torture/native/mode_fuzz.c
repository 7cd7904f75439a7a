/*
 * Damaged images: check, attach, walk, change, detach.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A populated volume is damaged at random, mostly with all checksums made
 * right again so that the damage is met behind them. Nothing may crash, hang
 * or read out of bounds (build with --sanitize to see that); and what the
 * checker calls sound must be usable without NV_ERR_CORRUPT. A repair leaves a
 * volume that is as it was or sound, also when the power is cut during it.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "format.h"
#include "image.h"
#include "torture.h"
#include "workload.h"

#define POPULATE_STEPS 250
#define OBJECTS_MOST 400
#define SECONDS 20

struct fuzz_shared {
	uint64_t sound;		/* the checker found nothing */
	uint64_t refused;	/* not attached */
	uint64_t corrupt;	/* met while walking */
	uint64_t repaired;
};

struct fuzz_case {
	struct torture *torture;
	struct simdisk *base;
	uint64_t seed;
	uint64_t findings;
	bool met_corruption;
};

static struct fuzz_shared *shared;

/* ---- a volume with everything in it ---- */

static bool populate(const struct torture *torture, struct simdisk *disk,
		     uint64_t seed, char *problem)
{
	struct nv_volume *volume = torture_attach(torture, disk, problem);
	struct workload workload;
	uint64_t i;

	if (volume == NULL) {
		return false;
	}
	workload_init(&workload, volume, model_new(volume, 0), seed);
	workload.bytes_most = 700 * 1024;
	workload.file_most = 200 * 1024;
	workload.weight[WORK_UNLINK] = 3;
	for (i = 0; i < POPULATE_STEPS; i++) {
		if (!workload_step(&workload, problem)) {
			return false;
		}
	}
	workload_done(&workload);
	model_free(workload.model);
	return nv_volume_detach(volume) == NV_OK;
}

/* ---- damage ---- */

static void change_number(struct seed *seed, uint8_t *bytes)
{
	static const uint64_t telling[] = {
		0, 1, 7, 8, 255, 256, 4095, 4096, 32767, 65535, 0x7fffffff,
		0x80000000, 0xffffffff, UINT64_MAX, UINT64_MAX / 2,
		UINT64_C(0x500000001), UINT64_C(0x10000000010),
	};
	uint64_t value = telling[seed_below(seed, 17)];
	static const uint32_t sizes[] = {1, 2, 2, 4, 4, 8, 8};
	uint32_t size = sizes[seed_below(seed, 7)];

	switch (seed_below(seed, 4)) {
	case 0:
		bytes[0] ^= (uint8_t)(1U << seed_below(seed, 8));
		break;
	case 1:
		memcpy(bytes, &value, size);
		break;
	case 2:
		memcpy(&value, bytes, size);
		value += seed_below(seed, 3) - 1;
		memcpy(bytes, &value, size);
		break;
	default:
		value = seed_next(seed);
		memcpy(bytes, &value, size);
		break;
	}
}

/* Any page that exists; NULL: bad luck. */
static uint8_t *any_page(struct seed *seed, const struct image *image)
{
	static const uint32_t regions[] = {
		NV_REGION_INODES, NV_REGION_INODES, NV_REGION_NODES,
		NV_REGION_NODES, NV_REGION_NODES, NV_REGION_SYSTEM,
		NV_REGION_BLOCK_BITMAP, NV_REGION_INODE_BITMAP,
		NV_REGION_ORPHAN_BITMAP,
	};
	uint32_t region = regions[seed_below(seed, 9)];
	uint32_t tries;

	for (tries = 0; tries < 300; tries++) {
		uint64_t index = seed_below(seed, region ==
					    NV_REGION_SYSTEM ? 33 : 150);
		uint8_t *page = image_page(image, NV_PAGE(region, index));

		if (page != NULL) {
			return page;
		}
	}
	return NULL;
}

/* Most of a page is empty: aim at what is not. */
static uint8_t *any_place(struct seed *seed, uint8_t *page)
{
	uint32_t tries;
	uint64_t at = 0;

	for (tries = 0; tries < 30; tries++) {
		at = seed_below(seed, NV_BLOCK_SIZE / 2 - 4) * 2;
		if (page[at] != 0 || page[at + 1] != 0) {
			break;
		}
	}
	return page + at;
}

static void damage_pages(struct seed *seed, const struct image *image)
{
	uint64_t changes = 1 + seed_below(seed, 4);
	uint8_t swap[NV_BLOCK_SIZE];
	uint8_t *page = NULL;
	uint8_t *other = NULL;
	uint64_t i;

	for (i = 0; i < changes; i++) {
		page = any_page(seed, image);
		if (page == NULL) {
			continue;
		}
		if (seed_chance(seed, 4)) {
			other = any_page(seed, image);
			if (other != NULL) {
				memcpy(swap, page, sizeof(swap));
				memcpy(page, other, sizeof(swap));
				memcpy(other, swap, sizeof(swap));
			}
		} else if (seed_chance(seed, 50)) {
			/* Heads and fixed parts are near the beginning. */
			change_number(seed, page + seed_below(seed, 30) * 8);
		} else {
			change_number(seed, any_place(seed, page));
		}
	}
}

static void damage_map(struct seed *seed, const struct image *image,
		       struct nv_disk_root *root)
{
	uint32_t region = (uint32_t)seed_below(seed, NV_REGION_COUNT);
	uint64_t block = root->map[region].block;
	struct nv_disk_map_node *node = (void *)
		(image->bytes + (block << NV_BLOCK_SHIFT));

	if (block == 0 || block >= image->size >> NV_BLOCK_SHIFT) {
		return;
	}
	switch (seed_below(seed, 4)) {
	case 0:
		change_number(seed, (uint8_t *)
			      &node->entry[seed_below(seed, 20)].block);
		break;
	case 1:
		node->entry[seed_below(seed, 256)].block =
			seed_below(seed, image->size >> NV_BLOCK_SHIFT);
		break;
	case 2:
		node->entry[seed_below(seed, 20)] =
			node->entry[seed_below(seed, 20)];
		break;
	default:
		root->map[region].height = (uint32_t)seed_below(seed, 6);
		break;
	}
}

static void damage(struct seed *seed, const struct image *image)
{
	struct nv_disk_root *root = image_root(image);
	uint64_t i;

	switch (seed_below(seed, 12)) {
	case 0:
		/* Bytes anywhere; checksums tell. */
		for (i = 0; i < 20; i++) {
			change_number(seed, image->bytes +
				      seed_below(seed, image->size - 8));
		}
		return;
	case 1:
		change_number(seed, (uint8_t *)root +
			      seed_below(seed, sizeof(*root) - 16));
		break;
	case 2:
		change_number(seed, image->bytes + seed_below(seed, 500));
		break;
	case 3:
	case 4:
		damage_map(seed, image, root);
		break;
	default:
		damage_pages(seed, image);
		break;
	}
	image_reseal(image, root);
}

/* ---- use ---- */

static void look(struct fuzz_case *this, enum nv_status status)
{
	if (status == NV_ERR_CORRUPT) {
		this->met_corruption = true;
	}
}

struct seen {
	nv_file_id id[OBJECTS_MOST];
	uint32_t count;
};

static void note(struct seen *seen, nv_file_id id)
{
	uint32_t i;

	for (i = 0; i < seen->count; i++) {
		if (seen->id[i] == id) {
			return;
		}
	}
	if (seen->count < OBJECTS_MOST) {
		seen->id[seen->count] = id;
		seen->count++;
	}
}

static void list(struct fuzz_case *this, struct nv_volume *volume,
		 struct seen *seen, nv_file_id id, bool streams)
{
	struct nv_found found[16];
	struct nv_found again;
	uint16_t units[NV_NAME_MAX];
	struct nv_name after = {.units = units};
	enum nv_status status;
	uint32_t returned = 0;
	uint32_t rounds;
	uint32_t i;

	for (rounds = 0; rounds < 100; rounds++) {
		const struct nv_name *from = rounds > 0 ? &after : NULL;

		status = streams ?
			nv_stream_enumerate(volume, id, from, found, 16,
					    &returned) :
			nv_enumerate(volume, id, from, found, 16, &returned);
		look(this, status);
		if (status != NV_OK || returned == 0) {
			return;
		}
		for (i = 0; i < returned; i++) {
			struct nv_name name = {
				.units = found[i].name,
				.length = found[i].name_length,
			};

			note(seen, found[i].id);
			if (!streams) {
				look(this, nv_lookup(volume, id, &name,
						     &again));
			}
		}
		after.length = found[returned - 1].name_length;
		memcpy(units, found[returned - 1].name, 2 * after.length);
	}
}

static void read_object(struct fuzz_case *this, struct nv_volume *volume,
			struct seen *seen, nv_file_id id)
{
	static uint8_t buffer[512 * 1024];
	struct nv_range range[8];
	struct nv_info info;
	enum nv_status status;
	uint32_t length;
	uint32_t tag = 0;
	size_t done = 0;

	status = nv_get_info(volume, id, &info);
	look(this, status);
	if (status != NV_OK) {
		return;
	}
	if (info.type == NV_DIRECTORY) {
		list(this, volume, seen, id, false);
	} else {
		look(this, nv_read(volume, id, 0, buffer, sizeof(buffer),
				   &done));
		look(this, nv_read(volume, id, info.size / 2, buffer, 4096,
				   &done));
		length = 0;
		look(this, nv_allocated_ranges(volume, id, 0, info.size,
					       range, 8, &length));
	}
	if (info.type != NV_STREAM) {
		list(this, volume, seen, id, true);
	}
	length = sizeof(buffer);
	look(this, nv_ea_list(volume, id, buffer, &length));
	length = sizeof(buffer);
	look(this, nv_sd_get(volume, id, buffer, &length));
	length = sizeof(buffer);
	look(this, nv_reparse_get(volume, id, &tag, buffer, &length));
}

/* Changes; what they answer is the engine's business, if it answers. */
static void change_object(struct fuzz_case *this, struct nv_volume *volume,
			  struct seed *seed, nv_file_id id)
{
	static const uint16_t units[] = {'n', 'e', 'w', 'f'};
	struct nv_name name = {.units = units, .length = 4};
	struct nv_create_params params = {.name = name, .type = NV_FILE};
	struct nv_ea ea = {.name = "AUTHOR", .value = "x", .length = 1};
	struct nv_info info = {.attributes = 3};
	uint8_t bytes[9000] = {1};
	nv_file_id made = 0;
	bool created;

	look(this, nv_set_info(volume, id, NV_INFO_ATTRIBUTES, &info));
	look(this, nv_create(volume, id, &params, &made));
	look(this, nv_write(volume, id, seed_below(seed, 50000), bytes,
			    sizeof(bytes), 1));
	look(this, nv_punch(volume, id, seed_below(seed, 50000), 8192, 1));
	look(this, nv_set_size(volume, id, seed_below(seed, 50000), 1));
	look(this, nv_ea_set(volume, id, &ea, 1));
	look(this, nv_sd_set(volume, id, bytes, 100));
	look(this, nv_reparse_set(volume, id, 0, NULL, 0));
	look(this, nv_stream_open(volume, id, &name, true, false, &made,
				  &created));
	look(this, nv_stream_remove(volume, id, &name));
	look(this, nv_unlink(volume, id, &name, 0, 1));
}

static void use_volume(struct fuzz_case *this, struct nv_volume *volume,
		       struct seed *seed)
{
	struct nv_volume_statistics statistics;
	struct seen *seen = calloc(1, sizeof(*seen));
	uint32_t i;

	if (seen == NULL) {
		return;
	}
	nv_volume_statistics(volume, &statistics);
	note(seen, statistics.root_directory);
	for (i = 0; i < seen->count; i++) {
		read_object(this, volume, seen, seen->id[i]);
	}
	for (i = 0; i < seen->count; i++) {
		change_object(this, volume, seed, seen->id[i]);
	}
	nv_volume_commit(volume);
	free(seen);
}

static uint64_t count_findings(struct simdisk *disk, bool repair)
{
	struct nv_check_params params = {.repair = repair};
	struct nv_io *io = simdisk_open(disk);
	uint64_t findings = UINT64_MAX;

	if (io == NULL || nv_check(io, &params, &findings) != NV_OK) {
		findings = UINT64_MAX;
	}
	if (io != NULL) {
		io->ops->close(io);
	}
	return findings;
}

/* A power cut at one of the calls of a repair. */
struct repair_cut {
	struct simdisk *disk;
	struct simdisk *after;
	uint64_t seed;
};

static void cut_repair(void *private_data, enum simdisk_call call,
		       uint64_t number)
{
	struct repair_cut *cut = private_data;
	struct seed seed = seed_derive(cut->seed, number);

	if ((call == SIMDISK_FLUSH || call == SIMDISK_WRITE) &&
	    (cut->after == NULL || seed_chance(&seed, 30))) {
		simdisk_free(cut->after);
		cut->after = NULL;
		simdisk_cut(cut->disk, SIMDISK_MIX, seed_next(&seed),
			    &cut->after, NULL);
	}
}

static bool try_repair(struct fuzz_case *this, struct simdisk *damaged,
		       uint64_t before, char *problem)
{
	struct repair_cut cut = {.seed = this->seed};
	uint64_t left;
	bool changed;

	if (simdisk_cut(damaged, SIMDISK_KEEP_ALL, this->seed, &cut.disk,
			NULL) != 0) {
		return true;
	}
	simdisk_set_hook(cut.disk, cut_repair, &cut);
	count_findings(cut.disk, true);
	simdisk_set_hook(cut.disk, NULL, NULL);
	changed = memcmp(simdisk_content(damaged), simdisk_content(cut.disk),
			 simdisk_size(damaged)) != 0;
	left = count_findings(cut.disk, false);
	simdisk_free(cut.disk);
	if (changed) {
		shared->repaired++;
	}
	/* A super block made new lets the checker see the rest. */
	if (changed && left != 0 && before != 1) {
		snprintf(problem, TREE_PROBLEM_SIZE, "%llu findings, repaired,"
			 " and %llu are left", (unsigned long long)before,
			 (unsigned long long)left);
		simdisk_free(cut.after);
		return false;
	}
	if (cut.after != NULL) {
		uint64_t cut_left = count_findings(cut.after, false);

		if (cut_left != before && cut_left != left) {
			snprintf(problem, TREE_PROBLEM_SIZE, "%llu findings, "
				 "repair cut short, and %llu are left",
				 (unsigned long long)before,
				 (unsigned long long)cut_left);
			simdisk_free(cut.after);
			return false;
		}
	}
	simdisk_free(cut.after);
	return true;
}

static bool run_one(void *argument, char *problem)
{
	struct fuzz_case *this = argument;
	struct seed seed = seed_derive(this->seed, 0xf022);
	struct simdisk *disk = NULL;
	struct nv_volume *volume = NULL;
	struct image image;
	bool sound;

	if (simdisk_cut(this->base, SIMDISK_KEEP_ALL, this->seed, &disk,
			NULL) != 0) {
		return false;
	}
	image.bytes = simdisk_content(disk);
	image.size = simdisk_size(disk);
	damage(&seed, &image);
	simdisk_settle(disk);

	snprintf(problem, TREE_PROBLEM_SIZE, "in the checker");
	this->findings = count_findings(disk, false);
	sound = this->findings == 0;
	snprintf(problem, TREE_PROBLEM_SIZE, "in repair");
	if (!try_repair(this, disk, this->findings, problem)) {
		return false;
	}
	snprintf(problem, TREE_PROBLEM_SIZE, "in attach");
	volume = torture_attach(this->torture, disk, problem);
	if (volume == NULL) {
		shared->refused++;
	} else {
		snprintf(problem, TREE_PROBLEM_SIZE, "attached");
		use_volume(this, volume, &seed);
		snprintf(problem, TREE_PROBLEM_SIZE, "in detach");
		nv_volume_detach(volume);
	}
	if (this->met_corruption) {
		shared->corrupt++;
	}
	if (sound) {
		shared->sound++;
		if (volume == NULL || this->met_corruption) {
			char text[TREE_PROBLEM_SIZE];

			snprintf(text, sizeof(text), "%s", problem);
			snprintf(problem, TREE_PROBLEM_SIZE, "the checker "
				 "finds nothing, but %s%.300s",
				 volume == NULL ? "it cannot be attached: " :
				 "reading meets corruption", volume == NULL ?
				 text : "");
			return false;
		}
	}
	snprintf(problem, TREE_PROBLEM_SIZE, "in the checker afterwards");
	count_findings(disk, false);
	simdisk_free(disk);
	return true;
}

void torture_fuzz(struct torture *torture)
{
	char problem[TREE_PROBLEM_SIZE] = "";
	struct simdisk *base = NULL;
	uint64_t base_of = UINT64_MAX;
	uint64_t i;

	shared = torture_shared(sizeof(*shared));
	for (i = 0; i < torture->runs; i++) {
		struct fuzz_case this = {
			.torture = torture,
			.seed = torture->seed + i,
		};

		if (torture_time_is_up(torture)) {
			break;
		}
		/* Another volume for every hundred seeds. */
		if (base == NULL || this.seed / 100 != base_of) {
			simdisk_free(base);
			base_of = this.seed / 100;
			base = torture_formatted(torture, base_of);
			if (!populate(torture, base, base_of, problem)) {
				torture_fail(torture, this.seed,
					     TORTURE_ALL_CASES, "",
					     "populating: %s", problem);
				break;
			}
		}
		this.base = base;
		if (torture_in_child(run_one, &this, SECONDS, problem)) {
			torture_pass(torture);
		} else {
			torture_fail(torture, this.seed, TORTURE_ALL_CASES,
				     "", "%s", problem);
		}
		torture_progress(torture, "%llu of %llu images",
				 (unsigned long long)i + 1,
				 (unsigned long long)torture->runs);
	}
	simdisk_free(base);
	printf("images: %llu damaged; %llu that the checker calls sound, %llu "
	       "not attached, %llu in which reading or changing met the "
	       "damage, %llu repaired\n", (unsigned long long)i,
	       (unsigned long long)shared->sound,
	       (unsigned long long)shared->refused,
	       (unsigned long long)shared->corrupt,
	       (unsigned long long)shared->repaired);
}
