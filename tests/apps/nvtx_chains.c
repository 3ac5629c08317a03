/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
/*
 * nvtx_chains.c - NVTX events from functions of known names.
 *
 * The output states the chains that the report must contain. `chain TEXT: FUNCTION...` lists the
 * functions from which the event with this text is marked or ended, innermost first; `no chain
 * TEXT` means that the event was never ended.
 */
#include "app.h"

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>

#define NOINLINE __attribute__((noinline, noclone))

static nvtxRangeId_t id;
static volatile int kept; /* changed after a call, so that no call becomes a jump */

NOINLINE static void ends_inside(void)
{
	nvtxRangePop();
	kept++;
}

NOINLINE static void pushes(const char *text, unsigned us)
{
	nvtxRangePushA(text);
	if (us)
		usleep(us);
	ends_inside();
	kept++;
}

NOINLINE static void deeper(int levels)
{
	if (levels)
		deeper(levels - 1);
	else
		pushes("recursion", 0);
	kept++;
}

NOINLINE static void marks(const char *text)
{
	nvtxMarkA(text);
	kept++;
}

static void handler(int number)
{
	(void)number;
	marks("handler");
}

NOINLINE static void raises(void)
{
	raise(SIGUSR1);
	kept++;
}

NOINLINE static void starts(void)
{
	id = nvtxRangeStartA("started elsewhere");
	kept++;
}

static void *other(void *unused)
{
	starts();
	pushes("other thread", 0);
	nvtxRangePushA("open at its end");
	return unused;
}

NOINLINE static void ends_it(void)
{
	nvtxRangeEnd(id);
	kept++;
}

int main(void)
{
	pthread_t thread;
	signal(SIGUSR1, handler);
	pthread_create(&thread, NULL, other, NULL);
	pthread_join(thread, NULL);
	pushes("slow", 20000);
	for (int i = 0; i < 100; i++)
		pushes("quick", 0);
	deeper(3);
	marks("marked");
	raises();
	ends_it();
	nvtxRangePushA("never ended");
	puts("chain slow: nvtxRangePop ends_inside pushes main");
	puts("chain quick: nvtxRangePop ends_inside pushes main");
	puts("chain other thread: nvtxRangePop ends_inside pushes other");
	puts("chain recursion: nvtxRangePop ends_inside pushes deeper deeper deeper deeper main");
	puts("chain marked: nvtxMarkA marks main");
	puts("chain handler: nvtxMarkA marks handler * raises main");
	puts("chain started elsewhere: nvtxRangeEnd ends_it main");
	puts("no chain open at its end");
	puts("no chain never ended");
	return 0;
}
