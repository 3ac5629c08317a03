/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.c - the hot path of calls of library functions.
 *
 * Compiled with -mgeneral-regs-only, since vector and x87 registers hold arguments and results. The
 * slow paths are called with these registers saved.
 */
#define _GNU_SOURCE
#include "tracer/functions/functions.h"

#if MACHINE_FUNCTIONS
#include <signal.h>
#include <stddef.h>

#include "common/clock.h"
#include "common/sys.h"
#include "machine/machine.h"
#include "tracer/core/chains.h"
#include "tracer/core/gate.h"
#include "tracer/core/lane.h"
#include "tracer/core/state.h"
#include "tracer/functions/words.h"
#include "unwind/rules.h"
#include MACHINE_CALLING

#define FRAME_WORDS (CALL_REGISTER_WORDS + 2u)
_Static_assert(offsetof(struct function_frame, number) == FRAME_WORDS * 8 &&
		offsetof(struct function_frame, copied) == FRAME_WORDS * 8 + 16 &&
		offsetof(struct function_frame, traced) == FRAME_WORDS * 8 + 20 &&
		offsetof(struct function_frame, bp) == FRAME_WORDS * 8 + 128,
	"function_stubs.S knows these offsets");

/* ---- slow paths ---- */

enum slow_path { SLOW_BEGIN, SLOW_LEAVE, SLOW_RULE, SLOW_CLOCK, SLOW_HOOK, SLOW_FORKED };

static uint64_t slow_call(enum slow_path path, struct function_frame *f, uint64_t value)
{
	switch (path) {
	case SLOW_BEGIN:
		return function_begin_slow(f);
	case SLOW_LEAVE:
		function_leave_slow(f, value);
		return 0;
	case SLOW_RULE:
		return function_rule_slow(value, (uint64_t)(uintptr_t)f->arguments);
	case SLOW_HOOK:
		function_hook_slow(f, value);
		return 0;
	case SLOW_FORKED:
		return function_child_slow();
	default:
		return clock_ticks();
	}
}

static __attribute__((noinline, cold)) uint64_t slow_saved(
	enum slow_path path, struct function_frame *f, uint64_t value)
{
	struct machine_vectors vectors;
	machine_vectors_save(&vectors);
	uint64_t result = slow_call(path, f, value);
	machine_vectors_restore(&vectors);
	return result;
}

/* What a slow path needs: 4.6 KiB were measured. Callchains look for their own room. */
#define SLOW_STACK_BYTES 6144u

/* stack_has() on a stack that is not the thread's own. The end of an alternate signal stack is
 * asked of the kernel; of another stack of the program, it is not known. */
static __attribute__((noinline, cold)) bool other_stack_has(uint64_t sp, uint64_t bytes)
{
	stack_t stack = {.ss_flags = 0};
	if (session.restricted || SYS2(SYS_sigaltstack, 0, &stack) != 0 ||
		!(stack.ss_flags & SS_ONSTACK))
		return true;
	return sp - (uint64_t)(uintptr_t)stack.ss_sp >= bytes;
}

/* Return true if the stack has `bytes` more. */
static inline bool stack_has(const struct thread *t, uint64_t bytes)
{
	uint64_t sp = (uint64_t)(uintptr_t)__builtin_frame_address(0), left = sp - t->stack_low;
	return __builtin_expect(left < t->stack_high - t->stack_low, 1)
		? left >= bytes
		: other_stack_has(sp, bytes);
}

/* Leave the end of a call unrecorded, and take its entry away. */
static void leave_unrecorded(struct function_frame *f)
{
	struct function_open *open = f->open;
	if (!own_words.alive || f->epoch != names_epoch) /* the call is the parent's */
		return;
	if (open && (open->tick != f->tick || thread_self.lane != f->lane))
		return; /* the entry was recorded, or will be: see function_leave_slow() */
	session_count_drop(DROP_NO_LANE);
	if (open)
		open->tick = 0;
	if (thread_self.lane == f->lane && f->stack->depth == f->level + 1)
		f->stack->depth = f->level;
}

/* Take a slow path. If there is no room for it, the call is not recorded: return RULE_REFUSED for a
 * rule, otherwise 0. */
static __attribute__((noinline, cold)) uint64_t slow(
	enum slow_path path, struct function_frame *f, uint64_t value)
{
	if (path == SLOW_CLOCK || stack_has(&thread_self, SLOW_STACK_BYTES))
		return slow_saved(path, f, value);
	if (path == SLOW_LEAVE)
		leave_unrecorded(f);
	if (path == SLOW_BEGIN)
		session_count_drop(DROP_NO_LANE);
	return path == SLOW_RULE ? RULE_REFUSED : 0;
}

/* Call the hook before the call (end_tick 0), or after it. */
static inline void hook_run(struct function_frame *f, uint64_t end_tick)
{
	uint32_t source = FUNCTION_HOOK_NUMBER(f->hook) / CALL_HOOK_NUMBERS;
	if (!call_hooks[source]->is_plain)
		slow(SLOW_HOOK, f, end_tick);
	else if (stack_has(&thread_self, SLOW_STACK_BYTES))
		function_hook_slow(f, end_tick);
}

static inline uint64_t ticks_now(struct function_frame *f)
{
	return __builtin_expect(clock_is_tsc, 1) ? clock_ticks() : slow(SLOW_CLOCK, f, 0);
}

/* ---- arguments on the stack ---- */

static inline uint32_t rule_of(struct function_frame *f)
{
	uint64_t address = f->return_address - 1, hash = address * RULES_FACTOR;
	uint64_t entry = __atomic_load_n(&rules_cache[0][0] + RULES_FIRST(hash), __ATOMIC_ACQUIRE);
	if (__builtin_expect((entry ^ RULES_TAG(hash)) - 1 < (1u << RULES_PAYLOAD_BITS) - 1, 1))
		return (uint32_t)entry & ((1u << RULES_PAYLOAD_BITS) - 1);
	return (uint32_t)slow(SLOW_RULE, f, address);
}

#define COPIED_USUAL 512u /* for more, there must be room on the stack */

/* Return the rule if it says nothing about the frame, but the bytes that would be copied can be
 * read. */
static inline uint32_t rule_checked(struct function_frame *f, uint32_t rule)
{
	uint64_t from = (uint64_t)(uintptr_t)f->arguments;
	bool one_page = from % 4096 <= 4096 - UNKNOWN_ARGUMENTS_BYTES;
	return rule == RULE_NONE || rule == RULE_REFUSED || one_page
		? rule
		: (uint32_t)slow(SLOW_RULE, f, f->return_address - 1);
}

/* Return the number of bytes above the return address that can be arguments: those of the caller's
 * frame; RULE_REFUSED = that cannot be found out. */
static inline uint32_t argument_bytes(struct function_frame *f)
{
	uint32_t rule = rule_of(f);
	uint64_t from = (uint64_t)(uintptr_t)f->arguments, end = from;
	if (__builtin_expect(RULE_KIND(rule) == RULE_SP, 1)) {
		end = from + RULE_CFA_BYTES(rule);
	} else if (RULE_KIND(rule) == RULE_BP) {
		end = f->bp + RULE_CFA_BYTES(rule);
	} else if (RULE_KIND(rule) == RULE_OTHER) { /* it has aligned its stack */
		const struct cfi_value *v = &rules_other(rule)->cfa;
		end = (v->base == CFI_SP ? from : f->bp) + (uint64_t)(int64_t)v->offset;
		if (v->loaded)
			end = *(const uint64_t *)(uintptr_t)end + (uint64_t)(int64_t)v->add;
	} else {
		rule = rule_checked(f, rule);
		if (rule == RULE_REFUSED)
			return rule;
		return rule == RULE_NONE ? 0 : UNKNOWN_ARGUMENTS_BYTES;
	}
	end += (uint64_t)MACHINE_IP_FIXED; /* the return address of the caller is no argument */
	if (end <= from)
		return 0;
	uint64_t bytes = end - from;
	return bytes > FUNCTION_ARGUMENTS_BYTES_MAX ? FUNCTION_ARGUMENTS_BYTES_MAX
						    : (uint32_t)(bytes + 15) & ~15u;
}

/* ---- begin ---- */

/* Return true if the innermost open call has ended, or its frame is gone. */
static inline bool top_is_over(
	const struct thread *t, const struct function_stack *stack, uint64_t sp)
{
	uint64_t depth = stack->depth;
	if (!depth)
		return false;
	const struct function_open *top =
		&stack->open[depth <= FUNCTION_STACK_MAX ? depth - 1 : FUNCTION_STACK_MAX - 1];
	return !top->tick || (top->sp <= sp && thread_same_stack(t, top->sp, sp));
}

/* Add the entry of the call, `open`, and its words (NULL = none). A handler that runs in between
 * may use the entry for a call of its own, and leaves it ended. */
static inline __attribute__((always_inline)) void open_push(struct function_frame *f,
	struct function_open *open, struct function_words *words, uint64_t names)
{
	struct function_stack *stack = f->stack;
	uint64_t depth = stack->depth, tick = f->tick;
	f->level = (uint32_t)depth;
	f->open = open;
	do {
		stack->depth = depth + 1;
		THREAD_BARRIER();
		open->tick = 0;
		open->recorded_at = 0;
		open->sp = (uint64_t)(uintptr_t)&f->return_address;
		open->names = names;
		if (words)
			words_keep(words, f);
		THREAD_BARRIER();
		open->tick = tick;
		THREAD_BARRIER();
	} while (__builtin_expect(stack->depth != depth + 1 || open->tick != tick, 0));
}

/* Likewise; there may be no room for an entry. */
static inline void open_push_any(struct function_frame *f, uint64_t names)
{
	struct function_stack *stack = f->stack;
	uint64_t depth = stack->depth;
	struct function_open *open = &stack->open[depth];
	if (__builtin_expect(depth < FUNCTION_STACK_MAX, 1)) {
		open_push(f, open, words_of(stack, open), names);
		return;
	}
	f->level = (uint32_t)depth;
	f->open = NULL;
	stack->depth = depth + 1;
}

/* Return the names for a record; 0 = they are not in this spool yet. */
static inline uint64_t names_at_hand(const struct traced_function *function)
{
	return __atomic_load_n(&function->epoch, __ATOMIC_ACQUIRE) == names_epoch ? function->names
										  : 0;
}

/* Return true if the thread's stack has room for the arguments. */
static inline bool may_copy(const struct thread *t, uint32_t copied)
{
	return copied != RULE_REFUSED && stack_has(t, copied + SLOW_STACK_BYTES);
}

static inline bool has_hook_before(uint32_t hook)
{
	return hook && !(hook & FUNCTION_HOOK_AFTER);
}

/* Call the hook of a call that begins. `is_recorded`: TRACED, else TRACED_BY_HOOK. */
static __attribute__((noinline, cold)) void hook_before(
	struct function_frame *f, uint32_t hook, enum function_traced is_recorded)
{
	f->hook = hook;
	if (is_recorded == TRACED_BY_HOOK) {
		f->copied = argument_bytes(f);
		if (f->copied > COPIED_USUAL && !may_copy(&thread_self, f->copied))
			return;
		f->open = NULL;
		f->tick = ticks_now(f);
	}
	f->traced = is_recorded;
	for (uint32_t i = 0; i < CALL_SCRATCH_WORDS; i++)
		f->scratch[i] = 0;
	hook_run(f, 0);
}

/* Begin a call that is not recorded now. Return the address to call. */
static inline uint64_t enter_unrecorded(
	struct function_frame *f, const struct traced_function *function)
{
	/* Not alive: in a forked child, perhaps its first call. */
	if (__builtin_expect(has_hook_before(function->hook) && !thread_self.vfork_pid, 0) &&
		(own_words.alive || slow(SLOW_FORKED, f, 0)))
		hook_before(f, function->hook, TRACED_BY_HOOK);
	return function->real;
}

/* Begin any call, and return the address to call. */
static __attribute__((noinline)) uint64_t enter_full(struct function_frame *f)
{
	const struct traced_function *function = &function_tables->functions[f->number];
	struct thread *t = &thread_self;
	struct lane *lane = t->lane;
	struct function_stack *stack = lane ? function_stack_of(lane) : NULL;
	uint64_t names = names_at_hand(function);
	f->traced = TRACED_NOT;
	if ((!GATE_LOOKS_OPEN(session_mask) && own_words.alive) ||
		__builtin_expect(function->hook & FUNCTION_HOOK_ONLY, 0))
		return enter_unrecorded(f, function);
	if (__builtin_expect(!stack || lane != t->fast || !names || !own_words.alive ||
			    t->vfork_pid ||
			    top_is_over(t, stack, (uint64_t)(uintptr_t)&f->return_address),
		    0)) {
		if (!slow(SLOW_BEGIN, f, 0))
			return enter_unrecorded(f, function);
		lane = t->lane;
		stack = function_stack_of(lane);
		names = names_at_hand(function);
	}
	uint32_t copied = function->copied;
	if (copied == COPIED_BY_FRAME)
		copied = argument_bytes(f);
	if (__builtin_expect(copied > COPIED_USUAL, 0) && !may_copy(t, copied)) {
		session_count_drop(DROP_NO_LANE);
		return function->real;
	}
	f->traced = TRACED;
	f->copied = copied;
	f->lane = lane;
	f->stack = stack;
	f->epoch = names_epoch;
	f->prototype = function->prototype;
	f->hook = function->hook;
	f->tick = ticks_now(f);
	open_push_any(f, names);
	t->functions = stack;
	THREAD_BARRIER();
	t->functions_lane = stack->has_words ? NULL : lane;
	if (__builtin_expect(has_hook_before(function->hook), 0))
		hook_before(f, function->hook, TRACED);
	return function->real;
}

/* Return the rule's argument_bytes(); more than COPIED_USUAL if it is of another kind, or its
 * address is not in the first entry of the cache. */
static inline __attribute__((always_inline)) uint64_t argument_bytes_usual(
	const struct function_frame *f)
{
	uint64_t hash = (f->return_address - 1) * RULES_FACTOR;
	uint64_t entry = __atomic_load_n(&rules_cache[0][0] + RULES_FIRST(hash), __ATOMIC_ACQUIRE);
	uint32_t kind = RULE_KIND((uint32_t)entry);
	if ((entry ^ RULES_TAG(hash)) >> RULES_PAYLOAD_BITS || (kind != RULE_SP && kind != RULE_BP))
		return UINT64_MAX;
	uint64_t from = (uint64_t)(uintptr_t)f->arguments;
	uint64_t end = (kind == RULE_SP ? from : f->bp) + RULE_CFA_BYTES((uint32_t)entry) +
		(uint64_t)MACHINE_IP_FIXED;
	return (end - from + 15) & ~UINT64_C(15);
}

/*
 * The short path: the thread has recorded calls in its lane, the function has no hook, and no words
 * are kept. Each rare case is a test and a tail call, so that nothing is kept in registers for it.
 * Count the instructions of this and of function_leave() after each change
 * (tests/bench/instructions.sh).
 */
uint64_t function_enter(struct function_frame *f)
{
	const struct traced_function *function = &function_tables->functions[f->number];
	const struct thread *t = &thread_self;
	struct lane *lane = t->functions_lane;
	struct function_stack *stack = t->functions;
	uint32_t epoch = names_epoch;
	if (!machine_masks_meet(&own_words.session_mask, &tree_gate) || lane != t->fast ||
		t->vfork_pid || function->hook ||
		__atomic_load_n(&function->epoch, __ATOMIC_ACQUIRE) != epoch)
		return enter_full(f);
	uint64_t depth = stack->depth, bytes = argument_bytes_usual(f);
	if (depth >= FUNCTION_STACK_MAX || bytes > COPIED_USUAL)
		return enter_full(f);
	struct function_open *open = &stack->open[depth];
	if (depth && (!open[-1].tick || open[-1].sp <= (uint64_t)(uintptr_t)&f->return_address))
		return enter_full(f);
	f->traced = TRACED;
	f->copied = (uint32_t)bytes;
	f->lane = lane;
	f->stack = stack;
	f->epoch = epoch;
	f->prototype = 0;
	f->hook = 0;
	f->tick = machine_counter();
	open_push(f, open, NULL, function->names);
	return function->real;
}

/* ---- end ---- */

/* Call the hook of a call that is recorded and keeps words. Return CALL_AFTER if it is called in
 * the usual way. */
static inline uint64_t hook_end(struct function_frame *f, const struct function_words *words)
{
	uint32_t hook = FUNCTION_HOOK_NUMBER(f->hook);
	const struct call_hooks *hooks = call_hooks[hook / CALL_HOOK_NUMBERS];
	if (!hooks->end || !words->prototype || !own_words.alive ||
		!stack_has(&thread_self, SLOW_STACK_BYTES))
		return CALL_AFTER;
	const struct ended_call call = {
		f->words[0], f->tick, words->word, f->scratch, words_count(words)};
	return hooks->end(hook % CALL_HOOK_NUMBERS, &call);
}

/* End any call: the only path for those with a hook or words. After the short path it reads the
 * clock again, a few nanoseconds later. */
static __attribute__((noinline)) void leave_full(struct function_frame *f)
{
	uint64_t ticks = ticks_now(f) - f->tick, level = f->level;
	struct thread *t = &thread_self;
	struct lane *lane = t->fast;
	struct function_open *open = f->open;
	const struct function_words *words = words_of_call(f);
	f->added = 0;
	if (f->hook) {
		uint64_t added = words ? hook_end(f, words) : CALL_AFTER;
		if (added != CALL_AFTER)
			f->added = added;
		else
			hook_run(f, f->tick + ticks);
		if (f->traced == TRACED_BY_HOOK)
			return;
	}
	if (__builtin_expect(!own_words.alive || lane != f->lane || !open ||
			    f->epoch != names_epoch || open->tick != f->tick || !open->names ||
			    f->stack->depth != level + 1 || level > FUNCTION_LEVEL_MAX ||
			    chains_due(CHAIN_FUNCTION, ticks) || !thread_try_enter(t),
		    0)) {
		slow(SLOW_LEAVE, f, ticks);
		return;
	}
	const struct words_size size = words_size_of(words, f);
	uint32_t slots = size.slots + 1;
	/* Tested within the guard: a handler may have forked before. */
	struct record *r = t->lane ? lane_room_at_hand(t, slots) : NULL;
	if (__builtin_expect(!r, 0)) {
		thread_give(t);
		slow(SLOW_LEAVE, f, ticks);
		return;
	}
	r = words_fill(r, &size, words, f, f->tick);
	r->tick = f->tick;
	r->word = ticks << RECORD_LENGTH_SHIFT | (REC_FUNCTION + level);
	r->a = f->words[0];
	r->b = open->names;
	open->recorded_at = lane->head + (uint64_t)slots * RECORD_BYTES;
	lane_publish(t, slots);
	thread_give(t);
	open->tick = 0;
	THREAD_BARRIER();
	f->stack->depth = level;
}

/* The short path, likewise. */
void function_leave(struct function_frame *f)
{
	if (f->hook || f->prototype) {
		leave_full(f);
		return;
	}
	uint64_t tick = f->tick, ticks = machine_counter() - tick, level = f->level;
	struct thread *t = &thread_self;
	struct lane *lane = t->fast;
	struct function_open *open = f->open;
	if (!own_words.alive || lane != f->lane || f->epoch != names_epoch ||
		level > FUNCTION_LEVEL_MAX || open->tick != tick || !open->names ||
		f->stack->depth != level + 1 || chains_due(CHAIN_FUNCTION, ticks)) {
		leave_full(f);
		return;
	}
	if (!machine_sp_subtract(&t->busy)) /* one instruction, as in thread_try_enter() */
		goto no_guard;
	uint64_t head = lane->head, at = head % CHUNK_BYTES;
	/* Tested within the guard: a handler may have forked before. */
	if ((uint32_t)at >= t->limit)
		goto no_guard;
	struct record *r = (struct record *)(void *)(t->base + at);
	r->tick = tick;
	r->word = ticks << RECORD_LENGTH_SHIFT | (REC_FUNCTION + level);
	r->a = f->words[0];
	r->b = open->names;
	open->recorded_at = head + sizeof(*r);
	THREAD_BARRIER();
	machine_short_add(&t->published, sizeof(*r));
	machine_short_publish(&lane->head, sizeof(*r));
	machine_sp_add(&t->busy);
	open->tick = 0;
	THREAD_BARRIER();
	f->stack->depth = level;
	return;
no_guard:
	machine_sp_add(&t->busy);
	leave_full(f);
}
#endif
