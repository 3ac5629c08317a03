/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late_children.c - the program ends at once; each of its many remaining children makes its first
 * wrapped call only later, most of them after some have ended.
 *
 * The tree must wait for all of them, however many there are.
 */
#include "app.h"

#include <fcntl.h>

#define CHILDREN 150
#define EARLY 64
#define CALLS 7

/* No function is called: even syscall() would be the child's first call. */
static void sleep_bare(long ms)
{
#ifdef __x86_64__
	struct {
		long seconds, nanoseconds;
	} left = {ms / 1000, ms % 1000 * 1000000};
	long result = SYS_nanosleep;
	__asm__ volatile("syscall" : "+a"(result) : "D"(&left), "S"(NULL) : "rcx", "r11", "memory");
#else
	app_sleep_ms(ms);
#endif
}

static void work(void)
{
	char byte;
	int fd = open("/dev/zero", O_RDONLY);
	for (int i = 0; i < CALLS; i++)
		require(pread(fd, &byte, 1, 0) == 1, "pread");
	close(fd);
}

int main(void)
{
	say("expect %d pread", CALLS * (CHILDREN + 1));
	work();
	for (int i = 0; i < CHILDREN; i++)
		if (!fork()) {
			sleep_bare(i < EARLY ? 100 : 2000);
			work();
			_exit(0);
		}
	_exit(0);
}
