/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callchain.h - the callers of the traced call, as one number.
 *
 * callchain_take() returns the id of a node (nodes.h), which represents the chain of callers of the
 * calling thread. It walks by call frame information, one cached rule per return address (rules.h),
 * and only the inner part of the stack that differs from the thread's last chain, which is
 * remembered. On machines without MACHINE_UNWINDS only libunwind (fallback.h) finds chains.
 *
 * Life cycle: callchain_init() once at library start; callchain_take() on any thread with memory of
 * its own; callchain_forked() in a forked child. All functions are called in the tracer's guard: no
 * handler that interrupts one on its thread calls another. Nothing here allocates from a heap,
 * changes errno, or takes a lock, but for libunwind.
 */
#ifndef UNWIND_CALLCHAIN_H
#define UNWIND_CALLCHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"
#include "unwind/nodes.h"
#include "unwind/registers.h"
#include "unwind/stack.h"

#define CALLCHAIN_DEPTH_MAX 128u

enum callchain_flag {
	CALLCHAIN_FRAME_POINTERS = 1, /* follow rbp instead of the tables (an option) */
	CALLCHAIN_CHECK = 2,   /* also ask libunwind, step by step, and count what differs: slow */
	CALLCHAIN_NAMELESS = 4 /* add no nodes and return 0: the caller names the frames itself, by
				  callchain_frame_get() */
};

enum callchain_end {
	CALLCHAIN_WHOLE = 0, /* up to the thread's first function */
	CALLCHAIN_CUT,       /* cut at `depth`: the outermost node has NODE_CUT */
	CALLCHAIN_LOST       /* the caller is not known, or the stack is damaged: NODE_LOST */
};

struct callchain_result {
	uint32_t count; /* number of frames, without frames of libtrace.so */
	uint8_t method; /* enum callchain_method */
	uint8_t end;    /* enum callchain_end */
	uint8_t walked; /* frames that were not remembered */
	uint8_t kept;   /* the outermost frames that are in the same places as in the last chain */
};

/* A word that the walk read. */
struct callchain_check {
	uint64_t address, value;
};

/* A remembered frame. The last of its checks is its own return address, and the address at which
 * that is stored. */
struct callchain_frame {
	uint64_t bp; /* rbp in this frame, if the step to its caller depends on it */
	uint64_t hash;
	uint32_t id;
	uint16_t flags;
	uint16_t checks; /* number of the thread's checks for it and the frames outside of it */
	uint64_t sp; /* where MACHINE_IP_FIXED is 0: it does not follow from the address of ip */
};

/* A frame of the present walk. */
struct callchain_fresh {
	uint64_t slot, ip, bp;
	uint64_t bp_slot, bp_value; /* the caller's rbp, when it was loaded here */
	uint32_t flags;
	uint32_t rule; /* the rule of `ip`, for the next walk; RULE_NONE = not kept */
	uint64_t sp;   /* as in struct callchain_frame */
};

/* What a thread remembers of its last chain. Zeroed = nothing. Owned by the caller; used by its
 * thread alone. */
struct callchain_thread {
	struct stack_range range[2]; /* the stack in use, and the previous stack */
	uint32_t count;              /* remembered frames */
	uint32_t generation;
	uint32_t depth, flags; /* depth and flags of the last chain */
	uint32_t cut;
	const struct registers_all *from; /* of the interrupted code, in callchain_take_at() */
	struct callchain_check check[2 * CALLCHAIN_DEPTH_MAX]; /* outermost first */
	struct callchain_frame frame[CALLCHAIN_DEPTH_MAX];     /* outermost first */
	struct callchain_fresh fresh[CALLCHAIN_DEPTH_MAX + 1]; /* innermost first */
};

struct callchain_setup {
	uint64_t own_begin, own_end; /* libtrace.so itself: its frames are left out; 0, 0 = none */
	void *(*more)(void *arg, uint32_t number); /* see struct callchain_nodes */
	void *more_arg;
	uint64_t main_top; /* an address at the outer end of the program's stack; 0 = not known */
	int (*find_object)(void *, void *); /* _dl_find_object(), or NULL if there is none */
};

/* Counts for diagnostics. */
struct callchain_counts {
	/* By CALLCHAIN_CHECK. Shorter: libunwind gave up in code without tables. */
	uint64_t checked, different, shorter;
	uint64_t lost; /* frames that nothing here could pass */
};

/* Initialize, once, before the first chain. *setup is copied. Takes 6 us. */
void callchain_init(const struct callchain_setup *setup);

/*
 * Take the chain of callers of the calling function, without frames in libtrace.so: at most the
 * `depth` (1..128) innermost. Return the id of its innermost node, 0 = none (no room, or the stack
 * is not readable); *ret_result is set in both cases. Makes no system call if the stack is known.
 * Owning thread of `thread`; in the guard; async-signal-safe. Needs 2 KiB of stack (with libunwind
 * 15).
 */
uint32_t callchain_take(struct callchain_thread *thread, uint32_t depth, uint32_t flags,
	struct callchain_result *ret_result);

/*
 * Take the chain of code that a signal has interrupted, from its registers: as callchain_take(),
 * but the innermost frame is the interrupted instruction, a node with NODE_EXACT. The handler may
 * run on another stack. Never asks libunwind.
 */
uint32_t callchain_take_at(struct callchain_thread *thread, const struct registers_all *from,
	uint32_t depth, uint32_t flags, struct callchain_result *ret_result);

/* Return false if the stack in use cannot be read, or is an alternate signal stack with too little
 * room left: callchain_take() would find nothing. Call under the conditions of callchain_take(). */
bool callchain_has_room(struct callchain_thread *thread);

/* A frame of a chain as the walk found it. */
struct callchain_found {
	uint64_t slot,
		ip; /* the address at which the return address is stored, and the return address */
	uint32_t flags; /* NODE_EXACT or 0 */
};

/*
 * Get frame `number`, 0 = the outermost, of the chain that callchain_take() has just found with
 * CALLCHAIN_NAMELESS, of ret_result->count frames. Return false if it is a frame of libtrace.so,
 * which belongs to no chain. Owning thread, in the guard.
 */
bool callchain_frame_get(
	const struct callchain_thread *thread, uint32_t number, struct callchain_found *ret_frame);

/* Return the tree of all chains of the process. */
struct callchain_nodes *callchain_tree(void);

/* Forget all that is remembered about addresses in [begin, end): their modules were unloaded.
 * Lock-free; any thread. */
void callchain_unloaded(uint64_t begin, uint64_t end);

/* Forget what `thread` remembers: its memory belongs to another thread now. */
void callchain_forget(struct callchain_thread *thread);

/* Start an empty tree in a forked child, before its first chain. The memory of threads may stay;
 * rules and the map of modules are still valid. */
void callchain_forked(void);

/* Return the counts so far, of all threads of this process. Any thread. */
struct callchain_counts callchain_counts(void);

/* Copy node `id`. Return false if no chain has it. Any thread. */
bool callchain_node(uint32_t id, struct callchain_node *ret_node);

#endif
