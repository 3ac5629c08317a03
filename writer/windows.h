/* SPDX-License-Identifier: Apache-2.0 */
/*
 * windows.h - copies the times at which the capture gate was open from the control page to the
 * report.
 *
 * A writer that takes over repeats the windows that are still in the ring: readers identify windows
 * by number. One thread.
 */
#ifndef WRITER_WINDOWS_H
#define WRITER_WINDOWS_H

struct writer;

/* Add the windows that have ended since the last call. */
void windows_collect(struct writer *w);

/* At the end of the tree: add the remaining windows, and the window that is still open. */
void windows_finish(struct writer *w);

#endif
