#include "reader/nvtxt/file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/lines.h"
#include "reader/nvtxt/state.h"

#define EVENTS_MAX (1u << 28)
#define NAMES_FIRST 64u

int nvtxt_file_init(struct nvtxt_file *f, struct pool *pool)
{
	*f = (struct nvtxt_file){.pool = pool, .state = calloc(1, sizeof(*f->state))};
	return f->state ? 0 : -ENOMEM;
}

void nvtxt_file_release(struct nvtxt_file *f)
{
	if (f->state)
		free(f->state->names);
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

static struct nvtxt_name *name_slot(const struct nvtxt_state *s, const char *text)
{
	uint64_t hash = (uintptr_t)text * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t i = (uint32_t)(hash >> 32) & (s->name_capacity - 1);
	while (s->names[i].text && s->names[i].text != text)
		i = (i + 1) & (s->name_capacity - 1);
	return &s->names[i];
}

static bool names_grow(struct nvtxt_state *s)
{
	struct nvtxt_name *old = s->names;
	uint32_t count = s->name_capacity;
	s->names = calloc(count ? 2 * (size_t)count : NAMES_FIRST, sizeof(*s->names));
	if (!s->names) {
		s->names = old;
		return false;
	}
	s->name_capacity = count ? 2 * count : NAMES_FIRST;
	for (uint32_t i = 0; i < count; i++)
		if (old[i].text)
			*name_slot(s, old[i].text) = old[i];
	free(old);
	return true;
}

struct nvtxt_name *nvtxt_name(struct nvtxt_file *f, const char *text)
{
	struct nvtxt_state *s = f->state;
	if (!text || (2 * s->name_count >= s->name_capacity && !names_grow(s))) {
		f->broken = true;
		return NULL;
	}
	struct nvtxt_name *name = name_slot(s, text);
	s->name_count += !name->text;
	name->text = text;
	return name;
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
