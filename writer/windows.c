/* SPDX-License-Identifier: Apache-2.0 */
/*
 * windows.c - when the gate was open, as the control page has it, for the report.
 *
 * A writer that takes over tells again what the ring still holds: readers know windows by number.
 */
#include "writer/writer.h"

static uint64_t tick_ns(struct writer *w, uint64_t tick)
{
	return w->control->clock_kind == CLOCK_KIND_TSC ? clockfit_ns(&w->clock, tick) : tick;
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
	block_put_entry(&w->block, &entry);
}

/* `is_end`: nobody is left to store a window that has been counted; it is passed over. */
static void collect(struct writer *w, bool is_end)
{
	const struct tree_control *c = w->control;
	uint64_t count = capture_windows(c);
	struct capture_window window;
	if (count == w->windows_seen || !c->keeps_windows)
		return;
	if (count < w->windows_seen) { /* somebody has written over it */
		w->windows_seen = count;
		return;
	}
	if (count - w->windows_seen > CAPTURE_WINDOWS_KEPT)
		w->windows_seen = count - CAPTURE_WINDOWS_KEPT;
	writer_take_time(w);
	while (w->windows_seen < count) {
		bool is_stored = capture_window_get(c, w->windows_seen + 1, &window);
		if (!is_stored && !is_end)
			return; /* its maker is between counting and storing, or was killed there */
		w->windows_seen++;
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
	put_window(
		w, capture_windows(w->control) + 1, tick_ns(w, begin_tick), w->last_end_ns, true);
}
