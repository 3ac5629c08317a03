/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.c - reading of calls and operations. Each table is read once, in the order of its rows.
 */
#include "reader/sql/path/graph.h"

#ifdef HAVE_SQLITE

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/report/osrt_class.h"

#define NAMES_MAX (1u << 24)
#define OBJECTS_FIRST 1u
#define FILES_NAMED_MAX (1u << 20) /* opens; files that were opened by more have no name */
#define LANES_MAX 32u /* of a stream; with more, operations are cut where others overlap them */
#define ERROR_TIMED_OUT 110
#define LANE_FLAG (1ull << 63)

static const char *const role_texts[] = {
	NULL,
#define ROLE(name, text) text,
#include "reader/sql/path/roles.def"
};

/* Columns of the statements that return calls. */
enum column { ID, THREAD, START, END, NAME, VALUE, CHAIN, OBJECT, HOLDER, SOURCE };

static const char osrt_calls[] =
	"SELECT id, globalTid, start, \"end\", nameId, returnValue, callchainId FROM temp.OSRT_API "
	"WHERE eventClass = 27 ORDER BY id";
static const char osrt_details[] =
	"SELECT id, object, holderTid, errno FROM temp.LIBTRACE_OSRT_CALL ORDER BY id";
static const char osrt_files[] = "SELECT p.globalTid, p.timestamp, s.value, p.descriptor FROM "
				 "temp.LIBTRACE_FILE_PATH AS p JOIN "
				 "temp.StringIds AS s ON s.id = p.pathId WHERE p.descriptor >= 0";
static const char cuda_calls[] =
	"SELECT id, globalTid, start, \"end\", nameId, returnValue, callchainId, correlationId, "
	"eventClass FROM temp.CUPTI_ACTIVITY_KIND_RUNTIME";
static const char other_calls[] =
	"SELECT id, globalTid, start, \"end\", nameId, NULL, chain, NULL, holder, source FROM "
	"temp.PATH_OTHER_CALLS";
static const char operations[] =
	"SELECT process, device, context, stream, start, \"end\", correlation, name FROM "
	"temp.PATH_OPERATIONS";
static const char rank_operations[] =
	"SELECT process, device, context, stream, start, \"end\", correlation, name, how, "
	"other_process, other_correlation, time, meeting, wait FROM temp.PATH_RANK_OPERATIONS";
static const char threads[] =
	"SELECT globalTid, start, \"end\", has_end, parent, parent_time FROM temp.PATH_THREADS";

struct reading {
	struct path_graph *graph;
	sqlite3_stmt *details;       /* those of the next call that has some, if has_details */
	bool has_details, has_table; /* has_table: calls without details have no object, or 0 */
	bool has_ranks; /* kernels of NCCL waited for other ranks: operations have more columns */
	uint32_t operations; /* number of rows so far */
};

int path_rows(
	sqlite3 *connection, const char *text, void *user, int (*row)(void *user, sqlite3_stmt *in))
{
	sqlite3_stmt *in = NULL;
	int code = sqlite3_prepare_v2(connection, text, -1, &in, NULL);
	while (!code && (code = sqlite3_step(in)) == SQLITE_ROW)
		code = row(user, in);
	sqlite3_finalize(in);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int code_of(struct path_graph *g, int error)
{
	if (!error || error == -ENOMEM)
		return error ? SQLITE_NOMEM : SQLITE_OK;
	g->spill_error = error;
	return SQLITE_FULL;
}

int path_room(struct path_graph *g, void *array, uint32_t count, uint32_t *capacity, size_t bytes)
{
	return code_of(g, spill_room(&g->spill, array, count, capacity, bytes));
}

int path_sort(struct path_graph *g, void *array, uint32_t count, uint32_t *capacity, size_t bytes,
	int (*order)(const void *one, const void *two))
{
	return code_of(g, spill_sort(&g->spill, array, count, capacity, bytes, order));
}

uint32_t path_graph_track(const struct path_graph *g, int64_t id)
{
	return map_get(&g->track_index, (uint64_t)id, 0) - 1; /* not found: PATH_NOWHERE */
}

uint32_t path_first_thread(const struct path_graph *g, uint32_t track, int64_t pid)
{
	const int64_t vm = g->tracks[track].id & ~INT64_C(0xffffffffffff);
	return pid > 0 && pid <= 0xffffff ? path_graph_track(g, vm | pid << 24 | pid)
					  : PATH_NOWHERE;
}

uint32_t path_main_thread(const struct path_graph *g, int64_t process)
{
	return path_graph_track(g, (int64_t)((uint64_t)process << 24) | (process & 0xffffff));
}

/* Return the index of a track, which is added if it is new; PATH_NOWHERE = out of memory. */
static uint32_t track_of(struct path_graph *g, int64_t id)
{
	uint32_t index = path_graph_track(g, id);
	if (index != PATH_NOWHERE)
		return index;
	if (array_room(&g->tracks, g->track_count, &g->track_capacity, sizeof(*g->tracks)) ||
		map_put(&g->track_index, (uint64_t)id, 0, g->track_count + 1))
		return PATH_NOWHERE;
	g->tracks[g->track_count] = (struct path_track){.id = id,
		.start = INT64_MAX,
		.end = INT64_MIN,
		.process = id >> 24,
		.parent = PATH_NOWHERE};
	return g->track_count++;
}

const char *path_role_text(uint8_t role)
{
	return role < sizeof(role_texts) / sizeof(*role_texts) ? role_texts[role] : NULL;
}

static uint8_t role_of(const char *text)
{
	for (uint8_t i = 1; text && i < sizeof(role_texts) / sizeof(*role_texts); i++)
		if (!strcmp(text, role_texts[i]))
			return i;
	return ROLE_NONE;
}

/* Add a name. Returns its index, or PATH_NOWHERE if memory is short. */
static uint32_t name_add(struct path_graph *g, const char *text, struct path_name name)
{
	name.text = pool_text(&g->pool, text ? text : "", text ? strlen(text) : 0);
	if (!name.text || g->name_count == NAMES_MAX ||
		array_room(&g->names, g->name_count, &g->name_capacity, sizeof(*g->names)))
		return PATH_NOWHERE;
	g->names[g->name_count] = name;
	return g->name_count++;
}

uint32_t path_name_of_text(struct path_graph *g, uint8_t source, const char *text)
{
	const char *kept = pool_text(&g->pool, text ? text : "", text ? strlen(text) : 0);
	const uint64_t key = (uintptr_t)kept;
	const uint32_t known = kept ? map_get(&g->name_index, source, key) : 0;
	if (known || !kept)
		return known - 1;
	const uint32_t name = name_add(g, kept, (struct path_name){.source = source});
	return name == PATH_NOWHERE || map_put(&g->name_index, source, key, name + 1) ? PATH_NOWHERE
										      : name;
}

/* Return the descriptor of functions of standard input and output, by their names; -1 = none. */
static int8_t standard_of(const char *name)
{
	static const char *const names[] = {"getchar", "getchar_unlocked", "getwchar", "puts",
		"putchar", "putchar_unlocked", "putwchar"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return *name == 'p';
	return -1;
}

/* Find the name of a function, which PATH_NAMES is asked for once. */
static int name_of(struct path_graph *g, uint8_t source, int64_t id, uint32_t *ret_name)
{
	const uint32_t known = map_get(&g->name_index, source, (uint64_t)id);
	*ret_name = known - 1;
	if (known)
		return SQLITE_OK;
	sqlite3_stmt *find = g->name_find;
	sqlite3_bind_int(find, 1, source == PATH_UNFINISHED ? PATH_OSRT : source);
	sqlite3_bind_int64(find, 2, id);
	struct path_name name = {.source = source};
	const char *text = NULL;
	int code = sqlite3_step(find);
	if (code == SQLITE_ROW) {
		text = (const char *)sqlite3_column_text(find, 0);
		name.role = role_of((const char *)sqlite3_column_text(find, 1));
		name.trait = sqlite3_column_int(find, 2) != 0;
	}
	name.has_descriptor = text && source == PATH_OSRT && osrt_object_is_descriptor(text);
	name.standard = text && source == PATH_OSRT ? standard_of(text) : -1;
	if (code == SQLITE_ROW || code == SQLITE_DONE) {
		*ret_name = name_add(g, text, name);
		code = *ret_name == PATH_NOWHERE ||
				map_put(&g->name_index, source, (uint64_t)id, *ret_name + 1)
			? SQLITE_NOMEM
			: SQLITE_OK;
	}
	sqlite3_reset(find);
	return code;
}

/* Return the number of an object of a process, 0 = none; PATH_NOWHERE if memory is short. */
static uint32_t object_of(struct path_graph *g, int64_t process, int64_t value)
{
	uint32_t number = value ? map_get(&g->object_index, (uint64_t)process, (uint64_t)value) : 0;
	if (number || !value)
		return number;
	if (array_room(&g->objects, g->object_count, &g->object_capacity, sizeof(*g->objects)) ||
		map_put(&g->object_index, (uint64_t)process, (uint64_t)value, g->object_count))
		return PATH_NOWHERE;
	g->objects[g->object_count] = (struct path_object){process, value};
	return g->object_count++;
}

static int descriptor_add(struct path_graph *g, const struct path_descriptor *d)
{
	int code = path_room(g, &g->descriptors, g->descriptor_count, &g->descriptor_capacity,
		sizeof(*g->descriptors));
	if (!code)
		g->descriptors[g->descriptor_count++] = *d;
	return code;
}

/* Return the name of what a call opened or created; 0 = not known. */
static uint32_t file_made(struct path_graph *g, int64_t thread, const struct path_call *c)
{
	const struct path_name *name = path_name_of(g, c);
	static const struct {
		const char *function, *made;
	} kinds[] = {{"socketpair", "socket pair"}, {"socket", "socket"}, {"accept", "socket"},
		{"accept4", "socket"}, {"pipe", "pipe"}, {"pipe2", "pipe"}, {"popen", "pipe"}};
	if (name->role == ROLE_OPEN)
		return map_get(&g->files, (uint64_t)thread, (uint64_t)c->start);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(name->text, kinds[i].function))
			return 1 + path_name_of_text(g, PATH_WORK, kinds[i].made);
	return 0;
}

/* Keep what a call does with descriptors. `object`: of a pair both ends. */
static int descriptors_add(struct path_graph *g, int64_t thread, const struct path_call *c,
	uint8_t role, int64_t object)
{
	const int64_t process = thread >> 24;
	struct path_descriptor d = {
		process, c->end, path_number(g, c), c->value, 0, role, file_made(g, thread, c)};
	const char first = *path_name_of(g, c)->text;
	/* fopen() and popen() return an address; in older reports their object is 0 */
	if (role != ROLE_PAIR && (first == 'f' || first == 'p'))
		d.descriptor = object > 0 && object <= INT32_MAX ? (int32_t)object : -1;
	const uint32_t opened =
		role == ROLE_OPEN ? map_get(&g->opened, (uint64_t)thread, (uint64_t)c->start) : 0;
	if (opened)
		g->descriptors[opened - 1].time = c->end;
	if (role == ROLE_CLOSE && c->value == 0 && object >= 0) {
		d.time = c->start;
		d.descriptor = (int32_t)object;
		return descriptor_add(g, &d);
	}
	if (role == ROLE_PAIR && object > 0) {
		d.descriptor = object & 0xffffff;
		d.copied = *path_name_of(g, c)->text == 's' ? PATH_BOTH_WAYS : 0;
		int code = descriptor_add(g, &d);
		d.descriptor = object >> 24 & 0xffffff;
		d.copied |= PATH_SECOND;
		return code ? code : descriptor_add(g, &d);
	}
	d.copied = (int32_t)object;
	return (role == ROLE_OPEN || role == ROLE_COPY || role == ROLE_CREATE) && d.descriptor >= 0
		? descriptor_add(g, &d)
		: SQLITE_OK;
}

/* Keep that fclose() closed the descriptor of a stream. It writes first. */
static int stream_close(struct path_graph *g, int64_t process, const struct path_call *c)
{
	if (strcmp(path_name_of(g, c)->text, "fclose") || !c->object || c->object > INT32_MAX)
		return SQLITE_OK;
	return descriptor_add(g,
		&(struct path_descriptor){
			process, c->end, path_number(g, c), (int32_t)c->object, 0, ROLE_CLOSE, 0});
}

/* Keep the object of a call, as far as its role needs it; -1 = not known. */
static int object_keep(struct path_graph *g, int64_t thread, struct path_call *c, int64_t object)
{
	const struct path_name *name = path_name_of(g, c);
	const uint8_t role = name->role;
	const int64_t process = thread >> 24;
	if (path_has_descriptor(name)) {
		const int64_t own = name->standard >= 0 ? name->standard
			: name->has_descriptor          ? object
							: -1;
		c->object = own >= 0 && own <= INT32_MAX ? (uint32_t)own : UINT32_MAX;
	}
	switch (role) {
	case ROLE_READ:
		return *name->text == 'a' && c->value >= 0
			? descriptors_add(g, thread, c, ROLE_CREATE, object)
			: SQLITE_OK;
	case ROLE_WRITE:
		return stream_close(g, process, c);
	case ROLE_POLL:
		return SQLITE_OK;
	case ROLE_OPEN:
	case ROLE_PAIR:
	case ROLE_COPY:
	case ROLE_CREATE:
	case ROLE_CLOSE:
		return descriptors_add(g, thread, c, role, object);
	default:
		if (path_has_descriptor(name))
			return SQLITE_OK;
		c->object = object_of(g, process, object == -1 ? 0 : object);
		return c->object == PATH_NOWHERE ? SQLITE_NOMEM : SQLITE_OK;
	}
}

/* Read the details of a call, if it has some. */
static int details_read(struct reading *r, int64_t id, int64_t thread, struct path_call *c)
{
	int code = SQLITE_ROW;
	while (r->has_details && sqlite3_column_int64(r->details, 0) < id) {
		code = sqlite3_step(r->details);
		r->has_details = code == SQLITE_ROW;
	}
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		return code;
	const bool found = r->has_details && sqlite3_column_int64(r->details, 0) == id;
	const int64_t error = found ? sqlite3_column_int64(r->details, 3) : PATH_NO_ERROR_KNOWN;
	c->error = error >= 0 && error < PATH_NO_ERROR_KNOWN ? (uint8_t)error : PATH_NO_ERROR_KNOWN;
	c->holder = found ? (uint32_t)sqlite3_column_int64(r->details, 2) & 0xffffff : 0;
	if (!found && r->has_table)
		c->error = 0;
	return object_keep(r->graph, thread, c,
		found                  ? sqlite3_column_int64(r->details, 1)
			: r->has_table ? 0
				       : -1);
}

bool path_is_time(sqlite3_stmt *in, int column, int64_t *ret_time)
{
	if (sqlite3_column_type(in, column) != SQLITE_INTEGER)
		return false;
	*ret_time = sqlite3_column_int64(in, column);
	return *ret_time > -PATH_TIME_MAX && *ret_time < PATH_TIME_MAX;
}

static int32_t value_read(sqlite3_stmt *in)
{
	const int64_t value = sqlite3_column_int64(in, VALUE);
	if (sqlite3_column_type(in, VALUE) == SQLITE_NULL)
		return PATH_NO_VALUE;
	return value > INT32_MAX ? INT32_MAX : value <= INT32_MIN ? INT32_MIN + 1 : (int32_t)value;
}

static int call_add(struct path_graph *g, uint32_t track, const struct path_call *c)
{
	struct path_track *t = &g->tracks[track];
	int code = path_room(g, &t->calls, t->count, &t->capacity, sizeof(*t->calls));
	spill_use(&g->spill, 1);
	if (code)
		return code;
	t->calls[t->count++] = *c;
	g->has_chains |= c->chain != 0;
	t->start = c->start < t->start ? c->start : t->start;
	t->end = c->end > t->end ? c->end : t->end;
	return SQLITE_OK;
}

/* Read what the calls of all sources have. Sets *ret_track to PATH_NOWHERE if it is no call. */
static int call_read(struct reading *r, sqlite3_stmt *in, uint8_t source, struct path_call *c,
	uint32_t *ret_track)
{
	const int64_t id = sqlite3_column_int64(in, ID);
	uint32_t name;
	*ret_track = PATH_NOWHERE;
	*c = (struct path_call){.id = (uint32_t)id,
		.value = value_read(in),
		.chain = (uint32_t)sqlite3_column_int64(in, CHAIN)};
	if (id < 0 || id > UINT32_MAX || sqlite3_column_type(in, THREAD) != SQLITE_INTEGER ||
		!path_is_time(in, START, &c->start) || !path_is_time(in, END, &c->end))
		return SQLITE_OK;
	const int64_t thread = sqlite3_column_int64(in, THREAD);
	if (thread < 0)
		return SQLITE_OK;
	int code = name_of(r->graph, source, sqlite3_column_int64(in, NAME), &name);
	c->name = name & (NAMES_MAX - 1);
	*ret_track = code ? PATH_NOWHERE : track_of(r->graph, thread);
	return code ? code : *ret_track == PATH_NOWHERE ? SQLITE_NOMEM : SQLITE_OK;
}

static int osrt_row(void *user, sqlite3_stmt *in)
{
	struct reading *r = user;
	struct path_call c;
	uint32_t track;
	int code = call_read(r, in, PATH_OSRT, &c, &track);
	if (code || track == PATH_NOWHERE)
		return code;
	code = details_read(r, sqlite3_column_int64(in, ID), r->graph->tracks[track].id, &c);
	return code ? code : call_add(r->graph, track, &c);
}

static int cuda_row(void *user, sqlite3_stmt *in)
{
	struct reading *r = user;
	struct path_graph *g = r->graph;
	struct path_call c;
	uint32_t track;
	int code = call_read(r, in, PATH_CUDA, &c, &track);
	const bool repeated = sqlite3_column_int64(in, SOURCE - 1) == 67;
	if (code || track == PATH_NOWHERE)
		return code;
	c.object = (uint32_t)sqlite3_column_int64(in, OBJECT);
	c.error = PATH_NO_ERROR_KNOWN;
	if (c.object)
		code = path_room(g, &g->launches, g->launch_count, &g->launch_capacity,
			sizeof(*g->launches));
	if (code)
		return code;
	if (c.object)
		g->launches[g->launch_count++] = (struct path_launch){
			g->tracks[track].process, c.start, c.end, c.object, track, repeated};
	return repeated ? SQLITE_OK : call_add(g, track, &c);
}

static int other_row(void *user, sqlite3_stmt *in)
{
	struct reading *r = user;
	struct path_call c;
	uint32_t track;
	const int source = sqlite3_column_int(in, SOURCE);
	if (source < 0 || source >= PATH_WORK)
		return SQLITE_OK;
	int code = call_read(r, in, (uint8_t)source, &c, &track);
	c.holder = (uint32_t)sqlite3_column_int64(in, HOLDER) & 0xffffff;
	c.error = PATH_NO_ERROR_KNOWN;
	return code || track == PATH_NOWHERE ? code : call_add(r->graph, track, &c);
}

enum path_how path_how_of(const char *text)
{
	return text && !strcmp(text, "exact")     ? HOW_EXACT
		: text && !strcmp(text, "likely") ? HOW_LIKELY
						  : HOW_UNKNOWN;
}

/* Return the name of what followed a wait: the operation, and what it waited for. */
static uint32_t cause_of(struct path_graph *g, const char *operation, const char *wait)
{
	char *text = sqlite3_mprintf("%s, after %s", operation ? operation : "", wait);
	const uint32_t name = text ? path_name_of_text(g, PATH_WORK, text) : PATH_NOWHERE;
	sqlite3_free(text);
	return name;
}

/* Keep what a row says of a wait for another rank. Returns SQLITE_NOMEM if memory is short. */
static int rank_keep(struct path_graph *g, sqlite3_stmt *in, struct path_call *c)
{
	const char *how = (const char *)sqlite3_column_text(in, 8);
	const char *wait = (const char *)sqlite3_column_text(in, 13);
	struct path_rank r = {.process = sqlite3_column_int64(in, 9),
		.correlation = (uint32_t)sqlite3_column_int64(in, 10),
		.cause = PATH_NOWHERE,
		.track = PATH_NOWHERE,
		.meeting = (uint32_t)sqlite3_column_int64(in, 12),
		.how = (uint8_t)(how ? path_how_of(how) : HOW_NONE)};
	if (!how && !r.meeting)
		return SQLITE_OK;
	const bool has_time = path_is_time(in, 11, &r.time);
	if (how && (!has_time || c->start != r.time))
		g->names[c->name].role = ROLE_RANK;
	else if (how && wait)
		r.cause = cause_of(g, g->names[c->name].text, wait);
	int code = path_room(g, &g->ranks, g->rank_count, &g->rank_capacity, sizeof(*g->ranks));
	if (code)
		return code;
	g->ranks[g->rank_count++] = r;
	c->holder = g->rank_count;
	return SQLITE_OK;
}

/* Return the number of a pair of numbers; 0 = out of memory. */
static uint32_t pair_number(struct map *m, uint64_t a, uint64_t b)
{
	uint32_t number = map_get(m, a, b);
	if (!number && !map_put(m, a, b, m->count + 1))
		number = m->count;
	return number;
}

/* Return the index of the track of a stream; PATH_NOWHERE = out of memory. */
static uint32_t stream_of(struct path_graph *g, const struct path_track *stream)
{
	const uint32_t device = pair_number(&g->stream_index, (uint64_t)stream->process,
			       (uint64_t)stream->device),
		       queue = pair_number(&g->stream_index, (uint64_t)stream->context,
			       (uint64_t)stream->stream),
		       number = device && queue ? pair_number(&g->stream_index, device, queue) : 0,
		       before = g->track_count;
	const uint32_t track = number ? track_of(g, -(int64_t)number) : PATH_NOWHERE;
	if (track == before) {
		struct path_track *t = &g->tracks[track];
		const int64_t start = t->start, end = t->end, id = t->id;
		*t = *stream;
		t->start = start;
		t->end = end;
		t->id = id;
		t->lane = track;
	}
	return track;
}

static int ranks_row(void *user, sqlite3_stmt *in)
{
	struct reading *r = user;
	(void)in;
	r->has_ranks = true;
	return SQLITE_OK;
}

static int operation_row(void *user, sqlite3_stmt *in)
{
	struct reading *r = user;
	struct path_graph *g = r->graph;
	struct path_track stream = {.process = sqlite3_column_int64(in, 0),
		.device = sqlite3_column_int64(in, 1),
		.context = sqlite3_column_int64(in, 2),
		.stream = sqlite3_column_int64(in, 3),
		.parent = PATH_NOWHERE,
		.is_stream = true};
	struct path_call c = {.id = ++r->operations,
		.value = PATH_NO_VALUE,
		.object = (uint32_t)sqlite3_column_int64(in, 6),
		.error = PATH_NO_ERROR_KNOWN};
	if (!path_is_time(in, 4, &c.start) || !path_is_time(in, 5, &c.end))
		return SQLITE_OK;
	const uint32_t name =
		path_name_of_text(g, PATH_WORK, (const char *)sqlite3_column_text(in, 7));
	c.name = name & (NAMES_MAX - 1);
	if (name != PATH_NOWHERE && r->has_ranks && rank_keep(g, in, &c))
		return SQLITE_NOMEM;
	const uint32_t track = name == PATH_NOWHERE ? PATH_NOWHERE : stream_of(g, &stream);
	return track == PATH_NOWHERE ? SQLITE_NOMEM : call_add(g, track, &c);
}

/* ---- order ---- */

/* Order calls by their start; of those that begin together the longest comes first. */
static int call_order(const void *one, const void *two)
{
	const struct path_call *a = one, *b = two;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* Return whether operations of a sorted track overlap. */
static bool has_overlap(const struct path_track *t)
{
	for (uint32_t i = 1; i < t->count; i++)
		if (t->calls[i].start < t->calls[i - 1].end)
			return true;
	return false;
}

/* Add a lane to a stream. Returns its index; PATH_NOWHERE = out of memory. */
static uint32_t lane_add(struct path_graph *g, uint32_t stream, uint32_t number)
{
	struct path_track lane = g->tracks[stream];
	const uint32_t id = pair_number(&g->stream_index, LANE_FLAG | stream, number);
	const uint32_t before = g->track_count, track = id ? track_of(g, -(int64_t)id) : id - 1;
	if (track != before)
		return track;
	lane.id = -(int64_t)id;
	lane.start = INT64_MAX;
	lane.end = INT64_MIN;
	lane.calls = NULL;
	lane.count = lane.capacity = 0;
	g->tracks[track] = lane;
	g->tracks[stream].lane = track;
	return track;
}

/* Distribute the operations of a sorted stream over lanes, each to the first one that is free. */
static int stream_split(struct path_graph *g, uint32_t stream)
{
	struct path_track *t = &g->tracks[stream];
	struct path_call *calls = t->calls;
	const uint32_t count = t->count, capacity = t->capacity;
	uint32_t lanes[LANES_MAX] = {stream}, lane_count = 1;
	int64_t ends[LANES_MAX] = {INT64_MIN};
	int code = SQLITE_OK;
	t->calls = NULL;
	t->count = t->capacity = 0;
	for (uint32_t i = 0; !code && i < count; i++) {
		uint32_t lane = 0;
		while (lane < lane_count && ends[lane] > calls[i].start)
			lane++;
		if (lane == LANES_MAX)
			lane = 0;
		if (lane == lane_count) {
			lanes[lane_count] = lane_add(g, stream, lane);
			ends[lane_count++] = INT64_MIN;
		}
		code = lanes[lane] == PATH_NOWHERE ? SQLITE_NOMEM
						   : call_add(g, lanes[lane], &calls[i]);
		ends[lane] = calls[i].end > ends[lane] ? calls[i].end : ends[lane];
	}
	spill_drop(&g->spill, calls, capacity * sizeof(*calls));
	return code;
}

/* Cut each call of a sorted track where an earlier one overlaps it, and move those within another
 * one behind the others. */
static int track_cut(struct path_graph *g, struct path_track *t)
{
	struct path_call *calls = t->calls, *within = NULL;
	uint32_t within_count = 0, capacity = 0;
	int code = SQLITE_OK;
	t->outer = 0;
	for (uint32_t i = 0; !code && i < t->count; i++) {
		spill_use(&g->spill, 1);
		struct path_call c = calls[i];
		if (t->outer && calls[t->outer - 1].end > c.start)
			c.start = calls[t->outer - 1].end;
		if (c.end > c.start) {
			calls[t->outer++] = c;
			continue;
		}
		code = path_room(g, &within, within_count, &capacity, sizeof(*within));
		if (!code)
			within[within_count++] = calls[i];
	}
	if (within_count && !code)
		spill_copy(&g->spill, calls + t->outer, within, within_count * sizeof(*within));
	spill_drop(&g->spill, within, capacity * sizeof(*within));
	return code;
}

/* Return the name of a file for causes: the last component of its path, unless it is a device. */
static const char *file_name(const char *path)
{
	const char *slash = path && strncmp(path, "/dev/", 5) ? strrchr(path, '/') : NULL;
	return slash && slash[1] ? slash + 1 : path;
}

/* Keep the name and the descriptor of a file that a call opened. The call itself is often too short
 * to be recorded; if it is recorded, its end becomes the time of the descriptor. */
static int file_row(void *user, sqlite3_stmt *in)
{
	struct path_graph *g = user;
	int64_t time;
	const int64_t thread = sqlite3_column_int64(in, 0),
		      descriptor = sqlite3_column_int64(in, 3);
	if (!path_is_time(in, 1, &time) || descriptor < 0 || descriptor > INT32_MAX)
		return SQLITE_OK;
	struct path_descriptor d = {thread >> 24, time, 0, (int32_t)descriptor, 0, ROLE_OPEN, 0};
	if (g->files.count < FILES_NAMED_MAX) {
		d.file = 1 +
			path_name_of_text(
				g, PATH_WORK, file_name((const char *)sqlite3_column_text(in, 2)));
		if (!d.file || map_put(&g->files, (uint64_t)thread, (uint64_t)time, d.file) ||
			map_put(&g->opened, (uint64_t)thread, (uint64_t)time,
				g->descriptor_count + 1))
			return SQLITE_NOMEM;
	}
	return descriptor_add(g, &d);
}

/* Read the calls of the OS runtime beside their details. */
static int osrt_read(struct reading *r, sqlite3 *connection)
{
	struct path_graph *g = r->graph;
	int code = sqlite3_prepare_v2(connection, osrt_details, -1, &r->details, NULL);
	if (!code)
		code = sqlite3_step(r->details);
	r->has_details = r->has_table = code == SQLITE_ROW;
	if (code == SQLITE_ROW || code == SQLITE_DONE)
		code = path_rows(connection, osrt_calls, r, osrt_row);
	sqlite3_finalize(r->details);
	map_release(&g->opened);
	return code;
}

/* Returns SQLITE_MISMATCH if the argument is not a number. */
static int memory_row(void *user, sqlite3_stmt *in)
{
	size_t *limit = user;
	const char *text = (const char *)sqlite3_column_text(in, 0);
	if (!text)
		return SQLITE_OK;
	if (!*text || text[strspn(text, "0123456789")])
		return SQLITE_MISMATCH;
	const unsigned long long mib = strtoull(text, NULL, 10);
	*limit = (size_t)(mib < 1 << 24 ? mib : 1 << 24) << 20;
	return SQLITE_OK;
}

int path_graph_read(struct path_graph *g, sqlite3 *connection)
{
	static const char name_find[] =
		"SELECT name, role, trait FROM temp.PATH_NAMES WHERE source = ?1 AND nameId = ?2";
	static const char memory[] = "SELECT argument('memory')";
	static const char has_ranks[] = "SELECT 1 FROM temp.NCCL_WAITS LIMIT 1";
	struct reading r = {.graph = g};
	path_graph_release(g);
	g->connection = connection;
	g->spill.limit = (size_t)PATH_MEMORY_MIB << 20;
	if (array_room(&g->objects, 0, &g->object_capacity, sizeof(*g->objects)))
		return SQLITE_NOMEM;
	g->objects[0] = (struct path_object){0};
	g->object_count = OBJECTS_FIRST;
	int code = path_rows(connection, memory, &g->spill.limit, memory_row);
	code = code ? code : sqlite3_prepare_v2(connection, name_find, -1, &g->name_find, NULL);
	code = code ? code : path_rows(connection, osrt_files, g, file_row);
	code = code ? code : osrt_read(&r, connection);
	code = code ? code : path_rows(connection, cuda_calls, &r, cuda_row);
	code = code ? code : path_rows(connection, other_calls, &r, other_row);
	code = code ? code : path_rows(connection, has_ranks, &r, ranks_row);
	code = code ? code
		    : path_rows(connection, r.has_ranks ? rank_operations : operations, &r,
			      operation_row);
	sqlite3_finalize(g->name_find);
	g->name_find = NULL;
	for (uint32_t i = 0; !code && i < g->track_count; i++) {
		struct path_track *t = &g->tracks[i];
		code = path_sort(
			g, &t->calls, t->count, &t->capacity, sizeof(*t->calls), call_order);
		if (!code && t->is_stream && t->lane == i && has_overlap(t))
			code = stream_split(g, i);
	}
	for (uint32_t i = 0; !code && i < g->track_count; i++)
		code = track_cut(g, &g->tracks[i]);
	const int spill_error = g->spill_error;
	if (code)
		path_graph_release(g);
	g->spill_error = spill_error;
	return code;
}

static int thread_row(void *user, sqlite3_stmt *in)
{
	struct path_graph *g = user;
	const uint32_t index = track_of(g, sqlite3_column_int64(in, 0));
	int64_t start, end;
	if (index == PATH_NOWHERE)
		return SQLITE_NOMEM;
	struct path_track *t = &g->tracks[index];
	if (t->is_stream || !path_is_time(in, 1, &start) || !path_is_time(in, 2, &end))
		return SQLITE_OK;
	t->start = start;
	t->end = end;
	t->has_end = sqlite3_column_int(in, 3) != 0;
	if (sqlite3_column_type(in, 4) != SQLITE_NULL && path_is_time(in, 5, &t->parent_time))
		t->parent = path_graph_track(g, sqlite3_column_int64(in, 4));
	return SQLITE_OK;
}

const struct path_call *path_ended_before(const struct path_track *t, int64_t time)
{
	uint32_t low = 0, high = t->outer;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (t->calls[middle].end <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &t->calls[low - 1] : NULL;
}

const struct path_call *path_stream_before(
	const struct path_graph *g, uint32_t track, int64_t time, uint32_t *ret_track)
{
	const struct path_call *found = NULL;
	uint32_t lane = track;
	do {
		const struct path_call *c = path_ended_before(&g->tracks[lane], time);
		if (c && (!found || c->end > found->end)) {
			found = c;
			*ret_track = lane;
		}
		lane = g->tracks[lane].lane;
	} while (lane != track);
	return found;
}

int path_graph_threads_read(struct path_graph *g)
{
	if (g->has_threads)
		return SQLITE_OK;
	/* twice: a parent may come after its child */
	int code = path_rows(g->connection, threads, g, thread_row);
	code = code ? code : path_rows(g->connection, threads, g, thread_row);
	g->has_threads = !code;
	return code;
}

bool path_timed_out(const struct path_graph *g, const struct path_call *c)
{
	switch (path_name_of(g, c)->role) {
	case ROLE_POLL:
		return c->value == 0;
	case ROLE_CONDITION:
		return c->value == ERROR_TIMED_OUT;
	case ROLE_SEMAPHORE:
	case ROLE_WAIT:
		return c->error == ERROR_TIMED_OUT;
	default:
		return false;
	}
}

static int launch_order(const void *one, const void *two)
{
	const struct path_launch *a = one, *b = two;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->correlation != b->correlation)
		return a->correlation < b->correlation ? -1 : 1;
	if (a->repeated != b->repeated)
		return a->repeated ? 1 : -1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->end < b->end) - (a->end > b->end);
}

int path_launches_sort(struct path_graph *g)
{
	return path_sort(g, &g->launches, g->launch_count, &g->launch_capacity,
		sizeof(*g->launches), launch_order);
}

const struct path_launch *path_launch_of(
	struct path_graph *g, uint32_t track, const struct path_call *c)
{
	const int64_t process = g->tracks[track].process;
	uint32_t low = 0, high = c->object ? g->launch_count : 0;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct path_launch *l = &g->launches[middle];
		if (l->process != process ? l->process < process : l->correlation < c->object)
			low = middle + 1;
		else
			high = middle;
	}
	const struct path_launch *l = &g->launches[low];
	return c->object && low < g->launch_count && l->process == process &&
			l->correlation == c->object
		? l
		: NULL;
}

void path_graph_release(struct path_graph *g)
{
	spill_release(&g->spill);
	free(g->tracks);
	free(g->names);
	free(g->objects);
	map_release(&g->track_index);
	map_release(&g->name_index);
	map_release(&g->object_index);
	map_release(&g->stream_index);
	map_release(&g->files);
	map_release(&g->opened);
	pool_release(&g->pool);
	*g = (struct path_graph){0};
}

#endif
