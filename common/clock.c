#define _GNU_SOURCE
#include "common/clock.h"

#include <stdbool.h>

#include "common/sys.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

uint32_t clock_is_tsc;

/* Bit 8 of leaf 0x80000007: the counter runs at one rate in every power state. */
static bool cpu_says_invariant(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;
	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
#else
	return false;
#endif
}

static bool kernel_trusts_tsc(void)
{
	char name[32];
	long length =
		sys_read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource",
			name, sizeof(name));
	if (length < 0)
		return cpu_says_invariant();
	return length >= 3 && name[0] == 't' && name[1] == 's' && name[2] == 'c' &&
		(name[3] == '\n' || !name[3]);
}

enum clock_kind clock_init(void)
{
#if defined(__x86_64__)
	clock_is_tsc = kernel_trusts_tsc();
#endif
	return clock_is_tsc ? CLOCK_KIND_TSC : CLOCK_KIND_MONOTONIC;
}

void clock_set(enum clock_kind kind)
{
	clock_is_tsc = kind == CLOCK_KIND_TSC;
}

void clock_point_take(struct clock_point *ret_point)
{
	if (!clock_is_tsc) {
		ret_point->tick = ret_point->mono_ns = clock_monotonic_ns();
		ret_point->error_ns = 0;
		return;
	}
	uint64_t best = UINT64_MAX;
	for (int i = 0; i < 3; i++) {
		uint64_t before = clock_monotonic_ns();
		uint64_t tick = clock_ticks();
		uint64_t after = clock_monotonic_ns();
		if (after - before >= best)
			continue;
		best = after - before;
		ret_point->tick = tick;
		ret_point->mono_ns = before + best / 2;
		ret_point->error_ns = (best + 1) / 2;
	}
}
