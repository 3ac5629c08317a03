/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - `trace report --text`: a report for a terminal, as wide as that is.
 *
 * One thread.
 */
#ifndef READER_CLI_REPORT_TEXT_H
#define READER_CLI_REPORT_TEXT_H

#include "reader/cli/database/stats.h"

/* To standard output; with colours only if that is a terminal, and NO_COLOR is not set. An exit
 * status; messages are on stderr. */
int report_text_print(const char *file, const struct stats_form *form);

#endif
