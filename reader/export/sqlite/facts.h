/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.h - small tables about a report (processes, receipts, diagnostics, machine, capture) and
 * about the export as a whole (times, texts, threads, meaning of numbers).
 *
 * One thread; allocates.
 */
#ifndef READER_EXPORT_SQLITE_FACTS_H
#define READER_EXPORT_SQLITE_FACTS_H

struct sqlite_export;

/* Write what is known of the report at hand and of its processes, and name its threads. Returns 0
 * or a negative errno. */
int report_facts_write(struct sqlite_export *x);

/* Write what is known once all reports are written. Returns 0 or a negative errno. */
int common_facts_write(struct sqlite_export *x);

#endif
