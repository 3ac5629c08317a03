/* SPDX-License-Identifier: Apache-2.0 */
/* database.c - tables of nsys from the events of an XSpace. */
#define _GNU_SOURCE
#include "reader/xspace/database.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/map.h"
#include "reader/base/pool.h"
#include "reader/symbols/demangle.h"

#define DEVICE_PLANE "/device:GPU:"
#define MARK 34 /* rows of ENUM_NSYS_EVENT_TYPE */
#define PUSH_POP_RANGE 59
#define DOMAIN_MADE 75
#define RUNTIME_CALL 0
#define NVTX "NVTX:"
#define VM (INT64_C(1) << 48)
#define TIDS (INT64_C(1) << 24)     /* number of tids in a globalTid */
#define TID_MADE (INT64_C(1) << 23) /* first tid of lines whose id is not a tid */
#define PYTHON "Python"             /* domain of the functions of Python's tracer */
#define TRACE_ME "TraceMe"          /* domain of all other events of the host */

/* Stats of an event that tables need. */
struct facts {
	struct xspace_text kernel, memcpy, memset;
	uint64_t correlation, context, graph_node;
	int64_t step;
	bool has_correlation, has_step;
};

struct conversion {
	struct database database;
	struct pool texts;
	struct map ids; /* address of a text -> id */
	uint32_t id_count;
	struct map domains; /* id of a domain's name -> number */
	uint32_t domain_count;
	uint32_t line_count; /* lines without a tid so far */
	int64_t global_pid;  /* of the process that was profiled; its pid may be unknown: 0 */
	struct xspace_tally *tally;
};

static int64_t text_id(struct conversion *w, struct xspace_text text, int *error)
{
	const char *kept = pool_text(&w->texts, text.text ? text.text : "", text.bytes);
	uint32_t known = kept ? map_get(&w->ids, (uint64_t)(uintptr_t)kept, 0) : 0;
	if (known || *error)
		return known;
	*error = kept ? map_put(&w->ids, (uint64_t)(uintptr_t)kept, 0, ++w->id_count) : -ENOMEM;
	if (!*error)
		*error = database_row(&w->database, "StringIds", "it", (int64_t)w->id_count, kept);
	return w->id_count;
}

static struct facts facts_of(const struct xspace_plane *plane, const struct xspace_event *e)
{
	struct facts f = {0};
	struct xspace_stat s;
	const uint8_t *at = e->at;
	while (xspace_stat_next(plane, XSPACE_EVENT_STAT, &at, e->end, &s)) {
		if (xspace_text_is(s.name, "kernel_details"))
			f.kernel = s.text;
		else if (xspace_text_is(s.name, "memcpy_details"))
			f.memcpy = s.text;
		else if (xspace_text_is(s.name, "Memset_details"))
			f.memset = s.text;
		else if (xspace_text_is(s.name, "cuda_graph_node_id"))
			f.graph_node = s.number;
		else if (xspace_text_is(s.name, "step_num")) {
			f.step = (int64_t)s.number;
			f.has_step = s.kind == XSPACE_I64 || s.kind == XSPACE_U64;
		} else if (xspace_text_is(s.name, "correlation_id")) {
			f.correlation = s.number;
			f.has_correlation = true;
		} else if (xspace_text_is(s.name, "context_id")) {
			for (size_t i = 0; i < s.text.bytes; i++)
				if (isdigit((unsigned char)s.text.text[i]))
					f.context =
						f.context * 10 + (uint64_t)(s.text.text[i] - '0');
		}
	}
	return f;
}

/* Parse the comma-separated numbers after "key:" in a text of details. Numbers that are not present
 * keep their values. */
static void details(struct xspace_text text, const char *key, int64_t *ret_numbers, uint32_t count)
{
	const size_t length = strlen(key);
	for (size_t i = 0; i + length < text.bytes; i++) {
		if ((i && text.text[i - 1] != ' ' && text.text[i - 1] != '\n') ||
			memcmp(text.text + i, key, length))
			continue;
		i += length;
		for (uint32_t n = 0; n < count; n++, i++)
			for (ret_numbers[n] = 0;
				i < text.bytes && isdigit((unsigned char)text.text[i]); i++)
				ret_numbers[n] = (int64_t)((uint64_t)ret_numbers[n] * 10 +
					(uint64_t)(text.text[i] - '0'));
		return;
	}
}

struct event_context {
	int64_t device, stream, tid;
	int64_t start_ns, end_ns;
	struct facts facts;
};

/* Return the demangled name, or the name itself. */
static struct xspace_text readable(struct conversion *w, struct xspace_text name, char *room)
{
	const char *text = pool_text(&w->texts, name.text ? name.text : "", name.bytes);
	size_t bytes = text ? demangle(text, room) : 0;
	return bytes ? (struct xspace_text){room, bytes} : name;
}

/* Write a row of a kernel. An XSpace has no short name without arguments, so the full name is used
 * for both. */
static int put_kernel(
	struct conversion *w, const struct xspace_event *e, const struct event_context *p)
{
	int error = 0;
	char room[DEMANGLED_BYTES_MAX];
	int64_t name = text_id(w, readable(w, e->name, room), &error);
	int64_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, registers = 0, fixed = 0, dynamic = 0;
	details(p->facts.kernel, "grid:", grid, 3);
	details(p->facts.kernel, "block:", block, 3);
	details(p->facts.kernel, "regs:", &registers, 1);
	details(p->facts.kernel, "static_shared:", &fixed, 1);
	details(p->facts.kernel, "dynamic_shared:", &dynamic, 1);
	if (error)
		return error;
	return database_row(&w->database, "CUPTI_ACTIVITY_KIND_KERNEL",
		"iiiiniiiii"
		"nnn"
		"iiiiiiiiiiii"
		"no"
		"nnnnnnnnnnnn"
		"t",
		p->start_ns, p->end_ns, p->device, (int64_t)p->facts.context, p->stream,
		(int64_t)p->facts.correlation, w->global_pid, name, name, registers, grid[0],
		grid[1], grid[2], block[0], block[1], block[2], fixed, dynamic, INT64_C(0),
		INT64_C(0), INT64_C(0), p->facts.graph_node != 0, (int64_t)p->facts.graph_node, "");
}

/* Return the number that CUPTI gives the kind of a copy, from its name on AMD's GPUs, such as
 * "CopyHostToDevice" and "MEMORY_COPY_HOST_TO_DEVICE"; 0 = none. */
static int64_t copy_kind_amd(struct xspace_text name)
{
	static const struct {
		const char *text;
		int kind;
	} kinds[] = {{"HostToDevice", 1}, {"HOST_TO_DEVICE", 1}, {"DeviceToHost", 2},
		{"DEVICE_TO_HOST", 2}, {"DeviceToDevice", 8}, {"DEVICE_TO_DEVICE", 8},
		{"HostToHost", 9}, {"HOST_TO_HOST", 9}};
	for (size_t i = 0; name.bytes && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (memmem(name.text, name.bytes, kinds[i].text, strlen(kinds[i].text)))
			return kinds[i].kind;
	return 0;
}

/* Return the number that CUPTI gives the kind of a copy, from the letters in its name. */
static int64_t copy_kind(struct xspace_text name)
{
	static const struct {
		char from, to;
		int kind;
	} kinds[] = {{'H', 'D', 1}, {'D', 'H', 2}, {'D', 'D', 8}, {'H', 'H', 9}, {'P', 'P', 10}};
	char from = 0, to = 0;
	if (name.bytes > 7) {
		from = name.text[6];
		to = name.text[7] == '2' || name.bytes == 8 ? name.text[name.bytes > 8 ? 8 : 7]
			: name.bytes > 9                    ? name.text[9]
							    : 0;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].from == from && kinds[i].to == to)
			return kinds[i].kind;
	return copy_kind_amd(name);
}

static int put_copy(
	struct conversion *w, const struct xspace_event *e, const struct event_context *p)
{
	int64_t bytes = 0;
	details(p->facts.memcpy, "num_bytes:", &bytes, 1);
	details(p->facts.memcpy, "size:", &bytes, 1);
	return database_row(&w->database, "CUPTI_ACTIVITY_KIND_MEMCPY", "iiiiniiiiinnnnnnnnonnn",
		p->start_ns, p->end_ns, p->device, (int64_t)p->facts.context, p->stream,
		(int64_t)p->facts.correlation, w->global_pid, bytes, copy_kind(e->name),
		p->facts.graph_node != 0, (int64_t)p->facts.graph_node);
}

static int put_set(struct conversion *w, const struct event_context *p)
{
	int64_t bytes = 0;
	details(p->facts.memset, "num_bytes:", &bytes, 1);
	return database_row(&w->database, "CUPTI_ACTIVITY_KIND_MEMSET", "iiiiniiiiion", p->start_ns,
		p->end_ns, p->device, (int64_t)p->facts.context, p->stream,
		(int64_t)p->facts.correlation, w->global_pid, INT64_C(0), bytes,
		p->facts.graph_node != 0, (int64_t)p->facts.graph_node);
}

static int put_call(
	struct conversion *w, const struct xspace_event *e, const struct event_context *p)
{
	int error = 0;
	int64_t name = text_id(w, e->name, &error);
	return error ? error
		     : database_row(&w->database, "CUPTI_ACTIVITY_KIND_RUNTIME", "iiiiiiin",
			       p->start_ns, p->end_ns, (int64_t)RUNTIME_CALL, p->tid,
			       (int64_t)p->facts.correlation, name, INT64_C(0));
}

/* Find the number of a domain; a new domain gets a number and a row. 0 = the default domain. */
static int domain_id(struct conversion *w, struct xspace_text name, const struct event_context *p,
	int64_t *ret_id)
{
	int error = 0;
	*ret_id = 0;
	if (!name.bytes)
		return 0;
	const int64_t text = text_id(w, name, &error);
	if (error)
		return error;
	*ret_id = map_get(&w->domains, (uint64_t)text, 0);
	if (*ret_id)
		return 0;
	*ret_id = ++w->domain_count;
	error = map_put(&w->domains, (uint64_t)text, 0, w->domain_count);
	return error ? error
		     : database_row(&w->database, "NVTX_EVENTS",
			       "ini"
			       "nnnn"
			       "inii"
			       "nnnnnnnnn",
			       p->start_ns, (int64_t)DOMAIN_MADE, p->tid, text, *ret_id);
}

/* Write a row of an NVTX range, or of a mark if it took no time. The number of a step is its
 * payload. */
static int put_range(struct conversion *w, struct xspace_text domain, struct xspace_text text,
	const struct event_context *p)
{
	int64_t domain_number;
	int error = domain_id(w, domain, p, &domain_number);
	const int64_t id = text_id(w, text, &error);
	const bool is_mark = p->end_ns == p->start_ns;
	return error ? error
		     : database_row(&w->database, "NVTX_EVENTS",
			       "ioi"
			       "nnnn"
			       "inii"
			       "nonnnnnnn",
			       p->start_ns, !is_mark, p->end_ns,
			       (int64_t)(is_mark ? MARK : PUSH_POP_RANGE), p->tid, id,
			       domain_number, p->facts.has_step, p->facts.step);
}

static bool begins_with(struct xspace_text text, const char *begin)
{
	const size_t bytes = strlen(begin);
	return text.bytes > bytes && !memcmp(text.text, begin, bytes);
}

static struct xspace_text part_of(struct xspace_text text, size_t skipped)
{
	return (struct xspace_text){text.text + skipped, text.bytes - skipped};
}

/* Write a row for an event of the host that is not a call: TraceMe, TraceAnnotation,
 * StepTraceAnnotation, operations of XLA; "NVTX:domain:text", where domains cannot contain colons,
 * but texts can; "$file.py:1 function" of Python's tracer. */
static int put_annotation(
	struct conversion *w, struct xspace_text name, const struct event_context *p)
{
	struct xspace_text domain = {TRACE_ME, strlen(TRACE_ME)};
	if (begins_with(name, NVTX)) {
		name = part_of(name, strlen(NVTX));
		const char *colon = memchr(name.text, ':', name.bytes);
		domain = (struct xspace_text){name.text, colon ? (size_t)(colon - name.text) : 0};
		if (colon)
			name = part_of(name, domain.bytes + 1);
	} else if (begins_with(name, "$")) {
		domain = (struct xspace_text){PYTHON, strlen(PYTHON)};
		name = part_of(name, 1);
	}
	return put_range(w, domain, name, p);
}

static int put_event(struct conversion *w, bool on_device, const struct xspace_event *e,
	const struct event_context *p)
{
	w->tally->taken++;
	if (on_device && p->facts.memcpy.bytes)
		return put_copy(w, e, p);
	if (on_device && p->facts.memset.bytes)
		return put_set(w, p);
	if (on_device && p->facts.kernel.bytes)
		return put_kernel(w, e, p);
	if (!on_device && p->facts.has_correlation && !begins_with(e->name, NVTX))
		return put_call(w, e, p);
	if (!on_device && e->name.bytes)
		return put_annotation(w, e->name, p);
	w->tally->taken--;
	w->tally->left_out++;
	return 0;
}

/* Name the thread of a line "name/id". */
static int put_thread(struct conversion *w, const struct xspace_line *line, int64_t tid)
{
	struct xspace_text name = line->name;
	const char *slash = name.bytes ? memrchr(name.text, '/', name.bytes) : NULL;
	int error = 0;
	if (slash && slash > name.text)
		name.bytes = (size_t)(slash - name.text);
	if (!name.bytes)
		return 0;
	const int64_t id = text_id(w, name, &error);
	return error ? error : database_row(&w->database, "ThreadNames", "ini", id, tid);
}

static int put_line(struct conversion *w, const struct xspace_plane *plane,
	const struct xspace_line *line, bool on_device)
{
	struct xspace_event e;
	const uint8_t *at = line->at;
	const bool has_tid = line->id > 0 && line->id < TID_MADE;
	const int64_t tid = w->global_pid |
		(has_tid ? line->id : (TID_MADE + (on_device ? 0 : w->line_count++)) % TIDS);
	int error = on_device || !line->events ? 0 : put_thread(w, line, tid);
	while (!error && xspace_event_next(plane, line, &at, &e)) {
		struct event_context p = {.device = plane->id,
			.stream = line->id,
			.tid = tid,
			.facts = facts_of(plane, &e)};
		p.start_ns =
			(int64_t)((uint64_t)line->timestamp_ns + (uint64_t)(e.offset_ps / 1000));
		p.end_ns = (int64_t)((uint64_t)p.start_ns + (uint64_t)(e.duration_ps / 1000));
		error = put_event(w, on_device, &e, &p);
	}
	return error;
}

/* Find the process and the start of the profile, which planes may have as stats. */
static int put_session(struct conversion *w, const struct xspace *x)
{
	struct xspace_stat s;
	int64_t start_ns = 0;
	w->global_pid = VM;
	for (uint32_t i = 0; i < x->plane_count; i++) {
		const struct xspace_plane *plane = &x->planes[i];
		const uint8_t *at = plane->at;
		while (xspace_stat_next(plane, XSPACE_PLANE_STAT, &at, plane->end, &s)) {
			const bool is_number = s.kind == XSPACE_I64 || s.kind == XSPACE_U64;
			if (is_number && xspace_text_is(s.name, "process_id"))
				w->global_pid = VM | (int64_t)(s.number % TIDS) << 24;
			else if (is_number && xspace_text_is(s.name, "profile_start_time"))
				start_ns = (int64_t)s.number;
		}
	}
	return !start_ns
		? 0
		: database_row(&w->database, "TARGET_INFO_SESSION_START_TIME", "innn", start_ns);
}

static int put_all(struct conversion *w, const struct xspace *x)
{
	int error = 0;
	for (uint32_t i = 0; !error && i < x->plane_count; i++) {
		const struct xspace_plane *plane = &x->planes[i];
		const bool on_device = plane->name.bytes > strlen(DEVICE_PLANE) &&
			!memcmp(plane->name.text, DEVICE_PLANE, strlen(DEVICE_PLANE));
		const bool on_host =
			plane->name.bytes > 6 && !memcmp(plane->name.text, "/host:", 6);
		for (uint32_t n = 0; !error && (on_device || on_host) && n < plane->line_count; n++)
			error = put_line(w, plane, &plane->lines[n], on_device);
	}
	return error;
}

int xspace_to_database(
	const struct xspace *x, const char *name, struct xspace_tally *ret_tally, char *cause)
{
	struct conversion w = {.tally = ret_tally};
	*ret_tally = (struct xspace_tally){0};
	int error = database_create(&w.database, name, false);
	w.database.generation = NSYS_3_24;
	if (!error)
		error = database_table(&w.database, "StringIds", NULL);
	if (!error)
		error = put_session(&w, x);
	if (!error)
		error = put_all(&w, x);
	if (!error)
		error = database_finish(&w.database);
	strcpy(cause, error == -ENOMEM ? "out of memory" : w.database.cause);
	database_abandon(&w.database);
	map_release(&w.ids);
	map_release(&w.domains);
	pool_release(&w.texts);
	return error;
}
