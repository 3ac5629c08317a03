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

struct thread {
	struct record *cur; /* next record */
	struct record *end; /* as far as may be written without asking; NULL by a nested record, to
			       bring the owner into lane_room() */
	struct lane *lane;  /* NULL = not attached */
	uint64_t bias;      /* position = address + bias */
	uint64_t busy; /* stack pointer where tracer code began to run on this thread, and it still
			  does: a signal handler must not touch the lane; 0 = it does not. One
			  store makes it so and says where: between two, a handler would leave its
			  own place behind */
	uint32_t nested; /* handlers that are in the tracer, too */
	uint32_t gone;   /* the end hook has run */
	struct record *chunk_end;
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

static inline void thread_enter(struct thread *t)
{
	if (!t->busy)
		t->busy = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	else
		t->nested++;
	THREAD_BARRIER();
}

static inline void thread_leave(struct thread *t)
{
	THREAD_BARRIER();
	if (t->nested)
		t->nested--;
	else
		t->busy = 0;
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

/* Forgets everything: the state of a thread that a fork copied. */
void thread_forget(struct thread *t);

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
