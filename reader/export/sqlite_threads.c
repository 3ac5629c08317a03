/* Threads that rows name, and their names. */
#include <errno.h>

#include "reader/export/sqlite_writing.h"

int writing_thread(struct writing *w, int64_t global_tid, struct writing_thread **ret_thread)
{
	uint32_t found = map_get(&w->thread_ids, (uint64_t)global_tid, 0);
	if (!found) {
		void *room = array_room(
			w->threads, w->thread_count, &w->thread_capacity, sizeof(*w->threads));
		if (!room)
			return -ENOMEM;
		w->threads = room;
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
