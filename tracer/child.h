/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.h - programs that this process is about to execute: can they be traced, and must they be
 * kept from the preload?
 *
 * All functions: any thread, async-signal-safe (they also run in vfork children), raw system calls
 * only, no allocation.
 */
#ifndef TRACER_CHILD_H
#define TRACER_CHILD_H

#include <stdbool.h>
#include <stddef.h>

#include "common/spool.h"

/* Looks at the file to be executed (through #! lines) and at the environment it would get. */
enum child_verdict child_examine(const char *path, char *const *envp);

/* How the environment that a program gets differs from the one given for it. */
struct child_environment {
	bool without_us; /* the preload would keep it from starting, or make its loader complain */
	bool with_tree;  /* it has the preload, but has lost the variables that name the tree */
	size_t places;   /* pointers that the new one needs, the last NULL included; 0 = as given */
	size_t bytes;    /* and bytes for a variable */
};

/* Keeps the options for programs that lose them. Before any thread. */
void child_options_keep(char *const *envp);

/* The verdict is child_examine()'s on the same envp. */
void child_environment_plan(
	enum child_verdict verdict, char *const *envp, struct child_environment *ret_plan);

/* The new environment by a plan with places, in `memory` of child_environment_bytes(plan). */
char *const *child_environment_make(
	const struct child_environment *plan, char *const *envp, void *memory);
static inline size_t child_environment_bytes(const struct child_environment *plan)
{
	return plan->places * sizeof(char *) + plan->bytes;
}

/*
 * Memory around an exec call, taken and given back like that of a stack: threads may have little of
 * that. What a vfork child takes stays behind in its parent, which gives back all when it goes on.
 * NULL without memory.
 */
void *child_memory_take(size_t bytes);
void child_memory_give(void);
void child_memory_give_all(void);

/* Can it be read up to its end? */
bool child_string_is_readable(const char *text);

/* Finds `file` in PATH as execvp does; `file` itself where it has a slash or is not found. */
const char *child_find_in_path(const char *file, char *buffer, size_t bytes);

/* Records that a child was made (pid > 0 or 0 = not known), or (how CHILD_EXEC) that this process
 * is about to be replaced. */
void child_record(
	unsigned long pid, enum child_how how, enum child_verdict verdict, const char *path);

/* Behind an exec that came back: a vfork child, which has no state of its own, goes on. */
void child_exec_failed(void);

/* Names the tree to our children. Before any thread. */
void child_environment_add(const char *tree);

#endif
