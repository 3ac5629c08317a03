/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_nvtx.c - NVTX ranges open at the launch of a kernel, as messages of a standard entry.
 */
#include "common/ncu/launch_nvtx.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ATTRIBUTES_VERSION 2u /* version of nvtxEventAttributes_t */
#define TYPE(name) NCU__NVTX_PAYLOAD_TYPE__NvtxPayloadType##name
#define PIECE_BYTES 4096u
#define ALIGNMENT _Alignof(max_align_t)

/* ---- memory of one state ---- */

struct nvtx_piece {
	struct nvtx_piece *next;
	size_t used, bytes;
	_Alignas(max_align_t) uint8_t data[];
};

/* Allocate `count` elements and one more, all zero. */
static void *room(struct launch_nvtx *s, size_t count, size_t bytes)
{
	size_t wanted = ((count + 1) * bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	struct nvtx_piece *p = s->pieces;
	if (!p || p->bytes - p->used < wanted) {
		size_t size = wanted > PIECE_BYTES ? wanted : PIECE_BYTES;
		p = calloc(1, sizeof(*p) + size);
		if (!p) {
			s->broken = true;
			return NULL;
		}
		*p = (struct nvtx_piece){.next = s->pieces, .bytes = size};
		s->pieces = p;
	}
	p->used += wanted;
	return p->data + p->used - wanted;
}

void launch_nvtx_release(struct launch_nvtx *s)
{
	while (s->pieces) {
		struct nvtx_piece *p = s->pieces;
		s->pieces = p->next;
		free(p);
	}
}

/* ---- messages ---- */

static char *text(const char *constant)
{
	return (char *)(uintptr_t)constant; /* packing does not change the message */
}

/* NVTX and Nsight Compute number the payload types alike; extended payloads are left out. */
static Ncu__NvtxPayload *payload_make(struct launch_nvtx *s, const struct launch_range *range)
{
	Ncu__NvtxPayload *p = room(s, 1, sizeof(*p));
	const uint64_t bits = range->payload;
	const uint32_t half = (uint32_t)bits;
	if (!p)
		return NULL;
	ncu__nvtx_payload__init(p);
	p->has_payload_type = 1;
	p->payload_type = range->payload_type <= TYPE(Float)
		? (Ncu__NvtxPayloadType)range->payload_type
		: TYPE(Unknown);
	p->has_ull_value = p->payload_type == TYPE(Uint64);
	p->ull_value = bits;
	p->has_ll_value = p->payload_type == TYPE(Int64);
	p->ll_value = (int64_t)bits;
	p->has_double_value = p->payload_type == TYPE(Double);
	memcpy(&p->double_value, &bits, sizeof(p->double_value));
	p->has_u_value = p->payload_type == TYPE(Uint32);
	p->u_value = half;
	p->has_i_value = p->payload_type == TYPE(Int32);
	p->i_value = (int32_t)half;
	p->has_f_value = p->payload_type == TYPE(Float);
	memcpy(&p->f_value, &half, sizeof(p->f_value));
	return p;
}

/* Return the attributes of a range; NULL if it has only a text. */
static Ncu__NvtxEventAttributes *attributes_make(
	struct launch_nvtx *s, const struct launch_range *range)
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
	message->message = text(range->text);
	return a;
}

static Ncu__NvtxThread *thread_get(struct launch_nvtx *s, size_t count, uint32_t tid)
{
	Ncu__NvtxState *m = &s->message;
	for (size_t i = 0; i < m->n_threads; i++)
		if (m->threads[i]->tid == tid)
			return m->threads[i];
	Ncu__NvtxThread *t = room(s, 1, sizeof(*t));
	if (!t)
		return NULL;
	ncu__nvtx_thread__init(t);
	t->has_tid = 1;
	t->tid = tid;
	t->push_pop_domains = room(s, count, sizeof(t->push_pop_domains[0]));
	m->threads[m->n_threads++] = t;
	return t->push_pop_domains ? t : NULL;
}

static void domain_name_put(struct launch_nvtx *s, uint64_t id, const char *name)
{
	Ncu__NvtxState *m = &s->message;
	for (size_t i = 0; i < m->n_domains; i++)
		if (m->domains[i]->id == id)
			return;
	Ncu__NvtxDomainInfo *d = room(s, 1, sizeof(*d));
	if (!d)
		return;
	ncu__nvtx_domain_info__init(d);
	d->has_id = 1;
	d->id = id;
	d->name = text(id ? name : "<default domain>");
	m->domains[m->n_domains++] = d;
}

static Ncu__NvtxPushPopDomain *stack_get(
	struct launch_nvtx *s, size_t count, Ncu__NvtxThread *t, uint64_t domain)
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
	d->stack = room(s, count, sizeof(d->stack[0]));
	t->push_pop_domains[t->n_push_pop_domains++] = d;
	return d->stack ? d : NULL;
}

static Ncu__NvtxStartEndDomain *spans_get(struct launch_nvtx *s, size_t count, uint64_t domain)
{
	Ncu__NvtxState *m = &s->message;
	for (size_t i = 0; i < m->n_start_end_domains; i++)
		if (m->start_end_domains[i]->id == domain)
			return m->start_end_domains[i];
	Ncu__NvtxStartEndDomain *d = room(s, 1, sizeof(*d));
	if (!d)
		return NULL;
	ncu__nvtx_start_end_domain__init(d);
	d->has_id = 1;
	d->id = domain;
	d->ranges = room(s, count, sizeof(d->ranges[0]));
	m->start_end_domains[m->n_start_end_domains++] = d;
	return d->ranges ? d : NULL;
}

static void push_pop_put(struct launch_nvtx *s, size_t count, const struct launch_range *range)
{
	Ncu__NvtxThread *t = thread_get(s, count, range->tid);
	Ncu__NvtxPushPopDomain *d = t ? stack_get(s, count, t, range->domain) : NULL;
	Ncu__NvtxPushPopRange *r = room(s, 1, sizeof(*r));
	if (!d || !r)
		return;
	ncu__nvtx_push_pop_range__init(r);
	r->name = text(range->text);
	r->attributes = attributes_make(s, range);
	d->stack[d->n_stack++] = r;
}

static void span_put(struct launch_nvtx *s, size_t count, const struct launch_range *range)
{
	Ncu__NvtxStartEndDomain *d = spans_get(s, count, range->domain);
	Ncu__NvtxStartEndRange *r = room(s, 1, sizeof(*r));
	if (!d || !r)
		return;
	ncu__nvtx_start_end_range__init(r);
	r->has_id = r->has_start_tid = 1;
	r->id = range->id;
	r->name = text(range->text);
	r->attributes = attributes_make(s, range);
	r->start_tid = range->tid;
	d->ranges[d->n_ranges++] = r;
}

int launch_nvtx_fill(
	struct launch_nvtx *s, const struct launch_range *ranges, size_t count, uint32_t tid)
{
	*s = (struct launch_nvtx){.broken = false};
	Ncu__NvtxState *m = &s->message;
	ncu__nvtx_state__init(m);
	m->has_default_domain = 1;
	m->domains = room(s, count, sizeof(m->domains[0]));
	m->threads = room(s, count, sizeof(m->threads[0]));
	m->start_end_domains = room(s, count, sizeof(m->start_end_domains[0]));
	if (s->broken)
		return -ENOMEM;
	domain_name_put(s, 0, NULL);
	Ncu__NvtxThread *thread = thread_get(s, count, tid);
	if (!thread || !stack_get(s, count, thread, 0) || !spans_get(s, count, 0))
		return -ENOMEM;
	for (size_t i = 0; i < count && !s->broken; i++) {
		domain_name_put(s, ranges[i].domain, ranges[i].domain_name);
		if (ranges[i].is_span)
			span_put(s, count, &ranges[i]);
		else
			push_pop_put(s, count, &ranges[i]);
	}
	return s->broken ? -ENOMEM : 0;
}
