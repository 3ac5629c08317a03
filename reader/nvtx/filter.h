/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.h - expressions of ncu's --nvtx-include and --nvtx-exclude: which NVTX ranges must be open
 * for an event to be selected.
 *
 *   [DOMAIN@]RANGES      without a domain: the default one
 *   A/      push/pop range A is open on the thread, at any depth
 *   [A  A]  A is the outermost, the innermost range
 *   A/B     B is directly inside A
 *   A/+/B   one range is between them; with a star in place of '+' any number of ranges
 *   A,B,C   one or more names without '/', leading '[' or trailing ']': all these start/end ranges
 *           are open in the process, in any order
 *   regex:  domain and names are extended regular expressions that match anywhere in the text; a
 *           bracket at the very start or end that belongs to the expression has '/' before it
 *
 * A backslash escapes '@' ',' '[' ']' '/' '*' '+'. Names match whole texts; ranges without text
 * cannot be named. Filters have no state; the ranges of a report are in nvtx/state.h. One thread;
 * allocates.
 */
#ifndef READER_NVTX_FILTER_H
#define READER_NVTX_FILTER_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVTX_FILTER_NAMES 64u       /* maximum number of names in all expressions together */
#define NVTX_FILTER_EXPRESSIONS 32u /* maximum number of includes and excludes */
#define NVTX_FILTER_ELEMENTS 60u    /* maximum number of elements of an expression */

enum nvtx_element { ELEMENT_NAME, ELEMENT_ONE, ELEMENT_MANY };

struct nvtx_pattern {
	bool is_regex;
	char *text;
	regex_t regex; /* if is_regex */
};

struct nvtx_expression {
	bool excludes, is_push_pop, at_bottom, at_top;
	struct nvtx_pattern domain;
	uint32_t count;
	struct {
		uint8_t kind; /* enum nvtx_element */
		uint8_t name; /* index of the name, 0 to 63 */
	} elements[NVTX_FILTER_ELEMENTS];
};

struct nvtx_filter {
	struct nvtx_expression expressions[NVTX_FILTER_EXPRESSIONS];
	struct nvtx_pattern names[NVTX_FILTER_NAMES];
	uint32_t count, name_count;
	uint32_t includes, excludes; /* bits of expressions */
	bool of_process; /* the ranges of all threads of an event's process count, not only of its
			    own thread */
};

/* Initialize a filter without expressions, which selects all events; release frees them. */
void nvtx_filter_init(struct nvtx_filter *f);
void nvtx_filter_release(struct nvtx_filter *f);

/* Add an expression. Returns 0, -ENOMEM, or -EINVAL with the cause and its offset in `text`. */
int nvtx_filter_add(struct nvtx_filter *f, const char *text, bool excludes, size_t *ret_at,
	const char **ret_why);

/* Return the expressions (as bits) that apply to this domain, and the names (as bits) that match
 * this text. */
uint32_t nvtx_filter_domains(const struct nvtx_filter *f, const char *text);
uint64_t nvtx_filter_names(const struct nvtx_filter *f, const char *text);

/* State of a stack of ranges of one thread and domain. */
struct nvtx_stack {
	uint64_t states[NVTX_FILTER_EXPRESSIONS]; /* bit i: the first i elements of the expression
						     end at the top */
	uint32_t holds;                           /* bits of push/pop expressions that match */
};

/* Compute the state after a range is pushed on `below` (NULL = empty stack). `names`: names that
 * match its text; `domains`: expressions that apply to its domain. */
void nvtx_stack_push(const struct nvtx_filter *f, const struct nvtx_stack *below, uint32_t domains,
	uint64_t names, struct nvtx_stack *ret_stack);

/* Return true if a start/end expression matches while ranges with the texts `names` are open. */
bool nvtx_filter_all_open(const struct nvtx_expression *e, uint64_t names);

/* Return true if an event that these expressions match is selected: by an include (if there are
 * any) and no exclude. */
bool nvtx_filter_passes(const struct nvtx_filter *f, uint32_t holds);

#endif
