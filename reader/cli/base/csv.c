/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv.c - printer of cells of comma-separated values.
 */
#include "reader/cli/base/csv.h"

#include <stdarg.h>

void csv_cell(FILE *out, bool first, const char *text)
{
	fputs(first ? "\"" : ",\"", out);
	for (; text && *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

void csv_format(FILE *out, const char *format, ...)
{
	char text[128];
	va_list list;
	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	csv_cell(out, false, text);
}
