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

/* Would the preload keep such a program from starting, or make its loader complain? Then our name
 * is taken out of LD_PRELOAD. */
bool child_needs_clean_environment(enum child_verdict verdict);

/* Bytes that the LD_PRELOAD variable of this environment needs, its name included. */
size_t child_preload_bytes(char *const *envp);

/* Number of pointers, the last NULL included. */
size_t child_environment_count(char *const *envp);

/*
 * Copies envp to ret_envp (child_environment_count() places) without this library in LD_PRELOAD;
 * `buffer` (bytes) keeps the new variable. Returns ret_envp.
 */
char *const *child_environment_clean(
	char *const *envp, char **ret_envp, char *buffer, size_t bytes);

/* Finds `file` in PATH as execvp does; `file` itself where it has a slash or is not found. */
const char *child_find_in_path(const char *file, char *buffer, size_t bytes);

/* Records that a child was made (pid > 0 or 0 = not known), or (how CHILD_EXEC) that this process
 * is about to be replaced. */
void child_record(
	unsigned long pid, enum child_how how, enum child_verdict verdict, const char *path);

/* Names the tree to our children. Before any thread. */
void child_environment_add(const char *tree);

#endif
