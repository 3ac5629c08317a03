/* SPDX-License-Identifier: Apache-2.0 */
/*
 * switch.c - a program that switches recording on for its work, but not for its setup.
 *
 *     cc -Iinclude examples/switch.c -o switch
 *     build/bin/trace run --capture-range=libtraceApi -o switch -- ./switch
 *     build/bin/trace stats switch.rep
 *
 * The program needs no library of the tracer. Without the tracer, libtrace_start() and
 * libtrace_stop() do nothing.
 */
#include <stdio.h>
#include <time.h>

#include "libtrace.h"

static void sleep_ms(long milliseconds)
{
	struct timespec time = {0, milliseconds * 1000000};
	nanosleep(&time, NULL);
}

int main(void)
{
	sleep_ms(20); /* setup */
	libtrace_start();
	for (int i = 0; i < 3; i++)
		sleep_ms(5); /* the work */
	libtrace_stop();
	puts("done");
	return 0;
}
