/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - nsys's tables of generic events. */
#include "reader/export/generic/events.h"

#include <stdlib.h>
#include <string.h>
#ifdef HAVE_SQLITE
#include <sqlite3.h>
#endif

#include "reader/export/sqlite/export_state.h"
#include "reader/export/generic/log_lines.h"

#ifdef HAVE_SQLITE
/* A payload that is no object has the field "value". */
static const char marks_sql[] =
	"INSERT INTO temp.generic "
	"SELECT m.start, m.globalTid, 1, coalesce(s.value, m.text, ''), m.jsonText "
	"FROM NVTX_EVENTS AS m LEFT JOIN StringIds AS s ON s.id = m.textId "
	"WHERE m.eventType = 34 AND m.jsonText IS NOT NULL AND json_valid(m.jsonText);";

static const char samples_sql[] =
	"INSERT INTO temp.generic "
	"SELECT v.timestamp, v.globalTid, 1, coalesce(s.value, ''), json_object('value', "
	"CASE v.payloadType WHEN 1 THEN json(printf('%llu', v.payload)) ELSE v.payload END) "
	"FROM LIBTRACE_NVTX_SAMPLE AS v JOIN "
	"(SELECT globalTid >> 24 AS process, domainNameId, counter, max(nameId) AS nameId "
	"FROM LIBTRACE_NVTX_COUNTER GROUP BY 1, 2, 3) AS c ON c.process = v.globalTid >> 24 "
	"AND c.domainNameId = v.domainNameId AND c.counter = v.counter "
	"LEFT JOIN StringIds AS s ON s.id = c.nameId WHERE v.payloadType BETWEEN 1 AND 6;";

/* Types are numbered, then events in order of time, then the fields of each type; `kind` of a field
 * is 0 signed, 1 unsigned, 3 double, as in nsys, or 4 text, or -1 where no event has a value. */
static const char sorted_sql[] =
	"CREATE TEMP TABLE generic_type AS "
	"SELECT source, name, row_number() OVER (ORDER BY source, name) AS id "
	"FROM (SELECT DISTINCT source, name FROM temp.generic);"
	"CREATE TEMP TABLE generic_event AS "
	"SELECT row_number() OVER (ORDER BY g.ns, g.rowid) AS id, g.ns, g.tid, t.id AS type, "
	"g.data "
	"FROM temp.generic AS g JOIN temp.generic_type AS t ON t.source = g.source AND t.name = "
	"g.name;"
	"CREATE TEMP TABLE generic_value AS "
	"SELECT e.id AS event, e.type, coalesce(CAST(j.key AS TEXT), 'value') AS field, j.id AS "
	"place, "
	/* beyond 2^63, too, unless SQLite does not find a key with quotation marks in it */
	"CASE j.type WHEN 'integer' THEN coalesce((e.data -> j.fullkey) || '', CAST(j.value AS "
	"TEXT)) ELSE CAST(j.value AS TEXT) END AS text, "
	"CASE WHEN j.type = 'null' THEN -1 WHEN j.type IN ('true', 'false') THEN 0 "
	"WHEN j.type = 'integer' THEN CASE WHEN typeof(j.value) = 'integer' THEN 0 "
	"WHEN (e.data -> j.fullkey) IS NULL THEN 3 ELSE 1 END "
	"WHEN j.type = 'real' THEN 3 ELSE 4 END AS kind "
	"FROM temp.generic_event AS e, json_each(e.data) AS j;"
	"CREATE TEMP TABLE generic_field AS SELECT type, field, max(kind) AS kind, "
	"row_number() OVER (PARTITION BY type ORDER BY min(place), field) - 1 AS idx "
	"FROM temp.generic_value GROUP BY type, field;"
	"CREATE INDEX temp.generic_field_type ON generic_field (type, idx);"
	"CREATE INDEX temp.generic_value_event ON generic_value (event);";

static const char tables_sql[] =
	"INSERT INTO GENERIC_EVENT_SOURCES SELECT DISTINCT source, json_object('Name', "
	"CASE source WHEN 1 THEN 'libtrace' ELSE 'log' END) FROM temp.generic_type;"
	"INSERT INTO GENERIC_EVENT_TYPES (typeId, sourceId, data) "
	"SELECT t.id, t.source, json_object('Name', t.name, 'Fields', "
	"(SELECT json_group_array(json_object('Name', field)) FROM (SELECT field FROM "
	"temp.generic_field AS f WHERE f.type = t.id ORDER BY f.idx))) FROM temp.generic_type AS t;"
	"INSERT INTO GENERIC_EVENTS (rawTimestamp, timestamp, typeId, data) SELECT e.ns, e.ns, "
	"e.type, "
	"(SELECT json_group_object(v.field, v.text) FROM temp.generic_value AS v WHERE v.event = "
	"e.id) "
	"FROM temp.generic_event AS e ORDER BY e.id;";

/* The tables since schema 3.13. Texts, which nsys's types of fields do not have, are in the JSON
 * only. */
static const char numbers_sql[] =
	"INSERT INTO GENERIC_EVENT_SOURCES SELECT DISTINCT source, json_object('Name', "
	"CASE source WHEN 1 THEN 'libtrace' ELSE 'log' END) FROM temp.generic_type;"
	"INSERT INTO StringIds SELECT (SELECT max(id) FROM StringIds) + row_number() OVER (ORDER "
	"BY "
	"text), text FROM (SELECT name AS text FROM temp.generic_type UNION SELECT field FROM "
	"temp.generic_field) WHERE text NOT IN (SELECT value FROM StringIds);"
	"CREATE TEMP TABLE generic_id AS SELECT value, min(id) AS id FROM StringIds WHERE value IN "
	"(SELECT name FROM temp.generic_type UNION SELECT field FROM temp.generic_field) GROUP BY "
	"value; CREATE INDEX temp.generic_id_value ON generic_id (value);"
	"INSERT INTO GENERIC_EVENT_TYPES (typeId, sourceId, nameId, data) "
	"SELECT t.id, t.source, s.id, json_object('Name', t.name, 'Fields', "
	"(SELECT json_group_array(json_object('Name', field)) FROM (SELECT field FROM "
	"temp.generic_field AS f WHERE f.type = t.id ORDER BY f.idx))) "
	"FROM temp.generic_type AS t JOIN temp.generic_id AS s ON s.value = t.name;"
	"INSERT INTO GENERIC_EVENT_TYPE_FIELDS SELECT f.type, f.idx, s.id, 8 * f.idx, 8, f.kind "
	"FROM temp.generic_field AS f JOIN temp.generic_id AS s ON s.value = f.field "
	"WHERE f.kind BETWEEN 0 AND 3;"
	"INSERT INTO GENERIC_EVENTS (genericEventId, rawTimestamp, timestamp, typeId, globalTid, "
	"data) "
	"SELECT e.id, e.ns, e.ns, e.type, e.tid, (SELECT json_group_object(v.field, v.text) "
	"FROM temp.generic_value AS v WHERE v.event = e.id) FROM temp.generic_event AS e ORDER BY "
	"e.id;"
	"INSERT INTO GENERIC_EVENT_DATA SELECT v.event, f.idx, "
	"CASE f.kind WHEN 0 THEN CAST(v.text AS INTEGER) END, "
	"CASE f.kind WHEN 1 THEN unsigned_bits(v.text) END, NULL, "
	"CASE f.kind WHEN 3 THEN CAST(v.text AS REAL) END "
	"FROM temp.generic_value AS v JOIN temp.generic_field AS f ON f.type = v.type AND f.field "
	"= "
	"v.field WHERE f.kind BETWEEN 0 AND 3 AND v.kind >= 0 ORDER BY v.event, f.idx;"
	"DROP TABLE temp.generic_id;";

static const char end_sql[] =
	"DROP TABLE temp.generic; DROP TABLE temp.generic_type; DROP TABLE temp.generic_event;"
	"DROP TABLE temp.generic_value; DROP TABLE temp.generic_field;";

/* Return a decimal number up to 2^64 - 1, or down to -2^63, as 64 bits. */
static void unsigned_bits(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *text = (const char *)sqlite3_value_text(values[0]);
	(void)count;
	if (!text)
		return;
	sqlite3_result_int64(context,
		*text == '-' ? strtoll(text, NULL, 10) : (sqlite3_int64)strtoull(text, NULL, 10));
}

/* Fill temp.generic. Return whether SQLite has functions for JSON, and there is an event. */
static bool any_event(struct sqlite_export *x, bool samples)
{
	sqlite3 *c = x->database.connection;
	static const char create[] = "CREATE TEMP TABLE generic (ns INTEGER, tid INTEGER, source "
				     "INTEGER, name TEXT, data TEXT)";
	sqlite3_stmt *s = NULL;
	if (sqlite3_create_function(
		    c, "unsigned_bits", 1, SQLITE_UTF8, NULL, unsigned_bits, NULL, NULL) ||
		sqlite3_exec(c, create, NULL, NULL, NULL) ||
		sqlite3_exec(c, marks_sql, NULL, NULL, NULL) ||
		(samples && sqlite3_exec(c, samples_sql, NULL, NULL, NULL)))
		return false;
	log_lines_write(x);
	bool any = !sqlite3_prepare_v2(c, "SELECT 1 FROM temp.generic LIMIT 1", -1, &s, NULL) &&
		sqlite3_step(s) == SQLITE_ROW;
	sqlite3_finalize(s);
	return any;
}

int generic_events_write(struct sqlite_export *x)
{
	static const enum nsys_table tables[] = {NSYS_GENERIC_EVENT_SOURCES,
		NSYS_GENERIC_EVENT_TYPES, NSYS_GENERIC_EVENTS, NSYS_GENERIC_EVENT_TYPE_FIELDS,
		NSYS_GENERIC_EVENT_DATA};
	const bool newest = x->database.generation == NSYS_3_24,
		   samples = x->own.facts[KIND_NVTX_SAMPLE].rows &&
		x->own.facts[KIND_NVTX_COUNTER].rows;
	if (!samples && !x->own.facts[KIND_NVTX_SCHEMA].rows && !log_lines_wanted(x))
		return 0;
	int error = database_table(&x->database, "NVTX_EVENTS", NULL);
	if (error || !any_event(x, samples))
		return error;
	for (uint32_t i = 0; !error && i < (newest ? 5 : 3); i++)
		error = database_table(
			&x->database, nsys_table_name(tables[i], x->database.generation), NULL);
	if (!error &&
		(sqlite3_exec(x->database.connection, sorted_sql, NULL, NULL, NULL) ||
			sqlite3_exec(x->database.connection, newest ? numbers_sql : tables_sql,
				NULL, NULL, NULL) ||
			sqlite3_exec(x->database.connection, end_sql, NULL, NULL, NULL)))
		error = database_failed(&x->database);
	return error;
}
#else
int generic_events_write(struct sqlite_export *x)
{
	(void)x;
	return 0;
}
#endif
