/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_program.c - tests of the check of a program's file: scripts whose interpreters are scripts,
 * as many as the kernel runs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/program.h"
#include "tests/unit/tap.h"

#define SCRIPTS 7
#define PROGRAM "/bin/true"

static char folder[] = "/tmp/libtrace-program-XXXXXX";

/* Return the path of the n-th script. Its interpreter is the script before it; that of the first is
 * PROGRAM. */
static const char *script(int n)
{
	static char path[64];
	snprintf(path, sizeof(path), "%s/%d", folder, n);
	return path;
}

static void script_write(int n)
{
	FILE *file = fopen(script(n), "we");
	if (!file)
		abort();
	fprintf(file, "#!%s\n", n == 1 ? PROGRAM : script(n - 1));
	if (fclose(file) || chmod(script(n), 0700))
		abort();
}

/* Execute a file. Returns 0, or the errno of a refusal. */
static int execute(const char *path)
{
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		execl(path, path, (char *)NULL);
		_exit(errno);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
	if (!mkdtemp(folder))
		abort();
	const enum child_verdict whole = program_examine(PROGRAM);
	int most = 0;
	for (int n = 1; n <= SCRIPTS; n++) {
		script_write(n);
		int error = execute(script(n));
		enum child_verdict found = program_examine(script(n));
		check(found == (error ? VERDICT_UNREADABLE : whole),
			"%d scripts before a program: verdict %u, exec says %d", n, found, error);
		most = error ? most : n;
	}
	check(most > 0 && most < SCRIPTS, "the kernel runs up to %d nested scripts", most);
	for (int n = 1; n <= SCRIPTS; n++)
		unlink(script(n));
	rmdir(folder);
	return tap_done();
}
