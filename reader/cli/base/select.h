/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select.h - --nvtx-include, --nvtx-exclude and --filter-time of the commands that read reports:
 * the selection of every report that is opened from then on (selection.h).
 *
 * One thread.
 */
#ifndef READER_CLI_BASE_SELECT_H
#define READER_CLI_BASE_SELECT_H

#include <stdbool.h>

#include "reader/cli/base/input_state.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/options.h"

/* Which options of a command. */
struct select_options {
	enum option_id include, exclude; /* several expressions are separated by line ends */
	enum option_id scope;            /* "process": not the event's thread alone */
	const char *window;              /* NULL = all times */
	bool events_only;                /* selection.h */
};

/* Takes note of what is asked for. STATUS_OK, or STATUS_FAILED after a message. */
int select_by(const struct options *o, const struct select_options *by);

/* The filter alone, for what is no selection of rows: NULL where no expression is given. It lives
 * as long as the program. STATUS_OK, or STATUS_FAILED after a message. */
int select_nvtx(const struct options *o, enum option_id include, enum option_id exclude,
	const struct nvtx_filter **ret_filter);

/* The NVTX filter that select_by() took note of; NULL = none. */
const struct nvtx_filter *select_filter(void);

/* Says so when the report was read and nothing was chosen; once for a file. */
void select_tell(const struct cli_report *r);

/* Selects rows of a report just opened. STATUS_OK, or STATUS_FAILED after a message. */
int select_report(struct cli_report *r);

#endif
