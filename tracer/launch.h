/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h - starts the writer as a process of its own that the program never notices.
 */
#ifndef TRACER_LAUNCH_H
#define TRACER_LAUNCH_H

/*
 * Starts `program` --tree `tree` with an empty environment in a new session; lock_fd becomes its
 * TREE_WRITER_LOCK_FD. It is neither our child (two generations, so no SIGCHLD and nothing for
 * wait()) nor does it hold any of our descriptors. Blocks until it has been executed (about 0.2
 * ms). Returns 0 or a negative errno. One thread at a time.
 */
int launch_writer(const char *program, const char *tree, int lock_fd);

#endif
