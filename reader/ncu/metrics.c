/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "reader/ncu/metrics.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const Ncu__ProfileMetricResult *ncu_metric_find(
	const struct ncu_results *n, const Ncu__ProfileResult *r, const char *name)
{
	for (size_t i = 0; i < r->n_metric_results; i++) {
		const Ncu__ProfileMetricResult *m = r->metric_results[i];
		if (m->name_id < n->name_count && !strcmp(n->names[m->name_id], name))
			return m;
	}
	return NULL;
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

/* The first row that fits the counter, or the whole name if the pattern has a point. */
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

/* What follows the unit of the counter. */
static const char *unit_of_submetric(const char *submetric, const char *unit)
{
	if (!strcmp(submetric, "per_second"))
		return "/second";
	if ((begins(submetric, "per_cycle") || begins(submetric, "peak_sustained")) &&
		strcmp(unit, "warp") != 0)
		return "/cycle";
	return "";
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
	snprintf(ret_unit, NCU_UNIT_BYTES, "%s%s", unit,
		!whole && *unit && *unit != '%' ? unit_of_submetric(submetric, unit) : "");
}

struct scale {
	double least;
	const char *prefix;
};

static double scale_by(
	const struct scale *scales, size_t count, char *unit, double number, const char *base)
{
	char rest[NCU_UNIT_BYTES];
	for (size_t i = count; i-- > 0;)
		if (fabs(number) >= scales[i].least) {
			snprintf(rest, sizeof(rest), "%s", unit + strlen(base));
			snprintf(unit, NCU_UNIT_BYTES, "%s%s%.32s", scales[i].prefix, base, rest);
			return scales[i].least;
		}
	return 1;
}

/* Events per second become events per shorter times. */
static double scale_rate(char *unit, double number)
{
	char *second = strstr(unit, "/second");
	if (!second || fabs(number) < 1e9)
		return 1;
	memcpy(second, "/nsecond", sizeof("/nsecond"));
	return 1e9;
}

double ncu_unit_scale(char unit[NCU_UNIT_BYTES], double number)
{
	static const struct scale bytes[] = {{1e3, "K"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}};
	char *at = strstr(unit, "byte");
	if (at && (at == unit || at[-1] == '/')) {
		char part[NCU_UNIT_BYTES];
		snprintf(part, sizeof(part), "%s", at);
		double by = scale_by(bytes, 4, part, number, "byte");
		snprintf(at, NCU_UNIT_BYTES - (size_t)(at - unit), "%s", part);
		return by;
	}
	if (!strcmp(unit, "nsecond")) {
		static const char *const names[] = {"nsecond", "usecond", "msecond", "second"};
		double by = 1;
		int i = 0;
		for (; i < 3 && fabs(number) >= by * 1e3; i++)
			by *= 1e3;
		snprintf(unit, NCU_UNIT_BYTES, "%s", names[i]);
		return by;
	}
	return scale_rate(unit, number);
}

void ncu_number_text(double number, char ret_text[NCU_NUMBER_BYTES])
{
	const bool is_whole = number == floor(number);
	snprintf(ret_text, NCU_NUMBER_BYTES, is_whole ? "%.0f" : "%.2f", number);
}
