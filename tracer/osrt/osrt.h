/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osrt.h - records of calls of OS runtime functions: the hot path.
 *
 * A wrapper calls osrt_begin(), the real function, osrt_end(). Between them no tracer code is on
 * the stack, so handlers, callbacks, cancellation, exceptions and longjmp pass through freely; the
 * next call of the thread detects a call left in this way and records it as abandoned. osrt_begin()
 * and osrt_end() make no system call, take no lock, allocate nothing and leave errno alone. Only
 * their slow paths (first call of a thread, end of a chunk, interrupted call) make system calls;
 * they are raw, so errno need not be restored.
 */
#ifndef TRACER_OSRT_OSRT_H
#define TRACER_OSRT_OSRT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "machine/machine.h"
#include "tracer/session/attach.h"
#include "tracer/core/chains.h"
#include "tracer/core/lane.h"
#include "tracer/session/session.h"
#include "tracer/core/thread.h"
#include "tracer/osrt/gil.h"
#include "tracer/osrt/hooks.h"

/* Return true if a wrapper need only call the real function: tracing is off, or calls are not
 * recorded and the thread has its lane. */
static inline bool osrt_forwards(void)
{
	return (osrt_off && thread_self.lane) || session.state == SESSION_OFF;
}

/* A call in progress. `t` is NULL when it is not traced. */
struct call {
	struct thread *t;
	uint64_t tick;
};

/* Return true if the path of a call is recorded: it opened a file, or the option
 * LIBTRACE_OSRT_FILE_ACCESS is set. */
static inline bool osrt_wants_path(bool opened)
{
	return (opened && !osrt_off) || __builtin_expect(session.config.file_access, 0);
}

/* A call of fewer ticks leaves no other thread the time to be woken by it and to unmap what was
 * passed to it: osrt_quick_ticks in a process with several threads, osrt_alone_ticks in one with a
 * single thread, where only a handler, or a task that the C library does not know, could do so. */
extern uint64_t osrt_quick_ticks __attribute__((visibility("hidden")));
extern uint64_t osrt_alone_ticks __attribute__((visibility("hidden")));

/* Record the path of the call just recorded, unless it cannot be read any more. `result`: the
 * descriptor, which is followed from then on, or -1. */
void osrt_put_path(
	const struct call *call, int64_t result, const char *path, uint64_t flags, uint64_t mode);

/*
 * Slow paths, by the owning thread. osrt_interrupted(): a call begins while another is open.
 * osrt_close(): the call that began at `tick` ends, wherever it is now stored, and the call that it
 * interrupted continues; returns false, and counts the call as dropped, if it began before the
 * process was forked. osrt_put_slow(): there is no room, or the tracer was interrupted.
 * osrt_end_inherited(): a call of the parent ends in a child that does not know its lane yet.
 */
void osrt_interrupted(struct thread *t, uint64_t sp);
bool osrt_close(struct lane *lane, uint64_t tick);
void osrt_put_slow(struct thread *t, const struct record *record);
void osrt_end_inherited(struct thread *t);

/* Begin a call of `fn` in its wrapper. Return false if the call is not recorded: the wrapper then
 * calls the real function only. May attach the thread. */
static inline __attribute__((always_inline)) bool osrt_begin(struct call *call, unsigned fn)
{
	if (!gate_is_open()) {
		session_gate_closed();
		return false;
	}
	struct thread *t = &thread_self;
	if (__builtin_expect(t->shared != 0, 0) && thread_is_stray(t))
		return false;
	struct lane *lane = t->lane;
	if (__builtin_expect(!lane, 0)) {
		lane = thread_attach(t);
		if (!lane)
			return false;
	}
	uint64_t sp = (uint64_t)(uintptr_t)__builtin_dwarf_cfa();
	if (__builtin_expect(lane->open.sp != 0, 0))
		osrt_interrupted(t, sp);
	call->t = t;
	call->tick = clock_ticks();
	lane_open(lane, &(struct open_call){.tick = call->tick, .sp = sp, .kind = fn});
	return true;
}

/* Return the ticks that a call must have lasted to be recorded, by its object and by whether it
 * failed: see the rules of libc.def. Any thread. */
uint64_t osrt_threshold_of(unsigned fn, uint64_t object, bool failed);

/* Add a call to the sum of `fn`. One instruction each: a signal handler may do the same in
 * between. */
static inline void osrt_sum_add(struct lane *lane, unsigned fn, uint64_t ticks)
{
	struct fn_sum *sum = &lane->sums[fn];
	machine_owner_add(&thread_self.counted, 1);
	machine_owner_add(&sum->count, 1);
	machine_owner_add(&sum->ticks, ticks);
}

/* Count one more call of `fn` that is not recorded, and keep its start tick for
 * open_call_is_summed(). */
static inline void osrt_count(struct lane *lane, unsigned fn, uint64_t tick, uint64_t ticks)
{
	lane->summed = (uint32_t)tick;
	osrt_sum_add(lane, fn, ticks);
}

/* Count a call without times, after the real call, in which the thread may have been forked or have
 * ended. */
static inline void osrt_count_now(unsigned fn)
{
	struct lane *lane = thread_self.lane;
	if (__builtin_expect(lane != NULL, 1)) {
		lane->summed |= 1;
		osrt_sum_add(lane, fn, 0);
	}
}

/* Record a call; `a` and `b` are the members of struct record. */
static inline __attribute__((always_inline)) void osrt_put(
	struct thread *t, uint64_t tick, uint64_t word, uint64_t a, uint64_t b)
{
	struct record record = {tick, word, a, b};
	if (__builtin_expect(word >> RECORD_LENGTH_SHIFT >= own_words.chains_ticks[CHAIN_OSRT] ||
			    gil_may_be(word & RECORD_KIND_MASK, b) || !thread_try_enter(t),
		    0)) {
		osrt_put_slow(t, &record);
		return;
	}
	struct record *r = t->lane ? lane_room_at_hand(t, 1) : NULL;
	if (__builtin_expect(!r, 0)) {
		thread_give(t);
		osrt_put_slow(t, &record);
		return;
	}
	*r = record;
	lane_publish(t, 1);
	thread_give(t);
}

/* End a call that osrt_begin() has begun: count it, or record it with `a` and `b` of struct record
 * if it took at least `threshold` ticks. */
static inline __attribute__((always_inline)) void osrt_end_over(
	const struct call *call, unsigned fn, uint64_t threshold, uint64_t a, uint64_t b)
{
	uint64_t ticks = clock_ticks() - call->tick;
	struct thread *t = call->t;
	struct lane *lane = t->lane;
	if (__builtin_expect(!lane || !own_words.alive, 0)) {
		osrt_end_inherited(t); /* the thread was forked in the call */
		return;
	}
	if (__builtin_expect(lane->open_depth || lane->open.tick != call->tick, 0)) {
		if (!osrt_close(lane, call->tick))
			return;
	} else {
		lane->open.sp = 0;
	}
	if (ticks < threshold)
		osrt_count(lane, fn, call->tick, ticks);
	else
		osrt_put(t, call->tick, ticks << RECORD_LENGTH_SHIFT | fn, a, b);
}

/* The same with the threshold of `fn`. */
static inline __attribute__((always_inline)) void osrt_end(
	const struct call *call, unsigned fn, uint64_t a, uint64_t b)
{
	osrt_end_over(call, fn, own_words.osrt_threshold[fn], a, b);
}

/* The descriptors of files, pipes and pairs of sockets that the process opened, a bit each: the
 * first FOLLOWED_BITS ones. None is removed: closing another file of that number is recorded,
 * too. */
#define FOLLOWED_BITS 1024u
extern uint64_t osrt_followed[FOLLOWED_BITS / 64] __attribute__((visibility("hidden")));

/* Return whether a descriptor was such a one. Any thread. */
static inline bool osrt_is_followed(uint64_t descriptor)
{
	return descriptor < FOLLOWED_BITS &&
		__atomic_load_n(&osrt_followed[descriptor / 64], __ATOMIC_RELAXED) >>
			(descriptor % 64) &
		1;
}

/* Note that a descriptor is such a one. Any thread. */
void osrt_follow(int descriptor);

/* Return `error` in bits 48 to 63 and the lower 48 bits of `object`: member b of struct record. */
static inline uint64_t osrt_object(uint64_t object, int error)
{
	return (object & 0xffffffffffffull) | (uint64_t)(uint16_t)error << 48;
}

/* End a call as osrt_end() does, away from the hot path, by osrt_threshold_of(). */
__attribute__((cold, noinline)) void osrt_end_long(
	const struct call *call, unsigned fn, uint64_t a, uint64_t object, int error);

/* The short path of a wrapper. Each rare case is one test and a tail call, so that nothing is kept
 * in registers for it. */
#define OSRT_FAILED 0x8000u /* added to fn: errno has the reason */

/*
 * Ends of calls that the short path cannot handle. All return `a`. osrt_put_long() is for a call
 * that lasted so long that it has a callchain, or that may be a wait for the GIL; it reads the
 * clock again, a few nanoseconds later, which saves the short path a register.
 */
__attribute__((cold, noinline)) uint64_t osrt_end_slow(
	uint64_t tick, uint64_t ticks, unsigned fn, uint64_t a, uint64_t b);
__attribute__((cold, noinline)) uint64_t osrt_put_long(
	uint64_t tick, unsigned fn, uint64_t a, uint64_t b);
__attribute__((cold, noinline)) uint64_t osrt_put_full(
	uint64_t tick, uint64_t word, uint64_t a, uint64_t b);

/* Return own_words. */
static inline __attribute__((always_inline)) const struct process_words *osrt_words(void)
{
	return machine_page(&own_pages);
}

/* Begin a call on the hot path. Return false if the slow path must begin it. Count the instructions
 * of this and of osrt_fast_end() after each change (tests/bench/instructions.sh). */
static inline __attribute__((always_inline)) bool osrt_fast_begin(struct call *call, unsigned fn)
{
	if (!machine_masks_meet(&osrt_words()->osrt_mask, &tree_gate))
		return false;
	call->t = machine_kept(&thread_self);
	struct lane *lane = call->t->fast;
	if (__builtin_expect(lane->open.sp != 0, 0))
		return false;
	call->tick = machine_counter();
	/* The stack pointer is stored last, and makes the call open: a handler that runs before
	 * that uses the entry for its own calls, and tick and kind may belong to such a call. The
	 * stack pointer, by which the call is closed, is right. */
	lane->open.tick = call->tick;
	lane->open.kind = machine_number(fn);
	THREAD_BARRIER();
	machine_sp_store(&lane->open.sp);
	return true;
}

/* End a call on the hot path. `closes`, a constant: it is recorded however short it is if the
 * descriptor `b` is followed. `failed`: errno has the reason. Return `a`. */
static inline __attribute__((always_inline)) uint64_t osrt_fast_end(
	const struct call *call, unsigned fn, bool closes, bool failed, uint64_t a, uint64_t b)
{
	uint64_t tick = call->tick, ticks = machine_counter() - tick;
	struct thread *t = call->t;
	struct lane *lane = t->fast;
	if (__builtin_expect(failed, 0))
		return osrt_end_slow(tick, ticks, fn | OSRT_FAILED, a, b);
	/* Code that interrupts us between the test and the store, on another stack, takes the call
	 * for open, and in the end counts it as dropped. */
	if (!machine_sp_clear(&lane->open.sp))
		return osrt_end_slow(tick, ticks, fn, a, b);
	if (ticks < osrt_words()->osrt_threshold[fn] && !(closes && osrt_is_followed(b))) {
		lane->summed = (uint32_t)tick;
		machine_short_add(&t->counted, 1);
		machine_short_add(&lane->sums[fn].count, 1);
		machine_short_add(&lane->sums[fn].ticks, ticks);
		return a;
	}
	if (__builtin_expect(ticks >= osrt_words()->chains_ticks[CHAIN_OSRT], 0) ||
		gil_may_be(fn, b)) /* always in a forked child: the lane is not its own */
		return osrt_put_long(tick, fn, a, b);
	uint64_t word = ticks << RECORD_LENGTH_SHIFT | machine_number(fn);
	/* One instruction, as in thread_try_enter(). */
	if (!machine_sp_subtract(&t->busy))
		goto no_guard;
	uint64_t at = machine_low16(&lane->head); /* head % CHUNK_BYTES */
	_Static_assert(CHUNK_BYTES == 65536, "the lower half of a word is the place in a chunk");
	if (__builtin_expect((uint32_t)at >= t->limit, 0))
		goto no_guard;
	machine_store_words((uint64_t *)(void *)(t->base + at), tick, word, a, b);
	THREAD_BARRIER();
	machine_short_add(&t->published, RECORD_BYTES);
	machine_short_publish(&lane->head, RECORD_BYTES);
	machine_sp_add(&t->busy);
	return a;
no_guard:
	machine_sp_add(&t->busy);
	return osrt_put_full(tick, word, a, b);
}

#endif
