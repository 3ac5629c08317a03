/* SPDX-License-Identifier: Apache-2.0 */
/*
 * home.h - the paths of libtrace.so, libtrace-writer and the files installed with them.
 *
 * Prints a message on stderr when they are missing. One thread.
 */
#ifndef READER_CLI_BASE_HOME_H
#define READER_CLI_BASE_HOME_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct home {
	char library[PATH_MAX];
	char writer[PATH_MAX];
	char reader[PATH_MAX]; /* libtrace-reader.so */
	char python[PATH_MAX]; /* the folder of the Python packages */
};

/* Find the folder: LIBTRACE_HOME, else ../lib/libtrace beside the folder of this program. Returns
 * 0, or -ENOENT after a message. */
int home_find(struct home *h);

/* Like home_find(), without a message. */
int home_look(struct home *h);

/* Like home_find(); also require the reader's library and the Python packages. */
int home_find_python(struct home *h);

#endif
