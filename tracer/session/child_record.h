/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child_record.h - records of children created, and of programs about to be executed.
 *
 * All functions: any thread, async-signal-safe; also in vfork children.
 */
#ifndef TRACER_SESSION_CHILD_RECORD_H
#define TRACER_SESSION_CHILD_RECORD_H

#include "common/spool.h"

/* Record that a child was created (`pid` > 0, or 0 = not known), or (`how` CHILD_EXEC) that this
 * process is about to be replaced. `path` is the program's, or NULL. */
void child_record(
	unsigned long pid, enum child_how how, enum child_verdict verdict, const char *path);

/* Record that this process has waited for a child that has ended. `status` is that of waitpid(). */
void child_waited(unsigned long pid, int status);

/* Record that exec has failed in a vfork child, which has no state of its own and continues. */
void child_exec_failed(void);

/* Record that the program that was recorded last as `how`, CHILD_SYSTEM or CHILD_POPEN, was not
 * started. */
void child_start_failed(enum child_how how);

#endif
