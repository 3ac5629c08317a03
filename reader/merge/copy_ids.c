/* SPDX-License-Identifier: Apache-2.0 */
/* copy_ids.c - ids of processes in a merged report. */
#include "reader/merge/copy.h"

#define PROCESSES_MAX (1u << 22) /* as in reader/report/processes.c */

uint32_t copy_process(struct copy *c, uint32_t id)
{
	uint32_t mine = id ? map_get(&c->processes, id, 0) : 0;
	if (mine || !id || c->m->last_process + 1 >= PROCESSES_MAX)
		return mine;
	mine = c->m->last_process + 1;
	if (map_put(&c->processes, id, 0, mine))
		return 0;
	return c->m->last_process = mine;
}
