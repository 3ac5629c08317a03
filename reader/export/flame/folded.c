/* SPDX-License-Identifier: Apache-2.0 */
/* folded.c - callchains as lines of text for flame graphs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/print.h"
#include "reader/export/exporters.h"

const struct profile_root *export_root(const struct profile *p, uint32_t node)
{
	uint32_t low = 0, high = p->root_count; /* roots are sorted by their nodes */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (p->roots[middle].node < node)
			low = middle + 1;
		else
			high = middle;
	}
	return &p->roots[low];
}

int export_callchains(struct profile *p, enum profile_weight weight,
	int (*take)(
		void *user, const uint32_t *path, uint32_t depth, const struct profile_node *node),
	void *user)
{
	uint32_t count;
	struct profile_entry *entries = profile_order(p, weight, &count);
	uint32_t *path = malloc((size_t)p->node_count * sizeof(*path));
	int error = !path || (!entries && p->node_count > p->root_count + 1) ? -ENOMEM : 0;
	bool is_empty = true;
	for (uint32_t i = 0; !error && i < count; i++) {
		path[entries[i].depth] = entries[i].node;
		int taken = take(user, path, entries[i].depth, &p->nodes[entries[i].node]);
		error = taken < 0 ? taken : 0;
		is_empty = is_empty && taken <= 0;
	}
	free(path);
	free(entries);
	return error || !is_empty ? error : -ENODATA;
}

struct export_types export_types(enum profile_source source)
{
	static const struct export_types of[] = {[PROFILE_OSRT] = {"calls", "time"},
		[PROFILE_NVTX] = {"ranges", "time"},
		[PROFILE_CPU] = {"samples", "cpu"},
		[PROFILE_OFFCPU] = {"calls", "offcpu"},
		[PROFILE_WALL] = {"events", "wall"},
		[PROFILE_FUNCTIONS] = {"calls", "time"}};
	return of[source];
}

void export_process_name(
	struct process_list *l, const struct process *process, char *out, size_t bytes)
{
	char label[PROCESS_LABEL_BYTES];
	process_label(l, process, label);
	snprintf(out, bytes, "%s (%u)", label, process->facts->pid);
}

void export_thread_name(struct string_ref name, uint32_t tid, char *out, size_t bytes)
{
	snprintf(out, bytes, "%.200s (%u)", name.bytes ? name.text : "thread", tid);
}

/* Print a name without ';', which separates frames, and without newlines, which separate
 * callchains. */
static void print_name(FILE *out, const char *text)
{
	for (;;) {
		size_t bytes = strcspn(text, ";");
		print_text(out, text, bytes);
		if (!text[bytes])
			return;
		putc_unlocked(':', out);
		text += bytes + 1;
	}
}

static void print_root(FILE *out, const struct profile *p, uint32_t node)
{
	char name[EXPORT_NAME_BYTES];
	const struct profile_root *root = export_root(p, node);
	export_process_name(&p->contents->processes, root->process, name, sizeof(name));
	print_name(out, name);
	putc_unlocked(';', out);
	export_thread_name(
		string_table_get(&p->contents->strings, root->name), root->tid, name, sizeof(name));
	print_name(out, name);
}

struct folded {
	FILE *out;
	struct profile *p;
	enum profile_weight weight;
};

static int line_print(
	void *user, const uint32_t *path, uint32_t depth, const struct profile_node *node)
{
	struct folded *f = user;
	uint64_t self = f->weight == PROFILE_COUNT ? node->self_count : node->self_ns;
	if (!self)
		return 0;
	print_root(f->out, f->p, f->p->nodes[path[0]].parent);
	for (uint32_t n = 0; n <= depth; n++) {
		putc_unlocked(';', f->out);
		print_name(f->out, f->p->frames[f->p->nodes[path[n]].frame].function);
	}
	fprintf(f->out, " %llu\n", (unsigned long long)self);
	return 1;
}

int folded_write(FILE *out, struct profile *p, enum profile_weight weight)
{
	struct folded f = {out, p, weight};
	return export_callchains(p, weight, line_print, &f);
}
