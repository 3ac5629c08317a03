/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - the events and problems of an NVTXT file. */
#include "reader/nvtxt/file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "common/array.h"
#include "reader/nvtxt/state.h"

#define EVENTS_MAX (1u << 28)

int nvtxt_file_init(struct nvtxt_file *f, struct pool *pool)
{
	*f = (struct nvtxt_file){.pool = pool, .state = nvtxt_state_create()};
	return f->state ? 0 : -ENOMEM;
}

void nvtxt_file_release(struct nvtxt_file *f)
{
	nvtxt_state_free(f->state);
	free(f->events);
	*f = (struct nvtxt_file){0};
}

void nvtxt_file_problem(struct nvtxt_file *f, enum nvtxt_problem_kind kind, uint32_t line,
	uint32_t column, const char *format, ...)
{
	char text[300];
	va_list list;
	f->problems[kind]++;
	if (!f->problem)
		return;
	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	f->problem(f->user, &(struct nvtxt_problem){kind, line, column, text});
}

uint64_t nvtxt_file_errors(const struct nvtxt_file *f)
{
	return f->problems[NVTXT_LEXING_ERROR] + f->problems[NVTXT_PARSING_ERROR] +
		f->problems[NVTXT_RANGE_ERROR];
}

void nvtxt_event_add(struct nvtxt_file *f, const struct nvtxt_event *event)
{
	if (f->count == EVENTS_MAX ||
		array_room(&f->events, f->count, &f->capacity, sizeof(*f->events))) {
		f->broken = true;
		return;
	}
	f->events[f->count++] = *event;
}
