/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_text.c - the lines of a source file, for the source page.
 */
#define _GNU_SOURCE
#include "reader/ncu/pages/source_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/regular.h"

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/'), *back = strrchr(path, '\\');
	const char *last = !slash || (back && back > slash) ? back : slash;
	return last ? last + 1 : path;
}

static int file_read(const char *path, char **ret_text)
{
	int fd = regular_open(path);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char *text = file ? malloc(SOURCE_TEXT_BYTES_MAX) : NULL;
	size_t bytes = text ? fread(text, 1, SOURCE_TEXT_BYTES_MAX - 1, file) : 0;
	int error = fd < 0 ? fd : !file ? -errno : !text ? -ENOMEM : ferror(file) ? -EIO : 0;
	if (file)
		fclose(file);
	if (error) {
		free(text);
		return error;
	}
	text[bytes] = 0;
	char *fitting = realloc(text, bytes + 1);
	*ret_text = fitting ? fitting : text;
	return 0;
}

/* Find the file of `list` with this name, and read it. The results stay NULL if there is none. */
static int resolve(const char *list, const char *name, char **ret_path, char **ret_text)
{
	int error = 0;
	while (list && *list && !*ret_text && !error) {
		const size_t bytes = strcspn(list, ",");
		char *path = strndup(list, bytes);
		if (!path)
			return -ENOMEM;
		if (!strcmp(last_part(path), last_part(name)))
			error = file_read(path, ret_text);
		if (*ret_text)
			*ret_path = path;
		else
			free(path);
		list += bytes + (list[bytes] == ',');
	}
	return error;
}

static int lines_split(struct source_text *s)
{
	size_t count = 1;
	for (const char *c = s->text; *c; c++)
		count += *c == '\n';
	s->lines = calloc(count, sizeof(*s->lines));
	if (!s->lines)
		return -ENOMEM;
	for (char *at = s->text; at && *at;) {
		char *end = strpbrk(at, "\r\n");
		s->lines[s->count++] = at;
		at = end ? end + (end[0] == '\r' && end[1] == '\n' ? 2 : 1) : NULL;
		if (end)
			*end = 0;
		if (s->count == count)
			break;
	}
	return 0;
}

int source_text_make(
	struct source_text *s, const char *embedded, const char *list, const char *name)
{
	*s = (struct source_text){0};
	int error = 0;
	if (embedded)
		s->text = strdup(embedded);
	else
		error = resolve(list, name, &s->path, &s->text);
	if (embedded && !s->text)
		error = -ENOMEM;
	return error || !s->text ? error : lines_split(s);
}

void source_text_release(struct source_text *s)
{
	free(s->path);
	free(s->text);
	free(s->lines);
	*s = (struct source_text){0};
}

const char *source_text_line(const struct source_text *s, uint32_t line)
{
	return line && line <= s->count ? s->lines[line - 1] : "";
}
