/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codexl_left.h - notes, with exact numbers, about the events that text files of CodeXL cannot
 * store.
 *
 * One thread; messages are printed on stderr.
 */
#ifndef READER_CLI_EXPORT_CODEXL_LEFT_H
#define READER_CLI_EXPORT_CODEXL_LEFT_H

#include <stdint.h>

#include "reader/cli/database/stats.h"
#include "reader/codexl/file.h"

/* Print the number of operations, marks, ranges and calls that the file written from the database
 * lacks. events: number of events of the report, by kind. Returns 0 or a negative errno. */
int codexl_left_out_print(struct stats_database *d, const char *format, const uint64_t *events);

/* Print the number of events of the kinds that codexl_left_out_print() does not count; clears the
 * others in `events`. Devices count as stored, in the rows of their kernels. */
void codexl_others_print(const char *path, enum codexl_format format, uint64_t *events);

#endif
