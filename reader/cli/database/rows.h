/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - tables of rows of SQL statements: the results of `trace query` and the reports of SQL
 * files.
 *
 * Rows are printed as they arrive (table.h). One thread.
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
	uint32_t width;     /* width of the terminal, in columns; 0 = no limit */
	uint64_t rows_most; /* most rows of a report to print; further rows are only counted; 0 =
			       all */
};

/* Print the rows of a user's statement. A column is text if one of its first rows contains a text.
 * Returns 0 or a negative errno; s->cause says why unless writing `out` failed. */
int sql_rows_print(struct sql *s, const char *text, enum table_format format, FILE *out);

/* Check the tables (words separated by blanks) that a report needs. Returns 1 if at least one of
 * them has rows, or none is named, and no table after a '!' has rows; 0 if not; or a negative
 * errno. */
int sql_needs_met(struct sql *s, const char *tables);

#define SQL_COLUMNS_MAX 64u /* columns of a report */

/* The columns that a report's header names; their titles point into `text`. */
struct sql_columns {
	struct table_column column[SQL_COLUMNS_MAX];
	size_t count;
	char *text;
};

/* Read the columns of a report. Returns 0 or -ENOMEM; release them in both cases. */
int sql_columns_read(struct sql_columns *c, const struct sql_report *r);
void sql_columns_release(struct sql_columns *c);

/* Return the number of digits after the decimal point for a column; it depends on the unit. */
int sql_column_digits(const struct table_column *column);

/* Run a report with its arguments ("base:rows=10", NULL = none), and set *ret_skipped instead if
 * the tables that it needs have no rows. A report has several statements: its rows are those with
 * as many columns as its header names. Returns 0 or a negative errno. */
int sql_report_run(struct sql *s, const struct sql_report *r, const char *arguments,
	const struct sql_visitor *visitor, bool *ret_skipped);

#define SQL_API_NAME_BYTES 16u

/* Find the API of the calls where it is not CUDA: HIP, OpenCL or HSA; "" = CUDA, or no calls.
 * `ret_name` has room for SQL_API_NAME_BYTES. Returns 0 or a negative errno. */
int sql_api_name(struct sql *s, char *ret_name);

/* Return the title of a report, with HIP, OpenCL or HSA in place of CUDA if the database has calls
 * of that and none of CUDA. The caller frees it; NULL = out of memory. */
char *sql_report_title(struct sql *s, const struct sql_report *r);

/* Return the advice of a rule, without the part about CUDA if the database has no CUDA API call.
 * The caller frees it; NULL = out of memory. */
char *sql_rule_advice(struct sql *s, const struct sql_report *r);

/* The outcome of printing a report. */
struct sql_outcome {
	uint64_t rows;
	bool skipped; /* the tables that it needs have no rows */
};

/* Print a report with its arguments ("base:rows=10", NULL = none). heading() is called once before
 * the first row, and never if there are no rows; it may be NULL. Returns 0 or a negative errno. */
int sql_report_print(struct sql *s, const struct sql_report *r, const char *arguments,
	const struct sql_form *form, void (*heading)(void *user), void *user, FILE *out,
	struct sql_outcome *ret_outcome);

#endif
