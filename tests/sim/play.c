/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play.c - plays a recorded call.
 */
#include "tests/sim/play.h"
#include "tests/sim/call.h"

static void log_ops(const struct sim_op *ops, size_t count, uint32_t correlation)
{
	for (size_t i = 0; i < count; i++) {
		struct sim_op op = ops[i];

		op.correlation = correlation;
		sim_log_op(&op);
	}
}

SIM_EXPORT void sim_play(const struct sim_played *played, const struct sim_op *ops, size_t count)
{
	struct sim_call call = {0};

	if (!played) {
		log_ops(ops, count, 0);
		return;
	}
	call.domain = played->domain;
	call.cbid = played->cbid;
	call.name = call.plain_name = played->name;
	sim_enter(&call);
	log_ops(ops, count, call.correlation);
	sim_wait_until(played->until_ns);
	sim_leave(&call, played->result);
}
