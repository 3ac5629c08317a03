/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libhostile_calls.c - a library that the hostile program is linked with: it makes its calls and
 * actions through this function, so that LIBTRACE_FUNCTIONS has a call to record around each.
 */
#include "hostile.h"

void hostile_through(void (*run)(struct task *t), struct task *t)
{
	run(t);
	__asm__ volatile(""); /* no tail call: the function is on the stack meanwhile */
}
