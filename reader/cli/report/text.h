/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - `trace report --text`: a report for a terminal, fitted to its width.
 *
 * One thread.
 */
#ifndef READER_CLI_REPORT_TEXT_H
#define READER_CLI_REPORT_TEXT_H

#include "reader/cli/database/stats.h"

/* Print the report to standard output, in color only if that is a terminal and NO_COLOR is not
 * set. Returns an exit status, after a message on stderr unless it is STATUS_OK. */
int report_text_print(const char *file, const struct stats_form *form);

#endif
