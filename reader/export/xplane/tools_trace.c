/* SPDX-License-Identifier: Apache-2.0 */
/* tools_trace.c - all events as XProf's Trace message: a device for each GPU and each process, a
 * resource for each track. */
#include <inttypes.h>
#include <string.h>

#include "reader/export/xplane/tools_state.h"

enum {
	TRACE_DEVICE = 1,
	TRACE_EVENT = 4,
	DEVICE_NAME = 1,
	DEVICE_NUMBER = 2,
	DEVICE_RESOURCE = 3,
	RESOURCE_NAME = 1,
	RESOURCE_NUMBER = 2,
	TRACE_EVENT_DEVICE = 1,
	TRACE_EVENT_RESOURCE = 2,
	TRACE_EVENT_NAME = 3,
	TRACE_EVENT_PS = 9,
	TRACE_EVENT_DURATION_PS = 10,
	TRACE_EVENT_ARGUMENT = 11
};

#define GPU_FIRST 1u /* numbers that XProf gives GPUs and hosts */
#define HOST_FIRST 701u

static uint64_t device_of(const struct track *track)
{
	return track->key.kind == TRACK_STREAM ? GPU_FIRST + (uint64_t)track->key.device
					       : HOST_FIRST + (uint64_t)track->key.process->id;
}

static void argument_put(struct proto *p, const char *name, const char *value)
{
	size_t argument = proto_open(p, TRACE_EVENT_ARGUMENT);
	proto_string(p, MAP_KEY, name);
	proto_string(p, MAP_VALUE, value);
	proto_close(p, argument);
}

static void arguments_put(struct tools *t, const struct timeline_item *i)
{
	struct proto *p = &t->message;
	const uint32_t details = xplane_details(&t->x, i);
	char number[32];
	if (i->correlation) {
		snprintf(number, sizeof(number), "%" PRIu64, i->correlation);
		argument_put(p, "correlation_id", number);
	}
	if (details)
		argument_put(p, "details", tools_text(t, details));
	if (i->track->key.kind == TRACK_STREAM) {
		const uint32_t range = xplane_range_of(&t->x, i);
		if (range)
			argument_put(p, "nvtx_range", tools_text(t, range) + strlen(XPLANE_NVTX));
	}
}

int tools_event_write(struct tools *t, const struct timeline_item *i, uint32_t text)
{
	struct proto *p = &t->message;
	size_t event = proto_open(p, TRACE_EVENT);
	proto_u64(p, TRACE_EVENT_DEVICE, device_of(i->track));
	proto_u64(p, TRACE_EVENT_RESOURCE, i->track->number);
	proto_string(p, TRACE_EVENT_NAME, tools_text(t, text));
	proto_u64(p, TRACE_EVENT_PS, tools_ps(t, i->start_ns));
	if (i->duration_ns)
		proto_u64(p, TRACE_EVENT_DURATION_PS, i->duration_ns * TOOLS_PS_PER_NS);
	arguments_put(t, i);
	proto_close(p, event);
	return proto_flush(p, t->trace, false);
}

static void resource_put(struct tools *t, const struct track *track)
{
	char name[TRACK_NAME_BYTES], text[2 * TRACK_NAME_BYTES];
	struct string_ref thread =
		timeline_thread_name(t->x.timeline, track->key.process, track->key.tid);
	struct proto *p = &t->message;
	track_name(track, name, sizeof(name));
	if (track->key.kind == TRACK_THREAD || track->key.kind == TRACK_RANGES)
		snprintf(text, sizeof(text), "%.100s/%u%s%s", thread.bytes ? thread.text : "thread",
			track->key.tid, track->key.kind == TRACK_RANGES ? "/" : "",
			track->key.kind == TRACK_RANGES ? name : "");
	else
		snprintf(text, sizeof(text), "%s", name);
	size_t entry = proto_open(p, DEVICE_RESOURCE);
	proto_u64(p, MAP_KEY, track->number);
	size_t resource = proto_open(p, MAP_VALUE);
	proto_clean(p, RESOURCE_NAME, text, strlen(text));
	proto_u64(p, RESOURCE_NUMBER, track->number);
	proto_close(p, resource);
	proto_close(p, entry);
}

static bool is_shown(const struct track *track)
{
	return !track_is_counter(&track->key);
}

/* Write a device with its tracks, starting with `first`. */
static void device_put(struct tools *t, const struct track *first)
{
	const struct tracks *l = &t->x.timeline->tracks;
	const uint64_t number = device_of(first);
	struct proto *p = &t->message;
	char label[PROCESS_LABEL_BYTES], name[PROCESS_LABEL_BYTES + 20];
	process_label(&t->x.timeline->contents.processes, first->key.process, label);
	if (first->key.kind == TRACK_STREAM)
		snprintf(name, sizeof(name), "/device:GPU:%u", first->key.device);
	else
		snprintf(name, sizeof(name), "%s (%u)", label, first->key.process->facts->pid);
	size_t entry = proto_open(p, TRACE_DEVICE);
	proto_u64(p, MAP_KEY, number);
	size_t device = proto_open(p, MAP_VALUE);
	proto_clean(p, DEVICE_NAME, name, strlen(name));
	proto_u64(p, DEVICE_NUMBER, number);
	for (uint32_t n = first->number - 1; n < l->count; n++)
		if (is_shown(l->rows[n]) && device_of(l->rows[n]) == number)
			resource_put(t, l->rows[n]);
	proto_close(p, device);
	proto_close(p, entry);
}

int tools_tracks_write(struct tools *t)
{
	const struct tracks *l = &t->x.timeline->tracks;
	struct map written = {0};
	int error = 0;
	for (uint32_t n = 0; !error && n < l->count; n++) {
		const struct track *track = l->rows[n];
		if (!is_shown(track) || map_get(&written, device_of(track), 0))
			continue;
		device_put(t, track);
		error = map_put(&written, device_of(track), 0, 1);
	}
	map_release(&written);
	return error ? error : proto_flush(&t->message, t->trace, true);
}
