/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_await.h - who awaits the running task of asyncio: frames of coroutines that are suspended.
 *
 * CPython 3.14 links a task to the task that awaits it, also through gather() and task groups, and
 * the state of a thread to its running task. A task runs and suspends in its thread alone, so what
 * leads there does not change within a recorded call. Where several tasks await a task, the links
 * end. Memory is read as python.c reads it; an object that is not as expected ends the links, too.
 */
#ifndef UNWIND_PYTHON_AWAIT_H
#define UNWIND_PYTHON_AWAIT_H

#include "unwind/python.h"

/*
 * Find the frames that await the running task of the thread with this state. Return true if they
 * are those of t->awaiters, which is updated. `coroutine_type`: the address of PyCoro_Type. Owning
 * thread, in the guard.
 */
bool python_awaiters_find(struct python_thread *t, const struct python_layout *layout,
	uint64_t coroutine_type, uint64_t state);

#endif
