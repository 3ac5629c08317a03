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

#include "common/cuda/cupti_profiler.h"
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
		(struct cupti_unified_memory_config *, uint32_t))                      \
	CUPTI_PROFILER_FUNCTIONS(FUNCTION)

/* The profiler, which versions before that of CUDA 12.6 lack. Its host part needs no GPU. */
#define CUPTI_PROFILER_FUNCTIONS(FUNCTION)                                            \
	FUNCTION(GetDeviceId, (void *, uint32_t *))                                   \
	FUNCTION(DeviceGetChipName, (struct profiler_chip *))                         \
	FUNCTION(ProfilerInitialize, (struct profiler_start *))                       \
	FUNCTION(ProfilerHostInitialize, (struct profiler_host_start *))              \
	FUNCTION(ProfilerHostDeinitialize, (struct profiler_host_end *))              \
	FUNCTION(ProfilerHostConfigAddMetrics, (struct profiler_addition *))          \
	FUNCTION(ProfilerHostGetConfigImageSize, (struct profiler_image_size *))      \
	FUNCTION(ProfilerHostGetConfigImage, (struct profiler_image *))               \
	FUNCTION(ProfilerHostGetNumOfPasses, (struct profiler_passes *))              \
	FUNCTION(ProfilerHostEvaluateToGpuValues, (struct profiler_evaluation *))     \
	FUNCTION(RangeProfilerEnable, (struct ranges_enable *))                       \
	FUNCTION(RangeProfilerDisable, (struct ranges_object *))                      \
	FUNCTION(RangeProfilerSetConfig, (struct ranges_config *))                    \
	FUNCTION(RangeProfilerStart, (struct ranges_object *))                        \
	FUNCTION(RangeProfilerPushRange, (struct ranges_push *))                      \
	FUNCTION(RangeProfilerPopRange, (struct ranges_object *))                     \
	FUNCTION(RangeProfilerStop, (struct ranges_stop *))                           \
	FUNCTION(RangeProfilerDecodeData, (struct ranges_decode *))                   \
	FUNCTION(RangeProfilerGetCounterDataSize, (struct ranges_counters_size *))    \
	FUNCTION(RangeProfilerCounterDataImageInitialize, (struct ranges_counters *)) \
	FUNCTION(RangeProfilerGetCounterDataInfo, (struct ranges_count *))            \
	FUNCTION(RangeProfilerCounterDataGetRangeInfo, (struct range_info *))         \
	FUNCTION(PmSamplingEnable, (struct samples_enable *))                         \
	FUNCTION(PmSamplingDisable, (struct samples_object *))                        \
	FUNCTION(PmSamplingSetConfig, (struct samples_config *))                      \
	FUNCTION(PmSamplingStart, (struct samples_object *))                          \
	FUNCTION(PmSamplingStop, (struct samples_object *))                           \
	FUNCTION(PmSamplingDecodeData, (struct samples_decode *))                     \
	FUNCTION(PmSamplingGetCounterDataSize, (struct samples_counters_size *))      \
	FUNCTION(PmSamplingCounterDataImageInitialize, (struct samples_counters *))   \
	FUNCTION(PmSamplingGetCounterDataInfo, (struct samples_count *))              \
	FUNCTION(PmSamplingCounterDataGetSampleInfo, (struct sample_info *))

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

/* Return true if the loaded CUPTI has all of CUPTI_PROFILER_FUNCTIONS. */
static inline bool cupti_has_profiler(void)
{
#define FUNCTION(name, parameters) &&cupti.name
	return true CUPTI_PROFILER_FUNCTIONS(FUNCTION);
#undef FUNCTION
}

#endif
