/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
/*
 * nvtx_threads.c - sixteen threads push, pop and mark as fast as possible.
 *
 *     nvtx_threads [ROUNDS]
 *
 * Each thread creates events with the payloads 0 .. 2 * ROUNDS - 1, in this order: even payloads
 * are ranges, and the odd payload after it is a mark; before these there is a range without
 * payload. The program prints `expect THREADS ROUNDS`.
 */
#include "app.h"

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>

#define THREADS 16

static long rounds = 20000;
static pthread_barrier_t together;

static void *run(void *unused)
{
	nvtxEventAttributes_t e = {0};
	e.version = NVTX_VERSION;
	e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	e.messageType = NVTX_MESSAGE_TYPE_ASCII;
	e.message.ascii = "round";
	e.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
	nvtxRangePushA("first"); /* so that each thread has memory for its ranges */
	nvtxRangePop();
	pthread_barrier_wait(&together);
	for (long i = 0; i < rounds; i++) {
		e.payload.ullValue = 2 * (uint64_t)i;
		nvtxRangePushEx(&e);
		nvtxRangePop();
		e.payload.ullValue++;
		nvtxMarkEx(&e);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	if (argc > 1)
		rounds = atol(argv[1]);
	pthread_barrier_init(&together, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, run, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	say("expect %d %ld", THREADS, rounds);
	return 0;
}
