/* SPDX-License-Identifier: Apache-2.0 */
/*
 * actions.h - the functions of action_rows.
 */
#ifndef TESTS_HOSTILE_ACTIONS_H
#define TESTS_HOSTILE_ACTIONS_H

struct task;

/* tasks.c */
void act_threads(struct task *t);
void act_contend(struct task *t);
void act_cancel(struct task *t);
void act_fork(struct task *t);
void act_raw_fork(struct task *t);
void act_vfork(struct task *t);
void act_clone(struct task *t);
void act_clone_beside(struct task *t);
void act_orphan(struct task *t);
void act_crash(struct task *t);

/* signals.c */
void act_handler(struct task *t);
void act_handler_fork(struct task *t);
void act_jump(struct task *t);
void act_swap(struct task *t);
void act_storm(struct task *t);
void act_storm_jump(struct task *t);
void act_storm_fork(struct task *t);
void act_storm_raw_fork(struct task *t);
void act_coroutines(struct task *t);
void act_preempt(struct task *t);

/* process.c */
void act_exec(struct task *t);
void act_spawn(struct task *t);
void act_exec_fails(struct task *t);
void act_shell(struct task *t);
void act_dlopen(struct task *t);
void act_closefrom(struct task *t);
void act_churn(struct task *t);
void act_limits(struct task *t);
void act_limits_exec(struct task *t);
void act_seccomp(struct task *t);
void act_seccomp_exec(struct task *t);
void act_setuid(struct task *t);
void act_file_lock(struct task *t);
void act_ranges(struct task *t);

#endif
