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

struct python_layout; /* unwind/python.h */
struct registers_all; /* unwind/registers.h */

/* True from when an interpreter is found until Python frames are switched off. */
extern bool python_is_here __attribute__((visibility("hidden")));

/* True while there may be an interpreter in a module that is loaded later. */
extern bool python_may_come __attribute__((visibility("hidden")));

/* The data of the interpreter among which its GIL is; `bytes` 0 = not known, or not wanted.
 * osrt/gil.c narrows it to the condition variable of the GIL. */
struct python_memory {
	uint64_t begin, bytes;
	bool may_be_own; /* sub-interpreters may have a GIL of their own, elsewhere */
};
extern struct python_memory python_gil __attribute__((visibility("hidden")));

/*
 * Return the layout of the interpreter, NULL = not known. *ret_state is the state of the calling
 * thread, 0 = it has none. Owning thread, within a call that the interpreter itself made.
 */
const struct python_layout *python_layout_now(uint64_t *ret_state);

/* Return the address of a symbol of the interpreter; 0 = it has none. Any thread. */
uint64_t python_symbol(const char *name);

/* Look for the interpreter among the loaded objects. Once, when the session starts. `find_object`
 * is _dl_find_object(), or NULL if there is none. */
void python_start(int (*find_object)(void *, void *));

/* Look for an interpreter in the module at `address`, a return address of the calling thread, while
 * python_may_come. Looks once at each module of a `generation` of the map of modules. Any thread.
 */
void python_look(uint64_t address, uint32_t generation);

/* Call before and after the program unloads modules: these may include an interpreter that was
 * loaded later. Any thread. */
void python_before_unload(void);
void python_after_unload(void);

/* Forget, in a forked child, which code objects the parent's spool defines. */
void python_start_forked(void);

/*
 * Take the chain of native and Python frames of the calling thread. Return false if it runs no
 * Python code, or if its Python frames cannot be read: the caller then takes a native chain.
 * *ret_id is the innermost node, 0 = no room. Where there are more Python frames than the depth,
 * ret_result->end is not CALLCHAIN_WHOLE. Owning thread, with a lane; `native` and `flags` are
 * passed to callchain_take(), or, if `from` is not NULL, to callchain_take_at() with the greatest
 * depth: in the handler of a signal that interrupted the thread there, on a stack that has room.
 */
bool python_take(struct thread *t, struct callchain_thread *native,
	const struct registers_all *from, uint32_t flags, struct callchain_result *ret_result,
	uint32_t *ret_id);

#endif
