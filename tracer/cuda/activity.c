/* SPDX-License-Identifier: Apache-2.0 */
/*
 * activity.c - buffers of activity records: lent to CUPTI, and turned into rows when CUPTI returns
 * them.
 *
 * CUPTI returns them on threads of its own or within a flush. One buffer at a time is decoded,
 * under a lock, into a lane that belongs to no thread. A buffer is free again when its callback
 * returns, so the pool holds only the buffers that CUPTI is filling.
 */
#include "tracer/cuda/cuda.h"

#include <sys/mman.h>

#include "common/clock.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/core/bounded_lock.h"
#include "tracer/cuda/clock.h"
#include "tracer/cuda/functions.h"
#include "tracer/cuda/row.h"
#include "tracer/core/lane.h"
#include "tracer/core/lease.h"
#include "tracer/core/names.h"
#include "tracer/core/state.h"

#define BUFFER_BYTES (1u << 20)
#define BUFFERS_AT_START 4u
#define DECODE_WAIT_NS 1000000000u /* decoding takes some milliseconds, on a busy machine more */
#define BUFFERS_MAX 256u
#define NULL_IS_TAKEN CUPTI_12_9 /* older versions crash when they get no buffer */

struct buffer {
	uint8_t *memory; /* NULL = none yet */
	uint32_t taken;
};

static struct buffer buffers[BUFFERS_MAX];
static uint32_t device_lock;        /* bounded: siglongjmp() may have left its holder */
static struct thread device_thread; /* owner of the device's lane, guarded by the lock */

/* ---- buffers ---- */

static bool lane_begin(void)
{
	device_thread = (struct thread){.busy = 1, .lane = lease_for_device()};
	return device_thread.lane != NULL;
}

bool cuda_activity_start(void)
{
	for (uint32_t i = 0; i < BUFFERS_AT_START; i++) {
		buffers[i].memory = sys_mmap_private(BUFFER_BYTES);
		if (!buffers[i].memory)
			return false;
		/* Map the pages now, not within the program's first launch. */
		sys_madvise(buffers[i].memory, BUFFER_BYTES, MADV_POPULATE_WRITE);
	}
	return lane_begin();
}

bool cuda_activity_forked(bool again)
{
	device_lock = LOCK_FREE;
	device_thread.lane = NULL;
	return again && lane_begin();
}

static bool buffer_take(struct buffer *b)
{
	uint32_t taken = 0;
	if (__atomic_load_n(&b->taken, __ATOMIC_RELAXED) ||
		!__atomic_compare_exchange_n(
			&b->taken, &taken, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	if (!b->memory)
		b->memory = sys_mmap_private(BUFFER_BYTES);
	if (!b->memory)
		__atomic_store_n(&b->taken, 0, __ATOMIC_RELEASE);
	return b->memory != NULL;
}

static uint64_t buffers_limit(void)
{
	uint64_t limit = session.config.cuda_buffers_bytes / BUFFER_BYTES;
	return limit < 1 ? 1 : limit < BUFFERS_MAX ? limit : BUFFERS_MAX;
}

void cuda_activity_requested(uint8_t **buffer, size_t *size, size_t *records_max)
{
	/* Records beyond the limit are written here, discarded and counted. */
	static _Alignas(8) uint8_t last_resort[8192];
	*records_max = 0;
	*size = BUFFER_BYTES;
	for (uint32_t i = 0, limit = (uint32_t)buffers_limit(); i < limit; i++)
		if (buffer_take(&buffers[i])) {
			*buffer = buffers[i].memory;
			return;
		}
	if (cuda.page) /* not in a forked child, where its parent's buffers are in use */
		__atomic_add_fetch(&cuda.page->buffers_refused, 1, __ATOMIC_RELAXED);
	*buffer = NULL;
	*size = 0;
	if (cupti.version >= NULL_IS_TAKEN)
		return;
	*buffer = sys_mmap_private(BUFFER_BYTES);
	*size = *buffer ? BUFFER_BYTES : sizeof(last_resort);
	*buffer = *buffer ? *buffer : last_resort;
}

static void buffer_give(uint8_t *memory, size_t size)
{
	for (uint32_t i = 0; i < BUFFERS_MAX; i++)
		if (buffers[i].memory == memory) {
			__atomic_store_n(&buffers[i].taken, 0, __ATOMIC_RELEASE);
			return;
		}
	if (size == BUFFER_BYTES)
		sys_munmap(memory, size);
}

static bool is_of_pool(const uint8_t *memory)
{
	for (uint32_t i = 0; i < BUFFERS_MAX; i++)
		if (memory && buffers[i].memory == memory)
			return true;
	return false;
}

/* ---- records ---- */

static void texts_name(struct cupti_row *row)
{
	for (uint32_t i = 1; i <= CUDA_COLUMNS_MAX; i++) {
		const void *text = (const void *)(uintptr_t)row->value[i];
		if (!(row->texts >> i & 1) || !text)
			continue;
		bool is_uuid = row->event == NUMBER_CUDA_DEVICE && i != COLUMN_CUDA_DEVICE_NAME;
		row->value[i] = is_uuid ? cuda_row_hex(text, 16) : names_ref_of(text);
	}
}

/* Record an operation without its times, which cannot be true (CUDA_UNTIMED). */
static bool untimed_put(const struct cupti_row *row, uint64_t now_ns)
{
	uint64_t values[CUDA_COLUMNS_MAX + 1] = {0};
	values[COLUMN_CUDA_UNTIMED_EVENT] = row->event;
	values[COLUMN_CUDA_UNTIMED_CORRELATION_ID] = row->correlation;
	values[COLUMN_CUDA_UNTIMED_RAW_START] = row->start;
	values[COLUMN_CUDA_UNTIMED_RAW_END] = row->end;
#define ALIKE(event, column) \
	values[COLUMN_CUDA_UNTIMED_##column] = row->value[COLUMN_##event##_##column]
	if (row->event == NUMBER_CUDA_KERNEL) {
		ALIKE(CUDA_KERNEL, DEVICE_ID);
		ALIKE(CUDA_KERNEL, CONTEXT_ID);
		ALIKE(CUDA_KERNEL, STREAM_ID);
		ALIKE(CUDA_KERNEL, NAME);
	} else if (row->event == NUMBER_CUDA_MEMCPY) {
		ALIKE(CUDA_MEMCPY, DEVICE_ID);
		ALIKE(CUDA_MEMCPY, CONTEXT_ID);
		ALIKE(CUDA_MEMCPY, STREAM_ID);
		ALIKE(CUDA_MEMCPY, BYTES);
	} else if (row->event == NUMBER_CUDA_MEMSET) {
		ALIKE(CUDA_MEMSET, DEVICE_ID);
		ALIKE(CUDA_MEMSET, CONTEXT_ID);
		ALIKE(CUDA_MEMSET, STREAM_ID);
		ALIKE(CUDA_MEMSET, BYTES);
	}
#undef ALIKE
	cuda.page->impossible++;
	return cuda_row_put(&device_thread, NUMBER_CUDA_UNTIMED, now_ns, 0, values);
}

/* Shift the other times of a kernel: they were read from the same clock as its start. */
static void stamps_shift(struct cupti_row *row, uint64_t by_ns)
{
	static const uint8_t columns[] = {COLUMN_CUDA_KERNEL_QUEUED_NS,
		COLUMN_CUDA_KERNEL_SUBMITTED_NS, COLUMN_CUDA_KERNEL_COMPLETED_NS};
	for (size_t i = 0; row->event == NUMBER_CUDA_KERNEL && i < sizeof(columns); i++)
		if (row->value[columns[i]])
			row->value[columns[i]] += by_ns;
}

static bool row_put(struct cupti_row *row, uint64_t now_ns)
{
	enum cuda_stamp stamp = CUDA_STAMP_GOOD;
	uint64_t start = row->start, end = row->end;
	if (row->timing == CUPTI_HAS_NO_TIME)
		start = end = now_ns;
	else
		stamp = cuda_clock_span(&start, &end, now_ns);
	texts_name(row);
	if (stamp == CUDA_STAMP_IMPOSSIBLE)
		return untimed_put(row, now_ns);
	if (stamp == CUDA_STAMP_CONVERTED) {
		cuda.page->converted++;
		stamps_shift(row, start - row->start);
	}
	return cuda_row_put(&device_thread, row->event, start, end - start, row->value);
}

static void record_put(const struct cupti_activity *record, size_t distance, uint64_t now_ns)
{
	static struct cupti_row row; /* under the lock */
	size_t bytes = cupti_record_bytes(record->kind, cupti.version, distance);
	cuda.page->records++;
	if (!cupti_decode(record, bytes, &row))
		cuda.page->ignored++;
	else if (row.correlation && !cuda_call_is_recorded(row.correlation))
		cuda.page->unwanted++;
	else
		cuda.page->rows += row_put(&row, now_ns);
}

/* Record the activity records of a buffer. Each extends to the next one, or to the end of the
 * buffer. */
static void records_put(uint8_t *buffer, size_t valid, uint64_t now_ns)
{
	struct cupti_activity *record = NULL;
	const uint8_t *end = buffer + valid, *previous = NULL;
	uint32_t result;
	while ((result = cupti.ActivityGetNextRecord(buffer, valid, &record)) == CUPTI_OK) {
		const uint8_t *at = (const uint8_t *)record;
		if (at < buffer || at >= end || (previous && at <= previous))
			break;
		if (previous)
			record_put((const void *)previous, (size_t)(at - previous), now_ns);
		previous = at;
	}
	if (previous)
		record_put((const void *)previous, (size_t)(end - previous), now_ns);
	if (result == CUPTI_NO_MORE)
		return;
	cuda.page->unread++; /* the number of records is not known: count at least one */
	session_count_drop(DROP_CUPTI);
}

bool cuda_device_row_put(
	uint32_t event, uint64_t start_ns, uint64_t duration_ns, const uint64_t *values)
{
	if (!device_thread.lane || !bounded_lock_take_within(&device_lock, DECODE_WAIT_NS)) {
		session_count_drop(DROP_CUPTI);
		return false;
	}
	bool put = cuda_row_put(&device_thread, event, start_ns, duration_ns, values);
	bounded_lock_give(&device_lock);
	return put;
}

static void records_count(uint8_t *buffer, size_t valid, enum drop_reason reason)
{
	struct cupti_activity *record = NULL;
	while (cupti.ActivityGetNextRecord(buffer, valid, &record) == CUPTI_OK)
		session_count_drop(reason);
}

static void dropped_count(void *context, uint32_t stream)
{
	size_t dropped = 0;
	if (cupti.ActivityGetNumDroppedRecords(context, stream, &dropped) != CUPTI_OK || !dropped)
		return;
	__atomic_add_fetch(&cuda.page->dropped, dropped, __ATOMIC_RELAXED);
	__atomic_add_fetch(&session.spool->dropped[DROP_CUPTI], dropped, __ATOMIC_RELAXED);
}

void cuda_activity_completed(
	void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	struct thread *t = &thread_self;
	uint64_t begin = clock_ticks();
	if (!device_thread.lane)
		return; /* this is a forked child, where CUPTI does not call back */
	thread_mend_guard(t);
	bool nested = t->busy;
	if (!nested)
		thread_enter(t);
	if (!nested && is_of_pool(buffer) &&
		bounded_lock_take_within(&device_lock, DECODE_WAIT_NS)) {
		cuda.page->buffers++;
		records_put(buffer, valid, clock_monotonic_ns());
		bounded_lock_give(&device_lock);
	} else {
		records_count(buffer, valid, nested ? DROP_NESTED : DROP_CUPTI);
	}
	if (!nested)
		thread_leave(t);
	dropped_count(context, stream);
	buffer_give(buffer, size);
	__atomic_add_fetch(&session.spool->tracer_ticks, clock_ticks() - begin, __ATOMIC_RELAXED);
}
