/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app.h - how a test program speaks: one line per promise it checked, status 1 when one is broken.
 *
 * Lines go out by a raw system call, so that speaking is not itself a wrapped call. They say
 * nothing that changes from run to run (no pids, no addresses, no times): tests/e2e/transparent.py
 * compares them between an untraced and a traced run. pass: TEXT / FAIL: TEXT     a promise expect
 * COUNT FUNCTION       the report of this tree must hold exactly that many calls
 * (tests/e2e/capture.py) facts: ...                  only with APP_FACTS in the environment: pids
 * and tids for the runner
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

/* Says whether the promise `text` held. Returns `ok`. */
__attribute__((unused)) static int check(int ok, const char *text)
{
	if (!ok)
		__atomic_fetch_add(&app_failures, 1, __ATOMIC_RELAXED);
	say("%s: %s", ok ? "pass" : "FAIL", text);
	return ok;
}

/* As check(), but silent when it held: for loops. */
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

/* A wait that is no wrapped call and does not end early. */
__attribute__((unused)) static void app_sleep_ms(long ms)
{
	struct {
		long seconds, nanoseconds;
	} left = {ms / 1000, ms % 1000 * 1000000};
	while (syscall(SYS_nanosleep, &left, &left) == -1 && errno == EINTR)
		;
}

#endif
