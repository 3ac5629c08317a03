/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.c - `trace export` to the formats of timeline viewers, and notes about events that a
 * format cannot store.
 */
#include "reader/cli/export/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "reader/cli/base/message.h"
#include "reader/cli/export/thread_states.h"
#include "reader/export/timeline/chrome.h"
#include "reader/export/timeline/firefox.h"
#include "reader/export/timeline/perfetto.h"
#include "reader/export/xplane/xplane.h"

void export_found_nothing(const struct cli_report *r, const char *format, const char *advice)
{
	cli_notes_drop();
	cli_error("'%s': nothing to export as %s%s%s", r->path, format, advice ? ": " : "",
		advice ? advice : "");
}

/* Return whether events of the kind are no events of their own to a user: facts about processes,
 * threads and devices, and details of other events. */
static bool is_detail(uint32_t kind)
{
	static const uint32_t kinds[] = {KIND_THREAD_START, KIND_THREAD_END, KIND_THREAD_NAME,
		KIND_CHILD, KIND_FILE_PATH, KIND_MODULE_LOAD, KIND_MODULE_UNLOAD, KIND_PYTHON_CODE,
		KIND_MACHINE_TIME, KIND_GPU_DEVICE, KIND_CUDA_DEVICE_ATTRIBUTE, KIND_CUDA_SETUP,
		KIND_CUDA_RECEIPT, KIND_CUDA_KERNEL_CODE};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i] == kind)
			return true;
	return false;
}

void export_note_left_out(const char *path, const char *format, const uint64_t *by_kind)
{
	char text[1000] = "";
	size_t at = 0;
	const struct schema_event *event;
	for (uint32_t n = 0; (event = schema_event_at(n)) && at < sizeof(text) - 100; n++)
		if (by_kind[event->number] && !is_detail(event->number))
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%" PRIu64 " %.60s",
				at ? ", " : "", by_kind[event->number], event->name);
	if (at)
		cli_note("'%s': left out, since %s cannot store them: %s", path, format, text);
}

void export_note_others(
	const char *path, const char *format, const struct contents *c, const uint32_t *carried)
{
	uint64_t by_kind[SCHEMA_KINDS];
	memcpy(by_kind, c->selected, sizeof(by_kind));
	for (uint32_t i = 0; carried[i]; i++)
		by_kind[carried[i]] = 0;
	export_note_left_out(path, format, by_kind);
}

void export_note_results(const char *path, const char *format, const struct contents *c)
{
	const struct walk_tally *t = &c->tally;
	const uint64_t count =
		t->results + t->range_results + t->cmdlist_results + t->graph_results;
	if (!c->session && count)
		cli_note("'%s': left out, since %s cannot store them: %" PRIu64
			 " results of Nsight Compute",
			path, format, count);
}

static uint64_t chains_count(const struct contents *c)
{
	uint64_t count = 0;
	for (size_t i = 0; i < c->processes.count; i++)
		for (uint32_t n = 0; n < c->processes.rows[i]->callchains.count; n++)
			count += c->processes.rows[i]->callchains.pieces[n].count;
	return count;
}

/* Print the events that a timeline has no items for. Those that say what threads did are carried
 * by the states of perfetto. */
static void note_left_out(const struct cli_report *r, const struct timeline *t, const char *format)
{
	static const uint32_t of_states[] = {KIND_THREAD_TIME, KIND_SCHED_SWITCH, KIND_WAIT_LOOK};
	uint64_t by_kind[SCHEMA_KINDS];
	memcpy(by_kind, t->left_out, sizeof(by_kind));
	for (size_t i = 0; i < sizeof(of_states) / sizeof(of_states[0]); i++)
		if (!strcmp(format, "perfetto") && thread_states_are_in(&t->contents))
			by_kind[of_states[i]] = 0;
	if (by_kind[KIND_MPI_CALL]) {
		cli_note("'%s': left out of %" PRIu64 " calls of MPI, which are stored as calls of "
			 "functions: their messages (mpi_call)",
			r->path, by_kind[KIND_MPI_CALL]);
		by_kind[KIND_MPI_CALL] = 0;
	}
	export_note_left_out(r->path, format, by_kind);
}

static void note_tally(const struct cli_report *r, const struct timeline *t, const char *format)
{
	note_left_out(r, t, format);
	export_note_results(r->path, format, &t->contents);
	if (t->no_value)
		cli_note("'%s': left out: %" PRIu64 " counter values that are not a single number",
			r->path, t->no_value);
	if (t->crossed)
		cli_note("'%s': left out: %" PRIu64 " ranges that overlap more than %u others",
			r->path, t->crossed, TRACK_OVERFLOWS_MAX);
	if (strcmp(format, "perfetto") && strcmp(format, "firefox") && chains_count(&t->contents))
		cli_note("'%s': left out: callchains; the formats perfetto and firefox have them",
			r->path);
}

static void note_steps(
	const char *path, const struct timeline *t, const char *steps, const char *format)
{
	if (steps && !t->steps && strcmp(format, "perfetto"))
		cli_note("'%s': no steps: no NVTX range of a thread matches '--steps %s'", path,
			steps);
}

static int write_as(FILE *const *out, const struct cli_report *r, struct timeline *t,
	const struct options *o, const char *format)
{
	const char *steps = o->value[OPT_export_steps];
	const char *tracks = o->value[OPT_export_gpu_tracks];
	struct thread_states states = {r, o, &t->contents};
	const char *slash = strrchr(r->path, '/');
	if (!strcmp(format, "perfetto"))
		return perfetto_write(
			*out, t, !tracks || !strcmp(tracks, "typed"), thread_states_put, &states);
	if (!strcmp(format, "firefox"))
		return firefox_write(*out, t, slash ? slash + 1 : r->path);
	if (!strcmp(format, TOOLS_FORMAT))
		return tools_write(out, t, steps);
	return !strcmp(format, "xplane") ? xplane_write(*out, t, steps)
					 : chrome_write(*out, t, steps);
}

static int export_all(FILE *const *out, struct cli_report *r, const struct options *o,
	const char *format, const struct contents_visitor *visitor)
{
	static struct timeline t;
	int error = timeline_init(&t, &r->report, o->value[OPT_export_symbol_path]);
	t.symbols.no_names = o->value[OPT_export_no_symbols];
	if (!error)
		error = timeline_read(&t, visitor);
	if (!error)
		error = write_as(out, r, &t, o, format);
	if (!error) {
		note_tally(r, &t, format);
		note_steps(r->path, &t, o->value[OPT_export_steps], format);
		cli_note_cut_off(r, &t.contents);
		error = t.items ? 0 : -ENODATA;
	}
	timeline_release(&t);
	return error;
}

int export_timeline(FILE *out, struct cli_report *r, const struct options *o, const char *format,
	const struct contents_visitor *visitor)
{
	return export_all(&out, r, o, format, visitor);
}

int export_tools_messages(FILE *const out[TOOLS_MESSAGES], struct cli_report *r,
	const struct options *o, const struct contents_visitor *visitor)
{
	return export_all(out, r, o, TOOLS_FORMAT, visitor);
}
