/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx.c - the NVTX ranges that were open at a launch, as ncu prints them.
 */
#define _GNU_SOURCE
#include "reader/ncu/pages/nvtx.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/cli/base/csv.h"
#include "reader/ncu/nvtx_names.h"

bool nvtx_has_ranges(const Ncu__ProfileResult *r)
{
	const Ncu__NvtxState *s = r->nvtx;
	for (size_t t = 0; s && t < s->n_threads; t++)
		for (size_t i = 0; i < s->threads[t]->n_push_pop_domains; i++)
			if (s->threads[t]->push_pop_domains[i]->n_stack)
				return true;
	for (size_t i = 0; s && i < s->n_start_end_domains; i++)
		if (s->start_end_domains[i]->n_ranges)
			return true;
	return false;
}

static const char *domain_name(struct ncu_nvtx_names *names, uint64_t id)
{
	const char *name = ncu_nvtx_domain(names, id);
	return name ? name : "";
}

/* Return the thread that launched; NULL = unknown. */
static const Ncu__NvtxThread *launching_thread(const Ncu__ProfileResult *r)
{
	const Ncu__NvtxThread *thread = NULL;
	for (size_t t = 0; r->nvtx && t < r->nvtx->n_threads; t++)
		if (r->nvtx->threads[t]->tid == r->thread_id)
			thread = r->nvtx->threads[t];
	return thread;
}

/* Return the launching thread if it was in a range, else NULL. */
static const Ncu__NvtxThread *pushing_thread(const Ncu__ProfileResult *r)
{
	const Ncu__NvtxThread *thread = launching_thread(r);
	for (size_t d = 0; thread && d < thread->n_push_pop_domains; d++)
		if (thread->push_pop_domains[d]->n_stack)
			return thread;
	return NULL;
}

/* ---- attributes ---- */

/* Attributes of a range as texts: the kind of each ("" = none, or unknown), and its value. */
struct attribute_texts {
	const char *payload_kind, *color_kind, *message_kind;
	char payload[344], color[16]; /* 344: the longest double */
	const char *message;          /* NULL = none */
};

static const char *payload_text(const Ncu__NvtxPayload *p, char *text, size_t bytes)
{
	switch (p ? (int)p->payload_type : 0) {
	case NCU__NVTX_PAYLOAD_TYPE__NvtxPayloadTypeUint64:
		snprintf(text, bytes, "%" PRIu64, p->ull_value);
		return "Uint64";
	case NCU__NVTX_PAYLOAD_TYPE__NvtxPayloadTypeInt64:
		snprintf(text, bytes, "%" PRId64, p->ll_value);
		return "Int64";
	case NCU__NVTX_PAYLOAD_TYPE__NvtxPayloadTypeDouble:
		snprintf(text, bytes, "%f", p->double_value);
		return "Double";
	case NCU__NVTX_PAYLOAD_TYPE__NvtxPayloadTypeUint32:
		snprintf(text, bytes, "%" PRIu32, p->u_value);
		return "Uint32";
	case NCU__NVTX_PAYLOAD_TYPE__NvtxPayloadTypeInt32:
		snprintf(text, bytes, "%" PRId32, p->i_value);
		return "Int32";
	case NCU__NVTX_PAYLOAD_TYPE__NvtxPayloadTypeFloat:
		snprintf(text, bytes, "%f", (double)p->f_value);
		return "Float";
	default:
		*text = 0;
		return "";
	}
}

static const char *message_text(
	struct ncu_nvtx_names *names, const Ncu__NvtxMessage *m, const char **ret_kind)
{
	const char *text = NULL;
	*ret_kind = "";
	switch (m ? (int)m->message_type : 0) {
	case NCU__NVTX_MESSAGE_TYPE__NvtxMessageTypeAscii:
		*ret_kind = "ASCII";
		return m->message;
	case NCU__NVTX_MESSAGE_TYPE__NvtxMessageTypeUnicode:
		*ret_kind = "UNICODE";
		return m->message;
	case NCU__NVTX_MESSAGE_TYPE__NvtxMessageTypeRegistered:
		text = ncu_nvtx_text(names, m->handle);
		*ret_kind = text ? "REGISTERED" : "";
		return text ? text : "invalid handle";
	default:
		return NULL;
	}
}

static void texts_of(struct ncu_nvtx_names *names, const Ncu__NvtxEventAttributes *a,
	struct attribute_texts *ret_texts)
{
	struct attribute_texts *t = ret_texts;
	const Ncu__NvtxColor *color = a ? a->color : NULL;
	t->payload_kind = payload_text(a ? a->payload : NULL, t->payload, sizeof(t->payload));
	t->color_kind = "";
	*t->color = 0;
	if (color && color->color_type == NCU__NVTX_COLOR_TYPE__NvtxColorTypeArgb) {
		t->color_kind = "RGB";
		snprintf(t->color, sizeof(t->color), "0x%" PRIx32, color->color);
	}
	t->message = message_text(names, a ? a->message : NULL, &t->message_kind);
}

static const char *or_none(const char *text)
{
	return *text ? text : "none";
}

/* Print a range as name:payload type:payload:color type:color:message type:message. */
static void range_cell(struct ncu_nvtx_names *names, const char *name,
	const Ncu__NvtxEventAttributes *a, FILE *out)
{
	struct attribute_texts t;
	texts_of(names, a, &t);
	fprintf(out, "%s:%s:%s:%s:%s:", name ? name : "", or_none(t.payload_kind),
		or_none(t.payload), or_none(t.color_kind), or_none(t.color));
	fprintf(out, "%s:%s\" ", t.message ? t.message_kind : "none",
		t.message ? t.message : "none");
}

static void range_order(struct ncu_nvtx_names *names, const char *name,
	const Ncu__NvtxEventAttributes *a, FILE *out)
{
	struct attribute_texts t;
	texts_of(names, a, &t);
	fprintf(out, "%s%s%s%s%s%s%s", name ? name : "", t.payload_kind, t.payload, t.color_kind,
		t.color, t.message_kind, t.message ? t.message : "");
}

static void attribute_lines(
	struct ncu_nvtx_names *names, const Ncu__NvtxEventAttributes *a, int indent, FILE *out)
{
	struct attribute_texts t;
	texts_of(names, a, &t);
	if (*t.payload_kind)
		fprintf(out, "%*s%s: %s\n", indent, "", t.payload_kind, t.payload);
	if (*t.color_kind)
		fprintf(out, "%*s%s: %s\n", indent, "", t.color_kind, t.color);
	if (t.message)
		fprintf(out, "%*s%s: %s\n", indent, "", t.message_kind, t.message);
}

/* ---- a launch on a page ---- */

const char *nvtx_innermost(const Ncu__ProfileResult *r)
{
	const Ncu__NvtxThread *thread = pushing_thread(r);
	const char *name = NULL;
	for (size_t d = 0; thread && d < thread->n_push_pop_domains; d++) {
		const Ncu__NvtxPushPopDomain *domain = thread->push_pop_domains[d];
		if (domain->n_stack)
			name = domain->stack[domain->n_stack - 1]->name;
	}
	return name && *name ? name : NULL;
}

static void push_pop_cell(const Ncu__ProfileResult *r, struct ncu_nvtx_names *names, FILE *out)
{
	const Ncu__NvtxThread *thread = pushing_thread(r);
	if (!thread)
		return;
	fprintf(out, "%" PRIu32 " ", thread->tid);
	for (size_t d = 0; d < thread->n_push_pop_domains; d++) {
		const Ncu__NvtxPushPopDomain *domain = thread->push_pop_domains[d];
		for (size_t i = 0; i < domain->n_stack; i++) {
			fprintf(out, " \"%s:", domain_name(names, domain->id));
			range_cell(
				names, domain->stack[i]->name, domain->stack[i]->attributes, out);
		}
	}
}

static void start_end_cell(const Ncu__ProfileResult *r, struct ncu_nvtx_names *names, FILE *out)
{
	const Ncu__NvtxState *s = r->nvtx;
	for (size_t d = 0; s && d < s->n_start_end_domains; d++) {
		const Ncu__NvtxStartEndDomain *domain = s->start_end_domains[d];
		for (size_t i = 0; i < domain->n_ranges; i++) {
			fprintf(out, " \"%" PRIu64 ":%s:", domain->ranges[i]->id,
				domain_name(names, domain->id));
			range_cell(
				names, domain->ranges[i]->name, domain->ranges[i]->attributes, out);
		}
	}
}

static void one_cell(const Ncu__ProfileResult *r, struct ncu_nvtx_names *names,
	void (*print)(const Ncu__ProfileResult *r, struct ncu_nvtx_names *names, FILE *out),
	FILE *out)
{
	char *text = NULL;
	size_t bytes;
	FILE *memory = open_memstream(&text, &bytes);
	if (memory) {
		print(r, names, memory);
		fclose(memory);
	}
	csv_cell(out, false, text);
	free(text);
}

void nvtx_cells(const Ncu__ProfileResult *r, FILE *out)
{
	struct ncu_nvtx_names names;
	ncu_nvtx_names_init(&names, r->nvtx);
	one_cell(r, &names, push_pop_cell, out);
	one_cell(r, &names, start_end_cell, out);
	ncu_nvtx_names_release(&names);
}

static void range_lines(struct ncu_nvtx_names *names, uint64_t level, const char *name,
	const Ncu__NvtxEventAttributes *a, FILE *out)
{
	fprintf(out, "        <%" PRIu64 ",%s>\n", level, name ? name : "");
	attribute_lines(names, a, 10, out);
}

void nvtx_lines(const Ncu__ProfileResult *r, FILE *out)
{
	const Ncu__NvtxState *s = r->nvtx;
	const Ncu__NvtxThread *thread = pushing_thread(r);
	struct ncu_nvtx_names names;
	const char *title = "\n    NVTX Start/End Ranges:\n";
	ncu_nvtx_names_init(&names, s);
	for (size_t d = 0; s && d < s->n_start_end_domains; d++) {
		const Ncu__NvtxStartEndDomain *domain = s->start_end_domains[d];
		if (domain->n_ranges)
			fprintf(out, "%s      %s\n", title, domain_name(&names, domain->id));
		for (size_t i = 0; i < domain->n_ranges; i++)
			range_lines(&names, domain->ranges[i]->id, domain->ranges[i]->name,
				domain->ranges[i]->attributes, out);
		title = domain->n_ranges ? "" : title;
	}
	if (thread)
		fprintf(out, "\n    NVTX Push/Pop Stack for Thread %" PRIu32 ":\n", thread->tid);
	for (size_t d = 0; thread && d < thread->n_push_pop_domains; d++) {
		const Ncu__NvtxPushPopDomain *domain = thread->push_pop_domains[d];
		if (domain->n_stack)
			fprintf(out, "     %s\n", domain_name(&names, domain->id));
		for (size_t i = 0; i < domain->n_stack; i++)
			range_lines(&names, i, domain->stack[i]->name, domain->stack[i]->attributes,
				out);
	}
	ncu_nvtx_names_release(&names);
}

/* ---- states ---- */

#define STATE_DOMAINS_MAX 4096u
#define STATES_BYTES_MAX (4u << 20) /* bytes of the texts of a launch's states */

enum { STATE_ORDER, STATE_OWN, STATE_CELL, STATE_LINES, STATE_TEXTS };

/* Texts of the current state. */
struct state_streams {
	FILE *to[STATE_TEXTS];
	char *texts[STATE_TEXTS];
	size_t bytes[STATE_TEXTS];
};

static bool streams_open(struct state_streams *s)
{
	bool is_open = true;
	for (size_t i = 0; i < STATE_TEXTS; i++) {
		s->to[i] = open_memstream(&s->texts[i], &s->bytes[i]);
		is_open &= s->to[i] != NULL;
	}
	return is_open;
}

static void streams_close(struct state_streams *s)
{
	for (size_t i = 0; i < STATE_TEXTS; i++)
		if (s->to[i])
			fclose(s->to[i]);
}

/* Write a range of the state's domain to the texts that distinguish states. */
static void own_range(struct state_streams *s, struct ncu_nvtx_names *names, const char *name,
	const Ncu__NvtxEventAttributes *a)
{
	range_order(names, name, a, s->to[STATE_ORDER]);
	fputs(" \"", s->to[STATE_OWN]);
	range_cell(names, name, a, s->to[STATE_OWN]);
}

/* Write a range to the texts that are printed; `id` NULL: a range of the stack. */
static void shown_range(struct state_streams *s, struct ncu_nvtx_names *names, const uint64_t *id,
	const char *name, const Ncu__NvtxEventAttributes *a)
{
	fputs(" \"", s->to[STATE_CELL]);
	range_cell(names, name, a, s->to[STATE_CELL]);
	fputs("  <", s->to[STATE_LINES]);
	if (id)
		fprintf(s->to[STATE_LINES], "%" PRIu64 ", ", *id);
	fprintf(s->to[STATE_LINES], "%s>\n", name ? name : "");
	attribute_lines(names, a, 4, s->to[STATE_LINES]);
}

static bool has_started(const Ncu__NvtxState *s, uint64_t domain)
{
	for (size_t i = 0; i < s->n_start_end_domains; i++)
		if (s->start_end_domains[i]->id == domain && s->start_end_domains[i]->n_ranges)
			return true;
	return false;
}

/* Build the texts of all started ranges, once; they are printed with each state that has some. */
static bool started_fill(struct state_streams *to, struct ncu_nvtx_names *names)
{
	const Ncu__NvtxState *s = names->state;
	const bool is_open = streams_open(to);
	for (size_t k = 0; is_open && s && k < s->n_start_end_domains; k++) {
		const Ncu__NvtxStartEndDomain *of = s->start_end_domains[k];
		for (size_t i = 0; i < of->n_ranges; i++)
			shown_range(to, names, &of->ranges[i]->id, of->ranges[i]->name,
				of->ranges[i]->attributes);
	}
	streams_close(to);
	return is_open && to->texts[STATE_CELL] && to->texts[STATE_LINES];
}

static void state_fill(struct state_streams *to, struct ncu_nvtx_names *names,
	const Ncu__NvtxPushPopDomain *d, const struct state_streams *started)
{
	const Ncu__NvtxState *s = names->state;
	for (size_t i = 0; i < d->n_stack; i++) {
		own_range(to, names, d->stack[i]->name, d->stack[i]->attributes);
		shown_range(to, names, NULL, d->stack[i]->name, d->stack[i]->attributes);
	}
	if (!has_started(s, d->id))
		return;
	for (size_t k = 0; k < s->n_start_end_domains; k++) {
		const Ncu__NvtxStartEndDomain *of = s->start_end_domains[k];
		for (size_t i = 0; of->id == d->id && i < of->n_ranges; i++)
			own_range(to, names, of->ranges[i]->name, of->ranges[i]->attributes);
	}
	fputs(started->texts[STATE_CELL], to->to[STATE_CELL]);
	fputs(started->texts[STATE_LINES], to->to[STATE_LINES]);
}

static void streams_free(struct state_streams *s)
{
	for (size_t i = 0; i < STATE_TEXTS; i++)
		free(s->texts[i]);
}

int nvtx_states(const Ncu__ProfileResult *r,
	int (*one)(void *user, const struct nvtx_state_text *state), void *user)
{
	const Ncu__NvtxThread *thread = launching_thread(r);
	struct state_streams started = {.to = {NULL}};
	struct ncu_nvtx_names names;
	ncu_nvtx_names_init(&names, r->nvtx);
	int error = started_fill(&started, &names) ? 0 : -ENOMEM;
	const size_t domains = thread ? thread->n_push_pop_domains : 0;
	size_t bytes = 0;
	if (!error && domains > STATE_DOMAINS_MAX)
		error = -E2BIG;
	for (size_t i = 0; !error && i < domains; i++) {
		const Ncu__NvtxPushPopDomain *d = thread->push_pop_domains[i];
		struct state_streams to = {.to = {NULL}};
		if (!d->n_stack && !has_started(r->nvtx, d->id))
			continue;
		const bool is_open = streams_open(&to);
		if (is_open)
			state_fill(&to, &names, d, &started);
		streams_close(&to);
		const struct nvtx_state_text state = {domain_name(&names, d->id),
			to.texts[STATE_ORDER], to.texts[STATE_OWN], to.texts[STATE_CELL],
			to.texts[STATE_LINES]};
		for (size_t k = 0; k < STATE_TEXTS; k++)
			bytes += to.bytes[k];
		if (!is_open || !state.order || !state.own || !state.cell || !state.lines)
			error = -ENOMEM;
		else
			error = bytes > STATES_BYTES_MAX ? -E2BIG : one(user, &state);
		streams_free(&to);
	}
	streams_free(&started);
	ncu_nvtx_names_release(&names);
	return error;
}

int nvtx_state_order(const struct nvtx_state_text *x, const struct nvtx_state_text *y)
{
	int order = x->domain && y->domain ? strcmp(x->domain, y->domain) : 0;
	if (order || !x->domain || !y->domain)
		return order;
	order = strcmp(x->order, y->order);
	return order ? order : strcmp(x->own, y->own);
}
