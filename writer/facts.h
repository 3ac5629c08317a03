/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.h - what else of the machine may change what is measured: for comparisons of runs.
 *
 * Each fact is a text "name=value"; one that this machine does not tell is left out. Used by the
 * writer's one thread.
 */
#ifndef WRITER_FACTS_H
#define WRITER_FACTS_H

#include <stddef.h>

enum { FACTS_MAX = 64, FACT_BYTES = 320 };

struct facts {
	char texts[FACTS_MAX][FACT_BYTES];
	char *list[FACTS_MAX];
	size_t count;
};

/* Reads /proc, /sys and the git repository that `directory` (an absolute path; "" = none) lies in.
 */
void facts_read(struct facts *f, const char *directory);

#endif
