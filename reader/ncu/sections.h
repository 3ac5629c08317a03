/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sections.h - section files: search in folders, loading, and selection.
 *
 * A .section file is one ProfilerSection in text format. A file that does not load is reported and
 * left out. If several files have the same identifier, the last one found is used; folders are
 * searched in the order in which they were added, files and folders within them by name. One
 * thread; allocates.
 */
#ifndef READER_NCU_SECTIONS_H
#define READER_NCU_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "ncu_sections.pb-c.h"
#include "reader/ncu/text_format.h"

#define SECTION_FILE_BYTES_MAX (4u << 20) /* NVIDIA's largest file has 16 KiB */
#define SECTION_FILES_MAX 4096u
#define SECTION_FOLDER_DEPTH_MAX 16u

struct ncu_section_file {
	char *path;
	Ncu__ProfilerSection *section; /* has an identifier and a display name */
	bool is_chosen;
};

struct ncu_sections {
	struct ncu_section_file *files; /* sorted by identifier after ncu_sections_sort() */
	size_t count;
	uint32_t capacity;
	size_t found, errors; /* files named *.section; problems except warnings */
	/* Called for each problem; line 0 = the whole file. */
	void (*problem)(void *user, const char *path, const struct text_problem *problem);
	void *user;
};

/* Initialize without files; `problem` is called with `user` for each problem found later. One
 * thread. */
void ncu_sections_init(struct ncu_sections *s,
	void (*problem)(void *user, const char *path, const struct text_problem *problem),
	void *user);
/* Free the files loaded. */
void ncu_sections_release(struct ncu_sections *s);

/* Load the section files of a folder and, with `recursive`, of its subfolders. Returns 0, or a
 * negative errno if the folder cannot be read. */
int ncu_sections_add_folder(struct ncu_sections *s, const char *path, bool recursive);

/* Sort the files by identifier. */
void ncu_sections_sort(struct ncu_sections *s);

/* Return true if the section is in the set of that name. */
bool ncu_section_is_in_set(const Ncu__ProfilerSection *section, const char *set);

/* Return whether the text names the section: its identifier, or "regex:..." that matches a part of
 * it. Returns -EINVAL for an invalid regular expression. */
int ncu_section_is_named(const Ncu__ProfilerSection *section, const char *text);

#endif
