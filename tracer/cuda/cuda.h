/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.h - the CUDA source: API calls from CUPTI's callbacks, device activity from its buffers.
 *
 * States: CUDA_NEW -> CUDA_STARTING -> CUDA_ON -> CUDA_ENDED, or CUDA_OFF (no driver, no CUPTI, or
 * another tool uses CUPTI: the reason is in the report). Nothing happens, and CUPTI is not loaded,
 * before the program is about to load the driver. CUPTI is never finalized and never unloaded.
 */
#ifndef TRACER_CUDA_CUDA_H
#define TRACER_CUDA_CUDA_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cuda/cuda_spool.h"
#include "tracer/cuda/cupti.h"
#include "tracer/cuda/hooks.h"
#include "tracer/core/thread.h"

static inline uint32_t cuda_state(void)
{
	return __atomic_load_n(&cuda.state, __ATOMIC_ACQUIRE);
}

static inline void cuda_state_set(enum cuda_state state)
{
	__atomic_store_n(&cuda.state, state, __ATOMIC_RELEASE);
}

/* ---- subscription.c: called by the thread that starts CUPTI, or that does the last flush ---- */

/* Create the page of the spool that outlives the process (common/cuda/cuda_spool.h): cuda.page.
 * Return false without room. thread.busy set. */
bool cuda_page_create(void);

/* Enable the kinds of activity that the options ask for. Return CUPTI's result for kernels,
 * without which the source does not start; other kinds that are refused are reported. */
uint32_t cuda_kinds_enable(void);
void cuda_kinds_disable(void);

/* Enable or disable the callbacks of the APIs and of resources. */
bool cuda_callbacks_enable(bool enable);

/* ---- start.c ---- */

/* Return true if CUDA is to be recorded in this process and has not been started. Any thread. */
bool cuda_is_wanted(void);

/*
 * Find and start CUPTI: the program is about to load the driver's library `file`, or has loaded it
 * (NULL). Once; later calls return at once. From the program's own calls only (loads libraries,
 * blocks signals for a while).
 */
void cuda_start(const char *file);

/* ---- cuda.c ---- */

/* Fetch what CUPTI still has. thread.busy not set. `is_last`: no activity of the device is recorded
 * afterwards. */
void cuda_flush_all(bool is_last);

/* Stop CUPTI if nothing will ever be recorded again, one second after this was first noticed. Call
 * when an API call is not recorded; from within callbacks of the APIs only. */
void cuda_look_over(void);

/* ---- api.c ---- */

/* CUPTI's callback of the APIs and of resources, on the program's threads. */
void cuda_api_callback(
	void *user, uint32_t domain, uint32_t cbid, const struct cupti_callback *data);

/* ---- module.c ---- */

/* Record that a module was loaded or unloaded and, if this cubin is new, the hashes of its kernels
 * and, if cubins are wanted, its code. thread.busy set. */
void cuda_module_put(struct thread *t, bool unload, const struct cupti_resource_data *data);
void cuda_module_forked(void);

/* ---- kernel_code.c ---- */

/* Return a hash of code: the same code has the same hash. Any thread. */
uint64_t cuda_code_hash(const uint8_t *code, size_t bytes);

/* Record the hash of each kernel of a cubin, whose own hash is `hash`. A malformed cubin has none.
 * thread.busy set. */
void cuda_kernel_code_put(struct thread *t, const uint8_t *data, size_t bytes, uint64_t hash);

/* ---- activity.c ---- */

/* Allocate buffers and the device's lane. Return false without memory. thread.busy set. */
bool cuda_activity_start(void);

/* Forget the parent's lane in a forked child; `again`: get a lane of its own. Return false
 * without one. */
bool cuda_activity_forked(bool again);

/* Write a row that belongs to no thread. Return false if it was dropped, which is counted.
 * thread.busy set. */
bool cuda_device_row_put(
	uint32_t event, uint64_t start_ns, uint64_t duration_ns, const uint64_t *values);

/* CUPTI's callbacks, on threads of its own or within a flush: lend a buffer, and turn a
 * completed one into rows. */
void cuda_activity_requested(uint8_t **buffer, size_t *size, size_t *records_max);
void cuda_activity_completed(
	void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

#endif
