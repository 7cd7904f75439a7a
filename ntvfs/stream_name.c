/*
 * Names of streams as SMB clients write them.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <string.h>
#include <strings.h>
#include "ntvfs/stream_name.h"

#define DATA_TYPE "$DATA"

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
	*name = talloc_strndup(mem_ctx, stream, length);
	return *name == NULL ? ENOMEM : 0;
}

char *ntvfs_stream_name_full(TALLOC_CTX *mem_ctx, const char *name)
{
	return talloc_asprintf(mem_ctx, ":%s:" DATA_TYPE, name);
}
