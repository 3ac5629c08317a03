/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof.c - callchains as a profile of pprof: the message perftools.profiles.Profile, which `pprof`
 * and its users read with or without compression.
 *
 * A sample has the labels process, thread, rank (of MPI) if it is known, and nvtx: once for each
 * push/pop range around it.
 *
 * Source: https://github.com/google/pprof/blob/main/proto/profile.proto. Fields of the profile may
 * come in any order, so each text is written when it is first used.
 */
#include <errno.h>
#include <string.h>

#include "reader/base/map.h"
#include "reader/export/exporters.h"
#include "reader/export/proto.h"

enum { SAMPLE_TYPE = 1, SAMPLE, MAPPING, LOCATION, FUNCTION, STRING_TABLE };
enum { TIME_NANOS = 9, DURATION_NANOS = 10, DEFAULT_SAMPLE_TYPE = 14 };

/* The texts of the labels of a thread. */
struct labels {
	uint32_t root; /* root node that the texts belong to; 0 = none */
	uint32_t process_key, thread_key, rank_key, range_key, process, thread;
	uint32_t rank;                                 /* 0 = none */
	uint32_t ranges[RANGE_NAMES_MAX], range_count; /* of NVTX, the outermost first */
};

struct pprof {
	FILE *out;
	const struct profile *p;
	struct proto proto;
	struct map texts, mappings; /* by address of the text, which is in a pool */
	uint32_t text_count, mapping_count;
	struct labels labels; /* of the last sample */
	int error;
};

/* Write a text, and return its index in the string table. Not within a message. */
static uint32_t text_new(struct pprof *x, const char *text)
{
	proto_clean(&x->proto, STRING_TABLE, text, strlen(text));
	return x->text_count++;
}

/* Return the index of a text of the pool; NULL = "". */
static uint32_t text_of(struct pprof *x, const char *text)
{
	uint32_t known = text ? map_get(&x->texts, (uintptr_t)text, 0) : 0;
	if (!text || known)
		return known;
	known = text_new(x, text);
	if (map_put(&x->texts, (uintptr_t)text, 0, known))
		x->error = -ENOMEM;
	return known;
}

static void pair_put(struct pprof *x, uint32_t field, const char *first, const char *second)
{
	uint32_t a = text_new(x, first), b = text_new(x, second);
	size_t message = proto_open(&x->proto, field);
	proto_u64(&x->proto, 1, a);
	proto_u64(&x->proto, 2, b);
	proto_close(&x->proto, message);
}

/* Return the id of the mapping of a module, which has no addresses; 0 = none. */
static uint32_t mapping_of(struct pprof *x, const struct profile_frame *f)
{
	uint32_t known = f->module ? map_get(&x->mappings, (uintptr_t)f->module, 0) : 0;
	if (!f->module || known)
		return known;
	uint32_t name = text_of(x, f->module);
	size_t message = proto_open(&x->proto, MAPPING);
	proto_u64(&x->proto, 1, ++x->mapping_count);
	proto_u64(&x->proto, 5, name);
	for (uint32_t has = 7; has <= 10; has++) /* functions, files, lines, inlined functions */
		proto_u64(&x->proto, has, 1);
	proto_close(&x->proto, message);
	if (map_put(&x->mappings, (uintptr_t)f->module, 0, x->mapping_count))
		x->error = -ENOMEM;
	return x->mapping_count;
}

/* Write the function and the location of a frame; both have the number of the frame, from 1. */
static void frame_put(struct pprof *x, uint32_t number)
{
	const struct profile_frame *f = &x->p->frames[number];
	uint32_t mapping = mapping_of(x, f), name = text_of(x, f->function),
		 file = text_of(x, f->file);
	size_t message = proto_open(&x->proto, FUNCTION);
	proto_u64(&x->proto, 1, number + 1u);
	proto_u64(&x->proto, 2, name);
	proto_u64(&x->proto, 3, name);
	proto_u64(&x->proto, 4, file);
	proto_close(&x->proto, message);
	message = proto_open(&x->proto, LOCATION);
	proto_u64(&x->proto, 1, number + 1u);
	if (mapping)
		proto_u64(&x->proto, 2, mapping);
	size_t line = proto_open(&x->proto, 4);
	proto_u64(&x->proto, 1, number + 1u);
	proto_u64(&x->proto, 2, f->line);
	proto_close(&x->proto, line);
	proto_close(&x->proto, message);
}

/* Set the texts of a path of ranges. */
static void ranges_of(struct pprof *x, struct labels *l, uint32_t path)
{
	const char *names[RANGE_NAMES_MAX];
	l->range_count = range_paths_names(x->p->ranges, path, names);
	for (uint32_t n = 0; n < l->range_count; n++)
		l->ranges[n] = text_of(x, names[n]);
}

static void labels_of(struct pprof *x, struct labels *l, uint32_t node)
{
	char name[EXPORT_NAME_BYTES];
	if (l->root == node)
		return;
	const struct profile_root *root = export_root(x->p, node);
	l->root = node;
	export_process_name(&x->p->contents->processes, root->process, name, sizeof(name));
	l->process = text_new(x, name);
	export_thread_name(
		string_table_get(&x->p->contents->strings, profile_thread_name(x->p, root)),
		root->tid, name, sizeof(name));
	l->thread = text_new(x, name);
	snprintf(name, sizeof(name), "%u", root->process->rank - 1);
	l->rank = root->process->rank ? text_new(x, name) : 0;
	ranges_of(x, l, root->range);
}

static void label_put(struct proto *p, uint32_t key, uint32_t text)
{
	size_t message = proto_open(p, 3);
	proto_u64(p, 1, key);
	proto_u64(p, 2, text);
	proto_close(p, message);
}

/* Write a callchain, the innermost frame first, with the number of its calls and their time. */
static void sample_put(struct pprof *x, const uint32_t *path, uint32_t depth,
	const struct profile_node *node, const struct labels *l)
{
	size_t message = proto_open(&x->proto, SAMPLE);
	size_t packed = proto_open(&x->proto, 1);
	for (uint32_t n = depth + 1; n-- > 0;)
		proto_packed(&x->proto, x->p->nodes[path[n]].frame + 1u);
	proto_close(&x->proto, packed);
	packed = proto_open(&x->proto, 2);
	proto_packed(&x->proto, node->self_count);
	proto_packed(&x->proto, node->self_ns);
	proto_close(&x->proto, packed);
	label_put(&x->proto, l->process_key, l->process);
	label_put(&x->proto, l->thread_key, l->thread);
	if (l->rank)
		label_put(&x->proto, l->rank_key, l->rank);
	for (uint32_t n = 0; n < l->range_count; n++)
		label_put(&x->proto, l->range_key, l->ranges[n]);
	proto_close(&x->proto, message);
}

static void types_put(struct pprof *x, enum profile_weight weight)
{
	const struct export_types types = export_types(x->p->source);
	const Libtrace__Session *session = x->p->contents->session;
	text_new(x, "");
	pair_put(x, SAMPLE_TYPE, types.count, "count");
	pair_put(x, SAMPLE_TYPE, types.time, "nanoseconds");
	proto_u64(&x->proto, DEFAULT_SAMPLE_TYPE, weight == PROFILE_COUNT ? 1 : 3);
	if (session)
		proto_u64(&x->proto, TIME_NANOS, session->start_realtime_ns);
	if (session && x->p->contents->last_ns > session->start_ns)
		proto_u64(&x->proto, DURATION_NANOS, x->p->contents->last_ns - session->start_ns);
}

static int callchain_take(
	void *user, const uint32_t *path, uint32_t depth, const struct profile_node *node)
{
	struct pprof *x = user;
	if (!node->self_count && !node->self_ns)
		return 0;
	labels_of(x, &x->labels, x->p->nodes[path[0]].parent);
	sample_put(x, path, depth, node, &x->labels);
	int error = x->error ? x->error : proto_flush(&x->proto, x->out, false);
	return error ? error : 1;
}

int pprof_write(FILE *out, struct profile *p, enum profile_weight weight)
{
	struct pprof x = {.out = out, .p = p};
	types_put(&x, weight);
	x.labels.process_key = text_new(&x, "process");
	x.labels.thread_key = text_new(&x, "thread");
	x.labels.rank_key = text_new(&x, "rank");
	x.labels.range_key = text_new(&x, "nvtx");
	for (uint32_t i = 0; !x.error && i < p->frame_count; i++) {
		frame_put(&x, i);
		x.error = x.error ? x.error : proto_flush(&x.proto, out, false);
	}
	int error = x.error ? x.error : export_callchains(p, weight, callchain_take, &x);
	error = error ? error : x.error;
	if (!error)
		error = proto_flush(&x.proto, out, true);
	proto_release(&x.proto);
	map_release(&x.texts);
	map_release(&x.mappings);
	return error;
}
