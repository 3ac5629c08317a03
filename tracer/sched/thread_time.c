/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_time.c - readings of the kernel's counters of threads: processor time, time that they were
 * runnable without a CPU, context switches, page faults; and of the processor's counters.
 *
 * While a thread lives, the writer reads its counters (writer/sched/). Those of an ended thread are
 * gone, so the thread itself reads them at its end. Its time without a CPU is in a file of /proc
 * only, which is opened outside of the program's descriptor table. That takes 30 us, or longer if
 * the CPU is contended. So a thread does it only if it lived at least READ_LIFE_NS, and waited for
 * something: otherwise it was runnable whenever it did not run. A forked child, which has no other
 * thread yet, reads the file at its first event, too.
 */
#define _GNU_SOURCE
#include "tracer/sched/hooks.h"

#include <errno.h>
#include <sys/resource.h>

#include "common/clock.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/base/unshared_fds.h"
#include "tracer/core/gate.h"
#include "tracer/core/lane.h"
#include "tracer/core/spool_file.h"
#include "tracer/core/state.h"
#include "tracer/sched/counters.h"

#define READ_LIFE_NS UINT64_C(100000000)
/* One more thread is read for each such part of the process's life: a file takes 6 us. */
#define READ_NEXT_NS UINT64_C(6000000)

static uint64_t delay_at_start; /* run_delay_ns of the main thread when the program began */
static bool delay_at_start_is_known;

#define COUNT(member) __atomic_add_fetch(&session.spool->thread_time.member, 1, __ATOMIC_RELAXED)

/* ---- schedstat: "processor time in ns, run_delay in ns, times run" ---- */

struct schedstat {
	uint64_t cpu_ns, delay_ns;
};

static const char *number_parse(const char *s, uint64_t *ret_number)
{
	uint64_t number = 0;
	while (*s == ' ')
		s++;
	for (; *s >= '0' && *s <= '9'; s++)
		number = number * 10 + (uint64_t)(*s - '0');
	*ret_number = number;
	return s;
}

/* Read the file. Return false if there is none, or if the kernel counts nothing: all numbers are 0
 * then. */
static bool schedstat_read(const char *path, struct schedstat *ret)
{
	char text[96];
	uint64_t times_run;
	if (sys_read_file(path, text, sizeof(text)) <= 0)
		return false;
	number_parse(number_parse(number_parse(text, &ret->cpu_ns), &ret->delay_ns), &times_run);
	return times_run != 0;
}

static bool schedstat_of(uint32_t tid, struct schedstat *ret)
{
	char path[64];
	size_t at = text_append(path, sizeof(path), 0, "/proc/self/task/");
	at = text_append_number(path, sizeof(path), at, tid, 10);
	text_append(path, sizeof(path), at, "/schedstat");
	return schedstat_read(path, ret);
}

/* ---- reading in a task that has its own descriptor table ---- */

struct task_reading {
	uint32_t self;   /* the thread that ends, or begins */
	uint32_t others; /* maximum number of other threads to read, too */
	struct schedstat own;
	bool own_is_known;
};

/* Store the counters of other threads in their lanes. */
static void others_read(uint32_t self, uint32_t most)
{
	uint32_t count = __atomic_load_n(&session.spool->lane_count, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < count && i < SPOOL_LANES_MAX && most; i++) {
		/* 0: the lane is being created */
		uint64_t offset = __atomic_load_n(&session.spool->lane_offset[i], __ATOMIC_ACQUIRE);
		struct lane *lane = offset ? spool_file_at(offset) : NULL;
		struct schedstat stat;
		uint32_t tid = lane ? __atomic_load_n(&lane->tid, __ATOMIC_RELAXED) : 0;
		if (!tid || tid == self ||
			__atomic_load_n(&lane->state, __ATOMIC_ACQUIRE) != LANE_LEASED)
			continue;
		most--;
		if (!schedstat_of(tid, &stat) || lane->tid != tid)
			continue;
		lane->end_cpu_ns = stat.cpu_ns;
		lane->end_delay_ns = stat.delay_ns;
		struct counters counters = {0, 0};
		bool is_known = counters_read(i, false, &counters);
		lane->end_cycles = is_known ? counters.cycles : 0;
		lane->end_instructions = is_known ? counters.instructions : 0;
		__atomic_store_n(&lane->end_tick, clock_ticks(), __ATOMIC_RELEASE);
	}
}

static void own_read(void *argument)
{
	struct task_reading *reading = argument;
	reading->own_is_known = schedstat_of(reading->self, &reading->own);
}

static void last_read(void *argument)
{
	struct task_reading *reading = argument;
	own_read(reading);
	others_read(reading->self, reading->others);
}

/* Read the counters of a forked child's first thread, which is alone: only another process that
 * shares its descriptor table could see a descriptor. */
static bool first_read(const struct thread *t, struct schedstat *ret)
{
	struct task_reading reading = {.self = t->tid};
	if (!session.shares_fds)
		own_read(&reading);
	else if (!unshared_fds_run(own_read, &reading))
		return false;
	*ret = reading.own;
	return reading.own_is_known;
}

/* ---- records ---- */

static bool may_read(const struct thread *t)
{
	return session.spool && session.spool->thread_time.is_on && !session.restricted &&
		t == &thread_self && t->lane && !t->vfork_pid && !t->shared;
}

/* Read the counters that need no file. Return the flags that say so. */
static uint64_t usage_read(struct thread_time *time)
{
	struct rusage usage;
	if (SYS2(SYS_getrusage, RUSAGE_THREAD, &usage) != 0)
		return 0;
	time->voluntary = (uint64_t)usage.ru_nvcsw;
	time->involuntary = (uint64_t)usage.ru_nivcsw;
	time->minor_faults = (uint64_t)usage.ru_minflt;
	time->major_faults = (uint64_t)usage.ru_majflt;
	time->system_ns = (uint64_t)usage.ru_stime.tv_sec * 1000000000u +
		(uint64_t)usage.ru_stime.tv_usec * 1000u;
	return TIME_COUNTS | TIME_SYSTEM;
}

/* Read the processor's counters. Return the flag that says so. */
static uint64_t counters_add(const struct thread *t, struct thread_time *time)
{
	struct counters counters;
	if (!session.spool->thread_time.counters || !own_words.alive ||
		!counters_read(t->lane->index, true, &counters))
		return 0;
	time->cycles = counters.cycles;
	time->instructions = counters.instructions;
	return TIME_COUNTERS;
}

/* Have the processor count for the thread. If the first thread is refused, so are all. */
static uint64_t counters_begin(const struct thread *t)
{
	struct thread_time_counts *counts = &session.spool->thread_time;
	if (!counts->counters || __atomic_load_n(&counts->counters_off, __ATOMIC_RELAXED))
		return 0;
	int error = counters_open(t->lane->index, t->tid);
	if (!error) {
		COUNT(counted);
		return TIME_COUNTERS;
	}
	if (error != -EAGAIN && !__atomic_load_n(&counts->counted, __ATOMIC_RELAXED))
		__atomic_store_n(&counts->counters_off, (uint32_t)-error, __ATOMIC_RELAXED);
	else
		COUNT(counters_refused);
	return 0;
}

static void put(struct thread *t, uint64_t flags, const struct thread_time *time, uint64_t tick)
{
	lane_put(t, tick, REC_THREAD_TIME, flags, sys_clock_ns(CLOCK_THREAD_CPUTIME_ID), time,
		sizeof(*time));
}

static void last_put(struct thread *t, uint32_t others)
{
	struct task_reading reading = {.self = t->tid, .others = others};
	uint64_t life = clock_ticks() - t->lane->thread_tick;
	struct thread_time time = {0};
	uint64_t flags = TIME_LAST | counters_add(t, &time);
	flags |= usage_read(&time);
	bool waited = !(flags & TIME_COUNTS) || time.voluntary != t->lane->thread_waits;
	if ((waited || others) && life >= session_ticks(READ_LIFE_NS) &&
		unshared_fds_run(last_read, &reading) && reading.own_is_known) {
		time.run_delay_ns = reading.own.delay_ns;
		flags |= TIME_DELAY;
	} else if (waited) {
		COUNT(inexact);
	}
	put(t, flags, &time, clock_ticks());
}

/* ---- hooks ---- */

void sched_describe(struct spool_header *spool)
{
	spool->thread_time.is_on = session.config.sched;
	spool->thread_time.switches = session.config.cpuctxsw;
	spool->thread_time.counters = session.config.cpu_counters;
}

void sched_start(void)
{
	struct schedstat stat;
	if (!session.config.sched || !schedstat_read("/proc/thread-self/schedstat", &stat))
		return;
	delay_at_start = stat.delay_ns;
	delay_at_start_is_known = true;
}

void sched_thread_started(struct thread *t)
{
	struct thread_time time = {0};
	uint64_t flags = TIME_FIRST;
	if (session.spool && session.spool->thread_time.switches && t->lane)
		lane_wake_writer(); /* it records the switches from when it sees the thread */
	if (!may_read(t))
		return;
	flags |= usage_read(&time);
	bool is_child = session.spool->forked && t->tid == session.pid;
	/* A forked child begins with its first call: it may have waited for something else. */
	time.created = !is_child || (flags & TIME_COUNTS && !time.voluntary) ? t->created : 0;
	t->lane->thread_tick = clock_ticks();
	t->lane->thread_waits = time.voluntary;
	t->lane->end_tick = 0;
	struct schedstat stat;
	if (!session.spool->forked && t->tid == session.pid && delay_at_start_is_known) {
		time.run_delay_ns = delay_at_start;
		flags |= TIME_DELAY;
	} else if (is_child && first_read(t, &stat)) {
		/* The child has waited for its first CPU, for a time that only the kernel knows. */
		time.run_delay_ns = stat.delay_ns;
		flags |= TIME_DELAY;
	}
	COUNT(threads);
	flags |= counters_begin(t);
	put(t, flags, &time, t->lane->thread_tick);
}

void sched_thread_end(struct thread *t)
{
	if (!may_read(t))
		return;
	last_put(t, 0);
	if (session.spool->thread_time.counters && own_words.alive)
		counters_close(t->lane->index);
}

void sched_forked(void)
{
	if (session.config.cpu_counters)
		counters_forked();
}

void sched_flush(void)
{
	struct thread *t = &thread_self;
	if (!may_read(t) || !thread_try_enter(t))
		return;
	uint64_t parts =
		(clock_ticks() - session.spool->first.tick) / (session_ticks(READ_NEXT_NS) + 1);
	last_put(t, parts < SPOOL_LANES_MAX ? (uint32_t)parts : SPOOL_LANES_MAX);
	thread_give(t);
}
