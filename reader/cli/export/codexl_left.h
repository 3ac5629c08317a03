/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codexl_left.h - what of a report has no place in the text files of CodeXL: told, with
 * exact numbers. One thread; messages go to stderr.
 */
#ifndef READER_CLI_EXPORT_CODEXL_LEFT_H
#define READER_CLI_EXPORT_CODEXL_LEFT_H

#include <stdint.h>

#include "reader/cli/database/stats.h"
#include "reader/codexl/file.h"

/* Of what stands in the database from which the file was written; `events`: those of the report, by
 * kind. 0 or a negative errno. */
int codexl_left_out_tell(struct stats_database *d, const char *format, const uint64_t *events);

/* What codexl_left_out_tell() has no number of; changes `events`. Devices are told by their
 * kernels. */
void codexl_others_tell(const char *path, enum codexl_format format, uint64_t *events);

#endif
