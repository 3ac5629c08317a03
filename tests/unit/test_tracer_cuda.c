/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tracer_cuda.c - tests of the CUDA source with many threads in it at once.
 *
 * They make calls, load modules, create, free and flush buffers. Nothing is lost or counted twice;
 * under ThreadSanitizer, nothing races.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/sys.h"
#include "common/text.h"
#include "tap.h"
#include "tests/unit/tracer_session.h"
#include "tracer/cuda/cuda.h"
#include "tracer/cuda/functions.h"
#include "tracer/core/lane.h"
#include "tracer/session/session.h"
#include "tracer/core/spool_file.h"

#define THREADS 4u
#define CALLS                                                                                 \
	1500u /* for each thread: a launch with a driver call inside, and a call that is only \
		 counted */
#define DELIVERERS 2u /* threads of CUPTI */
#define BUFFERS 40u   /* for each thread of CUPTI */
#define RECORDS 64u   /* in each buffer */
#define MODULES 200u  /* loads of each thread, of CONTENTS cubins */
#define CONTENTS 8u
#define CUBIN_BYTES 20000u

enum { LAUNCH = 1, LAST_ERROR, DRIVER_LAUNCH };

static uint8_t cubins[CONTENTS][CUBIN_BYTES];
static uint32_t next_correlation, flushes;

/* ---- a CUPTI that does nothing by itself ---- */

static uint32_t name_of(uint32_t domain, uint32_t cbid, const char **ret_name)
{
	static const char *const names[] = {
		"", "cudaLaunchKernel_v7000", "cudaGetLastError_v3020", "cuLaunchKernel"};
	(void)domain;
	*ret_name = names[cbid];
	return CUPTI_OK;
}

static uint32_t next_record(uint8_t *buffer, size_t valid, struct cupti_activity **record)
{
	uint8_t *at = *record ? (uint8_t *)*record + sizeof(struct cupti_kernel) : buffer;
	if (at + sizeof(struct cupti_kernel) > buffer + valid)
		return CUPTI_NO_MORE;
	*record = (struct cupti_activity *)(void *)at;
	return CUPTI_OK;
}

static uint32_t dropped(void *context, uint32_t stream, size_t *ret_dropped)
{
	(void)context, (void)stream;
	*ret_dropped = 1;
	return CUPTI_OK;
}

static uint32_t flush(uint32_t how)
{
	(void)how;
	__atomic_add_fetch(&flushes, 1, __ATOMIC_RELAXED);
	return CUPTI_OK;
}

static uint32_t context_id(void *context, uint32_t *ret_id)
{
	*ret_id = *(const uint32_t *)context;
	return CUPTI_OK;
}

static uint32_t disable(uint32_t kind)
{
	(void)kind;
	return CUPTI_OK;
}

static bool start(void)
{
	void *place;
	if (!tracer_session_start())
		return false;
	cupti.version = CUPTI_13_0;
	cupti.GetCallbackName = name_of;
	cupti.ActivityGetNextRecord = next_record;
	cupti.ActivityGetNumDroppedRecords = dropped;
	cupti.ActivityFlushAll = flush;
	cupti.ActivityDisable = disable;
	cupti.GetContextId = context_id;
	if (!spool_file_take(CUDA_PAGE_BYTES, CUDA_PAGE_BYTES, &place))
		return false;
	cuda.page = place;
	__atomic_store_n(&cuda.state, CUDA_ON, __ATOMIC_RELEASE);
	return cuda_functions_start() && cuda_activity_start();
}

/* ---- threads ---- */

static void call(uint32_t domain, uint32_t cbid, uint32_t correlation, bool nested)
{
	uint64_t data = 0;
	uint32_t result = 0;
	struct cupti_callback c = {.site = CUPTI_ENTER,
		.result = &result,
		.context_id = 1,
		.correlation_data = &data,
		.correlation = correlation};
	cuda_api_callback(NULL, domain, cbid, &c);
	if (nested)
		call(CUPTI_DRIVER_API, DRIVER_LAUNCH, correlation, false);
	c.site = CUPTI_EXIT;
	cuda_api_callback(NULL, domain, cbid, &c);
}

static void *caller(void *unused)
{
	(void)unused;
	for (uint32_t i = 0; i < CALLS; i++) {
		call(CUPTI_RUNTIME_API, LAUNCH,
			__atomic_add_fetch(&next_correlation, 1, __ATOMIC_RELAXED), true);
		call(CUPTI_RUNTIME_API, LAST_ERROR,
			__atomic_add_fetch(&next_correlation, 1, __ATOMIC_RELAXED), false);
	}
	return NULL;
}

static void *loader(void *unused)
{
	uint32_t context = 3;
	(void)unused;
	for (uint32_t i = 0; i < MODULES; i++) {
		struct cupti_module_data module = {
			i, CUBIN_BYTES, (const char *)cubins[i % CONTENTS]};
		struct cupti_resource_data data = {.context = &context, .descriptor = &module};
		cuda_api_callback(
			NULL, CUPTI_RESOURCE, CUPTI_RESOURCE_MODULE_LOADED, (const void *)&data);
	}
	return NULL;
}

static void *deliver(void *unused)
{
	uint8_t *buffer;
	size_t bytes, most;
	cuda_activity_requested(&buffer, &bytes, &most);
	struct cupti_kernel *records = (void *)buffer;
	for (uint32_t n = 0; n < RECORDS; n++) {
		uint64_t now_ns = clock_monotonic_ns();
		records[n] = (struct cupti_kernel){.kind = CUPTI_CONCURRENT_KERNEL,
			.start = n % 8 ? now_ns : 0,
			.end = now_ns + 5,
			.name = n & 1 ? "_Z3addPfS_" : "_Z3mulPfS_"};
	}
	cuda_activity_completed(NULL, 0, buffer, bytes, RECORDS * sizeof(struct cupti_kernel));
	return unused;
}

static void *deliverer(void *unused)
{
	for (uint32_t i = 0; i < BUFFERS; i++)
		deliver(NULL);
	return unused;
}

static void *flusher(void *unused)
{
	(void)unused;
	for (uint32_t i = 0; i < 200; i++)
		cuda_flush_all(false);
	return NULL;
}

/* ---- the content of the spool afterwards ---- */

static uint64_t counts[RECORD_KIND_MASK + 1], cubin_bytes;

static void lane_count(const struct lane *lane)
{
	for (uint64_t at = 0; at < lane->head;) {
		const char *chunk = spool_file_at(lane_chunk_offset(lane, at / CHUNK_BYTES));
		const struct record *r =
			(const struct record *)(const void *)(chunk + at % CHUNK_BYTES);
		unsigned kind = r->word & RECORD_KIND_MASK;
		uint64_t extra = kind >= REC_PAD ? r->word >> RECORD_LENGTH_SHIFT : 0;
		at += RECORD_BYTES + (extra + RECORD_BYTES - 1) / RECORD_BYTES * RECORD_BYTES;
		if (kind == REC_PAD)
			at = (at + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;
		counts[kind]++;
		if (kind == REC_CUDA_CUBIN)
			cubin_bytes += extra - sizeof(struct cuda_cubin);
	}
}

static void spool_count(void)
{
	for (uint32_t i = 0; i < session.spool->lane_count; i++)
		if (session.spool->lane_offset[i])
			lane_count(spool_file_at(session.spool->lane_offset[i]));
}

static void all_at_once(void)
{
	static void *(*const work[])(void *) = {caller, loader, deliverer, flusher};
	static const uint32_t many[] = {THREADS, THREADS, DELIVERERS, 1};
	pthread_t threads[THREADS * 2 + DELIVERERS + 1];
	uint32_t count = 0, records = DELIVERERS * BUFFERS * RECORDS;
	for (uint32_t kind = 0; kind < 4; kind++)
		for (uint32_t i = 0; i < many[kind]; i++)
			if (pthread_create(&threads[count++], NULL, work[kind], NULL))
				abort();
	while (count)
		pthread_join(threads[--count], NULL);
	cuda_flush_all(true);
	cuda_flush_all(true);
	spool_count();
	const struct cuda_page *p = cuda.page;
	check(counts[REC_CUDA_API] == 2u * THREADS * CALLS && p->api_calls == counts[REC_CUDA_API],
		"every call is a record: %lu", (unsigned long)counts[REC_CUDA_API]);
	check(p->counted_count == 1 && p->counted[0].count == THREADS * CALLS,
		"every trivial call is counted: %lu", (unsigned long)p->counted[0].count);
	check(p->records == records && p->rows == records && p->impossible == records / 8,
		"every record of the device is a row: %lu of %u", (unsigned long)p->rows, records);
	check(counts[REC_CUDA_ROW] == records + THREADS * MODULES, "lanes hold all rows: %lu",
		(unsigned long)counts[REC_CUDA_ROW]);
	check(cubin_bytes == (uint64_t)CONTENTS * CUBIN_BYTES,
		"each cubin is stored once: %lu bytes", (unsigned long)cubin_bytes);
	check(p->buffers == DELIVERERS * BUFFERS && p->dropped == p->buffers && !p->buffers_refused,
		"lost buffers and CUPTI's own drops are counted: %lu", (unsigned long)p->dropped);
	check(flushes == 200 + 1 && cuda.state == CUDA_ENDED, "the last flush happens once: %u",
		flushes);
}

static sigjmp_buf out;

static uint32_t next_record_left(uint8_t *buffer, size_t valid, struct cupti_activity **record)
{
	(void)buffer, (void)valid, (void)record;
	cupti.ActivityGetNextRecord = next_record;
	siglongjmp(out, 1);
}

/* Leave a flush by siglongjmp() from a handler while a buffer is being read. */
static void left_buffer_holds_nobody_up(void)
{
	pthread_t thread;
	uint64_t before = session.spool->dropped[DROP_CUPTI];
	cupti.ActivityGetNextRecord = next_record_left;
	if (!sigsetjmp(out, 1))
		deliver(NULL);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&thread, NULL, deliver, NULL) == 0)
			pthread_join(thread, NULL);
	uint64_t more = session.spool->dropped[DROP_CUPTI] - before;
	check(more == 3 * (RECORDS + 1),
		"records after a buffer that was left half read are counted: %lu",
		(unsigned long)more);
}

int main(void)
{
	for (uint32_t i = 0; i < CONTENTS; i++)
		memset(cubins[i], (int)i + 1, CUBIN_BYTES);
	if (check(start(), "the source starts")) {
		all_at_once();
		left_buffer_holds_nobody_up();
	}
	tracer_session_end();
	return tap_done();
}
