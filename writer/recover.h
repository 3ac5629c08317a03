/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover.h - recovery of a tree whose processes and writer have all died: its report is finished.
 */
#ifndef WRITER_RECOVER_H
#define WRITER_RECOVER_H

/* Finish the report of the tree in the folder `dir`: the report that its writer began, or, if
 * `output` is not NULL, a copy of it. Prints a line per process. Return the exit status, with the
 * reason on stderr. */
int recover_tree(const char *dir, const char *output);

#endif
