/* SPDX-License-Identifier: Apache-2.0 */
/*
 * switch.c - a program that says when to record: the setup is not recorded, the work is.
 *
 *     cc -Iinclude examples/switch.c -o switch
 *     build/bin/trace run --capture-range=libtraceApi -o switch -- ./switch
 *     build/bin/trace stats switch.rep
 *
 * Nothing is linked with the program, and without a tracer both calls do nothing.
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
