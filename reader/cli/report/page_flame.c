/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_flame.c - the callchains of a page, as a tree.
 *
 * Merges the callchains of SQL (reports/shared/flame.sql) from the outermost frame inward. Memory
 * is bounded by NODES_MOST; calls of frames that are too deep or rare count for their caller's
 * node.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/map.h"
#include "reader/cli/report/page_flame.h"
#include "reader/cli/report/page_json.h"
#include "reader/sql/reports.h"

#define NODES_MOST 200000u /* nodes of the tree */
#define NODES_SHOWN 5000u  /* nodes that are shown, those with the most time */

struct node {
	int64_t symbol; /* id of its text; for a process: its number */
	uint32_t parent;
	bool is_process;
	bool shown;
	uint64_t self_ns, total_ns, count;
};

struct flame {
	struct node *nodes; /* 0 is the root; parents precede their children */
	uint32_t count;
	struct map places; /* parent, symbol -> index of the node */
	int error;
	uint32_t at;                    /* node of the current callchain */
	int64_t source, chain, process; /* ids of the current callchain */
	uint64_t ns, calls;             /* sums of the current callchain */
};

/* Return the child node, created if there is room; else the parent itself. */
static uint32_t child(struct flame *f, uint32_t parent, int64_t symbol, bool is_process)
{
	uint32_t known = map_get(&f->places, parent, (uint64_t)symbol);
	if (known || f->count == NODES_MOST)
		return known ? known : parent;
	f->error = map_put(&f->places, parent, (uint64_t)symbol, f->count);
	if (f->error)
		return parent;
	f->nodes[f->count] =
		(struct node){.symbol = symbol, .parent = parent, .is_process = is_process};
	return f->count++;
}

static void chain_end(struct flame *f)
{
	f->nodes[f->at].self_ns += f->ns;
	f->nodes[f->at].count += f->calls;
	f->ns = f->calls = 0;
}

enum { F_SOURCE, F_CHAIN, F_PROCESS, F_NS, F_COUNT, F_SYMBOL, F_FIELDS };

static int frame_add(void *user, const struct sql_value *v, int count)
{
	struct flame *f = user;
	if (count != F_FIELDS)
		return 0;
	if (f->source != v[F_SOURCE].integer || f->chain != v[F_CHAIN].integer ||
		f->process != v[F_PROCESS].integer) {
		chain_end(f);
		f->source = v[F_SOURCE].integer;
		f->chain = v[F_CHAIN].integer;
		f->process = v[F_PROCESS].integer;
		f->ns = (uint64_t)v[F_NS].integer;
		f->calls = (uint64_t)v[F_COUNT].integer;
		f->at = child(f, 0, f->process, true);
	}
	if (!f->error && v[F_SYMBOL].type == SQL_INTEGER)
		f->at = child(f, f->at, v[F_SYMBOL].integer, false);
	return f->error;
}

/* Sum up the nodes; children follow their parents. Returns the least total of a node that is
 * shown. */
static uint64_t totals(struct flame *f)
{
	uint64_t least = 0;
	for (uint32_t i = 0; i < f->count; i++)
		f->nodes[i].total_ns = f->nodes[i].self_ns;
	for (uint32_t i = f->count; i-- > 1;)
		f->nodes[f->nodes[i].parent].total_ns += f->nodes[i].total_ns;
	for (uint64_t shown = f->count; shown > NODES_SHOWN;) {
		least = least ? 2 * least : 1 + f->nodes[0].total_ns / 100000;
		shown = 0;
		for (uint32_t i = 0; i < f->count; i++)
			shown += f->nodes[i].total_ns >= least;
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
		if (f->nodes[i].shown && !f->nodes[i].is_process)
			t.ids[t.count++] = f->nodes[i].symbol;
	qsort(t.ids, t.count, sizeof(*t.ids), by_id);
	fputs("], \"texts\": [\n", out);
	int error = t.count ? sql_run(s, "SELECT id, text FROM PAGE_TEXTS", &visitor) : 0;
	free(t.ids);
	return error;
}

/* Print the tree. A node is [parent, text id or process, is it a process, ns of itself, calls];
 * nodes that are not shown count as their parent's own time. */
static int tree_print(FILE *out, struct flame *f, struct sql *s)
{
	uint64_t least = totals(f);
	uint32_t *number = calloc(f->count, sizeof(*number)), shown = 0;
	if (!number)
		return -ENOMEM;
	for (uint32_t i = f->count; i-- > 1;) {
		struct node *n = &f->nodes[i], *parent = &f->nodes[n->parent];
		n->shown = n->total_ns >= least && n->total_ns;
		parent->self_ns += n->shown ? 0 : n->self_ns;
		parent->count += n->shown ? 0 : n->count;
	}
	fputs(",\n\"flame\": {\"nodes\": [\n", out);
	for (uint32_t i = 1; i < f->count; i++) {
		const struct node *n = &f->nodes[i];
		if (!n->shown)
			continue;
		fprintf(out, "%s[%u, %" PRId64 ", %d, %" PRIu64 ", %" PRIu64 "]",
			shown ? ",\n" : "", number[n->parent], n->symbol, n->is_process, n->self_ns,
			n->count);
		number[i] = ++shown;
	}
	free(number);
	int error = texts_print(out, f, s);
	fputs("]}", out);
	return error;
}

int page_flame(FILE *out, struct sql *s)
{
	static const char frames[] = "SELECT source, chain, process, ns, count, symbol FROM "
				     "PAGE_FRAMES ORDER BY source, chain, process, stackDepth DESC";
	struct flame f = {.count = 1, .source = -1};
	const struct sql_visitor visitor = {&f, NULL, frame_add};
	f.nodes = calloc(NODES_MOST, sizeof(*f.nodes));
	int error = f.nodes ? 0 : -ENOMEM;
	if (!error)
		error = sql_run(s, report_shared("flame"), NULL);
	if (!error)
		error = sql_run(s, frames, &visitor);
	if (!error) {
		chain_end(&f);
		error = tree_print(out, &f, s);
	}
	map_release(&f.places);
	free(f.nodes);
	return error;
}
