/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codexl.h - `trace export -t atp|csv|occupancy`: the text files of CodeXL and the Radeon
 * Compute Profiler.
 *
 * The report becomes a temporary database, and SQL (reports/shared/codexl.sql) puts rows in the
 * order in which the files have them. What `trace import` read from such a file is written as it
 * stood there. One thread.
 */
#ifndef READER_CLI_EXPORT_CODEXL_H
#define READER_CLI_EXPORT_CODEXL_H

#include <stdio.h>

#include "reader/cli/base/input_state.h"
#include "reader/cli/base/options.h"

/* Writes the format (a name of exporters.def), and prints on stderr what has no place there. 0 or a
 * negative errno; -EIO after a message. */
int export_codexl(FILE *out, struct cli_report *r, const struct options *o, const char *format,
	const struct contents_visitor *visitor);

#endif
