/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version.h - the version of the command.
 */
#ifndef READER_CLI_VERSION_H
#define READER_CLI_VERSION_H

#include <stdbool.h>

/* Print "trace VERSION" to stdout; verbose: also the linked libraries, a line each, with version
 * (where the library has one to ask for) and license. */
void version_print(bool verbose);

#endif
