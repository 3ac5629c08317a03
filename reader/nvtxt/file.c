#include "reader/nvtxt/file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/lines.h"
#include "reader/nvtxt/state.h"

#define EVENTS_MAX (1u << 28)

int nvtxt_file_init(struct nvtxt_file *f, struct pool *pool)
{
	*f = (struct nvtxt_file){.pool = pool, .state = calloc(1, sizeof(*f->state))};
	return f->state ? 0 : -ENOMEM;
}

void nvtxt_file_release(struct nvtxt_file *f)
{
	if (f->state) {
		map_release(&f->state->name_places);
		free(f->state->names);
	}
	free(f->state);
	free(f->events);
	*f = (struct nvtxt_file){0};
}

void nvtxt_file_tell(struct nvtxt_file *f, enum nvtxt_problem_kind kind, uint32_t line,
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

struct nvtxt_name *nvtxt_name(struct nvtxt_file *f, const char *text)
{
	struct nvtxt_state *s = f->state;
	uint32_t place = text ? map_get(&s->name_places, (uintptr_t)text, 0) : 0;
	if (place)
		return &s->names[place - 1];
	if (!text || array_room(&s->names, s->name_count, &s->name_capacity, sizeof(*s->names)) ||
		map_put(&s->name_places, (uintptr_t)text, 0, s->name_count + 1)) {
		f->broken = true;
		return NULL;
	}
	s->names[s->name_count] = (struct nvtxt_name){0};
	return &s->names[s->name_count++];
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

static int visit_line(void *user, const char *line, size_t bytes, bool too_long)
{
	struct nvtxt_file *f = user;
	if (!too_long)
		return nvtxt_file_line(f, line, bytes);
	f->line++;
	nvtxt_file_tell(f, NVTXT_LEXING_ERROR, f->line, LINE_BYTES_MAX,
		"line of more than %u bytes", LINE_BYTES_MAX);
	return 0;
}

int nvtxt_file_read(struct nvtxt_file *f, int fd)
{
	const struct lines_visitor visitor = {f, visit_line};
	struct lines_sum sum;
	int error = lines_read(fd, &visitor, &sum);
	f->bytes = sum.bytes;
	f->crc = sum.crc;
	return error;
}
