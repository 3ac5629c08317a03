/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_buffers.c - activity buffers: requested from the client, filled, returned; a buffer for
 * each thread and one for the device, or one for all.
 */
#include "tests/sim/cupti_sim.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct buffer {
	uint8_t *data;
	size_t bytes, used, records, max_records;
};

struct lane {
	pthread_mutex_t mutex;
	struct buffer buffer;
	struct lane *next;
};

struct done {
	struct buffer buffer;
	struct done *next;
};

static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static struct lane device_lane = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static struct lane *thread_lanes;
static _Thread_local struct lane *own_lane;
static pthread_mutex_t lanes_mutex = PTHREAD_MUTEX_INITIALIZER;
static size_t dropped;
static uint32_t flush_period_ms;

/* Run the worker, which completes buffers and flushes periodically. */
static pthread_mutex_t worker_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t worker_wake = PTHREAD_COND_INITIALIZER,
		      worker_idle = PTHREAD_COND_INITIALIZER;
static struct done *done_first, **done_last = &done_first;
static bool worker_started, worker_busy;

static _Thread_local bool in_buffer_callback;

/* ---- returning buffers ---- */

static void hand_back(struct buffer *buffer)
{
	uint64_t delay_us = cupti_driver()->option(SIM_OPTION_buffer_delay_us);

	if (delay_us)
		usleep((useconds_t)delay_us);
	cupti_in_callback++;
	in_buffer_callback = true;
	complete(NULL, 0, buffer->data, buffer->bytes, buffer->used);
	in_buffer_callback = false;
	cupti_in_callback--;
}

static void wait_for_work(void)
{
	struct timespec until;

	if (!flush_period_ms) {
		pthread_cond_wait(&worker_wake, &worker_mutex);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)(flush_period_ms % 1000) * 1000000;
	until.tv_sec += flush_period_ms / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	if (pthread_cond_timedwait(&worker_wake, &worker_mutex, &until)) {
		worker_busy = true; /* a flush waits for what is taken here */
		pthread_mutex_unlock(&worker_mutex);
		cupti_collect(false);
		cupti_flush_buffers();
		pthread_mutex_lock(&worker_mutex);
	}
}

static void *work(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&worker_mutex);
	for (;;) {
		struct done *done = done_first;

		if (!done) {
			worker_busy = false;
			pthread_cond_broadcast(&worker_idle);
			wait_for_work();
			continue;
		}
		worker_busy = true;
		done_first = done->next;
		if (!done_first)
			done_last = &done_first;
		pthread_mutex_unlock(&worker_mutex);
		hand_back(&done->buffer);
		free(done);
		pthread_mutex_lock(&worker_mutex);
	}
	return NULL;
}

/* Called with worker_mutex held. */
static void start_worker(void)
{
	sigset_t all, before;
	pthread_t thread;

	if (worker_started)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	worker_started = !pthread_create(&thread, NULL, work, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (worker_started)
		pthread_detach(thread);
}

static void finish_buffer(struct buffer *buffer)
{
	struct done *done;

	if (!cupti_driver()->option(SIM_OPTION_worker)) {
		hand_back(buffer);
		return;
	}
	done = calloc(1, sizeof *done);
	if (!done)
		return;
	done->buffer = *buffer;
	pthread_mutex_lock(&worker_mutex);
	start_worker();
	*done_last = done;
	done_last = &done->next;
	worker_busy = true;
	pthread_cond_signal(&worker_wake);
	pthread_mutex_unlock(&worker_mutex);
}

static void wait_for_worker(void)
{
	pthread_mutex_lock(&worker_mutex);
	while (worker_started && (done_first || worker_busy))
		pthread_cond_wait(&worker_idle, &worker_mutex);
	pthread_mutex_unlock(&worker_mutex);
}

/* ---- filling ---- */

static struct lane *lane_of_thread(void)
{
	struct lane *lane = own_lane;

	if (lane)
		return lane;
	lane = calloc(1, sizeof *lane);
	if (!lane)
		return &device_lane;
	pthread_mutex_init(&lane->mutex, NULL);
	pthread_mutex_lock(&lanes_mutex);
	lane->next = thread_lanes;
	thread_lanes = lane;
	pthread_mutex_unlock(&lanes_mutex);
	return own_lane = lane;
}

/* Request a buffer from the client. Return false if the client gives none; before 12.9 that crashed
 * CUPTI. */
static bool ask_for_buffer(struct buffer *buffer)
{
	memset(buffer, 0, sizeof *buffer);
	if (!request)
		return false;
	cupti_in_callback++;
	in_buffer_callback = true;
	request(&buffer->data, &buffer->bytes, &buffer->max_records);
	in_buffer_callback = false;
	cupti_in_callback--;
	if (buffer->data)
		return true;
	if (cupti_version() < 27) {
		fputs("simulated CUPTI: no activity buffer, which crashes CUPTI before 12.9\n",
			stderr);
		abort();
	}
	return false;
}

uint8_t *cupti_ask_for_buffer(size_t *ret_bytes)
{
	struct buffer buffer;

	if (!ask_for_buffer(&buffer))
		return NULL;
	*ret_bytes = buffer.bytes;
	return buffer.data;
}

void cupti_hand_back(uint8_t *data, size_t bytes, size_t valid_bytes)
{
	struct buffer buffer = {.data = data, .bytes = bytes, .used = valid_bytes};

	finish_buffer(&buffer);
}

static bool has_room(const struct buffer *buffer, size_t bytes)
{
	return buffer->used + bytes <= buffer->bytes &&
		(!buffer->max_records || buffer->records < buffer->max_records);
}

void cupti_put(const void *record, size_t record_bytes, bool of_device)
{
	size_t bytes = cupti_record_bytes(((const CUpti_Activity *)record)->kind);
	bool shared = of_device || cupti_driver()->option(SIM_OPTION_shared_buffer) ||
		cupti_version() < 130000;
	struct lane *lane = shared ? &device_lane : lane_of_thread();
	struct buffer full = {.data = NULL};

	pthread_mutex_lock(&lane->mutex);
	if (lane->buffer.data && !has_room(&lane->buffer, bytes)) {
		full = lane->buffer;
		lane->buffer.data = NULL;
	}
	if ((lane->buffer.data || ask_for_buffer(&lane->buffer)) &&
		has_room(&lane->buffer, bytes)) {
		memset(lane->buffer.data + lane->buffer.used, 0, bytes);
		memcpy(lane->buffer.data + lane->buffer.used, record,
			bytes < record_bytes ? bytes : record_bytes);
		lane->buffer.used += bytes;
		lane->buffer.records++;
	} else {
		__atomic_fetch_add(&dropped, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&lane->mutex);
	if (full.data)
		finish_buffer(&full);
}

static void flush_lane(struct lane *lane)
{
	struct buffer buffer;

	pthread_mutex_lock(&lane->mutex);
	buffer = lane->buffer;
	lane->buffer.data = NULL;
	pthread_mutex_unlock(&lane->mutex);
	if (buffer.data)
		finish_buffer(&buffer);
}

void cupti_flush_buffers(void)
{
	struct lane *lane;

	flush_lane(&device_lane);
	pthread_mutex_lock(&lanes_mutex);
	lane = thread_lanes;
	pthread_mutex_unlock(&lanes_mutex);
	for (; lane; lane = lane->next)
		flush_lane(lane);
}

/* ---- the API ---- */

CUPTI_EXPORT cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc new_request,
	CUpti_BuffersCallbackCompleteFunc new_complete)
{
	CUPTI_MAY_FAIL();
	if (!new_request || !new_complete)
		return CUPTI_ERROR_INVALID_PARAMETER;
	request = new_request;
	complete = new_complete;
	return CUPTI_SUCCESS;
}

/* Real CUPTI may hang on a forbidden flush; the simulation logs and refuses it. */
static CUptiResult may_flush(void)
{
	const struct sim_driver *driver = cupti_driver();

	if (!driver)
		return CUPTI_ERROR_UNKNOWN;
	if (in_buffer_callback)
		driver->violation("flush from a buffer callback");
	else if (cupti_in_closed_callback)
		driver->violation("flush from a callback other than of the driver or runtime API");
	else
		return complete ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
	return CUPTI_ERROR_INVALID_OPERATION;
}

CUPTI_EXPORT cuptiActivityFlushAll(uint32_t flags)
{
	CUptiResult result;

	CUPTI_MAY_FAIL();
	result = may_flush();
	if (result)
		return result;
	cupti_collect((flags & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
	cupti_flush_buffers();
	if (flags & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)
		cupti_replay();
	wait_for_worker();
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiActivityFlush(CUcontext context, uint32_t stream, uint32_t flags)
{
	(void)context, (void)stream;
	return cuptiActivityFlushAll(flags);
}

CUPTI_EXPORT cuptiActivityFlushPeriod(uint32_t ms)
{
	CUPTI_MAY_FAIL();
	if (!cupti_driver())
		return CUPTI_ERROR_UNKNOWN;
	pthread_mutex_lock(&worker_mutex);
	flush_period_ms = ms;
	start_worker();
	pthread_cond_signal(&worker_wake);
	pthread_mutex_unlock(&worker_mutex);
	return CUPTI_SUCCESS;
}

/* Fault `drop_every`. */
void cupti_count_drop(void)
{
	__atomic_fetch_add(&dropped, 1, __ATOMIC_RELAXED);
}

CUPTI_EXPORT cuptiActivityGetNumDroppedRecords(
	CUcontext context, uint32_t stream, size_t *ret_dropped)
{
	(void)context, (void)stream;
	CUPTI_MAY_FAIL();
	if (!ret_dropped)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*ret_dropped = __atomic_exchange_n(&dropped, 0, __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

CUPTI_EXPORT cuptiActivityGetNextRecord(
	uint8_t *buffer, size_t valid_bytes, CUpti_Activity **record)
{
	uint8_t *next = buffer;
	size_t bytes;

	CUPTI_MAY_FAIL();
	if (!buffer || !record)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (*record)
		next = (uint8_t *)*record + cupti_record_bytes((*record)->kind);
	if (next >= buffer + valid_bytes)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	bytes = cupti_record_bytes(((CUpti_Activity *)next)->kind);
	if (!bytes || next + bytes > buffer + valid_bytes)
		return CUPTI_ERROR_INVALID_KIND;
	*record = (CUpti_Activity *)next;
	return CUPTI_SUCCESS;
}
