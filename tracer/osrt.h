/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osrt.h - calls of OS runtime functions become records: the hot path.
 *
 * A wrapper calls osrt_begin(), the real function, osrt_end(). Nothing in between belongs to the
 * tracer, so handlers, callbacks, cancellation, exceptions and longjmp pass through freely; a call
 * left that way is found out by the next one of the thread and recorded as abandoned. osrt_begin()
 * and osrt_end() make no system call, take no lock, allocate nothing and leave errno alone; only
 * their slow paths (first call of a thread, end of a chunk, interrupted call) go further, and they
 * restore nothing because they use raw system calls.
 */
#ifndef TRACER_OSRT_H
#define TRACER_OSRT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "tracer/chains.h"
#include "tracer/gate.h"
#include "tracer/lane.h"
#include "tracer/session.h"
#include "tracer/thread.h"

/* OS runtime calls are not wanted, or nothing is recorded at all. */
extern bool osrt_off __attribute__((visibility("hidden")));

/* Then a wrapper only has to go on to the real function, once its thread is known; a forked child's
 * is not. */
static inline bool osrt_forwards(void)
{
	return osrt_off && (thread_self.lane || session.state == SESSION_OFF);
}

/* A call in progress. `t` is NULL when it is not traced. */
struct call {
	struct thread *t;
	uint64_t tick;
};

/* Ticks that `ns` take, at the rate measured since the spool was made: good to a part in a
 * thousand. */
uint64_t osrt_ticks(uint64_t ns);

/* Sets the thresholds from the session's options and the measured tick rate. Before any event. */
void osrt_start(void);

/* File access option: the path of the call just recorded. */
void osrt_put_path(
	const struct call *call, int64_t result, const char *path, uint64_t flags, uint64_t mode);

/* In a forked child, for the same: what osrt_start() has set was cleared. */
void osrt_forked(void);

/*
 * Slow paths. osrt_interrupted(): a call begins while another is open. osrt_close(): the call that
 * began at `tick` ends, wherever it is by now, and the one that it interrupted goes on.
 * osrt_put_slow(): there is no room, or the tracer was interrupted. osrt_abandon_open(): records
 * the open calls whose frames lie below sp (0 = all).
 */
void osrt_interrupted(struct thread *t, uint64_t sp);
void osrt_close(struct lane *lane, uint64_t tick);
void osrt_put_slow(struct thread *t, const struct record *record);

/*
 * A handler that interrupted the tracer may have left by siglongjmp: then `busy` would stay for
 * ever. A call from a frame of the same stack that is not below the interrupted one proves it, and
 * clears it.
 */
void osrt_mend_busy(struct thread *t);
void osrt_abandon_open(struct thread *t, uint64_t sp, enum record_flag flag);

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
	if (__builtin_expect(lane->open.kind != 0, 0))
		osrt_interrupted(t, sp);
	call->t = t;
	call->tick = clock_ticks();
	lane->open.tick = call->tick;
	lane->open.sp = sp;
	THREAD_BARRIER(); /* open when all of it is there */
	lane->open.kind = fn;
	return true;
}

/* One more call of `fn` that is not recorded. One instruction each: a signal handler may do the
 * same in between. */
static inline void osrt_count(struct lane *lane, unsigned fn, uint64_t ticks)
{
	struct fn_sum *sum = &lane->sums[fn];
	lane->has_sums = 1;
#if defined(__x86_64__)
	__asm__ volatile("incq %0" : "+m"(sum->count));
	__asm__ volatile("addq %1, %0" : "+m"(sum->ticks) : "r"(ticks));
#else
	__atomic_fetch_add(&sum->count, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sum->ticks, ticks, __ATOMIC_RELAXED);
#endif
}

/* The same after a real call, in which the thread may have been forked or come to its end. */
static inline void osrt_count_now(unsigned fn)
{
	struct lane *lane = thread_self.lane;
	if (__builtin_expect(lane != NULL, 1))
		osrt_count(lane, fn, 0);
}

/* `a` and `b` as in struct record. */
static inline __attribute__((always_inline)) void osrt_put(
	struct thread *t, uint64_t tick, uint64_t word, uint64_t a, uint64_t b)
{
	struct record record = {tick, word, a, b};
	if (__builtin_expect(word >> RECORD_LENGTH_SHIFT >= own_words.chains_ticks[CHAIN_OSRT] ||
			    !thread_try_enter(t),
		    0)) {
		osrt_put_slow(t, &record);
		return;
	}
	struct record *r = lane_room_at_hand(t, 1);
	if (__builtin_expect(!r, 0)) {
		thread_give(t);
		osrt_put_slow(t, &record);
		return;
	}
	*r = record;
	lane_publish(t, 1);
	thread_give(t);
}

static inline __attribute__((always_inline)) void osrt_end(
	const struct call *call, unsigned fn, uint64_t a, uint64_t b)
{
	uint64_t ticks = clock_ticks() - call->tick;
	struct thread *t = call->t;
	struct lane *lane = t->lane;
	if (__builtin_expect(!lane || !own_words.alive, 0))
		return; /* the thread ended, or was forked, in the call */
	if (__builtin_expect(lane->open_depth || lane->open.tick != call->tick, 0))
		osrt_close(lane, call->tick);
	else
		lane->open.kind = 0;
	if (ticks < own_words.osrt_threshold[fn])
		osrt_count(lane, fn, ticks);
	else
		osrt_put(t, call->tick, ticks << RECORD_LENGTH_SHIFT | fn, a, b);
}

/* errno << 48 | object, as struct record wants it. */
static inline uint64_t osrt_object(uint64_t object, int error)
{
	return (object & 0xffffffffffffull) | (uint64_t)(uint16_t)error << 48;
}

/*
 * The short way of a wrapper: everything that is rare is one test away, in functions that are
 * called last, so that nothing has to be kept in registers for them.
 */
#define OSRT_FAILED 0x8000u /* with fn: errno says why */

/*
 * What the short way cannot end. All return `a`. osrt_put_long(): the call lasted so long that it
 * has a callchain; its end is read again, a few nanoseconds later, which saves the short way a
 * register.
 */
__attribute__((cold, noinline)) uint64_t osrt_end_slow(
	uint64_t tick, uint64_t ticks, unsigned fn, uint64_t a, uint64_t b);
__attribute__((cold, noinline)) uint64_t osrt_put_long(
	uint64_t tick, unsigned fn, uint64_t a, uint64_t b);
__attribute__((cold, noinline)) uint64_t osrt_put_full(
	uint64_t tick, uint64_t word, uint64_t a, uint64_t b);

#if defined(__x86_64__)
static inline __attribute__((always_inline)) uint64_t osrt_tsc(void)
{
	uint64_t ticks; /* rdtsc clears the upper halves */
	__asm__ volatile("rdtsc\n\tshlq $32, %%rdx\n\torq %%rdx, %0" : "=a"(ticks) : : "rdx", "cc");
	return ticks;
}

/* False = take the long way. The hot path, with osrt_fast_end(): count its instructions
 * (tests/bench). */
static inline __attribute__((always_inline)) bool osrt_fast_begin(uint64_t *ret_tick, unsigned fn)
{
	/* asm goto: one comparison with memory each, where the compiler would load and test */
	__asm__ goto("movl %0, %%eax\n\ttestl %%eax, %1\n\tje %l2"
		     :
		     : "m"(own_words.osrt_mask), "m"(tree_gate)
		     : "eax", "cc"
		     : long_way);
	struct lane *lane = thread_self.fast;
	if (__builtin_expect(lane->open.kind != 0, 0))
		return false;
	*ret_tick = osrt_tsc();
	lane->open.tick = *ret_tick;
	__asm__ volatile("movq %%rsp, %0" : "=m"(lane->open.sp));
	THREAD_BARRIER(); /* open when all of it is there */
	lane->open.kind = fn;
	return true;
long_way:
	return false;
}

static inline __attribute__((always_inline)) uint64_t osrt_fast_end(
	uint64_t tick, unsigned fn, bool failed, uint64_t a, uint64_t b)
{
	uint64_t ticks = osrt_tsc() - tick;
	struct thread *t = &thread_self;
	struct lane *lane = t->fast;
	if (__builtin_expect(failed, 0))
		return osrt_end_slow(tick, ticks, fn | OSRT_FAILED, a, b);
	/* No longer open before it is looked whose it is: who interrupts us here, on another stack,
	 * would keep it for open. Half of the number is enough, and the other stays in what stands
	 * for no lane. */
	__asm__ volatile("movl $0, %0" : "=m"(lane->open.kind) : : "memory");
	__asm__ goto("cmpq %%rsp, %0\n\tjne %l1" : : "m"(lane->open.sp) : "cc" : another);
	if (ticks < own_words.osrt_threshold[fn]) {
		osrt_count(lane, fn, ticks);
		return a;
	}
	if (chains_due(CHAIN_OSRT, ticks)) /* always in a forked child: the lane is not its own */
		return osrt_put_long(tick, fn, a, b);
	uint64_t word = ticks << RECORD_LENGTH_SHIFT | fn;
	/* As thread_try_enter() says. */
	__asm__ volatile("addq %%rsp, %0" : "+m"(t->busy) : : "cc");
	__asm__ goto("cmpq %%rsp, %0\n\tjne %l1" : : "m"(t->busy) : "cc" : no_guard);
	THREAD_BARRIER();
	uint64_t at; /* head % CHUNK_BYTES */
	__asm__ volatile("movzwl %1, %k0" : "=r"(at) : "m"(lane->head));
	_Static_assert(CHUNK_BYTES == 65536, "the lower half of a word is the place in a chunk");
	if (__builtin_expect((uint32_t)at >= t->limit, 0))
		goto no_guard;
	struct record *r = (struct record *)(void *)(t->base + at);
	r->tick = tick;
	r->word = word;
	r->a = a;
	r->b = b;
	THREAD_BARRIER();
	__asm__ volatile("addq %1, %0" : "+m"(lane->head) : "i"(sizeof(*r)) : "memory");
	__asm__ volatile("subq %%rsp, %0" : "+m"(t->busy) : : "cc", "memory");
	return a;
no_guard:
	__asm__ volatile("subq %%rsp, %0" : "+m"(t->busy) : : "cc", "memory");
	return osrt_put_full(tick, word, a, b);
another:
	return osrt_end_slow(tick, ticks, fn, a, b);
}
#else
static inline bool osrt_fast_begin(uint64_t *ret_tick, unsigned fn)
{
	(void)ret_tick, (void)fn;
	return false;
}
static inline uint64_t osrt_fast_end(
	uint64_t tick, unsigned fn, bool failed, uint64_t a, uint64_t b)
{
	(void)tick, (void)fn, (void)failed, (void)b;
	return a;
}
#endif

#endif
