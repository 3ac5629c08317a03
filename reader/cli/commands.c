/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.c - the functions of the commands, by command number.
 */
#include "reader/cli/commands.h"

#define COMMAND(name, ...) command_##name,
command_function *const command_functions[COMMANDS] = {
#include "reader/cli/base/options.def"
};
