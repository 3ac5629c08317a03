/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_flame.c - the flame graphs of a page, as trees of functions.
 *
 * Merges the callchains of SQL (reports/shared/flame.sql, flame_wall.sql) from the outermost frame
 * inward, and the calls of recorded functions by which is in which. Memory is bounded by NODES_MAX;
 * calls of frames that are too deep or rare count for their caller's node.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/map.h"
#include "reader/cli/report/page_flame.h"
#include "reader/cli/report/page_json.h"
#include "reader/sql/reports.h"

#define NODES_MAX 200000u /* nodes of the tree */
#define NODES_SHOWN 5000u /* nodes that are shown, those with the most time */

/* What a node is; numbers of the page. */
enum node_kind { NODE_FUNCTION, NODE_PROCESS, NODE_WAIT, NODE_GPU, NODE_STATE };

struct node {
	int64_t symbol; /* id of its text; for a process: its number */
	uint32_t parent;
	enum node_kind kind;
	bool shown;
	uint64_t self_ns, total_ns, count, total_count;
};

struct flame {
	struct node *nodes; /* 0 is the root; parents precede their children */
	uint32_t count;
	struct map places; /* parent, symbol -> index of the node */
	int error;
	uint32_t at;           /* node of the current callchain */
	int64_t item, process; /* ids of the current callchain; -1 = none */
	enum node_kind leaf;   /* what its innermost frame is */
	int64_t name;          /* text of one more frame inside of it; 0 = none */
	uint64_t ns, calls;    /* sums of the current callchain */
};

/* Return the child node, created if there is room; else the parent itself. */
static uint32_t child(struct flame *f, uint32_t parent, int64_t symbol, enum node_kind kind)
{
	uint32_t known = map_get(&f->places, parent, (uint64_t)symbol);
	if (known || f->count == NODES_MAX)
		return known ? known : parent;
	f->error = map_put(&f->places, parent, (uint64_t)symbol, f->count);
	if (f->error)
		return parent;
	f->nodes[f->count] = (struct node){.symbol = symbol, .parent = parent, .kind = kind};
	return f->count++;
}

static void chain_end(struct flame *f)
{
	if (!f->error && f->name)
		f->at = child(f, f->at, f->name, NODE_FUNCTION);
	struct node *n = &f->nodes[f->at];
	n->self_ns += f->ns;
	n->count += f->calls;
	if (n->kind == NODE_FUNCTION)
		n->kind = f->leaf;
	f->name = 0;
	f->ns = f->calls = 0;
}

static enum node_kind kind_named(const char *name)
{
	static const struct {
		const char *name;
		enum node_kind kind;
	} kinds[] = {{"wait", NODE_WAIT}, {"gpu", NODE_GPU}, {"state", NODE_STATE}};
	for (size_t i = 0; name && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(name, kinds[i].name))
			return kinds[i].kind;
	return NODE_FUNCTION;
}

enum { F_ITEM, F_PROCESS, F_NS, F_COUNT, F_SYMBOL, F_KIND, F_NAME, F_FIELDS };

static int frame_add(void *user, const struct sql_value *v, int count)
{
	struct flame *f = user;
	if (count != F_FIELDS || v[F_NS].integer < 0 || v[F_COUNT].integer < 0)
		return 0;
	if (f->item != v[F_ITEM].integer || f->process != v[F_PROCESS].integer) {
		chain_end(f);
		f->item = v[F_ITEM].integer;
		f->process = v[F_PROCESS].integer;
		f->ns = (uint64_t)v[F_NS].integer;
		f->calls = (uint64_t)v[F_COUNT].integer;
		f->leaf = kind_named(v[F_KIND].text);
		f->name = v[F_NAME].integer;
		f->at = child(f, 0, f->process, NODE_PROCESS);
	}
	if (!f->error && v[F_SYMBOL].type == SQL_INTEGER)
		f->at = child(f, f->at, v[F_SYMBOL].integer, NODE_FUNCTION);
	return f->error;
}

/* ---- functions of libraries ---- */

#define NESTED_MAX 1024u /* calls within so many others count for the innermost of these */

/* The calls of functions that are open where the walk through a thread's calls has arrived. */
struct nested_calls {
	struct flame *flame;
	int64_t thread;
	uint32_t count;
	struct open_call {
		int64_t end_ns;
		uint32_t node;
	} open[NESTED_MAX];
};

enum { C_THREAD, C_START, C_END, C_FUNCTION, C_FIELDS };

/* Add a call: its time is that of its function, below the call that it is in, which loses it. */
static int function_add(void *user, const struct sql_value *v, int count)
{
	struct nested_calls *n = user;
	struct flame *f = n->flame;
	if (count != C_FIELDS)
		return 0;
	int64_t start = v[C_START].integer, end = v[C_END].integer;
	if (n->thread != v[C_THREAD].integer)
		n->count = 0;
	n->thread = v[C_THREAD].integer;
	while (n->count && n->open[n->count - 1].end_ns <= start)
		n->count--;
	if (n->count == NESTED_MAX)
		return 0;
	const struct open_call *around = n->count ? &n->open[n->count - 1] : NULL;
	if (around && end > around->end_ns)
		end = around->end_ns;
	uint32_t parent = around ? around->node : child(f, 0, n->thread >> 24, NODE_PROCESS);
	uint32_t node = f->error ? 0 : child(f, parent, v[C_FUNCTION].integer, NODE_FUNCTION);
	if (f->error)
		return f->error;
	f->nodes[node].self_ns += (uint64_t)(end - start);
	f->nodes[node].count++;
	if (around)
		f->nodes[parent].self_ns -= (uint64_t)(end - start);
	n->open[n->count++] = (struct open_call){end, node};
	return 0;
}

/* Read the calls into the tree. */
static int functions_read(struct flame *f, struct sql *s)
{
	static const char calls[] =
		"SELECT globalTid, start, start + duration, functionId FROM LIBTRACE_FUNCTION_CALL "
		"WHERE duration >= 0 AND typeof(start + duration + globalTid + functionId) = "
		"'integer' ORDER BY globalTid, start, level";
	struct nested_calls *n = calloc(1, sizeof(*n));
	const struct sql_visitor visitor = {n, NULL, function_add};
	if (!n)
		return -ENOMEM;
	n->flame = f;
	int error = sql_run(s, calls, &visitor);
	free(n);
	return error;
}

static uint64_t weight_of(const struct node *n, bool by_count)
{
	return by_count ? n->total_count : n->total_ns;
}

/* Sum up the nodes; children follow their parents. Returns the least weight of a node that is
 * shown: its time, or its count if no node has time. */
static uint64_t totals(struct flame *f, bool *ret_by_count)
{
	uint64_t least = 1;
	for (uint32_t i = 0; i < f->count; i++) {
		f->nodes[i].total_ns = f->nodes[i].self_ns;
		f->nodes[i].total_count = f->nodes[i].count;
	}
	for (uint32_t i = f->count; i-- > 1;) {
		f->nodes[f->nodes[i].parent].total_ns += f->nodes[i].total_ns;
		f->nodes[f->nodes[i].parent].total_count += f->nodes[i].total_count;
	}
	*ret_by_count = !f->nodes[0].total_ns;
	for (uint64_t shown = f->count; shown > NODES_SHOWN;) {
		least = least > 1 ? 2 * least : 1 + weight_of(&f->nodes[0], *ret_by_count) / 100000;
		shown = 0;
		for (uint32_t i = 0; i < f->count; i++)
			shown += weight_of(&f->nodes[i], *ret_by_count) >= least;
	}
	return least;
}

/* The texts to print. */
struct texts {
	FILE *out;
	const struct flame *f;
	int64_t *ids; /* sorted, each once */
	uint32_t count;
	bool any;
};

static int by_id(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static int text_print(void *user, const struct sql_value *v, int count)
{
	struct texts *t = user;
	if (count != 2 || !bsearch(&v[0].integer, t->ids, t->count, sizeof(*t->ids), by_id))
		return 0;
	fprintf(t->out, "%s[%" PRId64 ", ", t->any ? ",\n" : "", v[0].integer);
	page_value(t->out, &v[1]);
	fputc(']', t->out);
	t->any = true;
	return ferror(t->out) ? -EPIPE : 0;
}

static int texts_print(FILE *out, struct flame *f, struct sql *s)
{
	struct texts t = {.out = out, .f = f, .ids = calloc(NODES_SHOWN + 1, sizeof(*t.ids))};
	const struct sql_visitor visitor = {&t, NULL, text_print};
	if (!t.ids)
		return -ENOMEM;
	for (uint32_t i = 1; i < f->count && t.count <= NODES_SHOWN; i++)
		if (f->nodes[i].shown && f->nodes[i].kind != NODE_PROCESS)
			t.ids[t.count++] = f->nodes[i].symbol;
	qsort(t.ids, t.count, sizeof(*t.ids), by_id);
	fputs("], \"texts\": [\n", out);
	int error = t.count ? sql_run(s, "SELECT id, text FROM PAGE_TEXTS", &visitor) : 0;
	free(t.ids);
	return error;
}

/* Print the tree. A node is [parent, text id or process, kind, ns of itself, calls]; nodes that are
 * not shown count as their parent's own time. */
static int tree_print(FILE *out, struct flame *f, struct sql *s)
{
	bool by_count;
	uint64_t least = totals(f, &by_count);
	uint32_t *number = calloc(f->count, sizeof(*number)), shown = 0;
	if (!number)
		return -ENOMEM;
	for (uint32_t i = f->count; i-- > 1;) {
		struct node *n = &f->nodes[i], *parent = &f->nodes[n->parent];
		n->shown = weight_of(n, by_count) >= least;
		parent->self_ns += n->shown ? 0 : n->self_ns;
		parent->count += n->shown ? 0 : n->count;
	}
	fputs("\"nodes\": [\n", out);
	for (uint32_t i = 1; i < f->count; i++) {
		const struct node *n = &f->nodes[i];
		if (!n->shown)
			continue;
		fprintf(out, "%s[%u, %" PRId64 ", %d, %" PRIu64 ", %" PRIu64 "]",
			shown ? ",\n" : "", number[n->parent], n->symbol, (int)n->kind, n->self_ns,
			n->count);
		number[i] = ++shown;
	}
	free(number);
	int error = texts_print(out, f, s);
	fputs("]}", out);
	return error;
}

/* Compute the flame graphs of wall time, if the database has the threads' account, which the
 * timeline has computed (page_timeline.c). */
static int wall_prepare(struct sql *s)
{
	static const char *const files[] = {"gpu_work", "gpu_waits", "wall", "flame_wall"};
	int error = sql_has_rows(s, "LIBTRACE_THREAD_TIME");
	if (error <= 0)
		return error;
	error = 0;
	for (size_t i = 0; !error && i < sizeof(files) / sizeof(files[0]); i++)
		error = sql_run(s, report_shared(files[i]), NULL);
	return error ? error : 1;
}

/* Read the callchains of a view into the tree. */
static int frames_read(struct flame *f, struct sql *s, const char *view)
{
	char statement[160];
	const struct sql_visitor visitor = {f, NULL, frame_add};
	snprintf(statement, sizeof(statement),
		"SELECT item, process, ns, count, symbol, kind, name FROM %s", view);
	int error = sql_run(s, statement, &visitor);
	if (!error)
		chain_end(f);
	return error;
}

/* Print a graph, unless it has no frame. `view`: NULL = the functions of libraries. */
static int graph_print(FILE *out, struct sql *s, const char *name, const char *view, bool *any)
{
	struct flame f = {.count = 1, .item = -1, .process = -1};
	f.nodes = calloc(NODES_MAX, sizeof(*f.nodes));
	int error = !f.nodes ? -ENOMEM : view ? frames_read(&f, s, view) : functions_read(&f, s);
	if (!error && f.count > 1) {
		fprintf(out, "%s{\"name\": \"%s\", ", *any ? ",\n" : "\n", name);
		*any = true;
		error = tree_print(out, &f, s);
	}
	map_release(&f.places);
	free(f.nodes);
	return error;
}

int page_flame(FILE *out, struct sql *s)
{
	static const struct {
		const char *name, *view;
		bool needs_account;
	} graphs[] = {{"wall", "PAGE_WALL_FRAMES", true},
		{"offcpu", "PAGE_WALL_FRAMES WHERE NOT is_running", true},
		{"cpu", "PAGE_SAMPLES_FRAMES", false}, {"functions", NULL, false},
		{"calls", "PAGE_CALLS_FRAMES", false}};
	bool any = false;
	int error = sql_run(s, report_shared("flame"), NULL), has = error ? 0 : wall_prepare(s);
	error = has < 0 ? has : error;
	fputs(",\n\"flames\": [", out);
	for (size_t i = 0; !error && i < sizeof(graphs) / sizeof(graphs[0]); i++)
		if (has || !graphs[i].needs_account)
			error = graph_print(out, s, graphs[i].name, graphs[i].view, &any);
	fputs("]", out);
	return error;
}
