/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_symbols.h - helpers that the tests of symbols share: a scratch folder, a report with one
 * module, and a symbol as one line of text.
 */
#ifndef TESTS_UNIT_TEST_SYMBOLS_H
#define TESTS_UNIT_TEST_SYMBOLS_H

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/report/contents.h"
#include "reader/symbols/symbols.h"
#include "tests/unit/make_report.h"
#include "tests/unit/tap.h"

static char folder[] = "/tmp/test_symbols.XXXXXX";
static char text[8192];

__attribute__((format(printf, 1, 2))) static const char *in_folder(const char *format, ...)
{
	static char paths[8][512];
	static unsigned next;
	char *path = paths[next++ % 8], name[256];
	va_list list;
	va_start(list, format);
	vsnprintf(name, sizeof(name), format, list);
	va_end(list);
	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

__attribute__((unused)) static void write_file(const char *path, const void *data, size_t bytes)
{
	FILE *f = fopen(path, "w");
	if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f))
		abort();
}

__attribute__((format(printf, 1, 2), unused)) static bool shell(const char *format, ...)
{
	char command[2048], quiet[2200];
	va_list list;
	va_start(list, format);
	vsnprintf(command, sizeof(command), format, list);
	va_end(list);
	snprintf(quiet, sizeof(quiet), "cd %s && { %s; } >/dev/null 2>&1", folder, command);
	return system(quiet) == 0;
}

/* Describe a file that was mapped. */
struct library {
	const char *path;
	char build_id[80];
	uint64_t begin, end, bias, address;
};

/* ---- a report with one module ---- */

struct session {
	struct make_report made;
	struct report report;
	struct contents contents;
	struct symbols symbols;
	struct process *process;
};

static void session_read(struct session *s, const char *symbol_path)
{
	const char *cause;
	const struct contents_visitor nobody = {0};
	make_block_end(&s->made);
	contents_init(&s->contents);
	if (report_open_memory(&s->report, s->made.data, s->made.bytes, &cause) ||
		contents_read(&s->contents, &s->report, &nobody))
		abort();
	s->process = process_get(&s->contents.processes, 1);
	symbols_init(&s->symbols, &s->contents, symbol_path);
}

static void session_start(struct session *s, const struct library *l, const char *path,
	const char *build_id, const char *symbol_path)
{
	make_init(&s->made, false);
	make_module(&s->made, 1, 1000, l->begin, l->end, l->bias, path, build_id);
	session_read(s, symbol_path);
}

static void session_end(struct session *s)
{
	symbols_release(&s->symbols);
	contents_release(&s->contents);
	report_close(&s->report);
	make_release(&s->made);
}

/* "in2 lib.c:4 <- in1 lib.c:5 <- outer lib.c:6" */
static const char *shown(const struct symbol *symbol)
{
	size_t at = 0;
	*text = 0;
	if (!symbol)
		return "no memory";
	for (uint32_t i = 0; i < symbol->frame_count; i++) {
		const struct symbol_frame *f = &symbol->frames[i];
		const char *file = f->file ? strrchr(f->file, '/') : NULL;
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? " <- " : "",
			f->function ? f->function : "?");
		if (file)
			at += (size_t)snprintf(
				text + at, sizeof(text) - at, " %s:%u", file + 1, f->line);
	}
	if (symbol->reason)
		snprintf(text + at, sizeof(text) - at, " (%s)", symbol->reason);
	return text;
}

__attribute__((unused)) static void is_shown(
	const struct symbol *symbol, const char *expected, const char *name)
{
	check(!strcmp(shown(symbol), expected), "%s: %s", name, text);
}

__attribute__((unused)) static bool begins(const char *with)
{
	return !strncmp(text, with, strlen(with));
}

#endif
