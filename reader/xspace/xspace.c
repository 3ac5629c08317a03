/* SPDX-License-Identifier: Apache-2.0 */
/* xspace.c - parser of an XSpace: planes, lines and events. */
#include "reader/xspace/xspace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/varint.h"
#include "reader/file/source.h"
#include "reader/ncu/wire.h"

/* maximum size of a file; protobuf itself limits messages to half of it */
#define XSPACE_BYTES_MAX (UINT64_C(1) << 32)

/* Field numbers of the messages. */
enum { SPACE_PLANE = 1, SPACE_ERROR = 2, SPACE_WARNING = 3, SPACE_HOSTNAME = 4 };
enum { PLANE_ID = 1, PLANE_NAME = 2, PLANE_LINE = 3, PLANE_EVENT_NAME = 4, PLANE_STAT_NAME = 5 };
enum { LINE_ID = 1, LINE_NAME = 2, LINE_TIMESTAMP = 3, LINE_EVENT = 4 };
enum { EVENT_NAME = 1, EVENT_OFFSET = 2, EVENT_DURATION = 3, EVENT_OCCURRENCES = 5 };
enum {
	STAT_NAME = 1,
	STAT_REAL = 2,
	STAT_U64 = 3,
	STAT_I64 = 4,
	STAT_TEXT = 5,
	STAT_BYTES = 6,
	STAT_REF = 7
};
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2, METADATA_NAME = 2 };

static struct xspace_text text_of(const struct wire_field *f)
{
	return f->type == WIRE_BYTES
		? (struct xspace_text){(const char *)f->at, (size_t)(f->end - f->at)}
		: (struct xspace_text){0};
}

bool xspace_text_is(struct xspace_text text, const char *wanted)
{
	return text.bytes == strlen(wanted) && !memcmp(text.text, wanted, text.bytes);
}

/* Add an entry of a map: an id, and a message with a name. */
static int name_add(struct xspace_names *n, const struct wire_field *entry)
{
	struct xspace_name name = {0};
	struct wire_field f, inner;
	const uint8_t *at = entry->at;
	int more;
	while ((more = wire_next(&at, entry->end, &f)) > 0) {
		if (f.number == ENTRY_KEY && f.type == WIRE_VARINT)
			name.id = (int64_t)f.value;
		const uint8_t *value = f.at;
		int inside = 0;
		if (f.number == ENTRY_VALUE && f.type == WIRE_BYTES)
			while ((inside = wire_next(&value, f.end, &inner)) > 0)
				if (inner.number == METADATA_NAME)
					name.text = text_of(&inner);
		if (inside < 0)
			return inside;
	}
	int error = more < 0 ? more : array_room(&n->rows, n->count, &n->capacity, sizeof(name));
	if (!error)
		n->rows[n->count++] = name;
	return error;
}

static int compare_names(const void *a, const void *b)
{
	const struct xspace_name *x = a, *y = b;
	return (x->id > y->id) - (x->id < y->id);
}

static struct xspace_text name_find(const struct xspace_names *n, int64_t id)
{
	const struct xspace_name key = {.id = id};
	const struct xspace_name *found =
		n->count ? bsearch(&key, n->rows, n->count, sizeof(*n->rows), compare_names) : NULL;
	return found ? found->text : (struct xspace_text){0};
}

/* ---- events ---- */

static int event_read(const struct xspace_plane *plane, const struct wire_field *message,
	struct xspace_event *e, uint64_t *ret_occurrences)
{
	struct wire_field f;
	const uint8_t *at = message->at;
	int more;
	*e = (struct xspace_event){.at = message->at, .end = message->end};
	*ret_occurrences = 1;
	while ((more = wire_next(&at, message->end, &f)) > 0) {
		if (f.type != WIRE_VARINT)
			continue;
		if (f.number == EVENT_NAME)
			e->name = name_find(&plane->event_names, (int64_t)f.value);
		else if (f.number == EVENT_OFFSET)
			e->offset_ps = (int64_t)f.value;
		else if (f.number == EVENT_DURATION)
			e->duration_ps = (int64_t)f.value;
		else if (f.number == EVENT_OCCURRENCES)
			*ret_occurrences = f.value;
	}
	return more;
}

int xspace_event_next(const struct xspace_plane *plane, const struct xspace_line *line,
	const uint8_t **at, struct xspace_event *ret_event)
{
	struct wire_field f;
	uint64_t occurrences;
	while (wire_next(at, line->end, &f) > 0)
		if (f.number == LINE_EVENT && f.type == WIRE_BYTES &&
			!event_read(plane, &f, ret_event, &occurrences))
			return 1;
	return 0;
}

static bool stat_read(
	const struct xspace_plane *plane, const struct wire_field *message, struct xspace_stat *s)
{
	struct wire_field f;
	const uint8_t *at = message->at;
	int more;
	*s = (struct xspace_stat){0};
	while ((more = wire_next(&at, message->end, &f)) > 0) {
		s->number = f.number == STAT_NAME ? s->number : f.value;
		switch (f.number) {
		case STAT_NAME:
			s->name = name_find(&plane->stat_names, (int64_t)f.value);
			break;
		case STAT_REAL:
			s->kind = XSPACE_REAL;
			memcpy(&s->real, &f.value, sizeof(s->real));
			break;
		case STAT_U64:
			s->kind = XSPACE_U64;
			break;
		case STAT_I64:
			s->kind = XSPACE_I64;
			break;
		case STAT_TEXT:
			s->kind = XSPACE_TEXT;
			s->text = text_of(&f);
			break;
		case STAT_BYTES:
			s->kind = XSPACE_BYTES;
			s->text = text_of(&f);
			break;
		case STAT_REF:
			s->kind = XSPACE_TEXT;
			s->text = name_find(&plane->stat_names, (int64_t)f.value);
			break;
		default:
			break;
		}
	}
	return !more;
}

int xspace_stat_next(const struct xspace_plane *plane, uint32_t field, const uint8_t **at,
	const uint8_t *end, struct xspace_stat *ret_stat)
{
	struct wire_field f;
	while (wire_next(at, end, &f) > 0)
		if (f.number == field && f.type == WIRE_BYTES && stat_read(plane, &f, ret_stat))
			return 1;
	return 0;
}

/* ---- planes ---- */

static int line_read(struct xspace_plane *plane, struct xspace_line *line)
{
	struct wire_field f;
	struct xspace_event e;
	uint64_t occurrences;
	const uint8_t *at = line->at;
	int more, error = 0;
	while (!error && (more = wire_next(&at, line->end, &f)) > 0) {
		if (f.number == LINE_ID)
			line->id = (int64_t)f.value;
		else if (f.number == LINE_NAME)
			line->name = text_of(&f);
		else if (f.number == LINE_TIMESTAMP)
			line->timestamp_ns = (int64_t)f.value;
		else if (f.number == LINE_EVENT && f.type == WIRE_BYTES &&
			!(error = event_read(plane, &f, &e, &occurrences))) {
			const int64_t end =
				(int64_t)((uint64_t)e.offset_ps + (uint64_t)e.duration_ps);
			line->first_ps = !line->events || e.offset_ps < line->first_ps
				? e.offset_ps
				: line->first_ps;
			line->last_ps = !line->events || end > line->last_ps ? end : line->last_ps;
			line->total_ps =
				(int64_t)((uint64_t)line->total_ps + (uint64_t)e.duration_ps);
			line->events += occurrences;
		}
	}
	return error ? error : more;
}

static int line_add(struct xspace_plane *plane, const struct wire_field *f)
{
	int error = array_room(
		&plane->lines, plane->line_count, &plane->line_capacity, sizeof(*plane->lines));
	if (!error)
		plane->lines[plane->line_count++] =
			(struct xspace_line){.at = f->at, .end = f->end};
	return error;
}

/* Read the lines after all names are known, because names may follow the lines. */
static int plane_read(struct xspace_plane *plane)
{
	struct wire_field f;
	const uint8_t *at = plane->at;
	int more = 0, error = 0;
	while (!error && (more = wire_next(&at, plane->end, &f)) > 0) {
		if (f.number == PLANE_ID)
			plane->id = (int64_t)f.value;
		else if (f.number == PLANE_NAME)
			plane->name = text_of(&f);
		else if (f.number == PLANE_LINE && f.type == WIRE_BYTES)
			error = line_add(plane, &f);
		else if (f.number == PLANE_EVENT_NAME && f.type == WIRE_BYTES)
			error = name_add(&plane->event_names, &f);
		else if (f.number == PLANE_STAT_NAME && f.type == WIRE_BYTES)
			error = name_add(&plane->stat_names, &f);
	}
	error = error ? error : more;
	if (plane->event_names.count)
		qsort(plane->event_names.rows, plane->event_names.count, sizeof(struct xspace_name),
			compare_names);
	if (plane->stat_names.count)
		qsort(plane->stat_names.rows, plane->stat_names.count, sizeof(struct xspace_name),
			compare_names);
	for (uint32_t i = 0; !error && i < plane->line_count; i++)
		error = line_read(plane, &plane->lines[i]);
	return error;
}

static int plane_add(struct xspace *x, const struct wire_field *f)
{
	if (array_room(&x->planes, x->plane_count, &x->plane_capacity, sizeof(*x->planes)))
		return -ENOMEM;
	x->planes[x->plane_count] = (struct xspace_plane){.at = f->at, .end = f->end};
	return plane_read(&x->planes[x->plane_count++]);
}

static int hostname_add(struct xspace *x, const struct wire_field *f)
{
	int error = array_room(
		&x->hostnames, x->hostname_count, &x->hostname_capacity, sizeof(*x->hostnames));
	if (!error)
		x->hostnames[x->hostname_count++] = text_of(f);
	return error;
}

static int space_read(struct xspace *x, const uint8_t *at, const uint8_t *end)
{
	struct wire_field f;
	int more = 0, error = 0;
	while (!error && (more = wire_next(&at, end, &f)) > 0) {
		if (f.number == SPACE_PLANE && f.type == WIRE_BYTES)
			error = plane_add(x, &f);
		else if (f.number == SPACE_HOSTNAME)
			error = hostname_add(x, &f);
		x->errors += f.number == SPACE_ERROR;
		x->warnings += f.number == SPACE_WARNING;
	}
	return error ? error : more;
}

/* ---- the file ---- */

/* Check that the file begins with a plane that begins with its id or name. */
bool xspace_is(const char *path)
{
	struct source s;
	uint8_t head[2 + VARINT_MAX];
	uint64_t bytes;
	if (source_open(&s, path))
		return false;
	bool is = s.size >= sizeof(head) && !source_read(&s, 0, head, sizeof(head)) &&
		head[0] == (SPACE_PLANE << 3 | WIRE_BYTES);
	const uint8_t *at = is ? varint_get(head + 1, head + sizeof(head) - 1, &bytes) : NULL;
	is = at && bytes && bytes <= s.size - (uint64_t)(at - head) &&
		(*at == (PLANE_ID << 3 | WIRE_VARINT) || *at == (PLANE_NAME << 3 | WIRE_BYTES));
	source_close(&s);
	return is;
}

int xspace_open(struct xspace *x, const char *path)
{
	struct source s;
	*x = (struct xspace){0};
	int error = source_open(&s, path);
	if (error)
		return error;
	if (s.size > XSPACE_BYTES_MAX)
		error = -EFBIG;
	x->bytes = error ? NULL : malloc((size_t)s.size + 1);
	if (!error && !x->bytes)
		error = -ENOMEM;
	if (!error)
		error = source_read(&s, 0, x->bytes, (size_t)s.size);
	if (!error)
		error = space_read(x, x->bytes, x->bytes + s.size);
	source_close(&s);
	if (error)
		xspace_close(x);
	return error;
}

void xspace_close(struct xspace *x)
{
	for (uint32_t i = 0; i < x->plane_count; i++) {
		free(x->planes[i].event_names.rows);
		free(x->planes[i].stat_names.rows);
		free(x->planes[i].lines);
	}
	free(x->planes);
	free(x->hostnames);
	free(x->bytes);
	*x = (struct xspace){0};
}
