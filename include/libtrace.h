/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libtrace.h - functions with which the traced program starts and stops recording.
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
 * For other languages, the symbols are libtrace_capture_start and libtrace_capture_stop, without
 * arguments or result; they exist if the tracer is loaded (in Python: ctypes.CDLL(None)).
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

/* Call a function of the tracer if it is loaded. *found caches the address between calls. */
static inline void libtrace_call_if_loaded(const char *name, void **found)
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
	if (function != searched)
		((libtrace_fn)(__UINTPTR_TYPE__)function)();
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

#ifdef __cplusplus
}
#endif

#endif
