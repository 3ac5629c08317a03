/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame.c - `trace export` to the formats of callchain viewers.
 */
#include "reader/cli/export/flame.h"

#include <errno.h>
#include <string.h>

#include "reader/cli/export/timeline.h"
#include "reader/cli/stats/wall.h"
#include "reader/export/exporters.h"

static void notes_print(
	const struct cli_report *r, const char *format, const struct profile *p, bool with_slices)
{
	static const uint32_t by_callchain[][6] = {[PROFILE_OSRT] = {KIND_OSRT_CALL},
		[PROFILE_NVTX] = {KIND_NVTX_RANGE, KIND_NVTX_START_END, KIND_NVTX_MARK},
		[PROFILE_CPU] = {KIND_CPU_SAMPLE},
		[PROFILE_OFFCPU] = {KIND_OSRT_CALL, KIND_OSRT_SUMMARY, KIND_THREAD_TIME,
			KIND_WAIT_LOOK},
		[PROFILE_WALL] = {KIND_OSRT_CALL, KIND_OSRT_SUMMARY, KIND_THREAD_TIME,
			KIND_WAIT_LOOK, KIND_CPU_SAMPLE}};
	static const uint32_t over_time[] = {
		KIND_OSRT_CALL, KIND_GIL_WAIT, KIND_NVTX_RANGE, KIND_CUDA_API, KIND_CODEXL_CALL, 0};
	uint32_t carried[12] = {0}, count = 0; /* of both lists, and a 0 at the end */
	for (const uint32_t *kind = over_time; with_slices && *kind; kind++)
		carried[count++] = *kind;
	for (const uint32_t *kind = by_callchain[p->source]; *kind; kind++)
		carried[count++] = *kind;
	export_note_others(r->path, format, p->contents, carried);
	export_note_results(r->path, format, p->contents);
	stats_note_left_out(r->path, p, with_slices ? " of the profiles by callchain" : "");
	cli_note_cut_off(r, p->contents);
}

int export_flame(FILE *out, struct cli_report *r, const struct options *o, const char *format,
	const struct contents_visitor *visitor)
{
	static struct timeline t;
	struct profile profile;
	struct range_paths ranges = {0};
	const struct cursor_filter all = {0};
	const bool speedscope = !strcmp(format, "speedscope"), pprof = !strcmp(format, "pprof");
	const char *slash = strrchr(r->path, '/');
	const enum profile_weight weight =
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
	if (!error && pprof && source != PROFILE_NVTX) {
		/* without messages about damage, which have been printed */
		const struct contents_visitor quiet = {visitor->user, visitor->block, NULL, NULL};
		error = range_paths_read(&ranges, &r->report, &quiet);
		profile.ranges = &ranges;
	}
	if (!error)
		error = profile_batches(&profile, &r->report, visitor);
	if (!error && wall_has(source))
		error = wall_add(&profile, r->path, &form, o->value[OPT_export_no_symbols]);
	if (!error)
		error = speedscope
			? speedscope_write(out, &profile, &t, weight, slash ? slash + 1 : r->path)
			: pprof ? pprof_write(out, &profile, weight)
				: folded_write(out, &profile, weight);
	if (!error || error == -ENODATA)
		notes_print(r, format, &profile, speedscope);
	profile_release(&profile);
	range_paths_release(&ranges);
	timeline_release(&t);
	return error;
}
