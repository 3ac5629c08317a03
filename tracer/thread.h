/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.h - what the tracer keeps per thread, and how a thread gets its lane.
 *
 * Life of a thread's state: zero (never seen) -> attached (lane set) -> gone (its end hook has run;
 * nothing is recorded any more). A forked child starts from zero again. The state is plain data in
 * initial-exec TLS: it exists before and after every destructor.
 */
#ifndef TRACER_THREAD_H
#define TRACER_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"

enum fork_state {
	FORK_NONE = 0,
	FORK_LAZY,  /* in a fork: the child need not do anything before its first call */
	FORK_EAGER, /* in a fork: it must */
	FORK_CHILD  /* a forked child that has not called anything yet */
};

/*
 * Where the next record goes is lane.head alone, modulo CHUNK_BYTES from `base`: whatever two tasks
 * that run on this memory at the same time make of these numbers, what they write stays within a
 * chunk.
 */
struct thread {
	struct lane *lane; /* NULL = not attached */
	char *base;        /* the current chunk; once it is set, always that of some chunk */
	uint64_t chunk;    /* 1 + its number; 0 = none is current */
	uint64_t busy; /* stack pointer where tracer code began to run on this thread, and it still
			  does: a signal handler must not touch the lane; 0 = it does not. One
			  store makes it so and says where: between two, a handler would leave its
			  own place behind. BUSY_SLOW is added where more than the lane's next
			  record is at stake */
	uint64_t entered; /* what thread_try_enter() put there */
	uint32_t limit;   /* bytes of the chunk in which the next record may begin without asking; 0
			     by a nested record, to bring the owner into lane_room() */
	uint32_t bound;   /* bytes of it that are reserved */
	uint32_t nested;  /* handlers that are in the tracer, too */
	uint32_t gone;    /* the end hook has run */
	uint32_t shared;  /* its own tid, while another task may run on this memory: clone(CLONE_VM)
			     without CLONE_SETTLS; 0 = none does */
	uint32_t stray;   /* tid of the latest such task; 0 = not known */
	uint32_t shared_calls; /* since it was looked whether that is still there */
	uint32_t orphan;       /* forked while the tracer was interrupted; see session_child() */
	/* The thread's own stack as far as known: the stack pointer says whether a frame is gone
	 * within one stack only. */
	uint64_t stack_low, stack_high;
	struct thread *spare; /* of its second lane: see thread_put_spare() */
	uint32_t end_rounds;  /* times the end hook has been put off so that other destructors are
				 still seen */
	uint8_t fork_state;   /* enum fork_state */
	uint8_t muted;        /* calls are not the application's */
	uint8_t chains_begun; /* what its lane's callchain memory holds is this thread's */
	struct lane *fast; /* lane, while nothing keeps wrappers from the short way: the counter is
			      the TSC */
	struct lane *set_aside; /* the lane, during a fork */
	uint32_t tid;
	uint32_t vfork_pid;    /* this thread is a vfork child that runs in its parent's memory */
	uint32_t names_given;  /* thread_names_given when its own was last known */
	uint32_t parent_tid;   /* who created it, handed over by the start trampoline */
	char name[16];         /* as last recorded */
	char *ranges;          /* where lane.ranges is mapped; NULL = no NVTX range yet */
	uint32_t ranges_limit; /* bytes of it that may be used */
	uint32_t ranges_last;  /* offset of the innermost open range, or NVTX_NO_FRAME */
	uint32_t ranges_lost;  /* open ranges inside of that, for which there was no room */
	uint32_t cuda_level;   /* CUDA API calls in progress */
	uint32_t cuda_correlation; /* of the outermost one */
	uint64_t cuda_sp;          /* its frame */
	uint32_t vfork_chain;      /* node of the last callchain that a vfork child took on it */
	uint32_t missed_lane;      /* calls since there was no lane to be had */
	uint32_t lanes_seen;       /* lanes given back until then */
};

extern __thread struct thread thread_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Keeps the compiler from moving tracer stores across a change of `busy`; the processor keeps a
 * thread's own order. */
#define THREAD_BARRIER() __asm__ volatile("" : : : "memory")

#define BUSY_SLOW UINT64_C(1)

/*
 * Takes the guard if nobody has it. One instruction: in between, another stack of this thread could
 * take it, too. The short way (osrt.h) adds its stack pointer, has the guard when that is then all
 * there is, and takes it off again; so whoever gives the guard back takes off what it put there.
 */
static inline bool thread_try_enter(struct thread *t)
{
	uint64_t none = 0, place = (uint64_t)(uintptr_t)__builtin_frame_address(0) | BUSY_SLOW;
	bool taken;
#if defined(__x86_64__)
	__asm__ volatile("cmpxchgq %3, %0"
			 : "+m"(t->busy), "+a"(none), "=@ccz"(taken)
			 : "r"(place)
			 : "memory");
#else
	taken = __atomic_compare_exchange_n(
		&t->busy, &none, place, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
#endif
	if (taken)
		t->entered = place;
	THREAD_BARRIER();
	return taken;
}

static inline void thread_give(struct thread *t)
{
	THREAD_BARRIER();
#if defined(__x86_64__)
	__asm__ volatile("subq %1, %0" : "+m"(t->busy) : "r"(t->entered) : "cc");
#else
	__atomic_fetch_sub(&t->busy, t->entered, __ATOMIC_RELAXED);
#endif
}

/* The same for code that goes on in either case: the last one to leave gives it back. */
static inline void thread_enter(struct thread *t)
{
	if (!thread_try_enter(t))
		t->nested++;
	THREAD_BARRIER();
}

static inline void thread_leave(struct thread *t)
{
	THREAD_BARRIER();
	if (t->nested)
		t->nested--;
	else
		thread_give(t);
}

/*
 * Gives the calling thread a lane. Returns NULL, and counts the call as dropped, when there is none
 * to be had or tracing is off. Makes the spool first in a forked child. Owning
 * thread; async-signal-safe; no allocation.
 */
struct lane *thread_attach(struct thread *t);

/* Has that thread of this process ended? False where that cannot be asked. */
bool thread_is_dead(uint32_t tid);

/* A lane that belongs to no thread, for activity of the CUDA device. NULL without memory.
 * thread.busy set. */
struct lane *thread_lane_for_device(void);

/* Ends the thread's records: sums, end record, lane free for the next thread. Owning thread. */
void thread_detach(struct thread *t);

/*
 * Around a fork. Until thread_forked() (or session_child(), in the child) the lane is set aside:
 * handlers of other libraries may call traced functions on either side, before ours has run, and
 * only the parent may use it.
 */
void thread_forking(struct thread *t, enum fork_state state);
void thread_forked(struct thread *t);

/*
 * Around code that calls libc by our wrappers within the guard: its calls are neither recorded nor
 * counted. With all signals blocked. Returns what thread_unmute() wants back.
 */
struct lane *thread_mute(struct thread *t);
void thread_unmute(struct thread *t, struct lane *lane);

/* Forgets everything but its stack: the state of a thread that a fork copied. */
void thread_forget(struct thread *t);

/*
 * A second lane for a thread whose tracer code has been interrupted by a switch to another stack,
 * as schedulers of user threads do in a signal handler: what is interrupted goes on later, and the
 * other stacks record here meanwhile. False = there is none, or it is in use, too.
 */
bool thread_put_spare(struct thread *t, const struct record *record);
void thread_spare_prepare(struct thread *t);

/* Is the tracer interrupted on this thread, in either of its lanes? */
bool thread_is_inside(const struct thread *t);

/* In both of them, beyond the lanes' next records: one goes on when the other is done. */
static inline bool thread_is_inside_twice(const struct thread *t)
{
	return t->busy & BUSY_SLOW && t->spare && t->spare->busy;
}

/* In a forked child that never returns to what was interrupted. */
void thread_left(struct thread *t);

/* In a forked child: leaves the thread what the interrupted tracer needs to go on. */
void thread_orphan(struct thread *t);

/* Do both stack pointers lie in the same stack? False also where that is not known. */
static inline bool thread_same_stack(const struct thread *t, uint64_t a, uint64_t b)
{
	uint64_t size = t->stack_high - t->stack_low, apart = a > b ? a - b : b - a;
	return (a - t->stack_low < size && b - t->stack_low < size) ||
		apart < 1024; /* where a stack has room for a signal's frame, no other begins */
}

/* Bytes of the stack of a thread that is made without attributes. */
extern uint64_t thread_stack_usual __attribute__((visibility("hidden")));

/* Notes the bounds of the calling thread's stack; bytes: of which it is at least. Before it
 * attaches. */
void thread_stack_set(struct thread *t, uint64_t high, uint64_t bytes);

/*
 * A task is about to be made that runs on this thread's memory (and `stray`, its tid, is known
 * later), or has been met: from then on only the thread itself records, by the long way.
 */
void thread_share(struct thread *t, uint32_t stray);
void thread_share_end(struct thread *t);

/* Asks whose call this is where two tasks share the thread's memory. True = not the thread's own:
 * it is counted as dropped. */
bool thread_is_stray(struct thread *t);

/* In a slow path of a thread that has a lane: is this another task, which nobody has announced? */
void thread_look_for_stray(struct thread *t);

/* Counts names that threads gave to others: only then is a thread's name asked for at its end. */
extern uint32_t thread_names_given __attribute__((visibility("hidden")));

/* The thread's name has changed: records it. `name` may be longer than 15 bytes and is cut. Owning
 * thread. */
void thread_renamed(struct thread *t, const char *name);

/*
 * Begin and end of a vfork child's stay on this thread: its records carry its own pid. Frames below
 * sp were the child's.
 */
void thread_vfork_child(struct thread *t);
void thread_vfork_parent(struct thread *t, uint64_t sp);

/* Makes the key whose destructor ends threads. Once, before any thread attaches. */
void thread_init(void);

#endif
