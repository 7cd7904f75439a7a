/*
 * The native volume engine: many processes, one mapped volume.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A volume is an image file or a block device in ntvfs's own format. Every
 * process that uses it attaches it: the image is mapped shared, and so is a
 * segment in shared memory that holds locks, undo records and the allocator's
 * state. There is no server process; processes and threads work on the
 * volume side by side, and any of them may die at any instruction without
 * harm to the others.
 *
 * Objects are found by file id, a 64-bit number that is never used again
 * while the volume lives. Names live in directories and lead to file ids.
 *
 * Each call that changes something is one atomic operation: after a crash of
 * the process it has happened or it has not. It is durable once a commit that
 * began after the call has returned: nv_volume_commit, nv_file_flush, or the
 * commit that nv_volume_tick makes every few seconds. What a power cut leaves
 * is a prefix of the history of operations, except for file data written in
 * place (over data that was there before): it may be newer than that prefix,
 * and, where the commit was nv_file_flush of another file, older.
 *
 * Caveats. An attachment is of no use in a child after fork: calls return
 * NV_ERR_NO_SLOT there, and detach only frees memory; attach again. The path of the segment must be on a tmpfs. A process that is
 * stopped (SIGSTOP) inside a call makes commits wait.
 *
 * Unless said otherwise every call is safe from any number of threads, may
 * block on the disk, and returns one of these besides its own errors:
 * NV_ERR_WITHDRAWN, NV_ERR_CORRUPT, NV_ERR_IO, NV_ERR_NO_SLOT,
 * NV_ERR_NO_MEMORY; calls that change something also NV_ERR_READ_ONLY,
 * NV_ERR_NO_SPACE. Output arguments are written on success only.
 */

#ifndef NTVFS_NATIVE_H
#define NTVFS_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum nv_status {
	NV_OK = 0,
	NV_ERR_IO,		/* the disk or the host refused */
	NV_ERR_CORRUPT,		/* a structure or checksum is wrong */
	NV_ERR_WITHDRAWN,	/* the volume was withdrawn: reading only */
	NV_ERR_READ_ONLY,	/* attached read-only */
	NV_ERR_NO_SPACE,
	NV_ERR_NO_MEMORY,
	NV_ERR_NO_SLOT,		/* too many threads use the volume */
	NV_ERR_NOT_A_VOLUME,	/* no super block */
	NV_ERR_VERSION,		/* a format or feature we do not know */
	NV_ERR_SHRUNK,		/* image smaller than the volume */
	NV_ERR_IN_USE,		/* attached by another machine or exclusively */
	NV_ERR_SEGMENT,		/* no room or no right for the segment */
	NV_ERR_INVALID,		/* an argument is out of range */
	NV_ERR_NOT_FOUND,	/* no such file id, name, stream, EA */
	NV_ERR_EXISTS,
	NV_ERR_NOT_EMPTY,
	NV_ERR_NOT_DIRECTORY,
	NV_ERR_IS_DIRECTORY,
	NV_ERR_NAME,		/* name too long or malformed */
	NV_ERR_TOO_LARGE,	/* file, EA or descriptor beyond its limit */
	NV_ERR_TOO_MANY_LINKS,
	NV_ERR_LOOP,		/* a directory would move below itself */
	NV_ERR_RETRY		/* internal: never returned to a caller */
};

/* A short English text; never NULL. */
const char *nv_status_string(enum nv_status status);
/* The nearest errno. */
int nv_status_errno(enum nv_status status);

typedef uint64_t nv_file_id;
struct nv_volume;
struct nv_io;

/* ------------------------------------------------------------------ */
/* Volume                                                              */

struct nv_format_params {
	uint32_t inode_size;	/* 256..4096, power of two; 0: 512 */
	const char *label;	/* UTF-8, up to 63 bytes, NULL: none */
	const uint8_t *uuid;	/* 16 bytes, NULL: random */
	/* 65,536 code units that give the upcase form of each; NULL: the
	 * built-in table. */
	const uint16_t *upcase;
	/* As in struct nv_attach_params. */
	const char *segment_directory;
};

/*
 * Make an empty volume that fills the image; all it held is lost. The root
 * directory exists on return, and everything is durable.
 * NV_ERR_INVALID: image smaller than 4 MiB or a bad parameter.
 * NV_ERR_IN_USE: someone has it attached.
 */
enum nv_status nv_volume_format(struct nv_io *io,
				const struct nv_format_params *params);

#define NV_ATTACH_READ_ONLY 0x0001
/* Attach although another machine seems to have it attached: only when that
 * machine is certainly down. */
#define NV_ATTACH_FORCE 0x0002

struct nv_attach_params {
	uint32_t flags;
	/* Where the segment file is made; NULL: "/dev/shm". */
	const char *segment_directory;
	/* Milliseconds between commits of nv_volume_tick; 0: 5000. */
	uint32_t commit_interval;
	/* Called at most once per attachment, when the volume is withdrawn,
	 * by the thread that notices; NULL: nobody is told. */
	void (*withdrawn)(void *private_data, const char *reason);
	void *private_data;
};

/*
 * Attach. On success the io belongs to the attachment. On failure message,
 * if not NULL, holds one line that says what is wrong, where, and what to do;
 * it has room for NV_MESSAGE_SIZE bytes. The first attacher after a crash
 * recovers: from the surviving segment when only processes died, from the
 * last root otherwise.
 */
#define NV_MESSAGE_SIZE 256
enum nv_status nv_volume_attach(struct nv_io *io,
				const struct nv_attach_params *params,
				struct nv_volume **volume, char *message);

/*
 * Let go. No call may be running or follow. The last one to detach commits
 * and marks the volume clean; the status is that of this commit. The
 * attachment is gone whatever the status.
 */
enum nv_status nv_volume_detach(struct nv_volume *volume);

/*
 * Make durable everything that had returned before this call. Concurrent
 * callers share commits.
 */
enum nv_status nv_volume_commit(struct nv_volume *volume);

/*
 * For a timer: commit if the interval has passed since the last commit, and
 * then reclaim what processes that died left without a name.
 */
enum nv_status nv_volume_tick(struct nv_volume *volume);

/* Make the volume use its image's whole present size. */
enum nv_status nv_volume_grow(struct nv_volume *volume);

struct nv_volume_statistics {
	uint8_t uuid[16];
	char label[64];
	uint32_t inode_size;
	nv_file_id root_directory;
	uint64_t total_blocks;		/* of 4,096 bytes */
	uint64_t free_blocks;		/* what a new file could get */
	uint64_t data_blocks;
	uint64_t inodes;
	uint64_t open_group;
	uint64_t durable_group;
	/* since the segment was made, all processes together */
	uint64_t operations;		/* of the slots in use */
	uint64_t commits;
	uint64_t flushes;
	uint64_t recovered_slots;	/* dead processes rolled back */
	uint64_t undo_entries_most;	/* in one operation */
	uint64_t undo_bytes_most;
	bool withdrawn;
};

enum nv_status nv_volume_statistics(struct nv_volume *volume,
				    struct nv_volume_statistics *statistics);

/* The attached volume's upcase table: 65,536 entries, valid while attached. */
const uint16_t *nv_volume_upcase(struct nv_volume *volume);

/* ------------------------------------------------------------------ */
/* Objects                                                             */

#define NV_INFO_ATTRIBUTES 0x0001
#define NV_INFO_CREATION_TIME 0x0002
#define NV_INFO_LAST_ACCESS_TIME 0x0004
#define NV_INFO_LAST_WRITE_TIME 0x0008
#define NV_INFO_CHANGE_TIME 0x0010
#define NV_INFO_TIMES 0x001e
#define NV_INFO_UID 0x0020
#define NV_INFO_GID 0x0040
#define NV_INFO_MODE 0x0080
#define NV_INFO_DEVICE 0x0100
#define NV_INFO_CASE_SENSITIVE 0x0200

/* type: */
#define NV_FILE 1
#define NV_DIRECTORY 2
#define NV_STREAM 3
#define NV_SPECIAL 4

struct nv_info {
	nv_file_id id;
	nv_file_id parent;	/* where it got its last name, even if that is
				   gone by now; stream: its file */
	uint32_t type;
	uint32_t attributes;	/* MS-FSCC 2.6, stored as given */
	uint64_t creation_time;	/* NTTIME: 100 ns since 1601 */
	uint64_t last_access_time;
	uint64_t last_write_time;
	uint64_t change_time;
	uint64_t size;
	uint64_t allocation;
	uint32_t nlink;
	uint32_t sd_id;		/* 0: none */
	uint32_t reparse_tag;	/* 0: none */
	uint32_t ea_size;	/* MS-FSCC 2.4.13; 0: no EAs */
	uint32_t ea_count;
	uint32_t stream_count;
	uint32_t uid, gid, mode;
	uint64_t device;
	uint64_t entry_count;	/* names in a directory */
	bool case_sensitive;
};

/* All metadata of one object, read without a lock, never torn. */
enum nv_status nv_get_info(struct nv_volume *volume, nv_file_id id,
			   struct nv_info *info);

/*
 * Set what the mask (NV_INFO_*) names, nothing else: no time moves by itself.
 * NV_INFO_CASE_SENSITIVE: only an empty directory (NV_ERR_NOT_EMPTY).
 */
enum nv_status nv_set_info(struct nv_volume *volume, nv_file_id id,
			   uint32_t mask, const struct nv_info *info);

/*
 * Say that this attachment uses the object: while anyone holds it, an object
 * without a name stays (MS-FSA delete-on-close, POSIX unlink of an open
 * file). Counted; dies with the process. The last release of an object
 * without a name frees it.
 */
enum nv_status nv_hold(struct nv_volume *volume, nv_file_id id);
enum nv_status nv_release(struct nv_volume *volume, nv_file_id id);

/* ------------------------------------------------------------------ */
/* Names (UTF-16, host byte order, without terminator, 1..255 units)    */

struct nv_name {
	const uint16_t *units;
	uint32_t length;	/* code units */
};

#define NV_NAME_MAX 255

/*
 * The length of a short name that is to be made: as NTFS would, if the name
 * is not itself a short name (MS-FSCC 2.1.5.2.1).
 */
#define NV_SHORT_NAME_AUTOMATIC UINT32_MAX

struct nv_ea {
	const char *name;	/* 1..255 bytes, compared without case */
	uint8_t flags;
	const void *value;
	uint32_t length;	/* up to 65,535 */
};

struct nv_create_params {
	struct nv_name name;
	struct nv_name short_name;	/* up to 12 units; length 0: none */
	uint32_t type;			/* NV_FILE, NV_DIRECTORY, NV_SPECIAL */
	struct nv_info info;		/* what info_mask names */
	uint32_t info_mask;		/* NV_INFO_*; the rest is zero */
	const void *sd;			/* self-relative, NULL: none */
	uint32_t sd_length;
	const struct nv_ea *ea;
	uint32_t ea_count;
	/* Set the directory's last write and change time to this; 0: not. */
	uint64_t directory_time;
	bool hold;			/* and nv_hold it */
};

/* One atomic operation. NV_ERR_EXISTS: the name or short name is taken. */
enum nv_status nv_create(struct nv_volume *volume, nv_file_id directory,
			 const struct nv_create_params *params,
			 nv_file_id *id);

struct nv_found {
	nv_file_id id;
	uint64_t cookie;	/* the entry's number: rises with each new
				   entry, never used again in the directory */
	uint32_t name_length;
	uint32_t short_length;
	uint16_t name[NV_NAME_MAX + 1];		/* as stored, terminated */
	uint16_t short_name[13];
};

/*
 * Find a name, without case unless the directory is case-sensitive; long
 * and short names both match. Takes no lock. NV_ERR_NOT_FOUND costs the same.
 */
enum nv_status nv_lookup(struct nv_volume *volume, nv_file_id directory,
			 const struct nv_name *name, struct nv_found *found);

#define NV_REPLACE 0x0001	/* an existing target loses its name */

/*
 * A further name. Not for directories (NV_ERR_IS_DIRECTORY).
 * NV_ERR_TOO_MANY_LINKS at 1,024. short_name: NULL: none. NV_REPLACE as in
 * nv_rename.
 */
enum nv_status nv_link(struct nv_volume *volume, nv_file_id id,
		       nv_file_id directory, const struct nv_name *name,
		       const struct nv_name *short_name,
		       uint64_t directory_time, uint32_t flags);

/*
 * Remove a name. expected, if not 0, must be what it leads to, otherwise
 * NV_ERR_NOT_FOUND. A directory must be empty (NV_ERR_NOT_EMPTY). An object
 * without names is freed when nobody holds it.
 */
enum nv_status nv_unlink(struct nv_volume *volume, nv_file_id directory,
			 const struct nv_name *name, nv_file_id expected,
			 uint64_t directory_time);

/*
 * Move a name. A name that differs in case only is a rename too. to_short:
 * NULL: none. With NV_REPLACE an existing target loses its name in the same
 * operation; without, NV_ERR_EXISTS. A directory replaces an empty directory
 * only (NV_ERR_NOT_DIRECTORY, NV_ERR_NOT_EMPTY), anything else never a
 * directory (NV_ERR_IS_DIRECTORY). A target that is another name of the same
 * object is replaced like any other. NV_ERR_LOOP: a directory below itself.
 */
enum nv_status nv_rename(struct nv_volume *volume, nv_file_id from_directory,
			 const struct nv_name *from, nv_file_id expected,
			 nv_file_id to_directory, const struct nv_name *to,
			 const struct nv_name *to_short,
			 uint64_t directory_time, uint32_t flags);

/* Give a name another short name; length 0 removes it. NV_ERR_EXISTS. */
enum nv_status nv_set_short_name(struct nv_volume *volume,
				 nv_file_id directory,
				 const struct nv_name *name,
				 const struct nv_name *short_name);

/*
 * The entries behind a name (NULL: from the start) in stored order, up to
 * count; the way to go on is the name of the last entry told, whether or not
 * it exists any more. An entry that stays in the directory during the whole
 * enumeration is told exactly once, whatever else is inserted and removed.
 * *returned less than count: the end. Takes no lock.
 */
enum nv_status nv_enumerate(struct nv_volume *volume, nv_file_id directory,
			    const struct nv_name *after,
			    struct nv_found *found, uint32_t count,
			    uint32_t *returned);

/* ------------------------------------------------------------------ */
/* Data of files and streams. Offsets and lengths in bytes.             */

/* Up to the end of file; *done may be short only there. */
enum nv_status nv_read(struct nv_volume *volume, nv_file_id id,
		       uint64_t offset, void *buffer, size_t length,
		       size_t *done);

/*
 * Write all of it, beyond the end of file too: the gap reads as zeros. time
 * is the new last write and change time; 0 leaves them. A write of more than
 * one block is not one atomic operation: a crash may leave a first part.
 */
enum nv_status nv_write(struct nv_volume *volume, nv_file_id id,
			uint64_t offset, const void *buffer, size_t length,
			uint64_t time);

/* Set the end of file: cuts off, or extends by a hole. Any size at once. */
enum nv_status nv_set_size(struct nv_volume *volume, nv_file_id id,
			   uint64_t size, uint64_t time);

/*
 * Set the allocation (MS-FSCC 2.4.4): blocks beyond the end of file are
 * reserved unwritten, or given back. Below the end of file: NV_ERR_INVALID.
 */
enum nv_status nv_set_allocation(struct nv_volume *volume, nv_file_id id,
				 uint64_t allocation);

/* Reads as zeros afterwards; whole blocks are given back. */
enum nv_status nv_punch(struct nv_volume *volume, nv_file_id id,
			uint64_t offset, uint64_t length, uint64_t time);

/* Reads as zeros afterwards and stays allocated. */
enum nv_status nv_zero_range(struct nv_volume *volume, nv_file_id id,
			     uint64_t offset, uint64_t length, uint64_t time);

struct nv_range {
	uint64_t offset;
	uint64_t length;
};

/* Written ranges that touch [offset, offset + length), up to count. */
enum nv_status nv_allocated_ranges(struct nv_volume *volume, nv_file_id id,
				   uint64_t offset, uint64_t length,
				   struct nv_range *range, uint32_t count,
				   uint32_t *returned);

/*
 * The file's data and all metadata are durable on return. What others have
 * written over data of their files is not written out; nv_volume_commit does
 * that, too.
 */
enum nv_status nv_file_flush(struct nv_volume *volume, nv_file_id id);

/* Ask for reservation windows of this many bytes for the file (0: grow as
 * usual), as long as this attachment lives. */
enum nv_status nv_set_window(struct nv_volume *volume, nv_file_id id,
			     uint64_t bytes);

/* Nobody of this attachment will write the file soon: drop its window. */
void nv_done_writing(struct nv_volume *volume, nv_file_id id);

/* ------------------------------------------------------------------ */
/* Named streams: an object of type NV_STREAM with all data calls.       */

/*
 * Find or make. NV_ERR_NOT_FOUND without create, NV_ERR_EXISTS with
 * create_new. *created tells. Names are 1..255 units without ':', '/' and
 * zero (NV_ERR_NAME), compared without case. Streams have no streams.
 */
enum nv_status nv_stream_open(struct nv_volume *volume, nv_file_id file,
			      const struct nv_name *name, bool create,
			      bool create_new, nv_file_id *stream,
			      bool *created);
/* Remove; the object stays while held. */
enum nv_status nv_stream_remove(struct nv_volume *volume, nv_file_id file,
				const struct nv_name *name);
/* With NV_REPLACE an existing target is removed in the same operation. */
enum nv_status nv_stream_rename(struct nv_volume *volume, nv_file_id file,
				const struct nv_name *from,
				const struct nv_name *to, uint32_t flags);
/* As nv_enumerate. */
enum nv_status nv_stream_enumerate(struct nv_volume *volume, nv_file_id file,
				   const struct nv_name *after,
				   struct nv_found *found, uint32_t count,
				   uint32_t *returned);

/* ------------------------------------------------------------------ */
/* Extended attributes, security descriptors, reparse data              */

/*
 * Copy the value. *length: room on entry, the value's size on return, also
 * with NV_ERR_TOO_LARGE (no room).
 */
enum nv_status nv_ea_get(struct nv_volume *volume, nv_file_id id,
			 const char *name, void *value, uint32_t *length,
			 uint8_t *flags);
/*
 * All of them or none are set; length 0 removes one. One call sets up to
 * 64 KiB of values (NV_ERR_TOO_LARGE). A value of the size that was there
 * before is replaced in place. NV_ERR_NAME: an empty or too long name.
 */
enum nv_status nv_ea_set(struct nv_volume *volume, nv_file_id id,
			 const struct nv_ea *ea, uint32_t count);
/*
 * Every EA packed as FILE_FULL_EA_INFORMATION (MS-FSCC 2.4.16); *length as
 * in nv_ea_get.
 */
enum nv_status nv_ea_list(struct nv_volume *volume, nv_file_id id,
			  void *buffer, uint32_t *length);

/*
 * A self-relative descriptor up to 64 KiB; NULL removes it. Equal ones are
 * stored once, and stay when the last object has another (as NTFS's $Secure).
 */
enum nv_status nv_sd_set(struct nv_volume *volume, nv_file_id id,
			 const void *sd, uint32_t length);
/* NV_ERR_NOT_FOUND: the object has none. *length as in nv_ea_get. */
enum nv_status nv_sd_get(struct nv_volume *volume, nv_file_id id, void *sd,
			 uint32_t *length);
/*
 * By the id of struct nv_info. An id means the same descriptor for ever, so
 * a caller can keep unpacked forms by id.
 */
enum nv_status nv_sd_get_by_id(struct nv_volume *volume, uint32_t sd_id,
			       void *sd, uint32_t *length);

/* Tag 0 removes; data up to 16 KiB (NV_ERR_TOO_LARGE). */
enum nv_status nv_reparse_set(struct nv_volume *volume, nv_file_id id,
			      uint32_t tag, const void *data,
			      uint32_t length);
/* NV_ERR_NOT_FOUND: no reparse point. *length as in nv_ea_get. */
enum nv_status nv_reparse_get(struct nv_volume *volume, nv_file_id id,
			      uint32_t *tag, void *data, uint32_t *length);

/* ------------------------------------------------------------------ */
/* The checker                                                          */

struct nv_check_params {
	bool repair;		/* the caller has it attached alone */
	/* Each finding: a name from the list in docs/native-design.md and
	 * one line of text. */
	void (*finding)(void *private_data, const char *name,
			const char *text);
	void (*progress)(void *private_data, const char *what, uint64_t done,
			 uint64_t total);
	void *private_data;
};

/*
 * Check an image that nobody has attached, from its newest valid root.
 * *findings is their number; NV_OK with 0 is a sound volume.
 */
enum nv_status nv_check(struct nv_io *io, const struct nv_check_params *params,
			uint64_t *findings);

#endif
