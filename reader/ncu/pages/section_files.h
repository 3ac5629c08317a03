/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section_files.h - the section files that the options --section-folder, --section and --set
 * choose.
 *
 * One thread; messages are printed on stderr; allocates.
 */
#ifndef READER_NCU_PAGES_SECTION_FILES_H
#define READER_NCU_PAGES_SECTION_FILES_H

#include "reader/cli/base/message.h"
#include "reader/ncu/sections.h"

/* The options of a command; NULL = not given. Values of repeated options are separated by newlines.
 */
struct section_options {
	const char *folders, *folders_recursive; /* --section-folder, --section-folder-recursive */
	const char *names, *sets;                /* --section, --set */
};

/* Read all section files of the folders, sorted by identifier. Errors in files are printed with
 * line and column, and counted. Returns an exit status: STATUS_FAILED if a folder cannot be read.
 * The caller releases `s`, even after an error. */
int section_files_read(struct ncu_sections *s, const struct section_options *o);

/* Return whether --section or --set choose the section. Without both options, all sections are
 * chosen. */
bool section_is_chosen(const struct section_options *o, const Ncu__ProfilerSection *section);

/* Check that each word of --section and --set chooses a section that was read. Returns an exit
 * status, after a message unless it is STATUS_OK. */
int section_choice_check(const struct section_options *o, const struct ncu_sections *s);

/* Track which words of --section and --set chose a section. There is one flag per word, first
 * those of --section; section_words_count() returns their number. section_words_note() sets the
 * flags of the words that choose `section`; section_words_print() prints the other words on
 * stderr. */
size_t section_words_count(const struct section_options *o);
void section_words_note(
	const struct section_options *o, const Ncu__ProfilerSection *section, bool *found);
void section_words_print(const struct section_options *o, const bool *found);

#endif
