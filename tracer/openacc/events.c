/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - the events that a runtime of OpenACC reports, and their rows.
 */
#include "tracer/openacc/openacc.h"

#include "common/clock.h"
#include "common/text.h"
#include "tracer/core/plain_row.h"
#include "tracer/core/state.h"
#include "tracer/openacc/constructs.h"
#include "tracer/session/entry.h"
#include "tracer/session/fork.h"

enum phase { BEGIN = 1, END, POINT };
enum part { OTHER, DATA, LAUNCH };

#define OPENACC_KIND(number, id, name) KIND_##id = number,
enum openacc_kind {
#include "common/schema/openacc.def"
};

static const char *const names[] = {
#define OPENACC_KIND(number, id, name) [number] = name,
#include "common/schema/openacc.def"
};
static const struct {
	uint8_t phase, kind, part;
} events[] = {
#define OPENACC_EVENT(number, phase, id, part) [number] = {phase, KIND_##id, part},
#include "common/schema/openacc.def"
};
#define EVENTS (sizeof(events) / sizeof(events[0]))

/* ---- rows ---- */

/* Set the name: "Compute Construct@file.c:12", "Enqueue Launch@file.c:12 (kernel)". */
static void name_set(
	struct plain_row *r, const char *name, const char *file, int32_t line, const char *kernel)
{
	char text[512];
	size_t at = text_append(text, sizeof(text), 0, name);
	if (file && *file) {
		at = text_append(text, sizeof(text), at, "@");
		at = text_append(text, sizeof(text), at, text_base_name(file));
	}
	if (file && *file && line > 0) {
		at = text_append(text, sizeof(text), at, ":");
		at = text_append_number(text, sizeof(text), at, (uint64_t)line, 10);
	}
	if (kernel && *kernel) {
		at = text_append(text, sizeof(text), at, " (");
		at = text_append(text, sizeof(text), at, kernel);
		text_append(text, sizeof(text), at, ")");
	}
	plain_set_text(r, COLUMN_OPENACC_NAME, text);
}

static void place_set(struct plain_row *r, const struct acc_prof_info *info)
{
	plain_set_signed(r, COLUMN_OPENACC_LINE, -1);
	plain_set_signed(r, COLUMN_OPENACC_QUEUE, -1);
	if (ACC_HAS(info, device_number)) {
		plain_set(r, COLUMN_OPENACC_DEVICE_TYPE, (uint32_t)info->device_type);
		plain_set_signed(r, COLUMN_OPENACC_DEVICE, info->device_number);
	}
	if (ACC_HAS(info, queue))
		plain_set_signed(r, COLUMN_OPENACC_QUEUE, info->queue);
	if (ACC_HAS(info, function)) {
		plain_set_text(r, COLUMN_OPENACC_FILE, info->file);
		plain_set_text(r, COLUMN_OPENACC_FUNCTION, info->function);
	}
	if (ACC_HAS(info, line))
		plain_set_signed(r, COLUMN_OPENACC_LINE, info->line);
}

/* Set the columns of data and launches. Return the kernel, or NULL. */
static const char *part_set(struct plain_row *r, enum part part, const struct acc_event_info *event)
{
	const char *kernel = NULL;
	if (ACC_HAS(event, implicit)) {
		plain_set(r, COLUMN_OPENACC_CONSTRUCT, (uint32_t)event->construct);
		plain_set(r, COLUMN_OPENACC_IMPLICIT, event->implicit != 0);
	}
	if (part == DATA && ACC_HAS(event, data.bytes)) {
		plain_set_text(r, COLUMN_OPENACC_VARIABLE, event->data.variable);
		plain_set(r, COLUMN_OPENACC_BYTES, event->data.bytes);
	}
	if (part == LAUNCH && ACC_HAS(event, launch.vector_length)) {
		kernel = event->launch.kernel;
		plain_set_text(r, COLUMN_OPENACC_KERNEL, kernel);
		plain_set(r, COLUMN_OPENACC_GANGS, event->launch.gangs);
		plain_set(r, COLUMN_OPENACC_WORKERS, event->launch.workers);
		plain_set(r, COLUMN_OPENACC_VECTOR, event->launch.vector_length);
	}
	return kernel;
}

static void row_put(struct thread *t, uint64_t begin, uint64_t end,
	const struct acc_prof_info *info, const struct acc_event_info *event)
{
	struct plain_row r = {.names = 0};
	uint32_t kind = events[info->event].kind;
	const char *kernel = part_set(&r, events[info->event].part, event);
	place_set(&r, info);
	if (kind == KIND_WAIT && ACC_HAS(event, implicit) && event->implicit)
		kind = KIND_IMPLICIT_WAIT;
	plain_set(&r, COLUMN_OPENACC_KIND, kind);
	name_set(&r, names[kind], ACC_HAS(info, function) ? info->file : NULL,
		ACC_HAS(info, line) ? info->line : 0, kernel);
	plain_put(t, PLAIN_OPENACC, begin, end - begin, &r);
}

static void called(
	const struct acc_prof_info *info, const struct acc_event_info *event, const void *api)
{
	uint64_t now = clock_ticks();
	const bool is_open = gate_is_open();
	(void)api;
	if (!info || !event || (uint32_t)info->event >= EVENTS || !events[info->event].phase)
		return;
	if (!is_open && session.state != SESSION_ON)
		return;
	struct thread *t = event_enter();
	if (!t)
		return;
	uint64_t begin = is_open ? now : 0;
	switch (events[info->event].phase) {
	case BEGIN:
		construct_begin(t, begin);
		begin = 0;
		break;
	case END:
		begin = construct_end(t);
		break;
	default:
		break;
	}
	if (begin)
		row_put(t, begin, now, info, event);
	thread_leave(t);
}

bool openacc_listen(acc_register *add)
{
	if (!constructs_start())
		return false;
	for (int i = 1; i < (int)EVENTS; i++)
		add(i, called, 0);
	return true;
}
