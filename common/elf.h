/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf.h - what has to be known of a program's file before it is executed.
 */
#ifndef COMMON_ELF_H
#define COMMON_ELF_H

#include <stdbool.h>

/*
 * Was the ELF program behind `fd` built with AddressSanitizer's shared runtime, and does it define
 * __asan_default_options() itself? Such a runtime refuses to start behind a preloaded library, and
 * does not ask ours (inject/asan.c). Any thread, async-signal-safe, raw system calls only; the
 * position of `fd` stays.
 */
bool elf_has_asan_options(int fd);

/* Does this value of ASAN_OPTIONS (NULL = none) say whether a preloaded library is allowed? */
bool elf_asan_decided(const char *asan_options);

#endif
