/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_ext.c - the extension modules of NVTX: each object that uses one passes its table of
 * functions at the first call, and gets those of tracer/nvtx/extensions.h. Functions of newer
 * modules stay empty and do nothing, as without a tool.
 */
#define _GNU_SOURCE
#include "tracer/nvtx/extensions.h"

#include <stddef.h>

#include "inject/nvtx_abi.h"
#include "inject/nvtx_chain.h"

#define EXPORTED __attribute__((visibility("default")))

typedef void (*any_fn)(void);
#define F(function) ((any_fn)(function))

static uint8_t domain_is_enabled(struct name *domain)
{
	return nvtx_domain_is_on(domain);
}

/* In NVTX's order, from number 0. */
static const any_fn payload[] = {F(nvtx_schema_register), F(nvtx_enum_register),
	F(nvtx_payload_mark), F(nvtx_payload_push), F(nvtx_payload_pop), F(nvtx_payload_start),
	F(nvtx_payload_end), F(domain_is_enabled), F(nvtx_timestamp), F(nvtx_time_domain_register),
	F(nvtx_timer_source), F(nvtx_timer_source_with_data), F(nvtx_scope_register),
	F(nvtx_time_sync), F(nvtx_time_sync_table), F(nvtx_time_factor), F(nvtx_event_submit),
	F(nvtx_event_batch_submit)};
static const any_fn counters[] = {F(nvtx_counter_register), F(nvtx_sample_int64),
	F(nvtx_sample_float64), F(nvtx_sample), F(nvtx_sample_no_value), F(nvtx_sample_batch)};
static const any_fn memory[] = {F(nvtx_heap_register), F(nvtx_heap_unregister), F(nvtx_heap_reset),
	F(nvtx_regions_register), F(nvtx_regions_resize), F(nvtx_regions_unregister),
	F(nvtx_regions_name), F(nvtx_permissions_assign), F(nvtx_permissions_create),
	F(nvtx_permissions_destroy), F(nvtx_permissions_reset), F(nvtx_permissions_bind),
	F(nvtx_permissions_unbind), F(nvtx_permissions_of_process), F(nvtx_permissions_of_device),
	F(nvtx_permissions_peer), F(nvtx_regions_initialized)};

static const struct {
	uint16_t module;
	const any_fn *functions;
	size_t count;
} modules[] = {{NVTX_EXTENSION_MEMORY, memory, sizeof(memory) / sizeof(memory[0])},
	{NVTX_EXTENSION_PAYLOAD, payload, sizeof(payload) / sizeof(payload[0])},
	{NVTX_EXTENSION_COUNTERS, counters, sizeof(counters) / sizeof(counters[0])}};

/* Set the slots to our functions. A slot that is set already has another tool's function. */
static void segment_fill(const struct nvtx_extension_segment *segment, unsigned module,
	const any_fn *functions, size_t count)
{
	for (size_t i = 0; i < count && i < segment->slot_count; i++)
		segment->slots[i] = (intptr_t)chain_function(
			CHAIN_EXTENSION + module, i, (any_fn)segment->slots[i], functions[i]);
}

/* Clear the slots of a tool that declined. */
static void segment_clear(const struct nvtx_extension_segment *segment)
{
	for (size_t i = 0; i < segment->slot_count; i++)
		segment->slots[i] = 0;
}

EXPORTED int InitializeInjectionNvtxExtension(struct nvtx_extension *extension);

/* Fill the slots of a module of the first major version; a module has one segment. */
int InitializeInjectionNvtxExtension(struct nvtx_extension *extension)
{
	if (!extension || extension->compatibility >> 8 != NVTX_EXTENSION_MAJOR ||
		!extension->segment_count || !nvtx_is_on())
		return 1;
	int (*tool)(struct nvtx_extension *) =
		(int (*)(struct nvtx_extension *))chain_symbol("InitializeInjectionNvtxExtension");
	if (chain_state() != CHAIN_NONE && tool && !tool(extension))
		segment_clear(extension->segments);
	if (chain_state() == CHAIN_LEFT)
		return 1;
	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
		if (modules[i].module == extension->module)
			segment_fill(extension->segments, modules[i].module, modules[i].functions,
				modules[i].count);
	return 1;
}
