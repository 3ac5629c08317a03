/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tap.h - functions that make a C program a TAP test: check() for each condition, skip() for one
 * that cannot be tested here, tap_done() at the
 * end.
 */
#ifndef TESTS_UNIT_TAP_H
#define TESTS_UNIT_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int tap_count, tap_failures;

/* Print the result of one check. The format states the condition; its arguments are the values
 * found, if they help. */
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

/* Print that a check was left out, and why. */
__attribute__((unused)) static void skip(const char *what, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++tap_count, what, why);
}

/* Print the plan; return the exit status for main. */
__attribute__((unused)) static int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failures != 0;
}

#endif
