/* SPDX-License-Identifier: Apache-2.0 */
/*
 * windows.h - copying of windows, the times at which the capture gate was open, from the control
 * page to the report.
 *
 * A writer that takes over writes the windows that are still in the ring again. That is harmless:
 * readers identify windows by number. One thread.
 */
#ifndef WRITER_WINDOWS_H
#define WRITER_WINDOWS_H

struct writer;

/* Add the windows that have ended since the last call. */
void windows_collect(struct writer *w);

/* Add the remaining windows, and the window that is still open. Call at the end of the tree. */
void windows_finish(struct writer *w);

#endif
