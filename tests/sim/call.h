/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.h - one API call of the simulated driver or runtime from enter to exit, and the
 * notifications to libcupti; also options and the clock.
 */
#ifndef SIM_CALL_H
#define SIM_CALL_H

#include "tests/sim/sim.h"

#include <cuda.h>

/* Begin a call: correlation id, the tool's callback, start time. */
void sim_enter(struct sim_call *call);

/* End a call: write the log line, run the tool's callback. Return the result, or the result that
 * SIM_FAULT=fail=... asks for. */
uint32_t sim_leave(struct sim_call *call, uint32_t result);

/* Return the current call of the thread, or NULL. The outermost call gives the correlation id. */
struct sim_call *sim_current_call(void);
uint32_t sim_correlation(void);

/* Return the value of an option; the environment is read once. */
uint64_t sim_option(enum sim_option option);

/* Return the result that SIM_FAULT=fail=... asks for in a call of that name, else `result`.
 * Counts the calls of the name. */
uint32_t sim_fault_result(const char *name, uint32_t result);

/* Return CLOCK_MONOTONIC in ns. */
uint64_t sim_now_ns(void);

/* Sleep until that time; return at once if it has passed. */
void sim_wait_until(uint64_t time_ns);

/* Return the tool, or NULL. */
const struct sim_tool *sim_tool(void);
void sim_set_tool(const struct sim_tool *tool);

/* A row of the table of driver functions: the name that a function has from a version of CUDA on.
 * The last entry has no name. */
struct sim_entry {
	const char *name;
	int version;
	const char *symbol;
};
extern const struct sim_entry sim_entries[];

/* Notify the log and the tool. */
void sim_log_op(const struct sim_op *op);
/* Record that CUDA itself used the time since then. kind: CUpti_ActivityOverheadKind. */
void sim_log_overhead(uint32_t kind, uint64_t start_ns);
void sim_log_resource(const struct sim_resource *resource);

#endif
