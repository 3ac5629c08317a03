/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h - start of a program under the tracer: its tree, its environment, its process, and the
 * writer beside it.
 *
 * launch_prepare() creates the tree and locks it, so that nobody else starts a writer.
 * launch_program() runs the program. Only after that has succeeded, launch_writer() starts the
 * writer. launch_undo() removes an unused tree. Messages are printed on stderr. One thread.
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
	char **program;  /* argv, ends with NULL */
	bool makes_tree; /* false: every process creates its own tree (%p in the name of the report)
			  */
	struct capture_spec capture;
	char *functions; /* patterns of library functions; NULL = none */
	char output[4096];
	char tree[TREE_PATH_BYTES];
	struct tree_control *control;
	int lock_fd;
	sigset_t mask;                 /* the signal mask to restore in children */
	struct sigaction child_action; /* previous action of SIGCHLD */
};

/* Return the option's value, else that of its variable, else NULL. */
static inline const char *launch_value(const struct launch *l, enum option_id id)
{
	return option_or_variable(l->options, id);
}

/* Return the nanoseconds of an option given in seconds. */
uint64_t launch_seconds_ns(const struct launch *l, enum option_id id);

/* Check the options and whether the report can be created in its folder; create nothing. Returns
 * 0, or a negative errno after a message. */
int launch_check(struct launch *l);

/* Call launch_check(), then create and lock the tree if makes_tree. Returns 0, or a negative errno
 * after a message. */
int launch_prepare(struct launch *l);

/* Start the program. Returns its process id, or a negative errno after a message if it cannot be
 * run. */
pid_t launch_program(struct launch *l);

/* Start the writer and hand the lock of the tree to it. foreground: passed to the writer. Returns
 * its process id, or a negative number after a message. */
pid_t launch_writer(struct launch *l, bool foreground);

/* Remove a tree that no process has used, and release its lock. */
void launch_undo(struct launch *l);

#endif
