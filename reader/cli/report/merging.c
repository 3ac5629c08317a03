/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merging.c - whether `trace report` merges numbers in names.
 */
#include "reader/cli/report/merging.h"

#include <string.h>

#define MERGING_JOINS_LEAST 200 /* names that merging numbers must join to be done */

static int merging_read(void *user, const struct sql_value *v, int count)
{
	struct merging *m = user;
	if (count == 2)
		*m = (struct merging){v[0].integer, v[1].integer};
	return 0;
}

int merging_choose(struct sql *s, const struct sql_report *report, struct merging *ret)
{
	const struct sql_visitor visitor = {ret, NULL, merging_read};
	*ret = (struct merging){0};
	int error = strcmp(report->name, "nvtx_sum")
		? 0
		: sql_run(s,
			  "SELECT count(*), count(DISTINCT numbers_merged(text)) "
			  "FROM (SELECT DISTINCT text FROM NVTX_RANGES)",
			  &visitor);
	if (ret->names - ret->merged < MERGING_JOINS_LEAST)
		*ret = (struct merging){0};
	return error;
}
