/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h - statistics by the SQL files of reader/reports: of databases, of reports where there
 * is no shorter way.
 *
 * One thread.
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

/* What options say of the window of time and the unit, NULL = nothing. false after a message. */
bool stats_window_options(const char *window, const char *unit, struct sql_window *ret_window,
	enum table_time *ret_time);

/* A database with its views, and the file that it is or was made from. */
struct stats_database {
	struct sql sql;
	const char *file;
	int status; /* STATUS_DAMAGED: of a damaged report */
};

/* Opens; makes the views. STATUS_OK or STATUS_FAILED after a message. */
int stats_database_open(
	struct stats_database *d, const char *file, const struct stats_form *form, bool no_symbols);
void stats_database_close(struct stats_database *d);

/* Prints one report, "name:argument:argument" of `bytes`. STATUS_OK or STATUS_FAILED. */
int stats_sql_print(struct stats_database *d, const char *report, size_t bytes,
	const struct stats_form *form, FILE *out);

/* Prints what applies: of the reports that nsys prints unasked those that have data; not those of
 * `done` (names with commas around them). */
int stats_sql_print_all(
	struct stats_database *d, const char *done, const struct stats_form *form, FILE *out);

/* The reports that nsys prints unasked, in its order; NULL behind the last. */
const struct sql_report *stats_usual_at(size_t n);

/* Is there a SQL report of this name ("name:argument")? */
bool stats_sql_knows(const char *report, size_t bytes);

#endif
