/* SPDX-License-Identifier: Apache-2.0 */
/* perfetto_gpu.c - Perfetto's typed events of GPUs. */
#include "reader/export/timeline/perfetto_gpu.h"

#include <inttypes.h>

#include "reader/export/timeline/perfetto_packet.h"

/* Field numbers of the messages written, by message (perfetto.protos). GpuCorrelation is an
 * extension of TrackEvent. */
enum {
	PACKET_GPU_COUNTER = 52,
	PACKET_GPU_STAGE = 53,
	PACKET_GPU_INFO = 128,
	INTERNED_CONTEXT = 23,
	INTERNED_SPECIFICATION = 24,
	INTERNED_COUNTERS = 47,
	INFO_GPU = 1,
	GPU_NAME = 1,
	GPU_VENDOR = 2,
	GPU_ARCHITECTURE = 4,
	GPU_UUID = 5,
	CONTEXT_PID = 2,
	CONTEXT_API = 3,
	SPECIFICATION_NAME = 2,
	SPECIFICATION_CATEGORY = 4,
	STAGE_EVENT_ID = 1,
	STAGE_DURATION = 2,
	STAGE_CONTEXT = 5,
	STAGE_EXTRA = 6,
	STAGE_GPU = 11,
	STAGE_QUEUE = 13,
	STAGE_KIND = 14,
	STAGE_NAME = 20,
	STAGE_LAUNCH = 21,
	EXTRA_NAME = 1,
	EXTRA_VALUE = 2,
	LAUNCH_GRID = 1,
	LAUNCH_BLOCK = 2,
	COUNTER_DESCRIPTOR = 4,
	COUNTER_VALUE = 2,
	COUNTER_GPU = 3,
	INTERNED_COUNTERS_DESCRIPTOR = 2,
	DESCRIPTOR_SPECIFICATION = 1,
	COUNTER_ID = 1,
	COUNTER_NAME = 2,
	COUNTER_UNIT = 7,
	COUNTER_GROUP = 10,
	VALUE_INT = 2,
	EVENT_GPU_CORRELATION = 3000,
	CORRELATION_SUBMITTED = 1
};
enum { API_OPENCL = 3, API_CUDA = 4, CATEGORY_OTHER = 0, CATEGORY_COMPUTE = 2 };
enum { UNIT_BYTE = 7, GROUP_MEMORY = 5 };

#define FIRST_QUEUE 1000u /* ids below it are kinds of work: numbers of events */

/* ---- devices ---- */

static void uuid_put(struct proto *p, const struct string_ref *hex)
{
	char bytes[16] = {0};
	for (uint32_t i = 0; i < 2 * sizeof(bytes); i++) {
		const char *digits = "0123456789abcdef", *at = NULL;
		if (i < hex->bytes && hex->text[i])
			at = strchr(digits, hex->text[i]);
		if (!at)
			return;
		bytes[i / 2] = (char)(i & 1 ? bytes[i / 2] * 16 + (at - digits) : at - digits);
	}
	proto_text(p, GPU_UUID, bytes, sizeof(bytes));
}

static void gpu_put(struct proto *p, const struct timeline *t, const uint64_t *columns)
{
	const struct string_table *strings = &t->contents.strings;
	struct string_ref name =
		string_table_get(strings, (uint32_t)columns[FIELD_CUDA_DEVICE_NAME]);
	struct string_ref uuid =
		string_table_get(strings, (uint32_t)columns[FIELD_CUDA_DEVICE_UUID]);
	char architecture[32];
	snprintf(architecture, sizeof(architecture), "sm_%u%u",
		(unsigned)columns[FIELD_CUDA_DEVICE_COMPUTE_CAPABILITY_MAJOR],
		(unsigned)columns[FIELD_CUDA_DEVICE_COMPUTE_CAPABILITY_MINOR]);
	proto_clean(p, GPU_NAME, name.bytes ? name.text : "", name.bytes);
	proto_string(p, GPU_VENDOR, "NVIDIA");
	proto_string(p, GPU_ARCHITECTURE, architecture);
	uuid_put(p, &uuid);
}

static void info_put(struct proto *p, const struct timeline *t)
{
	uint32_t count = TIMELINE_GPUS_MAX; /* numbers of GPUs are places in gpu_info */
	while (count && !timeline_gpu(t, count - 1))
		count--;
	if (!count)
		return;
	size_t packet = packet_open(p, NEEDS_STATE), info = proto_open(p, PACKET_GPU_INFO);
	for (uint32_t id = 0; id < count; id++) {
		const uint64_t *columns = timeline_gpu(t, id);
		size_t gpu = proto_open(p, INFO_GPU);
		if (columns)
			gpu_put(p, t, columns);
		proto_close(p, gpu);
	}
	proto_close(p, info);
	proto_close(p, packet);
}

static void specification_put(struct proto *p, uint64_t number, const char *name, uint64_t category)
{
	size_t offsets[2], entry = interned_open(p, INTERNED_SPECIFICATION, number, offsets);
	proto_clean(p, SPECIFICATION_NAME, name, strlen(name));
	proto_u64(p, SPECIFICATION_CATEGORY, category);
	interned_close(p, entry, offsets);
}

void perfetto_gpu_start(struct proto *p, struct timeline *t)
{
	info_put(p, t);
	for (uint32_t n = 1; n < SCHEMA_KINDS; n++)
		if (t->kinds[n].is_shown && t->kinds[n].track == TRACK_STREAM)
			specification_put(p, n, t->kinds[n].category,
				strcmp(t->kinds[n].category, "kernel") ? CATEGORY_OTHER
								       : CATEGORY_COMPUTE);
}

/* ---- streams and counters ---- */

static uint64_t api_of(const struct timeline_item *i)
{
	const char *name = i->row->event->name;
	return strncmp(name, "cuda", 4) ? API_OPENCL : API_CUDA;
}

static uint64_t context_of(const struct timeline_item *i)
{
	return (uint64_t)i->row->process->id * 8 + api_of(i);
}

static void counter_describe(struct proto *p, struct timeline *t, const struct track *track)
{
	char process[PROCESS_LABEL_BYTES], name[TRACK_NAME_BYTES],
		both[sizeof(process) + sizeof(name) + 2];
	process_label(&t->contents.processes, track->key.process, process);
	track_name(track, name, sizeof(name));
	snprintf(both, sizeof(both), "%s: %s", process, name);
	size_t offsets[2], entry = interned_open(p, INTERNED_COUNTERS, track->number, offsets);
	size_t descriptor = proto_open(p, INTERNED_COUNTERS_DESCRIPTOR);
	size_t specification = proto_open(p, DESCRIPTOR_SPECIFICATION);
	proto_u64(p, COUNTER_ID, track->number);
	proto_clean(p, COUNTER_NAME, both, strlen(both));
	proto_u64(p, COUNTER_UNIT, UNIT_BYTE);
	proto_u64(p, COUNTER_GROUP, GROUP_MEMORY);
	proto_close(p, specification);
	proto_close(p, descriptor);
	interned_close(p, entry, offsets);
}

static void queue_describe(struct proto *p, const struct timeline_item *i)
{
	char name[TRACK_NAME_BYTES];
	size_t offsets[2], entry = interned_open(p, INTERNED_CONTEXT, context_of(i), offsets);
	proto_u64(p, CONTEXT_PID, i->row->process->facts->pid);
	proto_u64(p, CONTEXT_API, api_of(i));
	interned_close(p, entry, offsets);
	track_name(i->track, name, sizeof(name));
	specification_put(p, FIRST_QUEUE + i->track->number, name, CATEGORY_OTHER);
}

void perfetto_gpu_describe(struct proto *p, struct timeline *t, const struct timeline_item *i)
{
	if (i->kind->shape == TIMELINE_COUNTER)
		counter_describe(p, t, i->track);
	else
		queue_describe(p, i);
}

/* ---- events ---- */

static int64_t column_of(const struct timeline_item *i, uint32_t field)
{
	return i->row->values[schema_column_index(i->row->event, field)];
}

static void shape_put(
	struct proto *p, const struct timeline_item *i, uint32_t message, uint32_t first)
{
	size_t shape = proto_open(p, message);
	for (uint32_t n = 0; n < 3; n++)
		proto_u64(p, 1 + n, (uint64_t)column_of(i, first + n));
	proto_close(p, shape);
}

static void launch_put(struct proto *p, const struct timeline_item *i)
{
	size_t launch = proto_open(p, STAGE_LAUNCH);
	shape_put(p, i, LAUNCH_GRID, FIELD_CUDA_KERNEL_GRID_X);
	shape_put(p, i, LAUNCH_BLOCK, FIELD_CUDA_KERNEL_BLOCK_X);
	proto_close(p, launch);
}

/* Write a column as a text, the only type that extra data has. */
static void extra_put(
	struct proto *p, struct timeline *t, const struct timeline_item *i, uint32_t index)
{
	char text[32] = "";
	struct timeline_value v;
	timeline_value(t, i->row, index, &v);
	if (v.kind == TIMELINE_INT)
		snprintf(text, sizeof(text), "%" PRId64, (int64_t)v.number);
	else if (v.kind == TIMELINE_UINT)
		snprintf(text, sizeof(text), "%" PRIu64, v.number);
	else if (v.kind == TIMELINE_HEX)
		snprintf(text, sizeof(text), "0x%" PRIx64, v.number);
	else if (v.kind != TIMELINE_TEXT)
		return;
	size_t extra = proto_open(p, STAGE_EXTRA);
	proto_string(p, EXTRA_NAME, i->row->event->fields[index].column);
	if (v.kind == TIMELINE_TEXT)
		proto_clean(p, EXTRA_VALUE, v.text.text, v.text.bytes);
	else
		proto_string(p, EXTRA_VALUE, text);
	proto_close(p, extra);
}

uint64_t perfetto_gpu_event_id(const struct timeline_item *i)
{
	return i->correlation ? (uint64_t)i->row->process->id << 32 ^ i->correlation : 0;
}

void perfetto_gpu_stage(struct proto *p, struct timeline *t, const struct timeline_item *i)
{
	size_t packet = packet_open(p, NEEDS_STATE);
	proto_u64(p, PACKET_TIMESTAMP, i->start_ns);
	size_t stage = proto_open(p, PACKET_GPU_STAGE);
	if (i->correlation)
		proto_u64(p, STAGE_EVENT_ID, perfetto_gpu_event_id(i));
	proto_u64(p, STAGE_DURATION, i->duration_ns);
	proto_u64(p, STAGE_CONTEXT, context_of(i));
	proto_u64(p, STAGE_GPU, i->track->key.device);
	proto_u64(p, STAGE_QUEUE, FIRST_QUEUE + i->track->number);
	proto_u64(p, STAGE_KIND, i->row->event->number);
	proto_u64(p, STAGE_NAME, i->name.number);
	if (i->row->event->number == KIND_CUDA_KERNEL)
		launch_put(p, i);
	for (uint32_t n = 0; n < i->kind->arg_count; n++)
		extra_put(p, t, i, i->kind->args[n]);
	proto_close(p, stage);
	proto_close(p, packet);
}

void perfetto_gpu_counter(struct proto *p, const struct timeline_item *i)
{
	size_t packet = packet_open(p, NEEDS_STATE);
	proto_u64(p, PACKET_TIMESTAMP, i->start_ns);
	size_t event = proto_open(p, PACKET_GPU_COUNTER), value = proto_open(p, COUNTER_VALUE);
	proto_u64(p, COUNTER_ID, i->track->number);
	proto_u64(p, VALUE_INT, (uint64_t)i->integer);
	proto_close(p, value);
	proto_u64(p, COUNTER_GPU, i->track->key.device);
	proto_u64(p, COUNTER_DESCRIPTOR, i->track->number);
	proto_close(p, event);
	proto_close(p, packet);
}

void perfetto_gpu_correlation(struct proto *p, const struct timeline_item *i)
{
	size_t correlation = proto_open(p, EVENT_GPU_CORRELATION);
	proto_u64(p, CORRELATION_SUBMITTED, perfetto_gpu_event_id(i));
	proto_close(p, correlation);
}
