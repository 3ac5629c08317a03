/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wall.c - wall-time and off-CPU profiles of threads, through a temporary database.
 */
#include "reader/cli/stats/wall.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/cli/database/stats.h"
#include "reader/export/sqlite/threads.h"

/* Columns of WALL_FRAMES (shared/wall.sql). */
enum { LEAF, GLOBAL_TID, IS_RUNNING, NAME, NS, COUNT, SYMBOL, MODULE, SYMBOL_ID, KIND, COLUMNS };

/* The leaf whose frames are being read. */
struct leaf {
	struct profile *p;
	int64_t number; /* 0 = none */
	struct profile_leaf facts;
	struct profile_frame frames[PROFILE_CHAIN_MAX];
};

static const char *text_of(struct profile *p, const struct sql_value *v)
{
	return v->type == SQL_TEXT ? pool_text(&p->symbols->pool, v->text, v->bytes) : NULL;
}

/* Return the name of a frame. In the database, a function without a name is its address; here it is
 * named as in profiles without a database, by its module and the offset there. */
static const char *frame_name(struct leaf *l, const struct sql_value *symbol, const char *path)
{
	struct module_map *modules = &l->facts.process->memory->modules;
	char *end;
	const uint64_t address = strtoull(symbol->text, &end, 16);
	const struct module *m = NULL;
	if (strncmp(symbol->text, "0x", 2) != 0 || *end || !path)
		return text_of(l->p, symbol);
	while ((m = module_map_each(modules, address - 1, m))) {
		const char *text = string_table_get(&l->p->contents->strings, m->path).text;
		if (text && !strcmp(text, path))
			return profile_unknown_name(l->p, path, address - m->bias, address);
	}
	return text_of(l->p, symbol);
}

static int leaf_end(struct leaf *l)
{
	if (!l->number)
		return 0;
	if (!l->facts.count && !l->facts.name)
		l->facts.name = pool_text(&l->p->symbols->pool, "[no callchain]", SIZE_MAX);
	return profile_leaf_add(l->p, &l->facts);
}

static int leaf_begin(struct leaf *l, const struct sql_value *v)
{
	int error = leaf_end(l);
	const uint64_t thread = (uint64_t)v[GLOBAL_TID].integer;
	l->number = v[LEAF].integer;
	l->facts = (struct profile_leaf){.frames = l->frames,
		.process = thread_process(&l->p->contents->processes, (int64_t)thread),
		.tid = (uint32_t)(thread & 0xffffff),
		.name = text_of(l->p, &v[NAME]),
		.ns = (uint64_t)v[NS].integer,
		.events = (uint64_t)v[COUNT].integer};
	if (!l->facts.process)
		l->number = 0;
	return error;
}

static int frame_row(void *user, const struct sql_value *v, int count)
{
	struct leaf *l = user;
	int error = count != COLUMNS ? -EINVAL : 0;
	if (!error && v[LEAF].integer != l->number)
		error = leaf_begin(l, v);
	if (!error && l->number && v[SYMBOL].type == SQL_TEXT &&
		l->facts.count < PROFILE_CHAIN_MAX) {
		const char *module = text_of(l->p, &v[MODULE]);
		const struct profile_frame frame = {
			.function = frame_name(l, &v[SYMBOL], module), .module = module};
		l->frames[l->facts.count++] = frame;
		error = frame.function ? 0 : -ENOMEM;
	}
	return error;
}

bool wall_has(enum profile_source source)
{
	return source == PROFILE_WALL || source == PROFILE_OFFCPU;
}

/* Add a leaf for each part of the threads' time, if the database has thread times. */
static int leaves_add(struct sql *s, struct profile *p)
{
	static const char *const before[] = {
		"osrt", "thread_time", "gpu_work", "gpu_waits", "wall"};
	static const char *const queries[] = {[PROFILE_WALL] = "SELECT * FROM WALL_FRAMES",
		[PROFILE_OFFCPU] = "SELECT * FROM WALL_FRAMES WHERE NOT is_running"};
	struct leaf leaf = {.p = p};
	const struct sql_visitor visitor = {&leaf, NULL, frame_row};
	int error = 0, has = sql_has_rows(s, "LIBTRACE_THREAD_TIME");
	if (has <= 0)
		return has;
	for (size_t i = 0; !error && i < sizeof(before) / sizeof(before[0]); i++)
		error = sql_run(s, report_shared(before[i]), NULL);
	if (!error)
		error = sql_run(s, queries[p->source], &visitor);
	return error ? error : leaf_end(&leaf);
}

int wall_add(struct profile *p, const char *path, const struct stats_form *form, bool no_symbols)
{
	struct stats_database d;
	if (stats_database_open(&d, path, form, no_symbols))
		return -EIO;
	int error = leaves_add(&d.sql, p);
	if (error) {
		sql_file_failed(&d.sql, path, "compute the threads' times", error);
		error = -EIO;
	}
	stats_database_close(&d);
	return error;
}
