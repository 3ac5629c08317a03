/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tracer_forked_lane.c - tests of a fork within the tracer, by a raw system call in a signal
 * handler, at each instruction in turn. The child continues there in its parent's lane, at once or
 * after its parent has continued. The lane keeps what the parent records; what the child adds is
 * noticed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <ucontext.h>

#if !defined(__x86_64__)
int main(void)
{
	printf("1..0 # SKIP steps by the trap flag of x86-64\n");
	return 0;
}
#else
#include "tracer_lane.h"

#define TRAP_FLAG 0x100
#define TRIALS_MAX 20000
#define MEMORY_BYTES (4u << 20)

static volatile int steps, target, last_watched;
static const volatile uint32_t *watched; /* not 0: the instructions that matter; NULL = all do */
static volatile bool armed, is_child, child_is_late;
static int child_pid, gate_fds[2];

static long syscall_now(long number, long a, long b, long c)
{
	long result;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
}

static void child_wait(void)
{
	int status = 0;
	char byte = 0;
	if (!child_pid)
		return;
	if (child_is_late)
		syscall_now(SYS_write, gate_fds[1], (long)&byte, 1);
	waitpid(child_pid, &status, 0);
	child_pid = 0;
	if (status)
		check(false, "the child of step %d ends well: status %x", target, (unsigned)status);
}

/* The first stop is the int3 before the operation. */
static void on_trap(int signal, siginfo_t *info, void *context)
{
	greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
	(void)signal;
	(void)info;
	*flags &= ~(greg_t)TRAP_FLAG;
	if (!armed)
		return;
	if (watched && *watched)
		last_watched = steps;
	if (steps++ != target) {
		*flags |= TRAP_FLAG;
		return;
	}
	armed = false;
	child_pid = (int)syscall_now(SYS_fork, 0, 0, 0);
	char byte;
	is_child = child_pid == 0;
	if (is_child && child_is_late)
		syscall_now(SYS_read, gate_fds[0], (long)&byte, 1);
	if (!is_child && !child_is_late)
		child_wait();
}

/* Do the operation; fork at step `target`. Return false if it has fewer steps. */
static bool stepped(void (*operation)(void))
{
	steps = 0;
	armed = true;
	__asm__ volatile("int3");
	operation();
	bool reached = !armed;
	armed = false;
	if (is_child)
		_exit(0);
	return reached;
}

/* The defects of one trial. */
struct found {
	uint64_t missing, unnoticed; /* events */
};

static uint64_t calls_made;

static void call_once(void)
{
	put_call(calls_made++);
}

static uint64_t dropped_total(const struct lane *lane)
{
	uint64_t total = 0;
	for (unsigned i = 0; i < DROP_REASONS; i++)
		total += lane->dropped[i] + session.spool->dropped[i];
	return total;
}

/* Look for each value in the lane, from `from` on. */
static struct found calls_look(uint64_t from, uint64_t first)
{
	static unsigned char times[1 << 16];
	struct lane *lane = lane_number(0);
	struct found found = {0};
	uint64_t extra = 0;
	memset(times, 0, sizeof(times));
	thread_enter(&thread_self);
	lane_audit(&thread_self);
	thread_leave(&thread_self);
	for (uint64_t at = from; at < lane->head; at += RECORD_BYTES) {
		const struct record *r = record_at(lane, at);
		if ((r->word & RECORD_KIND_MASK) == REC_PAD)
			at = (at + CHUNK_BYTES) / CHUNK_BYTES * CHUNK_BYTES - RECORD_BYTES;
		else if ((r->word & RECORD_KIND_MASK) == 1 && r->a < sizeof(times))
			extra += times[r->a]++ != 0;
		else
			extra++;
	}
	for (uint64_t i = first; i < calls_made; i++)
		found.missing += !times[i];
	found.unnoticed = (found.missing || extra) && !dropped_total(lane);
	return found;
}

static uint64_t begin_at; /* the head when only the thread's start and the first call are there */

static void begin(uint64_t memory_bytes)
{
	calls_made = 0;
	spool_make(memory_bytes);
	own_words.osrt_threshold[1] = 0;
	call_once();
	begin_at = lane_number(0)->head;
}

/* Fill the current chunk, but for the last record; a consumer is `behind` chunks behind. */
static void chunk_fill(unsigned behind)
{
	struct lane *lane = lane_number(0);
	for (unsigned slots; (slots = (unsigned)((CHUNK_BYTES - lane->head % CHUNK_BYTES) /
				      RECORD_BYTES)) > 1;) {
		struct record *r = lane_room(&thread_self, 1);
		if (!r)
			return;
		*r = (struct record){.tick = 1, .word = REC_PAD};
		lane_publish(&thread_self, slots > 32 ? slots - 8 : 1);
	}
	uint64_t done = lane->head / CHUNK_BYTES;
	__atomic_store_n(
		&lane->tail, done > behind ? (done - behind) * CHUNK_BYTES : 0, __ATOMIC_RELEASE);
}

/* ---- scenarios: each returns false when the operation has fewer steps ---- */

static bool a_call(struct found *ret_found)
{
	begin(MEMORY_BYTES);
	bool more = stepped(call_once);
	for (int i = 0; i < 10; i++)
		call_once();
	child_wait();
	call_once();
	*ret_found = calls_look(begin_at, 1);
	return more;
}

/* Take the next chunk: the 301st, with three in use. The child continues when the same place of
 * the lane's table is current again, with the same chunk. */
static bool a_chunk_later(struct found *ret_found)
{
	struct lane *lane;
	begin(MEMORY_BYTES);
	lane = lane_number(0);
	for (unsigned n = 0; n < 300; n++) {
		chunk_fill(1);
		call_once();
	}
	bool more = stepped(call_once);
	for (unsigned n = 300; n < 812; n++) {
		chunk_fill(1);
		call_once();
		call_once();
	}
	uint64_t first = calls_made, from = lane->head;
	for (int i = 0; i < 5; i++)
		call_once();
	child_wait();
	for (int i = 0; i < 5; i++)
		call_once();
	*ret_found = calls_look(from, first);
	return more;
}

static void sums_flush(void)
{
	thread_enter(&thread_self);
	lane_flush_sums(&thread_self);
	thread_leave(&thread_self);
}

/* Turn sums into records: no more calls than were made, and no fewer. */
static bool a_flush(struct found *ret_found)
{
	begin(MEMORY_BYTES);
	struct lane *lane = lane_number(0);
	struct found found = {0};
	uint64_t held = 0, from = lane->head;
	for (int i = 0; i < 7; i++)
		osrt_count(lane, 3, 1, 10);
	watched = &lane->flushing;
	last_watched = 0;
	bool more = stepped(sums_flush);
	watched = NULL;
	child_wait();
	for (int i = 0; i < 5; i++)
		osrt_count(lane, 3, 1, 10);
	sums_flush();
	for (uint64_t at = from; at < lane->head; at += RECORD_BYTES) {
		const struct record *r = record_at(lane, at);
		if ((r->word & RECORD_KIND_MASK) == REC_SUMMARY)
			held += r->a & (FN_SUM_ROUND - 1);
	}
	thread_enter(&thread_self);
	lane_audit(&thread_self);
	thread_leave(&thread_self);
	found.missing = held < 12 || lane->sums[3].ticks ? 12 : 0;
	found.unnoticed = held > 12 + 7 || (held > 12 && !dropped_total(lane));
	*ret_found = found;
	return more && (!last_watched || target < last_watched + 10);
}

static void keep_one(void)
{
	struct record record = {
		clock_ticks(), UINT64_C(10) << RECORD_LENGTH_SHIFT | 1, calls_made++, 0};
	lane_put_nested(&thread_self, &record);
}

/* Move the records of handlers into the lane; a handler of the parent keeps more meanwhile. */
static bool a_move(struct found *ret_found)
{
	begin(MEMORY_BYTES);
	keep_one();
	bool more = stepped(call_once);
	call_once();
	keep_one();
	child_wait();
	call_once();
	*ret_found = calls_look(begin_at, 1);
	return more;
}

static void trials(const char *name, bool (*scenario)(struct found *), int stride)
{
	struct found worst = {0};
	int at = -1, failed = 0;
	bool more = true;
	for (target = 0; more && target < TRIALS_MAX; target += stride) {
		struct found found;
		more = scenario(&found);
		unlink(session.spool_path);
		if (found.missing || found.unnoticed) {
			worst = found;
			at = target;
			failed++;
		}
	}
	check(!failed && target > 20 && target < TRIALS_MAX,
		"%s: what the parent records is there, what the child adds is noticed: %d of %d "
		"instructions, the last at %d: %llu missing, %llu not noticed",
		name, failed, target / stride, at, (unsigned long long)worst.missing,
		(unsigned long long)worst.unnoticed);
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	/* Taking a chunk executes more than a thousand instructions. */
	int stride = getenv("TORTURE") ? 1 : 3;
	if (!mkdtemp(folder) || pipe(gate_fds))
		return 1;
	clock_init();
	gate_wipe_on_fork();
	sigaction(SIGTRAP, &action, NULL);
	trials("a call, the child at once", a_call, 1);
	trials("a flush, the child at once", a_flush, 1);
	child_is_late = true;
	trials("a call, the child later", a_call, 1);
	trials("a chunk, the child 512 chunks later", a_chunk_later, stride);
	trials("a flush, the child later", a_flush, 1);
	trials("records of handlers, the child later", a_move, 1);
	return lanes_done();
}
#endif
