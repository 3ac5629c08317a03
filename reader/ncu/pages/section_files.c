/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section_files.c - the section files that the options --section-folder, --section and --set
 * choose.
 */
#define _GNU_SOURCE
#include "reader/ncu/pages/section_files.h"

#include <stdlib.h>
#include <string.h>

static void show_problem(void *user, const char *path, const struct text_problem *p)
{
	const char *kind = p->is_warning ? "warning" : "error";
	(void)user;
	if (p->line)
		cli_error("%s:%u:%u: %s: %s", path, p->line, p->column, kind, p->text);
	else
		cli_error("%s: %s: %s", path, kind, p->text);
}

/* Return a copy of the next value of a repeated option, which the caller frees; NULL after the
 * last. */
static char *next_line(const char **at)
{
	size_t bytes = *at ? strcspn(*at, "\n") : 0;
	if (!*at)
		return NULL;
	char *line = strndup(*at, bytes);
	*at = (*at)[bytes] ? *at + bytes + 1 : NULL;
	return line;
}

static int folders_read(struct ncu_sections *s, const char *folders, bool recursive)
{
	int status = STATUS_OK;
	char *folder;
	while (status == STATUS_OK && (folder = next_line(&folders))) {
		int error = ncu_sections_add_folder(s, folder, recursive);
		if (error) {
			cli_error("cannot read the folder '%s': %s", folder, strerror(-error));
			status = STATUS_FAILED;
		}
		free(folder);
	}
	return status;
}

int section_files_read(struct ncu_sections *s, const struct section_options *o)
{
	ncu_sections_init(s, show_problem, NULL);
	int status = folders_read(s, o->folders, false);
	if (status == STATUS_OK)
		status = folders_read(s, o->folders_recursive, true);
	ncu_sections_sort(s);
	return status;
}

static bool is_named(const Ncu__ProfilerSection *section, const char *name, bool is_set)
{
	return is_set ? ncu_section_is_in_set(section, name)
		      : ncu_section_is_named(section, name) > 0;
}

static bool is_any(const Ncu__ProfilerSection *section, const char *names, bool is_set)
{
	bool found = false;
	char *name;
	while (!found && (name = next_line(&names))) {
		found = is_named(section, name, is_set);
		free(name);
	}
	return found;
}

bool section_is_chosen(const struct section_options *o, const Ncu__ProfilerSection *section)
{
	if (!o->names && !o->sets)
		return true;
	return is_any(section, o->names, false) || is_any(section, o->sets, true);
}

static size_t lines_count(const char *at)
{
	size_t count = at != NULL;
	for (; at && (at = strchr(at, '\n')); at++)
		count++;
	return count;
}

size_t section_words_count(const struct section_options *o)
{
	return lines_count(o->names) + lines_count(o->sets);
}

static void words_note(
	const char *names, bool is_set, const Ncu__ProfilerSection *section, bool *found)
{
	char *name;
	for (; (name = next_line(&names)); found++) {
		*found = *found || is_named(section, name, is_set);
		free(name);
	}
}

void section_words_note(
	const struct section_options *o, const Ncu__ProfilerSection *section, bool *found)
{
	words_note(o->names, false, section, found);
	words_note(o->sets, true, section, found + lines_count(o->names));
}

static void unknown_print(const char *name, bool is_set)
{
	cli_error("--%s: no section %s '%s'", is_set ? "set" : "section",
		is_set ? "in the set" : "named", name);
}

static void words_print(const char *names, bool is_set, const bool *found)
{
	char *name;
	for (; (name = next_line(&names)); found++) {
		if (!*found)
			unknown_print(name, is_set);
		free(name);
	}
}

void section_words_print(const struct section_options *o, const bool *found)
{
	words_print(o->names, false, found);
	words_print(o->sets, true, found + lines_count(o->names));
}

static int names_check(const struct ncu_sections *s, const char *names, bool is_set)
{
	int status = STATUS_OK;
	char *name;
	while (status == STATUS_OK && (name = next_line(&names))) {
		bool found = false;
		for (size_t i = 0; !found && i < s->count; i++)
			found = is_named(s->files[i].section, name, is_set);
		if (!found) {
			unknown_print(name, is_set);
			status = STATUS_FAILED;
		}
		free(name);
	}
	return status;
}

int section_choice_check(const struct section_options *o, const struct ncu_sections *s)
{
	int status = names_check(s, o->names, false);
	return status == STATUS_OK ? names_check(s, o->sets, true) : status;
}
