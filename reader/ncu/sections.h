/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sections.h - section files: found in folders, read, and chosen.
 *
 * A .section file is one ProfilerSection as text. What does not load is told and left out; of
 * several files with one identifier the last holds, in the order in which they were found: folders
 * as they were added, files and folders within them by name. One thread; allocates.
 */
#ifndef READER_NCU_SECTIONS_H
#define READER_NCU_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "ncu_sections.pb-c.h"
#include "reader/ncu/text_format.h"

#define SECTION_FILE_BYTES_MAX (4u << 20) /* NVIDIA's largest: 16 KiB */
#define SECTION_FILES_MAX 4096u
#define SECTION_FOLDER_DEPTH_MAX 16u

struct ncu_section_file {
	char *path;
	Ncu__ProfilerSection *section; /* has an identifier and a display name */
	bool is_chosen;
};

struct ncu_sections {
	struct ncu_section_file *files; /* those that loaded, by identifier once they are sorted */
	size_t count;
	uint32_t capacity;
	size_t found, errors; /* files with that suffix; problems that are no warnings */
	/* Told about each problem; line 0 = of the whole file. */
	void (*problem)(void *user, const char *path, const struct text_problem *problem);
	void *user;
};

void ncu_sections_init(struct ncu_sections *s,
	void (*problem)(void *user, const char *path, const struct text_problem *problem),
	void *user);
void ncu_sections_release(struct ncu_sections *s);

/* Reads the section files of a folder, and with `recursive` those of the folders in it. 0, or a
 * negative errno when the folder cannot be read. */
int ncu_sections_add_folder(struct ncu_sections *s, const char *path, bool recursive);

/* Orders the files by identifier. */
void ncu_sections_sort(struct ncu_sections *s);

/* Is the section in the set of that name? */
bool ncu_section_is_in_set(const Ncu__ProfilerSection *section, const char *set);

/* Does the text name the section: by its identifier, or as "regex:..." a part of it? -EINVAL: not a
 * regular expression. */
int ncu_section_is_named(const Ncu__ProfilerSection *section, const char *text);

#endif
