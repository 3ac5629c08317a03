/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tracer_stacks.c - tests of a lane that several stacks of a thread use, or that somebody
 * overwrites: no event is lost or doubled, and nothing is written outside of the lane's chunks.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "tracer/session/fork.h"
#include "tracer_lane.h"

/* Make calls on another stack while the thread's own context is interrupted within the tracer. */
static void another_stack_has_a_lane_of_its_own(void)
{
	bool in_order;
	spool_make(64u << 20);
	own_words.osrt_threshold[1] = 0;
	put_call(0);
	struct lane *lane = lane_number(0);
	uint64_t head = lane->head;
	/* A stack far away, interrupted in the few instructions of the fast path. */
	thread_self.busy = UINT64_C(0) - 4096;
	for (uint64_t i = 1; i < 5000; i++)
		put_call(i);
	check(lane->head == head && lane->nested_count == 0 && session.spool->lane_count == 2 &&
			calls_in(lane_number(1), 0, 1, &in_order) == 4999 && in_order,
		"calls of another stack meanwhile are recorded in a second lane");
	thread_self.busy = 0;
	put_call(1);
	check(calls_in(lane, 0, 0, &in_order) == 2 && in_order,
		"the interrupted stack continues in the first lane");
	thread_self.busy = 0;
	thread_detach(&thread_self);
	check(lane_number(1)->state == LANE_FREE, "both lanes are given back");
}

static void calls_of_another_stack_are_not_dead(void)
{
	spool_make(64u << 20);
	own_words.osrt_threshold[1] = 0;
	put_call(0);
	struct lane *lane = lane_number(0);
	struct open_call elsewhere = {.tick = clock_ticks(), .sp = 4096, .kind = 1};
	lane->open = elsewhere;
	uint64_t head = lane->head;
	put_call(1);
	check(lane->head == head + RECORD_BYTES && lane->open.tick == elsewhere.tick,
		"an open call of another stack is not taken for abandoned");
	struct call inner;
	if (!osrt_begin(&inner, 1))
		return;
	osrt_close(lane, elsewhere.tick); /* the outer call returns first */
	osrt_end(&inner, 1, 2, 0);
	check(lane->open.sp == 0 && lane->open_depth == 0,
		"calls on several stacks may end in any order");
}

/* A call ends on another stack while a call of this one has saved it, and a copy remains. No second
 * lane can be had: another stack is about to change the first. */
static void copies_of_calls_are_not_recorded(void)
{
	spool_make(64u << 20);
	own_words.osrt_threshold[1] = 0;
	put_call(0);
	struct lane *lane = lane_number(0);
	lane->open = (struct open_call){.tick = clock_ticks(), .sp = 4096, .kind = 1};
	thread_self.busy = UINT64_C(0) - (8192 | BUSY_SLOW);
	put_call(1);
	thread_self.busy = 0;
	uint64_t head = lane->head, dropped = lane->dropped[DROP_NESTED];
	osrt_abandon_open(&thread_self, 4096 + 64, RECORD_ABANDONED);
	check(!thread_self.spare && lane->head == head && lane->open.sp == 0 &&
			lane->dropped[DROP_NESTED] == dropped + 1,
		"a call of another stack that may have ended is not recorded, but counted");
}

/* Record with cleared thresholds, as in a child that a handler forked while the tracer was about to
 * record: the kernel has cleared them. */
static void cleared_thresholds_want_no_chain(void)
{
	bool in_order;
	spool_make(64u << 20);
	own_words.osrt_threshold[1] = 0;
	put_call(0);
	uint64_t limit = own_words.chains_ticks[CHAIN_OSRT];
	own_words.chains_ticks[CHAIN_OSRT] = 0;
	put_call(1);
	own_words.chains_ticks[CHAIN_OSRT] = limit;
	check(calls_in(lane_number(0), 0, 0, &in_order) == 2,
		"without callchains none is taken, whatever the thresholds say");
}

/* Prepare a chunk several times, as if the thread had been interrupted for good each time before it
 * wrote there. */
static void chunk_is_made_ready_once(void)
{
	bool in_order;
	spool_make(64u << 20);
	own_words.osrt_threshold[1] = 0;
	uint64_t made = 0;
	for (; !made || lane_number(0)->head % CHUNK_BYTES; made++)
		put_call(made);
	struct lane *lane = lane_number(0);
	for (int i = 0; i < 3; i++) {
		lane_room(&thread_self, 1);
		thread_self.chunk = thread_self.limit = 0;
	}
	for (uint64_t end = made + 5000; made < end; made++)
		put_call(made);
	uint64_t n = lane->head / CHUNK_BYTES;
	check(calls_in(lane, 0, 0, &in_order) == made && in_order &&
			lane_chunk_count(lane, n) == n + 1,
		"a chunk that nobody wrote to is not taken twice: %u", lane_chunk_count(lane, n));
}

/* Move the head past the end of the chunk, as another task does, or a child that continues in its
 * parent's lane. */
static void a_head_that_was_moved_stays_in_its_chunk(void)
{
	unsigned kept = 0;
	for (unsigned from = 1; from <= 6; from++)
		for (unsigned moved = 1; moved <= 3; moved++) {
			spool_make(64u << 20);
			own_words.osrt_threshold[1] = 0;
			do
				put_call(0);
			while (lane_number(0)->head % CHUNK_BYTES !=
				CHUNK_BYTES - from * RECORD_BYTES);
			struct lane *lane = lane_number(0);
			struct record first = *record_at(lane, 0);
			lane->head += moved * RECORD_BYTES;
			for (unsigned i = 1; i <= 8; i++)
				put_call(i);
			bool in_order;
			kept += calls_in(lane, lane->head - 8 * RECORD_BYTES, 1, &in_order) == 8 &&
				in_order && !memcmp(&first, record_at(lane, 0), sizeof(first));
			thread_detach(&thread_self);
			kept -= !session.spool->dropped[DROP_SHARED];
		}
	check(kept == 18, "a head that was moved leads into the next chunk: %u of 18", kept);
}

/* ---- tasks on a thread's memory: clone() with CLONE_VM, without CLONE_SETTLS ---- */

static char task_stack[65536] __attribute__((aligned(64)));

static int mend_in_task(void *unused)
{
	(void)unused;
	thread_mend_guard(&thread_self);
	SYS1(SYS_exit, 0);
	return 0;
}

/* Run a task whose stack is within the thread's, above the interrupted frame. */
static void another_task_does_not_mend_the_guard(void)
{
	spool_make(64u << 20);
	put_call(0);
	char *high = task_stack + sizeof(task_stack);
	uint64_t busy = 0 - (uint64_t)(uintptr_t)(task_stack + 64);
	thread_self.stack_low = (uint64_t)(uintptr_t)task_stack;
	thread_self.stack_high = (uint64_t)(uintptr_t)high;
	thread_self.busy = busy;
	int task = clone(mend_in_task, high - 256, CLONE_VM | SIGCHLD, NULL);
	waitpid(task, NULL, 0);
	check(task > 0 && thread_self.busy == busy,
		"a task on the thread's memory does not take the interrupted tracer for left");
	thread_self.busy = 0;
}

static int nothing_in_task(void *unused)
{
	(void)unused;
	SYS1(SYS_exit, 0);
	return 0;
}

/* Return false where clone() refuses such tasks, as qemu-user does. */
static bool tasks_can_be_made(void)
{
	int task = clone(
		nothing_in_task, task_stack + sizeof(task_stack) - 256, CLONE_VM | SIGCHLD, NULL);
	if (task < 0 && errno == EINVAL)
		return false;
	waitpid(task, NULL, 0);
	return true;
}

static uint32_t task_may_end, task_has_ended;

static int call_in_task(void *unused)
{
	(void)unused;
	put_call(7);
	SYS1(SYS_exit, 0);
	return 0;
}

/* Begin a call, wait until the thread has begun one, and end the call. */
static int long_call_in_task(void *unused)
{
	(void)unused;
	struct call call = {0};
	bool begun = osrt_begin(&call, 1);
	__atomic_store_n(&task_has_ended, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&task_may_end, __ATOMIC_ACQUIRE))
		sys_sleep_ns(100000);
	if (begun)
		osrt_end(&call, 1, 0, 0);
	SYS1(SYS_exit, 0);
	return 0;
}

static int task_start(int (*body)(void *))
{
	return clone(body, task_stack + sizeof(task_stack) - 256, CLONE_VM | SIGCHLD, NULL);
}

static bool is_noticed(void)
{
	return session.spool && session.spool->dropped[DROP_SHARED] && thread_self.shared;
}

/* Make calls in a task while the thread has no lane, or between the begin and end of its calls. */
static void calls_of_another_task_are_noticed(void)
{
	struct lane *lane;
	spool_make(64u << 20);
	put_call(0);
	lane = thread_mute(&thread_self);
	waitpid(task_start(call_in_task), NULL, 0);
	thread_unmute(&thread_self, lane);
	check(is_noticed(), "a task's call while the tracer mutes its thread is counted");
	thread_share_end(&thread_self);
	session.spool->dropped[DROP_SHARED] = 0;

	spool_make(64u << 20);
	put_call(0);
	thread_forking(&thread_self, FORK_LAZY);
	waitpid(task_start(call_in_task), NULL, 0);
	check(is_noticed(), "a task's call while its thread forks is counted");
	thread_forked(&thread_self);
	thread_share_end(&thread_self);
	put_call(1);
	check(session.state == SESSION_ON && session.spool && session.spool->lane_count == 1,
		"and is not the first call of a forked child");

	spool_make(64u << 20);
	put_call(0);
	struct call call = {0};
	int task = task_start(long_call_in_task);
	while (!__atomic_load_n(&task_has_ended, __ATOMIC_ACQUIRE))
		sys_sleep_ns(100000);
	bool begun = osrt_begin(&call, 1);
	__atomic_store_n(&task_may_end, 1, __ATOMIC_RELEASE);
	waitpid(task, NULL, 0);
	if (begun)
		osrt_end(&call, 1, 0, 0);
	task_may_end = task_has_ended = 0;
	check(is_noticed(), "the end of a task's call within one of its thread is noticed");
}

/* Take the lane away after the thread has checked that it has one, as a task that mutes it does. */
static void a_lane_that_is_gone_at_once_is_not_used(void)
{
	spool_make(64u << 20);
	put_call(0);
	struct lane *lane = thread_self.lane;
	thread_self.lane = NULL;
	lane_put_nested(&thread_self, &(struct record){.tick = 1, .word = 1});
	thread_self.lane = lane;
	check(session.spool->dropped[DROP_SHARED] == 1, "a lane that is gone is not used");
}

static int forget_in_task(void *unused)
{
	(void)unused;
	__atomic_store_n(&own_words.forgetting, (uint32_t)sys_gettid(), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&task_may_end, __ATOMIC_ACQUIRE))
		sys_sleep_ns(1000000);
	for (int i = 0; i < 100; i++)
		sys_sleep_ns(1000000);
	__atomic_store_n(&task_has_ended, 1, __ATOMIC_RELEASE);
	if (task_may_end == 2) /* killed while it forgets */
		SYS1(SYS_exit, 0);
	__atomic_store_n(&own_words.forgetting, 0, __ATOMIC_RELEASE);
	SYS1(SYS_exit, 0);
	return 0;
}

/* Return 1 if the child waits for its task, which is making it forget its parent; 2 if it has
 * forgotten its parent afterwards. */
static int forgets_with(uint32_t end)
{
	int task = task_start(forget_in_task);
	while (task > 0 && !__atomic_load_n(&own_words.forgetting, __ATOMIC_ACQUIRE))
		sys_sleep_ns(100000);
	__atomic_store_n(&task_may_end, end, __ATOMIC_RELEASE);
	session_forked(); /* the task becomes a zombie meanwhile */
	int waited = __atomic_load_n(&task_has_ended, __ATOMIC_ACQUIRE) != 0;
	return waited + 2 * (session.spool == NULL);
}

static void tasks_of_a_child_forget_in_turn(void)
{
	spool_make(64u << 20);
	put_call(0);
	for (uint32_t end = 1; end <= 2; end++) {
		int status = 0;
		fflush(stdout);
		int pid = fork();
		if (pid == 0)
			_exit(forgets_with(end));
		waitpid(pid, &status, 0);
		check(status == 3 << 8,
			"a forked child waits for its task that forgets the parent%s: status %x",
			end == 2 ? ", and goes on when that task is dead" : "", (unsigned)status);
	}
}

static void offsets_in_shared_memory_are_not_believed(void)
{
	static const uint64_t wrong[] = {4096, SPOOL_HEADER_BYTES - 4096, 1u << 30, 0xfffff000};
	spool_make(64u << 20);
	own_words.osrt_threshold[1] = 0;
	put_call(0);
	struct lane *lane = lane_number(0);
	uint64_t chunk = lane->chunk[0], head = lane->head, magic = session.spool->size_bytes;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		lane->chunk[0] = lane_chunk_entry(0, wrong[i], 1);
		thread_self.chunk = thread_self.limit = 0;
		put_call(1);
	}
	check(lane->head == head && lane->dropped[DROP_RING_FULL] == 4 &&
			session.spool->size_bytes == magic,
		"an invalid chunk is not written to: %llu dropped",
		(unsigned long long)lane->dropped[DROP_RING_FULL]);
	lane->chunk[0] = chunk;
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	clock_init();
	gate_wipe_on_fork();
	calls_of_another_stack_are_not_dead();
	another_stack_has_a_lane_of_its_own();
	chunk_is_made_ready_once();
	copies_of_calls_are_not_recorded();
	cleared_thresholds_want_no_chain();
	a_head_that_was_moved_stays_in_its_chunk();
	a_lane_that_is_gone_at_once_is_not_used();
	if (tasks_can_be_made()) {
		another_task_does_not_mend_the_guard();
		calls_of_another_task_are_noticed();
		tasks_of_a_child_forget_in_turn();
	} else {
		skip("tasks on a thread's memory", "clone() refuses them here");
	}
	offsets_in_shared_memory_are_not_believed();
	return lanes_done();
}
