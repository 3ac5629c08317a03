/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xspace.h - `trace info` of an XSpace: its planes, lines and their totals.
 */
#ifndef READER_CLI_INFO_XSPACE_H
#define READER_CLI_INFO_XSPACE_H

#include <stdbool.h>

/* Prints to standard output. An exit status. */
int info_xspace(const char *path, bool json);

#endif
