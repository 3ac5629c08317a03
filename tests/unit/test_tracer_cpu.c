/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tracer_cpu.c - tests of the handler of CPU samples: its records, samples within the tracer,
 * and samples that cannot be recorded.
 */
#define _GNU_SOURCE
#include "tests/unit/tracer_lane.h"

#include <sys/mman.h>

#include "tracer/cpu/cpu.h"
#include "tracer/cpu/hooks.h"
#include "unwind/callchain.h"
#include "unwind/registers.h"

/* The function and the periods of a sample. */
#define COUNTED (UINT64_C(0xffff00000000) | SAMPLE_PERIODS_MASK)

static struct lane *lane_now(void)
{
	return thread_self.lane;
}

/* Return the n-th sample from `from` on, NULL = there are fewer. */
static const struct record *sample_at(uint64_t from, unsigned n)
{
	const struct lane *lane = lane_now();
	for (uint64_t at = from; at < lane->head; at += RECORD_BYTES) {
		const struct record *r = record_at(lane, at);
		if ((r->word & RECORD_KIND_MASK) == REC_CPU_SAMPLE && n-- == 0)
			return r;
	}
	return NULL;
}

static void sample(uint64_t periods)
{
	struct registers_all from;
	registers_here(&from);
	from.exact = true;
	cpu_sample(&thread_self, &from, periods);
}

static void spin(void)
{
	for (volatile int i = 0; i < 3000000; i++)
		;
}

static void begin(void)
{
	static struct samples *memory;
	spool_make(64u << 20);
	put_call(1);
	if (!memory)
		memory = mmap(
			NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(memory, 0, 65536);
	cpu_period_ns = 1000000000;
	thread_self.samples = memory;
	thread_self.samples->mark = sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void samples_in_system_calls_are_known(void)
{
	struct registers_all from;
	begin();
	uint64_t at = lane_now()->head;
	registers_here(&from);
	from.exact = true;
	for (unsigned n = 0; n < 2; n++) {
		spin();
		from.r[2] = from.r[MACHINE_IP] + 1 - n;
		cpu_sample(&thread_self, &from, 1);
		const struct record *r = sample_at(at, n);
		uint64_t wanted = !MACHINE_SHOWS_SYSTEM_CALLS ? SAMPLE_MODE_UNKNOWN
			: n                                   ? SAMPLE_MODE_SYSTEM
							      : SAMPLE_MODE_USER;
		check(r && (uint32_t)r->a >> SAMPLE_MODE_SHIFT == wanted,
			"a sample %s a system call", n ? "in" : "outside of");
	}
}

static void samples_are_records(void)
{
	begin();
	uint64_t from = lane_now()->head;
	spin();
	sample(3);
	uint64_t mark = thread_self.samples->mark;
	spin();
	sample(1);
	const struct record *a = sample_at(from, 0), *b = sample_at(from, 1);
	check(a && b && !sample_at(from, 2), "each sample is a record");
	if (!a || !b)
		return;
	check((a->a & COUNTED) == 3 && (b->a & COUNTED) == 1, "with its periods");
	check(a->b > 0 && b->b == thread_self.samples->mark - mark,
		"and the processor time since the one before");
	check((a->a >> 48) < 4096 && !thread_self.busy && !thread_self.sampling,
		"and the guard is given back");
	check(session.spool->cpu.samples == 2 && session.spool->cpu.periods == 4 &&
			session.spool->cpu.sampled_ns == a->b + b->b,
		"the process counts them");
	cpu_period_ns = 1000;
	spin();
	sample(2);
	const struct record *c = sample_at(from, 2);
	check(c && c->b == 3000, "time while the timer was stopped is in no sample");
}

static void the_tracer_is_interrupted(void)
{
	begin();
	uint64_t from = lane_now()->head;
	thread_enter(&thread_self);
	sample(1);
	check(lane_now()->head == from && lane_now()->nested_count == 1,
		"a sample in the tracer is kept aside");
	thread_leave(&thread_self);
	put_call(2);
	const struct record *r = sample_at(from, 0);
	check(r && r->word >> RECORD_FLAGS_SHIFT == RECORD_NESTED, "and moved with the next call");
	check(session.spool->cpu.in_tracer == 1 && session.spool->cpu.samples == 1, "and counted");
	bool in_order;
	check(calls_in(lane_now(), from, 2, &in_order) == 1, "the call is there once");
}

static void what_finds_no_place_is_owed(void)
{
	begin();
	struct lane *lane = thread_self.lane;
	uint64_t from = lane->head, mark = thread_self.samples->mark;
	thread_use_lane(&thread_self, NULL);
	spin();
	sample(2);
	sample(1);
	thread_use_lane(&thread_self, lane);
	check(lane->head == from && thread_self.samples->mark == mark &&
			session.spool->cpu.late == 2,
		"without a lane there is no record");
	sample(1);
	const struct record *r = sample_at(from, 0);
	check(r && (r->a & COUNTED) == 4 && r->b == thread_self.samples->mark - mark,
		"the next sample stands for all of them");
	tree_gate = 0;
	spin();
	sample(5);
	tree_gate = 1;
	check(!sample_at(from, 1), "nothing is recorded outside of a capture range");
	mark = thread_self.samples->mark;
	sample(1);
	r = sample_at(from, 1);
	check(r && (r->a & COUNTED) == 1 && r->b == thread_self.samples->mark - mark,
		"and its time belongs to no sample");
}

/* A thread whose timer never expires, though it runs: the end of a long call is its sample. */
static void an_overdue_thread_is_sampled_at_the_end_of_a_call(void)
{
	begin();
	struct samples *s = thread_self.samples;
	uint64_t from = lane_now()->head, tick = clock_ticks(), ticks = 1000000;
	cpu_period_ns = 10000000;
	cpu_is_on = true;
	s->timer = 1;
	s->overdue = 50 * ticks;
	thread_enter(&thread_self);
	cpu_long_call(&thread_self, tick, ticks);
	cpu_long_call(&thread_self, tick + 40 * ticks, ticks);
	check(!sample_at(from, 0) && s->awake == 39 * ticks, "39 units awake are not enough");
	cpu_long_call(&thread_self, tick + 60 * ticks, ticks);
	check(!sample_at(from, 0) && s->awake < 50 * ticks,
		"nor are 58, if the thread did not run meanwhile");
	uint64_t until = s->mark + cpu_overdue_ns(), mark = s->mark;
	while (sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		spin();
	s->awake = 0;
	cpu_long_call(&thread_self, tick + 120 * ticks, ticks);
	thread_leave(&thread_self);
	const struct record *r = sample_at(from, 0);
	check(r && r->a & SAMPLE_IN_STEP && r->b == s->mark - mark && r->b >= cpu_overdue_ns() &&
			(r->a & SAMPLE_PERIODS_MASK) == r->b / cpu_period_ns,
		"a thread that ran all the time is sampled");
	check(session.spool->cpu.in_step == 1 && session.spool->cpu.samples == 1, "and counted");
	if (!r)
		return;
	sample((r->a & SAMPLE_PERIODS_MASK) + 2);
	r = sample_at(from, 1);
	check(r && (r->a & SAMPLE_PERIODS_MASK) == 2 && !(r->a & SAMPLE_IN_STEP) && s->ahead == 0,
		"the timer's own sample stands for the periods since then");
	cpu_is_on = false;
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	clock_init();
	samples_are_records();
	samples_in_system_calls_are_known();
	the_tracer_is_interrupted();
	what_finds_no_place_is_owed();
	an_overdue_thread_is_sampled_at_the_end_of_a_call();
	return lanes_done();
}
