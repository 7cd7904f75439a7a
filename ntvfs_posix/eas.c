/*
 * Extended attributes of SMB clients: user.NAME, as stock Samba keeps them,
 * and what Samba 4's own file server left in user.DosEAs.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <errno.h>
#include <string.h>
#include <strings.h>
#include "ntvfs_posix/private.h"

static bool has_prefix(const char *name, const char *prefix)
{
	return strncasecmp(name, prefix, strlen(prefix)) == 0;
}

bool ntvfs_posix_is_private_xattr(const char *name)
{
	/* ours, and what stock Samba hides for its own modules */
	static const char *const private_names[] = {
		NTVFS_XATTR_DOSATTRIB,
		NTVFS_XATTR_DOSSTREAMS,
		NTVFS_XATTR_DOSEAS,
		"user.SAMBA_PAI",
		"user.SAMBA_STREAMS",
		"user.org.netatalk.Metadata",
	};
	size_t i;

	/* without regard to case, as clients see EA names */
	for (i = 0; i < sizeof(private_names) / sizeof(char *); i++) {
		if (strcasecmp(name, private_names[i]) == 0) {
			return true;
		}
	}
	return has_prefix(name, NTVFS_XATTR_DOSSTREAM_PREFIX) ||
	       has_prefix(name, NTVFS_XATTR_PRIVATE_PREFIX);
}

/* Without regard to case: the name of the xattr, or NULL. */
static const char *names_find(const char *names,
			      size_t length,
			      const char *wanted)
{
	const char *name = NULL;

	for (name = names; name < names + length; name += strlen(name) + 1) {
		if (strcasecmp(name, wanted) == 0) {
			return name;
		}
	}
	return NULL;
}

/* What is in user.DosEAs; *eas is NULL if there is none. */
static int old_eas_load(struct ntvfs_posix *posix,
			const struct ntvfs_object *object,
			TALLOC_CTX *mem_ctx,
			struct ntvfs_doseas **eas)
{
	const char *names = NULL;
	const char *reason = NULL;
	DATA_BLOB blob = {.data = NULL};
	size_t length = 0;
	NTSTATUS status;
	int error;

	*eas = NULL;
	error = ntvfs_xattr_names(posix, object, &names, &length);
	if (error != 0 ||
	    !ntvfs_xattr_names_have(names, length, NTVFS_XATTR_DOSEAS))
	{
		return error;
	}
	error = ntvfs_xattr_load(posix,
				 object,
				 NTVFS_XATTR_DOSEAS,
				 mem_ctx,
				 &blob);
	if (error == ENODATA) {
		return 0;
	}
	if (error != 0) {
		return error;
	}
	status = ntvfs_doseas_decode(mem_ctx, &blob, eas, &reason);
	if (NT_STATUS_EQUAL(status, NT_STATUS_NO_MEMORY)) {
		return ENOMEM;
	}
	if (!NT_STATUS_IS_OK(status)) {
		ntvfs_posix_complain(posix,
				     object,
				     NTVFS_XATTR_DOSEAS,
				     status,
				     reason);
		*eas = NULL;
	}
	return 0;
}

static const struct ntvfs_dosea *old_ea_find(const struct ntvfs_doseas *eas,
					     const char *name)
{
	uint32_t i;

	for (i = 0; eas != NULL && i < eas->count; i++) {
		if (strcasecmp(eas->eas[i].name, name) == 0 &&
		    eas->eas[i].value.length > 0)
		{
			return &eas->eas[i];
		}
	}
	return NULL;
}

static int names_append(TALLOC_CTX *mem_ctx,
			char **names,
			size_t *length,
			const char *name)
{
	size_t bytes = strlen(name) + 1;
	char *grown = NULL;

	grown = talloc_realloc(mem_ctx, *names, char, *length + bytes);
	if (grown == NULL) {
		return ENOMEM;
	}
	memcpy(grown + *length, name, bytes);
	*names = grown;
	*length += bytes;
	return 0;
}

int ntvfs_posix_list_eas(struct ntvfs_backend *backend,
			 const struct ntvfs_object *object,
			 TALLOC_CTX *mem_ctx,
			 char **names,
			 size_t *length)
{
	struct ntvfs_posix *posix = ntvfs_posix_of(backend);
	const size_t prefix = strlen(NTVFS_XATTR_USER_PREFIX);
	TALLOC_CTX *frame = talloc_new(mem_ctx);
	struct ntvfs_doseas *old = NULL;
	const char *all = NULL;
	const char *name = NULL;
	size_t all_length = 0;
	uint32_t i;
	int error;

	*names = NULL;
	*length = 0;
	if (frame == NULL) {
		return ENOMEM;
	}
	error = old_eas_load(posix, object, frame, &old);
	if (error != 0) {
		goto done;
	}
	error = ntvfs_xattr_names(posix, object, &all, &all_length);
	if (error != 0) {
		goto done;
	}
	for (name = all; name < all + all_length; name += strlen(name) + 1) {
		if (strncmp(name, NTVFS_XATTR_USER_PREFIX, prefix) != 0 ||
		    ntvfs_posix_is_private_xattr(name))
		{
			continue;
		}
		error = names_append(mem_ctx, names, length, name + prefix);
		if (error != 0) {
			goto done;
		}
	}
	for (i = 0; old != NULL && i < old->count; i++) {
		char *full = NULL;

		if (old->eas[i].value.length == 0) {
			continue;
		}
		full = talloc_asprintf(frame,
				       NTVFS_XATTR_USER_PREFIX "%s",
				       old->eas[i].name);
		if (full == NULL) {
			error = ENOMEM;
			goto done;
		}
		/* a newer value of that name has been seen above */
		if (ntvfs_posix_is_private_xattr(full) ||
		    names_find(all, all_length, full) != NULL)
		{
			continue;
		}
		error = names_append(mem_ctx,
				     names,
				     length,
				     old->eas[i].name);
		if (error != 0) {
			goto done;
		}
	}
done:
	if (error != 0) {
		TALLOC_FREE(*names);
		*length = 0;
	}
	TALLOC_FREE(frame);
	return error;
}

int ntvfs_posix_get_ea(struct ntvfs_backend *backend,
		       const struct ntvfs_object *object,
		       const char *name,
		       void *buffer,
		       size_t size,
		       size_t *length)
{
	struct ntvfs_posix *posix = ntvfs_posix_of(backend);
	TALLOC_CTX *frame = talloc_new(posix);
	const struct ntvfs_dosea *ea = NULL;
	struct ntvfs_doseas *old = NULL;
	const char *names = NULL;
	size_t names_length = 0;
	char *full = NULL;
	int error;

	*length = 0;
	if (frame == NULL) {
		return ENOMEM;
	}
	full = talloc_asprintf(frame, NTVFS_XATTR_USER_PREFIX "%s", name);
	if (full == NULL) {
		error = ENOMEM;
		goto done;
	}
	if (ntvfs_posix_is_private_xattr(full)) {
		error = ENODATA;
		goto done;
	}
	error = ntvfs_xattr_get(posix, object, full, buffer, size, length);
	if (error != ENODATA) {
		goto done;
	}
	error = ntvfs_xattr_names(posix, object, &names, &names_length);
	if (error != 0) {
		goto done;
	}
	if (names_find(names, names_length, full) != NULL) {
		/* spelled otherwise, it hides an old one all the same */
		error = ENODATA;
		goto done;
	}
	error = old_eas_load(posix, object, frame, &old);
	if (error != 0) {
		goto done;
	}
	ea = old_ea_find(old, name);
	if (ea == NULL) {
		error = ENODATA;
		goto done;
	}
	*length = ea->value.length;
	if (size == 0) {
		goto done;
	}
	if (size < ea->value.length) {
		error = ERANGE;
		goto done;
	}
	memcpy(buffer, ea->value.data, ea->value.length);
done:
	TALLOC_FREE(frame);
	return error;
}

/*
 * Give each EA of user.DosEAs an xattr of its own, as a change of one of
 * them needs, and remove the old record last: until then it is only hidden
 * by its successors.
 */
static int old_eas_convert(struct ntvfs_posix *posix,
			   const struct ntvfs_object *object,
			   TALLOC_CTX *mem_ctx)
{
	struct ntvfs_doseas *old = NULL;
	uint32_t i;
	int error;

	error = old_eas_load(posix, object, mem_ctx, &old);
	if (error != 0 || old == NULL) {
		return error;
	}
	for (i = 0; i < old->count; i++) {
		const struct ntvfs_dosea *ea = &old->eas[i];
		const char *names = NULL;
		size_t length = 0;
		char *full = NULL;

		full = talloc_asprintf(mem_ctx,
				       NTVFS_XATTR_USER_PREFIX "%s",
				       ea->name);
		if (full == NULL) {
			return ENOMEM;
		}
		error = ntvfs_xattr_names(posix, object, &names, &length);
		if (error != 0) {
			return error;
		}
		if (ea->value.length == 0 ||
		    ntvfs_posix_is_private_xattr(full) ||
		    names_find(names, length, full) != NULL)
		{
			continue;
		}
		error = ntvfs_xattr_set_making_room(posix,
						    object,
						    full,
						    ea->value.data,
						    ea->value.length,
						    false);
		if (error != 0) {
			return error;
		}
	}
	return ntvfs_xattr_remove(posix, object, NTVFS_XATTR_DOSEAS, false);
}

int ntvfs_posix_set_ea(struct ntvfs_backend *backend,
		       const struct ntvfs_object *object,
		       const char *name,
		       const void *value,
		       size_t length)
{
	struct ntvfs_posix *posix = ntvfs_posix_of(backend);
	TALLOC_CTX *frame = talloc_new(posix);
	char *full = NULL;
	int error;

	if (frame == NULL) {
		return ENOMEM;
	}
	full = talloc_asprintf(frame, NTVFS_XATTR_USER_PREFIX "%s", name);
	if (full == NULL) {
		error = ENOMEM;
		goto done;
	}
	if (ntvfs_posix_is_private_xattr(full)) {
		error = EPERM;
		goto done;
	}
	error = old_eas_convert(posix, object, frame);
	if (error != 0) {
		goto done;
	}
	if (value == NULL) {
		error = ntvfs_xattr_remove(posix, object, full, false);
	} else {
		error = ntvfs_xattr_set_making_room(posix,
						    object,
						    full,
						    value,
						    length,
						    false);
	}
done:
	TALLOC_FREE(frame);
	return error;
}
