/* SPDX-License-Identifier: Apache-2.0 */
/* perfetto.c - protobuf messages of a Perfetto trace. */
#include "reader/export/timeline/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/export/timeline/perfetto_chains.h"
#include "reader/export/timeline/perfetto_gpu.h"
#include "reader/export/timeline/perfetto_packet.h"
#include "reader/export/proto.h"

/* Field numbers of the messages written, by message (perfetto.protos). */
enum {
	PACKET_CLOCKS = 6,
	PACKET_TRACK_EVENT = 11,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60,
	PACKET_SAMPLE = 66,
	PACKET_TASK_STATE = 117,
	CLOCKS_CLOCK = 1,
	CLOCKS_PRIMARY = 2,
	CLOCK_ID = 1,
	CLOCK_TIMESTAMP = 2,
	DEFAULTS_CLOCK = 58,
	DESCRIPTOR_UUID = 1,
	DESCRIPTOR_NAME = 2,
	DESCRIPTOR_PROCESS = 3,
	DESCRIPTOR_THREAD = 4,
	DESCRIPTOR_PARENT = 5,
	DESCRIPTOR_COUNTER = 8,
	PROCESS_PID = 1,
	PROCESS_COMMAND = 2,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	COUNTER_UNIT = 3,
	SAMPLE_CPU = 1,
	SAMPLE_PID = 2,
	SAMPLE_TID = 3,
	SAMPLE_CALLSTACK = 4,
	SAMPLE_MODE = 5,
	TASK_CPU = 1,
	TASK_NAME = 2,
	TASK_TID = 3,
	TASK_STATE = 4,
	EVENT_CATEGORY = 3,
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME = 10,
	EVENT_TRACK = 11,
	EVENT_CATEGORY_TEXT = 22,
	EVENT_NAME_TEXT = 23,
	EVENT_VALUE = 30,
	EVENT_REAL_VALUE = 44,
	EVENT_FLOW = 47,
	EVENT_CALLSTACK = 56,
	INTERNED_CATEGORY = 1,
	INTERNED_NAME = 2,
	INTERNED_ANNOTATION_NAME = 3,
	ANNOTATION_NAME = 1,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_DOUBLE = 5,
	ANNOTATION_TEXT = 6,
	ANNOTATION_POINTER = 7,
	ANNOTATION_JSON = 9,
	ANNOTATION_NAME_TEXT = 10
};
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };
enum { CLOCK_REALTIME_ID = 1, CLOCK_MONOTONIC_ID = 3 };
enum { UNIT_BYTES = 3 };
enum { MODE_USER = 2 };

#define UUID_OF_TRACKS (UINT64_C(1) << 40)

struct perfetto {
	struct proto proto;
	struct timeline *timeline;
	bool gpu_is_typed; /* work, devices and memory of GPUs as typed events */
	uint32_t names_written;
	struct perfetto_chains chains;
	FILE *out;
	int error;
};

static void clock_put(struct proto *p, uint32_t id, uint64_t ns)
{
	size_t clock = proto_open(p, CLOCKS_CLOCK);
	proto_u64(p, CLOCK_ID, id);
	proto_u64(p, CLOCK_TIMESTAMP, ns);
	proto_close(p, clock);
}

/* Write a clock snapshot. Times are on CLOCK_MONOTONIC, as in the report. */
static void put_clocks(struct perfetto *w)
{
	struct proto *p = &w->proto;
	const Libtrace__Session *s = w->timeline->contents.session;
	size_t packet = proto_open(p, TRACE_PACKET), clocks = proto_open(p, PACKET_CLOCKS);
	clock_put(p, CLOCK_MONOTONIC_ID, s ? s->start_ns : 0);
	if (s && s->has_start_realtime_ns)
		clock_put(p, CLOCK_REALTIME_ID, s->start_realtime_ns);
	proto_u64(p, CLOCKS_PRIMARY, CLOCK_MONOTONIC_ID);
	proto_close(p, clocks);
	proto_u64(p, PACKET_SEQUENCE, PERFETTO_SEQUENCE);
	proto_close(p, packet);
}

static void interned_put(
	struct proto *p, uint32_t field, uint64_t number, const char *text, size_t bytes)
{
	size_t entry = proto_open(p, field);
	proto_u64(p, 1, number);
	proto_text(p, 2, text, bytes);
	proto_close(p, entry);
}

/* Return the id of a column's name; ids count from 1. */
static uint64_t annotation_number(uint32_t event, uint32_t index)
{
	return (uint64_t)event * SCHEMA_FIELDS + index + 1;
}

/* Begin the sequence: the clock of its times, and the names of categories and columns. */
static void put_start(struct perfetto *w)
{
	struct proto *p = &w->proto;
	size_t packet = packet_open(p, STATE_CLEARED), defaults = proto_open(p, PACKET_DEFAULTS);
	proto_u64(p, DEFAULTS_CLOCK, CLOCK_MONOTONIC_ID);
	proto_close(p, defaults);
	size_t interned = proto_open(p, PACKET_INTERNED);
	for (uint32_t n = 0; n < SCHEMA_KINDS; n++) {
		const struct timeline_kind *k = &w->timeline->kinds[n];
		if (!k->is_shown)
			continue;
		interned_put(p, INTERNED_CATEGORY, n, k->category, strlen(k->category));
		for (uint32_t i = 0; i < k->arg_count; i++) {
			const char *name = schema_event(n)->fields[k->args[i]].column;
			interned_put(p, INTERNED_ANNOTATION_NAME, annotation_number(n, k->args[i]),
				name, strlen(name));
		}
	}
	proto_close(p, interned);
	proto_close(p, packet);
}

static void put_name(struct perfetto *w, const struct timeline_name *name)
{
	struct proto *p = &w->proto;
	size_t packet = packet_open(p, NEEDS_STATE), interned = proto_open(p, PACKET_INTERNED);
	interned_put(p, INTERNED_NAME, name->number, name->text.text, name->text.bytes);
	proto_close(p, interned);
	proto_close(p, packet);
	w->names_written = name->number;
}

/* ---- tracks ---- */

static uint64_t uuid_of(const struct track *track)
{
	return UUID_OF_TRACKS | track->number;
}

static void process_put(struct proto *p, struct process_list *l, const struct process *process)
{
	char name[PROCESS_LABEL_BYTES];
	const Libtrace__Process *f = process->facts;
	size_t message = proto_open(p, DESCRIPTOR_PROCESS);
	process_label(l, process, name);
	proto_u64(p, PROCESS_PID, f->pid);
	proto_clean(p, PROCESS_NAME, name, strlen(name));
	for (size_t i = 0; i < f->n_arguments; i++)
		proto_clean(p, PROCESS_COMMAND, (const char *)f->arguments[i].data,
			f->arguments[i].len);
	proto_close(p, message);
}

static void thread_put(struct proto *p, struct timeline *t, const struct track_key *key)
{
	struct string_ref name = timeline_thread_name(t, key->process, key->tid);
	size_t message = proto_open(p, DESCRIPTOR_THREAD);
	proto_u64(p, THREAD_PID, key->process->facts->pid);
	proto_u64(p, THREAD_TID, key->tid);
	if (name.bytes)
		proto_clean(p, THREAD_NAME, name.text, name.bytes);
	proto_close(p, message);
}

static void track_name_put(struct proto *p, struct timeline *t, const struct track *track)
{
	char name[TRACK_NAME_BYTES];
	struct string_ref counter = timeline_counter_name(t, track);
	if (counter.bytes) {
		proto_clean(p, DESCRIPTOR_NAME, counter.text, counter.bytes);
	} else {
		track_name(track, name, sizeof(name));
		proto_clean(p, DESCRIPTOR_NAME, name, strlen(name));
	}
}

static void put_track(struct perfetto *w, struct track *track)
{
	struct proto *p = &w->proto;
	struct track *parent = track->parent ? w->timeline->tracks.rows[track->parent - 1] : NULL;
	const bool is_itself = !track->overflow;
	if (parent && !parent->is_described)
		put_track(w, parent);
	track->is_described = true;
	size_t packet = packet_open(p, NEEDS_STATE), descriptor = proto_open(p, PACKET_TRACK);
	proto_u64(p, DESCRIPTOR_UUID, uuid_of(track));
	if (track->key.kind == TRACK_PROCESS) {
		process_put(p, &w->timeline->contents.processes, track->key.process);
	} else if (track->key.kind == TRACK_THREAD && is_itself) {
		thread_put(p, w->timeline, &track->key);
	} else {
		proto_u64(p, DESCRIPTOR_PARENT, parent ? uuid_of(parent) : 0);
		track_name_put(p, w->timeline, track);
	}
	if (track_is_counter(&track->key)) {
		size_t counter = proto_open(p, DESCRIPTOR_COUNTER);
		if (track->key.kind == TRACK_DEVICE_MEMORY)
			proto_u64(p, COUNTER_UNIT, UNIT_BYTES);
		proto_close(p, counter);
	}
	proto_close(p, descriptor);
	proto_close(p, packet);
}

/* ---- events ---- */

static size_t event_open(
	struct proto *p, uint64_t ns, uint64_t type, const struct track *track, size_t *ret_event)
{
	size_t packet = packet_open(p, NEEDS_STATE);
	proto_u64(p, PACKET_TIMESTAMP, ns);
	*ret_event = proto_open(p, PACKET_TRACK_EVENT);
	proto_u64(p, EVENT_TYPE, type);
	proto_u64(p, EVENT_TRACK, uuid_of(track));
	return packet;
}

static void put_end(void *user, const struct track *track, uint64_t ns)
{
	struct perfetto *w = user;
	if (w->gpu_is_typed && track->key.kind == TRACK_STREAM)
		return; /* these have a duration */
	size_t event, packet = event_open(&w->proto, ns, SLICE_END, track, &event);
	proto_close(&w->proto, event);
	proto_close(&w->proto, packet);
}

static int json_put(struct perfetto *w, const struct event_row *row, uint32_t index)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *memory = open_memstream(&text, &bytes);
	if (!memory)
		return -ENOMEM;
	timeline_payload(w->timeline, memory, row, index);
	int error = fclose(memory) ? -ENOMEM : 0;
	if (!error)
		proto_text(&w->proto, ANNOTATION_JSON, text, bytes);
	free(text);
	return error;
}

static void annotation_put(struct perfetto *w, const struct event_row *row, uint32_t index)
{
	struct proto *p = &w->proto;
	struct timeline_value v;
	timeline_value(w->timeline, row, index, &v);
	if (v.kind == TIMELINE_NOTHING)
		return;
	size_t annotation = proto_open(p, EVENT_ANNOTATION);
	proto_u64(p, ANNOTATION_NAME, annotation_number(row->event->number, index));
	switch (v.kind) {
	case TIMELINE_INT:
		proto_u64(p, ANNOTATION_INT, v.number);
		break;
	case TIMELINE_UINT:
		proto_u64(p, ANNOTATION_UINT, v.number);
		break;
	case TIMELINE_HEX:
		proto_u64(p, ANNOTATION_POINTER, v.number);
		break;
	case TIMELINE_REAL:
		proto_double(p, ANNOTATION_DOUBLE, v.real);
		break;
	case TIMELINE_TEXT:
		proto_text(p, ANNOTATION_TEXT, v.text.text, v.text.bytes);
		break;
	case TIMELINE_JSON:
		w->error = json_put(w, row, index);
		break;
	case TIMELINE_NOTHING:
		break;
	}
	proto_close(p, annotation);
}

/* Write what joins a call to the work that it started on the device: the correlation id, with the
 * process. */
static void flow_put(struct perfetto *w, const struct timeline_item *i)
{
	if (!i->correlation || (!i->is_call && i->track->key.kind != TRACK_STREAM))
		return;
	if (w->gpu_is_typed)
		perfetto_gpu_correlation(&w->proto, i);
	else
		proto_fixed64(&w->proto, EVENT_FLOW, perfetto_gpu_event_id(i));
}

/* Write a CPU sample. */
static void put_sample(struct perfetto *w, const struct timeline_item *i, uint64_t chain)
{
	struct proto *p = &w->proto;
	size_t packet = packet_open(p, NEEDS_STATE);
	proto_u64(p, PACKET_TIMESTAMP, i->start_ns);
	size_t sample = proto_open(p, PACKET_SAMPLE);
	proto_u64(p, SAMPLE_CPU,
		(uint64_t)i->row->values[schema_column_index(i->row->event, FIELD_CPU_SAMPLE_CPU)]);
	proto_u64(p, SAMPLE_PID, i->row->process->facts->pid);
	proto_u64(p, SAMPLE_TID, i->row->tid);
	proto_u64(p, SAMPLE_MODE, MODE_USER);
	if (chain)
		proto_u64(p, SAMPLE_CALLSTACK, chain);
	proto_close(p, sample);
	proto_close(p, packet);
}

/* Write work or memory of a GPU. */
static void put_gpu_item(struct perfetto *w, const struct timeline_item *i)
{
	struct track *parent = w->timeline->tracks.rows[i->track->parent - 1];
	if (!parent->is_described)
		put_track(w, parent);
	if (!i->track->is_described)
		perfetto_gpu_describe(&w->proto, w->timeline, i);
	i->track->is_described = true;
	if (i->kind->shape == TIMELINE_COUNTER)
		perfetto_gpu_counter(&w->proto, i);
	else
		perfetto_gpu_stage(&w->proto, w->timeline, i);
}

static bool is_of_gpu(const struct timeline_item *i)
{
	return i->track->parent &&
		(i->track->key.kind == TRACK_STREAM || i->track->key.kind == TRACK_DEVICE_MEMORY);
}

static void log_fields_put(struct proto *p, const char *fields)
{
	size_t annotation = proto_open(p, EVENT_ANNOTATION);
	proto_string(p, ANNOTATION_NAME_TEXT, "fields");
	proto_string(p, ANNOTATION_JSON, fields);
	proto_close(p, annotation);
}

static int put_item(struct perfetto *w, const struct timeline_item *i)
{
	static const uint64_t types[] = {[TIMELINE_SLICE] = SLICE_BEGIN,
		[TIMELINE_MOMENT] = INSTANT,
		[TIMELINE_COUNTER] = COUNTER};
	struct proto *p = &w->proto;
	uint64_t chain = 0;
	size_t event;
	if (i->name.number > w->names_written)
		put_name(w, &i->name);
	if (w->gpu_is_typed && is_of_gpu(i)) {
		put_gpu_item(w, i);
		return 0;
	}
	if (!i->track->is_described)
		put_track(w, i->track);
	int error = perfetto_chain(&w->chains, i, &chain);
	if (i->row->event->number == KIND_CPU_SAMPLE) {
		put_sample(w, i, chain);
		return error;
	}
	size_t packet = event_open(p, i->start_ns, types[i->kind->shape], i->track, &event);
	if (i->kind->shape == TIMELINE_COUNTER) {
		if (i->is_real)
			proto_double(p, EVENT_REAL_VALUE, i->real);
		else
			proto_u64(p, EVENT_VALUE, (uint64_t)i->integer);
	} else {
		proto_u64(p, EVENT_NAME, i->name.number);
		if (i->log_fields)
			proto_string(p, EVENT_CATEGORY_TEXT, i->kind->category);
		else
			proto_u64(p, EVENT_CATEGORY, i->row->event->number);
		flow_put(w, i);
		if (chain)
			proto_u64(p, EVENT_CALLSTACK, chain);
		for (uint32_t n = 0; n < i->kind->arg_count; n++)
			annotation_put(w, i->row, i->kind->args[n]);
		if (i->log_fields)
			log_fields_put(p, i->log_fields);
	}
	proto_close(p, event);
	proto_close(p, packet);
	return error ? error : w->error;
}

/* ---- states of threads ---- */

/* Write the state of a thread as scheduling of the CPU that it ran on or left. */
static void put_task_state(struct perfetto *w, const struct perfetto_state *state)
{
	static const struct {
		const char *name;
		uint64_t number;
	} numbers[] = {{"runnable", 2}, {"running", 3}, {"blocked", 4}, {"stopped", 6}};
	struct proto *p = &w->proto;
	struct string_ref name = timeline_thread_name(w->timeline, state->process, state->tid);
	uint64_t number = 0;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		number = strcmp(numbers[i].name, state->name) ? number : numbers[i].number;
	size_t packet = packet_open(p, NEEDS_STATE);
	proto_u64(p, PACKET_TIMESTAMP, state->start_ns);
	size_t task = proto_open(p, PACKET_TASK_STATE);
	proto_u64(p, TASK_CPU, (uint64_t)state->cpu);
	if (name.bytes)
		proto_clean(p, TASK_NAME, name.text, name.bytes);
	proto_u64(p, TASK_TID, state->tid);
	proto_u64(p, TASK_STATE, number);
	proto_close(p, task);
	proto_close(p, packet);
}

static int put_state(void *sink, const struct perfetto_state *state)
{
	struct perfetto *w = sink;
	struct proto *p = &w->proto;
	const struct track_key key = {
		.process = state->process, .kind = TRACK_STATES, .tid = state->tid};
	struct track *track = track_find(&w->timeline->tracks, &key);
	size_t event;
	if (!track)
		return -ENOMEM;
	if (!track->is_described)
		put_track(w, track);
	size_t packet = event_open(p, state->start_ns, SLICE_BEGIN, track, &event);
	proto_string(p, EVENT_CATEGORY_TEXT, "state");
	proto_string(p, EVENT_NAME_TEXT, state->name);
	if (*state->detail) {
		size_t annotation = proto_open(p, EVENT_ANNOTATION);
		proto_string(p, ANNOTATION_NAME_TEXT, "detail");
		proto_clean(p, ANNOTATION_TEXT, state->detail, strlen(state->detail));
		proto_close(p, annotation);
	}
	proto_close(p, event);
	proto_close(p, packet);
	put_end(w, track, state->start_ns + state->duration_ns);
	if (state->cpu >= 0)
		put_task_state(w, state);
	return proto_flush(p, w->out, false);
}

int perfetto_write(
	FILE *out, struct timeline *t, bool gpu_is_typed, perfetto_states states, void *user)
{
	struct perfetto w = {.timeline = t, .out = out, .gpu_is_typed = gpu_is_typed};
	struct timeline_item item;
	timeline_show_samples(t);
	perfetto_chains_init(&w.chains, t, &w.proto);
	t->tracks.ended = put_end;
	t->tracks.user = &w;
	put_clocks(&w);
	put_start(&w);
	if (gpu_is_typed)
		perfetto_gpu_start(&w.proto, t);
	int error, more = 0;
	while (!(error = proto_flush(&w.proto, out, false)) &&
		(more = timeline_next(t, &item)) > 0 && !(error = put_item(&w, &item)))
		;
	error = error ? error : more;
	if (!error)
		tracks_end(&t->tracks);
	if (!error && states)
		error = states(user, put_state, &w);
	if (!error)
		error = proto_flush(&w.proto, out, true);
	perfetto_chains_release(&w.chains);
	proto_release(&w.proto);
	return error;
}
