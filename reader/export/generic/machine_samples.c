/* SPDX-License-Identifier: Apache-2.0 */
/* machine_samples.c - samples of GPUs, of their hardware metrics, and of network interfaces as
 * tables of nsys. */
#include "reader/export/generic/machine_samples.h"

#include <stdio.h>
#ifdef HAVE_SQLITE
#include <sqlite3.h>
#endif

#include "reader/export/sqlite/export_state.h"

#ifdef HAVE_SQLITE
/* The type of a sample's metrics: the report and the GPU. */
#define TYPE "(globalTid >> 48 << 48 | (gpu & 0xff))"

static const char gpu_names_sql[] =
	"INSERT INTO TARGET_INFO_GPU_METRICS (typeId, sourceId, typeName, metricId, metricName) "
	"SELECT s.type, 1, 'NVML samples of GPU ' || s.gpu || coalesce(' [' || n.value || ']', "
	"''), "
	"%u, '%s' FROM (SELECT DISTINCT " TYPE " AS type, gpu, globalTid >> 48 AS vm "
	"FROM LIBTRACE_GPU_SAMPLE WHERE reported >> %u & 1) AS s "
	"LEFT JOIN (SELECT globalTid >> 48 AS vm, gpu, max(nameId) AS nameId FROM "
	"LIBTRACE_GPU_DEVICE GROUP BY 1, 2) AS d ON d.vm = s.vm AND d.gpu = s.gpu "
	"LEFT JOIN StringIds AS n ON n.id = d.nameId ORDER BY s.type;";

static const char gpu_values_sql[] = "INSERT INTO GPU_METRICS (%s, typeId, metricId, value) "
				     "SELECT %s, " TYPE ", %u, \"%s\" FROM LIBTRACE_GPU_SAMPLE "
				     "WHERE reported >> %u & 1 ORDER BY timestamp;";

/* Hardware metrics are numbered by their names, from 0, in types of their own. A value may be NULL:
 * one that is not a number. */
#define METRIC_TYPE "(s.globalTid >> 48 << 48 | 256 | (coalesce(d.gpu, s.deviceId) & 0xff))"
#define METRIC_ROWS                                                                             \
	"FROM LIBTRACE_CUDA_METRIC_SAMPLE AS s JOIN temp.metric AS m ON m.nameId = s.metricId " \
	"LEFT JOIN temp.metric_device AS d ON d.process = s.globalTid >> 24 "                   \
	"AND d.device = s.deviceId WHERE typeof(s.value) IN ('integer', 'real') "

static const char metric_names_sql[] =
	"CREATE TEMP TABLE metric AS SELECT row_number() OVER (ORDER BY value) - 1 AS id, value, "
	"id AS nameId FROM StringIds WHERE id IN (SELECT metricId FROM "
	"LIBTRACE_CUDA_METRIC_SAMPLE);"
	"CREATE TEMP TABLE metric_device AS SELECT c.globalTid >> 24 AS process, "
	"c.deviceId AS device, min(g.id) AS gpu FROM LIBTRACE_CUDA_DEVICE AS c "
	"JOIN StringIds AS n ON n.id = c.uuidId "
	"JOIN TARGET_INFO_GPU AS g ON replace(g.uuid, '-', '') = n.value GROUP BY 1, 2;"
	"INSERT INTO TARGET_INFO_GPU_METRICS (typeId, sourceId, typeName, metricId, metricName) "
	"SELECT DISTINCT " METRIC_TYPE ", 2, 'Hardware metrics of GPU ' || coalesce(d.gpu, "
	"s.deviceId), m.id, m.value " METRIC_ROWS "ORDER BY 1, 4;";

static const char metric_values_sql[] =
	"INSERT INTO GPU_METRICS (%s, typeId, metricId, value) SELECT %s, " METRIC_TYPE
	", m.id, s.value " METRIC_ROWS "ORDER BY s.start, 2, 3; DROP TABLE temp.metric; "
	"DROP TABLE temp.metric_device;";

/* Interfaces are numbered in order of their reports and names. Ethernet has list 1 of metrics,
 * InfiniBand list 2. */
static const char nics_sql[] =
	"CREATE TEMP TABLE nic AS SELECT row_number() OVER (ORDER BY vm, name, port) - 1 AS id, * "
	"FROM (SELECT s.globalTid >> 48 AS vm, n.value AS name, s.port, max(s.link) AS link "
	"FROM LIBTRACE_NIC_SAMPLE AS s JOIN StringIds AS n ON n.id = s.nameId GROUP BY 1, 2, 3);"
	"INSERT INTO NIC_ID_MAP (nicId, globalId) SELECT id, vm << 48 | id FROM temp.nic;"
	"INSERT INTO TARGET_INFO_NIC_INFO (%s, stateName, nicId, name, deviceId, vendorId, "
	"linkLayer) SELECT vm << 48 | id, 'Active', id, name, 0, 0, link FROM temp.nic;";

static const char nic_names_sql[] =
	"INSERT INTO TARGET_INFO_NETWORK_METRICS (metricsListId, metricsIdx, name, description, "
	"unit) SELECT link, %u, CASE link WHEN 2 THEN 'IB' ELSE 'Eth' END || ': %s', '%s', '%s/ms' "
	"FROM (SELECT DISTINCT link FROM temp.nic) ORDER BY link;";

/* A value is a rate per ms. */
static const char nic_values_sql[] =
	"INSERT INTO NET_NIC_METRIC (start, end, globalId%s, metricsListId, metricsIdx, value) "
	"SELECT s.start, s.start + s.duration, i.vm << 48 | i.id%s, i.link, %u, "
	"CAST(s.\"%s\" * 1e6 / s.duration + 0.5 AS INTEGER) FROM LIBTRACE_NIC_SAMPLE AS s "
	"JOIN StringIds AS n ON n.id = s.nameId JOIN temp.nic AS i ON i.vm = s.globalTid >> 48 "
	"AND i.name = n.value AND i.port = s.port WHERE s.duration > 0 ORDER BY s.start;";

static const struct gpu_metric {
	uint32_t field;
	const char *name;
} gpu_metrics[] = {
#define MACHINE_METRIC(event, field, name) METRIC_##event(FIELD_##event##_##field, name)
#define METRIC_GPU_SAMPLE(field, name) {field, name},
#define METRIC_NIC_SAMPLE(field, name)
#define METRIC_HOST_SAMPLE(field, name)
#include "common/schema/machine.def"
};

/* The names are those that scripts for nsys look for. */
static const struct nic_metric {
	uint32_t field;
	const char *name, *unit, *description;
} nic_metrics[] = {
	{FIELD_NIC_SAMPLE_RX_BYTES, "Bytes received", "bytes", "bytes that the interface received"},
	{FIELD_NIC_SAMPLE_TX_BYTES, "Bytes sent", "bytes", "bytes that the interface sent"},
	{FIELD_NIC_SAMPLE_RX_PACKETS, "Packets received", "packets", "packets received"},
	{FIELD_NIC_SAMPLE_TX_PACKETS, "Packets sent", "packets", "packets sent"},
	{FIELD_NIC_SAMPLE_LOST, "Packets lost", "packets", "packets dropped or with errors"},
	{FIELD_NIC_SAMPLE_WAITS, "Send waits", "ticks", "ticks with data to send and no credit"},
};
#define COUNT(list) (sizeof(list) / sizeof(*(list)))
static int tables_create(struct sqlite_export *x, const enum nsys_table *tables, size_t count)
{
	int error = 0;
	for (size_t i = 0; !error && i < count; i++)
		error = database_table(
			&x->database, nsys_table_name(tables[i], x->database.generation), NULL);
	return error;
}

static void sql_name(uint32_t kind, uint32_t field, char *ret_name, size_t bytes)
{
	const struct schema_event *e = schema_event(kind);
	own_column_name(e->fields[schema_column_index(e, field)].column, ret_name, bytes);
}

static int gpus_write(struct sqlite_export *x)
{
	const bool newest = x->database.generation == NSYS_3_24;
	int error = database_table(&x->database, "LIBTRACE_GPU_DEVICE",
		"timestamp INTEGER NOT NULL, globalTid INTEGER, gpu INTEGER, nameId INTEGER, "
		"uuidId INTEGER, busId INTEGER");
	for (uint32_t i = 0; !error && i < COUNT(gpu_metrics); i++) {
		char name[48];
		const uint32_t bit = gpu_metrics[i].field - FIELD_GPU_SAMPLE_UTILIZATION;
		sql_name(KIND_GPU_SAMPLE, gpu_metrics[i].field, name, sizeof(name));
		error = database_run(&x->database, gpu_names_sql, i, gpu_metrics[i].name, bit);
		if (!error)
			error = database_run(&x->database, gpu_values_sql,
				newest ? "rawTimestamp, timestamp" : "timestamp",
				newest ? "timestamp, timestamp" : "timestamp", i, name, bit);
	}
	return error;
}

static int metrics_write(struct sqlite_export *x)
{
	const bool newest = x->database.generation == NSYS_3_24;
	int error = database_table(&x->database, "LIBTRACE_CUDA_DEVICE",
		"timestamp INTEGER NOT NULL, globalTid INTEGER, deviceId INTEGER, uuidId INTEGER");
	if (!error)
		error = database_run(&x->database, metric_names_sql);
	return error ? error
		     : database_run(&x->database, metric_values_sql,
			       newest ? "rawTimestamp, timestamp" : "timestamp",
			       newest ? "s.start, s.start" : "s.start");
}

static int nics_write(struct sqlite_export *x)
{
	static const enum nsys_table tables[] = {NSYS_NIC_ID_MAP, NSYS_TARGET_INFO_NIC_INFO,
		NSYS_TARGET_INFO_NETWORK_METRICS, NSYS_NET_NIC_METRIC};
	const bool newest = x->database.generation == NSYS_3_24;
	int error = tables_create(x, tables, COUNT(tables));
	if (!error)
		error = database_run(&x->database, nics_sql, newest ? "GUID" : "globalId");
	for (uint32_t i = 0; !error && i < COUNT(nic_metrics); i++) {
		const struct nic_metric *m = &nic_metrics[i];
		char name[48];
		sql_name(KIND_NIC_SAMPLE, m->field, name, sizeof(name));
		error = database_run(
			&x->database, nic_names_sql, i, m->name, m->description, m->unit);
		if (!error)
			error = database_run(&x->database, nic_values_sql, newest ? ", portId" : "",
				newest ? ", i.port" : "", i, name);
	}
	return error ? error : database_run(&x->database, "DROP TABLE temp.nic");
}

int machine_samples_write(struct sqlite_export *x)
{
	static const enum nsys_table tables[] = {NSYS_TARGET_INFO_GPU_METRICS, NSYS_GPU_METRICS};
	const bool has_gpus = x->own.facts[KIND_GPU_SAMPLE].rows,
		   has_metrics = x->own.facts[KIND_CUDA_METRIC_SAMPLE].rows;
	int error = has_gpus || has_metrics ? tables_create(x, tables, COUNT(tables)) : 0;
	if (!error && has_gpus)
		error = gpus_write(x);
	if (!error && has_metrics)
		error = metrics_write(x);
	return error || !x->own.facts[KIND_NIC_SAMPLE].rows ? error : nics_write(x);
}
#else
int machine_samples_write(struct sqlite_export *x)
{
	(void)x;
	return 0;
}
#endif
