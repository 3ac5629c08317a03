/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_capture.c - tests of capture ranges.
 *
 * The meaning of the options, when the capture gate is open, and the resulting windows, also when
 * many threads open and close the gate at once.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/capture.h"
#include "common/clock.h"
#include "common/tree.h"
#include "tap.h"

static struct tree_control *control;

static void parse_is(const char *range, const char *name, const char *end, enum capture_kind kind,
	const char *wanted_range, const char *domain, uint32_t windows)
{
	struct capture_spec s;
	const char *why = NULL;
	bool good = capture_parse(range, name, end, &s, &why);
	check(good && s.kind == kind && !strcmp(s.range, wanted_range) &&
			!strcmp(s.domain, domain) && s.windows_max == windows,
		"%s %s %s: kind %u '%s'@'%s' windows %u (%s)", range, name ? name : "-",
		end ? end : "-", s.kind, s.range, s.domain, s.windows_max, why ? why : "fine");
}

static void parse_fails(const char *range, const char *name, const char *end)
{
	struct capture_spec s;
	const char *why = NULL;
	bool good = capture_parse(range, name, end, &s, &why);
	check(!good && why && s.kind == CAPTURE_NONE, "'%s' %s %s is refused: %s", range,
		name ? name : "-", end ? end : "-", why);
}

static void options_are_understood(void)
{
	char longest[CAPTURE_NAME_BYTES + 8] = "nvtx:";
	parse_is(NULL, NULL, NULL, CAPTURE_NONE, "", "", 1);
	parse_is("none", NULL, "repeat", CAPTURE_NONE, "", "", CAPTURE_UNLIMITED);
	parse_is("nvtx:a b", NULL, "", CAPTURE_NVTX, "a b", "", 1);
	parse_is("nvtx:a@b", NULL, "none", CAPTURE_NVTX, "a", "b", 0);
	parse_is("nvtx", "a@b c", "repeat:7", CAPTURE_NVTX, "a", "b c", 7);
	parse_is("nvtx:a\\@b@c\\\\d", NULL, "stop", CAPTURE_NVTX, "a@b", "c\\d", 1);
	parse_is("nvtx:a@*", NULL, NULL, CAPTURE_NVTX, "a", "", 1);
	parse_is("nvtx:a@*b", NULL, NULL, CAPTURE_NVTX, "a", "*b", 1);
	parse_is("cudaProfilerApi", NULL, NULL, CAPTURE_CUDA_PROFILER, "", "", 1);
	parse_is("libtraceApi", NULL, NULL, CAPTURE_LIBTRACE_API, "", "", 1);
	parse_is("signal:SIGUSR2", NULL, NULL, CAPTURE_SIGNAL, "", "", 1);
	parse_is("signal:34", NULL, NULL, CAPTURE_SIGNAL, "", "", 1);
	memset(longest + 5, 'x', CAPTURE_NAME_BYTES - 1);
	parse_is(longest, NULL, NULL, CAPTURE_NVTX, longest + 5, "", 1);
	longest[5 + CAPTURE_NAME_BYTES - 1] = 'x';
	parse_fails(longest, NULL, NULL);
	parse_fails("nvtx", NULL, NULL);
	parse_fails("nvtx:", NULL, NULL);
	parse_fails("nvtx:a@b@c", NULL, NULL);
	parse_fails("nvtxa", NULL, NULL);
	parse_fails("signal:SEGV", NULL, NULL);
	parse_fails("signal:9", NULL, NULL);
	parse_fails("signal:33", NULL, NULL);
	parse_fails("signal:65", NULL, NULL);
	parse_fails("none", NULL, "repeat:0");
	parse_fails("none", NULL, "repeat:32001");
	parse_fails("none", NULL, "repeat:x");
	parse_fails("none", NULL, "stop-shutdown");
}

static void begin(const char *range, const char *end, bool delayed)
{
	struct capture_spec s;
	const char *why;
	memset(control, 0, sizeof(*control));
	capture_parse(range, NULL, end, &s, &why);
	capture_init(control, &s, delayed, false);
}

/* Open and close `ranges` capture ranges, one after the other; return which ones were recorded. */
static void windows_are(const char *end, unsigned ranges, const char *wanted)
{
	char open[32] = "";
	begin("nvtx:a", end, false);
	bool closed = !*capture_gate(control), over_early = false;
	for (unsigned i = 0; i < ranges; i++) {
		over_early |= capture_is_over(control) && wanted[2 * i] == '1';
		capture_begin(control);
		open[2 * i] = *capture_gate(control) ? '1' : '0';
		capture_end(control, 1, 0);
		open[2 * i + 1] = *capture_gate(control) ? '1' : '0';
	}
	check(closed && !strcmp(open, wanted), "%s: closed at first, then %s", end, open);
	check(!over_early && capture_is_over(control) == (wanted[2 * ranges - 2] == '0'),
		"%s: capture is over when no further range will be recorded, and not before", end);
}

static void gate_follows(void)
{
	uint64_t tick;
	windows_are("stop", 3, "100000");
	windows_are("repeat", 3, "101010");
	windows_are("repeat:2", 3, "101000");
	windows_are("none", 3, "111111");

	begin("none", "stop", false);
	check(*capture_gate(control) && !control->keeps_windows && !capture_is_over(control),
		"without options the gate is always open");
	begin("nvtx:a", "repeat", true);
	capture_begin(control);
	check(!*capture_gate(control) && !capture_is_over(control),
		"a range within --delay opens nothing");
	capture_set_time(control, true);
	check(*capture_gate(control), "the gate opens when the delay ends within the range");
	capture_begin(control);
	capture_end(control, 1, 0);
	check(*capture_gate(control),
		"the gate stays open while one of two overlapping ranges is open");
	capture_set_time(control, false);
	check(!*capture_gate(control) && capture_windows(control) == 1 && capture_is_over(control),
		"the gate is closed when --duration is over");
	capture_end(control, 1, 0);
	capture_end(control, 5, 0);
	capture_begin(control);
	check(!*capture_gate(control), "the gate stays closed after --duration");
	capture_set_time(control, true);
	check(*capture_gate(control) && capture_is_open(control, &tick) && tick,
		"after an end without a begin, the next range opens the gate");

	begin("nvtx:a", "stop", true);
	capture_begin(control);
	capture_end(control, 1, 0);
	capture_set_time(control, true);
	capture_begin(control);
	check(*capture_gate(control), "'stop' waits for the end of a range that was recorded");
}

static void windows_are_kept(void)
{
	struct capture_window w, last = {0};
	uint64_t before = clock_ticks(), found = 0;
	begin("nvtx:a", "repeat", false);
	for (unsigned i = 0; i < CAPTURE_WINDOWS_KEPT + 3; i++) {
		capture_begin(control);
		capture_end(control, 1, 0);
	}
	uint64_t after = clock_ticks();
	bool sound = true;
	for (uint64_t n = 1; n <= capture_windows(control); n++) {
		if (!capture_window_get(control, n, &w))
			continue;
		found++;
		sound = sound && w.number == n && w.begin_tick >= before && w.end_tick <= after &&
			w.begin_tick <= w.end_tick && w.begin_tick >= last.end_tick;
		last = w;
	}
	check(sound && found == CAPTURE_WINDOWS_KEPT &&
			capture_windows(control) == CAPTURE_WINDOWS_KEPT + 3,
		"the last %u windows are stored, in order: %u of %u", CAPTURE_WINDOWS_KEPT,
		(unsigned)found, (unsigned)capture_windows(control));
	begin("nvtx:a", "stop", false);
	capture_begin(control);
	capture_end(control, 1, after + (1 << 30));
	check(capture_window_get(control, 1, &w) && w.end_tick == after + (1 << 30),
		"an end that is noticed later has the time at which it happened");
}

static void signals_toggle(void)
{
	begin("signal:USR1", "repeat", false);
	capture_toggle(control);
	bool opened = *capture_gate(control);
	capture_toggle(control);
	check(opened && *capture_gate(control),
		"a second signal within 50 ms counts as the same one");
	control->by_range.toggled_ns -= CAPTURE_SIGNAL_NS;
	capture_toggle(control);
	check(!*capture_gate(control) && capture_windows(control) == 1,
		"a later one closes the window");
}

#define THREADS 4
#define ROUNDS 20000u

static void *hammer(void *unused)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (!capture_begin(control))
			return unused;
		if (!__atomic_load_n(&*capture_gate(control), __ATOMIC_RELAXED))
			return control;
		capture_end(control, 1, 0);
	}
	return NULL;
}

static void many_threads(void)
{
	pthread_t threads[THREADS];
	unsigned failed = 0;
	begin("nvtx:a", "repeat", false);
	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, hammer, NULL))
			abort();
	for (unsigned i = 0; i < THREADS; i++) {
		void *result;
		pthread_join(threads[i], &result);
		failed += result != NULL;
	}
	uint64_t windows = capture_windows(control);
	check(!failed && !*capture_gate(control) && windows && windows <= THREADS * ROUNDS,
		"%u threads: open in every range, closed at the end, %u windows", THREADS,
		(unsigned)windows);
}

int main(void)
{
	control = aligned_alloc(4096, sizeof(*control));
	if (control)
		memset(control, 0, sizeof(*control));
	if (!control)
		return 1;
	clock_init();
	options_are_understood();
	gate_follows();
	windows_are_kept();
	signals_toggle();
	many_threads();
	free(control);
	return tap_done();
}
