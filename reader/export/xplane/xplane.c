/* SPDX-License-Identifier: Apache-2.0 */
/* xplane.c - events of a timeline as events of an XSpace. */
#include "reader/export/xplane/xplane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/export/xplane/details.h"
#include "reader/export/xplane/planes.h"
#include "reader/export/xplane/state.h"
#include "reader/export/xplane/stats.h"
#include "reader/export/xplane/texts.h"

#define PS_PER_NS 1000

/* ---- planes and lines ---- */

/* Return the index of the plane of a device or of the host; -1 = out of memory. */
static int plane_find(struct xplane *x, bool is_device, uint32_t device)
{
	for (uint32_t i = 0; i < x->plane_count; i++)
		if (x->planes[i].is_device == is_device && x->planes[i].device == device)
			return (int)i;
	if (array_room(&x->planes, x->plane_count, &x->plane_capacity, sizeof(*x->planes)))
		return -1;
	x->planes[x->plane_count] = (struct xplane_plane){.is_device = is_device, .device = device};
	return (int)x->plane_count++;
}

static struct xplane_line *line_find(struct xplane *x, const struct track *track)
{
	const bool is_device = track->key.kind == TRACK_STREAM;
	if (array_reserve_zeroed(&x->lines, &x->line_room, track->number, sizeof(*x->lines)))
		return NULL;
	struct xplane_line *line = &x->lines[track->number - 1];
	if (!line->track) {
		int plane = plane_find(x, is_device, is_device ? track->key.device : 0);
		if (plane < 0)
			return NULL;
		line->plane = (uint32_t)plane;
		line->track = track;
	}
	return line;
}

/* ---- events ---- */

/* Record that the plane uses a text, as a name or as a value. */
static int text_use(struct xplane_plane *plane, uint32_t number, bool as_value)
{
	int error = array_reserve_zeroed(&plane->uses, &plane->room, number, sizeof(*plane->uses));
	if (!error)
		plane->uses[number - 1] |= as_value ? XPLANE_VALUE : XPLANE_NAME;
	return error;
}

static void stat_ref(
	struct xplane *x, struct xplane_plane *plane, enum xplane_stat stat, uint32_t text)
{
	size_t message = proto_open(&x->event, EVENT_STAT);
	proto_u64(&x->event, STAT_METADATA, stat);
	proto_u64(&x->event, STAT_REF, XPLANE_STATS + text);
	proto_close(&x->event, message);
	if (!text || text_use(plane, text, true))
		x->error = -ENOMEM;
}

static void event_begin(
	struct xplane *x, uint32_t text, uint64_t start_ns, uint64_t duration_ns, size_t *ret_index)
{
	struct proto *p = &x->event;
	p->used = 0;
	*ret_index = proto_open(p, LINE_EVENT);
	proto_u64(p, EVENT_METADATA, text);
	proto_u64(p, EVENT_OFFSET_PS, (start_ns - x->origin_ns) * PS_PER_NS);
	if (duration_ns)
		proto_u64(p, EVENT_DURATION_PS, duration_ns * PS_PER_NS);
	if (start_ns + duration_ns > x->last_ns)
		x->last_ns = start_ns + duration_ns;
}

static int event_end(struct xplane *x, struct xplane_line *line, uint32_t text, size_t index)
{
	proto_close(&x->event, index);
	int error = x->event.failed ? -ENOMEM : x->error;
	if (!error)
		error = text_use(&x->planes[line->plane], text, false);
	return error ? error
		     : temporary_stream_write(
			       &x->temporary, &line->events, x->event.bytes, x->event.used);
}

/* Add the stats that join calls with device work, and that locate both. */
static void stats_of_work(
	struct xplane *x, const struct timeline_item *i, struct xplane_plane *plane)
{
	char text[32];
	struct proto *p = &x->event;
	const struct timeline_kind *k = i->kind;
	if (i->correlation)
		xplane_stat_u64(p, EVENT_STAT, XPLANE_STAT_CORRELATION,
			x->several ? (uint64_t)i->row->process->id << 32 ^ i->correlation
				   : i->correlation);
	if (k->context >= 0 && i->row->values[k->context])
		stat_ref(x, plane, XPLANE_STAT_CONTEXT,
			xplane_text(x, text,
				(size_t)snprintf(text, sizeof(text), "$$%u",
					(unsigned)i->row->values[k->context])));
	const uint32_t range = xplane_range_of(x, i);
	if (range) {
		const char *name = x->by_number[range - 1] + strlen(XPLANE_NVTX);
		stat_ref(x, plane, XPLANE_STAT_NVTX_RANGE, xplane_text(x, name, strlen(name)));
	}
	if (k->track == TRACK_STREAM) /* XProf counts a device without this stat as idle */
		stat_ref(x, plane, XPLANE_STAT_OPERATION, xplane_operation(x, range));
}

static void stats_of_kernel(
	struct xplane *x, const struct timeline_item *i, struct xplane_plane *plane)
{
	const uint64_t node = xplane_column(i, FIELD_CUDA_KERNEL_GRAPH_NODE_ID),
		       graph = xplane_column(i, FIELD_CUDA_KERNEL_GRAPH_ID);
	stat_ref(x, plane, XPLANE_STAT_KERNEL_DETAILS, xplane_details(x, i));
	if (node)
		xplane_stat_u64(&x->event, EVENT_STAT, XPLANE_STAT_GRAPH_NODE, node);
	if (graph)
		xplane_stat_u64(&x->event, EVENT_STAT, XPLANE_STAT_GRAPH, graph);
}

static void stats_of_payload(struct xplane *x, const struct timeline_item *i)
{
	struct timeline_value v;
	timeline_number(i->row, (uint32_t)schema_column(i->row->event, FIELD_KIND_PAYLOAD), &v);
	if (v.kind == TIMELINE_INT || v.kind == TIMELINE_UINT)
		xplane_stat_u64(&x->event, EVENT_STAT, XPLANE_STAT_PAYLOAD, v.number);
}

static void stats_put(
	struct xplane *x, const struct timeline_item *i, struct xplane_plane *plane, uint32_t text)
{
	switch (i->row->event->number) {
	case KIND_CUDA_KERNEL:
		stats_of_work(x, i, plane);
		stats_of_kernel(x, i, plane);
		break;
	case KIND_CUDA_MEMCPY:
		stats_of_work(x, i, plane);
		stat_ref(x, plane, XPLANE_STAT_MEMCPY_DETAILS, xplane_details(x, i));
		break;
	case KIND_CUDA_MEMSET:
		stats_of_work(x, i, plane);
		stat_ref(x, plane, XPLANE_STAT_MEMSET_DETAILS, xplane_details(x, i));
		break;
	case KIND_CUDA_API:
	case KIND_CUDA_GRAPH_TRACE:
	case KIND_CUDA_SYNC:
		stats_of_work(x, i, plane);
		break;
	case KIND_NVTX_RANGE:
	case KIND_NVTX_START_END:
		stat_ref(x, plane, XPLANE_STAT_OPERATION, xplane_operation(x, text));
		stats_of_payload(x, i);
		break;
	case KIND_NVTX_MARK:
		stats_of_payload(x, i);
		break;
	case KIND_OSRT_CALL:
		xplane_stat_i64(&x->event, EVENT_STAT, XPLANE_STAT_RETURN,
			(int64_t)xplane_column(i, FIELD_OSRT_CALL_RETURN));
		break;
	default:
		break;
	}
}

static int put_event(struct xplane *x, const struct timeline_item *i)
{
	struct xplane_line *line = line_find(x, i->track);
	uint32_t text = line ? xplane_event_text(x, i) : 0;
	size_t index;
	if (!text)
		return -ENOMEM;
	if (i->row->event->number == KIND_NVTX_RANGE) {
		int error = xplane_range_note(x, i, text);
		if (error)
			return error;
	}
	event_begin(x, text, i->start_ns, i->duration_ns, &index);
	stats_put(x, i, &x->planes[line->plane], text);
	line->kinds |= xplane_kind_bit(i);
	return event_end(x, line, text, index);
}

/* Write a step on the line of the thread's calls: XProf assigns everything inside it to the
 * step. */
static int put_step(struct xplane *x, const struct timeline_item *i)
{
	const struct track_key key = {
		.process = i->row->process, .kind = TRACK_THREAD, .tid = i->row->tid};
	struct tracks *tracks = &x->timeline->tracks;
	struct track *track = track_find(tracks, &key);
	uint32_t text = xplane_text(x, "train", strlen("train"));
	size_t index;
	int error = track
		? track_open(tracks, track, i->start_ns, i->start_ns + i->duration_ns, &track)
		: -ENOMEM;
	if (error || !track)
		return error;
	struct xplane_line *line = line_find(x, track);
	if (!line || !text)
		return -ENOMEM;
	event_begin(x, text, i->start_ns, i->duration_ns, &index);
	xplane_stat_i64(&x->event, EVENT_STAT, XPLANE_STAT_ROOT, 1);
	xplane_stat_i64(&x->event, EVENT_STAT, XPLANE_STAT_STEP, (int64_t)x->step++);
	return event_end(x, line, text, index);
}

/* Update and return the peak of a track. */
static int peak_of(struct xplane *x, const struct track *track, int64_t bytes, int64_t *ret_peak)
{
	uint32_t found = map_get(&x->peaks, track->number, 0);
	if (!found) {
		if (array_room(&x->peak_bytes, x->peak_count, &x->peak_capacity,
			    sizeof(*x->peak_bytes)))
			return -ENOMEM;
		x->peak_bytes[x->peak_count] = 0;
		found = ++x->peak_count;
		if (map_put(&x->peaks, track->number, 0, found))
			return -ENOMEM;
	}
	int64_t *peak = &x->peak_bytes[found - 1];
	*peak = bytes > *peak ? bytes : *peak;
	*ret_peak = *peak;
	return 0;
}

static int put_memory(struct xplane *x, const struct timeline_item *i)
{
	char allocator[XPLANE_ALLOCATOR_BYTES];
	const bool is_new = xplane_column(i, FIELD_CUDA_MEMORY_OPERATION) == 1;
	const int64_t bytes = (int64_t)xplane_column(i, FIELD_CUDA_MEMORY_BYTES);
	const char *name = is_new ? "MemoryAllocation" : "MemoryDeallocation";
	struct proto *p = &x->event;
	struct xplane_line *line = line_find(x, i->track);
	uint32_t text = line ? xplane_text(x, name, strlen(name)) : 0;
	size_t index;
	int64_t peak;
	int error = text ? peak_of(x, i->track, i->integer, &peak) : -ENOMEM;
	if (error)
		return error;
	xplane_allocator(x, i->track, allocator);
	event_begin(x, text, i->start_ns, 0, &index);
	stat_ref(x, &x->planes[line->plane], XPLANE_STAT_ALLOCATOR,
		xplane_text(x, allocator, strlen(allocator)));
	xplane_stat_i64(p, EVENT_STAT, XPLANE_STAT_ALLOCATED, i->integer);
	xplane_stat_i64(p, EVENT_STAT, XPLANE_STAT_PEAK, peak);
	xplane_stat_i64(p, EVENT_STAT, XPLANE_STAT_REQUESTED, bytes);
	xplane_stat_i64(p, EVENT_STAT, XPLANE_STAT_ALLOCATION, bytes);
	xplane_stat_i64(p, EVENT_STAT, XPLANE_STAT_ADDRESS,
		(int64_t)xplane_column(i, FIELD_CUDA_MEMORY_ADDRESS));
	return event_end(x, line, text, index);
}

static int put_sample(struct xplane *x, const struct timeline_item *i)
{
	char made[TRACK_NAME_BYTES];
	struct string_ref name = timeline_counter_name(x->timeline, i->track);
	struct xplane_line *line = line_find(x, i->track);
	size_t index;
	track_name(i->track, made, sizeof(made));
	uint32_t text = !line ? 0
		: name.bytes  ? xplane_text(x, name.text, name.bytes)
			      : xplane_text(x, made, strlen(made));
	if (!text)
		return -ENOMEM;
	event_begin(x, text, i->start_ns, 0, &index);
	size_t stat = proto_open(&x->event, EVENT_STAT);
	proto_u64(&x->event, STAT_METADATA, XPLANE_STAT_VALUE);
	proto_double(&x->event, STAT_DOUBLE, i->is_real ? i->real : (double)i->integer);
	proto_close(&x->event, stat);
	return event_end(x, line, text, index);
}

static int put_item(struct xplane *x, const struct timeline_item *i)
{
	if (i->row->event->number == KIND_CUDA_MEMORY)
		return put_memory(x, i);
	if (i->kind->shape == TIMELINE_COUNTER)
		return put_sample(x, i);
	int error = put_event(x, i);
	if (!error && timeline_is_step(x->timeline, i, x->steps))
		error = put_step(x, i);
	return error;
}

static void xplane_release(struct xplane *x)
{
	for (uint32_t i = 0; i < x->line_room; i++)
		temporary_stream_release(&x->lines[i].events);
	for (uint32_t i = 0; i < x->plane_count; i++) {
		free(x->planes[i].uses);
	}
	xplane_texts_release(x);
	map_release(&x->peaks);
	proto_release(&x->event);
	temporary_file_release(&x->temporary);
	free(x->peak_bytes);
	free(x->planes);
	free(x->lines);
}

int xplane_write(FILE *out, struct timeline *t, const char *steps)
{
	struct xplane x = {.timeline = t, .steps = steps};
	const Libtrace__Session *s = t->contents.session;
	struct timeline_item i;
	int more;
	x.origin_ns = x.last_ns = s ? s->start_ns : 0;
	x.several = timeline_several(t);
	int error = plane_find(&x, false, 0) < 0 || xplane_texts_init(&x) ? -ENOMEM : 0;
	while (!error && (more = timeline_next(t, &i)))
		error = more < 0 ? more : put_item(&x, &i);
	if (!error)
		error = xplane_finish(&x, out);
	xplane_release(&x);
	return error;
}
