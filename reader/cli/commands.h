/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.h - the functions of the commands of options.def.
 */
#ifndef READER_CLI_COMMANDS_H
#define READER_CLI_COMMANDS_H

#include "reader/cli/base/options.h"

#define COMMAND(name, ...) int command_##name(const struct options *o);
#include "reader/cli/base/options.def"

/* Run a command. Returns an exit status (message.h). */
typedef int command_function(const struct options *o);
extern command_function *const command_functions[COMMANDS];

#endif
