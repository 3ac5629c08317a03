/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_companion.c - checks that the end of a companion's output is found although a signal
 * interrupts the wait.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "reader/base/companion.h"
#include "tests/unit/tap.h"

static void ignore(int signal)
{
	(void)signal;
}

int main(void)
{
	const char *const arguments[] = {"-c", "sleep 0.3", NULL};
	char text[16] = "x";
	sigaction(SIGALRM, &(struct sigaction){.sa_handler = ignore}, NULL);
	setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_usec = 100000}}, NULL);
	int status = companion_run("/bin/sh", arguments, false, 5000, text, sizeof(text));
	check(!status && !*text, "a program without output ends after a signal: status %d", status);
	return tap_done();
}
