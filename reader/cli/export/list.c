/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.c - the formats of `trace export`, and the table that `export --list` prints.
 */
#include "reader/cli/export/list.h"

#include <string.h>

#include "reader/cli/export/folded.h"
#include "reader/export/xplane/tools.h"

#define EXPORTER(name, suffix, title, carries, loses) {#name, suffix, title, carries, loses},
static const struct export_format formats[] = {
#include "reader/export/exporters.def"
};
#define FORMATS (sizeof(formats) / sizeof(formats[0]))

enum { FORMAT, FILE_SUFFIX, WHAT, CARRIES, LOSES, COLUMNS };

const struct export_format *export_format_named(const char *name)
{
	if (!name)
		return &formats[0];
	for (size_t i = 0; i < FORMATS; i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

static void texts_of(const struct export_format *f, const char **texts)
{
	texts[FORMAT] = f->name;
	texts[FILE_SUFFIX] = f->suffix;
	texts[WHAT] = f->title;
	texts[CARRIES] = f->carries;
	texts[LOSES] = f->loses;
}

static void widths_find(size_t width, size_t *widths)
{
	memset(widths, 0, COLUMNS * sizeof(*widths));
	widths[FORMAT] = strlen("Format");
	for (size_t i = 0; i < FORMATS; i++) {
		const size_t name = strlen(formats[i].name), suffix = strlen(formats[i].suffix);
		widths[FORMAT] = name > widths[FORMAT] ? name : widths[FORMAT];
		widths[FILE_SUFFIX] = suffix > widths[FILE_SUFFIX] ? suffix : widths[FILE_SUFFIX];
	}
	width = width < EXPORT_LIST_LEAST ? EXPORT_LIST_LEAST : width;
	width -= widths[FORMAT] + widths[FILE_SUFFIX] + (COLUMNS - 1) * FOLDED_GAP;
	widths[WHAT] = width / 4;
	widths[CARRIES] = widths[LOSES] = (width - widths[WHAT]) / 2;
}

void export_list_print(FILE *out, size_t width)
{
	const char *texts[COLUMNS] = {"Format", "File", "What it is", "Carries", "Loses"};
	size_t widths[COLUMNS];
	widths_find(width, widths);
	folded_row_print(out, texts, widths, COLUMNS);
	folded_rule_print(out, widths, COLUMNS);
	for (size_t i = 0; i < FORMATS; i++) {
		texts_of(&formats[i], texts);
		folded_row_print(out, texts, widths, COLUMNS);
	}
	static const char inputs[] =
		"\nThe table is about reports of 'trace run'. Of other files, each format\n"
		"carries the same kinds of events, if the file has them:\n"
		"  database of nsys  calls of the OS runtime and of CUDA with callchains, CPU\n"
		"                    samples, NVTX, kernels, copies, sets, waits, graphs,\n"
		"                    unified memory, memory in use, devices, overhead of CUDA;\n"
		"                    calls of MPI, OpenACC and OpenMP as NVTX ranges\n"
		"  XSpace            kernels, copies and sets of GPUs, calls of CUDA and HIP,\n"
		"                    ranges of the host; no callchains, so nothing as folded and\n"
		"                    pprof\n"
		"  neither           scheduling, metrics of GPUs, extended payloads of NVTX,\n"
		"                    file accesses, graphics APIs\n"
		"A .nsys-rep is converted first: 'nsys export -t sqlite FILE.nsys-rep'.\n";
	const char *absent;
	fputs(inputs, out);
	fprintf(out, "\n%s does not write:\n", TOOLS_FORMAT);
	for (size_t n = 0; (absent = tools_absent(n)); n++)
		fprintf(out, "  %s\n", absent);
}
