/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adopt.h - opening of the report: a new one, or that of a writer that was killed.
 *
 * Functions return 0 or a negative errno. One thread; allocates; blocks on the disk.
 */
#ifndef WRITER_ADOPT_H
#define WRITER_ADOPT_H

#include <stdbool.h>

struct writer;

/* Open the report of this tree at `path`, and write block 0 if the report has none. `overwrite`
 * replaces an existing file that is not of this tree; without it, such a file gives -EEXIST. */
int writer_open_report(struct writer *w, const char *path, bool overwrite);

/* Read the report that w->report.sink has open, for the state that the next block continues from:
 * sequence, ids, positions of lanes, finished processes. Return -ENOMSG if the file is not a
 * report, or is the report of another tree. */
int adopt_report(struct writer *w);

#endif
