/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osrt_class.h - classes and arguments of OS runtime functions, from the rows of libc.def.
 *
 * Constant data; any thread.
 */
#ifndef READER_REPORT_OSRT_CLASS_H
#define READER_REPORT_OSRT_CLASS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Return the class of a function: "lock" (waits for a lock), "wait" (waits for time, threads,
 * processes, signals or readiness), "io" (files and streams), "net" (sockets, data of other
 * processes), or "osrt" for all others and for names that are not in the table. */
const char *osrt_class(const char *function);

/* Return true if the object of a function's calls is a number that is usually written in decimal: a
 * descriptor, a process, or the number of a system call. */
bool osrt_object_is_number(const char *function);

/* Return true if the object of a function's calls is a descriptor, or that of a stream. */
bool osrt_object_is_descriptor(const char *function);

/* Return true if the object of a function's calls is the address of a lock, condition, semaphore or
 * barrier. */
bool osrt_object_is_variable(const char *function);

/* Print the names of a function's arguments, "fd = 5, buffer, count"; `object` is the value of the
 * argument that is recorded. Prints nothing for names that are not in the table. */
void osrt_arguments(FILE *out, const char *function, int64_t object);

#endif
