/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -rdynamic
/*
 * openmp_runtime.c - stands in for a runtime of OpenMP that reports what libomp 14 does not:
 * reductions, chunks of loops, kinds of barriers and loops of OpenMP 5.1, a detached task. One
 * thread. Prints the number of callbacks that the tool registered.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tracer/openmp/ompt_abi.h"

struct ompt_start_tool_result *ompt_start_tool(unsigned version, const char *runtime)
	__attribute__((weak));

static ompt_function callbacks[64];
static int registered;

static int set_callback(int event, ompt_function callback)
{
	callbacks[event & 63] = callback;
	registered++;
	return 5; /* always */
}

static ompt_function lookup(const char *name)
{
	return strcmp(name, "ompt_set_callback") ? NULL : (ompt_function)set_callback;
}

static union ompt_data thread, initial, region, team, task, explicit_task;

#define CALL(event, types, ...) ((void(*) types)callbacks[event])(__VA_ARGS__)
#define DATA union ompt_data *

static void sync_region(int event, int kind, int endpoint)
{
	CALL(event, (int, int, DATA, DATA, const void *), kind, endpoint, &team, &task, NULL);
}

static void work(int type, int endpoint)
{
	const uint64_t count = 7;
	CALL(OMPT_WORK, (int, int, DATA, DATA, uint64_t, const void *), type, endpoint, &team,
		&task, count, NULL);
}

static void detached_task(void)
{
	CALL(OMPT_TASK_CREATE, (DATA, const void *, DATA, int, int, const void *), &task, NULL,
		&explicit_task, 4, 0, NULL);
	CALL(OMPT_TASK_SCHEDULE, (DATA, int, DATA), &task, 7, &explicit_task);
	CALL(OMPT_TASK_SCHEDULE, (DATA, int, DATA), &explicit_task, OMPT_TASK_DETACHED, &task);
	CALL(OMPT_TASK_SCHEDULE, (DATA, int, DATA), &explicit_task, OMPT_TASK_LATE_FULFILL, NULL);
}

static void in_region(void)
{
	for (int i = 0; i < 2; i++) {
		sync_region(OMPT_REDUCTION, 7, OMPT_BEGIN);
		sync_region(OMPT_REDUCTION, 7, OMPT_END);
	}
	work(OMPT_WORK_LOOP_STATIC, OMPT_BEGIN);
	for (uint64_t i = 0; i < 3; i++)
		CALL(OMPT_DISPATCH, (DATA, DATA, int, union ompt_data), &team, &task, 1,
			(union ompt_data){.value = i});
	work(OMPT_WORK_LOOP_STATIC, OMPT_END);
	for (int kind = 8; kind <= 10; kind++) { /* barriers of OpenMP 5.1 */
		sync_region(OMPT_SYNC_REGION, kind, OMPT_BEGIN);
		sync_region(OMPT_SYNC_REGION, kind, OMPT_END);
	}
	sync_region(OMPT_SYNC_REGION, 5, OMPT_END); /* has not begun */
	detached_task();
}

int main(void)
{
	struct ompt_start_tool_result *tool =
		ompt_start_tool ? ompt_start_tool(202111, "a stand-in") : NULL;
	if (!tool || !tool->initialize(lookup, 0, &tool->tool)) {
		puts("no tool");
		return 0;
	}
	CALL(OMPT_THREAD_BEGIN, (int, DATA), 1, &thread);
	CALL(OMPT_IMPLICIT_TASK, (int, DATA, DATA, unsigned, unsigned, int), OMPT_BEGIN, &region,
		&initial, 1, 1, OMPT_TASK_INITIAL);
	CALL(OMPT_PARALLEL_BEGIN, (DATA, const void *, DATA, unsigned, int, const void *), &initial,
		NULL, &team, 1, 0, NULL);
	CALL(OMPT_IMPLICIT_TASK, (int, DATA, DATA, unsigned, unsigned, int), OMPT_BEGIN, &team,
		&task, 1, 0, OMPT_TASK_IMPLICIT);
	in_region();
	CALL(OMPT_IMPLICIT_TASK, (int, DATA, DATA, unsigned, unsigned, int), OMPT_END, NULL, &task,
		0, 0, OMPT_TASK_IMPLICIT);
	CALL(OMPT_PARALLEL_END, (DATA, DATA, int, const void *), &team, &initial, 0, NULL);
	CALL(OMPT_THREAD_END, (DATA), &thread);
	tool->finalize(&tool->tool);
	printf("%d callbacks\n", registered);
	return 0;
}
