/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtxt.h - `trace export --type nvtxt`: the text format of NVTX.
 *
 * One thread.
 */
#ifndef READER_CLI_EXPORT_NVTXT_H
#define READER_CLI_EXPORT_NVTXT_H

#include <stdio.h>

#include "reader/cli/base/input_state.h"

/* Write the NVTX events of the report, and print on stderr what NVTXT cannot store. Returns 0 or a
 * negative errno. */
int export_nvtxt(FILE *out, const struct cli_report *r, const struct contents_visitor *visitor);

#endif
