/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workloads.c - the submissions to queues of Vulkan, and their timestamps.
 *
 * A queue has a ring of pairs of command buffers and of queries. The thread that submits takes the
 * next pair, since the program lets one thread at a time submit to a queue; whoever reads results
 * has the queue's lock, and gives pairs back in their order. The first submission also resets all
 * queries, and then sets an event: before that no query may be read.
 */
#define _GNU_SOURCE
#include "tracer/graphics/workloads.h"

#include <stddef.h>

#include "common/clock.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/base/libc.h"
#include "tracer/core/bounded_lock.h"
#include "tracer/core/muted.h"
#include "tracer/core/plain_row.h"
#include "tracer/core/state.h"
#include "tracer/graphics/hooks.h"
#include "tracer/graphics/labels.h"
#include "tracer/graphics/vulkan_abi.h"

#define DEVICES_MAX 16u
#define QUEUES_MAX 64u
#define FAMILIES_MAX 32u
#define PAIRS 256u        /* submissions of a queue whose results were not read */
#define BATCHES_MAX 64u   /* of a call */
#define BUFFERS_MAX 1024u /* command buffers of a batch that is extended */
#define OURS_MAX 3u       /* command buffers of ours in a call */
#define READ_MAX 16u      /* results that are read before they are recorded */

#define COMMAND_BUFFER_SIMULTANEOUS_USE 4u
#define QUERY_TYPE_TIMESTAMP 2u
#define QUERY_64_AND_AVAILABILITY 5u
#define STAGE_TOP 1u
#define STAGE_BOTTOM 0x2000u
#define STAGE_ALL 0x10000u
#define EVENT_IS_SET 3
#define TYPE_DEVICE_GROUP 1000070001u
#define TYPE_TIMELINE 1000207003u
#define TYPE_CLOCK 1000184000u
#define CLOCK_OF_DEVICE 0u
#define CLOCK_OF_LINUX 1u /* CLOCK_MONOTONIC */

#define DRIFT 10000u /* clocks drift apart by at most 1/DRIFT */

/* ---- the driver ---- */

typedef void *found_function(uint64_t object, const char *name);
static found_function *instance_function, *device_function;
static void (*properties_of)(uint64_t physical, void *ret_properties);
static void (*families_of)(uint64_t physical, uint32_t *count, struct vulkan_family *ret_families);
static uint64_t instance; /* 0 = none yet, UINT64_MAX = several */

struct driver {
	int32_t (*create_pool)(uint64_t, const struct vulkan_pool_info *, const void *, uint64_t *);
	void (*destroy_pool)(uint64_t, uint64_t, const void *);
	int32_t (*allocate)(uint64_t, const struct vulkan_allocate_info *, uint64_t *);
	int32_t (*begin)(uint64_t, const struct vulkan_begin_info *);
	int32_t (*end)(uint64_t);
	int32_t (*create_queries)(
		uint64_t, const struct vulkan_query_info *, const void *, uint64_t *);
	void (*destroy_queries)(uint64_t, uint64_t, const void *);
	int32_t (*create_event)(
		uint64_t, const struct vulkan_event_info *, const void *, uint64_t *);
	void (*destroy_event)(uint64_t, uint64_t, const void *);
	int32_t (*event_status)(uint64_t, uint64_t);
	void (*reset)(uint64_t, uint64_t, uint32_t, uint32_t);
	void (*stamp)(uint64_t, uint32_t, uint64_t, uint32_t);
	void (*set_event)(uint64_t, uint64_t, uint32_t);
	int32_t (*results)(
		uint64_t, uint64_t, uint32_t, uint32_t, size_t, void *, uint64_t, uint32_t);
	int32_t (*wait_idle)(uint64_t);
	/* NULL = the clocks cannot be compared */
	int32_t (*clocks)(
		uint64_t, uint32_t, const struct vulkan_clock_info *, uint64_t *, uint64_t *);
};

static const struct {
	const char *name;
	uint32_t offset;
} needed[] = {{"vkCreateCommandPool", offsetof(struct driver, create_pool)},
	{"vkDestroyCommandPool", offsetof(struct driver, destroy_pool)},
	{"vkAllocateCommandBuffers", offsetof(struct driver, allocate)},
	{"vkBeginCommandBuffer", offsetof(struct driver, begin)},
	{"vkEndCommandBuffer", offsetof(struct driver, end)},
	{"vkCreateQueryPool", offsetof(struct driver, create_queries)},
	{"vkDestroyQueryPool", offsetof(struct driver, destroy_queries)},
	{"vkCreateEvent", offsetof(struct driver, create_event)},
	{"vkDestroyEvent", offsetof(struct driver, destroy_event)},
	{"vkGetEventStatus", offsetof(struct driver, event_status)},
	{"vkCmdResetQueryPool", offsetof(struct driver, reset)},
	{"vkCmdWriteTimestamp", offsetof(struct driver, stamp)},
	{"vkCmdSetEvent", offsetof(struct driver, set_event)},
	{"vkGetQueryPoolResults", offsetof(struct driver, results)},
	{"vkDeviceWaitIdle", offsetof(struct driver, wait_idle)}};

void workloads_instance_found(uint64_t real)
{
	uint64_t found = libc_find_beside(real, "vkGetInstanceProcAddr");
	__atomic_store_n((uint64_t *)(void *)&instance_function, found, __ATOMIC_RELAXED);
}

void workloads_device_found(uint64_t real)
{
	uint64_t found = libc_find_beside(real, "vkGetPhysicalDeviceProperties");
	__atomic_store_n((uint64_t *)(void *)&properties_of, found, __ATOMIC_RELAXED);
	found = libc_find_beside(real, "vkGetPhysicalDeviceQueueFamilyProperties");
	__atomic_store_n((uint64_t *)(void *)&families_of, found, __ATOMIC_RELAXED);
	found = libc_find_beside(real, "vkGetDeviceProcAddr");
	__atomic_store_n((uint64_t *)(void *)&device_function, found, __ATOMIC_RELAXED);
}

/* ---- devices and queues ---- */

struct device {
	uint64_t handle; /* 0 = free */
	uint64_t period; /* ns of a tick, times 2^32 */
	uint32_t number, families;
	struct driver driver;
	struct vulkan_family family[FAMILIES_MAX];
};

struct pair {
	uint64_t call_ns, start; /* start: the timestamp that was read last */
	struct name *text;
	const char *function;
	uint32_t tid, buffers;
};

struct queue {
	uint64_t handle; /* 0 = free */
	const struct device *device;
	uint64_t pool, queries, event,
		setup; /* setup: the command buffer that resets the queries */
	uint64_t buffers[2 * PAIRS];
	struct pair pairs[PAIRS];
	uint32_t number;
	uint32_t bits;            /* of a timestamp */
	uint32_t next, first;     /* pairs from first to next were submitted and not read */
	bool is_set_up, is_ready; /* the queries were, or have been, reset */
	bool is_submitting;
	uint32_t lock; /* of all below, of first, and of reading */
	uint64_t last; /* a timestamp, extended to 64 bits */
	bool has_bounds;
	int64_t least, most; /* the host's clock less the device's */
	uint64_t bounds_ns;
	/* For the call that submits. */
	char batches[BATCHES_MAX * sizeof(struct vulkan_submit)];
	struct vulkan_buffer lists[2][BUFFERS_MAX + OURS_MAX];
};

static struct device *devices; /* DEVICES_MAX */
static struct queue *queues[QUEUES_MAX];
static uint32_t table_lock, device_number, queue_number;

void workloads_forked(void)
{
	if (!devices)
		return;
	table_lock = LOCK_FREE;
	for (uint32_t i = 0; i < QUEUES_MAX && queues[i]; i++)
		queues[i]->handle = 0;
	for (uint32_t i = 0; i < DEVICES_MAX; i++)
		devices[i].handle = 0;
}

static struct device *device_of(uint64_t handle)
{
	for (uint32_t i = 0; devices && handle && i < DEVICES_MAX; i++)
		if (__atomic_load_n(&devices[i].handle, __ATOMIC_ACQUIRE) == handle)
			return &devices[i];
	return NULL;
}

static struct queue *queue_at(uint32_t i)
{
	return __atomic_load_n(&queues[i], __ATOMIC_ACQUIRE);
}

static struct queue *queue_of(uint64_t handle)
{
	struct queue *q;
	for (uint32_t i = 0; handle && i < QUEUES_MAX && (q = queue_at(i)); i++)
		if (__atomic_load_n(&q->handle, __ATOMIC_ACQUIRE) == handle)
			return q;
	return NULL;
}

static void device_forget(uint64_t handle)
{
	struct device *d = device_of(handle);
	struct queue *q;
	if (!d)
		return;
	for (uint32_t i = 0; i < QUEUES_MAX && (q = queue_at(i)); i++)
		if (q->handle && q->device == d)
			__atomic_store_n(&q->handle, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&d->handle, 0, __ATOMIC_RELEASE);
}

static void count(uint64_t *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

void workloads_note_instance(const struct hooked_call *call)
{
	call->scratch[0] = call->words[2];
}

void workloads_instance_created(const struct hooked_call *call)
{
	const uint64_t *place = (const uint64_t *)(uintptr_t)call->scratch[0];
	uint64_t none = 0;
	if ((uint32_t)call->words[0] || !place ||
		__atomic_compare_exchange_n(
			&instance, &none, *place, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&instance, UINT64_MAX, __ATOMIC_RELAXED);
}

/* Words of scratch of a call that creates a device; pipelines.c has the first two. */
enum { DEVICE_PLACE = 2, PHYSICAL, CLOCKS_NAME, IS_WANTED };

void workloads_note_device(const struct hooked_call *call)
{
	static const char *const extensions[][2] = {
		{"VK_EXT_calibrated_timestamps", "vkGetCalibratedTimestampsEXT"},
		{"VK_KHR_calibrated_timestamps", "vkGetCalibratedTimestampsKHR"}};
	const struct vulkan_device_info *info = (const void *)(uintptr_t)call->words[1];
	if (!session.config.vulkan_workload || !info)
		return;
	for (uint32_t i = 0; i < info->extension_count; i++)
		for (uint32_t n = 0; n < 2; n++)
			if (text_equal(info->extensions[i], extensions[n][0]))
				call->scratch[CLOCKS_NAME] = (uint64_t)(uintptr_t)extensions[n][1];
	call->scratch[PHYSICAL] = call->words[0];
	call->scratch[DEVICE_PLACE] = call->words[3];
	call->scratch[IS_WANTED] = true;
	for (const struct vulkan_link *l = info->link.next; l; l = l->next)
		if (l->type == TYPE_DEVICE_GROUP)
			call->scratch[IS_WANTED] = false;
}

/* Return true if the driver compares the device's clock with CLOCK_MONOTONIC. */
static bool has_clock(uint64_t physical, bool is_khr)
{
	int32_t (*domains_of)(uint64_t, uint32_t *, uint32_t *);
	uint32_t domains[16] = {0}, number = 16;
	uint64_t only = __atomic_load_n(&instance, __ATOMIC_RELAXED);
	bool has_device = false, has_host = false;
	if (!instance_function || !only || only == UINT64_MAX)
		return false;
	*(void **)(void *)&domains_of = instance_function(only,
		is_khr ? "vkGetPhysicalDeviceCalibrateableTimeDomainsKHR"
		       : "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT");
	if (!domains_of || domains_of(physical, &number, domains) < 0)
		return false;
	for (uint32_t i = 0; i < number && i < 16; i++) {
		has_device |= domains[i] == CLOCK_OF_DEVICE;
		has_host |= domains[i] == CLOCK_OF_LINUX;
	}
	return has_device && has_host;
}

/* Return false if something is missing. */
static bool device_fill(struct device *d, uint64_t handle, const struct hooked_call *call)
{
	uint32_t properties[VULKAN_PROPERTIES_BYTES / sizeof(uint32_t)] = {0};
	const char *clocks = (const char *)(uintptr_t)call->scratch[CLOCKS_NAME];
	uint64_t physical = call->scratch[PHYSICAL];
	float period;
	if (!properties_of || !families_of || !device_function)
		return false;
	*d = (struct device){.number = ++device_number, .families = FAMILIES_MAX};
	for (uint32_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		void *function = device_function(handle, needed[i].name);
		if (!function)
			return false;
		*(void **)(void *)((char *)&d->driver + needed[i].offset) = function;
	}
	if (clocks && has_clock(physical, text_equal(clocks, "vkGetCalibratedTimestampsKHR")))
		*(void **)(void *)&d->driver.clocks = device_function(handle, clocks);
	families_of(physical, &d->families, d->family);
	properties_of(physical, properties);
	bytes_copy(&period, (const char *)properties + VULKAN_PERIOD_AT, sizeof(period));
	if (!(period > 0 && period < 1e6F))
		return false;
	d->period = (uint64_t)((double)period * 4294967296.0);
	return true;
}

void workloads_device_created(const struct hooked_call *call)
{
	const uint64_t *place = (const uint64_t *)(uintptr_t)call->scratch[DEVICE_PLACE];
	static void *table;
	struct muted muted;
	if (!call->scratch[IS_WANTED] || (uint32_t)call->words[0] || !place || !*place ||
		!muted_enter(&muted))
		return;
	if (bounded_lock_take(&table_lock)) {
		device_forget(*place); /* its end was not seen */
		if (!devices)
			devices = sys_mmap_table(&table, DEVICES_MAX * sizeof(*devices));
		for (uint32_t i = 0; devices && i < DEVICES_MAX; i++) {
			if (devices[i].handle)
				continue;
			if (device_fill(&devices[i], *place, call))
				__atomic_store_n(&devices[i].handle, *place, __ATOMIC_RELEASE);
			break;
		}
		bounded_lock_give(&table_lock);
	}
	muted_leave(&muted);
}

static bool buffer_record(const struct queue *q, uint32_t i)
{
	static const struct vulkan_begin_info info = {
		.link = {42, NULL}, .flags = COMMAND_BUFFER_SIMULTANEOUS_USE};
	const struct driver *v = &q->device->driver;
	uint64_t buffer = i < 2 * PAIRS ? q->buffers[i] : q->setup;
	if (v->begin(buffer, &info))
		return false;
	if (i == 2 * PAIRS) {
		v->reset(buffer, q->queries, 0, 2 * PAIRS);
		v->set_event(buffer, q->event, STAGE_ALL);
	} else {
		if (i % 2 == 0)
			v->reset(buffer, q->queries, i, 2);
		v->stamp(buffer, i % 2 ? STAGE_BOTTOM : STAGE_TOP, q->queries, i);
	}
	return v->end(buffer) == 0;
}

static void queue_clear(struct queue *q)
{
	const struct driver *v = &q->device->driver;
	uint64_t device = q->device->handle;
	if (q->pool)
		v->destroy_pool(device, q->pool, NULL);
	if (q->queries)
		v->destroy_queries(device, q->queries, NULL);
	if (q->event)
		v->destroy_event(device, q->event, NULL);
	q->pool = q->queries = q->event = 0;
}

/* Create what is ours for a queue. Return false if that fails. */
static bool queue_fill(struct queue *q, const struct device *d, uint32_t family)
{
	const struct vulkan_pool_info pool = {.link = {39, NULL}, .family = family};
	const struct vulkan_query_info queries = {
		.link = {11, NULL}, .type = QUERY_TYPE_TIMESTAMP, .count = 2 * PAIRS};
	const struct vulkan_event_info event = {.link = {10, NULL}};
	const struct driver *v = &d->driver;
	q->device = d;
	q->bits = d->family[family].timestamp_bits;
	q->number = ++queue_number;
	q->next = q->first = 0;
	q->is_set_up = q->is_ready = q->is_submitting = q->has_bounds = false;
	q->lock = LOCK_FREE;
	q->last = 0;
	for (uint32_t i = 0; i < PAIRS; i++)
		q->pairs[i] = (struct pair){0};
	bool done = v->create_pool(d->handle, &pool, NULL, &q->pool) == 0 &&
		v->create_queries(d->handle, &queries, NULL, &q->queries) == 0 &&
		v->create_event(d->handle, &event, NULL, &q->event) == 0;
	struct vulkan_allocate_info buffers = {
		.link = {40, NULL}, .pool = q->pool, .count = 2 * PAIRS};
	done = done && v->allocate(d->handle, &buffers, q->buffers) == 0;
	buffers.count = 1;
	done = done && v->allocate(d->handle, &buffers, &q->setup) == 0;
	for (uint32_t i = 0; done && i <= 2 * PAIRS; i++)
		done = buffer_record(q, i);
	if (!done)
		queue_clear(q);
	return done;
}

/* scratch: 0 the device, 1 the family, 2 the place of the queue; 3 = it may be measured. */
void workloads_note_queue(const struct hooked_call *call, bool by_info)
{
	const struct vulkan_queue_info *info = (const void *)(uintptr_t)call->words[1];
	call->scratch[0] = call->words[0];
	call->scratch[1] = by_info ? info->family : (uint32_t)call->words[1];
	call->scratch[2] = by_info ? call->words[2] : call->words[3];
	call->scratch[3] = !by_info || (!info->flags && !info->link.next); /* 1 = protected */
}

static void queue_add(uint64_t handle, const struct device *d, uint32_t family)
{
	for (uint32_t i = 0; i < QUEUES_MAX; i++) {
		if (queues[i] && queues[i]->handle)
			continue;
		struct queue *q = queues[i] ? queues[i] : sys_mmap_beyond_data(sizeof(*q));
		if (!q)
			return;
		if (queue_fill(q, d, family))
			__atomic_store_n(&q->handle, handle, __ATOMIC_RELEASE);
		__atomic_store_n(&queues[i], q, __ATOMIC_RELEASE);
		return;
	}
}

void workloads_queue_got(const struct hooked_call *call)
{
	const struct device *d = device_of(call->scratch[0]);
	const uint64_t *place = (const uint64_t *)(uintptr_t)call->scratch[2];
	const uint64_t family = call->scratch[1];
	struct muted muted;
	if (!d || !call->scratch[3] || !place || !*place || family >= d->families ||
		family >= FAMILIES_MAX || !d->family[family].timestamp_bits ||
		!(d->family[family].flags & VULKAN_QUEUE_WORK) || !muted_enter(&muted))
		return;
	if (bounded_lock_take(&table_lock)) {
		struct queue *known = queue_of(*place);
		if (known && known->device != d) /* the end of its device was not seen */
			__atomic_store_n(&known->handle, 0, __ATOMIC_RELEASE);
		if (!queue_of(*place))
			queue_add(*place, d, (uint32_t)family);
		bounded_lock_give(&table_lock);
	}
	muted_leave(&muted);
}

/* ---- results ---- */

struct workload {
	struct pair pair;
	uint64_t start_ns, ns, error_ns; /* start_ns is of the host's clock */
	bool is_calibrated;
};

/* The time of the host, and the tick at that time. */
struct host_time {
	uint64_t ns, tick;
};

/* Extend a timestamp of the queue to 64 bits, which is of about the time of the last one. */
static uint64_t extended(struct queue *q, uint64_t value)
{
	uint32_t shift = q->bits < 64 ? 64 - q->bits : 0;
	int64_t change = (int64_t)((value - q->last) << shift) >> shift;
	uint64_t result = q->last + (uint64_t)change;
	if (change > 0)
		q->last = result;
	return result;
}

static uint64_t device_ns(const struct queue *q, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * q->device->period >> 32);
}

/* Find the difference of the clocks by the driver. Return false if it does not tell. */
static bool clocks_compare(struct queue *q, int64_t *ret_offset, uint64_t *ret_error)
{
	static const struct vulkan_clock_info infos[] = {
		{.link = {TYPE_CLOCK, NULL}, .domain = CLOCK_OF_DEVICE},
		{.link = {TYPE_CLOCK, NULL}, .domain = CLOCK_OF_LINUX}};
	const struct device *d = q->device;
	uint64_t times[2] = {0};
	if (!d->driver.clocks || d->driver.clocks(d->handle, 2, infos, times, ret_error))
		return false;
	*ret_offset = (int64_t)(times[1] - device_ns(q, extended(q, times[0])));
	return true;
}

/* Find the difference by what is known: the device began after the call did, and had ended when
 * that was seen; so had it for the submissions before, but for the drift of the clocks. */
static int64_t clocks_bound(struct queue *q, int64_t least, int64_t most, uint64_t now_ns)
{
	int64_t drift = (int64_t)((now_ns - q->bounds_ns) / DRIFT) + 1;
	if (q->has_bounds && q->least - drift > least)
		least = q->least - drift;
	if (q->has_bounds && q->most + drift < most)
		most = q->most + drift;
	q->has_bounds = least <= most;
	q->least = least;
	q->most = most;
	q->bounds_ns = now_ns;
	return least + (most - least) / 2;
}

/* Read the result of the first pair. Return false if there is none. */
static bool pair_read(struct queue *q, struct workload *ret_workload, struct host_time *ret_now)
{
	const struct device *d = q->device;
	const uint32_t i = q->first % PAIRS;
	uint64_t values[4] = {0}; /* each with its availability */
	struct pair *pair = &q->pairs[i];
	if (q->first == __atomic_load_n(&q->next, __ATOMIC_ACQUIRE) ||
		d->driver.results(d->handle, q->queries, 2 * i, 2, sizeof(values), values, 16,
			QUERY_64_AND_AVAILABILITY) < 0 ||
		!values[1] || !values[3] || values[0] == pair->start)
		return false; /* the last: the device has not begun, and not reset the queries */
	*ret_now = (struct host_time){clock_monotonic_ns(), clock_ticks()};
	pair->start = values[0];
	*ret_workload = (struct workload){.pair = *pair};
	uint64_t start = extended(q, values[0]), end = extended(q, values[2]);
	uint64_t start_ns = device_ns(q, start), end_ns = device_ns(q, end);
	int64_t offset = 0;
	ret_workload->is_calibrated = clocks_compare(q, &offset, &ret_workload->error_ns);
	if (!ret_workload->is_calibrated) {
		offset = clocks_bound(q, (int64_t)(pair->call_ns - start_ns),
			(int64_t)(ret_now->ns - end_ns), ret_now->ns);
		ret_workload->error_ns = q->has_bounds ? (uint64_t)(q->most - q->least + 1) / 2 : 0;
	}
	ret_workload->start_ns = start_ns + (uint64_t)offset;
	ret_workload->ns = end_ns > start_ns ? end_ns - start_ns : 0;
	__atomic_store_n(&q->first, q->first + 1, __ATOMIC_RELEASE);
	return true;
}

/* Read results, if nobody else does. Return their number, at most READ_MAX. */
static uint32_t queue_read(struct queue *q, struct workload *ret_read, struct host_time *ret_now)
{
	uint32_t free = LOCK_FREE, number = 0;
	struct muted muted;
	if (q->first == __atomic_load_n(&q->next, __ATOMIC_ACQUIRE) || !muted_enter(&muted))
		return 0;
	if (__atomic_compare_exchange_n(
		    &q->lock, &free, LOCK_HELD, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		if (!q->is_ready)
			q->is_ready = q->device->driver.event_status(q->device->handle, q->event) ==
				EVENT_IS_SET;
		while (q->is_ready && number < READ_MAX &&
			pair_read(q, &ret_read[number], &ret_now[number]))
			number++;
		bounded_lock_give(&q->lock);
	}
	muted_leave(&muted);
	return number;
}

static void row_put(const struct queue *q, const struct workload *w, const struct host_time *now)
{
	struct thread *t = &thread_self;
	struct plain_row r = {.names = 0};
	if (!t->lane || !thread_try_enter(t)) {
		session_count_drop(DROP_NESTED);
		return;
	}
	plain_set_text(&r, COLUMN_VULKAN_WORKLOAD_FUNCTION, w->pair.function);
	plain_set_name(&r, COLUMN_VULKAN_WORKLOAD_TEXT, w->pair.text);
	plain_set(&r, COLUMN_VULKAN_WORKLOAD_CALL_TID, w->pair.tid);
	plain_set_signed(
		&r, COLUMN_VULKAN_WORKLOAD_SINCE_CALL, (int64_t)(w->start_ns - w->pair.call_ns));
	plain_set(&r, COLUMN_VULKAN_WORKLOAD_STREAM_ID, q->number);
	plain_set(&r, COLUMN_VULKAN_WORKLOAD_QUEUE, q->handle);
	plain_set(&r, COLUMN_VULKAN_WORKLOAD_CONTEXT_ID, q->device->number);
	plain_set(&r, COLUMN_VULKAN_WORKLOAD_DEVICE, q->device->handle);
	plain_set(&r, COLUMN_VULKAN_WORKLOAD_BUFFERS, w->pair.buffers);
	plain_set(&r, COLUMN_VULKAN_WORKLOAD_IS_CALIBRATED, w->is_calibrated);
	plain_set(&r, COLUMN_VULKAN_WORKLOAD_CLOCK_ERROR, w->error_ns);
	if (plain_put_past(t, PLAIN_VULKAN_WORKLOAD, now->tick, now->ns - w->start_ns, w->ns, &r))
		count(&session.spool->vulkan.measured);
	thread_give(t);
}

static void queue_collect(struct queue *q)
{
	struct workload read[READ_MAX];
	struct host_time now[READ_MAX];
	uint32_t number;
	do {
		number = queue_read(q, read, now);
		for (uint32_t i = 0; i < number; i++)
			row_put(q, &read[i], &now[i]);
	} while (number == READ_MAX);
}

void workloads_note_wait(const struct hooked_call *call)
{
	call->scratch[0] = call->words[0];
}

static void collect_of(uint64_t handle)
{
	struct queue *q;
	for (uint32_t i = 0; i < QUEUES_MAX && (q = queue_at(i)); i++) {
		uint64_t queue = __atomic_load_n(&q->handle, __ATOMIC_ACQUIRE);
		if (queue && (queue == handle || q->device->handle == handle))
			queue_collect(q);
	}
}

void workloads_waited(const struct hooked_call *call)
{
	collect_of(call->scratch[0]);
}

void workloads_device_end(uint64_t handle)
{
	struct device *d = device_of(handle);
	struct queue *q;
	struct muted muted;
	bool is_idle = true;
	if (!d)
		return;
	collect_of(handle);
	for (uint32_t i = 0; i < QUEUES_MAX && (q = queue_at(i)); i++)
		is_idle &= !q->handle || q->device != d || q->first == q->next;
	if (!is_idle && muted_enter(&muted)) {
		d->driver.wait_idle(handle);
		muted_leave(&muted);
		collect_of(handle);
	}
	/* It is owed to the program, also where nothing can be recorded. */
	const bool entered = muted_enter(&muted);
	for (uint32_t i = 0; i < QUEUES_MAX && (q = queue_at(i)); i++)
		if (q->handle && q->device == d)
			queue_clear(q);
	device_forget(handle);
	if (entered)
		muted_leave(&muted);
}

/* ---- submissions ---- */

/* Words of scratch. */
enum { SUBMIT_QUEUE, SUBMIT_IS_OURS };

static struct vulkan_submit *old_batch(const void *batches, uint32_t i)
{
	return (struct vulkan_submit *)(uintptr_t)batches + i;
}

static struct vulkan_submit2 *new_batch(const void *batches, uint32_t i)
{
	return (struct vulkan_submit2 *)(uintptr_t)batches + i;
}

static uint32_t buffers_of(const void *batches, uint32_t i, bool is_new)
{
	return is_new ? new_batch(batches, i)->buffer_count : old_batch(batches, i)->buffer_count;
}

/* Return true if command buffers may be added to a batch. */
static bool may_extend(const void *batches, uint32_t i, bool is_new)
{
	const struct vulkan_link *link =
		is_new ? &new_batch(batches, i)->link : &old_batch(batches, i)->link;
	if (buffers_of(batches, i, is_new) > BUFFERS_MAX ||
		(is_new && new_batch(batches, i)->flags)) /* 1 = protected */
		return false;
	for (link = link->next; link; link = link->next)
		if (link->type != TYPE_TIMELINE)
			return false;
	return true;
}

/* Put command buffers of ours in front of a batch, and one behind it; 0 = none. */
static void batch_extend(struct queue *q, uint32_t i, bool is_new, uint32_t list,
	const uint64_t front[2], uint64_t back)
{
	const uint64_t none[2] = {0};
	const uint64_t *ours = front ? front : none;
	uint32_t own = buffers_of(q->batches, i, is_new), at = 0;
	if (is_new) {
		struct vulkan_submit2 *batch = new_batch(q->batches, i);
		struct vulkan_buffer *to = q->lists[list];
		for (uint32_t n = 0; n < 2; n++)
			if (ours[n])
				to[at++] = (struct vulkan_buffer){
					.link = {VULKAN_BUFFER_TYPE, NULL}, .buffer = ours[n]};
		bytes_copy(&to[at], batch->buffers, own * sizeof(*to));
		at += own;
		if (back)
			to[at++] = (struct vulkan_buffer){
				.link = {VULKAN_BUFFER_TYPE, NULL}, .buffer = back};
		batch->buffers = to;
		batch->buffer_count = at;
		return;
	}
	struct vulkan_submit *batch = old_batch(q->batches, i);
	uint64_t *to = (uint64_t *)(void *)q->lists[list];
	for (uint32_t n = 0; n < 2; n++)
		if (ours[n])
			to[at++] = ours[n];
	bytes_copy(&to[at], batch->buffers, own * sizeof(*to));
	at += own;
	if (back)
		to[at++] = back;
	batch->buffers = to;
	batch->buffer_count = at;
}

void workloads_submit(struct hooked_call *call, const char *function, bool is_new)
{
	const void *batches = (const void *)(uintptr_t)call->words[2];
	const uint32_t batch_count = (uint32_t)call->words[1];
	uint32_t first = batch_count, last = 0, buffers = 0;
	struct queue *q = queue_of(call->words[0]);
	call->scratch[SUBMIT_QUEUE] = (uint64_t)(uintptr_t)q;
	for (uint32_t i = 0; batches && i < batch_count; i++)
		if (buffers_of(batches, i, is_new)) {
			first = first < i ? first : i;
			last = i;
			buffers += buffers_of(batches, i, is_new);
		}
	if (!call->is_recorded || !session.spool || first == batch_count)
		return;
	count(&session.spool->vulkan.submitted);
	if (!q || session.restricted || batch_count > BATCHES_MAX ||
		!may_extend(batches, first, is_new) || !may_extend(batches, last, is_new) ||
		q->next - __atomic_load_n(&q->first, __ATOMIC_ACQUIRE) >= PAIRS ||
		__atomic_exchange_n(&q->is_submitting, true, __ATOMIC_ACQUIRE)) {
		count(&session.spool->vulkan.unmeasured);
		return;
	}
	const uint32_t i = q->next % PAIRS;
	const uint64_t front[] = {q->is_set_up ? 0 : q->setup, q->buffers[2 * i]};
	const uint64_t back = q->buffers[2 * i + 1];
	bytes_copy(q->batches, batches,
		batch_count *
			(is_new ? sizeof(struct vulkan_submit2) : sizeof(struct vulkan_submit)));
	batch_extend(q, first, is_new, 0, front, first == last ? back : 0);
	if (first != last)
		batch_extend(q, last, is_new, 1, NULL, back);
	struct pair *pair = &q->pairs[i];
	pair->text = label_open(VULKAN_RANGE, call->words[0]);
	pair->function = function;
	pair->tid = thread_self.tid;
	pair->buffers = buffers;
	pair->call_ns = clock_monotonic_ns();
	call->words[2] = (uint64_t)(uintptr_t)q->batches;
	call->scratch[SUBMIT_IS_OURS] = true;
}

void workloads_submitted(const struct hooked_call *call)
{
	struct queue *q = (struct queue *)(uintptr_t)call->scratch[SUBMIT_QUEUE];
	if (!q)
		return;
	if (call->scratch[SUBMIT_IS_OURS]) {
		if ((uint32_t)call->words[0]) {
			count(&session.spool->vulkan.unmeasured);
		} else {
			q->is_set_up = true;
			__atomic_store_n(&q->next, q->next + 1, __ATOMIC_RELEASE);
		}
		__atomic_store_n(&q->is_submitting, false, __ATOMIC_RELEASE);
	}
	queue_collect(q);
}
