#include "unwind/callchain.h"

#include <stddef.h>

#include "unwind/rules.h"

/*
 * Why a remembered chain may be believed. A walk is a function of the registers (ip, sp, rbp) of
 * its first frame and of the words it reads: return addresses and saved rbp. So when a frame has
 * the registers of a remembered one, and each word that the remembered walk read from there on
 * still has its value, the walk would go the same way again. Two things are left out, because they
 * cannot change the outcome: rbp in a frame none of whose callers computes its CFA from it before
 * another rbp is loaded (FRAME_NEEDS_BP says where it matters), and saved rbp of the same kind.
 *
 * The words are compared from the inside out, and the first difference ends it: every word that is
 * read is one that a walk of the present stack would read too. A slot that is remembered from a
 * stack which is unmapped by now is not touched.
 *
 * Frames whose way out depends on other words (RULE_OTHER, signal frames) are not remembered, nor
 * what was called from them.
 */

enum frame_flag {
	FRAME_CFA_FROM_BP = 1,
	FRAME_BP_SAVED = 2, /* its rule loads the caller's rbp, from bp_slot */
	FRAME_NEEDS_BP = 4, /* the way out depends on rbp here */
	FRAME_OPAQUE = 8,   /* it depends on words that are not remembered */
	FRAME_EXACT = 16    /* interrupted, not calling: `slot` does not hold `value` */
};

#define GUESS_MAX_BYTES \
	0x4000 /* a larger frame found by guessing rbp is not believed (libunwind's) */
#define UCONTEXT_BP 120
#define UCONTEXT_SP 160
#define UCONTEXT_IP 168
#define RED_ZONE_BYTES 128

static struct callchain_setup setup;
static struct callchain_nodes nodes;
static struct callchain_counts counts;
static uint32_t generation = 1; /* of what threads remember */

/* The registers of the frame that is being looked at. */
struct registers {
	uint64_t ip, sp, bp;
	bool exact;
};

struct walk {
	struct callchain_thread *thread;
	struct stack_range *range; /* of the stack that the walk is on */
	struct stack_range outer;  /* behind a signal frame */
	uint32_t keep;  /* remembered frames that may still be part of this chain, then those that
			   are */
	uint32_t fresh; /* frames walked; number i lies in thread->frame[CALLCHAIN_FRAMES - 1 - i] */
	uint32_t limit;
	uint32_t flags;
	enum callchain_end end;
	bool guessed;
};

static inline uint64_t word(uint64_t address)
{
	return *(const volatile uint64_t *)(uintptr_t)address;
}

static inline bool is_own(uint64_t ip)
{
	return ip - setup.own_begin < setup.own_end - setup.own_begin;
}

void callchain_init(const struct callchain_setup *given)
{
	setup = *given;
	nodes.more = given->more;
	nodes.arg = given->more_arg;
	rules_init(given->find_object);
}

void callchain_unloaded(uint64_t begin, uint64_t end)
{
	rules_drop(begin, end);
	__atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
}

void callchain_forked(void)
{
	nodes_forget(&nodes);
	__atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
}

struct callchain_counts callchain_counts(void)
{
	return counts;
}

/* ---- one frame ---- */

/* May the frame at `r` end at `cfa`? Its return address and a rbp saved at `bp_slot` (0 = none) can
 * then be read. */
static inline bool frame_fits(
	struct walk *w, const struct registers *r, uint64_t cfa, uint64_t bp_slot)
{
	if (cfa <= r->sp || cfa & 7)
		return false;
	if (bp_slot && (bp_slot < w->range->low || bp_slot >= cfa || bp_slot & 7))
		return false;
	return __builtin_expect(cfa <= w->range->high, 1) || stack_range_raise(w->range, cfa);
}

static inline void frame_leave(
	struct registers *r, struct callchain_frame *f, uint64_t cfa, uint64_t bp_slot)
{
	if (bp_slot) {
		f->flags |= FRAME_BP_SAVED;
		f->bp_slot = bp_slot;
		r->bp = f->bp_value = word(bp_slot);
	}
	r->ip = word(cfa - 8);
	r->sp = cfa;
	r->exact = false;
}

static bool step_other(
	struct walk *w, struct registers *r, struct callchain_frame *f, const struct cfi_rule *rule)
{
	uint64_t cfa =
		(rule->cfa.base == CFI_SP ? r->sp : r->bp) + (uint64_t)(int64_t)rule->cfa.offset;
	f->flags |= FRAME_OPAQUE;
	if (rule->cfa_load) {
		if (cfa < w->range->low || cfa & 7 || !stack_range_raise(w->range, cfa + 8))
			return false;
		cfa = word(cfa) + (uint64_t)(int64_t)rule->cfa_add;
	}
	uint64_t base = rule->bp.base == CFI_SP ? r->sp : rule->bp.base == CFI_BP ? r->bp : cfa;
	uint64_t bp_slot = rule->bp_saved ? base + (uint64_t)(int64_t)rule->bp.offset : 0;
	if (!frame_fits(w, r, cfa, bp_slot))
		return false;
	frame_leave(r, f, cfa, bp_slot);
	return true;
}

/* The kernel put the interrupted registers at the top of the handler's stack. They may be on
 * another stack, in any direction. */
static bool step_signal(struct walk *w, struct registers *r, struct callchain_frame *f)
{
	f->flags |= FRAME_OPAQUE;
	if (!stack_range_raise(w->range, r->sp + UCONTEXT_IP + 8))
		return false;
	struct registers out = {.ip = word(r->sp + UCONTEXT_IP),
		.sp = word(r->sp + UCONTEXT_SP),
		.bp = word(r->sp + UCONTEXT_BP),
		.exact = true};
	if (out.sp & 7)
		return false;
	if (out.sp < w->range->low || out.sp >= w->range->high) {
		w->outer = (struct stack_range){0, 0};
		w->range = &w->outer;
		if (!stack_range_hold(&w->outer, out.sp - RED_ZONE_BYTES) &&
			!stack_range_hold(&w->outer, out.sp))
			return false;
	}
	*r = out;
	return true;
}

/* Code without tables: code made at run time keeps frame pointers. */
static bool step_guess(struct walk *w, struct registers *r, struct callchain_frame *f)
{
	uint64_t bp = r->bp;
	f->flags |= FRAME_CFA_FROM_BP;
	if (!frame_fits(w, r, bp + 16, bp) || word(bp) - bp > GUESS_MAX_BYTES)
		return false;
	w->guessed = true;
	frame_leave(r, f, bp + 16, bp);
	return true;
}

/* The rest of the rules. False at the end of the chain. */
static __attribute__((noinline)) bool step_rare(
	struct walk *w, struct registers *r, struct callchain_frame *f, uint32_t rule)
{
	bool stepped = false;
	switch (RULE_KIND(rule)) {
	case RULE_END:
		w->end = CALLCHAIN_WHOLE;
		return false;
	case RULE_OTHER:
		stepped = step_other(w, r, f, rules_other(rule));
		break;
	case RULE_SIGNAL:
		stepped = step_signal(w, r, f);
		break;
	case RULE_NO_FDE:
		stepped = step_guess(w, r, f);
		break;
	default:
		__atomic_add_fetch(&counts.libunwind_wanted, 1, __ATOMIC_RELAXED);
	}
	if (!stepped)
		w->end = CALLCHAIN_LOST;
	return stepped;
}

/* From the frame `r` to its caller. *f is the frame that is left. False at the end of the chain. */
static inline bool step(struct walk *w, struct registers *r, struct callchain_frame *f)
{
	uint32_t rule = w->flags & CALLCHAIN_FRAME_POINTERS && !is_own(r->ip)
		? RULE_FRAME_POINTER
		: rules_find(r->ip - !r->exact);
	if (__builtin_expect(RULE_KIND(rule) > RULE_BP, 0))
		return step_rare(w, r, f, rule);
	bool from_bp = RULE_KIND(rule) == RULE_BP;
	uint64_t cfa = (from_bp ? r->bp : r->sp) + RULE_CFA_BYTES(rule);
	uint64_t bp_slot = RULE_BP_BYTES(rule) ? cfa - RULE_BP_BYTES(rule) : 0;
	f->flags |= from_bp ? FRAME_CFA_FROM_BP : 0;
	if (__builtin_expect(!frame_fits(w, r, cfa, bp_slot), 0)) {
		bool done = w->flags & CALLCHAIN_FRAME_POINTERS && r->bp == 0;
		w->end = done ? CALLCHAIN_WHOLE : CALLCHAIN_LOST;
		return false;
	}
	frame_leave(r, f, cfa, bp_slot);
	return true;
}

/* ---- the thread's last chain ---- */

/* Is the frame `r`, and everything outside of it, as remembered? Lowers w->keep to what may be. */
static inline bool remembered(struct walk *w, const struct registers *r)
{
	const struct callchain_frame *frame = w->thread->frame;
	uint64_t slot = r->sp - 8;
	uint32_t keep = w->keep;
	while (keep && frame[keep - 1].slot < slot)
		keep--;
	w->keep = keep;
	if (!keep || r->exact)
		return false;
	const struct callchain_frame *f = &frame[keep - 1];
	if (f->slot != slot || f->value != r->ip || (f->flags & FRAME_NEEDS_BP && f->bp != r->bp))
		return false;
	for (; f >= frame; f--)
		if ((word(f->slot) ^ f->value) | (word(f->bp_slot) ^ f->bp_value)) {
			w->keep = (uint32_t)(f - frame);
			return false;
		}
	return true;
}

/* Walks from `r` until the rest is remembered, the chain ends or has `limit` frames. */
static inline void walk(struct walk *w, struct registers *r)
{
	struct callchain_frame *top = &w->thread->frame[CALLCHAIN_FRAMES - 1];
	while (!remembered(w, r)) {
		struct callchain_frame *f = top - w->fresh;
		if (w->fresh == w->limit || r->ip == 0) {
			w->end = r->ip == 0 ? CALLCHAIN_WHOLE : CALLCHAIN_CUT;
			w->keep = 0;
			return;
		}
		if (w->keep > CALLCHAIN_FRAMES - 1 - w->fresh)
			w->keep = CALLCHAIN_FRAMES - 1 - w->fresh;
		f->slot = r->sp - 8;
		f->value = r->ip;
		f->bp = r->bp;
		f->flags = r->exact ? FRAME_EXACT | FRAME_OPAQUE : 0;
		if (w->fresh || !is_own(r->ip))
			w->fresh++;
		if (!step(w, r, f)) {
			w->keep = 0;
			return;
		}
	}
}

/* ---- names ---- */

static inline bool frame_name(struct walk *w, struct callchain_frame *f, uint32_t *node)
{
	uint32_t flags = f->flags & FRAME_EXACT ? NODE_EXACT : 0;
	if (!*node)
		flags |= w->end == CALLCHAIN_CUT   ? NODE_CUT
			: w->end == CALLCHAIN_LOST ? NODE_LOST
						   : 0;
	if (!is_own(f->value)) {
		*node = nodes_child(&nodes, *node, f->value, flags);
		if (!*node)
			return false;
	}
	f->node = *node;
	return true;
}

/* Drops the outermost `count` remembered frames; the others get other names. */
static bool drop_outer(struct walk *w, uint32_t count)
{
	struct callchain_frame *frame = w->thread->frame;
	uint32_t node = 0;
	w->end = CALLCHAIN_CUT;
	w->keep -= count;
	for (uint32_t i = 0; i < w->keep; i++) {
		frame[i] = frame[i + count];
		if (!frame_name(w, &frame[i], &node))
			return false;
	}
	return true;
}

/* Puts the walked frames behind the kept ones and names them. Returns the innermost node. */
static inline uint32_t settle(struct walk *w)
{
	struct callchain_thread *thread = w->thread;
	struct callchain_frame *last = &thread->frame[w->keep];
	uint32_t node = w->keep ? last[-1].node : 0, needs = w->keep ? last[-1].flags : 0;
	uint32_t clear = UINT32_MAX;
	for (uint32_t i = w->fresh; i-- > 0; last++) {
		*last = thread->frame[CALLCHAIN_FRAMES - 1 - i];
		bool saved = last->flags & FRAME_BP_SAVED;
		if (!saved || !(needs & FRAME_NEEDS_BP)) {
			last->bp_slot = last->slot;
			last->bp_value = last->value;
		}
		if (last->flags & FRAME_CFA_FROM_BP || (needs & FRAME_NEEDS_BP && !saved))
			last->flags |= FRAME_NEEDS_BP;
		needs = last->flags;
		if (needs & FRAME_OPAQUE)
			clear = (uint32_t)(last - thread->frame) < clear
				? (uint32_t)(last - thread->frame)
				: clear;
		if (!frame_name(w, last, &node)) {
			thread->count = 0;
			return 0;
		}
	}
	uint32_t count = (uint32_t)(last - thread->frame);
	thread->count = count < clear ? count : clear;
	return node;
}

/* ---- chains ---- */

static bool begin(struct callchain_thread *thread, uint64_t sp, uint32_t depth, uint32_t flags)
{
	uint32_t now = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
	flags &= CALLCHAIN_FRAME_POINTERS;
	if (thread->generation != now || thread->depth != depth || thread->flags != flags) {
		thread->count = 0;
		thread->generation = now;
		thread->depth = depth;
		thread->flags = flags;
	}
	if (__builtin_expect(sp >= thread->range[0].low && sp < thread->range[0].high, 1))
		return true;
	struct stack_range other = thread->range[1];
	if (sp < other.low || sp >= other.high) {
		/* Deeper on the same stack than ever, or one never seen. */
		other = thread->range[0];
		if (!stack_range_hold(&other, sp))
			return false;
		if (other.high == thread->range[0].high) {
			thread->range[0] = other;
			return true;
		}
	}
	thread->range[1] = thread->range[0];
	thread->range[0] = other;
	return true;
}

static __attribute__((noinline)) uint32_t take(struct callchain_thread *thread,
	struct registers start, uint32_t depth, uint32_t flags, struct callchain_result *ret_result)
{
	struct walk w = {
		.thread = thread, .range = &thread->range[0], .limit = depth, .flags = flags};
	struct registers r = start;
	w.keep = thread->count;
	w.end = thread->cut ? CALLCHAIN_CUT : CALLCHAIN_WHOLE;
	walk(&w, &r);
	if (w.keep && thread->cut && w.keep + w.fresh < depth) {
		/* More frames fit than the cut chain had: its outer end is not known. */
		w.keep = w.fresh = 0;
		r = start;
		w.range = &thread->range[0];
		walk(&w, &r);
	}
	if (w.keep + w.fresh > depth && !drop_outer(&w, w.keep + w.fresh - depth))
		w.fresh = w.keep = 0;
	ret_result->count = w.keep + w.fresh;
	ret_result->walked = (uint8_t)w.fresh;
	ret_result->method =
		flags & CALLCHAIN_FRAME_POINTERS ? CALLCHAIN_FRAME_POINTER : CALLCHAIN_RULES;
	ret_result->end = (uint8_t)w.end;
	ret_result->guessed = w.guessed;
	uint32_t node = settle(&w);
	thread->cut = w.end == CALLCHAIN_CUT;
	if (w.end == CALLCHAIN_LOST)
		thread->count = 0;
	return node;
}

__attribute__((noinline)) uint32_t callchain_take(struct callchain_thread *thread, uint32_t depth,
	uint32_t flags, struct callchain_result *ret_result)
{
	/* Asking for it makes the compiler keep a frame pointer here: the caller's registers. */
	const uint64_t *frame = __builtin_frame_address(0);
	struct registers start = {
		.ip = frame[1], .sp = (uint64_t)(uintptr_t)(frame + 2), .bp = frame[0]};
	*ret_result = (struct callchain_result){.end = CALLCHAIN_LOST};
	depth = depth < 1 ? 1 : depth > CALLCHAIN_DEPTH_MAX ? CALLCHAIN_DEPTH_MAX : depth;
	if (!begin(thread, start.sp, depth, flags))
		return 0;
	return take(thread, start, depth, flags, ret_result);
}
