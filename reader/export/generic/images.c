/* SPDX-License-Identifier: Apache-2.0 */
/* images.c - program images of processes, by which the writes of a stream are ordered. */
#include "reader/export/generic/images.h"

#include <errno.h>
#include <stdint.h>
#ifdef HAVE_SQLITE
#include <sqlite3.h>
#endif

#include "reader/export/sqlite/export_state.h"

#ifdef HAVE_SQLITE
int images_put(struct sqlite_export *x)
{
	static const char create[] =
		"CREATE TEMP TABLE IF NOT EXISTS LIBTRACE_IMAGE (pid INTEGER, ns INTEGER, pattern "
		"INTEGER);"
		"CREATE INDEX IF NOT EXISTS temp.image_start ON LIBTRACE_IMAGE (pid, ns)";
	const struct process_list *l = &x->contents.processes;
	if (!x->own.facts[KIND_STREAM_WRITE].rows)
		return 0;
	if (sqlite3_exec(x->database.connection, create, NULL, NULL, NULL))
		return database_failed(&x->database);
	int error = 0;
	for (uint32_t i = 0; !error && i < l->count; i++)
		error = database_row(&x->database, "LIBTRACE_IMAGE", "iii",
			global_id(&x->threads, l->rows[i], 0),
			export_time(x, l->rows[i]->facts->start_ns),
			(int64_t)log_pattern_number(x, l->rows[i]->facts->report));
	return error;
}
#else
int images_put(struct sqlite_export *x)
{
	(void)x;
	return -ENOSYS; /* there is no database to write to */
}
#endif
