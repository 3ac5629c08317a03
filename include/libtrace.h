/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libtrace.h - functions with which the traced program starts and stops recording, and records
 * events with typed fields and samples of counters.
 *
 * With `trace run --capture-range=libtraceApi` (LIBTRACE_CAPTURE_RANGE), events are recorded only
 * from libtrace_start() to libtrace_stop(), in the whole process tree; --capture-range-end
 * determines what happens at the stop and later. Without that option, and in a program that is not
 * traced, both functions do nothing. The program needs nothing linked or installed to run: the
 * functions search for the tracer on their first call, which therefore must not be in a signal
 * handler.
 *
 * Calls do not nest: a second start before the stop is ignored. A range that several processes
 * started ends with the last stop, or with the last of these processes. Any thread.
 *
 * An event has a type, which is registered once, and a value of 8 bytes for each field of the type.
 * Events are marks of the NVTX domain "libtrace", and rows of nsys's table GENERIC_EVENTS.
 *
 * For other languages, the symbols are libtrace_capture_start and libtrace_capture_stop, without
 * arguments or result, and libtrace_user_event_type, libtrace_user_event, libtrace_user_counter and
 * libtrace_user_sample, with the arguments of the functions below. They exist if the tracer is
 * loaded (in Python: ctypes.CDLL(None)).
 */
#ifndef LIBTRACE_H
#define LIBTRACE_H

#include <dlfcn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Weak, so that a static program links. A weak reference to the functions themselves would stay
 * NULL in a program that is linked without -pie. */
#pragma weak dlsym

typedef void (*libtrace_fn)(void);

/* Return a function of the tracer; NULL if it is not loaded. *found caches the address between
 * calls. */
static inline libtrace_fn libtrace_find(const char *name, void **found)
{
	void *const searched = (void *)found; /* marks a function that was searched for and not
					       * found */
	void *function = __atomic_load_n(found, __ATOMIC_RELAXED);
	if (!function) {
		void *(*find)(void *, const char *) = dlsym;
		function = find ? find((void *)0 /* RTLD_DEFAULT */, name) : (void *)0;
		function = function ? function : searched;
		__atomic_store_n(found, function, __ATOMIC_RELAXED);
	}
	return function != searched ? (libtrace_fn)(__UINTPTR_TYPE__)function : (libtrace_fn)0;
}

/* Call a function of the tracer if it is loaded. */
static inline void libtrace_call_if_loaded(const char *name, void **found)
{
	libtrace_fn function = libtrace_find(name, found);
	if (function)
		function();
}

/* Begin recording events. */
static inline void libtrace_start(void)
{
	static void *found;
	libtrace_call_if_loaded("libtrace_capture_start", &found);
}

/* Stop recording events. */
static inline void libtrace_stop(void)
{
	static void *found;
	libtrace_call_if_loaded("libtrace_capture_stop", &found);
}

/* Types of fields. */
enum libtrace_field_type { LIBTRACE_INT64 = 1, LIBTRACE_UINT64 = 2, LIBTRACE_DOUBLE = 3 };

struct libtrace_field {
	const char *name;
	int type; /* enum libtrace_field_type */
};

/* A value, of the member that the type of its field says. */
union libtrace_value {
	long long int64;
	unsigned long long uint64;
	double real;
};

/*
 * Register a type of events with 1 to 32 fields. Return its number, for libtrace_event(); 0 if the
 * program is not traced, for invalid arguments, and after 1,024 types and counters. The texts are
 * copied.
 */
static inline unsigned libtrace_event_type(
	const char *name, const struct libtrace_field *fields, unsigned count)
{
	static void *found;
	libtrace_fn function = libtrace_find("libtrace_user_event_type", &found);
	typedef unsigned (*type_fn)(const char *, const struct libtrace_field *, unsigned);
	return function ? ((type_fn)(__UINTPTR_TYPE__)function)(name, fields, count) : 0;
}

/* Record an event: `count` values, those of the fields of its type. Type 0 is ignored. */
static inline void libtrace_event(unsigned type, const union libtrace_value *values, unsigned count)
{
	static void *found;
	libtrace_fn function = type ? libtrace_find("libtrace_user_event", &found) : 0;
	typedef void (*event_fn)(unsigned, const union libtrace_value *, unsigned);
	if (function)
		((event_fn)(__UINTPTR_TYPE__)function)(type, values, count);
}

/* Register a counter. Return its number, for libtrace_sample(); 0 as libtrace_event_type(). */
static inline unsigned libtrace_counter(const char *name)
{
	static void *found;
	libtrace_fn function = libtrace_find("libtrace_user_counter", &found);
	typedef unsigned (*counter_fn)(const char *);
	return function ? ((counter_fn)(__UINTPTR_TYPE__)function)(name) : 0;
}

/* Record the value that a counter has now. Counter 0 is ignored. */
static inline void libtrace_sample(unsigned counter, double value)
{
	static void *found;
	libtrace_fn function = counter ? libtrace_find("libtrace_user_sample", &found) : 0;
	typedef void (*sample_fn)(unsigned, double);
	if (function)
		((sample_fn)(__UINTPTR_TYPE__)function)(counter, value);
}

#ifdef __cplusplus
}
#endif

#endif
