/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codexl.h - `trace export -t atp|csv|occupancy`: the text files of CodeXL and the Radeon Compute
 * Profiler.
 *
 * The report is converted to a temporary database, and SQL (reports/shared/codexl.sql) sorts its
 * rows in the order of the files. A report that `trace import` created from such a file is written
 * back unchanged. One thread.
 */
#ifndef READER_CLI_EXPORT_CODEXL_H
#define READER_CLI_EXPORT_CODEXL_H

#include <stdio.h>

#include "reader/cli/base/input_state.h"
#include "reader/cli/base/options.h"

/* Write the report in `format` (a name of exporters.def), and print on stderr the events that the
 * format cannot store. Returns 0 or a negative errno; -EIO after a message. */
int export_codexl(FILE *out, struct cli_report *r, const struct options *o, const char *format,
	const struct contents_visitor *visitor);

#endif
