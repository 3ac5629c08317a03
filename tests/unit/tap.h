/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tap.h - the few lines that make a C program a TAP test: check() per promise, tap_done() at the
 * end.
 */
#ifndef TESTS_UNIT_TAP_H
#define TESTS_UNIT_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int tap_count, tap_failures;

/* One promise. The text behind the dash is the format; what was found goes into it where that
 * helps. */
__attribute__((format(printf, 2, 3), unused)) static bool check(bool holds, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	printf("%s %d - ", holds ? "ok" : "not ok", ++tap_count);
	vprintf(format, list);
	printf("\n");
	va_end(list);
	tap_failures += !holds;
	return holds;
}

/* The plan, and the exit status for main to return. */
__attribute__((unused)) static int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failures != 0;
}

#endif
