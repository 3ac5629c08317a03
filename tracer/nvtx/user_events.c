/* SPDX-License-Identifier: Apache-2.0 */
/* user_events.c - events with typed fields and counters of libtrace.h, as marks and counters of
 * NVTX. */
#define _GNU_SOURCE
#include "tracer/nvtx/user_events.h"

#include "common/sys.h"
#include "tracer/core/state.h"
#include "tracer/nvtx/extensions.h"
#include "tracer/nvtx/ranges.h"

/* A type, or a counter, which has no fields. Complete when `domain` is set. */
struct user_type {
	struct name *domain, *name;
	uint64_t id; /* of the layout or counter */
	uint32_t fields;
};

#define TYPES_BYTES (USER_TYPES_MAX * sizeof(struct user_type))

static void *table; /* USER_TYPES_MAX of struct user_type; NULL = none is registered */
static uint32_t type_count;

static struct user_type *types(void)
{
	return __atomic_load_n(&table, __ATOMIC_ACQUIRE);
}

/* Return the number of a new type; 0 = there is no room. */
static uint32_t type_add(struct name *domain, struct name *name, uint64_t id, uint32_t fields)
{
	if (!domain || !name || !id ||
		__atomic_load_n(&type_count, __ATOMIC_RELAXED) >= USER_TYPES_MAX)
		return 0;
	if (!types() && (session.restricted || !sys_mmap_table(&table, TYPES_BYTES)))
		return 0;
	uint32_t number = __atomic_fetch_add(&type_count, 1, __ATOMIC_RELAXED);
	if (number >= USER_TYPES_MAX)
		return 0;
	struct user_type *t = &types()[number];
	t->name = name;
	t->id = id;
	t->fields = fields;
	__atomic_store_n(&t->domain, domain, __ATOMIC_RELEASE);
	return number + 1;
}

/* Return the type; NULL = there is none of this number. */
static const struct user_type *type_of(uint32_t number)
{
	const struct user_type *all = types();
	const struct user_type *t = all && number - 1 < USER_TYPES_MAX ? &all[number - 1] : NULL;
	return t && __atomic_load_n(&t->domain, __ATOMIC_ACQUIRE) ? t : NULL;
}

uint32_t user_event_type(const char *name, const struct user_field *fields, uint32_t count)
{
	static const uint16_t known[] = {0, NVTX_TYPE_INT64, NVTX_TYPE_UINT64, NVTX_TYPE_DOUBLE};
	struct nvtx_schema_entry entries[USER_FIELDS_MAX] = {{0}};
	if (!name || !fields || !count || count > USER_FIELDS_MAX)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t type = (uint32_t)fields[i].type;
		if (!fields[i].name || !type || type >= sizeof(known) / sizeof(known[0]))
			return 0;
		entries[i] =
			(struct nvtx_schema_entry){.type = known[type], .name = fields[i].name};
	}
	struct name *domain = nvtx_domain(NVTX_TEXT_CHARS, "libtrace");
	const struct nvtx_schema_attributes layout = {.mask = NVTX_SCHEMA_HAS_NAME |
			NVTX_SCHEMA_HAS_TYPE | NVTX_SCHEMA_HAS_ENTRIES | NVTX_SCHEMA_HAS_COUNT |
			NVTX_SCHEMA_HAS_SIZE,
		.name = name,
		.layout = NVTX_LAYOUT_STATIC,
		.entries = entries,
		.entry_count = count,
		.static_bytes = 8 * (uint64_t)count};
	return domain ? type_add(domain, nvtx_string(domain, NVTX_TEXT_CHARS, name),
				nvtx_schema_register(domain, &layout), count)
		      : 0;
}

void user_event(uint32_t type, const uint64_t *values, uint32_t count)
{
	const struct user_type *t = type_of(type);
	if (!t || !t->fields || !values)
		return;
	const struct nvtx_data data = {
		t->id, 8 * (uint64_t)(count < t->fields ? count : t->fields), values};
	nvtx_payload_mark_named(t->domain, t->name, &data);
}

uint32_t user_counter(const char *name)
{
	struct name *domain = name ? nvtx_domain(NVTX_TEXT_CHARS, "libtrace") : NULL;
	const struct nvtx_counter_attributes counter = {
		.struct_bytes = sizeof(counter), .schema = NVTX_TYPE_DOUBLE, .name = name};
	return domain ? type_add(domain, nvtx_string(domain, NVTX_TEXT_CHARS, name),
				nvtx_counter_register(domain, &counter), 0)
		      : 0;
}

void user_sample(uint32_t counter, double value)
{
	const struct user_type *t = type_of(counter);
	if (t && !t->fields)
		nvtx_sample_float64(t->domain, t->id, value);
}
