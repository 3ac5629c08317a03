/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callchain.c - the callers of the traced call, as one number: walking a stack, and remembering the
 * walk.
 */
#if defined(__GNUC__) && !defined(__clang__)
/* Otherwise gcc carries ip and sp from frame to frame as a pair in a vector register, which costs 3
 * ns per frame. */
#pragma GCC optimize("no-tree-slp-vectorize")
#endif
#include "unwind/callchain.h"

#include "machine/machine.h"
#include "unwind/fallback.h"
#include "unwind/registers.h"
#include "unwind/rules.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/*
 * Why a remembered chain may be believed. A walk is a function of the registers (ip, sp, rbp) of
 * its first frame and of the words it reads: return addresses and saved rbp. So when a frame has
 * the registers of a remembered one, and each word that the remembered walk read from there on
 * still has its value, the walk would go the same way again. (Where a return address is at a fixed
 * distance from the caller's sp, the address of that word stands for sp.) Two things are left out,
 * because they cannot change the outcome: rbp in a frame none of whose callers computes its CFA
 * from it before another rbp is loaded (FRAME_NEEDS_BP says where it matters), and saved rbp of the
 * same kind.
 *
 * The words are compared from the inside out, and the first difference ends the comparison: every
 * word that is read is one that a walk of the present stack would read, too. Like the words of a
 * walk, they are read only where the stack is readable: memory above a stack that the program
 * created and switched to may have been unmapped since.
 *
 * Frames whose caller is found by other words (RULE_OTHER, signal frames) are not remembered, nor
 * are the frames that they called.
 */

enum frame_flag {
	FRAME_EXACT = NODE_EXACT, /* interrupted, not calling: `ip` is not stored at `slot` */
	FRAME_CFA_FROM_BP = 16,
	FRAME_BP_SAVED = 2, /* the caller's rbp was loaded here */
	FRAME_NEEDS_BP = 4, /* the step to its caller depends on rbp */
	FRAME_OPAQUE = 8    /* the step to its caller depends on words that are not remembered */
};

#define ALL_FRAMES_MAX 1000
#define RULES_HERE MACHINE_UNWINDS
#define RED_ZONE_BYTES 128
static struct callchain_setup setup;
static struct callchain_nodes nodes;
static struct callchain_counts counts;
static uint32_t generation = 1; /* generation of the chains that threads remember */

/* The registers of the present frame. */
struct registers {
	uint64_t ip, sp, bp; /* `ip` as it was read: it may be signed */
	uint64_t slot;       /* where `ip` was read: slot_of() */
	uint64_t back;       /* the rule is for ip - back: 1, or 0 if interrupted */
	uint32_t flags;      /* FRAME_EXACT | FRAME_OPAQUE if interrupted */
};

struct walk {
	struct callchain_thread *thread;
	struct stack_range *range; /* the readable part of the stack that the walk is on */
	struct stack_range inner;  /* the stack where the walk begins */
	struct stack_range outer;  /* the stack outside of a signal frame */
	uint32_t keep;  /* remembered frames that may be (at the end: are) in this chain */
	uint32_t fresh; /* frames walked */
	uint32_t limit;
	enum callchain_end end;
	bool unknown;  /* the walk ended at a frame that libunwind may pass */
	bool nameless; /* CALLCHAIN_NAMELESS */
};

static inline uint64_t word(uint64_t address)
{
	return *(const volatile uint64_t *)(uintptr_t)address;
}

/* Return where the return address `r->ip` was read. */
static inline uint64_t slot_of(const struct registers *r)
{
	return MACHINE_IP_FIXED ? r->sp + (uint64_t)MACHINE_IP_FIXED : r->slot;
}

static inline bool is_own(uint64_t word)
{
	uint64_t ip = machine_return_address(word);
	return ip - setup.own_begin < setup.own_end - setup.own_begin;
}

void callchain_init(const struct callchain_setup *given)
{
	setup = *given;
	nodes.more = given->more;
	nodes.arg = given->more_arg;
	stack_init();
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

/* Return true if the frame at `r` may end at `cfa`. Its return address and an rbp saved at
 * `bp_slot` (0 = none) can then be read. */
static inline bool frame_fits(
	struct walk *w, const struct registers *r, uint64_t cfa, uint64_t bp_slot)
{
	if (cfa <= r->sp || cfa & 7)
		return false;
	if (bp_slot && (bp_slot < w->range->low || bp_slot >= cfa || bp_slot & 7))
		return false;
	return __builtin_expect(cfa <= w->range->high, 1) || stack_range_raise(w->range, cfa);
}

static inline void frame_leave(struct registers *r, struct callchain_fresh *f, uint64_t cfa,
	uint64_t bp_slot, uint64_t ip_slot)
{
	if (bp_slot) {
		f->flags |= FRAME_BP_SAVED;
		f->bp_slot = bp_slot;
		r->bp = f->bp_value = word(bp_slot);
	}
	r->slot = ip_slot;
	r->ip = word(ip_slot);
	r->sp = cfa;
	r->back = 1;
	r->flags = 0;
}

static bool step_other(
	struct walk *w, struct registers *r, struct callchain_fresh *f, const struct cfi_rule *rule)
{
	uint64_t cfa =
		(rule->cfa.base == CFI_SP ? r->sp : r->bp) + (uint64_t)(int64_t)rule->cfa.offset;
	f->flags |= FRAME_OPAQUE;
	if (rule->cfa.loaded) {
		if (cfa < w->range->low || cfa & 7 || !stack_range_raise(w->range, cfa + 8))
			return false;
		cfa = word(cfa) + (uint64_t)(int64_t)rule->cfa.add;
	}
	uint64_t base = rule->bp.base == CFI_SP ? r->sp : rule->bp.base == CFI_BP ? r->bp : cfa;
	uint64_t bp_slot = rule->bp_saved ? base + (uint64_t)(int64_t)rule->bp.offset : 0;
	if (!frame_fits(w, r, cfa, bp_slot))
		return false;
	frame_leave(r, f, cfa, bp_slot, cfa + (uint64_t)(int64_t)rule->ip);
	return true;
}

/* Step from a signal handler to the interrupted code, whose registers the kernel has stored on the
 * handler's stack. That code may run on another stack, above or below. */
static bool step_signal(struct walk *w, struct registers *r, struct callchain_fresh *f)
{
	f->flags |= FRAME_OPAQUE;
	if (!stack_range_raise(w->range, r->sp + MACHINE_SIGNAL_IP_BYTES + 8))
		return false;
	struct registers out = {.ip = word(r->sp + MACHINE_SIGNAL_IP_BYTES),
		.sp = word(r->sp + MACHINE_SIGNAL_SP_BYTES),
		.bp = word(r->sp + MACHINE_SIGNAL_BP_BYTES),
		.back = 0,
		.flags = FRAME_EXACT | FRAME_OPAQUE};
	out.slot = out.sp - 8;
	if (out.sp & 7)
		return false;
	if (out.sp < w->range->low || out.sp >= w->range->high) {
		w->outer = (struct stack_range){0};
		w->range = &w->outer;
		if (!stack_range_hold(&w->outer, out.sp - RED_ZONE_BYTES) &&
			!stack_range_hold(&w->outer, out.sp))
			return false;
	}
	*r = out;
	return true;
}

/* Step out of code without tables, which was generated at run time: it keeps rbp, or the
 * instruction after the call says the size of its frame. */
static bool step_guess(struct walk *w, struct registers *r, struct callchain_fresh *f)
{
	uint64_t edge = r->back ? 0 : registers_room_at_edge(r->ip);
	if (edge) {
		f->flags |= FRAME_OPAQUE;
		if (!frame_fits(w, r, r->sp + edge, 0))
			return false;
		frame_leave(r, f, r->sp + edge, edge > 8 ? r->sp : 0, r->sp + edge - 8);
		return true;
	}
	uint64_t room = r->back ? registers_room_behind(r->ip) : 0, bp = room ? 0 : r->bp;
	uint64_t cfa = room ? r->sp + room + 8 : bp + 16;
	if (registers_at_sigreturn(machine_return_address(r->ip)))
		return step_signal(w, r, f);
	f->flags |= room ? FRAME_OPAQUE : FRAME_CFA_FROM_BP;
	if ((!room && bp - r->sp > GUESS_MAX_BYTES) || !frame_fits(w, r, cfa, bp))
		return false;
	frame_leave(r, f, cfa, bp, cfa - 8);
	return true;
}

/* Step out of a frame whose caller is found by other registers: walk again up to here, with all
 * registers. */
static bool step_all(
	const struct registers_all *from, struct registers *r, struct callchain_fresh *f)
{
	struct registers_all all;
	f->flags |= FRAME_OPAQUE;
	if (from)
		all = *from;
	else
		registers_here(&all);
	for (int i = 0; i < ALL_FRAMES_MAX; i++) {
		bool found =
			all.r[CFI_SP] == r->sp && all.r[CFI_IP] == machine_return_address(r->ip);
		if (!registers_step(&all))
			break;
		if (found) {
			*r = (struct registers){.ip = all.r[CFI_IP],
				.sp = all.r[CFI_SP],
				.slot = all.r[CFI_SP] - 8,
				.bp = all.r[CFI_BP],
				.back = !all.exact,
				.flags = all.exact ? FRAME_EXACT | FRAME_OPAQUE : 0};
			return true;
		}
	}
	__atomic_add_fetch(&counts.lost, 1, __ATOMIC_RELAXED);
	return false;
}

/* Step by any other rule. Return false at the end of the chain. */
static __attribute__((noinline)) bool step_rare(
	struct walk *w, struct registers *r, struct callchain_fresh *f, uint32_t rule)
{
	bool stepped = false;
	f->rule = RULE_NONE;
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
		stepped = step_all(w->thread->from, r, f);
		w->unknown = !stepped;
	}
	if (!stepped)
		w->end = CALLCHAIN_LOST;
	return stepped;
}

/* Step from the frame `r` to its caller. *f is the frame that is left; `known`: it has its rule
 * already. Return false at the end of the chain. */
static ALWAYS_INLINE bool step(
	struct walk *w, struct registers *r, struct callchain_fresh *f, bool by_rbp, bool known)
{
	uint32_t rule = f->rule;
	if (by_rbp && !is_own(r->ip)) {
		rule = RULE_FRAME_POINTER;
		f->rule = RULE_NONE;
	} else if (!known) {
		rule = rules_find(machine_return_address(r->ip) - r->back);
		f->rule = r->back ? rule : RULE_NONE;
	}
	uint64_t cfa = r->sp;
	if (RULE_KIND(rule) != RULE_SP) {
		if (__builtin_expect(RULE_KIND(rule) != RULE_BP, 0)) {
			struct registers copy = *r; /* so that *r can stay in registers */
			bool stepped = step_rare(w, &copy, f, rule);
			*r = copy;
			return stepped;
		}
		f->flags |= FRAME_CFA_FROM_BP;
		cfa = r->bp;
	}
	cfa += RULE_CFA_BYTES(rule);
	uint64_t bp_slot = RULE_BP_BYTES(rule) ? cfa - RULE_BP_BYTES(rule) : 0;
	if (__builtin_expect(!frame_fits(w, r, cfa, bp_slot), 0)) {
		w->end = by_rbp && r->bp == 0 ? CALLCHAIN_WHOLE : CALLCHAIN_LOST;
		return false;
	}
	frame_leave(r, f, cfa, bp_slot,
		MACHINE_IP_FIXED ? cfa + (uint64_t)MACHINE_IP_FIXED : bp_slot + 8);
	return true;
}

/* ---- the thread's last chain ---- */

/* Compare the words from *c outwards. Return the first that has changed, or NULL. */
static ALWAYS_INLINE const struct callchain_check *changed(
	const struct callchain_check *c, const struct callchain_check *first)
{
	for (; c - first >= 3; c -= 4) {
		if (word(c[0].address) != c[0].value)
			return c;
		if (word(c[-1].address) != c[-1].value)
			return c - 1;
		if (word(c[-2].address) != c[-2].value)
			return c - 2;
		if (word(c[-3].address) != c[-3].value)
			return c - 3;
	}
	for (; c >= first; c--)
		if (word(c->address) != c->value)
			return c;
	return NULL;
}

/* Return true if the frame `r` and all frames outside of it are as remembered. Lower *keep to the
 * number of frames that may still be. */
static ALWAYS_INLINE bool remembered(struct walk *w, const struct registers *r, uint32_t *keep)
{
	const struct callchain_frame *frame = w->thread->frame;
	const struct callchain_check *check = w->thread->check;
	uint64_t slot = slot_of(r);
	while (*keep && check[frame[*keep - 1].checks - 1].address < slot)
		--*keep;
	if (!*keep || !r->back)
		return false;
	const struct callchain_frame *f = &frame[*keep - 1];
	const struct callchain_check *own = &check[f->checks - 1];
	if (own->address != slot || own->value != r->ip ||
		(f->flags & FRAME_NEEDS_BP && f->bp != r->bp) ||
		(!MACHINE_IP_FIXED && f->sp != r->sp))
		return false;
	if (__builtin_expect(check[0].address >= w->range->high, 0) &&
		!stack_range_raise(w->range, check[0].address + 8)) {
		*keep = 0;
		return false;
	}
	const struct callchain_check *c = changed(own, check);
	if (!c)
		return true;
	while (f > frame && f[-1].checks > c - check)
		f--;
	*keep = (uint32_t)(f - frame);
	return false;
}

/* Walk from `r` until the rest is remembered, or the chain ends or has `limit` frames. */
static ALWAYS_INLINE void walk(struct walk *w, struct registers r, bool by_rbp)
{
	struct callchain_fresh *f = w->thread->fresh, *end = f + w->limit;
	uint32_t keep = w->keep;
	while (!remembered(w, &r, &keep)) {
		if (f == end || r.ip == 0) {
			w->end = r.ip == 0 ? CALLCHAIN_WHOLE : CALLCHAIN_CUT;
			keep = 0;
			break;
		}
		struct callchain_fresh *now = f;
		/* Often the last walk found the same address here. Then the next step need not wait
		 * for a lookup by the address that was just read: 1.5 ns less a frame. */
		bool known = now->ip == r.ip && r.back && now->rule != RULE_NONE;
		now->slot = slot_of(&r);
		now->ip = r.ip;
		now->bp = r.bp;
		if (!MACHINE_IP_FIXED)
			now->sp = r.sp;
		now->flags = r.flags;
		/* Our own innermost frames are walked, but are not part of the chain. */
		if (f != w->thread->fresh || !is_own(r.ip))
			f++;
		if (!step(w, &r, now, by_rbp, known)) {
			keep = 0;
			break;
		}
	}
	w->keep = keep;
	w->fresh = (uint32_t)(f - w->thread->fresh);
}

/* ---- names ---- */

/* Add the node of a frame. *root are the flags of an outermost frame, 0 after it. */
static ALWAYS_INLINE bool frame_name(struct node_index index, uint64_t ip, uint32_t frame_flags,
	uint32_t *root, struct node_name *name)
{
	if (__builtin_expect(is_own(ip), 0))
		return true;
	*name = nodes_child(&nodes, index, *name, machine_return_address(ip),
		(frame_flags & FRAME_EXACT) | *root);
	*root = 0;
	return name->id != 0;
}

static struct node_index index_now(void)
{
	return nodes_index(&nodes, __atomic_load_n(&nodes.level, __ATOMIC_ACQUIRE));
}

/* Drop the outermost `count` remembered frames. The remaining frames get other nodes. */
static bool drop_outer(struct walk *w, uint32_t count)
{
	struct callchain_thread *thread = w->thread;
	struct node_name name = {0, 0};
	struct node_index index = index_now();
	uint32_t root = NODE_CUT;
	uint32_t checks = thread->frame[count - 1].checks;
	w->end = CALLCHAIN_CUT;
	w->keep -= count;
	for (uint32_t i = 0; i < w->keep; i++) {
		struct callchain_frame f = thread->frame[i + count];
		uint64_t ip = thread->check[f.checks - 1].value;
		if (!w->nameless && !frame_name(index, ip, f.flags, &root, &name))
			return false;
		thread->frame[i] = (struct callchain_frame){
			f.bp, name.hash, name.id, f.flags, (uint16_t)(f.checks - checks), f.sp};
	}
	for (uint32_t i = 0; w->keep && i < thread->frame[w->keep - 1].checks; i++)
		thread->check[i] = thread->check[i + checks];
	return true;
}

/* Return the flags of a frame whose caller has the flags `outer`. Add a check of the rbp saved in
 * the frame if its caller needs rbp. */
static inline uint32_t frame_needs(const struct callchain_fresh *f, uint32_t outer,
	struct callchain_check *check, uint32_t *checks)
{
	uint32_t flags = f->flags;
	bool saved = flags & FRAME_BP_SAVED, needed = outer & FRAME_NEEDS_BP;
	if (needed && saved)
		check[(*checks)++] = (struct callchain_check){f->bp_slot, f->bp_value};
	if (flags & FRAME_CFA_FROM_BP || (needed && !saved))
		flags |= FRAME_NEEDS_BP;
	return flags;
}

static const uint8_t root_flags[] = {
	[CALLCHAIN_WHOLE] = 0, [CALLCHAIN_CUT] = NODE_CUT, [CALLCHAIN_LOST] = NODE_LOST};

/* Put the walked frames after the kept ones, and add their nodes. Return the innermost node. */
static ALWAYS_INLINE uint32_t settle(struct walk *w)
{
	struct callchain_thread *thread = w->thread;
	struct callchain_frame *last = &thread->frame[w->keep], *clear = NULL;
	struct node_name name = {0, 0};
	uint32_t checks = 0, flags = 0, root = root_flags[w->end];
	if (w->keep) {
		name = (struct node_name){last[-1].hash, last[-1].id};
		checks = last[-1].checks;
		flags = last[-1].flags;
		root = name.id ? 0 : root;
	}
	struct node_index index = index_now();
	for (uint32_t i = w->fresh; i-- > 0; last++) {
		const struct callchain_fresh *f = &thread->fresh[i];
		uint64_t slot = f->slot, ip = f->ip;
		if (flags | f->flags)
			flags = frame_needs(f, flags, thread->check, &checks);
		thread->check[checks++] = (struct callchain_check){slot, ip};
		if (!w->nameless && !frame_name(index, ip, flags, &root, &name))
			return 0;
		*last = (struct callchain_frame){
			f->bp, name.hash, name.id, (uint16_t)flags, (uint16_t)checks, f->sp};
		if (__builtin_expect(flags & FRAME_OPAQUE && !clear, 0))
			clear = last;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->count = (uint32_t)((clear ? clear : last) - thread->frame);
	return name.id;
}

/* ---- chains ---- */

/* An alternate signal stack may be so small that a chain does not fit below its handler: 1.8 KiB as
 * a rule, 3 KiB with all registers, 15 KiB with libunwind. */
#define ROOM_BYTES 4096u
#define ROOM_BYTES_LIBUNWIND 24576u

static uint64_t room_bytes(void)
{
	return fallback_ready() ? ROOM_BYTES_LIBUNWIND : ROOM_BYTES;
}

static ALWAYS_INLINE bool stack_hold(struct callchain_thread *thread, uint64_t sp, uint64_t room)
{
	return __builtin_expect(sp >= thread->range[0].low && sp < thread->range[0].high, 1) ||
		stack_ranges_switch(thread->range, sp, room, setup.main_top);
}

static ALWAYS_INLINE bool begin(
	struct callchain_thread *thread, uint64_t sp, uint32_t depth, uint32_t flags, uint64_t room)
{
	uint32_t now = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
	flags &= CALLCHAIN_FRAME_POINTERS | CALLCHAIN_NAMELESS;
	if (thread->generation != now || thread->depth != depth || thread->flags != flags) {
		thread->count = 0;
		for (uint32_t i = 0; thread->generation && i <= CALLCHAIN_DEPTH_MAX; i++)
			thread->fresh[i].rule = RULE_NONE;
		thread->generation = now;
		thread->depth = depth;
		thread->flags = flags;
	}
	return stack_hold(thread, sp, room);
}

bool callchain_has_room(struct callchain_thread *thread)
{
	return stack_hold(thread, (uint64_t)(uintptr_t)__builtin_frame_address(0), room_bytes());
}

/* ---- libunwind ---- */

static uint32_t name_frames(const uint64_t *frames, uint32_t count, uint32_t root)
{
	struct node_name name = {0, 0};
	struct node_index index = index_now();
	while (count-- > 0)
		if (!frame_name(index, frames[count], 0, &root, &name))
			return 0;
	return name.id;
}

/* Take the whole chain by libunwind, if that finds more frames than `result` has. Nothing is
 * remembered. */
static __attribute__((noinline)) uint32_t take_by_libunwind(
	uint64_t start, uint32_t depth, struct callchain_result *result)
{
	const struct fallback_frames ours = {start, setup.own_begin, setup.own_end};
	uint64_t frames[CALLCHAIN_DEPTH_MAX];
	bool more;
	uint32_t count = fallback_chain(&ours, depth, frames, &more);
	if (count <= result->count)
		return 0;
	result->count = count;
	result->walked = (uint8_t)count;
	result->method = CALLCHAIN_LIBUNWIND;
	result->end = more ? CALLCHAIN_CUT : CALLCHAIN_WHOLE;
	return name_frames(frames, count, more ? NODE_CUT : 0);
}

/* Compare the chain `id` with what libunwind finds, up to code that libunwind cannot pass or to the
 * wanted depth. libunwind gives up once frames without tables together have GUESS_MAX_BYTES. */
static __attribute__((noinline)) void compare(uint64_t start, uint32_t depth, uint32_t id)
{
	const struct fallback_frames ours = {start, setup.own_begin, setup.own_end};
	uint64_t frames[CALLCHAIN_DEPTH_MAX];
	bool more, same = true, beyond = false, tableless = false;
	uint32_t i = 0, count = fallback_chain(&ours, depth, frames, &more);
	for (; id && i < count && same && !beyond; i++) {
		const struct callchain_node *n = node_at(&nodes, id);
		same = n->address == frames[i];
		tableless = rules_find(n->address - 1) == RULE_NO_FDE;
		beyond = n->flags & NODE_CUT || (tableless && registers_room_behind(n->address));
		id = n->parent;
	}
	bool shorter = same && !beyond && tableless && id && count;
	bool differs = count && !shorter && (!same || (!beyond && (id || i != count)));
	__atomic_add_fetch(&counts.checked, count != 0, __ATOMIC_RELAXED);
	__atomic_add_fetch(&counts.shorter, shorter, __ATOMIC_RELAXED);
	__atomic_add_fetch(&counts.different, differs, __ATOMIC_RELAXED);
}

static ALWAYS_INLINE uint32_t take(struct callchain_thread *thread, struct registers start,
	uint32_t depth, bool by_rbp, struct callchain_result *ret_result)
{
	struct walk w = {.thread = thread, .limit = depth};
	w.inner = stack_range_now(&thread->range[0], start.sp);
	w.range = &w.inner;
	w.keep = thread->count;
	w.end = thread->cut ? CALLCHAIN_CUT : CALLCHAIN_WHOLE;
	walk(&w, start, by_rbp);
	if (__builtin_expect(w.keep && thread->cut && w.keep + w.fresh < depth, 0)) {
		/* The chain has room for more frames than the remembered one, which was cut: its
		 * outer end is not known. */
		w.keep = 0;
		w.range = &w.inner;
		walk(&w, start, by_rbp);
	}
	if (w.inner.high > thread->range[0].high)
		thread->range[0].high = w.inner.high;
	/* A handler may leave by siglongjmp while frames are being put in place. */
	thread->count = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	uint32_t kept = w.keep;
	if (w.keep + w.fresh > depth) {
		kept = 0;
		if (!drop_outer(&w, w.keep + w.fresh - depth))
			w.fresh = w.keep = 0;
	}
	ret_result->count = w.keep + w.fresh;
	ret_result->kept = (uint8_t)kept;
	ret_result->walked = (uint8_t)w.fresh;
	ret_result->method = by_rbp ? CALLCHAIN_FRAME_POINTER : CALLCHAIN_RULES;
	ret_result->end = (uint8_t)w.end;
	uint32_t node = settle(&w);
	thread->cut = w.end == CALLCHAIN_CUT;
	if (__builtin_expect(w.end == CALLCHAIN_LOST, 0)) {
		thread->count = 0;
		uint32_t other = w.unknown && !thread->from && !w.nameless && fallback_ready()
			? take_by_libunwind(machine_return_address(start.ip), depth, ret_result)
			: 0;
		node = other ? other : node;
	}
	return node;
}

static __attribute__((noinline)) uint32_t take_by_rbp(struct callchain_thread *thread,
	struct registers start, uint32_t depth, struct callchain_result *ret_result)
{
	return take(thread, start, depth, true, ret_result);
}

static __attribute__((noinline)) uint32_t take_interrupted(struct callchain_thread *thread,
	struct registers start, uint32_t depth, struct callchain_result *ret_result)
{
	return take(thread, start, depth, false, ret_result);
}

__attribute__((noinline)) uint32_t callchain_take(struct callchain_thread *thread, uint32_t depth,
	uint32_t flags, struct callchain_result *ret_result)
{
	/* This makes the compiler keep a frame pointer here, which leads to the caller's
	 * registers. */
	const uint64_t *frame = __builtin_frame_address(0);
	struct registers start = {.ip = frame[1],
		.sp = (uint64_t)(uintptr_t)__builtin_dwarf_cfa(),
		.slot = (uint64_t)(uintptr_t)(frame + 1),
		.bp = frame[0],
		.back = 1};
	*ret_result = (struct callchain_result){.end = CALLCHAIN_LOST};
	depth = depth < 1 ? 1 : depth > CALLCHAIN_DEPTH_MAX ? CALLCHAIN_DEPTH_MAX : depth;
	if (!RULES_HERE)
		return take_by_libunwind(machine_return_address(frame[1]), depth, ret_result);
	if (__builtin_expect(!rules_cache, 0) && !rules_open())
		return 0;
	if (!begin(thread, start.sp, depth, flags, room_bytes()))
		return 0;
	if (flags & CALLCHAIN_FRAME_POINTERS)
		return take_by_rbp(thread, start, depth, ret_result);
	uint32_t id = take(thread, start, depth, false, ret_result);
	if (__builtin_expect(flags & CALLCHAIN_CHECK && id, 0))
		compare(machine_return_address(start.ip), depth, id);
	return id;
}

uint32_t callchain_take_at(struct callchain_thread *thread, const struct registers_all *from,
	uint32_t depth, uint32_t flags, struct callchain_result *ret_result)
{
	struct registers start = {.ip = from->r[CFI_IP],
		.sp = from->r[CFI_SP],
		.slot = from->r[CFI_SP] - 8,
		.bp = from->r[CFI_BP],
		.flags = FRAME_EXACT | FRAME_OPAQUE};
	*ret_result = (struct callchain_result){.end = CALLCHAIN_LOST};
	if (!RULES_HERE || start.sp & 7 || (!rules_cache && !rules_open()) ||
		!begin(thread, start.sp, depth, flags, 0))
		return 0;
	thread->from = from;
	uint32_t id = flags & CALLCHAIN_FRAME_POINTERS
		? take_by_rbp(thread, start, depth, ret_result)
		: take_interrupted(thread, start, depth, ret_result);
	thread->from = NULL;
	return id;
}

bool callchain_node(uint32_t id, struct callchain_node *ret_node)
{
	return id && id <= __atomic_load_n(&nodes.next, __ATOMIC_ACQUIRE) &&
		__atomic_load_n(&nodes.chunk[id / NODES_PER_CHUNK], __ATOMIC_ACQUIRE) &&
		node_read(node_at(&nodes, id), ret_node);
}

bool callchain_frame_get(
	const struct callchain_thread *thread, uint32_t number, struct callchain_found *ret_frame)
{
	const struct callchain_frame *f = &thread->frame[number];
	const struct callchain_check *own = &thread->check[f->checks - 1];
	*ret_frame = (struct callchain_found){
		own->address, machine_return_address(own->value), f->flags & FRAME_EXACT};
	return !is_own(own->value);
}

struct callchain_nodes *callchain_tree(void)
{
	return &nodes;
}

void callchain_forget(struct callchain_thread *thread)
{
	thread->count = 0;
	thread->range[0] = thread->range[1] = (struct stack_range){0};
}
