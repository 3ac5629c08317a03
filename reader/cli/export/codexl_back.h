/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codexl_back.h - a report that `trace import` made of files of CodeXL, as such a file
 * again. One thread.
 */
#ifndef READER_CLI_EXPORT_CODEXL_BACK_H
#define READER_CLI_EXPORT_CODEXL_BACK_H

#include <stdio.h>

#include "reader/cli/base/input_state.h"
#include "reader/codexl/format.h"

/* Writes the file, and prints what of the report has no place there: 0 or a negative errno. 1: the
 * report was not made of a file of this format; ret_events, of SCHEMA_KINDS: what it holds, by
 * kind. A visitor without `problem` only looks whether it was. */
int export_codexl_back(FILE *out, struct cli_report *r, enum codexl_format format,
	const struct contents_visitor *visitor, uint64_t *ret_events);

#endif
