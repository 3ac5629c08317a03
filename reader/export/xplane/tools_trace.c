/* SPDX-License-Identifier: Apache-2.0 */
/* All events as XProf's Trace: a device for each GPU and each process, a resource for each lane. */
#include <inttypes.h>
#include <string.h>

#include "reader/export/xplane/tools_writing.h"

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

#define GPU_FIRST 1u /* as XProf numbers what it shows */
#define HOST_FIRST 701u

static uint64_t device_of(const struct lane *lane)
{
	return lane->key.kind == LANE_STREAM ? GPU_FIRST + (uint64_t)lane->key.device
					     : HOST_FIRST + (uint64_t)lane->key.process->id;
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
	if (i->lane->key.kind == LANE_STREAM) {
		const uint32_t range = xplane_range_of(&t->x, i);
		if (range)
			argument_put(p, "nvtx_range", tools_text(t, range) + strlen(XPLANE_NVTX));
	}
}

int tools_event_write(struct tools *t, const struct timeline_item *i, uint32_t text)
{
	struct proto *p = &t->message;
	size_t event = proto_open(p, TRACE_EVENT);
	proto_u64(p, TRACE_EVENT_DEVICE, device_of(i->lane));
	proto_u64(p, TRACE_EVENT_RESOURCE, i->lane->number);
	proto_string(p, TRACE_EVENT_NAME, tools_text(t, text));
	proto_u64(p, TRACE_EVENT_PS, tools_ps(t, i->start_ns));
	if (i->duration_ns)
		proto_u64(p, TRACE_EVENT_DURATION_PS, i->duration_ns * TOOLS_PS_PER_NS);
	arguments_put(t, i);
	proto_close(p, event);
	return proto_flush(p, t->trace, false);
}

static void resource_put(struct tools *t, const struct lane *lane)
{
	char name[LANE_NAME_BYTES], text[2 * LANE_NAME_BYTES];
	struct string_ref thread =
		timeline_thread_name(t->x.timeline, lane->key.process, lane->key.tid);
	struct proto *p = &t->message;
	lane_name(lane, name, sizeof(name));
	if (lane->key.kind == LANE_THREAD || lane->key.kind == LANE_RANGES)
		snprintf(text, sizeof(text), "%.100s/%u%s%s", thread.bytes ? thread.text : "thread",
			lane->key.tid, lane->key.kind == LANE_RANGES ? "/" : "",
			lane->key.kind == LANE_RANGES ? name : "");
	else
		snprintf(text, sizeof(text), "%s", name);
	size_t entry = proto_open(p, DEVICE_RESOURCE);
	proto_u64(p, MAP_KEY, lane->number);
	size_t resource = proto_open(p, MAP_VALUE);
	proto_clean(p, RESOURCE_NAME, text, strlen(text));
	proto_u64(p, RESOURCE_NUMBER, lane->number);
	proto_close(p, resource);
	proto_close(p, entry);
}

static bool is_shown(const struct lane *lane)
{
	return lane->key.kind != LANE_NVTX_COUNTER && lane->key.kind != LANE_DEVICE_MEMORY;
}

/* A device with its lanes, of which `first` is the first. */
static void device_put(struct tools *t, const struct lane *first)
{
	const struct lanes *l = &t->x.timeline->lanes;
	const uint64_t number = device_of(first);
	struct proto *p = &t->message;
	char name[LANE_NAME_BYTES];
	if (first->key.kind == LANE_STREAM)
		snprintf(name, sizeof(name), "/device:GPU:%u", first->key.device);
	else
		snprintf(name, sizeof(name), "%.200s (%u)", timeline_program(first->key.process),
			first->key.process->facts->pid);
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

int tools_lanes_write(struct tools *t)
{
	const struct lanes *l = &t->x.timeline->lanes;
	struct map told = {0};
	int error = 0;
	for (uint32_t n = 0; !error && n < l->count; n++) {
		const struct lane *lane = l->rows[n];
		if (!is_shown(lane) || map_get(&told, device_of(lane), 0))
			continue;
		device_put(t, lane);
		error = map_put(&told, device_of(lane), 0, 1);
	}
	map_release(&told);
	return error ? error : proto_flush(&t->message, t->trace, true);
}
