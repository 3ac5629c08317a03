/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.c - rows from the records of the OpenCL source.
 */
#include "writer/opencl/rows.h"

#include <string.h>

#include "common/opencl_spool.h"
#include "writer/base/names.h"

#define SLACK_NS 1000u /* a call may begin and end so much later and earlier than its ticks say */

/* Times of a command on the clock of the report. */
struct times {
	enum opencl_clock clock;
	uint64_t queued, submitted, start, end;
};

/* Convert a time of the device: `device` is the same time as `ns`. */
static uint64_t converted(uint64_t time, uint64_t device, uint64_t ns)
{
	return ns + (time - device);
}

/* Find the clock that the device's times are of: the one by which the command was queued within
 * its call. If none is, it is taken to have been queued at the start of the call. */
static struct times times_find(struct segment *s, const struct opencl_command *c)
{
	uint64_t begin = segment_ns(s, c->call_tick), end = segment_ns(s, c->call_end_tick);
	struct times t = {.start = begin, .queued = begin, .submitted = begin, .end = begin};
	if (!c->start || c->start < c->queued || c->end < c->start)
		return t;
	uint64_t now = segment_ns(s, c->clock_tick), device = c->queued, ns = begin;
	t.clock = OPENCL_OTHER_CLOCK;
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t queued = converted(c->queued, c->clock_ns[i], now);
		if (queued + SLACK_NS < begin || queued > end + SLACK_NS)
			continue;
		t.clock = OPENCL_MONOTONIC_RAW + i;
		device = c->clock_ns[i];
		ns = now;
		break;
	}
	t.queued = converted(c->queued, device, ns);
	t.submitted = converted(c->submitted, device, ns);
	t.start = converted(c->start, device, ns);
	t.end = converted(c->end, device, ns);
	return t;
}

static void command_set(struct batch *b, const struct opencl_command *c, const struct times *t)
{
	batch_set(b, OPENCL_COMMAND_DURATION, t->end - t->start);
	batch_set(b, OPENCL_COMMAND_COMMAND_TYPE, c->type);
	batch_set(b, OPENCL_COMMAND_SINCE_QUEUED, t->start - t->queued);
	batch_set(b, OPENCL_COMMAND_SINCE_SUBMITTED,
		t->submitted < t->start ? t->start - t->submitted : 0);
	batch_set(b, OPENCL_COMMAND_STREAM_ID, c->queue_number);
	batch_set(b, OPENCL_COMMAND_QUEUE, c->queue);
	batch_set(b, OPENCL_COMMAND_CONTEXT_ID, c->context_number);
	batch_set(b, OPENCL_COMMAND_CONTEXT, c->context);
	batch_set(b, OPENCL_COMMAND_DEVICE_ID, c->device_number);
	batch_set(b, OPENCL_COMMAND_KERNEL, c->kernel);
	batch_set(b, OPENCL_COMMAND_DIMENSIONS, c->dimensions);
	for (uint32_t i = 0; i < 3; i++) {
		batch_set(b, OPENCL_COMMAND_GLOBAL_X + i, c->global[i]);
		batch_set(b, OPENCL_COMMAND_LOCAL_X + i, c->local[i]);
	}
	batch_set(b, OPENCL_COMMAND_BYTES, c->bytes);
	batch_set(b, OPENCL_COMMAND_OPERATION, c->operation);
	batch_set(b, OPENCL_COMMAND_CORRELATION_ID, c->number);
	batch_set(b, OPENCL_COMMAND_CALL_TID, c->tid);
	batch_set(b, OPENCL_COMMAND_STATUS, (uint64_t)(int64_t)c->status);
	batch_set(b, OPENCL_COMMAND_CLOCK, t->clock);
}

uint32_t opencl_command_put(struct segment *s, const struct record_at *at)
{
	struct opencl_command c;
	if (at->bytes != sizeof(c))
		return 0;
	memcpy(&c, at->payload, sizeof(c));
	const struct times t = times_find(s, &c);
	uint32_t name = spool_name_id(s->w, s->spool, c.name),
		 device = spool_name_id(s->w, s->spool, c.device_name);
	struct batch *b = segment_row_add(s, EVENT_OPENCL_COMMAND, t.start);
	command_set(b, &c, &t);
	batch_set(b, OPENCL_COMMAND_NAME, name);
	batch_set(b, OPENCL_COMMAND_DEVICE, device);
	segment_note_end(s, t.end);
	segment_reload(s);
	return at->slots;
}
