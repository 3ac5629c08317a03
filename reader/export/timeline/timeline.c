/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.c - items of a timeline, from the events of a report in order. */
#include "reader/export/timeline/timeline.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static int column(const struct schema_event *event, const char *name)
{
	for (uint32_t i = 0; i < event->field_count; i++)
		if (!strcmp(event->fields[i].column, name))
			return (int)i;
	return -1;
}

/* Return true if a column is an argument of the item, and not its name, a time or its callchain. */
static bool is_arg(const struct timeline_kind *k, const struct schema_event *event, uint32_t index)
{
	enum field_kind kind = event->fields[index].kind;
	bool is_name = index == k->name &&
		(kind == FIELD_KIND_STRING || kind == FIELD_KIND_SYMBOL ||
			kind == FIELD_KIND_FUNCTION);
	return index && !is_name && (int)index != k->duration && kind != FIELD_KIND_METHOD &&
		kind != FIELD_KIND_PAYLOAD_TYPE && kind != FIELD_KIND_CALLCHAIN &&
		kind != FIELD_KIND_WORD_COUNT && kind != FIELD_KIND_WORD;
}

static void kind_set(struct timeline *t, uint32_t number, struct timeline_kind shown, uint32_t name)
{
	const struct schema_event *event = schema_event(number);
	struct timeline_kind *k = &t->kinds[number];
	*k = shown;
	k->is_shown = true;
	k->name = schema_column_index(event, name);
	k->duration = schema_column(event, FIELD_KIND_DURATION);
	k->chain = schema_column(event, FIELD_KIND_CALLCHAIN);
	k->correlation = column(event, "correlation_id");
	k->device = column(event, "device_id");
	k->context = column(event, "context_id");
	k->stream = column(event, "stream_id");
	k->domain = column(event, "domain");
	k->reported = column(event, "reported");
	for (uint32_t i = 0; i < event->field_count; i++) {
		k->is_numeric[i] = !schema_value_name(&event->fields[i], 0);
		if (is_arg(k, event, i))
			k->args[k->arg_count++] = (uint8_t)i;
	}
}

#define TIMELINE(event, shape_, track_, name, category_)           \
	kind_set(t, KIND_##event,                                  \
		(struct timeline_kind){.shape = TIMELINE_##shape_, \
			.track = TRACK_##track_,                   \
			.category = category_},                    \
		FIELD_##event##_##name);
static void kinds_set(struct timeline *t)
{
#include "reader/export/timeline/timeline.def"
#define MACHINE_METRIC(event, field, name)                                        \
	t->kinds[KIND_##event].counters[t->kinds[KIND_##event].counter_count++] = \
		FIELD_##event##_##field;
#include "common/schema/machine.def"
}

void timeline_show_samples(struct timeline *t)
{
	kind_set(t, KIND_CPU_SAMPLE,
		(struct timeline_kind){
			.shape = TIMELINE_MOMENT, .track = TRACK_THREAD, .category = "sample"},
		FIELD_CPU_SAMPLE_FUNCTION);
}

int timeline_init(struct timeline *t, const struct report *report, const char *symbol_path)
{
	static const struct cursor_filter all = {.end_ns = UINT64_MAX};
	*t = (struct timeline){0};
	contents_init(&t->contents);
	symbols_init(&t->symbols, &t->contents, symbol_path);
	nvtx_payloads_init(&t->payloads, &t->contents);
	tracks_init(&t->tracks, &t->contents);
	cursor_init(&t->cursor, report, &t->contents, &all);
	kinds_set(t);
	t->log_kind = (struct timeline_kind){.is_shown = true,
		.shape = TIMELINE_MOMENT,
		.track = TRACK_THREAD,
		.category = "log",
		.duration = -1,
		.correlation = -1,
		.device = -1,
		.context = -1,
		.stream = -1,
		.domain = -1,
		.chain = -1};
	for (uint32_t i = 0; i <= TIMELINE_EQUALS_MAX; i++)
		t->group.order[i] = i;
	t->rows = calloc(TIMELINE_EQUALS_MAX + 1, sizeof(*t->rows));
	t->devices = calloc(1, sizeof(*t->devices));
	t->gpus = calloc(1, sizeof(*t->gpus));
	return t->rows && t->devices && t->gpus ? 0 : -ENOMEM;
}

void timeline_release(struct timeline *t)
{
	cursor_release(&t->cursor);
	tracks_release(&t->tracks);
	nvtx_payloads_release(&t->payloads);
	log_moments_release(&t->logs);
	cuda_waits_release(&t->waits);
	symbols_release(&t->symbols);
	contents_release(&t->contents);
	map_release(&t->name_numbers);
	map_release(&t->thread_numbers);
	map_release(&t->counter_names);
	pool_release(&t->texts);
	free(t->names);
	free(t->threads);
	free(t->devices);
	if (t->gpus)
		gpus_release(t->gpus);
	free(t->gpus);
	free(t->rows);
}

/* ---- first pass ---- */

static int visit_block(void *user, const struct report_block *block)
{
	struct timeline *t = user;
	int error = cursor_add_block(&t->cursor, block);
	return error ? error : contents_visit_block(t->visitor, block);
}

static int visit_batch(void *user, struct walk *walk, const struct event_batch *batch)
{
	(void)walk;
	return timeline_visit_batch(user, batch);
}

static void visit_problem(void *user, uint64_t offset, const char *cause)
{
	const struct timeline *t = user;
	contents_report_problem(t->visitor, offset, cause);
}

int timeline_read(struct timeline *t, const struct contents_visitor *visitor)
{
	const struct contents_visitor first = {t, visit_block, visit_batch, visit_problem};
	t->visitor = visitor;
	int error = contents_read(&t->contents, t->cursor.report, &first);
	if (!error)
		error = gpus_enter(t->gpus, 0, &t->contents);
	if (!error)
		error = gpus_number(t->gpus);
	if (error)
		return error;
	nvtx_payloads_ready(&t->payloads);
	cursor_start(&t->cursor);
	return 0;
}

/* ---- rows ---- */

/* Return true for rows that only describe other rows; the first pass has read them. */
static bool is_fact(const struct event_row *row)
{
	switch (row->event->number) {
	case KIND_THREAD_START:
	case KIND_THREAD_END:
	case KIND_THREAD_NAME:
	case KIND_MODULE_LOAD:
	case KIND_MODULE_UNLOAD:
	case KIND_PYTHON_CODE:
	case KIND_NVTX_PAYLOAD:
	case KIND_NVTX_PAYLOAD_TEXT:
	case KIND_NVTX_SCHEMA:
	case KIND_NVTX_SCHEMA_ENTRY:
	case KIND_NVTX_ENUM:
	case KIND_NVTX_COUNTER:
	case KIND_GPU_DEVICE:
		return true;
	case KIND_NVTX_NAME: {
		const int64_t what =
			row->values[schema_column_index(row->event, FIELD_NVTX_NAME_WHAT)];
		return what == NAMED_THREAD || what == NAMED_DOMAIN || what == NAMED_DOMAIN_END;
	}
	default:
		return false;
	}
}

/* Read the next row that is shown. Returns 1, 0 at the end, or a negative errno. */
static int row_next(struct timeline *t, struct event_row *row)
{
	int error;
	while ((error = cursor_next(&t->cursor, row)) > 0) {
		if (t->loads != t->cursor.loads) {
			t->loads = t->cursor.loads;
			int stop = contents_visit_block(t->visitor, &t->cursor.block);
			if (stop)
				return stop;
		}
		if (t->kinds[row->event->number].is_shown)
			return 1;
		t->left_out[row->event->number] += !is_fact(row);
	}
	return error;
}

static uint64_t duration_of(const struct timeline *t, const struct event_row *row)
{
	int index = t->kinds[row->event->number].duration;
	return index < 0 ? 0 : (uint64_t)row->values[index];
}

/* Sort rows with the same start: the longest first; of equally long ones, the last recorded, which
 * encloses the others. */
static void group_sort(struct timeline *t)
{
	struct timeline_group *g = &t->group;
	for (uint32_t i = 1; i < g->count; i++) {
		const uint32_t moving = g->order[i];
		const uint64_t duration = duration_of(t, &t->rows[moving]);
		uint32_t at = i;
		for (; at && duration_of(t, &t->rows[g->order[at - 1]]) <= duration; at--)
			g->order[at] = g->order[at - 1];
		g->order[at] = moving;
	}
}

/* Read the rows of the next start, and the row after them. Returns 1, 0 at the end, or a negative
 * errno. */
static int group_fill(struct timeline *t)
{
	struct timeline_group *g = &t->group;
	int more = 1;
	if (g->has_ahead) {
		const uint32_t ahead = g->order[g->count];
		g->order[g->count] = g->order[0];
		g->order[0] = ahead;
	} else {
		more = row_next(t, &t->rows[g->order[0]]);
	}
	if (more <= 0)
		return more;
	g->taken = 0;
	g->count = 1;
	while ((more = row_next(t, &t->rows[g->order[g->count]])) > 0 &&
		g->count < TIMELINE_EQUALS_MAX &&
		t->rows[g->order[g->count]].values[0] == t->rows[g->order[0]].values[0])
		g->count++;
	g->has_ahead = more > 0;
	if (more >= 0 && g->count > 1)
		group_sort(t);
	return more < 0 ? more : 1;
}

static uint64_t value_at(const struct event_row *row, int index)
{
	return index < 0 ? 0 : (uint64_t)row->values[index];
}

/* Return an id that is part of a track; TRACK_UNKNOWN if the file that was converted lacks it. */
static uint32_t id_at(const struct event_row *row, int index)
{
	return index >= 0 && event_row_lacks(row, (uint32_t)index) ? TRACK_UNKNOWN
								   : (uint32_t)value_at(row, index);
}

/* Return the number of the GPU, or the port, of a sample of the machine. */
static uint64_t machine_device(const struct event_row *row)
{
	const uint32_t field = row->event->number == KIND_GPU_SAMPLE
		? (uint32_t)FIELD_GPU_SAMPLE_GPU
		: row->event->number == KIND_NIC_SAMPLE ? (uint32_t)FIELD_NIC_SAMPLE_PORT
							: 0;
	return field ? value_at(row, (int)schema_column_index(row->event, field)) : 0;
}

const uint64_t *timeline_gpu(const struct timeline *t, uint32_t number)
{
	for (uint32_t i = 0; i < t->devices->count; i++) {
		const struct ncu_device *d = &t->devices->rows[i];
		const uint32_t device = (uint32_t)d->columns[FIELD_CUDA_DEVICE_DEVICE_ID];
		if (gpus_find(t->gpus, d->process, device) == number)
			return d->columns;
	}
	return NULL;
}

/* Return the number of the GPU that a row is about. */
static uint32_t gpu_of(const struct timeline *t, const struct event_row *row, int index)
{
	return gpus_find(t->gpus, row->process->id, (uint32_t)value_at(row, index));
}

/* Return the track of a row. track_open() moves a slice that overlaps others without nesting to an
 * overflow of the track. */
static struct track *track_of(
	struct timeline *t, const struct timeline_kind *k, const struct event_row *row)
{
	struct track_key key = {.process = row->process, .kind = k->track};
	switch (k->track) {
	case TRACK_THREAD:
	case TRACK_STATES:
	case TRACK_RANGES:
		key.tid = row->tid;
		key.domain = (uint32_t)value_at(row, k->domain);
		break;
	case TRACK_SPANS:
		key.domain = (uint32_t)value_at(row, k->domain);
		break;
	case TRACK_STREAM:
	case TRACK_WAITS:
		key.context = id_at(row, k->context);
		key.device = k->track == TRACK_WAITS
			? gpus_find(t->gpus, row->process->id,
				  cuda_waits_device(&t->waits, row->process->id, key.context))
			: gpu_of(t, row, k->device);
		key.id = id_at(row, k->stream);
		break;
	case TRACK_NVTX_COUNTER:
		key.domain = (uint32_t)value_at(row, k->domain);
		key.id = value_at(row, (int)k->name);
		break;
	case TRACK_DEVICE_MEMORY:
		key.device = gpu_of(t, row, k->device);
		key.id = value_at(
			row, (int)schema_column_index(row->event, FIELD_CUDA_MEMORY_MEMORY_KIND));
		break;
	case TRACK_METRIC:
		key.device = gpu_of(t, row, k->device);
		key.domain = (uint32_t)value_at(row, (int)k->name);
		break;
	case TRACK_MACHINE:
		key.domain = row->event->number == KIND_NIC_SAMPLE
			? (uint32_t)value_at(row, (int)k->name)
			: 0;
		key.id = track_metric(
			row->event->number, k->counters[t->group.counter], machine_device(row));
		break;
	case TRACK_NCCL:
		key.id = value_at(row, (int)schema_column_index(row->event, FIELD_NCCL_KIND));
		break;
	case TRACK_PROCESS:
	case TRACK_UNIFIED_MEMORY:
	case TRACK_OVERHEAD:
		break;
	}
	return track_find(&t->tracks, &key);
}

/* Compute the value of one of the counters of a sample of the machine; what an interface counted in
 * an interval becomes a rate. Returns false if it is not known. */
static bool machine_value(const struct timeline *t, struct timeline_item *i)
{
	const struct timeline_kind *k = i->kind;
	const int index = (int)schema_column_index(i->row->event, k->counters[t->group.counter]);
	const uint64_t value = value_at(i->row, index);
	if (k->reported >= 0 && !(value_at(i->row, k->reported) >> (index - k->reported - 1) & 1))
		return false;
	i->integer = (int64_t)value;
	i->is_real = k->duration >= 0 && i->duration_ns;
	i->real = i->is_real ? (double)value * 1e9 / (double)i->duration_ns : 0;
	i->duration_ns = 0;
	return true;
}

/* Compute the value of a counter. Returns false if it has no value. */
static bool counter_value(struct timeline *t, struct timeline_item *i)
{
	const struct event_row *row = i->row;
	struct timeline_value v;
	if (i->kind->counter_count)
		return machine_value(t, i);
	if (row->event->number == KIND_CUDA_MEMORY) {
		const uint64_t bytes = value_at(
			row, (int)schema_column_index(row->event, FIELD_CUDA_MEMORY_BYTES));
		i->track->sum = (int64_t)(row->values[i->kind->name] == 1
				? (uint64_t)i->track->sum + bytes
				: (uint64_t)i->track->sum - bytes);
		i->integer = i->track->sum;
		return true;
	}
	timeline_number(row, (uint32_t)schema_column(row->event, FIELD_KIND_PAYLOAD), &v);
	i->is_real = v.kind == TIMELINE_REAL || (v.kind == TIMELINE_UINT && v.number > INT64_MAX);
	i->real = v.kind == TIMELINE_UINT ? (double)v.number : v.real;
	i->integer = (int64_t)v.number;
	i->duration_ns = 0;
	t->no_value += v.kind == TIMELINE_NOTHING || v.kind == TIMELINE_JSON;
	return v.kind != TIMELINE_NOTHING && v.kind != TIMELINE_JSON;
}

static bool is_outermost_call(const struct event_row *row)
{
	return row->event->number == KIND_CUDA_API &&
		!row->values[schema_column_index(row->event, FIELD_CUDA_API_LEVEL)];
}

/* Fill in an item. Returns 1, 0 if it is left out, or a negative errno. */
static int item_make(struct timeline *t, struct timeline_item *i, const struct event_row *row)
{
	const struct timeline_kind *k = &t->kinds[row->event->number];
	*i = (struct timeline_item){.kind = k,
		.row = row,
		.start_ns = (uint64_t)row->values[0],
		.duration_ns = duration_of(t, row),
		.correlation = value_at(row, k->correlation),
		.is_call = is_outermost_call(row)};
	if (i->duration_ns > UINT64_MAX - i->start_ns)
		i->duration_ns = UINT64_MAX - i->start_ns;
	i->track = track_of(t, k, row);
	if (!i->track || timeline_name_find(t, i, &i->name))
		return -ENOMEM;
	if (k->shape == TIMELINE_COUNTER)
		return counter_value(t, i);
	if (k->shape == TIMELINE_MOMENT)
		return 1;
	int error = track_open(
		&t->tracks, i->track, i->start_ns, i->start_ns + i->duration_ns, &i->track);
	t->crossed += !error && !i->track;
	return error ? error : i->track != NULL;
}

/* Make the item of an event from a line of output. Returns 1 or -ENOMEM. */
static int log_item_make(
	struct timeline *t, struct timeline_item *i, const struct log_moment *moment)
{
	const struct event_row *row = &t->logs.row;
	*i = (struct timeline_item){.kind = &t->log_kind,
		.row = row,
		.start_ns = (uint64_t)row->values[0],
		.log_fields = moment->fields};
	i->track = track_of(t, &t->log_kind, row);
	if (!i->track || timeline_name_of_text(t, moment->type, &i->name))
		return -ENOMEM;
	t->items++;
	return 1;
}

int timeline_next(struct timeline *t, struct timeline_item *ret_item)
{
	for (;;) {
		const struct log_moment *moment = log_moments_next(&t->logs);
		if (moment)
			return log_item_make(t, ret_item, moment);
		if (t->group.taken == t->group.count) {
			int more = t->has_ended ? 0 : group_fill(t);
			t->has_ended |= !more;
			if (!more && log_moments_end(&t->logs))
				continue;
			if (more <= 0)
				return more;
		}
		const struct event_row *row = &t->rows[t->group.order[t->group.taken]];
		int error = t->group.counter ? 0 : log_moments_write(&t->logs, &t->contents, row);
		if (error)
			return error;
		int made = item_make(t, ret_item, row);
		ret_item->is_repeated = t->group.counter != 0;
		if (++t->group.counter >= t->kinds[row->event->number].counter_count) {
			t->group.counter = 0;
			t->group.taken++;
		}
		t->items += made > 0;
		if (made)
			return made;
	}
}

bool timeline_is_step(struct timeline *t, const struct timeline_item *i, const char *steps)
{
	const bool is = steps && i->row->event->number == KIND_NVTX_RANGE &&
		!fnmatch(steps, i->name.text.text, 0);
	t->steps += is;
	return is;
}

bool timeline_several(const struct timeline *t)
{
	const struct process_list *l = &t->contents.processes;
	size_t count = 0;
	for (size_t i = 0; i < l->count; i++)
		count += l->rows[i]->events[KIND_CUDA_API] > 0;
	return count > 1;
}
