/* SPDX-License-Identifier: Apache-2.0 */
/*
 * note.h - lines about the tracer's own work, for the report and, if asked for, standard error.
 */
#ifndef TRACER_NOTE_H
#define TRACER_NOTE_H

#include "common/tree.h"

/* Any thread. Without a tree the line goes to standard error only. Longer ones are cut. */
void note(enum tree_note kind, const char *text);

/* "TEXT: NAME" as a line. */
void note_about(const char *text, const char *name);

#endif
