/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranges.c - marks, ranges and names of NVTX.
 */
#define _GNU_SOURCE
#include "tracer/nvtx/ranges.h"

#include "common/clock.h"
#include "common/text.h"
#include "tracer/core/chains.h"
#include "tracer/session/attach.h"
#include "tracer/session/fork.h"
#include "tracer/core/lane.h"
#include "tracer/nvtx/record.h"
#include "tracer/nvtx/select.h"
#include "tracer/nvtx/text.h"
#include "tracer/nvtx/hooks.h"
#include "tracer/core/state.h"
#include "tracer/nvtx/spans.h"
#include "tracer/core/spool_file.h"
#include "tracer/core/window.h"

#define NS_BITS 16 /* bits of record.b below a range's duration */

bool nvtx_domain_is_on(const struct name *domain)
{
	return nvtx_is_on() && !nvtx_select_excludes(domain);
}

bool nvtx_is_on(void)
{
	uint32_t state = __atomic_load_n(&session.state, __ATOMIC_ACQUIRE);
	return session.config.nvtx && (state == SESSION_ON || state == SESSION_FORKED);
}

/* ---- records ---- */

static inline uint64_t names_of(struct name *domain, const struct nvtx_event *event)
{
	uint64_t text = event->kind == NVTX_TEXT_NAME
		? names_ref((struct name *)(uintptr_t)event->text)
		: 0;
	return (uint64_t)names_ref(domain) << 32 | text;
}

static inline bool has_text(const struct nvtx_event *event)
{
	return event->text && event->kind != NVTX_TEXT_NAME && event->kind != NVTX_TEXT_NONE;
}

static inline uint32_t text_copy(char *to, const struct nvtx_event *event, bool *ret_cut)
{
	if (__builtin_expect(event->kind == NVTX_TEXT_WIDE, 0))
		return nvtx_wide_copy(to, event->text, ret_cut);
	return nvtx_chars_copy(to, event->text, ret_cut);
}

/* Copy a text into a record or range, with a reference to the rest of a long text. */
static inline uint32_t text_put(char *to, const struct nvtx_event *event, bool *ret_cut)
{
	uint32_t bytes = text_copy(to, event, ret_cut);
	if (__builtin_expect(*ret_cut, 0))
		bytes = nvtx_long_put(to, bytes, event->kind, event->text);
	return bytes;
}

/* ---- marks ---- */

struct mark {
	uint64_t tick, names;
	const struct nvtx_attributes *attributes; /* NULL = none */
};

#define MARK_SLOTS_MAX                                                                       \
	(1 +                                                                                 \
		(sizeof(struct nvtx_attributes) + NVTX_TEXT_BYTES + 16 + RECORD_BYTES - 1) / \
			RECORD_BYTES)

/* Write the mark to `r`, which has room for the longest text. Return the number of its slots. If
 * `long_too` is false, return 0 for a text that is cut, and do not fill `r`. */
static inline __attribute__((always_inline)) unsigned mark_fill(
	struct record *r, const struct mark *m, const struct nvtx_event *event, bool long_too)
{
	char *at = (char *)(r + 1);
	uint64_t bytes = 0, flags = 0;
	if (m->attributes) {
		*(struct nvtx_attributes *)(void *)at = *m->attributes;
		bytes = sizeof(*m->attributes);
	}
	if (has_text(event)) {
		bool cut;
		bytes += long_too ? text_put(at + bytes, event, &cut)
				  : text_copy(at + bytes, event, &cut);
		if (__builtin_expect(cut && !long_too, 0))
			return 0;
		flags = cut ? RECORD_TEXT_CUT : 0;
	}
	r->tick = m->tick;
	r->word = nvtx_word(REC_NVTX_MARK, flags, bytes);
	r->a = m->names;
	r->b = m->attributes ? NVTX_HAS_ATTRIBUTES : 0;
	return record_slots(bytes);
}

/* Write a mark near the end of a chunk, with a callchain or a long text: it is built on the stack
 * first, so that only the room that it needs is requested. */
static __attribute__((noinline)) void mark_put(
	struct thread *t, const struct mark *m, const struct nvtx_event *event)
{
	struct record made[MARK_SLOTS_MAX];
	unsigned slots = mark_fill(made, m, event, true);
	uint64_t bytes = slots * sizeof(struct record);
	struct record *r = chains_due(CHAIN_NVTX, 0) ? chains_room(t, m->tick, &slots)
						     : lane_room_soon(t, slots);
	if (!r)
		return;
	nvtx_words_copy(r, made, bytes);
	lane_publish(t, slots);
}

void nvtx_mark(struct name *domain, const struct nvtx_event *event)
{
	if (!gate_is_open() || nvtx_select_excludes(domain))
		return;
	struct thread *t = event_enter();
	if (!t)
		return;
	struct mark m = {clock_ticks(), names_of(domain, event),
		event->has_attributes ? &event->attributes : NULL};
	unsigned most = has_text(event) ? MARK_SLOTS_MAX : 2, slots = 0;
	struct record *r = lane_room_at_hand(t, most);
	if (__builtin_expect(r != NULL, 1) && !chains_due(CHAIN_NVTX, 0))
		slots = mark_fill(r, &m, event, false);
	if (__builtin_expect(slots != 0, 1))
		lane_publish(t, slots);
	else
		mark_put(t, &m, event);
	thread_leave(t);
}

/* ---- push and pop ---- */

static inline struct nvtx_frame *frame_at(const struct thread *t, uint32_t offset)
{
	return (struct nvtx_frame *)(void *)(t->ranges + offset);
}

#define FRAME_BYTES_MAX (sizeof(struct nvtx_frame) + NVTX_TEXT_BYTES + 16)

/* Map memory for the first range of a thread, or for more ranges. */
static __attribute__((cold, noinline)) bool ranges_grow(struct thread *t)
{
	struct lane *lane = t->lane;
	if (t->ranges) {
		uint32_t more = NVTX_RANGES_BYTES - t->ranges_limit;
		if (!more || !spool_file_reserve(t->ranges + t->ranges_limit, more))
			return false;
		t->ranges_limit = NVTX_RANGES_BYTES;
		return true;
	}
	void *place;
	if (!lane->ranges)
		lane->ranges = spool_file_take(NVTX_RANGES_BYTES, NVTX_RANGES_FIRST_BYTES, &place);
	if (!lane->ranges)
		return false;
	lane->ranges_top = 0;
	t->ranges = spool_file_at(lane->ranges);
	t->ranges_limit = NVTX_RANGES_FIRST_BYTES;
	t->ranges_last = NVTX_NO_FRAME;
	t->ranges_lost = 0;
	return true;
}

/* Return the offset of the frame below the frame at `at`, or NVTX_NO_FRAME. Two tasks that run on
 * this memory at the same time may leave a frame whose `previous` is not below it. */
static inline uint32_t frame_below(const struct thread *t, uint32_t at)
{
	uint32_t below = frame_at(t, at)->previous;
	return below < at ? below : NVTX_NO_FRAME;
}

/* Return the innermost open range of a domain, or NULL. */
static inline struct nvtx_frame *frame_of(const struct thread *t, uint64_t domain)
{
	for (uint32_t at = t->ranges_last; at != NVTX_NO_FRAME;) {
		struct nvtx_frame *f = frame_at(t, at);
		if (f->names >> 32 == domain && !(f->flags & FRAME_CLOSED))
			return f;
		at = frame_below(t, at);
	}
	return NULL;
}

static __attribute__((cold, noinline)) int push_lost(struct thread *t)
{
	t->lane->dropped[DROP_NO_LANE]++;
	if (!t->ranges)
		return NVTX_NOT_TRACED;
	struct nvtx_frame *last =
		t->ranges_last != NVTX_NO_FRAME ? frame_at(t, t->ranges_last) : NULL;
	return (last ? last->level + 1 : 0) + (int)t->ranges_lost++;
}

static inline int push(struct thread *t, struct name *domain, const struct nvtx_event *event)
{
	struct lane *lane = t->lane;
	if (__builtin_expect(
		    !t->ranges || lane->ranges_top + FRAME_BYTES_MAX > t->ranges_limit, 0) &&
		!ranges_grow(t))
		return push_lost(t);
	struct nvtx_frame *f = frame_at(t, lane->ranges_top);
	uint64_t names = names_of(domain, event);
	const struct nvtx_frame *outer = frame_of(t, names >> 32);
	uint32_t flags = 0, bytes = 0;
	int level = outer ? outer->level + 1 : 0;
	if (event->has_attributes) {
		f->attributes = event->attributes;
		flags |= FRAME_ATTRIBUTES;
	}
	if (has_text(event)) {
		bool cut;
		bytes = text_put(f->text, event, &cut);
		flags |= cut ? FRAME_CUT : 0;
	}
	if (__builtin_expect(nvtx_selects, 0)) /* may open the gate */
		flags |= nvtx_select_push(domain, event, f->text, bytes);
	flags |= GATE_LOOKS_OPEN(session_mask) ? 0 : FRAME_SILENT;
	f->names = names;
	f->recorded_at = 0;
	f->text_bytes = bytes;
	f->previous = t->ranges_last;
	f->level = (uint16_t)level;
	f->flags = (uint16_t)flags;
	t->ranges_last = lane->ranges_top;
	f->tick = clock_ticks();
	__atomic_store_n(&lane->ranges_top,
		lane->ranges_top + (uint32_t)((sizeof(*f) + bytes + 7) & ~7u), __ATOMIC_RELEASE);
	return level;
}

int nvtx_push(struct name *domain, const struct nvtx_event *event)
{
	struct thread *t = event_enter();
	if (!t)
		return NVTX_NOT_TRACED;
	int level = push(t, domain, event);
	thread_leave(t);
	return level;
}

/* Record a range that ends at `tick`. The frame stores the end position of the record before the
 * record is published, so after a kill the writer uses only one of the two. */
static inline void range_put(
	struct thread *t, struct nvtx_frame *f, uint64_t tick, enum record_flag flag)
{
	uint64_t fixed = f->flags & FRAME_ATTRIBUTES ? sizeof(f->attributes) : 0;
	uint64_t text_bytes = f->flags & FRAME_NAMED ? 0 : f->text_bytes;
	uint64_t bytes = fixed + text_bytes, flags = flag;
	unsigned slots = record_slots(bytes);
	struct record *r = !flag && chains_due(CHAIN_NVTX, tick - f->tick)
		? chains_room(t, f->tick, &slots)
		: lane_room_soon(t, slots);
	if (!r)
		return;
	char *at = (char *)(r + 1);
	if (fixed)
		*(struct nvtx_attributes *)(void *)at = f->attributes;
	nvtx_words_copy(at + fixed, f->text, text_bytes);
	if (f->flags & FRAME_CUT)
		flags |= RECORD_TEXT_CUT;
	r->tick = f->tick;
	r->word = nvtx_word(REC_NVTX_RANGE, flags, bytes);
	r->a = f->names;
	r->b = (tick - f->tick) << NS_BITS | (f->level & NVTX_LEVEL_MASK) |
		(fixed ? NVTX_HAS_ATTRIBUTES : 0);
	f->recorded_at = t->lane->head + slots * RECORD_BYTES;
	THREAD_BARRIER();
	lane_publish(t, slots);
}

/* Set new attributes of a range that ends. A kill in between leaves some of the old attributes. */
static void attributes_end(struct nvtx_attributes *a, const struct nvtx_ending *e)
{
	if (e->has_category)
		a->category = e->category;
	if (e->has_color)
		a->color = e->color;
	if (e->payload && a->payload_type == NVTX_VALUE_NONE) {
		a->payload = e->payload;
		a->payload_type = NVTX_VALUE_EXTENDED;
	}
}

static uint64_t names_end(uint64_t names, struct name *text)
{
	return (names & ~(uint64_t)UINT32_MAX) | names_ref(text);
}

static void frame_end(struct nvtx_frame *f, const struct nvtx_ending *e)
{
	if (!(f->flags & FRAME_ATTRIBUTES)) {
		f->attributes = (struct nvtx_attributes){0};
		f->flags |= FRAME_ATTRIBUTES;
	}
	attributes_end(&f->attributes, e);
	if (e->text) {
		f->names = names_end(f->names, e->text);
		f->flags = (uint16_t)((f->flags & ~FRAME_CUT) | FRAME_NAMED);
	}
}

/* Remove closed frames from the top. */
static inline void frames_trim(struct thread *t)
{
	uint32_t at = t->ranges_last, top = t->lane->ranges_top;
	while (at != NVTX_NO_FRAME && frame_at(t, at)->flags & FRAME_CLOSED) {
		top = at;
		at = frame_below(t, at);
	}
	t->ranges_last = at;
	__atomic_store_n(&t->lane->ranges_top, top, __ATOMIC_RELEASE);
}

static __attribute__((cold, noinline)) int pop_lost(struct thread *t)
{
	if (!t->ranges)
		return NVTX_NOT_OPEN;
	int below = t->ranges_last != NVTX_NO_FRAME ? frame_at(t, t->ranges_last)->level : -1;
	return below + (int)t->ranges_lost--;
}

static inline int pop(
	struct thread *t, struct name *domain, uint64_t tick, const struct nvtx_ending *ending)
{
	if (__builtin_expect(!t->ranges || t->ranges_lost, 0))
		return pop_lost(t);
	struct nvtx_frame *f = frame_of(t, names_ref(domain));
	if (!f)
		return NVTX_NOT_OPEN;
	int level = f->level;
	if (ending)
		frame_end(f, ending);
	if (!(f->flags & FRAME_SILENT))
		range_put(t, f, tick, 0);
	if (__builtin_expect(f->flags & (FRAME_CAPTURE | FRAME_HOOKED), 0))
		nvtx_select_pop(f->flags, false);
	f->flags |= FRAME_CLOSED;
	frames_trim(t);
	return level;
}

int nvtx_pop(struct name *domain)
{
	uint64_t tick = clock_ticks();
	struct thread *t = event_enter();
	if (!t)
		return NVTX_NOT_TRACED;
	int level = pop(t, domain, tick, NULL);
	thread_leave(t);
	return level;
}

int nvtx_pop_with(struct name *domain, const struct nvtx_ending *ending)
{
	struct thread *t = event_enter();
	if (!t)
		return NVTX_NOT_TRACED;
	int level = pop(t, domain, ending->tick, ending);
	thread_leave(t);
	return level;
}

static uint64_t extended_of(const struct nvtx_attributes *a)
{
	return a->payload_type == NVTX_VALUE_EXTENDED ? a->payload : 0;
}

uint64_t nvtx_pop_payload(struct name *domain)
{
	struct thread *t = event_enter();
	uint64_t payload = 0;
	if (!t)
		return 0;
	const struct nvtx_frame *f =
		t->ranges && !t->ranges_lost ? frame_of(t, names_ref(domain)) : NULL;
	if (f && f->flags & FRAME_ATTRIBUTES)
		payload = extended_of(&f->attributes);
	thread_leave(t);
	return payload;
}

void nvtx_detach(struct thread *t)
{
	uint64_t tick = clock_ticks();
	if (!t->ranges)
		return;
	for (uint32_t at = t->ranges_last; at != NVTX_NO_FRAME;) {
		struct nvtx_frame *f = frame_at(t, at);
		if (!(f->flags & (FRAME_CLOSED | FRAME_SILENT)))
			range_put(t, f, tick, RECORD_UNFINISHED);
		if (!(f->flags & FRAME_CLOSED))
			nvtx_select_pop(f->flags, true);
		f->flags |= FRAME_CLOSED;
		at = frame_below(t, at);
	}
	frames_trim(t);
	t->ranges = NULL;
}

/* ---- start and end ---- */

uint64_t nvtx_start(struct name *domain, const struct nvtx_event *event)
{
	struct thread *t = event_enter();
	if (!t)
		return spans_no_id();
	struct nvtx_span *s = spans_take();
	uint64_t id = s ? spans_new_id(s) : spans_no_id();
	if (!s) {
		t->lane->dropped[DROP_NO_LANE]++;
		thread_leave(t);
		return id;
	}
	bool cut = false;
	s->names = names_of(domain, event);
	s->recorded_at = 0;
	s->tid = t->tid;
	s->lane = t->lane->index;
	s->attributes = event->has_attributes ? event->attributes : (struct nvtx_attributes){0};
	s->text_bytes = has_text(event) ? text_put(s->text, event, &cut) : 0;
	s->flags = cut ? FRAME_CUT : 0;
	if (__builtin_expect(nvtx_selects, 0)) /* may open the gate */
		s->flags |= nvtx_select_range(domain, event, s->text, s->text_bytes);
	s->flags |= GATE_LOOKS_OPEN(session_mask) ? 0 : FRAME_SILENT;
	s->tick = clock_ticks();
	spans_open(s, id);
	thread_leave(t);
	return id;
}

static void span_put(struct thread *t, struct nvtx_span *s, uint64_t id, uint64_t tick)
{
	struct nvtx_start start = {.id = id, .tid = s->tid};
	uint64_t fixed = sizeof(s->attributes) + sizeof(start);
	uint64_t text_bytes = s->flags & FRAME_NAMED ? 0 : s->text_bytes;
	uint64_t bytes = fixed + text_bytes;
	unsigned slots = record_slots(bytes);
	struct record *r = chains_due(CHAIN_NVTX, tick - s->tick) ? chains_room(t, s->tick, &slots)
								  : lane_room_soon(t, slots);
	if (!r)
		return;
	char *at = (char *)(r + 1);
	*(struct nvtx_attributes *)(void *)at = s->attributes;
	*(struct nvtx_start *)(void *)(at + sizeof(s->attributes)) = start;
	nvtx_words_copy(at + fixed, s->text, text_bytes);
	r->tick = s->tick;
	r->word = nvtx_word(REC_NVTX_START_END, s->flags & FRAME_CUT ? RECORD_TEXT_CUT : 0, bytes);
	r->a = s->names;
	r->b = (tick - s->tick) << NS_BITS;
	s->end_lane = t->lane->index;
	s->recorded_at = t->lane->head + slots * RECORD_BYTES;
	THREAD_BARRIER();
	lane_publish(t, slots);
}

static void end(uint64_t id, uint64_t tick, const struct nvtx_ending *ending)
{
	struct thread *t = event_enter();
	struct nvtx_span *s = t ? spans_claim(id) : NULL;
	if (s) {
		if (ending) {
			attributes_end(&s->attributes, ending);
			if (ending->text) {
				s->names = names_end(s->names, ending->text);
				s->flags = (s->flags & ~(uint32_t)FRAME_CUT) | FRAME_NAMED;
			}
		}
		if (!(s->flags & FRAME_SILENT))
			span_put(t, s, id, tick);
		if (__builtin_expect(s->flags & FRAME_CAPTURE, 0))
			window_range_end();
		spans_give(s, id);
	}
	if (t)
		thread_leave(t);
}

void nvtx_end(uint64_t id)
{
	end(id, clock_ticks(), NULL);
}

void nvtx_end_with(uint64_t id, const struct nvtx_ending *ending)
{
	end(id, ending->tick, ending);
}

uint64_t nvtx_end_payload(uint64_t id)
{
	const struct nvtx_span *s = spans_find(id);
	return s ? extended_of(&s->attributes) : 0;
}

/* ---- names ---- */

/* Intern the text. Needs no lane: names may be created before anything is recorded. */
static struct name *intern(bool is_domain, struct name *domain, enum nvtx_text_kind kind,
	const void *text, bool *ret_is_new)
{
	struct thread *t = &thread_self;
	char copy[NVTX_TEXT_BYTES + TEXT_WORD_BYTES];
	bool cut = false;
	const struct nvtx_event event = {.kind = kind, .text = text};
	uint32_t bytes = has_text(&event) ? text_copy(copy, &event, &cut) : 0;
	thread_mend_guard(t);
	if (t->busy)
		return NULL;
	thread_enter(t);
	struct name *name = !cut ? NULL
		: is_domain      ? nvtx_long_domain(kind, text, ret_is_new)
				 : nvtx_long_name(kind, text);
	if (!name)
		name = names_intern(is_domain, domain, copy, bytes, cut, ret_is_new);
	thread_leave(t);
	return name;
}

struct name *nvtx_domain(enum nvtx_text_kind kind, const void *text)
{
	bool is_new = false;
	struct name *name = intern(true, NULL, kind, text, &is_new);
	if (is_new)
		nvtx_named(NVTX_NAMED_DOMAIN, name, 0, 0, kind, text);
	return name;
}

struct name *nvtx_string(struct name *domain, enum nvtx_text_kind kind, const void *text)
{
	return intern(false, domain, kind, text, NULL);
}

void nvtx_named(enum nvtx_what what, struct name *domain, uint64_t id, uint32_t type,
	enum nvtx_text_kind kind, const void *text)
{
	struct {
		struct nvtx_named named;
		char text[NVTX_TEXT_BYTES + TEXT_WORD_BYTES];
	} payload = {.named = {what, type}};
	bool cut = false;
	const struct nvtx_event event = {.kind = kind, .text = text};
	/* Record the name even while the gate is closed: later events may use it. */
	if (nvtx_select_excludes(domain))
		return;
	struct thread *t = event_enter();
	if (!t)
		return;
	uint32_t bytes = has_text(&event) ? text_copy(payload.text, &event, &cut) : 0;
	lane_put(t, clock_ticks(), REC_NVTX_NAME, names_of(domain, &event), id, &payload,
		sizeof(payload.named) + bytes);
	thread_leave(t);
}
