/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_tree.h - the process tree that this process belongs to: joined or created, with a writer.
 *
 * Results are members of `session`: home, tree, control, is_root, writer_missing. Called by
 * session.c and fork.c only: by one thread, before events or at the first one of a forked child. No
 * allocation; creates files and waits for a lock.
 */
#ifndef TRACER_SESSION_PROCESS_TREE_H
#define TRACER_SESSION_PROCESS_TREE_H

#include <stdbool.h>

/* Find the folder that this library was loaded from, which also contains the writer. Return false
 * if it is not known. */
bool process_tree_find_home(void);

/* Join the tree that the environment names. Return false if it names none, if each process has its
 * own tree, or if the tree has ended. */
bool process_tree_join(void);

/* Join the tree, or create one if none is named; start a new writer if the tree's writer has died.
 * Return false, with a diagnostic where possible, if there is no tree. */
bool process_tree_enter(void);

/* Join the parent's tree in a forked child, or create one of its own. */
bool process_tree_of_child(void);

/*
 * Return true if a system call filter is in force that may kill the process for a call of the
 * tracer, and record that in the tree. Filters of the tree's creator do not count, nor do filters
 * of a whole container, which process 1 has. Called first in a process, so it makes only system
 * calls that the loader has made.
 */
bool process_tree_is_filtered(void);

/* Return true if the calling thread has more filters than at the start. */
bool process_tree_has_new_filter(void);

#endif
