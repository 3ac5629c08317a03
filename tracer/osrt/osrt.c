/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osrt.c - the slow paths of OS runtime calls: calls left or interrupted, records without room.
 */
#define _GNU_SOURCE
#include "tracer/osrt/osrt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "common/schema/fn_ids.h"
#include "common/sys.h"
#include "common/text.h"
#include "machine/machine.h"
#include "tracer/base/libc.h"
#include "tracer/core/chains.h"
#include "tracer/core/pytorch.h"
#include "tracer/session/spare.h"
#include "tracer/osrt/hooks.h"

#define PATH_USUAL_BYTES 256u /* of most paths */
#define PATH_USUAL_SLOTS \
	(1 + (PATH_USUAL_BYTES + TEXT_WORD_BYTES + RECORD_BYTES - 1) / RECORD_BYTES)
_Static_assert((PATH_USUAL_SLOTS - 1) * RECORD_BYTES >= PATH_USUAL_BYTES + TEXT_WORD_BYTES,
	"text_copy_most() stores whole words");

static void path_publish(struct thread *t, struct record *r, struct record head, uint64_t bytes)
{
	head.word |= bytes << RECORD_LENGTH_SHIFT;
	*r = head;
	lane_publish(t, record_slots(bytes));
}

/* Record a path that is mapped. */
static void put_path(struct thread *t, const struct record *head, const char *path)
{
	struct record *r = lane_room_at_hand(t, PATH_USUAL_SLOTS);
	const uint32_t bytes =
		r ? text_copy_most((char *)(r + 1), path, PATH_USUAL_BYTES) : UINT32_MAX;
	if (bytes <= PATH_USUAL_BYTES)
		path_publish(t, r, *head, bytes);
	else
		lane_put(t, head->tick, REC_PATH, head->a, head->b, path, text_length(path));
}

/* Record a path that may be unmapped, unless it is. Return false if it has `room` bytes or more. */
static bool put_path_unsure(
	struct thread *t, const struct record *head, const char *path, uint64_t room)
{
	struct record *r = lane_room(t, record_slots(room));
	char *text = (char *)(r + 1);
	const uint64_t read = r ? sys_memory_read_some((uint64_t)(uintptr_t)path, text, room) : 0,
		       bytes = text_length_within(text, read);
	if (bytes == room)
		return false;
	if (bytes < read) {
		bytes_clear(text + bytes, read - bytes); /* other memory of the program */
		path_publish(t, r, *head, bytes);
	}
	return true;
}

/* Return true if the path of a call may not be mapped. A call that failed may have had a bad
 * pointer. The program need not keep a path until its call returns: once the kernel has copied it,
 * as another thread can tell by the other end of a FIFO, that thread may unmap it. */
static bool may_be_unmapped(const struct call *call, bool failed)
{
	const bool alone = libc.single_threaded && *libc.single_threaded;
	return failed ||
		clock_ticks() - call->tick >= (alone ? osrt_alone_ticks : osrt_quick_ticks);
}

void osrt_put_path(
	const struct call *call, int64_t result, const char *path, uint64_t flags, uint64_t mode)
{
	struct thread *t = call->t;
	if (result >= 0)
		osrt_follow((int)result);
	if (!path || !t->lane || !thread_try_enter(t))
		return;
	const struct record head = {
		call->tick, REC_PATH, (uint64_t)result, flags << 32 | (uint32_t)mode};
	if (!t->lane)
		session_count_inherited(); /* a handler has forked meanwhile */
	else if (!may_be_unmapped(call, result == -1))
		put_path(t, &head, path);
	else if (!put_path_unsure(t, &head, path, PATH_USUAL_BYTES))
		put_path_unsure(t, &head, path, LANE_PAYLOAD_MAX);
	thread_give(t);
}

void osrt_end_long(const struct call *call, unsigned fn, uint64_t a, uint64_t object, int error)
{
	osrt_end_over(
		call, fn, osrt_threshold_of(fn, object, error != 0), a, osrt_object(object, error));
}

/* ---- calls left or interrupted ---- */

#define RECENT_RECORDS 16

/* A handler that interrupts the begin of a call may leave tick and kind of its own call there
 * (lane_open()), which has ended. That call is then in a sum or in the lane: the begin of the open
 * call is not known. */

/* Return true if the open call's begin is that of a call in a sum. The thread's next call marks it:
 * later calls replace lane.summed. */
static bool is_summed(const struct lane *lane, const struct open_call *open)
{
	return open->kind & OPEN_ENDED || open_call_is_summed(open, lane->summed);
}

/* Return true if the open call's begin is that of a recorded call. */
static bool is_recorded(const struct thread *t, const struct open_call *open)
{
	uint64_t head = t->lane->head, at = head % CHUNK_BYTES;
	if (t->chunk != head / CHUNK_BYTES + 1)
		return false;
	const struct record *next = (const void *)(t->base + at), *r = next - 1;
	for (; at && next - r <= RECENT_RECORDS; at -= RECORD_BYTES, r--)
		if (r->tick == open->tick && (r->word & RECORD_KIND_MASK) == open->kind)
			return true;
	return false;
}

static void put_abandoned(struct thread *t, const struct open_call *open, enum record_flag flag)
{
	uint64_t ticks = clock_ticks() - open->tick;
	const struct spool_header *spool = session.spool; /* NULL if a handler has forked */
	struct lane *lane = t->lane;
	if (!spool || !lane || spool->osrt_off)
		return;
	/* If the thread switches stacks, a copy of an open call may remain: it is not known whether
	 * this call has ended, and been recorded, already. */
	if ((t->stacks && flag == RECORD_ABANDONED) || open->kind & OPEN_UNSURE ||
		is_summed(lane, open) || is_recorded(t, open)) {
		lane->dropped[DROP_NESTED]++;
		return;
	}
	struct record record = {open->tick,
		ticks << RECORD_LENGTH_SHIFT | (uint64_t)flag << RECORD_FLAGS_SHIFT | open->kind, 0,
		0};
	osrt_put_slow(t, &record);
}

/* Return true if the call's frame is gone: it is below sp, in the same stack. A call on another
 * stack may continue. */
static bool is_dead(const struct thread *t, const struct open_call *open, uint64_t sp)
{
	return !sp || (open->sp <= sp && thread_same_stack(t, open->sp, sp));
}

/* Return the depth, which is read from shared memory, within its bounds. */
static uint32_t depth_of(const struct lane *lane)
{
	return lane->open_depth < OPEN_CALLS ? lane->open_depth : OPEN_CALLS;
}

/* Take the open call away, unless the call has ended meanwhile. Return false if it has ended: its
 * stack may have begun another call, with the same stack pointer. */
static bool open_take(struct lane *lane, const struct open_call *open)
{
	uint64_t expected[2] = {open->sp, open->tick};
	return machine_owner_exchange_pair(&lane->open.sp, expected, 0, open->tick);
}

/* Return true if the call of that entry of open_stack has ended. */
static bool has_ended(const struct lane *lane, uint32_t at)
{
	return !OPEN_FUNCTION(lane->open_stack[at].kind);
}

/* Make the innermost saved call the open call again. A handler may interrupt this anywhere: each
 * call restores the depth that it found, so the two agree afterwards. */
static void take_up(struct lane *lane)
{
	for (uint32_t depth = depth_of(lane); depth && !lane->open.sp; depth--) {
		struct open_call open = lane->open_stack[depth - 1];
		if (OPEN_FUNCTION(open.kind)) {
			lane_open(lane, &open);
			if (has_ended(lane, depth - 1)) /* meanwhile */
				open_take(lane, &open);
		}
		lane->open_depth = depth - 1;
	}
}

/* A call that was not left becomes the open call again and is not only saved: nothing else takes it
 * from open_stack. */
void osrt_abandon_open(struct thread *t, uint64_t sp, enum record_flag flag)
{
	struct lane *lane = t->lane;
	if (!lane) /* a handler has forked meanwhile */
		return;
	struct open_call now = lane->open;
	if (now.sp && is_dead(t, &now, sp) && open_take(lane, &now))
		put_abandoned(t, &now, flag);
	for (uint32_t depth = depth_of(lane); depth; depth--) {
		struct open_call open = lane->open_stack[depth - 1];
		if (OPEN_FUNCTION(open.kind) && !is_dead(t, &open, sp))
			break;
		lane->open_depth = depth - 1;
		if (OPEN_FUNCTION(open.kind))
			put_abandoned(t, &open, flag);
	}
	take_up(lane);
}

/* Save the open call. Return false if it has ended meanwhile, on another stack: the next call of
 * that stack may be open now. */
static bool open_push(struct lane *lane, struct open_call open)
{
	uint32_t depth = depth_of(lane);
	for (uint32_t i = 0; i < depth && open.kind & OPEN_UNSURE; i++)
		lane->open_stack[i].kind |= OPEN_UNSURE;
	if (depth < OPEN_CALLS) {
		lane->open_stack[depth] = open;
		THREAD_BARRIER();
		lane->open_depth = depth + 1;
		THREAD_BARRIER();
	}
	bool taken = open_take(lane, &open);
	if (!taken && depth < OPEN_CALLS)
		lane->open_stack[depth].kind = 0;
	return taken;
}

/* Other stacks may interrupt the saving of their calls as often as they begin another one. */
#define PUSHES_MAX 16

/*
 * A call begins while another is open. Either the open call was left without returning (its frame
 * is below ours), or this is a signal handler or callback that runs inside it (its frame is above
 * ours), or it is on another stack. A handler on its own stack proves nothing about frames.
 */
void osrt_interrupted(struct thread *t, uint64_t sp)
{
	struct lane *lane = t->lane;
	if (!lane) /* a handler has forked meanwhile */
		return;
	bool is_on_signal_stack = thread_on_signal_stack();
	thread_look_for_stray(t);
	if (is_summed(lane, &lane->open))
		lane->open.kind |= OPEN_ENDED;
	if (!is_on_signal_stack) {
		osrt_abandon_open(t, sp, RECORD_ABANDONED);
		if (lane->open.sp && !thread_same_stack(t, lane->open.sp, sp)) {
			t->stacks = 1;
			spare_prepare(t); /* a stack switch may soon interrupt the tracer, too */
		}
	}
	for (unsigned i = 0; i < PUSHES_MAX && lane->open.sp; i++) {
		struct open_call open = lane->open;
		if (!is_on_signal_stack && !thread_same_stack(t, open.sp, sp))
			open.kind |= OPEN_UNSURE;
		if (open_push(lane, open))
			break;
	}
}

/* Return true if the call began before this process had its spool. */
static bool is_inherited(uint64_t tick)
{
	const struct spool_header *spool = session.spool;
	return !spool || tick < spool->first.tick;
}

void osrt_end_inherited(struct thread *t)
{
	if (gate_is_wiped())
		session_forked();
	if (!t->gone)
		session_count_inherited();
}

/* Close a call. Calls of several stacks end in any order. */
bool osrt_close(struct lane *lane, uint64_t tick)
{
	if (is_inherited(tick)) {
		session_count_inherited();
		return false;
	}
	if (lane->open.tick == tick || is_summed(lane, &lane->open))
		lane->open.sp = 0;
	else
		thread_look_for_stray(&thread_self);
	THREAD_BARRIER();
	for (uint32_t depth = depth_of(lane); depth; depth--)
		if (lane->open_stack[depth - 1].tick == tick)
			lane->open_stack[depth - 1].kind = 0;
	take_up(lane);
	return true;
}

/* Return true for functions that the interpreter does not call to take a lock of its own. */
static bool takes_no_lock(uint64_t fn)
{
	return fn == FN_read || fn == FN_write || fn == FN_select || fn == FN_poll ||
		fn == FN_ioctl || fn == FN_clock_nanosleep || fn == FN_nanosleep ||
		fn == FN_epoll_wait || fn == FN_open64 || fn == FN_openat64 || fn == FN_open;
}

/* Publish the record of the chain and that of the call together. A call that was left has no
 * chain: the thread is elsewhere now. */
static void put_with_chain(struct thread *t, const struct record *record)
{
	struct gil_call found = {0};
	uint64_t flags = record->word >> RECORD_FLAGS_SHIFT & 15,
		 fn = record->word & RECORD_KIND_MASK;
	unsigned waits = !flags && gil_may_be((unsigned)fn, record->b) ? gil_look(t, record, &found)
								       : 0,
		 slots = 1 + waits;
	t->unmapped = fn == FN_munmap || fn == FN_mremap;
	struct record *r = !flags && chains_due(CHAIN_OSRT, record->word >> RECORD_LENGTH_SHIFT)
		? chains_room(t, record->tick, &slots)
		: lane_room(t, slots);
	t->unmapped = 0;
	if (!r)
		return;
	if (gate_is_wiped()) { /* forked meanwhile: the call is the parent's, and perhaps the lane
				  is */
		session_count_inherited();
		return;
	}
	*r = *record;
	if (found.is_wait)
		gil_put(t, r, slots > 1 + waits, &found);
	lane_publish(t, slots);
	if (__builtin_expect(pytorch_may_come, 0) && takes_no_lock(fn))
		pytorch_look(t);
	if (slots > 1 + waits)
		thread_long_call(t, record->tick, record->word >> RECORD_LENGTH_SHIFT);
}

/* Record a call of another stack of this thread, or of a handler, that interrupted the tracer. */
static void put_aside(struct thread *t, const struct record *record)
{
	uint64_t sp = (uint64_t)(uintptr_t)MACHINE_FRAME();
	thread_look_for_stray(t);
	if (!thread_same_stack(t, sp, thread_busy_at(t)) && !thread_on_signal_stack() &&
		spare_put(t, record))
		return;
	lane_put_nested(t, record);
}

void osrt_put_slow(struct thread *t, const struct record *record)
{
	if (gate_is_wiped()) { /* the call was the parent's */
		osrt_end_inherited(t);
		return;
	}
	thread_mend_guard(t);
	if (!t->lane) {
		osrt_end_inherited(t);
		return;
	}
	if (!thread_try_enter(t)) {
		put_aside(t, record);
		return;
	}
	/* Tested within the guard: see thread_enter_attached(). */
	if (!t->lane || is_inherited(record->tick))
		session_count_inherited();
	else
		put_with_chain(t, record);
	thread_give(t);
}

uint64_t osrt_end_slow(uint64_t tick, uint64_t ticks, unsigned fn, uint64_t a, uint64_t b)
{
	struct thread *t = &thread_self;
	struct lane *lane = t->lane;
	bool failed = fn & OSRT_FAILED;
	fn &= OSRT_FAILED - 1;
	if (!lane || gate_is_wiped()) {
		osrt_end_inherited(t);
		return a;
	}
	if (!osrt_close(lane, tick))
		return a;
	if (ticks < osrt_threshold_of(fn, b, failed))
		osrt_count(lane, fn, tick, ticks);
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
