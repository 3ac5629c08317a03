/* SPDX-License-Identifier: Apache-2.0 */
/* One API call of the simulated driver or runtime from enter to exit, and what libcupti is told of
 * it; also options and clock. */
#ifndef SIM_CALL_H
#define SIM_CALL_H

#include "tests/sim/sim.h"

#include <cuda.h>

/* Begins a call: correlation id, the tool's callback, start time. */
void sim_enter(struct sim_call *call);

/* Ends it: the truth's line, the tool's callback. Returns the result, or the one that
 * SIM_FAULT=fail=... wants. */
uint32_t sim_leave(struct sim_call *call, uint32_t result);

/* The call the thread is in (the outermost one gives the correlation id), or NULL. */
struct sim_call *sim_current_call(void);
uint32_t sim_correlation(void);

/* The value of an option; the environment is read once. */
uint64_t sim_option(enum sim_option option);

/* The result that a call of that name shall have by SIM_FAULT=fail=..., else `result`. Counts the
 * calls of the name. */
uint32_t sim_fault_result(const char *name, uint32_t result);

/* CLOCK_MONOTONIC in ns. */
uint64_t sim_now_ns(void);

/* Sleeps until that time; returns at once when it is over. */
void sim_wait_until(uint64_t time_ns);

/* The tool, or NULL. */
const struct sim_tool *sim_tool(void);
void sim_set_tool(const struct sim_tool *tool);

/* What a name of the driver API is from a version of CUDA on; the last has no name. */
struct sim_entry {
	const char *name;
	int version;
	const char *symbol;
};
extern const struct sim_entry sim_entries[];

/* Tells truth and tool. */
void sim_tell_op(const struct sim_op *op);
/* CUDA took the time since then for itself. kind: CUpti_ActivityOverheadKind. */
void sim_tell_overhead(uint32_t kind, uint64_t start_ns);
void sim_tell_resource(const struct sim_resource *resource);

#endif
