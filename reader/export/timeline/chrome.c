/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "reader/export/timeline/chrome.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/print.h"

/* Ids of processes that stand for devices: behind all that Linux has. */
#define DEVICE_PID_FIRST (1u << 22)
#define LANE_TID_FIRST (1u << 22) /* lanes that are no threads */

struct chrome {
	FILE *out;
	struct timeline *timeline;
	const char *steps;
	uint64_t origin_ns;
	uint64_t step;
	struct map device_pids; /* process and device */
	bool several; /* processes of the report used a device: their correlation ids are told apart
		       */
	const char *comma;
};

/* Categories of the PyTorch profiler, by event. */
static const char *category(const struct timeline_item *i)
{
	switch (i->row->event->number) {
	case KIND_CUDA_API: {
		const uint32_t place = schema_column_index(i->row->event, FIELD_CUDA_API_API);
		return i->row->values[place] ? "cuda_driver" : "cuda_runtime";
	}
	case KIND_CUDA_MEMCPY:
		return "gpu_memcpy";
	case KIND_CUDA_MEMSET:
		return "gpu_memset";
	case KIND_NVTX_RANGE:
	case KIND_NVTX_START_END:
		return "user_annotation";
	default:
		return i->kind->category;
	}
}

/* Microseconds, to the nanosecond. */
static void print_us(FILE *out, uint64_t ns)
{
	const uint64_t part = ns % 1000;
	print_u64(out, ns / 1000);
	if (!part)
		return;
	putc_unlocked('.', out);
	putc_unlocked((int)('0' + part / 100), out);
	putc_unlocked((int)('0' + part / 10 % 10), out);
	putc_unlocked((int)('0' + part % 10), out);
}

static void print_time(struct chrome *w, uint64_t ns)
{
	if (ns < w->origin_ns)
		putc_unlocked('-', w->out);
	print_us(w->out, ns < w->origin_ns ? w->origin_ns - ns : ns - w->origin_ns);
}

static bool is_of_device(const struct lane *lane)
{
	return lane->key.kind == LANE_STREAM;
}

static uint32_t pid_of(struct chrome *w, const struct lane *lane)
{
	const uint64_t process = lane->key.process->id;
	if (!is_of_device(lane))
		return lane->key.process->facts->pid;
	uint32_t known = map_get(&w->device_pids, process, lane->key.device);
	if (!known) {
		known = DEVICE_PID_FIRST + w->device_pids.count;
		if (map_put(&w->device_pids, process, lane->key.device, known))
			return DEVICE_PID_FIRST;
	}
	return known;
}

/* Streams keep their number, calls the thread's; everything else has one of its own. */
static uint32_t tid_of(const struct lane *lane)
{
	if (lane->overflow)
		return LANE_TID_FIRST + lane->number;
	return lane->key.kind == LANE_THREAD ? lane->key.tid
		: is_of_device(lane)         ? (uint32_t)lane->key.id
					     : LANE_TID_FIRST + lane->number;
}

static void print_ids(struct chrome *w, const struct lane *lane)
{
	fputs_unlocked(",\"pid\":", w->out);
	print_u64(w->out, pid_of(w, lane));
	fputs_unlocked(",\"tid\":", w->out);
	print_u64(w->out, tid_of(lane));
}

static void event_begin(struct chrome *w, char phase)
{
	fputs_unlocked(w->comma, w->out);
	fputs_unlocked("{\"ph\":\"", w->out);
	putc_unlocked(phase, w->out);
	putc_unlocked('"', w->out);
	w->comma = ",\n";
}

/* ---- names of processes and threads ---- */

static void print_metadata(
	struct chrome *w, const struct lane *lane, const char *what, const char *text, size_t bytes)
{
	event_begin(w, 'M');
	fprintf(w->out, ",\"name\":\"%s\"", what);
	print_ids(w, lane);
	fputs_unlocked(",\"args\":{\"name\":", w->out);
	print_json(w->out, text, bytes);
	fputs_unlocked("}}", w->out);
}

static void print_process(struct chrome *w, const struct lane *lane)
{
	char name[300];
	if (is_of_device(lane))
		snprintf(name, sizeof(name), "GPU %u, %.200s (%u)", lane->key.device,
			timeline_program(lane->key.process), lane->key.process->facts->pid);
	else
		snprintf(name, sizeof(name), "%.200s", timeline_program(lane->key.process));
	print_metadata(w, lane, "process_name", name, strlen(name));
}

static void print_lane(struct chrome *w, struct lane *lane)
{
	char name[LANE_NAME_BYTES];
	struct timeline *t = w->timeline;
	struct lane *parent = lane->parent ? t->lanes.rows[lane->parent - 1] : NULL;
	struct string_ref thread = timeline_thread_name(t, lane->key.process, lane->key.tid);
	if (parent && !parent->told)
		print_lane(w, parent);
	lane->told = true;
	if (lane->key.kind == LANE_PROCESS || is_of_device(lane))
		print_process(w, lane);
	if (lane->key.kind == LANE_PROCESS)
		return;
	if (lane->key.kind == LANE_THREAD && !lane->overflow) {
		print_metadata(w, lane, "thread_name", thread.bytes ? thread.text : "thread",
			thread.bytes ? thread.bytes : strlen("thread"));
		return;
	}
	size_t at = lane->key.tid ? (size_t)snprintf(name, sizeof(name), "%u ", lane->key.tid) : 0;
	lane_name(lane, name + at, sizeof(name) - at);
	print_metadata(w, lane, "thread_name", name, strlen(name));
}

/* ---- events ---- */

static void print_value(struct chrome *w, const struct timeline_item *i, uint32_t place)
{
	struct timeline_value v;
	timeline_value(w->timeline, i->row, place, &v);
	if (v.kind == TIMELINE_NOTHING)
		return;
	fputs_unlocked(",\"", w->out);
	fputs_unlocked(i->row->event->fields[place].column, w->out);
	fputs_unlocked("\":", w->out);
	switch (v.kind) {
	case TIMELINE_INT:
		print_i64(w->out, (int64_t)v.number);
		break;
	case TIMELINE_UINT:
		print_u64(w->out, v.number);
		break;
	case TIMELINE_HEX:
		fprintf(w->out, "\"0x%llx\"", (unsigned long long)v.number);
		break;
	case TIMELINE_REAL:
		print_real(w->out, v.real, 17);
		break;
	case TIMELINE_TEXT:
		print_json(w->out, v.text.text, v.text.bytes);
		break;
	case TIMELINE_JSON:
		timeline_payload(w->timeline, w->out, i->row, place);
		break;
	case TIMELINE_NOTHING:
		break;
	}
}

static uint64_t correlation(const struct chrome *w, const struct timeline_item *i)
{
	return w->several ? (uint64_t)i->row->process->id << 32 ^ i->correlation : i->correlation;
}

/* What readers of the PyTorch profiler look for. */
static void print_known_args(struct chrome *w, const struct timeline_item *i)
{
	const struct lane_key *key = &i->lane->key;
	fputs_unlocked("\"External id\":", w->out);
	print_u64(w->out, correlation(w, i));
	fputs_unlocked(",\"correlation\":", w->out);
	print_u64(w->out, correlation(w, i));
	if (is_of_device(i->lane))
		fprintf(w->out, ",\"device\":%u,\"context\":%u,\"stream\":%llu", key->device,
			key->context, (unsigned long long)key->id);
}

static int64_t column_value(const struct timeline_item *i, uint32_t field)
{
	return i->row->values[schema_column_index(i->row->event, field)];
}

static void print_shape(struct chrome *w, const struct timeline_item *i)
{
	if (i->row->event->number == KIND_CUDA_KERNEL)
		fprintf(w->out, ",\"grid\":[%lld,%lld,%lld],\"block\":[%lld,%lld,%lld]",
			(long long)column_value(i, FIELD_CUDA_KERNEL_GRID_X),
			(long long)column_value(i, FIELD_CUDA_KERNEL_GRID_Y),
			(long long)column_value(i, FIELD_CUDA_KERNEL_GRID_Z),
			(long long)column_value(i, FIELD_CUDA_KERNEL_BLOCK_X),
			(long long)column_value(i, FIELD_CUDA_KERNEL_BLOCK_Y),
			(long long)column_value(i, FIELD_CUDA_KERNEL_BLOCK_Z));
}

/* Of copies and sets, as the PyTorch profiler tells it: bytes in a nanosecond. */
static void print_bandwidth(struct chrome *w, const struct timeline_item *i)
{
	const uint32_t kind = i->row->event->number;
	if ((kind != KIND_CUDA_MEMCPY && kind != KIND_CUDA_MEMSET) || !i->duration_ns)
		return;
	const int64_t bytes = column_value(
		i, kind == KIND_CUDA_MEMCPY ? FIELD_CUDA_MEMCPY_BYTES : FIELD_CUDA_MEMSET_BYTES);
	fputs_unlocked(",\"memory bandwidth (GB/s)\":", w->out);
	print_real(w->out, (double)bytes / (double)i->duration_ns, 6);
}

static void print_args(struct chrome *w, const struct timeline_item *i)
{
	fputs_unlocked(",\"args\":{", w->out);
	if ((i->correlation && i->is_call) ||
		is_of_device(i->lane)) { /* one of each: they join by it */
		print_known_args(w, i);
		print_shape(w, i);
		print_bandwidth(w, i);
	} else {
		fputs_unlocked("\"kind\":\"", w->out);
		fputs_unlocked(i->row->event->name, w->out);
		putc_unlocked('"', w->out);
	}
	for (uint32_t n = 0; n < i->kind->arg_count; n++)
		if (!is_of_device(i->lane) ||
			((int)i->kind->args[n] != i->kind->device &&
				(int)i->kind->args[n] != i->kind->context &&
				(int)i->kind->args[n] != i->kind->stream))
			print_value(w, i, i->kind->args[n]);
	putc_unlocked('}', w->out);
}

static void print_event(struct chrome *w, const struct timeline_item *i)
{
	const bool slice = i->kind->shape == TIMELINE_SLICE;
	event_begin(w, slice ? 'X' : 'i');
	fputs_unlocked(",\"cat\":\"", w->out);
	fputs_unlocked(category(i), w->out);
	fputs_unlocked("\",\"name\":", w->out);
	if (timeline_is_step(w->timeline, i, w->steps))
		fprintf(w->out, "\"ProfilerStep#%llu\"", (unsigned long long)w->step++);
	else
		print_json(w->out, i->name.text.text, i->name.text.bytes);
	print_ids(w, i->lane);
	fputs_unlocked(",\"ts\":", w->out);
	print_time(w, i->start_ns);
	if (slice) {
		fputs_unlocked(",\"dur\":", w->out);
		print_us(w->out, i->duration_ns);
	} else {
		fputs_unlocked(",\"s\":\"t\"", w->out);
	}
	print_args(w, i);
	putc_unlocked('}', w->out);
}

static void print_counter(struct chrome *w, const struct timeline_item *i)
{
	char name[LANE_NAME_BYTES];
	struct string_ref known = timeline_counter_name(w->timeline, i->lane);
	lane_name(i->lane, name, sizeof(name));
	event_begin(w, 'C');
	fputs_unlocked(",\"name\":", w->out);
	print_json(
		w->out, known.bytes ? known.text : name, known.bytes ? known.bytes : strlen(name));
	print_ids(w, i->lane);
	fputs_unlocked(",\"ts\":", w->out);
	print_time(w, i->start_ns);
	fputs_unlocked(",\"args\":{\"value\":", w->out);
	if (i->is_real)
		print_real(w->out, i->real, 17);
	else
		print_i64(w->out, i->integer);
	fputs_unlocked("}}", w->out);
}

/* An arrow from the call to what the device did. */
static void print_flow(struct chrome *w, const struct timeline_item *i)
{
	if (!i->correlation || (!i->is_call && !is_of_device(i->lane)))
		return;
	event_begin(w, i->is_call ? 's' : 'f');
	fputs_unlocked(",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":", w->out);
	print_u64(w->out, correlation(w, i));
	print_ids(w, i->lane);
	fputs_unlocked(",\"ts\":", w->out);
	print_time(w, i->start_ns);
	fputs_unlocked(i->is_call ? "}" : ",\"bp\":\"e\"}", w->out);
}

/* Devices that several processes have are told once. */
static bool is_told(const struct ncu_devices *d, uint32_t row)
{
	for (uint32_t i = 0; i < row; i++)
		if (d->rows[i].columns[FIELD_CUDA_DEVICE_DEVICE_ID] ==
			d->rows[row].columns[FIELD_CUDA_DEVICE_DEVICE_ID])
			return true;
	return false;
}

static void print_device(struct chrome *w, const uint64_t *columns)
{
	struct string_ref name = string_table_get(
		&w->timeline->contents.strings, (uint32_t)columns[FIELD_CUDA_DEVICE_NAME]);
	fprintf(w->out, "%s\n{\"id\":%llu,\"name\":", w->comma,
		(unsigned long long)columns[FIELD_CUDA_DEVICE_DEVICE_ID]);
	print_json(w->out, name.text ? name.text : "", name.bytes);
	fprintf(w->out,
		",\"totalGlobalMem\":%llu,\"computeMajor\":%llu,\"computeMinor\":%llu,"
		"\"numSms\":%llu}",
		(unsigned long long)columns[FIELD_CUDA_DEVICE_GLOBAL_MEMORY_SIZE],
		(unsigned long long)columns[FIELD_CUDA_DEVICE_COMPUTE_CAPABILITY_MAJOR],
		(unsigned long long)columns[FIELD_CUDA_DEVICE_COMPUTE_CAPABILITY_MINOR],
		(unsigned long long)columns[FIELD_CUDA_DEVICE_MULTIPROCESSORS]);
	w->comma = ",";
}

static void print_head(struct chrome *w)
{
	const Libtrace__Session *s = w->timeline->contents.session;
	fprintf(w->out,
		"{\"schemaVersion\":1,\"producer\":\"libtrace " LIBTRACE_VERSION
		"\",\"baseTimeNanoseconds\":%llu,\"displayTimeUnit\":\"ns\",\"distributedInfo\":"
		"{\"rank\":0,\"world_size\":1},\"deviceProperties\":[",
		(unsigned long long)(s ? s->start_realtime_ns : 0));
	w->comma = "";
	for (uint32_t i = 0; i < w->timeline->devices->count; i++)
		if (!is_told(w->timeline->devices, i))
			print_device(w, w->timeline->devices->rows[i].columns);
	fputs_unlocked("],\"traceEvents\":[\n", w->out);
	w->comma = "";
}

int chrome_write(FILE *out, struct timeline *t, const char *steps)
{
	struct chrome w = {.out = out, .timeline = t, .steps = steps};
	struct timeline_item i;
	int more;
	w.origin_ns = t->contents.session ? t->contents.session->start_ns : 0;
	w.several = timeline_several(t);
	print_head(&w);
	while ((more = timeline_next(t, &i)) > 0) {
		if (!i.lane->told)
			print_lane(&w, i.lane);
		if (i.kind->shape == TIMELINE_COUNTER) {
			print_counter(&w, &i);
		} else {
			print_event(&w, &i);
			print_flow(&w, &i);
		}
		if (ferror_unlocked(out)) {
			more = -EPIPE;
			break;
		}
	}
	fputs_unlocked("\n]}\n", out);
	map_release(&w.device_pids);
	return more;
}
