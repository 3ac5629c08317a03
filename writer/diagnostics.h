/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnostics.h - copying of diagnostics, which processes wrote to the control page, to the report.
 */
#ifndef WRITER_DIAGNOSTICS_H
#define WRITER_DIAGNOSTICS_H

struct writer;

/* Add the diagnostics that are new. At the end of the tree (spools.at_end), add all of them, and
 * the processes that had no room to store why they were not traced. One thread. */
void diagnostics_collect(struct writer *w);

#endif
