/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version.h - the version of the command.
 */
#ifndef READER_CLI_VERSION_H
#define READER_CLI_VERSION_H

#include <stdbool.h>

/* Print "trace VERSION" to stdout. verbose: also print one line per linked library, with its
 * license and, if the library reports one, its version. */
void version_print(bool verbose);

#endif
