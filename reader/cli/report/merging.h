/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merging.h - whether `trace report` merges names that differ in their numbers ("step 1", "step
 * 2"), as merging.py of trace_tools decides for `trace diff`. One thread.
 */
#ifndef READER_CLI_REPORT_MERGING_H
#define READER_CLI_REPORT_MERGING_H

#include "reader/sql/connection.h"
#include "reader/sql/reports.h"

/* The number of names of NVTX ranges, and how many are left when numbers in them are merged. */
struct merging {
	int64_t names, merged;
};

/* Decide whether merging joins enough names of a report; zeros = no. Returns 0 or a
 * negative errno. */
int merging_choose(struct sql *s, const struct sql_report *report, struct merging *ret);

#endif
