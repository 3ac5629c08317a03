/* SPDX-License-Identifier: Apache-2.0 */
/*
 * home.c - the paths of libtrace.so, libtrace-writer and the files installed with them.
 */
#define _GNU_SOURCE
#include "reader/cli/base/home.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "reader/cli/base/message.h"

static bool folder_fill(struct home *h, const char *folder)
{
	char real[PATH_MAX];
	if (!realpath(folder, real))
		return false;
	int a = snprintf(h->library, sizeof(h->library), "%s/libtrace.so", real);
	int b = snprintf(h->writer, sizeof(h->writer), "%s/libtrace-writer", real);
	int c = snprintf(h->reader, sizeof(h->reader), "%s/libtrace-reader.so", real);
	int d = snprintf(h->python, sizeof(h->python), "%s/python", real);
	bool fits = a > 0 && b > 0 && c > 0 && d > 0 && a < PATH_MAX && b < PATH_MAX &&
		c < PATH_MAX && d < PATH_MAX;
	return fits && !access(h->library, R_OK) && !access(h->writer, X_OK);
}

int home_program(char *ret_path)
{
	ssize_t length = readlink("/proc/self/exe", ret_path, PATH_MAX - 1);
	if (length > 0) {
		ret_path[length] = 0;
		return 0;
	}
	const char *given =
		(const char *)(uintptr_t)getauxval(AT_EXECFN); /* used if there is no /proc */
	return given && realpath(given, ret_path) ? 0 : -ENOENT;
}

static bool beside_program(struct home *h)
{
	char path[PATH_MAX + 32];
	if (home_program(path))
		return false;
	char *slash = strrchr(path, '/');
	strcpy(slash ? slash : path, "/../lib/libtrace");
	return folder_fill(h, path);
}

int home_find(struct home *h)
{
	const char *folder = secure_getenv("LIBTRACE_HOME");
	if (folder && *folder) {
		if (folder_fill(h, folder))
			return 0;
		cli_error("cannot find libtrace.so and libtrace-writer in LIBTRACE_HOME '%s'",
			folder);
		return -ENOENT;
	}
	if (beside_program(h))
		return 0;
	cli_error("cannot find libtrace.so and libtrace-writer in ../lib/libtrace beside trace; "
		  "set LIBTRACE_HOME to their folder");
	return -ENOENT;
}

int home_find_python(struct home *h)
{
	if (home_find(h))
		return -ENOENT;
	if (!access(h->reader, R_OK) && !access(h->python, X_OK))
		return 0;
	cli_error("cannot find '%s' or '%s'; reinstall libtrace, or set LIBTRACE_HOME", h->reader,
		h->python);
	return -ENOENT;
}
