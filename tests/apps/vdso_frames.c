/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vdso_frames.c - a signal handler that interrupts code of the vdso and makes calls from there.
 *
 * The output is `hit`, and then the last nanosleep() of a handler must have the chain handler, the
 * signal frame, a function of the vdso, clock_gettime(), asks, main. The output is `none` if no
 * signal arrived there in ten seconds.
 */
#include "app.h"

#include <signal.h>
#include <sys/auxv.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

static volatile sig_atomic_t hit;

static void handler(int number, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	uint64_t at = (uint64_t)uc->uc_mcontext.gregs[REG_RIP], vdso = getauxval(AT_SYSINFO_EHDR);
	const struct timespec moment = {0, 1000};
	(void)number, (void)info;
	if (hit || !vdso || at < vdso || at >= vdso + 8192)
		return;
	nanosleep(&moment, NULL);
	hit = 1;
}

__attribute__((noinline)) static uint64_t asks(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec;
}

int main(void)
{
	const struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {0};
	uint64_t end = asks() + 10;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (!hit && asks() < end)
		;
	setitimer(ITIMER_REAL, &never, NULL);
	puts(hit ? "hit" : "none");
	return 0;
}
