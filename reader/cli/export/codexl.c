/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codexl.c - `trace export -t atp|csv|occupancy`: the text files of CodeXL.
 *
 * SQL provides the rows in the order of the files; this file formats them.
 */
#include "reader/cli/export/codexl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/cli/export/codexl_back.h"
#include "reader/cli/export/codexl_left.h"
#include "reader/cli/export/timeline.h"
#include "reader/cli/database/stats.h"
#include "reader/cli/base/stop.h"
#include "reader/codexl/put.h"
#include "reader/stats/occupancy.h"

#define TABLE_NAME_BYTES_MAX \
	1000u              /* bytes of a kernel's name: AMD's readers accept lines of 2047 bytes */
#define REGISTERS_MAX 255u /* registers that a thread can have */

/* Write a name that may have blanks and commas, as AMD's files write it. */
static void symbol_put(FILE *out, const char *text, size_t width)
{
	codexl_put_column(out, text && *text ? text : "unknown", CODEXL_PUT_SYMBOL, width);
}

static size_t word_put(FILE *out, const char *text)
{
	return codexl_put_text(out, text && *text ? text : "unknown", CODEXL_PUT_WORD, SIZE_MAX);
}

/* Write a cell of a table whose cells are separated by commas. */
static void cell_put(FILE *out, const char *text)
{
	codexl_put_text(
		out, text && *text ? text : "unknown", CODEXL_PUT_CELL, TABLE_NAME_BYTES_MAX);
}

static void line_put(FILE *out, const char *text)
{
	codexl_put_text(out, text, CODEXL_PUT_LINE, SIZE_MAX);
}

enum { TYPE_CUDA = 1000, TYPE_OSRT = 2000 }; /* our own numbers; readers accept any */

struct writing {
	FILE *out;
	int64_t thread, origin_ns;
	const char *section;
	uint64_t rows, all_rows; /* of the section, of the file */
	uint64_t opencl_calls, opencl_commands;
};

static int query(struct stats_database *d, struct writing *w, const char *statement,
	int (*row)(void *user, const struct sql_value *v, int count))
{
	const struct sql_visitor visitor = {w, NULL, row};
	w->thread = -1;
	w->rows = 0;
	int error = sql_run(&d->sql, statement, &visitor);
	w->all_rows += w->rows;
	return error;
}

/* Convert a time to the machine's clock. A report may hold any number, so the sum is unsigned and
 * may wrap. */
static int64_t absolute(const struct writing *w, const struct sql_value *v)
{
	return (int64_t)((uint64_t)v->integer + (uint64_t)w->origin_ns);
}

/* ---- headers ---- */

struct header {
	FILE *out;
	const char *before; /* prefix of each line: "", "#" or "# " */
	bool timeline;
};

static void header_line(const struct header *h, const char *key, const char *value)
{
	fprintf(h->out, "%s%s=", h->before, key);
	line_put(h->out, value);
	fputc('\n', h->out);
}

/* Columns: executable, arguments (the program's name first), folder, system, host. */
static int header_row(void *user, const struct sql_value *v, int count)
{
	const struct header *h = user;
	const char *arguments = v[1].text ? v[1].text : "", *blank = strchr(arguments, ' ');
	if (count != 5)
		return 0;
	header_line(h, "Application", v[0].text);
	header_line(h, "ApplicationArgs", blank ? blank + 1 : "");
	header_line(h, "WorkingDirectory", v[2].text);
	if (h->timeline)
		header_line(h, "UserTimer", "False");
	header_line(h, "OS Version", v[3].text);
	header_line(h, "DisplayName", v[4].text);
	return 0;
}

static int header_put(struct header *h, struct stats_database *d)
{
	static const char of_report[] =
		"SELECT executable, arguments, workDirectory, "
		"(SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'SoftwareReleaseVersion'), "
		"(SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname') "
		"FROM main.LIBTRACE_PROCESS ORDER BY start LIMIT 1",
			  other[] = "SELECT '', '', '', '', ''";
	const struct sql_visitor visitor = {h, NULL, header_row};
	int has = sql_has(&d->sql, "LIBTRACE_PROCESS", "workDirectory");
	return has < 0 ? has : sql_run(&d->sql, has ? of_report : other, &visitor);
}

static int origin_row(void *user, const struct sql_value *v, int count)
{
	struct writing *w = user;
	if (count == 1)
		w->origin_ns = v[0].integer;
	return 0;
}

/* Find the origin of times. Times are those of the machine's clock if the database has it. */
static int origin_find(struct stats_database *d, struct writing *w)
{
	int has = sql_has(&d->sql, "LIBTRACE_REPORT", "startClock");
	if (has <= 0)
		return has;
	return query(d, w, "SELECT startClock FROM main.LIBTRACE_REPORT LIMIT 1", origin_row);
}

/* ---- the timeline ---- */

static void section_begin(struct writing *w)
{
	if (!w->rows++)
		fprintf(w->out, "=====%s=====\n", w->section);
}

/* Begin the block of a thread with its id and the number of its lines. */
static void thread_begin(struct writing *w, const struct sql_value *v)
{
	section_begin(w);
	if (w->thread != v[0].integer)
		fprintf(w->out, "%" PRId64 "\n%" PRId64 "\n", v[0].integer & 0xffffff,
			v[1].integer);
	w->thread = v[0].integer;
}

static void result_put(FILE *out, const char *name, bool is_cuda, int64_t result)
{
	if (is_cuda && !result)
		fputs(!name || strncmp(name, "cuda", 4) ? "CUDA_SUCCESS" : "cudaSuccess", out);
	else
		fprintf(out, "%" PRId64, result);
}

static int call_row(void *user, const struct sql_value *v, int count)
{
	struct writing *w = user;
	if (count != 6)
		return 0;
	thread_begin(w, v);
	result_put(w->out, v[2].text, v[3].integer, v[4].integer);
	fputs(" = ", w->out);
	word_put(w->out, v[2].text);
	fputs(" ( ", w->out);
	line_put(w->out, v[5].text);
	fputs(" )\n", w->out);
	return ferror(w->out) ? -EPIPE : 0;
}

static int time_row(void *user, const struct sql_value *v, int count)
{
	struct writing *w = user;
	if (count != 6)
		return 0;
	thread_begin(w, v);
	codexl_put_number(w->out, v[3].integer ? TYPE_CUDA : TYPE_OSRT, 5);
	codexl_put_padding(w->out, word_put(w->out, v[2].text), 45);
	fprintf(w->out, "%-21" PRId64 "%-21" PRId64 "\n", absolute(w, &v[4]), absolute(w, &v[5]));
	return ferror(w->out) ? -EPIPE : 0;
}

/* Write the caller: a function, or its address if it has no name, with its file and line if the
 * program has them; or nothing. */
static int caller_row(void *user, const struct sql_value *v, int count)
{
	struct writing *w = user;
	if (count != 6)
		return 0;
	const char *function = v[3].text;
	thread_begin(w, v);
	word_put(w->out, v[2].text);
	if (v[3].type == SQL_TEXT) {
		fputc('\t', w->out);
		line_put(w->out, function);
	}
	if (v[3].type == SQL_TEXT && !strncmp(function, "0x", 2)) {
		fputs("+0x0", w->out);
	} else if (v[3].type == SQL_TEXT) {
		fprintf(w->out, "\t%" PRId64 "\t", v[5].type == SQL_INTEGER ? v[5].integer : 0);
		codexl_put_text(w->out, v[4].type == SQL_TEXT ? v[4].text : "NULL", CODEXL_PUT_NAME,
			SIZE_MAX);
	}
	fputc('\n', w->out);
	return ferror(w->out) ? -EPIPE : 0;
}

/* ---- OpenCL ---- */

enum {
	C_THREAD,
	C_LINES,
	C_NAME,
	C_NUMBER,
	C_START,
	C_END,
	C_TYPE, /* NULL = the call has no command with times */
	C_COMMAND,
	C_QUEUED,
	C_SUBMITTED,
	C_DEVICE_START,
	C_DEVICE_END,
	C_STREAM,
	C_QUEUE,
	C_CONTEXT_ID,
	C_CONTEXT,
	C_DEVICE,
	C_COLUMNS,
	C_HANDLE,
	C_KERNEL,
	C_GLOBAL,
	C_LOCAL,
	C_BYTES,
	C_FIELDS
};

static void word_column_put(FILE *out, const char *text, size_t width)
{
	codexl_put_padding(out, word_put(out, text), width);
}

/* Write the columns of a command after those of its call. */
static void command_put(const struct writing *w, const struct sql_value *v)
{
	codexl_put_number(w->out, v[C_TYPE].integer, 8);
	word_column_put(w->out, v[C_COMMAND].text, 40);
	for (int i = C_QUEUED; i <= C_DEVICE_END; i++)
		codexl_put_number(w->out, absolute(w, &v[i]), 21);
	codexl_put_number(w->out, v[C_STREAM].integer, 10);
	codexl_put_handle(w->out, (uint64_t)v[C_QUEUE].integer, 25);
	codexl_put_number(w->out, v[C_CONTEXT_ID].integer, 10);
	codexl_put_handle(w->out, (uint64_t)v[C_CONTEXT].integer, 25);
	word_column_put(w->out, v[C_DEVICE].text, 30);
	if (v[C_COLUMNS].integer == CODEXL_BYTES_COLUMN)
		codexl_put_number(w->out, v[C_BYTES].integer, 20);
	if (v[C_COLUMNS].integer == CODEXL_KERNEL_COLUMNS ||
		v[C_COLUMNS].integer == CODEXL_HANDLE_COLUMN)
		codexl_put_handle(w->out, (uint64_t)v[C_HANDLE].integer, 25);
	if (v[C_COLUMNS].integer != CODEXL_KERNEL_COLUMNS)
		return;
	word_column_put(w->out, v[C_KERNEL].text, 10);
	codexl_put_column(w->out, v[C_GLOBAL].text, CODEXL_PUT_LINE, 14);
	codexl_put_column(w->out, v[C_LOCAL].text, CODEXL_PUT_LINE, 13);
}

static int opencl_time_row(void *user, const struct sql_value *v, int count)
{
	struct writing *w = user;
	if (count != C_FIELDS)
		return 0;
	thread_begin(w, v);
	codexl_put_number(w->out, v[C_NUMBER].integer, 5);
	word_column_put(w->out, v[C_NAME].text, 45);
	fprintf(w->out, "%-21" PRId64 "%-21" PRId64, absolute(w, &v[C_START]),
		absolute(w, &v[C_END]));
	if (v[C_TYPE].type == SQL_INTEGER) {
		command_put(w, v);
		w->opencl_commands++;
	}
	fputc('\n', w->out);
	w->opencl_calls++;
	return ferror(w->out) ? -EPIPE : 0;
}

static int opencl_call_row(void *user, const struct sql_value *v, int count)
{
	struct writing *w = user;
	if (count != 5)
		return 0;
	thread_begin(w, v);
	line_put(w->out, v[3].text);
	fputs(" = ", w->out);
	word_put(w->out, v[2].text);
	fputs(" ( ", w->out);
	line_put(w->out, v[4].text);
	fputs(" )\n", w->out);
	return ferror(w->out) ? -EPIPE : 0;
}

/* Columns: device, key, value. */
static int device_row(void *user, const struct sql_value *v, int count)
{
	const struct writing *w = user;
	if (count != 3)
		return 0;
	fputs("Device ", w->out);
	word_put(w->out, v[0].text);
	fprintf(w->out, " %s = ", v[1].text);
	line_put(w->out, v[2].text);
	fputc('\n', w->out);
	return ferror(w->out) ? -EPIPE : 0;
}

static const char opencl_devices[] =
	"WITH d AS (SELECT n.value AS name, pv.value AS vendor, p.value AS platform, "
	"v.value AS version, r.value AS driver, g.addressBits AS bits "
	"FROM (SELECT * FROM LIBTRACE_OPENCL_DEVICE GROUP BY nameId) AS g "
	"LEFT JOIN StringIds AS n ON n.id = g.nameId "
	"LEFT JOIN StringIds AS pv ON pv.id = g.platformVendorId "
	"LEFT JOIN StringIds AS p ON p.id = g.platformId "
	"LEFT JOIN StringIds AS v ON v.id = g.platformVersionId "
	"LEFT JOIN StringIds AS r ON r.id = g.driverVersionId) "
	"SELECT name, 'Platform Vendor', vendor FROM d UNION ALL "
	"SELECT name, 'Platform Name', platform FROM d UNION ALL "
	"SELECT name, 'Platform Version', version FROM d UNION ALL "
	"SELECT name, 'CLDriver Version', driver FROM d UNION ALL "
	"SELECT name, 'NumberAppAddressBits', bits || '' FROM d";

enum {
	K_COUNT,
	K_NAME,
	K_HANDLE,
	K_START,
	K_END,
	K_DEVICE,
	K_DEVICE_ID,
	K_STREAM,
	K_CORRELATION,
	K_SIZES,
	K_FIELDS
};

static int kernel_row(void *user, const struct sql_value *v, int count)
{
	struct writing *w = user;
	if (count != K_FIELDS)
		return 0;
	bool first = !w->rows;
	section_begin(w);
	if (first)
		fprintf(w->out, "%" PRId64 "\n", v[K_COUNT].integer);
	symbol_put(w->out, v[K_NAME].text, 50);
	fprintf(w->out, "0x%-19" PRIX64 "%-21" PRId64 "%-21" PRId64, (uint64_t)v[K_HANDLE].integer,
		absolute(w, &v[K_START]), absolute(w, &v[K_END]));
	codexl_put_padding(w->out, word_put(w->out, v[K_DEVICE].text), 64);
	fprintf(w->out, "0x%-19" PRIX64 "%-21" PRId64 "%-10" PRId64 "%-35s%-21" PRId64,
		(uint64_t)v[K_DEVICE_ID].integer + 1, v[K_STREAM].integer, v[K_DEVICE_ID].integer,
		"HSA_PACKET_TYPE_KERNEL_DISPATCH", v[K_CORRELATION].integer);
	line_put(w->out, v[K_SIZES].text);
	fputc('\n', w->out);
	return ferror(w->out) ? -EPIPE : 0;
}

static int marker_row(void *user, const struct sql_value *v, int count)
{
	struct writing *w = user;
	if (count != 6)
		return 0;
	thread_begin(w, v);
	int64_t time_ns = absolute(w, &v[2]);
	if (!v[3].integer) {
		fprintf(w->out, "%-20s%-20" PRId64 "\n", "clEndPerfMarker", time_ns);
		return ferror(w->out) ? -EPIPE : 0;
	}
	fprintf(w->out, "%-20s", "clBeginPerfMarker");
	codexl_put_column(
		w->out, v[4].text && *v[4].text ? v[4].text : "unknown", CODEXL_PUT_NAME, 50);
	fprintf(w->out, "%-20" PRId64 "   ", time_ns);
	codexl_put_text(w->out, v[5].text && *v[5].text ? v[5].text : CODEXL_DEFAULT_GROUP,
		CODEXL_PUT_NAME, SIZE_MAX);
	fputc('\n', w->out);
	return ferror(w->out) ? -EPIPE : 0;
}

static int timeline_write(struct writing *w, struct stats_database *d)
{
	const struct {
		const char *section, *statement;
		int (*row)(void *user, const struct sql_value *v, int count);
	} parts[] = {
		{"ocl API Trace Output",
			"SELECT c.globalTid, l.calls, c.name, c.result, coalesce(c.arguments, '') "
			"FROM CODEXL_OPENCL AS c JOIN CODEXL_OPENCL_LINES AS l "
			"ON l.globalTid = c.globalTid ORDER BY c.rowid",
			opencl_call_row},
		{"ocl Timestamp Output",
			"SELECT c.globalTid, l.calls, c.name, c.type, c.start, c.\"end\", d.type, "
			"d.command, d.queued, d.submitted, d.start, d.\"end\", d.streamId, "
			"d.queue, d.contextId, d.context, d.device, d.columns, d.handle, d.kernel, "
			"d.global, d.local, d.bytes FROM CODEXL_OPENCL AS c "
			"JOIN CODEXL_OPENCL_LINES AS l ON l.globalTid = c.globalTid "
			"LEFT JOIN CODEXL_COMMANDS AS d ON d.process = c.globalTid >> 24 "
			"AND d.number = c.command ORDER BY c.rowid",
			opencl_time_row},
		{"hsa API Trace Output",
			"SELECT c.globalTid, l.calls, n.name, c.source, c.result, "
			"coalesce(a.arguments, 'object=' || c.object) FROM CODEXL_CALLS AS c "
			"JOIN CODEXL_LINES AS l ON l.globalTid = c.globalTid "
			"JOIN CODEXL_NAMES AS n ON n.source = c.source AND n.id = c.nameId "
			"LEFT JOIN CODEXL_LAUNCHES AS a ON a.process = c.globalTid >> 24 "
			"AND a.correlationId = c.correlationId ORDER BY c.rowid",
			call_row},
		{"hsa Timestamp Output",
			"SELECT c.globalTid, l.calls, n.name, c.source, c.start, c.\"end\" "
			"FROM CODEXL_CALLS AS c "
			"JOIN CODEXL_LINES AS l ON l.globalTid = c.globalTid "
			"JOIN CODEXL_NAMES AS n ON n.source = c.source AND n.id = c.nameId "
			"ORDER BY c.rowid",
			time_row},
		{"hsa Kernel Timestamp Output",
			"SELECT (SELECT count(*) FROM CODEXL_KERNELS), name, handle, start, "
			"\"end\", device, deviceId, "
			"streamId, coalesce(correlationId, 0), '{grid_size={' || gridX * blockX || "
			"',' "
			"|| gridY * blockY || ',' || gridZ * blockZ || '};workgroup_size={' || "
			"blockX "
			"|| ',' || blockY || ',' || blockZ || '}}' FROM CODEXL_KERNELS ORDER BY "
			"rowid",
			kernel_row},
		{"hsa Stack Trace Output",
			"SELECT c.globalTid, l.calls, n.name, k.function, k.file, k.line "
			"FROM CODEXL_CALLS AS c "
			"JOIN CODEXL_LINES AS l ON l.globalTid = c.globalTid "
			"JOIN CODEXL_NAMES AS n ON n.source = c.source AND n.id = c.nameId "
			"LEFT JOIN CODEXL_CALLERS AS k ON k.source = c.source "
			"AND k.chain = c.chain AND k.nameId = c.nameId ORDER BY c.rowid",
			caller_row},
		{"Perfmarker Output",
			"SELECT m.globalTid, l.markers, m.time, m.is_begin, m.text, m.domain "
			"FROM CODEXL_MARKERS AS m JOIN CODEXL_LINES AS l "
			"ON l.globalTid = m.globalTid ORDER BY m.rowid",
			marker_row},
	};
	struct header header = {w->out, "", true};
	fputs("TraceFileVersion=3.2\nProfilerVersion=" LIBTRACE_VERSION "\n", w->out);
	int error = header_put(&header, d);
	fputs("CLExcludedAPIs=\nHSAExcludedAPIs=\n", w->out);
	if (!error)
		error = query(d, w, opencl_devices, device_row);
	for (size_t i = 0; !error && i < sizeof(parts) / sizeof(parts[0]); i++) {
		w->section = parts[i].section;
		error = query(d, w, parts[i].statement, parts[i].row);
	}
	return error;
}

/* ---- kernels ---- */

enum {
	O_TID,
	O_NAME,
	O_DEVICE,
	O_DEVICE_ID,
	O_KIND,
	O_GRID_X,
	O_GRID_Y,
	O_GRID_Z,
	O_BLOCK_X,
	O_BLOCK_Y,
	O_BLOCK_Z,
	O_REGISTERS,
	O_SHARED,
	O_NS,
	O_SMS,
	O_WARPS,
	O_BLOCKS,
	O_SM_REGISTERS,
	O_SM_SHARED,
	O_WARP,
	O_BLOCK_MAX,
	O_GRID_MAX,
	O_MAJOR,
	O_MINOR,
	O_FIELDS
};

static const char kernels[] =
	"SELECT tid, name, device, deviceId, dense_rank() OVER (ORDER BY handle), gridX, gridY, "
	"gridZ, blockX, blockY, blockZ, registers, shared, \"end\" - start, smCount, "
	"maxWarpsPerSm, "
	"maxBlocksPerSm, maxRegistersPerSm, maxShmemPerSm, threadsPerWarp, maxThreadsPerBlock, "
	"maxGridDimX, computeMajor, computeMinor FROM CODEXL_KERNELS ORDER BY rowid";

static uint64_t number(const struct sql_value *v)
{
	return v->type == SQL_INTEGER && v->integer > 0 ? (uint64_t)v->integer : 0;
}

static uint32_t number32(const struct sql_value *v)
{
	return number(v) < UINT32_MAX ? (uint32_t)number(v) : UINT32_MAX;
}

/* Compute the occupancy of a kernel. Returns 0, or -EINVAL if too little is known about the
 * device. */
static int kernel_occupancy(const struct sql_value *v, struct occupancy_device *ret_device,
	struct occupancy *ret_occupancy)
{
	const struct occupancy_kernel kernel = {.block_threads = number32(&v[O_BLOCK_X]) *
			number32(&v[O_BLOCK_Y]) * number32(&v[O_BLOCK_Z]),
		.registers = number32(&v[O_REGISTERS]),
		.shared_bytes = number(&v[O_SHARED])};
	*ret_device = (struct occupancy_device){.major = number32(&v[O_MAJOR]),
		.minor = number32(&v[O_MINOR]),
		.warp_threads = number32(&v[O_WARP]),
		.warps = number32(&v[O_WARPS]),
		.blocks = number32(&v[O_BLOCKS]),
		.registers = number32(&v[O_SM_REGISTERS]),
		.shared_bytes = number(&v[O_SM_SHARED]),
		.reserved_bytes = number(&v[O_MAJOR]) >= 8 ? 1024 : 0};
	*ret_occupancy = (struct occupancy){0};
	return occupancy_of(ret_device, &kernel, ret_occupancy);
}

static double percent(const struct occupancy_device *d, const struct occupancy *o)
{
	return d->warps ? 100.0 * o->active_warps / d->warps : 0;
}

static int counters_row(void *user, const struct sql_value *v, int count)
{
	struct writing *w = user;
	struct occupancy_device device;
	struct occupancy occupancy;
	if (count != O_FIELDS)
		return 0;
	w->rows++;
	cell_put(w->out, v[O_NAME].text);
	fprintf(w->out, "__k%" PRId64 "_", v[O_KIND].integer);
	word_put(w->out, v[O_DEVICE].text);
	fprintf(w->out, "%" PRIu64 ", %" PRIu64 ", ", (uint64_t)v[O_DEVICE_ID].integer + 1,
		w->rows);
	if (v[O_TID].type == SQL_INTEGER)
		fprintf(w->out, "%" PRId64, v[O_TID].integer);
	else
		fputs("NA", w->out);
	fprintf(w->out, ", {%7" PRIu64 " %7" PRIu64 " %7" PRIu64 "}",
		number(&v[O_GRID_X]) * number(&v[O_BLOCK_X]),
		number(&v[O_GRID_Y]) * number(&v[O_BLOCK_Y]),
		number(&v[O_GRID_Z]) * number(&v[O_BLOCK_Z]));
	fprintf(w->out,
		", {%5" PRIu64 " %5" PRIu64 " %5" PRIu64 "}, %" PRIu64 ", %" PRIu64 ", NA, ",
		number(&v[O_BLOCK_X]), number(&v[O_BLOCK_Y]), number(&v[O_BLOCK_Z]),
		number(&v[O_SHARED]), number(&v[O_REGISTERS]));
	if (kernel_occupancy(v, &device, &occupancy))
		fputs("NA", w->out);
	else
		fprintf(w->out, "%.6g", percent(&device, &occupancy));
	fprintf(w->out, ", %.5f\n", (double)v[O_NS].integer / 1e6);
	return ferror(w->out) ? -EPIPE : 0;
}

static int counters_write(struct writing *w, struct stats_database *d)
{
	struct header header = {w->out, "#", false};
	fputs("#ProfileFileVersion=5.6\n#ProfilerVersion=" LIBTRACE_VERSION "\n#API=HSA\n", w->out);
	int error = header_put(&header, d);
	fputs("#ListSeparator=,\n#ForceSinglePass=False\nMethod, ExecutionOrder, ThreadID, "
	      "GlobalWorkSize, WorkGroupSize, LocalMemSize, VGPRs, SGPRs, KernelOccupancy, Time\n",
		w->out);
	return error ? error : query(d, w, kernels, counters_row);
}

/* Write the columns of the reference format. SGPRs do not exist on these devices: none are used,
 * and they limit nothing. */
static int occupancy_row(void *user, const struct sql_value *v, int count)
{
	struct writing *w = user;
	struct occupancy_device d;
	struct occupancy o;
	if (count != O_FIELDS)
		return 0;
	w->rows++;
	int unknown = kernel_occupancy(v, &d, &o);
	uint64_t block = number(&v[O_BLOCK_X]) * number(&v[O_BLOCK_Y]) * number(&v[O_BLOCK_Z]),
		 grid = number(&v[O_GRID_X]) * number(&v[O_GRID_Y]) * number(&v[O_GRID_Z]),
		 block_most = number(&v[O_BLOCK_MAX]);
	fprintf(w->out, "%" PRIu64 ",", number(&v[O_TID]));
	cell_put(w->out, v[O_NAME].text);
	fputc(',', w->out);
	cell_put(w->out, v[O_DEVICE].text);
	fprintf(w->out, ",%u,%u,%u,%u,0,%" PRIu64 ",%u,0,%" PRIu64 ",%u,%" PRIu64 ",%u,",
		number32(&v[O_SMS]), d.warps, d.blocks, REGISTERS_MAX, d.shared_bytes,
		number32(&v[O_REGISTERS]), number(&v[O_SHARED]), d.warp_threads, block,
		o.block_warps);
	fprintf(w->out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%u,%u,%u,%u,%.6g,%u,%u\n",
		block_most, d.warp_threads ? (block_most + d.warp_threads - 1) / d.warp_threads : 0,
		unknown ? 0 : grid * block, number(&v[O_GRID_MAX]), o.register_warps,
		unknown ? 0 : d.warps, o.shared_warps, o.block_limit_warps, percent(&d, &o),
		d.major, occupancy_partitions(&d));
	return ferror(w->out) ? -EPIPE : 0;
}

/* Columns: executable, arguments, number of kernels. */
static int occupancy_header(void *user, const struct sql_value *v, int count)
{
	const struct writing *w = user;
	const struct header header = {w->out, "# ", false};
	const char *arguments = v[1].text ? v[1].text : "", *blank = strchr(arguments, ' ');
	if (count != 3)
		return 0;
	header_line(&header, "ProfilerVersion", LIBTRACE_VERSION);
	header_line(&header, "Application", v[0].text);
	header_line(&header, "ApplicationArgs", blank ? blank + 1 : "");
	header_line(&header, "ListSeparator", ",");
	header_line(&header, "KernelCount", v[2].text);
	return 0;
}

static int occupancy_write(struct writing *w, struct stats_database *d)
{
	static const char of_report[] =
		"SELECT executable, arguments, (SELECT count(*) FROM CODEXL_KERNELS) FROM "
		"main.LIBTRACE_PROCESS ORDER BY start LIMIT 1",
			  other[] = "SELECT '', '', (SELECT count(*) FROM CODEXL_KERNELS)";
	int has = sql_has(&d->sql, "LIBTRACE_PROCESS", "arguments");
	int error = has < 0 ? has : query(d, w, has ? of_report : other, occupancy_header);
	fputs("Thread ID,Kernel Name,Device Name,Number of compute units,Max. number of wavefronts "
	      "per CU,Max. number of work-group per CU,Max. number of VGPR,Max. number of "
	      "SGPR,Max. "
	      "amount of LDS,Number of VGPR used,Number of SGPR used,Amount of LDS used,Size of "
	      "wavefront,Work-group size,Wavefronts per work-group,Max work-group size,Max "
	      "wavefronts per work-group,Global work size,Maximum global work size,Nbr "
	      "VGPR-limited "
	      "waves,Nbr SGPR-limited waves,Nbr LDS-limited waves,Nbr of WG-limited waves,Kernel "
	      "occupancy,Graphics IP Version,Number of SIMDs per CU\n",
		w->out);
	return error ? error : query(d, w, kernels, occupancy_row);
}

/* Write a report that this program recorded, through a temporary database. */
static int write_recorded(FILE *out, struct cli_report *r, const struct options *o,
	const char *format, uint64_t *events)
{
	static const char *const before[] = {"nvtx", "osrt", "codexl", "codexl_opencl"};
	const struct stats_form form = {.symbol_path = o->value[OPT_export_symbol_path],
		.no_wait = o->value[OPT_export_no_wait],
		.window = {.all = true}};
	struct stats_database d;
	struct writing w = {.out = out};
	if (stats_database_open(&d, r->path, &form, o->value[OPT_export_no_symbols]))
		return -EIO;
	r->problems += d.status == STATUS_DAMAGED;
	int error = 0;
	for (size_t i = 0; !error && i < sizeof(before) / sizeof(before[0]); i++)
		error = sql_run(&d.sql, report_shared(before[i]), NULL);
	if (!error)
		error = origin_find(&d, &w);
	if (!error)
		error = !strcmp(format, "atp")   ? timeline_write(&w, &d)
			: !strcmp(format, "csv") ? counters_write(&w, &d)
						 : occupancy_write(&w, &d);
	if (!error)
		error = codexl_left_out_print(&d, format, events);
	if (error)
		sql_file_failed(&d.sql, r->path, "convert it to this format", error);
	stats_database_close(&d);
	events[KIND_FUNCTION_CALL] -= w.opencl_calls;
	events[KIND_OPENCL_COMMAND] -= w.opencl_commands;
	return !error && !w.all_rows ? -ENODATA : error;
}

int export_codexl(FILE *out, struct cli_report *r, const struct options *o, const char *format,
	const struct contents_visitor *visitor)
{
	const struct contents_visitor look = {r, stop_or_progress, NULL, NULL};
	const enum codexl_format which = !strcmp(format, "atp") ? CODEXL_TIMELINE
		: !strcmp(format, "csv")                        ? CODEXL_COUNTERS
								: CODEXL_OCCUPANCY;
	uint64_t events[SCHEMA_KINDS];
	int error = export_codexl_back(out, r, which, &look, events);
	if (!error)
		return export_codexl_back(out, r, which, visitor, events);
	if (error < 0)
		return error;
	error = write_recorded(out, r, o, codexl_format_name(which), events);
	if (!error)
		codexl_others_print(r->path, which, events);
	return error;
}
