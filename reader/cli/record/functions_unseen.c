/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions_unseen.c - what a recording of functions of libraries could not see.
 */
#define _GNU_SOURCE
#include "reader/cli/record/functions_unseen.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/regular.h"
#include "common/schema/libraries.h"
#include "common/spool.h"
#include "common/text.h"
#include "reader/cli/base/change.h"
#include "reader/cli/base/message.h"
#include "reader/cli/record/functions.h"

#define NOTES_MAX 8u
#define SYMBOLS_MAX (4u << 20) /* of a program; the largest of Debian has less than a tenth */
#define PROGRAMS_MAX 64u       /* whose files are read */
#define LITERAL_MIN 3u /* characters before a wildcard, or the pattern names other functions, too */

/* ---- patterns that match nothing ---- */

/* Set the bits of the patterns that a function of some process matches. Return false if there is a
 * process of which that is not known. */
static bool matched_find(const struct info *i, uint64_t *ret_bits)
{
	bool any = false;
	for (size_t n = 0; n < i->c.processes.count; n++) {
		const Libtrace__Receipt *r = i->c.processes.rows[n]->receipt;
		const Libtrace__FunctionReceipt *f = r ? r->functions : NULL;
		any |= f != NULL;
		for (size_t m = 0; f && m < f->n_matched_patterns; m++)
			if (f->matched_patterns[m] < FUNCTION_USER_PATTERNS_MAX)
				ret_bits[f->matched_patterns[m] / 64] |= UINT64_C(1)
					<< f->matched_patterns[m] % 64;
	}
	return any && !i->unended;
}

void functions_note_unmatched(const char *patterns, const struct info *i)
{
	uint64_t bits[FUNCTION_USER_PATTERNS_MAX / 64] = {0};
	unsigned number = 0, left = 0;
	if (!patterns || !matched_find(i, bits))
		return;
	for (const char *p = patterns; *p && number < FUNCTION_USER_PATTERNS_MAX; number++) {
		const size_t length = function_pattern_length(p);
		if (bits[number / 64] >> number % 64 & 1)
			;
		else if (left++ < NOTES_MAX)
			cli_note("--functions: '%.*s' matches no function that a module of the "
				 "program imports from another one, or looks up; see 'trace info'",
				(int)length, p);
		p += length + (p[length] == ',');
	}
	if (left > NOTES_MAX)
		cli_note("--functions: nor do %u other patterns match one", left - NOTES_MAX);
}

/* ---- functions that are linked statically ---- */

/* Patterns to look for in the symbols of a program. */
struct wanted {
	struct {
		const char *library, *library_end, *function, *function_end;
	} list[FUNCTION_USER_PATTERNS_MAX + 4 * LIBRARY_ROWS];
	size_t count;
};

/* Add a pair of patterns, if it names functions closely enough. */
static void wanted_add(struct wanted *w, const char *library, const char *library_end,
	const char *function, const char *function_end)
{
	size_t literal = 0;
	while (function + literal < function_end && !strchr("*?", function[literal]))
		literal++;
	if (literal < LITERAL_MIN || w->count == sizeof(w->list) / sizeof(w->list[0]))
		return;
	w->list[w->count].library = library;
	w->list[w->count].library_end = library_end;
	w->list[w->count].function = function;
	w->list[w->count++].function_end = function_end;
}

static void patterns_add(struct wanted *w, const char *patterns)
{
	for (const char *p = patterns; p && *p;) {
		const char *end = p + function_pattern_length(p), *colon = strchr(p, ':');
		if (colon && colon < end)
			wanted_add(w, p, colon, colon + 1, colon + strcspn(colon, "(,"));
		p = end + (*end == ',');
	}
}

static bool is_among(const char *list, const char *name)
{
	const size_t length = strlen(name);
	for (const char *at = list; at && (at = strstr(at, name)); at += length)
		if ((at == list || at[-1] == ',') && (!at[length] || at[length] == ','))
			return true;
	return false;
}

static void rows_add(struct wanted *w, const char *sources)
{
	for (size_t row = 0; row < LIBRARY_ROWS; row++) {
		const struct library *l = &library_rows[row];
		if (!is_among(sources, l->name))
			continue;
		for (const char *names = l->functions, *end; names;
			names = library_pattern_next(end)) {
			end = library_pattern_end(names);
			wanted_add(w, l->files, library_pattern_end(l->files), names, end);
		}
	}
}

/* Return whether the patterns name a function that is in a file of another name. */
static bool is_hidden(const struct wanted *w, const char *name, const char *file)
{
	for (size_t i = 0; i < w->count; i++)
		if (text_matches(name, w->list[i].function, w->list[i].function_end) &&
			!text_matches(file, w->list[i].library, w->list[i].library_end))
			return true;
	return false;
}

/* An ELF file; every number in it may be wrong. It is read, not mapped: it may be cut meanwhile. */
struct image {
	int fd;
	uint64_t bytes;
};

/* Return a part of the file, which the caller frees; NULL = there is none, or no memory. */
static void *part_read(const struct image *m, uint64_t offset, uint64_t bytes)
{
	void *part =
		bytes && offset <= m->bytes && bytes <= m->bytes - offset ? malloc(bytes) : NULL;
	if (part && pread(m->fd, part, bytes, (off_t)offset) == (ssize_t)bytes)
		return part;
	free(part);
	return NULL;
}

/* Find the table of symbols, that of the linker, else that of the loader, and its texts. */
static bool symbols_find(const struct image *m, Elf64_Shdr *ret_table, Elf64_Shdr *ret_strings)
{
	Elf64_Ehdr *elf = part_read(m, 0, sizeof(*elf));
	const Elf64_Shdr *found = NULL;
	Elf64_Shdr *sections = NULL;
	if (elf && !memcmp(elf->e_ident, ELFMAG, SELFMAG) && elf->e_ident[EI_CLASS] == ELFCLASS64 &&
		elf->e_shentsize == sizeof(*sections))
		sections = part_read(m, elf->e_shoff, (uint64_t)elf->e_shnum * sizeof(*sections));
	for (unsigned i = 0; sections && i < elf->e_shnum; i++)
		if (sections[i].sh_type == SHT_SYMTAB ||
			(sections[i].sh_type == SHT_DYNSYM && !found))
			found = &sections[i];
	const bool is_right = found && found->sh_link < elf->e_shnum;
	if (is_right) {
		*ret_table = *found;
		*ret_strings = sections[found->sh_link];
	}
	free(sections);
	free(elf);
	return is_right;
}

/* Count the functions in the file that the patterns name. The caller frees *ret_example, one of
 * them; untouched if there are none. */
static uint64_t hidden_count(
	const struct image *m, const struct wanted *w, const char *file, char **ret_example)
{
	Elf64_Shdr table, strings;
	uint64_t found = 0;
	if (!symbols_find(m, &table, &strings))
		return 0;
	const uint64_t count = table.sh_size / sizeof(Elf64_Sym);
	Elf64_Sym *symbols = part_read(m, table.sh_offset, table.sh_size);
	char *names = symbols ? part_read(m, strings.sh_offset, strings.sh_size) : NULL;
	if (names)
		names[strings.sh_size - 1] = 0;
	for (uint64_t i = 0; names && i < count && i < SYMBOLS_MAX; i++) {
		if (ELF64_ST_TYPE(symbols[i].st_info) != STT_FUNC ||
			symbols[i].st_shndx == SHN_UNDEF || symbols[i].st_name >= strings.sh_size ||
			!is_hidden(w, names + symbols[i].st_name, file))
			continue;
		if (!found++)
			*ret_example = strdup(names + symbols[i].st_name);
	}
	free(names);
	free(symbols);
	return found;
}

/* Likewise in the file at a path. */
static uint64_t hidden_in(const char *path, const struct wanted *w, char **ret_example)
{
	struct stat status;
	const int fd = regular_open(path);
	uint64_t found = 0;
	if (fd < 0)
		return 0;
	if (!fstat(fd, &status) && status.st_size > 0) {
		const struct image m = {fd, (uint64_t)status.st_size};
		found = hidden_count(&m, w, text_base_name(path), ret_example);
	}
	close(fd);
	return found;
}

/* Return whether functions were recorded in a process whose file is known. */
static bool has_functions(const struct process *p)
{
	return p->receipt && p->receipt->functions && p->facts->executable;
}

/* Return whether an earlier one of these processes ran the same file. */
static bool is_read(const struct process_list *l, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (has_functions(l->rows[i]) &&
			!strcmp(l->rows[i]->facts->executable, l->rows[n]->facts->executable))
			return true;
	return false;
}

void functions_add_static(
	const char *path, const char *patterns, const char *sources, const struct info *i)
{
	static struct wanted w;
	const struct process_list *l = &i->c.processes;
	struct change g;
	bool is_open = false;
	int status = STATUS_OK;
	unsigned read = 0;
	w.count = 0;
	patterns_add(&w, patterns);
	rows_add(&w, sources);
	if (!w.count || i->r.problems || i->r.report.unfinished || i->c.tally.torn_bytes)
		return;
	for (size_t n = 0; n < l->count && status == STATUS_OK && read < PROGRAMS_MAX; n++) {
		const struct process *p = l->rows[n];
		char *example = NULL;
		if (!has_functions(p) || is_read(l, n))
			continue;
		read++;
		Libtrace__Process message = LIBTRACE__PROCESS__INIT;
		Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
		message.static_functions = hidden_in(p->facts->executable, &w, &example);
		if (message.static_functions && !is_open) {
			status = change_open(&g, path, path, true);
			is_open = true;
		}
		message.id = p->id;
		message.has_id = message.has_static_functions = 1;
		message.static_example = example;
		entry.process = &message;
		if (message.static_functions && status == STATUS_OK)
			append_entry(&g.append, &entry);
		free(example);
	}
	if (is_open && status == STATUS_OK)
		change_commit(&g, "the functions that are linked statically");
	if (is_open)
		change_close(&g);
}
