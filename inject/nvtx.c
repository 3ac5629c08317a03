/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx.c - the entries of NVTX: it asks the environment for a tool, loads it and has it fill tables
 * of callbacks. Each callback is one call of tracer/nvtx/ranges.h.
 */
#define _GNU_SOURCE
#include "inject/fn.h"

#include <dlfcn.h>

#include "common/text.h"
#include "inject/environment.h"
#include "inject/own_file.h"
#include "inject/nvtx_abi.h"
#include "inject/nvtx_chain.h"
#include "tracer/nvtx/handles.h"
#include "tracer/base/libc.h"
#include "tracer/nvtx/extensions.h"

#define EXPORTED __attribute__((visibility("default")))

/* ---- the request for a tool ---- */

char *nvtx_tool_path(char *theirs, const void *caller)
{
	bool other = theirs && *theirs && !text_equal(text_base_name(theirs), "libtrace.so");
	(void)caller;
	if (!nvtx_is_on())
		return theirs;
	chain_want(other ? theirs : NULL);
	return own_file();
}

/* ---- events ---- */

static enum nvtx_text_kind kind_of(int32_t message_type)
{
	static const uint8_t kinds[] = {[NVTX_MESSAGE_CHARS] = NVTX_TEXT_CHARS,
		[NVTX_MESSAGE_WIDE] = NVTX_TEXT_WIDE,
		[NVTX_MESSAGE_REGISTERED] = NVTX_TEXT_NAME};
	return (uint32_t)message_type < sizeof(kinds) ? kinds[message_type] : NVTX_TEXT_NONE;
}

/* Return the text of a message. A registered string may be a handle of another tool. */
static inline const void *text_of(int32_t message_type, const void *message)
{
	if (__builtin_expect(__atomic_load_n(&handles_in_use, __ATOMIC_RELAXED), 0) &&
		message_type == NVTX_MESSAGE_REGISTERED)
		return handles_name((uint64_t)(uintptr_t)message);
	return message;
}

/* Return the bits of the payload: 32-bit ones are in the first half of the union. */
static uint64_t payload_of(const struct nvtx_event_attributes *a)
{
	return a->payload_type >= NVTX_VALUE_UINT32 ? (uint32_t)a->payload : a->payload;
}

/* Copy the program's bytes now, into a separate record. An event without a text gets the message in
 * the payload. */
static __attribute__((cold, noinline)) void payload_extended(
	struct nvtx_event *event, struct name *domain, const struct nvtx_event_attributes *a)
{
	const struct nvtx_data *data = (const struct nvtx_data *)(uintptr_t)a->payload;
	uint32_t count = (uint32_t)a->payload_count;
	uint64_t id = nvtx_payload_put(domain, data, count, 0, 0);
	event->attributes.payload = id;
	event->attributes.payload_type = id ? NVTX_VALUE_EXTENDED : NVTX_VALUE_NONE;
	if (!id || (event->text && event->kind != NVTX_TEXT_NONE))
		return;
	event->text = nvtx_payload_message(domain, data, count);
	event->kind = event->text ? NVTX_TEXT_NAME : NVTX_TEXT_NONE;
}

static inline __attribute__((always_inline)) struct nvtx_event event_of(
	struct name *domain, const struct nvtx_event_attributes *a)
{
	struct nvtx_event event = {.kind = NVTX_TEXT_NONE};
	if (!a || a->size < sizeof(*a))
		return event;
	event.kind = kind_of(a->message_type);
	event.text = text_of(a->message_type, a->message);
	if (!(a->category | (uint32_t)a->color_type | (uint32_t)a->payload_type))
		return event;
	event.has_attributes = true;
	event.attributes = (struct nvtx_attributes){.category = a->category};
	if (a->color_type == NVTX_COLORED_ARGB)
		event.attributes.color = a->color;
	if (a->payload_type > 0 && a->payload_type <= NVTX_VALUE_FLOAT) {
		event.attributes.payload_type = (uint32_t)a->payload_type;
		event.attributes.payload = payload_of(a);
	} else if (a->payload_type == NVTX_PAYLOAD_EXTENDED) {
		payload_extended(&event, domain, a);
	}
	return event;
}

static inline struct nvtx_event event_with(enum nvtx_text_kind kind, const void *text)
{
	return (struct nvtx_event){.kind = kind, .text = text};
}

static void domain_mark(struct name *domain, const struct nvtx_event_attributes *a)
{
	struct nvtx_event event = event_of(domain, a);
	nvtx_mark(domain, &event);
}

static void mark(const struct nvtx_event_attributes *a)
{
	domain_mark(NULL, a);
}

static void mark_chars(const char *text)
{
	struct nvtx_event event = event_with(NVTX_TEXT_CHARS, text);
	nvtx_mark(NULL, &event);
}

static void mark_wide(const wchar_t *text)
{
	struct nvtx_event event = event_with(NVTX_TEXT_WIDE, text);
	nvtx_mark(NULL, &event);
}

static uint64_t domain_start(struct name *domain, const struct nvtx_event_attributes *a)
{
	struct nvtx_event event = event_of(domain, a);
	return nvtx_start(domain, &event);
}

static uint64_t start(const struct nvtx_event_attributes *a)
{
	return domain_start(NULL, a);
}

static uint64_t start_chars(const char *text)
{
	struct nvtx_event event = event_with(NVTX_TEXT_CHARS, text);
	return nvtx_start(NULL, &event);
}

static uint64_t start_wide(const wchar_t *text)
{
	struct nvtx_event event = event_with(NVTX_TEXT_WIDE, text);
	return nvtx_start(NULL, &event);
}

static void domain_end(struct name *domain, uint64_t id)
{
	(void)domain; /* ids are unique in the process */
	nvtx_end(id);
}

static int domain_push(struct name *domain, const struct nvtx_event_attributes *a)
{
	struct nvtx_event event = event_of(domain, a);
	return nvtx_push(domain, &event);
}

static int push(const struct nvtx_event_attributes *a)
{
	return domain_push(NULL, a);
}

static int push_chars(const char *text)
{
	struct nvtx_event event = event_with(NVTX_TEXT_CHARS, text);
	return nvtx_push(NULL, &event);
}

static int push_wide(const wchar_t *text)
{
	struct nvtx_event event = event_with(NVTX_TEXT_WIDE, text);
	return nvtx_push(NULL, &event);
}

static int pop(void)
{
	return nvtx_pop(NULL);
}

/* ---- names ---- */

static void domain_category_chars(struct name *domain, uint32_t category, const char *text)
{
	nvtx_named(NVTX_NAMED_CATEGORY, domain, category, 0, NVTX_TEXT_CHARS, text);
}

static void domain_category_wide(struct name *domain, uint32_t category, const wchar_t *text)
{
	nvtx_named(NVTX_NAMED_CATEGORY, domain, category, 0, NVTX_TEXT_WIDE, text);
}

static void category_chars(uint32_t category, const char *text)
{
	domain_category_chars(NULL, category, text);
}

static void category_wide(uint32_t category, const wchar_t *text)
{
	domain_category_wide(NULL, category, text);
}

static void thread_chars(uint32_t tid, const char *text)
{
	nvtx_named(NVTX_NAMED_THREAD, NULL, tid, 0, NVTX_TEXT_CHARS, text);
}

static void thread_wide(uint32_t tid, const wchar_t *text)
{
	nvtx_named(NVTX_NAMED_THREAD, NULL, tid, 0, NVTX_TEXT_WIDE, text);
}

static struct name *domain_create_chars(const char *text)
{
	return nvtx_domain(NVTX_TEXT_CHARS, text);
}

static struct name *domain_create_wide(const wchar_t *text)
{
	return nvtx_domain(NVTX_TEXT_WIDE, text);
}

static void domain_destroy(struct name *domain)
{
	if (domain)
		nvtx_named(NVTX_NAMED_DOMAIN_END, domain, 0, 0, NVTX_TEXT_NONE, NULL);
}

static struct name *string_chars(struct name *domain, const char *text)
{
	return nvtx_string(domain, NVTX_TEXT_CHARS, text);
}

static struct name *string_wide(struct name *domain, const wchar_t *text)
{
	return nvtx_string(domain, NVTX_TEXT_WIDE, text);
}

/* Return the identifier itself as the handle, or some value that is not NULL. */
static void *resource_create(struct name *domain, const struct nvtx_resource_attributes *a)
{
	static char unnamed;
	if (!a || a->size < sizeof(*a))
		return &unnamed;
	nvtx_named(NVTX_NAMED_RESOURCE, domain, a->identifier, (uint32_t)a->type,
		kind_of(a->message_type), text_of(a->message_type, a->message));
	return a->identifier ? (void *)(uintptr_t)a->identifier : &unnamed;
}

static void resource_destroy(void *resource)
{
	nvtx_named(NVTX_NAMED_RESOURCE_END, NULL, FN_BITS(resource), 0, NVTX_TEXT_NONE, NULL);
}

/* Names of CUDA and OpenCL objects, declared without their headers: by number or address. */
#define OBJECT_NAME(function, id_type, text_type, kind, type)                         \
	static void function(id_type id, const text_type *text)                       \
	{                                                                             \
		nvtx_named(NVTX_NAMED_RESOURCE, NULL, FN_BITS(id), type, kind, text); \
	}
#define OBJECT_NAMES(function, id_type, type)                               \
	OBJECT_NAME(function##_chars, id_type, char, NVTX_TEXT_CHARS, type) \
	OBJECT_NAME(function##_wide, id_type, wchar_t, NVTX_TEXT_WIDE, type)
OBJECT_NAMES(cu_device, int, NVTX_TYPE_CUDA | 1)
OBJECT_NAMES(cu_context, void *, NVTX_TYPE_CUDA | 2)
OBJECT_NAMES(cu_stream, void *, NVTX_TYPE_CUDA | 3)
OBJECT_NAMES(cu_event, void *, NVTX_TYPE_CUDA | 4)
OBJECT_NAMES(cuda_device, int, NVTX_TYPE_CUDART | 0)
OBJECT_NAMES(cuda_stream, void *, NVTX_TYPE_CUDART | 1)
OBJECT_NAMES(cuda_event, void *, NVTX_TYPE_CUDART | 2)
OBJECT_NAMES(cl_device, void *, NVTX_TYPE_OPENCL | 1)
OBJECT_NAMES(cl_context, void *, NVTX_TYPE_OPENCL | 2)
OBJECT_NAMES(cl_queue, void *, NVTX_TYPE_OPENCL | 3)
OBJECT_NAMES(cl_memory, void *, NVTX_TYPE_OPENCL | 4)
OBJECT_NAMES(cl_sampler, void *, NVTX_TYPE_OPENCL | 5)
OBJECT_NAMES(cl_program, void *, NVTX_TYPE_OPENCL | 6)
OBJECT_NAMES(cl_event, void *, NVTX_TYPE_OPENCL | 7)

/* ---- tables ---- */

typedef void (*any_fn)(void);
#define F(function) ((any_fn)(function))

/* In NVTX's order, from number 1. */
static const any_fn core[] = {NULL, F(mark), F(mark_chars), F(mark_wide), F(start), F(start_chars),
	F(start_wide), F(nvtx_end), F(push), F(push_chars), F(push_wide), F(pop), F(category_chars),
	F(category_wide), F(thread_chars), F(thread_wide)};
static const any_fn core2[] = {NULL, F(domain_mark), F(domain_start), F(domain_end), F(domain_push),
	F(nvtx_pop), F(resource_create), F(resource_destroy), F(domain_category_chars),
	F(domain_category_wide), F(string_chars), F(string_wide), F(domain_create_chars),
	F(domain_create_wide), F(domain_destroy)};
static const any_fn cuda[] = {NULL, F(cu_device_chars), F(cu_device_wide), F(cu_context_chars),
	F(cu_context_wide), F(cu_stream_chars), F(cu_stream_wide), F(cu_event_chars),
	F(cu_event_wide)};
static const any_fn cudart[] = {NULL, F(cuda_device_chars), F(cuda_device_wide),
	F(cuda_stream_chars), F(cuda_stream_wide), F(cuda_event_chars), F(cuda_event_wide)};
static const any_fn opencl[] = {NULL, F(cl_device_chars), F(cl_device_wide), F(cl_context_chars),
	F(cl_context_wide), F(cl_queue_chars), F(cl_queue_wide), F(cl_memory_chars),
	F(cl_memory_wide), F(cl_sampler_chars), F(cl_sampler_wide), F(cl_program_chars),
	F(cl_program_wide), F(cl_event_chars), F(cl_event_wide)};
static const any_fn sync_objects[] = {NULL, F(nvtx_sync_create), F(nvtx_sync_destroy),
	F(nvtx_sync_acquire_start), F(nvtx_sync_acquire_failed), F(nvtx_sync_acquire_success),
	F(nvtx_sync_releasing)};

/* Return the slots through which NVTX calls the functions of a module; *ret_count entries, the
 * unused first one included. */
static any_fn **module_slots(
	const struct nvtx_callback_table *callbacks, int module, unsigned *ret_count)
{
	any_fn **table = NULL;
	*ret_count = 0;
	return callbacks->module_table(module, &table, ret_count) ? table : NULL;
}

#define MODULES_MAX 7u
#define SLOTS_MAX 18u

/* The contents of the slots before another tool was asked. */
struct slots_before {
	any_fn slot[MODULES_MAX][SLOTS_MAX];
};

static void slots_note(const struct nvtx_callback_table *callbacks, struct slots_before *before)
{
	unsigned count;
	for (int module = NVTX_CORE; module <= NVTX_SYNC; module++) {
		any_fn **table = module_slots(callbacks, module, &count);
		for (unsigned i = 1; table && i < count && i < SLOTS_MAX; i++)
			before->slot[module][i] = table[i] ? *table[i] : NULL;
	}
}

/* Return the function that the tool has stored; NULL = none. */
static any_fn slot_theirs(const struct slots_before *before, int module, unsigned slot, any_fn now)
{
	return before && slot < SLOTS_MAX && now != before->slot[module][slot] ? now : NULL;
}

static void module_fill(const struct nvtx_callback_table *callbacks, int module,
	const any_fn *functions, unsigned count, const struct slots_before *before)
{
	unsigned size;
	any_fn **table = module_slots(callbacks, module, &size);
	for (unsigned i = 1; table && i < count && i < size; i++)
		if (table[i] && functions[i])
			*table[i] = chain_function((unsigned)module, i,
				slot_theirs(before, module, i, *table[i]), functions[i]);
}

/* Return true if the tool has all functions that handles pass through, or none: otherwise the tool
 * would get our handles. */
static bool tool_is_whole(
	const struct nvtx_callback_table *callbacks, const struct slots_before *before)
{
	enum { STRING_CHARS = 10, DOMAIN_WIDE = 13 };
	unsigned count, filled = 0, handles = 0;
	any_fn **table = module_slots(callbacks, NVTX_CORE2, &count);
	for (unsigned i = 1; table && i < count && i < SLOTS_MAX; i++) {
		bool is_filled = table[i] && slot_theirs(before, NVTX_CORE2, i, *table[i]) != NULL;
		filled += is_filled;
		handles += is_filled && i >= STRING_CHARS && i <= DOMAIN_WIDE;
	}
	return !filled || handles == DOMAIN_WIDE - STRING_CHARS + 1;
}

typedef int (*initialize_fn)(nvtx_get_table_fn get_table);

/* Return the init function of the tool that the user named; that tool is called first. NULL = there
 * is no tool, or it declined. */
static initialize_fn tool_initialize(void)
{
	initialize_fn found = (initialize_fn)chain_symbol("InitializeInjectionNvtx2");
	return found ? found : (initialize_fn)chain_symbol("InitializeInjectionNvtx");
}

#define COUNT_OF(array) (unsigned)(sizeof(array) / sizeof((array)[0]))

/* Called once by each object that uses NVTX. Never return 0: that would switch NVTX off there
 * for good. */
static int initialize(nvtx_get_table_fn get_table)
{
	relocate_check();
	const struct nvtx_callback_table *callbacks = get_table(NVTX_TABLE_CALLBACKS);
	const struct nvtx_version_table *version = get_table(NVTX_TABLE_VERSION);
	struct slots_before before = {{{NULL}}}, *theirs = NULL;
	initialize_fn tool = tool_initialize();
	if (version && version->struct_bytes >= sizeof(*version) && version->set_tool_version)
		version->set_tool_version(NVTX_TOOL_VERSION);
	if (!callbacks || callbacks->struct_bytes < sizeof(*callbacks) || !nvtx_is_on())
		return 1;
	if (tool) {
		slots_note(callbacks, &before);
		theirs = tool(get_table) ? &before : NULL;
		chain_decide(!theirs                               ? CHAIN_NONE
				: tool_is_whole(callbacks, theirs) ? CHAIN_JOINED
								   : CHAIN_LEFT);
	}
	if (chain_state() == CHAIN_LEFT)
		return 1;
	module_fill(callbacks, NVTX_CORE, core, COUNT_OF(core), theirs);
	module_fill(callbacks, NVTX_CORE2, core2, COUNT_OF(core2), theirs);
	module_fill(callbacks, NVTX_CUDA, cuda, COUNT_OF(cuda), theirs);
	module_fill(callbacks, NVTX_CUDART, cudart, COUNT_OF(cudart), theirs);
	module_fill(callbacks, NVTX_OPENCL, opencl, COUNT_OF(opencl), theirs);
	module_fill(callbacks, NVTX_SYNC, sync_objects, COUNT_OF(sync_objects), theirs);
	return 1;
}

EXPORTED int InitializeInjectionNvtx2(nvtx_get_table_fn get_table);
EXPORTED int InitializeInjectionNvtx(nvtx_get_table_fn get_table);

int InitializeInjectionNvtx2(nvtx_get_table_fn get_table)
{
	return initialize(get_table);
}

int InitializeInjectionNvtx(nvtx_get_table_fn get_table)
{
	return initialize(get_table);
}
