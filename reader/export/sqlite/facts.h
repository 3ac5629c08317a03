/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.h - small tables about a report (processes, receipts, diagnostics, machine, capture) and
 * about the whole export (times, texts, threads, names of numbers).
 *
 * One thread; allocates.
 */
#ifndef READER_EXPORT_SQLITE_FACTS_H
#define READER_EXPORT_SQLITE_FACTS_H

struct sqlite_export;

/* Write the facts about the current report and its processes, and name its threads. Returns 0 or a
 * negative errno. */
int report_facts_write(struct sqlite_export *x);

/* Write the tables that are complete only after all reports. Returns 0 or a negative errno. */
int common_facts_write(struct sqlite_export *x);

#endif
