/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c - profile of calls or ranges: a tree of functions, built from callchains. */
#define _GNU_SOURCE
#include "reader/stats/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/spool.h"
#include "reader/base/map.h"
#include "reader/stats/nvtx_ranges.h"

/* Cache: node of the tree for a node of a callchain, and the span of time in which it is valid. */
struct cached_chain {
	uint32_t node;
	struct time_span span;
};

/* A call of a function of a library that has not ended. */
struct entered_call {
	uint64_t end_ns;
	uint32_t node;
};

/* Those of a thread, the outermost first. */
struct entered_calls {
	struct entered_call *list;
	uint32_t count, capacity;
};

struct profile_tables {
	struct map frames;   /* function, module -> frame + 1 */
	struct map children; /* parent node, frame -> node */
	struct map roots;    /* process and tid, range -> root + 1 */
	struct map chains;   /* root node and process, callchain node -> index in `cached` + 1 */
	struct cached_chain *cached;
	uint32_t cached_count, cached_capacity;
	struct map threads; /* process, tid -> index in `open` + 1 */
	struct entered_calls *open;
	uint32_t open_count, open_capacity;
	int64_t *columns; /* buffer for decoding */
	size_t column_values;
};

/* Add a node and return its index; 0 on error, which is stored in *ret_error. */
static uint32_t node_new(struct profile *p, uint32_t parent, uint32_t frame, int *ret_error)
{
	*ret_error = p->node_count >= PROFILE_NODES_MAX ? -E2BIG : -ENOMEM;
	if (p->node_count >= PROFILE_NODES_MAX ||
		array_room(&p->nodes, p->node_count, &p->node_capacity, sizeof(*p->nodes)))
		return 0;
	p->nodes[p->node_count] = (struct profile_node){.parent = parent, .frame = frame};
	*ret_error = 0;
	return p->node_count++;
}

static const char *const source_names[] = {[PROFILE_OSRT] = "osrt",
	[PROFILE_NVTX] = "nvtx",
	[PROFILE_CPU] = "cpu",
	[PROFILE_OFFCPU] = "offcpu",
	[PROFILE_WALL] = "wall",
	[PROFILE_FUNCTIONS] = "functions"};

const char *profile_source_name(enum profile_source source)
{
	return source_names[source];
}

enum profile_source profile_source_named(const char *name)
{
	for (size_t i = 0; name && i < sizeof(source_names) / sizeof(source_names[0]); i++)
		if (!strcmp(name, source_names[i]))
			return (enum profile_source)i;
	return PROFILE_OSRT;
}

const char *profile_source_advice(enum profile_source source)
{
	if (source == PROFILE_CPU)
		return "record with --sample process-tree";
	if (source == PROFILE_FUNCTIONS)
		return "record with --functions, or --trace with the name of a library";
	return source == PROFILE_OFFCPU || source == PROFILE_WALL
		? "record with --thread-time process-tree"
		: NULL;
}

int profile_init(struct profile *p, struct contents *contents, struct symbols *symbols,
	const struct cursor_filter *filter, enum profile_source source, bool by_thread)
{
	int error;
	*p = (struct profile){.contents = contents,
		.symbols = symbols,
		.filter = *filter,
		.names.pattern = filter->name,
		.source = source,
		.by_thread = by_thread};
	p->tables = calloc(1, sizeof(*p->tables));
	node_new(p, 0, 0, &error); /* index 0 means "none" and is not used */
	return p->tables && p->nodes ? 0 : -ENOMEM;
}

void profile_release(struct profile *p)
{
	if (p->tables) {
		map_release(&p->tables->frames);
		map_release(&p->tables->children);
		map_release(&p->tables->roots);
		map_release(&p->tables->chains);
		map_release(&p->tables->threads);
		for (uint32_t i = 0; i < p->tables->open_count; i++)
			free(p->tables->open[i].list);
		free(p->tables->open);
		free(p->tables->cached);
		free(p->tables->columns);
	}
	free(p->tables);
	free(p->nodes);
	free(p->frames);
	free(p->roots);
	name_filter_release(&p->names);
	*p = (struct profile){0};
}

uint32_t profile_frame(struct profile *p, const struct profile_frame *frame)
{
	uint64_t function = (uintptr_t)frame->function, module = (uintptr_t)frame->module;
	uint32_t found = map_get(&p->tables->frames, function, module);
	if (found || !frame->function)
		return found;
	if (array_room(&p->frames, p->frame_count, &p->frame_capacity, sizeof(*p->frames)))
		return 0;
	p->frames[p->frame_count] = *frame;
	if (map_put(&p->tables->frames, function, module, p->frame_count + 1))
		return 0;
	return ++p->frame_count;
}

static uint32_t child_find(
	struct profile *p, uint32_t parent, const struct profile_frame *frame, int *ret_error)
{
	uint32_t number = profile_frame(p, frame);
	*ret_error = -ENOMEM;
	if (!number)
		return 0;
	uint32_t node = map_get(&p->tables->children, parent, number);
	if (node)
		return node;
	node = node_new(p, parent, number - 1, ret_error);
	if (node && map_put(&p->tables->children, parent, number, node)) {
		*ret_error = -ENOMEM;
		return 0;
	}
	return node;
}

const char *profile_unknown_name(
	struct profile *p, const char *module, uint64_t offset, uint64_t address)
{
	char text[512];
	const char *slash = module ? strrchr(module, '/') : NULL;
	if (module)
		snprintf(text, sizeof(text), "%.400s+0x%llx", slash ? slash + 1 : module,
			(unsigned long long)offset);
	else
		snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
	return pool_text(&p->symbols->pool, text, sizeof(text));
}

/* Return the node below `node` for an address, after adding nodes for its inlined functions. `back`
 * is 1 for an interrupted instruction, whose address is stored with 1 added; else 0.
 * Returns 0 on error, which is stored in *ret_error. */
static uint32_t address_node(struct profile *p, const struct process *process, uint32_t node,
	uint64_t address, unsigned back, uint64_t ns, struct time_span *span, int *ret_error)
{
	const struct symbol *symbol = symbols_find(p->symbols, process, address, ns, span);
	*ret_error = -ENOMEM;
	for (uint32_t i = symbol ? symbol->frame_count : 0; node && i-- > 0;) {
		const struct symbol_frame *f = &symbol->frames[i];
		const struct profile_frame frame = {f->function
				? f->function
				: profile_unknown_name(
					  p, symbol->module, symbol->offset - back, address - back),
			symbol->module, f->file, f->line};
		node = child_find(p, node, &frame, ret_error);
	}
	return symbol ? node : 0;
}

static int cached_put(
	struct profile_tables *t, uint64_t start, uint32_t id, const struct cached_chain *chain)
{
	uint32_t known = map_get(&t->chains, start, id);
	if (known) {
		t->cached[known - 1] = *chain;
		return 0;
	}
	int error =
		array_room(&t->cached, t->cached_count, &t->cached_capacity, sizeof(*t->cached));
	if (!error)
		error = map_put(&t->chains, start, id, t->cached_count + 1);
	if (!error)
		t->cached[t->cached_count++] = *chain;
	return error;
}

#define INTERRUPTED (UINT64_C(1) << 63) /* in keys of the cache: above the bits of a root */

/* Return the node for a callchain below its root. The result for a caller's node is cached while
 * the same modules are mapped. `back` is 1 if the innermost frame is an interrupted instruction.
 * Returns 0 on error, which is stored in *ret_error. */
static uint32_t chain_node(struct profile *p, const struct process *process, uint32_t root,
	uint32_t id, unsigned back, uint64_t ns, int *ret_error)
{
	static const char missing[] = "[not in the file]";
	uint32_t ids[CALLCHAIN_FRAMES_MAX], count = 0, parent;
	uint64_t address, start = (uint64_t)root << 32 | process->id;
	struct cached_chain at = {root, {0, UINT64_MAX}};
	struct profile_tables *t = p->tables;
	const uint64_t leaf = back ? start | INTERRUPTED : start;
	*ret_error = 0;
	for (; id && count < CALLCHAIN_FRAMES_MAX; id = parent) {
		uint32_t known = map_get(&t->chains, count ? start : leaf, id);
		const struct cached_chain *chain = known ? &t->cached[known - 1] : NULL;
		if (chain && chain->span.from_ns <= ns && ns < chain->span.until_ns) {
			at = *chain;
			break;
		}
		if (!callchain_node(&process->memory->callchains, id, &parent, &address)) {
			const struct profile_frame frame = {
				pool_text(&p->symbols->pool, missing, sizeof(missing)), NULL, NULL,
				0};
			at.node = child_find(p, root, &frame, ret_error);
			break;
		}
		ids[count++] = id;
	}
	while (at.node && count-- > 0) {
		callchain_node(&process->memory->callchains, ids[count], &parent, &address);
		at.node = address_node(
			p, process, at.node, address, count ? 0 : back, ns, &at.span, ret_error);
		if (at.node && cached_put(t, count ? start : leaf, ids[count], &at)) {
			*ret_error = -ENOMEM;
			return 0;
		}
	}
	return at.node;
}

int profile_chain(struct profile *p, const struct process *process, uint32_t *root, uint32_t chain,
	bool is_interrupted, uint64_t ns, uint32_t *ret_node)
{
	int error = 0;
	*ret_node = 0;
	if (!chain)
		return 0;
	if (!*root)
		*root = node_new(p, 0, 0, &error);
	if (*root)
		*ret_node = chain_node(p, process, *root, chain, is_interrupted, ns, &error);
	return *ret_node ? 0 : error;
}

int profile_callers(struct profile *p, const struct process *process, uint32_t *root,
	uint32_t chain, uint64_t ns, uint32_t ret_frames[PROFILE_CHAIN_MAX], uint32_t *ret_count)
{
	uint32_t inner;
	int error = profile_chain(p, process, root, chain, false, ns, &inner);
	*ret_count = 0;
	for (uint32_t node = inner; node && node != *root && *ret_count < PROFILE_CHAIN_MAX;
		node = p->nodes[node].parent)
		ret_frames[(*ret_count)++] = p->nodes[node].frame;
	for (uint32_t i = 0; i < *ret_count / 2; i++) {
		const uint32_t frame = ret_frames[i];
		ret_frames[i] = ret_frames[*ret_count - 1 - i];
		ret_frames[*ret_count - 1 - i] = frame;
	}
	return error;
}

static struct profile_root *root_of(struct profile *p, const struct process *process, uint32_t tid,
	uint32_t range, int *ret_error)
{
	const uint64_t of = p->by_thread ? (uint64_t)process->id << 32 | tid : 0;
	uint32_t found = map_get(&p->tables->roots, of, range);
	if (found)
		return &p->roots[found - 1];
	*ret_error = array_room(&p->roots, p->root_count, &p->root_capacity, sizeof(*p->roots));
	if (*ret_error)
		return NULL;
	struct profile_root *root = &p->roots[p->root_count];
	*root = (struct profile_root){.process = process, .tid = tid, .range = range};
	root->node = node_new(p, 0, 0, ret_error);
	if (!root->node)
		return NULL;
	*ret_error = map_put(&p->tables->roots, of, range, ++p->root_count);
	return *ret_error ? NULL : root;
}

enum profile_weight profile_weight_of(const struct profile *p, enum profile_weight weight)
{
	bool has_time = p->source != PROFILE_CPU || p->node_count <= 1;
	for (uint32_t i = 1; !has_time && i < p->node_count; i++)
		has_time = p->nodes[i].self_ns > 0;
	return has_time ? weight : PROFILE_COUNT;
}

uint32_t profile_thread_name(const struct profile *p, const struct profile_root *root)
{
	const uint64_t of = (uint64_t)root->process->id << 32 | root->tid;
	uint32_t found = root->range ? map_get(&p->tables->roots, of, 0) : 0;
	return found ? p->roots[found - 1].name : root->name;
}

static void add(uint64_t *sum, uint64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = UINT64_MAX;
}

struct call {
	uint64_t end_ns, duration_ns;
	uint32_t name, domain, chain;
	bool in_domain; /* the name is "domain:text" of NVTX */
	bool is_sample; /* has no name: its callchain ends in the function that was running */
	unsigned back;  /* 1: the innermost frame is an interrupted instruction */
};

/* Return the name of the event itself in the tree. */
static const char *call_name(struct profile *p, const struct call *c)
{
	struct string_ref name = string_table_get(&p->contents->strings, c->name);
	if (!c->in_domain)
		return pool_text(&p->symbols->pool, name.bytes ? name.text : "?", SIZE_MAX);
	char *full = nvtx_full_name(p->contents, c->domain, c->name);
	const char *text = full ? pool_text(&p->symbols->pool, full, SIZE_MAX) : NULL;
	free(full);
	return text;
}

static int call_add(
	struct profile *p, const struct process *process, uint32_t tid, const struct call *c)
{
	int error = 0;
	const uint64_t ns = c->is_sample ? c->end_ns : c->end_ns - c->duration_ns;
	const uint32_t range = p->ranges ? range_paths_find(p->ranges, process->id, tid, ns) : 0;
	struct profile_root *root = root_of(p, process, tid, range, &error);
	uint32_t node =
		root ? chain_node(p, process, root->node, c->chain, c->back, c->end_ns, &error) : 0;
	if (!node)
		return error;
	if (!c->is_sample) {
		const struct profile_frame frame = {call_name(p, c), NULL, NULL, 0};
		node = child_find(p, node, &frame, &error);
	}
	if (!node)
		return error;
	add(&p->nodes[node].self_ns, c->duration_ns);
	p->nodes[node].self_count++;
	return 0;
}

int profile_leaf_add(struct profile *p, const struct profile_leaf *leaf)
{
	int error = 0;
	const struct profile_root *root = root_of(p, leaf->process, leaf->tid, 0, &error);
	uint32_t node = root ? root->node : 0;
	for (uint32_t i = 0; node && i < leaf->count; i++)
		node = child_find(p, node, &leaf->frames[i], &error);
	if (node && leaf->name) {
		const struct profile_frame frame = {.function = leaf->name};
		node = child_find(p, node, &frame, &error);
	}
	if (!node)
		return error;
	add(&p->nodes[node].self_ns, leaf->ns);
	add(&p->nodes[node].self_count, leaf->events);
	return 0;
}

/* Decode columns of a batch one after the other, b->count values each; field 0 is skipped. Returns
 * 0, -ENOMEM, or -EBADMSG if the batch is damaged, which the first pass has reported. */
static int columns_decode(struct profile *p, const struct event_batch *b, const uint32_t *fields,
	uint32_t count, const int64_t **ret_values)
{
	struct profile_tables *t = p->tables;
	size_t wanted = (size_t)b->count * count + 1;
	if (wanted > t->column_values) {
		free(t->columns);
		t->columns = malloc(wanted * sizeof(*t->columns));
		t->column_values = t->columns ? wanted : 0;
	}
	if (!t->columns)
		return -ENOMEM;
	*ret_values = t->columns;
	return event_batch_columns(b, fields, count, t->columns);
}

enum { START, FLAGS, CHAIN, NAME, DURATION, DOMAIN, LEVEL, COLUMNS };

/* Fields of an event that a profile needs; 0 = the event has no such field. */
struct call_fields {
	enum profile_source source;
	uint32_t kind, field[COLUMNS];
};

#define CALL_FIELDS(source, event, name, ...)                                                    \
	{                                                                                        \
		source, KIND_##event,                                                            \
		{                                                                                \
			FIELD_##event##_START, FIELD_##event##_FLAGS, FIELD_##event##_CALLCHAIN, \
				FIELD_##event##_##name, __VA_ARGS__                              \
		}                                                                                \
	}

static const struct call_fields call_fields[] = {
	CALL_FIELDS(PROFILE_OSRT, OSRT_CALL, FUNCTION, FIELD_OSRT_CALL_DURATION),
	CALL_FIELDS(PROFILE_NVTX, NVTX_MARK, TEXT, 0, FIELD_NVTX_MARK_DOMAIN),
	CALL_FIELDS(
		PROFILE_NVTX, NVTX_RANGE, TEXT, FIELD_NVTX_RANGE_DURATION, FIELD_NVTX_RANGE_DOMAIN),
	CALL_FIELDS(PROFILE_NVTX, NVTX_START_END, TEXT, FIELD_NVTX_START_END_DURATION,
		FIELD_NVTX_START_END_DOMAIN),
	{PROFILE_CPU, KIND_CPU_SAMPLE,
		{FIELD_CPU_SAMPLE_START, FIELD_CPU_SAMPLE_FLAGS, FIELD_CPU_SAMPLE_CALLCHAIN, 0,
			FIELD_CPU_SAMPLE_CPU_TIME}},
};

/* Return the fields of an event kind; NULL if the kind is not part of the source. */
static const struct call_fields *call_fields_of(enum profile_source source, uint32_t kind)
{
	for (size_t i = 0; i < sizeof(call_fields) / sizeof(call_fields[0]); i++)
		if (call_fields[i].source == source && call_fields[i].kind == kind)
			return &call_fields[i];
	return NULL;
}

static int calls_add(struct profile *p, const struct process *process, const struct event_batch *b,
	const struct call_fields *fields)
{
	const int64_t *v = NULL;
	const size_t n = b->count;
	uint32_t count = COLUMNS;
	while (!fields->field[count - 1])
		count--;
	int error = columns_decode(p, b, fields->field, count, &v);
	for (uint32_t i = 0; !error && i < n; i++, v++) {
		struct call c = {.chain = (uint32_t)v[CHAIN * n]};
		c.is_sample = p->source == PROFILE_CPU;
		c.back = c.is_sample && !(v[FLAGS * n] & RECORD_IN_STEP);
		c.name = c.is_sample ? 0 : (uint32_t)v[NAME * n];
		c.in_domain = fields->field[DOMAIN];
		c.domain = c.in_domain ? (uint32_t)v[DOMAIN * n] : 0;
		c.duration_ns = fields->field[DURATION] ? (uint64_t)v[DURATION * n] : 0;
		c.end_ns = (uint64_t)v[START * n] + (c.is_sample ? 0 : c.duration_ns);
		if (!c.is_sample && !name_filter_matches(&p->names, &p->contents->strings, c.name))
			continue;
		if (v[FLAGS * n] & RECORD_UNFINISHED)
			p->unfinished++;
		else if (!c.chain)
			p->without_chain++;
		else if ((int64_t)c.duration_ns >= 0)
			error = call_add(p, process, b->tid, &c);
	}
	return error == -EBADMSG ? 0 : error;
}

/* ---- calls of functions of libraries, in order of their start ---- */

#define TIED_CALLS_MAX 65536u /* only hostile reports have more with the same start */

struct function_call {
	const struct process *process;
	uint32_t tid, library;
	uint32_t number; /* of the row among those with the same start */
	uint64_t level;
	struct call call;
	bool is_unfinished;
};

/* Calls with the same start. A call is recorded when it returns, so that an inner call comes before
 * the one around it. */
struct tied_calls {
	struct function_call *list;
	uint32_t count, capacity;
	uint64_t start_ns;
};

static struct entered_calls *entered_calls_of(
	struct profile_tables *t, uint32_t process, uint32_t tid)
{
	const uint32_t known = map_get(&t->threads, process, tid);
	if (known)
		return &t->open[known - 1];
	if (array_room(&t->open, t->open_count, &t->open_capacity, sizeof(*t->open)) ||
		map_put(&t->threads, process, tid, t->open_count + 1))
		return NULL;
	t->open[t->open_count] = (struct entered_calls){0};
	return &t->open[t->open_count++];
}

/* Return the node below which the outermost call of a thread is: its callchain's, else its root's.
 * 0 on error, which is stored in *ret_error. */
static uint32_t outermost_node(struct profile *p, const struct function_call *f, int *ret_error)
{
	const struct call *c = &f->call;
	const uint64_t ns = c->end_ns - c->duration_ns;
	const uint32_t process = f->process->id,
		       range = p->ranges ? range_paths_find(p->ranges, process, f->tid, ns) : 0;
	const struct profile_root *root = root_of(p, f->process, f->tid, range, ret_error);
	const uint32_t node = root ? root->node : 0;
	return node && c->chain ? chain_node(p, f->process, node, c->chain, 0, c->end_ns, ret_error)
				: node;
}

/* Take the time of a call within another one from that one's. */
static void own_time_cut(struct profile_node *around, uint64_t ns)
{
	around->self_ns -= ns < around->self_ns ? ns : around->self_ns;
}

static int function_add(struct profile *p, const struct function_call *f, uint64_t start_ns)
{
	struct entered_calls *open = entered_calls_of(p->tables, f->process->id, f->tid);
	const struct call *c = &f->call;
	int error = open ? 0 : -ENOMEM;
	if (error || f->is_unfinished) {
		p->unfinished += !error;
		return error;
	}
	while (open->count && open->list[open->count - 1].end_ns <= start_ns)
		open->count--;
	if (open->count == PROFILE_CALLS_OPEN_MAX) {
		p->too_deep++;
		return 0;
	}
	const uint32_t around =
		open->count ? open->list[open->count - 1].node : outermost_node(p, f, &error);
	const struct string_ref library = string_table_get(&p->contents->strings, f->library);
	const struct profile_frame frame = {call_name(p, c),
		library.bytes ? pool_text(&p->symbols->pool, library.text, library.bytes) : NULL,
		NULL, 0};
	const uint32_t node = around ? child_find(p, around, &frame, &error) : 0;
	if (!node)
		return error;
	if (open->count)
		own_time_cut(&p->nodes[around], c->duration_ns);
	add(&p->nodes[node].self_ns, c->duration_ns);
	p->nodes[node].self_count++;
	if (array_room(&open->list, open->count, &open->capacity, sizeof(*open->list)))
		return -ENOMEM;
	open->list[open->count++] = (struct entered_call){c->end_ns, node};
	return 0;
}

/* The longest call comes first; of equal ones, that with the fewest calls around it. */
static int compare_tied(const void *a, const void *b)
{
	const struct function_call *x = a, *y = b;
	if (x->call.duration_ns != y->call.duration_ns)
		return x->call.duration_ns > y->call.duration_ns ? -1 : 1;
	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static int tied_add(struct profile *p, struct tied_calls *tied)
{
	int error = 0;
	if (tied->count > 1)
		qsort(tied->list, tied->count, sizeof(*tied->list), compare_tied);
	for (uint32_t i = 0; !error && i < tied->count; i++)
		error = function_add(p, &tied->list[i], tied->start_ns);
	tied->count = 0;
	return error;
}

/* Keep a call until all that begin at the same time are known. */
static int function_keep(struct profile *p, struct tied_calls *tied, const struct event_row *row,
	const int columns[COLUMNS])
{
	const int64_t *v = row->values;
	const uint64_t start = (uint64_t)v[columns[START]],
		       duration = (uint64_t)v[columns[DURATION]];
	int error = 0;
	if (tied->count == TIED_CALLS_MAX || start != tied->start_ns)
		error = tied_add(p, tied);
	if (!error)
		error = array_room(&tied->list, tied->count, &tied->capacity, sizeof(*tied->list));
	if (error)
		return error;
	tied->start_ns = start;
	tied->list[tied->count] = (struct function_call){.process = row->process,
		.tid = row->tid,
		.library = (uint32_t)v[columns[DOMAIN]],
		.number = tied->count,
		.level = (uint64_t)v[columns[LEVEL]],
		.call = {.end_ns = start + duration,
			.duration_ns = duration,
			.name = (uint32_t)v[columns[NAME]],
			.chain = (uint32_t)v[columns[CHAIN]]},
		.is_unfinished = v[columns[DURATION]] < 0 || v[columns[FLAGS]] & RECORD_UNFINISHED};
	tied->count++;
	return 0;
}

/* Add the calls of the blocks that the cursor was given. */
static int functions_add(struct profile *p, struct cursor *calls)
{
	static const uint32_t fields[COLUMNS] = {[START] = FIELD_FUNCTION_CALL_START,
		[FLAGS] = FIELD_FUNCTION_CALL_FLAGS,
		[CHAIN] = FIELD_FUNCTION_CALL_CALLCHAIN,
		[NAME] = FIELD_FUNCTION_CALL_FUNCTION,
		[DURATION] = FIELD_FUNCTION_CALL_DURATION,
		[DOMAIN] = FIELD_FUNCTION_CALL_LIBRARY,
		[LEVEL] = FIELD_FUNCTION_CALL_LEVEL};
	struct tied_calls tied = {0};
	int columns[COLUMNS];
	struct event_row row;
	int error = 0, more = 0;
	for (uint32_t i = 0; i < COLUMNS; i++)
		columns[i] = schema_column_index(schema_event(KIND_FUNCTION_CALL), fields[i]);
	cursor_start(calls);
	while (!error && (more = cursor_next(calls, &row)) > 0)
		error = function_keep(p, &tied, &row, columns);
	if (!error && !more)
		error = tied_add(p, &tied);
	free(tied.list);
	return error ? error : more;
}

static int names_add(struct profile *p, const struct process *process, const struct event_batch *b)
{
	const uint32_t field =
		b->kind == KIND_THREAD_START ? FIELD_THREAD_START_NAME : FIELD_THREAD_NAME_NAME;
	const int64_t *values = NULL;
	int error = columns_decode(p, b, &field, 1, &values);
	for (uint32_t i = 0; !error && i < b->count; i++) {
		struct profile_root *root =
			values[i] ? root_of(p, process, b->tid, 0, &error) : NULL;
		if (root)
			root->name = (uint32_t)values[i];
	}
	return error == -EBADMSG ? 0 : error;
}

static int take_batch(void *user, struct walk *walk, const struct event_batch *b)
{
	struct profile *p = user;
	const struct process *process = process_find(&p->contents->processes, b->process);
	(void)walk;
	if (!process || (p->filter.tid && p->filter.tid != b->tid) ||
		(p->filter.pid && p->filter.pid != process->facts->pid))
		return 0;
	const struct call_fields *fields = call_fields_of(p->source, b->kind);
	if (fields)
		return calls_add(p, process, b, fields);
	if (p->by_thread && (b->kind == KIND_THREAD_START || b->kind == KIND_THREAD_NAME))
		return names_add(p, process, b);
	return 0;
}

struct passes {
	struct profile *profile;
	struct cursor calls; /* of functions of libraries, which are needed in their order */
	const struct contents_visitor *visitor;
};

static int visit_block(void *user, const struct report_block *block)
{
	struct passes *passes = user;
	const struct contents_visitor *v = passes->visitor;
	int error = v->block ? v->block(v->user, block) : 0;
	if (!error && passes->profile->source == PROFILE_FUNCTIONS)
		error = cursor_add_block(&passes->calls, block);
	return error;
}

static int visit_batch(void *user, struct walk *walk, const struct event_batch *b)
{
	const struct passes *passes = user;
	return take_batch(passes->profile, walk, b);
}

int profile_batches(
	struct profile *p, const struct report *report, const struct contents_visitor *visitor)
{
	struct passes passes = {.profile = p, .visitor = visitor};
	const struct contents_visitor second = {&passes, visit_block, visit_batch, NULL};
	struct cursor_filter filter = p->filter;
	filter.kind = KIND_FUNCTION_CALL;
	cursor_init(&passes.calls, report, p->contents, &filter);
	int error = contents_batches(report, &second);
	if (!error && p->source == PROFILE_FUNCTIONS)
		error = functions_add(p, &passes.calls);
	cursor_release(&passes.calls);
	return error;
}

/* Make two passes, because modules are complete only after the first pass. */
int profile_read(
	struct profile *p, const struct report *report, const struct contents_visitor *visitor)
{
	const struct contents_visitor first = {
		visitor->user, visitor->block, NULL, visitor->problem};
	int error = contents_read(p->contents, report, &first);
	return error ? error : profile_batches(p, report, visitor);
}

static void totals_sum(struct profile *p)
{
	for (uint32_t i = 0; i < p->node_count; i++) {
		p->nodes[i].total_ns = p->nodes[i].self_ns;
		p->nodes[i].total_count = p->nodes[i].self_count;
	}
	for (uint32_t i = p->node_count; i-- > 1;) {
		struct profile_node *parent = &p->nodes[p->nodes[i].parent];
		add(&parent->total_ns, p->nodes[i].total_ns);
		add(&parent->total_count, p->nodes[i].total_count);
	}
}

struct node_order {
	const struct profile *p;
	enum profile_weight weight;
};

static int compare_weights(uint64_t a, uint64_t b)
{
	return a != b ? a < b ? 1 : -1 : 0;
}

/* Compare by parent, then by weight, descending, then by name: the same report always gives the
 * same order. */
static int compare_nodes(const void *a, const void *b, void *user)
{
	const struct node_order *s = user;
	const struct profile_node *x = &s->p->nodes[*(const uint32_t *)a],
				  *y = &s->p->nodes[*(const uint32_t *)b];
	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	int by_weight = s->weight == PROFILE_COUNT ? compare_weights(x->total_count, y->total_count)
						   : compare_weights(x->total_ns, y->total_ns);
	if (by_weight)
		return by_weight;
	if (!x->parent) /* roots have no frame */
		return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
	return strcmp(s->p->frames[x->frame].function, s->p->frames[y->frame].function);
}

/* Visit the tree depth first without recursion. `order`: nodes grouped by parent; `first`: start of
 * each group. Returns the number of entries. */
static uint32_t entries_fill(const struct profile *p, const uint32_t *order, const uint32_t *first,
	struct profile_entry *entries)
{
	uint32_t count = 0, depth = 0, *next = malloc(p->node_count * sizeof(*next));
	if (!next)
		return 0;
	memcpy(next, first, p->node_count * sizeof(*next));
	for (uint32_t node = 0;;) {
		uint32_t at = next[node];
		if (at < p->node_count - 1 && p->nodes[order[at]].parent == node) {
			next[node]++;
			node = order[at];
			if (p->nodes[node].parent)
				entries[count++] = (struct profile_entry){node, depth - 1};
			depth++;
		} else if (node) {
			node = p->nodes[node].parent;
			depth--;
		} else {
			break;
		}
	}
	free(next);
	return count;
}

struct profile_entry *profile_order(
	struct profile *p, enum profile_weight weight, uint32_t *ret_count)
{
	struct node_order node_order = {p, weight};
	uint32_t *order = malloc(p->node_count * sizeof(*order)),
		 *first = malloc(p->node_count * sizeof(*first));
	struct profile_entry *entries = malloc(p->node_count * sizeof(*entries));
	*ret_count = 0;
	totals_sum(p);
	if (order && first && entries) {
		for (uint32_t i = 1; i < p->node_count; i++)
			order[i - 1] = i;
		qsort_r(order, p->node_count - 1, sizeof(*order), compare_nodes, &node_order);
		memset(first, 0xff, p->node_count * sizeof(*first));
		for (uint32_t i = p->node_count - 1; i-- > 0;)
			first[p->nodes[order[i]].parent] = i;
		*ret_count = entries_fill(p, order, first, entries);
	}
	free(order);
	free(first);
	if (*ret_count)
		return entries;
	free(entries);
	return NULL;
}

static int compare_flat(const void *a, const void *b, void *user)
{
	const struct node_order *s = user;
	const struct profile_flat *x = a, *y = b;
	bool count = s->weight == PROFILE_COUNT;
	int by_weight = compare_weights(
		count ? x->total_count : x->total_ns, count ? y->total_count : y->total_ns);
	if (!by_weight)
		by_weight = compare_weights(
			count ? x->self_count : x->self_ns, count ? y->self_count : y->self_ns);
	return by_weight ? by_weight
			 : strcmp(s->p->frames[x->frame].function, s->p->frames[y->frame].function);
}

/* Add each node to the row of its function. Add its total only if none of its callers is the same
 * function. */
static void flat_fill(const struct profile *p, const struct profile_entry *entries, uint32_t count,
	struct profile_flat *rows, uint32_t *active, uint32_t *path)
{
	uint32_t depth = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct profile_node *node = &p->nodes[entries[i].node];
		struct profile_flat *row = &rows[node->frame];
		while (depth > entries[i].depth)
			active[path[--depth]]--;
		path[depth++] = node->frame;
		add(&row->self_ns, node->self_ns);
		add(&row->self_count, node->self_count);
		if (active[node->frame]++)
			continue;
		add(&row->total_ns, node->total_ns);
		add(&row->total_count, node->total_count);
	}
}

struct profile_flat *profile_flat(const struct profile *p, const struct profile_entry *entries,
	uint32_t entry_count, enum profile_weight weight)
{
	struct node_order node_order = {p, weight};
	struct profile_flat *rows = calloc(p->frame_count + 1, sizeof(*rows));
	uint32_t *active = calloc(p->frame_count + 1, sizeof(*active)),
		 *path = malloc(p->node_count * sizeof(*path));
	if (rows && active && path) {
		for (uint32_t i = 0; i < p->frame_count; i++)
			rows[i].frame = i;
		flat_fill(p, entries, entry_count, rows, active, path);
		qsort_r(rows, p->frame_count, sizeof(*rows), compare_flat, &node_order);
	} else {
		free(rows);
		rows = NULL;
	}
	free(active);
	free(path);
	return rows;
}
