/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.c - the open calls of library functions, and the records of calls.
 *
 * A signal handler may interrupt any of this and call recorded functions: it leaves depth and
 * entries as it found them, except that it takes entries away whose calls have ended.
 */
#define _GNU_SOURCE
#include "tracer/functions/functions.h"

#include "common/clock.h"
#include "common/text.h"
#include "machine/machine.h"
#include "tracer/core/chains.h"
#include "tracer/core/gate.h"
#include "tracer/core/lane.h"
#include "tracer/core/state.h"
#include "tracer/functions/words.h"
#include "tracer/session/spare.h"

/* Publish the record, and those of its chain and its words. */
static void put_within(struct thread *t, const struct record *record, struct function_open *open,
	const struct function_frame *f)
{
	uint64_t ticks = record->word >> RECORD_LENGTH_SHIFT;
	const struct function_stack *stack = function_stack_of(t->lane);
	if (open && (!stack || open - stack->open >= FUNCTION_STACK_MAX || open < stack->open))
		return; /* forked meanwhile: the call is the parent's */
	const struct function_words *words = open ? words_of(stack, open) : NULL;
	const struct words_size size = words_size_of(words, f);
	unsigned slots = size.slots + 1;
	if (!words)
		added_drop(f);
	bool left = record->word >> RECORD_FLAGS_SHIFT & 15; /* the thread is elsewhere now */
	struct record *r = !left && chains_due(CHAIN_FUNCTION, ticks)
		? chains_room(t, record->tick, &slots)
		: lane_room(t, slots);
	if (!r || gate_is_wiped()) /* forked meanwhile: the call is the parent's */
		return;
	*words_fill(r, &size, words, f, record->tick) = *record;
	if (open)
		open->recorded_at = t->lane->head + (uint64_t)slots * RECORD_BYTES;
	lane_publish(t, slots);
}

void function_put(struct thread *t, const struct record *record, struct function_open *open,
	const struct function_frame *f)
{
	uint64_t sp = (uint64_t)(uintptr_t)MACHINE_FRAME();
	thread_mend_guard(t);
	if (!t->lane || !session.spool)
		return;
	if (thread_try_enter(t)) {
		if (t->lane)
			put_within(t, record, open, f);
		thread_give(t);
		return;
	}
	thread_look_for_stray(t);
	added_drop(f);
	if (thread_same_stack(t, sp, thread_busy_at(t)) || thread_on_signal_stack() ||
		!spare_put(t, record))
		lane_put_nested(t, record);
}

static bool is_recorded(const struct lane *lane, const struct function_open *open)
{
	return open->recorded_at && open->recorded_at <= lane->head;
}

/* Return false in a child that a handler has forked meanwhile: its parent's entries are gone. */
static bool leave(
	struct thread *t, struct function_open *open, uint32_t level, enum record_flag flag)
{
	uint32_t epoch = names_epoch;
	struct record record = {open->tick, 0, 0, open->names};
	if (!record.tick || is_recorded(t->lane, open)) {
		open->tick = 0;
		return true;
	}
	record.word = (clock_ticks() - record.tick) << RECORD_LENGTH_SHIFT |
		(uint64_t)flag << RECORD_FLAGS_SHIFT |
		(REC_FUNCTION + (level < FUNCTION_LEVEL_MAX ? level : FUNCTION_LEVEL_MAX));
	function_put(t, &record, open, NULL);
	if (!own_words.alive || epoch != names_epoch)
		return false;
	open->tick = 0;
	return true;
}

/* Return true if the call's frame is gone: it is not above sp, in the same stack. */
static bool is_gone(const struct thread *t, const struct function_open *open, uint64_t sp)
{
	return !sp || (open->sp <= sp && thread_same_stack(t, open->sp, sp));
}

void functions_calls_left(struct thread *t, uint64_t sp, enum record_flag flag)
{
	struct lane *lane = t->lane;
	struct function_stack *stack =
		function_tables && lane && session.spool ? function_stack_of(lane) : NULL;
	uint64_t depth = stack ? stack->depth : 0;
	if (depth > FUNCTION_STACK_MAX && !is_gone(t, &stack->open[FUNCTION_STACK_MAX - 1], sp))
		return;
	if (depth > FUNCTION_STACK_MAX)
		depth = FUNCTION_STACK_MAX;
	for (; depth; depth--) {
		struct function_open *open = &stack->open[depth - 1];
		if (open->tick && !is_gone(t, open, sp))
			break;
		if (!leave(t, open, (uint32_t)depth - 1, flag))
			return;
	}
	if (stack)
		stack->depth = depth;
}
