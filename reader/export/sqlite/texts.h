/* SPDX-License-Identifier: Apache-2.0 */
/*
 * texts.h - texts of the database: rows of StringIds, and texts inside other rows.
 *
 * Each text has one id for the whole database, from 0. Strings of a report are found by their id in
 * that report.
 *
 * Memory: each distinct text, and a few words for it. One thread; allocates.
 */
#ifndef READER_EXPORT_SQLITE_TEXTS_H
#define READER_EXPORT_SQLITE_TEXTS_H

#include <stdint.h>

#include "reader/export/sqlite/bulk_table.h"
#include "reader/base/map.h"
#include "reader/base/pool.h"
#include "reader/report/strings.h"

/* All zero = empty. */
struct text_ids {
	struct pool pool;
	struct map ids;     /* address in the pool -> id + 1 */
	const char **texts; /* indexed by id */
	uint32_t count, capacity;

	const struct string_table *report; /* strings of the current report */
	struct map report_ids;             /* string id in that report -> id + 1 */
};

/* Begin using the strings of another report; NULL = none. */
void text_ids_report(struct text_ids *t, const struct string_table *report);

void text_ids_release(struct text_ids *t);

/* Look up the id of a text, which is added if needed. Returns 0 or -ENOMEM. */
int text_id(struct text_ids *t, const char *text, uint32_t *ret_id);

/* Look up the text id of a string of the report; the text is "[string N]" if the report has no such
 * string. Returns 0 or -ENOMEM. */
int text_id_of_string(struct text_ids *t, uint32_t string, uint32_t *ret_id);

/* Return a string of the report and its length, with bytes that are not UTF-8 as \xNN. Valid as
 * long as the report or `t`. NULL = out of memory. */
const char *text_of_string(struct text_ids *t, uint32_t string, uint32_t *ret_bytes);

/* Set a cell to a text, with bytes that are not UTF-8 as \xNN; NULL is NULL. The cell refers to
 * `text` or to `t`. Returns 0, -ENOMEM or -EOVERFLOW. */
int text_cell(struct text_ids *t, const char *text, struct cell *ret_cell);

/* Set a cell to the id of a text. Returns 0 or -ENOMEM. */
int text_id_cell(struct text_ids *t, const char *text, struct cell *ret_cell);

#endif
