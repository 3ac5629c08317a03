/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample.c - the handler: from the registers of the interrupted code to records in the thread's
 * lane.
 */
#define _GNU_SOURCE
#include "tracer/cpu/cpu.h"

#include <signal.h>
#include <stddef.h>
#include <sys/ucontext.h>

#include "common/clock.h"
#include "common/sys.h"
#include "machine/machine.h"
#include "tracer/core/chains.h"
#include "tracer/core/gate.h"
#include "tracer/core/lane.h"
#include "tracer/core/state.h"
#include "unwind/registers.h"
#include MACHINE_SAMPLES

bool cpu_is_on, cpu_signal_is_named;
uint64_t cpu_period_ns;

/* Write a record, with the callchain. Return false if the lane cannot be used now. */
static bool put(struct thread *t, const struct registers_all *from, struct record record)
{
	if (!t->lane || t->shared || t->muted || t->orphan || t->vfork_pid || !session.spool)
		return false;
	if (!thread_try_enter(t)) {
		lane_put_nested(t, &record);
		SAMPLES_ADD(in_tracer, 1);
		return true;
	}
	unsigned slots = 1;
	t->sampling = 1;
	struct record *r =
		t->lane ? chains_room_at(t, record.tick, &t->samples->chain, from, &slots) : NULL;
	t->sampling = 0;
	if (r) {
		*r = record;
		lane_publish(t, slots);
	}
	thread_give(t);
	return true;
}

/* Return the function of the call in progress, 0 = none. A call whose frame is not above the
 * interrupted code has been left. */
static uint64_t open_function(const struct thread *t, const struct registers_all *from)
{
	const struct open_call *open = t->lane ? &t->lane->open : NULL;
	return open && open->sp > from->r[CFI_SP] ? open->kind & RECORD_KIND_MASK : 0;
}

/* Return where the thread was. The signal of an event never arrives in the kernel. */
static uint64_t mode_of(const struct thread *t, const struct registers_all *from)
{
	if (!MACHINE_SHOWS_SYSTEM_CALLS || t->samples->begun)
		return SAMPLE_MODE_UNKNOWN;
	return machine_is_system_call(from->r) ? SAMPLE_MODE_SYSTEM : SAMPLE_MODE_USER;
}

/* If the record cannot be written, its time and periods are added to the next sample. Time while
 * the capture gate is closed belongs to no sample. */
void cpu_sample(struct thread *t, const struct registers_all *from, uint64_t periods)
{
	uint64_t now_ns = sys_clock_ns(CLOCK_THREAD_CPUTIME_ID), ns = now_ns - t->samples->mark;
	if (!GATE_LOOKS_OPEN(session_mask)) {
		t->samples->mark = now_ns;
		t->samples->owed = t->samples->ahead = 0;
		return;
	}
	periods += t->samples->owed;
	periods = periods > t->samples->ahead ? periods - t->samples->ahead : 0;
	t->samples->ahead = 0;
	/* The time while the timer was stopped is in no sample. */
	if (ns > (periods + 1) * cpu_period_ns)
		ns = (periods + 1) * cpu_period_ns;
	const struct record record = {clock_ticks(), REC_CPU_SAMPLE,
		(uint64_t)machine_processor() << 48 | open_function(t, from) << 32 |
			mode_of(t, from) << SAMPLE_MODE_SHIFT | (periods & SAMPLE_PERIODS_MASK),
		ns};
	if (!put(t, from, record)) {
		t->samples->owed = (uint32_t)periods;
		if (session.spool)
			SAMPLES_ADD(late, 1);
		return;
	}
	t->samples->mark = now_ns;
	t->samples->owed = 0;
	SAMPLES_ADD(samples, 1);
	SAMPLES_ADD(periods, periods);
	SAMPLES_ADD(sampled_ns, ns);
}

/* Return how many periods of an event have ended since this was last called: the nearest number,
 * since perf counts by another clock. */
static uint64_t event_periods(struct samples *s, uint64_t now_ns)
{
	uint64_t ended = (now_ns - s->begun + cpu_period_ns / 2) / cpu_period_ns;
	uint64_t periods = ended > s->counted ? ended - s->counted : 0;
	s->counted += periods;
	return periods;
}

/* ---- threads in step with the kernel's tick ---- */

/* A timer expires only at a tick at which its thread runs. In 40 ms of processor time there are ten
 * of them (HZ = 250) on average: a thread that has seen none is in step with the tick. If it ran
 * for 1 ms at a time, at random, that would happen once in 100,000 times. */
#define OVERDUE_NS UINT64_C(40000000)
#define OVERDUE_PERIODS 4u

uint64_t cpu_overdue_ns(void)
{
	uint64_t periods = (OVERDUE_NS + cpu_period_ns - 1) / cpu_period_ns;
	return (periods > OVERDUE_PERIODS ? periods : OVERDUE_PERIODS) * cpu_period_ns;
}

/* Write a sample for `ns` after `mark`, with the callchain of the call that has just been
 * recorded. */
static void overdue_put(struct thread *t, uint64_t mark, uint64_t ns)
{
	unsigned slots = 1;
	uint64_t tick = clock_ticks(), periods = ns / cpu_period_ns;
	struct record *r = chains_room(t, tick, &slots);
	/* A sample may have been taken meanwhile. */
	if (!r ||
		!__atomic_compare_exchange_n(&t->samples->mark, &mark, mark + ns, false,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	t->samples->ahead += (uint32_t)periods;
	*r = (struct record){tick, REC_CPU_SAMPLE,
		SAMPLE_IN_STEP | (uint64_t)machine_processor() << 48 |
			(periods & SAMPLE_PERIODS_MASK),
		ns};
	lane_publish(t, slots);
	SAMPLES_ADD(samples, 1);
	SAMPLES_ADD(in_step, 1);
	SAMPLES_ADD(periods, periods);
	SAMPLES_ADD(sampled_ns, ns);
}

/* Read the thread's clock only if the thread was awake for long enough, which the ends of its calls
 * show without a system call. A sample stands for whole multiples of the time after which one is
 * overdue, and the rest belongs to the next one: so the points of time at which the thread is
 * sampled are at equal distances of its processor time. If a sample stood for all time up to the
 * end of the call, callers whose calls are farther apart would get more than their share
 * (tests/proof/in_step.py). */
void cpu_long_call(struct thread *t, uint64_t tick, uint64_t ticks)
{
	struct samples *s = t->samples;
	if (!s || !s->timer || s->left || !cpu_is_on || session.restricted || t->vfork_pid)
		return;
	s->awake += s->slept && tick > s->slept ? tick - s->slept : 0;
	s->slept = tick + ticks;
	if (s->awake < s->overdue || !GATE_LOOKS_OPEN(session_mask))
		return;
	uint64_t now_ns = sys_clock_ns(CLOCK_THREAD_CPUTIME_ID),
		 mark = __atomic_load_n(&s->mark, __ATOMIC_RELAXED);
	uint64_t ns = now_ns > mark ? now_ns - mark : 0, whole = ns - ns % cpu_overdue_ns();
	if (whole)
		overdue_put(t, mark, whole);
	s->awake = session_ticks(ns - whole);
}

/*
 * The entry switches to the handler's stack at once: the program's stack, which may be a small
 * signal stack, holds only the kernel's frame and the frame pointer. A signal that is not from the
 * timer is ignored, as by the default action. The timer's value is the address of the thread's
 * state: code that runs on another thread's memory is not sampled. The signal of an event has no
 * value: its thread asks the kernel for its number.
 */
_Static_assert(offsetof(struct thread, samples) == MACHINE_SAMPLE_STACK_AT &&
		offsetof(struct thread, tid) == MACHINE_SAMPLE_TID_AT && POLL_IN == 1,
	"the entry knows them");
_Static_assert(offsetof(siginfo_t, si_code) == MACHINE_SAMPLE_CODE_AT && SI_TIMER == -2 &&
		offsetof(siginfo_t, si_value) == MACHINE_SAMPLE_VALUE_AT,
	"the entry knows them");

/* Take the sample; called by cpu_entry(). */
__attribute__((used)) static void cpu_handle(
	int number, const siginfo_t *info, const ucontext_t *context)
{
	struct registers_all from = {.exact = true};
	(void)number;
	if (session.restricted || !cpu_is_on)
		return;
	machine_registers_of(context, from.r);
	uint64_t periods = 1 + (uint64_t)(uint32_t)info->si_overrun;
	struct samples *s = thread_self.samples;
	if (s->begun)
		periods = event_periods(s, sys_clock_ns(CLOCK_THREAD_CPUTIME_ID));
	if (periods) /* a signal that the program has sent looks like one of an event */
		cpu_sample(&thread_self, &from, periods);
}
