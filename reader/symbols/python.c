/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.c - Python code objects of a report, and places in Python programs.
 */
#include "reader/symbols/python.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

#define COLUMNS 6u

void python_codes_release(struct python_codes *c)
{
	map_release(&c->by_id);
	free(c->rows);
	*c = (struct python_codes){0};
}

static int rows_take(struct python_codes *c, const struct event_batch *b, const int64_t *v)
{
	const size_t n = b->count;
	int error = 0;
	for (uint32_t i = 0; !error && i < n; i++, v++) {
		c->rows[c->count] = (struct python_row){.file = (uint32_t)v[n],
			.name = (uint32_t)v[2 * n],
			.first_line = (uint32_t)v[3 * n],
			.lines = (uint32_t)v[4 * n],
			.table = (uint32_t)v[5 * n]};
		error = map_put(&c->by_id, (uint64_t)v[0], 0, ++c->count);
	}
	return error;
}

int python_codes_add(
	struct python_codes *c, const struct event_batch *b, uint32_t *room, const char **ret_cause)
{
	static const uint32_t fields[COLUMNS] = {FIELD_PYTHON_CODE_ID, FIELD_PYTHON_CODE_FILE,
		FIELD_PYTHON_CODE_NAME, FIELD_PYTHON_CODE_FIRST_LINE, FIELD_PYTHON_CODE_LINES,
		FIELD_PYTHON_CODE_TABLE};
	*ret_cause = "too many code objects of Python";
	if (b->count > *room)
		return -EBADMSG;
	*room -= b->count;
	if (array_reserve(&c->rows, &c->capacity, (uint64_t)c->count + b->count, sizeof(*c->rows)))
		return -ENOMEM;
	int64_t *values;
	int error = event_batch_columns_new(b, fields, COLUMNS, &values);
	if (!error)
		error = rows_take(c, b, values);
	*ret_cause = "malformed rows of code objects of Python";
	free(values);
	return error;
}

const struct python_row *python_codes_find(const struct python_codes *c, uint64_t address)
{
	uint32_t at = map_get(&c->by_id, PYTHON_CODE_OF(address), 0);
	return at ? &c->rows[at - 1] : NULL;
}

/* ---- places ---- */

bool python_file_is_library(const char *file)
{
	static const char *const parts[] = {"/site-packages/", "/dist-packages/"};
	const char *library = strstr(file, "/lib/python");
	if (file[0] == '<')
		return !strncmp(file, "<frozen ", 8);
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(file, parts[i]))
			return true;
	return library && library[11] >= '2' && library[11] <= '9';
}

const char *python_place(const char *symbol, const char *module, size_t *ret_bytes)
{
	const char *slash = strrchr(module, '/'), *file = slash ? slash + 1 : module;
	const size_t bytes = strlen(symbol), name = strlen(file);
	size_t digits = 0;
	if (!bytes || symbol[bytes - 1] != ')')
		return NULL;
	while (digits + 1 < bytes && (unsigned)symbol[bytes - 2 - digits] - '0' < 10)
		digits++;
	/* " (" before the file, ":" and the line behind it, ")" */
	if (!digits || bytes < name + digits + 4)
		return NULL;
	const char *place = symbol + bytes - 2 - digits - name;
	if (strncmp(place - 2, " (", 2) || memcmp(place, file, name) || place[name] != ':' ||
		python_file_is_library(module))
		return NULL;
	*ret_bytes = name + 1 + digits;
	return place;
}
