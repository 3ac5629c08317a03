/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section_files.h - section files as commands choose them: --section-folder, --section, --set.
 *
 * One thread; messages go to stderr; allocates.
 */
#ifndef READER_NCU_PAGES_SECTION_FILES_H
#define READER_NCU_PAGES_SECTION_FILES_H

#include "reader/cli/base/message.h"
#include "reader/ncu/sections.h"

/* The options of a command, NULL where they are not given; repeated ones have a line each. */
struct section_options {
	const char *folders, *folders_recursive; /* --section-folder, --section-folder-recursive */
	const char *names, *sets;                /* --section, --set */
};

/* Reads all section files of the folders, ordered by identifier; errors in files are told with
 * line and column, and counted. An exit status: a folder that cannot be read is STATUS_FAILED. The
 * caller releases `s` in any case. */
int section_files_read(struct ncu_sections *s, const struct section_options *o);

/* Is the section one of those that --section and --set choose? Without both: all are. */
bool section_is_chosen(const struct section_options *o, const Ncu__ProfilerSection *section);

/* Checks that each of --section and --set chooses something of what loaded. An exit status. */
int section_choice_check(const struct section_options *o, const struct ncu_sections *s);

/*
 * Which words of --section and --set chose something: one flag for each, first those of --section.
 * section_words_note() sets the flags of those that choose a section; section_words_tell() names
 * the others on stderr.
 */
size_t section_words_count(const struct section_options *o);
void section_words_note(
	const struct section_options *o, const Ncu__ProfilerSection *section, bool *found);
void section_words_tell(const struct section_options *o, const bool *found);

#endif
