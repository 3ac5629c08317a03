/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tracer_function_stubs.c - the table of functions that have a stub, while a thread holds its
 * lock: functions that get no stub are counted, and stubs that exist are found. Calls: which path
 * they take, and whose words their hooks get.
 */
#define _GNU_SOURCE
#include "tap.h"
#include "tracer_session.h"

#include "tracer/functions/table.c"

/* Frames of calls, the second one above the first. */
static _Alignas(16) char frames[2][512];
static uint64_t kept[2]; /* the word that the hook got of each call */

static void hook_after(uint32_t hook, struct hooked_call *call)
{
	(void)hook;
	kept[call->scratch[0]] = call->kept ? call->kept[0] : 0;
}

static struct function_frame *enter(unsigned frame, uint64_t number, uint64_t word)
{
	struct function_frame *f = (void *)frames[frame];
	uint64_t before = clock_ticks();
	while (clock_ticks() == before) /* each call has a tick of its own */
		;
	*f = (struct function_frame){.words = {word}, .number = number, .scratch = {frame}};
	function_enter(f);
	return f;
}

/* A thread that takes the lane of one that has ended finds the stack of open calls there. */
static void lane_taken_over(void)
{
	struct thread *t = &thread_self;
	function_leave(enter(0, 0, 0)); /* makes the stack */
	struct function_stack *stack = function_stack_of(t->lane);
	stack->has_words = 0;
	t->functions = NULL;
	t->functions_lane = NULL;
	function_leave(enter(0, 0, 0));
	check(t->functions == stack && t->functions_lane == t->lane,
		"a thread that takes over a lane takes the short path from the second call on");
	stack->has_words = 1;
}

/* A call from a frame above it, as on a fiber, takes the entry of a call that has not ended. */
static void entry_taken(struct function_tables *tables)
{
	static const struct call_hooks hooks = {.after = hook_after, .is_plain = true};
	static struct name name;
	call_hooks[CALL_HOOKS_OPENCL] = &hooks;
	name.ref = 1;
	tables->prototypes[1] = (struct kept_words){
		.name = &name, .count = 1, .readable = 1, .words = {{.mask = UINT64_MAX}}};
	tables->functions[1].prototype = 1;
	tables->functions[1].hook = FUNCTION_HOOK(CALL_HOOKS_OPENCL, 1) | FUNCTION_HOOK_AFTER;
	struct function_frame *first = enter(0, 1, 11), *second = enter(1, 1, 22);
	check(first->open && first->open == second->open, "a call above takes the entry");
	function_leave(first);
	function_leave(second);
	check(kept[0] == 0 && kept[1] == 22, "a hook gets the words of its own call, or none");
}

static void beyond_the_maximum(void)
{
	const uint32_t count = function_counts.functions;
	const uint64_t first = function_counts.matched_patterns[0];
	patterns_read("libone.so:f_none,libone.so:f_th*");
	function_counts.functions = FUNCTIONS_MAX;
	check(!function_stub(3, "f_three", "libone.so") && !first &&
			function_counts.matched_patterns[0] == 2,
		"a function beyond the maximum gets no stub, but its pattern matches");
	function_counts.functions = count;
	function_tables->pattern_count = 0;
}

/* Others count in the spool at the same time. */
static void counts_stay(void)
{
	session.spool->opencl.enqueued = 5;
	function_looked_up(1, "f_one", "libone.so");
	functions_describe(session.spool);
	check(session.spool->function.looked_up == function_counts.looked_up &&
			session.spool->opencl.enqueued == 5,
		"counts of commands of OpenCL stay when those of functions are copied");
}

/* Rows of libraries.def with the same text, which the linker merges, may differ in this. */
static void prototypes_of_one_text(void)
{
	static const char text[] = "_, _, _, _, _, _, _, _, _, ptr last";
	uint32_t words = 10 - CALL_REGISTER_WORDS;
	uint32_t some = prototype_find(text, text_end(text), false);
	uint32_t all = prototype_find(text, text_end(text), true);
	check(some && copied_of(some) == COPIED_BY_FRAME && copied_of(all) == words * 8 &&
			all == prototype_find(text, text_end(text), true),
		"of a prototype, only a function that has no further arguments copies no more");
}

int main(void)
{
	static struct function_tables tables;
	static char stubs[2 * FUNCTION_STUB_BYTES];
	if (!tracer_session_start())
		return 1;
	function_tables = &tables;
	function_stubs_begin = stubs;
	const void *stub = function_looked_up(1, "f_one", "libone.so");
	check(stub == stubs && function_stub_is_given(1, "f_one", "libone.so"),
		"a function that is looked up gets a stub");
	check(!function_stub_is_given(2, "f_two", "libone.so"), "another one was not looked up");
	stubs_lock = LOCK_HELD;
	check(!function_stub(2, "f_two", "libone.so") && function_counts.no_room == 1 &&
			session.spool->function.no_room == 1,
		"a function without a stub is counted if the lock is not free");
	check(function_looked_up(1, "f_one", "libone.so") == stub && function_counts.no_room == 1,
		"a stub that exists is found");
	bounded_lock_give(&stubs_lock);
	check(function_stub(2, "f_two", "libone.so") == stubs + FUNCTION_STUB_BYTES &&
			!function_stub_is_given(2, "f_two", "libone.so"),
		"the function gets its stub when the lock is free");
	tables.prototype_count = 2; /* so that stacks have room for words */
	tables.functions[0].copied = tables.functions[1].copied = 0;
	lane_taken_over();
	entry_taken(&tables);
	prototypes_of_one_text();
	beyond_the_maximum();
	counts_stay();
	tracer_session_end();
	return tap_done();
}
