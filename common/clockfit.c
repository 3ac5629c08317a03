#include "common/clockfit.h"

#include <errno.h>
#include <string.h>

#define NEAR_NS 1000u                 /* two points nearer than this say nothing about the rate */
#define SPAN_OPEN (UINT64_C(1) << 63) /* to the end, and still not what lies before the piece */

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

/* Do `a` and `b` agree with the rate over everything known, within 1 % and what their errors allow?
 */
static bool plausible(
	const struct clockfit *fit, const struct clock_point *a, const struct clock_point *b)
{
	if (!ascending(a, b))
		return false;
	uint64_t slope = fit->fallback_slope;
	if (fit->count >= 2)
		slope = slope_between(&fit->points[0], &fit->points[fit->count - 1]);
	if (!slope)
		return true;
	unsigned __int128 expected =
		(unsigned __int128)(b->tick - a->tick) * slope >> CLOCKFIT_SHIFT;
	unsigned __int128 actual = b->mono_ns - a->mono_ns;
	unsigned __int128 slack = expected / 100 + a->error_ns + b->error_ns + NEAR_NS;
	return actual <= expected + slack && expected <= actual + slack;
}

/* Drops every second point of the older half: late events need the recent ones, long calls any near
 * one. */
static void thin(struct clockfit *fit)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < fit->count; i++)
		if (i >= fit->count / 2 || i % 2 == 0)
			fit->points[kept++] = fit->points[i];
	fit->count = kept;
}

int clockfit_add(struct clockfit *fit, const struct clock_point *point)
{
	if (fit->count == CLOCKFIT_POINTS)
		thin(fit);
	uint32_t at = fit->count;
	while (at > 0 && fit->points[at - 1].tick >= point->tick)
		at--;
	const struct clock_point *before = at > 0 ? &fit->points[at - 1] : NULL;
	const struct clock_point *after = at < fit->count ? &fit->points[at] : NULL;
	if ((after && after->tick - point->tick < NEAR_NS) ||
		(before && point->tick - before->tick < NEAR_NS))
		return -EEXIST;
	if ((before && !plausible(fit, before, point)) || (after && !plausible(fit, point, after)))
		return -EINVAL;
	memmove(&fit->points[at + 1], &fit->points[at], (fit->count - at) * sizeof(*point));
	fit->points[at] = *point;
	fit->count++;
	if (point->error_ns > fit->max_error_ns)
		fit->max_error_ns =
			point->error_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)point->error_ns;
	clockfit_select(fit, point->tick);
	return 0;
}

static void select_single(struct clockfit *fit)
{
	fit->tick = fit->count ? fit->points[0].tick : 0;
	fit->ns = fit->count ? fit->points[0].mono_ns : 0;
	fit->slope = fit->fallback_slope ? fit->fallback_slope : UINT64_C(1) << CLOCKFIT_SHIFT;
	fit->span = SPAN_OPEN;
}

void clockfit_select(struct clockfit *fit, uint64_t tick)
{
	if (fit->count < 2) {
		select_single(fit);
		return;
	}
	uint32_t low = 0, high = fit->count - 1;
	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;
		if (fit->points[middle].tick <= tick)
			low = middle;
		else
			high = middle;
	}
	fit->tick = fit->points[low].tick;
	fit->ns = fit->points[low].mono_ns;
	fit->slope = slope_between(&fit->points[low], &fit->points[high]);
	/* The last piece goes on: what is newer than the newest point has no better one. */
	fit->span = high == fit->count - 1 ? SPAN_OPEN : fit->points[high].tick - fit->tick;
}
