/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.c - the current call of each thread, correlation ids, the registered tool and the clock.
 */
#include "tests/sim/call.h"
#include "tests/sim/truth.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

static _Atomic(const struct sim_tool *) registered_tool;
static _Atomic uint32_t last_correlation;
static _Thread_local struct sim_call *current;

const struct sim_tool *sim_tool(void)
{
	return atomic_load_explicit(&registered_tool, memory_order_acquire);
}

void sim_set_tool(const struct sim_tool *tool)
{
	atomic_store_explicit(&registered_tool, tool, memory_order_release);
}

uint64_t sim_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void sim_wait_until(uint64_t time_ns)
{
	struct timespec until = {(time_t)(time_ns / 1000000000u), (long)(time_ns % 1000000000u)};

	while (sim_option(SIM_OPTION_spin) && sim_now_ns() < time_ns)
		;
	if (sim_now_ns() >= time_ns)
		return; /* asking the kernel costs 17 us on a virtual machine */
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

struct sim_call *sim_current_call(void)
{
	return current;
}

uint32_t sim_correlation(void)
{
	struct sim_call *call = current;

	while (call && call->outer)
		call = call->outer;
	return call ? call->correlation : 0;
}

void sim_enter(struct sim_call *call)
{
	const struct sim_tool *tool = sim_tool();

	call->outer = current;
	current = call;
	call->correlation = call->outer && !sim_option(SIM_OPTION_nested_ids)
		? call->outer->correlation
		: atomic_fetch_add_explicit(&last_correlation, 1, memory_order_relaxed) + 1;
	if (tool) {
		call->told = true;
		tool->enter(call);
	}
	call->start_ns = sim_now_ns();
}

uint32_t sim_leave(struct sim_call *call, uint32_t result)
{
	const struct sim_tool *tool = sim_tool();

	call->result = sim_fault_result(call->plain_name, result);
	call->end_ns = sim_now_ns();
	truth_call(call);
	if (tool && call->told)
		tool->leave(call);
	current = call->outer;
	return call->result;
}

void sim_log_op(const struct sim_op *op)
{
	const struct sim_tool *tool = sim_tool();

	truth_op(op);
	if (tool)
		tool->op(op);
}

void sim_log_overhead(uint32_t kind, uint64_t start_ns)
{
	struct sim_op op = {.kind = SIM_OVERHEAD,
		.start_ns = start_ns,
		.end_ns = sim_now_ns(),
		.correlation = sim_correlation(),
		.overhead.kind = kind};

	sim_log_op(&op);
}

void sim_log_resource(const struct sim_resource *resource)
{
	const struct sim_tool *tool = sim_tool();

	truth_resource(resource);
	if (tool)
		tool->resource(resource);
}
