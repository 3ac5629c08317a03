/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stages.h - stages of programs whose critical path is known: functions that sleep, which a
 * callchain names. tests/e2e/_paths.py knows how long each takes.
 */
#ifndef TESTS_APPS_STAGES_H
#define TESTS_APPS_STAGES_H

#include <unistd.h>

#define STAGE(name, ms)                                                  \
	__attribute__((noinline)) static void name(void)                 \
	{                                                                \
		usleep(1000 * (ms));                                     \
		__asm__ volatile("" ::: "memory"); /* not a tail call */ \
	}
STAGE(first, 30)
STAGE(second, 60)
STAGE(third, 140)
STAGE(aside, 10)

#endif
