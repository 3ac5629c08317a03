/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h - the start of the writer, as a process that the program never notices.
 */
#ifndef TRACER_BASE_LAUNCH_H
#define TRACER_BASE_LAUNCH_H

/* Start a task that calls run() on a stack of its own, whose top is `stack`, and then ends; flags
 * are those of clone(2) and must include CLONE_VFORK. Returns its tid or a negative number; errno
 * and the C library's data stay as they are. NULL on other processors. A variable for tests. */
extern int (*launch_clone)(int (*run)(void *), void *stack, int flags, void *argument)
	__attribute__((visibility("hidden")));

/*
 * Start `program` --tree `tree` with an empty environment in a new session; lock_fd becomes its
 * TREE_WRITER_LOCK_FD. The writer is not a child of this process (two generations of clone(): no
 * SIGCHLD, nothing for wait()) and has none of its descriptors. Block until the writer has been
 * executed (about 0.2 ms). Return 0 or a negative errno. One thread at a time.
 */
int launch_writer(const char *program, const char *tree, int lock_fd);

#endif
