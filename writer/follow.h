/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow.h - writer of a live tree, which runs until the tree has ended.
 */
#ifndef WRITER_FOLLOW_H
#define WRITER_FOLLOW_H

/* Follow the tree in the folder `dir` and write its report. `lock_fd`: the control file, open and
 * locked by the process that started the tree; -1 = none. Return the exit status. Call it once per
 * process, because it installs a SIGBUS handler. */
int follow_tree(const char *dir, int lock_fd);

#endif
