/* SPDX-License-Identifier: Apache-2.0 */
/*
 * to_report.h - the events of a database of nsys as a report, so that everything that reads reports
 * reads databases, too.
 *
 * reader/reports/shared/report_events.sql selects the events. Its processes are marked as imported,
 * not traced. Frames keep the addresses of the database; a frame without an address, or with the
 * address of another function, gets the next small number as its address. One thread; allocates:
 * memory grows with the number of distinct texts, callchain frames and processes, not of events.
 */
#ifndef READER_SQL_TO_REPORT_H
#define READER_SQL_TO_REPORT_H

#include "reader/file/schema.h"
#include "reader/sql/connection.h"

struct to_report_tally {
	uint64_t events;     /* events of the report */
	uint64_t impossible; /* rows left out: no time, no process, or an end before the start */
	uint64_t facts;      /* events that only name threads and describe devices */
	/* Columns without a value in any row, by kind: a bit for each index of a field */
	uint64_t unknown[SCHEMA_KINDS];
	/* Columns without a value in some rows, likewise; their batches have BATCH_UNKNOWN */
	uint64_t partly[SCHEMA_KINDS];
};

/*
 * Write a report with the events of a database, whose views have been created (views.h), to the
 * empty file `fd`. `name`: file name of the source, without folder, and its size in `bytes`.
 * Returns 0, or a negative errno with s->cause set or empty.
 */
int sql_to_report(
	struct sql *s, const char *name, uint64_t bytes, int fd, struct to_report_tally *ret_tally);

#endif
