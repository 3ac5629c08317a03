/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arguments.c - the words that were kept of a call of a library function, with their names.
 */
#include "reader/report/arguments.h"

#include "common/schema/prototype.h"
#include "reader/base/print.h"

static void value_print(FILE *out, uint64_t value, uint32_t type, const char *quote)
{
	if (word_is_hex(type))
		fprintf(out, "%s0x%llx%s", quote, (unsigned long long)value, quote);
	else if (word_is_signed(type))
		print_i64(out, (int64_t)value);
	else
		print_u64(out, value);
}

void arguments_print(FILE *out, struct string_ref prototype, const int64_t *columns, bool is_json)
{
	struct prototype p = {0};
	const char *quote = is_json ? "\"" : "";
	if (!prototype.text ||
		!prototype_read(prototype.text, prototype.text + prototype.bytes, &p))
		p.count = 0;
	putc_unlocked(is_json ? '{' : '(', out);
	for (uint32_t i = 0; i < p.count && i < (uint64_t)columns[1]; i++) {
		const struct prototype_word *w = &p.words[i];
		fprintf(out, "%s%s%.*s%s%s", i ? (is_json ? "," : ", ") : "", quote, w->name_bytes,
			w->name, quote, is_json ? ":" : "=");
		value_print(out, (uint64_t)columns[2 + i], w->type, quote);
	}
	putc_unlocked(is_json ? '}' : ')', out);
}
