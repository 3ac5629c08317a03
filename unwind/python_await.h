/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_await.h - who awaits the running task of asyncio: frames of coroutines that are suspended.
 *
 * CPython 3.14 links a task to the task that awaits it, also through gather() and task groups, and
 * the state of a thread to its running task. Only its own thread resumes and suspends a task, so
 * these links do not change during a recorded call. They end at a task that several tasks await,
 * and at an object that is not as expected. Memory is read as python.c reads it.
 */
#ifndef UNWIND_PYTHON_AWAIT_H
#define UNWIND_PYTHON_AWAIT_H

#include "unwind/python.h"

/*
 * Find the frames that await the running task of the thread with this state, and store them in
 * t->awaiters. Return true if they are the same as before. `coroutine_type`: the address of
 * PyCoro_Type. Owning
 * thread, in the guard.
 */
bool python_awaiters_find(struct python_thread *t, const struct python_layout *layout,
	uint64_t coroutine_type, uint64_t state);

#endif
