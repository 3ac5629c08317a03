/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app.h - output of a test program: one line per condition that it checked, status 1 if one is
 * false.
 *
 * Lines are written by a raw system call, so that output is not itself a wrapped call. They contain
 * nothing that changes from run to run (no pids, no addresses, no times): tests/e2e/transparent.py
 * compares them between an untraced and a traced run.
 *
 *     pass: TEXT, FAIL: TEXT     the result of a condition
 *     expect COUNT FUNCTION      the report of this tree must contain exactly that many calls
 *                                (tests/e2e/capture.py)
 *     facts: ...                 pids and tids for the runner, only if APP_FACTS is set
 */
#ifndef TESTS_APPS_APP_H
#define TESTS_APPS_APP_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int app_failures;

__attribute__((unused)) static void app_write(const char *text, int length)
{
	int saved = errno;
	if (syscall(SYS_write, 1, text, length) != length)
		app_failures++;
	errno = saved;
}

__attribute__((unused, format(printf, 1, 2))) static void say(const char *format, ...)
{
	char line[512];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(line, sizeof(line) - 1, format, arguments);
	va_end(arguments);
	if (length > (int)sizeof(line) - 2)
		length = (int)sizeof(line) - 2;
	line[length++] = '\n';
	app_write(line, length);
}

/* Print whether the condition that `text` describes is true. Return `ok`. */
__attribute__((unused)) static int check(int ok, const char *text)
{
	if (!ok)
		__atomic_fetch_add(&app_failures, 1, __ATOMIC_RELAXED);
	say("%s: %s", ok ? "pass" : "FAIL", text);
	return ok;
}

/* Check the condition, and print it only if it is false: for loops. */
__attribute__((unused)) static int require(int ok, const char *text)
{
	return ok || check(0, text);
}

__attribute__((unused)) static int app_facts(void)
{
	return getenv("APP_FACTS") != NULL;
}

__attribute__((unused)) static int app_result(void)
{
	return app_failures ? 1 : 0;
}

__attribute__((unused)) static int app_tid(void)
{
	return (int)syscall(SYS_gettid);
}

/* Wait without a wrapped call, and without ending early. */
__attribute__((unused)) static void app_sleep_ms(long ms)
{
	struct {
		long seconds, nanoseconds;
	} left = {ms / 1000, ms % 1000 * 1000000};
	while (syscall(SYS_nanosleep, &left, &left) == -1 && errno == EINTR)
		;
}

#endif
