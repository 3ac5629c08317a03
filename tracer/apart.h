/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apart.h - work that needs a descriptor for a moment, out of the program's table of descriptors.
 *
 * A descriptor that we open there takes the number that another thread of the program expects to
 * get, and may be closed by it; and to close one drops all locks (fcntl) that the program holds on
 * that file.
 */
#ifndef TRACER_APART_H
#define TRACER_APART_H

#include <stdbool.h>

/*
 * Runs work(argument) in a task that shares our memory and has a table of its own, with no
 * descriptor in it, and waits for its end. False when there can be no such task: nothing has been
 * done. The work makes raw system calls only, uses 8 KiB of stack, and closes nothing at its end.
 * Any thread, in a vfork child, too; async-signal-safe. Costs some 30 us.
 */
bool apart_run(void (*work)(void *argument), void *argument);

#endif
