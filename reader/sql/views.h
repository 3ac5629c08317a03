/* SPDX-License-Identifier: Apache-2.0 */
/*
 * views.h - temporary views with the same schema for databases of all versions of nsys, and views
 * shared by reports.
 *
 * Temporary views hide the tables (views.def), so that a report is written once, for the newest
 * schema; a time window is a condition of these views. They are followed by the views of
 * reader/reports/shared/common.sql. The database itself is not changed.
 */
#ifndef READER_SQL_VIEWS_H
#define READER_SQL_VIEWS_H

#include "reader/sql/connection.h"

struct sql_window {
	int64_t start_ns, end_ns; /* visible rows overlap the window: end > start_ns and
				   * start < end_ns */
	bool all;                 /* no time window */
	uint32_t pid, tid;        /* only rows of this process and thread (if a table has
				   * them); 0 = any */
};

/* Create the views, without a window. Call once, before reports. Returns 0 or a negative errno. */
int views_make(struct sql *s);

/* Show devices by the numbers of their GPUs (reader/export/gpus.h) instead of by those that their
 * processes have for them. Call after views_make(). Returns 0 or a negative errno. */
int views_number_gpus(struct sql *s);

/* Set the window, replacing the previous one. Returns 0 or a negative errno. */
int views_window(struct sql *s, const struct sql_window *window);

/* Drop the views that hide tables of the database. Returns 0 or a negative errno. */
int views_drop(struct sql *s);

#endif
