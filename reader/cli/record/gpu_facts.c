/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_facts.c - properties of GPUs from NVML, which libtrace-host loads.
 */
#define _GNU_SOURCE
#include "reader/cli/record/gpu_facts.h"

#include <stddef.h>
#include <string.h>

#include "reader/base/companion.h"
#include "reader/cli/base/change.h"

#define FACTS_MAX 128u
#define TEXT_BYTES 16384u /* bytes of all facts; less than a pipe holds */
#define PATIENCE_MS 5000

/* Split the text into facts; bytes that are not printable become '?'. */
static size_t facts_split(char *text, char **ret_facts)
{
	size_t count = 0;
	for (char *line; count < FACTS_MAX && (line = strsep(&text, "\n"));) {
		for (char *c = line; *c; c++)
			*c = (char)(*c < ' ' || *c > '~' ? '?' : *c);
		if (strchr(line, '='))
			ret_facts[count++] = line;
	}
	return count;
}

void gpu_facts_add(const char *report)
{
	static char text[TEXT_BYTES];
	const char *const arguments[] = {"nvml", NULL};
	char *facts[FACTS_MAX];
	struct change g;
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Session message = LIBTRACE__SESSION__INIT;
	companion_ask(arguments, PATIENCE_MS, text, sizeof(text));
	message.n_facts = facts_split(text, facts);
	message.facts = facts;
	entry.session = &message;
	if (!message.n_facts)
		return;
	if (!change_open(&g, report, report, true)) {
		append_entry(&g.append, &entry);
		change_commit(&g, "facts about the GPUs");
	}
	change_close(&g);
}
