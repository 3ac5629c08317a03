/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.h - the tracer's state of a thread.
 *
 * It is zero (never seen), then attached (lane set), then gone (its end hook has run; nothing is
 * recorded any more). A forked child starts from zero again. The state is plain data in
 * initial-exec TLS: it exists before and after every destructor.
 */
#ifndef TRACER_CORE_THREAD_H
#define TRACER_CORE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"
#include "machine/machine.h"

enum fork_state {
	FORK_NONE = 0,
	FORK_LAZY,  /* in a fork: the child need not do anything before its first call */
	FORK_EAGER, /* in a fork: the child must do so at once */
	FORK_CHILD  /* a forked child that has not called anything yet */
};

/* The next record is written at lane.head modulo CHUNK_BYTES from `base`, regardless of the other
 * fields: two tasks that run on this memory at the same time write within a chunk only. */
struct thread {
	uint64_t busy; /* minus the stack pointer where tracer code began to run on this thread; 0
			  = it does not run, and a signal handler may use the lane. One store
			  sets it: between two stores, a handler would leave its own value behind.
			  BUSY_SLOW is added to the stack pointer where more than the lane's
			  next record is being changed. The first member, since instructions
			  that change a word at once have no offset on aarch64 */
	struct lane *lane;  /* NULL = not attached */
	char *base;         /* address of the current chunk; once set, always that of some chunk */
	uint64_t chunk;     /* 1 + the number of the chunk; 0 = none is current */
	uint64_t entered;   /* the value that thread_try_enter() stored */
	uint64_t published; /* lane.head as counted here: less than lane.head where another process
			       has written to the lane; see lane_audit() */
	uint64_t counted;   /* calls added to lane.sums, counted likewise */
	uint64_t flushed;   /* calls taken out of lane.sums again */
	uint32_t limit;  /* bytes of the chunk in which the next record may begin without a call of
			    lane_room(); a nested record sets it to 0 */
	uint32_t bound;  /* bytes of the chunk that are reserved */
	uint32_t nested; /* number of handlers that are in the tracer, too */
	uint32_t shared; /* this thread's own tid, while another task may run on the thread's
			    memory: clone(CLONE_VM) without CLONE_SETTLS; 0 = none does */
	uint32_t stray;  /* tid of the latest such task; 0 = not known */
	uint32_t shared_calls; /* calls since the last check whether that task still exists */
	/* Bounds of the thread's own stack, as far as known: a stack pointer proves that a frame
	 * is gone within one stack only. */
	uint64_t stack_low, stack_high;
	struct thread *spare; /* state of its second lane: spare.h */
	uint8_t end_rounds;   /* how often the end hook was put off so that other destructors are
				  still recorded */
	uint8_t gone;         /* the end hook has run */
	uint8_t orphan;       /* forked while the tracer was interrupted; see session_child() */
	uint8_t sampling;     /* in the handler of CPU samples: nothing may wait */
	uint8_t fork_state;   /* enum fork_state */
	uint8_t stacks;       /* calls of several stacks were open at the same time */
	uint8_t chains_begun; /* the lane's callchain memory is about this thread */
	uint8_t unmapped;     /* the call being recorded has unmapped memory */
	struct lane *fast; /* the lane, while wrappers may take the short path: the tick counter is
			      the TSC */
	struct lane *set_aside; /* the lane, during a fork */
	uint32_t tid;
	uint32_t vfork_pid;    /* this thread is a vfork child that runs in its parent's memory */
	uint32_t names_given;  /* thread_names_given when the thread's name was last read */
	uint32_t parent_tid;   /* the thread that created it, passed by the start trampoline */
	char name[16];         /* the name last recorded */
	char *ranges;          /* where lane.ranges is mapped; NULL = no NVTX range yet */
	uint32_t ranges_limit; /* bytes of `ranges` that may be used */
	uint32_t ranges_last;  /* offset of the innermost open range, or NVTX_NO_FRAME */
	uint32_t ranges_lost;  /* open ranges within that range for which there was no room */
	uint32_t cuda_level;   /* CUDA API calls in progress */
	uint32_t cuda_correlation; /* correlation id of the outermost call */
	uint32_t muted;   /* tid of the task whose calls are the tracer's, not the application's */
	uint64_t cuda_sp; /* the frame of the outermost call */
	uint32_t vfork_chain; /* node of the last callchain that a vfork child took */
	uint32_t missed_lane; /* calls since no lane was available */
	uint32_t lanes_seen;  /* lease_given_back at that time */
	bool wants_tool; /* the module whose NVTX is being initialized asks for another tool, too:
			    inject/nvtx_chain.c */
	uint8_t launch_level;             /* launches of kernels in progress, recorded or not */
	uint8_t metrics_range;            /* enum metrics_range, of tracer/cuda/metrics.h */
	struct samples *samples;          /* CPU samples (tracer/cpu/cpu.h); NULL = none are taken.
					     tracer/cpu/sample.c knows its offset */
	struct function_stack *functions; /* open calls of functions in functions_lane */
	struct function_lookup *lookup;   /* in progress in the name of a module */
	struct lane *functions_lane;      /* the lane, while such calls may take the short path */
	uint64_t created;         /* tick at which pthread_create() was called for it, or at which
				     it began as a forked child; 0 = not known */
	uint32_t cuda_node_graph; /* graph to which the last node for memory was added */
	uint32_t cuda_node_correlation; /* the call that added it */
};

extern __thread struct thread thread_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Keep the compiler from moving tracer stores across a change of `busy`; the processor keeps a
 * thread's own order. */
#define THREAD_BARRIER() __asm__ volatile("" : : : "memory")

#define BUSY_SLOW UINT64_C(1)

/* Return the stack pointer where the tracer was interrupted, if only once. */
static inline uint64_t thread_busy_at(const struct thread *t)
{
	return 0 - t->busy;
}

/*
 * Take the guard if it is free. One instruction, since another stack of this thread could take it
 * between two. The short path (osrt.h) subtracts its stack pointer, has the guard when that
 * borrows, since it was 0, and adds it again; so thread_give() subtracts what thread_try_enter()
 * stored.
 */
static inline bool thread_try_enter(struct thread *t)
{
	uint64_t place = 0 - ((uint64_t)(uintptr_t)MACHINE_FRAME() | BUSY_SLOW);
	bool taken = machine_owner_exchange(&t->busy, 0, place);
	if (taken)
		t->entered = place;
	THREAD_BARRIER();
	return taken;
}

/* Give the guard back after thread_try_enter(). */
static inline void thread_give(struct thread *t)
{
	THREAD_BARRIER();
	machine_owner_add(&t->busy, 0 - t->entered);
}

/* Enter for code that continues even if the guard is taken: the last one to leave gives it back. */
static inline void thread_enter(struct thread *t)
{
	if (!thread_try_enter(t))
		t->nested++;
	THREAD_BARRIER();
}

/* Leave after thread_enter(). */
static inline void thread_leave(struct thread *t)
{
	THREAD_BARRIER();
	if (t->nested)
		t->nested--;
	else
		thread_give(t);
}

/* Return true if that thread of this process has ended; false if the kernel cannot be asked. */
bool thread_is_dead(uint32_t tid);

/* Make `lane` the thread's lane (NULL = none). Wrappers take the short path if the tick counter is
 * the TSC and no second task runs on the thread's memory. */
void thread_use_lane(struct thread *t, struct lane *lane);

/*
 * Set the lane aside before a fork, and take it back in the parent. Until thread_forked() (in the
 * child: session_child()) handlers of other libraries may call traced functions on either side,
 * before ours has run, and only the parent may use the lane.
 */
void thread_forking(struct thread *t, enum fork_state state);
void thread_forked(struct thread *t);

/* The thread that is in a fork, of several the latest; in a forked child, that thread's copy if its
 * fork_state is FORK_CHILD. NULL = none. */
extern struct thread *thread_in_fork __attribute__((visibility("hidden")));

/*
 * Mute and unmute the thread around code that calls libc through our wrappers within the guard: its
 * calls are neither recorded nor counted. All signals are blocked meanwhile. Return what
 * thread_unmute() takes.
 */
struct lane *thread_mute(struct thread *t);
void thread_unmute(struct thread *t, struct lane *lane);

/* Return true if the thread is muted. A call of another task on its memory counts as dropped. */
bool thread_is_muted(struct thread *t);

/* Reset the state that a fork copied, except for the bounds of the stack. */
void thread_forget(struct thread *t);

/* Return true if the calling code runs on the thread's alternate signal stack, also if the kernel
 * cannot be asked: a frame there proves nothing about frames elsewhere. One system call. */
bool thread_on_signal_stack(void);

/*
 * Clear `busy` if a handler that interrupted the tracer has left by siglongjmp. The proof is a call
 * from a frame of the same stack that is not below the interrupted one, by the thread itself.
 * Async-signal-safe.
 */
void thread_mend_guard(struct thread *t);

/* Return true if the tracer is interrupted on this thread, in either of its lanes. */
bool thread_is_inside(const struct thread *t);

/* Return true if the tracer is interrupted in both lanes, beyond their next records: each continues
 * when the other has ended. */
static inline bool thread_is_inside_twice(const struct thread *t)
{
	return t->busy & BUSY_SLOW && t->spare && t->spare->busy;
}

/* Reset the guard in a forked child that never returns to the interrupted tracer. */
void thread_left(struct thread *t);

/* Leave the thread, in a forked child, what the interrupted tracer needs to continue. */
void thread_orphan(struct thread *t);

/* Return true if both stack pointers are in the same stack; also false if that is not known. */
static inline bool thread_same_stack(const struct thread *t, uint64_t a, uint64_t b)
{
	uint64_t size = t->stack_high - t->stack_low, apart = a > b ? a - b : b - a;
	return (a - t->stack_low < size && b - t->stack_low < size) ||
		apart < 1024; /* a stack that has room for a signal's frame is larger */
}

/* Bytes of the stack of a thread that is created without attributes. */
extern uint64_t thread_stack_usual __attribute__((visibility("hidden")));

/* Read thread_stack_usual, as glibc does. Once, before any thread. */
void thread_stack_usual_find(void);

/* Store the bounds of the calling thread's stack, which has at least `bytes` bytes below `high`.
 * Before the thread attaches. */
void thread_stack_set(struct thread *t, uint64_t high, uint64_t bytes);

/* Note that a task is about to be created that runs on this thread's memory, or was found
 * (`stray` is its tid, 0 = not known yet): from now on only the thread itself records, on the slow
 * path. */
void thread_share(struct thread *t, uint32_t stray);
void thread_share_end(struct thread *t);

/* Return true if two tasks share the thread's memory and the call is not the thread's own: it is
 * counted as dropped. */
bool thread_is_stray(struct thread *t);

/* Return true if that task, of this or another process, no longer shares this memory: it has ended,
 * or called exec. Also false if the kernel cannot be asked. */
bool thread_task_is_gone(uint32_t task);

/* Return true in another task, of another process, on the memory of a thread of this one; false if
 * the kernel cannot be asked. Two system calls. */
bool thread_is_task_of_ours(void);

/* Check, in a slow path of a thread that has a lane, whether this is another task that no
 * wrapper has seen. */
void thread_look_for_stray(struct thread *t);

#endif
