/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tracer_lane.c - tests of the producer's side of a spool.
 *
 * Records arrive in order across chunks and threads, a full ring drops events and counts them, a
 * handler that interrupts the tracer loses nothing, and a failing system call of the tracer does no
 * harm.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracer_lane.h"

static void records_keep_their_order(void)
{
	bool in_order;
	spool_make(64u << 20);
	own_words.osrt_threshold[1] = 0;
	for (uint64_t i = 0; i < 10000; i++)
		put_call(i);
	uint64_t calls = calls_in(lane_number(0), 0, 0, &in_order);
	check(calls == 10000 && in_order,
		"10000 records are found in order over several chunks: %llu",
		(unsigned long long)calls);
	check(lane_chunk_count(lane_number(0), 4) == 5, "chunks are taken one by one: %u",
		lane_chunk_count(lane_number(0), 4));
}

static void chunks_are_used_again(void)
{
	bool in_order = true;
	spool_make(SPOOL_FIRST_BYTES + SPOOL_SEGMENT_BYTES);
	own_words.osrt_threshold[1] = 0;
	uint64_t tail = 0, sum = 0;
	for (uint64_t i = 0; i < 200000; i++) {
		put_call(i);
		struct lane *lane = lane_number(0);
		if (i % 5000)
			continue;
		bool ok;
		sum += calls_in(lane, tail, sum, &ok);
		in_order = in_order && ok;
		tail = lane->head;
		__atomic_store_n(&lane->tail, tail, __ATOMIC_RELEASE);
	}
	check(in_order && sum == 195001 && lane_number(0)->dropped[DROP_RING_FULL] == 0,
		"a consumer that keeps up sees every record of a bounded spool: %llu",
		(unsigned long long)sum);
}

static void full_ring_drops_and_reports(void)
{
	bool in_order;
	spool_make(SPOOL_FIRST_BYTES);
	own_words.osrt_threshold[1] = 0;
	for (uint64_t i = 0; i < 3000; i++)
		put_call(i);
	struct lane *lane = lane_number(0);
	uint64_t calls = calls_in(lane, 0, 0, &in_order);
	check(in_order && calls + lane->dropped[DROP_RING_FULL] == 3000 &&
			lane->dropped[DROP_RING_FULL] > 0,
		"without room the newest records are dropped and counted: %llu kept, %llu dropped",
		(unsigned long long)calls, (unsigned long long)lane->dropped[DROP_RING_FULL]);
	__atomic_store_n(&lane->tail, lane->head, __ATOMIC_RELEASE);
	uint64_t before = lane->head;
	put_call(1);
	const struct record *gap = record_at(lane, before);
	check((gap->word & RECORD_KIND_MASK) == REC_GAP &&
			(gap->a & 0xffffffffffff) == lane->dropped[DROP_RING_FULL],
		"the first record after a gap says how many are missing: %llu",
		(unsigned long long)(gap->a & 0xffffffffffff));
}

static long sleeps;

/* Count sleeps instead of sleeping. */
static bool count_sleeps(long number, const long argument[6], long *ret_result)
{
	(void)argument;
	*ret_result = 0;
	__atomic_add_fetch(&sleeps, number == SYS_nanosleep, __ATOMIC_RELAXED);
	return number == SYS_nanosleep;
}

/* Sleep longer than asked, as on a busy machine. */
static bool sleep_long(long number, const long argument[6], long *ret_result)
{
	bool is_sleep = count_sleeps(number, argument, ret_result);
	if (is_sleep)
		usleep(20000);
	return is_sleep;
}

static void *one_call(void *unused)
{
	memset(&thread_self, 0, sizeof(thread_self));
	put_call(1);
	thread_detach(&thread_self);
	return unused;
}

/* Count how often `threads` threads sleep, one after the other, while this one keeps its own
 * lane. */
static long sleeps_of_threads(int threads)
{
	sleeps = 0;
	for (int i = 0; i < threads; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, one_call, NULL) == 0)
			pthread_join(thread, NULL);
	}
	return sleeps;
}

static long sleeps_with_full_ring(struct tree_control *shared, uint64_t limit_bytes)
{
	spool_make(limit_bytes);
	session.control = shared;
	own_words.osrt_threshold[1] = 0;
	sleeps = 0;
	for (uint64_t i = 0; i < 3000; i++)
		put_call(i);
	return sleeps;
}

static void hold_writer_lock(struct tree_control *shared)
{
	tree_writer_holds(shared);
	__atomic_store_n(&shared->writer_state, WRITER_RUNNING, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

static long sleeps_of_calls(uint64_t calls)
{
	sleeps = 0;
	for (uint64_t i = 0; i < calls; i++)
		put_call(i);
	return sleeps;
}

#define ROUNDS_MAX ((long)(WRITER_WAIT_TOTAL_NS / WRITER_WAIT_ROUND_NS))

/* Block the writer for any time. Sleeps are counted, and take no time here. */
static void stuck_writer_costs_a_bounded_time(struct tree_control *shared)
{
	long first = sleeps_with_full_ring(shared, SPOOL_FIRST_BYTES);
	long later = sleeps_of_calls(100000);
	struct lane *lane = lane_number(0);
	bool in_order;
	uint64_t calls = calls_in(lane, 0, 0, &in_order);
	check(first > ROUNDS_MAX / 2 && first + later <= ROUNDS_MAX && in_order,
		"a writer that is stuck forever is waited for once: %ld rounds, then %ld in 100000 "
		"calls; at most "
		"%ld",
		first, later, ROUNDS_MAX);
	check(calls + lane->dropped[DROP_RING_FULL] == 103000,
		"each call is recorded or counted as dropped: %llu and %llu",
		(unsigned long long)calls, (unsigned long long)lane->dropped[DROP_RING_FULL]);
	long few = (shared->blocks += 63, sleeps_of_calls(1000)),
	     again = (shared->blocks += 1, sleeps_of_calls(1000)),
	     not_yet = (shared->blocks += 64, sleeps_of_calls(1000)),
	     third = (shared->blocks += 64, sleeps_of_calls(1000));
	check(!few && again > ROUNDS_MAX / 2 && again <= ROUNDS_MAX && !not_yet && third,
		"a writer is waited for again when it has written 64 blocks, then 128: %ld %ld %ld "
		"%ld "
		"rounds",
		few, again, not_yet, third);
}

/* Check the waits for a writer that is alive but drains nothing. This test, its parent, does not
 * reap it when it ends. */
static void writer_is_waited_for_where_it_helps(void)
{
	struct tree_control *shared = mmap(NULL, TREE_CONTROL_BYTES, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	siginfo_t info;
	pid_t writer = fork();
	if (writer == 0)
		hold_writer_lock(shared);
	while (!__atomic_load_n(&shared->writer_state, __ATOMIC_ACQUIRE))
		sched_yield();
	sys_override = count_sleeps;
	long once = sleeps_with_full_ring(shared, SPOOL_FIRST_BYTES);
	sys_override = sleep_long;
	long of_long_ones = sleeps_with_full_ring(shared, SPOOL_FIRST_BYTES);
	check(of_long_ones > 0 && of_long_ones <= WRITER_WAIT_TOTAL_NS / 20000000 + 10,
		"a wait is bounded by time, not by the number of sleeps: %ld of 20 ms",
		of_long_ones);
	sys_override = count_sleeps;
	check(!tree_writer_died(shared) && once > 0,
		"a full ring waits for a writer that lives: %ld times", once);
	thread_detach(&thread_self);
	long again = sleeps_of_threads(100);
	check(again == 0, "the next 100 threads of that lane do not each wait again: %ld times",
		again);
	stuck_writer_costs_a_bounded_time(shared);
	sleeps_with_full_ring(shared, SPOOL_FIRST_BYTES + LANE_BYTES);
	long without_chunk = sleeps_of_threads(3);
	const struct lane *lane = lane_number(1);
	check(without_chunk == 0 && session.spool->lane_count == 2 &&
			lane->dropped[DROP_RING_FULL] >= 3,
		"a lane without any chunk waits for nothing: %ld times, %llu dropped",
		without_chunk, (unsigned long long)lane->dropped[DROP_RING_FULL]);
	kill(writer, SIGKILL);
	waitid(P_PID, (id_t)writer, &info, WEXITED | WNOWAIT);
	check(tree_writer_died(shared) && sleeps_with_full_ring(shared, SPOOL_FIRST_BYTES) == 0,
		"a dead writer that nobody has reaped is not waited for: %ld times", sleeps);
	sys_override = NULL;
	waitpid(writer, NULL, 0);
	session.control = &control;
	munmap(shared, TREE_CONTROL_BYTES);
}

static void below_threshold_is_summed(void)
{
	spool_make(64u << 20);
	own_words.osrt_threshold[1] = UINT64_MAX;
	for (uint64_t i = 0; i < 1000; i++)
		put_call(i);
	check(lane_number(0)->sums[1].count == 1000, "calls below the threshold are counted: %llu",
		(unsigned long long)lane_number(0)->sums[1].count);
	thread_detach(&thread_self);
	struct lane *lane = lane_number(0);
	const struct record *sum = record_at(lane, lane->head - 2 * RECORD_BYTES);
	check((sum->word & RECORD_KIND_MASK) == REC_SUMMARY && (sum->a & 0xffffffffffff) == 1000 &&
			sum->a >> 48 == 1,
		"the end of the thread writes the sum");
	check(FN_SUM_CALLS(lane->sums[1].count) == 0 && lane->state == LANE_FREE,
		"the end of the thread leaves the lane clean for the next one");
}

static void handler_inside_the_tracer_loses_nothing(void)
{
	bool in_order;
	spool_make(64u << 20);
	own_words.osrt_threshold[1] = 0;
	put_call(0);
	thread_enter(&thread_self); /* a signal arrives between enter and leave of a record */
	thread_self.busy -= 4096;   /* ... and the handler runs below it */
	put_call(1);
	thread_enter(&thread_self); /* and a further one interrupts that */
	put_call(2);
	thread_leave(&thread_self);
	thread_self.busy += 4096;
	thread_leave(&thread_self);
	check(lane_number(0)->nested_count == 2, "records of handlers are set aside");
	put_call(3);
	check(lane_number(0)->nested_moved == 2 && calls_in(lane_number(0), 0, 0, &in_order) == 4,
		"the next call moves records of handlers into the lane");
	lane_number(0)->nested_count++; /* taken by a handler that was left before it wrote */
	thread_self.limit = 0;
	put_call(4);
	check(lane_number(0)->nested_moved == 3 && calls_in(lane_number(0), 0, 0, &in_order) == 5,
		"an entry that was never written is skipped");
}

static void handlers_records_wait_for_room(void)
{
	bool in_order;
	uint64_t made = 0;
	spool_make(SPOOL_FIRST_BYTES);
	own_words.osrt_threshold[1] = 0;
	while (!made || !lane_number(0)->dropped[DROP_RING_FULL])
		put_call(made++);
	struct lane *lane = lane_number(0);
	uint64_t head = lane->head, calls = calls_in(lane, 0, 0, &in_order);
	thread_enter(&thread_self);
	thread_self.busy -= 4096;
	put_call(made++);
	put_call(made++);
	thread_self.busy += 4096;
	thread_leave(&thread_self);
	put_call(made++); /* there still is no room */
	__atomic_store_n(&lane->tail, lane->head, __ATOMIC_RELEASE);
	put_call(made++);
	uint64_t later = calls_in(lane, head, 0, &in_order);
	check(later == 3 && made == calls + later + lane->dropped[DROP_RING_FULL] &&
			lane->dropped[DROP_NESTED] == 0,
		"records of handlers wait until there is room: %llu written, %llu and %llu found",
		(unsigned long long)made, (unsigned long long)calls, (unsigned long long)later);
}

static void handler_that_jumps_out_costs_nothing_later(void)
{
	bool in_order;
	spool_make(64u << 20);
	own_words.osrt_threshold[1] = 0;
	put_call(0);
	thread_enter(&thread_self); /* and never leave: siglongjmp from a handler */
	thread_self.busy += 4096;   /* the interrupted frame was deeper than this one */
	for (uint64_t i = 1; i < 100; i++)
		put_call(i);
	check(calls_in(lane_number(0), 0, 0, &in_order) == 100 && in_order && thread_self.busy == 0,
		"a handler that left by siglongjmp does not keep the thread from recording");
}

static void *churn(void *count)
{
	memset(&thread_self, 0, sizeof(thread_self));
	put_call(7);
	__atomic_add_fetch((uint64_t *)count, 1, __ATOMIC_RELAXED);
	thread_detach(&thread_self);
	return NULL;
}

static void lanes_are_used_again(void)
{
	spool_make(64u << 20);
	uint64_t count = 0;
	for (int i = 0; i < 300; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, churn, &count) == 0)
			pthread_join(thread, NULL);
	}
	check(count == 300 && session.spool->lane_count == 1,
		"300 threads one after the other need one lane: %u", session.spool->lane_count);
}

static void *churn_on(void *count)
{
	churn(count);
	thread_self.gone = 1; /* as the thread's last destructor sets it */
	put_call(8);
	own_words.osrt_threshold[1] = UINT64_MAX;
	put_call(9);
	own_words.osrt_threshold[1] = 0;
	return NULL;
}

static void calls_after_the_end_are_kept(void)
{
	uint64_t count = 0, sum = 0, dropped = 0;
	bool in_order;
	spool_make(64u << 20);
	for (int i = 0; i < 300; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, churn_on, &count) == 0)
			pthread_join(thread, NULL);
	}
	uint32_t lanes = session.spool->lane_count;
	for (uint32_t i = 0; i < lanes; i++)
		sum += calls_in(lane_number(i), 0, 0, &in_order);
	for (uint32_t i = 0; i < DROP_REASONS; i++)
		dropped += session.spool->dropped[i];
	check(count == 300 && sum == 600 && dropped == 0 && lanes <= 2,
		"calls of handlers after the end of a thread are recorded: %llu of 600, in %u "
		"lanes",
		(unsigned long long)sum, lanes);
}

/* ---- a thread that is held up, or lost, while it makes the spool grow ---- */

enum fate { HELD_UP, ENDS, JUMPS_OUT };
static enum fate fate;
static jmp_buf out;
static __thread bool is_victim;
static uint32_t victim_inside, victim_may_end, other_done, other_sleeps;

static bool befall(long number, const long argument[6], long *ret_result)
{
	(void)argument;
	(void)ret_result;
	if (!is_victim)
		__atomic_add_fetch(&other_sleeps, number == SYS_nanosleep, __ATOMIC_RELAXED);
	if (!is_victim || number != SYS_mremap)
		return false;
	__atomic_store_n(&victim_inside, 1, __ATOMIC_RELEASE);
	if (fate == ENDS)
		pthread_exit(NULL);
	if (fate == JUMPS_OUT)
		longjmp(out, 1);
	while (__atomic_load_n(&other_sleeps, __ATOMIC_ACQUIRE) < 5 &&
		!__atomic_load_n(&other_done, __ATOMIC_ACQUIRE))
		usleep(100);
	return false;
}

static void *victim(void *unused)
{
	void *place;
	memset(&thread_self, 0, sizeof(thread_self));
	is_victim = true;
	if (!setjmp(out))
		spool_file_take(CHUNK_BYTES, CHUNK_BYTES, &place);
	while (fate == JUMPS_OUT && !__atomic_load_n(&victim_may_end, __ATOMIC_ACQUIRE))
		usleep(100);
	return unused;
}

/* Return whether another thread got memory while the first one has the lock; *ret_again: whether it
 * got memory a second time. */
static bool taken_while(enum fate what, bool *ret_again)
{
	pthread_t thread;
	void *place;
	uint32_t sleeps_once;
	spool_make(64u << 20);
	while (session.spool->next_offset + CHUNK_BYTES <= session.spool->size_bytes)
		spool_file_take(CHUNK_BYTES, CHUNK_BYTES, &place);
	fate = what;
	victim_inside = victim_may_end = other_done = other_sleeps = 0;
	sys_override = befall;
	if (pthread_create(&thread, NULL, victim, NULL))
		return false;
	while (!__atomic_load_n(&victim_inside, __ATOMIC_ACQUIRE))
		usleep(100);
	if (what == ENDS)
		pthread_join(thread, NULL);
	bool taken = spool_file_take(CHUNK_BYTES, CHUNK_BYTES, &place) != 0;
	__atomic_store_n(&other_done, 1, __ATOMIC_RELEASE);
	sleeps_once = other_sleeps;
	*ret_again = spool_file_take(CHUNK_BYTES, CHUNK_BYTES, &place) != 0 ||
		other_sleeps > sleeps_once;
	__atomic_store_n(&victim_may_end, 1, __ATOMIC_RELEASE);
	if (what != ENDS)
		pthread_join(thread, NULL);
	sys_override = NULL;
	return taken;
}

static void growth_waits_for_its_turn(void)
{
	bool again, taken = taken_while(HELD_UP, &again);
	for (int i = 0; i < 5 && !taken; i++) /* the holder had no processor for a second */
		taken = taken_while(HELD_UP, &again);
	check(taken && again, "a lock whose holder is off the processor is waited for");
	taken = taken_while(ENDS, &again);
	check(taken && again && !other_sleeps,
		"a lock whose holder has ended is not waited for: %u sleeps", other_sleeps);
	taken = taken_while(JUMPS_OUT, &again);
	check(!taken && other_sleeps && !again,
		"a lock whose holder left by longjmp is waited for once, not twice: %u sleeps",
		other_sleeps);
}

static inline __attribute__((always_inline)) uint64_t stack_pointer(void)
{
	return (uint64_t)(uintptr_t)__builtin_frame_address(0);
}

static void abandoned_calls_are_found(void)
{
	spool_make(64u << 20);
	own_words.osrt_threshold[1] = 0;
	put_call(0);
	struct lane *lane = lane_number(0);
	lane->open =
		(struct open_call){.tick = clock_ticks(), .sp = stack_pointer() - 4096, .kind = 1};
	put_call(1);
	const struct record *left = record_at(lane, lane->head - 2 * RECORD_BYTES);
	check(left->word >> RECORD_FLAGS_SHIFT & RECORD_ABANDONED,
		"a call whose frame is gone is recorded as abandoned");
	lane->open =
		(struct open_call){.tick = clock_ticks(), .sp = stack_pointer() + 4096, .kind = 1};
	uint64_t before = lane->head;
	put_call(2);
	check(lane->head == before + RECORD_BYTES && lane->open.sp != 0,
		"a call that is interrupted stays open");
}

/* Leave a call whose begin has the tick of a recorded one: a handler made a call just before it
 * began, and left its tick there. */
static void a_handlers_call_is_not_recorded_as_left(void)
{
	spool_make(64u << 20);
	own_words.osrt_threshold[1] = 0;
	put_call(0);
	put_call(1);
	struct lane *lane = lane_number(0);
	lane->open = (struct open_call){.tick = record_at(lane, lane->head - RECORD_BYTES)->tick,
		.sp = stack_pointer() - 4096,
		.kind = 1};
	uint64_t head = lane->head;
	put_call(2);
	check(lane->head == head + RECORD_BYTES && lane->open.sp == 0 &&
			lane->dropped[DROP_NESTED] == 1,
		"a call that was left, with the begin of a recorded one, is counted as dropped");
}

/* Repeat this with a call that is only in a sum. Until the other call is left, the thread may
 * make further calls, in a handler. */
static void a_handlers_call_in_a_sum_is_not_recorded_as_left(void)
{
	for (int further = 0; further <= 2; further++) {
		spool_make(64u << 20);
		own_words.osrt_threshold[1] = UINT64_MAX;
		put_call(0);
		struct lane *lane = lane_number(0);
		put_call(1);
		const uint64_t tick = lane->open.tick, sp = stack_pointer();
		lane->open = (struct open_call){.tick = tick, .sp = sp + 4096, .kind = 1};
		for (int i = 0; i < further; i++)
			put_call(2);
		check(lane->open.tick == tick && lane->open.sp == sp + 4096,
			"a call that handlers interrupt stays open");
		lane->open.sp = sp - 4096; /* as if the stack pointer were above it */
		uint64_t head = lane->head;
		put_call(3);
		check(lane->head == head && lane->open.sp == 0 && lane->dropped[DROP_NESTED] == 1 &&
				lane->sums[1].count == 3 + (uint64_t)further,
			"a call that was left, with the begin of one in a sum, is counted as "
			"dropped: %llu records, %llu dropped",
			(unsigned long long)(lane->head - head) / RECORD_BYTES,
			(unsigned long long)lane->dropped[DROP_NESTED]);
		thread_detach(&thread_self);
	}
}

/* Check that a call whose begin is lost in this way ends on the slow path. */
static void a_call_with_a_handlers_begin_ends(void)
{
	struct call call;
	spool_make(64u << 20);
	own_words.osrt_threshold[1] = UINT64_MAX;
	put_call(0);
	struct lane *lane = lane_number(0);
	if (!osrt_begin(&call, 1))
		return;
	uint64_t sp = lane->open.sp;
	lane->open.sp = 0;
	put_call(1);
	lane->open.sp = sp;
	osrt_end(&call, 1, 0, 0);
	check(lane->open.sp == 0 && lane->sums[1].count == 3,
		"a call with the begin of another ends");
	put_call(2);
	check(lane->dropped[DROP_NESTED] == 0 && lane->sums[1].count == 4, "and is not left");
}

/* ---- every system call of the tracer may fail ---- */

static long fail_at, calls_made;

static bool fail_nth(long number, const long argument[6], long *ret_result)
{
	(void)argument;
	if (number == SYS_nanosleep || number == SYS_sched_yield || ++calls_made != fail_at)
		return false;
	*ret_result = -ENOSPC;
	return true;
}

static void failing_system_calls_do_no_harm(void)
{
	int survived = 0;
	sys_override = fail_nth;
	for (fail_at = 1; fail_at <= 40; fail_at++) {
		calls_made = 0;
		spool_make(8u << 20);
		if (session.spool)
			for (uint64_t i = 0; i < 5000; i++)
				put_call(i);
		survived++;
	}
	sys_override = NULL;
	check(survived == 40,
		"the program runs on when the n-th system call fails, for 40 values of n");
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	clock_init();
	records_keep_their_order();
	chunks_are_used_again();
	full_ring_drops_and_reports();
	writer_is_waited_for_where_it_helps();
	below_threshold_is_summed();
	handler_inside_the_tracer_loses_nothing();
	handlers_records_wait_for_room();
	handler_that_jumps_out_costs_nothing_later();
	lanes_are_used_again();
	calls_after_the_end_are_kept();
	growth_waits_for_its_turn();
	abandoned_calls_are_found();
	a_handlers_call_is_not_recorded_as_left();
	a_handlers_call_in_a_sum_is_not_recorded_as_left();
	a_call_with_a_handlers_begin_ends();
	failing_system_calls_do_no_harm();
	return lanes_done();
}
