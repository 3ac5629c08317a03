/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late_daemon.c - the program ends at once; its remaining child makes its first wrapped call only
 * later, and a grandchild later still.
 *
 * The tree must not end while one of its processes lives, whether that process has recorded
 * anything or not; the late calls must be in the report of the tree. Both processes keep the
 * standard output open, so a reader of it sees the end.
 */
#include "app.h"

#include <fcntl.h>
#include <sys/wait.h>

#define CALLS 9

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
	work();
	if (fork())
		_exit(3);
	app_sleep_ms(400);
	if (fork()) {
		work();
		_exit(0);
	}
	app_sleep_ms(800);
	work();
	check(1, "the last of the tree");
	say("expect %d pread", CALLS * 3);
	return 0;
}
