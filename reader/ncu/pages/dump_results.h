/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_results.h - `trace dump` and `trace export -t json` of a report of Nsight Compute.
 *
 * They print the modules and results of the report instead of events. One thread.
 */
#ifndef READER_NCU_PAGES_DUMP_RESULTS_H
#define READER_NCU_PAGES_DUMP_RESULTS_H

#include <stdio.h>

#include "reader/cli/base/input_state.h"
#include "reader/report/contents.h"

/* Return whether this is a report of Nsight Compute whose first block is not one of ours. */
bool is_of_ncu(const struct report *report);

/* Report a problem if the file ends within a block. Reports of Nsight Compute are never written in
 * pieces, so it is damaged then. Call it after a whole pass, which filled `c`. */
void results_print_torn(struct cli_report *r, const struct contents *c);

/* Print the report: as JSON one object per line, modules first; otherwise one readable line per
 * result. Damage is added to the report's problems. Returns 0 or a negative errno. */
int results_print(FILE *out, struct cli_report *r, bool json);

#endif
