/* SPDX-License-Identifier: Apache-2.0 */
/*
 * texts.h - the texts of the database: rows of StringIds, and texts that stand in a row.
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
	const char **texts; /* by id */
	uint32_t count, capacity;

	const struct string_table *report; /* strings of the report at hand */
	struct map report_ids;             /* id in that report -> id + 1 */
};

/* Begin with the strings of another report, or end with NULL. */
void text_ids_report(struct text_ids *t, const struct string_table *report);

void text_ids_release(struct text_ids *t);

/* Find the id of a text, adding it if need be. Returns 0 or -ENOMEM. */
int text_id(struct text_ids *t, const char *text, uint32_t *ret_id);

/* Find the id of a string of the report; "[string N]" where the report has no such string. Returns
 * 0 or -ENOMEM. */
int text_id_of_string(struct text_ids *t, uint32_t string, uint32_t *ret_id);

/* Return a string of the report, with bytes that are not UTF-8 as \xNN, and its length. It lives as
 * long as the report or `t`. NULL = out of memory. */
const char *text_of_string(struct text_ids *t, uint32_t string, uint32_t *ret_bytes);

/* Put a text into a cell, with bytes that are not UTF-8 as \xNN; NULL is NULL. The cell refers to
 * `text` or to `t`. Returns 0, -ENOMEM or -EOVERFLOW. */
int text_cell(struct text_ids *t, const char *text, struct cell *ret_cell);

/* Put the id of a text into a cell. Returns 0 or -ENOMEM. */
int text_id_cell(struct text_ids *t, const char *text, struct cell *ret_cell);

#endif
