/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_fact.c - the facts of an overview: labels and their order.
 */
#define _GNU_SOURCE
#include "reader/cli/report/overview_fact.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The labels of facts in their order. */
static const char *const labels[] = {"file", "command", "ended", "lasted", "GPU", "device", "host",
	"began", "system", "version", "events", "problems", "size", "processes", "receipt",
	"callchains cut", "tracer's own time", "clock", "clock discontinuities"};
#define LABELS (sizeof(labels) / sizeof(labels[0]))

/* Return the index of a label; LABELS if there is no such label. */
static size_t label_rank(const char *label)
{
	size_t rank = 0;
	while (rank < LABELS && strcmp(labels[rank], label) != 0)
		rank++;
	return rank;
}

void overview_fact(struct overview *o, const char *label, const char *format, ...)
{
	va_list arguments;
	char *value = NULL;
	va_start(arguments, format);
	size_t rank = label_rank(label), at = o->count;
	if (rank < LABELS && at < OVERVIEW_ROWS_MAX && vasprintf(&value, format, arguments) >= 0) {
		for (; at && label_rank(o->rows[at - 1].label) > rank; at--)
			o->rows[at] = o->rows[at - 1];
		o->rows[at].label = labels[rank];
		o->rows[at].value = value;
		o->count++;
	}
	va_end(arguments);
}

bool overview_time(int64_t realtime_ns, char *text)
{
	const time_t seconds = (time_t)(realtime_ns / 1000000000);
	struct tm utc;
	return gmtime_r(&seconds, &utc) &&
		strftime(text, OVERVIEW_TIME_BYTES, "%Y-%m-%d %H:%M:%S UTC", &utc);
}
