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

/* Write the folder `name`, under a temporary name until it is complete; print which parts nothing
 * recorded can fill. Returns STATUS_OK, or another exit status after a message. */
int export_tools(struct cli_report *r, const struct options *o, const char *name);

#endif
