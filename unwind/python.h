/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.h - the Python frames of the calling thread, read from the memory of CPython.
 *
 * A thread's frames change only while that thread runs Python code, so they do not change within a
 * recorded call, whether the thread has the interpreter lock or not. They are read without the lock
 * and without allocation. A page is read only after the kernel has confirmed that it is readable
 * (stack.h); frames on pages that were read before need no system call. Only the frames of the
 * calling thread are ever read.
 *
 * A code object is defined once: the first time, its texts are checked and passed to `define`.
 * Later it is recognized by its address, as long as its words are unchanged. If another code object
 * has the address now, that one is defined. CPython 3.6 to 3.14, x86-64 and aarch64.
 *
 * Life cycle: python_init() first; python_walk() on any thread with memory of its own;
 * python_forked() in a forked child. All run in the tracer's guard. Except in `define`, none
 * allocates from a heap, changes errno or takes a lock.
 */
#ifndef UNWIND_PYTHON_H
#define UNWIND_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"

#define PYTHON_DEPTH_MAX 128u
#define PYTHON_PAGE_SETS 64u
#define PYTHON_PAGE_WAYS 4u
#define PYTHON_STEPS_MAX 384u /* remembered */
#define PYTHON_FRESH_MAX 256u /* walked at once: as many as the depth, and as many shims */
#define PYTHON_PLACES 512u
#define PYTHON_AWAITERS_MAX 64u

/* The layout of a version's structures: offsets in bytes, -1 = there is no such member. */
struct python_layout {
	uint16_t version; /* 0x030b */
	uint8_t lines;    /* enum python_lines: the encoding of the line table */
	uint8_t unit; /* bytes of a unit of lasti; 0 = `instr` is a pointer to the instruction */
	uint8_t code_tag; /* bits of `code` that are not part of the address */
	int16_t tstate_frame, tstate_cframe, cframe_frame, cframe_previous;
	int16_t previous, code, instr, owner, is_entry;
	int16_t owner_shim; /* least owner of a frame without Python code: it ends an activation */
	int16_t code_start, code_file, code_name, code_first_line, code_table;
	int16_t code_version;    /* a number that no other code object has, unless it is 0 */
	int16_t text, wide_text; /* where the characters of a str begin: ASCII, other */
	/* The thread of a state: its native_thread_id, or, if that is -1, its thread_id, which is
	 * what pthread_self() returns there. */
	int16_t tstate_native, tstate_thread;
	/* The interpreter of a state, and its identifier, its own GIL. tstate_interpreter 0 = not
	 * known, or interpreters share one GIL. */
	int16_t tstate_interpreter, interpreter_id, interpreter_gil;
	/* The running task of asyncio, what leads from it to coroutines, and the end of a suspended
	 * frame's stack, on which is what the frame awaits. tstate_task 0 = there are no links. */
	int16_t tstate_task, task_awaiter, task_is_task, task_has_set, task_coroutine;
	int16_t generator_state, generator_frame, stack_top;
};

/* Return the layout of a version, such as 0x030b; NULL = not known. Any thread. */
const struct python_layout *python_layout_of(uint32_t version);

/*
 * Read the layout from the table of offsets that 3.13 and 3.14 carry at the beginning of
 * _PyRuntime, of which `bytes` are readable. Return NULL, or the reason why there is no usable
 * table.
 */
const char *python_layout_read(
	const void *runtime, uint32_t bytes, uint32_t version, struct python_layout *ret_layout);

/* A code object, as `define` gets it. The texts are UTF-8 and valid during the call only. */
struct python_code {
	uint32_t id;
	uint32_t first_line;
	const char *file, *name;
	uint32_t file_bytes, name_bytes;
	const char *table; /* the line table; readable */
	uint32_t table_bytes;
	bool is_cut; /* the line table is longer than `table_bytes` */
};

struct python_setup {
	struct python_layout layout;
	uint64_t (*thread_state)(void); /* PyGILState_GetThisThreadState() */
	int (*is_finalizing)(void);     /* Py_IsFinalizing() */
	uint64_t code_type, text_type, bytes_type;
	uint64_t coroutine_type; /* 0 = awaiting tasks are not followed */
	/* Store a definition. Return false to be called again at the next use. */
	bool (*define)(void *arg, const struct python_code *code);
};

/* A frame of the interpreter as a walk found it: the words that were read, and what they mean. */
struct python_step {
	uint64_t frame, previous, executable, instr, tag; /* the frame, its words */
	uint64_t code, file, name, lines, mark;           /* the code object, its words */
	/* PYTHON_ADDRESS() of code object and instruction, maybe | PYTHON_AWAITS; 0 = a shim */
	uint64_t address;
	/* An address within the C frame that runs this Python frame, the same for all Python frames
	 * of that C frame; 0 = not known. */
	uint64_t at;
	uint64_t table_bytes; /* length of the line table */
	uint32_t frames;      /* frames that are not shims, from the outermost step to this one */
	bool leaves;          /* the next step is run by another C frame */
};

/*
 * Suspended frames that await the running task, the innermost first. In the chain they are between
 * `root`, the outermost frame of the task, and `outer`, which called it. root 0 = none.
 */
struct python_awaiters {
	uint64_t root, outer;
	uint32_t count;
	uint64_t frames[PYTHON_AWAITERS_MAX];
};

/*
 * Memory of a thread. Zeroed = nothing known. Used by its thread alone.
 *
 * The chain of the last walk is steps[first] to steps[count - 1], the outermost first. Steps before
 * `kept` are those of the walk before, in the same places. Steps before `first` are beyond the
 * depth, and may have changed since they were walked.
 */
struct python_thread {
	uint32_t first, count, kept;
	uint32_t epoch, depth;
	bool one_each; /* a C frame runs one Python frame */
	bool more;     /* there are frames outside of steps[0] */
	uint32_t next_way;
	uint64_t pages[PYTHON_PAGE_SETS][PYTHON_PAGE_WAYS]; /* readable pages, their number + 1 */
	uint16_t place[PYTHON_PLACES];                      /* by address: where its step may be */
	struct python_step steps[PYTHON_STEPS_MAX + PYTHON_FRESH_MAX];
	struct python_awaiters awaiters; /* in this chain */
	char text[2][4096];              /* scratch: a file's and a function's name */
};

enum python_answer {
	PYTHON_FRAMES,  /* all Python frames of the thread, one at least */
	PYTHON_CUT,     /* likewise, but there are more than `depth` */
	PYTHON_NOTHING, /* the thread runs no Python code now */
	PYTHON_WRONG    /* what was read is impossible: the layout is wrong */
};

/* Initialize for an interpreter that the process has loaded; no thread walks meanwhile. *setup is
 * copied. */
void python_init(const struct python_setup *setup);

/*
 * Read the Python frames of the calling thread, at most the `depth` innermost, only as far out as
 * they differ from those of the last walk. `unmapped`: the call may have unmapped memory, so the
 * kernel is asked about all pages again. `arg` is passed to `define`. Owning thread, in the guard.
 */
enum python_answer python_walk(
	struct python_thread *thread, uint32_t depth, bool unmapped, void *arg);

/* Forget all definitions, in a forked child: code objects are defined again. */
void python_forked(void);

#endif
