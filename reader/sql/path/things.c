/* SPDX-License-Identifier: Apache-2.0 */
/* things.c - names of what calls use. */
#include "reader/sql/path/things.h"

#ifdef HAVE_SQLITE

#include <stdlib.h>

#include "common/array.h"
#include "reader/sql/path/descriptors.h"

struct program {
	int64_t process, start;
	uint32_t name;
};

struct first_call {
	int64_t start;
	uint32_t chain;
};

struct path_things {
	struct program *programs; /* sorted by process and start */
	uint32_t count, capacity;
	struct first_call *firsts; /* by index of the object; NULL = not yet looked for */
};

static int program_row(void *user, sqlite3_stmt *in)
{
	struct path_graph *g = user;
	struct path_things *t = g->things;
	int64_t start;
	const uint32_t name =
		path_name_of_text(g, PATH_WORK, (const char *)sqlite3_column_text(in, 2));
	if (name == PATH_NOWHERE ||
		array_room(&t->programs, t->count, &t->capacity, sizeof(*t->programs)))
		return SQLITE_NOMEM;
	if (path_is_time(in, 1, &start))
		t->programs[t->count++] =
			(struct program){sqlite3_column_int64(in, 0), start, name};
	return SQLITE_OK;
}

static int program_order(const void *one, const void *two)
{
	const struct program *a = one, *b = two;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->start > b->start) - (a->start < b->start);
}

int path_things_read(struct path_graph *g)
{
	if (g->things)
		return SQLITE_OK;
	g->things = calloc(1, sizeof(*g->things));
	if (!g->things)
		return SQLITE_NOMEM;
	int code = path_rows(g->connection,
		"SELECT process, start, name FROM temp.PATH_PROGRAM_STARTS", g, program_row);
	if (!code && g->things->count)
		qsort(g->things->programs, g->things->count, sizeof(*g->things->programs),
			program_order);
	return code;
}

void path_things_free(struct path_graph *g)
{
	if (g->things) {
		free(g->things->programs);
		free(g->things->firsts);
	}
	free(g->things);
	g->things = NULL;
}

/* Return the program that a process ran at a time, the first one before that; index of its name, or
 * PATH_NOWHERE. */
static uint32_t program_at(const struct path_graph *g, int64_t process, int64_t time)
{
	const struct path_things *t = g->things;
	uint32_t low = 0, high = t->count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct program *p = &t->programs[middle];
		if (p->process != process ? p->process < process : p->start <= time)
			low = middle + 1;
		else
			high = middle;
	}
	if (low && t->programs[low - 1].process == process)
		return t->programs[low - 1].name;
	return low < t->count && t->programs[low].process == process ? t->programs[low].name
								     : PATH_NOWHERE;
}

/* Return whether the object of a call is one that threads wait for, or wake others with. */
static bool has_variable(const struct path_name *name)
{
	switch (name->role) {
	case ROLE_LOCK:
	case ROLE_UNLOCK:
	case ROLE_CONDITION:
	case ROLE_SIGNAL:
	case ROLE_SEMAPHORE:
	case ROLE_POST:
	case ROLE_BARRIER:
		return name->source == PATH_OSRT;
	default:
		return false;
	}
}

/* Find what a call uses. `other`: the track where its wait ended, or PATH_NOWHERE. */
static int thing_find(struct path_graph *g, const struct path_parts *parts, uint32_t track,
	const struct path_call *c, uint32_t other, struct path_thing *ret_thing)
{
	const struct path_name *name = path_name_of(g, c);
	const bool is_held = name->role == ROLE_LOCK && name->source == PATH_OSRT;
	*ret_thing = (struct path_thing){.file = path_file_of(g, track, c),
		.object = has_variable(name) ? c->object : 0,
		.other = is_held || name->role == ROLE_JOIN ? other : PATH_NOWHERE,
		.function = PATH_NOWHERE};
	return is_held && other != PATH_NOWHERE
		? path_hold_find(g, parts, track, c, &ret_thing->function)
		: SQLITE_OK;
}

int path_about_find(struct path_graph *g, const struct path_parts *parts,
	const struct path_segment *segment, struct path_about *ret_about)
{
	const struct path_thing nothing = {PATH_NOWHERE, 0, PATH_NOWHERE, PATH_NOWHERE};
	const struct path_track *t = &g->tracks[segment->track];
	struct path_wait wait = {.track = PATH_NOWHERE};
	int code = segment->kind == KIND_WAKE
		? path_wait_find(g, segment->track, segment->span, &wait)
		: SQLITE_OK;
	ret_about->span = ret_about->wait = nothing;
	if (!code && segment->span && !t->is_stream)
		code = thing_find(
			g, parts, segment->track, segment->span, wait.track, &ret_about->span);
	if (!code && segment->wait)
		code = thing_find(g, parts, segment->wait_track, segment->wait, segment->track,
			&ret_about->wait);
	ret_about->program = program_at(g, t->process, segment->start);
	return code;
}

/* Find the first call with a callchain for each object. */
static int firsts_find(struct path_graph *g)
{
	struct first_call *firsts = calloc(g->object_count, sizeof(*firsts));
	g->things->firsts = firsts;
	for (uint32_t i = 0; firsts && i < g->track_count; i++) {
		const struct path_track *t = &g->tracks[i];
		for (uint32_t k = 0; !t->is_stream && k < t->count; k++) {
			const struct path_call *c = &t->calls[k];
			spill_use(&g->spill, 1);
			if (!c->chain || !c->object || !has_variable(path_name_of(g, c)))
				continue;
			struct first_call *f = &firsts[c->object];
			if (!f->chain || c->start < f->start)
				*f = (struct first_call){c->start, c->chain};
		}
	}
	return firsts ? SQLITE_OK : SQLITE_NOMEM;
}

int path_object_chain(struct path_graph *g, uint32_t object, uint32_t *ret_chain)
{
	int code = g->things->firsts ? SQLITE_OK : firsts_find(g);
	*ret_chain = code ? 0 : g->things->firsts[object].chain;
	return code;
}

#endif
