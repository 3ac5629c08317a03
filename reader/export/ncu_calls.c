#include "reader/export/ncu_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/export/utf8.h"

#define CALLS_FIRST 1024u
#define ATTRIBUTES_VERSION 2u /* of nvtxEventAttributes_t */

/* A range that is open, or was when last looked at. */
struct open_range {
	uint64_t end_ns, id;
	uint32_t tid; /* that pushed or started it */
	uint32_t domain, text, category, color, payload_type;
	uint64_t payload;
	bool is_span; /* of start and end */
};

/* What is held of a process. */
struct ncu_origin {
	struct ncu_call *calls; /* by correlation id, modulo */
	uint32_t call_capacity;
	struct open_range *open; /* in order of their start */
	uint32_t open_count, open_capacity;
};

int ncu_calls_init(struct ncu_calls *c, struct contents *contents)
{
	*c = (struct ncu_calls){.contents = contents,
		.launches = {.pattern = "*Launch*"},
		.has_nvtx = contents->events[KIND_NVTX_RANGE] ||
			contents->events[KIND_NVTX_START_END] || contents->events[KIND_NVTX_MARK],
		.origin_count = contents->processes.ids};
	c->origins = calloc(c->origin_count + 1, sizeof(struct ncu_origin *));
	return c->origins ? 0 : -ENOMEM;
}

void ncu_calls_release(struct ncu_calls *c)
{
	for (size_t i = 0; c->origins && i < c->origin_count; i++) {
		struct ncu_origin *o = c->origins[i];
		for (uint32_t n = 0; o && n < o->call_capacity; n++)
			free(o->calls[n].nvtx);
		if (o) {
			free(o->calls);
			free(o->open);
		}
		free(o);
	}
	free(c->origins);
	name_filter_release(&c->launches);
	pool_release(&c->texts);
}

static struct ncu_origin *origin_of(const struct ncu_calls *c, const struct process *p)
{
	if (p->id >= c->origin_count)
		return NULL;
	if (!c->origins[p->id])
		c->origins[p->id] = calloc(1, sizeof(struct ncu_origin));
	return c->origins[p->id];
}

char *ncu_text(struct pool *pool, const char *text)
{
	size_t bytes = text ? strlen(text) : 0, clean = utf8_clean_bytes(text, bytes);
	if (clean == bytes)
		return (char *)(uintptr_t)(text ? text : ""); /* messages are only packed */
	char *copy = malloc(clean + 1);
	if (copy)
		utf8_clean(text, bytes, copy);
	const char *kept = copy ? pool_text(pool, copy, clean) : NULL;
	free(copy);
	return (char *)(uintptr_t)(kept ? kept : "");
}

static uint64_t value_of(const struct event_row *row, uint32_t field)
{
	return (uint64_t)row->values[schema_column_index(row->event, field)];
}

/* ---- ranges ---- */

/* Forgets those that have ended: ranges hold from their start until before their end. */
static void open_prune(struct ncu_origin *o, uint64_t now_ns)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < o->open_count; i++)
		if (o->open[i].end_ns > now_ns)
			o->open[kept++] = o->open[i];
	o->open_count = kept;
}

static int range_note(
	struct ncu_calls *c, struct ncu_origin *o, const struct open_range *range, uint64_t now_ns)
{
	if (o->open_count == o->open_capacity)
		open_prune(o, now_ns);
	if (o->open_count == NCU_OPEN_MAX) {
		c->ranges_left_out++;
		return 0;
	}
	if (o->open_count == o->open_capacity) {
		uint32_t more = o->open_capacity ? o->open_capacity * 2 : 64;
		struct open_range *open = realloc(o->open, more * sizeof(*open));
		if (!open)
			return -ENOMEM;
		o->open = open;
		o->open_capacity = more;
	}
	o->open[o->open_count++] = *range;
	return 0;
}

#define RANGE_OF(row, event)                                                                   \
	{                                                                                      \
		.domain = (uint32_t)value_of(row, FIELD_##event##_DOMAIN),                     \
		.text = (uint32_t)value_of(row, FIELD_##event##_TEXT),                         \
		.category = (uint32_t)value_of(row, FIELD_##event##_CATEGORY),                 \
		.color = (uint32_t)value_of(row, FIELD_##event##_COLOR),                       \
		.payload_type = (uint32_t)value_of(row, FIELD_##event##_PAYLOAD_TYPE),         \
		.payload = value_of(row, FIELD_##event##_PAYLOAD),                             \
		.end_ns = (uint64_t)(row)->values[0] + value_of(row, FIELD_##event##_DURATION) \
	}

static int push_pop_note(struct ncu_calls *c, struct ncu_origin *o, const struct event_row *row)
{
	struct open_range range = RANGE_OF(row, NVTX_RANGE);
	range.tid = row->tid;
	return range_note(c, o, &range, (uint64_t)row->values[0]);
}

static int span_note(struct ncu_calls *c, struct ncu_origin *o, const struct event_row *row)
{
	struct open_range range = RANGE_OF(row, NVTX_START_END);
	range.is_span = true;
	range.tid = (uint32_t)value_of(row, FIELD_NVTX_START_END_START_TID);
	range.id = value_of(row, FIELD_NVTX_START_END_RANGE_ID);
	return range_note(c, o, &range, (uint64_t)row->values[0]);
}

/* ---- the state of NVTX as a message ---- */

/* Messages of one state: one each for every range at most, and a domain and a thread more. */
struct state {
	struct ncu_calls *calls;
	const struct ncu_origin *origin;
	struct pool room; /* of all messages */
	bool broken;
};

static void *room(struct state *s, size_t count, size_t bytes)
{
	void *p = pool_room(&s->room, (count + 1) * bytes);
	s->broken |= !p;
	if (p)
		memset(p, 0, (count + 1) * bytes);
	return p;
}

static char *text_of(struct state *s, uint32_t id)
{
	return ncu_text(&s->calls->texts, string_table_get(&s->calls->contents->strings, id).text);
}

static Ncu__NvtxPayload *payload_make(struct state *s, const struct open_range *range)
{
	Ncu__NvtxPayload *p = room(s, 1, sizeof(*p));
	const uint64_t bits = range->payload;
	const uint32_t half = (uint32_t)bits;
	if (!p)
		return NULL;
	ncu__nvtx_payload__init(p);
	p->has_payload_type = 1;
	/* NVTX and Nsight Compute number them alike; of extended ones nothing is told here. */
	p->payload_type = range->payload_type <= PAYLOAD_FLOAT
		? (Ncu__NvtxPayloadType)range->payload_type
		: NCU__NVTX_PAYLOAD_TYPE__NvtxPayloadTypeUnknown;
	p->has_ull_value = range->payload_type == PAYLOAD_UINT64;
	p->ull_value = bits;
	p->has_ll_value = range->payload_type == PAYLOAD_INT64;
	p->ll_value = (int64_t)bits;
	p->has_double_value = range->payload_type == PAYLOAD_DOUBLE;
	memcpy(&p->double_value, &bits, sizeof(p->double_value));
	p->has_u_value = range->payload_type == PAYLOAD_UINT32;
	p->u_value = half;
	p->has_i_value = range->payload_type == PAYLOAD_INT32;
	p->i_value = (int32_t)half;
	p->has_f_value = range->payload_type == PAYLOAD_FLOAT;
	memcpy(&p->f_value, &half, sizeof(p->f_value));
	return p;
}

/* NULL where a range has a text and nothing else. */
static Ncu__NvtxEventAttributes *attributes_make(struct state *s, const struct open_range *range)
{
	if (!range->category && !range->color && !range->payload_type)
		return NULL;
	Ncu__NvtxEventAttributes *a = room(s, 1, sizeof(*a));
	Ncu__NvtxColor *color = room(s, 1, sizeof(*color));
	Ncu__NvtxMessage *message = room(s, 1, sizeof(*message));
	if (!a || !color || !message)
		return NULL;
	ncu__nvtx_event_attributes__init(a);
	ncu__nvtx_color__init(color);
	ncu__nvtx_message__init(message);
	a->has_version = a->has_category = 1;
	a->version = ATTRIBUTES_VERSION;
	a->category = range->category;
	a->color = color;
	color->has_color_type = color->has_color = 1;
	color->color_type = range->color ? NCU__NVTX_COLOR_TYPE__NvtxColorTypeArgb
					 : NCU__NVTX_COLOR_TYPE__NvtxColorTypeUnknown;
	color->color = range->color;
	a->payload = payload_make(s, range);
	a->message = message;
	message->has_message_type = 1;
	message->message_type = NCU__NVTX_MESSAGE_TYPE__NvtxMessageTypeAscii;
	message->message = text_of(s, range->text);
	return a;
}

static Ncu__NvtxThread *thread_get(struct state *s, Ncu__NvtxState *state, uint32_t tid)
{
	for (size_t i = 0; i < state->n_threads; i++)
		if (state->threads[i]->tid == tid)
			return state->threads[i];
	Ncu__NvtxThread *t = room(s, 1, sizeof(*t));
	if (!t)
		return NULL;
	ncu__nvtx_thread__init(t);
	t->has_tid = 1;
	t->tid = tid;
	t->push_pop_domains = room(s, s->origin->open_count, sizeof(t->push_pop_domains[0]));
	state->threads[state->n_threads++] = t;
	return t->push_pop_domains ? t : NULL;
}

static void domain_tell(struct state *s, Ncu__NvtxState *state, uint32_t id)
{
	for (size_t i = 0; i < state->n_domains; i++)
		if (state->domains[i]->id == id)
			return;
	Ncu__NvtxDomainInfo *d = room(s, 1, sizeof(*d));
	if (!d)
		return;
	ncu__nvtx_domain_info__init(d);
	d->has_id = 1;
	d->id = id;
	d->name = id ? text_of(s, id) : (char *)(uintptr_t) "<default domain>";
	state->domains[state->n_domains++] = d;
}

static Ncu__NvtxPushPopDomain *stack_get(struct state *s, Ncu__NvtxThread *t, uint32_t domain)
{
	for (size_t i = 0; i < t->n_push_pop_domains; i++)
		if (t->push_pop_domains[i]->id == domain)
			return t->push_pop_domains[i];
	Ncu__NvtxPushPopDomain *d = room(s, 1, sizeof(*d));
	if (!d)
		return NULL;
	ncu__nvtx_push_pop_domain__init(d);
	d->has_id = 1;
	d->id = domain;
	d->stack = room(s, s->origin->open_count, sizeof(d->stack[0]));
	t->push_pop_domains[t->n_push_pop_domains++] = d;
	return d->stack ? d : NULL;
}

static Ncu__NvtxStartEndDomain *spans_get(struct state *s, Ncu__NvtxState *state, uint32_t domain)
{
	for (size_t i = 0; i < state->n_start_end_domains; i++)
		if (state->start_end_domains[i]->id == domain)
			return state->start_end_domains[i];
	Ncu__NvtxStartEndDomain *d = room(s, 1, sizeof(*d));
	if (!d)
		return NULL;
	ncu__nvtx_start_end_domain__init(d);
	d->has_id = 1;
	d->id = domain;
	d->ranges = room(s, s->origin->open_count, sizeof(d->ranges[0]));
	state->start_end_domains[state->n_start_end_domains++] = d;
	return d->ranges ? d : NULL;
}

static void push_pop_put(struct state *s, Ncu__NvtxState *state, const struct open_range *range)
{
	Ncu__NvtxThread *t = thread_get(s, state, range->tid);
	Ncu__NvtxPushPopDomain *d = t ? stack_get(s, t, range->domain) : NULL;
	Ncu__NvtxPushPopRange *r = room(s, 1, sizeof(*r));
	if (!d || !r)
		return;
	ncu__nvtx_push_pop_range__init(r);
	r->name = text_of(s, range->text);
	r->attributes = attributes_make(s, range);
	d->stack[d->n_stack++] = r;
}

static void span_put(struct state *s, Ncu__NvtxState *state, const struct open_range *range)
{
	Ncu__NvtxStartEndDomain *d = spans_get(s, state, range->domain);
	Ncu__NvtxStartEndRange *r = room(s, 1, sizeof(*r));
	if (!d || !r)
		return;
	ncu__nvtx_start_end_range__init(r);
	r->has_id = r->has_start_tid = 1;
	r->id = range->id;
	r->name = text_of(s, range->text);
	r->attributes = attributes_make(s, range);
	r->start_tid = range->tid;
	d->ranges[d->n_ranges++] = r;
}

/* Has the thread of the call, the default domain, and whatever else has an open range. */
static void state_fill(struct state *s, Ncu__NvtxState *state, uint32_t tid)
{
	const struct ncu_origin *o = s->origin;
	ncu__nvtx_state__init(state);
	state->has_default_domain = 1;
	state->domains = room(s, o->open_count, sizeof(state->domains[0]));
	state->threads = room(s, o->open_count, sizeof(state->threads[0]));
	state->start_end_domains = room(s, o->open_count, sizeof(state->start_end_domains[0]));
	if (s->broken)
		return;
	domain_tell(s, state, 0);
	Ncu__NvtxThread *thread = thread_get(s, state, tid);
	if (!thread || !stack_get(s, thread, 0) || !spans_get(s, state, 0))
		return;
	for (uint32_t i = 0; i < o->open_count && !s->broken; i++) {
		domain_tell(s, state, o->open[i].domain);
		if (o->open[i].is_span)
			span_put(s, state, &o->open[i]);
		else
			push_pop_put(s, state, &o->open[i]);
	}
}

static int state_pack(struct ncu_calls *c, const struct ncu_origin *o, struct ncu_call *call)
{
	struct state s = {.calls = c, .origin = o};
	Ncu__NvtxState state;
	state_fill(&s, &state, call->tid);
	if (!s.broken) {
		size_t bytes = ncu__nvtx_state__get_packed_size(&state);
		bool fits = bytes <= NCU_STATES_BYTES - c->state_bytes;
		c->states_left_out += !fits;
		call->nvtx = fits ? malloc(bytes + 1) : NULL;
		s.broken = fits && !call->nvtx;
		call->nvtx_bytes = call->nvtx ? bytes : 0;
		c->state_bytes += call->nvtx_bytes;
	}
	if (call->nvtx)
		ncu__nvtx_state__pack(&state, call->nvtx);
	pool_release(&s.room);
	return s.broken ? -ENOMEM : 0;
}

/* ---- calls ---- */

static struct ncu_call *call_at(const struct ncu_origin *o, uint64_t correlation)
{
	return &o->calls[correlation & (o->call_capacity - 1)];
}

/* Twice the room: those that were apart stay apart. */
static int calls_grow(struct ncu_origin *o)
{
	struct ncu_origin more = {
		.call_capacity = o->call_capacity ? o->call_capacity * 2 : CALLS_FIRST};
	more.calls = calloc(more.call_capacity, sizeof(*more.calls));
	if (!more.calls)
		return -ENOMEM;
	for (uint32_t i = 0; i < o->call_capacity; i++)
		if (o->calls[i].correlation)
			*call_at(&more, o->calls[i].correlation) = o->calls[i];
	free(o->calls);
	o->calls = more.calls;
	o->call_capacity = more.call_capacity;
	return 0;
}

/* Calls of the driver inside one of the runtime have its id: the outer one counts. */
static int call_note(struct ncu_calls *c, struct ncu_origin *o, const struct event_row *row)
{
	uint64_t correlation = value_of(row, FIELD_CUDA_API_CORRELATION_ID);
	if (!correlation ||
		!name_filter_matches(&c->launches, &c->contents->strings,
			(uint32_t)value_of(row, FIELD_CUDA_API_FUNCTION)))
		return 0;
	int error = o->calls ? 0 : calls_grow(o);
	struct ncu_call *call = error ? NULL : call_at(o, correlation);
	while (!error && call->correlation && call->correlation != correlation && !call->used &&
		o->call_capacity < NCU_CALLS_MAX) {
		error = calls_grow(o);
		call = call_at(o, correlation);
	}
	if (error || call->correlation == correlation)
		return error;
	c->state_bytes -= call->nvtx_bytes;
	free(call->nvtx);
	*call = (struct ncu_call){.correlation = correlation,
		.end_ns = (uint64_t)row->values[0] + value_of(row, FIELD_CUDA_API_DURATION),
		.tid = row->tid,
		.chain = (uint32_t)value_of(row, FIELD_CUDA_API_CALLCHAIN)};
	if (!c->has_nvtx)
		return 0;
	open_prune(o, (uint64_t)row->values[0]);
	return state_pack(c, o, call);
}

int ncu_calls_note(struct ncu_calls *c, const struct event_row *row)
{
	const uint32_t kind = row->event->number;
	if (kind != KIND_NVTX_RANGE && kind != KIND_NVTX_START_END && kind != KIND_CUDA_API)
		return 0;
	struct ncu_origin *o = origin_of(c, row->process);
	if (!o)
		return -ENOMEM;
	if (kind == KIND_CUDA_API)
		return call_note(c, o, row);
	return kind == KIND_NVTX_RANGE ? push_pop_note(c, o, row) : span_note(c, o, row);
}

const struct ncu_call *ncu_call_find(
	struct ncu_calls *c, const struct process *process, uint64_t correlation)
{
	const struct ncu_origin *o = process->id < c->origin_count ? c->origins[process->id] : NULL;
	struct ncu_call *call = o && o->calls && correlation ? call_at(o, correlation) : NULL;
	if (!call || call->correlation != correlation)
		return NULL;
	call->used = true;
	return call;
}
