/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnostic.h - diagnostics: lines about the tracer's own work, for the report and, by option, for
 * standard error.
 */
#ifndef TRACER_CORE_DIAGNOSTIC_H
#define TRACER_CORE_DIAGNOSTIC_H

#include "common/tree.h"

/* Report `text` as a diagnostic of the kind; a line longer than 640 bytes is cut. Without a
 * process tree it is written to standard error only. Any thread, async-signal-safe. */
void diagnostic_note(enum tree_note kind, const char *text);

/* Report "TEXT: NAME" as a line. As diagnostic_note(). */
void diagnostic_note_about(const char *text, const char *name);

/* Report `text` as a line. As diagnostic_note(). */
void diagnostic_line(const char *text);

#endif
