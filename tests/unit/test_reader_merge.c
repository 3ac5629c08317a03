/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_merge.c - clocks that are aligned by bounds of their difference: the true difference
 * is always within the stated error.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "reader/merge/fit.h"
#include "tests/unit/tap.h"

#define BOUNDS 400u
#define MANY 200000u
#define TRIES 200u
#define SPAN_NS 60e9
#define START_NS 1000000000000ll

static uint64_t seed = 88172645463325252ull;

/* Return a number from 0 to 1. */
static double chance(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (double)(seed >> 11) / 9007199254740992.0;
}

/* Two clocks whose rates differ, from a time on by something else. */
struct clocks {
	double offset, drift, turn, more;
};

static double difference_at(const struct clocks *c, double x)
{
	return c->offset + c->drift * x + (x > c->turn ? c->more * (x - c->turn) : 0);
}

/* Create bounds of messages in both directions, with delays of 1 us and more. */
static void bounds_make(const struct clocks *c, struct fit_bound *bounds)
{
	for (uint32_t i = 0; i < BOUNDS; i++) {
		const double x = floor(chance() * SPAN_NS),
			     delay = 1000 - 20000 * log(1 - chance());
		const bool is_upper = i % 2;
		bounds[i] = (struct fit_bound){START_NS + (int64_t)x,
			(int64_t)round(difference_at(c, x) + (is_upper ? delay : -delay)),
			is_upper};
	}
}

/* Return the greatest error of the conversion of clock b, from `first` to `last`. */
static double error_of(const struct clocks *c, const struct fit *f, double first, double last)
{
	double most = 0;
	for (int i = 0; i <= 1000; i++) {
		const double x = first + (last - first) * i / 1000;
		const int64_t b = START_NS + (int64_t)round(x + difference_at(c, x));
		most = fmax(most, fabs((double)(clock_map_time(&f->map, b) - START_NS) - x));
	}
	return most;
}

static void lines_test(void)
{
	static struct fit_bound bounds[BOUNDS];
	unsigned kept = 0, ends_kept = 0, known = 0, fitted = 0;
	double widest = 0;
	for (unsigned i = 0; i < TRIES; i++) {
		const struct clocks c = {
			1e12 * (chance() - 0.5), 4e-4 * (chance() - 0.5), INFINITY, 0};
		struct fit f;
		bounds_make(&c, bounds);
		if (fit_bounds(&f, bounds, BOUNDS, 0, START_NS - 1000000000,
			    START_NS + (int64_t)SPAN_NS + 1000000000))
			continue;
		const double first = (double)(bounds[0].ns - START_NS),
			     last = (double)(bounds[BOUNDS - 1].ns - START_NS);
		fitted++;
		known += f.has_drift && fabs(f.drift - c.drift) < 1e-6;
		kept += error_of(&c, &f, first, last) <= f.error_ns + 2;
		ends_kept += error_of(&c, &f, -1e9, SPAN_NS + 1e9) <= f.error_ends_ns + 2;
		widest = fmax(widest, f.error_ns);
		clock_map_release(&f.map);
	}
	check(fitted == TRIES && kept == TRIES, "the error is within its bound: %u of %u", kept,
		TRIES);
	check(ends_kept == TRIES, "so it is at the ends: %u of %u", ends_kept, TRIES);
	check(known == TRIES, "rates are known to 1 ppm: %u of %u", known, TRIES);
	check(widest < 20000, "bounds are narrower than the delays: %.0f ns", widest);
}

static void turns_test(void)
{
	static struct fit_bound bounds[BOUNDS];
	const struct clocks c = {5e9, 1e-4, SPAN_NS / 2, -3e-4};
	struct fit f;
	bounds_make(&c, bounds);
	const int error = fit_bounds(&f, bounds, BOUNDS, 0, START_NS, START_NS + (int64_t)SPAN_NS);
	const double worst = error ? INFINITY : error_of(&c, &f, 1e9, SPAN_NS - 1e9);
	check(!error && f.map.count > 2 && worst < 100000,
		"a rate that changes is followed by pieces: %.0f ns", worst);
	clock_map_release(&f.map);
}

static void refusals_test(void)
{
	struct fit_bound one[] = {{0, 5, true}, {1000, 6, true}},
			 contrary[] = {{0, 5, true}, {0, 500000, false}};
	struct fit f;
	check(fit_bounds(&f, one, 2, 0, 0, 1000) == -ENOENT, "bounds on one side are not enough");
	check(fit_bounds(&f, contrary, 2, 0, 0, 1000) == -EDOM, "contradictions are seen");
	const int error = fit_bounds(&f, contrary, 2, 500000, 0, 1000);
	check(!error && f.error_ns >= 250000 && !f.has_drift,
		"bounds that may be wrong by more than that fit, and the error says so: %.0f ns",
		f.error_ns);
	clock_map_release(&f.map);
}

/* Bounds that no line fits over more than a few: each piece's time is its own. */
static void many_pieces_test(void)
{
	struct fit_bound *bounds = calloc(MANY, sizeof(*bounds));
	struct fit f = {.has_drift = true};
	for (uint32_t i = 0; bounds && i < MANY; i++)
		bounds[i] = (struct fit_bound){
			1000ll * i, i / 4 % 2 ? 1000000 : 0, i % 2 && i < MANY - MANY / 4};
	const int error = bounds ? fit_bounds(&f, bounds, MANY, 10, 0, 1000ll * MANY) : -ENOMEM;
	check(error == -EDOM || (!error && f.map.count > 2), "many contradictions: %d", error);
	clock_map_release(&f.map);
	free(bounds);
}

/* Times of hostile files: the sanitizers see any overflow. */
static void extremes_test(void)
{
	const int64_t times[] = {INT64_MIN, INT64_MIN + 1, -1, 0, INT64_MAX - 1, INT64_MAX};
	const uint32_t n = sizeof(times) / sizeof(times[0]);
	for (uint32_t i = 0; i < n * n * n; i++) {
		const int64_t x = times[i % n], y = times[i / n % n], z = times[i / n / n];
		struct fit_bound bounds[] = {{x, y, true}, {y, z, false}, {z, x, true}};
		struct fit f;
		const int error = fit_bounds(&f, bounds, 3, 0, y, z);
		struct clock_map both = {0}, again = {.shift = x};
		if (error || clock_map_compose(&both, &f.map, &again))
			continue;
		clock_map_time(&both, y);
		clock_map_time(&both, z);
		clock_map_release(&both);
		clock_map_release(&f.map);
	}
	struct clock_map wide = {.shift = INT64_MIN};
	const int error = clock_map_add(&wide, (struct clock_knot){INT64_MIN, INT64_MIN}) |
		clock_map_add(&wide, (struct clock_knot){INT64_MAX, INT64_MAX});
	check(!error && clock_map_time(&wide, 5) == INT64_MIN + 5, "any times are converted");
	clock_map_release(&wide);
}

static void maps_test(void)
{
	struct clock_map a = {0}, b = {0}, both = {0};
	int error = clock_map_add(&a, (struct clock_knot){0, 1000}) |
		clock_map_add(&a, (struct clock_knot){1000000, 1001500}) |
		clock_map_add(&b, (struct clock_knot){1000, 0}) |
		clock_map_add(&b, (struct clock_knot){500000, 499500}) |
		clock_map_add(&b, (struct clock_knot){900000, 899000});
	error |= clock_map_compose(&both, &a, &b);
	int64_t worst = 0, before = INT64_MIN;
	bool ascends = true;
	for (int64_t ns = -100000; ns < 2000000; ns += 777) {
		const int64_t wanted = clock_map_time(&b, clock_map_time(&a, ns)),
			      found = clock_map_time(&both, ns), off = found - wanted;
		worst = llabs(off) > worst ? llabs(off) : worst;
		ascends &= found >= before;
		before = found;
	}
	check(!error && worst <= 3 && ascends, "two conversions in one: off by %lld ns",
		(long long)worst);
	check(clock_map_time(&(struct clock_map){.shift = -7}, 10) == 3, "a shift is a conversion");
	clock_map_release(&a);
	clock_map_release(&b);
	clock_map_release(&both);
}

int main(void)
{
	lines_test();
	turns_test();
	refusals_test();
	many_pieces_test();
	extremes_test();
	maps_test();
	return tap_done();
}
