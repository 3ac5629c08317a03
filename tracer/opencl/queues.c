/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queues.c - command queues: they get profiling, which the program is not shown.
 */
#include "tracer/opencl/opencl.h"

#include "common/clock.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/core/bounded_lock.h"

#define NUMBER_OPENCL_DEVICE 81u
#define NUMBER_OPENCL_QUEUE 82u
#define DEVICES_MAX 64u
#define CONTEXTS_MAX 256u

struct queue_table {
	struct opencl_queue queues[OPENCL_QUEUES_MAX]; /* by a hash of the handle */
	uint64_t contexts[CONTEXTS_MAX], devices[DEVICES_MAX];
	struct name *device_names[DEVICES_MAX];
	uint32_t queue_count, context_count, device_count;
	uint32_t number; /* of the last queue */
	uint32_t lock;   /* bounded: of additions */
	uint32_t epoch;  /* names_epoch of the spool that has the devices */
};
static struct queue_table *table;

bool opencl_queues_start(void)
{
	static void *place;
	table = sys_mmap_table(&place, sizeof(*table));
	return table != NULL;
}

/* ---- the table ---- */

/* Return the entry of the queue, or a free one; NULL = no room. */
static struct opencl_queue *place_of(uint64_t handle)
{
	uint64_t first = handle * UINT64_C(0x9e3779b97f4a7c15) >> 40;
	for (uint32_t i = 0; table && i < OPENCL_QUEUES_MAX; i++) {
		struct opencl_queue *q = &table->queues[(first + i) % OPENCL_QUEUES_MAX];
		uint64_t known = __atomic_load_n(&q->handle, __ATOMIC_ACQUIRE);
		if (known == handle || !known)
			return q;
	}
	return NULL;
}

static struct opencl_queue *queue_find(uint64_t handle)
{
	struct opencl_queue *q = handle ? place_of(handle) : NULL;
	return q && q->handle ? q : NULL;
}

static uint32_t context_number(uint64_t context)
{
	uint32_t i = 0;
	while (i < table->context_count && table->contexts[i] != context)
		i++;
	if (i == table->context_count && i < CONTEXTS_MAX) {
		table->contexts[i] = context;
		table->context_count++;
	}
	return i + 1;
}

static void device_record(uint32_t number, uint64_t device, uint64_t tick)
{
	opencl_query *info = opencl_driver.device_info, *of_platform = opencl_driver.platform_info;
	uint64_t platform = opencl_number(info, device, CL_DEVICE_PLATFORM);
	const uint64_t columns[] = {number, names_ref(table->device_names[number]),
		names_ref(opencl_text(info, device, CL_DEVICE_VENDOR)),
		names_ref(opencl_text(info, device, CL_DEVICE_VERSION)),
		names_ref(opencl_text(info, device, CL_DRIVER_VERSION)),
		names_ref(opencl_text(of_platform, platform, CL_PLATFORM_NAME)),
		names_ref(opencl_text(of_platform, platform, CL_PLATFORM_VENDOR)),
		names_ref(opencl_text(of_platform, platform, CL_PLATFORM_VERSION)),
		opencl_number(info, device, CL_DEVICE_TYPE),
		opencl_number(info, device, CL_DEVICE_MAX_COMPUTE_UNITS),
		opencl_number(info, device, CL_DEVICE_MAX_WORK_GROUP_SIZE),
		opencl_number(info, device, CL_DEVICE_LOCAL_MEM_SIZE),
		opencl_number(info, device, CL_DEVICE_GLOBAL_MEM_SIZE),
		opencl_number(info, device, CL_DEVICE_MAX_CLOCK_FREQUENCY),
		opencl_number(info, device, CL_DEVICE_ADDRESS_BITS)};
	opencl_row(
		NUMBER_OPENCL_DEVICE, tick, 0, columns, sizeof(columns) / sizeof(columns[0]), 0xfe);
}

static uint32_t device_number(uint64_t device, uint64_t tick)
{
	uint32_t i = 0;
	while (i < table->device_count && table->devices[i] != device)
		i++;
	if (i == table->device_count && i < DEVICES_MAX) {
		table->devices[i] = device;
		table->device_names[i] =
			opencl_text(opencl_driver.device_info, device, CL_DEVICE_NAME);
		table->device_count++;
		device_record(i, device, tick);
	}
	return i;
}

static void queue_record(const struct opencl_queue *q, uint64_t handle, uint64_t tick)
{
	uint32_t who = q->is_changed ? 2 : q->has_times ? 1 : 0;
	const uint64_t columns[] = {q->number, handle, q->context_number, q->context,
		q->device_number, q->properties, who};
	opencl_row(NUMBER_OPENCL_QUEUE, tick, 0, columns, sizeof(columns) / sizeof(columns[0]), 0);
}

/* Add a queue, or replace the one whose handle it has. `like` has its properties. */
static struct opencl_queue *queue_add(
	uint64_t handle, const struct opencl_queue *like, uint64_t tick)
{
	if (!handle || !table || !bounded_lock_take(&table->lock))
		return NULL;
	struct opencl_queue *q = place_of(handle), new = *like;
	table->epoch = table->epoch ? table->epoch : names_epoch;
	if (q && (q->handle || table->queue_count < OPENCL_QUEUES_MAX / 2)) {
		table->queue_count += !q->handle;
		new.number = ++table->number;
		new.context_number = context_number(new.context);
		new.device_number = device_number(new.device, tick);
		new.device_name = new.device_number < DEVICES_MAX
			? table->device_names[new.device_number]
			: NULL;
		new.handle = q->handle;
		*q = new;
		__atomic_store_n(&q->handle, handle, __ATOMIC_RELEASE);
		queue_record(q, handle, tick);
	} else {
		q = NULL;
	}
	bounded_lock_give(&table->lock);
	return q;
}

/* Describe the queues again in the spool of a forked child. */
static void describe_again(uint64_t tick)
{
	if (table->epoch == names_epoch || !bounded_lock_take(&table->lock))
		return;
	for (uint32_t i = 0; table->epoch && i < table->device_count; i++)
		device_record(i, table->devices[i], tick);
	for (uint32_t i = 0; table->epoch && i < OPENCL_QUEUES_MAX; i++)
		if (table->queues[i].handle)
			queue_record(&table->queues[i], table->queues[i].handle, tick);
	table->epoch = names_epoch;
	bounded_lock_give(&table->lock);
}

struct opencl_queue *opencl_queue_of(uint64_t handle, uint64_t tick)
{
	opencl_query *info = opencl_driver.queue_info;
	struct opencl_queue *q = queue_find(handle);
	if (!table)
		return NULL;
	describe_again(tick);
	if (q)
		return q;
	struct opencl_queue like = {.context = opencl_number(info, handle, CL_QUEUE_CONTEXT),
		.device = opencl_number(info, handle, CL_QUEUE_DEVICE),
		.properties = opencl_number(info, handle, CL_QUEUE_PROPERTIES)};
	like.has_times = like.properties & CL_QUEUE_PROFILING_ENABLE;
	return queue_add(handle, &like, tick);
}

/* ---- creation ---- */

/* Return true if a queue of the device can have profiling, and there is room to remember that it
 * was added. */
static bool may_add_profiling(uint64_t device)
{
	return table && table->queue_count < OPENCL_QUEUES_MAX / 2 - 64 &&
		opencl_number(opencl_driver.device_info, device, CL_DEVICE_QUEUE_PROPERTIES) &
		CL_QUEUE_PROFILING_ENABLE;
}

/* The words of the list with its end; 0 = it is too long. */
static uint32_t list_words(const uint64_t *list)
{
	uint32_t i = 0;
	while (list && i + 4 < OPENCL_LIST_WORDS && list[i])
		i += 2;
	return list && list[i] ? 0 : i + 1;
}

static uint64_t list_properties(const uint64_t *list, uint32_t words)
{
	uint64_t properties = 0;
	for (uint32_t i = 0; list && i + 1 < words; i += 2)
		if (list[i] == CL_QUEUE_PROPERTIES)
			properties = list[i + 1];
	return properties;
}

/* Lists of properties with profiling, each for a call that is in progress: the driver copies it. A
 * bit of own_lists_taken says that a list is in use. */
#define OWN_LISTS 4u
#define NO_LIST (OWN_LISTS + 1) /* in scratch: profiling was added without a list */
static uint64_t own_lists[OWN_LISTS][OPENCL_LIST_WORDS + 2];
static uint32_t own_lists_taken;

/* Return a list that no other call uses; OWN_LISTS = none is left. */
static uint32_t own_list_take(void)
{
	uint32_t taken = __atomic_load_n(&own_lists_taken, __ATOMIC_RELAXED);
	uint32_t index;
	do {
		index = (uint32_t)__builtin_ctz(~taken); /* OWN_LISTS = all are taken */
	} while (index < OWN_LISTS &&
		!__atomic_compare_exchange_n(&own_lists_taken, &taken, taken | 1u << index, false,
			__ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
	return index;
}

void opencl_queue_list_end(const struct hooked_call *call)
{
	const uint64_t index = call->scratch[3] - 1;
	if (index < OWN_LISTS)
		__atomic_fetch_and(&own_lists_taken, ~(1u << index), __ATOMIC_RELEASE);
}

/* Give the call a list with profiling. Returns 1 + its index, or 0 if the call keeps its own. */
static uint32_t list_change(struct hooked_call *call)
{
	const uint64_t *list = (const uint64_t *)(uintptr_t)call->words[2];
	uint32_t words = list_words(list), n = 0;
	uint64_t properties = list_properties(list, words);
	bool found = false;
	if (!words || properties & (CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_ON_DEVICE))
		return 0;
	const uint32_t index = own_list_take();
	if (index == OWN_LISTS)
		return 0;
	uint64_t *own_list = own_lists[index];
	for (; list && n + 1 < words; n += 2) {
		own_list[n] = list[n];
		own_list[n + 1] = list[n + 1];
		if (list[n] == CL_QUEUE_PROPERTIES)
			own_list[n + 1] |= CL_QUEUE_PROFILING_ENABLE;
		found |= list[n] == CL_QUEUE_PROPERTIES;
	}
	if (!found) {
		own_list[n++] = CL_QUEUE_PROPERTIES;
		own_list[n++] = CL_QUEUE_PROFILING_ENABLE;
	}
	own_list[n] = 0;
	call->words[2] = (uint64_t)(uintptr_t)own_list;
	return index + 1;
}

/* scratch: 0 context, 1 device, 2 the program's properties or list, 3 not 0 if profiling was added:
 * 1 + index of the list, or NO_LIST. */
void opencl_queue_create(struct hooked_call *call, bool has_list)
{
	if (!may_add_profiling(call->words[1]))
		return;
	if (has_list) {
		call->scratch[3] = list_change(call);
		return;
	}
	call->words[2] |= CL_QUEUE_PROFILING_ENABLE;
	call->scratch[3] = call->words[2] != call->scratch[2] ? NO_LIST : 0;
}

void opencl_queue_created(struct hooked_call *call, bool has_list)
{
	const uint64_t *list = has_list ? (const uint64_t *)(uintptr_t)call->scratch[2] : NULL;
	struct opencl_queue like = {.context = call->scratch[0],
		.device = call->scratch[1],
		.properties = call->scratch[2],
		.is_changed = call->scratch[3] != 0};
	if (has_list) {
		uint32_t words = list_words(list);
		like.properties = list_properties(list, words);
		like.list_words = list ? words : 0;
		for (uint32_t i = 0; i < like.list_words; i++)
			like.list[i] = list[i];
	}
	like.has_times = like.is_changed || like.properties & CL_QUEUE_PROFILING_ENABLE;
	queue_add(call->words[0], &like, call->begin_tick);
}

/* ---- what the program is shown ---- */

/* Answer for the list of properties as the program gave it. */
static int32_t list_answer(const struct hooked_call *call, const struct opencl_queue *q)
{
	uint64_t bytes = q->list_words * sizeof(q->list[0]);
	void *value = (void *)(uintptr_t)call->words[3];
	if (value && call->words[2] < bytes)
		return CL_INVALID_VALUE;
	if (value)
		bytes_copy(value, q->list, bytes);
	if (call->words[4])
		*(size_t *)(uintptr_t)call->words[4] = bytes;
	return CL_SUCCESS;
}

/* scratch: 0 the queue, 1 what is asked for. */
void opencl_queue_info_hide(struct hooked_call *call)
{
	const struct opencl_queue *q = queue_find(call->scratch[0]);
	int32_t result = (int32_t)(uint32_t)call->words[0];
	uint32_t what = (uint32_t)call->scratch[1];
	if (!q || !q->is_changed)
		return;
	if (what == CL_QUEUE_PROPERTIES && result == CL_SUCCESS && call->words[3])
		*(uint64_t *)(uintptr_t)call->words[3] &= ~(uint64_t)CL_QUEUE_PROFILING_ENABLE;
	if (what == CL_QUEUE_PROPERTIES_ARRAY &&
		(result == CL_SUCCESS ||
			(result == CL_INVALID_VALUE && call->scratch[3] /* the driver knows it */)))
		call->words[0] = (uint32_t)list_answer(call, q);
}

/* A program whose queue has no profiling gets an error, and no time. scratch: 2 whether that is
 * so. */
void opencl_profiling_hide_before(struct hooked_call *call)
{
	const struct opencl_queue *q = queue_find(
		opencl_number(opencl_driver.event_info, call->words[0], CL_EVENT_COMMAND_QUEUE));
	if (!q || !q->is_changed)
		return;
	call->scratch[2] = 1;
	call->words[2] = call->words[3] = call->words[4] = 0;
}

void opencl_profiling_hide_after(struct hooked_call *call)
{
	int32_t result = (int32_t)(uint32_t)call->words[0];
	if (call->scratch[2] && result != CL_INVALID_EVENT)
		call->words[0] = (uint32_t)CL_PROFILING_INFO_NOT_AVAILABLE;
}
