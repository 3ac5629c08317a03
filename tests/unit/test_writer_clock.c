/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_writer_clock.c - tests of the conversion of ticks if the clock and the counter diverge.
 *
 * The machine was suspended, a virtual machine paused, the counter set back, the clock frozen or
 * stepping. The writer never calls libc's clock_gettime().
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/clockfit.h"
#include "common/sys.h"
#include "tap.h"

#define TICKS_PER_US 2600u
#define MS 1000000u
#define PASS_NS (100u * MS) /* time between two readings */
#define ERROR_NS 20u

/* A machine: its counter and its clock, in step except for what jumps() does. */
static uint64_t counter, clock_ns;

static void lives(uint64_t ns)
{
	counter += ns * TICKS_PER_US / 1000;
	clock_ns += ns;
}

static void jumps(uint64_t counter_ns, uint64_t clock_by_ns)
{
	counter += counter_ns * TICKS_PER_US / 1000;
	clock_ns += clock_by_ns;
}

static struct clock_point reading(void)
{
	return (struct clock_point){counter, clock_ns, ERROR_NS};
}

static int follow(struct clockfit *fit)
{
	struct clock_point now = reading();
	return clockfit_follow(fit, &now);
}

/* Read as the writer does: repeat a refused reading at once. */
static bool follow_closely(struct clockfit *fit)
{
	int error = follow(fit);
	for (int i = 0; error == -EINVAL && i < 8; i++) {
		lives(50000);
		error = follow(fit);
	}
	return !error;
}

static void machine_starts(struct clockfit *fit, int passes)
{
	clockfit_init(fit);
	counter = UINT64_C(1) << 40;
	clock_ns = UINT64_C(50000) * MS;
	for (int i = 0; i < passes; i++) {
		lives(PASS_NS);
		follow(fit);
	}
}

static uint64_t off_by(struct clockfit *fit, const struct clock_point *truth)
{
	uint64_t ns = clockfit_ns(fit, truth->tick);
	return ns > truth->mono_ns ? ns - truth->mono_ns : truth->mono_ns - ns;
}

/* Pause the machine between two readings. Compare times just before, just after and later. */
static void suspends(uint64_t asleep_ns, const char *what)
{
	static struct clockfit fit;
	machine_starts(&fit, 50);
	uint32_t error_before = clockfit_error(&fit);
	lives(PASS_NS / 4);
	struct clock_point before = reading();
	jumps(asleep_ns, 0);
	struct clock_point after = reading();
	lives(PASS_NS / 2);
	bool taken = follow_closely(&fit);
	for (int i = 0; i < 300; i++) {
		lives(PASS_NS);
		taken &= follow(&fit) == 0;
	}
	lives(PASS_NS);
	struct clock_point later = reading();
	uint32_t error = clockfit_error(&fit);
	check(taken && fit.breaks == 1 && off_by(&fit, &later) <= ERROR_NS + 2,
		"%s: a new run begins, and later times are right: %u breaks, off by %llu ns", what,
		fit.breaks, (unsigned long long)off_by(&fit, &later));
	uint64_t worst = off_by(&fit, &before);
	if (off_by(&fit, &after) > worst)
		worst = off_by(&fit, &after);
	check(error_before <= 2 * ERROR_NS && error != CLOCKFIT_UNBOUNDED &&
			worst <= error + ERROR_NS,
		"%s: times near the break are within the bound: off by %llu ns, the bound is %u",
		what, (unsigned long long)worst, error);
	uint64_t lasted = clockfit_duration_ns(&fit, before.tick, later.tick - before.tick);
	uint64_t awake = later.mono_ns - before.mono_ns;
	check(lasted <= awake + error + 2 && awake <= lasted + error + 2,
		"%s: a call across the break lasts the time awake: %llu of %llu ns", what,
		(unsigned long long)lasted, (unsigned long long)awake);
}

static void machines_sleep(void)
{
	suspends(UINT64_C(1000000) * MS, "a suspend of 1,000 s");
	suspends(UINT64_C(3600000000) * MS, "one of 1,000 hours");
	suspends(60 * MS, "a pause that is shorter than the readings are apart");
	suspends(MS, "a pause of 1 ms");
}

static void long_sleep_costs_nothing(void)
{
	static struct clockfit fit;
	machine_starts(&fit, 50);
	lives(PASS_NS / 4);
	struct clock_point before = reading();
	jumps(UINT64_C(1000000) * MS, 0);
	struct clock_point after = reading();
	lives(PASS_NS / 2);
	follow_closely(&fit);
	check(off_by(&fit, &before) <= ERROR_NS + 2 && off_by(&fit, &after) <= ERROR_NS + 2,
		"times near a sleep that is longer than the time awake are exact: %llu, "
		"%llu ns",
		(unsigned long long)off_by(&fit, &before),
		(unsigned long long)off_by(&fit, &after));
}

/* Deviate by less than a slewed clock: no new run begins, but the bound includes it. */
static void short_pause_raises_the_bound(void)
{
	static struct clockfit fit;
	machine_starts(&fit, 50);
	lives(PASS_NS / 2);
	jumps(60000, 0);
	struct clock_point after = reading();
	lives(PASS_NS / 2);
	follow(&fit);
	uint64_t off = off_by(&fit, &after);
	check(!fit.breaks && off > 1000 && clockfit_error(&fit) + ERROR_NS >= off,
		"times near a pause of 60 us in 100 ms are within the bound: off by %llu ns, the "
		"bound is %u",
		(unsigned long long)off, clockfit_error(&fit));
}

static void clock_that_jumps_ahead(void)
{
	static struct clockfit fit;
	machine_starts(&fit, 20);
	lives(PASS_NS / 2);
	jumps(0, UINT64_C(5000) * MS);
	struct clock_point after = reading();
	lives(PASS_NS / 2);
	bool taken = follow_closely(&fit);
	lives(PASS_NS);
	struct clock_point later = reading();
	check(taken && fit.breaks == 1 && off_by(&fit, &later) <= ERROR_NS + 2 &&
			off_by(&fit, &after) <= clockfit_error(&fit),
		"the counter stood still while the clock went on: off by %llu ns beside it, the "
		"bound is %u",
		(unsigned long long)off_by(&fit, &after), clockfit_error(&fit));
}

static void counter_that_is_set_back(void)
{
	static struct clockfit fit;
	machine_starts(&fit, 20);
	counter = 1000;
	bool taken = follow_closely(&fit);
	lives(PASS_NS);
	struct clock_point later = reading();
	check(taken && fit.breaks == 1 && off_by(&fit, &later) <= ERROR_NS + 2 &&
			clockfit_error(&fit) == CLOCKFIT_UNBOUNDED,
		"after a counter was reset new times are right, and no bound is claimed");
}

/* Test a frozen clock and a clock that steps back and forth: neither begins a new run, since no two
 * readings agree. */
static void clocks_that_are_none(void)
{
	static struct clockfit fit;
	machine_starts(&fit, 20);
	uint64_t rate = fit.slope;
	for (int i = 0; i < 1000; i++) {
		jumps(PASS_NS, 0);
		follow(&fit);
	}
	check(!fit.breaks && fit.slope == rate && clockfit_error(&fit) == CLOCKFIT_UNBOUNDED,
		"a clock that froze is not followed, and no bound is claimed");
	machine_starts(&fit, 20);
	uint64_t true_ns = clock_ns;
	for (int i = 0; i < 1000; i++) {
		jumps(PASS_NS, 0);
		true_ns += PASS_NS;
		clock_ns = true_ns - (i & 1 ? UINT64_C(40000) * MS : 0);
		follow(&fit);
	}
	struct clock_point now = {counter, true_ns, ERROR_NS};
	check(!fit.breaks && off_by(&fit, &now) <= PASS_NS,
		"the readings that fit are used if a clock steps back and forth: off by %llu ns",
		(unsigned long long)off_by(&fit, &now));
	clockfit_init(&fit);
	counter = 1;
	for (int i = 0; i < 10; i++) {
		jumps(PASS_NS, 0);
		follow(&fit);
	}
	check(clockfit_error(&fit) == CLOCKFIT_UNBOUNDED,
		"a clock that is frozen from the start has no bound");
}

static void machine_that_sleeps_often(void)
{
	static struct clockfit fit;
	machine_starts(&fit, 20);
	bool taken = true;
	for (int i = 0; i < 2000; i++) {
		jumps((uint64_t)(i % 7 + 1) * 1000 * MS, 0);
		lives(PASS_NS);
		taken &= follow_closely(&fit);
	}
	lives(PASS_NS);
	struct clock_point later = reading();
	check(taken && fit.breaks == 2000 && fit.count <= CLOCKFIT_POINTS &&
			off_by(&fit, &later) <= 1000,
		"2,000 breaks are all found: %u breaks in %u points, off by %llu ns", fit.breaks,
		fit.count, (unsigned long long)off_by(&fit, &later));
}

/* Check, with random pauses and readings, that no time is off by more than the bound. */
static void bound_holds_at_random(void)
{
	static struct clockfit fit;
	struct clock_point truth[64];
	uint64_t worst = 0, most = 0;
	bool holds = true;
	srand(7);
	for (int round = 0; round < 300; round++) {
		machine_starts(&fit, 10);
		for (int i = 0; i < 64; i++) {
			lives((uint64_t)rand() % (30 * MS));
			if (rand() % 16 == 0)
				jumps((uint64_t)rand() % (200 * MS), 0);
			if (rand() % 16 == 0)
				jumps(0, (uint64_t)rand() % (200 * MS));
			truth[i] = reading();
			lives((uint64_t)rand() % (30 * MS));
			follow_closely(&fit);
		}
		uint64_t error = clockfit_error(&fit);
		for (int i = 0; i < 64; i++) {
			uint64_t off = off_by(&fit, &truth[i]);
			worst = off > worst ? off : worst;
			holds &= off <= error + 1100; /* breaks that noise may hide */
		}
		most = error > most ? error : most;
	}
	check(holds && worst > MS,
		"times of 300 random machines are within the bound: off by at most %llu ns, bounds "
		"up to %llu",
		(unsigned long long)worst, (unsigned long long)most);
}

/* Check that points of any time join the run that they fit. */
static void points_find_their_run(void)
{
	static struct clockfit fit;
	machine_starts(&fit, 20);
	lives(PASS_NS / 8);
	struct clock_point before = reading();
	jumps(UINT64_C(1000000) * MS, 0);
	lives(PASS_NS / 4);
	struct clock_point after = reading();
	lives(PASS_NS / 4);
	follow_closely(&fit);
	struct clock_point wrong = {before.tick + 5000 * TICKS_PER_US, after.mono_ns + MS, 0};
	check(clockfit_add(&fit, &after) == 0 && clockfit_add(&fit, &before) == 0 &&
			clockfit_add(&fit, &wrong) == -EINVAL && fit.breaks == 1,
		"points near a break join the run that they fit, others are refused");
	static struct clockfit late;
	clockfit_init(&late);
	for (int i = 0; i < 5; i++) {
		lives(MS);
		follow(&late);
	}
	check(clockfit_add(&late, &before) == -EINVAL && clockfit_add_apart(&late, &before) == 0 &&
			off_by(&late, &before) == 0 && late.breaks == 1 &&
			clockfit_error(&late) > MS,
		"a point from before the break is a run of its own where nothing else is known");
}

static uint64_t asked;

static bool count_clock(long number, const long argument[6], long *ret_result)
{
	(void)argument, (void)ret_result;
	asked += number == SYS_clock_gettime;
	return false;
}

/* Our own clock_gettime(), which the linker prefers: nobody may call it. */
static uint64_t libc_asked;

int clock_gettime(clockid_t id, struct timespec *ret_time)
{
	libc_asked++;
	return (int)syscall(SYS_clock_gettime, id, ret_time);
}

/* Return whether reading the clock reads the counter, as the vdso does. A child does it under a
 * filter: a system call ends it by SIGKILL, reading the counter by SIGSEGV. */
static bool reads_the_counter(void)
{
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
			_exit(2);
		for (;;)
			syscall(SYS_exit, clock_monotonic_ns() == 0);
	}
	return waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
		WTERMSIG(status) == SIGSEGV;
}

static void kernel_is_asked(void)
{
	sys_override = count_clock;
	uint64_t first = clock_monotonic_ns();
	sys_override = NULL;
	check(asked == 1 && first,
		"before clock_init() the kernel's clock is read by a system call");
	enum clock_kind kind = clock_init();
	uint64_t again = clock_monotonic_ns(), real = clock_system_ns(CLOCK_REALTIME),
		 direct = sys_clock_ns(CLOCK_MONOTONIC);
	check(again >= first && direct >= again && direct - first < UINT64_C(60000) * MS &&
			real > again,
		"the vdso reads the same time as the system call");
#if defined(__SANITIZE_ADDRESS__) /* the sanitizer's handler of SIGSEGV makes system calls */
	kind = CLOCK_KIND_MONOTONIC;
#endif
	if (kind == CLOCK_KIND_TSC && getauxval(AT_SYSINFO_EHDR))
		check(reads_the_counter(),
			"after clock_init() the vdso is called: no system call is made");
	else
		check(true, "the vdso is called # SKIP there is none here, or it has no clock");
	check(!libc_asked, "libc's clock_gettime() is never called");
}

int main(void)
{
	kernel_is_asked();
	machines_sleep();
	long_sleep_costs_nothing();
	short_pause_raises_the_bound();
	clock_that_jumps_ahead();
	counter_that_is_set_back();
	clocks_that_are_none();
	machine_that_sleeps_often();
	bound_holds_at_random();
	points_find_their_run();
	return tap_done();
}
