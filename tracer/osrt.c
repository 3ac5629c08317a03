/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tracer/osrt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "common/schema/fn_groups.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/chains.h"

bool osrt_off;

/* ---- thresholds ---- */

enum rule { OVER, CONTENDED, ALWAYS, QUIET };

struct row {
	uint8_t rule, group;
};

static const struct row rows[] = {
	{QUIET, ADMIN}, /* no function has the number 0 */
#define FN(ret, name, version, group, rule, ...) {rule, group},
#define FNV(name, version, group, rule, ...) {rule, group},
#define HAND(ret, name, version, group, rule, ...) {rule, group},
#include "common/schema/libc.def"
};

uint64_t osrt_ticks(uint64_t ns)
{
	struct clock_point now;
	const struct clock_point *first = &session.spool->first;
	clock_point_take(&now);
	if (!clock_is_tsc || now.mono_ns <= first->mono_ns)
		return ns;
	return (uint64_t)((double)ns * (double)(now.tick - first->tick) /
		(double)(now.mono_ns - first->mono_ns));
}

static bool touches_files(enum group group)
{
	return group == OPEN || group == IO || group == SYNC || group == STDIO;
}

static uint64_t threshold;

void osrt_start(void)
{
	threshold = osrt_ticks(session.config.threshold_ns);
	osrt_forked();
}

void osrt_forked(void)
{
	osrt_off = session.spool->osrt_off;
	for (unsigned fn = 0; fn < sizeof(rows) / sizeof(rows[0]); fn++) {
		enum rule rule = rows[fn].rule;
		own_words.osrt_threshold[fn] = rule == ALWAYS || rule == CONTENDED ? 0 : threshold;
		if (rule == QUIET && !session.config.all_locks)
			own_words.osrt_threshold[fn] = UINT64_MAX;
		if (rule == CONTENDED && session.config.all_locks)
			own_words.osrt_threshold[fn] = threshold;
		if (session.config.file_access && touches_files(rows[fn].group))
			own_words.osrt_threshold[fn] = 0;
		if (session.spool->osrt_off)
			own_words.osrt_threshold[fn] = UINT64_MAX;
	}
}

void osrt_put_path(
	const struct call *call, int64_t result, const char *path, uint64_t flags, uint64_t mode)
{
	struct thread *t = call->t;
	if (!path || !t->lane || t->busy)
		return;
	if (result == -1 && SYS3(SYS_faccessat, AT_FDCWD, path, 0) == -EFAULT)
		return; /* a bad pointer, as the kernel has told the program */
	thread_enter(t);
	lane_put(t, call->tick, REC_PATH, (uint64_t)result, flags << 32 | (uint32_t)mode, path,
		text_length(path));
	thread_leave(t);
}

/* ---- calls left or interrupted ---- */

static bool on_signal_stack(void)
{
	stack_t stack;
	if (session.restricted)
		return true; /* not to be asked: taken as interrupted, not as abandoned */
	return SYS2(SYS_sigaltstack, 0, &stack) == 0 && (stack.ss_flags & SS_ONSTACK);
}

static void put_abandoned(struct thread *t, const struct open_call *open, enum record_flag flag)
{
	uint64_t ticks = clock_ticks() - open->tick;
	if (session.spool->osrt_off)
		return;
	/* What stacks that are switched anywhere leave of an open call may be of two: then it is
	 * not known whether this one has ended, and been recorded, already. */
	if (t->spare && flag == RECORD_ABANDONED) {
		t->lane->dropped[DROP_NESTED]++;
		return;
	}
	struct record record = {open->tick,
		ticks << RECORD_LENGTH_SHIFT | (uint64_t)flag << RECORD_FLAGS_SHIFT | open->kind, 0,
		0};
	osrt_put_slow(t, &record);
}

/* Frames below sp are gone, of the same stack: one that runs on another may go on later. */
static bool is_dead(const struct thread *t, const struct open_call *open, uint64_t sp)
{
	return !sp || (open->sp <= sp && thread_same_stack(t, open->sp, sp));
}

/* Of a number that lies in shared memory. */
static uint32_t depth_of(const struct lane *lane)
{
	return lane->open_depth < OPEN_CALLS ? lane->open_depth : OPEN_CALLS;
}

/* A handler may interrupt this anywhere: each call puts back the depth that it found, so the two
 * agree afterwards. */
static void take_up(struct lane *lane)
{
	for (uint32_t depth = depth_of(lane); depth && !lane->open.kind; depth--) {
		struct open_call open = lane->open_stack[depth - 1];
		lane->open.tick = open.tick;
		lane->open.sp = open.sp;
		THREAD_BARRIER();
		lane->open.kind = open.kind;
		THREAD_BARRIER();
		if (!lane->open_stack[depth - 1].kind) /* it has ended meanwhile */
			lane->open.kind = 0;
		lane->open_depth = depth - 1;
	}
}

/* What is not left is open again, not only saved: nobody else takes it from open_stack. */
void osrt_abandon_open(struct thread *t, uint64_t sp, enum record_flag flag)
{
	struct lane *lane = t->lane;
	if (lane->open.kind && is_dead(t, &lane->open, sp)) {
		struct open_call open = lane->open;
		lane->open.kind = 0;
		put_abandoned(t, &open, flag);
	}
	for (uint32_t depth = depth_of(lane); depth; depth--) {
		struct open_call open = lane->open_stack[depth - 1];
		if (open.kind && !is_dead(t, &open, sp))
			break;
		lane->open_depth = depth - 1;
		if (open.kind)
			put_abandoned(t, &open, flag);
	}
	take_up(lane);
}

/*
 * Keeps the open call aside. It may end meanwhile, on another stack: once its place is cleared, it
 * is looked for here; and if it was not yet to be found here, its place says so.
 */
static void open_push(struct lane *lane)
{
	uint32_t depth = depth_of(lane);
	struct open_call open = lane->open;
	lane->open.sp = 0;
	THREAD_BARRIER();
	if (open.kind && depth < OPEN_CALLS) {
		lane->open_stack[depth] = open;
		THREAD_BARRIER();
		lane->open_depth = depth + 1;
		THREAD_BARRIER();
		if (!lane->open.kind || lane->open.tick != open.tick)
			lane->open_stack[depth].kind = 0;
	}
	lane->open.kind = 0;
}

/*
 * A call begins while another is open. Either that one was left without returning (its frame lies
 * below ours), or we are in a signal handler or callback that runs inside it (its frame lies above
 * ours), or on another stack. A handler on its own stack says nothing about frames.
 */
void osrt_interrupted(struct thread *t, uint64_t sp)
{
	struct lane *lane = t->lane;
	thread_look_for_stray(t);
	if (!on_signal_stack()) {
		osrt_abandon_open(t, sp, RECORD_ABANDONED);
		if (lane->open.kind && !thread_same_stack(t, lane->open.sp, sp))
			thread_spare_prepare(t); /* soon one may interrupt the tracer, too */
	}
	open_push(lane);
}

/* Calls of several stacks end in any order. */
void osrt_close(struct lane *lane, uint64_t tick)
{
	if (lane->open.tick == tick)
		lane->open.kind = 0;
	THREAD_BARRIER();
	for (uint32_t depth = depth_of(lane); depth; depth--)
		if (lane->open_stack[depth - 1].tick == tick)
			lane->open_stack[depth - 1].kind = 0;
	take_up(lane);
}

/* A signal frame is larger than this, and larger than what wrappers of one caller differ by. */
#define HANDLER_DISTANCE 512u

void osrt_mend_busy(struct thread *t)
{
	uint64_t sp = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	if (!t->busy || sp + HANDLER_DISTANCE <= t->busy || !thread_same_stack(t, sp, t->busy) ||
		on_signal_stack())
		return;
	t->nested = 0;
	t->busy = 0;
	t->chunk = t->limit = 0; /* what is published counts: go on from there */
}

/* The chain's record and the call's are published together. A call that was left has none: this is
 * another place. */
static void put_with_chain(struct thread *t, const struct record *record)
{
	unsigned slots = 1;
	uint64_t flags = record->word >> RECORD_FLAGS_SHIFT & 15;
	struct record *r = !flags && chains_due(CHAIN_OSRT, record->word >> RECORD_LENGTH_SHIFT)
		? chains_room(t, record->tick, &slots)
		: lane_room(t, slots);
	if (!r)
		return;
	*r = *record;
	lane_publish(t, slots);
}

/* Another stack of this thread, or a handler, has interrupted the tracer. */
static void put_aside(struct thread *t, const struct record *record)
{
	uint64_t sp = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	thread_look_for_stray(t);
	if (!thread_same_stack(t, sp, t->busy) && !on_signal_stack() && thread_put_spare(t, record))
		return;
	lane_put_nested(t, record);
}

void osrt_put_slow(struct thread *t, const struct record *record)
{
	if (gate_is_wiped()) { /* the call is the parent's */
		session_forked();
		return;
	}
	osrt_mend_busy(t);
	if (!t->lane)
		return;
	if (!thread_try_enter(t)) {
		put_aside(t, record);
		return;
	}
	put_with_chain(t, record);
	thread_give(t);
}

uint64_t osrt_end_slow(uint64_t tick, uint64_t ticks, unsigned fn, uint64_t a, uint64_t b)
{
	struct thread *t = &thread_self;
	struct lane *lane = t->lane;
	bool failed = fn & OSRT_FAILED;
	fn &= OSRT_FAILED - 1;
	if (!lane || gate_is_wiped())
		return a;
	osrt_close(lane, tick);
	if (ticks < own_words.osrt_threshold[fn])
		osrt_count(lane, fn, ticks);
	else
		osrt_put(t, tick, ticks << RECORD_LENGTH_SHIFT | fn, a,
			osrt_object(b, failed ? errno : 0));
	return a;
}

uint64_t osrt_put_long(uint64_t tick, unsigned fn, uint64_t a, uint64_t b)
{
	return osrt_put_full(tick, (clock_ticks() - tick) << RECORD_LENGTH_SHIFT | fn, a, b);
}

uint64_t osrt_put_full(uint64_t tick, uint64_t word, uint64_t a, uint64_t b)
{
	struct thread *t = &thread_self;
	struct record record = {tick, word, a, b};
	osrt_put_slow(t, &record);
	return a;
}
