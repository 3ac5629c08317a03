/* SPDX-License-Identifier: Apache-2.0 */
/*
 * windows.c - times at which the capture gate was open.
 */
#include "writer/windows.h"

#include "writer/base/writer.h"

static uint64_t tick_ns(struct writer *w, uint64_t tick)
{
	return w->control->clock_kind == CLOCK_KIND_TSC ? clockfit_ns(&w->clock.fit, tick) : tick;
}

static void put_window(
	struct writer *w, uint64_t number, uint64_t start_ns, uint64_t end_ns, bool unfinished)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Window message = LIBTRACE__WINDOW__INIT;
	message.has_number = message.has_start_ns = message.has_end_ns = 1;
	message.number = number;
	message.start_ns = start_ns;
	message.end_ns = end_ns > start_ns ? end_ns : start_ns;
	message.has_unfinished = message.unfinished = unfinished;
	entry.window = &message;
	block_put_entry(&w->report.block, &entry);
}

/* Add the windows that have ended. `is_end`: a window that was counted but not stored is skipped,
 * since no process is left to store it. */
static void collect(struct writer *w, bool is_end)
{
	const struct tree_control *c = w->control;
	uint64_t count = capture_windows(c);
	struct capture_window window;
	if (count == w->seen.windows || !c->keeps_windows)
		return;
	if (count < w->seen.windows) { /* a process has written over the page */
		w->seen.windows = count;
		return;
	}
	if (count - w->seen.windows > CAPTURE_WINDOWS_KEPT)
		w->seen.windows = count - CAPTURE_WINDOWS_KEPT;
	writer_take_time(w);
	while (w->seen.windows < count) {
		bool is_stored = capture_window_get(c, w->seen.windows + 1, &window);
		if (!is_stored && !is_end)
			return; /* the process is between counting and storing it, or was killed
				   there */
		w->seen.windows++;
		if (is_stored)
			put_window(w, window.number, tick_ns(w, window.begin_tick),
				tick_ns(w, window.end_tick), false);
	}
}

void windows_collect(struct writer *w)
{
	collect(w, false);
}

void windows_finish(struct writer *w)
{
	uint64_t begin_tick;
	collect(w, true);
	if (!w->control->keeps_windows || !capture_is_open(w->control, &begin_tick) || !begin_tick)
		return;
	put_window(w, capture_windows(w->control) + 1, tick_ns(w, begin_tick),
		w->totals.last_end_ns, true);
}
