/*
 * home.h - where libtrace.so and libtrace-writer are, and starting the writer.
 */
#ifndef READER_CLI_HOME_H
#define READER_CLI_HOME_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct home {
	char library[PATH_MAX];
	char writer[PATH_MAX];
};

/* LIBTRACE_HOME, else ../lib/libtrace beside the folder of this program. 0, or -ENOENT after a
 * message. */
int home_find(struct home *h);

#endif
