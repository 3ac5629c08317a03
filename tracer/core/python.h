/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.h - Python frames in callchains: the interpreter of the process, definitions of its code
 * objects in the lane, and chains of native and Python frames.
 *
 * If the interpreter or its memory is not as expected, Python frames are switched off for the
 * process, and a diagnostic says why. All functions: thread.busy set, unless stated otherwise.
 */
#ifndef TRACER_CORE_PYTHON_H
#define TRACER_CORE_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/core/thread.h"
#include "unwind/callchain.h"

/* True from when an interpreter is found until Python frames are switched off. */
extern bool python_is_here __attribute__((visibility("hidden")));

/* Look for the interpreter among the loaded objects. Once, when the session starts. */
void python_start(void);

/* Forget, in a forked child, which code objects the parent's spool defines. */
void python_start_forked(void);

/*
 * Take the chain of native and Python frames of the calling thread. Returns false if it runs no
 * Python code, or if its Python frames cannot be read: the caller then takes a native chain.
 * *ret_id is the innermost node, 0 = no room. Where there are more Python frames than the depth,
 * ret_result->end is not CALLCHAIN_WHOLE. Owning thread, with a lane; `native` and `flags` are
 * passed to callchain_take().
 */
bool python_take(struct thread *t, struct callchain_thread *native, uint32_t flags,
	struct callchain_result *ret_result, uint32_t *ret_id);

#endif
