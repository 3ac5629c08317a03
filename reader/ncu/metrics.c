/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - lookup of metrics, their values and units. */
#define _GNU_SOURCE
#include "reader/ncu/metrics.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const Ncu__ProfileMetricResult *ncu_metric_find(
	const struct ncu_results *n, const Ncu__ProfileResult *r, const char *name)
{
	for (size_t i = r->n_metric_results; i-- > 0;) {
		const Ncu__ProfileMetricResult *m = r->metric_results[i];
		if (m->name_id < n->name_count && !strcmp(n->names[m->name_id], name))
			return m;
	}
	return NULL;
}

struct named {
	const char *name;
	size_t index; /* index of the metric in its result */
};

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	const int order = strcmp(x->name, y->name);
	return order ? order : x->index < y->index ? -1 : 1;
}

int ncu_metrics_settle(const struct ncu_results *n, Ncu__ProfileResult *r)
{
	struct named *all = calloc(r->n_metric_results + 1, sizeof(*all));
	size_t count = 0, kept = 0;
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_metric_results; i++)
		if (r->metric_results[i]->name_id < n->name_count)
			all[count++] = (struct named){n->names[r->metric_results[i]->name_id], i};
	qsort(all, count, sizeof(*all), by_name);
	for (size_t i = 0; i + 1 < count; i++)
		if (!strcmp(all[i].name, all[i + 1].name)) {
			ncu__profile_metric_result__free_unpacked(
				r->metric_results[all[i].index], NULL);
			r->metric_results[all[i].index] = NULL;
		}
	free(all);
	for (size_t i = 0; i < r->n_metric_results; i++)
		if (r->metric_results[i])
			r->metric_results[kept++] = r->metric_results[i];
	r->n_metric_results = kept;
	return 0;
}

bool ncu_value_number(const Ncu__ProfileMetricValue *v, double *ret_number)
{
	if (v->has_double_value)
		*ret_number = v->double_value;
	else if (v->has_float_value)
		*ret_number = (double)v->float_value;
	else if (v->has_uint64_value)
		*ret_number = (double)v->uint64_value;
	else if (v->has_uint32_value)
		*ret_number = v->uint32_value;
	else
		return false;
	return true;
}

/* Return the unit in the first row that matches the counter, or the whole name if the pattern
 * has a point. */
static const char *unit_of(const char *name, const char *counter, bool *ret_whole)
{
	static const struct {
		const char *pattern, *unit;
	} rows[] = {
#define UNIT(pattern, unit) {pattern, unit},
#include "reader/ncu/units.def"
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		*ret_whole = strchr(rows[i].pattern, '.') != NULL;
		if (!fnmatch(rows[i].pattern, *ret_whole ? name : counter, 0))
			return rows[i].unit;
	}
	return "";
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Return whether the counter sums up resident warps or blocks over cycles; then its unit per
 * cycle is the counter's unit. */
static bool counts_residents(const char *counter, const char *unit)
{
	if (strcmp(unit, "warp") != 0 && strcmp(unit, "block") != 0 &&
		strcmp(unit, "register") != 0)
		return false;
	return !strstr(counter, "_launched") && !strstr(counter, "_completed") &&
		!strstr(counter, "_restored");
}

/* Combine the unit of a counter with that of its submetric. */
static void unit_by_submetric(
	const char *submetric, const char *counter, const char *unit, char *ret_unit)
{
	const bool is_by_cycle =
		begins(submetric, "per_cycle") || begins(submetric, "peak_sustained");
	const char *by = !strcmp(submetric, "per_second")         ? "/second"
		: is_by_cycle && !counts_residents(counter, unit) ? "/cycle"
								  : "";
	if (is_by_cycle && !strcmp(unit, "cycle"))
		unit = by = "";
	snprintf(ret_unit, NCU_UNIT_BYTES, "%s%s", unit, by);
}

#define COUNTER_BYTES 256u

void ncu_unit(const char *name, char ret_unit[NCU_UNIT_BYTES])
{
	char counter[COUNTER_BYTES];
	const char *group = strstr(name, ".Triage"), *at = group ? strchr(group + 1, '.') : NULL;
	if (!at && begins(name, "Triage"))
		at = strchr(name, '.');
	name = at ? at + 1 : name;
	const char *last = strrchr(name, '.');
	const char *submetric = last ? last + 1 : "";
	snprintf(counter, sizeof(counter), "%.*s", (int)strcspn(name, "."), name);
	bool whole;
	const char *unit = unit_of(name, counter, &whole);
	if (!whole && begins(submetric, "pct"))
		unit = "%";
	if (whole || !*unit || *unit == '%')
		snprintf(ret_unit, NCU_UNIT_BYTES, "%s", unit);
	else
		unit_by_submetric(submetric, counter, unit, ret_unit);
}

struct scale {
	double least;
	const char *unit;
};

/* Replace the part `base` of a unit, found at `at`, by the greatest of `scales` that the number
 * reaches. Negative numbers and NaN keep the base unit. Returns the divisor. */
static double scale_by(
	const struct scale *scales, size_t count, char *unit, char *at, size_t base, double number)
{
	char rest[NCU_UNIT_BYTES];
	for (size_t i = count; i-- > 0;)
		if (number >= scales[i].least) {
			snprintf(rest, sizeof(rest), "%s", at + base);
			snprintf(at, NCU_UNIT_BYTES - (size_t)(at - unit), "%s%.32s",
				scales[i].unit, rest);
			return scales[i].least;
		}
	return 1;
}

double ncu_unit_scale(char unit[NCU_UNIT_BYTES], double number)
{
	static const struct scale bytes[] = {
		{1e3, "Kbyte"}, {1e6, "Mbyte"}, {1e9, "Gbyte"}, {1e12, "Tbyte"}, {1e15, "Pbyte"}};
	static const struct scale times[] = {{1e3, "usecond"}, {1e6, "msecond"}, {1e9, "second"}};
	static const struct scale rates[] = {
		{1e3, "/msecond"}, {1e6, "/usecond"}, {1e9, "/nsecond"}};
	char *at = strstr(unit, "byte");
	if (at && (at == unit || at[-1] == '/'))
		return scale_by(bytes, 5, unit, at, strlen("byte"), number);
	if (begins(unit, "nsecond"))
		return scale_by(times, 3, unit, unit, strlen("nsecond"), number);
	at = strstr(unit, "/second");
	return at ? scale_by(rates, 3, unit, at, strlen("/second"), number) : 1;
}

void ncu_number_text(double number, char ret_text[NCU_NUMBER_BYTES])
{
	const bool is_whole = number == floor(number);
	if (isfinite(number)) /* + 0: no "-0" */
		snprintf(ret_text, NCU_NUMBER_BYTES, is_whole ? "%.0f" : "%.2f", number + 0.0);
	else
		snprintf(ret_text, NCU_NUMBER_BYTES, isnan(number) ? "nan" : "inf");
}
