/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool.h - the spool of this process: its header, its name, and its announcement.
 */
#ifndef TRACER_SESSION_SPOOL_H
#define TRACER_SESSION_SPOOL_H

#include <stdbool.h>

/* Create the spool of this process in the tree's folder and announce it to the writer; it is then
 * session.spool. Return false, with a diagnostic, if it cannot be created. One thread, with
 * thread.busy set; no allocation. */
bool session_spool_begin(void);

#endif
