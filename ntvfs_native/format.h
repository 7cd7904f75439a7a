/*
 * The native format: every structure that is stored in a volume.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * docs/native-format.md describes the same bytes in prose; the two change
 * together, with NV_FORMAT_VERSION and a golden image.
 *
 * All integers are little-endian and naturally aligned. The volume is mapped
 * and used in place, so a host must be little-endian too; this is checked
 * when compiling.
 *
 * A volume is an array of 4 KiB blocks:
 *
 *   block 0     super block, written once by format
 *   block 1, 2  the two root slots, written in turn by every commit
 *   block 3     never written: a page to name when the disk is to flush
 *   block 8...  everything else, in any order
 *
 * A root names one map (a radix tree of 256-way nodes) per region. A region
 * is an array of 4 KiB logical pages; its map takes the index of a page to
 * the block that holds it and to the checksum of its content. Map nodes are
 * named, with their checksums, by their parents, the top one by the root:
 * the root's own checksum vouches for all metadata of the volume.
 */

#ifndef NTVFS_NATIVE_FORMAT_H
#define NTVFS_NATIVE_FORMAT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	      "the volume is used in place: little-endian hosts only");

#define NV_FORMAT_VERSION 1

#define NV_BLOCK_SHIFT 12
#define NV_BLOCK_SIZE (1U << NV_BLOCK_SHIFT)

#define NV_SUPER_BLOCK 0
#define NV_ROOT_BLOCK_0 1
#define NV_ROOT_BLOCK_1 2
#define NV_SCRATCH_BLOCK 3
#define NV_FIRST_BLOCK 8	/* the first that can be allocated */

#define NV_MIN_BLOCKS 1024			/* 4 MiB */
#define NV_MAX_BLOCKS (UINT64_C(1) << 38)	/* 1 PiB */

#define NV_MIN_INODE_SIZE 256
#define NV_MAX_INODE_SIZE 4096
#define NV_DEFAULT_INODE_SIZE 512

#define NV_SUPER_MAGIC UINT64_C(0x54414e534656544e)
#define NV_ROOT_MAGIC UINT64_C(0x544f52534656544e)
#define NV_INODE_MAGIC UINT32_C(0x4e49564e)
#define NV_PAGE_MAGIC UINT32_C(0x4750564e)

/* Regions of the metadata address space. */
enum nv_region {
	NV_REGION_SYSTEM = 0,		/* upcase table, SD store heads */
	NV_REGION_BLOCK_BITMAP = 1,	/* bit per block used by file data */
	NV_REGION_INODE_BITMAP = 2,	/* bit per inode in use */
	NV_REGION_ORPHAN_BITMAP = 3,	/* bit per inode without a name */
	NV_REGION_INODES = 4,		/* the inodes, without a page header */
	NV_REGION_NODES = 5,		/* tree nodes, EA and SD pages */
	NV_REGION_COUNT = 6
};

/*
 * A page number: region in the upper, index in the lower 32 bits. Stored in
 * pages and inodes wherever one page refers to another. Zero is "none" (page
 * 0 of the system region is never referred to).
 */
#define NV_PAGE(region, index) (((uint64_t)(region) << 32) | (uint64_t)(index))
#define NV_PAGE_REGION(page) ((uint32_t)((page) >> 32))
#define NV_PAGE_INDEX(page) ((uint32_t)((page) & UINT32_MAX))
#define NV_PAGE_NONE UINT64_C(0)

/* Fixed pages of the system region. */
#define NV_SYSTEM_UPCASE 0	/* 32 pages, 65,536 UTF-16 code units */
#define NV_UPCASE_PAGES 32
#define NV_SYSTEM_SD_HEAD 32	/* struct nv_disk_sd_head */
#define NV_SYSTEM_PAGES 64

/* One map entry: where a page or a lower map node is. Zero block: nowhere. */
struct nv_disk_map_entry {
	uint64_t block;
	uint64_t checksum;	/* XXH3, 64 bits, of the 4,096 bytes */
};

#define NV_MAP_SHIFT 8
#define NV_MAP_FANOUT (1U << NV_MAP_SHIFT)
#define NV_MAP_MAX_HEIGHT 4

/* A map node is exactly its entries. Level 1 names pages. */
struct nv_disk_map_node {
	struct nv_disk_map_entry entry[NV_MAP_FANOUT];
};

static_assert(sizeof(struct nv_disk_map_entry) == 16, "map entry");
static_assert(sizeof(struct nv_disk_map_node) == NV_BLOCK_SIZE, "map node");

struct nv_disk_super {
	uint64_t magic;			/* NV_SUPER_MAGIC */
	uint32_t format_version;	/* NV_FORMAT_VERSION */
	uint32_t block_size;		/* NV_BLOCK_SIZE */
	uint32_t inode_size;		/* power of two, 256..4096 */
	uint32_t features;		/* unknown bit: refuse. None yet */
	uint64_t creation_time;		/* NTTIME */
	uint8_t uuid[16];
	char label[64];			/* UTF-8, zero-padded */
	uint8_t reserved[392];		/* zero */
	uint64_t checksum;		/* XXH3 of the 504 bytes before */
};

static_assert(sizeof(struct nv_disk_super) == 512, "super");
static_assert(offsetof(struct nv_disk_super, uuid) == 32, "super.uuid");
static_assert(offsetof(struct nv_disk_super, label) == 48, "super.label");
static_assert(offsetof(struct nv_disk_super, checksum) == 504, "super.sum");

/* A region's map. Height 0: empty, 1: the top node names pages... */
struct nv_disk_map_top {
	uint64_t block;
	uint64_t checksum;
	uint32_t height;
	uint32_t reserved;	/* zero */
};

static_assert(sizeof(struct nv_disk_map_top) == 24, "map top");

/* Far-apart code words, so that no bit error turns one into another. */
#define NV_STATE_CLEAN UINT32_C(0x6b1e5ac3)	/* detached by all */
#define NV_STATE_ATTACHED UINT32_C(0x94d2a73c)

struct nv_disk_root {
	uint64_t magic;		/* NV_ROOT_MAGIC */
	uint64_t sequence;	/* the transaction group, from 2 upwards */
	uint64_t total_blocks;	/* size of the volume */
	uint32_t state;		/* NV_STATE_* */
	uint32_t reserved0;	/* zero */
	uint8_t uuid[16];	/* the super block's */
	uint8_t boot_id[16];	/* of the kernel that wrote it */
	uint8_t machine_id[16];	/* of the machine that wrote it */
	uint64_t time;		/* NTTIME of the commit */
	uint64_t data_blocks;	/* bits set in the block bitmap */
	uint64_t inodes;	/* bits set in the inode bitmap */
	uint64_t root_directory; /* file id, 0 while formatting */
	struct nv_disk_map_top map[NV_REGION_COUNT];
	uint8_t reserved[248];	/* zero */
	uint64_t checksum;	/* XXH3 of the 504 bytes before */
};

static_assert(sizeof(struct nv_disk_root) == 512, "root");
static_assert(offsetof(struct nv_disk_root, uuid) == 32, "root.uuid");
static_assert(offsetof(struct nv_disk_root, time) == 80, "root.time");
static_assert(offsetof(struct nv_disk_root, map) == 112, "root.map");
static_assert(offsetof(struct nv_disk_root, checksum) == 504, "root.sum");

/*
 * File ids. The inode number in the lower 40 bits, the generation of that
 * number in the upper 24. A number whose generations are used up is retired:
 * ids are never used again while the volume lives.
 */
#define NV_INO_BITS 40
#define NV_INO_MASK ((UINT64_C(1) << NV_INO_BITS) - 1)
#define NV_FILE_INO(id) ((id) & NV_INO_MASK)
#define NV_FILE_GENERATION(id) ((uint32_t)((id) >> NV_INO_BITS))
#define NV_FILE_ID(ino, gen) (((uint64_t)(gen) << NV_INO_BITS) | (ino))
#define NV_MAX_GENERATION UINT32_C(0xffffff)
#define NV_FIRST_INO 16		/* lower numbers are never handed out */
#define NV_ROOT_INO 16

/* Inode types. Zero is a free inode. */
#define NV_TYPE_FILE 1
#define NV_TYPE_DIRECTORY 2
#define NV_TYPE_STREAM 3	/* a named stream; parent_id is its file */
#define NV_TYPE_SPECIAL 4	/* POSIX special file or symlink: see mode */

/* How the bytes of the file are held. */
#define NV_DATA_NONE 0		/* no block: all holes, or empty */
#define NV_DATA_INLINE 1	/* item NV_ITEM_DATA */
#define NV_DATA_EXTENTS 2	/* item NV_ITEM_EXTENTS, sorted */
#define NV_DATA_TREE 3		/* extent tree at data_root */

#define NV_INODE_CASE_SENSITIVE 0x00000001	/* directory */
#define NV_INODE_ORPHAN 0x00000002		/* nlink 0, held open */

/*
 * The fixed part of an inode. Its length when the inode was made is stored
 * in fixed_size, so that later versions can make it longer. After it come
 * items (struct nv_disk_item) up to the inode size.
 */
struct nv_disk_inode {
	uint32_t magic;			/* NV_INODE_MAGIC, 0 never used */
	uint16_t fixed_size;		/* bytes of this structure */
	uint8_t type;			/* NV_TYPE_*, 0 free */
	uint8_t data_form;		/* NV_DATA_* */
	uint64_t file_id;		/* kept when freed: next generation */
	uint32_t flags;			/* NV_INODE_* */
	uint32_t attributes;		/* FILE_ATTRIBUTE_* (MS-FSCC 2.6) */
	uint32_t nlink;
	uint32_t sd_id;			/* 0: none */
	uint32_t uid;
	uint32_t gid;
	uint32_t mode;			/* st_mode */
	uint32_t reparse_tag;		/* 0: none */
	uint64_t creation_time;		/* NTTIME, as the other three */
	uint64_t last_access_time;
	uint64_t last_write_time;
	uint64_t change_time;
	uint64_t size;			/* end of file, bytes */
	uint64_t allocation;		/* bytes, multiple of the block size */
	uint64_t parent_id;		/* a directory that names it; the file
					   of a stream */
	uint64_t data_root;		/* page, NV_DATA_TREE */
	uint32_t extent_count;		/* in the item or the tree */
	uint32_t stream_count;		/* named streams */
	uint64_t directory_root;	/* page, top of the name tree */
	uint64_t entry_count;		/* names in a directory */
	uint64_t stream_root;		/* page, tree of stream names */
	uint32_t ea_size;		/* as FILE_EA_INFORMATION tells it */
	uint32_t ea_count;
	uint64_t ea_root;		/* page, EAs that do not fit inside */
	uint64_t next_cookie;		/* directory: next entry's cookie */
	uint64_t device;		/* st_rdev of a special file */
	uint64_t reparse_root;		/* page, reparse data that does not
					   fit inside */
	uint64_t reserved;		/* zero */
};

static_assert(sizeof(struct nv_disk_inode) == 192, "inode");
static_assert(offsetof(struct nv_disk_inode, file_id) == 8, "inode.file_id");
static_assert(offsetof(struct nv_disk_inode, creation_time) == 48, "inode.t");
static_assert(offsetof(struct nv_disk_inode, size) == 80, "inode.size");
static_assert(offsetof(struct nv_disk_inode, data_root) == 104, "inode.data");
static_assert(offsetof(struct nv_disk_inode, ea_size) == 144, "inode.ea");

/*
 * Items fill the inode behind its fixed part, packed, each on a multiple of
 * 8 bytes; kind 0 or the end of the inode ends the list. At most one item of
 * a kind, in rising order of kind.
 */
struct nv_disk_item {
	uint16_t kind;		/* NV_ITEM_* */
	uint16_t length;	/* bytes of payload, unpadded */
	uint32_t reserved;	/* zero */
	/* payload */
};

static_assert(sizeof(struct nv_disk_item) == 8, "item");

#define NV_ITEM_END 0
#define NV_ITEM_EA 1		/* packed EAs */
#define NV_ITEM_EXTENTS 2	/* array of struct nv_disk_extent */
#define NV_ITEM_DATA 3		/* the file's bytes */
#define NV_ITEM_NAMES 4		/* a small directory's entries */
#define NV_ITEM_STREAMS 5	/* the names of few streams */
#define NV_ITEM_REPARSE 6	/* small reparse data */
#define NV_ITEM_MAX 6

/* A run of blocks of a file. 2^32 blocks: a file has at most 16 TiB. */
struct nv_disk_extent {
	uint32_t logical;	/* first block in the file */
	uint32_t length;	/* blocks, below 2^30, and NV_EXTENT_* */
	uint64_t block;		/* first block on the volume */
};

static_assert(sizeof(struct nv_disk_extent) == 16, "extent");

#define NV_EXTENT_UNWRITTEN UINT32_C(0x80000000)	/* reads as zeros */
#define NV_EXTENT_SHARED UINT32_C(0x40000000)		/* has a count */
#define NV_EXTENT_LENGTH UINT32_C(0x3fffffff)
#define NV_MAX_FILE_BLOCKS (UINT64_C(1) << 32)
#define NV_MAX_FILE_SIZE (NV_MAX_FILE_BLOCKS << NV_BLOCK_SHIFT)

/* What a page of the region NODES is. */
#define NV_KIND_EXTENTS 1	/* extent tree */
#define NV_KIND_DIRECTORY 2	/* name tree of a directory */
#define NV_KIND_STREAMS 3	/* name tree of streams */
#define NV_KIND_EA 4		/* EA value pages */
#define NV_KIND_SD_INDEX 5	/* SD store, by hash and by id */
#define NV_KIND_SD_DATA 6	/* SD store, the descriptors */
#define NV_KIND_REPARSE 7
#define NV_KIND_REFERENCES 8	/* counts of shared extents */

/* Starts every page of the region NODES. */
struct nv_disk_page_header {
	uint32_t magic;		/* NV_PAGE_MAGIC */
	uint8_t kind;		/* NV_KIND_* */
	uint8_t level;		/* 0 leaf */
	uint16_t count;		/* entries */
	uint64_t page;		/* its own page number */
	uint64_t owner;		/* file id, 0 for the volume */
	uint64_t next;		/* kind's own use: next page of a chain */
};

static_assert(sizeof(struct nv_disk_page_header) == 32, "page header");

/* Extent tree: leaves hold extents, upper nodes these, in the same room. */
struct nv_disk_extent_child {
	uint32_t logical;	/* nothing lower lies below the child */
	uint32_t reserved;	/* zero */
	uint64_t page;
};

static_assert(sizeof(struct nv_disk_extent_child) == 16, "extent child");

#define NV_EXTENT_FANOUT \
	((NV_BLOCK_SIZE - sizeof(struct nv_disk_page_header)) / 16)

struct nv_disk_extent_node {
	struct nv_disk_page_header header;
	union {
		struct nv_disk_extent extent[NV_EXTENT_FANOUT];
		struct nv_disk_extent_child child[NV_EXTENT_FANOUT];
	};
};

static_assert(sizeof(struct nv_disk_extent_node) == NV_BLOCK_SIZE,
	      "extent node");

/* Bits of a bitmap page. */
#define NV_BITS_PER_PAGE (NV_BLOCK_SIZE * 8)

#endif
