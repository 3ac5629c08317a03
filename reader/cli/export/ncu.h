/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ncu.h - `trace export --type ncu`: a report of Nsight Compute.
 *
 * One thread.
 */
#ifndef READER_CLI_EXPORT_NCU_H
#define READER_CLI_EXPORT_NCU_H

#include <stdio.h>

#include "reader/cli/base/input_state.h"

struct export_ncu_form {
	const char *symbol_path; /* as in symbols.h */
	bool no_symbols;
	bool packed; /* .ncu-repz */
};

/* Write the kernel launches of the report, and print on stderr which facts about them are unknown.
 * The results of a report of Nsight Compute are written as they are. Returns 0 or a negative
 * errno. */
int export_ncu(FILE *out, struct cli_report *r, const struct contents_visitor *visitor,
	const struct export_ncu_form *form);

#endif
