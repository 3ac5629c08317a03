/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx.h - the NVTX ranges that were open at a launch, as ncu prints them.
 *
 * No state. One thread.
 */
#ifndef READER_NCU_PAGES_NVTX_H
#define READER_NCU_PAGES_NVTX_H

#include <stdbool.h>
#include <stdio.h>

#include "reader/ncu/results.h"

/* Was a range open at the launch? */
bool nvtx_has_ranges(const Ncu__ProfileResult *result);

/* The range that the launching thread pushed last; NULL: none. */
const char *nvtx_innermost(const Ncu__ProfileResult *result);

/* The two columns of CSV pages: ranges of the launching thread, started ones of the process. */
void nvtx_cells(const Ncu__ProfileResult *result, FILE *out);

/* The same as lines below the launch. */
void nvtx_lines(const Ncu__ProfileResult *result, FILE *out);

/*
 * The ranges of one domain that a launch was in. It is these that states are told apart by; where
 * some of them were started, all started ones of the process are printed, and with their numbers
 * in lines. Texts are good during the call.
 */
struct nvtx_state_text {
	const char *domain;
	const char *order; /* what ncu sorts by: names and attributes one behind the other */
	const char *own;   /* the same as in a cell */
	const char *cell, *lines;
};

/* Calls `one` for each state of a launch until it returns an error. 0, that error, -ENOMEM, or
 * -E2BIG where there are more domains or texts than any program has: a file that means harm. */
int nvtx_states(const Ncu__ProfileResult *result,
	int (*one)(void *user, const struct nvtx_state_text *state), void *user);

/* Compare two states: 0 = launches of the two were in the same ranges, otherwise which comes first.
 */
int nvtx_state_order(const struct nvtx_state_text *x, const struct nvtx_state_text *y);

#endif
