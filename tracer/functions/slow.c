/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow.c - the slow paths of calls of library functions: first calls, calls that were left, other
 * threads, forked children. All registers that the call uses are saved around them (call.c).
 */
#define _GNU_SOURCE
#include "tracer/functions/functions.h"

#include "common/clock.h"
#include "common/sys.h"
#include "tracer/core/lane.h"
#include "tracer/core/spool_file.h"
#include "tracer/core/state.h"
#include "tracer/functions/words.h"
#include "tracer/session/attach.h"
#include "tracer/session/fork.h"
#include "unwind/rules.h"

#include <fcntl.h>

/* Allocate the stack of open calls of the thread's lane, with room for words if some prototype may
 * keep any. */
static bool stack_make(struct thread *t)
{
	void *place = NULL;
	bool has_words = function_tables->prototype_count != 0;
	uint64_t bytes = FUNCTION_STACK_BYTES + (has_words ? FUNCTION_WORDS_BYTES : 0);
	if (!thread_try_enter(t))
		return false;
	struct lane *lane = t->lane;
	if (lane && !session.restricted && !function_stack_of(lane)) {
		uint64_t offset = spool_file_take(bytes, bytes, &place);
		if (offset) {
			struct function_stack *stack = spool_file_at(offset);
			stack->has_words = has_words;
			function_tables->stacks[lane->index % SPOOL_LANES_MAX] = stack;
		}
		lane->functions = offset;
	}
	thread_give(t);
	return lane && function_stack_of(lane);
}

bool function_begin_slow(struct function_frame *f)
{
	struct thread *t = &thread_self;
	uint64_t sp = (uint64_t)(uintptr_t)&f->return_address;
	if (!gate_is_open() || t->vfork_pid || (t->shared && thread_is_stray(t)))
		return false;
	if (!t->lane && !thread_attach(t))
		return false;
	thread_mend_guard(t);
	if (!function_stack_of(t->lane) && !stack_make(t)) {
		session_count_drop(DROP_NO_LANE);
		return false;
	}
	if (thread_try_enter(t)) {
		function_names((uint32_t)f->number); /* writes them to the spool */
		thread_give(t);
	}
	if (t->lane && function_stack_of(t->lane)->depth && !thread_on_signal_stack())
		functions_calls_left(t, sp, RECORD_ABANDONED);
	return t->lane && function_stack_of(t->lane);
}

bool function_child_slow(void)
{
	gate_is_open(); /* sets up a forked child */
	return own_words.alive;
}

/* Take away the entries above the call's own: they were left, or are on other stacks. */
static void close_above(struct thread *t, const struct function_frame *f)
{
	struct function_stack *stack = f->stack;
	uint64_t sp = (uint64_t)(uintptr_t)&f->return_address;
	if (stack->depth > f->level + 1)
		functions_calls_left(t, sp - 8, RECORD_ABANDONED);
	f->open->tick = 0;
	while (stack->depth && stack->depth <= FUNCTION_STACK_MAX &&
		!stack->open[stack->depth - 1].tick)
		stack->depth--;
}

void function_leave_slow(struct function_frame *f, uint64_t ticks)
{
	struct thread *t = &thread_self;
	uint64_t sp = (uint64_t)(uintptr_t)&f->return_address, tick = f->tick;
	struct function_open *open = f->open;
	/* The parent records a call that began before a fork. */
	if (!own_words.alive || !session.spool || f->epoch != names_epoch)
		return;
	if (open && (open->tick != tick || open->sp != sp)) {
		added_drop(f); /* the call has been taken for left, and was recorded */
		return;
	}
	bool moved = f->lane != t->lane; /* a fiber that another thread has continued */
	uint64_t names = open ? open->names : 0;
	if (!names) {
		thread_enter(t);
		names = function_names((uint32_t)f->number);
		thread_leave(t);
	}
	if (moved && open &&
		!__atomic_compare_exchange_n(
			&open->tick, &tick, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return;
	if (!t->lane && !thread_attach(t)) /* counts the call as dropped */
		return;
	uint32_t level = f->level < FUNCTION_LEVEL_MAX ? f->level : FUNCTION_LEVEL_MAX;
	struct record record = {
		f->tick, ticks << RECORD_LENGTH_SHIFT | (REC_FUNCTION + level), f->words[0], names};
	function_put(t, &record, moved ? NULL : open, f);
	if (moved || !own_words.alive || f->epoch != names_epoch) /* forked meanwhile */
		return;
	if (open)
		close_above(t, f);
	else if (f->stack->depth > f->level)
		f->stack->depth = f->level;
}

void function_hook_slow(struct function_frame *f, uint64_t end_tick)
{
	struct function_words *words = words_of_call(f);
	struct hooked_call call = {.words = f->words,
		.arguments = f->arguments,
		.count = CALL_REGISTER_WORDS + f->copied / 8,
		.is_recorded = f->traced == TRACED,
		.begin_tick = f->tick,
		.end_tick = end_tick,
		.scratch = f->scratch,
		.kept = words ? words->word : NULL,
		.kept_count = words ? words_count(words) : 0,
		.real = function_tables->functions[f->number].real,
		.library = function_tables->functions[f->number].name->domain,
		.code = f->return_address};
	uint32_t hook = FUNCTION_HOOK_NUMBER(f->hook);
	const struct call_hooks *hooks = call_hooks[hook / CALL_HOOK_NUMBERS];
	if (!end_tick)
		hooks->before(hook % CALL_HOOK_NUMBERS, &call);
	else if (own_words.alive)
		hooks->after(hook % CALL_HOOK_NUMBERS, &call);
}

uint32_t function_rule_slow(uint64_t address, uint64_t from)
{
	uint32_t rule = rules_find_slow(address);
	uint32_t kind = RULE_KIND(rule);
	if (kind == RULE_SP || kind == RULE_BP || kind == RULE_OTHER)
		return rule;
	/* Nothing is known about the caller's frame, which may be the last of its stack. */
	uint64_t page = (from + UNKNOWN_ARGUMENTS_BYTES - 1) & ~UINT64_C(4095);
	if (page <= from)
		return rule;
	if (session.restricted)
		return RULE_REFUSED;
	return SYS4(SYS_faccessat, AT_FDCWD, page, 0, 0) == -14 /* EFAULT */ ? RULE_NONE : rule;
}
