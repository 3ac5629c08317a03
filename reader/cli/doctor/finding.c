/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finding.c - results of checks, and access to the files and answers that checks read.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "reader/cli/doctor/checks.h"

void finding_set(struct finding *f, enum finding_state state, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	f->state = state;
	vsnprintf(f->text, sizeof(f->text), format, arguments);
	va_end(arguments);
}

void finding_advise(struct finding *f, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(f->advice, sizeof(f->advice), format, arguments);
	va_end(arguments);
}

bool answer_find(const char *text, const char *name, char *ret_value, int room)
{
	size_t length = strlen(name);
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, length) && line[length] == '=') {
			line += length + 1;
			snprintf(ret_value, (size_t)room, "%.*s", (int)strcspn(line, "\n"), line);
			return true;
		}
	}
	return false;
}

bool line_read(const char *path, char *ret_line, int room)
{
	FILE *file = fopen(path, "re");
	bool is_read = file && fgets(ret_line, room, file);
	if (file)
		fclose(file);
	if (is_read)
		ret_line[strcspn(ret_line, "\n")] = 0;
	return is_read;
}

bool field_read(const char *path, const char *name, char *ret_value, int room)
{
	char line[512];
	size_t length = strlen(name);
	bool is_found = false;
	FILE *file = fopen(path, "re");
	while (file && !is_found && fgets(line, sizeof(line), file)) {
		is_found = !strncmp(line, name, length) && line[length] == ':';
		if (is_found) {
			const char *value = line + length + 1;
			value += strspn(value, " \t");
			snprintf(ret_value, (size_t)room, "%.*s", (int)strcspn(value, "\n"), value);
		}
	}
	if (file)
		fclose(file);
	return is_found;
}
