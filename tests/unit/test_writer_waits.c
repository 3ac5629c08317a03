/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_writer_waits.c - tests of what a sleeping thread waits for, and of the machine's time.
 */
#include "tests/unit/test_writer.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "common/machine/time.h"
#include "writer/sched/waits.h"

static bool parses(const char *text, const char *system_call, uint64_t pc)
{
	struct wait wait = {0};
	return wait_parse(text, &wait) && !strcmp(wait.system_call, system_call) && wait.pc == pc;
}

static void texts_are_parsed(void)
{
	struct wait wait = {0};
	char text[64];
	snprintf(text, sizeof(text), "%d 0x1 0x80 0x0 0x0 0x0 0x0 0x7ffe 0x7f10\n", SYS_futex);
	tap(parses(text, "futex", 0x7f10), "a system call has its name and its instruction");
	tap(parses("-1 0x7ffe 0x7f20\n", "page fault", 0x7f20), "no system call is a page fault");
	tap(parses("99999 0x1 0x7f30\n", "system call 99999", 0x7f30),
		"a call without a name has its number");
	tap(!wait_parse("running\n", &wait) && !wait_parse("", &wait),
		"a running thread waits for nothing");
	tap(parses("99999999999999999999999\n", "system call 9223372036854775807", 0),
		"numbers beyond the limits are harmless");
}

/* Wait until the process is seen asleep. Return false after a minute. */
static bool seen_asleep(pid_t pid, struct wait *ret)
{
	const struct timespec pause = {0, 5000000};
	for (int i = 0; i < 12000; i++, nanosleep(&pause, NULL))
		if (wait_look((uint32_t)pid, (uint32_t)pid, ret))
			return true;
	return false;
}

static void processes_are_looked_at(void)
{
	struct wait wait;
	int status;
	fflush(stdout);
	pid_t pid = fork();
	if (!pid)
		for (;;)
			pause();
	tap(seen_asleep(pid, &wait) &&
			(!strcmp(wait.system_call, "pause") || !strcmp(wait.system_call, "ppoll") ||
				!*wait.system_call),
		"a process that sleeps is seen in its system call");
	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	tap(!wait_look((uint32_t)pid, (uint32_t)pid, &wait), "one that is stopped does not wait");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	tap(!wait_look((uint32_t)pid, (uint32_t)pid, &wait), "nor does one that has ended");
	tap(!wait_look((uint32_t)getpid(), (uint32_t)gettid(), &wait), "nor does one that runs");
}

static void machine_is_read(void)
{
	struct machine_time t = {0}, before;
	tap(machine_time_parse("cpu  10 2 3 400 50 6 7 8 9 0\n", 100, &t) &&
			t.busy_ns == 280000000 && t.idle_ns == 4500000000 && t.steal_ns == 80000000,
		"the first line of /proc/stat has busy, idle and stolen time");
	tap(!machine_time_parse("cpu  10 2 3 400 50 6 7\n", 100, &t) &&
			!machine_time_parse("", 100, &t) &&
			!machine_time_parse("cpu  10 2 3 400 50 6 7 8\n", 0, &t),
		"a line without stolen time is refused");
	tap(machine_time_read(&before) && machine_time_read(&t) && t.busy_ns >= before.busy_ns &&
			t.busy_ns + t.idle_ns > 0,
		"this machine's time can be read");
}

int main(void)
{
	machine_is_read();
	texts_are_parsed();
	processes_are_looked_at();
	return tap_end();
}
