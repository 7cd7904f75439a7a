/*
 * ntvfs-dump: text or JSON.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "dump.h"

static void indent(const struct dump *dump)
{
	printf("%*s", (int)dump->depth * 2, "");
}

/* In front of a value: comma, new line, name. */
static void lead(struct dump *dump, const char *name)
{
	if (dump->json) {
		if (dump->depth > 0) {
			fputs(dump->first ? "\n" : ",\n", stdout);
		}
		indent(dump);
		if (name != NULL) {
			printf("\"%s\": ", name);
		}
	} else {
		indent(dump);
		printf("%s", name == NULL ? "-" : name);
	}
	dump->first = false;
}

void dump_begin(struct dump *dump, const char *name, char bracket)
{
	if (dump->json) {
		lead(dump, name);
		putchar(bracket);
	} else if (name != NULL) {
		lead(dump, name);
		putchar('\n');
	} else if (dump->depth > 0) {
		indent(dump);
		fputs("-\n", stdout);
	}
	dump->depth++;
	dump->first = true;
}

void dump_end(struct dump *dump, char bracket)
{
	dump->depth--;
	if (dump->json) {
		if (!dump->first) {
			putchar('\n');
			indent(dump);
		}
		putchar(bracket);
		if (dump->depth == 0) {
			putchar('\n');
		}
	}
	dump->first = false;
}

void dump_number(struct dump *dump, const char *name, uint64_t value)
{
	lead(dump, name);
	printf(dump->json ? "%" PRIu64 : " %" PRIu64 "\n", value);
}

void dump_hex(struct dump *dump, const char *name, uint64_t value)
{
	lead(dump, name);
	printf(dump->json ? "\"0x%" PRIx64 "\"" : " 0x%" PRIx64 "\n", value);
}

static void put_unit(uint32_t c, bool json)
{
	if (json && (c == '"' || c == '\\')) {
		printf("\\%c", (char)c);
	} else if (c >= 0x20 && c < 0x7f) {
		putchar((int)c);
	} else if (c < 0x80 || (c >= 0xd800 && c < 0xe000) || c > 0xffff) {
		printf("\\u%04x", c);
	} else if (c < 0x800) {
		putchar((int)(0xc0 | c >> 6));
		putchar((int)(0x80 | (c & 0x3f)));
	} else {
		putchar((int)(0xe0 | c >> 12));
		putchar((int)(0x80 | (c >> 6 & 0x3f)));
		putchar((int)(0x80 | (c & 0x3f)));
	}
}

static void quote(const struct dump *dump)
{
	fputs(dump->json ? "\"" : " ", stdout);
}

static void unquote(const struct dump *dump)
{
	fputs(dump->json ? "\"" : "\n", stdout);
}

void dump_text(struct dump *dump, const char *name, const char *value)
{
	lead(dump, name);
	quote(dump);
	for (; *value != '\0'; value++) {
		unsigned char c = (unsigned char)*value;

		if (c >= 0x80) {
			/* UTF-8 goes through as it is. */
			putchar(c);
		} else {
			put_unit(c, dump->json);
		}
	}
	unquote(dump);
}

void dump_bytes(struct dump *dump, const char *name, const void *bytes,
		size_t length)
{
	const uint8_t *next = bytes;
	size_t i;

	lead(dump, name);
	quote(dump);
	for (i = 0; i < length; i++) {
		printf("%02x", next[i]);
	}
	unquote(dump);
}

void dump_units(struct dump *dump, const char *name, const void *units,
		uint32_t count)
{
	const uint8_t *bytes = units;
	uint32_t i;

	lead(dump, name);
	quote(dump);
	for (i = 0; i < count; i++) {
		uint16_t unit;

		memcpy(&unit, bytes + 2 * i, 2);
		put_unit(unit, dump->json);
	}
	unquote(dump);
}

void dump_time(struct dump *dump, const char *name, uint64_t nttime)
{
	time_t seconds = (time_t)(nttime / 10000000) - INT64_C(11644473600);
	char text[64] = "";
	struct tm tm = {0};
	size_t length = 0;

	if (nttime == 0) {
		dump_text(dump, name, "0");
		return;
	}
	if (gmtime_r(&seconds, &tm) != NULL) {
		length = strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S",
				  &tm);
	}
	snprintf(text + length, sizeof(text) - length, ".%07" PRIu64 " UTC",
		 nttime % 10000000);
	dump_text(dump, name, text);
}
