/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user_events.c - the entries of libtrace.h for events with typed fields, and for counters.
 */
#define _GNU_SOURCE
#include "inject/fn.h"

#include "tracer/nvtx/ranges.h"
#include "tracer/nvtx/user_events.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED uint32_t libtrace_user_event_type(
	const char *name, const struct user_field *fields, uint32_t count);
EXPORTED void libtrace_user_event(uint32_t type, const uint64_t *values, uint32_t count);
EXPORTED uint32_t libtrace_user_counter(const char *name);
EXPORTED void libtrace_user_sample(uint32_t counter, double value);

/* Return false if nothing is recorded in this process. */
static bool is_on(void)
{
	relocate_check();
	if (session.state == SESSION_NEW)
		preload_early();
	return nvtx_is_on();
}

uint32_t libtrace_user_event_type(const char *name, const struct user_field *fields, uint32_t count)
{
	int error = errno;
	uint32_t number = is_on() ? user_event_type(name, fields, count) : 0;
	errno = error;
	return number;
}

void libtrace_user_event(uint32_t type, const uint64_t *values, uint32_t count)
{
	int error = errno;
	if (is_on())
		user_event(type, values, count);
	errno = error;
}

uint32_t libtrace_user_counter(const char *name)
{
	int error = errno;
	uint32_t number = is_on() ? user_counter(name) : 0;
	errno = error;
	return number;
}

void libtrace_user_sample(uint32_t counter, double value)
{
	int error = errno;
	if (is_on())
		user_sample(counter, value);
	errno = error;
}
