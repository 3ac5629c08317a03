/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp.c - callchains as OpenTelemetry's message ProfilesData: two profiles, of the number of the
 * events and of their time, with the same samples, and one dictionary.
 *
 * A sample is a callchain of a thread. Its attributes: process.pid, process.executable.name,
 * thread.id, thread.name, mpi.rank if it is known, and nvtx.ranges: the push/pop ranges around it,
 * the outermost first.
 *
 * Source: opentelemetry-proto 1.45.2, opentelemetry/proto/profiles/v1development/profiles.proto.
 * The first row of each table of the dictionary is empty, and no row is there twice. Both parts
 * are in memory until the end: they are as large as the tree of functions.
 */
#include <errno.h>
#include <string.h>

#include "reader/base/map.h"
#include "reader/export/exporters.h"
#include "reader/export/proto.h"

enum { RESOURCE_PROFILES = 1, DICTIONARY = 2 };       /* of ProfilesData */
enum { SCOPE_PROFILES = 2, SCOPE = 1, PROFILES = 2 }; /* of ResourceProfiles and ScopeProfiles */
enum { SAMPLE_TYPE = 1, SAMPLES, TIME, DURATION };    /* of Profile */
enum { STACK = 1, ATTRIBUTES = 2, VALUES = 4 };       /* of Sample */
enum { STRING_VALUE = 1, INT_VALUE = 3, ARRAY_VALUE = 5 }; /* of AnyValue */

/* Tables of the dictionary: their fields. */
enum table { MAPPINGS = 1, LOCATIONS, FUNCTIONS, LINKS, STRINGS, ATTRIBUTE_ROWS, STACKS, TABLES };

/* Values of attributes are texts of the pool, numbers, and paths of ranges. */
enum attribute { PID, EXECUTABLE, TID, THREAD, RANK, RANGES, ATTRIBUTES_COUNT };
static const char *const attribute_names[] = {[PID] = "process.pid",
	[EXECUTABLE] = "process.executable.name",
	[TID] = "thread.id",
	[THREAD] = "thread.name",
	[RANK] = "mpi.rank",
	[RANGES] = "nvtx.ranges"};

/* Attributes of the samples below a root. */
struct attributes {
	uint32_t root; /* root node that they belong to; 0 = none */
	uint32_t rows[ATTRIBUTES_COUNT], count;
};

struct otlp {
	const struct profile *p;
	struct proto dictionary, samples[2];
	uint32_t counts[TABLES];  /* rows of each table */
	struct map texts;         /* by address of the text in the pool */
	struct map mappings;      /* by address of the module's name */
	struct map attributes;    /* key, value -> row */
	struct attributes sample; /* of the last sample */
	int error;
};

static void remember(struct otlp *x, struct map *map, uint64_t a, uint64_t b, uint32_t row)
{
	if (map_put(map, a, b, row))
		x->error = -ENOMEM;
}

/* Return the row of a text that is in the pool; NULL = "". */
static uint32_t text_of(struct otlp *x, const char *text)
{
	uint32_t known = text && *text ? map_get(&x->texts, (uintptr_t)text, 0) : 0;
	if (!text || !*text || known)
		return known;
	proto_clean(&x->dictionary, STRINGS, text, strlen(text));
	remember(x, &x->texts, (uintptr_t)text, 0, x->counts[STRINGS]);
	return x->counts[STRINGS]++;
}

/* Return the row of any text. */
static uint32_t text_copy(struct otlp *x, const char *text)
{
	const char *kept = pool_text(&x->p->symbols->pool, text, strlen(text));
	x->error = kept ? x->error : -ENOMEM;
	return text_of(x, kept);
}

/* Append a field, unless it is 0. */
static void field_put(struct proto *p, uint32_t field, uint64_t value)
{
	if (value)
		proto_u64(p, field, value);
}

/* Begin a row of a table, whose texts must be in the dictionary already. Returns its offset. */
static size_t row_open(struct otlp *x, enum table table)
{
	x->counts[table]++;
	return proto_open(&x->dictionary, table);
}

/* Return the row of the mapping of a module, which has no addresses; 0 = none. */
static uint32_t mapping_of(struct otlp *x, const char *module)
{
	uint32_t known = module ? map_get(&x->mappings, (uintptr_t)module, 0) : 0;
	if (!module || known)
		return known;
	uint32_t name = text_of(x, module), row = x->counts[MAPPINGS];
	size_t message = row_open(x, MAPPINGS);
	field_put(&x->dictionary, 4, name);
	proto_close(&x->dictionary, message);
	remember(x, &x->mappings, (uintptr_t)module, 0, row);
	return row;
}

/* Write the function and the location of a frame; both have its number, from 1, as row. */
static void frame_put(struct otlp *x, const struct profile_frame *f)
{
	struct proto *d = &x->dictionary;
	uint32_t mapping = mapping_of(x, f->module), name = text_of(x, f->function),
		 file = text_of(x, f->file), number = x->counts[FUNCTIONS];
	size_t message = row_open(x, FUNCTIONS);
	field_put(d, 1, name);
	field_put(d, 3, file);
	proto_close(d, message);
	message = row_open(x, LOCATIONS);
	field_put(d, 1, mapping);
	size_t line = proto_open(d, 3);
	proto_u64(d, 1, number);
	field_put(d, 2, f->line);
	proto_close(d, line);
	proto_close(d, message);
}

/* Append the AnyValue of a path of ranges. */
static void ranges_put(struct otlp *x, uint32_t path)
{
	struct proto *d = &x->dictionary;
	const char *names[RANGE_NAMES_MAX];
	const uint32_t count = range_paths_names(x->p->ranges, path, names);
	size_t array = proto_open(d, ARRAY_VALUE);
	for (uint32_t n = 0; n < count; n++) {
		size_t value = proto_open(d, 1);
		proto_clean(d, STRING_VALUE, names[n], strlen(names[n]));
		proto_close(d, value);
	}
	proto_close(d, array);
}

/* Return the row of an attribute; `value`: a number, the number of a path, or the address of a text
 * in the pool. */
static uint32_t attribute_of(struct otlp *x, enum attribute key, uint64_t value)
{
	struct proto *d = &x->dictionary;
	uint32_t row = map_get(&x->attributes, key, value);
	if (row)
		return row;
	uint32_t name = text_copy(x, attribute_names[key]);
	row = x->counts[ATTRIBUTE_ROWS];
	size_t message = row_open(x, ATTRIBUTE_ROWS);
	proto_u64(d, 1, name);
	size_t any = proto_open(d, 2);
	if (key == RANGES)
		ranges_put(x, (uint32_t)value);
	else if (key == PID || key == TID || key == RANK)
		proto_u64(d, INT_VALUE, value);
	else
		proto_clean(d, STRING_VALUE, (const char *)(uintptr_t)value,
			strlen((const char *)(uintptr_t)value));
	proto_close(d, any);
	proto_close(d, message);
	remember(x, &x->attributes, key, value, row);
	return row;
}

static void attribute_add(
	struct otlp *x, struct attributes *a, enum attribute key, const char *text, size_t bytes)
{
	const char *kept = pool_text(&x->p->symbols->pool, text, bytes);
	if (!kept)
		x->error = -ENOMEM;
	else if (*kept)
		a->rows[a->count++] = attribute_of(x, key, (uintptr_t)kept);
}

static void attributes_of(struct otlp *x, struct attributes *a, uint32_t node)
{
	if (a->root == node)
		return;
	const struct profile_root *root = export_root(x->p, node);
	struct contents *c = x->p->contents;
	char text[PROCESS_NAME_BYTES];
	*a = (struct attributes){.root = node};
	a->rows[a->count++] = attribute_of(x, PID, root->process->facts->pid);
	process_name(&c->processes, root->process, text);
	attribute_add(x, a, EXECUTABLE, text, strlen(text));
	a->rows[a->count++] = attribute_of(x, TID, root->tid);
	struct string_ref name = string_table_get(&c->strings, profile_thread_name(x->p, root));
	attribute_add(x, a, THREAD, name.text, name.bytes);
	if (root->process->rank)
		a->rows[a->count++] = attribute_of(x, RANK, root->process->rank - 1);
	if (root->range)
		a->rows[a->count++] = attribute_of(x, RANGES, root->range);
}

/* Write a callchain, the innermost frame first, and a sample of it into both profiles. */
static void sample_put(struct otlp *x, const uint32_t *path, uint32_t depth,
	const struct profile_node *node, const struct attributes *a)
{
	const uint64_t values[] = {node->self_count, node->self_ns};
	uint32_t stack = x->counts[STACKS];
	size_t message = row_open(x, STACKS), packed = proto_open(&x->dictionary, 1);
	for (uint32_t n = depth + 1; n-- > 0;)
		proto_packed(&x->dictionary, x->p->nodes[path[n]].frame + 1u);
	proto_close(&x->dictionary, packed);
	proto_close(&x->dictionary, message);
	for (size_t i = 0; i < 2; i++) {
		struct proto *s = &x->samples[i];
		if (!values[i])
			continue;
		message = proto_open(s, SAMPLES);
		proto_u64(s, STACK, stack);
		packed = proto_open(s, ATTRIBUTES);
		for (uint32_t n = 0; n < a->count; n++)
			proto_packed(s, a->rows[n]);
		proto_close(s, packed);
		packed = proto_open(s, VALUES);
		proto_packed(s, values[i]);
		proto_close(s, packed);
		proto_close(s, message);
	}
}

/* Write the first row of each table, which is empty. */
static void dictionary_begin(struct otlp *x)
{
	for (enum table t = MAPPINGS; t < TABLES; t++)
		proto_close(&x->dictionary, row_open(x, t));
}

/* Append what a profile has besides samples. */
static void profile_put(struct otlp *x, struct proto *p, struct export_types types, bool time)
{
	const Libtrace__Session *session = x->p->contents->session;
	uint32_t type = text_copy(x, time ? types.time : types.count),
		 unit = text_copy(x, time ? "nanoseconds" : "count");
	size_t message = proto_open(p, SAMPLE_TYPE);
	proto_u64(p, 1, type);
	proto_u64(p, 2, unit);
	proto_close(p, message);
	if (session)
		proto_fixed64(p, TIME, session->start_realtime_ns);
	if (session && x->p->contents->last_ns > session->start_ns)
		proto_u64(p, DURATION, x->p->contents->last_ns - session->start_ns);
}

/* Write the message; the profile to show first comes first. */
static int message_write(struct otlp *x, FILE *out, enum profile_weight weight)
{
	struct proto p = {0};
	const size_t first = weight == PROFILE_COUNT ? 0 : 1;
	for (size_t i = 0; i < 2; i++)
		profile_put(x, &x->samples[i], export_types(x->p->source), i == 1);
	size_t resource = proto_open(&p, RESOURCE_PROFILES),
	       scoped = proto_open(&p, SCOPE_PROFILES), scope = proto_open(&p, SCOPE);
	proto_string(&p, 1, "libtrace");
	proto_close(&p, scope);
	for (size_t i = 0; i < 2; i++) {
		const struct proto *s = &x->samples[i ? 1 - first : first];
		proto_text(&p, PROFILES, (const char *)s->bytes, s->used);
	}
	proto_close(&p, scoped);
	proto_close(&p, resource);
	proto_text(&p, DICTIONARY, (const char *)x->dictionary.bytes, x->dictionary.used);
	const bool failed = x->dictionary.failed || x->samples[0].failed || x->samples[1].failed;
	int error = x->error ? x->error : failed ? -ENOMEM : proto_flush(&p, out, true);
	proto_release(&p);
	return error;
}

static int callchain_take(
	void *user, const uint32_t *path, uint32_t depth, const struct profile_node *node)
{
	struct otlp *x = user;
	if (!node->self_count && !node->self_ns)
		return 0;
	attributes_of(x, &x->sample, x->p->nodes[path[0]].parent);
	sample_put(x, path, depth, node, &x->sample);
	return x->error ? x->error : 1;
}

int otlp_write(FILE *out, struct profile *p, enum profile_weight weight)
{
	struct otlp x = {.p = p};
	dictionary_begin(&x);
	for (uint32_t i = 0; !x.error && i < p->frame_count; i++)
		frame_put(&x, &p->frames[i]);
	int error = x.error ? x.error : export_callchains(p, weight, callchain_take, &x);
	error = error ? error : message_write(&x, out, weight);
	proto_release(&x.dictionary);
	proto_release(&x.samples[0]);
	proto_release(&x.samples[1]);
	map_release(&x.texts);
	map_release(&x.mappings);
	map_release(&x.attributes);
	return error;
}
