/*
 * What the extended attributes of a file hold, in and out of C structs.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Samba's servers have kept NT metadata in xattrs since 2004, in several
 * generations of records. Every generation that was ever written decodes here
 * for ever; what is encoded is what stock Samba reads. The records' layout is
 * in ntvfs_xattr.idl, from which pidl makes the code that reads and writes
 * them; golden/ holds one of each.
 *
 * An xattr is input from anybody who may write to the file: the decoders
 * believe nothing. A record that is cut off, has bytes left over, a version
 * nobody wrote, or a count that cannot fit gives one of the errors below and
 * a sentence; *out is then zeroed or NULL. No decoder looks outside the blob,
 * or allocates more than a megabyte and what the blob's own size explains.
 *
 * Errors of every decode function:
 *   NT_STATUS_BUFFER_TOO_SMALL      the blob ends too early
 *   NT_STATUS_PORT_MESSAGE_TOO_LONG bytes are left over behind the record
 *   NT_STATUS_REVISION_MISMATCH     a version that nobody is known to write
 *   NT_STATUS_INVALID_PARAMETER     anything else that contradicts itself
 *   NT_STATUS_NO_MEMORY             talloc failed; says nothing of the blob
 * *reason is then a sentence such as "version 3: ends at byte 31, 24 more are
 * needed", without file name and full stop. It belongs to mem_ctx, or is
 * static when even that could not be had; reason may be NULL. After success
 * *reason is NULL.
 *
 * Nothing here locks or keeps state, apart from a struct ntvfs_complaints,
 * which belongs to one thread.
 */

#ifndef NTVFS_XATTR_BLOB_H
#define NTVFS_XATTR_BLOB_H

#include <stdint.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <talloc.h>
#include "lib/util/data_blob.h"
#include "lib/util/time.h"
#include "libcli/util/ntstatus.h"

struct security_descriptor;

#define NTVFS_XATTR_DOSATTRIB		 "user.DOSATTRIB"
#define NTVFS_XATTR_DOSATTRIB_SAMBA4	 "user.DosAttrib"
#define NTVFS_XATTR_NTACL		 "security.NTACL"
#define NTVFS_XATTR_DOSSTREAMS		 "user.DosStreams"
#define NTVFS_XATTR_DOSSTREAM_PREFIX	 "user.DosStream."
#define NTVFS_XATTR_DOSEAS		 "user.DosEAs"

/* No Linux file system takes a longer xattr value; a longer blob is refused. */
#define NTVFS_XATTR_SIZE_MAX 65536

/*
 * DOS attributes and times.
 */

/* Bits of ntvfs_dosattrib.valid; the low seven are the record's own. */
#define NTVFS_DOSATTRIB_ATTRIBUTES	0x00000001
#define NTVFS_DOSATTRIB_EA_SIZE		0x00000002
#define NTVFS_DOSATTRIB_SIZE		0x00000004
#define NTVFS_DOSATTRIB_ALLOCATION_SIZE	0x00000008
#define NTVFS_DOSATTRIB_CREATE_TIME	0x00000010
#define NTVFS_DOSATTRIB_CHANGE_TIME	0x00000020
#define NTVFS_DOSATTRIB_ITIME		0x00000040
#define NTVFS_DOSATTRIB_WRITE_TIME	0x00000080

/* ntvfs_dosattrib.version of the oldest form, a hex text and nothing else. */
#define NTVFS_DOSATTRIB_VERSION_TEXT	0xFFFF

/* No encoded record is longer than this many bytes. */
#define NTVFS_DOSATTRIB_ENCODED_MAX	64

struct ntvfs_dosattrib {
	uint32_t valid;		   /* which members below count */
	uint32_t attributes;	   /* FILE_ATTRIBUTE_*, all 32 bits as stored */
	NTTIME create_time;	   /* UTC, 100 ns since 1601 */
	NTTIME change_time;
	NTTIME write_time;	   /* version 2 only */
	NTTIME itime;		   /* version 4 only: basis of a file id */
	uint64_t size;		   /* versions 1 to 3: when it was written */
	uint64_t allocation_size;
	uint32_t ea_size;
	uint16_t version;	   /* of the decoded record; encode ignores it */
};

/**
 * Decode the value of user.DOSATTRIB: versions 1 to 5 and the hex text.
 *
 * A member is marked valid when the record says so. A time of 0 stands for
 * none, one with the highest bit set for nothing at all: neither is ever valid
 * (but they are left in *out). ATTRIBUTES is valid after every success: stock
 * Samba believes the attributes of a record even without their bit. When the
 * text in front of a record says something else than the record, the record
 * wins, as it does for stock Samba.
 *
 * Nothing is allocated on success, except for a moment by version 2.
 */
NTSTATUS ntvfs_dosattrib_decode(TALLOC_CTX *mem_ctx,
				const DATA_BLOB *blob,
				struct ntvfs_dosattrib *out,
				const char **reason);

/**
 * Decode the value of user.DosAttrib, as Samba 4's own file server left it:
 * the same records without the text in front. See ntvfs_dosattrib_decode().
 */
NTSTATUS ntvfs_dosattrib_samba4_decode(TALLOC_CTX *mem_ctx,
				       const DATA_BLOB *blob,
				       struct ntvfs_dosattrib *out,
				       const char **reason);

/**
 * Encode a value for user.DOSATTRIB: a version 3 record, from which stock
 * Samba of any version takes attributes and create time.
 *
 * Members without their valid bit are stored as 0 and not valid; ITIME and
 * WRITE_TIME have no place in version 3 and are dropped. A time of 0, or with
 * the highest bit set, is stored as 0 and not valid. Attributes are stored as
 * given.
 *
 * The record is written to buffer, and its size to *length (at most
 * NTVFS_DOSATTRIB_ENCODED_MAX). Equal members give equal bytes, and the size
 * depends on nothing but the number of hex digits in the attributes: 52 bytes
 * for one, 56 for two to five, 60 for more. Does not allocate.
 *
 * Returns NT_STATUS_OK; NT_STATUS_INTERNAL_ERROR cannot happen unless libndr
 * disagrees with this header.
 */
NTSTATUS ntvfs_dosattrib_encode(const struct ntvfs_dosattrib *in,
				uint8_t buffer[NTVFS_DOSATTRIB_ENCODED_MAX],
				size_t *length);

/**
 * One record in a few lines: version, attribute names, times.
 * The text belongs to mem_ctx; NULL when talloc fails.
 */
char *ntvfs_dosattrib_to_text(TALLOC_CTX *mem_ctx,
			      const struct ntvfs_dosattrib *dosattrib);

/**
 * The names of attribute bits, "HIDDEN|ARCHIVE"; unknown ones in hex; "none"
 * for 0. The text belongs to mem_ctx; NULL when talloc fails.
 */
char *ntvfs_attributes_to_text(TALLOC_CTX *mem_ctx, uint32_t attributes);

#define NTVFS_NTTIME_TEXT_SIZE 40

/**
 * A time in ISO 8601 with all of its seven decimals and a Z for UTC, such as
 * "2004-11-24T08:30:00.1234567Z", for the years 1601 to 30828; "0" and "-1"
 * for what stands for no time, and the plain number for what is beyond.
 * Returns buffer.
 */
char *ntvfs_nttime_to_text(NTTIME time, char buffer[NTVFS_NTTIME_TEXT_SIZE]);

/*
 * NT ACL.
 */

#define NTVFS_NTACL_HASH_BYTES 64

struct ntvfs_ntacl {
	uint16_t version;	/* 1 to 4 */
	uint16_t hash_type;	/* 0 none, 1 SHA-256; versions 3 and 4 */
	uint8_t hash[NTVFS_NTACL_HASH_BYTES]; /* version 2 has but 16 bytes */
	const char *description;	      /* version 4, else NULL */
	NTTIME time;			      /* version 4, else 0 */
	uint8_t sys_acl_hash[NTVFS_NTACL_HASH_BYTES]; /* version 4 */
	struct security_descriptor *sd;	      /* never NULL after success */
};

/**
 * Decode the value of security.NTACL, versions 1 to 4.
 *
 * *out and all that hangs on it is one talloc tree under mem_ctx; out->sd can
 * be moved out with talloc_move(). The descriptor is as stored: no order, mask
 * or flag of it is changed.
 */
NTSTATUS ntvfs_ntacl_decode(TALLOC_CTX *mem_ctx,
			    const DATA_BLOB *blob,
			    struct ntvfs_ntacl **out,
			    const char **reason);

/**
 * Encode a value for security.NTACL: what stock acl_xattr writes with
 * "ignore system acls = yes", namely version 3, hash type SHA-256 and a hash
 * of zeros. With that option it believes it whatever the hash; without it, it
 * finds that the POSIX ACL is another one, and falls back to that.
 *
 * The descriptor is stored as it is, with SEC_DESC_SELF_RELATIVE added to its
 * type. blob->data belongs to mem_ctx.
 *
 * Returns NT_STATUS_OK; NT_STATUS_INVALID_PARAMETER when libndr cannot
 * marshal sd; NT_STATUS_NO_MEMORY. A blob of more than NTVFS_XATTR_SIZE_MAX
 * bytes is returned all the same: whether it fits is for the store to say.
 */
NTSTATUS ntvfs_ntacl_encode(TALLOC_CTX *mem_ctx,
			    const struct security_descriptor *sd,
			    DATA_BLOB *blob);

/**
 * A descriptor in SDDL, on one line, with every SID spelled out. What SDDL
 * has no letters for is refused by it: *sddl is then NULL, and the text of
 * ntvfs_ntacl_to_text() shows it.
 *
 * Returns NT_STATUS_OK, NT_STATUS_INVALID_PARAMETER or NT_STATUS_NO_MEMORY.
 */
NTSTATUS ntvfs_sd_to_sddl(TALLOC_CTX *mem_ctx,
			  const struct security_descriptor *sd,
			  char **sddl);

/**
 * One record in lines: version, hash, owner, group, one line for every ACE.
 * The text belongs to mem_ctx; NULL when talloc fails.
 */
char *ntvfs_ntacl_to_text(TALLOC_CTX *mem_ctx,
			  const struct ntvfs_ntacl *ntacl);

/*
 * Streams and EAs as Samba 4's own file server kept them.
 */

/* ntvfs_dosstream.flags: the data is in user.DosStream.NAME. */
#define NTVFS_DOSSTREAM_INTERNAL 0x00000001

struct ntvfs_dosstream {
	const char *name;	/* UTF-8; a ":$DATA" behind it means nothing */
	uint64_t size;
	uint64_t allocation_size;
	uint32_t flags;
};

struct ntvfs_dosstreams {
	uint32_t count;
	struct ntvfs_dosstream *streams;	/* NULL when there is none */
};

struct ntvfs_dosea {
	const char *name;	/* UTF-8 */
	DATA_BLOB value;	/* any bytes, often none */
};

struct ntvfs_doseas {
	uint32_t count;
	struct ntvfs_dosea *eas;		/* NULL when there is none */
};

/**
 * Decode the value of user.DosStreams. *out is one talloc tree.
 */
NTSTATUS ntvfs_dosstreams_decode(TALLOC_CTX *mem_ctx,
				 const DATA_BLOB *blob,
				 struct ntvfs_dosstreams **out,
				 const char **reason);

/**
 * Decode the value of user.DosEAs. *out is one talloc tree.
 */
NTSTATUS ntvfs_doseas_decode(TALLOC_CTX *mem_ctx,
			     const DATA_BLOB *blob,
			     struct ntvfs_doseas **out,
			     const char **reason);

/**
 * A line for every stream or EA. The text belongs to mem_ctx; NULL when talloc
 * fails.
 */
char *ntvfs_dosstreams_to_text(TALLOC_CTX *mem_ctx,
			       const struct ntvfs_dosstreams *streams);
char *ntvfs_doseas_to_text(TALLOC_CTX *mem_ctx,
			   const struct ntvfs_doseas *eas);

/*
 * Complaints: a bad blob is counted each time and reported once per file.
 */

struct ntvfs_complaints;

struct ntvfs_complaint {
	dev_t device;
	ino_t inode;
	const char *xattr_name;
	const char *path;	/* for the reader; may be NULL */
	NTSTATUS status;	/* of the decoder */
	const char *reason;	/* of the decoder */
};

/**
 * What is called for the first complaint about an xattr of a file. It runs
 * inside ntvfs_complain(); the complaint is valid until it returns.
 */
typedef void (*ntvfs_complaint_fn)(const struct ntvfs_complaint *complaint,
				   void *private_data);

/**
 * A table that remembers the last files complained of, with room for at least
 * capacity of them (1 to 65536; 16 bytes each), one xattr of a file counting
 * as one. When it is full an old one is forgotten, and may be reported again.
 *
 * Returns NULL when talloc fails or capacity is out of range. Free it with
 * talloc_free(). To be used by one thread at a time.
 */
struct ntvfs_complaints *ntvfs_complaints_create(TALLOC_CTX *mem_ctx,
						 size_t capacity,
						 ntvfs_complaint_fn report,
						 void *private_data);

/**
 * Count a bad blob, and report it unless it is remembered. Does not allocate.
 * Two files whose keys collide in 64 bits of hash count as one: a report may
 * then be missing, once in a very long time; the count is right.
 * Returns true when it was reported.
 */
bool ntvfs_complain(struct ntvfs_complaints *complaints,
		    const struct ntvfs_complaint *complaint);

/** How often ntvfs_complain() was called, and how often it reported. */
uint64_t ntvfs_complaints_counted(const struct ntvfs_complaints *complaints);
uint64_t ntvfs_complaints_reported(const struct ntvfs_complaints *complaints);

#endif
