/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help.h - help texts, generated from options.def and common/env.def.
 */
#ifndef READER_CLI_HELP_H
#define READER_CLI_HELP_H

#include <stdio.h>

#include "reader/cli/base/options.h"

/* Print the list of commands. */
void help_overview(FILE *out);

/* Print the help of a command: its arguments, options and text. */
void help_command(FILE *out, enum command_id command);

#endif
