/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h - starting a program under the tracer: its tree, its environment, its process, the
 * writer beside it.
 *
 * launch_prepare() makes the tree (held by us: nobody else starts a writer), launch_program() runs
 * the program, and only when that has worked launch_writer() starts the writer; launch_undo() takes
 * an unused tree away. One thread; messages are printed.
 */
#ifndef READER_CLI_RECORD_LAUNCH_H
#define READER_CLI_RECORD_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/tree.h"
#include "reader/cli/base/home.h"
#include "reader/cli/base/options.h"

struct launch {
	struct home home;
	const struct options *options;
	char **program;  /* argv */
	bool makes_tree; /* false: every process makes its own (%p in the name of the report) */
	struct capture_spec capture;
	char output[4096];
	char tree[TREE_PATH_BYTES];
	struct tree_control *control;
	int lock_fd;
	sigset_t mask;                 /* to be restored in children */
	struct sigaction child_action; /* what SIGCHLD was */
};

/* The option's value, else its variable's, else NULL. */
const char *launch_value(const struct launch *l, enum option_id id);

/* Nanoseconds of a time option given in seconds. */
uint64_t launch_seconds_ns(const struct launch *l, enum option_id id);

/* What is wrong with the options, or with the place of the report; makes nothing. 0, or a negative
 * errno after a message. */
int launch_check(struct launch *l);

/* 0 or a negative errno after a message. */
int launch_prepare(struct launch *l);

/* Process id of the program; a negative errno after a message when it cannot be run. */
pid_t launch_program(struct launch *l);
pid_t launch_writer(struct launch *l, bool foreground);
void launch_undo(struct launch *l);

#endif
