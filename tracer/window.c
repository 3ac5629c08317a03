/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/window.h"

#include "tracer/lane.h"
#include "tracer/session.h"
#include "tracer/thread.h"

static struct capture_spec spec;

void window_start(void)
{
	const struct config *c = &session.config;
	const char *why;
	if (!capture_parse(c->capture_range, c->nvtx_capture, c->capture_range_end, &spec, &why) &&
		!session.config.bad)
		session.config.bad = "LIBTRACE_CAPTURE_RANGE";
}

const struct capture_spec *window_spec(void)
{
	return &spec;
}

const struct capture_spec *window_in_force(void)
{
	uint32_t state = __atomic_load_n(&session.state, __ATOMIC_ACQUIRE);
	return state == SESSION_ON || state == SESSION_FORKED ? &session.control->capture : NULL;
}

bool window_range_begin(void)
{
	if (!capture_begin(session.control))
		return false;
	__atomic_add_fetch(&session.spool->capture_ranges, 1, __ATOMIC_RELEASE);
	return true;
}

/* The writer must fetch the windows before their places are used again. */
static void range_end(void)
{
	capture_end(session.control, 1, 0);
	if (capture_windows(session.control) % (CAPTURE_WINDOWS_KEPT / 4) == 0)
		lane_wake_writer();
}

void window_range_end(void)
{
	__atomic_sub_fetch(&session.spool->capture_ranges, 1, __ATOMIC_RELEASE);
	range_end();
}

/* Is it what opens windows here? Then with a spool, which a forked child has not had at first. */
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
		range_end();
}

void window_signal(void)
{
	const struct capture_spec *s = window_in_force();
	if (s && s->kind == CAPTURE_SIGNAL)
		capture_toggle(session.control);
}
