/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_results.h - `trace dump` and `trace export -t json` of a report of Nsight Compute: its
 * modules and results instead of events.
 */
#ifndef READER_NCU_PAGES_DUMP_RESULTS_H
#define READER_NCU_PAGES_DUMP_RESULTS_H

#include <stdio.h>

#include "reader/cli/base/input_state.h"
#include "reader/report/contents.h"

/* Is it such a report, whose first block is not one of ours? */
bool is_of_ncu(const struct report *report);

/* Such a report is never written in pieces: one that ends within a block is damaged, which this
 * tells. After a whole pass, which filled `c`. */
void results_tell_torn(struct cli_report *r, const struct contents *c);

/* One object a line, modules first, or without `json` one readable line for each result. Damage is
 * told to the report's problems. 0 or a negative errno. */
int results_print(FILE *out, struct cli_report *r, bool json);

#endif
