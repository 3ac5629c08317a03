/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sources.c - the rows of sources.def as function calls.
 */
#include "writer/sources.h"

#include <stddef.h>

#include "writer/cpu/samples.h"
#include "writer/cuda/cubins.h"
#include "writer/cuda/open.h"
#include "writer/cuda/results.h"
#include "writer/cuda/rows.h"
#include "writer/functions/calls.h"
#include "writer/openmp/regions.h"
#include "writer/lane/callchains.h"
#include "writer/lane/gaps.h"
#include "writer/lane/modules.h"
#include "writer/lane/plain_rows.h"
#include "writer/lane/python.h"
#include "writer/lane/threads.h"
#include "writer/nvtx/ext.h"
#include "writer/nvtx/named.h"
#include "writer/nvtx/open.h"
#include "writer/nvtx/runs.h"
#include "writer/mpi/rows.h"
#include "writer/opencl/rows.h"
#include "writer/osrt/open.h"
#include "writer/osrt/records.h"
#include "writer/sched/readings.h"
#include "writer/sched/switches.h"
#include "writer/streams/writes.h"

record_put *sources_record(uint32_t kind)
{
	switch (kind) {
#define RECORD(kind, put) \
	case kind:        \
		return put;
#include "writer/sources.def"
	default:
		return NULL;
	}
}

void sources_lane_end(struct ending *e)
{
	static lane_end_put *const puts[] = {
#define LANE_END(put) put,
#include "writer/sources.def"
	};
	for (size_t i = 0; i < sizeof(puts) / sizeof(puts[0]); i++) {
		e->lane = lane_of(e->spool, e->view); /* the spool may have been remapped */
		if (e->lane)
			puts[i](e);
	}
}

int sources_process_end(struct writer *w, struct spool *spool)
{
	int error = 0;
#define PROCESS_END(put) error = error ? error : put(w, spool);
#include "writer/sources.def"
	return error;
}

uint64_t sources_unaccounted(struct spool *spool)
{
	uint64_t events = 0;
#define UNACCOUNTED(count) events += count(spool);
#include "writer/sources.def"
	return events;
}
