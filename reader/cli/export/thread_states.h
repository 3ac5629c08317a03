/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_states.h - states of threads for timelines, through a temporary database
 * (shared/thread_states.sql). One thread; allocates.
 */
#ifndef READER_CLI_EXPORT_THREAD_STATES_H
#define READER_CLI_EXPORT_THREAD_STATES_H

#include "reader/cli/base/input.h"
#include "reader/cli/base/options.h"
#include "reader/export/timeline/perfetto.h"

/* Report and options of `trace export`. */
struct thread_states {
	const struct cli_report *report;
	const struct options *options;
	const struct contents *contents;
};

/* Pass the states of all threads to `put` (perfetto.h); none if the report has no readings of
 * threads' counters. `user`: struct thread_states, whose contents are read. Returns 0, an error of
 * `put`, or -EIO after a message. */
int thread_states_put(
	void *user, int (*put)(void *sink, const struct perfetto_state *), void *sink);

#endif
