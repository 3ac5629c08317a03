/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truth.h - the log of the simulated device ("the truth"): the calls that were made and what the
 * device did, one JSON object a line, in the file that SIM_LOG names (%p: process id). Tests
 * compare a tracer's report with it. Without SIM_LOG nothing is written. Thread-safe.
 */
#ifndef SIM_TRUTH_H
#define SIM_TRUTH_H

#include "tests/sim/sim.h"

void truth_call(const struct sim_call *call);
void truth_op(const struct sim_op *op);
void truth_resource(const struct sim_resource *resource);
void truth_violation(const char *rule);

#endif
