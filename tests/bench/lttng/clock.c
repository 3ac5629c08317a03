/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.c - a clock plug-in that makes LTTng stamp events with the time-stamp counter: its fastest
 * configuration.
 */
#include "../bench.h"
#include <lttng/ust-clock.h>

static uint64_t clock_read(void)
{
	return bench_ticks();
}

static uint64_t clock_frequency(void)
{
	uint64_t ticks = bench_ticks(), start = bench_clock(CLOCK_MONOTONIC), now;
	while ((now = bench_clock(CLOCK_MONOTONIC)) - start < 1000000)
		;
	return (bench_ticks() - ticks) * 1000000000u / (now - start);
}

static const char *clock_name(void)
{
	return "counter";
}

static int clock_uuid(char *ret_uuid)
{
	memcpy(ret_uuid, "0b6a1f0e-52f1-4d0c-9f55-2a6b7f3f7c01", LTTNG_UST_UUID_STR_LEN);
	return 0;
}

/* LTTng calls this function of the library that LTTNG_UST_CLOCK_PLUGIN names. */
void lttng_ust_clock_plugin_init(void);
void lttng_ust_clock_plugin_init(void)
{
	lttng_ust_trace_clock_set_read64_cb(clock_read);
	lttng_ust_trace_clock_set_freq_cb(clock_frequency);
	lttng_ust_trace_clock_set_uuid_cb(clock_uuid);
	lttng_ust_trace_clock_set_name_cb(clock_name);
	lttng_ust_trace_clock_set_description_cb(clock_name);
	lttng_ust_enable_trace_clock_override();
}
