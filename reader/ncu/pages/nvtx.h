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

/* Return whether a range was open at the launch. */
bool nvtx_has_ranges(const Ncu__ProfileResult *result);

/* Return the range that the launching thread pushed last; NULL = none. */
const char *nvtx_innermost(const Ncu__ProfileResult *result);

/* Print the two columns of CSV pages: pushed ranges of the launching thread, started ranges of the
 * process. */
void nvtx_cells(const Ncu__ProfileResult *result, FILE *out);

/* Print the ranges of nvtx_cells() as lines below the launch. */
void nvtx_lines(const Ncu__ProfileResult *result, FILE *out);

/* The ranges of one domain that were open at a launch. Launches are grouped by these. If some
 * ranges of the domain were started, all started ranges of the process are printed, and lines show
 * their numbers. The texts are valid during the call. */
struct nvtx_state_text {
	const char *domain;
	const char *order; /* the sort key of ncu: names and attributes joined */
	const char *own;   /* the same ranges, formatted as a cell */
	const char *cell, *lines;
};

/* Call `one` for each state of a launch until it returns an error. Returns 0, that error, -ENOMEM,
 * or -E2BIG if there are more domains or texts than any program has, as in a hostile file. */
int nvtx_states(const Ncu__ProfileResult *result,
	int (*one)(void *user, const struct nvtx_state_text *state), void *user);

/* Compare two states. Returns 0 if the launches were in the same ranges, otherwise the order of
 * the states. */
int nvtx_state_order(const struct nvtx_state_text *x, const struct nvtx_state_text *y);

#endif
