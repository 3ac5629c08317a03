/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tools.h - `trace export -t xplane-tools`: a folder with XProf's messages of results.
 *
 * One thread.
 */
#ifndef READER_CLI_EXPORT_TOOLS_H
#define READER_CLI_EXPORT_TOOLS_H

#include "reader/cli/base/input_state.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/options.h"

/* Writes the folder, which gets its name when all is there; prints what nothing recorded can fill.
 * Returns the exit status, after a message where that is not STATUS_OK. */
int export_tools(struct cli_report *r, const struct options *o, const char *name);

#endif
