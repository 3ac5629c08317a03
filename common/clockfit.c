/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clockfit.c - conversion of ticks to nanoseconds by clock points; clockfit.h defines runs and
 * pieces.
 */
#include "common/clockfit.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define NEAR_NS 1000u                 /* two points closer than this do not determine the rate */
#define RATE_PARTS 1000u              /* rates may differ by 1/1000: clocks are slewed */
#define SPAN_OPEN (UINT64_C(1) << 63) /* no end; a tick before the piece is still outside of it */

void clockfit_init(struct clockfit *fit)
{
	memset(fit, 0, sizeof(*fit));
	fit->slope = UINT64_C(1) << CLOCKFIT_SHIFT;
}

static uint64_t slope_between(const struct clock_point *a, const struct clock_point *b)
{
	unsigned __int128 ns = b->mono_ns - a->mono_ns;
	unsigned __int128 slope = (ns << CLOCKFIT_SHIFT) / (b->tick - a->tick);
	return slope > UINT64_MAX ? UINT64_MAX : (uint64_t)slope;
}

static bool ascending(const struct clock_point *a, const struct clock_point *b)
{
	return a->tick < b->tick && a->mono_ns < b->mono_ns;
}

static uint64_t scaled(uint64_t ticks, uint64_t slope)
{
	unsigned __int128 ns = (unsigned __int128)ticks * slope >> CLOCKFIT_SHIFT;
	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* ---- rates ---- */

/* The rate of the clock from two points of one run, and its error: `error_ns` in `span_ns`. slope 0
 * = not known. */
struct rate {
	uint64_t slope, error_ns, span_ns;
};

static struct rate rate_between(const struct clock_point *a, const struct clock_point *b)
{
	if (!ascending(a, b))
		return (struct rate){0};
	return (struct rate){
		slope_between(a, b), a->error_ns + b->error_ns, b->mono_ns - a->mono_ns};
}

/* Return the rate of the run that contains point `at`. */
static struct rate rate_near(const struct clockfit *fit, uint32_t at)
{
	uint32_t first = at, last = at;
	while (first > 0 && !fit->begins_run[first])
		first--;
	while (last + 1 < fit->count && !fit->begins_run[last + 1])
		last++;
	return rate_between(&fit->points[first], &fit->points[last]);
}

/* Return the rate of the longest run, which is the most exact. */
static struct rate rate_best(const struct clockfit *fit)
{
	struct rate best = {fit->fallback_slope, 0, 0};
	for (uint32_t i = 0, first = 0; i < fit->count; i++) {
		if (fit->begins_run[i])
			first = i;
		if (i + 1 < fit->count && !fit->begins_run[i + 1])
			continue;
		struct rate rate = rate_between(&fit->points[first], &fit->points[i]);
		if (rate.slope && rate.span_ns > best.span_ns)
			best = rate;
	}
	return best;
}

static uint64_t slope_best(const struct clockfit *fit)
{
	uint64_t slope = rate_best(fit).slope;
	return slope ? slope : UINT64_C(1) << CLOCKFIT_SHIFT;
}

/* Return the nanoseconds by which the time between two points may differ from what the rate
 * predicts. */
static uint64_t noise_ns(const struct clock_point *a, const struct clock_point *b,
	const struct rate *rate, uint64_t expected)
{
	uint64_t of_rate = rate->span_ns
		? (uint64_t)((unsigned __int128)expected * rate->error_ns / rate->span_ns)
		: 0;
	return a->error_ns + b->error_ns + of_rate + NEAR_NS;
}

/* Return true if `a` and `b` are as far apart as the rate predicts, or if the rate is not known. */
static bool fits_rate(
	const struct clock_point *a, const struct clock_point *b, const struct rate *rate)
{
	if (!ascending(a, b))
		return false;
	if (!rate->slope)
		return true;
	uint64_t expected = scaled(b->tick - a->tick, rate->slope);
	return distance(expected, b->mono_ns - a->mono_ns) <=
		expected / RATE_PARTS + noise_ns(a, b, rate, expected);
}

/* Return true if `point` belongs to the run of point `at`. */
static bool fits_run(const struct clockfit *fit, uint32_t at, const struct clock_point *point)
{
	const struct clock_point *a = &fit->points[at], *b = point;
	if (point->tick < a->tick) {
		a = point;
		b = &fit->points[at];
	}
	struct rate near = rate_near(fit, at), best = rate_best(fit);
	return (near.slope && fits_rate(a, b, &near)) || fits_rate(a, b, &best);
}

/* ---- errors ---- */

static void error_raise(struct clockfit *fit, uint64_t error_ns)
{
	if (error_ns > fit->error_ns)
		fit->error_ns = error_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)error_ns;
}

/* Raise the error to the change of the clock between two points of a run. The change may have
 * happened at once; times between the points are then wrong by all of it. */
static void error_of_piece(struct clockfit *fit, uint32_t at)
{
	const struct clock_point *a = &fit->points[at - 1], *b = &fit->points[at];
	struct rate rate = rate_best(fit);
	uint64_t expected = scaled(b->tick - a->tick, rate.slope),
		 off = distance(expected, b->mono_ns - a->mono_ns),
		 noise = noise_ns(a, b, &rate, expected);
	if (rate.slope && off > noise)
		error_raise(fit, off - noise);
}

/* Raise the error to the bound between two runs: the time awake or the difference, whichever is
 * less. There is no error if the machine slept longer than it was awake, but this is not known. */
static void error_of_break(struct clockfit *fit, uint32_t at)
{
	const struct clock_point *a = &fit->points[at - 1], *b = &fit->points[at];
	uint64_t awake = b->mono_ns - a->mono_ns,
		 off = distance(scaled(b->tick - a->tick, slope_best(fit)), awake);
	error_raise(fit, (off < awake ? off : awake) + a->error_ns + b->error_ns);
}

uint32_t clockfit_error(const struct clockfit *fit)
{
	return fit->count >= 2 && !fit->doubtful ? fit->error_ns : CLOCKFIT_UNBOUNDED;
}

/* ---- points ---- */

/* Drop every second point of the older half: late events need recent points, long calls any point
 * near them. Both points at the border of two runs stay, unless no other is left. */
static void thin(struct clockfit *fit)
{
	uint32_t kept = 0, before = fit->count;
	for (uint32_t i = 0; i < before; i++) {
		bool needed = i >= before / 2 || i % 2 == 0 || fit->begins_run[i] ||
			fit->begins_run[i + 1];
		if (!needed)
			continue;
		fit->begins_run[kept] = fit->begins_run[i];
		fit->points[kept++] = fit->points[i];
	}
	if (kept == before) {
		uint32_t oldest = before / 4;
		kept = before - oldest;
		memmove(fit->points, fit->points + oldest, kept * sizeof(fit->points[0]));
		memmove(fit->begins_run, fit->begins_run + oldest, kept);
		fit->begins_run[0] = 0;
	}
	fit->count = kept;
}

/* Return the index at which a point with this tick is to be inserted. */
static uint32_t place_of(const struct clockfit *fit, uint64_t tick)
{
	uint32_t at = fit->count;
	while (at > 0 && fit->points[at - 1].tick >= tick)
		at--;
	return at;
}

/* Insert a point. There must be room. */
static void insert(struct clockfit *fit, uint32_t at, const struct clock_point *point, bool begins)
{
	memmove(&fit->points[at + 1], &fit->points[at], (fit->count - at) * sizeof(*point));
	memmove(&fit->begins_run[at + 1], &fit->begins_run[at], fit->count - at);
	fit->points[at] = *point;
	fit->begins_run[at] = begins;
	fit->count++;
	error_raise(fit, point->error_ns);
	if (at > 0 && begins)
		error_of_break(fit, at);
	else if (at > 0)
		error_of_piece(fit, at);
	clockfit_select(fit, point->tick);
}

static bool near(const struct clockfit *fit, uint32_t at, uint64_t tick)
{
	return (at < fit->count && fit->points[at].tick - tick < NEAR_NS) ||
		(at > 0 && tick - fit->points[at - 1].tick < NEAR_NS);
}

int clockfit_add(struct clockfit *fit, const struct clock_point *point)
{
	if (fit->count == CLOCKFIT_POINTS)
		thin(fit);
	uint32_t at = place_of(fit, point->tick);
	if (near(fit, at, point->tick))
		return -EEXIST;
	bool has_before = at > 0, has_after = at < fit->count,
	     before = has_before && fits_run(fit, at - 1, point),
	     after = has_after && fits_run(fit, at, point);
	if (has_before && has_after && fit->begins_run[at]) {
		if (!before && !after)
			return -EINVAL;
		fit->begins_run[at] = before; /* otherwise `point` begins it */
		insert(fit, at, point, !before);
		return 0;
	}
	if ((has_before && !before) || (has_after && !after))
		return -EINVAL;
	insert(fit, at, point, false);
	return 0;
}

int clockfit_add_apart(struct clockfit *fit, const struct clock_point *point)
{
	int error = clockfit_add(fit, point);
	if (error != -EINVAL)
		return error;
	uint32_t at = place_of(fit, point->tick);
	if ((at > 0 && !ascending(&fit->points[at - 1], point)) ||
		(at < fit->count && !ascending(point, &fit->points[at])))
		return -EINVAL;
	if (at < fit->count && !fit->begins_run[at]) {
		fit->begins_run[at] = 1;
		fit->breaks++;
	}
	fit->breaks += at > 0;
	insert(fit, at, point, at > 0);
	if (at + 1 < fit->count)
		error_of_break(fit, at + 1);
	return 0;
}

/* Turn the points in doubt into a run. If the counter or the clock was set back, one tick has two
 * times: only the new run counts from now on, and the error of older times has no bound. */
static void run_begin(struct clockfit *fit)
{
	bool is_later = fit->count && ascending(&fit->points[fit->count - 1], &fit->doubt[0]);
	if (fit->count && !is_later) {
		fit->count = 0;
		error_raise(fit, CLOCKFIT_UNBOUNDED);
	}
	while (fit->count + fit->doubtful > CLOCKFIT_POINTS)
		thin(fit);
	for (uint32_t i = 0; i < fit->doubtful; i++)
		insert(fit, fit->count, &fit->doubt[i], i == 0 && is_later);
	fit->breaks++;
	fit->doubtful = 0;
}

int clockfit_follow(struct clockfit *fit, const struct clock_point *point)
{
	int error = clockfit_add(fit, point);
	if (error != -EINVAL) {
		fit->doubtful = error ? fit->doubtful : 0;
		return error;
	}
	const struct clock_point *first = &fit->doubt[0],
				 *last = fit->doubtful ? &fit->doubt[fit->doubtful - 1] : NULL;
	if (last && point->tick >= last->tick && point->tick - last->tick < NEAR_NS)
		return -EINVAL;
	struct rate rate = last ? rate_between(first, last) : (struct rate){0};
	if (last && !fits_rate(last, point, &rate))
		fit->doubtful = 0;
	fit->doubt[fit->doubtful++] = *point;
	if (fit->doubtful < CLOCKFIT_AGREEING)
		return -EINVAL;
	run_begin(fit);
	return 0;
}

/* ---- pieces ---- */

static void piece_use(
	struct clockfit *fit, const struct clock_point *from, uint64_t slope, uint64_t span)
{
	fit->tick = from->tick;
	fit->ns = from->mono_ns;
	fit->slope = slope;
	fit->span = span;
}

/* Select the piece between two runs. Ticks in the later half belong to the later run, but only
 * as far back as the clock ran: no event has a tick at which the clock stood still. */
static void select_between(struct clockfit *fit, uint32_t high, uint64_t tick)
{
	const struct clock_point *a = &fit->points[high - 1], *b = &fit->points[high];
	uint64_t slope = slope_best(fit), back = (b->tick - a->tick) / 2;
	unsigned __int128 awake =
		((unsigned __int128)(b->mono_ns - a->mono_ns) << CLOCKFIT_SHIFT) / slope;
	if (back > awake)
		back = (uint64_t)awake;
	struct clock_point from = {b->tick - back, b->mono_ns - scaled(back, slope), 0};
	if (tick < from.tick)
		piece_use(fit, a, slope, from.tick - a->tick);
	else
		piece_use(fit, &from, slope, back);
}

void clockfit_select(struct clockfit *fit, uint64_t tick)
{
	static const struct clock_point origin = {0};
	uint32_t last = fit->count ? fit->count - 1 : 0, low = 0, high = last;
	if (fit->count < 2) {
		piece_use(fit, fit->count ? &fit->points[0] : &origin, slope_best(fit), SPAN_OPEN);
		return;
	}
	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;
		if (fit->points[middle].tick <= tick)
			low = middle;
		else
			high = middle;
	}
	if (!fit->begins_run[high]) {
		const struct clock_point *a = &fit->points[low], *b = &fit->points[high];
		/* Continue the last piece: there is no better one. */
		piece_use(
			fit, a, slope_between(a, b), high == last ? SPAN_OPEN : b->tick - a->tick);
	} else if (high == last && tick >= fit->points[last].tick) {
		piece_use(fit, &fit->points[last], slope_best(fit), SPAN_OPEN);
	} else {
		select_between(fit, high, tick);
	}
}
