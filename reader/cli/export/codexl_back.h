/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codexl_back.h - export of a report that `trace import` created from files of CodeXL, to such a
 * file.
 *
 * One thread.
 */
#ifndef READER_CLI_EXPORT_CODEXL_BACK_H
#define READER_CLI_EXPORT_CODEXL_BACK_H

#include <stdio.h>

#include "reader/cli/base/input_state.h"
#include "reader/codexl/format.h"

/* Write the file, and print what the format cannot store. A visitor without `problem` only checks
 * whether the report has data of the format, and writes nothing. Returns 0 or a negative errno; 1
 * if the report was not created from a file of this format, with ret_events (SCHEMA_KINDS
 * elements) set to the number of its events by kind. */
int export_codexl_back(FILE *out, struct cli_report *r, enum codexl_format format,
	const struct contents_visitor *visitor, uint64_t *ret_events);

#endif
