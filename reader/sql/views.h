/* SPDX-License-Identifier: Apache-2.0 */
/*
 * views.h - one shape for the databases of all generations of nsys, and what reports share.
 *
 * Temporary views stand before the tables (views.def), so that a report is written once, for the
 * newest schema; a window of time is a condition of theirs. Behind them are the views of
 * reader/reports/common.sql. The database itself is not touched.
 */
#ifndef READER_SQL_VIEWS_H
#define READER_SQL_VIEWS_H

#include "reader/sql/connection.h"

struct sql_window {
	int64_t start_ns, end_ns; /* what overlaps it is seen: end > start_ns and start < end_ns */
	bool all;                 /* no window */
	uint32_t pid, tid; /* only of this process, this thread (where a table knows); 0 = any */
};

/* Makes the views, without a window. Once, before reports. 0 or a negative errno. */
int views_make(struct sql *s);

/* Sets the window; the last one holds. 0 or a negative errno. */
int views_window(struct sql *s, const struct sql_window *window);

#endif
