/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_tree.h - the tree that this process belongs to: joined or made, with a writer at it.
 *
 * Results stand in `session`: home, tree, control, is_root, writer_missing. Called by session.c
 * alone: by one thread, before events or at the first one of a forked child. No allocation; makes
 * files and waits for a lock.
 */
#ifndef TRACER_OWN_TREE_H
#define TRACER_OWN_TREE_H

#include <stdbool.h>

/* The folder that this library was loaded from: the writer lies beside it. False = not known. */
bool own_tree_find_home(void);

/* Joins the tree that the environment names. False: it names none, each process has one of its own,
 * or that one has ended. */
bool own_tree_join(void);

/* The same, or makes one where none is named. A tree whose writer has died gets a new one. False,
 * and the reason has been noted where there is one: there is none. */
bool own_tree_enter(void);

/* In a forked child: its parent's tree, or one of its own. */
bool own_tree_of_child(void);

/*
 * Is a system call filter in force that may kill for what tracing calls? One that the tree's maker
 * had, too, does not, nor one that holds for a whole container, so that process 1 has it. Says so
 * in the tree. First of all: makes the calls that a loader makes, no other.
 */
bool own_tree_is_filtered(void);

/* Has the calling thread more filters than at the start? */
bool own_tree_is_filtered_since(void);

#endif
