/* SPDX-License-Identifier: Apache-2.0 */
/* fit.c - lines between lower and upper bounds of the difference of two clocks. */
#include "reader/merge/fit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define SEARCH_STEPS 80
/* Drift is known if the slopes of all lines that fit differ by at most this. */
#define DRIFT_KNOWN 5e-5

struct point {
	double x, y;
};

struct hull {
	struct point *points;
	uint32_t count;
};

/* Bounds of a span of time, relative to an origin. */
struct span {
	struct hull upper, lower; /* only points that can touch a line */
	double first, last;
	double slope_low, slope_high; /* slopes of lines that fit */
	double slope, at, value;      /* the estimate: a line through (at, value) */
};

struct fitting {
	struct fit *fit;
	struct fit_bound *bounds;
	struct point *room; /* two points for each bound */
	double slack;
	int64_t x0, y0; /* origin */
	double first, last;
	bool is_begun;
};

/* Return a - b. Hostile files have any times: then it is rounded. */
static double distance(int64_t a, int64_t b)
{
	int64_t exact;
	return __builtin_sub_overflow(a, b, &exact) ? (double)a - (double)b : (double)exact;
}

/* Return a + b, but a where that is no time. */
static int64_t moved(int64_t a, double b)
{
	int64_t result;
	return fabs(b) < 9e18 && !__builtin_add_overflow(a, (int64_t)round(b), &result) ? result
											: a;
}

static int compare_bounds(const void *a, const void *b)
{
	const struct fit_bound *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (x->difference > y->difference) - (x->difference < y->difference);
}

/* Add a point, which is not before the last one. sign: 1 for upper bounds, -1 for lower ones. */
static void hull_add(struct hull *h, struct point p, double sign)
{
	while (h->count > 1) {
		const struct point *a = &h->points[h->count - 2], *b = a + 1;
		if (sign * ((b->x - a->x) * (p.y - a->y) - (b->y - a->y) * (p.x - a->x)) > 0)
			break;
		h->count--;
	}
	h->points[h->count++] = p;
}

/* Return the greatest height at 0 of a line with this slope that is below all upper bounds. */
static double height_above(const struct span *s, double slope)
{
	double least = INFINITY;
	for (uint32_t i = 0; i < s->upper.count; i++)
		least = fmin(least, s->upper.points[i].y - slope * s->upper.points[i].x);
	return least;
}

/* Return the least height at 0 of a line with this slope that is above all lower bounds. */
static double height_below(const struct span *s, double slope)
{
	double greatest = -INFINITY;
	for (uint32_t i = 0; i < s->lower.count; i++)
		greatest = fmax(greatest, s->lower.points[i].y - slope * s->lower.points[i].x);
	return greatest;
}

/* Return the room between all bounds for lines with this slope. */
static double room_of(const struct span *s, double slope, double unused)
{
	(void)unused;
	return height_above(s, slope) - height_below(s, slope);
}

/* Return the height at x of the highest line with this slope. */
static double highest_at(const struct span *s, double slope, double x)
{
	return height_above(s, slope) + slope * x;
}

static double minus_lowest_at(const struct span *s, double slope, double x)
{
	return -height_below(s, slope) - slope * x;
}

/* Return the slope between `low` and `high` with the greatest value of a concave function. */
static double slope_search(const struct span *s,
	double (*value)(const struct span *s, double slope, double x), double x, double low,
	double high)
{
	for (int i = 0; i < SEARCH_STEPS; i++) {
		const double a = low + (high - low) / 3, b = high - (high - low) / 3;
		if (value(s, a, x) < value(s, b, x))
			low = a;
		else
			high = b;
	}
	return (low + high) / 2;
}

/* Return the last slope on the way from one that fits to a limit that fits. */
static double slope_limit(const struct span *s, double fits, double limit)
{
	if (room_of(s, limit, 0) >= 0)
		return limit;
	for (int i = 0; i < SEARCH_STEPS; i++) {
		const double middle = (fits + limit) / 2;
		if (room_of(s, middle, 0) >= 0)
			fits = middle;
		else
			limit = middle;
	}
	return limit; /* rather one too far than one too few */
}

static double high_at(const struct span *s, double x)
{
	return highest_at(s, slope_search(s, highest_at, x, s->slope_low, s->slope_high), x);
}

static double low_at(const struct span *s, double x)
{
	return -minus_lowest_at(
		s, slope_search(s, minus_lowest_at, x, s->slope_low, s->slope_high), x);
}

static double estimate_at(const struct span *s, double x)
{
	return s->value + s->slope * (x - s->at);
}

/* Return how far from the estimate a line that fits can be at x. */
static double error_at(const struct span *s, double x)
{
	const double y = estimate_at(s, x);
	return fmax(high_at(s, x) - y, y - low_at(s, x));
}

static double middle_at(const struct span *s, double x)
{
	return (high_at(s, x) + low_at(s, x)) / 2;
}

/* Choose the line in the middle of those that fit. Returns false if none fits. */
static bool span_fit(struct span *s)
{
	const double best = slope_search(s, room_of, 0, -FIT_DRIFT_MAX, FIT_DRIFT_MAX);
	if (room_of(s, best, 0) < 0)
		return false;
	s->slope_low = slope_limit(s, best, -FIT_DRIFT_MAX);
	s->slope_high = slope_limit(s, best, FIT_DRIFT_MAX);
	s->at = (s->first + s->last) / 2;
	s->value = middle_at(s, s->at);
	if (s->slope_high - s->slope_low <= DRIFT_KNOWN && s->last > s->first) {
		const double a = middle_at(s, s->first), b = middle_at(s, s->last);
		s->slope = (b - a) / (s->last - s->first);
		s->value = (a + b) / 2;
	} else {
		s->slope = fmin(fmax(0, s->slope_low), s->slope_high);
	}
	return true;
}

static int knot_add(struct fitting *f, const struct span *s, double x)
{
	const int64_t a = moved(f->x0, x);
	int64_t b;
	if (__builtin_add_overflow(a, f->y0, &b))
		return 0;
	return clock_map_add(&f->fit->map, (struct clock_knot){moved(b, estimate_at(s, x)), a});
}

/* Add the line of a span to the result. */
static int span_take(struct fitting *f, const struct span *s)
{
	struct fit *fit = f->fit;
	const double last = s->last > s->first ? s->last : s->first + 1e9;
	const bool is_known = s->slope_high - s->slope_low <= DRIFT_KNOWN;
	fit->error_ns = fmax(fit->error_ns, fmax(error_at(s, s->first), error_at(s, s->last)));
	fit->error_ends_ns = fmax(fit->error_ends_ns, fit->error_ns);
	if (!f->is_begun)
		fit->error_ends_ns =
			fmax(fit->error_ends_ns, error_at(s, fmin(f->first, s->first)));
	/* the last span, as far as is known, reaches to the end */
	fit->drift = f->is_begun ? fit->drift : s->slope;
	fit->has_drift = f->is_begun ? fit->has_drift && is_known : is_known;
	f->is_begun = true;
	const int error = knot_add(f, s, s->first);
	return error ? error : knot_add(f, s, last);
}

static void span_begin(struct fitting *f, struct span *s, uint32_t first, uint32_t count)
{
	*s = (struct span){.upper.points = f->room, .lower.points = f->room + count};
	for (uint32_t i = first; i < first + count; i++) {
		const struct fit_bound *b = &f->bounds[i];
		const struct point p = {distance(b->ns, f->x0),
			distance(b->difference, f->y0) + (b->is_upper ? f->slack : -f->slack)};
		hull_add(b->is_upper ? &s->upper : &s->lower, p, b->is_upper ? 1 : -1);
	}
	s->first = distance(f->bounds[first].ns, f->x0);
	s->last = distance(f->bounds[first + count - 1].ns, f->x0);
}

/* Fit one line to a range of bounds. Returns false if none fits, or a side has no bounds. */
static bool range_fit(struct fitting *f, struct span *s, uint32_t first, uint32_t count)
{
	span_begin(f, s, first, count);
	return s->upper.count && s->lower.count && span_fit(s);
}

/* Return how many bounds from `first` on are needed for one of each side; 0 = there are too few. */
static uint32_t sides_find(const struct fitting *f, uint32_t first, uint32_t end)
{
	for (uint32_t i = first + 1; i < end; i++)
		if (f->bounds[i].is_upper != f->bounds[first].is_upper)
			return i - first + 1;
	return 0;
}

/* Return the greatest number of bounds from `first` on that one line fits; 0 = none. Its time is
 * that of the piece, not of all bounds behind it. */
static uint32_t piece_find(struct fitting *f, struct span *s, uint32_t first, uint32_t end)
{
	const uint32_t rest = end - first;
	uint32_t fits = sides_find(f, first, end), fails = fits;
	if (!fits || !range_fit(f, s, first, fits))
		return 0;
	while (fails == fits && fits < rest) {
		fails = fits < rest / 2 ? 2 * fits : rest;
		if (range_fit(f, s, first, fails))
			fits = fails;
	}
	while (fails - fits > 1) {
		const uint32_t middle = fits + (fails - fits) / 2;
		if (range_fit(f, s, first, middle))
			fits = middle;
		else
			fails = middle;
	}
	return range_fit(f, s, first, fits) ? fits : 0;
}

/* Fit all bounds, by one line or by several, each as long as possible. */
static int pieces_fit(struct fitting *f, uint32_t count)
{
	uint32_t first = 0, taken = 0, two_sided = count - 1;
	struct span s;
	int error = 0;
	if (!sides_find(f, 0, count))
		return -ENOENT;
	while (f->bounds[two_sided].is_upper == f->bounds[count - 1].is_upper)
		two_sided--;
	for (; !error && first < count; first += taken) {
		const uint32_t from = first;
		if (first > two_sided)
			first = two_sided; /* the rest is on one side: begin earlier */
		taken = piece_find(f, &s, first, count);
		if (!taken || (first < from && first + taken < count))
			return -EDOM;
		if (first + taken == count)
			f->fit->error_ends_ns =
				fmax(f->fit->error_ends_ns, error_at(&s, fmax(f->last, s.last)));
		error = span_take(f, &s);
	}
	return error;
}

int fit_bounds(struct fit *ret, struct fit_bound *bounds, uint32_t count, double slack_ns,
	int64_t first_ns, int64_t last_ns)
{
	*ret = (struct fit){0};
	if (!count)
		return -ENOENT;
	qsort(bounds, count, sizeof(*bounds), compare_bounds);
	struct fitting f = {.fit = ret,
		.bounds = bounds,
		.room = calloc(2 * (size_t)count, sizeof(*f.room)),
		.slack = slack_ns,
		.x0 = bounds[0].ns,
		.y0 = bounds[0].difference};
	f.first = distance(first_ns, f.x0);
	f.last = distance(last_ns, f.x0);
	const int error = f.room ? pieces_fit(&f, count) : -ENOMEM;
	free(f.room);
	if (error)
		clock_map_release(&ret->map);
	return error;
}
