/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
// LINK: -ldl
/*
 * capture_ranges.c - makes calls inside and outside of capture ranges, with a function of libc for
 * each kind of place, so that the calls in the report show what was recorded
 * (tests/e2e/capture_range.py has their numbers).
 *
 * Usage: capture_ranges [processes | windows [waits] | signals | signal_names]
 */
#define _GNU_SOURCE
#include <nvtx3/nvToolsExt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libtrace.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* sigset */

#define ROUNDS 3

static void outside(void)
{
	usleep(1);
}

static void inside(void)
{
	if (sched_yield())
		abort();
}

static nvtxEventAttributes_t message(const char *text)
{
	nvtxEventAttributes_t a = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
	a.messageType = NVTX_MESSAGE_TYPE_ASCII;
	a.message.ascii = text;
	return a;
}

static void ranges(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("a domain"),
			   other = nvtxDomainCreateA("other, domain");
	nvtxEventAttributes_t step = message("step"), registered = {0};
	registered = message(NULL);
	registered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	registered.message.registered = nvtxDomainRegisterStringA(domain, "registered");
	for (int i = 0; i < ROUNDS; i++) {
		outside();
		nvtxRangePushA("step");
		nvtxRangePushA("inner");
		inside();
		nvtxRangePop();
		nvtxMarkA("mark inside");
		nvtxRangePop();
		nvtxMarkA("mark outside");
		outside();
		nvtxDomainRangePushEx(domain, &step);
		fsync(-1);
		nvtxDomainRangePop(domain);
		nvtxDomainRangePushEx(other, &step);
		fsync(-1);
		nvtxDomainRangePop(other);
		nvtxDomainRangePushEx(domain, &registered);
		nvtxDomainRangePop(domain);
		nvtxRangeId_t id = nvtxDomainRangeStartEx(domain, &registered);
		fdatasync(-1);
		nvtxDomainRangeEnd(domain, id);
		outside();
		libtrace_start();
		libtrace_start();
		syncfs(-1);
		libtrace_stop();
		libtrace_stop();
	}
}

/* A child that is created inside a range, and one that is killed inside a range of its own. */
static void processes(void)
{
	nvtxRangePushA("step");
	if (fork() == 0) {
		inside();
		_exit(0);
	}
	wait(NULL);
	nvtxRangePop();
	outside();
	if (fork() == 0) {
		nvtxRangePushA("step");
		inside();
		raise(SIGKILL);
	}
	wait(NULL);
	/* The writer finds the child dead; the test creates a file when it sees that in the report.
	 */
	for (int i = 0; i < 60000 && access("closed", F_OK); i++)
		usleep(1000);
	for (int i = 0; i < 10; i++)
		fsync(-1);
}

static void own_handler(int number)
{
	(void)number;
}

#define WINDOWS 20

/* Ranges one after the other, for half a second; the last one stays open. Before the second half,
 * wait for a file `killed` if so asked. */
static void windows(int waits)
{
	for (int i = 0; i < WINDOWS; i++) {
		while (waits && i == WINDOWS / 2 && access("killed", F_OK))
			usleep(1000);
		nvtxRangePushA("step");
		inside();
		if (i < WINDOWS - 1)
			nvtxRangePop();
		usleep(25000);
	}
}

/* The program sees the action of the signal that it expects. */
static int signals(void)
{
	struct sigaction action, mine = {.sa_handler = own_handler};
	if (sigaction(SIGUSR2, NULL, &action) || action.sa_handler != SIG_DFL || action.sa_flags)
		return 10;
	inside();
	kill(getpid(), SIGUSR2); /* opens */
	syncfs(-1);
	usleep(80000);
	kill(getpid(), SIGUSR2); /* closes */
	inside();
	if (signal(SIGUSR2, own_handler) != SIG_DFL)
		return 11;
	kill(getpid(), SIGUSR2); /* the signal is the program's own now */
	if (sigaction(SIGUSR2, &mine, &action) || action.sa_handler != own_handler)
		return 12;
	inside();
	return 0;
}

/* The same by the other names of signal(), each in a process of its own. */
static int signal_names(void)
{
	sighandler_t (*const functions[])(int, sighandler_t) = {
		signal, ssignal, sysv_signal, __sysv_signal, sigset};
	int status;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (!fork())
			_exit(functions[i](SIGUSR2, own_handler) != SIG_DFL);
		if (wait(&status) < 0 || status)
			return 20 + (int)i;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "processes"))
		processes();
	else if (argc > 1 && !strcmp(argv[1], "windows"))
		windows(argc > 2);
	else if (argc > 1 && !strcmp(argv[1], "signal_names"))
		return signal_names();
	else if (argc > 1 && !strcmp(argv[1], "signals"))
		return signals();
	else
		ranges();
	return 0;
}
