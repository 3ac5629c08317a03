/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h - the hooks of the source `cuda`, for producers.def.
 */
#ifndef TRACER_CUDA_HOOKS_H
#define TRACER_CUDA_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/core/thread.h"

enum cuda_state { CUDA_NEW = 0, CUDA_STARTING, CUDA_ON, CUDA_ENDED, CUDA_OFF };

struct cuda {
	uint32_t state; /* enum cuda_state */
	uint32_t ended; /* the last flush was started */
	uint32_t used;  /* the program has called CUDA */
	void *subscriber;
	struct cuda_page *page; /* the page in the spool; NULL in a forked child */
};
extern struct cuda cuda __attribute__((visibility("hidden")));

/* Read the options of hardware metrics. Called once, before any event. */
void cuda_metrics_start(void);

/* Start CUPTI if the program is linked with the driver. Called in our constructor. Defined in
 * inject/cuda.c, which alone may look at what is loaded. */
void cuda_linked(void);

/* Reset the thread's open CUDA call: the thread has taken a lane. */
static inline void cuda_thread_start(struct thread *t)
{
	t->lane->cuda_open.tick = 0;
	t->cuda_level = 0;
}

/* Fetch CUPTI's remaining records when the process ends or is replaced. In a signal handler only
 * write a diagnostic: CUPTI takes locks and allocates, and the handler may have interrupted an
 * allocation. */
void cuda_flush_at_end(bool is_last);

/* Call cuda_flush_at_end() if CUPTI has been started. */
static inline void cuda_flush(bool is_last)
{
	if (__builtin_expect(__atomic_load_n(&cuda.state, __ATOMIC_ACQUIRE) == CUDA_ON, 0))
		cuda_flush_at_end(is_last);
}

/* Reset the source in a forked child that has its spool. CUPTI's threads are not in the child, so
 * the child records CUDA only if the parent had not called CUDA yet. thread.busy set. */
void cuda_forked(void);

#endif
