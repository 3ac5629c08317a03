/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stdio_untouched.c - checks its standard streams, arguments and environment.
 *
 * Descriptors 0 to 2 must keep type, flags, offset and buffering. argv, the working directory,
 * umask, priority, limits and the environment (except the tracer's own variables) must be
 * untouched. Closing stdout early must not harm anybody.
 */
#include "app.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

extern char **environ;

static void streams(void)
{
	for (int fd = 0; fd < 3; fd++) {
		struct stat info = {0};
		fstat(fd, &info);
		say("fd %d: type %o flags %o fd-flags %d offset %ld terminal %d", fd,
			info.st_mode & S_IFMT, fcntl(fd, F_GETFL), fcntl(fd, F_GETFD),
			(long)lseek(fd, 0, SEEK_CUR), isatty(fd));
	}
}

static void limits(void)
{
	static const int kinds[] = {
		RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_STACK, RLIMIT_FSIZE, RLIMIT_CORE, RLIMIT_MEMLOCK};
	for (int i = 0; i < 6; i++) {
		struct rlimit limit;
		getrlimit(kinds[i], &limit);
		say("limit %d: %llx %llx", i, (unsigned long long)limit.rlim_cur,
			(unsigned long long)limit.rlim_max);
	}
}

static void environment(void)
{
	for (char **e = environ; *e; e++)
		if (strncmp(*e, "LD_PRELOAD=", 11) && strncmp(*e, "LIBTRACE_", 9))
			say("environment: %s", *e);
}

int main(int argc, char **argv)
{
	char folder[4096];
	printf("buffered before "); /* stays in the buffer until the end, or goes out at once on a
				       terminal */
	streams();
	limits();
	environment();
	for (int i = 1; i < argc; i++)
		say("argument %d: %s", i, argv[i]);
	say("folder %s, umask %o, priority %d", getcwd(folder, sizeof(folder)), umask(022),
		getpriority(PRIO_PROCESS, 0));
	printf("buffered after\n");
	fflush(stdout);
	fprintf(stderr, "to stderr\n");
	fclose(stdin);
	return app_result();
}
