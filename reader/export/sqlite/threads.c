/* SPDX-License-Identifier: Apache-2.0 */
/* threads.c - ids and names of processes and threads in the database. */
#include "reader/export/sqlite/threads.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "reader/report/contents.h"

/* Return the globalVid of a VM number: VM ids 1 to 255 first, then further machine ids. */
static int64_t global_vid(uint32_t number)
{
	return (int64_t)(number / 255) << 56 | (int64_t)(number % 255 + 1) << 48;
}

void threads_report_begin(struct export_threads *t)
{
	t->vid = global_vid(t->vids++);
}

void threads_report_end(struct export_threads *t)
{
	map_release(&t->lives);
	t->vids += t->lives_most;
	t->lives_most = 0;
}

void threads_release(struct export_threads *t)
{
	map_release(&t->ids);
	map_release(&t->lives);
	free(t->rows);
	*t = (struct export_threads){0};
}

int64_t threads_report_vid(const struct export_threads *t, uint32_t report)
{
	return report > 1 ? global_vid(t->vids + report - 2) : t->vid;
}

int64_t global_id(const struct export_threads *t, const struct process *p, uint32_t tid)
{
	uint32_t pid = p ? p->facts->pid & 0xffffff : 0,
		 life = p ? map_get(&t->lives, p->id, 0) : 0;
	int64_t vid = life ? global_vid(t->vids + life - 1) : t->vid;
	return (int64_t)((uint64_t)vid | (uint64_t)pid << 24 | (tid & 0xffffff));
}

static int compare_starts(const void *a, const void *b)
{
	const struct process *x = *(struct process *const *)a, *y = *(struct process *const *)b;
	if (x->facts->start_ns != y->facts->start_ns)
		return x->facts->start_ns < y->facts->start_ns ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* Return true if `p` is another process than `before`, which had the same pid; false if `p` is
 * `before` after exec. */
static bool is_another(const struct process *p, const struct process *before)
{
	const Libtrace__Process *f = p->facts, *g = before->facts;
	return !f->has_previous_id && g->has_end_ns && f->has_start_ns &&
		g->end != LIBTRACE__PROCESS_END__END_EXEC && f->start_ns >= g->end_ns;
}

/* Number the lives of pids of merged reports: a report's first lives by its number, further ones
 * above those of all reports. lives: keys of `further`. Returns 0 or -ENOMEM. */
static int merged_life_put(
	struct export_threads *t, struct map *further, const struct process *p, uint32_t life)
{
	uint32_t number = p->facts->report - 1;
	if (life) {
		number = map_get(further, p->facts->report, life);
		if (!number)
			number = t->lives_most + 1;
		if (map_put(further, p->facts->report, life, number))
			return -ENOMEM;
	}
	t->lives_most = number > t->lives_most ? number : t->lives_most;
	return number ? map_put(&t->lives, p->id, 0, number) : 0;
}

/* Return the greatest number of a merged report; 0 = it was not merged. */
static uint32_t reports_of(const struct process_list *l)
{
	uint32_t most = 0;
	for (size_t i = 0; i < l->count; i++)
		if (l->rows[i]->facts->report > most && l->rows[i]->facts->report <= MERGED_MAX)
			most = l->rows[i]->facts->report;
	return most;
}

int process_lives_find(struct export_threads *t, const struct process_list *l)
{
	struct map last = {0}; /* report, pid -> index + 1 of the last process that had it */
	struct map further = {0}, counts = {0};
	struct process **rows = malloc((l->count + 1) * sizeof(struct process *));
	int error = rows ? 0 : -ENOMEM;
	const uint32_t reports = reports_of(l);
	t->lives_most = reports ? reports - 1 : 0;
	for (size_t i = 0; !error && i < l->count; i++)
		rows[i] = l->rows[i];
	if (!error && l->count)
		qsort(rows, l->count, sizeof(struct process *), compare_starts);
	for (uint32_t i = 0; !error && i < l->count; i++) {
		const struct process *p = rows[i];
		const uint32_t report = p->facts->report <= reports ? p->facts->report : 0,
			       found = map_get(&last, p->facts->pid, report);
		uint32_t life = found
			? map_get(&counts, rows[found - 1]->id, 0) + is_another(p, rows[found - 1])
			: 0;
		error = map_put(&last, p->facts->pid, report, i + 1);
		if (!error && life)
			error = map_put(&counts, p->id, 0, life);
		if (!error && report)
			error = merged_life_put(t, &further, p, life);
		else if (!error && life)
			error = map_put(&t->lives, p->id, 0, life);
		t->lives_most = !report && life > t->lives_most ? life : t->lives_most;
	}
	map_release(&last);
	map_release(&further);
	map_release(&counts);
	free(rows);
	return error;
}

const struct process *thread_process(const struct process_list *l, int64_t global_tid)
{
	const uint64_t thread = (uint64_t)global_tid;
	const uint32_t pid = thread >> 24 & 0xffffff,
		       number = (uint32_t)(thread >> 56) * 255 + (thread >> 48 & 0xff);
	const struct process *last = NULL;
	for (size_t i = 0; i < l->count; i++) {
		const Libtrace__Process *f = l->rows[i]->facts;
		if (f->pid == pid && f->report && f->report == number &&
			(!last || f->start_ns >= last->facts->start_ns))
			last = l->rows[i];
	}
	return last ? last : process_find_pid(l, pid);
}

int thread_find(struct export_threads *t, int64_t global_tid, struct export_thread **ret_thread)
{
	uint32_t found = map_get(&t->ids, (uint64_t)global_tid, 0);
	if (!found) {
		if (array_room(&t->rows, t->count, &t->capacity, sizeof(*t->rows)))
			return -ENOMEM;
		t->rows[t->count] = (struct export_thread){.global_tid = global_tid};
		found = ++t->count;
		if (map_put(&t->ids, (uint64_t)global_tid, 0, found))
			return -ENOMEM;
	}
	*ret_thread = &t->rows[found - 1];
	return 0;
}

int thread_name_note(struct export_threads *t, struct text_ids *texts, int64_t global_tid,
	uint32_t name, uint64_t ns, bool by_program)
{
	uint32_t id = 0;
	struct export_thread *row;
	int error = thread_find(t, global_tid, &row);
	if (error || !string_table_get(texts->report, name).bytes ||
		(row->name &&
			(row->by_program > by_program ||
				(row->by_program == by_program && ns < row->name_ns))))
		return error;
	error = text_id_of_string(texts, name, &id);
	row->name = id + 1;
	row->name_ns = ns;
	row->by_program = by_program;
	return error;
}
