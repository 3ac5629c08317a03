/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - the course of tracing in this process: start, system call filters, exec and end.
 *
 * States: SESSION_NEW -> SESSION_ON -> SESSION_OFF (switched off for good, the reason is in the
 * report) or, in a forked child, SESSION_FORKED -> SESSION_ON at its first call. Wrappers test the
 * gate (gate.h), not the state.
 */
#ifndef TRACER_SESSION_SESSION_H
#define TRACER_SESSION_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/session/fork.h"
#include "tracer/core/state.h"

/* Start tracing in a process that has just been executed. Before main. Tracing is off if it cannot
 * start; the program never fails because of it. */
void session_start(int argc, char **argv, char **envp);

/* Record the exit status of a process that is about to end (exit, _exit, quick_exit). The first
 * process of the tree also waits until the writer has its events, at most LIBTRACE_EXIT_WAIT. Does
 * nothing in a vfork child. */
void session_end(int status);

/* Mark the spool before exec replaces this process, and again when exec has failed. */
void session_exec(void);
void session_exec_failed(void);

/* Reserve what is not available under a system call filter, which is about to come into force;
 * afterwards the tracer makes no call that the filter might forbid. */
void session_restrict(void);

/* Unlock the tracer's memory: the program has locked all memory (mlockall). */
void session_unlock_memory(void);

/* Count a call made before the library was ready. */
void session_gate_closed(void);

/* Remember a child that was forked before the library was ready: it is reported as not traced. */
void session_early_child(uint32_t pid);

#endif
