/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.h - programs that this process is about to execute: whether they can be traced, and whether
 * the preload must be removed for them.
 *
 * All functions: any thread, async-signal-safe (they also run in vfork children), raw system calls
 * only, no allocation.
 */
#ifndef TRACER_SESSION_CHILD_H
#define TRACER_SESSION_CHILD_H

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/spool.h"

enum child_examine_flags {
	CHILD_IDS_RESET = 1,        /* its effective user and group become the real ones */
	CHILD_ENVIRONMENT_KEPT = 2, /* it gets the environment as it is */
	CHILD_FILE_UNKNOWN = 4      /* the path is that of another file where it is executed */
};

/* Examine the file to be executed (through #! lines), the environment that it would get, and
 * whether it can enter the tree. `flags`: enum child_examine_flags. */
enum child_verdict child_examine(const char *path, char *const *envp, unsigned flags);

/* Changes to the environment that was passed to exec. */
struct child_environment {
	bool without_us; /* the preload would keep the program from starting, or make its loader
			    complain */
	bool with_tree;  /* the environment has the preload, but lacks the variables that name the
			    tree */
	size_t places;   /* pointers in the new environment, including the final NULL; 0 = use it as
			    given */
	size_t bytes;    /* bytes for a variable */
};

/* Return true if file actions of posix_spawn() change the working directory of the child. */
bool child_changes_directory(const posix_spawn_file_actions_t *actions);

/* Keep a copy of the options, for programs whose environment lacks them. Before any thread. */
void child_options_keep(char *const *envp);

/* Plan the environment for a program. `verdict` is the result of child_examine() for the same
 * `envp`. */
void child_environment_plan(
	enum child_verdict verdict, char *const *envp, struct child_environment *ret_plan);

/* Create the new environment by a plan with `places` > 0, in `memory` of
 * child_environment_bytes(plan) bytes. */
char *const *child_environment_make(
	const struct child_environment *plan, char *const *envp, void *memory);
static inline size_t child_environment_bytes(const struct child_environment *plan)
{
	return plan->places * sizeof(char *) + plan->bytes;
}

/*
 * Memory around an exec call, taken and given back like a stack: a thread's own stack may be small.
 * Memory that a vfork child takes stays mapped in its parent, which gives all of it back when it
 * continues. Return NULL without memory.
 */
void *child_memory_take(size_t bytes);
void child_memory_give(void);
void child_memory_give_all(void);

/* Return true if the string can be read up to its end. */
bool child_string_is_readable(const char *text);

/* Find `file` in PATH as execvp does; return `file` itself if it has a slash or is not found. */
const char *child_find_in_path(const char *file, char *buffer, size_t bytes);

/* Set LIBTRACE_TREE for our children. Before any thread. */
void child_environment_add(const char *tree);

#endif
