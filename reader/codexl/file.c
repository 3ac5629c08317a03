/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - the contents of a file of CodeXL, and its error. */
#include "reader/codexl/file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "reader/codexl/state.h"
#include "reader/codexl/words.h"

int codexl_file_init(struct codexl_file *f, enum codexl_format format, struct pool *pool)
{
	*f = (struct codexl_file){
		.format = format, .pool = pool, .state = calloc(1, sizeof(*f->state))};
	if (!f->state)
		return -ENOMEM;
	f->state->separator = ',';
	return 0;
}

void codexl_file_release(struct codexl_file *f)
{
	if (f->state) {
		free(f->state->threads.rows);
		map_release(&f->state->thread_ids);
		map_release(&f->state->device_ids);
		map_release(&f->state->marker_depths);
	}
	free(f->state);
	free(f->headers.rows);
	free(f->calls.rows);
	free(f->commands.rows);
	free(f->kernels.rows);
	free(f->markers.rows);
	free(f->cells.rows);
	*f = (struct codexl_file){0};
}

int codexl_wrong(struct codexl_file *f, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	vsnprintf(f->cause, sizeof(f->cause), format, list);
	va_end(list);
	for (char *at = f->cause; *at; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = '?';
	return -EBADMSG;
}

int codexl_header_line(struct codexl_file *f, struct codexl_words line)
{
	size_t bytes = (size_t)(line.end - line.at);
	const char *equals = memchr(line.at, '=', bytes);
	if (!equals)
		return codexl_wrong(f, "expected KEY=VALUE or the start of a section: %.*s",
			bytes < 60 ? (int)bytes : 60, line.at);
	struct codexl_header *h = CODEXL_ADD(f->headers);
	if (!h)
		return -ENOMEM;
	h->key = pool_text(f->pool, line.at, (size_t)(equals - line.at));
	h->value = pool_text(f->pool, equals + 1, (size_t)(line.end - equals - 1));
	return h->key && h->value ? 0 : -ENOMEM;
}

/* Compare `text`, without the blanks around it, with `key`. */
bool codexl_is_key(const char *text, const char *key)
{
	size_t bytes = strlen(key);
	text += strspn(text, " ");
	return !strncmp(text, key, bytes) && !text[bytes + strspn(text + bytes, " ")];
}

const char *codexl_file_header(const struct codexl_file *f, const char *key)
{
	for (uint32_t i = 0; i < f->headers.count; i++)
		if (codexl_is_key(f->headers.rows[i].key, key))
			return f->headers.rows[i].value + strspn(f->headers.rows[i].value, " ");
	return "";
}
