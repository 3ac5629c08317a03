/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.h - Python frames in callchains: the interpreter of the process, definitions of its code
 * objects in the lane, and chains of native and Python frames.
 *
 * Whatever is not understood switches Python frames off for the process, and a diagnostic says why.
 * All functions: with thread.busy set, where nothing else is said.
 */
#ifndef TRACER_CORE_PYTHON_H
#define TRACER_CORE_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/core/thread.h"
#include "unwind/callchain.h"

/* True once an interpreter was found, and until Python frames are off. */
extern bool python_is_here __attribute__((visibility("hidden")));

/* Look for the interpreter among the loaded objects. Once, when the session starts. */
void python_start(void);

/* Forget, in a forked child, what the parent's spool has. */
void python_start_forked(void);

/*
 * Take the chain of native and Python frames of the calling thread. Returns false if it runs no
 * Python code, or if its Python frames are not known: a native chain is to be taken then. *ret_id
 * as callchain_take() returns it; *ret_cut: there are more Python frames. Owning thread, with a
 * lane; `native` and `flags` are for callchain_take().
 */
bool python_take(struct thread *t, struct callchain_thread *native, uint32_t flags,
	struct callchain_result *ret_result, uint32_t *ret_id);

#endif
