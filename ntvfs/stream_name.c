/*
 * Names of streams as SMB clients write them.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include "ntvfs/stream_name.h"

#define DATA_TYPE "$DATA"

/* MS-FSCC 2.1.5.3: in UTF-16 units */
#define NAME_UNITS_MAX 255

/*
 * How many UTF-16 units UTF-8 becomes. Bytes that are no UTF-8 come from no
 * client.
 */
static size_t utf16_units(const char *utf8, size_t length)
{
	size_t units = 0;
	size_t i;

	for (i = 0; i < length; i++) {
		uint8_t byte = (uint8_t)utf8[i];

		if (byte >= 0xf0) {
			/* the first of four: a surrogate pair */
			units += 2;
		} else if (byte < 0x80 || byte >= 0xc0) {
			units++;
		}
	}
	return units;
}

int ntvfs_stream_name_parse(TALLOC_CTX *mem_ctx,
			    const char *stream,
			    char **name)
{
	const char *type = NULL;
	size_t length;

	*name = NULL;
	if (stream == NULL || stream[0] != ':') {
		return EINVAL;
	}
	stream += 1;

	/*
	 * The last colon is the one before the type: some translations of
	 * names put colons into the name itself.
	 */
	type = strrchr(stream, ':');
	if (type != NULL) {
		if (strcasecmp(type + 1, DATA_TYPE) != 0) {
			return EINVAL;
		}
		length = (size_t)(type - stream);
	} else {
		length = strlen(stream);
	}
	if (length == 0) {
		return ENOENT;
	}
	if (memchr(stream, '/', length) != NULL ||
	    memchr(stream, '\\', length) != NULL)
	{
		return EINVAL;
	}
	if (utf16_units(stream, length) > NAME_UNITS_MAX) {
		return ENAMETOOLONG;
	}
	*name = talloc_strndup(mem_ctx, stream, length);
	return *name == NULL ? ENOMEM : 0;
}

char *ntvfs_stream_name_full(TALLOC_CTX *mem_ctx, const char *name)
{
	return talloc_asprintf(mem_ctx, ":%s:" DATA_TYPE, name);
}
