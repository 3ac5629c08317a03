/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libtrace.h - what a program can tell the tracer: record now.
 *
 * With `trace run --capture-range=libtraceApi` (LIBTRACE_CAPTURE_RANGE) events are recorded only
 * from libtrace_start() to libtrace_stop(), in the whole process tree; --capture-range-end says
 * what happens at the stop and later. Without that option, and in a program that is not traced,
 * both do nothing. Nothing has to be linked or installed for the program to run: the tracer is
 * looked for when they are first called (so not for the first time in a signal handler).
 *
 * They do not nest: a second start before the stop is none. What several processes have started
 * ends with the last stop, or with the process. Any thread.
 *
 * For other languages the symbols are libtrace_capture_start and libtrace_capture_stop, without
 * arguments or result; they exist where the tracer is loaded (in Python: ctypes.CDLL(None)).
 */
#ifndef LIBTRACE_H
#define LIBTRACE_H

#include <dlfcn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Weak, so that a static program links; a weak reference to the functions themselves would be
 * NULL for good in a program that is linked without -pie. */
#pragma weak dlsym

typedef void (*libtrace_fn)(void);

static inline void libtrace_call_if_loaded(const char *name, void **found)
{
	void *const searched = (void *)found; /* stands for: not there */
	void *function = __atomic_load_n(found, __ATOMIC_RELAXED);
	if (!function) {
		void *(*find)(void *, const char *) = dlsym;
		function = find ? find((void *)0 /* RTLD_DEFAULT */, name) : (void *)0;
		function = function ? function : searched;
		__atomic_store_n(found, function, __ATOMIC_RELAXED);
	}
	if (function != searched)
		((libtrace_fn)(__UINTPTR_TYPE__)function)();
}

/* Events are recorded from here on. */
static inline void libtrace_start(void)
{
	static void *found;
	libtrace_call_if_loaded("libtrace_capture_start", &found);
}

/* They are no longer. */
static inline void libtrace_stop(void)
{
	static void *found;
	libtrace_call_if_loaded("libtrace_capture_stop", &found);
}

#ifdef __cplusplus
}
#endif

#endif
