/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.c - which functions of libraries to record: --functions and --functions-file.
 */
#define _GNU_SOURCE
#include "reader/cli/record/functions.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/schema/prototype.h"
#include "common/spool.h"
#include "reader/cli/base/message.h"

#define LIST_BYTES_MAX 16384u /* as in tracer/functions/functions.h */

/* Return true if the pattern is LIBRARY:FUNCTION, and what follows, in parentheses, a prototype. */
static bool pattern_is_right(const char *pattern)
{
	const char *colon = strchr(pattern, ':'), *open = strchr(pattern, '('),
		   *end = pattern + strlen(pattern);
	struct prototype prototype;
	if (!colon || colon == pattern || !colon[1] || (open && open <= colon + 1))
		return false;
	return !open || (end[-1] == ')' && prototype_read(open + 1, end - 1, &prototype));
}

/* Add the pattern to the list. Return 0, or -EINVAL after a message. */
static int pattern_add(FILE *to, const char *pattern, const char *where, unsigned *count)
{
	if (!pattern_is_right(pattern)) {
		cli_error("%s: '%s' is not LIBRARY:FUNCTION, such as 'libz.so*:deflate*', or "
			  "LIBRARY:FUNCTION(ARGUMENTS), such as "
			  "'libhdf5*.so*:H5Dread(id, _, int type)'; see 'trace help run'",
			where, pattern);
		return -EINVAL;
	}
	if (++*count > FUNCTION_USER_PATTERNS_MAX) {
		cli_error("%s: more than %u patterns", where, FUNCTION_USER_PATTERNS_MAX);
		return -EINVAL;
	}
	fprintf(to, "%s%s", *count > 1 ? "," : "", pattern);
	return 0;
}

size_t function_pattern_length(const char *text)
{
	size_t length = strcspn(text, "(, \t\r\n"), blanks = strspn(text + length, " \t");
	if (text[length + blanks] != '(')
		return length;
	length += blanks + strcspn(text + length + blanks, ")\r\n");
	return length + strcspn(text + length, ", \t\r\n");
}

/* Take the blanks before the parenthesis away. */
static void pattern_join(char *pattern)
{
	char *open = strchr(pattern, '('), *to = open;
	while (to && to > pattern && (to[-1] == ' ' || to[-1] == '\t'))
		to--;
	if (to && to < open)
		memmove(to, open, strlen(open) + 1);
}

/* Add the patterns of a text, which it changes. */
static int patterns_add(FILE *to, char *text, const char *where, unsigned *count)
{
	int error = 0;
	for (char *s = text + strspn(text, ", \t\r\n"); !error && *s;) {
		char *end = s + function_pattern_length(s), after = *end;
		*end = 0;
		pattern_join(s);
		error = pattern_add(to, s, where, count);
		s = end + (after != 0);
		s += strspn(s, ", \t\r\n");
	}
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
