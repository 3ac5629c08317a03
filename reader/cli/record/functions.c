/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.c - which functions of libraries to record: --functions and --functions-file.
 */
#define _GNU_SOURCE
#include "reader/cli/record/functions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/cli/base/message.h"

#define PATTERNS_MAX 256u
#define LIST_BYTES_MAX 16384u /* both as in tracer/functions/functions.h */

/* Add the pattern to the list. Return 0, or -EINVAL after a message. */
static int pattern_add(FILE *to, const char *pattern, const char *where, unsigned *count)
{
	const char *colon = strchr(pattern, ':');
	if (!colon || colon == pattern || !colon[1]) {
		cli_error("%s: '%s' is not LIBRARY:FUNCTION, such as 'libz.so*:deflate*'", where,
			pattern);
		return -EINVAL;
	}
	if (++*count > PATTERNS_MAX) {
		cli_error("%s: more than %u patterns", where, PATTERNS_MAX);
		return -EINVAL;
	}
	fprintf(to, "%s%s", *count > 1 ? "," : "", pattern);
	return 0;
}

/* Add the patterns of a text, which it changes. */
static int patterns_add(FILE *to, char *text, const char *where, unsigned *count)
{
	int error = 0;
	for (char *rest = text, *item; !error && (item = strsep(&rest, ", \t\r\n"));)
		if (*item)
			error = pattern_add(to, item, where, count);
	return error;
}

static int file_add(FILE *to, const char *path, unsigned *count)
{
	FILE *from = fopen(path, "re");
	char *line = NULL;
	size_t bytes = 0;
	int error = 0;
	if (!from) {
		error = -errno;
		cli_error("cannot open '%s': %s", path, strerror(-error));
		return error;
	}
	while (!error && getline(&line, &bytes, from) >= 0) {
		line[strcspn(line, "#")] = 0;
		error = patterns_add(to, line, path, count);
	}
	if (!error && ferror(from)) {
		error = -EIO;
		cli_error("cannot read '%s'", path);
	}
	free(line);
	fclose(from);
	return error;
}

int functions_join(const char *list, const char *file, char **ret_list)
{
	size_t bytes = 0;
	unsigned count = 0;
	char *text = list ? strdup(list) : NULL;
	FILE *to = open_memstream(ret_list, &bytes);
	int error = !to || (list && !text) ? -ENOMEM : 0;
	if (!error && text)
		error = patterns_add(to, text, "--functions", &count);
	if (!error && file)
		error = file_add(to, file, &count);
	if (to && fclose(to) != 0 && !error)
		error = -ENOMEM;
	free(text);
	if (error == -ENOMEM)
		cli_error("out of memory");
	if (!error && bytes >= LIST_BYTES_MAX) {
		cli_error("--functions: the patterns are longer than %u bytes", LIST_BYTES_MAX);
		error = -EINVAL;
	}
	if (error || !count) {
		if (to)
			free(*ret_list);
		*ret_list = NULL;
	}
	return error;
}
