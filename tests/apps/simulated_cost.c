/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
/*
 * simulated_cost.c - a benchmark of simulated time, for tests of comparisons that must not depend
 * on the load of the machine.
 *
 *     simulated_cost COST RUNS SEED SPREAD
 *
 * Submits one range, "cost", as a deferred event of NVTX. It lasts as many ns as the file COST
 * says, times a random factor, with SPREAD percent as standard deviation. The factor depends on
 * SEED and on the number of the run only, which the file RUNS counts.
 */
#include "app.h"

#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>
#include <stdlib.h>
#include <time.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct event {
	int64_t begin, end;
	char message[8];
};

static long number_in(const char *path)
{
	long number = 0;
	FILE *file = fopen(path, "r");
	if (file && fscanf(file, "%ld", &number) != 1)
		number = 0;
	if (file)
		fclose(file);
	return number;
}

static void number_write(const char *path, long number)
{
	FILE *file = fopen(path, "w");
	if (!file || fprintf(file, "%ld\n", number) < 0 || fclose(file))
		exit(2);
}

/* Return a sum of 12 uniform numbers: nearly normal, with deviation 1. */
static double noise(long seed, long run)
{
	unsigned short state[3] = {
		(unsigned short)seed, (unsigned short)(seed >> 16), (unsigned short)run};
	double sum = -6;
	for (int i = 0; i < 8; i++)
		erand48(state);
	for (int i = 0; i < 12; i++)
		sum += erand48(state);
	return sum;
}

static void submit(int64_t begin, int64_t end)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("simulated");
	nvtxSemanticsTime_t time = {
		{sizeof(time), NVTX_SEMANTIC_ID_TIME_V1, NVTX_TIME_SEMANTIC_VERSION, NULL},
		NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC};
	const uint64_t is_time = NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP;
	nvtxPayloadSchemaEntry_t entries[] = {
		{NVTX_PAYLOAD_ENTRY_FLAG_RANGE_BEGIN | is_time, NVTX_PAYLOAD_ENTRY_TYPE_INT64,
			"begin", NULL, 0, 0, &time.header, NULL},
		{NVTX_PAYLOAD_ENTRY_FLAG_RANGE_END | is_time, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "end",
			NULL, 0, 0, &time.header, NULL},
		{NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE | NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE,
			NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8, "message", NULL, 8, 0, NULL, NULL}};
	nvtxPayloadSchemaAttr_t layout = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME |
			NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_FLAGS |
			NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
			NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
			NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
		.name = "event",
		.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
		.flags = NVTX_PAYLOAD_SCHEMA_FLAG_RANGE_PUSHPOP,
		.entries = entries,
		.numEntries = COUNT(entries),
		.payloadStaticSize = sizeof(struct event)};
	struct event e = {begin, end, "cost"};
	nvtxPayloadData_t data = {nvtxPayloadSchemaRegister(domain, &layout), sizeof(e), &e};
	nvtxEventSubmit(domain, &data, 1);
}

int main(int argc, char **argv)
{
	struct timespec now, cost = {0};
	if (argc != 5)
		return 2;
	long run = number_in(argv[2]) + 1;
	number_write(argv[2], run);
	double factor = 1 + noise(atol(argv[3]), run) * atof(argv[4]) / 100;
	long ns = (long)((double)number_in(argv[1]) * factor);
	clock_gettime(CLOCK_MONOTONIC, &now);
	int64_t begin = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	cost.tv_nsec = 2 * ns; /* the range must end within the report */
	nanosleep(&cost, NULL);
	submit(begin, begin + ns);
	return 0;
}
