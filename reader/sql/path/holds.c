/* SPDX-License-Identifier: Apache-2.0 */
/* holds.c - functions in which locks were held, by callchains and CPU samples. */
#include "reader/sql/path/holds.h"

#ifdef HAVE_SQLITE

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

#define CALLS_BACK 256u /* before a wait, that are looked at for the call that took the lock */
#define CHAINS_MAX 8u   /* of calls, and of samples, of one wait */

enum chain_kind { CHAIN_OSRT, CHAIN_CUDA, CHAIN_SAMPLE, CHAIN_KINDS };

struct path_holds {
	sqlite3_stmt *find[CHAIN_KINDS]; /* functions of a chain, the innermost first */
	uint32_t *names;                 /* of all chains that were looked up: count and names */
	uint32_t count, capacity;
	struct map chains;  /* kind and id -> 1 + index in `names` */
	struct map sites;   /* object and function -> 1: the function takes this lock */
	struct map visited; /* object and chain whose function is in `sites` */
	bool has_sites;
	bool has_last; /* the function of one wait is asked for again and again */
	int64_t last;
	uint32_t last_function;
};

/* Return the state, which is created at first; NULL = out of memory. */
static struct path_holds *holds_of(struct path_graph *g)
{
	if (!g->holds)
		g->holds = calloc(1, sizeof(*g->holds));
	return g->holds;
}

void path_holds_rest(struct path_graph *g)
{
	for (int i = 0; g->holds && i < CHAIN_KINDS; i++) {
		sqlite3_finalize(g->holds->find[i]);
		g->holds->find[i] = NULL;
	}
}

void path_holds_free(struct path_graph *g)
{
	struct path_holds *h = g->holds;
	if (!h)
		return;
	path_holds_rest(g);
	g->holds = NULL;
	map_release(&h->chains);
	map_release(&h->sites);
	map_release(&h->visited);
	free(h->names);
	free(h);
}

/* Return whether a function is a part of a lock of C++, and not what uses it. */
static bool is_wrapper(const char *name)
{
	return !strncmp(name, "std::", 5) || !strncmp(name, "__gthread", 9);
}

static int name_append(struct path_holds *h, uint32_t name)
{
	if (array_room(&h->names, h->count, &h->capacity, sizeof(*h->names)))
		return SQLITE_NOMEM;
	h->names[h->count++] = name;
	return SQLITE_OK;
}

/* Read the functions of a chain to the end of `names`. */
static int chain_read(struct path_graph *g, enum chain_kind kind, int64_t id)
{
	static const char *const texts[] = {
		"SELECT name FROM temp.OSRT_OWN_FRAMES WHERE id = ?1 AND is_named ORDER BY depth",
		"SELECT name FROM temp.CUDA_OWN_FRAMES WHERE id = ?1 AND is_named ORDER BY depth",
		"SELECT name FROM temp.PATH_SAMPLED_FRAMES WHERE id = ?1 ORDER BY depth"};
	struct path_holds *h = g->holds;
	const uint32_t at = h->count;
	sqlite3_stmt **find = &h->find[kind];
	int code = name_append(h, 0);
	if (code)
		return code;
	if (!*find)
		code = sqlite3_prepare_v2(g->connection, texts[kind], -1, find, NULL);
	code = code ? code : sqlite3_bind_int64(*find, 1, id);
	while (!code && (code = sqlite3_step(*find)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(*find, 0);
		const bool is_known = text && !is_wrapper(text);
		const uint32_t name = is_known ? path_name_of_text(g, PATH_WORK, text) : 0;
		code = !is_known               ? SQLITE_OK
			: name == PATH_NOWHERE ? SQLITE_NOMEM
					       : name_append(h, name);
	}
	sqlite3_reset(*find);
	h->names[at] = h->count - at - 1;
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Find the functions of a chain: `ret_names` of them, until the next look-up. */
static int chain_find(struct path_graph *g, enum chain_kind kind, int64_t id,
	const uint32_t **ret_names, uint32_t *ret_count)
{
	struct path_holds *h = g->holds;
	uint32_t at = map_get(&h->chains, kind, (uint64_t)id);
	*ret_count = 0;
	if (!at) {
		at = h->count + 1;
		int code = chain_read(g, kind, id);
		if (code || map_put(&h->chains, kind, (uint64_t)id, at))
			return code ? code : SQLITE_NOMEM;
	}
	*ret_count = h->names[at - 1];
	*ret_names = h->names + at;
	return SQLITE_OK;
}

/* Find the innermost function of the callchain of a call, or PATH_NOWHERE. */
static int function_of(struct path_graph *g, const struct path_call *c, uint32_t *ret_function)
{
	const uint32_t *names;
	uint32_t count = 0;
	int code = c->chain ? chain_find(g, CHAIN_OSRT, c->chain, &names, &count) : SQLITE_OK;
	*ret_function = count ? names[0] : PATH_NOWHERE;
	return code;
}

/* Return whether a call took, or released, a lock. */
static bool is_of(
	const struct path_graph *g, const struct path_call *c, enum path_role role, uint32_t object)
{
	const struct path_name *name = path_name_of(g, c);
	return name->role == role && name->source == PATH_OSRT && c->object == object &&
		(c->value == 0 || c->value == PATH_NO_VALUE);
}

/* Return the call by which a thread took the lock that it held at a time; NULL = not known. */
static const struct path_call *taken_by(struct path_graph *g, const struct path_track *holder,
	const struct path_call *wait, int64_t time)
{
	const struct path_call *c = path_ended_before(holder, time);
	for (uint32_t back = 0; c && back < CALLS_BACK; back += c->end < wait->start) {
		spill_use(&g->spill, 1);
		if (is_of(g, c, ROLE_LOCK, wait->object))
			return c;
		if (is_of(g, c, ROLE_UNLOCK, wait->object) || c == holder->calls)
			return NULL;
		c--;
	}
	return NULL;
}

/* Collect which functions take which locks. */
static int sites_find(struct path_graph *g)
{
	struct path_holds *h = g->holds;
	for (uint32_t i = 0; !h->has_sites && i < g->track_count; i++) {
		const struct path_track *t = &g->tracks[i];
		for (uint32_t k = 0; !t->is_stream && k < t->count; k++) {
			const struct path_call *c = &t->calls[k];
			uint32_t function;
			spill_use(&g->spill, 1);
			if (!c->chain || !c->object || !is_of(g, c, ROLE_LOCK, c->object) ||
				map_get(&h->visited, c->object, c->chain))
				continue;
			int code = function_of(g, c, &function);
			if (code || map_put(&h->visited, c->object, c->chain, 1) ||
				(function != PATH_NOWHERE &&
					map_put(&h->sites, c->object, function, 1)))
				return code ? code : SQLITE_NOMEM;
		}
	}
	h->has_sites = true;
	return SQLITE_OK;
}

/* What the callchains of a wait have in common. */
struct common {
	uint32_t list[64], count; /* functions, the innermost first */
	uint32_t chains;
};

/* Leave only the functions that a chain has, too. */
static int chain_join(struct path_graph *g, struct common *all, enum chain_kind kind, int64_t id)
{
	const uint32_t *names;
	uint32_t count, kept = 0;
	int code = chain_find(g, kind, id, &names, &count);
	if (code || !count)
		return code;
	if (!all->chains++) {
		const uint32_t most = sizeof(all->list) / sizeof(all->list[0]);
		/* the outer ones are those that chains have in common */
		const uint32_t left = count > most ? count - most : 0;
		all->count = count - left;
		memcpy(all->list, names + left, all->count * sizeof(*names));
		return SQLITE_OK;
	}
	for (uint32_t i = 0; i < all->count; i++)
		for (uint32_t k = 0; k < count; k++)
			if (all->list[i] == names[k]) {
				all->list[kept++] = names[k];
				break;
			}
	all->count = kept;
	return SQLITE_OK;
}

/* Collect what a thread did from `start` to `end`. */
static int chains_join(struct path_graph *g, const struct path_parts *parts, uint32_t track,
	int64_t start, int64_t end, struct common *all)
{
	const struct path_track *t = &g->tracks[track];
	const struct path_call *before = path_ended_before(t, start);
	const struct path_call *c = before ? before + 1 : t->calls;
	uint32_t last = 0, tried = 0;
	int code = SQLITE_OK;
	for (; !code && c < t->calls + t->outer && c->start < end && tried < CHAINS_MAX; c++) {
		const uint8_t source = path_name_of(g, c)->source;
		spill_use(&g->spill, 1);
		if (!c->chain || c->chain == last || source > PATH_CUDA)
			continue;
		last = c->chain;
		tried++;
		code = chain_join(g, all, source == PATH_CUDA ? CHAIN_CUDA : CHAIN_OSRT, c->chain);
	}
	const struct path_sample *s, *behind;
	s = path_samples_after(parts, track, start, &behind);
	for (tried = 0;
		!code && s < behind && s->track == track && s->time <= end && tried < CHAINS_MAX;
		s++, tried++)
		code = chain_join(g, all, CHAIN_SAMPLE, s->id);
	return code;
}

/* Find the function that a thread was in while another one waited for its lock. */
static int common_find(struct path_graph *g, const struct path_parts *parts, uint32_t track,
	uint32_t object, int64_t start, int64_t end, uint32_t *ret_function)
{
	struct common all = {.count = 0};
	int code = sites_find(g);
	code = code ? code : chains_join(g, parts, track, start, end, &all);
	if (!code && all.count && all.chains > 1)
		*ret_function = all.list[0];
	for (uint32_t i = all.count; !code && i-- > 0;)
		if (map_get(&g->holds->sites, object, all.list[i]))
			*ret_function = all.list[i];
	return code;
}

int path_hold_find(struct path_graph *g, const struct path_parts *parts, uint32_t track,
	const struct path_call *wait, uint32_t *ret_function)
{
	struct path_holds *h = holds_of(g);
	struct path_wait ended;
	*ret_function = PATH_NOWHERE;
	if (!g->has_chains && !parts->sample_count)
		return SQLITE_OK;
	if (!h)
		return SQLITE_NOMEM;
	if (h->has_last && h->last == path_number(g, wait)) {
		*ret_function = h->last_function;
		return SQLITE_OK;
	}
	int code = path_wait_find(g, track, wait, &ended);
	if (!code && ended.track != PATH_NOWHERE) {
		const struct path_call *taken =
			taken_by(g, &g->tracks[ended.track], wait, ended.time);
		const int64_t start = taken && taken->end > wait->start ? taken->end : wait->start;
		code = taken ? function_of(g, taken, ret_function) : SQLITE_OK;
		if (!code && *ret_function == PATH_NOWHERE)
			code = common_find(g, parts, ended.track, wait->object, start, ended.time,
				ret_function);
	}
	h->has_last = !code;
	h->last = path_number(g, wait);
	h->last_function = *ret_function;
	return code;
}

#endif
