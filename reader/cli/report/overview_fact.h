/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_fact.h - facts of an overview: texts with a label, in a fixed order.
 *
 * One thread; allocates.
 */
#ifndef READER_CLI_REPORT_OVERVIEW_FACT_H
#define READER_CLI_REPORT_OVERVIEW_FACT_H

#include "reader/cli/report/overview.h"

#define OVERVIEW_TIME_BYTES 64u

/* Add a fact after those of the same and of earlier labels. A label that is not in the list of
 * overview_fact.c, a fact too many, or one for which there is no memory is left out. */
__attribute__((format(printf, 3, 4))) void overview_fact(
	struct overview *o, const char *label, const char *format, ...);

/* Write a time since 1970 as "2026-03-01 03:00:00 UTC"; `text` has room for OVERVIEW_TIME_BYTES.
 * Returns false if it is no date. */
bool overview_time(int64_t realtime_ns, char *text);

#endif
