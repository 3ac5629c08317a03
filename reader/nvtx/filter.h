/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.h - the language of ncu's --nvtx-include and --nvtx-exclude: which NVTX ranges must
 * be open for an event to be looked at.
 *
 *   [DOMAIN@]RANGES      without a domain: the default one
 *   A/                   the range A of push and pop is open on the thread, anywhere in the nesting
 *   [A      A]           it is the outermost, the innermost one
 *   A/B                  B lies directly in A
 *   A/+/B           one range lies between them; with a star in place of '+' any number of them
 *   A       A,B,C        without '/', '[' in front or ']' behind: all these ranges of start and end
 * are open in the process, in whatever order regex:...            domain and names are extended
 * regular expressions, found anywhere in the text; a bracket at the very begin or end that belongs
 * to one has '/' before it
 *
 * A backslash takes the meaning from '@' ',' '[' ']' '/' '*' '+'. Names are whole texts; ranges
 * without text cannot be named. Filters are pure: ranges of a report are nvtx/state.h. One thread;
 * allocates.
 */
#ifndef READER_NVTX_FILTER_H
#define READER_NVTX_FILTER_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVTX_FILTER_NAMES 64u       /* in all expressions together */
#define NVTX_FILTER_EXPRESSIONS 32u /* includes and excludes */
#define NVTX_FILTER_ELEMENTS 60u    /* in one */

enum nvtx_element { ELEMENT_NAME, ELEMENT_ONE, ELEMENT_MANY };

struct nvtx_pattern {
	bool is_regex;
	char *text;
	regex_t regex; /* where it is one */
};

struct nvtx_expression {
	bool excludes, is_push_pop, at_bottom, at_top;
	struct nvtx_pattern domain;
	uint32_t count;
	struct {
		uint8_t kind; /* enum nvtx_element */
		uint8_t name; /* its number, 0 to 63 */
	} elements[NVTX_FILTER_ELEMENTS];
};

struct nvtx_filter {
	struct nvtx_expression expressions[NVTX_FILTER_EXPRESSIONS];
	struct nvtx_pattern names[NVTX_FILTER_NAMES];
	uint32_t count, name_count;
	uint32_t includes, excludes; /* bits of expressions */
	bool of_process; /* stacks of all threads of an event's process count, not its own alone */
};

void nvtx_filter_init(struct nvtx_filter *f);
void nvtx_filter_release(struct nvtx_filter *f);

/* Adds an expression. 0, -ENOMEM, or -EINVAL with the cause and its place in `text`. */
int nvtx_filter_add(struct nvtx_filter *f, const char *text, bool excludes, size_t *ret_at,
	const char **ret_why);

/* Which expressions (bits) are about this domain, which names (bits) mean this text. */
uint32_t nvtx_filter_domains(const struct nvtx_filter *f, const char *text);
uint64_t nvtx_filter_names(const struct nvtx_filter *f, const char *text);

/* What holds of a stack of ranges of one thread and domain. */
struct nvtx_stack {
	uint64_t states[NVTX_FILTER_EXPRESSIONS]; /* bit i: its first i elements end at the top */
	uint32_t holds;                           /* bits of expressions of push and pop */
};

/* One more range on top of `below` (NULL = of nothing), whose text means `names`, in a domain that
 * the expressions `domains` are about. */
void nvtx_stack_push(const struct nvtx_filter *f, const struct nvtx_stack *below, uint32_t domains,
	uint64_t names, struct nvtx_stack *ret_stack);

/* Does an expression of start and end hold while ranges of the texts `names` are open? */
bool nvtx_filter_all_open(const struct nvtx_expression *e, uint64_t names);

/* Is an event to be looked at for which these expressions hold? Any include, and no exclude. */
bool nvtx_filter_passes(const struct nvtx_filter *f, uint32_t holds);

#endif
