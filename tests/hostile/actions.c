/* SPDX-License-Identifier: Apache-2.0 */
/*
 * actions.c - the table of actions: a row and a function for each.
 */
#include "actions.h"
#include "hostile.h"

/* The traits of tasks that may not do an action that needs memory, locks or the loader, or that
 * starts processes or threads. */
#define WHOLE (PURE | FILTERED | BORROWED | BOUND)

const struct row action_rows[] = {
	{"threads", 8, WHOLE | FRAGILE, act_threads},
	{"contend", 3, WHOLE | FRAGILE, act_contend},
	{"cancel", 2, WHOLE | FRAGILE | MANY, act_cancel},
	{"fork", 8, PURE | FILTERED | BORROWED, act_fork},
	{"raw_fork", 5, FILTERED | BORROWED, act_raw_fork},
	{"vfork", 5, FILTERED | BORROWED, act_vfork},
	{"clone", 5, FILTERED | BORROWED | BOUND, act_clone},
	{"clone_beside", 4, FILTERED | BORROWED | BOUND | MANY, act_clone_beside},
	{"orphan", 2, WHOLE, act_orphan},
	{"crash", 2, WHOLE | FRAGILE, act_crash},
	{"handler", 4, PURE | FILTERED | BORROWED | MANY, act_handler},
	{"handler_fork", 4, WHOLE | MANY, act_handler_fork},
	{"jump", 4, WHOLE | MANY, act_jump},
	{"swap", 3, WHOLE | MANY, act_swap},
	{"storm", 3, WHOLE | MANY, act_storm},
	{"storm_jump", 3, WHOLE | MANY, act_storm_jump},
	{"storm_fork", 3, WHOLE | MANY, act_storm_fork},
	{"storm_raw_fork", 2, WHOLE | MANY, act_storm_raw_fork},
	{"coroutines", 4, WHOLE | MANY, act_coroutines},
	{"preempt", 3, WHOLE | MANY, act_preempt},
	{"exec", 4, WHOLE, act_exec},
	{"spawn", 4, WHOLE | MANY, act_spawn},
	{"exec_fails", 3, FILTERED, act_exec_fails},
	{"shell", 1, WHOLE | MANY, act_shell},
	{"dlopen", 3, WHOLE | FRAGILE | MANY, act_dlopen},
	{"closefrom", 3, WHOLE | MANY, act_closefrom},
	{"churn", 3, WHOLE | FRAGILE | MANY, act_churn},
	{"limits", 3, WHOLE, act_limits},
	{"limits_exec", 2, WHOLE, act_limits_exec},
	{"seccomp", 3, WHOLE, act_seccomp},
	{"seccomp_exec", 2, WHOLE, act_seccomp_exec},
	{"setuid", 2, WHOLE, act_setuid},
	{"file_lock", 2, WHOLE | MANY, act_file_lock},
	{"ranges", 1, WHOLE, act_ranges},
};
const unsigned action_count = sizeof(action_rows) / sizeof(action_rows[0]);
