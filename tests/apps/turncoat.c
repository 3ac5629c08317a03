/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turncoat.c - a root server with a worker that drops its privileges and is then compromised. The
 * worker overwrites the writable memory that it shares with the tracer, and tries to make the
 * read-only part writable.
 *
 * Usage: turncoat MODE [FROM TO] [wait]
 *
 * MODE: overwrite with `zeros` or with `random` bytes of a fixed seed. With FROM and TO, replace
 * each text FROM by TO instead. The parent and an honest child make their calls before, during and
 * after that. With `wait` the program prints "scribbled" and continues when it reads a line.
 *
 * The calls of the parent and of honest children must be in the report, and the report must be at
 * the requested path. Without root the worker runs as the same user; the requirements are the same.
 */
#include "app.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define CALLS 2000

static int zero_fd;

/* Results that the compromised worker reports to its parent. */
static volatile struct {
	int opened, written, done;
} * told;

static void work(void)
{
	char byte;
	for (int i = 0; i < CALLS; i++)
		require(pread(zero_fd, &byte, 1, 0) == 1, "pread");
}

static void replace(char *at, size_t bytes, const char *from, const char *to)
{
	for (char *found; (found = memmem(at, bytes, from, strlen(from) + 1));) {
		bytes -= (size_t)(found + 1 - at);
		at = found + 1;
		memcpy(found, to, strlen(to) + 1);
	}
}

static void scribble(char *at, size_t bytes, char **argv)
{
	static uint64_t state = 88172645463325252ull;
	if (argv[2] && argv[3]) {
		replace(at, bytes, argv[2], argv[3]);
		return;
	}
	for (size_t i = 0; i + 8 <= bytes; i += 8) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		uint64_t word = *argv[1] == 'z' ? 0 : state;
		memcpy(at + i, &word, 8);
	}
}

/* Overwrite each shared mapping of the tracer that is writable or can be made writable: its first
 * 64 KiB, because the used parts of a spool come first. Collects the mappings before the first
 * write, and makes no traced call, which would crash on the overwritten spool. */
static void turn(char **argv)
{
	static char text[1 << 18], *begins[64];
	static size_t bytes[64];
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY), count = 0;
	long length = 0, got;
	while ((got = syscall(SYS_read, fd, text + length, sizeof(text) - 1 - (size_t)length)) > 0)
		length += got;
	for (char *line = strtok(text, "\n"); line && count < 64; line = strtok(NULL, "\n")) {
		unsigned long begin, end;
		char rights[5];
		if (sscanf(line, "%lx-%lx %4s", &begin, &end, rights) != 3 || rights[3] != 's' ||
			!strstr(line, "libtrace-"))
			continue;
		if (rights[1] != 'w' &&
			syscall(SYS_mprotect, begin, end - begin, PROT_READ | PROT_WRITE))
			continue;
		told->opened += rights[1] != 'w';
		begins[count] = (char *)begin;
		bytes[count++] = end - begin < 65536 ? end - begin : 65536;
	}
	told->written = count;
	for (int i = 0; i < count; i++)
		scribble(begins[i], bytes[i], argv);
}

static pid_t start_traitor(char **argv)
{
	pid_t pid = fork();
	if (pid)
		return pid;
	work(); /* as root: the worker writes to its own spool */
	if (!geteuid())
		require(!setgroups(0, NULL) && !setresgid(65534, 65534, 65534) &&
				!setresuid(65534, 65534, 65534),
			"another user");
	turn(argv);
	told->done = 1;
	for (;;) /* a call may crash now, since the spool is overwritten */
		;
}

static pid_t start_honest(void)
{
	pid_t pid = fork();
	if (pid)
		return pid;
	work();
	app_sleep_ms(300); /* the turncoat is at work */
	work();
	_exit(app_result());
}

int main(int argc, char **argv)
{
	int status = 1;
	char line[8];
	if (argc < 2)
		return 2;
	zero_fd = open("/dev/zero", O_RDONLY);
	told = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	work();
	pid_t honest = start_honest();
	app_sleep_ms(100);
	pid_t traitor = start_traitor(argv);
	for (int i = 0; i < 5000 && !told->done; i++)
		app_sleep_ms(1);
	check(told->done && !told->opened, "what was mapped for reading stays so");
	check(!getenv("LIBTRACE_TREE") || told->written, "something was mapped for writing");
	kill(traitor, SIGKILL);
	require(waitpid(traitor, &status, 0) == traitor, "waitpid");
	require(waitpid(honest, &status, 0) == honest && !status,
		"the honest child ends as without the tracer");
	if (argc == 3 || argc == 5) {
		say("scribbled");
		require(syscall(SYS_read, 0, line, sizeof(line)) > 0, "a line");
	}
	work();
	app_sleep_ms(250); /* if the worker had closed the gate, these calls would be missing */
	work();
	pid_t later = start_honest();
	require(waitpid(later, &status, 0) == later && !status, "waitpid");
	return app_result();
}
