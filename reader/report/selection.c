/* SPDX-License-Identifier: Apache-2.0 */
/* selection.c - row filter of a report, by time and by NVTX ranges. */
#include "reader/report/selection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/hash.h"

/* ---- kinds ---- */

enum rule {
	RULE_ALWAYS,    /* the row describes other rows */
	RULE_BY_THREAD, /* the row is an event of a thread */
	RULE_BY_CALL,   /* the row is a device event: selected with the API call of its
			 * correlation id */
	RULE_SUM        /* the row is a summary of several events */
};

struct kind_rule {
	uint8_t rule, field; /* column of the correlation id, or of the thread; 0 = none */
};

static const struct kind_rule rules[SCHEMA_KINDS] = {
	[KIND_OSRT_CALL] = {RULE_BY_THREAD, 0},
	[KIND_FILE_PATH] = {RULE_BY_THREAD, 0},
	[KIND_NVTX_MARK] = {RULE_BY_THREAD, 0},
	[KIND_NVTX_RANGE] = {RULE_BY_THREAD, 0},
	[KIND_NVTX_START_END] = {RULE_BY_THREAD, FIELD_NVTX_START_END_START_TID},
	[KIND_CUDA_API] = {RULE_BY_THREAD, 0},
	[KIND_CODEXL_CALL] = {RULE_BY_THREAD, 0},
	[KIND_CODEXL_COMMAND] = {RULE_BY_THREAD, 0},
	[KIND_CODEXL_KERNEL] = {RULE_BY_THREAD, 0},
	[KIND_OSRT_SUMMARY] = {RULE_SUM, 0},
	[KIND_CUDA_API_SUMMARY] = {RULE_SUM, 0},
	[KIND_CUDA_KERNEL] = {RULE_BY_CALL, FIELD_CUDA_KERNEL_CORRELATION_ID},
	[KIND_CUDA_MEMCPY] = {RULE_BY_CALL, FIELD_CUDA_MEMCPY_CORRELATION_ID},
	[KIND_CUDA_MEMSET] = {RULE_BY_CALL, FIELD_CUDA_MEMSET_CORRELATION_ID},
	[KIND_CUDA_SYNC] = {RULE_BY_CALL, FIELD_CUDA_SYNC_CORRELATION_ID},
	[KIND_CUDA_EVENT] = {RULE_BY_CALL, FIELD_CUDA_EVENT_CORRELATION_ID},
	[KIND_CUDA_GRAPH_TRACE] = {RULE_BY_CALL, FIELD_CUDA_GRAPH_TRACE_CORRELATION_ID},
	[KIND_CUDA_MEMORY] = {RULE_BY_CALL, FIELD_CUDA_MEMORY_CORRELATION_ID},
	[KIND_CUDA_POOL] = {RULE_BY_CALL, FIELD_CUDA_POOL_CORRELATION_ID},
	[KIND_CUDA_JIT] = {RULE_BY_CALL, FIELD_CUDA_JIT_CORRELATION_ID},
	[KIND_CUDA_UNTIMED] = {RULE_BY_CALL, FIELD_CUDA_UNTIMED_CORRELATION_ID},
	[KIND_CUDA_MEM_DECOMPRESS] = {RULE_BY_CALL, FIELD_CUDA_MEM_DECOMPRESS_CORRELATION_ID},
};

/* ---- selected API calls ---- */

static uint64_t *call_slot(const struct selection *s, uint64_t key)
{
	uint32_t i = (uint32_t)hash_mix(key, 0) & (s->call_capacity - 1);
	while (s->calls[i] && s->calls[i] != key)
		i = (i + 1) & (s->call_capacity - 1);
	return &s->calls[i];
}

/* Return the key of an API call; never 0, because process ids start at 1. */
static uint64_t call_key(uint32_t process, int64_t correlation)
{
	return (uint64_t)process << 32 | (uint32_t)correlation;
}

static int calls_grow(struct selection *s)
{
	struct selection bigger = {.call_capacity = s->call_capacity ? s->call_capacity * 2 : 1024};
	bigger.calls =
		bigger.call_capacity ? calloc(bigger.call_capacity, sizeof(*bigger.calls)) : NULL;
	if (!bigger.calls)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->call_capacity; i++)
		if (s->calls[i])
			*call_slot(&bigger, s->calls[i]) = s->calls[i];
	free(s->calls);
	s->calls = bigger.calls;
	s->call_capacity = bigger.call_capacity;
	return 0;
}

static int call_add(struct selection *s, uint64_t key)
{
	if (2 * (s->call_count + 1) > s->call_capacity && calls_grow(s))
		return -ENOMEM;
	uint64_t *slot = call_slot(s, key);
	s->call_count += !*slot;
	*slot = key;
	return 0;
}

/* ---- rows ---- */

static bool in_window(const struct selection_spec *spec, uint64_t start_ns, uint64_t end_ns)
{
	if (!spec->has_window)
		return true;
	return start_ns < spec->end_ns && (end_ns > spec->start_ns || start_ns == spec->start_ns);
}

struct rows {
	int64_t *start, *duration, *other; /* `other`: correlation id or thread; NULL = none */
};

/* Decode the columns of a batch. Returns false if the batch is damaged; the next reader that
 * decodes it reports the damage. */
static bool rows_decode(struct selection *s, const struct event_batch *b,
	const struct schema_event *event, uint32_t other, struct rows *ret_rows)
{
	int duration = schema_column(event, FIELD_KIND_DURATION);
	*ret_rows = (struct rows){s->columns, s->columns + BATCH_ROWS_MAX,
		other ? s->columns + (size_t)2 * BATCH_ROWS_MAX : NULL};
	if (event_batch_column(b, event->fields[0].number, ret_rows->start))
		return false;
	if (duration < 0)
		memset(ret_rows->duration, 0, b->count * sizeof(int64_t));
	else if (event_batch_column(b, event->fields[duration].number, ret_rows->duration))
		return false;
	return !other || !event_batch_column(b, other, ret_rows->other);
}

static bool row_passes(struct selection *s, const struct event_batch *b, struct kind_rule rule,
	const struct rows *rows, uint32_t i)
{
	const struct nvtx_filter *filter = s->spec.filter;
	uint64_t start_ns = (uint64_t)rows->start[i];
	uint64_t since_ns = start_ns - s->origin_ns;
	if (!in_window(&s->spec, since_ns, since_ns + (uint64_t)rows->duration[i]))
		return false;
	if (!filter || rule.rule == RULE_ALWAYS)
		return true;
	if (rule.rule == RULE_BY_CALL)
		return s->call_count && *call_slot(s, call_key(b->process, rows->other[i]));
	uint32_t tid = rows->other ? (uint32_t)rows->other[i] : b->tid;
	return nvtx_filter_passes(filter, nvtx_state_at(&s->state, b->process, tid, start_ns));
}

/* Implements choose_rows of struct report. */
static bool selection_choose(void *user, struct event_batch *b)
{
	struct selection *s = user;
	const struct schema_event *event = schema_event(b->kind);
	struct kind_rule rule = event ? rules[b->kind] : (struct kind_rule){RULE_ALWAYS, 0};
	bool is_event = rule.rule == RULE_BY_THREAD || rule.rule == RULE_BY_CALL;
	struct rows rows;
	if (!is_event && (!s->spec.events_only || s->spec.filter))
		return rule.rule == RULE_ALWAYS && !s->spec.events_only;
	if (!event || !rows_decode(s, b, event, rule.field, &rows))
		return true;
	uint32_t count = 0;
	for (uint32_t i = 0; i < b->count; i++) {
		s->keep[i] = row_passes(s, b, rule, &rows, i);
		count += s->keep[i];
	}
	s->asked = true;
	s->chosen |= count != 0;
	if (count == b->count)
		return true;
	s->choice.rows = b->count;
	b->choice = &s->choice;
	b->count = count;
	return count != 0;
}

/* ---- reading ahead ---- */

static int visit_calls(void *user, struct walk *walk, const struct event_batch *b)
{
	struct selection *s = user;
	struct rows rows;
	const struct kind_rule rule = {RULE_BY_THREAD, 0};
	const struct schema_event *event = schema_event(KIND_CUDA_API);
	int error = 0;
	(void)walk;
	if (b->kind != KIND_CUDA_API ||
		!rows_decode(s, b, event, FIELD_CUDA_API_CORRELATION_ID, &rows))
		return 0;
	const struct rows of_thread = {rows.start, rows.duration, NULL};
	for (uint32_t i = 0; i < b->count && !error; i++)
		if (row_passes(s, b, rule, &of_thread, i))
			error = call_add(s, call_key(b->process, rows.other[i]));
	return error;
}

static int read_ahead(struct selection *s, const struct report *report)
{
	const struct contents_visitor nothing = {NULL, NULL, NULL, NULL},
				      calls = {s, NULL, visit_calls, NULL};
	struct contents c;
	contents_init(&c);
	int error = s->spec.filter ? nvtx_state_read(&s->state, s->spec.filter, &c, report)
				   : contents_read(&c, report, &nothing);
	s->origin_ns = c.session ? c.session->start_ns : 0;
	if (!error && s->spec.filter && c.events[KIND_CUDA_API]) {
		/* Do not apply the time window to calls: a call before the window may cause device
		 * work inside the window. */
		bool has_window = s->spec.has_window;
		s->spec.has_window = false;
		error = contents_batches(report, &calls);
		s->spec.has_window = has_window;
	}
	contents_release(&c);
	return error;
}

int selection_read(struct selection *s, const struct selection_spec *spec, struct report *report)
{
	*s = (struct selection){.spec = *spec};
	s->keep = malloc(BATCH_ROWS_MAX);
	s->columns = malloc((size_t)4 * BATCH_ROWS_MAX * sizeof(*s->columns));
	int error = s->keep && s->columns ? read_ahead(s, report) : -ENOMEM;
	s->choice.keep = s->keep;
	s->choice.scratch = s->columns ? s->columns + (size_t)3 * BATCH_ROWS_MAX : NULL;
	if (error)
		return error;
	report->choose_rows = selection_choose;
	report->choose_user = s;
	return 0;
}

void selection_release(struct selection *s)
{
	nvtx_state_release(&s->state);
	free(s->calls);
	free(s->keep);
	free(s->columns);
	*s = (struct selection){0};
}
