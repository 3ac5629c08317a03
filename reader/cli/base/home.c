/* SPDX-License-Identifier: Apache-2.0 */
/*
 * home.c - the paths of libtrace.so, libtrace-writer and the files installed with them.
 */
#define _GNU_SOURCE
#include "reader/cli/base/home.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "reader/base/companion.h"
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

int home_look(struct home *h)
{
	char path[PATH_MAX];
	return !companion_path("", path) && folder_fill(h, path) ? 0 : -ENOENT;
}

int home_find(struct home *h)
{
	const char *folder = secure_getenv("LIBTRACE_HOME");
	if (!home_look(h))
		return 0;
	if (folder && *folder)
		cli_error("cannot find libtrace.so and libtrace-writer in LIBTRACE_HOME '%s'",
			folder);
	else
		cli_error("cannot find libtrace.so and libtrace-writer in ../lib/libtrace beside "
			  "trace; set LIBTRACE_HOME to their folder");
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
