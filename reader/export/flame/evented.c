/* SPDX-License-Identifier: Apache-2.0 */
/* evented.c - what each thread did over time, as evented profiles of speedscope. */
#include "reader/export/flame/evented.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/base/print.h"
#include "reader/export/exporters.h"

#define EVENT_BYTES 80 /* longest event as text */

struct open_frame {
	uint32_t frame;
	bool is_of_chain; /* a caller, not a slice */
};

/* A slice that is open: its frames are those after the frames of the slice around it. */
struct open_slice {
	uint64_t end_ns;
	uint32_t frames; /* number of open frames with this slice */
};

struct evented_thread {
	const struct process *process;
	uint32_t tid;
	struct open_frame *frames; /* outermost first */
	uint32_t frame_count, frame_capacity;
	struct open_slice *slices;
	uint32_t slice_count, slice_capacity;
	bool has_events;
	struct temporary_stream events;
};

static struct evented_thread *thread_of(struct evented *e, const struct timeline_item *i)
{
	const struct process *process = i->track->key.process;
	uint32_t found = map_get(&e->numbers, process->id, i->row->tid);
	if (found)
		return &e->threads[found - 1];
	if (array_room(&e->threads, e->count, &e->capacity, sizeof(*e->threads)) ||
		map_put(&e->numbers, process->id, i->row->tid, e->count + 1))
		return NULL;
	e->threads[e->count] = (struct evented_thread){.process = process, .tid = i->row->tid};
	return &e->threads[e->count++];
}

static int event_write(
	struct evented *e, struct evented_thread *t, char type, uint32_t frame, uint64_t ns)
{
	char text[EVENT_BYTES];
	int bytes = snprintf(text, sizeof(text), "%s{\"type\":\"%c\",\"frame\":%u,\"at\":%llu}",
		t->has_events ? ",\n" : "\n", type, frame,
		(unsigned long long)(ns > e->start_ns ? ns - e->start_ns : 0));
	t->has_events = true;
	return temporary_stream_write(&e->file, &t->events, text, (size_t)bytes);
}

/* Close the frames above `keep`, innermost first. */
static int frames_close(struct evented *e, struct evented_thread *t, uint32_t keep, uint64_t ns)
{
	int error = 0;
	for (uint32_t n = t->frame_count; !error && n-- > keep;)
		error = event_write(e, t, 'C', t->frames[n].frame, ns);
	return error;
}

/* Close slice `n`, which ends now. Slices inside it that end later are interrupted: formats of
 * stacks cannot show that slices overlap without nesting. */
static int slice_close(struct evented *e, struct evented_thread *t, uint32_t n)
{
	const uint32_t first = n ? t->slices[n - 1].frames : 0, end = t->slices[n].frames;
	const uint64_t ns = t->slices[n].end_ns;
	int error = frames_close(e, t, first, ns);
	memmove(&t->frames[first], &t->frames[end], (t->frame_count - end) * sizeof(*t->frames));
	t->frame_count -= end - first;
	memmove(&t->slices[n], &t->slices[n + 1], (t->slice_count - n - 1) * sizeof(*t->slices));
	t->slice_count--;
	for (uint32_t i = n; i < t->slice_count; i++)
		t->slices[i].frames -= end - first;
	for (uint32_t i = first; !error && i < t->frame_count; i++)
		error = event_write(e, t, 'O', t->frames[i].frame, ns);
	return error;
}

/* Close the slices that end at `ns` or before, in order of their ends. */
static int slices_close(struct evented *e, struct evented_thread *t, uint64_t ns)
{
	int error = 0;
	while (!error && t->slice_count) {
		uint32_t first = t->slice_count - 1;
		for (uint32_t n = first; n-- > 0;)
			if (t->slices[n].end_ns < t->slices[first].end_ns)
				first = n;
		if (t->slices[first].end_ns > ns)
			break;
		error = slice_close(e, t, first);
	}
	return error;
}

/* Open a frame inside all open frames. */
static int frame_open(struct evented *e, struct evented_thread *t, struct open_frame f, uint64_t ns)
{
	if (array_room(&t->frames, t->frame_count, &t->frame_capacity, sizeof(*t->frames)))
		return -ENOMEM;
	t->frames[t->frame_count++] = f;
	return event_write(e, t, 'O', f.frame, ns);
}

/* Return whether an open frame is this function of a callchain. A slice may be the call of it. */
static bool is_caller(const struct evented *e, const struct open_frame *open, uint32_t caller)
{
	const struct profile_frame *frames = e->profile->frames;
	return open->is_of_chain ? open->frame == caller
				 : frames[open->frame].function == frames[caller].function;
}

/* Open the functions of a callchain, except the outermost callers that enclosing slices have
 * already opened. */
static int chain_open(struct evented *e, struct evented_thread *t, const struct timeline_item *i)
{
	uint32_t callers[PROFILE_CHAIN_MAX], count = 0, known = 0;
	const int column = i->kind->chain;
	const uint32_t chain = column < 0 ? 0 : (uint32_t)i->row->values[column];
	int error = profile_callers(e->profile, i->row->process, &e->root, chain,
		i->start_ns + i->duration_ns, callers, &count);
	for (uint32_t n = 0; n < t->frame_count && known < count; n++)
		known += is_caller(e, &t->frames[n], callers[known]);
	for (uint32_t n = known; !error && n < count; n++)
		error = frame_open(e, t, (struct open_frame){callers[n], true}, i->start_ns);
	return error;
}

/* Return the name of an item, with the name of its NVTX domain. */
static const char *item_name(struct evented *e, const struct timeline_item *i)
{
	const char *domain = i->track->domain;
	char *text = NULL;
	size_t bytes = 0;
	if (!domain || !*domain)
		return pool_text(&e->profile->symbols->pool, i->name.text.text, i->name.text.bytes);
	FILE *memory = open_memstream(&text, &bytes);
	if (memory)
		fprintf(memory, "%s:%.*s", domain, (int)i->name.text.bytes, i->name.text.text);
	const char *kept = memory && !fclose(memory)
		? pool_text(&e->profile->symbols->pool, text, bytes)
		: NULL;
	free(text);
	return kept;
}

static int item_take(struct evented *e, const struct timeline_item *i)
{
	const enum track_kind track = i->track->key.kind;
	if (i->kind->shape != TIMELINE_SLICE || (track != TRACK_THREAD && track != TRACK_RANGES))
		return 0;
	const struct profile_frame frame = {.function = item_name(e, i)};
	const uint32_t number = profile_frame(e->profile, &frame);
	struct evented_thread *t = number ? thread_of(e, i) : NULL;
	int error = t ? slices_close(e, t, i->start_ns) : -ENOMEM;
	if (!error)
		error = chain_open(e, t, i);
	if (!error)
		error = frame_open(e, t, (struct open_frame){number - 1, false}, i->start_ns);
	if (!error)
		error = array_room(
			&t->slices, t->slice_count, &t->slice_capacity, sizeof(*t->slices));
	if (error)
		return error;
	const uint64_t end_ns = i->start_ns + i->duration_ns;
	t->slices[t->slice_count++] = (struct open_slice){end_ns, t->frame_count};
	e->end_ns = e->end_ns > end_ns ? e->end_ns : end_ns;
	return 0;
}

int evented_read(struct evented *e, struct timeline *timeline, struct profile *profile)
{
	struct timeline_item i;
	const Libtrace__Session *session = timeline->contents.session;
	int error = 0, more = 0;
	*e = (struct evented){.timeline = timeline,
		.profile = profile,
		.start_ns = session ? session->start_ns : 0};
	e->end_ns = e->start_ns;
	while (!error && (more = timeline_next(timeline, &i)) > 0)
		error = item_take(e, &i);
	for (uint32_t n = 0; !error && more >= 0 && n < e->count; n++)
		error = slices_close(e, &e->threads[n], UINT64_MAX);
	return error ? error : more;
}

void evented_release(struct evented *e)
{
	for (uint32_t n = 0; n < e->count; n++) {
		free(e->threads[n].frames);
		free(e->threads[n].slices);
		temporary_stream_release(&e->threads[n].events);
	}
	free(e->threads);
	map_release(&e->numbers);
	temporary_file_release(&e->file);
	*e = (struct evented){0};
}

int evented_print(struct evented *e, FILE *out)
{
	char process[EXPORT_NAME_BYTES], text[256], name[EXPORT_NAME_BYTES + 300];
	int error = 0;
	for (uint32_t n = 0; !error && n < e->count; n++) {
		struct evented_thread *t = &e->threads[n];
		struct string_ref thread = timeline_thread_name(e->timeline, t->process, t->tid);
		export_process_name(
			&e->timeline->contents.processes, t->process, process, sizeof(process));
		export_thread_name(thread, t->tid, text, sizeof(text));
		snprintf(name, sizeof(name), "%s %s, over time", process, text);
		fputs(n ? ",\n{\"type\":\"evented\",\"name\":" : "{\"type\":\"evented\",\"name\":",
			out);
		print_json_string(out, name);
		fprintf(out,
			",\"unit\":\"nanoseconds\",\"startValue\":0,"
			"\"endValue\":%llu,\"events\":[",
			(unsigned long long)(e->end_ns - e->start_ns));
		error = temporary_stream_copy(&e->file, &t->events, out);
		fputs("]}", out);
	}
	return error;
}
