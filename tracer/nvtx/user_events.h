/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user_events.h - events with typed fields, and counters, of programs that use libtrace.h: marks
 * and counters of the NVTX domain "libtrace".
 *
 * Any thread. Types and counters are registered once, and may allocate; events and samples take the
 * path of NVTX's marks. What is not known is ignored.
 */
#ifndef TRACER_NVTX_USER_EVENTS_H
#define TRACER_NVTX_USER_EVENTS_H

#include <stdint.h>

#define USER_TYPES_MAX 1024u
#define USER_FIELDS_MAX 32u

/* A field, as in libtrace.h. */
struct user_field {
	const char *name;
	int32_t type; /* 1 int64_t, 2 uint64_t, 3 double */
};

/* Register a type of events. Return its number; 0 = invalid, or there are too many. */
uint32_t user_event_type(const char *name, const struct user_field *fields, uint32_t count);

/* Record an event with `count` values of 8 bytes; more than its type has are ignored. */
void user_event(uint32_t type, const uint64_t *values, uint32_t count);

/* Register a counter. Return its number; 0 = invalid, or there are too many. */
uint32_t user_counter(const char *name);

/* Record the value of a counter now. */
void user_sample(uint32_t counter, double value);

#endif
