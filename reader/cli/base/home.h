/* SPDX-License-Identifier: Apache-2.0 */
/*
 * home.h - where libtrace.so, libtrace-writer and what else is installed with them are.
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
	char python[PATH_MAX]; /* the folder of Python's packages */
};

/* Path of the program that runs, PATH_MAX bytes; also where there is no /proc. 0, or -ENOENT. */
int home_program(char *ret_path);

/* LIBTRACE_HOME, else ../lib/libtrace beside the folder of this program. 0, or -ENOENT after a
 * message. */
int home_find(struct home *h);

/* The same for running Python over the library of the reader. */
int home_find_python(struct home *h);

#endif
