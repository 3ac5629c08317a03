/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chains_full.c - makes a call at each node of a binary tree of calls, 2^20 in all: each has
 * another callchain. A tracer that keeps at most 2^20 frames has no room for the last ones.
 */
#include "app.h"

#define LEVELS 19

static volatile unsigned depth_reached, failed_reads;

static __attribute__((noinline)) void walk(unsigned level)
{
	failed_reads += read(-1, NULL, 0) == -1;
	if (level == LEVELS)
		return;
	walk(level + 1); /* two calls, so two return addresses */
	depth_reached = level;
	walk(level + 1);
	depth_reached = level;
}

int main(void)
{
	walk(0);
	check(failed_reads == (2u << LEVELS) - 1, "each read() of no descriptor failed");
	return app_result();
}
