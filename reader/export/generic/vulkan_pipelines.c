/* SPDX-License-Identifier: Apache-2.0 */
/* vulkan_pipelines.c - nsys's tables of the creation of Vulkan's pipelines. */
#include "reader/export/generic/vulkan_pipelines.h"

#include <errno.h>
#ifdef HAVE_SQLITE
#include <sqlite3.h>
#endif

#include "reader/export/sqlite/export_state.h"

#ifdef HAVE_SQLITE
/* flags 1: the driver gave its time; else the duration is that of the call. */
static const char pipelines_sql[] =
	"CREATE TEMP TABLE created AS SELECT p.rowid AS id, a.id AS call, p.globalTid, p.start, "
	"p.duration AS ns, p.pipeline, p.stage, p.creation, p.flags "
	"FROM LIBTRACE_VULKAN_PIPELINE AS p JOIN VULKAN_API AS a ON a.globalTid = p.globalTid AND "
	"a.start = p.start AND a.\"end\" - a.start = p.duration;"
	"CREATE INDEX temp.created_call ON created (call, pipeline);"
	"INSERT INTO VULKAN_PIPELINE_CREATION_EVENTS SELECT id, "
	"CASE WHEN flags & 1 THEN creation ELSE ns END, flags, call FROM created WHERE stage = 0;"
	"INSERT INTO VULKAN_PIPELINE_STAGE_EVENTS SELECT s.id, s.creation, s.flags, p.id "
	"FROM created AS s JOIN created AS p ON p.call = s.call AND p.pipeline = s.pipeline AND "
	"p.stage = 0 WHERE s.stage > 0 AND s.flags & 1;"
	"DROP TABLE created;";

int vulkan_pipelines_write(struct sqlite_export *x)
{
	static const enum nsys_table tables[] = {NSYS_VULKAN_API,
		NSYS_VULKAN_PIPELINE_CREATION_EVENTS, NSYS_VULKAN_PIPELINE_STAGE_EVENTS};
	int error = 0;
	if (!x->own.facts[KIND_VULKAN_PIPELINE].rows)
		return 0;
	for (uint32_t i = 0; !error && i < 3; i++)
		error = database_table(
			&x->database, nsys_table_name(tables[i], x->database.generation), NULL);
	if (!error && sqlite3_exec(x->database.connection, pipelines_sql, NULL, NULL, NULL))
		error = database_failed(&x->database);
	return error;
}
#else
int vulkan_pipelines_write(struct sqlite_export *x)
{
	(void)x;
	return -ENOSYS; /* there is no database to write to */
}
#endif
