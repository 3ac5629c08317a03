/* SPDX-License-Identifier: Apache-2.0 */
/* speedscope.c - callchains as a JSON file of speedscope. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/print.h"
#include "reader/export/exporters.h"
#include "reader/export/flame/evented.h"

static void print_frames(FILE *out, const struct profile *p)
{
	for (uint32_t i = 0; i < p->frame_count; i++) {
		const struct profile_frame *f = &p->frames[i];
		const char *file = f->file ? f->file : f->module;
		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", out);
		print_json_string(out, f->function);
		if (file) {
			fputs(",\"file\":", out);
			print_json_string(out, file);
		}
		if (f->file && f->line)
			fprintf(out, ",\"line\":%u", f->line);
		fputc('}', out);
	}
}

struct speedscope {
	FILE *out;
	const struct profile *p;
	const struct profile_entry *entries;
	enum profile_weight weight;
	uint32_t *path;
};

static uint64_t self_of(const struct speedscope *w, uint32_t entry)
{
	const struct profile_node *node = &w->p->nodes[w->entries[entry].node];
	return w->weight == PROFILE_COUNT ? node->self_count : node->self_ns;
}

static void print_samples(const struct speedscope *w, uint32_t first, uint32_t end)
{
	const char *comma = "";
	for (uint32_t i = first; i < end; i++) {
		w->path[w->entries[i].depth] = w->entries[i].node;
		if (!self_of(w, i))
			continue;
		fprintf(w->out, "%s\n[", comma);
		for (uint32_t n = 0; n <= w->entries[i].depth; n++)
			fprintf(w->out, "%s%u", n ? "," : "", w->p->nodes[w->path[n]].frame);
		fputc(']', w->out);
		comma = ",";
	}
}

static void print_weights(const struct speedscope *w, uint32_t first, uint32_t end)
{
	const char *comma = "";
	for (uint32_t i = first; i < end; i++) {
		uint64_t self = self_of(w, i);
		if (!self)
			continue;
		fprintf(w->out, "%s%llu", comma, (unsigned long long)self);
		comma = ",";
	}
}

/* Print the profile of one root, whose entries are [first, end). */
static void print_profile(const struct speedscope *w, uint32_t first, uint32_t end)
{
	char process[EXPORT_NAME_BYTES], thread[256], name[EXPORT_NAME_BYTES + 300];
	uint32_t node = w->p->nodes[w->entries[first].node].parent;
	const struct profile_root *root = export_root(w->p, node);
	const struct profile_node *total = &w->p->nodes[node];
	export_process_name(&w->p->contents->processes, root->process, process, sizeof(process));
	export_thread_name(string_table_get(&w->p->contents->strings, root->name), root->tid,
		thread, sizeof(thread));
	snprintf(name, sizeof(name), "%s %s, by callchain", process, thread);
	fputs("{\"type\":\"sampled\",\"name\":", w->out);
	print_json_string(w->out, name);
	fprintf(w->out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%llu,\"samples\":[",
		w->weight == PROFILE_COUNT ? "none" : "nanoseconds",
		(unsigned long long)(w->weight == PROFILE_COUNT ? total->total_count
								: total->total_ns));
	print_samples(w, first, end);
	fputs("],\"weights\":[", w->out);
	print_weights(w, first, end);
	fputs("]}", w->out);
}

/* Print a profile for each root that has entries. */
static void print_profiles(const struct speedscope *w, uint32_t count, const char *comma)
{
	for (uint32_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && w->entries[end].depth; end++)
			;
		while (end < count &&
			w->p->nodes[w->entries[end].node].parent ==
				w->p->nodes[w->entries[i].node].parent)
			for (end++; end < count && w->entries[end].depth; end++)
				;
		fputs(comma, w->out);
		comma = ",\n";
		print_profile(w, i, end);
	}
}

/* Write the evented profiles first: a viewer opens with the first profile, so it shows time. */
int speedscope_write(FILE *out, struct profile *p, struct timeline *t, enum profile_weight weight,
	const char *name)
{
	uint32_t count;
	struct evented evented;
	struct profile_entry *entries = profile_order(p, weight, &count);
	struct speedscope w = {out, p, entries, weight, malloc(p->node_count * sizeof(uint32_t))};
	int error = !w.path || (!entries && p->node_count > p->root_count + 1) ? -ENOMEM : 0;
	int failed = evented_read(&evented, t, p);
	error = error ? error : failed;
	if (!error) {
		fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
		      "\"exporter\":\"libtrace " LIBTRACE_VERSION "\",\"name\":",
			out);
		print_json_string(out, name);
		fputs(",\"shared\":{\"frames\":[", out);
		print_frames(out, p);
		fputs("]},\n\"profiles\":[", out);
		error = evented_print(&evented, out);
	}
	if (!error) {
		print_profiles(&w, count, evented.count ? ",\n" : "");
		fputs("]}\n", out);
	}
	const bool is_evented = evented.count != 0;
	evented_release(&evented);
	free(w.path);
	free(entries);
	return !error && !count && !is_evented ? -ENODATA : error;
}
