#define _GNU_SOURCE
#include "tracer/osrt.h"

#include <signal.h>

#include "common/sys.h"

uint64_t osrt_threshold[FN_MAX];

static bool on_signal_stack(void)
{
	stack_t stack;
	return SYS2(SYS_sigaltstack, 0, &stack) == 0 && (stack.ss_flags & SS_ONSTACK);
}

static void put_abandoned(struct thread *t, const struct open_call *open)
{
	uint64_t ticks = clock_ticks() - open->tick;
	struct record record = {open->tick,
				ticks << RECORD_LENGTH_SHIFT | (uint64_t)RECORD_ABANDONED << RECORD_FLAGS_SHIFT | open->kind, 0, 0};
	osrt_put_slow(t, &record);
}

/* Frames below sp are gone. */
static bool is_dead(const struct open_call *open, uint64_t sp)
{
	return !sp || open->sp < sp;
}

void osrt_abandon_open(struct thread *t, uint64_t sp)
{
	struct lane *lane = t->lane;
	if (lane->open.kind && is_dead(&lane->open, sp)) {
		struct open_call open = lane->open;
		lane->open.kind = 0;
		put_abandoned(t, &open);
	}
	while (lane->open_depth && is_dead(&lane->open_stack[lane->open_depth - 1], sp)) {
		struct open_call open = lane->open_stack[--lane->open_depth];
		put_abandoned(t, &open);
	}
}

/*
 * A call begins while another is open. Either that one was left without returning (its frame lies below ours), or we are in a
 * signal handler or callback that runs inside it (its frame lies above ours). A handler on its own stack says nothing about frames.
 */
void osrt_interrupted(struct thread *t, uint64_t sp)
{
	struct lane *lane = t->lane;
	if (!on_signal_stack())
		osrt_abandon_open(t, sp);
	if (!lane->open.kind)
		return;
	if (lane->open_depth < OPEN_CALLS)
		lane->open_stack[lane->open_depth++] = lane->open;
	lane->open.kind = 0;
}

void osrt_resume(struct thread *t)
{
	struct lane *lane = t->lane;
	lane->open = lane->open_stack[--lane->open_depth];
}

void osrt_put_slow(struct thread *t, const struct record *record)
{
	thread_enter(t);
	if (t->busy > 1) {
		if (t->lane)
			lane_put_nested(t, record);
	} else {
		struct record *r = lane_room(t, 1);
		if (r) {
			*r = *record;
			lane_publish(t, 1);
		}
	}
	thread_leave(t);
}
