/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window_calls.c - capture ranges that calls of the program open and close.
 */
#include "tracer/session/window_calls.h"

#include "tracer/session/attach.h"
#include "tracer/core/state.h"
#include "tracer/core/window.h"

/* Return true if the options ask for this kind of capture range, and the thread has a lane: a
 * forked child has no spool before its first call. */
static bool is_asked_for(enum capture_kind kind)
{
	const struct capture_spec *s = window_in_force();
	if (!s || s->kind != kind)
		return false;
	return thread_self.lane || thread_attach(&thread_self);
}

void window_api_start(enum capture_kind kind)
{
	uint32_t none = 0;
	if (is_asked_for(kind) &&
		__atomic_compare_exchange_n(&session.spool->capture_ranges, &none, 1, false,
			__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		capture_begin(session.control);
}

void window_api_stop(enum capture_kind kind)
{
	uint32_t open = 1;
	if (is_asked_for(kind) &&
		__atomic_compare_exchange_n(&session.spool->capture_ranges, &open, 0, false,
			__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		window_close();
}
