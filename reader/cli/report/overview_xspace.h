/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_xspace.h - the facts of an XSpace for `trace report`.
 *
 * One thread; allocates.
 */
#ifndef READER_CLI_REPORT_OVERVIEW_XSPACE_H
#define READER_CLI_REPORT_OVERVIEW_XSPACE_H

#include "reader/cli/report/overview.h"

/* Add what an XSpace says of itself: host, devices, start, duration (of the profile, or of its
 * events), number of events. A damaged file has no facts. Returns 0 or a negative errno. */
int overview_add_xspace(struct overview *o, const char *file);

#endif
