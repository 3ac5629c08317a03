/* SPDX-License-Identifier: Apache-2.0 */
/* window.c - parser of time windows, and lookup of NVTX ranges. */
#define _GNU_SOURCE
#include "reader/sql/window.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "reader/sql/reports.h"

static const struct {
	const char *names[2];
	double ns;
} units[] = {
	{{"ns", "nsec"}, 1},
	{{"us", "usec"}, 1e3},
	{{"ms", "msec"}, 1e6},
	{{"s", "sec"}, 1e9},
	{{"m", "min"}, 60e9},
	{{"h", "hour"}, 3600e9},
};

/* Return the ns of a unit; 0 = unknown unit. */
static double unit_ns(const char *name, size_t bytes)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		for (size_t n = 0; n < 2; n++)
			if (strlen(units[i].names[n]) == bytes &&
				!strncmp(units[i].names[n], name, bytes))
				return units[i].ns;
	return bytes ? 0 : 1;
}

/* Parse a time such as "1s2ms3". A whole number without a unit keeps all its digits. */
static bool time_parse(const char *text, size_t bytes, int64_t *ret_ns)
{
	char copy[128], *at = copy;
	double sum = 0;
	if (bytes >= sizeof(copy))
		return false;
	memcpy(copy, text, bytes);
	copy[bytes] = 0;
	if (copy[strspn(copy, "+-0123456789")] == 0 && strpbrk(copy, "0123456789")) {
		errno = 0;
		*ret_ns = strtoll(copy, &at, 10);
		return !*at && !errno;
	}
	while (*at) {
		if (!strchr("+-.0123456789", *at))
			return false;
		char *unit;
		double number = strtod(at, &unit);
		size_t letters = 0;
		while (isalpha((unsigned char)unit[letters]))
			letters++;
		double ns = unit == at ? 0 : unit_ns(unit, letters);
		if (ns == 0)
			return false;
		sum += number * ns;
		at = unit + letters;
	}
	*ret_ns = (int64_t)sum;
	return isfinite(sum) && fabs(sum) < 9e18;
}

bool window_parse(const char *text, struct sql_window *ret_window)
{
	const char *slash = strchr(text, '/');
	struct sql_window w = {INT64_MIN, INT64_MAX, false, 0, 0};
	if (!slash || !(slash > text || slash[1]) ||
		(slash > text && !time_parse(text, (size_t)(slash - text), &w.start_ns)) ||
		(slash[1] && !time_parse(slash + 1, strlen(slash + 1), &w.end_ns)))
		return false;
	*ret_window = w;
	return w.start_ns <= w.end_ns;
}

static int range_found(void *user, const struct sql_value *values, int count)
{
	struct sql_window *w = user;
	(void)count;
	w->start_ns = values[0].integer;
	w->end_ns = values[1].integer;
	w->pid = (uint32_t)values[2].integer;
	w->all = false;
	return 0;
}

int window_of_range(struct sql *s, const char *range, struct sql_window *ret_window)
{
	const char *slash = strrchr(range, '/'), *end = range + strlen(range), *domain;
	uint64_t index = 0;
	char *statement = NULL;
	size_t size;
	if (slash && slash[1] && text_to_number(slash + 1, &index))
		end = slash;
	else
		index = 0;
	domain = memrchr(range, '@', (size_t)(end - range));
	FILE *out = open_memstream(&statement, &size);
	if (!out)
		return -ENOMEM;
	fputs("SELECT start, \"end\", pid FROM NVTX_RANGES WHERE name = '", out);
	for (const char *c = domain ? domain + 1 : end; c < end; c++)
		fprintf(out, *c == '\'' ? "''" : "%c", *c);
	fputc(':', out);
	for (const char *c = range; c < (domain ? domain : end); c++)
		fprintf(out, *c == '\'' ? "''" : "%c", *c);
	fputc('\'', out);
	if (ret_window->pid)
		fprintf(out, " AND pid = %u", ret_window->pid);
	fprintf(out, " ORDER BY start, id LIMIT 1 OFFSET %llu",
		(unsigned long long)(index > INT64_MAX ? INT64_MAX : index));
	ret_window->all = true;
	int error = fclose(out) ? -ENOMEM : 0;
	const struct sql_visitor visitor = {ret_window, NULL, range_found};
	if (!error)
		error = sql_run(s, report_shared("nvtx"), NULL);
	if (!error)
		error = sql_run(s, statement, &visitor);
	free(statement);
	if (!error && ret_window->all) {
		snprintf(s->cause, sizeof(s->cause), "no NVTX range named '%s'", range);
		error = -ENOENT;
	}
	return error;
}
