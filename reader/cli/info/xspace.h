/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xspace.h - `trace info` of an XSpace: its planes and lines, and their totals.
 */
#ifndef READER_CLI_INFO_XSPACE_H
#define READER_CLI_INFO_XSPACE_H

#include <stdbool.h>

/* Print the contents of an XSpace to standard output. Returns an exit status, after a message
 * unless it is STATUS_OK. */
int info_xspace(const char *path, bool json);

#endif
