/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merged.h - native and Python frames of a thread as one chain of nodes.
 *
 * A C frame of the interpreter runs one or more Python frames; they take its place in the chain.
 * An address within that C frame (struct python_frame) says where a Python frame belongs; for
 * versions that provide none, the C frames of the evaluating function do. The interpreter's own
 * frames are left out: three to five of them for each Python frame would fill the tree.
 */
#ifndef UNWIND_MERGED_H
#define UNWIND_MERGED_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/callchain.h"
#include "unwind/python.h"

#define MERGED_FRAMES_MAX (CALLCHAIN_DEPTH_MAX + PYTHON_DEPTH_MAX)

struct merged_interpreter {
	uint64_t begin, end;           /* the module of the interpreter */
	uint64_t eval_begin, eval_end; /* _PyEval_EvalFrameDefault() */
};

/* The last chain of a thread; the next chain may reuse a part of it. Zeroed = none. Used by its
 * thread alone. */
struct merged_thread {
	uint32_t count, generation;
	uint32_t root;          /* flags of the outermost node */
	uint32_t first;         /* python->first */
	uint32_t native, steps; /* frames of the native chain, python->count */
	struct merged_frame {
		uint64_t address;
		uint64_t hash;
		uint32_t id, flags;
		uint16_t native, steps; /* how many of each had been used up to this frame */
	} frames[MERGED_FRAMES_MAX];    /* outermost first */
};

/* Return what is remembered, for merged_take(), and forget it. Call before the two chains are
 * taken, since a handler may leave by siglongjmp() before they are merged. */
static inline uint32_t merged_begin(struct merged_thread *thread)
{
	uint32_t known = thread->count;
	thread->count = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return known;
}

/*
 * Return the id of the innermost node of the chain of `native`, which callchain_take() has just
 * found with CALLCHAIN_NAMELESS, and the frames of `python`; 0 = no room. `cut`: there are more
 * Python frames. `known` is from merged_begin(). Owning thread, in the guard.
 */
uint32_t merged_take(struct merged_thread *thread, uint32_t known,
	const struct merged_interpreter *interpreter, const struct callchain_thread *native,
	const struct callchain_result *result, struct python_thread *python, bool cut);

/* Forget the last chains of all threads, in a forked child: its tree is empty. */
void merged_forked(void);

#endif
