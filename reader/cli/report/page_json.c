/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_json.c - printer of texts in the data of a page.
 */
#include "reader/cli/report/page_json.h"

#include "reader/base/print.h"

void page_text(FILE *out, const char *text, size_t bytes)
{
	size_t kept = bytes;
	if (bytes > PAGE_TEXT_BYTES)
		for (kept = PAGE_TEXT_BYTES; kept && ((unsigned char)text[kept] & 0xc0) == 0x80;)
			kept--;
	fputc('"', out);
	print_json_part(out, text, kept);
	fputs(kept < bytes ? " ...\"" : "\"", out);
}

void page_value(FILE *out, const struct sql_value *v)
{
	page_text(out, v->text ? v->text : "", v->text ? v->bytes : 0);
}
