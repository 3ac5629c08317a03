/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop.c - SIGINT, SIGTERM and SIGHUP for commands that remove temporary files before they end.
 */
#define _GNU_SOURCE
#include "reader/cli/base/stop.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "reader/cli/base/input_state.h"

volatile sig_atomic_t stop_signal;

static void stop_soon(int number)
{
	stop_signal = number;
}

int stop_or_progress(void *user, const struct report_block *block)
{
	return stop_signal ? -EINTR : cli_progress(user, block);
}

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))
static bool awaited[SIGNALS];
static unsigned waiting; /* number of nested calls of stops_await() */

void stops_await(void)
{
	struct sigaction action = {.sa_handler = stop_soon}, before;
	waiting++;
	for (size_t i = 0; i < SIGNALS; i++)
		if (!awaited[i] && !sigaction(signals[i], NULL, &before) &&
			before.sa_handler != SIG_IGN)
			awaited[i] = !sigaction(signals[i], &action, NULL);
}

void stops_end(void)
{
	waiting -= waiting > 0;
	if (waiting)
		return;
	stop_if_asked();
	for (size_t i = 0; i < SIGNALS; i++)
		if (awaited[i])
			signal(signals[i], SIG_DFL);
	memset(awaited, 0, sizeof(awaited));
}

void stop_if_asked(void)
{
	if (!stop_signal)
		return;
	signal(stop_signal, SIG_DFL);
	raise(stop_signal);
}
