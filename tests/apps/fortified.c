/* SPDX-License-Identifier: Apache-2.0 */
// CFLAGS: -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
/*
 * fortified.c - built with checks for buffer sizes, so that it calls __read_chk and similar
 * functions.
 *
 * The fortified entry points must be traced under the plain names, and must still stop an
 * overflow.
 */
#include "app.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define CALLS 6

static char *volatile hidden; /* keeps the compiler from proving that a size is valid */

static void calls(size_t size)
{
	char buffer[32];
	struct pollfd one[1] = {{-1, 0, 0}};
	int pair[2], zero = open("/dev/zero", O_RDONLY);
	hidden = buffer;
	require(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
	for (int i = 0; i < CALLS; i++) {
		require(read(zero, buffer, size) == (ssize_t)size, "read");
		require(pread(zero, buffer, size, 0) == (ssize_t)size, "pread");
		require(send(pair[0], buffer, size, 0) == (ssize_t)size &&
				recv(pair[1], buffer, size, 0) == (ssize_t)size,
			"recv");
		require(poll(one, size > 16 ? 0 : 1, 0) == 0, "poll");
	}
}

static void overflow(size_t size)
{
	char small[8];
	int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
	dup2(null, 2); /* glibc says "buffer overflow detected" */
	hidden = small;
	if (read(zero, small, size) > 0)
		_exit(9);
	_exit(10);
}

int main(int argc, char **argv)
{
	(void)argv;
	int status = 0;
	calls(15 + (size_t)argc);
	pid_t pid = fork();
	if (!pid)
		overflow(15 + (size_t)argc);
	check(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT,
		"an overflow is stopped");
	say("expect %d pread", CALLS);
	say("expect %d recv", CALLS);
	say("expect %d poll", CALLS);
	return app_result();
}
