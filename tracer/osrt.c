#define _GNU_SOURCE
#include "tracer/osrt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "common/schema/fn_groups.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/chains.h"

uint64_t osrt_threshold[FN_MAX];
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

void osrt_start(void)
{
	uint64_t threshold = osrt_ticks(session.config.threshold_ns);
	osrt_off = session.spool->osrt_off;
	for (unsigned fn = 0; fn < sizeof(rows) / sizeof(rows[0]); fn++) {
		enum rule rule = rows[fn].rule;
		osrt_threshold[fn] = rule == ALWAYS || rule == CONTENDED ? 0 : threshold;
		if (rule == QUIET && !session.config.all_locks)
			osrt_threshold[fn] = UINT64_MAX;
		if (rule == CONTENDED && session.config.all_locks)
			osrt_threshold[fn] = threshold;
		if (session.config.file_access && touches_files(rows[fn].group))
			osrt_threshold[fn] = 0;
		if (session.spool->osrt_off)
			osrt_threshold[fn] = UINT64_MAX;
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
	struct record record = {open->tick,
		ticks << RECORD_LENGTH_SHIFT | (uint64_t)flag << RECORD_FLAGS_SHIFT | open->kind, 0,
		0};
	osrt_put_slow(t, &record);
}

/* Frames below sp are gone. */
static bool is_dead(const struct open_call *open, uint64_t sp)
{
	return !sp || open->sp <= sp;
}

/* The call that the innermost one had interrupted goes on. Copied before the depth says so: a
 * handler in between may put its own calls behind it, and not in its place. */
static void resume(struct lane *lane, uint32_t depth)
{
	lane->open = lane->open_stack[depth];
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	lane->open_depth = depth;
}

/* What is not left is open again, not only saved: nobody else takes it from open_stack. */
void osrt_abandon_open(struct thread *t, uint64_t sp, enum record_flag flag)
{
	struct lane *lane = t->lane;
	while (lane->open.kind || lane->open_depth) {
		if (!lane->open.kind) {
			resume(lane, lane->open_depth - 1);
			continue;
		}
		if (!is_dead(&lane->open, sp))
			break;
		struct open_call open = lane->open;
		lane->open.kind = 0;
		put_abandoned(t, &open, flag);
	}
}

/*
 * A call begins while another is open. Either that one was left without returning (its frame lies
 * below ours), or we are in a signal handler or callback that runs inside it (its frame lies above
 * ours). A handler on its own stack says nothing about frames.
 */
uint32_t osrt_interrupted(struct thread *t, uint64_t sp)
{
	struct lane *lane = t->lane;
	if (!on_signal_stack())
		osrt_abandon_open(t, sp, RECORD_ABANDONED);
	if (!lane->open.kind)
		return 0;
	uint32_t depth = lane->open_depth;
	if (depth >= OPEN_CALLS) {
		lane->open.kind = 0;
		return 0;
	}
	lane->open_stack[depth] = lane->open;
	lane->open_depth = depth + 1;
	lane->open.kind = 0;
	return depth + 1;
}

/* A handler may interrupt this anywhere: each call puts back the depth that it found, so the two
 * agree afterwards. */
void osrt_resume(struct thread *t, uint32_t interrupted)
{
	resume(t->lane, interrupted - 1);
}

/* A signal frame is larger than this, and larger than what wrappers of one caller differ by. */
#define HANDLER_DISTANCE 512u

void osrt_mend_busy(struct thread *t)
{
	uint64_t sp = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	if (!t->busy || sp + HANDLER_DISTANCE <= t->busy || on_signal_stack())
		return;
	t->nested = 0;
	t->busy = 0;
	t->cur = t->end = t->chunk_end = NULL; /* what is published counts: go on from there */
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

void osrt_put_slow(struct thread *t, const struct record *record)
{
	osrt_mend_busy(t);
	thread_enter(t);
	if (t->nested) {
		if (t->lane)
			lane_put_nested(t, record);
	} else {
		put_with_chain(t, record);
	}
	thread_leave(t);
}

uint64_t osrt_end_slow(uint64_t tick, uint64_t ticks, unsigned fn, uint64_t a, uint64_t b)
{
	struct thread *t = &thread_self;
	struct lane *lane = t->lane;
	bool failed = fn & OSRT_FAILED;
	fn &= OSRT_FAILED - 1;
	if (!lane)
		return a;
	lane->open.kind = 0;
	if (ticks < osrt_threshold[fn])
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
