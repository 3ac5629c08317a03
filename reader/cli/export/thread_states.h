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

/* Return whether a report has what states are computed from: readings of threads' counters, or
 * context switches. */
bool thread_states_are_in(const struct contents *c);

/* Pass the states of all threads to `put` (perfetto.h); none unless thread_states_are_in(). `user`:
 * struct thread_states, whose contents are read. Returns 0, an error of `put`, or -EIO after a
 * message. */
int thread_states_put(
	void *user, int (*put)(void *sink, const struct perfetto_state *), void *sink);

#endif
