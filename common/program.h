/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - check of a program's file: whether its loader will load the tracer.
 */
#ifndef COMMON_PROGRAM_H
#define COMMON_PROGRAM_H

#include "common/spool.h"

/*
 * Examine the file of a program, or of the interpreter of a script. Returns VERDICT_TRACED, or why
 * the loader of that program does not load the tracer: VERDICT_STATIC, _MUSL, _OTHER_ARCH, _SETUID,
 * _ASAN, _MISSING, _UNREADABLE, _BAD_POINTER. Any thread, async-signal-safe, raw system calls only.
 */
enum child_verdict program_examine(const char *path);

#endif
