/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_find.h - the file of a program, found where execvp() searches.
 */
#ifndef READER_CLI_RECORD_PROGRAM_FIND_H
#define READER_CLI_RECORD_PROGRAM_FIND_H

#include <limits.h>

/* Find the file that execvp(name) runs, with PATH as set by the variables `assignments`
 * ("A=B,C=D"; NULL = none), else the environment's. Returns 0 or a negative errno. Any thread. */
int program_find(const char *name, const char *assignments, char ret_place[PATH_MAX]);

#endif
