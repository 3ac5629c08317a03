/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notes.c - diagnostics of the writer, as entries of the block.
 */
#include "writer/base/notes.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/env.h"
#include "writer/base/writer.h"

__attribute__((format(printf, 5, 0))) static void put_diagnostic(struct writer *w, uint32_t pid,
	uint64_t time_ns, bool is_damage, const char *format, va_list arguments)
{
	char text[512];
	vsnprintf(text, sizeof(text), format, arguments);
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Diagnostic message = LIBTRACE__DIAGNOSTIC__INIT;
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || (unsigned char)*p >= 0x7f)
			*p = '?';
	env_name_options(text, w->control->named_rows);
	message.has_time_ns = time_ns != 0;
	message.time_ns = time_ns;
	message.has_pid = pid != 0;
	message.pid = pid;
	message.text = text;
	message.has_damage = message.damage = is_damage;
	entry.diagnostic = &message;
	block_put_entry(&w->report.block, &entry);
}

void writer_note(struct writer *w, uint32_t pid, uint64_t time_ns, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	put_diagnostic(w, pid, time_ns, false, format, arguments);
	va_end(arguments);
}

void writer_note_damage(struct writer *w, uint32_t pid, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	put_diagnostic(w, pid, clock_monotonic_ns(), true, format, arguments);
	va_end(arguments);
}
