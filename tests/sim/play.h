/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play.h - plays a recorded call: the device reports it, and the operations that it caused, with
 * the times that the caller gives. For tests/cuda/player.c, which links libcuda.
 */
#ifndef SIM_PLAY_H
#define SIM_PLAY_H

#include "tests/sim/sim.h"

struct sim_played {
	enum sim_domain domain;
	uint32_t cbid, result;
	const char *name;  /* as in CUPTI, with its version */
	uint64_t until_ns; /* the call returns no earlier */
};

/* Report the operations (times of CLOCK_MONOTONIC, with device, context and stream) as those of
 * this call, or of no call if it is NULL, on the calling thread. Any thread. */
void sim_play(const struct sim_played *played, const struct sim_op *ops, size_t count);

#endif
