/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import.c - `trace import`: adds the events of text files to a report.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/cli/base/change.h"
#include "reader/cli/base/file_kind.h"
#include "reader/cli/import_codexl.h"
#include "reader/codexl/format.h"
#include "reader/nvtxt/import.h"
#include "reader/nvtxt/parse.h"
#include "reader/nvtxt/resolve.h"

#define PROBLEMS_SHOWN 20u /* problems printed of a file */
#define BESIDE_MAX 4096u

/* A file to import. */
struct input {
	const char *path;
	char *own_path; /* path of a file that was found, not named; owned */
	struct nvtxt_file file;
	uint64_t shown, hidden;
	char *held[PROBLEMS_SHOWN]; /* problems counted in `shown` but not printed yet, as the file
				       may be of another kind */
	bool is_certain;            /* the file has events, so no problem is held back */
	bool strict;
};

struct job {
	const struct options *o;
	struct pool pool;
	struct input *inputs;
	size_t count;
	struct nvtxt_clock clock;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* ---- problems ---- */

static void held_show(struct input *in)
{
	in->is_certain = true;
	for (unsigned i = 0; i < PROBLEMS_SHOWN; i++) {
		if (in->held[i])
			cli_error("%s", in->held[i]);
		free(in->held[i]);
		in->held[i] = NULL;
	}
}

static void show_problem(void *user, const struct nvtxt_problem *p)
{
	static const char *const kinds[NVTXT_PROBLEM_KINDS] = {"lexing error", "parsing error",
		"range error", "warning", "ImportNvtxt refuses", "ImportNvtxt leaves out"};
	struct input *in = user;
	if ((p->kind == NVTXT_REFUSED || p->kind == NVTXT_IGNORED) && !in->strict)
		return;
	if (in->shown++ >= PROBLEMS_SHOWN) {
		in->hidden++;
		return;
	}
	char *text;
	if (asprintf(&text, "%s:%u:%u: %s: %s", in->path, p->line, p->column, kinds[p->kind],
		    p->text) < 0)
		return;
	in->held[in->shown - 1] = text;
	if (in->is_certain || in->file.count)
		held_show(in);
}

/* Return whether the text is of another kind: it has no event, and more lines with errors than
 * valid ones. */
static bool is_something_else(const struct input *in)
{
	return !in->file.count && nvtxt_file_errors(&in->file) > in->file.understood;
}

static void show_hidden(const struct input *in)
{
	if (in->hidden)
		cli_error("%s: and %" PRIu64 " more problems", in->path, in->hidden);
}

/* Return whether --strict refuses the file: it has errors, or NVIDIA's importer would refuse it. */
static bool is_refused(const struct input *in)
{
	return in->strict && (nvtxt_file_errors(&in->file) || in->file.problems[NVTXT_REFUSED]);
}

/* ---- files ---- */

static int file_read(struct job *job, struct input *in)
{
	struct stat status;
	char kind[FOREIGN_BYTES];
	int fd = open(in->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 && foreign_is_of_nsys(in->path, kind)) {
		close(fd);
		cli_error("cannot read '%s': not a text file, but %s", in->path, kind);
		return STATUS_FAILED;
	}
	int error = fd < 0 || fstat(fd, &status) ? -errno : S_ISREG(status.st_mode) ? 0 : -ESPIPE;
	if (!error)
		error = nvtxt_file_init(&in->file, &job->pool);
	in->strict = job->o->value[OPT_import_strict];
	in->file.problem = show_problem;
	in->file.user = in;
	if (!error)
		error = nvtxt_file_read(&in->file, fd);
	if (fd >= 0)
		close(fd);
	if (error) {
		import_unreadable(in->path, error);
		return STATUS_FAILED;
	}
	if (is_something_else(in)) {
		cli_error("cannot read '%s': not NVTXT, nor a file of CodeXL by its name (.atp "
			  ".csv .occupancy); first error: %s",
			in->path, in->held[0] ? in->held[0] + strlen(in->path) + 1 : "");
		return STATUS_FAILED;
	}
	held_show(in);
	return STATUS_OK;
}

static int compare_paths(const void *a, const void *b)
{
	const struct input *x = a, *y = b;
	return strcmp(x->path, y->path);
}

static bool is_nvtxt(const char *name)
{
	size_t bytes = strlen(name);
	return bytes > 6 && *name != '.' && !strcmp(name + bytes - 6, ".nvtxt");
}

/* Find the files beside the report, and append them, sorted by name, to the files that were
 * named. */
static int beside_find(struct job *job, const char *report)
{
	const char *base = base_name(report);
	char *folder = base == report ? strdup(".") : strndup(report, (size_t)(base - report));
	DIR *dir = folder ? opendir(folder) : NULL;
	const struct dirent *entry;
	size_t first = job->count;
	int error = dir ? 0 : -errno;
	while (!error && job->count < BESIDE_MAX && (entry = readdir(dir))) {
		struct input *in = &job->inputs[job->count];
		if (!is_nvtxt(entry->d_name))
			continue;
		if (asprintf(&in->own_path, "%.*s%s", (int)(base - report), report, entry->d_name) <
			0)
			error = -ENOMEM;
		in->path = in->own_path;
		job->count += !error;
	}
	qsort(job->inputs + first, job->count - first, sizeof(*job->inputs), compare_paths);
	if (error)
		cli_error("cannot read the folder of '%s': %s", report, strerror(-error));
	else if (job->count == first)
		cli_note("no *.nvtxt file in the folder of '%s'", report);
	if (dir)
		closedir(dir);
	free(folder);
	return error ? STATUS_FAILED : STATUS_OK;
}

static int inputs_find(struct job *job)
{
	const struct options *o = job->o;
	size_t named = o->argc > 0 ? (size_t)o->argc : 0;
	job->inputs = calloc(named + BESIDE_MAX, sizeof(*job->inputs));
	if (!job->inputs) {
		cli_error("%s", strerror(ENOMEM));
		return STATUS_FAILED;
	}
	for (; job->count < named; job->count++)
		job->inputs[job->count].path = o->argv[job->count];
	if (o->value[OPT_import_beside] && o->value[OPT_import_into])
		return beside_find(job, o->value[OPT_import_into]);
	if (named)
		return STATUS_OK;
	cli_error("no FILE given; see 'trace help import'");
	return STATUS_FAILED;
}

/* ---- clock ---- */

static bool number_take(const struct options *o, enum option_id id, int64_t *ret_number)
{
	uint64_t number = option_number(o, id, 0);
	*ret_number = number > INT64_MAX ? INT64_MAX : (int64_t)number;
	return o->value[id] != NULL;
}

static int clock_take(struct job *job)
{
	const struct options *o = job->o;
	struct nvtxt_clock *c = &job->clock;
	bool has_a = number_take(o, OPT_import_ns_a, &c->ns_a),
	     has_b = number_take(o, OPT_import_ns_b, &c->ns_b);
	c->has_ticks_a = number_take(o, OPT_import_nvtxt_a, &c->ticks_a);
	c->has_ticks_b = number_take(o, OPT_import_nvtxt_b, &c->ticks_b);
	c->hertz = option_number(o, OPT_import_freq, 0);
	c->scale = option_is(o, OPT_import_mode, "lerp") ? NVTXT_LERP
		: option_is(o, OPT_import_mode, "lin")   ? NVTXT_LIN
							 : NVTXT_NO_SCALE;
	const char *wrong = NULL;
	if (c->scale == NVTXT_LERP && (!has_a || !has_b || c->ns_b < c->ns_a))
		wrong = "--mode lerp needs --ns-a and a later --ns-b";
	else if (c->scale == NVTXT_LERP && c->has_ticks_a && c->has_ticks_b &&
		c->ticks_b <= c->ticks_a)
		wrong = "--nvtxt-b must be greater than --nvtxt-a";
	else if (c->scale == NVTXT_LIN && (!has_a || !c->hertz))
		wrong = "--mode lin needs --ns-a and --freq";
	else if (c->scale == NVTXT_NO_SCALE &&
		(has_a || has_b || c->has_ticks_a || c->has_ticks_b || c->hertz))
		wrong = "--ns-a, --ns-b, --nvtxt-a, --nvtxt-b and --freq need --mode lerp or lin";
	if (wrong)
		cli_error("%s", wrong);
	return wrong ? STATUS_FAILED : STATUS_OK;
}

/* ---- import ---- */

static uint64_t outside_count(const struct nvtxt_file *f, const struct contents *c)
{
	uint64_t count = 0;
	for (uint32_t i = 0; i < f->count; i++) {
		const struct nvtxt_event *e = &f->events[i];
		count += e->kind != NVTXT_EVENT_NONE && e->kind != NVTXT_EVENT_NAME &&
			((uint64_t)e->start < c->session->start_ns ||
				(uint64_t)e->end > c->last_ns);
	}
	return count;
}

static int resolve_all(struct job *job, const struct contents *c)
{
	int status = STATUS_OK;
	job->clock.session_start_ns = c ? c->session->start_ns : 0;
	for (size_t i = 0; i < job->count; i++) {
		struct input *in = &job->inputs[i];
		if (nvtxt_resolve(&in->file, &job->clock)) {
			cli_error("%s", strerror(ENOMEM));
			return STATUS_FAILED;
		}
		show_hidden(in);
		if (nvtxt_file_errors(&in->file) || is_refused(in))
			status = STATUS_DAMAGED;
	}
	return status;
}

static bool any_refused(const struct job *job)
{
	for (size_t i = 0; i < job->count; i++)
		if (is_refused(&job->inputs[i]))
			return true;
	return false;
}

static void print_file(const struct nvtxt_import *n, const char *path, const char *into)
{
	printf("%s: %" PRIu64 " ranges, %" PRIu64 " marks, %" PRIu64 " names%s%s", path, n->ranges,
		n->marks, n->names, into ? " added to " : "", into ? into : "");
	uint64_t errors = nvtxt_file_errors(n->file);
	if (errors)
		printf("; %" PRIu64 " errors", errors);
	putchar('\n');
}

/* Choose the files to import: those whose content is not in the report yet and was not named
 * before. */
static size_t imports_choose(const struct job *job, const struct contents *c,
	struct nvtxt_import *ret_imports, const struct input **ret_inputs)
{
	size_t count = 0;
	for (size_t i = 0; i < job->count; i++) {
		struct input *in = &job->inputs[i];
		bool known = nvtxt_is_imported(c, &in->file);
		for (size_t n = 0; n < count; n++)
			known |= ret_imports[n].file->crc == in->file.crc &&
				ret_imports[n].file->bytes == in->file.bytes;
		if (known) {
			cli_note("%s: skipped, since the report has it already", in->path);
			continue;
		}
		ret_inputs[count] = in;
		ret_imports[count++] =
			(struct nvtxt_import){.file = &in->file, .name = base_name(in->path)};
	}
	return count;
}

static int add_to(struct job *job, struct change *g, const char *shown)
{
	struct nvtxt_import *imports = calloc(job->count + 1, sizeof(*imports));
	const struct input **inputs = calloc(job->count + 1, sizeof(*inputs));
	size_t count = imports && inputs ? imports_choose(job, &g->contents, imports, inputs) : 0;
	int error = !imports || !inputs ? -ENOMEM
		: count                 ? nvtxt_import(&g->append, &g->contents, imports, count)
					: 0;
	int status = error ? change_failed(g, "events", error) : change_commit(g, "events");
	for (size_t i = 0; !status && i < count; i++) {
		uint64_t outside = outside_count(imports[i].file, &g->contents);
		print_file(&imports[i], inputs[i]->path, shown);
		if (outside)
			cli_note("%s: %" PRIu64 " events are outside the time range of the report",
				inputs[i]->path, outside);
	}
	free(inputs);
	free(imports);
	return status;
}

static int import_into(struct job *job, const char *report)
{
	const struct options *o = job->o;
	const char *output = o->value[OPT_import_output];
	struct change g;
	char *copy = NULL;
	bool no_wait = o->value[OPT_import_no_wait],
	     overwrite = option_is(o, OPT_import_force_overwrite, "true");
	int status = output ? change_copy(report, output, overwrite, no_wait, &copy) : STATUS_OK,
	    added;
	if (status)
		return status;
	status = change_open(&g, copy ? copy : report, report, no_wait);
	added = status;
	if (!status) {
		added = status = resolve_all(job, &g.contents);
		if (status == STATUS_DAMAGED && !any_refused(job))
			added = STATUS_OK; /* import the valid lines */
	}
	if (!added)
		added = add_to(job, &g, output ? output : report);
	change_close(&g);
	if (output)
		added = change_copy_end(copy, output, overwrite, added);
	return added > status ? added : status;
}

static int check_only(struct job *job)
{
	int status = resolve_all(job, NULL);
	for (size_t i = 0; status != STATUS_FAILED && i < job->count; i++) {
		struct nvtxt_import n = {.file = &job->inputs[i].file};
		for (uint32_t e = 0; e < n.file->count; e++) {
			enum nvtxt_event_kind kind = n.file->events[e].kind;
			n.marks += kind == NVTXT_EVENT_MARK;
			n.names += kind == NVTXT_EVENT_NAME;
			n.ranges += kind == NVTXT_EVENT_PUSH || kind == NVTXT_EVENT_RANGE;
		}
		print_file(&n, job->inputs[i].path, NULL);
	}
	return status;
}

/* Return whether all (1), none (0) or some (-1) of the named files are of CodeXL. */
static int are_codexl(const struct options *o)
{
	int count = 0;
	for (int i = 0; i < o->argc; i++)
		count += codexl_format_of(o->argv[i]) != CODEXL_FORMATS;
	return !count ? 0 : count == o->argc ? 1 : -1;
}

int command_import(const struct options *o)
{
	int codexl = are_codexl(o);
	if (codexl > 0)
		return import_codexl(o);
	if (codexl < 0) {
		cli_error("cannot import files of CodeXL and other files at once");
		return STATUS_FAILED;
	}
	struct job job = {.o = o};
	const char *report = o->value[OPT_import_into];
	int status = clock_take(&job);
	if (!report && (o->value[OPT_import_output] || o->value[OPT_import_beside])) {
		cli_error("no report given; use --into REPORT, or 'trace merge' to join reports");
		status = STATUS_FAILED;
	}
	if (!status)
		status = inputs_find(&job);
	for (size_t i = 0; !status && i < job.count; i++)
		status = file_read(&job, &job.inputs[i]);
	if (!status)
		status = report ? import_into(&job, report) : check_only(&job);
	for (size_t i = 0; i < job.count; i++) {
		for (unsigned n = 0; n < PROBLEMS_SHOWN; n++)
			free(job.inputs[i].held[n]);
		nvtxt_file_release(&job.inputs[i].file);
		free(job.inputs[i].own_path);
	}
	free(job.inputs);
	pool_release(&job.pool);
	int written = cli_finish(stdout, "standard output");
	return status > written ? status : written;
}
