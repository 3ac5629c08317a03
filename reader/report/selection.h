/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selection.h - a row filter of a report: by time, and by the NVTX ranges that are open on a row's
 * thread or process when the row begins.
 *
 * Once attached to a report (struct report, choose_rows) it applies to every reader of that report.
 * A device event is selected with the API call that caused it. Summary rows, which cannot be split
 * (OSRT_SUMMARY), are dropped. Rows about threads, processes, modules and names always pass, unless
 * `events_only`. One thread; allocates. Memory: that of nvtx/state.h, and 16 to 32 bytes per
 * selected CUDA API call.
 */
#ifndef READER_REPORT_SELECTION_H
#define READER_REPORT_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/file/batch.h"
#include "reader/nvtx/filter.h"
#include "reader/nvtx/state.h"
#include "reader/report/contents.h"

/* What the user selected. */
struct selection_spec {
	const struct nvtx_filter *filter; /* NULL = none; must outlive the selection */
	bool has_window;
	uint64_t start_ns, end_ns; /* window since the start of the session; rows that overlap it
				      are selected */
	bool events_only;
};

struct selection {
	struct selection_spec spec;
	struct nvtx_state state;
	uint64_t origin_ns; /* start of the session */
	uint64_t *calls;    /* hash table of the selected API calls */
	uint32_t call_count, call_capacity;
	struct batch_choice choice;
	uint8_t *keep;
	int64_t *columns;
	bool asked, chosen; /* events were tested; at least one was selected */
};

/* Read NVTX ranges and API calls of the report, as the spec needs, and attach the selection to the
 * report; `s` must not move until selection_release(). The report must not have a row filter.
 * Returns 0 or a negative errno: then nothing is attached. Release `s` in either case, after the
 * last read of the report. */
int selection_read(struct selection *s, const struct selection_spec *spec, struct report *report);
void selection_release(struct selection *s);

#endif
