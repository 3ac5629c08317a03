/* SPDX-License-Identifier: Apache-2.0 */
/* processes.c - processes of a report, merged from all entries that describe them. */
#define _GNU_SOURCE
#include "reader/report/processes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/utf8.h"

/* greatest pid of Linux; bounds the memory that a hostile file can claim */
#define PROCESSES_MAX (1u << 22)

void process_list_init(struct process_list *l)
{
	*l = (struct process_list){0};
}

static void process_free(struct process *p)
{
	if (p->facts)
		libtrace__process__free_unpacked(p->facts, NULL);
	if (p->receipt)
		libtrace__receipt__free_unpacked(p->receipt, NULL);
	callchain_nodes_release(&p->callchains);
	module_map_release(&p->modules);
	python_codes_release(&p->python);
	stored_symbols_release(&p->symbols);
	free(p);
}

void process_list_release(struct process_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		process_free(l->rows[i]);
	free(l->rows);
	free(l->by_id);
	free(l->by_pid);
	*l = (struct process_list){0};
}

struct process *process_find(struct process_list *l, uint32_t id)
{
	return id < l->ids ? l->by_id[id] : NULL;
}

const struct process *process_find_pid(const struct process_list *l, uint32_t pid)
{
	const struct process *last = NULL;
	for (size_t i = 0; i < l->count; i++) {
		const struct process *p = l->rows[i];
		if (p->facts->pid == pid && (!last || p->facts->start_ns >= last->facts->start_ns))
			last = p;
	}
	return last;
}

static int ids_reserve(struct process_list *l, uint32_t least)
{
	uint32_t before = l->ids;
	int error = array_reserve(&l->by_id, &l->ids, least, sizeof(struct process *));
	if (!error)
		memset(l->by_id + before, 0, (l->ids - before) * sizeof(struct process *));
	return error;
}

static int make_room(struct process_list *l, uint32_t id)
{
	if (id >= PROCESSES_MAX)
		return -EBADMSG;
	if (ids_reserve(l, id + 1))
		return -ENOMEM;
	return array_room(&l->rows, l->count, &l->capacity, sizeof(struct process *));
}

struct process *process_get(struct process_list *l, uint32_t id)
{
	struct process *p = process_find(l, id);
	if (p || make_room(l, id))
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->id = id;
	p->memory = p;
	p->facts = calloc(1, sizeof(*p->facts));
	if (!p->facts) {
		free(p);
		return NULL;
	}
	libtrace__process__init(p->facts);
	l->rows[l->count++] = p;
	return l->by_id[id] = p;
}

/* Merge two messages in their encoded form: protobuf reads concatenated messages as one merged
 * message, in which later fields win. */
static void *merged(const ProtobufCMessage *first, const ProtobufCMessage *second,
	const ProtobufCMessageDescriptor *type)
{
	size_t a = first ? protobuf_c_message_get_packed_size(first) : 0,
	       b = protobuf_c_message_get_packed_size(second);
	uint8_t *bytes = malloc(a + b + 1);
	if (!bytes)
		return NULL;
	if (first)
		protobuf_c_message_pack(first, bytes);
	protobuf_c_message_pack(second, bytes + a);
	void *result = protobuf_c_message_unpack(type, NULL, a + b, bytes);
	free(bytes);
	return result;
}

static int memory_link(struct process_list *l, struct process *p)
{
	uint32_t id = p->facts->memory_of;
	struct process *memory = id ? process_get(l, id) : p;
	if (!memory)
		return id < PROCESSES_MAX ? -ENOMEM : -EBADMSG;
	p->memory = memory;
	return 0;
}

int process_list_add(struct process_list *l, const Libtrace__Process *facts)
{
	struct process *p = process_get(l, facts->id);
	if (!p)
		return facts->id < PROCESSES_MAX ? -ENOMEM : -EBADMSG;
	Libtrace__Process *old = p->facts;
	/* A repeated field would grow with every entry, so only the last one is kept. */
	size_t arguments = old->n_arguments;
	if (facts->n_arguments)
		old->n_arguments = 0;
	Libtrace__Process *now = merged(&old->base, &facts->base, &libtrace__process__descriptor);
	old->n_arguments = arguments;
	if (!now)
		return -ENOMEM;
	libtrace__process__free_unpacked(old, NULL);
	p->facts = now;
	return memory_link(l, p);
}

int process_list_add_receipt(struct process_list *l, const Libtrace__Receipt *receipt)
{
	struct process *p = process_get(l, receipt->process);
	if (!p)
		return receipt->process < PROCESSES_MAX ? -ENOMEM : -EBADMSG;
	Libtrace__Receipt *copy = merged(NULL, &receipt->base, &libtrace__receipt__descriptor);
	if (!copy)
		return -ENOMEM;
	if (p->receipt)
		libtrace__receipt__free_unpacked(p->receipt, NULL);
	p->receipt = copy;
	return 0;
}

/* ---- names ---- */

static int compare_pids(const void *a, const void *b)
{
	const struct process *x = *(struct process *const *)a, *y = *(struct process *const *)b;
	if (x->facts->report != y->facts->report)
		return x->facts->report < y->facts->report ? -1 : 1;
	if (x->facts->pid != y->facts->pid)
		return x->facts->pid < y->facts->pid ? -1 : 1;
	return (x->facts->start_ns > y->facts->start_ns) -
		(x->facts->start_ns < y->facts->start_ns);
}

/* Sort the processes by pid and start, unless they are sorted already. Returns false if memory is
 * exhausted. */
static bool pids_sort(struct process_list *l)
{
	if (l->pid_count == l->count)
		return true;
	struct process **rows = realloc(l->by_pid, l->count * sizeof(struct process *));
	if (!rows)
		return false;
	memcpy(rows, l->rows, l->count * sizeof(struct process *));
	qsort(rows, l->count, sizeof(struct process *), compare_pids);
	l->by_pid = rows;
	l->pid_count = l->count;
	return true;
}

struct process *process_forked_from(struct process_list *l, struct process *p)
{
	size_t low = 0, high = l->count;
	if (p->has_looked_for_parent || !p->facts->forked || !pids_sort(l))
		return p->forked_from;
	while (low < high) { /* find the first process that is not before the child */
		const size_t middle = low + (high - low) / 2;
		const Libtrace__Process *f = l->by_pid[middle]->facts;
		if (f->report < p->facts->report ||
			(f->report == p->facts->report &&
				(f->pid < p->facts->parent_pid ||
					(f->pid == p->facts->parent_pid &&
						f->start_ns <= p->facts->start_ns))))
			low = middle + 1;
		else
			high = middle;
	}
	if (low && l->by_pid[low - 1] != p &&
		l->by_pid[low - 1]->facts->report == p->facts->report &&
		l->by_pid[low - 1]->facts->pid == p->facts->parent_pid)
		p->forked_from = l->by_pid[low - 1];
	p->has_looked_for_parent = true;
	return p->forked_from;
}

/* Copy the part of a path after its last slash, as UTF-8, cut to the length of a file name. */
static void base_name_copy(const char *path, size_t bytes, char ret_name[PROCESS_NAME_BYTES])
{
	const char *slash = bytes ? memrchr(path, '/', bytes) : NULL;
	if (slash) {
		bytes -= (size_t)(slash + 1 - path);
		path = slash + 1;
	}
	bytes = strnlen(path, bytes);
	while (utf8_clean_bytes(path, bytes) >= PROCESS_NAME_BYTES)
		bytes--;
	utf8_clean(path, bytes, ret_name);
}

static void file_name(const Libtrace__Process *f, char ret_name[PROCESS_NAME_BYTES])
{
	base_name_copy(f->executable ? f->executable : "",
		f->executable ? strlen(f->executable) : 0, ret_name);
}

#define PARENTS_MAX 64 /* maximum number of ancestors of a forked process */

/* Return the process that executed the program: a forked process has neither a file nor arguments
 * of its own. */
static const struct process *executor_of(struct process_list *l, const struct process *p)
{
	for (int n = 0; n < PARENTS_MAX; n++) {
		const struct process *parent = p->facts->executable || p->facts->n_arguments
			? NULL
			: process_forked_from(l, process_find(l, p->id));
		if (!parent)
			break;
		p = parent;
	}
	return p;
}

void process_name(
	struct process_list *l, const struct process *p, char ret_name[PROCESS_NAME_BYTES])
{
	const Libtrace__Process *f = executor_of(l, p)->facts;
	const char *text = f->n_arguments ? (const char *)f->arguments[0].data : NULL;
	size_t bytes = text ? f->arguments[0].len : 0;
	bool is_login = bytes > 1 && *text == '-'; /* "-bash": a login shell */
	*ret_name = 0;
	if (bytes)
		base_name_copy(text + is_login, bytes - is_login, ret_name);
	if (!*ret_name)
		file_name(f, ret_name);
	if (!*ret_name)
		strcpy(ret_name, "?");
}

void process_label(
	struct process_list *l, const struct process *p, char ret_label[PROCESS_LABEL_BYTES])
{
	char name[PROCESS_NAME_BYTES], file[PROCESS_NAME_BYTES];
	process_name(l, p, name);
	file_name(executor_of(l, p)->facts, file);
	snprintf(ret_label, PROCESS_LABEL_BYTES, *file && strcmp(file, name) ? "%s [%s]" : "%s",
		name, file);
}

uint64_t process_dropped(const struct process *p)
{
	if (!p->receipt)
		return p->gap_dropped;
	uint64_t sum = 0;
	for (size_t i = 0; i < p->receipt->n_drops; i++)
		sum += p->receipt->drops[i]->count;
	return sum;
}

uint64_t processes_apart(const struct process_list *l)
{
	uint64_t count = 0;
	for (size_t i = 0; i < l->count; i++)
		count += !l->rows[i]->facts->has_previous_id;
	return count;
}

uint64_t processes_unended(const struct process_list *l)
{
	uint64_t count = 0;
	for (size_t i = 0; i < l->count; i++)
		count += !l->rows[i]->receipt &&
			l->rows[i]->facts->traced != LIBTRACE__TRACED__TRACED_NO;
	return count;
}
