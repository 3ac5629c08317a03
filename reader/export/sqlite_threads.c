/* Processes and threads that rows name: their ids, and the names of threads. */
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "reader/export/sqlite_writing.h"

int64_t writing_global(const struct writing *w, const struct process *p, uint32_t tid)
{
	uint32_t pid = p ? p->facts->pid & 0xffffff : 0,
		 life = p ? map_get(&w->lives, p->id, 0) : 0;
	int64_t vid = life ? writing_vid(w->vids + life - 1) : w->vid;
	return (int64_t)((uint64_t)vid | (uint64_t)pid << 24 | (tid & 0xffffff));
}

static int compare_starts(const void *a, const void *b)
{
	const struct process *x = *(struct process *const *)a, *y = *(struct process *const *)b;
	if (x->facts->start_ns != y->facts->start_ns)
		return x->facts->start_ns < y->facts->start_ns ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* Is `p` another process than `before`, who had its pid? Not what exec made of that one. */
static bool is_another(const struct process *p, const struct process *before)
{
	const Libtrace__Process *f = p->facts, *g = before->facts;
	return !f->has_previous_id && g->has_end_ns && f->has_start_ns &&
		g->end != LIBTRACE__PROCESS_END__END_EXEC && f->start_ns >= g->end_ns;
}

int writing_lives(struct writing *w)
{
	struct map last = {0}; /* pid -> index + 1 of the last process that had it */
	const struct process_list *l = &w->contents.processes;
	struct process **rows = malloc((l->count + 1) * sizeof(struct process *));
	int error = rows ? 0 : -ENOMEM;
	for (size_t i = 0; !error && i < l->count; i++)
		rows[i] = l->rows[i];
	if (!error && l->count)
		qsort(rows, l->count, sizeof(struct process *), compare_starts);
	for (uint32_t i = 0; !error && i < l->count; i++) {
		const struct process *p = rows[i];
		uint32_t found = map_get(&last, p->facts->pid, 0);
		uint32_t life = found ? map_get(&w->lives, rows[found - 1]->id, 0) +
				is_another(p, rows[found - 1])
				      : 0;
		w->lives_most = life > w->lives_most ? life : w->lives_most;
		error = map_put(&last, p->facts->pid, 0, i + 1);
		if (!error && life)
			error = map_put(&w->lives, p->id, 0, life);
	}
	map_release(&last);
	free(rows);
	return error;
}

int writing_thread(struct writing *w, int64_t global_tid, struct writing_thread **ret_thread)
{
	uint32_t found = map_get(&w->thread_ids, (uint64_t)global_tid, 0);
	if (!found) {
		if (array_room(
			    &w->threads, w->thread_count, &w->thread_capacity, sizeof(*w->threads)))
			return -ENOMEM;
		w->threads[w->thread_count] = (struct writing_thread){.global_tid = global_tid};
		found = ++w->thread_count;
		if (map_put(&w->thread_ids, (uint64_t)global_tid, 0, found))
			return -ENOMEM;
	}
	*ret_thread = &w->threads[found - 1];
	return 0;
}

int writing_thread_name(
	struct writing *w, int64_t global_tid, uint32_t name, uint64_t ns, bool by_program)
{
	uint32_t text = 0;
	struct writing_thread *t;
	int error = writing_thread(w, global_tid, &t);
	if (error || !string_table_get(&w->contents.strings, name).bytes ||
		(t->name &&
			(t->by_program > by_program ||
				(t->by_program == by_program && ns < t->name_ns))))
		return error;
	error = writing_string(w, name, &text);
	t->name = text + 1;
	t->name_ns = ns;
	t->by_program = by_program;
	return error;
}
