/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reports.h - the reports and rules: SQL files of reader/reports, built into the program.
 *
 * The first line of a file is its title, `-- Title`. Lines `-- key: value` follow; the values of a
 * repeated key are concatenated:
 *
 *   columns      columns of the result, separated by commas; "Name text" is a text
 *   was          name of the report in older versions of nsys
 *   needs        tables (words); the report has a result if one of them has rows;
 *                a table after '!' must have no rows
 *   data         name of the data that is missing if none of them has rows, and in parentheses the
 * options of `trace run` that record it before       files of reader/reports/shared to run once
 * before the report arguments    arguments that the report takes, for the documentation severity
 * severity of a rule: info, warning or error advice       advice of a rule, printed if it finds
 * something cuda_advice  more advice, only for databases with CUDA API calls
 *
 * The unit in the title of a column of numbers determines how they are printed.
 *
 * Then SQL follows; the last statement returns the rows. It may use the views of views.def and
 * shared/common.sql, and the functions of functions.h. All texts are static.
 */
#ifndef READER_SQL_REPORTS_H
#define READER_SQL_REPORTS_H

#include <stdbool.h>
#include <stddef.h>

struct sql_report {
	const char *name;
	bool is_rule;
	const char *text; /* header and SQL */
};

/* Return the reports in order of their names; NULL after the last. */
const struct sql_report *report_at(size_t n);

/* Find a report by its name or former name; NULL = not found. */
const struct sql_report *report_find(const char *name, size_t bytes, bool is_rule);

/* Return the title, or the values of a key separated by spaces. The caller frees it; NULL = out of
 * memory. */
char *report_title(const struct sql_report *r);
char *report_header(const struct sql_report *r, const char *key);

/* Return the SQL that reports of the program may run: that of the list ("name:argument,name", all
 * of which must be known), of the shared files before them, and of the definitions in "common" that
 * any of these use. The caller frees it; NULL = out of memory. */
char *reports_sql(const char *list);

/* Return a file of reader/reports/shared; NULL = not found. "common" has the views of all
 * reports. */
const char *report_shared(const char *name);

#endif
