/* SPDX-License-Identifier: Apache-2.0 */
/* log_events.c - events from lines of output as moments of a timeline. */
#include "reader/export/timeline/log_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/file/schema.h"

struct log_output {
	struct log_search *search;
	struct log_stream stream;
	struct event_row row; /* the last write */
};

static char *copy_of(const char *text, size_t bytes)
{
	return strndup(text, bytes);
}

static void moment_add(void *user, const struct log_event *e)
{
	struct log_moments *l = user;
	struct log_moment m = {
		copy_of(e->type, e->type_bytes), copy_of(e->fields, e->fields_bytes)};
	if (!m.type || !m.fields ||
		array_room(&l->found, l->found_count, &l->found_capacity, sizeof(*l->found))) {
		free(m.type);
		free(m.fields);
		l->failed = true;
		return;
	}
	l->found[l->found_count++] = m;
}

static void found_clear(struct log_moments *l)
{
	for (uint32_t i = 0; i < l->found_count; i++) {
		free(l->found[i].type);
		free(l->found[i].fields);
	}
	l->found_count = l->taken = 0;
}

/* Return the search of a report's pattern; NULL = there is no pattern, or no memory. */
static struct log_search *search_find(
	struct log_moments *l, const struct contents *contents, uint32_t merged)
{
	const char *pattern = log_pattern(contents, merged);
	uint32_t number = map_get(&l->search_numbers, merged, 0);
	if (number || !pattern)
		return number ? l->searches[number - 1] : NULL;
	struct log_search *s = calloc(1, sizeof(*s));
	if (!s ||
		array_room(
			&l->searches, l->search_count, &l->search_capacity, sizeof(*l->searches)) ||
		map_put(&l->search_numbers, merged, 0, l->search_count + 1)) {
		free(s);
		l->failed = true;
		return NULL;
	}
	*s = (struct log_search){.found = moment_add, .user = l};
	log_search_begin(s, pattern);
	l->searches[l->search_count++] = s;
	return s;
}

/* Return the stream that a row writes to; NULL = its report has no pattern, or no memory. */
static struct log_output *output_find(struct log_moments *l, const struct contents *contents,
	const struct event_row *row, int64_t stream)
{
	uint32_t number = map_get(&l->stream_numbers, row->process->id, (uint64_t)stream);
	if (number)
		return l->outputs[number - 1];
	struct log_search *search = search_find(l, contents, row->process->facts->report);
	struct log_output *o = search ? calloc(1, sizeof(*o)) : NULL;
	if (!search)
		return NULL;
	if (!o ||
		array_room(
			&l->outputs, l->output_count, &l->output_capacity, sizeof(*l->outputs)) ||
		map_put(&l->stream_numbers, row->process->id, (uint64_t)stream,
			l->output_count + 1)) {
		free(o);
		l->failed = true;
		return NULL;
	}
	o->search = search;
	l->outputs[l->output_count++] = o;
	return o;
}

static int64_t value_of(const struct event_row *row, uint32_t field)
{
	return row->values[schema_column_index(row->event, field)];
}

int log_moments_write(
	struct log_moments *l, const struct contents *contents, const struct event_row *row)
{
	if (row->event->number != KIND_STREAM_WRITE || !row->process)
		return 0;
	found_clear(l);
	struct log_output *o =
		output_find(l, contents, row, value_of(row, FIELD_STREAM_WRITE_STREAM));
	if (!o)
		return l->failed ? -ENOMEM : 0;
	const struct string_ref text = string_table_get(
		&contents->strings, (uint32_t)value_of(row, FIELD_STREAM_WRITE_TEXT));
	const bool is_elsewhere = value_of(row, FIELD_STREAM_WRITE_REDIRECTED) != 0;
	l->row = o->row = *row;
	log_write(o->search, &o->stream, (uint64_t)value_of(row, FIELD_STREAM_WRITE_POSITION),
		(uint64_t)value_of(row, FIELD_STREAM_WRITE_SIZE), is_elsewhere ? NULL : text.text,
		text.bytes);
	return l->failed ? -ENOMEM : 0;
}

bool log_moments_end(struct log_moments *l)
{
	if (l->ended == l->output_count)
		return false;
	struct log_output *o = l->outputs[l->ended++];
	found_clear(l);
	l->row = o->row;
	log_stream_end(o->search, &o->stream);
	return true;
}

const struct log_moment *log_moments_next(struct log_moments *l)
{
	return l->taken < l->found_count ? &l->found[l->taken++] : NULL;
}

void log_moments_release(struct log_moments *l)
{
	found_clear(l);
	free(l->found);
	for (uint32_t i = 0; i < l->search_count; i++) {
		log_search_end(l->searches[i]);
		free(l->searches[i]);
	}
	free(l->searches);
	for (uint32_t i = 0; i < l->output_count; i++)
		free(l->outputs[i]);
	free(l->outputs);
	map_release(&l->search_numbers);
	map_release(&l->stream_numbers);
	*l = (struct log_moments){0};
}
