/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h - statistics by the SQL files of reader/reports.
 *
 * Serves databases, and those statistics of reports that stats/stats.h cannot compute directly. One
 * thread.
 */
#ifndef READER_CLI_DATABASE_STATS_H
#define READER_CLI_DATABASE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "reader/cli/database/open.h"
#include "reader/cli/stats/stats.h"
#include "reader/sql/reports.h"
#include "reader/sql/views.h"

/* Parse the options for the window of time and the unit; NULL = not given, the result is
 * unchanged. Returns false after a message. */
bool stats_window_options(const char *window, const char *unit, struct sql_window *ret_window,
	enum table_time *ret_time);

/* Return whether the value of --rows (digits, or "all"; NULL = not given) has at least one row;
 * else false after a message. */
bool stats_rows_option(const char *rows);

/* A database with its views, and the file that it was opened or converted from. */
struct stats_database {
	struct sql sql;
	const char *file;
	int status; /* STATUS_DAMAGED: the report is damaged */
	bool cut_noted;
};

/* Open `file` and create the views. Returns STATUS_OK, or STATUS_FAILED after a message; then
 * there is nothing to close. */
int stats_database_open(
	struct stats_database *d, const char *file, const struct stats_form *form, bool no_symbols);

/* Close the database and restore the signals, which may end the process (stop.h). */
void stats_database_close(struct stats_database *d);

/* Return why a report lacks its data, wholly or partly, although it was requested: by the receipt
 * of CPU samples, or by a diagnostic of the tracer. The caller frees the text; NULL = it is not
 * known. */
char *stats_missing_cause(struct sql *s, const struct sql_report *report);

/* Print a note if the tables of cuda_memory_use.sql lack launches of graphs. Returns false if they
 * lack none, or were not computed. */
bool stats_cut_note(struct sql *s, const char *file);

/* Return what data a report is about, for a message: only of a database that libtrace wrote with
 * the options that record it. The caller frees the text; NULL = the report does not say. Overwrites
 * the cause of an error. */
char *stats_data_name(struct sql *s, const struct sql_report *report);

/* Print one report, "name:argument:argument" of `bytes` bytes. Its name must be known. Returns
 * STATUS_OK, or STATUS_FAILED after a message. */
int stats_sql_print(struct stats_database *d, const char *report, size_t bytes,
	const struct stats_form *form, FILE *out);

/* Print the reports that nsys prints by default and that have data, except those of `done` (names
 * with commas around them). Returns STATUS_OK, or STATUS_FAILED after a message. */
int stats_sql_print_all(
	struct stats_database *d, const char *done, const struct stats_form *form, FILE *out);

/* Return a report that nsys prints by default, by index in its order; NULL after the last one. */
const struct sql_report *stats_usual_at(size_t n);

/* Return whether there is a SQL report of this name ("name:argument"). */
bool stats_sql_knows(const char *report, size_t bytes);

#endif
