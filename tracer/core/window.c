/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.c - capture ranges of this process: options, NVTX ranges and the signal.
 */
#include "tracer/core/window.h"

#include "tracer/core/lane.h"
#include "tracer/core/state.h"

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

/* The writer must read the windows before their entries are used again. */
void window_close(void)
{
	capture_end(session.control, 1, 0);
	if (capture_windows(session.control) % (CAPTURE_WINDOWS_KEPT / 4) == 0)
		lane_wake_writer();
}

void window_range_end(void)
{
	__atomic_sub_fetch(&session.spool->capture_ranges, 1, __ATOMIC_RELEASE);
	window_close();
}

void window_signal(void)
{
	const struct capture_spec *s = window_in_force();
	if (s && s->kind == CAPTURE_SIGNAL)
		capture_toggle(session.control);
}
