/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.h - facts about the machine that may affect measurements, for comparisons of runs.
 *
 * Each fact is a text "name=value"; a fact that is not available on this machine is left out. One
 * thread.
 */
#ifndef WRITER_REPORT_FACTS_H
#define WRITER_REPORT_FACTS_H

#include <stddef.h>

enum { FACTS_MAX = 64, FACT_BYTES = 320 };

struct facts {
	char texts[FACTS_MAX][FACT_BYTES];
	char *list[FACTS_MAX];
	size_t count;
};

/* Read the facts from /proc, /sys and the git repository of `directory` (an absolute path; "" =
 * none). */
void facts_read(struct facts *f, const char *directory);

#endif
