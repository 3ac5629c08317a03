/* SPDX-License-Identifier: Apache-2.0 */
/* tools_steps.c - steps as XProf defines them. A step begins with its first work on a device. It
 * ends when another step begins, or earlier, with the last work that began during the step, even if
 * that work belongs to another step. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/export/xplane/tools_state.h"

enum {
	SEQUENCE = 1,
	SEQUENCE_STEP = 1,
	SEQUENCE_CORE = 2,
	SEQUENCE_TRANSFER = 7,
	STEP_NUMBER = 1,
	STEP_DURATION_PS = 2,
	STEP_BEGIN_PS = 3,
	STEP_BREAKDOWN = 4,
	STEP_NAME = 5,
	ANY_TYPE = 1,
	ANY_VALUE = 2,
	BREAKDOWN_TYPE_PS = 1,
	TRANSFER_COUNT = 1,
	TRANSFER_US = 2,
	TRANSFER_BYTES = 3
};

/* XProf's number of the core that combines all devices of a host */
#define CORE_OF_DEVICES 1
#define TIMES (TOOLS_TIMES / 10 + 1)

static struct tools_step *step_at(struct tools *t, uint32_t index)
{
	return index ? &t->steps[index - 1] : NULL;
}

int tools_step_add(struct tools *t, const struct timeline_item *i)
{
	const uint32_t process = i->row->process->id, tid = i->row->tid;
	uint32_t name = xplane_text(&t->x, i->name.text.text, i->name.text.bytes);
	if (array_room(&t->steps, t->step_count, &t->step_capacity, sizeof(*t->steps)) || !name)
		return -ENOMEM;
	t->steps[t->step_count] =
		(struct tools_step){.outer = map_get(&t->last_steps, process, tid),
			.name = name,
			.start_ns = i->start_ns,
			.end_ns = i->start_ns + i->duration_ns};
	return map_put(&t->last_steps, process, tid, ++t->step_count);
}

int tools_step_call(struct tools *t, const struct timeline_item *i)
{
	const uint32_t process = i->row->process->id;
	uint32_t index = map_get(&t->last_steps, process, i->row->tid);
	while (index && t->steps[index - 1].end_ns <= i->start_ns)
		index = t->steps[index - 1].outer;
	if (!i->is_call || !i->correlation || !t->x.steps)
		return 0;
	if (!t->step_calls && !(t->step_calls = calloc(XPLANE_CALLS, sizeof(*t->step_calls))))
		return -ENOMEM;
	t->step_calls[i->correlation & (XPLANE_CALLS - 1)] =
		(struct xplane_call){process, i->correlation, index};
	return 0;
}

/* Return the index + 1 of the step during which the work was launched; 0 = none. */
static uint32_t step_of(const struct tools *t, const struct timeline_item *i)
{
	if (!t->step_calls || !i->correlation)
		return 0;
	const struct xplane_call *call = &t->step_calls[i->correlation & (XPLANE_CALLS - 1)];
	return call->process == i->row->process->id && call->correlation == i->correlation
		? call->range
		: 0;
}

static bool begins_with(const char *text, const char *begin)
{
	return !strncmp(text, begin, strlen(begin));
}

/* Classify device work by its name, as XProf does: XProf recognizes only these copies, and takes
 * kernels for 16-bit arithmetic only if their name says so. */
static enum tools_time time_of(const char *name)
{
	static const struct {
		const char *name;
		enum tools_time time;
	} copies[] = {{"MemcpyHToD", TOOLS_HOST_TO_DEVICE}, {"MemcpyDToH", TOOLS_DEVICE_TO_HOST},
		{"MemcpyDToD", TOOLS_DEVICE_TO_DEVICE}, {"MemcpyHToH", TOOLS_HOST_TO_HOST}};
	for (size_t n = 0; n < sizeof(copies) / sizeof(copies[0]); n++)
		if (begins_with(name, copies[n].name))
			return copies[n].time;
	if (begins_with(name, "nccl"))
		return TOOLS_COLLECTIVES;
	return strstr(name, "half") || strstr(name, "fp16") ? TOOLS_COMPUTE_16 : TOOLS_COMPUTE_32;
}

/* Add the time until `ns` to the current step. Where several kinds of work overlap, the time counts
 * for the kind with the greatest enum tools_time. */
static void sweep_to(struct tools *t, uint64_t ns)
{
	struct tools_sweep *s = &t->sweep;
	struct tools_step *step = step_at(t, s->step);
	while (s->count && s->now_ns < ns) {
		uint64_t until = ns;
		uint32_t time = 0, kept = 0;
		for (uint32_t n = 0; n < s->count; n++) {
			until = s->work[n].end_ns < until ? s->work[n].end_ns : until;
			time = s->work[n].time > time ? s->work[n].time : time;
		}
		if (step && until > s->now_ns)
			step->times_ns[time / 10] += until - s->now_ns;
		s->now_ns = until > s->now_ns ? until : s->now_ns;
		for (uint32_t n = 0; n < s->count; n++)
			if (s->work[n].end_ns > s->now_ns)
				s->work[kept++] = s->work[n];
		s->count = kept;
	}
	if (ns != UINT64_MAX && s->now_ns < ns)
		s->now_ns = ns;
}

static void transfer_add(struct tools_step *step, const struct timeline_item *i, uint32_t time)
{
	const int index = time == TOOLS_HOST_TO_DEVICE ? 0
		: time == TOOLS_DEVICE_TO_HOST         ? 1
		: time == TOOLS_DEVICE_TO_DEVICE       ? 2
						       : -1;
	if (index < 0 || i->row->event->number != KIND_CUDA_MEMCPY)
		return;
	step->transfers[index].count++;
	step->transfers[index].ns += i->duration_ns;
	step->transfers[index].bytes += xplane_column(i, FIELD_CUDA_MEMCPY_BYTES);
}

/* End the current step at its last work, or at `ns`, the start of another step. */
static void step_end(struct tools *t, uint64_t ns)
{
	struct tools_step *step = step_at(t, t->sweep.step);
	if (step)
		step->device_ns = (step->last_ns < ns ? step->last_ns : ns) - step->begin_ns;
}

int tools_step_work(struct tools *t, const struct timeline_item *i, uint32_t name)
{
	struct tools_sweep *s = &t->sweep;
	const uint32_t index = step_of(t, i);
	const enum tools_time time = time_of(tools_text(t, name));
	const uint64_t end_ns = i->start_ns + i->duration_ns;
	struct tools_step *own = step_at(t, index);
	if (!t->step_count)
		return 0;
	sweep_to(t, i->start_ns);
	if (own)
		transfer_add(own, i, time);
	if (own && !own->has_begun) {
		step_end(t, i->start_ns);
		own->has_begun = true;
		own->begin_ns = i->start_ns;
		s->step = index;
	}
	struct tools_step *step = step_at(t, s->step);
	if (step && end_ns > step->last_ns)
		step->last_ns = end_ns;
	if (array_room(&s->work, s->count, &s->capacity, sizeof(*s->work)))
		return -ENOMEM;
	s->work[s->count++] = (struct tools_work){end_ns, time};
	return 0;
}

void tools_steps_end(struct tools *t)
{
	sweep_to(t, UINT64_MAX);
	step_end(t, UINT64_MAX);
}

void tools_steps_release(struct tools *t)
{
	free(t->steps);
	free(t->step_calls);
	free(t->sweep.work);
	map_release(&t->last_steps);
}

/* ---- messages ---- */

static void time_put(struct proto *p, uint32_t kind, uint64_t ns)
{
	size_t entry = proto_open(p, BREAKDOWN_TYPE_PS);
	proto_u64(p, MAP_KEY, kind);
	proto_u64(p, MAP_VALUE, ns * TOOLS_PS_PER_NS);
	proto_close(p, entry);
}

static void breakdown_put(struct proto *p, const struct tools_step *step, uint64_t duration_ns)
{
	uint64_t busy_ns = 0;
	size_t any = proto_open(p, STEP_BREAKDOWN);
	proto_string(p, ANY_TYPE, "type.googleapis.com/tensorflow.profiler.GenericStepBreakdown");
	size_t value = proto_open(p, ANY_VALUE);
	for (uint32_t n = 1; n < TIMES; n++) {
		busy_ns += step->times_ns[n];
		if (step->times_ns[n])
			time_put(p, n * 10, step->times_ns[n]);
	}
	time_put(p, TOOLS_UNKNOWN, duration_ns > busy_ns ? duration_ns - busy_ns : 0);
	proto_close(p, value);
	proto_close(p, any);
}

/* Write the name that XProf shows instead of the number. */
static void step_name_put(
	const struct tools *t, struct proto *p, const struct tools_step *step, uint32_t number)
{
	const char *text = tools_text(t, step->name);
	char end[16];
	snprintf(end, sizeof(end), " %u", number);
	size_t name = proto_open(p, STEP_NAME);
	proto_bytes(p, text, strlen(text));
	proto_bytes(p, end, strlen(end));
	proto_close(p, name);
}

static void step_put(
	const struct tools *t, struct proto *p, const struct tools_step *step, uint32_t number)
{
	const uint64_t ns = step->has_begun ? step->device_ns : step->end_ns - step->start_ns;
	size_t sequence = proto_open(p, SEQUENCE);
	proto_u64(p, SEQUENCE_STEP, number);
	size_t entry = proto_open(p, SEQUENCE_CORE);
	proto_u64(p, MAP_KEY, step->has_begun ? CORE_OF_DEVICES : 0);
	size_t info = proto_open(p, MAP_VALUE);
	proto_u64(p, STEP_NUMBER, number);
	proto_u64(p, STEP_DURATION_PS, ns * TOOLS_PS_PER_NS);
	proto_u64(p, STEP_BEGIN_PS, tools_ps(t, step->has_begun ? step->begin_ns : step->start_ns));
	breakdown_put(p, step, ns);
	step_name_put(t, p, step, number);
	proto_close(p, info);
	proto_close(p, entry);
	for (int n = 0; n < 3; n++) {
		size_t transfer = proto_open(p, SEQUENCE_TRANSFER);
		proto_u64(p, TRANSFER_COUNT, step->transfers[n].count);
		proto_double(p, TRANSFER_US, (double)step->transfers[n].ns / 1e3);
		proto_u64(p, TRANSFER_BYTES, step->transfers[n].bytes);
		proto_close(p, transfer);
	}
	proto_close(p, sequence);
}

/* Write the steps. If devices were used, steps without work on a device are left out. */
void tools_steps_put(const struct tools *t, struct proto *p)
{
	for (uint32_t n = 0; n < t->step_count; n++)
		if (t->steps[n].has_begun || !t->devices_used)
			step_put(t, p, &t->steps[n], n);
}
