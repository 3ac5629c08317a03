/* SPDX-License-Identifier: Apache-2.0 */
/* document.c - several tables as one JSON document. */
#include "reader/cli/stats/document.h"

#include <string.h>

#include "reader/base/print.h"

void stats_document_table(struct stats_document *d, FILE *out, const char *file, const char *report,
	size_t report_bytes)
{
	if (!stats_document_used(d))
		return;
	fputs(d->tables++ ? ",\n" : "[\n", out);
	fputs("{\"file\": ", out);
	print_json(out, file, strlen(file));
	fputs(", \"report\": ", out);
	print_json(out, report, report_bytes);
	fputs(", \"rows\":\n", out);
}

void stats_document_table_end(const struct stats_document *d, FILE *out)
{
	if (stats_document_used(d))
		fputc('}', out);
}

void stats_document_end(const struct stats_document *d, FILE *out)
{
	if (stats_document_used(d))
		fputs(d->tables ? "\n]\n" : "[]\n", out);
}
