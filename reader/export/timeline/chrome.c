/* SPDX-License-Identifier: Apache-2.0 */
/* chrome.c - trace events in Chrome's JSON format. */
#define _GNU_SOURCE
#include "reader/export/timeline/chrome.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/print.h"

/* First id of the processes that represent devices; greater than any pid of Linux. */
#define DEVICE_PID_FIRST (1u << 22)
#define TRACK_TID_FIRST (1u << 22) /* first id of tracks that are not threads */

/* CUPTI's numbers of waits for an event: of a call, and of a stream. */
#define SYNC_EVENT 1
#define SYNC_STREAM_WAIT 2

/* Calls that work of the device may still come for: one per slot, the latest. A device is never
 * that many launches behind. */
#define CALLS_KEPT (1u << 18)

/* A call of the host, where an arrow may start. */
struct call {
	uint64_t id; /* its correlation id in the file; 0 = none */
	uint64_t start_ns;
	const struct track *track;
};

struct chrome {
	FILE *out;
	struct timeline *timeline;
	const char *steps;
	uint64_t origin_ns;
	uint64_t step;
	struct map device_pids; /* process, device -> pid */
	struct call *calls;     /* CALLS_KEPT */
	bool several; /* several processes used a device: correlation ids include the process */
	const char *comma;
};

static int64_t column_value(const struct timeline_item *i, uint32_t field)
{
	return i->row->values[schema_column_index(i->row->event, field)];
}

/* Return the category that the PyTorch profiler gives the event. */
static const char *category(const struct timeline_item *i)
{
	switch (i->row->event->number) {
	case KIND_CUDA_API: /* it has no calls within others: readers would add up both */
		return column_value(i, FIELD_CUDA_API_LEVEL)  ? i->kind->category
			: column_value(i, FIELD_CUDA_API_API) ? "cuda_driver"
							      : "cuda_runtime";
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

/* Print microseconds with ns precision. */
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

static bool is_stream(const struct track *track)
{
	return track->key.kind == TRACK_STREAM;
}

/* Waits are in the process of their device, as the PyTorch profiler has them, but not on the track
 * of their stream, whose work they overlap. */
static bool is_of_device(const struct track *track)
{
	return is_stream(track) || track->key.kind == TRACK_WAITS;
}

static uint32_t pid_of(struct chrome *w, const struct track *track)
{
	const uint64_t process = track->key.process->id;
	if (!is_of_device(track))
		return track->key.process->facts->pid;
	uint32_t known = map_get(&w->device_pids, process, track->key.device);
	if (!known) {
		known = DEVICE_PID_FIRST + w->device_pids.count;
		if (map_put(&w->device_pids, process, track->key.device, known))
			return DEVICE_PID_FIRST;
	}
	return known;
}

/* Return the tid of a track: the number of a stream, the tid of a thread for its calls, and for any
 * other track a number of its own. */
static uint32_t tid_of(const struct track *track)
{
	if (track->overflow || (is_stream(track) && track->key.id == TRACK_UNKNOWN))
		return TRACK_TID_FIRST + track->number;
	return track->key.kind == TRACK_THREAD ? track->key.tid
		: is_stream(track)             ? (uint32_t)track->key.id
					       : TRACK_TID_FIRST + track->number;
}

static void print_ids(struct chrome *w, const struct track *track)
{
	fputs_unlocked(",\"pid\":", w->out);
	print_u64(w->out, pid_of(w, track));
	fputs_unlocked(",\"tid\":", w->out);
	print_u64(w->out, tid_of(track));
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

static void print_metadata(struct chrome *w, const struct track *track, const char *what,
	const char *text, size_t bytes)
{
	event_begin(w, 'M');
	fprintf(w->out, ",\"name\":\"%s\"", what);
	print_ids(w, track);
	fputs_unlocked(",\"args\":{\"name\":", w->out);
	print_json(w->out, text, bytes);
	fputs_unlocked("}}", w->out);
}

static void print_process(struct chrome *w, const struct track *track)
{
	char label[PROCESS_LABEL_BYTES], name[PROCESS_LABEL_BYTES + 50];
	process_label(&w->timeline->contents.processes, track->key.process, label);
	if (is_of_device(track))
		snprintf(name, sizeof(name), "GPU %u, %s (%u)", track->key.device, label,
			track->key.process->facts->pid);
	else
		snprintf(name, sizeof(name), "%s", label);
	print_metadata(w, track, "process_name", name, strlen(name));
}

static void print_track(struct chrome *w, struct track *track)
{
	char name[TRACK_NAME_BYTES];
	struct timeline *t = w->timeline;
	struct track *parent = track->parent ? t->tracks.rows[track->parent - 1] : NULL;
	struct string_ref thread = timeline_thread_name(t, track->key.process, track->key.tid);
	if (parent && !parent->is_described)
		print_track(w, parent);
	track->is_described = true;
	if (track->key.kind == TRACK_PROCESS ||
		(is_of_device(track) &&
			!map_get(&w->device_pids, track->key.process->id, track->key.device)))
		print_process(w, track);
	if (track->key.kind == TRACK_PROCESS)
		return;
	if (track->key.kind == TRACK_THREAD && !track->overflow) {
		print_metadata(w, track, "thread_name", thread.bytes ? thread.text : "thread",
			thread.bytes ? thread.bytes : strlen("thread"));
		return;
	}
	size_t at =
		track->key.tid ? (size_t)snprintf(name, sizeof(name), "%u ", track->key.tid) : 0;
	track_name(track, name + at, sizeof(name) - at);
	print_metadata(w, track, "thread_name", name, strlen(name));
}

/* ---- events ---- */

static void print_value(struct chrome *w, const struct timeline_item *i, uint32_t index)
{
	struct timeline_value v;
	timeline_value(w->timeline, i->row, index, &v);
	if (v.kind == TIMELINE_NOTHING)
		return;
	fputs_unlocked(",\"", w->out);
	fputs_unlocked(i->row->event->fields[index].column, w->out);
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
		timeline_payload(w->timeline, w->out, i->row, index);
		break;
	case TIMELINE_NOTHING:
		break;
	}
}

/* Return an id that is unique in the file for a correlation id of the item's process. */
static uint64_t correlation(const struct chrome *w, const struct timeline_item *i, uint64_t id)
{
	return w->several ? (uint64_t)i->row->process->id << 32 ^ id : id;
}

/* Print the arguments that readers of the PyTorch profiler expect. */
static void print_known_args(struct chrome *w, const struct timeline_item *i)
{
	const struct track_key *key = &i->track->key;
	const unsigned long long id = correlation(w, i, i->correlation);
	if (i->correlation) /* readers take 0 for the first event of the file */
		fprintf(w->out, "\"External id\":%llu,\"correlation\":%llu", id, id);
	if (!is_of_device(i->track))
		return;
	fprintf(w->out, "%s\"device\":%u", i->correlation ? "," : "", key->device);
	if (key->context != TRACK_UNKNOWN)
		fprintf(w->out, ",\"context\":%u", key->context);
	if (key->id != TRACK_UNKNOWN)
		fprintf(w->out, ",\"stream\":%llu", (unsigned long long)key->id);
	else if (!is_stream(i->track))
		fputs_unlocked(",\"stream\":-1", w->out);
}

/* Print which record of an event a call or a stream waits for. */
static void print_awaited(struct chrome *w, const struct timeline_item *i)
{
	const int64_t type = i->row->event->number == KIND_CUDA_SYNC
		? column_value(i, FIELD_CUDA_SYNC_SYNC_TYPE)
		: 0;
	if (type != SYNC_EVENT && type != SYNC_STREAM_WAIT)
		return;
	const uint32_t event = (uint32_t)column_value(i, FIELD_CUDA_SYNC_EVENT_ID);
	const struct cuda_record *r = cuda_waits_record(
		&w->timeline->waits, i->row->process->id, event, (uint32_t)i->correlation);
	if (r)
		fprintf(w->out,
			",\"wait_on_stream\":%u,\"wait_on_cuda_event_record_corr_id\":%llu,"
			"\"wait_on_cuda_event_id\":%u",
			r->stream, (unsigned long long)correlation(w, i, r->correlation), event);
}

/* Print three columns as an array, unless the file that was converted lacks one. */
static void print_triple(
	struct chrome *w, const struct timeline_item *i, const char *name, uint32_t first_field)
{
	const uint32_t first = schema_column_index(i->row->event, first_field);
	const int64_t *values = &i->row->values[first];
	for (uint32_t n = first; n < first + 3; n++)
		if (event_row_lacks(i->row, n))
			return;
	fprintf(w->out, ",\"%s\":[%lld,%lld,%lld]", name, (long long)values[0],
		(long long)values[1], (long long)values[2]);
}

static void print_shape(struct chrome *w, const struct timeline_item *i)
{
	if (i->row->event->number != KIND_CUDA_KERNEL)
		return;
	print_triple(w, i, "grid", FIELD_CUDA_KERNEL_GRID_X);
	print_triple(w, i, "block", FIELD_CUDA_KERNEL_BLOCK_X);
}

/* Print the bandwidth of copies and sets as the PyTorch profiler does: bytes per ns. */
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
		is_of_device(i->track)) { /* readers join one call with one device event by
					   * their correlation id */
		print_known_args(w, i);
		print_shape(w, i);
		print_bandwidth(w, i);
		print_awaited(w, i);
	} else {
		fputs_unlocked("\"kind\":\"", w->out);
		fputs_unlocked(i->row->event->name, w->out);
		putc_unlocked('"', w->out);
	}
	for (uint32_t n = 0; n < i->kind->arg_count; n++)
		if (!is_of_device(i->track) ||
			((int)i->kind->args[n] != i->kind->device &&
				(int)i->kind->args[n] != i->kind->context &&
				(int)i->kind->args[n] != i->kind->stream))
			print_value(w, i, i->kind->args[n]);
	if (i->log_fields) {
		fputs_unlocked(",\"fields\":", w->out);
		fputs_unlocked(i->log_fields, w->out);
	}
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
	print_ids(w, i->track);
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
	char name[TRACK_NAME_BYTES];
	struct string_ref known = timeline_counter_name(w->timeline, i->track);
	track_name(i->track, name, sizeof(name));
	event_begin(w, 'C');
	fputs_unlocked(",\"name\":", w->out);
	print_json(
		w->out, known.bytes ? known.text : name, known.bytes ? known.bytes : strlen(name));
	print_ids(w, i->track);
	fputs_unlocked(",\"ts\":", w->out);
	print_time(w, i->start_ns);
	fputs_unlocked(",\"args\":{\"value\":", w->out);
	if (i->is_real)
		print_real(w->out, i->real, 17);
	else
		print_i64(w->out, i->integer);
	fputs_unlocked("}}", w->out);
}

/* Print an end of an arrow: 's', where it starts, or 'f'. */
static void print_arrow(
	struct chrome *w, char phase, uint64_t id, const struct track *track, uint64_t ns)
{
	event_begin(w, phase);
	fputs_unlocked(",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":", w->out);
	print_u64(w->out, id);
	print_ids(w, track);
	fputs_unlocked(",\"ts\":", w->out);
	print_time(w, ns);
	fputs_unlocked(phase == 's' ? "}" : ",\"bp\":\"e\"}", w->out);
}

/* Print an arrow from a call to the first work that it started on the device, once that work is
 * known: viewers refuse arrows without an end, and a second end of the same id. */
static void print_flow(struct chrome *w, const struct timeline_item *i)
{
	const uint64_t id = i->correlation ? correlation(w, i, i->correlation) : 0;
	struct call *call = &w->calls[(id ^ id >> 32) % CALLS_KEPT];
	if (id && i->is_call) {
		*call = (struct call){id, i->start_ns, i->track};
	} else if (id && is_stream(i->track) && call->id == id) {
		print_arrow(w, 's', id, call->track, call->start_ns);
		print_arrow(w, 'f', id, i->track, i->start_ns);
		call->id = 0;
	}
}

static void print_device(struct chrome *w, const uint64_t *columns, uint32_t number)
{
	struct string_ref name = string_table_get(
		&w->timeline->contents.strings, (uint32_t)columns[FIELD_CUDA_DEVICE_NAME]);
	fprintf(w->out, "%s\n{\"id\":%u,\"name\":", w->comma, number);
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
	for (uint32_t number = 0; number < TIMELINE_GPUS_MAX; number++) {
		const uint64_t *columns = timeline_gpu(w->timeline, number);
		if (columns)
			print_device(w, columns, number);
	}
	fputs_unlocked("],\"traceEvents\":[\n", w->out);
	w->comma = "";
}

int chrome_write(FILE *out, struct timeline *t, const char *steps)
{
	struct chrome w = {.out = out,
		.timeline = t,
		.steps = steps,
		.calls = calloc(CALLS_KEPT, sizeof(*w.calls))};
	struct timeline_item i;
	int more;
	if (!w.calls)
		return -ENOMEM;
	w.origin_ns = t->contents.session ? t->contents.session->start_ns : 0;
	w.several = timeline_several(t);
	print_head(&w);
	while ((more = timeline_next(t, &i)) > 0) {
		if (!i.track->is_described)
			print_track(&w, i.track);
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
	free(w.calls);
	return more;
}
