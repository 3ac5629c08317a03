/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h - what tracer/producers.def calls of the source `cpu`.
 */
#ifndef TRACER_CPU_HOOKS_H
#define TRACER_CPU_HOOKS_H

#include <stdbool.h>

#include "common/spool.h"
#include "tracer/core/thread.h"

void cpu_describe(struct spool_header *spool);
void cpu_start(void);
void cpu_thread_start(struct thread *t);
void cpu_thread_end(struct thread *t);
void cpu_forked(void);
void cpu_flush(bool is_last);

#endif
