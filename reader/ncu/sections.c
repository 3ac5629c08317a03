/* SPDX-License-Identifier: Apache-2.0 */
/* sections.c - search for section files, and their loading. */
#define _GNU_SOURCE
#include "reader/ncu/sections.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"

static int add_folder(struct ncu_sections *s, const char *path, unsigned depth);

void ncu_sections_init(struct ncu_sections *s,
	void (*problem)(void *user, const char *path, const struct text_problem *problem),
	void *user)
{
	*s = (struct ncu_sections){.problem = problem, .user = user};
}

void ncu_sections_release(struct ncu_sections *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->files[i].path);
		ncu__profiler_section__free_unpacked(s->files[i].section, NULL);
	}
	free(s->files);
	*s = (struct ncu_sections){0};
}

/* ---- one file ---- */

struct loading {
	struct ncu_sections *sections;
	const char *path;
};

static void problem_report(void *user, const struct text_problem *problem)
{
	struct loading *l = user;
	l->sections->errors += !problem->is_warning;
	l->sections->problem(l->sections->user, l->path, problem);
}

static void problem_of_file(struct loading *l, const char *text)
{
	struct text_problem problem = {.line = 0};
	snprintf(problem.text, sizeof(problem.text), "%s", text);
	problem_report(l, &problem);
}

/* Read a regular file. The caller frees the text. Returns 0 or a negative errno. */
static int file_read(const char *path, char **ret_text, size_t *ret_bytes)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), error = 0;
	size_t used = 0;
	char *text = NULL;
	if (fd < 0 || fstat(fd, &status))
		error = -errno;
	else if (!S_ISREG(status.st_mode))
		error = -EINVAL;
	else if (status.st_size > SECTION_FILE_BYTES_MAX)
		error = -EFBIG;
	else if (!(text = malloc((size_t)status.st_size + 1)))
		error = -ENOMEM;
	while (!error && used < (size_t)status.st_size) {
		ssize_t bytes = read(fd, text + used, (size_t)status.st_size - used);
		if (bytes < 0)
			error = -errno;
		if (bytes <= 0)
			break;
		used += (size_t)bytes;
	}
	if (fd >= 0)
		close(fd);
	if (error)
		free(text);
	*ret_text = error ? NULL : text;
	*ret_bytes = used;
	return error;
}

/* Return the problem of a required field; NULL = all required fields are valid. */
static const char *missing_in(const Ncu__ProfilerSection *section)
{
	if (!section->identifier || !*section->identifier)
		return "no Identifier";
	if (strpbrk(section->identifier, " \t\n"))
		return "blank in the Identifier";
	return section->display_name ? NULL : "no DisplayName";
}

/* Return the section of a file, or NULL, after the cause has been reported. */
static Ncu__ProfilerSection *section_load(struct loading *l)
{
	uint8_t *packed = NULL;
	size_t bytes, count = 0;
	char *text;
	int error = file_read(l->path, &text, &bytes);
	if (error) {
		problem_of_file(l,
			error == -EINVAL          ? "not a regular file"
				: error == -EFBIG ? "larger than 4 MiB"
						  : strerror(-error));
		return NULL;
	}
	error = text_format_pack(&ncu__profiler_section__descriptor, text, bytes, problem_report, l,
		&packed, &count);
	free(text);
	Ncu__ProfilerSection *section =
		error ? NULL : ncu__profiler_section__unpack(NULL, count, packed);
	free(packed);
	if (error == -ENOMEM || (!error && !section))
		problem_of_file(l, strerror(ENOMEM));
	const char *missing = section ? missing_in(section) : NULL;
	if (!missing)
		return section;
	problem_of_file(l, missing);
	ncu__profiler_section__free_unpacked(section, NULL);
	return NULL;
}

/* Add a file, or replace an earlier file with the same identifier. Takes ownership of `section`. */
static int file_keep(struct ncu_sections *s, const char *path, Ncu__ProfilerSection *section)
{
	struct ncu_section_file file = {strdup(path), section, true}, *old = NULL;
	for (size_t i = 0; !old && i < s->count; i++)
		if (!strcmp(s->files[i].section->identifier, section->identifier))
			old = &s->files[i];
	if (!file.path ||
		(!old && array_room(&s->files, s->count, &s->capacity, sizeof(*s->files)))) {
		free(file.path);
		ncu__profiler_section__free_unpacked(section, NULL);
		return -ENOMEM;
	}
	if (old) {
		free(old->path);
		ncu__profiler_section__free_unpacked(old->section, NULL);
		*old = file;
	} else {
		s->files[s->count++] = file;
	}
	return 0;
}

static int file_add(struct ncu_sections *s, const char *path)
{
	struct loading l = {s, path};
	if (s->found++ >= SECTION_FILES_MAX) {
		if (s->found == SECTION_FILES_MAX + 1)
			problem_of_file(
				&l, "too many section files; this and later ones are left out");
		return 0;
	}
	Ncu__ProfilerSection *section = section_load(&l);
	return section ? file_keep(s, path, section) : 0;
}

/* ---- folders ---- */

static bool is_section_file(const char *name)
{
	const char *suffix = strrchr(name, '.');
	return *name != '.' && suffix && !strcmp(suffix, ".section");
}

/* Add a section file, or the files of a subfolder. depth: levels of folders to read, including
 * this one. */
static int entry_add(struct ncu_sections *s, const char *folder, const char *name, unsigned depth)
{
	struct stat status;
	char *path;
	int error = 0;
	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return -ENOMEM;
	if (is_section_file(name))
		error = file_add(s, path);
	else if (depth > 1 && *name != '.' && !lstat(path, &status) && S_ISDIR(status.st_mode))
		error = add_folder(s, path, depth - 1);
	free(path);
	return error;
}

static int add_folder(struct ncu_sections *s, const char *path, unsigned depth)
{
	struct dirent **names;
	int count = scandir(path, &names, NULL, alphasort), error = 0;
	if (count < 0)
		return -errno;
	for (int i = 0; i < count; i++) {
		if (!error)
			error = entry_add(s, path, names[i]->d_name, depth);
		free(names[i]);
	}
	free(names);
	return error;
}

int ncu_sections_add_folder(struct ncu_sections *s, const char *path, bool recursive)
{
	return add_folder(s, path, recursive ? SECTION_FOLDER_DEPTH_MAX : 1);
}

static int by_identifier(const void *a, const void *b)
{
	return strcmp(((const struct ncu_section_file *)a)->section->identifier,
		((const struct ncu_section_file *)b)->section->identifier);
}

void ncu_sections_sort(struct ncu_sections *s)
{
	if (s->count)
		qsort(s->files, s->count, sizeof(*s->files), by_identifier);
}

/* ---- which ---- */

bool ncu_section_is_in_set(const Ncu__ProfilerSection *section, const char *set)
{
	for (size_t i = 0; i < section->n_sets; i++)
		if (section->sets[i]->identifier && !strcmp(section->sets[i]->identifier, set))
			return true;
	return false;
}

int ncu_section_is_named(const Ncu__ProfilerSection *section, const char *text)
{
	const char *identifier = section->identifier ? section->identifier : "";
	regex_t regex;
	if (strncmp(text, "regex:", 6) != 0)
		return !strcmp(identifier, text);
	if (regcomp(&regex, text + 6, REG_EXTENDED | REG_NOSUB))
		return -EINVAL;
	int is_named = !regexec(&regex, identifier, 0, NULL, 0);
	regfree(&regex);
	return is_named;
}
