/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unshared_fds.h - work that needs a descriptor for a moment, done outside of the program's
 * descriptor table.
 *
 * A descriptor that is opened in the program's table takes the number that another thread of the
 * program expects to get, and that thread may close it. Closing one drops all locks (fcntl) that
 * the program holds on that file.
 */
#ifndef TRACER_BASE_UNSHARED_FDS_H
#define TRACER_BASE_UNSHARED_FDS_H

#include <stdbool.h>

/*
 * Run work(argument) in a task that shares this process's memory and has a descriptor table of its
 * own (empty; before Linux 5.9 a copy), and wait for its end. Return false if no such task can be
 * created: nothing was done then. The work makes raw system calls only, uses at most 8 KiB of
 * stack, and need not close anything at its end. Any thread, also in a vfork child;
 * async-signal-safe. Costs about 30 us.
 */
bool unshared_fds_run(void (*work)(void *argument), void *argument);

#endif
