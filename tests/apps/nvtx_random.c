/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
// LINK: -ldl -lpthread
/*
 * nvtx_random.c - pushes, pops, starts and ends ranges in two threads and two domains at random
 * (the same in each run), with a recorded call now and then.
 */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>

#define STEPS 1500
#define DEPTH 6

static const char *const names[] = {"a", "b", "c", "d"};
static nvtxDomainHandle_t domains[2];

static uint32_t next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

static nvtxEventAttributes_t message(const char *text)
{
	nvtxEventAttributes_t a = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
	a.messageType = NVTX_MESSAGE_TYPE_ASCII;
	a.message.ascii = text;
	return a;
}

static void *work(void *seed)
{
	uint64_t state = (uintptr_t)seed;
	nvtxRangeId_t started[2] = {0, 0};
	int depth[2] = {0, 0};
	for (int i = 0; i < STEPS; i++) {
		unsigned domain = next(&state) % 2, what = next(&state) % 8;
		nvtxEventAttributes_t a = message(names[next(&state) % 4]);
		if (what < 3 && depth[domain] < DEPTH) {
			nvtxDomainRangePushEx(domains[domain], &a);
			depth[domain]++;
		} else if (what < 6 && depth[domain]) {
			nvtxDomainRangePop(domains[domain]);
			depth[domain]--;
		} else if (what == 6) {
			if (started[domain])
				nvtxDomainRangeEnd(domains[domain], started[domain]);
			started[domain] =
				started[domain] ? 0 : nvtxDomainRangeStartEx(domains[domain], &a);
		}
		sched_yield();
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;
	domains[1] = nvtxDomainCreateA("D");
	if (pthread_create(&thread, NULL, work, (void *)7))
		abort();
	work((void *)3);
	pthread_join(thread, NULL);
	return 0;
}
