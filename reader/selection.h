/*
 * selection.h - which rows of a report count: those in a window of time, and those whose thread, or
 * process, is in the NVTX ranges that a filter asks for when they begin.
 *
 * A report that has a selection (open.h) hands out only these rows, whoever reads it and whichever
 * way. Events of the device belong to the API call that they come from. Sums that cannot be
 * divided (OSRT_SUMMARY) are left out. What tells about threads, processes, modules and names is
 * always there, unless `events_only`. One thread; allocates. Memory: nvtx_state.h, and 16 to 32
 * bytes per CUDA API call that is chosen.
 */
#ifndef READER_SELECTION_H
#define READER_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/batch.h"
#include "reader/contents.h"
#include "reader/nvtx_filter.h"
#include "reader/nvtx_state.h"

/* What is asked for. */
struct selection_spec {
	const struct nvtx_filter *filter; /* NULL = none; lives longer */
	bool has_window;
	uint64_t start_ns, end_ns; /* since the start of the session: what overlaps it */
	bool events_only;
};

struct selection {
	struct selection_spec spec;
	struct nvtx_state state;
	uint64_t origin_ns; /* start of the session */
	uint64_t *calls;    /* hash of the API calls chosen */
	uint32_t call_count, call_capacity;
	struct batch_choice choice;
	uint8_t *keep;
	int64_t *columns;
	bool asked, chosen; /* events were looked at; at least one was chosen */
};

/* Reads what it needs of the report, which must not have a selection. 0 or a negative errno. */
int selection_read(
	struct selection *s, const struct selection_spec *spec, const struct report *report);
void selection_release(struct selection *s);

/* Chooses rows of the batch; the choice holds until the next batch. False: none is left. */
bool selection_apply(struct selection *s, struct event_batch *b);

#endif
