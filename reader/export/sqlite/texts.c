/* SPDX-License-Identifier: Apache-2.0 */
/* texts.c - texts of the database, each stored once. */
#include "reader/export/sqlite/texts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/utf8.h"

void text_ids_report(struct text_ids *t, const struct string_table *report)
{
	map_release(&t->report_ids);
	t->report = report;
}

void text_ids_release(struct text_ids *t)
{
	pool_release(&t->pool);
	map_release(&t->ids);
	map_release(&t->report_ids);
	free(t->texts);
	*t = (struct text_ids){0};
}

int text_id(struct text_ids *t, const char *text, uint32_t *ret_id)
{
	const char *kept = pool_text(&t->pool, text, SIZE_MAX);
	uint32_t found = kept ? map_get(&t->ids, (uintptr_t)kept, 0) : 0;
	*ret_id = found - 1;
	if (found)
		return 0;
	if (!kept || array_room(&t->texts, t->count, &t->capacity, sizeof(*t->texts)))
		return -ENOMEM;
	t->texts[t->count] = kept;
	*ret_id = t->count++;
	return map_put(&t->ids, (uintptr_t)kept, 0, t->count);
}

int text_id_of_string(struct text_ids *t, uint32_t string, uint32_t *ret_id)
{
	char unnamed[32];
	uint32_t found = map_get(&t->report_ids, string, 0);
	*ret_id = found - 1;
	if (found)
		return 0;
	struct string_ref ref = string_table_get(t->report, string);
	snprintf(unnamed, sizeof(unnamed), "[string %u]", string);
	int error = text_id(t, ref.bytes ? ref.text : unnamed, ret_id);
	return error ? error : map_put(&t->report_ids, string, 0, *ret_id + 1);
}

/* Replace bytes that are not UTF-8 by \xNN. Returns the text itself, or a copy in the pool. NULL =
 * out of memory. */
static const char *clean_text(
	struct text_ids *t, const char *text, size_t bytes, size_t *ret_clean_bytes)
{
	*ret_clean_bytes = utf8_clean_bytes(text, bytes);
	if (*ret_clean_bytes == bytes)
		return text;
	char *clean = malloc(*ret_clean_bytes + 1);
	if (!clean)
		return NULL;
	utf8_clean(text, bytes, clean);
	const char *kept = pool_text(&t->pool, clean, *ret_clean_bytes);
	free(clean);
	return kept;
}

const char *text_of_string(struct text_ids *t, uint32_t string, uint32_t *ret_bytes)
{
	struct string_ref ref = string_table_get(t->report, string);
	size_t bytes;
	const char *text = clean_text(t, ref.text, ref.bytes, &bytes);
	*ret_bytes = (uint32_t)bytes;
	return text;
}

int text_cell(struct text_ids *t, const char *text, struct cell *ret_cell)
{
	size_t bytes;
	*ret_cell = (struct cell){.kind = CELL_NULL};
	if (!text)
		return 0;
	text = clean_text(t, text, strlen(text), &bytes);
	if (!text)
		return -ENOMEM;
	if (bytes > UINT32_MAX)
		return -EOVERFLOW;
	*ret_cell = (struct cell){.kind = CELL_TEXT, .bytes = (uint32_t)bytes, .text = text};
	return 0;
}

int text_id_cell(struct text_ids *t, const char *text, struct cell *ret_cell)
{
	uint32_t id = 0;
	int error = text_id(t, text, &id);
	cell_set_number(ret_cell, id);
	return error;
}
