/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnostic.c - diagnostics: lines for the report and for standard error.
 */
#define _GNU_SOURCE
#include "tracer/core/diagnostic.h"

#include "common/sys.h"
#include "common/text.h"
#include "tracer/core/state.h"

#define NOTE_BYTES 640u /* longer ones are cut */

static void log_stderr(const char *text)
{
	char line[NOTE_BYTES];
	size_t at = text_append(line, sizeof(line), 0, "libtrace: ");
	at = text_append(line, sizeof(line), at, text);
	at = text_append(line, sizeof(line), at, "\n");
	sys_write(2, line, at);
}

void diagnostic_note(enum tree_note kind, const char *text)
{
	if (session.config.log_stderr)
		log_stderr(text);
	if (session.control)
		tree_note(session.control, session.pid, kind, text);
}

void diagnostic_note_about(const char *text, const char *name)
{
	char both[NOTE_BYTES];
	size_t at = text_append(both, sizeof(both) - 32, 0, text);
	at = text_append(both, sizeof(both) - 32, at, ": ");
	text_append(both, sizeof(both) - 32, at, name);
	diagnostic_note(TREE_NOTE_LINE, both);
}

void diagnostic_line(const char *text)
{
	diagnostic_note(TREE_NOTE_LINE, text);
}
