/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame.c - `trace export` to the formats of callchain viewers.
 */
#include "reader/cli/export/flame.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "reader/cli/base/message.h"
#include "reader/cli/export/timeline.h"
#include "reader/cli/stats/wall.h"
#include "reader/export/exporters.h"

/* Kinds of events whose callchains a source has. */
static const uint32_t by_callchain[][6] = {[PROFILE_OSRT] = {KIND_OSRT_CALL},
	[PROFILE_NVTX] = {KIND_NVTX_RANGE, KIND_NVTX_START_END, KIND_NVTX_MARK},
	[PROFILE_CPU] = {KIND_CPU_SAMPLE},
	[PROFILE_OFFCPU] = {KIND_OSRT_CALL, KIND_OSRT_SUMMARY, KIND_THREAD_TIME, KIND_WAIT_LOOK},
	[PROFILE_WALL] = {KIND_OSRT_CALL, KIND_OSRT_SUMMARY, KIND_THREAD_TIME, KIND_WAIT_LOOK,
		KIND_CPU_SAMPLE},
	[PROFILE_FUNCTIONS] = {KIND_FUNCTION_CALL}};
#define SOURCES (sizeof(by_callchain) / sizeof(by_callchain[0]))
#define KINDS_MAX 24u /* of all lists, and a 0 at the end */

static bool is_in(const uint32_t *kinds, uint32_t kind)
{
	while (*kinds && *kinds != kind)
		kinds++;
	return *kinds;
}

/* Return whether the report has what the source is computed from. */
static bool source_is_recorded(const struct contents *c, enum profile_source source)
{
	return !wall_has(source) || c->selected[KIND_THREAD_TIME];
}

/* Print the counts of events that another --source has, and add their kinds to `carried`. */
static void note_other_sources(
	const struct cli_report *r, const struct contents *c, uint32_t *carried, uint32_t count)
{
	char text[600] = "";
	size_t at = 0;
	for (enum profile_source source = 0; source < SOURCES; source++)
		for (const uint32_t *kind = by_callchain[source]; *kind; kind++) {
			const struct schema_event *event = schema_event(*kind);
			if (is_in(carried, *kind) || !event || !source_is_recorded(c, source))
				continue;
			carried[count++] = *kind;
			if (c->selected[*kind] && at < sizeof(text) - 100)
				at += (size_t)snprintf(text + at, sizeof(text) - at,
					"%s%" PRIu64 " %.60s (--source %s)", at ? ", " : "",
					c->selected[*kind], event->name,
					profile_source_name(source));
		}
	if (at)
		cli_note("'%s': left out: %s", r->path, text);
}

static void notes_print(
	const struct cli_report *r, const char *format, const struct profile *p, bool with_slices)
{
	static const uint32_t over_time[] = {KIND_OSRT_CALL, KIND_GIL_WAIT, KIND_FUNCTION_CALL,
		KIND_NVTX_RANGE, KIND_CUDA_API, KIND_CODEXL_CALL, 0};
	uint32_t carried[KINDS_MAX] = {0}, count = 0;
	for (const uint32_t *kind = over_time; with_slices && *kind; kind++)
		carried[count++] = *kind;
	for (const uint32_t *kind = by_callchain[p->source]; *kind; kind++)
		carried[count++] = *kind;
	note_other_sources(r, p->contents, carried, count);
	export_note_others(r->path, format, p->contents, carried);
	export_note_results(r->path, format, p->contents);
	stats_note_left_out(r->path, p, with_slices ? " of the profiles by callchain" : "");
	cli_note_cut_off(r, p->contents);
}

/* A format of this file. It is given the profile and the timeline of the report. */
struct flame {
	const char *format;
	bool with_slices, with_ranges; /* slices over time; samples by NVTX range */
	int (*write)(FILE *out, struct profile *p, enum profile_weight weight);
};
static const struct flame flames[] = {{"folded", false, false, folded_write},
	{"speedscope", true, false, NULL}, /* speedscope_write() */
	{"pprof", false, true, pprof_write}, {"otlp", false, true, otlp_write}};

static const struct flame *flame_named(const char *format)
{
	const struct flame *f = flames;
	while (f != flames + sizeof(flames) / sizeof(flames[0]) && strcmp(f->format, format))
		f++;
	return f == flames + sizeof(flames) / sizeof(flames[0]) ? NULL : f;
}

bool export_is_flame(const char *format)
{
	return flame_named(format);
}

int export_flame(FILE *out, struct cli_report *r, const struct options *o, const char *format,
	const struct contents_visitor *visitor)
{
	static struct timeline t;
	struct profile profile;
	struct range_paths ranges = {0};
	const struct cursor_filter all = {0};
	const struct flame *f = flame_named(format);
	const char *slash = strrchr(r->path, '/');
	enum profile_weight weight =
		option_is(o, OPT_export_weight, "count") ? PROFILE_COUNT : PROFILE_TIME;
	const enum profile_source source = profile_source_named(o->value[OPT_export_source]);
	const struct stats_form form = {.symbol_path = o->value[OPT_export_symbol_path],
		.no_wait = o->value[OPT_export_no_wait],
		.window = {.all = true}};
	int error = timeline_init(&t, &r->report, o->value[OPT_export_symbol_path]);
	t.symbols.no_names = o->value[OPT_export_no_symbols];
	int failed = profile_init(&profile, &t.contents, &t.symbols, &all, source, true);
	error = error ? error : failed;
	if (!error)
		error = timeline_read(&t, visitor);
	if (!error && f->with_ranges && source != PROFILE_NVTX) {
		/* without messages about damage, which have been printed */
		const struct contents_visitor quiet = {visitor->user, visitor->block, NULL, NULL};
		error = range_paths_read(&ranges, &r->report, &quiet);
		profile.ranges = &ranges;
	}
	if (!error)
		error = profile_batches(&profile, &r->report, visitor);
	if (!error && wall_has(source))
		error = wall_add(&profile, r->path, &form, o->value[OPT_export_no_symbols]);
	weight = profile_weight_of(&profile, weight);
	if (!error)
		error = f->write
			? f->write(out, &profile, weight)
			: speedscope_write(out, &profile, &t, weight, slash ? slash + 1 : r->path);
	if (!error || error == -ENODATA)
		notes_print(r, format, &profile, f->with_slices);
	profile_release(&profile);
	range_paths_release(&ranges);
	timeline_release(&t);
	return error;
}
