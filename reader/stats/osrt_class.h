/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osrt_class.h - what kind of thing a call of the OS runtime does, by the groups of libc.def.
 *
 * Constant data; any thread.
 */
#ifndef READER_STATS_OSRT_CLASS_H
#define READER_STATS_OSRT_CLASS_H

/* "lock" (taking one), "wait" (for time, threads, processes, signals or readiness), "io" (files and
 * streams), "net" (sockets, other processes' data), or "osrt" for all else and for names that are
 * not in the table. */
const char *osrt_class(const char *function);

#endif
