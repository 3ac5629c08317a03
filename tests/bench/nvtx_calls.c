/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
/*
 * nvtx_calls.c - makes NVTX calls in a loop and times them itself.
 *
 *     nvtx_calls [-n ROUNDS] [-r REPEATS] [-p MICROSECONDS]
 *     nvtx_calls -s KIND [-n ROUNDS]     for stepcount: only ROUNDS of one kind, between two marks
 *
 * The program pauses between repeats, as programs that also compute do, so that the cost of a call
 * does not depend on the speed of the writer (-p 0: no pause). It prints, in ns,
 *
 *     nvtx KIND MIN MEDIAN
 *
 * KIND: pushpop (a pair), mark (a registered string), text (a fresh string of 32 bytes), startend
 * (a pair), attributes (color, category and payload)
 */
#include "bench.h"
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

enum kind { PUSHPOP, MARK, TEXT, STARTEND, ATTRIBUTES, KINDS };
static const char *const names[KINDS] = {"pushpop", "mark", "text", "startend", "attributes"};

#define REPEATS_MAX 1000
#define TEXTS 64

static nvtxDomainHandle_t domain;
static nvtxEventAttributes_t registered, fresh, full;
static char texts[TEXTS][40];

static nvtxEventAttributes_t event(void)
{
	nvtxEventAttributes_t e = {0};
	e.version = NVTX_VERSION;
	e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	return e;
}

static void prepare(void)
{
	domain = nvtxDomainCreateA("bench");
	registered = fresh = full = event();
	registered.messageType = full.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	registered.message.registered = full.message.registered =
		nvtxDomainRegisterStringA(domain, "a registered string");
	full.category = 3;
	full.colorType = NVTX_COLOR_ARGB;
	full.color = 0xff112233;
	full.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
	fresh.messageType = NVTX_MESSAGE_TYPE_ASCII;
	for (int i = 0; i < TEXTS; i++)
		snprintf(texts[i], sizeof(texts[i]), "fresh text, 32 bytes, number: %02d", i);
}

static void block(enum kind kind, long rounds)
{
	for (long i = 0; i < rounds; i++)
		switch (kind) {
		case PUSHPOP:
			nvtxDomainRangePushEx(domain, &registered);
			nvtxDomainRangePop(domain);
			break;
		case MARK:
			nvtxDomainMarkEx(domain, &registered);
			break;
		case TEXT:
			fresh.message.ascii = texts[i % TEXTS];
			nvtxDomainMarkEx(domain, &fresh);
			break;
		case STARTEND:
			nvtxDomainRangeEnd(domain, nvtxDomainRangeStartEx(domain, &registered));
			break;
		default:
			full.payload.ullValue = (uint64_t)i;
			nvtxDomainMarkEx(domain, &full);
		}
}

/* Run rounds of a kind to warm up, then `rounds` of it between two marks. */
static int step(const char *name, long rounds)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		if (strcmp(names[kind], name))
			continue;
		prepare();
		block(kind, 10);
		STEP_MARK();
		block(kind, rounds);
		STEP_MARK();
		return 0;
	}
	return 2;
}

int main(int argc, char **argv)
{
	static double ns[REPEATS_MAX];
	long rounds = 2000;
	int repeats = 51, pause_us = 3000, option;
	const char *stepped = NULL;
	while ((option = getopt(argc, argv, "n:r:p:s:")) != -1)
		if (option == 'n')
			rounds = atol(optarg);
		else if (option == 'r')
			repeats = atoi(optarg);
		else if (option == 's')
			stepped = optarg;
		else
			pause_us = atoi(optarg);
	if (stepped)
		return step(stepped, rounds);
	if (repeats < 1 || repeats > REPEATS_MAX)
		return 2;
	prepare();
	for (enum kind kind = 0; kind < KINDS; kind++) {
		block(kind, rounds / 10 + 1);
		for (int r = 0; r < repeats; r++) {
			if (pause_us)
				usleep((useconds_t)pause_us);
			uint64_t start = bench_clock(CLOCK_MONOTONIC);
			block(kind, rounds);
			ns[r] = (double)(bench_clock(CLOCK_MONOTONIC) - start) / (double)rounds;
		}
		double median = bench_median(ns, (size_t)repeats);
		printf("nvtx\t%s\t%.2f\t%.2f\n", names[kind], ns[0], median);
	}
	return 0;
}
