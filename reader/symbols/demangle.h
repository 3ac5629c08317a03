/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle.h - names of C++, Rust and CUDA functions as their authors wrote them, by libiberty.
 *
 * Any thread.
 */
#ifndef READER_SYMBOLS_DEMANGLE_H
#define READER_SYMBOLS_DEMANGLE_H

#include <stddef.h>

/* What a short name of a hostile file can stand for is nearly endless; real ones stay below. */
#define DEMANGLED_BYTES_MAX 16384u

/* Writes the readable name and a NUL to `out`, DEMANGLED_BYTES_MAX bytes. Returns its length, 0
 * where the name is not mangled, or libiberty was missing when this was built. */
size_t demangle(const char *name, char *out);

/* The function's own name in a readable one: "void ns::kernel<float>(int, float *)" is kernel.
 * Returns its length; it lies in `name`. */
size_t demangled_base(const char *name, const char **ret_begin);

#endif
