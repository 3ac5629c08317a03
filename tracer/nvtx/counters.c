/* SPDX-License-Identifier: Apache-2.0 */
/* counters.c - counters of NVTX and their samples. */
#define _GNU_SOURCE
#include "tracer/nvtx/extensions.h"

uint64_t nvtx_counter_register(struct name *domain, const struct nvtx_counter_attributes *a)
{
	if (!a || a->struct_bytes < sizeof(*a))
		return 0;
	uint64_t id = ext_id(true, a->id);
	ext_put(&(struct ext_row){.event = EXT_NVTX_COUNTER,
		.domain = domain,
		EXT_NUMBERS(id, a->schema, a->scope),
		.texts = {ext_chars(a->name), ext_chars(a->description)},
		.text_count = 2});
	ext_semantics(domain, id, 0, 0, a->semantics);
	return id;
}

static void sample_put(struct name *domain, uint64_t counter, enum nvtx_payload type,
	uint64_t value, uint64_t no_value)
{
	ext_put(&(struct ext_row){.event = EXT_NVTX_SAMPLE,
		.domain = domain,
		EXT_NUMBERS(counter, type, value, no_value)});
}

void nvtx_sample_int64(struct name *domain, uint64_t counter, int64_t value)
{
	if (ext_is_on(domain))
		sample_put(domain, counter, NVTX_VALUE_INT64, (uint64_t)value, NVTX_NO_VALUE_NONE);
}

void nvtx_sample_float64(struct name *domain, uint64_t counter, double value)
{
	union {
		double real;
		uint64_t bits;
	} v = {.real = value};
	if (ext_is_on(domain))
		sample_put(domain, counter, NVTX_VALUE_DOUBLE, v.bits, NVTX_NO_VALUE_NONE);
}

/* The counter's registration says what its bytes mean: schema 0 here. */
void nvtx_sample(struct name *domain, uint64_t counter, const void *value, uint64_t bytes)
{
	const struct nvtx_data data = {0, bytes, value};
	uint64_t id = nvtx_payload_put(domain, &data, 1, 0, 0);
	if (id)
		sample_put(domain, counter, NVTX_VALUE_EXTENDED, id, NVTX_NO_VALUE_NONE);
}

void nvtx_sample_no_value(struct name *domain, uint64_t counter, uint8_t reason)
{
	if (ext_is_on(domain))
		sample_put(domain, counter, NVTX_VALUE_NONE, 0, (uint64_t)reason + 1);
}

void nvtx_sample_batch(struct name *domain, const struct nvtx_counter_batch *batch)
{
	if (!batch)
		return;
	const struct nvtx_data data[] = {{0, batch->value_bytes, batch->values},
		{NVTX_TYPE_INT64, batch->time_bytes, batch->times}};
	uint64_t id =
		nvtx_payload_put(domain, data, batch->times && batch->time_bytes ? 2 : 1, 0, 0);
	if (id)
		ext_put(&(struct ext_row){.event = EXT_NVTX_SAMPLE_BATCH,
			.domain = domain,
			EXT_NUMBERS(batch->counter, NVTX_VALUE_EXTENDED, id, batch->flags)});
}
