/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti.h - NVIDIA's CUPTI, found and loaded at run time: a table of its functions.
 *
 * Never linked and never unloaded (dlclose leaves its threads running, and versions 13.0 and 13.1
 * leave dangling pointers). A function that a version lacks is NULL. CUPTI is loaded once, by
 * tracer/cuda/start.c, with signals blocked; afterwards the table does not change.
 */
#ifndef TRACER_CUDA_CUPTI_H
#define TRACER_CUDA_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/cuda/cupti_abi.h"

typedef void (*cupti_callback_fn)(
	void *user, uint32_t domain, uint32_t cbid, const struct cupti_callback *data);
typedef void (*cupti_requested_fn)(uint8_t **buffer, size_t *size, size_t *records_max);
typedef void (*cupti_completed_fn)(
	void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

/* FUNCTION(name without cupti, parameters): all return enum cupti_result. */
#define CUPTI_FUNCTIONS(FUNCTION)                                                      \
	FUNCTION(GetVersion, (uint32_t *))                                             \
	FUNCTION(Subscribe, (void **, cupti_callback_fn, void *))                      \
	FUNCTION(Unsubscribe, (void *))                                                \
	FUNCTION(EnableDomain, (uint32_t, void *, uint32_t))                           \
	FUNCTION(EnableCallback, (uint32_t, void *, uint32_t, uint32_t))               \
	FUNCTION(GetCallbackName, (uint32_t, uint32_t, const char **))                 \
	FUNCTION(GetTimestamp, (uint64_t *))                                           \
	FUNCTION(SetThreadIdType, (uint32_t))                                          \
	FUNCTION(GetContextId, (void *, uint32_t *))                                   \
	FUNCTION(GetGraphId, (void *, uint32_t *))                                     \
	FUNCTION(GetGraphExecId, (void *, uint32_t *))                                 \
	FUNCTION(GetGraphNodeId, (void *, uint64_t *))                                 \
	FUNCTION(ActivityEnable, (uint32_t))                                           \
	FUNCTION(ActivityDisable, (uint32_t))                                          \
	FUNCTION(ActivityRegisterCallbacks, (cupti_requested_fn, cupti_completed_fn))  \
	FUNCTION(ActivityRegisterTimestampCallback, (uint64_t(*)(void)))               \
	FUNCTION(ActivityGetNextRecord, (uint8_t *, size_t, struct cupti_activity **)) \
	FUNCTION(ActivityGetNumDroppedRecords, (void *, uint32_t, size_t *))           \
	FUNCTION(ActivityFlushAll, (uint32_t))                                         \
	FUNCTION(ActivityFlushPeriod, (uint32_t))                                      \
	FUNCTION(ActivityGetAttribute, (uint32_t, size_t *, void *))                   \
	FUNCTION(ActivityConfigureUnifiedMemoryCounter,                                \
		(struct cupti_unified_memory_config *, uint32_t))

struct cupti {
	uint32_t version; /* 0 = not loaded */
	char path[512];   /* the file that CUPTI was loaded from */
#define FUNCTION(name, parameters) uint32_t(*name) parameters;
	CUPTI_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

extern struct cupti cupti __attribute__((visibility("hidden")));

/*
 * Load the next candidate: LIBTRACE_CUPTI alone if it is set; else a CUPTI that the program has
 * loaded already, then one next to its CUDA runtime, then one found by name. `*place` is 0 before
 * the first, and is advanced. Return false if there are no more candidates; *ret_why then says why
 * the last one was rejected. Takes the loader's lock, may allocate: not from hooks that may hold a
 * lock.
 */
bool cupti_load_next(unsigned *place, const char *chosen, const char **ret_why);

#endif
