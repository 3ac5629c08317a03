/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osrt_class.h - classes of OS runtime functions, by the groups of libc.def.
 *
 * Constant data; any thread.
 */
#ifndef READER_STATS_OSRT_CLASS_H
#define READER_STATS_OSRT_CLASS_H

/* Return the class of a function: "lock" (acquires a lock), "wait" (waits for time, threads,
 * processes, signals or readiness), "io" (files and streams), "net" (sockets, data of other
 * processes), or "osrt" for all others and for names that are not in the table. */
const char *osrt_class(const char *function);

#endif
