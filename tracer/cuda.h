/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.h - the CUDA source: API calls by CUPTI's callbacks, device activity by its buffers.
 *
 * States: CUDA_NEW -> CUDA_STARTING -> CUDA_ON -> CUDA_ENDED, or CUDA_OFF (no driver, no CUPTI,
 * another tool has it: the reason is in the report). Nothing happens, and CUPTI is not loaded,
 * before the program is about to load the driver. CUPTI is never finalized and never unloaded.
 */
#ifndef TRACER_CUDA_H
#define TRACER_CUDA_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cuda_spool.h"
#include "tracer/cupti.h"
#include "tracer/thread.h"

enum cuda_state { CUDA_NEW = 0, CUDA_STARTING, CUDA_ON, CUDA_ENDED, CUDA_OFF };

struct cuda {
	uint32_t state; /* enum cuda_state */
	uint32_t ended; /* the last flush has been made */
	uint32_t used;  /* the program has called CUDA */
	void *subscriber;
	struct cuda_page *page; /* in the spool; NULL in a forked child */
};
extern struct cuda cuda __attribute__((visibility("hidden")));

/* Is CUDA to be recorded in this process, and not yet? Any thread. */
bool cuda_is_wanted(void);

/*
 * The program is about to load the driver's library `file`, or has it already (NULL): finds and
 * starts CUPTI. Once; others return at once. From the program's own calls only (loads libraries,
 * blocks signals for a while).
 */
void cuda_start(const char *file);

/* Asks CUPTI for what it still has. Not from within the guard. `is_last`: nothing of the device is
 * recorded any more. */
void cuda_flush_all(bool is_last);

/* The same where the process ends or is replaced, unless that happens in a signal handler: CUPTI
 * takes locks and allocates, and the handler may have interrupted an allocation. */
void cuda_flush_at_end(bool is_last);

/* A call is made while nothing is recorded: where nothing ever will be any more, CUPTI is told to
 * stop, a second after that was first seen. From within callbacks of the APIs only. */
void cuda_look_over(void);

static inline void cuda_flush(bool is_last)
{
	if (__builtin_expect(__atomic_load_n(&cuda.state, __ATOMIC_ACQUIRE) == CUDA_ON, 0))
		cuda_flush_at_end(is_last);
}

/* A forked child, its spool made: what its parent did with CUDA, and CUPTI's threads, are not its
 * own. It is recorded where the parent had not called CUDA yet. thread.busy set. */
void cuda_forked(void);

/* ---- cuda_api.c: called by CUPTI on the program's threads ---- */

/* Memory for it. Before the callbacks are there. False without. */
bool cuda_api_start(void);
void cuda_api_forked(void);

void cuda_api_callback(
	void *user, uint32_t domain, uint32_t cbid, const struct cupti_callback *data);

/* Was the call with this id made while events were recorded? */
bool cuda_api_is_recorded(uint32_t correlation);

/* ---- cuda_module.c ---- */

/* A module is loaded or unloaded: its row, and where cubins are wanted and this one is new, its
 * code. thread.busy set. */
void cuda_module_put(struct thread *t, bool unload, const struct cupti_resource_data *data);
void cuda_module_forked(void);

/* ---- cuda_activity.c ---- */

/* Buffers, the device's lane. False without memory. thread.busy set. */
bool cuda_activity_start(void);

/* A forked child: the lane was its parent's. `again`: it gets one of its own. */
bool cuda_activity_forked(bool again);

/* Called by CUPTI, on threads of its own or within a flush. */
void cuda_activity_requested(uint8_t **buffer, size_t *size, size_t *records_max);
void cuda_activity_completed(
	void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

#endif
