/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weak_memory.h - runs two threads in every way that release and acquire permit.
 *
 * A model of C11's memory: code that is compiled with -fsanitize=thread calls it, in place of
 * ThreadSanitizer, for each access. Both threads are contexts of one real thread. An atomic load of
 * a named word may return each value that the order of memory does not rule out, so one program
 * shows what a processor of any kind may do. Plain accesses of shared memory are checked: two of
 * different threads that no release and acquire order, one of them a store, are a fault. A load
 * never sees a store that depends on it, as on all processors of today.
 *
 * All values and interleavings are tried, one after the other; the threads must be deterministic
 * otherwise.
 */
#ifndef TESTS_UNIT_WEAK_MEMORY_H
#define TESTS_UNIT_WEAK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Check plain accesses of `bytes` bytes from `begin` on, a multiple of 8. */
void weak_share(const void *begin, size_t bytes);

/* Model a shared word of 4 or 8 bytes that only thread `writer` (0 or 1) stores. Several words may
 * have one name. Other atomic words are seen by both threads at once. */
void weak_name(const void *word, unsigned bytes, const char *name, unsigned writer);

/* Accesses whose order is weakened: those of `thread` to words of this name. SEQ_CST becomes
 * ACQUIRE or RELEASE, others RELAXED. NULL: none. */
struct weakening {
	const char *name;
	unsigned thread;
};

struct exploration {
	uint64_t executions;
	const char *fault; /* of the last execution; NULL = there was none in any */
};

/* Run both threads in every way, until a fault: each time reset(), the threads, finish(), which
 * sees all. */
struct exploration weak_explore(void (*reset)(void), void (*const threads[2])(void),
	void (*finish)(void), struct weakening weakened);

/* Report a fault, and end the execution. In a thread or finish(). */
_Noreturn void weak_fault(const char *what);

#endif
