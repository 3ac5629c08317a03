/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf.h - check of the dynamic section: for programs built with AddressSanitizer, whose runtime
 * refuses a preloaded library, and for the dynamic loader.
 */
#ifndef COMMON_ELF_H
#define COMMON_ELF_H

#include <stdbool.h>

/*
 * Return true if the ELF program open as `fd` was built with AddressSanitizer's shared runtime and
 * defines __asan_default_options() itself. Such a runtime refuses to start after a preloaded
 * library, and calls the program's function instead of ours (inject/asan.c). Any thread,
 * async-signal-safe, raw system calls only; the file offset of `fd` does not change.
 */
bool elf_has_asan_options(int fd);

/* Return true if the ELF file open as `fd` is the dynamic loader of glibc, which has a name of its
 * own (DT_SONAME), as a statically linked program has not. Otherwise like elf_has_asan_options().
 */
bool elf_is_loader(int fd);

/* Return true if this value of ASAN_OPTIONS (NULL = none) says whether a preloaded library is
 * allowed. */
bool elf_asan_decided(const char *asan_options);

#endif
