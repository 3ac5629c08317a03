/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - rows of SQL statements as tables: results of `trace query`, reports of SQL files.
 *
 * Rows are printed as they come (table.h). One thread.
 */
#ifndef READER_CLI_DATABASE_ROWS_H
#define READER_CLI_DATABASE_ROWS_H

#include <stdint.h>

#include "reader/cli/base/table.h"
#include "reader/sql/connection.h"
#include "reader/sql/reports.h"

struct sql_form {
	enum table_format format;
	enum table_time time;
	uint32_t width;     /* of the terminal; 0 = any */
	uint64_t rows_most; /* of a report: further ones are counted only; 0 = all */
};

/* Prints what a statement of the user's gives; columns are of text where one of the first rows has
 * one. 0 or a negative errno, with the cause in s->cause where it is not the output's. */
int sql_rows_print(struct sql *s, const char *text, enum table_format format, FILE *out);

/* 1 if one of the tables (words) has rows, or none is named, and none behind a '!' has; 0; or a
 * negative errno. */
int sql_needs_met(struct sql *s, const char *tables);

#define SQL_COLUMNS_MAX 64u /* of a report */

/* The columns that a report's header names; titles point into `text`. */
struct sql_columns {
	struct table_column column[SQL_COLUMNS_MAX];
	size_t count;
	char *text;
};

/* 0 or -ENOMEM; release them in any case. */
int sql_columns_read(struct sql_columns *c, const struct sql_report *r);
void sql_columns_release(struct sql_columns *c);

/* Runs a report with its arguments ("base:rows=10", NULL = none), unless none of the tables that it
 * needs has rows. Rows of `count` columns as its header has them are those of the report. 0 or a
 * negative errno. */
int sql_report_run(struct sql *s, const struct sql_report *r, const char *arguments,
	const struct sql_visitor *visitor, bool *ret_skipped);

/* What a report prints: whether it had rows, and what stopped it. */
struct sql_outcome {
	uint64_t rows;
	bool skipped; /* none of the tables it needs has rows */
};

/*
 * Prints a report with its arguments ("base:rows=10", NULL = none). Before the first row of the
 * aligned form `heading` is called, not at all where there is none. 0 or a negative errno.
 */
int sql_report_print(struct sql *s, const struct sql_report *r, const char *arguments,
	const struct sql_form *form, void (*heading)(void *user), void *user, FILE *out,
	struct sql_outcome *ret_outcome);

#endif
