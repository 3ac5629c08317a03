/* SPDX-License-Identifier: Apache-2.0 */
/* facts.c - small tables about a report and the export. */
#define _GNU_SOURCE
#include "reader/export/sqlite/facts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef HAVE_SQLITE
#include <sqlite3.h>
#endif

#include "reader/export/sqlite/enums.h"
#include "reader/export/sqlite/export_state.h"
#include "reader/export/generic/events.h"
#include "reader/export/generic/images.h"
#include "reader/export/generic/machine_samples.h"
#include "reader/export/generic/vulkan_pipelines.h"

/* Version of the schema of each generation, and of the product, which some tools parse. */
static const struct {
	const char *schema, *major, *minor, *micro, *product, *date;
} versions[NSYS_GENERATIONS] = {[NSYS_3_24] = {"3.24.18", "3", "24", "18", "2026.1.3.0", "2026.1"},
	[NSYS_3_4] = {"3.4.0", "3", "4", "0", "2023.3.1.0", "2023.3"},
	[NSYS_2_9] = {"2.9.1", "2", "9", "1", "2022.1.3.0", "2022.1"}};

/* ENUM_DIAGNOSTIC_* */
enum { SOURCE_INJECTION = 1, SOURCE_ANALYSIS = 3, SEVERITY_WARNING = 2, TARGET_TIMESTAMP = 1 };

#define OF_NO_PROCESS (-(INT64_C(1) << 57)) /* globalPid that nsys uses for "no process" */

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	return slash ? slash + 1 : path;
}

/* Map each process to the index + 1 of the row of the last program it ran. */
static int programs_find(const struct sqlite_export *x, struct map *ret_programs)
{
	const struct process_list *l = &x->contents.processes;
	int error = 0;
	for (uint32_t i = 0; !error && i < l->count; i++) {
		const Libtrace__Process *f = l->rows[i]->facts;
		const uint64_t pid = (uint64_t)global_id(&x->threads, l->rows[i], 0);
		uint32_t found = map_get(ret_programs, pid, 0);
		if (!found || l->rows[found - 1]->facts->start_ns <= f->start_ns)
			error = map_put(ret_programs, pid, 0, i + 1);
	}
	return error;
}

/* Write the name of the process with a global id; if it is not known, "[Unknown]", as nsys does. */
static void program_name(struct process_list *l, const struct map *programs, int64_t global_pid,
	char ret_name[PROCESS_NAME_BYTES])
{
	uint32_t found = map_get(programs, (uint64_t)global_pid, 0);
	strcpy(ret_name, "?");
	if (found)
		process_name(l, l->rows[found - 1], ret_name);
	if (!strcmp(ret_name, "?"))
		strcpy(ret_name, "[Unknown]");
}

/* Name threads without a name after their program, as the kernel does. */
static int unnamed_threads_name(struct sqlite_export *x, const struct map *programs)
{
	int error = 0;
	for (uint32_t i = 0; !error && i < x->threads.count; i++) {
		struct export_thread *t = &x->threads.rows[i];
		const int64_t pid = t->global_tid & ~INT64_C(0xffffff);
		uint32_t text = 0;
		char name[PROCESS_NAME_BYTES];
		if (t->name ||
			((t->global_tid & GLOBAL_VID_BITS) != x->threads.vid &&
				!map_get(programs, (uint64_t)pid, 0)))
			continue;
		program_name(&x->contents.processes, programs, pid, name);
		error = text_id(&x->texts, name, &text);
		t->name = text + 1;
	}
	return error;
}

/* Write a row of PROCESSES for each process. */
static int processes_put(struct sqlite_export *x)
{
	struct map programs = {0};
	char name[PROCESS_NAME_BYTES];
	struct process_list *l = &x->contents.processes;
	int error = programs_find(x, &programs);
	for (uint32_t i = 0; !error && i < l->count; i++) {
		const int64_t pid = global_id(&x->threads, l->rows[i], 0);
		program_name(l, &programs, pid, name);
		if (map_get(&programs, (uint64_t)pid, 0) == i + 1)
			error = database_row(&x->database, "PROCESSES", "iit", pid,
				(int64_t)l->rows[i]->facts->pid, name);
	}
	if (!error)
		error = unnamed_threads_name(x, &programs);
	map_release(&programs);
	return error;
}

/* Return the process that had the pid at a time, else the first process that ever had the pid;
 * NULL = not found. */
static const struct process *process_at(const struct sqlite_export *x, uint32_t pid, uint64_t ns)
{
	const struct process *found = NULL;
	const struct process_list *l = &x->contents.processes;
	for (size_t i = 0; i < l->count; i++)
		if (l->rows[i]->facts->pid == pid &&
			(!found ||
				(l->rows[i]->facts->start_ns <= ns &&
					l->rows[i]->facts->start_ns >= found->facts->start_ns)))
			found = l->rows[i];
	return found;
}

/* Return the arguments, separated by blanks, as a text that the caller frees. */
static char *arguments_text(const Libtrace__Process *f)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	for (size_t i = 0; out && i < f->n_arguments; i++) {
		if (i)
			fputc(' ', out);
		if (f->arguments[i].len)
			fwrite(f->arguments[i].data, 1, f->arguments[i].len, out);
	}
	return out && !fclose(out) ? text : NULL;
}

static const char PROCESS_COLUMNS[] =
	"globalPid INTEGER NOT NULL, processId INTEGER NOT NULL, pid INTEGER, parentPid INTEGER, "
	"previousId INTEGER, start INTEGER, end INTEGER, executable TEXT, workDirectory TEXT, "
	"arguments TEXT, argumentsTruncated INTEGER, endHow TEXT, exitStatus INTEGER, traced TEXT, "
	"reason TEXT, forked INTEGER, uid INTEGER, threshold INTEGER, dropped INTEGER, name TEXT";

static int process_put(struct sqlite_export *x, const struct process *p)
{
	static const char *const ends[] = {"running", "exit", "exec", "killed"},
				 *const traced[] = {"yes", "no", "partly"};
	const Libtrace__Process *f = p->facts;
	char *arguments = arguments_text(f), name[PROCESS_NAME_BYTES];
	if (!arguments)
		return -ENOMEM;
	process_name(&x->contents.processes, p, name);
	/* globalPid processId pid | parentPid previousId start end | executable workDirectory
	 * arguments | argumentsTruncated | endHow | exitStatus | traced reason | forked | uid
	 * threshold | dropped name */
	int error = database_row(&x->database, "LIBTRACE_PROCESS",
		"iii"
		"oooo"
		"ttt"
		"i"
		"t"
		"o"
		"tt"
		"i"
		"oo"
		"it",
		global_id(&x->threads, p, 0), (int64_t)p->id, (int64_t)f->pid, f->has_parent_pid,
		(int64_t)f->parent_pid, f->has_previous_id, (int64_t)f->previous_id,
		f->has_start_ns, export_time(x, f->start_ns), f->has_end_ns,
		export_time(x, f->end_ns), f->executable, f->work_directory, arguments,
		(int64_t)f->arguments_truncated,
		f->has_end && (unsigned)f->end < 4 ? ends[f->end] : NULL, f->has_exit_status,
		(int64_t)f->exit_status, (unsigned)f->traced < 3 ? traced[f->traced] : NULL,
		f->reason, (int64_t)f->forked, f->has_uid, (int64_t)f->uid, f->has_threshold_ns,
		(int64_t)f->threshold_ns, (int64_t)process_dropped(p), name);
	free(arguments);
	return error;
}

static const char RECEIPT_COLUMNS[] =
	"globalPid INTEGER NOT NULL, processId INTEGER NOT NULL, produced INTEGER, "
	"written INTEGER, summarized INTEGER, abandoned INTEGER, unfinished INTEGER, "
	"impossibleTimes INTEGER, tracer INTEGER, clockError INTEGER, "
	"clockBreaks INTEGER, unaccounted INTEGER, callchains INTEGER, callchainsCut INTEGER";
static const char DROP_COLUMNS[] =
	"globalPid INTEGER NOT NULL, processId INTEGER NOT NULL, reason TEXT, count INTEGER, "
	"first INTEGER, last INTEGER";

static const char CPU_RECEIPT_COLUMNS[] =
	"globalPid INTEGER NOT NULL, processId INTEGER NOT NULL, frequency INTEGER, "
	"samples INTEGER, sampledTime INTEGER, processTime INTEGER, threads INTEGER, "
	"blocked INTEGER, threadsRefused INTEGER, off TEXT";

/* Write what became of the CPU samples of a process, where they were requested. */
static int cpu_receipt_put(struct sqlite_export *x, const struct process *p)
{
	const Libtrace__CpuReceipt *c = p->receipt->cpu;
	int error =
		c ? database_table(&x->database, "LIBTRACE_CPU_RECEIPT", CPU_RECEIPT_COLUMNS) : 0;
	if (!c || error)
		return error;
	return database_row(&x->database, "LIBTRACE_CPU_RECEIPT", "iiiiioiiit",
		global_id(&x->threads, p, 0), (int64_t)p->id, (int64_t)c->frequency,
		(int64_t)c->samples, (int64_t)c->sampled_ns, c->process_ns != 0,
		(int64_t)c->process_ns, (int64_t)c->threads, (int64_t)c->blocked,
		(int64_t)c->threads_refused, c->off);
}

static int receipt_put(struct sqlite_export *x, const struct process *p)
{
	const Libtrace__Receipt *t = p->receipt;
	int64_t pid = global_id(&x->threads, p, 0), id = p->id;
	int error = database_row(&x->database, "LIBTRACE_RECEIPT", "iiiiiiiiiiiiii", pid, id,
		(int64_t)t->produced, (int64_t)t->written, (int64_t)t->summarized,
		(int64_t)t->abandoned, (int64_t)t->unfinished, (int64_t)t->impossible_times,
		(int64_t)t->tracer_ns, (int64_t)t->clock_error_ns, (int64_t)t->clock_breaks,
		(int64_t)t->unaccounted, (int64_t)t->callchains, (int64_t)t->callchains_cut);
	if (!error)
		error = cpu_receipt_put(x, p);
	for (size_t i = 0; !error && i < t->n_drops; i++) {
		const Libtrace__Drop *d = t->drops[i];
		error = database_table(&x->database, "LIBTRACE_DROP", DROP_COLUMNS);
		if (!error)
			error = database_row(&x->database, "LIBTRACE_DROP", "iitioo", pid, id,
				schema_drop(d->reason), (int64_t)d->count, d->first_ns != 0,
				export_time(x, d->first_ns), d->last_ns != 0,
				export_time(x, d->last_ns));
	}
	return error;
}

/* Write a warning to the table in which nsys reports missing data. */
static int warning_put(
	struct sqlite_export *x, int64_t source, int64_t ns, const char *text, int64_t pid)
{
	return database_row(&x->database, "DIAGNOSTIC_EVENT", "iiiiti", ns,
		(int64_t)TARGET_TIMESTAMP, source, (int64_t)SEVERITY_WARNING, text, pid);
}

static int process_facts_put(struct sqlite_export *x, const struct process *p)
{
	char text[200];
	uint64_t dropped = process_dropped(p);
	int64_t pid = global_id(&x->threads, p, 0);
	int error = process_put(x, p);
	if (!error && p->receipt)
		error = receipt_put(x, p);
	if (error)
		return error;
	if (dropped)
		snprintf(text, sizeof(text), "%llu events of process %u are missing",
			(unsigned long long)dropped, p->facts->pid);
	else if (p->facts->traced != LIBTRACE__TRACED__TRACED_YES)
		snprintf(text, sizeof(text), "process %u was %s: %.120s", p->facts->pid,
			p->facts->traced == LIBTRACE__TRACED__TRACED_NO ? "not traced"
									: "traced partly",
			p->facts->reason ? p->facts->reason : "");
	else
		return 0;
	return warning_put(x, SOURCE_ANALYSIS, 0, text, pid);
}

static int diagnostics_put(struct sqlite_export *x)
{
	const struct contents *c = &x->contents;
	int error = 0;
	for (uint64_t i = 0; !error && i < c->diagnostic_count && i < DIAGNOSTICS_KEPT; i++) {
		const Libtrace__Diagnostic *d = c->diagnostics[i];
		const struct process *of = process_at(x, d->pid, d->time_ns);
		error = warning_put(x, SOURCE_INJECTION, export_time(x, d->time_ns),
			d->text ? d->text : "", of ? global_id(&x->threads, of, 0) : OF_NO_PROCESS);
	}
	if (!error && (c->tally.problems || c->tally.torn_bytes))
		error = warning_put(x, SOURCE_ANALYSIS, 0,
			"the report is damaged or truncated; events may be missing",
			x->threads.vid);
	if (!error && (x->source->report->unfinished || processes_unended(&c->processes)))
		error = warning_put(x, SOURCE_ANALYSIS, 0,
			"the report was not finished; events may be missing", x->threads.vid);
	return error;
}

static int environment_put(
	struct sqlite_export *x, int64_t vid, const char *name, int64_t number, const char *value)
{
	return value && *value ? database_row(&x->database, "TARGET_INFO_SYSTEM_ENV", "ittit", vid,
					 "Local (CLI)", name, number, value)
			       : 0;
}

static int session_put(struct sqlite_export *x, int64_t vid, const Libtrace__Session *s)
{
	char cores[16], driver[16] = "";
	if (!s)
		return 0;
	const char *machine = session_fact(s, "machine");
	if (!machine) /* versions without this fact ran on x86-64 only */
		machine = "x86_64";
	snprintf(cores, sizeof(cores), "%u", s->cpu_count);
	if (x->cuda.driver)
		snprintf(driver, sizeof(driver), "%u", x->cuda.driver);
	const struct {
		const char *name;
		int64_t number;
		const char *value;
	} rows[] = {{"CpuCores", 1, cores}, {"CpuArchitecture", 3, machine},
		{"CpuDescription", 13, s->processor},
		{"IsX86BasedDevice", 506, strcmp(machine, "x86_64") ? "0" : "1"},
		{"HardwarePlatform", 600, machine}, {"CudaDriverVersion", 611, driver},
		{"SoftwareReleaseVersion", 618, s->kernel}, {"Hostname", 619, s->hostname},
		{"HasNvtxEvents", 809, "1"}, {"HasCudaEvents", 812, "1"},
		{"HasOSRuntimeEvents", 815, "1"}};
	int error = 0;
	for (size_t i = 0; !error && i < sizeof(rows) / sizeof(rows[0]); i++)
		error = environment_put(x, vid, rows[i].name, rows[i].number, rows[i].value);
	return error;
}

/* Write the machine of the report, or that of each report that it was merged from. */
static int sessions_put(struct sqlite_export *x)
{
	const struct contents *c = &x->contents;
	int error = c->merged_count ? 0 : session_put(x, x->threads.vid, c->session);
	for (uint32_t i = 0; !error && i < c->merged_count; i++)
		error = session_put(x, threads_report_vid(&x->threads, c->merged[i]->number),
			c->merged[i]->session);
	return error;
}

static int meta_put(struct sqlite_export *x, const char *table, const char *name, const char *value)
{
	return database_row(&x->database, table, "tt", name, value);
}

static int meta_number_put(
	struct sqlite_export *x, const char *table, const char *name, uint64_t number)
{
	char text[24];
	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return meta_put(x, table, name, text);
}

static const char CAPTURE[] = "META_DATA_CAPTURE", EXPORT[] = "META_DATA_EXPORT";

static const struct process *process_first(const struct sqlite_export *x)
{
	const struct process_list *l = &x->contents.processes;
	const Libtrace__Session *s = x->contents.session;
	for (size_t i = 0; s && i < l->count; i++)
		if (l->rows[i]->facts->pid == s->root_pid)
			return l->rows[i];
	return l->count ? l->rows[0] : NULL;
}

/* Write the sources of the events in the report. */
static int sources_put(struct sqlite_export *x)
{
	static const struct {
		const char *type;
		uint32_t first, last; /* range of event kinds of this source */
	} sources[] = {{"Cuda", KIND_CUDA_API, KIND_CUDA_RECEIPT},
		{"NvtxEvents", KIND_NVTX_MARK, KIND_NVTX_SYNC},
		{"OSRuntime", KIND_OSRT_CALL, KIND_OSRT_SUMMARY}};
	int error = 0;
	for (size_t i = 0; !error && i < sizeof(sources) / sizeof(sources[0]); i++) {
		uint64_t events = 0;
		for (uint32_t kind = sources[i].first; kind <= sources[i].last; kind++)
			events += x->contents.events[kind];
		if (events)
			error = meta_put(x, CAPTURE, "CAPTURE_EVENT_TYPE", sources[i].type);
	}
	return error;
}

static int capture_put(struct sqlite_export *x)
{
	char name[48];
	const Libtrace__Session *s = x->contents.session;
	const struct process *p = process_first(x);
	const Libtrace__Process *f = p ? p->facts : NULL;
	int error = meta_put(x, CAPTURE, "DEVICE_ID", "Local (CLI)");
	if (!error)
		error = sources_put(x);
	if (!error && s)
		error = meta_put(x, CAPTURE, "DEVICE_DISPLAY_NAME", s->hostname);
	if (!error && f && f->has_threshold_ns)
		error = meta_number_put(
			x, CAPTURE, "OS_RUNTIME_OPTIONS:DURATION_THRESHOLD_NS", f->threshold_ns);
	if (!error && f && f->executable)
		error = meta_put(x, CAPTURE, "PROCESS_0:COMMAND", f->executable);
	if (!error && f && f->work_directory)
		error = meta_put(x, CAPTURE, "PROCESS_0:WORKING_DIR", f->work_directory);
	for (size_t i = 1; !error && f && i < f->n_arguments; i++) {
		char *text = strndup(f->arguments[i].len ? (const char *)f->arguments[i].data : "",
			f->arguments[i].len);
		snprintf(name, sizeof(name), "PROCESS_0:ARGUMENT_%zu", i - 1);
		error = text ? meta_put(x, CAPTURE, name, text) : -ENOMEM;
		free(text);
	}
	for (size_t i = 0; !error && s && i < s->n_options; i++)
		error = meta_put(x, CAPTURE, "LIBTRACE_OPTION", s->options[i]);
	for (size_t i = 0; !error && s && i < s->n_facts; i++)
		error = meta_put(x, CAPTURE, "LIBTRACE_FACT", s->facts[i]);
	return error;
}

static const char REPORT_COLUMNS[] =
	"globalVid INTEGER NOT NULL, file TEXT, hostname TEXT, bootId TEXT, start INTEGER, "
	"startClock INTEGER, libraryVersion TEXT, rootPid INTEGER, unfinished INTEGER, "
	"problems INTEGER, missingBlocks INTEGER";

static int report_put(struct sqlite_export *x)
{
	const struct contents *c = &x->contents;
	const Libtrace__Session *s = c->session;
	return database_row(&x->database, "LIBTRACE_REPORT", "itttiitoiii", x->threads.vid,
		x->source->report->name, s ? s->hostname : NULL, s ? s->boot_id : NULL,
		x->clock.shift_ns, (int64_t)x->clock.start_ns, s ? s->library_version : NULL,
		s != NULL, (int64_t)(s ? s->root_pid : 0), (int64_t)x->source->report->unfinished,
		(int64_t)c->tally.problems, (int64_t)c->tally.missing_blocks);
}

static const char MERGED_COLUMNS[] =
	"globalVid INTEGER NOT NULL, number INTEGER NOT NULL, file TEXT, hostname TEXT, "
	"bootId TEXT, host INTEGER, clockGroup INTEGER, clock TEXT, offset INTEGER, "
	"drift INTEGER, error INTEGER, errorEnds INTEGER, bounds INTEGER, complete INTEGER";

/* Write how far the clocks of two hosts can differ, for those before the host of a report. */
static int merged_pairs_put(struct sqlite_export *x, const Libtrace__Merged *m)
{
	int error = 0;
	for (size_t i = 0; !error && i < m->n_pair_error_ns && i < m->n_pair_error_ends_ns; i++)
		if (m->pair_error_ns[i] <= INT64_MAX && m->pair_error_ends_ns[i] <= INT64_MAX)
			error = database_row(&x->database, "LIBTRACE_MERGED_PAIR", "iiii",
				(int64_t)m->host, (int64_t)i + 1, (int64_t)m->pair_error_ns[i],
				(int64_t)m->pair_error_ends_ns[i]);
	return error;
}

/* Write the reports that the report was merged from. */
static int merged_put(struct sqlite_export *x)
{
	static const char *const clocks[] = {NULL, "same", "messages", "wall"};
	const struct contents *c = &x->contents;
	int error = c->merged_count
		? database_table(&x->database, "LIBTRACE_MERGED", MERGED_COLUMNS)
		: 0;
	if (!error && c->merged_count)
		error = database_table(&x->database, "LIBTRACE_MERGED_PAIR",
			"host INTEGER NOT NULL, otherHost INTEGER NOT NULL, error INTEGER, "
			"errorEnds INTEGER");
	for (uint32_t i = 0; !error && i < c->merged_count; i++) {
		const Libtrace__Merged *m = c->merged[i];
		char *name = strndup(m->name.len ? (const char *)m->name.data : "", m->name.len);
		error = name
			? database_row(&x->database, "LIBTRACE_MERGED", "iitttiitioooii",
				  threads_report_vid(&x->threads, m->number), (int64_t)m->number,
				  name, m->session->hostname, m->session->boot_id, (int64_t)m->host,
				  (int64_t)m->clock_group,
				  (unsigned)m->clock < 4 ? clocks[m->clock] : NULL, m->offset_ns,
				  m->has_drift_ppb, m->drift_ppb, m->has_error_ns,
				  (int64_t)m->error_ns, m->has_error_ends_ns,
				  (int64_t)m->error_ends_ns, (int64_t)m->bounds,
				  (int64_t)m->complete)
			: -ENOMEM;
		free(name);
		if (!error)
			error = merged_pairs_put(x, m);
	}
	return error;
}

int report_facts_write(struct sqlite_export *x)
{
	struct database *d = &x->database;
	int error = database_table(d, "LIBTRACE_REPORT", REPORT_COLUMNS);
	if (!error)
		error = database_table(d, "LIBTRACE_PROCESS", PROCESS_COLUMNS);
	if (!error)
		error = database_table(d, "LIBTRACE_RECEIPT", RECEIPT_COLUMNS);
	if (!error)
		error = report_put(x);
	if (!error)
		error = merged_put(x);
	if (!error)
		error = sessions_put(x);
	if (!error)
		error = capture_put(x);
	if (!error)
		error = processes_put(x);
	if (!error)
		error = images_put(x);
	for (size_t i = 0; !error && i < x->contents.processes.count; i++)
		error = process_facts_put(x, x->contents.processes.rows[i]);
	return error ? error : diagnostics_put(x);
}

static void time_text(char *out, size_t bytes, uint64_t real_ns, bool local, const char *form)
{
	time_t seconds = (time_t)(real_ns / 1000000000u);
	struct tm tm;
	*out = 0;
	if (local ? localtime_r(&seconds, &tm) : gmtime_r(&seconds, &tm))
		strftime(out, bytes, form, &tm);
}

static int times_put(struct sqlite_export *x)
{
	char utc[40], local[40];
	time_text(utc, sizeof(utc), x->clock.base_real_ns, false, "%Y-%m-%dT%H:%M:%S");
	time_text(local, sizeof(local), x->clock.base_real_ns, true, "%Y-%m-%dT%H:%M:%S");
	bool known = x->clock.base_real_ns != 0;
	int error = database_row(&x->database, "TARGET_INFO_SESSION_START_TIME", "otti", known,
		(int64_t)x->clock.base_real_ns, known ? utc : NULL, known ? local : NULL,
		(int64_t)x->clock.base_clock_ns);
	return error ? error
		     : database_row(&x->database, "ANALYSIS_DETAILS", "iiii",
			       (int64_t)(UINT64_C(1) << 48), x->clock.last_ns,
			       (int64_t)x->clock.base_clock_ns,
			       (int64_t)(x->clock.base_clock_ns + (uint64_t)x->clock.last_ns));
}

/* Write a key as spelled in its generation: without "PARAM_" in 2022, and "OUTUPT" for OUTPUT until
 * 2023. */
static int export_row_put(struct sqlite_export *x, const char *name, const char *value)
{
	static const char parameter[] = "EXPORT_PARAM_", output[] = "OUTPUT";
	char key[64];
	const enum nsys_generation g = x->database.generation;
	const bool older = g == NSYS_2_9 && !strncmp(name, parameter, sizeof(parameter) - 1);
	snprintf(key, sizeof(key), "%s%s", older ? "EXPORT_" : "",
		name + (older ? sizeof(parameter) - 1 : 0));
	char *misspelt = g == NSYS_3_24 ? NULL : strstr(key, output);
	if (misspelt)
		memcpy(misspelt, "OUTUPT", sizeof(output) - 1);
	return meta_put(x, EXPORT, key, value);
}

/* Write the tables in which nsys describes the export. */
static int export_put(struct sqlite_export *x)
{
	char utc[40], local[64], *path = realpath(x->job->sources[0].report->name, NULL), host[65];
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	time_text(utc, sizeof(utc), (uint64_t)now.tv_sec * 1000000000u, false, "%Y-%m-%dT%H:%M:%S");
	time_text(local, sizeof(local), (uint64_t)now.tv_sec * 1000000000u, true,
		"%Y-%m-%dT%H:%M:%S %z %Z");
	if (gethostname(host, sizeof(host)))
		*host = 0;
	host[sizeof(host) - 1] = 0;
	const enum nsys_generation g = x->database.generation;
	const char *in = x->job->sources[0].report->name, *out = x->database.name;
	const char *const rows[][2] = {{"EXPORT_PRODUCT_NAME", "libtrace"},
		{"EXPORT_PRODUCT_VERSION", versions[g].product},
		{"EXPORT_PRODUCT_DATE", versions[g].date}, {"LIBTRACE_VERSION", LIBTRACE_VERSION},
		{"EXPORT_SCHEMA_VERSION", versions[g].schema},
		{"EXPORT_SCHEMA_VERSION_MAJOR", versions[g].major},
		{"EXPORT_SCHEMA_VERSION_MINOR", versions[g].minor},
		{"EXPORT_SCHEMA_VERSION_MICRO", versions[g].micro},
		{"EXPORT_PLATFORM", "linux-desktop"}, {"EXPORT_ARCH", "x64"},
		{"EXPORT_TIME_UTC", utc}, {"EXPORT_TIME_LOCAL", local}, {"EXPORT_HOST", host},
		{"EXPORT_PARAM_EXPORT_TYPE", "SQLite"}, {"EXPORT_PARAM_INPUT_FILE", base_name(in)},
		{"EXPORT_PARAM_OUTPUT_FILE", base_name(out)}, {"EXPORT_PARAM_INPUT_PATH", in},
		{"EXPORT_PARAM_OUTPUT_PATH", out},
		{"EXPORT_PARAM_INPUT_PATH_ABS", path ? path : in},
		{"EXPORT_PARAM_OVERWRITE", x->job->overwrite ? "true" : "false"},
		{"EXPORT_PARAM_APPEND", "false"}, {"EXPORT_PARAM_LAZY", "true"},
		{"EXPORT_PARAM_TIME_NORMALIZE", "false"}, {"EXPORT_PARAM_TIME_SHIFT", "0"},
		{"EXPORT_CONFIG_TIME_SHIFT", "0"}};
	int error = 0;
	for (size_t i = 0; !error && i < sizeof(rows) / sizeof(rows[0]); i++)
		error = export_row_put(x, rows[i][0], rows[i][1]);
	free(path);
	return error;
}

static int texts_put(struct sqlite_export *x)
{
	int error = 0;
	for (uint32_t i = 0; !error && i < x->threads.count; i++)
		error = database_row(&x->database, "ThreadNames", "ioi",
			(int64_t)x->threads.rows[i].name - 1, x->threads.rows[i].priority != 0,
			(int64_t)x->threads.rows[i].priority, x->threads.rows[i].global_tid);
	for (uint32_t i = 0; !error && i < x->texts.count; i++)
		error = database_row(
			&x->database, "StringIds", "it", (int64_t)i, x->texts.texts[i]);
	return error;
}

/* ---- output of programs ---- */

#ifdef HAVE_SQLITE
/* A stream of a process, and its text so far. */
struct content {
	int64_t process;
	int stream;
	char *text;
	size_t bytes, capacity;
};

static int content_add(struct content *c, const char *text, size_t bytes)
{
	size_t needed = c->bytes + bytes + 1;
	if (needed > c->capacity) {
		char *more = realloc(c->text, needed * 2);
		if (!more)
			return -ENOMEM;
		c->text = more;
		c->capacity = needed * 2;
	}
	memcpy(c->text + c->bytes, text, bytes);
	c->bytes += bytes;
	c->text[c->bytes] = 0;
	return 0;
}

/* Look up the id of a text, and add its row to StringIds, which has those before. */
static int late_text_id(struct sqlite_export *x, const char *text, uint32_t *ret_id)
{
	const uint32_t count = x->texts.count;
	int error = text_id(&x->texts, text, ret_id);
	if (error || x->texts.count == count)
		return error;
	return database_row(&x->database, "StringIds", "it", (int64_t)*ret_id, text);
}

static int content_write(struct sqlite_export *x, struct content *c)
{
	char name[64];
	uint32_t name_id, text;
	if (!c->bytes)
		return 0;
	snprintf(name, sizeof(name), "pid_%" PRId64 "_%s.log", c->process >> 24 & 0xffffff,
		c->stream == 1 ? "stdout" : "stderr");
	int error = late_text_id(x, name, &name_id);
	if (!error)
		error = late_text_id(x, c->text, &text);
	c->bytes = 0;
	return error ? error
		     : database_row(&x->database, "ProcessStreams", "iii", c->process,
			       (int64_t)name_id, (int64_t)text);
}

static int rows_read(struct sqlite_export *x, sqlite3_stmt *s)
{
	struct content c = {0};
	int error = 0, step;
	while (!error && (step = sqlite3_step(s)) == SQLITE_ROW) {
		const int64_t process = sqlite3_column_int64(s, 0);
		const int stream = sqlite3_column_int(s, 1);
		const char *text = (const char *)sqlite3_column_text(s, 2);
		if (process != c.process || stream != c.stream)
			error = content_write(x, &c);
		c.process = process;
		c.stream = stream;
		if (!error && text)
			error = content_add(&c, text, (size_t)sqlite3_column_bytes(s, 2));
	}
	if (!error && step != SQLITE_DONE)
		error = database_failed(&x->database);
	if (!error)
		error = content_write(x, &c);
	free(c.text);
	return error;
}

/* Write ProcessStreams: a row for each stream of a process, from the rows of LIBTRACE_STREAM_WRITE
 * and StringIds, which are complete. Writes that went elsewhere are left out. */
static int streams_put(struct sqlite_export *x)
{
	static const char sql[] =
		"SELECT w.globalTid & ~0xffffff, w.stream, t.value FROM LIBTRACE_STREAM_WRITE AS w "
		"JOIN StringIds AS t ON t.id = w.textId WHERE NOT w.redirected "
		"ORDER BY 1, 2, " IMAGE_SQL ", w.position";
	sqlite3_stmt *s = NULL;
	if (!x->own.facts[KIND_STREAM_WRITE].rows)
		return 0;
	if (sqlite3_prepare_v2(x->database.connection, sql, -1, &s, NULL))
		return database_failed(&x->database);
	int error = rows_read(x, s);
	sqlite3_finalize(s);
	return error;
}
#else
static int streams_put(struct sqlite_export *x)
{
	(void)x;
	return -ENOSYS; /* there is no database to write to */
}
#endif

int common_facts_write(struct sqlite_export *x)
{
	int error = times_put(x);
	if (!error)
		error = export_put(x);
	if (!error)
		error = texts_put(x);
	if (!error)
		error = streams_put(x);
	if (!error)
		error = generic_events_write(x);
	if (!error)
		error = machine_samples_write(x);
	if (!error)
		error = vulkan_pipelines_write(x);
	return error ? error : enum_tables_write(&x->database);
}
