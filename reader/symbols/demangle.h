/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle.h - demangling of C++, Rust and CUDA function names, by libiberty.
 *
 * Any thread.
 */
#ifndef READER_SYMBOLS_DEMANGLE_H
#define READER_SYMBOLS_DEMANGLE_H

#include <stddef.h>

/* A short mangled name of a hostile file can expand almost without limit; real names stay below
 * this. */
#define DEMANGLED_BYTES_MAX 16384u

/* Write the demangled name and a NUL to `out`, DEMANGLED_BYTES_MAX bytes. Returns its length; 0 if
 * the name is not mangled, or in a build without libiberty. */
size_t demangle(const char *name, char *out);

/* Find the base name in a demangled name: "kernel" in "void ns::kernel<float>(int, float *)".
 * Returns its length; *ret_begin points into `name`. */
size_t demangled_base(const char *name, const char **ret_begin);

#endif
