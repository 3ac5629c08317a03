/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subscription.c - the kinds of activity and the domains of callbacks that are enabled in CUPTI.
 */
#include "tracer/cuda/cuda.h"

#include "common/text.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/spool_file.h"
#include "tracer/core/state.h"

struct cuda cuda;

bool cuda_page_create(void)
{
	void *place;
	uint64_t offset = spool_file_take(CUDA_PAGE_BYTES, CUDA_PAGE_BYTES, &place);
	if (!offset)
		return false;
	cuda.page = place;
	__atomic_store_n(&session.spool->cuda_offset, offset, __ATOMIC_RELEASE);
	return true;
}

static const uint8_t kinds[] = {CUPTI_CONCURRENT_KERNEL, CUPTI_MEMCPY, CUPTI_MEMCPY_PEER,
	CUPTI_MEMSET, CUPTI_SYNCHRONIZATION, CUPTI_CUDA_EVENT, CUPTI_CONTEXT, CUPTI_STREAM,
	CUPTI_DEVICE, CUPTI_DEVICE_ATTRIBUTE, CUPTI_OVERHEAD, CUPTI_JIT, CUPTI_MEMORY,
	CUPTI_MEMORY_POOL, CUPTI_GRAPH_TRACE, CUPTI_MEM_DECOMPRESS, CUPTI_DEVICE_GRAPH_TRACE,
	CUPTI_UNIFIED_MEMORY};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static bool kind_is_wanted(uint32_t kind)
{
	const struct config *c = &session.config;
	if (kind == CUPTI_GRAPH_TRACE)
		return !c->cuda_graph_nodes;
	if (kind == CUPTI_MEMORY || kind == CUPTI_MEMORY_POOL)
		return c->cuda_memory;
	if (kind == CUPTI_UNIFIED_MEMORY)
		return c->cuda_unified_memory;
	return true;
}

/* Configure the process-wide counters of unified memory: bytes moved, and faults of host and
 * device. */
static bool unified_memory_configure(void)
{
	static const uint8_t counters[] = {1, 2, 3, 4, 8};
	struct cupti_unified_memory_config configs[sizeof(counters)];
	for (size_t i = 0; i < sizeof(counters); i++)
		configs[i] = (struct cupti_unified_memory_config){1, counters[i], 0, 1};
	return cupti.ActivityConfigureUnifiedMemoryCounter &&
		cupti.ActivityConfigureUnifiedMemoryCounter(configs, sizeof(counters)) == CUPTI_OK;
}

/* Enable the wanted kinds of activity. Kinds that this version of CUPTI or this driver refuses are
 * reported once, in one line. Return the error for kernels, without which the source does not
 * start. */
uint32_t cuda_kinds_enable(void)
{
	char text[200];
	size_t at = text_append(text, sizeof(text), 0, "CUPTI refused activity kinds");
	uint32_t refused = 0, first = CUPTI_OK;
	for (size_t i = 0; i < KINDS; i++) {
		if (!kind_is_wanted(kinds[i]))
			continue;
		if (kinds[i] == CUPTI_UNIFIED_MEMORY && !unified_memory_configure())
			continue; /* no device has unified memory */
		uint32_t result = cupti.ActivityEnable(kinds[i]);
		if (result == CUPTI_OK)
			continue;
		if (!i)
			first = result;
		at = text_append(text, sizeof(text), at, refused++ ? ", " : " ");
		at = text_append_number(text, sizeof(text), at, kinds[i], 10);
	}
	if (refused && first == CUPTI_OK)
		diagnostic_line(text);
	return first;
}

void cuda_kinds_disable(void)
{
	for (size_t i = 0; i < KINDS; i++)
		if (kind_is_wanted(kinds[i]))
			cupti.ActivityDisable(kinds[i]);
}

static const uint8_t domains[] = {CUPTI_RUNTIME_API, CUPTI_DRIVER_API, CUPTI_RESOURCE};

bool cuda_callbacks_enable(bool enable)
{
	uint32_t result = CUPTI_OK;
	for (size_t i = 0; i < sizeof(domains) && result == CUPTI_OK; i++)
		result = cupti.EnableDomain(enable, cuda.subscriber, domains[i]);
	return result == CUPTI_OK;
}
